# SPDX-License-Identifier: Apache-2.0
"""Figures of TCP sessions: goodput over time (figures 6 to 9), and the losses that cut the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from leowarp import TraceError
from leowarp.report.style import ALGORITHMS, OKABE_ITO, PAGE_IN, mark_changes, new_figure
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.groups import CLEAN_PEAK, OFF_PEAK, PEAK
from leowarp_studies.huston2024.rules import SESSION_RULES, Rules
from leowarp_studies.huston2024.traces import KINDS, NO_LOSS, Trace
from leowarp_studies.huston2024.variants import CLEAN

KIND_STYLE: dict[str, dict[str, Any]] = {
    "queue": {"color": "#E69F00", "marker": "v"},
    "handover": {"color": "#CC79A7", "marker": "D"},
    "isolated": {"color": "#D55E00", "marker": "x"},
    "other": {"color": "#000000", "marker": "+"},
}
"""The marker shape and colour of each series, which also differ in a grey print."""

HATCHES = {"queue": "", "handover": "////", "isolated": "xxxx", "other": "....", NO_LOSS: ""}
"""The hatching of each kind of bar in `cuts`. The hatching distinguishes the bars in a grey print too."""
_NONE_COLOUR = "#d9d9d9"


def session(frames: Mapping[str, Any], rules: Rules, variant: str, preset: str) -> Figure:
    """Draw goodput and capacity over time, and below them the congestion window with the losses that reduced it.

    frames: The data sets. `shown` has a `Trace` in bins of 0.2 s for each (variant, preset).
    Raises TraceError if the data set has no session of this variant and preset.
    """
    trace: Trace | None = frames["shown"].get((variant, preset))
    if trace is None:
        raise TraceError(f"there is no session of {ev.label(variant)}, {preset}")
    colour = OKABE_ITO[ALGORITHMS.get(variant, 3)]
    drawn = new_figure(PAGE_IN, 2.9, rules.footer(SESSION_RULES, f"seed {trace.seed}"))
    above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for axes in (above, below):
        mark_changes(axes, trace.reconfigurations_s.tolist())
    width_s = float(np.diff(trace.t_s).min())
    edges = np.append(trace.t_s, trace.t_s[-1] + width_s)
    above.stairs(trace.capacity_bps / 1e6, edges, fill=True, color="#e6e6e6", label="capacity (payload)")
    above.stairs(trace.capacity_bps / 1e6, edges, color="#888888", linewidth=0.5)
    # Lines are drawn as steps, because each value is the mean of a bin.
    above.stairs(trace.goodput_bps / 1e6, edges, baseline=None, color=colour, linewidth=0.9, label="delivered")
    above.set_ylim(0, 1.3 * float(trace.capacity_bps.max()) / 1e6)
    above.set_ylabel("Mbit/s")
    mean = f"mean {trace.mean_bps / 1e6:.0f} of {trace.mean_capacity_bps / 1e6:.0f} Mbit/s"
    above.set_title(f"{ev.label(variant)}, {preset}: {mean}", loc="left", pad=3)
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1, ncols=2)
    _window(below, trace, colour)
    below.set_xlim(0, trace.end_s)
    below.set_xlabel("time, s")
    return drawn


def _window(axes: Any, trace: Trace, colour: str) -> None:
    """Draw the congestion window over time. Above the curve, draw one mark per lost packet. The marks differ by kind of
    loss."""
    axes.plot(trace.cwnd_t_s, trace.cwnd_pkts, color=colour, linewidth=0.9)
    top = float(np.nanmax(trace.cwnd_pkts))
    for kind in KINDS:
        lost = trace.losses[trace.losses["kind"] == kind]
        if len(lost):
            what = f"{len(lost)} lost: {ev.KIND_TEXT[kind]}"
            # On the curve, many losses would be within the width of a line. Losses are therefore marked above the
            # window.
            axes.plot(lost["t_s"], np.full(len(lost), 1.08 * top), linestyle="none", markersize=3.2,
                      markeredgewidth=0.8, label=what, **KIND_STYLE[kind])  # fmt: skip
    # The axis extends above the window, so that the marks of losses and the legend have space.
    axes.set_ylim(0, 1.6 * top)
    axes.set_ylabel("window, packets")
    if len(trace.losses):
        axes.legend(loc="upper right", ncols=3, handletextpad=0.1)


def cuts(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the number of window cuts per session for each cause. The figure shows the loss-based variants: the study's
    own congestion controls, the cures, and CUBIC without SACK."""
    # BBR does not change its threshold at a loss, so it has no cuts (see `traces.cuts`).
    shown = [variant.name for variant in CLEAN if not variant.name.startswith("bbr")]
    # Bars are sorted by preset first, so that the bars of variants at one preset are adjacent.
    every = [(name, preset) for preset in (PEAK, OFF_PEAK, CLEAN_PEAK) for name in shown]
    kept = [key for key in every if frames["traces"].get(key)]
    if not kept:
        raise TraceError("no trace of a loss-based congestion control is kept")
    drawn = new_figure(PAGE_IN, 0.95 + 0.28 * len(kept), rules.footer(SESSION_RULES, f"{rules.seeds} seeds"))
    left, right = drawn.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    names = [f"{ev.label(variant)}, {preset}" for variant, preset in kept]
    _stacked(left, [ev.cut_counts(frames["traces"][key]) for key in kept], names)
    back = [ev.regrowth(frames["traces"][key]) for key in kept]
    places = np.arange(len(kept))
    right.barh(places - 0.2, [row["apart_p50_s"] for row in back], 0.36, color="#888888", label="from cut to cut")
    right.barh(places + 0.2, [row["needed_p50_s"] for row in back], 0.36, color="white", edgecolor="#333333",
               linewidth=0.6, hatch="////", label="CUBIC's K for the window before")  # fmt: skip
    right.set_xlabel("s, medians")
    left.margins(0.04, 0.02)
    left.invert_yaxis()
    left.set_xlabel("cuts of the window a session")
    entries = [axes.get_legend_handles_labels() for axes in (left, right)]
    handles, texts = ([*entries[0][part], *entries[1][part]] for part in (0, 1))
    drawn.legend(handles, texts, loc="outside upper left", ncols=3)
    return drawn


def _stacked(axes: Any, rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> None:
    """Draw one bar per session, stacked by kind of loss."""
    places = np.arange(len(rows))
    start = np.zeros(len(rows))
    for kind in (*KINDS, NO_LOSS):
        widths = np.array([row[kind] for row in rows])
        # Without this check, a kind that never occurs would have a legend entry but no bar.
        if not widths.any():
            continue
        colour = KIND_STYLE[kind]["color"] if kind in KIND_STYLE else _NONE_COLOUR
        axes.barh(places, widths, 0.7, left=start, color=colour, edgecolor="white", linewidth=0.4,
                  hatch=HATCHES[kind], label=ev.KIND_TEXT[kind])  # fmt: skip
        start += widths
    axes.set_yticks(places, names)
