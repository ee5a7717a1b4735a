# SPDX-License-Identifier: Apache-2.0
"""`manifest.json`: what made a run, on which machine and at what cost, its warnings, and the sha256 of each file."""

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
# Libraries that compute numbers and figures: another version of these may give other last digits.
_LIBRARIES = ("numpy", "scipy", "sgp4", "pyarrow", "pandas", "matplotlib")


def write_manifest(
    directory: Path,
    seed: int,
    kernel: dict[str, Any],
    agent: dict[str, Any],
    warnings: Iterable[str],
    costs: dict[str, Any],
) -> None:
    """Write `manifest.json` of a run directory.

    directory: The run directory; each of its files except the manifest itself and the mark INCOMPLETE gets its sha256.
    kernel, agent: Facts about the guest: source, version, config and hashes, as the package `guest` gives them.
    warnings: All points to check before the results are trusted; repeated ones are written once.
    costs: The value of `Stopwatch.costs`.

    Notes
    -----
    `host` and `costs` differ between machines and runs; they have no effect on `30-trace/`.
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
        # Each warning is written once, in the order of the stages.
        "warnings": list(dict.fromkeys(warnings)),
        "costs": costs,
        "logs": program_logs(directory),
        # The list of files is made last, from the files that exist by then: the manifest is the run's last file except
        # for the mark.
        "files": files_of_run(directory),
    }
    plainfiles.write(directory / MANIFEST, manifest_text(content).encode())


@contextmanager
def relisted(directory: Path, pages: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[None]:
    """`with relisted(path):` files written in a complete run within the block get their sha256 into the manifest; other
    entries stay.

    Only files that are written within the block are listed again: a file changed by somebody else still differs.

    directory: A run directory; one without a manifest gets none.
    pages: Name of a page -> how to draw it (`drawn` in the manifest), for those of them that are written.
    Raises TraceError if the manifest does not have leowarp's form.
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
    """The manifest with new hashes of the written files, and with their writer, if that differs from the run's
    maker."""
    content = recorded.read_manifest(directory)
    listed = content.get("files", {}) | sha256_of_files(directory, written)
    changed: dict[str, Any] = {
        "files": {name: listed[name] for name in sorted(listed.keys() - set(removed))},
        "drawn": content.get("drawn", {}) | {name: dict(pages[name]) for name in written if name in pages},
        "later": _later(content, written),
    }
    # An empty list would contain no information, so it is left out. A damaged manifest stays damaged, because an
    # addition must not correct its checksum.
    whole = {key: value for key, value in (content | changed).items() if value or key not in ("drawn", "later")}
    is_damaged = is_as_written((directory / MANIFEST).read_text(encoding="utf-8")) is False
    text = json.dumps(whole, indent=2) + "\n" if is_damaged else manifest_text(whole)
    plainfiles.write(directory / MANIFEST, text.encode())


def _later(content: Mapping[str, Any], written: list[str]) -> list[dict[str, Any]]:
    """Files that other versions than the run's wrote: one entry per version, with the files of which it wrote the
    latest."""
    here = maker()
    entries = [entry | {"files": sorted(set(entry["files"]) - set(written))} for entry in content.get("later", ())]
    if maker_of(content) != here:
        mine = [name for entry in entries if maker_of(entry) == here for name in entry["files"]]
        entries = [entry for entry in entries if maker_of(entry) != here]
        entries.append({**here, "files": sorted([*mine, *written])})
    return [entry for entry in entries if entry["files"]]


def maker() -> dict[str, Any]:
    """Software that computes numbers and draws pages here: leowarp's version, the hash of its code, versions of
    libraries."""
    return {"leowarp_version": VERSION, "package_sha256": sources()["package_sha256"], "python": library_versions()}


def maker_of(content: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """The software that made a run, or the file of this name in it, as in `maker`; None for facts that its manifest
    lacks.

    content: A manifest, or an entry of its `later`.
    """
    entry = next((entry for entry in content.get("later", ()) if name in entry["files"]), content)
    return {key: entry.get(key) for key in ("leowarp_version", "package_sha256", "python")}


def is_of_this_version(content: Mapping[str, Any], name: str | None = None) -> bool:
    """Whether the current leowarp made a run, or the file of this name in it, with whatever libraries."""
    made, here = maker_of(content, name), maker()
    return all(made[key] == here[key] for key in ("leowarp_version", "package_sha256"))


def files_of_run(directory: Path) -> dict[str, str]:
    """The sha256 of each file of a run directory that its manifest lists, by its relative name."""
    return sha256_of_files(directory, _listed(directory))


def _listed(directory: Path) -> list[str]:
    """Names of the files that a manifest lists: without the mark, which is removed after it, the guest's working files,
    and half-written files.
    """
    names = [name for name in names_listed(directory) if name != INCOMPLETE and not name.startswith(f"{GUEST}/")]
    return [name for name in names if not name.endswith(plainfiles.PARTIAL)]


def _states(directory: Path) -> dict[str, tuple[int, int, int]]:
    """State of a file by which writing is detected: its inode, its size, and the time of its last change."""
    stats = {name: (directory / name).stat() for name in _listed(directory)}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that affect results."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in _LIBRARIES}}


def host_facts() -> dict[str, Any]:
    """Facts about the machine, for the comparison of costs. An unavailable fact is null.

    Returns: `cpu_model`, `cores`, `cores_usable`, `memory_kib`, `load_1min` (of the whole machine when the run ended),
        `host_kernel`, `machine`. Neither host names nor user names are included.
    """
    # A cost means little without the load: on a busy machine, the real time does not describe the run.
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
    """Real time and CPU seconds of this process since the stopwatch was created."""

    def __init__(self) -> None:
        self._wall = time.monotonic()
        self._own = _own_cpu_s()

    def costs(self, virtual_s: float, guest_cpu_s: float, peak_memory_bytes: int) -> dict[str, Any]:
        """Cost of a run so far; `cpu_s` is the sum of the guest and this process.

        The guest's CPU time is measured where it runs: processes that a kernel program never reaps are missing in the
        rusage of its parent.

        virtual_s: Virtual duration of the run.
        guest_cpu_s: CPU time of the kernel program and the guest's processes.
        peak_memory_bytes: Largest resident size of the kernel program.
        Returns: Seconds of real time and of CPU time, rounded to the millisecond; bytes.
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
    """CPU seconds that this process has used, in user mode and in the kernel."""
    # RUSAGE_SELF, not RUSAGE_CHILDREN: the guest's processes are counted where they run, and a compiler's time is not a
    # cost of the run.
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
        # Not every machine provides it (a container may hide it); an unavailable fact is null, as stated above.
        return None
    return None


def _number(text: str | None) -> int | None:
    """The number at the beginning of a text such as "16374876 kB"."""
    return None if text is None else int(text.split()[0])
