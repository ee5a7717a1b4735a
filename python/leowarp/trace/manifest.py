# SPDX-License-Identifier: Apache-2.0
"""`manifest.json`: what made a run, on which machine, at what cost, which warnings, and the sha256 of each file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from leowarp import plainfiles
from leowarp.layout import GUEST, INCOMPLETE, MANIFEST
from leowarp.trace.program_logs import program_logs
from leowarp.version import VERSION, sources

MANIFEST_VERSION = 1
# The manifest cannot hold its own sha256; the mark goes once the manifest is there.
_NOT_LISTED = (MANIFEST, INCOMPLETE)
# What numbers and figures are made with: another version of these may give other last digits.
_LIBRARIES = ("numpy", "scipy", "sgp4", "pyarrow", "pandas", "matplotlib")


def write_manifest(
    directory: Path,
    seed: int,
    kernel: dict[str, Any],
    agent: dict[str, Any],
    warnings: Iterable[str],
    costs: dict[str, Any],
) -> None:
    """Writes `manifest.json` of a run directory.

    Parameters
    ----------
    directory : Path
        The run directory; each of its files but the manifest itself and the mark INCOMPLETE gets its sha256.
    kernel, agent : dict
        What the guest was: source, version, config and hashes, as the guest room gives them.
    warnings : iterable of str
        Everything to check before trusting the result; repeated ones are written once.
    costs : dict
        From `Stopwatch.costs`.

    Notes
    -----
    `host` and `costs` differ from machine to machine and from run to run; nothing of them reaches `30-trace/`.
    """
    content = {
        "manifest_version": MANIFEST_VERSION,
        "leowarp_version": VERSION,
        "leowarp_sources": sources(),
        "seed": seed,
        "kernel": kernel,
        "agent": agent,
        "python": library_versions(),
        "host": host_facts(),
        # Each once, in the order in which the rooms gave them.
        "warnings": list(dict.fromkeys(warnings)),
        "costs": costs,
        "logs": program_logs(directory),
    }
    _write(directory, content)


def list_files(directory: Path) -> None:
    """Writes the manifest's list of files anew, after a stage that adds or replaces some; the rest stays.

    Raises
    ------
    OSError, ValueError
        If there is no manifest, or it is no JSON: a stage that runs after a run finds one.
    """
    _write(directory, json.loads(plainfiles.read(directory / MANIFEST, plainfiles.MOST_JSON_BYTES)))


def _write(directory: Path, content: dict[str, Any]) -> None:
    """The manifest with a fresh list of files; it appears whole, in the place of the one before."""
    # Hashes are taken last, of what lies there by now: the manifest is the run's last file but for the mark.
    text = json.dumps(content | {"files": files_of_run(directory)}, indent=2) + "\n"
    plainfiles.write(directory / MANIFEST, text.encode())


def files_of_run(directory: Path) -> dict[str, str]:
    """The sha256 of each file of a run directory but the manifest, which cannot hold its own, and the mark."""
    return {name: digest for name, digest in sha256_of_files(directory).items() if _is_listed(name)}


def sha256_of_files(directory: Path) -> dict[str, str]:
    """The sha256 of each file below a directory, by its relative name, sorted.

    Names with `/`, whatever the machine writes; sorted by path, so that equal directories give equal text.
    """
    # Each time anew, and from the files themselves: what a manifest says is what lies there.
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): sha256_of_file(path) for path in files}


def _is_listed(name: str) -> bool:
    """Whether the manifest lists a file: not itself, the mark, what the guest works in, or a file half written."""
    return name not in _NOT_LISTED and not name.startswith(f"{GUEST}/") and not name.endswith(plainfiles.PARTIAL)


def sha256_of_file(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries whose numbers end up in results."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in _LIBRARIES}}


def host_facts() -> dict[str, Any]:
    """The machine, for whoever compares costs. A fact that it does not tell is null.

    Returns
    -------
    facts : dict
        `cpu_model`, `cores`, `cores_usable`, `memory_kib`, `load_1min` (of the whole machine when the run ended),
        `host_kernel`, `machine`. Neither names of hosts nor of users.
    """
    # A cost is worth little without it: on a busy machine the wall clock says nothing of the run.
    load_1min, _, _ = os.getloadavg()
    return {
        "cpu_model": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        # A container or a batch system may allow fewer than the machine has.
        "cores_usable": len(os.sched_getaffinity(0)),
        "memory_kib": _number(_first_value("/proc/meminfo", "MemTotal")),
        "load_1min": round(load_1min, 2),
        "host_kernel": platform.release(),
        "machine": platform.machine(),
    }


class Stopwatch:
    """Wall clock and CPU seconds of this process since the watch was made."""

    def __init__(self) -> None:
        self._wall = time.monotonic()
        self._own = _own_cpu_s()

    def costs(self, virtual_s: float, guest_cpu_s: float, peak_memory_bytes: int) -> dict[str, Any]:
        """What a run has cost so far; `cpu_s` is the guest's and this process' together.

        The guest's is measured where it runs: processes that a kernel program never reaps are missing in the
        rusage of its parent.

        Parameters
        ----------
        virtual_s : float
            Virtual time that the run took.
        guest_cpu_s : float
            Of the kernel program and the guest's processes.
        peak_memory_bytes : int
            Largest resident size of the kernel program.

        Returns
        -------
        costs : dict
            Seconds of the wall and of processors, rounded to the millisecond; bytes.
        """
        host = _own_cpu_s() - self._own
        return {
            "virtual_s": virtual_s,
            "wall_s": round(time.monotonic() - self._wall, 3),
            "cpu_s": round(guest_cpu_s + host, 3),
            "guest_cpu_s": round(guest_cpu_s, 3),
            "host_cpu_s": round(host, 3),
            "guest_peak_memory_bytes": peak_memory_bytes,
        }


def _own_cpu_s() -> float:
    """Seconds of processors that this process has used, in user mode and in the kernel."""
    # SELF and not CHILDREN: the guest's processes are counted where they run, and a compiler's are no cost of the run.
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _first_value(path: str, key: str) -> str | None:
    """The value of the first `key : value` line of a file in /proc."""
    try:
        with open(path) as stream:
            for line in stream:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        # Not every machine tells (a container may hide it); a missing fact is null, as said above.
        return None
    return None


def _number(text: str | None) -> int | None:
    """The number that a text such as "16374876 kB" begins with."""
    return None if text is None else int(text.split()[0])
