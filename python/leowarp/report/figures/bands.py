# SPDX-License-Identifier: Apache-2.0
"""Draw groups of runs over time: the median over the seeds at each time, with its confidence interval as a band."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import goodput, step_at
from leowarp.metrics.inputs.tables import floats
from leowarp.report.labels import footer_of
from leowarp.report.style import PAGE_IN, highest_of, legend_below, line_style, new_figure, styled
from leowarp.results.run import Run
from leowarp.scalars.medians import order_interval

STEPS = 200
"""The number of steps along the time axis. With more steps, the noise of single bins would hide the spread over the
seeds."""

MOST_PANELS = 6
"""The maximum number of flows in a figure, each with its own panel."""

Series = Callable[[Run, int, np.ndarray], np.ndarray]
"""A function of a run, a flow's number and bin edges in ns. For each bin, it returns the flow's value, or nan if the
value is unknown."""


def group_figure(groups: Sequence[tuple[str, Sequence[Run]]], name: str) -> Figure:
    """Return a figure of `GROUP_FIGURES` with one panel per TCP flow. Each (name, runs) has a line and a band in a
    panel.

    Raises TraceError if the runs have no TCP flow, or no socket samples.
    """
    _, axis, series = GROUP_FIGURES[name]
    flows = groups[0][1][0].tcp_flows[:MOST_PANELS]
    every = [run for _, runs in groups for run in runs]
    if not flows or not all(run.tables.has("sockets") and set(flows) <= set(run.tcp_flows) for run in every):
        raise TraceError(f"cannot draw {axis} of these groups: not every run has the same TCP flows, sampled")
    # The time axis ends when the shortest run ends. After the shortest run's end, a median would include only the seeds
    # with longer runs.
    end_ns = min(run.end_ns for run in every)
    edges_ns = np.linspace(0, end_ns, STEPS + 1).astype("int64")
    middle_s = (edges_ns[:-1] + edges_ns[1:]) / 2e9
    with styled():
        # The runs of a group differ only in their seeds, so the rules in the footer apply to all runs of the group.
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
    """Return the lower end of the band, the median, and the upper end of the band, for each column of `values`, which
    has a row per run. The band's ends are order statistics, as in `leowarp.scalars.medians`. A column in which a run
    has no value (nan) gives nan."""
    # At a time at which one seed has no value, no band is drawn. With fewer seeds, the band's confidence would differ
    # from the confidence that the page states.
    ordered = np.sort(values, axis=0)
    j, _ = order_interval(len(values))
    unknown = np.isnan(values).any(axis=0)
    low, high, median = ordered[j - 1], ordered[len(values) - j], np.median(ordered, axis=0)
    return tuple(np.where(unknown, np.nan, row) for row in (low, median, high))  # type: ignore[return-value]


def _goodput_mbps(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    frame = goodput(run.tables, flow, "in_order", 50_000_000)
    t_ns, rate_bps = frame["t_ns"].to_numpy(), floats(frame["goodput_bps"])
    until_ns = np.append(t_ns[1:], run.end_ns)
    # Rates are computed from the cumulative number of bits. The edges are a 200th of the run apart, usually not a
    # multiple of the 50 ms bins. The cumulative number is interpolated at the edges, so every bit counts exactly once.
    # If the rates were interpolated, some bits would not count exactly once.
    bits = np.concatenate([[0.0], np.cumsum(np.nan_to_num(rate_bps) * (until_ns - t_ns) / 1e9)])
    at = np.interp(edges_ns, np.append(t_ns, run.end_ns), bits)
    return np.diff(at) / np.diff(edges_ns) * 1e9 / 1e6


def _sampled(column: str, size: float) -> Series:
    """Return a function for a socket column's value at the middle of each bin, divided by `size`."""

    def series(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
        mine = run.tables.of_flow("sockets", flow)
        middle_ns = (edges_ns[:-1] + edges_ns[1:]) // 2
        return step_at(mine["t_ns"].to_numpy(), floats(mine[column]), middle_ns, np.nan) / size

    return series


GROUP_FIGURES: dict[str, tuple[str, str, Series]] = {
    "goodput": ("Goodput over time", "goodput, Mbit/s", _goodput_mbps),
    "srtt": ("Smoothed round-trip time over time", "smoothed RTT, ms", _sampled("srtt_us", 1e3)),
    "cwnd": ("Congestion window over time", "window, packets", _sampled("cwnd_pkts", 1)),
}
"""The title, axis label and series function of each figure, in the order of the page."""
