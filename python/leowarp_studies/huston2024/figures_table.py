# SPDX-License-Identifier: Apache-2.0
"""Figures of the table of all variants. Two further figures show how results depend on isolated loss, and on errors of
the assumed schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp import TraceError
from leowarp.report.style import ALGORITHMS, COLUMN_IN, OKABE_ITO, PAGE_IN, line_style, new_figure
from leowarp.study.statistics import Middle, middle, paired_ratio
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.groups import OFF_PEAK, PEAK
from leowarp_studies.huston2024.rules import SESSION_RULES, Rules
from leowarp_studies.huston2024.variants import MAIN, VARIANTS, Variant

DOTS = ("o", "s", "^", "D")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    name: The column of the data set.
    frame: The name of the data set: "sessions" or "beside".
    scale: The factor for the values. For example, 1e-6 converts bit/s to Mbit/s.
    heading, short: The heading in the table, and the label below a panel of the figure. Both include the unit.
    digits: The number of digits after the decimal point in the table.
    """

    name: str
    frame: str
    scale: float
    heading: str
    short: str
    digits: int = 0


COLUMNS = (
    Column("goodput_bps", "sessions", 1e-6, "goodput, Mbit/s", "goodput,\nMbit/s", 1),
    Column("rtt_p99_ns", "sessions", 1e-6, "RTT, 99 %, ms", "99 % of RTT,\nms", 0),
    Column("retransmitted_ratio", "sessions", 100, "retransmitted, %", "retransmitted,\n%", 2),
    Column("recovery_p50_ns", "sessions", 1e-9, "recovery, s", "recovery,\ns", 2),
    Column("recovered_ratio", "sessions", 100, "back, %", "back, %", 0),
    Column("share_ratio", "beside", 100, "share beside CUBIC, %", "share beside\nCUBIC, %", 0),
    Column("jain_index", "beside", 1, "Jain's index", "Jain's\nindex", 2),
)
"""The columns of leowarp's table. The study itself has no table, and gives no numbers for its proposals."""
PANELS = tuple(column for column in COLUMNS if column.name not in ("recovered_ratio", "jain_index"))
"""The columns that the figure shows."""


def cell_of(frames: Mapping[str, Any], column: Column, variant: str, preset: str = PEAK) -> Middle:
    """Return the value of a cell of the table. Columns about two flows on one path have values for peak hours only."""
    rows: pd.DataFrame = frames[column.frame]
    if column.frame == "sessions":
        rows = rows[rows["preset"] == preset]
    # If all runs of a group failed, the group's data set has no columns, and the value is unknown.
    return ev.over_seeds(rows, variant, column.name) if column.name in rows else middle([])


