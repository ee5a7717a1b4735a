# SPDX-License-Identifier: Apache-2.0
"""Draw the goodput CDF (fig. 4) and the RTT CCDF (fig. 5), also for several scenarios in one figure (fig. 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leowarp.base.errors import TraceError
from leowarp.metrics import ccdf, cdf, goodput
from leowarp.report.figures.goodputs import SERIES_NAMES
from leowarp.report.figures.manyflows import in_colour, shown_apart
from leowarp.report.labels import footer_of
from leowarp.report.style import COLUMN_IN, new_figure
from leowarp.results.run import Run

# In a run of 1000 s, one bin of 50 ms is a share of 5e-5. Shares below `SMALLEST_SHARE` therefore come from only one or
# two bins.
SMALLEST_SHARE = 1e-4

NEAR_RATIO = 0.5
"""A bin is near the capacity if its goodput is at least this share of the capacity. A run is near the capacity if at
least a tenth of its bins reach this share."""


def goodput_cdf(
    runs: Sequence[Run], *, series: str = "in_order", bin_ns: int = 50_000_000, y_scale: str = "linear",
    skip_s: float = 0.0,
) -> Figure:  # fmt: skip
    """Draw the share of time in which goodput is at most a given value (fig. 4).

    Most of the x axis shows values near the path's capacity. If no run is near the capacity for a tenth of the time,
    most of the axis shows low values.

    y_scale: {"linear", "log"}. With "log", rare dips are visible.
    skip_s: The time at the start that is left out (slow start), in s.
    series: {"in_order", "acked", "sacked"}. "in_order" counts data in order at the receiver. "acked" and "sacked" count
        data that the sender knows to be acknowledged.
    bin_ns: The length of a bin, in ns. Shares of time are computed as shares of the bins.
    """
    figure = new_figure(COLUMN_IN, 2.75 + _names_in(runs), footer_of(runs))
    axes = figure.subplots()
    highest, usual, mean = 0.0, 0.0, 0.0
    rates = {}
    for run in runs:
        frame = goodput(run.tables, run.main_flow, series, bin_ns)
        rates[id(run)] = frame["goodput_bps"].to_numpy()[frame["t_ns"].to_numpy() >= skip_s * 1e9] / 1e6
    means = [float(rate.mean()) if len(rate) else 0.0 for rate in rates.values()]
    for run, label, style in in_colour(runs, means):
        rate = rates[id(run)]
        x, share = cdf(rate)
        if len(rate):
            highest, mean = max(highest, float(rate.max())), max(mean, float(rate.mean()))
            # The ninth decile of the rates, and not their maximum, decides whether the axis is stretched. When a
            # missing packet arrives, one bin may exceed the capacity by far, although the flow is seldom near the
            # capacity.
            usual = max(usual, float(np.quantile(rate, 0.9)))
        axes.plot(x, share, drawstyle="steps-post", label=label, **style)
    capacities = [run.capacity_bps for run in runs if run.capacity_bps]
    what = ""
    if capacities and usual >= NEAR_RATIO * min(capacities) / 1e6:
        _stretch(axes, min(capacities) / 1e6, highest)
        what = "\n(axis stretched around the path's capacity)"
    elif capacities and mean > 0:
        _stretch_low(axes, min(capacities) / 1e6, highest, mean)
        what = "\n(axis logarithmic above the mean; dotted: capacity)"
    axes.set_xlabel(f"goodput, Mbit/s, {SERIES_NAMES[series]}, {bin_ns / 1e6:g} ms bins" + what)
    axes.set_ylabel("share of time at or below")
    _share_axis(axes, y_scale)
    _name_lines(figure, axes, runs, "lower right")
    return figure


def rtt_ccdf(runs: Sequence[Run], *, skip_s: float = 0.0) -> Figure:
    """For each value of the smoothed RTT, draw the share of time in which the RTT is larger (fig. 5). The axis of
    shares is logarithmic. The weight of a sample is the time until the next sample.

    skip_s: The time at the start that is left out (slow start), in s.
    Raises TraceError if no round-trip time was measured.
    """
    figure = new_figure(COLUMN_IN, 2.65 + _names_in(runs), footer_of(runs))
    axes = figure.subplots()
    means = [_mean_srtt_us(run) for run in runs]
    for run, label, style in in_colour(runs, means):
        frame = run.numbers.srtt[run.main_flow]
        frame = frame[frame["t_ns"] >= skip_s * 1e9]
        x, share = ccdf(frame["srtt_us"].to_numpy() / 1e3, frame["held_ns"].to_numpy())
        if len(x):
            # The curve begins at the smallest value, where the share is 1. The last step ends at the lower limit of the
            # axis, because the share 0 cannot be shown on a logarithmic axis.
            axes.plot(np.insert(x, 0, x[0]), np.insert(np.maximum(share, SMALLEST_SHARE / 10), 0, 1.0),
                      drawstyle="steps-post", label=label, **style)  # fmt: skip
    if not axes.lines:
        names = ", ".join(dict.fromkeys(run.path.name for run in runs))
        raise TraceError(f"cannot draw round-trip times of {names}: none was measured", "did anything arrive?")
    axes.set_xlabel("smoothed RTT, ms, by time")
    axes.set_ylabel("share of time above")
    _share_axis(axes, "log")
    _name_lines(figure, axes, runs, "lower left")
    return figure


def _mean_srtt_us(run: Run) -> float:
    frame = run.numbers.srtt[run.main_flow]
    held = frame["held_ns"].to_numpy()
    return float((frame["srtt_us"].to_numpy() * held).sum() / held.sum()) if held.sum() else 0.0


def _names_in(runs: Sequence[Run]) -> float:
    """Return the height of the flows' names above the panel, or 0 if the legend is inside it."""
    if not any(run.chosen_flow is not None for run in runs) or len(runs) == 1:
        return 0.0
    return 0.12 * (len(runs) if shown_apart(runs) else 4)


