# SPDX-License-Identifier: Apache-2.0
"""The study made again: groups of runs by the study engine, judged and drawn from their data sets and kept traces."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import rundir
from leowarp.errors import LeowarpError
from leowarp.progress import clock
from leowarp.report import RunView, html
from leowarp.report.view import kernel_name
from leowarp.study.page import Section
from leowarp.study.reproduction import Making, Material
from leowarp.study.sweep import StudyFile, StudyRun, run_study
from leowarp.study.tauran2018 import figures, results, runs, tables
from leowarp.study.tauran2018.claims import CLAIMS
from leowarp.study.tauran2018.rules import Rules
from leowarp.study.tauran2018.runs import Part
from leowarp.study.tauran2018.traces import trace_of

OPTIONS = ("quick", "scheduler")

TITLE = "Delayed ACKs over LEO satellites with hybrid ARQ, re-made"
LEAD = (
    'B. Tauran, E. Lochin, J. Lacan, F. Arnal, M. Gineste, N. Kuhn: "Impact of Delayed Acknowledgment on TCP '
    'performance over LEO satellite constellations" (2018) had ns-2 send NewReno, CUBIC and Hybla over a fading last '
    "hop that hybrid ARQ repairs at 10 to 70 ms, in order or not, with delayed ACKs and without. Here Linux 6.12's own "
    "TCP does, in virtual time, over a channel rebuilt from published tables; what the study does not say is an "
    "assumption with a name, and a figure says what hangs on it."
)

COST = "cost.json"
TABLE = "curves.csv"
MOST_WARNINGS = 8

CLAIM_FRAMES = ("sessions", "codewords", "growth", "traces")

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """See `leowarp.study.reproduction`."""
    rows: dict[str, pd.DataFrame] = {}
    failures: dict[str, LeowarpError] = {}
    for part in runs.parts():
        rows[part.name], failed = _made(part, making, quick=quick, scheduler=scheduler)
        failures |= failed
    frames, view = _frames(rows, making.folder)
    if not frames:
        raise next(iter(failures.values()))
    for name in CLAIM_FRAMES:
        if name not in frames:
            failures[name] = next(iter(failures.values()))
    rules = Rules(
        kernel="not recorded" if view is None else kernel_name(view.manifest),
        seeds=int(frames["sessions"]["seed"].nunique()) if "sessions" in frames else 0,
    )
    sections = []
    if "sessions" in frames:
        tables.frame(frames).to_csv(making.folder / TABLE, index=False)
        sections += [Section("table1", "Table 1", tables.retransmissions(frames)),
                     Section("delayed", "Delayed ACKs on and off", tables.delayed(frames))]  # fmt: skip
    if "profiles" in frames:
        sections.append(Section("profiles", "Other TCPs", tables.profiles(frames)))
    sections += [
        Section("assumptions", "Assumptions", tables.assumptions()),
        Section("runs", "Runs and their cost", _cost_table(rows, making.folder)),
        Section("data", "Data", _data_section()),
    ]
    return Material(
        samples=[("this reproduction", frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=sections,
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(rows, quick=quick),
        cost=_cost_line(rows, making.folder),
    )


def _made(
    part: Part, making: Making, *, quick: bool, scheduler: str | None
) -> tuple[pd.DataFrame, dict[str, LeowarpError]]:
    """A group's rows, and the failures among them by `<group>/<run id>`."""
    folder = making.folder / part.name
    if making.force and folder.exists():
        shutil.rmtree(folder)
    content = dict(part.content)
    if making.kernel is not None:
        content["set"] = {**content["set"], "guest.kernel": str(making.kernel)}
    started = time.monotonic()
    done = run_study(
        StudyFile.of(content), folder, at_once=making.at_once, scheduler=scheduler, progress=making.progress,
        only=(lambda run: _is_quick(part, run)) if quick else None, retry_failed=True,
    )  # fmt: skip
    _note_cost(making.folder, part.name, time.monotonic() - started)
    failed = {f"{part.name}/{run_id}": error for run_id, error in done.failures.items()}
    return done.table().to_pandas(), failed


def _is_quick(part: Part, run: StudyRun) -> bool:
    return part.in_quick(run.values, run.seed)


def _frames(rows: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], RunView | None]:
    """What claims and figures take; what would lack a point that a claim needs is left out."""
    frames: dict[str, Any] = {}
    kept = _views(rows["first"], folder / "first")
    sessions = results.joined([results.sessions(rows[name]) for name in ("first", "main")])
    if len(sessions) and results.complete(sessions):
        frames["sessions"] = sessions
        frames["codewords"] = results.codewords(
            sorted(sessions["snr_db"].unique()), sorted(int(seed) for seed in sessions["seed"].unique())
        )
    if kept:
        frames["traces"] = {
            (row["congestion_control"], row["delayed_ack"], bool(row["resequencing"]), float(row["snr_db"])):
            trace_of(view) for row, view in kept
        }  # fmt: skip
    growth = {
        (row["congestion_control"], row["delayed_ack"]): trace_of(view)
        for row, view in _views(rows["growth"], folder / "growth")
    }
    if all((control, delayed) in growth for control in ("reno", "cubic") for delayed in (runs.ON, runs.OFF)):
        frames["growth"] = growth
    for name, beside in (("profiles", _same(sessions, "profiles")), ("assumptions", _same(sessions, "assumptions"))):
        mine = results.sessions(rows[name])
        if len(mine):
            frames[name] = results.joined([mine, beside])
    return frames, next((view for _, view in kept), None)


