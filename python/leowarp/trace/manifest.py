# SPDX-License-Identifier: Apache-2.0
"""Write `manifest.json`. It contains the versions of everything that computed a run, the machine, the costs, the
warnings, and the files' sha256."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.base.checksums import is_as_written, manifest_text, names_listed, sha256_of_files
from leowarp.base.layout import GUEST, INCOMPLETE, MANIFEST, PROGRAMS
from leowarp.version import VERSION, sources

MANIFEST_VERSION = 1
# Libraries that compute numbers and figures. With another version of a library, the last digits may differ.
_LIBRARIES = ("numpy", "scipy", "sgp4", "pyarrow", "pandas", "matplotlib")
_LOOKED_AT_BYTES = 4096
# A line has a label, the client's random number and the secret (draft-ietf-tls-keylogfile, 2). ngtcp2 appends a space.
_KEY = re.compile(rb"[A-Z][A-Z0-9_]* (?:[0-9A-Fa-f]{2}){8,32} (?:[0-9A-Fa-f]{2}){16,}[ \r]*")
# Suffixes of qlogs from draft-ietf-quic-qlog-main-schema, 12: a file is one JSON text, or a sequence of JSON texts.
_QLOG = (".qlog", ".sqlog")


def write_manifest(
    directory: Path,
    seed: int,
    kernel: dict[str, Any],
    agent: dict[str, Any],
    warnings: Iterable[str],
    costs: dict[str, Any],
) -> None:
    """Write the `manifest.json` of a run directory.

    directory: The run directory. The manifest lists the sha256 of each file, except for itself and the mark INCOMPLETE.
    kernel, agent: The descriptions of the guest's kernel and agent, as the package `guest` returns them. The
        descriptions contain the source, version, config and hashes.
    warnings: All points to check before a reader trusts the results. Equal warnings are written once.
    costs: The result of `Stopwatch.costs`.

    `host` and `costs` differ between machines and runs, but do not affect `30-trace/`.
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
        # Equal warnings are written once, in the order of the stages that gave them.
        "warnings": list(dict.fromkeys(warnings)),
        "costs": costs,
        "logs": program_logs(directory),
        # The manifest lists the run's files last, when all files exist. When the list has been made, two steps remain:
        # the manifest itself is written, and the mark INCOMPLETE is removed.
        "files": files_of_run(directory),
    }
    plainfiles.write(directory / MANIFEST, manifest_text(content).encode())


