# SPDX-License-Identifier: Apache-2.0
"""`manifest.json` of a study or of a reproduction: written at its end, and gone while one is at work.

It lists the sha256 of every file. A directory with a manifest of its own, a whole run or a group of runs, is listed by
the sha256 of that manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leowarp.base.checksums import manifest_text, names_listed, sha256_of_files
from leowarp.base.layout import MANIFEST
from leowarp.base.recorded import why_incomplete
from leowarp.study.sweep import disk
from leowarp.study.sweep.session import RUNS
from leowarp.trace import maker

STUDY, REPRODUCTION = "study", "reproduction"
"""Values of `kind` in a manifest; a run has none."""

MANIFEST_VERSION = 1


def write_manifest(folder: Path, kind: str, facts: Mapping[str, Any], directories: Iterable[Path] = ()) -> None:
    """Writes the manifest, last of all: without it, a study was interrupted.

    kind: `STUDY` or `REPRODUCTION`.
    facts: What else it says: name, counts of runs.
    directories: Those below it that have a manifest of their own, besides complete runs in `RUNS`.
    """
    runs = [path for path in sorted((folder / RUNS).glob("*")) if why_incomplete(path) is None]
    whole = sorted(path.relative_to(folder).as_posix() for path in (*runs, *directories))
    content = {
        "manifest_version": MANIFEST_VERSION,
        "kind": kind,
        **facts,
        **maker(),
        "directories": whole,
        "files": sha256_of_files(folder, names_listed(folder, whole)),
    }
    disk.write_file(folder / MANIFEST, manifest_text(content).encode())


def remove_manifest(folder: Path) -> None:
    """Before anything is written: what it lists will not be true for a while."""
    (folder / MANIFEST).unlink(missing_ok=True)
