# SPDX-License-Identifier: Apache-2.0
"""Draw goodput over time, one panel per run (fig. 6 of Frederiksen et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.metrics import goodput
from leowarp.report.figures.manyflows import draw_bands, shown_apart
from leowarp.report.labels import by_run, footer_of, identity, labels, run_labels, styles, worded
from leowarp.report.style import PAGE_IN, highest_of, legend_below, mark_changes, new_figure
from leowarp.results.run import Run

SERIES_NAMES = {"in_order": "in order at the receiver", "acked": "acknowledged", "sacked": "SACK-aware delivery"}


def goodput_over_time(
    runs: Sequence[Run], *, series: str = "in_order", bin_ns: int = 50_000_000, start_s: float = 0.0,
    end_s: float | None = None,
) -> Figure:  # fmt: skip
    """Draw goodput over time, with one panel per run and with route changes marked (fig. 6). A panel shows all flows of
    its run.

    series: {"in_order", "acked", "sacked"}. "in_order" is data in order at the receiver. "acked" and "sacked" are data
        that the sender knows to be acknowledged.
    bin_ns: The length of a bin, in ns. If there are more than `MOST_BINS` bins, the line shows means of several bins.
        An area shows the range of these bins.
    start_s, end_s: The shown part of the run, in s. The default is the whole run.
    Raises TraceError if a run has no TCP flow.
    """
    groups = by_run(runs)
    room = max(_legend_in(group) for group in groups)
    figure = new_figure(PAGE_IN, 0.55 + (1.25 + room) * len(groups), footer_of(runs))
    panels = figure.subplots(len(groups), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    ends, looks = [], dict(zip(map(id, runs), zip(labels(runs), styles(runs), strict=True), strict=True))
    of_runs = run_labels(runs)
    for axes, group in zip(panels, groups, strict=True):
        frames = [goodput(run.tables, run.main_flow, series, bin_ns) for run in group]
        rates = [(frame["t_ns"].to_numpy() / 1e9, frame["goodput_bps"].to_numpy() / 1e6) for frame in frames]
        ends.append(group[0].end_ns / 1e9)
        joined = _joined(start_s, end_s or ends[-1], bin_ns)
        mark_changes(axes, sorted({t_ns / 1e9 for run in group for t_ns in run.changes["t_ns"]}))
        if not shown_apart(group):
            draw_bands(axes, [_means(*rate, joined) for rate in rates])
        for run, rate in zip(group, rates, strict=True) if shown_apart(group) else ():
            name, style = looks[id(run)]
            # Several lines are dashed, to distinguish them. A single line is solid, because dashes would hide dips that
            # are shorter than a dash.
            look = style if len(group) > 1 else {"color": style["color"]}
            _draw(axes, *rate, joined, name, look, alone=len(group) == 1)
        label = looks[id(group[0])][0] if len(group) == 1 else f"{of_runs[identity(group[0])]}: {len(group)} flows"
        axes.set_title(f"{label}, {SERIES_NAMES[series]}, {_bins(bin_ns, joined, group)}", loc="left", pad=2)
        axes.set_ylabel("goodput, Mbit/s")
        axes.margins(x=0)
        if len(group) > 1:
            legend_below(axes, has_label=axes is panels[-1], ncols=3 if shown_apart(group) else 4)
    panels[0].set_xlim(start_s, end_s or max(ends))
    highest, top = highest_of(*panels), top_mbps(runs)
    cut = highest > top
    panels[0].set_ylim(0, top if cut else 1.05 * highest)
    words = worded(runs, "time, s (vertical lines: route changes")
    panels[-1].set_xlabel(words + ("; bursts are cut off)" if cut else ")"))
    return figure


def top_mbps(runs: Sequence[Run]) -> float:
    """Return the upper limit of the goodput axis in Mbit/s. It is inf if the capacity of a path is unknown or changes.

    When a missing packet arrives, all data behind it are delivered at once. The rate is then several times the
    capacity. The bins with these data are cut off at the top, because a longer axis would make dips unreadable.
    """
    return 1.35 * max((run.capacity_bps or np.inf) for run in runs) / 1e6


MOST_BINS = 1_400
"""The maximum number of bins that are drawn one by one. At 200 pixels per inch, a figure of 7.16 in is about this
number of pixels wide. A line through 20,000 bins would look like an area without dips."""

DRAWN_BINS = 400
"""If there are more than `MOST_BINS` bins, about this many mean values are drawn instead."""


def _joined(start_s: float, end_s: float, bin_ns: int) -> int:
    count = (end_s - start_s) * 1e9 / bin_ns
    return 1 if count <= MOST_BINS else math.ceil(count / DRAWN_BINS)


def _means(t_s: np.ndarray, rate: np.ndarray, joined: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the start time and mean rate of each group of `joined` bins. A last group with fewer bins is left out."""
    whole = len(rate) // joined * joined
    # The mean of a group with fewer bins would cover a shorter time than the title says.
    return t_s[:whole:joined], rate[:whole].reshape(-1, joined).mean(axis=1)


def _draw(
    axes: Axes, t_s: np.ndarray, rate: np.ndarray, joined: int, name: str, look: dict[str, Any], *, alone: bool
) -> None:
    """Draw one flow as a line. If points are means of several bins and the flow is `alone`, an area shows their
    range."""
    if joined == 1:
        axes.plot(t_s, rate, linewidth=0.6, label=name, **look)
        return
    when_s, mean = _means(t_s, rate, joined)
    # Areas of several flows would overlap and hide the lines.
    if alone:
        each = rate[: len(mean) * joined].reshape(-1, joined)
        axes.fill_between(
            when_s, each.min(axis=1), each.max(axis=1), color=look["color"], alpha=0.25, linewidth=0, step="post"
        )
    axes.plot(when_s, mean, linewidth=0.9, drawstyle="steps-post", label=name, **look)


def _bins(bin_ns: int, joined: int, group: Sequence[Run]) -> str:
    if joined == 1:
        return f"{bin_ns / 1e6:g} ms bins"
    behind = f"; pale: range of its {bin_ns / 1e6:g} ms bins" if len(group) == 1 else ""
    return f"mean of each {joined * bin_ns / 1e9:g} s{behind}"


def _legend_in(group: Sequence[Run]) -> float:
    if len(group) == 1:
        return 0.0
    return 0.25 + 0.13 * (-(-len(group) // 3) if shown_apart(group) else 1)
