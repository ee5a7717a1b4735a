# SPDX-License-Identifier: Apache-2.0
"""Groups of runs over time: the median over the seeds at each instant, and as a band the interval that holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import goodput, step_at
from leowarp.metrics.inputs.tables import floats
from leowarp.report.style import PAGE_IN, highest_of, legend_below, line_style, new_figure, styled
from leowarp.report.view import RunView, footer_of
from leowarp.scalars.medians import order_interval

STEPS = 200
"""Columns of a figure: narrower ones would show the noise of single bins, not of seeds."""

MOST_PANELS = 6
"""Flows that have a panel each; of more, the first."""

Series = Callable[[RunView, int, np.ndarray], np.ndarray]
"""Values of a run's flow between edges in ns; nan where unknown."""


def group_figure(groups: Sequence[tuple[str, Sequence[RunView]]], name: str) -> Figure:
    """A figure of `GROUP_FIGURES`: a panel for each TCP flow, a line and a band a group.

    groups: sequence of (name, views of its runs)
    Raises TraceError if the runs have no TCP flow, or did not sample their sockets.
    """
    _, axis, series = GROUP_FIGURES[name]
    flows = groups[0][1][0].tcp_flows[:MOST_PANELS]
    every = [run for _, runs in groups for run in runs]
    if not flows or not all(run.tables.has("sockets") and set(flows) <= set(run.tcp_flows) for run in every):
        raise TraceError(f"cannot draw {axis} of these groups: not every run has the same TCP flows, sampled")
    # Up to the end of the shortest run: a median further on would be that of the seeds that happened to last.
    end_ns = min(run.metrics.end_ns for run in every)
    edges_ns = np.linspace(0, end_ns, STEPS + 1).astype("int64")
    middle_s = (edges_ns[:-1] + edges_ns[1:]) / 2e9
    with styled():
        # Runs of a group differ by their seeds alone, so the rules of one are those of all.
        figure = new_figure(PAGE_IN, 0.75 + 1.7 * len(flows), footer_of([runs[0] for _, runs in groups]))
        panels = figure.subplots(len(flows), 1, sharex=True, squeeze=False)[:, 0]
        for axes, flow in zip(panels, flows, strict=True):
            for number, (group, runs) in enumerate(groups):
                values = np.array([series(run, flow, edges_ns) for run in runs])
                low, median, high = median_band(values)
                look = line_style(number)
                axes.fill_between(middle_s, low, high, color=look["color"], alpha=0.22, linewidth=0)
                axes.plot(middle_s, median, label=f"{group}: median of {len(runs)} seeds and its interval", **look)
            if len(flows) > 1:
                axes.set_title(groups[0][1][0].flow_names[flow], loc="left", pad=3)
            axes.set_ylabel(axis)
            axes.set_xlim(0, end_ns / 1e9)
            axes.set_ylim(0, 1.08 * highest_of(axes))
        panels[-1].set_xlabel("time, s")
        legend_below(panels[-1])
    return figure


def median_band(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(low, median, high) of each column: order statistics as in `leowarp.scalars.medians`; nan where a run has no
    value.

    values: float array of shape (runs, columns)
    """
    # An instant that one seed has no value of has no band. With fewer seeds the same order statistics would hold the
    # median with another confidence than the one that the page states.
    ordered = np.sort(values, axis=0)
    j, _ = order_interval(len(values))
    unknown = np.isnan(values).any(axis=0)
    low, high, median = ordered[j - 1], ordered[len(values) - j], np.median(ordered, axis=0)
    return tuple(np.where(unknown, np.nan, row) for row in (low, median, high))  # type: ignore[return-value]


def _goodput_mbps(run: RunView, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    frame = goodput(run.tables, flow, "in_order", 50_000_000)
    t_ns, rate_bps = frame["t_ns"].to_numpy(), floats(frame["goodput_bps"])
    until_ns = np.append(t_ns[1:], run.metrics.end_ns)
    # Computed from the sum: the edges are a 200th of a run apart, which is no multiple of the 50 ms bins. Interpolated
    # bits still add up to all that arrived. Rates that are interpolated do not.
    bits = np.concatenate([[0.0], np.cumsum(np.nan_to_num(rate_bps) * (until_ns - t_ns) / 1e9)])
    at = np.interp(edges_ns, np.append(t_ns, run.metrics.end_ns), bits)
    return np.diff(at) / np.diff(edges_ns) * 1e9 / 1e6


def _sampled(column: str, size: float) -> Series:
    """Value of the sockets in the middle between two edges, in units of `size`."""

    def series(run: RunView, flow: int, edges_ns: np.ndarray) -> np.ndarray:
        mine = run.tables.of_flow("sockets", flow)
        middle_ns = (edges_ns[:-1] + edges_ns[1:]) // 2
        return step_at(mine["t_ns"].to_numpy(), floats(mine[column]), middle_ns, np.nan) / size

    return series


GROUP_FIGURES: dict[str, tuple[str, str, Series]] = {
    "goodput": ("Goodput over time", "goodput, Mbit/s", _goodput_mbps),
    "srtt": ("Smoothed round-trip time over time", "smoothed RTT, ms", _sampled("srtt_us", 1e3)),
    "cwnd": ("Congestion window over time", "window, packets", _sampled("cwnd_pkts", 1)),
}
"""Title, axis and series of each figure, in the page's order."""
