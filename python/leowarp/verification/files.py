# SPDX-License-Identifier: Apache-2.0
"""The files of a run, a study or a reproduction, compared with the sha256 in its manifest.

Nothing is booted or drawn. Only files that a listing of the directory shows are opened, whatever a manifest names.
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
    """The verdict on a file that exists or is listed."""

    INTACT = "as listed"
    CHANGED = "changed since the run"
    UNLISTED = "not listed"
    MISSING = "missing"


@dataclass(frozen=True)
class Files:
    """The files of a directory.

    manifest: Of the directory itself.
    verdicts: By name, relative to the directory, sorted.
    """

    manifest: Mapping[str, Any]
    verdicts: dict[str, FileVerdict]

    @property
    def wrong(self) -> dict[str, FileVerdict]:
        """Files that are not as listed. Changed ones come first: a list of missing files may be long."""
        order = sorted(self.verdicts.items(), key=lambda item: list(FileVerdict).index(item[1]))
        return {name: verdict for name, verdict in order if verdict is not FileVerdict.INTACT}

    @property
    def why_not_rerun(self) -> str | None:
        """Why there is no second run: plan or input are not those of the run. None if they are."""
        for name, verdict in self.wrong.items():
            # A new input beside a plan changes nothing: the plan has the sha256 of those that it names.
            if _is_of_a_plan(name) and verdict is not FileVerdict.UNLISTED:
                return f"{name}: {verdict}"
        return None


def files_of(path: Path) -> Files:
    """The files of a run, a study or a reproduction, compared with its manifest.

    path: A directory with a manifest, in which there are files and directories and nothing else (`refuse_strange`).
    Raises TraceError if a manifest in it is not as leowarp writes it.
    """
    manifest = recorded.read_manifest(path)
    return Files(manifest, dict(sorted(_verdicts(path, manifest).items())))


def _is_of_a_plan(name: str) -> bool:
    """Whether runs start from a file: the plan of a run, the plans of a study, or an input."""
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
        # If a directory has lost its manifest, that is listed and missing.
        if (path / name / MANIFEST).is_file():
            within = _verdicts(path / name, recorded.read_manifest(path / name))
            verdicts |= {f"{name}/{inner}": verdict for inner, verdict in within.items()}
    return verdicts