def _name_lines(figure: Figure, axes: Axes, runs: Sequence[Run], place: Literal["lower left", "lower right"]) -> None:
    """Add the legend inside the panel, or above it if it contains the names of flows, which are long."""
    if _names_in(runs):
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", fontsize=6)
    else:
        axes.legend(loc=place)


def _share_axis(axes: Axes, scale: str) -> None:
    if scale == "log":
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST_SHARE, 1.15)
        axes.yaxis.set_major_locator(FixedLocator([1e-4, 1e-3, 1e-2, 1e-1, 1]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(0, 1.02)


def _ticks(capacity_mbps: float, end_mbps: float, forward: Callable[[np.ndarray], np.ndarray]) -> list[float]:
    """Return the ticks of the axis: the capacity and round numbers, in order of importance. If two ticks are closer
    than 7 % of the axis, the less important tick is left out."""
    scale = 10.0 ** (np.floor(np.log10(capacity_mbps)) - 1)
    round_numbers = np.array([0, 90, 100, 50, 200, 110, 400, 95, 150, 80, 300, 30, 70, 20, 60]) * scale
    wanted = np.append(np.round(capacity_mbps, 1), round_numbers)
    reach = np.ptp(forward(np.array([0.0, end_mbps])))
    chosen: list[float] = []
    for tick in wanted[wanted <= end_mbps]:
        if all(abs(np.diff(forward(np.array([tick, other])))[0]) >= 0.07 * reach for other in chosen):
            chosen.append(float(tick))
    return sorted(chosen)


def _stretch_low(axes: Axes, capacity_mbps: float, highest_mbps: float, mean_mbps: float) -> None:
    """Make the axis linear up to about the mean goodput, and logarithmic above it. A flow may seldom fill its path.
    Most of its bins are then in the linear part of the axis."""
    axes.set_xscale("asinh", linear_width=mean_mbps)
    end_mbps = max(highest_mbps, capacity_mbps) * 1.1
    axes.set_xlim(0, end_mbps)
    decades = 10.0 ** np.arange(np.floor(np.log10(mean_mbps)), np.log10(end_mbps))
    ticks = [0.0, *(step * decade for decade in decades for step in (1, 3) if mean_mbps / 2 <= step * decade)]
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= end_mbps]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.axvline(capacity_mbps, color="#777777", linewidth=0.6, linestyle=":", zorder=0.6)


def _stretch(axes: Axes, capacity_mbps: float, highest_mbps: float) -> None:
    """Stretch the axis around the capacity with asinh, because values near the capacity differ little."""
    # The scale is approximately linear within `width` of the capacity, and logarithmic farther away. For a capacity of
    # 95.64 Mbit/s, the first 57 Mbit/s are as wide as the last Mbit/s below the capacity.
    width = 0.01 * capacity_mbps

    def forward(x: np.ndarray) -> np.ndarray:
        return np.arcsinh((np.asarray(x, dtype="float64") - capacity_mbps) / width)

    def inverse(y: np.ndarray) -> np.ndarray:
        # Values are clipped, because matplotlib evaluates points far outside of the axis, for which sinh overflows.
        return capacity_mbps + width * np.sinh(np.clip(y, -20, 20))

    axes.set_xscale("function", functions=(forward, inverse))
    axes.set_xlim(0, max(highest_mbps * 1.02, capacity_mbps * 1.02))
    axes.xaxis.set_major_locator(FixedLocator(_ticks(capacity_mbps, axes.get_xlim()[1], forward)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}" if value < 100 else f"{value:.0f}"))
    axes.axvline(capacity_mbps, color="#777777", linewidth=0.6, linestyle=":", zorder=0.6)
