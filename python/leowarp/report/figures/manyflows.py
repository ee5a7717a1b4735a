# SPDX-License-Identifier: Apache-2.0
"""Figures with more flows than lines can distinguish. Such figures show either bands over all flows, or one thin grey
curve per flow with the lowest, the median and the highest in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from leowarp.report.labels import MOST_LINES, by_run, labels, styles
from leowarp.report.style import BEFORE, line_style
from leowarp.results.run import Run

MOST_GREY = 200
"""Maximum number of grey curves. More curves would look like one grey area, and each curve takes 1 ms and 2 kB of the
file."""

Named = tuple[Run, str, dict[str, Any]]
"""A view, its name in the legend, and its line style."""


def shown_apart(runs: Sequence[Run]) -> bool:
    """Whether each view gets its own line.

    Returns: True for up to `MOST_LINES` views. True also for any number of views that are all of different runs,
        because the user named each of these runs.
    """
    return len(runs) <= MOST_LINES or len(by_run(runs)) == len(runs)


def draw_bands(axes: Axes, series: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Draw the median and quantiles over the flows, for a series that changes over time.

    axes: The function adds three bands and the line of the median to it, with labels for a legend of four entries.
    series: sequence of (t_s, value). There is one entry per flow, with float64 arrays of equal length. A flow counts
        only at the instants at which it has a value. Instants are rounded to 1 ns before they are compared.
    """
    # Instants of two flows that are equal in ns may differ in the last bit as seconds. Without rounding, they would
    # form two columns.
    known = [np.round(t_s, 9) for t_s, _ in series]
    grid = np.unique(np.concatenate(known)) if known else np.zeros(0)
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
        # A flow has no value before it begins and after it has ended, and does not count in the bands at such instants.
        least, most = np.nanquantile(values, (low, high), axis=0)
        axes.fill_between(grid, least, most, color=colour, linewidth=0, label=words, zorder=1.5)
    axes.plot(grid, np.nanmedian(values, axis=0), color=BEFORE, linewidth=0.9, label="median flow", zorder=2.5)


def in_colour(runs: Sequence[Run], scores: Sequence[float]) -> list[Named]:
    """Each view with its label and the style of its curve.

    scores: Numbers by which the lowest, the median and the highest view are selected.
    Returns: list of (view, label, style). If there are few enough curves to distinguish, all are coloured. If there are
        more, all curves are grey, and only the first has a label. The three selected views are drawn again in colour on
        top. At most `MOST_GREY` curves are grey: with more curves, every n-th of them in the order of the scores is
        drawn, and the label says so.
    """
    if shown_apart(runs):
        return list(zip(runs, labels(runs), styles(runs), strict=True))
    order = sorted(range(len(runs)), key=lambda place: scores[place])
    # If the number of curves is even, the median is the lower of the two middle curves. Each coloured curve thus
    # belongs to one flow, and is never the mean of two flows.
    chosen = {order[0]: "lowest", order[(len(order) - 1) // 2]: "median", order[-1]: "highest"}
    found: list[Named] = []
    names = labels(runs)
    others = [place for place in order if place not in chosen]
    words = f"{len(others)} other flows"
    if len(others) > MOST_GREY:
        words = f"{MOST_GREY} of {words}"
        others = [others[round(step * (len(others) - 1) / (MOST_GREY - 1))] for step in range(MOST_GREY)]
    for place in sorted(others):
        # matplotlib leaves a label that begins with "_" out of the legend.
        look = {"color": "#bbbbbb", "linewidth": 0.4, "zorder": 1.5}
        found.append((runs[place], "_" if found else words, look))
    for number, (place, what) in enumerate(chosen.items()):
        found.append((runs[place], f"{what}: {names[place]}", line_style(number)))
    return found


def hit_hardest(runs: Sequence[Run], scores: Sequence[float] | Sequence[tuple[int, int]]) -> tuple[list[Run], str]:
    """The views with the highest scores, at most as many as lines can distinguish. Among equal scores, earlier views
    are kept.

    Returns kept: The selected views, in their original order.
    Returns words: Text for a title that says how many are shown, such as "8 of 90 flows"; "" if all views are selected.
    """
    if shown_apart(runs):
        return list(runs), ""
    # The selected views return to their original order, so that panels are sorted by flow number and not by score.
    kept = sorted(sorted(range(len(runs)), key=lambda place: scores[place], reverse=True)[:MOST_LINES])
    return [runs[place] for place in kept], f"{MOST_LINES} of {len(runs)} flows"
