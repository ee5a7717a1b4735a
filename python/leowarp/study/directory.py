# SPDX-License-Identifier: Apache-2.0
"""The directory of a study: `study.toml`, `runs/<slug>/`, `results/`, `figures/`, `claims.json`, `index.html`. An
interrupted study can be continued from its directory."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp import scenario
from leowarp.base import layout, recorded
from leowarp.base.errors import LeowarpError
from leowarp.base.progress import OnProgress
from leowarp.running.many import Job, run_many
from leowarp.scenario.names.examples import example_file
from leowarp.study.sweep.parameters.dotted import toml_value
from leowarp.version import VERSION


@dataclass(frozen=True)
class ExampleRun:
    """A run of a study: an example scenario with some replaced scenario keys.

    slug: The name of the run and of its directory.
    example: The file name of the example scenario.
    why: The reason for the run.
    """

    slug: str
    example: str
    set: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


def make_runs(
    folder: Path,
    runs: Sequence[ExampleRun],
    *,
    settings: Mapping[str, Any],
    at_once: int | None,
    kernel: Path | str | None,
    force: bool,
    progress: bool | OnProgress,
) -> tuple[dict[str, Path], dict[str, LeowarpError]]:
    """Make the runs that have no result yet. Return the directories of complete runs and the errors of failed runs,
    each by name.

    A complete run of exactly the same plan is repeated only if `force` is set. If a run directory has a different plan,
    it is replaced.

    settings: The dotted keys for the scenario of every run. The `set` of a single run overrides `settings`.
    at_once, kernel, progress: See `leowarp.run_many`.
    """
    jobs, done, failed = [], {}, {}
    for run in runs:
        target = folder / "runs" / run.slug
        job = Job(example_file(run.example), target, {**settings, **run.set}, label=run.slug)
        # The text has every default, so a run is repeated if a newer version of leowarp changes a default.
        if not force and _is_made(target, scenario.resolve(scenario.load(job.scenario, job.set)).to_toml()):
            done[run.slug] = target
        else:
            jobs.append(job)
    if jobs:
        # force=True, because an existing directory at this point is incomplete, belongs to another plan, or shall be
        # replaced. Claims can still be checked if a run fails. The study's page links to each run's report.
        made = run_many(
            jobs, at_once=at_once, kernel=kernel, force=True, report=True, progress=progress, failures="return"
        )
        for job, result in zip(jobs, made, strict=True):
            if isinstance(result, LeowarpError):
                failed[Path(job.out).name] = result
            else:
                done[Path(job.out).name] = Path(job.out)
    return {run.slug: done[run.slug] for run in runs if run.slug in done}, failed


def write_study(folder: Path, key: str, runs: Sequence[ExampleRun], settings: Mapping[str, Any]) -> None:
    """Write `study.toml`. For each run, the file contains the scenario, the scenario keys that the study replaces, and
    the plan's hash.

    key: The key of the study, such as "frederiksen2024".
    settings: The settings as in `make_runs`.
    """
    lines = [f"study = {json.dumps(key)}", "schema = 1", f"leowarp = {json.dumps(VERSION)}", ""]
    for run in runs:
        plan = folder / "runs" / run.slug / layout.PLAN
        lines += [
            "[[runs]]",
            f"slug = {json.dumps(run.slug)}",
            f"why = {json.dumps(run.why, ensure_ascii=False)}",
            f"example = {json.dumps(run.example)}",
            "set = { "
            + ", ".join(f"{json.dumps(key)} = {toml_value(value)}" for key, value in {**settings, **run.set}.items())
            + " }",
        ]
        # A run that failed before its plan was written has no hash.
        if plan.exists():
            lines.append(f'plan_sha256 = "{hashlib.sha256(plan.read_bytes()).hexdigest()}"')
        lines.append("")
    (folder / "study.toml").write_text("\n".join(lines), encoding="utf-8")


def collect_results(folder: Path, made: Mapping[str, Path]) -> None:
    """Write `results/run=<slug>/metrics.parquet`, the metrics of all runs as one data set with Hive partitions."""
    results = folder / "results"
    # Runs that were removed from the study must not remain in the data set.
    if results.exists():
        shutil.rmtree(results)
    for slug, path in made.items():
        target = results / f"run={slug}"
        target.mkdir(parents=True)
        # The file is copied, not linked, so that the data set can be moved without the runs.
        shutil.copyfile(path / layout.METRICS, target / "metrics.parquet")


def _is_made(target: Path, plan: str) -> bool:
    if recorded.why_incomplete(target) is not None:
        return False
    # The texts are compared instead of hashes, so that a user can see how two plans differ.
    return (target / layout.PLAN).read_text(encoding="utf-8") == plan
