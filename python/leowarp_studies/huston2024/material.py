# SPDX-License-Identifier: Apache-2.0
"""The reproduction of the study. The study engine makes groups of runs, and claims and figures use their data sets and
traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import HostError, Run
from leowarp.guest.building.kernel import is_built
from leowarp.guest.building.shelf import kernel_of
from leowarp.report.rules import kernel_name
from leowarp.study import Making, Material, Section
from leowarp.study import parts as study_parts
from leowarp.study.parts import Part
from leowarp_studies.huston2024 import figures, groups, questions, recorded, results, runs, tables, variants
from leowarp_studies.huston2024.claims import CLAIMS
from leowarp_studies.huston2024.groups import CLEAN_PEAK, OFF_PEAK, PEAK
from leowarp_studies.huston2024.pings import pings_of
from leowarp_studies.huston2024.rules import Rules
from leowarp_studies.huston2024.traces import Trace, trace_of

OPTIONS = ("quick", "scheduler", "path", "capacity")
"""The keyword arguments of `reproduce` that apply only to this study."""

TITLE = "A transport protocol's view of Starlink, re-made"
LEAD = (
    "G. Huston (APNIC blog, 2024) measured pings and TCP over a Starlink dish: a new path every 15 s, a rise of "
    "latency at each and loss at some, CUBIC far below the path's capacity at peak, BBR near it; and proposed cures "
    "that nobody has put numbers on. Here Linux 6.12's own TCP runs in virtual time over a synthetic path whose "
    "statistics follow the published ones. The claims on the path (3.1 to 3.6, 3.16) and on CUBIC off-peak (3.8) test "
    "that this path does in the guest what it was made to do: they hold by construction. The others say what follows "
    "from it. None of it is a measurement of Starlink."
)

TABLE = "table.csv"
"""The table of all variants as a file for programs, in the same directory as the page."""
TRACED = {
    "main": "", "cures": "", "proposals": "", "repairs": "", "bbr3": "", "clean": CLEAN_PEAK,
    "proposals-clean": CLEAN_PEAK,
}  # fmt: skip
"""The groups of sessions whose traces are used in claims. Each value is the preset of all sessions of the group, or ""
if the presets differ."""
UNTRACED = ("others",)
KEPT = ("flood", "paced", "hystart", "conditions", *TRACED)
"""The groups of which complete run directories are stored."""
SHOWN_BIN_NS = 200_000_000
"""The bin width in ns of the sessions that figures 6 to 9 show."""
PROGRAMS = Path("programs") / "programs.csv"
"""The results of the study `programs`, in a directory beside this study's own."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(
    making: Making,
    *,
    quick: bool = False,
    scheduler: str | None = None,
    path: Path | str | None = None,
    capacity: Path | str | None = None,
) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    quick: True means a shorter study, with fewer seeds and capacity tests (`runs.QUICK_SEEDS`, `runs.QUICK_STEP`).
    scheduler: The address of a Dask scheduler.
    path, capacity: The files with the recording of a dish, and with its capacity. If there is a recording, the sessions
        run over its replay and not over the profile.
    Raises LeowarpError: The first failure, if no group has a successful run.
    """
    recording = None if path is None else recorded.read(path, capacity)
    if capacity is not None and recording is None:
        raise recorded.capacity_alone()
    no_bbr3 = why_not(variants.BBR3_KERNEL)
    parts = runs.parts(bbr3=no_bbr3 is None) if recording is None else recorded.parts(recording, bbr3=no_bbr3 is None)
    rows, failures = study_parts.made(parts, making, quick=quick, scheduler=scheduler)
    if recording is None:
        frames, view = _frames(rows, making.folder)
        skipped = _programs(frames, making.folder)
    else:
        frames, view = recorded.frames(recording, rows, making.folder)
        absent = sorted(set(CLAIM_FRAMES) - set(recorded.FRAMES))
        skipped = dict.fromkeys(absent, recorded.NOT_ASKED) | recorded.skipped(recording)
    if not frames:
        raise study_parts.first_failure(failures, [part.name for part in parts])
    left_out = []
    if no_bbr3 is not None:
        skipped["bbr3"] = no_bbr3
        left_out.append(no_bbr3)
    wanted = {name: of for name, of in CLAIM_FRAMES.items() if name not in skipped}
    failures |= study_parts.missing(wanted, frames, failures)
    rules = Rules(
        kernel="not recorded" if view is None else kernel_name(view.manifest),
        seeds=int(frames["sessions"]["seed"].nunique()) if "sessions" in frames else 0,
    )
    return Material(
        samples=[("this reproduction" if recording is None else recording.name, frames)],
        figures=figures.draw(frames, making.folder / "figures", rules) if recording is None else [],
        sections=_sections(parts, rows, frames, making.folder),
        runs={part.name: part.name for part in parts},
        failures=failures,
        warnings=_warnings(rows, quick=quick) if recording is None else recorded.warnings(recording, rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
        left_out=left_out,
        skipped=skipped,
    )


CLAIM_FRAMES = {
    "flood": ("flood",),
    "paced": ("paced",),
    "capacity": ("capacity",),
    "sessions": (*TRACED, *UNTRACED),
    "traces": ("main",),
    "beside": ("beside",),
    "off-peak": ("main",),
    "clean": ("clean",),
    "losses": ("losses",),
    "aware": ("cures", "proposals"),
    "bbr3": ("bbr3", "bbr3-beside"),
    "conditions": ("conditions",),
    "jitter": ("jitter",),
    "shared": tuple(questions.shared_name(customers) for customers in questions.CUSTOMERS),
    "programs": (),
}
"""The data sets that claims name in `Claim.runs`. Each key is a data set, and its value is the groups of runs from
which it is built."""


def why_not(kernel: str) -> str | None:
    """Return the reason why the runs on an optional kernel are left out, with the command that builds the kernel. None
    means that the kernel is built."""
    try:
        if is_built(kernel_of(kernel)):
            return None
    except HostError as error:
        return f"the runs on the kernel {kernel} are left out: {error.message}"
    return f"the runs on the kernel {kernel} are left out: it is not built (leowarp kernel build {kernel})"


def _programs(frames: dict[str, Any], folder: Path) -> dict[str, str]:
    """Add the rows of the study `programs` if its results are beside this study's results. If these results do not
    exist, return the command that makes them, keyed by data set."""
    file = folder.parent / PROGRAMS
    if file.is_file():
        frames["programs"] = pd.read_csv(file)
        return {}
    typed = f"leowarp reproduce programs --out {file.parent}"
    return {"programs": f"claim 6.9 of the study programs answers it: {typed}, and this study again"}


def _sections(
    parts: tuple[Part, ...], rows: Mapping[str, pd.DataFrame], frames: Mapping[str, Any], folder: Path
) -> list[Section]:
    """Return further sections of the page. The rows of the tables are also written to `TABLE`."""
    sections = [Section("runs", "Runs and their cost", study_parts.cost_table(parts, rows, folder)),
                Section("data", "Data", _data_section(parts))]  # fmt: skip
    # The table of all variants has columns from both data sets.
    if "sessions" in frames and "beside" in frames:
        tables.frame(frames).to_csv(folder / TABLE, index=False)
        sections.insert(0, Section("table", "All variants", tables.table(frames)))
    if "traces" in frames:
        sections.insert(1, Section("causes", "Which losses, and how long to grow back", tables.causes(frames)))
    return sections


def _frames(rows: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], Run | None]:
    """Return the data sets for claims and figures, by name. A group is left out if all its runs failed.

    Returns frames: `flood` is a dict from the sending pattern to `Pings`. `traces` and `shown` are dicts from (variant,
        preset) to `Trace`s. `conditions` is a dict from the condition to `Trace`s, and `hystart` is a list of `Trace`s.
        `sessions`, `beside`, `bbr3`, `jitter`, `shared`, `losses`, `phases` and `capacity` are DataFrames (see
        `results`). Further data sets are `flood_view` and `paced`.
    Returns view: A run whose directory is stored. The kernel's name is read from it.
    """
    kept = {name: _views(rows[name], folder / name) for name in KEPT if name in rows}
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
    traces: dict[tuple[str, str], list[Trace]] = {}
    shown = {}
    for group, preset in TRACED.items():
        for row, view in kept.get(group, ()):
            # If a group has a single preset, its sessions get the preset's name, which claims expect.
            key = (row["name"], preset or row["preset"])
            traces.setdefault(key, []).append(trace_of(view))
            # Figures show only the session of the first seed; claims use all seeds.
            if key not in shown:
                shown[key] = trace_of(view, SHOWN_BIN_NS, "sacked")
    # Claims compare the traces of the main variants with each other at peak and off-peak, so either all traces are
    # included or none.
    if all(traces.get((variant.name, preset)) for variant in variants.MAIN for preset in (PEAK, OFF_PEAK)):
        frames |= {"traces": traces, "shown": shown}
    frames["hystart"] = [trace_of(view) for _, view in kept.get("hystart", ())]
    frames["conditions"] = _by_condition(kept.get("conditions", []))
    frames |= _tables(rows)
    # A recording may lack the sessions at peak or off-peak, and may lack the schedule.
    sessions = frames["sessions"]
    frames["off-peak"] = sessions[sessions["preset"] == OFF_PEAK]
    frames["clean"] = sessions[sessions["preset"] == CLEAN_PEAK]
    frames["aware"] = sessions[sessions["variant"].str.contains("_handover")]
    full = {name: frame for name, frame in frames.items() if not hasattr(frame, "__len__") or len(frame)}
    views = [view for group in kept.values() for _, view in group]
    return full, next(iter(views), None)


def _tables(rows: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the data sets that are tables."""
    found = {
        "sessions": results.joined([results.sessions(rows[name], preset or groups.PEAK)
                                    for name, preset in (TRACED | dict.fromkeys(UNTRACED, "")).items()
                                    if name in rows]),
        "beside": results.joined([results.beside(rows[name]) for name in ("beside", "bbr3-beside") if name in rows]),
        "losses": results.losses(rows["losses"]),
        "phases": results.phases(rows["phases"]),
        "capacity": results.capacity(rows["capacity"]),
        "jitter": results.jitter(rows["jitter"]),
        "shared": results.joined([results.shared(rows[questions.shared_name(customers)], customers)
                                  for customers in questions.CUSTOMERS]),
    }  # fmt: skip
    if "bbr3" in rows:
        found["bbr3"] = results.sessions(rows["bbr3"])
    return found


