# SPDX-License-Identifier: Apache-2.0
"""Repeat a sample of the runs of a study or a reproduction, and compare them with the stored results."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leowarp.base import recorded
from leowarp.base.checksums import sha256_of_file
from leowarp.base.layout import METRICS
from leowarp.base.progress import OnProgress
from leowarp.results.run import Run
from leowarp.study.sweep.again import MadeAgain, run_again
from leowarp.study.sweep.plans import PLANS, StudyRun, read_plans
from leowarp.study.sweep.rows import OK
from leowarp.study.sweep.session import RUNS
from leowarp.study.sweep.status import row_of_run
from leowarp.study.sweep.store import RESULTS, read_results
from leowarp.trace import is_of_this_version, maker_of
from leowarp.verification.comparing import differing, few, in_words
from leowarp.verification.second_run import SecondRun, second_run_of, stages_of
from leowarp.verification.verdicts import Found, StageFound, Verdict

ROW = "results"
"""The name of the stage that compares the row of a run in the study's results."""


@dataclass(frozen=True)
class Candidate:
    """A run of a study that can be repeated.

    folder: The directory of the run, or of the study if it stored only the run's row.
    run_id: The id of the run's row. None means a complete run directory that belongs to no study file.
    """

    folder: Path
    run_id: str | None = None

    def name(self, path: Path) -> str:
        """Return the name of the run relative to the verified directory."""
        return (self.folder / (self.run_id or "")).relative_to(path).as_posix()


def chosen(path: Path, count: int, seed: int) -> list[Candidate]:
    """Return a random sample of the runs, in the order of the directory. The same seed gives the same sample."""
    every = list(_candidates(path))
    places = random.Random(seed).sample(range(len(every)), min(count, len(every)))
    return [every[place] for place in sorted(places)]


def rerun(candidate: Candidate, scratch: Path, *, progress: bool | OnProgress, trust: bool) -> SecondRun:
    """Repeat one of the runs in an empty directory, and compare it with the stored row, and its directory if there is
    one. `progress` and `trust` are those of `leowarp.run`."""
    if candidate.run_id is None:
        found = second_run_of(candidate.folder, scratch, progress=progress, trust=trust)
        return replace(found, stages=[*_copied(candidate.folder), *found.stages])
    plan = read_plans(candidate.folder, candidate.run_id)[0]
    row = row_of_run(candidate.folder, candidate.run_id)
    out = scratch / "run"
    made = run_again(candidate.folder, candidate.run_id, out, report=False, progress=progress, trust=trust)
    differences = _unlike_its_plan(row, plan) | _unlike_its_run(row, made) | made.differences
    stages = [_row(candidate.folder, differences)]
    kept = candidate.folder / RUNS / candidate.run_id
    if recorded.why_incomplete(kept) is None:
        stages += stages_of(Run(kept), Run(made.path), scratch)
    return SecondRun(stages, dict(made.origin))


def _candidates(path: Path) -> Iterator[Candidate]:
    """Yield every run with a result: rows of studies, and run directories outside of studies."""
    for folder in (path, *sorted(each for each in path.iterdir() if each.is_dir())):
        if (folder / PLANS).exists():
            planned = {run.run_id for run in read_plans(folder)}
            table, journal = read_results(folder)
            rows = [*([] if table is None else table.select(["run_id", "status"]).to_pylist()), *journal]
            good = sorted(row["run_id"] for row in rows if row["status"] == OK and row["run_id"] in planned)
            yield from (Candidate(folder, run_id) for run_id in good)
    if not (path / PLANS).exists() and (path / RUNS).is_dir():
        yield from (Candidate(run) for run in sorted((path / RUNS).iterdir()) if recorded.why_incomplete(run) is None)


def _copied(run: Path) -> list[StageFound]:
    """Return the verdict on the copy of a run's metrics in a reproduction's results, if there is one."""
    path = run.parents[1] / RESULTS / f"run={run.name}" / "metrics.parquet"
    if not path.exists():
        return []
    same = (run / METRICS).exists() and sha256_of_file(path) == sha256_of_file(run / METRICS)
    name = path.relative_to(run.parents[1]).as_posix()
    why = () if same else (f"it is no copy of {RUNS}/{run.name}/{METRICS}",)
    return [StageFound(ROW, (Found(name, Verdict.IDENTICAL if same else Verdict.DIFFERS, why),))]


def _unlike_its_plan(row: Mapping[str, Any], run: StudyRun) -> dict[str, tuple[Any, Any]]:
    """Return the parameters, seed and plan hash of a row that differ from `plans.parquet`, as (stored, planned)."""
    planned = {**run.columns, "seed": run.seed, "plan_sha256": hashlib.sha256(run.plan.encode()).hexdigest()}
    # A text column stores numbers as text (`rows.table_of`).
    pairs = {
        name: (row.get(name), str(value) if isinstance(row.get(name), str) else value)
        for name, value in planned.items()
    }
    return {name: (stored, now) for name, (stored, now) in pairs.items() if stored != now}


def _unlike_its_run(row: Mapping[str, Any], made: MadeAgain) -> dict[str, tuple[Any, Any]]:
    """Return the warnings of a row and of its second run, if they differ."""
    stored, now = list(dict.fromkeys(row["warnings"] or ())), recorded.read_manifest(made.path)["warnings"]
    return {} if stored == now else {"warnings": (stored, now)}


def _row(folder: Path, differences: dict[str, tuple[Any, Any]]) -> StageFound:
    why = few([differing(name, repr(stored), repr(now)) for name, (stored, now) in differences.items()])
    if not differences:
        return StageFound(ROW, (Found(RESULTS, Verdict.IDENTICAL),))
    manifest = recorded.read_manifest(folder)
    if not is_of_this_version(manifest):
        made = f"made by {in_words(maker_of(manifest))}"
        return StageFound(ROW, (Found(RESULTS, Verdict.OF_ANOTHER_VERSION, (made, *why)),))
    return StageFound(ROW, (Found(RESULTS, Verdict.DIFFERS, tuple(why)),))