def _same(sessions: pd.DataFrame, group: str) -> pd.DataFrame:
    """The study's own sessions that a group is set beside: the same SNRs and seeds."""
    if not len(sessions):
        return sessions
    snrs_db, seeds = {
        "profiles": (runs.FEW_SNRS_DB, runs.PROFILE_SEEDS),
        "assumptions": ((runs.ASSUMPTION_SNR_DB,), runs.ASSUMPTION_SEEDS),
    }[group]
    return sessions[sessions["snr_db"].isin(snrs_db) & (sessions["seed"] <= seeds)]


def _views(rows: pd.DataFrame, folder: Path) -> list[tuple[dict[str, Any], RunView]]:
    """Rows of runs that were kept, with their directories."""
    good = rows[rows["status"] == "ok"]
    return [(row, RunView(folder / "runs" / row["run_id"])) for row in good.to_dict("records")]


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    found = []
    if quick:
        few = ", ".join(f"{snr_db:g}" for snr_db in runs.FEW_SNRS_DB)
        found.append(
            f"quick: {runs.QUICK_SEEDS} of {runs.SEEDS} seeds at {few} dB: a look at the figures and not the study; an "
            "interval of 2 values is no confidence interval"
        )
    said = Counter(text for part in rows.values() for texts in part["warnings"] for text in texts)
    found += [f"{text} ({count} runs)" for text, count in said.most_common(MOST_WARNINGS)]
    if len(said) > MOST_WARNINGS:
        found.append(f"{len(said) - MOST_WARNINGS} further kinds of warnings: column `warnings` of the data sets")
    return found


def _note_cost(folder: Path, part: str, wall_s: float) -> None:
    """Adds what a start took by the wall clock: a study that was interrupted has several."""
    path = folder / COST
    spent = rundir.read_json(path) if path.exists() else {}
    spent[part] = spent.get(part, 0.0) + wall_s
    rundir.write_json(path, spent)


def _cost_table(rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    wall = rundir.read_json(folder / COST)
    lines = []
    for part in runs.parts():
        lines.append(_cost_row(part.name, part.why, rows[part.name], part.runs, float(wall[part.name])))
    everything = pd.concat(list(rows.values()), ignore_index=True)
    lines.append(_cost_row("all", "", everything, sum(part.runs for part in runs.parts()), sum(wall.values())))
    header = ["group", "what for", "runs here", "of", "failed", "CPU, s", "CPU a run, s", "virtual time, s",
              "wall clock, all starts"]  # fmt: skip
    return html.table("What it cost, measured; the wall clock includes starts that were interrupted", header, lines,
                      left=frozenset((0, 1)))  # fmt: skip


def _cost_row(name: str, why: str, rows: pd.DataFrame, whole: int, wall_s: float) -> list[Any]:
    cpu_s = float(rows["cpu_s"].sum())
    virtual_s = float(rows["virtual_s"].sum()) if "virtual_s" in rows else None
    failed = int((rows["status"] != "ok").sum())
    each_s = cpu_s / len(rows) if len(rows) else None
    return [name, why, len(rows), whole, failed, cpu_s, each_s, virtual_s, clock(wall_s)]


def _cost_line(rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """What the runs took, for the terminal."""
    every = pd.concat(list(rows.values()), ignore_index=True)
    wall_s = sum(rundir.read_json(folder / COST).values())
    return (
        f"{len(every):,} runs, {every['cpu_s'].sum():,.0f} CPU s, {every['cpu_s'].mean():.2f} CPU s a run; "
        f"{clock(wall_s)} by the wall clock, in all starts"
    )


def _data_section() -> str:
    lines = [[part.name, f'<a href="{part.name}/results/">{part.name}/results/</a>', part.why] for part in runs.parts()]
    table = html.table(
        "Each group's results are one partitioned Parquet data set, a row a run; units are in the columns' names",
        ["group", "data set", "what for"], lines, left=frozenset((0, 1, 2)), raw=frozenset((1,)),
    )  # fmt: skip
    note = (
        f'Every point of the figures: <a href="{TABLE}">{TABLE}</a>. Whole run directories of the groups first and '
        "growth stand in their <code>runs/</code>."
    )
    example = (
        "import pandas as pd\n"
        'sessions = pd.concat(pd.read_parquet(f"{group}/results") for group in ("first", "main"))\n'
        'points = ["congestion_control", "resequencing", "delayed_ack", "snr_db"]\n'
        "sessions.groupby(points).flow0_goodput_mean_bps.median()"
    )
    return f"{table}<p>{note}</p><pre>{html.text(example)}</pre>"
