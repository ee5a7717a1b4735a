# SPDX-License-Identifier: Apache-2.0
"""`reproduce("frederiksen2024")`: all runs of a study, its figures, a verdict on each claim, one page."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp import rundir
from leowarp.errors import LeowarpError, ScenarioError
from leowarp.progress import OnProgress
from leowarp.report import RunView
from leowarp.study.claim import judged
from leowarp.study.directory import collect_results, make_runs, write_study
from leowarp.study.page import write_study_page

STUDIES = ("frederiksen2024",)


@dataclass(frozen=True)
class Reproduction:
    """A study made again.

    Attributes
    ----------
    path : Path
        Its directory.
    page : Path
        `index.html`.
    claims : list of dict
        As in `claims.json`: number, says, figure, test, verdict, measured, numbers, cause, samples.
    failures : dict of slug to LeowarpError
        Runs that could not be made; claims that need them stand as "cannot be told".
    """

    path: Path
    page: Path
    claims: list[dict[str, Any]]
    failures: dict[str, LeowarpError]


def reproduce(
    key: str, out: str | Path | None = None, *, samples: int | None = None, duration: str | None = None,
    at_once: int | None = None, kernel: Path | str | None = None, force: bool = False,
    progress: bool | OnProgress = True,
) -> Reproduction:  # fmt: skip
    """Makes a study's runs (those that are not there yet), figures, claims table and page.

    Parameters
    ----------
    key : str
        One of `STUDIES`.
    out : path, optional
        Directory; `reproductions/<key>` if not given.
    samples : int, optional
        How often the study's own runs are made, at different times of the constellation; 3 if not given.
    duration : str, optional
        Length of every run instead of the study's, e.g. "60 s": a trial, not a reproduction.
    at_once, kernel, force, progress
        As for `leowarp.run_many`.
    """
    if key not in STUDIES:
        raise ScenarioError(f"there is no study {key!r}", hint=f"the studies are: {', '.join(STUDIES)}")
    room = f"leowarp.study.{key}"
    runs, figures = importlib.import_module(f"{room}.runs"), importlib.import_module(f"{room}.figures")
    claims = importlib.import_module(f"{room}.claims").CLAIMS
    count = samples if samples is not None else len(runs.SAMPLE_STARTS_S)
    if not 1 <= count <= len(runs.SAMPLE_STARTS_S):
        raise ScenarioError(f"samples = {count}: must be 1 to {len(runs.SAMPLE_STARTS_S)}")
    folder = Path(out) if out is not None else Path("reproductions") / key
    folder.mkdir(parents=True, exist_ok=True)
    chosen = runs.all_runs(count)
    settings = {"run.duration": duration} if duration else {}
    made, failures = make_runs(
        folder, chosen, settings=settings, at_once=at_once, kernel=kernel, force=force, progress=progress
    )
    if not made:
        raise next(iter(failures.values()))
    write_study(folder, key, chosen, settings)
    collect_results(folder, made)
    views = {slug: RunView(path) for slug, path in made.items()}
    rows = _judge_all(claims, _samples(runs, views, count), failures)
    rundir.write_json(
        folder / "claims.json", {"study": key, "runs": {slug: f"runs/{slug}" for slug in made}, "claims": rows}
    )
    drawn = figures.draw(views, folder / "figures")
    page = write_study_page(
        folder, figures.TITLE, figures.LEAD, rows, drawn, views, failures, _command(key, out, duration)
    )
    return Reproduction(folder, page, rows, failures)


def _samples(runs: Any, views: dict[str, RunView], count: int) -> list[tuple[str, dict[str, RunView]]]:
    """(name, runs by the slug that claims use): the study's, then the further ones."""
    found = [(f"from {runs.SAMPLE_STARTS_S[0]} s", dict(views))]
    for start_s in runs.SAMPLE_STARTS_S[1:count]:
        sample = {
            run.slug: views[runs.sample_slug(run.slug, start_s)]
            for run in runs.CORE
            if runs.sample_slug(run.slug, start_s) in views
        }
        found.append((f"from {start_s} s", sample))
    return found


def _judge_all(
    claims: Sequence[Any], samples: list[tuple[str, dict[str, RunView]]], failures: dict[str, LeowarpError]
) -> list[dict[str, Any]]:
    rows = []
    for claim in claims:
        missing = [slug for slug in claim.runs if slug in failures]
        if missing:
            row = {key: getattr(claim, key) for key in ("number", "says", "figure", "test")}
            why = failures[missing[0]].message
            rows.append(row | {"runs": list(claim.runs), "verdict": "cannot be told", "measured": why, "numbers": {},
                               "cause": "", "samples": []})  # fmt: skip
        else:
            rows.append(_json_safe(judged(claim, samples)))
    return rows


def _json_safe(value: Any) -> Any:
    """Numbers as JSON has them: numpy's as Python's, nan as null."""
    if isinstance(value, dict):
        return {str(key): _json_safe(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return value


def _command(key: str, out: str | Path | None, duration: str | None) -> str:
    where = f" --out {out}" if out is not None else ""
    return f"leowarp reproduce {key}{where}" + (f" --duration '{duration}'" if duration else "")
