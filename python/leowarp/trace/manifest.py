# SPDX-License-Identifier: Apache-2.0
"""`manifest.json`: what made a run, on which machine, at what cost, which warnings, and the sha256 of each file."""

from __future__ import annotations

import json
import os
import platform
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.base.checksums import is_as_written, manifest_text, names_listed, sha256_of_files
from leowarp.base.layout import GUEST, INCOMPLETE, MANIFEST
from leowarp.trace.program_logs import program_logs
from leowarp.version import VERSION, sources

MANIFEST_VERSION = 1
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

    directory: The run directory; each of its files but the manifest itself and the mark INCOMPLETE gets its sha256.
    kernel, agent: What the guest was: source, version, config and hashes, as the guest room gives them.
    warnings: Everything to check before trusting the result; repeated ones are written once.
    costs: From `Stopwatch.costs`.

    Notes
    -----
    `host` and `costs` differ from machine to machine and from run to run; nothing of them reaches `30-trace/`.
    """
    content = {
        "manifest_version": MANIFEST_VERSION,
        "leowarp_version": VERSION,
        **sources(),
        "seed": seed,
        "kernel": kernel,
        "agent": agent,
        "python": library_versions(),
        "host": host_facts(),
        # Each once, in the order in which the rooms gave them.
        "warnings": list(dict.fromkeys(warnings)),
        "costs": costs,
        "logs": program_logs(directory),
        # Taken last, of what lies there by now: the manifest is the run's last file but for the mark.
        "files": files_of_run(directory),
    }
    plainfiles.write(directory / MANIFEST, manifest_text(content).encode())


@contextmanager
def relisted(directory: Path, pages: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[None]:
    """`with relisted(path):` what is written in a complete run gets its sha256 into the manifest; the rest stays.

    Only files that are written meanwhile are listed anew: one that was changed by somebody else stays a difference.

    directory: A run directory; one without a manifest stays without.
    pages: Name of a page -> how it is drawn (`drawn` in the manifest), for those of them that are written.
    Raises TraceError if the manifest is not as leowarp writes it.
    """
    before = _states(directory)
    try:
        yield
    finally:
        if (directory / MANIFEST).exists():
            after = _states(directory)
            written = [name for name, state in after.items() if before.get(name) != state]
            _list_again(directory, written, before.keys() - after.keys(), pages or {})


def _list_again(
    directory: Path, written: list[str], removed: Iterable[str], pages: Mapping[str, Mapping[str, Any]]
) -> None:
    """The manifest with new hashes of what was written, and with who wrote it, if that is not who made the run."""
    content = recorded.read_manifest(directory)
    listed = content.get("files", {}) | sha256_of_files(directory, written)
    changed: dict[str, Any] = {
        "files": {name: listed[name] for name in sorted(listed.keys() - set(removed))},
        "drawn": content.get("drawn", {}) | {name: dict(pages[name]) for name in written if name in pages},
        "later": _later(content, written),
    }
    # An empty list would say nothing. A manifest that was damaged stays so: its seal is not made right by an addition.
    whole = {key: value for key, value in (content | changed).items() if value or key not in ("drawn", "later")}
    is_damaged = is_as_written((directory / MANIFEST).read_text(encoding="utf-8")) is False
    text = json.dumps(whole, indent=2) + "\n" if is_damaged else manifest_text(whole)
    plainfiles.write(directory / MANIFEST, text.encode())


def _later(content: Mapping[str, Any], written: list[str]) -> list[dict[str, Any]]:
    """What other versions than the run's wrote: an entry for each, with the files of which it wrote the latest."""
    here = maker()
    entries = [entry | {"files": sorted(set(entry["files"]) - set(written))} for entry in content.get("later", ())]
    if maker_of(content) != here:
        mine = [name for entry in entries if maker_of(entry) == here for name in entry["files"]]
        entries = [entry for entry in entries if maker_of(entry) != here]
        entries.append({**here, "files": sorted([*mine, *written])})
    return [entry for entry in entries if entry["files"]]


def maker() -> dict[str, Any]:
    """What computes numbers and draws pages here: leowarp's version, the hash of its code, versions of libraries."""
    return {"leowarp_version": VERSION, "package_sha256": sources()["package_sha256"], "python": library_versions()}


def maker_of(content: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """What made a run, or the file of this name in it, as `maker`; None for what its manifest does not say.

    content: A manifest, or an entry of its `later`.
    """
    entry = next((entry for entry in content.get("later", ()) if name in entry["files"]), content)
    return {key: entry.get(key) for key in ("leowarp_version", "package_sha256", "python")}


def is_of_this_version(content: Mapping[str, Any], name: str | None = None) -> bool:
    """Whether this very leowarp made a run, or the file of this name in it, whatever libraries it had."""
    made, here = maker_of(content, name), maker()
    return all(made[key] == here[key] for key in ("leowarp_version", "package_sha256"))


def files_of_run(directory: Path) -> dict[str, str]:
    """The sha256 of each file of a run directory that its manifest lists, by its relative name."""
    return sha256_of_files(directory, _listed(directory))


def _listed(directory: Path) -> list[str]:
    """Names of the files that a manifest lists: not the mark, which goes once it is there, what the guest works in, or
    a file half written.
    """
    names = [name for name in names_listed(directory) if name != INCOMPLETE and not name.startswith(f"{GUEST}/")]
    return [name for name in names if not name.endswith(plainfiles.PARTIAL)]


def _states(directory: Path) -> dict[str, tuple[int, int, int]]:
    """What tells that a file was written: its inode, its size, and when it was changed last."""
    stats = {name: (directory / name).stat() for name in _listed(directory)}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries whose numbers end up in results."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in _LIBRARIES}}


def host_facts() -> dict[str, Any]:
    """The machine, for whoever compares costs. A fact that it does not tell is null.

    Returns: `cpu_model`, `cores`, `cores_usable`, `memory_kib`, `load_1min` (of the whole machine when the run ended),
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

        virtual_s: Virtual time that the run took.
        guest_cpu_s: Of the kernel program and the guest's processes.
        peak_memory_bytes: Largest resident size of the kernel program.
        Returns: Seconds of the wall and of processors, rounded to the millisecond; bytes.
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
