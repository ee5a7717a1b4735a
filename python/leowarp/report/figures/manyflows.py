# SPDX-License-Identifier: Apache-2.0
"""A figure with more flows than distinguishable lines: bands over all of them over time, or each as a thin grey curve
with the lowest, the median and the highest in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from leowarp.report.style import BEFORE, line_style
from leowarp.report.view import MOST_LINES, RunView, by_run, labels, styles

Named = tuple[RunView, str, dict[str, Any]]
"""A view, what the legend calls it, and how its line looks."""


def shown_apart(runs: Sequence[RunView]) -> bool:
    """Whether each view is a line of its own.

    Returns: Up to `MOST_LINES` views are, and always views of different runs, each asked for by name.
    """
    return len(runs) <= MOST_LINES or len(by_run(runs)) == len(runs)


def draw_bands(axes: Axes, series: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Median and quantiles over flows of series that change over time.

    axes: Gets three bands and the line of the median, with labels for a legend of four.
    series: sequence of (t_s, value). One a flow, float64 arrays of equal length; a flow counts where it has a value.
        Times are alike to the ns.
    """
    # Instants of two flows that are equal in ns may differ in the last bit as seconds, and would be two columns.
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
        # A flow without a value at an instant, because it has not begun or has ended, has no part in the bands.
        least, most = np.nanquantile(values, (low, high), axis=0)
        axes.fill_between(grid, least, most, color=colour, linewidth=0, label=words, zorder=1.5)
    axes.plot(grid, np.nanmedian(values, axis=0), color=BEFORE, linewidth=0.9, label="median flow", zorder=2.5)


def in_colour(runs: Sequence[RunView], scores: Sequence[float]) -> list[Named]:
    """Each view with the look of its curve.

    scores: By which the lowest, the median and the highest are found.
    Returns: list of (view, label, style). All in colour, if they can be told apart; else all in grey, of which the
        first alone has a label, and then those three in colour on top.
    """
    if shown_apart(runs):
        return list(zip(runs, labels(runs), styles(runs), strict=True))
    order = sorted(range(len(runs)), key=lambda place: scores[place])
    # For an even number the lower of the two in the middle: each curve is that of one flow, and none is a mean of two.
    chosen = {order[0]: "lowest", order[(len(order) - 1) // 2]: "median", order[-1]: "highest"}
    found: list[Named] = []
    names = labels(runs)
    for place, run in enumerate(runs):
        if place not in chosen:
            # matplotlib leaves a label that begins with "_" out of the legend.
            found.append((run, f"{len(runs) - len(chosen)} other flows" if not found else "_",
                          {"color": "#bbbbbb", "linewidth": 0.4, "zorder": 1.5}))  # fmt: skip
    for number, (place, what) in enumerate(chosen.items()):
        found.append((runs[place], f"{what}: {names[place]}", line_style(number)))
    return found


def hit_hardest(
    runs: Sequence[RunView], scores: Sequence[float] | Sequence[tuple[int, int]]
) -> tuple[list[RunView], str]:
    """As many views as can be told apart, those with the highest scores; of equal ones the first.

    Returns kept: In the order in which they were given.
    Returns words: What a title says of the choice, such as "8 of 90 flows"; "" if all are kept.
    """
    if shown_apart(runs):
        return list(runs), ""
    # In the order of the flows again, so that panels go by number and not by score.
    kept = sorted(sorted(range(len(runs)), key=lambda place: scores[place], reverse=True)[:MOST_LINES])
    return [runs[place] for place in kept], f"{MOST_LINES} of {len(runs)} flows"
