# SPDX-License-Identifier: Apache-2.0
"""Draws a study's medians and their intervals as a chart for its page, as SVG text."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from html import escape

from matplotlib.backends.backend_svg import FigureCanvasSVG

from leowarp.report.style import OKABE_ITO, PAGE_IN, legend_below, line_style, new_figure, styled
from leowarp.study.statistics import Middle


def chart(places: Sequence[str], lines: Mapping[str, Sequence[Middle]], along: str, up: str, *, joined: bool) -> str:
    """Return a chart as an `<svg>` element. The result is "" if there are no values, or if there are more lines than
    colours.

    places: The values of the parameter, in their order on the horizontal axis.
    lines: The values of each line, one per position in `places`.
    along, up: The labels of the horizontal and of the vertical axis.
    joined: True to connect the points by lines, as for numbers. Pass False for words, which have no order.
    """
    known = {name: [(place, value) for place, value in enumerate(line) if value.known and math.isfinite(value.high)]
             for name, line in lines.items()}  # fmt: skip
    values = [value for line in known.values() for _, value in line]
    # If there is no chart, no value is missing on the page, because the table below shows all lines.
    if not values or len(lines) > len(OKABE_ITO):
        return ""
    with styled():
        figure = new_figure(PAGE_IN, 2.6 + 0.16 * len(lines), "")
        axes = figure.subplots()
        for number, (name, line) in enumerate(known.items()):
            # The points of each line are shifted sideways, so that the intervals of two lines do not hide each other.
            at = [place + (number - (len(lines) - 1) / 2) * 0.06 for place, _ in line]
            ends = [[value.median - value.low for _, value in line], [value.high - value.median for _, value in line]]
            look = line_style(number) | ({} if joined else {"linestyle": "none"})
            axes.errorbar(at, [value.median for _, value in line], ends, label=name, marker="o", markersize=3, **look)
        every = math.ceil(len(places) / 12)
        axes.set_xticks(range(0, len(places), every), [name[:24] for name in places[::every]])
        axes.set_xlim(-0.5, len(places) - 0.5)
        # If values differ much, the axis begins at 0: if it began just below the smallest value, the ratio between
        # large and small values would seem larger than it is.
        lowest, highest = min(value.low for value in values), max(value.high for value in values)
        if 0 <= lowest < 0.7 * highest:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(along)
        axes.set_ylabel(up)
        legend_below(axes, ncols=1)
        text = io.StringIO()
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None, "Creator": None})
    words = f"{up} over {along}: medians, and bars for their intervals; the table has the numbers"
    _, begin, rest = text.getvalue().partition("<svg ")
    return f'{begin}role="img" aria-label="{escape(words)}" style="max-width: 100%; height: auto" {rest}'
