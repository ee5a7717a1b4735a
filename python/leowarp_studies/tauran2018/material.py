# SPDX-License-Identifier: Apache-2.0
"""The reproduction of the study. The study engine makes groups of runs, and claims and figures use their data sets and
traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import Run
from leowarp.report.rules import kernel_name
from leowarp.study import Making, Material, Section
from leowarp.study import parts as study_parts
from leowarp_studies.tauran2018 import figures, results, runs, tables
from leowarp_studies.tauran2018.claims import CLAIMS
from leowarp_studies.tauran2018.rules import Rules
from leowarp_studies.tauran2018.traces import trace_of

OPTIONS = ("quick", "scheduler")
"""The keyword arguments of `reproduce` that apply only to this study."""

TITLE = "Delayed ACKs over LEO satellites with hybrid ARQ, re-made"
LEAD = (
    'B. Tauran, E. Lochin, J. Lacan, F. Arnal, M. Gineste, N. Kuhn: "Impact of Delayed Acknowledgment on TCP '
    'performance over LEO satellite constellations" (2018) had ns-2 send NewReno, CUBIC and Hybla over a fading last '
    "hop that hybrid ARQ repairs at 10 to 70 ms, in order or not, with delayed ACKs and without. Here Linux 6.12's own "
    "TCP does, in virtual time, over a channel rebuilt from published tables; what the study does not say is an "
    "assumption with a name, and a figure says what hangs on it."
)

LINUX, NO_FLOOR, CHARGED = "Linux 6.12", "no RTO floor", "retransmissions take capacity"
"""The names of the samples. `LINUX` has the study's own sessions. `NO_FLOOR` and `CHARGED` each differ from these
sessions in one setting."""

TABLE = "curves.csv"
"""The file beside the page with all points of the figures, for programs."""

CLAIM_FRAMES = {
    "sessions": ("first", "main"),
    "codewords": ("first", "main"),
    "growth": ("growth",),
    "traces": ("first",),
    "timers": ("first", "main"),
}
"""For each data set that a claim names in `Claim.runs`, the groups of runs from which it is built."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    quick: True means a shorter study, with fewer seeds and SNRs (`runs.QUICK_SEEDS`, `runs.FEW_SNRS_DB`).
    scheduler: The address of a Dask scheduler.
    Raises LeowarpError: The first failure, if no group has the runs that claims need.
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
    sections = []
    if "sessions" in frames:
        tables.frame(frames).to_csv(making.folder / TABLE, index=False)
        sections += [Section("table1", "Table 1", tables.retransmissions(frames)),
                     Section("delayed", "Delayed ACKs on and off", tables.delayed(frames))]  # fmt: skip
    if "profiles" in frames:
        sections.append(Section("profiles", "Other TCPs", tables.profiles(frames)))
    if "sessions" in frames and "by_acks" in frames:
        sections.append(Section("by_acks", "A window that grows by ACKs", tables.by_acks(frames)))
    sections += [
        Section("assumptions", "Assumptions", tables.assumptions()),
        Section("runs", "Runs and their cost", study_parts.cost_table(runs.parts(), rows, making.folder)),
        Section("data", "Data", _data_section()),
    ]
    return Material(
        samples=[(LINUX, frames), *_other_samples(frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=sections,
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
    )


def _frames(rows: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], Run | None]:
    """Return the inputs of claims and figures. If a point of a curve that claims need is missing, the data set is left
    out."""
    frames: dict[str, Any] = {}
    # Only the sessions of seed 1 have traces, because the directories of the others are not stored.
    kept = _views(rows["first"], folder / "first")
    sessions = results.joined([results.sessions(rows[name]) for name in ("first", "main")])
    # Claims evaluate complete curves. If a point were missing, claims would compare other SNRs than their texts say.
    if len(sessions) and results.complete(sessions):
        frames["sessions"] = frames["timers"] = sessions
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
        for name in ("growth", "growth_by_acks")
        for row, view in _views(rows[name], folder / name)
    }
    # Claim 4.8 compares four algorithms. The two algorithms whose windows grow per ACK serve only to explain the
    # result, so their runs may be missing.
    if all((control, delayed) in growth for control in ("reno", "cubic") for delayed in (runs.ON, runs.OFF)):
        frames["growth"] = growth
    for name, beside in (("profiles", _same(sessions, "profiles")), ("assumptions", _same(sessions, "assumptions"))):
        mine = results.sessions(rows[name])
        if len(mine):
            frames[name] = results.joined([mine, beside])
    floorless, charged = results.sessions(rows["rto_floor"]), results.sessions(rows["capacity"])
    if floorless.groupby(["congestion_control", "delayed_ack"]).ngroups == 2 * 2:
        frames["rto_floor"] = floorless
    if len(charged) and results.complete(charged):
        frames["capacity"] = charged
    by_acks = results.sessions(rows["by_acks"])
    if len(by_acks):
        frames["by_acks"] = by_acks
    return frames, next((view for _, view in kept), None)


