# SPDX-License-Identifier: Apache-2.0
"""The study made again: groups of runs by the study engine, judged and drawn from their data sets and kept traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp.report import RunView
from leowarp.report.view import kernel_name
from leowarp.study import parts as study_parts
from leowarp.study.huston2024 import figures, results, runs, tables
from leowarp.study.huston2024.claims import CLAIMS
from leowarp.study.huston2024.pings import pings_of
from leowarp.study.huston2024.rules import Rules
from leowarp.study.huston2024.runs import OFF_PEAK, PEAK
from leowarp.study.huston2024.traces import trace_of
from leowarp.study.page import Section
from leowarp.study.reproduction import Making, Material

OPTIONS = ("quick", "scheduler")
"""This study's own keyword arguments of `reproduce`."""

TITLE = "A transport protocol's view of Starlink, re-made"
LEAD = (
    "G. Huston (APNIC blog, 2024) measured pings and TCP over a Starlink dish: a new path every 15 s, a rise of "
    "latency and loss at each, CUBIC far below the path's capacity, BBR near it; and proposed cures that nobody has "
    "put numbers on. Here Linux 6.12's own TCP runs in virtual time over a synthetic path whose statistics follow the "
    "published ones. The claims on the path (3.1 to 3.6, 3.16) test that this path does in the guest what the study "
    "saw; those on TCP say what follows from it. None of it is a measurement of Starlink."
)

TABLE = "table.csv"
"""The study's table for machines, beside the page."""
KEPT = ("flood", "paced", "main", "cures", "repairs", "clean")
"""Groups whose whole run directories stay."""
SHOWN_BIN_NS = 200_000_000
"""Of figures 6 to 9."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """Makes the runs that are not there yet, and the figures; see `leowarp.study.reproduction`.

    Parameters
    ----------
    making : Making
    quick : bool
        Fewer seeds and capacity tests (`runs.QUICK_SEEDS`, `runs.QUICK_STEP`).
    scheduler : str, optional
        Address of a Dask scheduler.

    Raises
    ------
    LeowarpError
        The first failure, if no group has a good run.
    """
    rows, failures = study_parts.made(runs.parts(), making, quick=quick, scheduler=scheduler)
    frames, view = _frames(rows, making.folder)
    if not frames:
        raise study_parts.first_failure(failures, [part.name for part in runs.parts()])
    failures |= study_parts.missing(CLAIM_FRAMES, frames, failures)
    rules = Rules(
        kernel="not recorded" if view is None else kernel_name(view.manifest),
        seeds=int(frames["sessions"]["seed"].nunique()) if "sessions" in frames else 0,
    )
    sections = [Section("runs", "Runs and their cost", study_parts.cost_table(runs.parts(), rows, making.folder)),
                Section("data", "Data", _data_section())]  # fmt: skip
    # The table has columns of both groups.
    if "sessions" in frames and "beside" in frames:
        tables.frame(frames).to_csv(making.folder / TABLE, index=False)
        sections.insert(0, Section("table", "The study's table", tables.table(frames)))
    if "traces" in frames:
        sections.insert(1, Section("causes", "Which losses, and how long to grow back", tables.causes(frames)))
    return Material(
        samples=[("this reproduction", frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=sections,
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
    )


CLAIM_FRAMES = {
    "flood": ("flood",),
    "paced": ("paced",),
    "capacity": ("capacity",),
    "sessions": ("main", "cures", "others", "repairs", "clean"),
    "traces": ("main",),
    "beside": ("beside",),
}
"""Data sets that claims name in `Claim.runs`, and the groups of runs that each is made of."""


def _frames(rows: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], RunView | None]:
    """What claims and figures take; a group of which every run failed is left out.

    Returns
    -------
    frames : dict
        `flood` (way of sending -> `Pings`), `flood_view`, `paced`; `traces`, `shown` ((variant, preset) -> `Trace`s);
        `sessions`, `beside`, `losses`, `phases`, `capacity` (DataFrames, see `results`).
    view : RunView or None
        One of the kept runs, of which the kernel's name is taken.
    """
    kept = {name: _views(rows[name], folder / name) for name in KEPT}
    frames: dict[str, Any] = {}
    flood = {
        sends: [pings_of(view) for row, view in kept["flood"] if row["sends"] == sends]
        for sends in (runs.REGULAR, runs.ANSWERED)
    }
    if all(flood.values()):
        frames["flood"] = flood
        frames["flood_view"] = next(view for row, view in kept["flood"] if row["sends"] == runs.REGULAR)
    if kept["paced"]:
        frames["paced"] = [pings_of(view) for _, view in kept["paced"]]
    traces: dict[tuple[str, str], list[Any]] = {}
    shown = {}
    for row, view in (*kept["main"], *kept["cures"], *kept["repairs"], *kept["clean"]):
        # The group `clean` varies no preset; its rows get the name under which claims look for them.
        key = (row["name"], row.get("preset", runs.CLEAN_PEAK))
        traces.setdefault(key, []).append(trace_of(view))
        # Figures show one session, the first seed; claims look at all of them.
        if key not in shown:
            shown[key] = trace_of(view, SHOWN_BIN_NS, "sacked")
    # All or none: claims compare the three with each other at both hours.
    if all(traces.get((variant.name, preset)) for variant in runs.MAIN for preset in (PEAK, OFF_PEAK)):
        frames |= {"traces": traces, "shown": shown}
    frames["sessions"] = results.joined(
        [
            *(results.sessions(rows[name]) for name in ("main", "cures", "others", "repairs")),
            results.sessions(rows["clean"], runs.CLEAN_PEAK),
        ]
    )
    frames["beside"] = results.beside(rows["beside"])
    frames["losses"] = results.losses(rows["losses"])
    frames["phases"] = results.phases(rows["phases"])
    frames["capacity"] = results.capacity(rows["capacity"])
    full = {name: frame for name, frame in frames.items() if not isinstance(frame, pd.DataFrame) or len(frame)}
    views = [view for group in kept.values() for _, view in group]
    return full, next(iter(views), None)


def _views(rows: pd.DataFrame, folder: Path) -> list[tuple[dict[str, Any], RunView]]:
    """Rows of runs that were kept, with their directories, by seed."""
    # By seed, so that the same session is shown however the rows lie in the data set.
    good = rows[rows["status"] == "ok"].sort_values("seed", kind="stable")
    return [(row, RunView(folder / "runs" / row["run_id"])) for row in good.to_dict("records")]


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """For the top of the page: what a quick reproduction leaves out, and the runs' own warnings."""
    sentences = []
    if quick:
        sentences.append(
            f"quick: {runs.QUICK_SEEDS} of {runs.SEEDS} seeds and one capacity test in {runs.QUICK_STEP}: a look at "
            "the figures and not the study; an interval of 3 values is no confidence interval"
        )
    return sentences + study_parts.warnings_said(rows)


def _data_section() -> str:
    """Where the results are, as HTML."""
    note = (
        f'The study\'s table with all its intervals: <a href="{TABLE}">{TABLE}</a>. Whole run directories of the '
        f"groups {', '.join(KEPT)} stand in their <code>runs/</code>."
    )
    example = (
        "import pandas as pd\n"
        'sessions = pd.read_parquet("main/results")\n'
        'sessions.groupby(["name", "preset"]).flow0_goodput_mean_bps.median()'
    )
    return study_parts.data_section(runs.parts(), example, note)
