# SPDX-License-Identifier: Apache-2.0
"""The reproduction of the study: complete run directories, and claims that are checked under each condition of
`runs.CONDITIONS`.

Complete directories are stored, because claims examine single packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leowarp import Run, ScenarioError
from leowarp.report import html
from leowarp.report.rules import rules_of
from leowarp.study import Making, Material, Section
from leowarp.study.directory import collect_results, make_runs, write_study
from leowarp_studies.frederiksen2024 import figures, runs
from leowarp_studies.frederiksen2024.claims import CLAIMS
from leowarp_studies.frederiksen2024.figures import LEAD, TITLE

OPTIONS = ("samples", "duration", "quick")
"""The keyword arguments of `reproduce` that apply only to this study."""

KEY = "frederiksen2024"
"""The study's key, which `study.toml` contains."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, samples: int | None = None, duration: str | None = None, quick: bool = False) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    samples: The number of conditions to use, counted from the first in `runs.CONDITIONS`. The default is all.
    duration: The length of every run. A given length replaces the study's own lengths.
    quick: True means only the three combinations of TCP and links, with runs of length `runs.QUICK_DURATION`.
    Raises ScenarioError if `samples` is out of range, or if `quick` is combined with `samples` or `duration`.
    Raises LeowarpError: The error of the first run, if no run could be made.
    """
    if quick and (samples is not None or duration is not None):
        raise ScenarioError(
            "--quick has conditions and durations of its own", hint="leave --samples and --duration out"
        )
    most = len(runs.CONDITIONS)
    count = samples if samples is not None else (runs.STACKS if quick else most)
    if not 1 <= count <= most:
        raise ScenarioError(f"samples = {count}: must be 1 to {most}")
    duration = runs.QUICK_DURATION if quick else duration
    chosen = runs.all_runs(count)
    settings = {"run.duration": duration} if duration else {}
    if duration:
        # Control runs set their own duration. The length of control runs is removed here, because it would override the
        # argument `duration`.
        chosen = tuple(replace(run, set={k: v for k, v in run.set.items() if k != "run.duration"}) for run in chosen)
    made, failures = make_runs(
        making.folder, chosen, settings=settings, at_once=making.at_once, kernel=making.kernel, force=making.force,
        progress=making.progress,
    )  # fmt: skip
    # Without runs, no claim can be checked. If no run was made, the error of the first run is more useful than a page
    # on which every verdict is "cannot be told".
    if not made:
        raise next(iter(failures.values()))
    write_study(making.folder, KEY, chosen, settings)
    collect_results(making.folder, made)
    # All runs are read from disk, so that new runs and existing runs are treated alike.
    views = {slug: Run(path, complete=False) for slug, path in made.items()}
    warnings = [f"{slug}: {text}" for slug, run in views.items() for text in run.warnings]
    if duration:
        warnings.insert(0, f"every run lasts {duration} in place of the study's 1000 s: a trial, and no reproduction")
    return Material(
        samples=_samples(views, count),
        figures=figures.draw(views, making.folder / "figures"),
        sections=[
            Section("runs", "Runs", _runs_table(views)),
            Section("rules", "Rules", _rules_table(next(iter(views.values())))),
        ],
        runs={slug: f"runs/{slug}" for slug in made},
        failures=failures,
        warnings=warnings,
        cost=_cost(views, duration),
    )


def _samples(views: dict[str, Run], count: int) -> list[tuple[str, Mapping[str, Any]]]:
    """Return pairs (name of a condition, runs). The keys of `runs` are the names that claims use. The first condition
    also has the runs that only some claims need.

    views: A dict from name to run, with all runs that did not fail.
    count: The number of conditions.
    """
    samples: list[tuple[str, Mapping[str, Any]]] = []
    for condition in runs.CONDITIONS[:count]:
        if not condition.key:
            samples.append((condition.name, dict(views)))
            continue
        own = (*condition.slugs, *(map(runs.ordered_slug, runs.ALGORITHMS) if condition.has_ordered else ()))
        sample = {slug: views[condition.slug(slug)] for slug in own if condition.slug(slug) in views}
        for slug in runs.EVERY:
            control = runs.control_slug(slug)
            name = control if not condition.controls_of else f"{condition.controls_of}-{control}"
            if condition.controls_of is not None and name in views:
                sample[control] = views[name]
        samples.append((condition.name, sample))
    return samples


def _cost(views: Mapping[str, Run], duration: str | None) -> str:
    """Return a text for the terminal with the cost of the runs. If the runs do not have the study's own lengths, the
    text calls them a trial."""
    spent = f"{len(views)} runs, {sum(float(run.summary['cpu_s']) for run in views.values()):,.0f} CPU s"
    return spent if duration is None else f"{spent}; runs of {duration}: a trial, and no reproduction"


def _rules_table(run: Run) -> str:
    """Return the rules of one run as an HTML table: clock, links, kernel, TCP."""
    return html.table(
        "Rules of the baseline run", ["rule", "value"], rules_of(run.document, run.manifest), left=frozenset((0, 1))
    )


def _runs_table(views: Mapping[str, Run]) -> str:
    """Return an HTML table with one row per run: the link to its page, its results, and the effects of route
    changes."""
    rows = []
    for slug, run in views.items():
        flow = run.summary["flows"][run.main_flow]
        rows.append([
            f'<a href="runs/{html.text(slug)}/50-report/index.html">{html.text(slug)}</a>', flow["congestion_control"],
            _scaled(flow["goodput_mean_bps"], 1e6), _scaled(flow["srtt_p50_us"], 1e3),
            _scaled(flow["srtt_p99_us"], 1e3),
            run.summary["route_changes"], run.summary["route_changes_with_late_pkts"], flow["late_pkts"],
            flow["retransmissions_pkts"], flow["spurious_retransmissions_pkts"], run.summary["drops_pkts"],
            run.summary["cpu_s"],
        ])  # fmt: skip
    header = ["run", "algorithm", "goodput, Mbit/s", "srtt median, ms", "srtt 99 %, ms", "route changes",
              "with late packets", "late packets", "retransmitted", "spurious", "dropped", "CPU, s"]  # fmt: skip
    return html.table("Each run's own page has its route changes, recovery, links and plan", header, rows,
                      left=frozenset((0, 1)), raw=frozenset((0,)))  # fmt: skip


def _scaled(value: Any, scale: float) -> float | None:
    """Convert a number of the table to another unit, or return None for None."""
    return None if value is None else float(value) / scale
