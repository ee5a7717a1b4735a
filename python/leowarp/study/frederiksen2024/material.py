# SPDX-License-Identifier: Apache-2.0
"""The study made again: whole run directories, judged at three times of the constellation.

All 27 runs are kept whole, because claims look at single packets. The other three studies have thousands of
runs, of which rows are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leowarp.errors import ScenarioError
from leowarp.report import RunView, html
from leowarp.study.directory import collect_results, make_runs, write_study
from leowarp.study.frederiksen2024 import figures, runs
from leowarp.study.frederiksen2024.claims import CLAIMS
from leowarp.study.frederiksen2024.figures import LEAD, TITLE
from leowarp.study.page import Section
from leowarp.study.reproduction import Making, Material

OPTIONS = ("samples", "duration")
"""This study's own keyword arguments of `reproduce`."""

KEY = "frederiksen2024"
"""As in `study.toml`."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, samples: int | None = None, duration: str | None = None) -> Material:
    """Makes the runs that are not there yet, and the figures; see `leowarp.study.reproduction`.

    Parameters
    ----------
    making : Making
    samples : int, optional
        1 to 3; 3 if not given.
    duration : str, optional
        Length of every run in place of the study's.

    Raises
    ------
    ScenarioError
        If `samples` is out of range.
    LeowarpError
        The first failure, if no run could be made.
    """
    count = samples if samples is not None else len(runs.SAMPLE_STARTS_S)
    if not 1 <= count <= len(runs.SAMPLE_STARTS_S):
        raise ScenarioError(f"samples = {count}: must be 1 to {len(runs.SAMPLE_STARTS_S)}")
    chosen = runs.all_runs(count)
    settings = {"run.duration": duration} if duration else {}
    made, failures = make_runs(
        making.folder, chosen, settings=settings, at_once=making.at_once, kernel=making.kernel, force=making.force,
        progress=making.progress,
    )  # fmt: skip
    # Nothing to judge: the first failure says more than a page of "cannot be told".
    if not made:
        raise next(iter(failures.values()))
    write_study(making.folder, KEY, chosen, settings)
    collect_results(making.folder, made)
    # Read from disk, so that a run of an earlier start and one just made are judged alike.
    views = {slug: RunView(path) for slug, path in made.items()}
    return Material(
        samples=_samples(views, count),
        figures=figures.draw(views, making.folder / "figures"),
        sections=[
            Section("runs", "Runs", _runs_table(views)),
            Section("rules", "Rules", _rules_table(next(iter(views.values())))),
        ],
        runs={slug: f"runs/{slug}" for slug in made},
        failures=failures,
        warnings=[f"{slug}: {text}" for slug, run in views.items() for text in run.warnings],
    )


def _samples(views: dict[str, RunView], count: int) -> list[tuple[str, Mapping[str, Any]]]:
    """(name, runs by the slug that claims use): the study's, then the further ones.

    Parameters
    ----------
    views : dict of str to RunView
        All runs by slug.
    count : int
        How many samples; runs that failed are missing from theirs.
    """
    samples: list[tuple[str, Mapping[str, Any]]] = [(f"from {runs.SAMPLE_STARTS_S[0]} s", dict(views))]
    for start_s in runs.SAMPLE_STARTS_S[1:count]:
        sample = {
            run.slug: views[runs.sample_slug(run.slug, start_s)]
            for run in runs.CORE
            if runs.sample_slug(run.slug, start_s) in views
        }
        samples.append((f"from {start_s} s", sample))
    return samples


def _rules_table(run: RunView) -> str:
    """The rules of one run as an HTML table: clock, links, kernel, TCP."""
    return html.table("Rules of the baseline run", ["rule", "value"], run.rules(), left=frozenset((0, 1)))


def _runs_table(views: Mapping[str, RunView]) -> str:
    """A row a run: its page, what it got, and what route changes did to it."""
    rows = []
    for slug, run in views.items():
        flow = run.summary["flows"][run.main_flow]
        rows.append([
            f'<a href="runs/{html.text(slug)}/50-report/index.html">{html.text(slug)}</a>', run.algorithm,
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
    """A number for the table in another unit; None stays None."""
    return None if value is None else float(value) / scale
