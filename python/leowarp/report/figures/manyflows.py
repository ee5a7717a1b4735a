# SPDX-License-Identifier: Apache-2.0
"""Draws parts of figures with many flows, in which a reader could not distinguish one line per flow. Some of these
figures show bands of quantiles over all flows. The other figures show one thin grey curve per flow, with the lowest,
the median and the highest curve in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from leowarp.base.instants import distinct
from leowarp.report.labels import MOST_LINES, by_run, labels, styles
from leowarp.report.style import BEFORE, line_style
from leowarp.results.run import Run

MOST_GREY = 200
"""The maximum number of grey curves in a figure. With more curves, the figure would look like one grey area. Each curve
takes 1 ms, and 2 kB of the file."""

Named = tuple[Run, str, dict[str, Any]]
"""A view, its name in the legend, and its line style."""


def shown_apart(runs: Sequence[Run]) -> bool:
    """Return whether each view gets its own line. This is also true if all views show different runs, because the user
    named each run."""
    return len(runs) <= MOST_LINES or len(by_run(runs)) == len(runs)


def draw_bands(axes: Axes, series: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Draw the median and quantiles over the flows at each time, as a line and three bands with labels.

    series: For each flow, (t_s, value), two arrays of equal length. A quantile at a time includes only the flows that
        have a value at this time.
    """
    # Two flows may have times that are equal in ns. Converted to s, these times may differ in the last bit. Without
    # rounding, two equal times would count as different times.
    known = [np.round(t_s, 9) for t_s, _ in series]
    grid = distinct(known) if known else np.zeros(0)
    if not len(grid):
        return
    values = np.full((len(series), len(grid)), np.nan)
    for row, at, (_, value) in zip(values, known, series, strict=True):
        row[np.searchsorted(grid, at)] = value
    some = np.isfinite(values).any(axis=0)
    grid, values = grid[some], values[:, some]
    if not len(grid):
        return
    for low, high, colour, words in (
        (0, 1, "#e6eef5", "all flows"), (0.1, 0.9, "#bcd5e8", "middle 80 %"), (0.25, 0.75, "#84b3d4", "middle half")
    ):  # fmt: skip
        # The bands exclude a flow before its begin and after its end, because it has no value there.
        least, most = np.nanquantile(values, (low, high), axis=0)
        axes.fill_between(grid, least, most, color=colour, linewidth=0, label=words, zorder=1.5)
    axes.plot(grid, np.nanmedian(values, axis=0), color=BEFORE, linewidth=0.9, label="median flow", zorder=2.5)


def in_colour(runs: Sequence[Run], scores: Sequence[float]) -> list[Named]:
    """Return each view to draw, with its label and the style of its curve. If there are only a few views, each has its
    own colour. Otherwise, all curves are grey, except those with the lowest, the median and the highest score.

    Only the first grey curve has a label. If there are more than `MOST_GREY` grey curves, the views are sorted by score
    and every n-th view is drawn. The label then says that only some views are drawn.
    """
    if shown_apart(runs):
        return list(zip(runs, labels(runs), styles(runs), strict=True))
    order = sorted(range(len(runs)), key=lambda place: scores[place])
    # If the number of curves is even, the median is the lower of the two middle curves. The coloured median curve is
    # thus always the curve of one flow, and never the mean of two flows.
    chosen = {order[0]: "lowest", order[(len(order) - 1) // 2]: "median", order[-1]: "highest"}
    found: list[Named] = []
    names = labels(runs)
    others = [place for place in order if place not in chosen]
    words = f"{len(others)} other flows"
    if len(others) > MOST_GREY:
        words = f"{MOST_GREY} of {words}"
        others = [others[round(step * (len(others) - 1) / (MOST_GREY - 1))] for step in range(MOST_GREY)]
    for place in sorted(others):
        # A label that begins with "_" gets no entry in matplotlib's legend.
        look = {"color": "#bbbbbb", "linewidth": 0.4, "zorder": 1.5}
        found.append((runs[place], "_" if found else words, look))
    for number, (place, what) in enumerate(chosen.items()):
        found.append((runs[place], f"{what}: {names[place]}", line_style(number)))
    return found


def hit_hardest(runs: Sequence[Run], scores: Sequence[float] | Sequence[tuple[int, int]]) -> tuple[list[Run], str]:
    """If each view gets its own line, return all views and "". Otherwise, return the `MOST_LINES` views with the
    highest scores, and words such as "8 of 90 flows" for a title. The views keep their order, so that panels are sorted
    by flow number. If scores are equal, earlier views are preferred."""
    if shown_apart(runs):
        return list(runs), ""
    kept = sorted(sorted(range(len(runs)), key=lambda place: scores[place], reverse=True)[:MOST_LINES])
    return [runs[place] for place in kept], f"{MOST_LINES} of {len(runs)} flows"
