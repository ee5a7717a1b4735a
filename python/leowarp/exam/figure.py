# SPDX-License-Identifier: Apache-2.0
"""Draw the figure of a case: goodput beside the path's capacity, and round-trip time. A vertical line marks the time of
the packet or sample that decided the verdict.

The figure is written directly as SVG, because matplotlib would be slow for the hundred figures of an exam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from leowarp.exam.measures.reading import capacities_bps, rates_bps
from leowarp.exam.verdict import Judged, opened
from leowarp.results.run import Run

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""The colours of the first four flows (from Okabe and Ito's palette). Further flows are grey."""
PANEL_W, PANEL_H, LEFT, TOP, BOTTOM, GAP = 360, 130, 46, 18, 26, 20
MOST_BINS = 200


@dataclass(frozen=True)
class Line:
    """A line in a panel, with values in the panel's unit."""

    t_s: np.ndarray
    values: np.ndarray
    colour: str
    dashes: str = ""


def figure_svg(judged: Judged) -> str:
    """Return the figure of a case as an `<svg>` element, or "" if there is no run."""
    if judged.run is None:
        return ""
    run = opened(judged.run)
    end_s = run.end_ns / 1e9
    panels = [("goodput, Mbit/s (grey: capacity)", _goodputs(run)), ("round trip, ms", _round_trips(run))]
    width = len(panels) * (PANEL_W + LEFT) + GAP
    height = TOP + PANEL_H + BOTTOM
    label = f"{judged.case.title}: goodput and round trip over time"
    parts = [f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{escape(label)}">']
    at_s = None if judged.at_ns is None else judged.at_ns / 1e9
    for place, (name, lines) in enumerate(panels):
        parts += _panel(LEFT + place * (PANEL_W + LEFT + GAP // 2), name, lines, end_s, at_s)
    return "".join([*parts, "</svg>"])


def _goodputs(run: Run) -> list[Line]:
    bin_ns = max(200_000_000, run.end_ns // MOST_BINS // 50_000_000 * 50_000_000)
    edges_ns = np.arange(0, run.end_ns + 1, bin_ns)
    middle_s = (edges_ns[:-1] + bin_ns / 2) / 1e9
    flows = [number for number, flow in enumerate(run.plan.flows) if flow.kind == "tcp"]
    could_bps = capacities_bps(run, flows[0], edges_ns)
    lines = [Line(middle_s, could_bps / 1e6, "#999999", "4 3")]
    for number in reversed(flows):
        colour = COLOURS[number] if number < len(COLOURS) else "#bbbbbb"
        lines.append(Line(middle_s, rates_bps(run, number, edges_ns) / 1e6, colour))
    return lines


def _round_trips(run: Run) -> list[Line]:
    probe = next((number for number, flow in enumerate(run.plan.flows) if flow.kind == "ping"), None)
    if probe is None:
        rows = run.sockets(0)
        rows = rows[rows["srtt_us"].notna() & (rows["srtt_us"] > 0)]
        t_s, trip_ms = rows["t_ns"].to_numpy(dtype="float64") / 1e9, rows["srtt_us"].to_numpy(dtype="float64") / 1e3
    else:
        rows = run.echoes(probe)
        rows = rows[rows["reply_ns"].notna()]
        sent_ns = rows["sent_ns"].to_numpy(dtype="float64")
        t_s, trip_ms = sent_ns / 1e9, (rows["reply_ns"].to_numpy(dtype="float64") - sent_ns) / 1e6
    if len(t_s) == 0:
        return []
    # Each bin is drawn with its maximum. Means would hide peaks in a panel of 200 points.
    place = np.minimum((t_s * MOST_BINS / (run.end_ns / 1e9)).astype(int), MOST_BINS - 1)
    bins = np.unique(place)
    most = np.array([trip_ms[place == each].max() for each in bins])
    return [Line((bins + 0.5) * run.end_ns / 1e9 / MOST_BINS, most, COLOURS[0])]


def _panel(left: int, name: str, lines: Sequence[Line], end_s: float, at_s: float | None) -> list[str]:
    finite = [line.values[np.isfinite(line.values)] for line in lines]
    top = max([float(values.max()) for values in finite if len(values)] or [1.0]) * 1.05 or 1.0

    def x(t_s: float) -> float:
        return left + PANEL_W * t_s / end_s

    def y(value: float) -> float:
        return TOP + PANEL_H * (1 - value / top)

    floor = TOP + PANEL_H
    parts = [f'<text x="{left}" y="12" font-size="11">{escape(name)}</text>']
    for value in (0.0, top / 2.1, top / 1.05):
        parts.append(f'<line x1="{left}" y1="{y(value):.1f}" x2="{left + PANEL_W}" y2="{y(value):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 4}" y="{y(value) + 4:.1f}" font-size="10" text-anchor="end">{value:.3g}</text>')
    for t_s in (0.0, end_s / 2, end_s):
        parts.append(f'<text x="{x(t_s):.1f}" y="{floor + 14}" font-size="10" text-anchor="middle">{t_s:g} s</text>')
    if at_s is not None and 0 <= at_s <= end_s:
        parts.append(f'<line x1="{x(at_s):.1f}" y1="{TOP}" x2="{x(at_s):.1f}" y2="{floor}" stroke="#000" '
                     'stroke-dasharray="2 2"/>')  # fmt: skip
        parts.append(f'<text x="{x(at_s):.1f}" y="{floor + 24}" font-size="10" text-anchor="middle">decided</text>')
    for line in lines:
        known = ((x(t_s), y(value)) for t_s, value in zip(line.t_s, line.values, strict=True) if np.isfinite(value))
        points = " ".join(f"{right:.1f},{down:.1f}" for right, down in known)
        dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.3"{dashes}/>')
    return parts
