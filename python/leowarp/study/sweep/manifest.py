# SPDX-License-Identifier: Apache-2.0
"""The file `manifest.json` of a study or a reproduction. It is written when the study ends, so it does not exist while
the study is running.

The manifest has the sha256 of every file. If a subdirectory has its own manifest (a complete run or a group of runs),
only that manifest is listed, and none of its other files.
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
"""The values of the key `kind` in a manifest. The manifest of a run has no `kind`."""

MANIFEST_VERSION = 1


def write_manifest(folder: Path, kind: str, facts: Mapping[str, Any], directories: Iterable[Path] = ()) -> None:
    """Write the manifest after all other files. A study without a manifest was interrupted.

    facts: All other content of the manifest: the name, and numbers of runs.
    directories: The subdirectories that have their own manifest, in addition to the complete runs in `RUNS`.
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
    """Delete the manifest of an earlier start, before it no longer matches the files."""
    (folder / MANIFEST).unlink(missing_ok=True)
