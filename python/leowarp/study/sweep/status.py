# SPDX-License-Identifier: Apache-2.0
"""The status of the directory of a study. The status can be read while the study is running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from leowarp.base.errors import ScenarioError
from leowarp.study.sweep.lock import holder
from leowarp.study.sweep.plans import read_facts, read_plans, refuse_strange
from leowarp.study.sweep.rows import FAILED
from leowarp.study.sweep.store import read_results

_TOLD = ("run_id", "number", "status", "error", "error_kind", "error_hint", "cpu_s", "wall_s")
"""Only these columns are read, because the data set may have hundreds of them."""


@dataclass(frozen=True)
class StudyStatus:
    """The progress of a study.

    total, done: The numbers of all and of done runs as the study was last started. `done` includes failed runs.
    removed: The number of rows whose runs are no longer in the study.
    cpu_s: The total processor time in seconds of the runs that are done.
    holder: The process that works on the study, if any.
    failures: The `run_id, run, error, hint` of each failed run.
    """

    path: Path
    name: str
    total: int
    done: int
    failed: int
    removed: int
    cpu_s: float
    holder: str | None
    failures: tuple[Mapping[str, Any], ...]


def study_status(folder: Path | str) -> StudyStatus:
    """Read the status of a study. The function takes no lock and changes nothing.

    Raises TraceError if the directory is not a study's directory.
    """
    folder = Path(folder)
    # A pipe with the name plans.parquet, for example, would block the reader forever.
    refuse_strange(folder)
    runs = {run.run_id: run for run in read_plans(folder)}
    table, journal = read_results(folder)
    stored = [] if table is None else table.select([c for c in _TOLD if c in table.column_names]).to_pylist()
    rows = [*stored, *journal]
    # The store has not yet matched the journal's rows with the study's runs, so `in_study` does not count.
    mine = sorted((row for row in rows if row["run_id"] in runs), key=lambda row: row["number"])
    failed = [row for row in mine if row["status"] == FAILED]
    return StudyStatus(
        path=folder,
        name=read_facts(folder).name,
        total=len(runs),
        done=len(mine),
        failed=len(failed),
        removed=len(rows) - len(mine),
        cpu_s=sum(row.get("cpu_s") or 0.0 for row in mine),
        holder=holder(folder),
        failures=tuple(
            {
                "run_id": row["run_id"],
                "run": str(runs[row["run_id"]]),
                "error": row["error"],
                "hint": row.get("error_hint"),
            }
            for row in failed
        ),
    )


def row_of_run(folder: Path, run_id: str) -> dict[str, Any]:
    """Return the stored row of a run.

    Raises ScenarioError if the run has no row.
    Returns: A dict from column to value, as in `StudyRun.row`. If the row is only in the journal, its values have JSON
        types.
    """
    table, journal = read_results(folder)
    rows = [row for row in journal if row["run_id"] == run_id]
    if table is not None:
        rows += table.filter(pc.equal(table["run_id"], run_id)).to_pylist()
    if not rows:
        raise ScenarioError(
            f"the study {folder} has no result of a run {run_id!r}", hint="its run ids are in the column run_id"
        )
    return rows[0]
