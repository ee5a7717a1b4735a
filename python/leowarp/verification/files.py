# SPDX-License-Identifier: Apache-2.0
"""Compare the files of a run, a study or a reproduction with the sha256 in the manifest.

The comparison does not boot the guest and draws nothing. Names in the manifest cannot lead to a file outside the
directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from leowarp.base import recorded
from leowarp.base.checksums import check_files, is_as_written, names_listed
from leowarp.base.layout import INPUTS, MANIFEST, PLAN
from leowarp.verification.kinds import PLANS


class FileVerdict(StrEnum):
    """The verdict on a file that is in the directory or in the manifest."""

    INTACT = "as listed"
    CHANGED = "changed since the run"
    UNLISTED = "not listed"
    MISSING = "missing"


@dataclass(frozen=True)
class Files:
    """The files of a directory.

    verdicts: The verdict on each file, by path relative to the directory, sorted.
    """

    manifest: Mapping[str, Any]
    verdicts: dict[str, FileVerdict]

    @property
    def wrong(self) -> dict[str, FileVerdict]:
        """The files that differ from the manifest. Changed files come first, because many may be missing."""
        order = sorted(self.verdicts.items(), key=lambda item: list(FileVerdict).index(item[1]))
        return {name: verdict for name, verdict in order if verdict is not FileVerdict.INTACT}

    @property
    def why_not_rerun(self) -> str | None:
        """The reason why the run cannot be repeated, if its plan or an input has changed since the run."""
        for name, verdict in self.wrong.items():
            # A new file beside a plan has no effect, because the plan uses only files whose sha256 it contains.
            if _is_of_a_plan(name) and verdict is not FileVerdict.UNLISTED:
                return f"{name}: {verdict}"
        return None


def files_of(path: Path) -> Files:
    """Compare the files of a run, a study or a reproduction with its manifest. The directory must contain only files
    and directories (`refuse_strange`).

    Raises TraceError if a manifest does not have leowarp's format.
    """
    manifest = recorded.read_manifest(path)
    return Files(manifest, dict(sorted(_verdicts(path, manifest).items())))


def _is_of_a_plan(name: str) -> bool:
    """Return whether a file is an input of runs: the plan of a run, the plans of a study, or a file that they name."""
    folder, _, file = name.rpartition("/")
    return file in (PLAN, PLANS) or PurePosixPath(folder).name == INPUTS


def _verdicts(path: Path, manifest: Mapping[str, Any]) -> dict[str, FileVerdict]:
    directories = dict.fromkeys(manifest.get("directories", ()))
    checked = check_files(path, manifest.get("files", {}), names_listed(path, directories))
    verdicts = {
        **dict.fromkeys(checked.intact, FileVerdict.INTACT),
        **dict.fromkeys(checked.changed, FileVerdict.CHANGED),
        **dict.fromkeys(checked.missing, FileVerdict.MISSING),
        **dict.fromkeys(checked.unlisted, FileVerdict.UNLISTED),
    }
    if is_as_written((path / MANIFEST).read_text(encoding="utf-8")) is False:
        verdicts[MANIFEST] = FileVerdict.CHANGED
    for name in directories:
        # A subdirectory without its manifest is reported as a missing file.
        if (path / name / MANIFEST).is_file():
            within = _verdicts(path / name, recorded.read_manifest(path / name))
            verdicts |= {f"{name}/{inner}": verdict for inner, verdict in within.items()}
    return verdicts