@contextmanager
def relisted(directory: Path, pages: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[None]:
    """Update the manifest of a complete run after a `with` block wrote files to its directory. The manifest gets the
    new sha256 of each file that the block writes. The entries of all other files stay.

    If somebody changed a file outside the `with` block, the file's sha256 still differs from the recorded one.

    directory: A run directory. Without a manifest in the directory, none is written.
    pages: The settings with which each page was drawn (the entry `drawn` of the manifest). Only settings of pages that
        the block writes are recorded.
    Raises TraceError if the manifest does not have leowarp's format.
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
    """Write the manifest again, with new hashes of the files in `written`. If another version of leowarp made the run,
    the manifest also names the version that wrote these files."""
    content = recorded.read_manifest(directory)
    listed = content.get("files", {}) | sha256_of_files(directory, written)
    changed: dict[str, Any] = {
        "files": {name: listed[name] for name in sorted(listed.keys() - set(removed))},
        "drawn": content.get("drawn", {}) | {name: dict(pages[name]) for name in written if name in pages},
        "later": _later(content, written),
    }
    # An empty list is left out, because it contains no information. A damaged manifest must remain recognisable as
    # damaged, so its checksum is not corrected when something is added.
    whole = {key: value for key, value in (content | changed).items() if value or key not in ("drawn", "later")}
    is_damaged = is_as_written((directory / MANIFEST).read_text(encoding="utf-8")) is False
    text = json.dumps(whole, indent=2) + "\n" if is_damaged else manifest_text(whole)
    plainfiles.write(directory / MANIFEST, text.encode())


def _later(content: Mapping[str, Any], written: list[str]) -> list[dict[str, Any]]:
    """Return the versions of leowarp that did not make the run, but wrote some of its files. Each version has one
    entry, with the files that it wrote last."""
    here = maker()
    entries = [entry | {"files": sorted(set(entry["files"]) - set(written))} for entry in content.get("later", ())]
    if maker_of(content) != here:
        mine = [name for entry in entries if maker_of(entry) == here for name in entry["files"]]
        entries = [entry for entry in entries if maker_of(entry) != here]
        entries.append({**here, "files": sorted([*mine, *written])})
    return [entry for entry in entries if entry["files"]]


def maker() -> dict[str, Any]:
    """Return the software in use: leowarp's version, the hash of its code, and the versions of libraries."""
    return {"leowarp_version": VERSION, "package_sha256": sources()["package_sha256"], "python": library_versions()}


def maker_of(content: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Return the software that made a run or one of its files, in the form of `maker`. A value that the manifest lacks
    is None.

    content: A manifest, or an entry of its list `later`.
    """
    entry = next((entry for entry in content.get("later", ()) if name in entry["files"]), content)
    return {key: entry.get(key) for key in ("leowarp_version", "package_sha256", "python")}


def is_of_this_version(content: Mapping[str, Any], name: str | None = None) -> bool:
    """Return whether a run, or its file `name`, was computed by the same leowarp that is in use now. The versions of
    libraries are ignored."""
    made, here = maker_of(content, name), maker()
    return all(made[key] == here[key] for key in ("leowarp_version", "package_sha256"))


def files_of_run(directory: Path) -> dict[str, str]:
    return sha256_of_files(directory, _listed(directory))


def _listed(directory: Path) -> list[str]:
    """Return the names of the files that a manifest lists: not INCOMPLETE, the guest's working files and incomplete
    files."""
    names = [name for name in names_listed(directory) if name != INCOMPLETE and not name.startswith(f"{GUEST}/")]
    return [name for name in names if not name.endswith(plainfiles.PARTIAL)]


def _states(directory: Path) -> dict[str, plainfiles.State]:
    """Return the state of each listed file, which shows whether the file has changed."""
    return {name: plainfiles.state(directory / name) for name in _listed(directory)}


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that affect results."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}}


def _version(library: str) -> str:
    # `metadata.version` would parse the whole text, which ends with the library's README, as an e-mail.
    text = metadata.distribution(library).read_text("METADATA") or ""
    line = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
    return line[1] if line is not None else metadata.version(library)


def host_facts() -> dict[str, Any]:
    """Return facts about the machine, which are needed to compare costs. A value that is not available is null.

    Returns: `cpu_model`, `cores`, `cores_usable`, `memory_kib`, `load_1min` (of the whole machine when the run ended),
        `host_kernel`, `machine`. The names of hosts and users are not included.
    """
    # The load is recorded, because on a busy machine the real time says little about the run.
    load_1min, _, _ = os.getloadavg()
    return {
        "cpu_model": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        # A container or a batch system may allow fewer cores than the machine has.
        "cores_usable": len(os.sched_getaffinity(0)),
        "memory_kib": _number(_first_value("/proc/meminfo", "MemTotal")),
        "load_1min": round(load_1min, 2),
        "host_kernel": platform.release(),
        "machine": platform.machine(),
    }


class Stopwatch:
    """Measures the real time and the CPU time that this process has used since the stopwatch was created."""

    def __init__(self) -> None:
        self._wall = time.monotonic()
        self._own = _own_cpu_s()

    def costs(self, virtual_s: float, guest_cpu_s: float, peak_memory_bytes: int) -> dict[str, Any]:
        """Return the cost of a run so far. `cpu_s` is the CPU time of the guest plus the CPU time of this process.

        The guest measures its own CPU time. The kernel program does not wait for the end of some guest processes.
        leowarp's own rusage does not include these processes.

        virtual_s: The duration of the run in virtual time, in s.
        guest_cpu_s: The CPU time of the kernel program and of the guest's processes, in s.
        peak_memory_bytes: The largest resident size of the kernel program in bytes.
        Returns: The real time and CPU time in s, rounded to the millisecond, and the memory in bytes.
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
    # RUSAGE_CHILDREN is not used: the guest measures its own processes, and the time of a compiler is not a cost of the
    # run.
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _first_value(path: str, key: str) -> str | None:
    try:
        with open(path) as stream:
            for line in stream:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        # Some machines do not have the file at `path`, and a container may hide it.
        return None
    return None


def _number(text: str | None) -> int | None:
    """Return the number at the beginning of a text, for example of "16374876 kB"."""
    return None if text is None else int(text.split()[0])


def program_logs(directory: Path) -> dict[str, list[str]]:
    """Find the TLS key logs and the qlogs that the user's own programs wrote in a run directory.

    The first line identifies a TLS key log, whatever the name of the file. The suffix of the name identifies a qlog.

    Returns: A dict with the keys `tls_keys` and `qlog`. The values are sorted lists of file names relative to the
        directory.
    """
    files = sorted(path for path in (directory / PROGRAMS).rglob("*") if path.is_file() and not path.is_symlink())
    kinds = {
        "tls_keys": [path for path in files if _holds_keys(path)],
        "qlog": [path for path in files if path.suffix in _QLOG],
    }
    return {kind: [path.relative_to(directory).as_posix() for path in paths] for kind, paths in kinds.items()}


def _holds_keys(path: Path) -> bool:
    with path.open("rb") as stream:
        lines = stream.read(_LOOKED_AT_BYTES).split(b"\n")
    # The last item of `lines` is left out, because it is not a complete line: either it has no line end, or it is
    # empty.
    first = next((line for line in lines[:-1] if line.strip() and not line.startswith(b"#")), b"")
    return _KEY.fullmatch(first) is not None