def everything(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the table as a figure with one panel per column and one row per variant. Each value is a median with its
    interval."""
    shown = [variant for variant in VARIANTS if cell_of(frames, COLUMNS[0], variant.name).known]
    if not shown:
        raise TraceError("there is no session at peak")
    rule = "host-wide settings (SACK, RACK, ECN, pacing) and queues hold for both flows of a pair"
    drawn = new_figure(PAGE_IN, 0.9 + 0.26 * len(shown), rules.footer(SESSION_RULES, rule, f"{rules.seeds} seeds"))
    panels = drawn.subplots(1, len(PANELS), sharey=True)
    places = np.arange(len(shown))
    for axes, column in zip(panels, PANELS, strict=True):
        for place, variant in zip(places, shown, strict=True):
            _dot(axes, float(place), cell_of(frames, column, variant.name), column, variant.name)
            if column.frame == "sessions":
                off_peak = cell_of(frames, column, variant.name, OFF_PEAK)
                _dot(axes, place + 0.3, off_peak, column, variant.name, hollow=True)
        axes.set_xlabel(column.short)
        axes.set_xlim(0, 1.08 * _largest(frames, column, shown))
    panels[0].set_yticks(places, [variant.label for variant in shown])
    # The first variant is on top, as in the table.
    panels[0].set_ylim(len(shown) - 0.4, -0.6)
    # The vertical line at 50 % marks the fair share of each of two flows.
    panels[-1].axvline(50, color="#555555", linewidth=0.6, linestyle=":")
    panels[-1].set_xlim(0, 100)
    return drawn


def _largest(frames: Mapping[str, Any], column: Column, shown: Sequence[Variant]) -> float:
    """Return the right limit of a panel, which is the largest finite end of all intervals."""
    presets = (PEAK, OFF_PEAK) if column.frame == "sessions" else (PEAK,)
    cells = [cell_of(frames, column, variant.name, preset) for variant in shown for preset in presets]
    ends = np.array([end for cell in cells for end in (cell.median, cell.high)])
    # If windows never recovered, the upper end of the interval is infinite, and the interval extends beyond the panel.
    ends = ends[np.isfinite(ends)]
    return float(ends.max()) * column.scale if len(ends) and ends.max() > 0 else 1.0


def _dot(axes: Axes, place: float, value: Middle, column: Column, variant: str, *, hollow: bool = False) -> None:
    """Draw a median with its interval, or nothing if there is no median."""
    if not np.isfinite(value.median):
        return
    # A variant has the colour and shape of its base algorithm.
    colour = OKABE_ITO[ALGORITHMS.get(variant.split("-")[0].split("_")[0], 6)]
    axes.plot(
        [value.low * column.scale, min(value.high * column.scale, _FAR)], [place, place], color=colour,
        linewidth=0.7 if hollow else 1.4,
    )  # fmt: skip
    marker = DOTS[ALGORITHMS.get(variant.split("-")[0].split("_")[0], 3)]
    axes.plot(value.median * column.scale, place, marker, color=colour, markersize=2.8 if hollow else 3.2,
              markerfacecolor="white" if hollow else colour, markeredgewidth=0.7)  # fmt: skip


def _seeds(rows: pd.DataFrame) -> str:
    """Return a text below a figure about the number of seeds."""
    count = rows["seed"].nunique()
    return "1 seed" if count == 1 else f"{count} seeds"


_FAR = 1e6
"""A value beyond the limits of every axis. Infinite intervals are drawn up to this value."""


def sensitivity(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw goodput as a function of isolated loss. The logarithmic axis cannot show zero loss, so zero loss is drawn at
    its left end."""
    rows: pd.DataFrame = frames["losses"]
    drawn = new_figure(COLUMN_IN, 2.6, rules.footer(SESSION_RULES, _seeds(rows)))
    axes = drawn.subplots()
    ratios = np.sort(rows["loss_ratio"].unique())
    least = ratios[ratios > 0].min()
    # A logarithmic axis cannot show 0.
    x = np.where(ratios > 0, ratios, least / 4) * 100
    for variant in MAIN:
        cells = [ev.over_seeds(rows[rows["loss_ratio"] == ratio], variant.name, "goodput_bps") for ratio in ratios]
        style = line_style(ALGORITHMS[variant.name])
        axes.fill_between(
            x, [c.low / 1e6 for c in cells], [c.high / 1e6 for c in cells], color=style["color"], alpha=0.2, linewidth=0
        )
        axes.plot(x, [c.median / 1e6 for c in cells], marker=DOTS[ALGORITHMS[variant.name]], markersize=3,
                  label=variant.label, **style)  # fmt: skip
    axes.set_xscale("log")
    # Ticks are only at the values that were measured.
    axes.set_xticks(x, [f"{100 * ratio:g}" for ratio in ratios])
    axes.minorticks_off()
    axes.set_xlabel("isolated loss in each direction, %")
    axes.set_ylabel("goodput at peak, Mbit/s")
    axes.set_ylim(bottom=0)
    axes.legend()
    return drawn


def wrong_phase(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw how much handover-aware senders gain, as a function of the error of the schedule that they assume."""
    rows: pd.DataFrame = frames["phases"]
    drawn = new_figure(COLUMN_IN, 2.4, rules.footer(SESSION_RULES, _seeds(rows)))
    axes = drawn.subplots()
    late_s = np.sort(rows["late_s"].unique())
    plain = ev.at_peak(frames)
    for place, (name, base) in enumerate({"cubic_handover": "cubic", "bbr_handover": "bbr"}.items()):
        cells = []
        for at_s in late_s:
            mine = rows[(rows["late_s"] == at_s) & (rows["variant"] == name)]
            # An unmodified congestion control uses no schedule, so its sessions are taken from the main group.
            both = pd.concat([mine, plain[plain["variant"] == base]])
            cells.append(paired_ratio(both, "goodput_bps", name, base))
        style = line_style(ALGORITHMS[base])
        # Points are shifted sideways, because intervals at the same place would hide each other.
        shift = 0.12 * (place - 0.5)
        medians = np.array([cell.median for cell in cells])
        spread = np.array([[c.median - c.low for c in cells], [c.high - c.median for c in cells]])
        axes.errorbar(late_s + shift, medians, yerr=spread, marker=DOTS[ALGORITHMS[base]], markersize=3, capsize=2,
                      label=f"{ev.label(name)}, over {ev.label(base)}", **style)  # fmt: skip
    axes.axhline(1, color="#555555", linewidth=0.6, linestyle=":")
    axes.set_xlabel("schedule taken to be late by, s")
    axes.set_ylabel("goodput over the plain one's")
    drawn.legend(loc="outside upper left")
    return drawn