def _by_condition(views: list[tuple[dict[str, Any], Run]]) -> dict[str, list[Trace]]:
    """Return the traces of each condition, keyed by the condition's name. If a condition has no traces, the dict is
    empty, because claims compare all conditions."""
    traces: dict[str, list[Trace]] = {}
    for row, view in views:
        traces.setdefault(row["name"], []).append(trace_of(view))
    return traces if set(questions.conditions()) <= set(traces) else {}


def _views(rows: pd.DataFrame, folder: Path) -> list[tuple[dict[str, Any], Run]]:
    """For each run whose directory is stored, return its row and the run, sorted by seed."""
    # Because of the sorting, figures always show the same session. The order of rows in the data set has no influence.
    good = rows[rows["status"] == "ok"].sort_values("seed", kind="stable")
    return [(row, Run(folder / "runs" / row["run_id"], complete=False)) for row in good.to_dict("records")]


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """Return texts for the top of the page: what a quick reproduction leaves out, and the warnings of the runs."""
    sentences = []
    if quick:
        sentences.append(
            f"quick: {runs.QUICK_SEEDS} of {runs.SEEDS} seeds and one capacity test in {runs.QUICK_STEP}: a look at "
            "the figures and not the study; an interval of 3 values is no confidence interval"
        )
    return sentences + study_parts.warnings_said(rows)


def _data_section(parts: tuple[Part, ...]) -> str:
    """Return an HTML section that says in which files and folders the results are."""
    note = (
        f'The table of all variants with its intervals: <a href="{TABLE}">{TABLE}</a>. Whole run directories of the '
        f"groups {', '.join(KEPT)} stand in their <code>runs/</code>."
    )
    example = (
        "import pandas as pd\n"
        'sessions = pd.read_parquet("main/results")\n'
        'sessions.groupby(["name", "preset"]).flow0_goodput_mean_bps.median()'
    )
    return study_parts.data_section(parts, example, note)
