# SPDX-License-Identifier: Apache-2.0
"""Chart of medians and their intervals for the page of a study, as SVG text. The SVG is written without matplotlib,
whose import would take longer than making the page of a small study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from leowarp.study.statistics import Middle

WIDTH_PX, HEIGHT_PX = 760, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 12, 46
_ROW_PX = 18
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000")
"""Okabe and Ito's palette, as in the figures of a run."""
DASHES = ("", "6 3", "6 2 2 2", "2 2", "9 3", "4 2 1 2", "1 3")


@dataclass(frozen=True)
class Chart:
    """The content of a chart.

    places: Values of the parameter on the horizontal axis.
    lines: Lines of the chart, at most `len(COLOURS)`. Each line has one value per place.
    along, up: Labels of the horizontal and of the vertical axis.
    joined: True if lines connect the points, as for ordered numbers; False for words, between which there are no
        values.
    """

    places: Sequence[str]
    lines: Mapping[str, Sequence[Middle]]
    along: str
    up: str
    joined: bool

    def svg(self) -> str:
        """The chart as an `<svg>` element. The result is "" if there are no values, or too many lines to
        distinguish."""
        known = [value for line in self.lines.values() for value in line if value.known and math.isfinite(value.high)]
        # Readers cannot distinguish more lines than there are colours. The table below the chart shows all lines.
        if not known or not 1 <= len(self.lines) <= len(COLOURS):
            return ""
        low, high, step = _axis(min(value.low for value in known), max(value.high for value in known))
        height = HEIGHT_PX + _ROW_PX * len(self.lines)
        floor = HEIGHT_PX - _BOTTOM

        def x(place: float) -> float:
            return _LEFT + (WIDTH_PX - _LEFT - _RIGHT) * (place + 0.5) / len(self.places)

        def y(value: float) -> float:
            return floor - (floor - _TOP) * (value - low) / (high - low)

        parts = []
        for number in range(round((high - low) / step) + 1):
            value = low + number * step
            parts.append(
                f'<line x1="{_LEFT}" x2="{WIDTH_PX - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
            )
            parts.append(_text(_LEFT - 8, y(value) + 4, f"{value:.6g}", "end"))
        every = math.ceil(len(self.places) / 12)
        parts += [_text(x(place), floor + 17, name[:24], "middle") for place, name in enumerate(self.places)
                  if place % every == 0]  # fmt: skip
        parts.append(_text((_LEFT + WIDTH_PX - _RIGHT) / 2, floor + 36, self.along, "middle"))
        for number, (name, line) in enumerate(self.lines.items()):
            # The points of different lines are shifted sideways, so that their intervals do not hide each other.
            aside = (number - (len(self.lines) - 1) / 2) * 0.06
            dots = [(x(place + aside), of_seeds) for place, of_seeds in enumerate(line)
                    if of_seeds.known and math.isfinite(of_seeds.high)]  # fmt: skip
            look = f'stroke="{COLOURS[number]}" stroke-width="1.6"'
            if self.joined:
                points = " ".join(f"{at:.1f},{y(of_seeds.median):.1f}" for at, of_seeds in dots)
                parts.append(f'<polyline points="{points}" fill="none" stroke-dasharray="{DASHES[number]}" {look}/>')
            for at, of_seeds in dots:
                ends = f'y1="{y(of_seeds.low):.1f}" y2="{y(of_seeds.high):.1f}"'
                parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" {ends} {look}/>')
                parts.append(_dot(at, y(of_seeds.median), number))
            under = HEIGHT_PX + _ROW_PX * number + 6
            if self.joined:
                parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + 34}" y1="{under}" y2="{under}" '
                             f'stroke-dasharray="{DASHES[number]}" {look}/>')  # fmt: skip
            else:
                parts.append(_dot(_LEFT + 17, under, number))
            parts.append(_text(_LEFT + 42, under + 4, name, "start"))
        words = f"{self.up} over {self.along}: medians, and bars for their intervals; the table has the numbers"
        return (
            f'<svg viewBox="0 0 {WIDTH_PX} {height}" style="max-width:{WIDTH_PX}px;width:100%" role="img" '
            f'aria-label="{escape(words)}" font-size="12" font-family="sans-serif">{"".join(parts)}</svg>'
        )


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """Ends and tick spacing of an axis. An axis begins at 0, unless all values are far from 0."""
    # On an axis that begins just below the smallest value, the ratio between large and small values would seem larger
    # than it is.
    low = 0.0 if low >= 0 and low < 0.7 * high else low
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= span / 5)
    first = math.floor(low / step) * step
    last = max(math.ceil(high / step) * step, first + step)
    return first, last, step


def _dot(x: float, y: float, number: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{COLOURS[number]}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{escape(words)}</text>'
