# SPDX-License-Identifier: Apache-2.0
"""Determine the kind of a directory that is verified (run, study or reproduction), and check that it is complete."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from leowarp.base import recorded
from leowarp.base.errors import TraceError
from leowarp.base.layout import INCOMPLETE, MANIFEST, PLAN

RUN: Final = "run"
PLANS, CLAIMS = "plans.parquet", "claims.json"
"""A study or a reproduction may have no manifest. It is then recognised by the file `plans.parquet` (a study) or
`claims.json` (a reproduction)."""


def kind_of(path: Path) -> str:
    """Return `RUN`, or the `kind` in the manifest of a study or a reproduction.

    Raises TraceError if the directory has no manifest or contains a link, a pipe or a device. The same error is raised
    for a run that is marked as incomplete.
    """
    recorded.refuse_strange(path)
    has_manifest = (path / MANIFEST).is_file()
    if has_manifest and not (path / INCOMPLETE).exists():
        return str(recorded.read_manifest(path).get("kind", RUN))
    if not has_manifest and not (path / PLAN).exists() and path.is_dir():
        _refuse_unended(path)
    recorded.refuse_incomplete(path)
    return RUN


def _refuse_unended(path: Path) -> None:
    if (path / PLANS).exists():
        from leowarp.study.sweep.status import study_status

        state = study_status(path)
        why = f"{state.holder} is at work there" if state.holder else "it was interrupted"
        why += f", and {state.done:,} of {state.total:,} runs have a result"
        if state.done == state.total and not state.holder:
            why = "it was interrupted at its end, or made by an older leowarp"
        raise TraceError(
            f"cannot verify {path}: the study has no {MANIFEST}: {why}",
            hint=f"leowarp study {path} makes what is missing, and lists the files",
        )
    if (path / CLAIMS).exists() or any(path.glob(f"*/{PLANS}")) or any(path.glob(f"runs/*/{PLAN}")):
        raise TraceError(
            f"cannot verify {path}: it has no {MANIFEST}: it was interrupted, or made by an older leowarp",
            hint="type the command that made it once more: it makes what is missing, and lists the files",
        )
