# SPDX-License-Identifier: Apache-2.0
"""A study on disk: `study.toml`, `runs/<slug>/`, `results/`, `figures/`, `claims.json`, `index.html`; resumable."""

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
from leowarp.version import VERSION


@dataclass(frozen=True)
class ExampleRun:
    """One run of a study: an example scenario with some of its keys replaced.

    slug: Its name within the study, and of its directory.
    example: File name of the example scenario.
    set: What replaces the scenario's keys.
    why: What it is for.
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
    """Makes the runs that are not there yet; returns directories of complete runs, and failures by slug.

    A complete run of the very same plan is kept, unless `force`; one of another plan is re-run.

    folder: The study's directory; runs lie in `runs/<slug>`.
    settings: Dotted keys of every run's scenario; a run's own `set` overrides them.
    at_once, kernel, progress: As for `leowarp.run_many`.
    force: Whether complete runs are re-run, too.
    Returns done: By slug, in the order of `runs`.
    Returns failed: By slug.
    """
    jobs, done, failed = [], {}, {}
    for run in runs:
        target = folder / "runs" / run.slug
        job = Job(example_file(run.example), target, {**settings, **run.set}, label=run.slug)
        # Plans are compared as text, every default written out: a default that a newer version changed makes the run
        # anew.
        if not force and _is_made(target, _plan_text(job)):
            done[run.slug] = target
        else:
            jobs.append(job)
    if jobs:
        # force=True: what lies there is incomplete or of another plan, or the caller wants it anew. A failure is
        # returned, as the other runs can still be checked. With their reports, to which the study's page leads.
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
    """`study.toml`: which runs, from which scenario, with what replaced, and the hash of each plan.

    key: Of the study, such as "frederiksen2024".
    settings: As for `make_runs`. The hash is left out for a run that is not there.
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
            + ", ".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in {**settings, **run.set}.items())
            + " }",
        ]
        # A run that failed before its plan was written has no hash, and is in the list all the same.
        if plan.exists():
            lines.append(f'plan_sha256 = "{hashlib.sha256(plan.read_bytes()).hexdigest()}"')
        lines.append("")
    (folder / "study.toml").write_text("\n".join(lines), encoding="utf-8")


def collect_results(folder: Path, made: Mapping[str, Path]) -> None:
    """`results/run=<slug>/metrics.parquet`: the metrics of all runs as one data set, partitioned as Hive does.

    made: Slug -> run directory.
    """
    results = folder / "results"
    # A run that is no longer made must not stay in the data set.
    if results.exists():
        shutil.rmtree(results)
    for slug, path in made.items():
        target = results / f"run={slug}"
        target.mkdir(parents=True)
        # A copy and no link: the data set may be moved without the runs.
        shutil.copyfile(path / layout.METRICS, target / "metrics.parquet")


def _plan_text(job: Job) -> str:
    """The text of a job's plan, every default written out, as its run directory would hold it."""
    return scenario.resolve(scenario.load(job.scenario, job.set)).to_toml()


def _is_made(target: Path, plan: str) -> bool:
    """Whether the directory holds a complete run of this very plan."""
    if recorded.why_incomplete(target) is not None:
        return False
    # By text and not by hash: both are there, and a difference can be looked at.
    return (target / layout.PLAN).read_text(encoding="utf-8") == plan


def _toml(value: Any) -> str:
    """A value as TOML on one line, tables as inline tables."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