def _other_samples(frames: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return further samples, whose sessions differ in one setting from the study's own sessions. A sample has data
    sets only for the claims whose runs it contains.

    In the sample `NO_FLOOR`, the RTO has no minimum. Only claim 4.11 uses this sample. In the sample `CHARGED`, link
    retransmissions use capacity. All claims that need only sessions use this sample.
    """
    samples: list[tuple[str, dict[str, Any]]] = []
    if "rto_floor" in frames:
        samples.append((NO_FLOOR, {"timers": frames["rto_floor"]}))
    if "capacity" in frames:
        # Without fading, the link has no retransmissions, so windows grow as in the study's own runs.
        growth = {"growth": frames["growth"]} if "growth" in frames else {}
        samples.append((CHARGED, {"sessions": frames["capacity"], "timers": frames["capacity"]} | growth))
    return samples


def _same(sessions: pd.DataFrame, group: str) -> pd.DataFrame:
    """For a comparison with a group, return the study's own sessions with the SNRs and seeds of this group."""
    if not len(sessions):
        return sessions
    snrs_db, seeds = {
        "profiles": (runs.FEW_SNRS_DB, runs.PROFILE_SEEDS),
        "assumptions": ((runs.ASSUMPTION_SNR_DB,), runs.ASSUMPTION_SEEDS),
    }[group]
    return sessions[sessions["snr_db"].isin(snrs_db) & (sessions["seed"] <= seeds)]


def _views(rows: pd.DataFrame, folder: Path) -> list[tuple[dict[str, Any], Run]]:
    """For each run whose directory is stored, return its row and the run."""
    good = rows[rows["status"] == "ok"]
    return [(row, Run(folder / "runs" / row["run_id"], complete=False)) for row in good.to_dict("records")]


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """Return texts for the top of the page: what a quick reproduction leaves out, and the warnings of the runs."""
    sentences = []
    if quick:
        few = ", ".join(f"{snr_db:g}" for snr_db in runs.FEW_SNRS_DB)
        sentences.append(
            f"quick: {runs.QUICK_SEEDS} of {runs.SEEDS} seeds at {few} dB: a look at the figures and not the study; an "
            "interval of 2 values is no confidence interval"
        )
    return sentences + study_parts.warnings_said(rows)


def _data_section() -> str:
    """Return an HTML section about the places of the results."""
    note = (
        f'Every point of the figures: <a href="{TABLE}">{TABLE}</a>. Whole run directories of the groups first, '
        "growth and growth_by_acks stand in their <code>runs/</code>."
    )
    example = (
        "import pandas as pd\n"
        'sessions = pd.concat(pd.read_parquet(f"{group}/results") for group in ("first", "main"))\n'
        'points = ["congestion_control", "resequencing", "delayed_ack", "snr_db"]\n'
        "sessions.groupby(points).flow0_goodput_mean_bps.median()"
    )
    return study_parts.data_section(runs.parts(), example, note)
