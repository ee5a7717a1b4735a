# SPDX-License-Identifier: Apache-2.0
"""Draw a measured path. The figure shows the delay over time, reconfigurations, lost probes, and the capacity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.report.style import AFTER, BAD, BEFORE, PAGE_IN, mark_changes, new_figure
from leowarp.timeline.recordings import Capacity, Description, Measurement
from leowarp.timeline.recordings.measurement import UNSHAPED

MOST_SLOTS = 60
"""The maximum number of reconfigurations that are drawn as lines. More lines would hide the data."""


def measured_figure(described: Sequence[tuple[Measurement, Description]]) -> Figure:
    """Return a figure with a panel per series. It shows delays as a line, lost probes as ticks, and reconfigurations as
    vertical lines. A last panel shows a measured capacity. The footer says how the period was determined."""
    capacities = [any((m.capacity_down, m.capacity_up)) for m, _ in described]
    heights = [height for has in capacities for height in ((1.6, 0.9) if has else (1.6,))]
    figure = new_figure(PAGE_IN, 0.4 + sum(heights), "; ".join(_footer(description) for _, description in described))
    panels = iter(figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
    for (measurement, description), has_capacity in zip(described, capacities, strict=True):
        _draw_delays(next(panels), measurement, description)
        if has_capacity:
            _draw_capacity(next(panels), measurement)
    return figure


def _draw_delays(axes: Axes, measurement: Measurement, description: Description) -> None:
    axes.set_title(f"{Path(measurement.source).name}, {description.series.replace('_', ' ')}", loc="left", pad=2)
    axes.set_ylabel("delay, ms")
    series = measurement.series.get(description.series)
    if series is None:
        axes.text(0.5, 0.5, "no delays were measured", transform=axes.transAxes, ha="center")
        return
    if description.schedule is not None:
        instants_s = description.schedule.instants_ns(int(series.t_ns[0]), int(series.t_ns[-1]) + 1) / 1e9
        if len(instants_s) <= MOST_SLOTS:
            mark_changes(axes, instants_s.tolist())
    # The line is interrupted at lost probes and gaps in the recording, which have no delay.
    axes.plot(series.t_ns / 1e9, series.delay_ns / 1e6, color=BEFORE, linewidth=0.5, rasterized=len(series) > 20_000)
    lost_s = series.t_ns[series.lost] / 1e9
    if len(lost_s):
        top = np.full(len(lost_s), 0.985)
        axes.plot(lost_s, top, "|", color=BAD, markersize=4, transform=axes.get_xaxis_transform(), label="lost")
        axes.legend(loc="upper right")
    axes.margins(x=0)
    axes.set_xlabel("time, s")


def _draw_capacity(axes: Axes, measurement: Measurement) -> None:
    for name, capacity, colour in (("down", measurement.capacity_down, BEFORE), ("up", measurement.capacity_up, AFTER)):
        if capacity is not None:
            t_s, rate_mbps = _steps(capacity)
            axes.step(t_s, rate_mbps, where="post", color=colour, linewidth=0.6, label=name)
    axes.set_ylabel("capacity, Mbit/s")
    axes.set_xlabel("time, s")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.legend(loc="lower right", ncols=2)


def _steps(capacity: Capacity) -> tuple[np.ndarray, np.ndarray]:
    # Each step lasts until the time of the next row; the last step ends at the end of the capacity.
    t_s = np.append(capacity.t_ns, max(capacity.end_ns, int(capacity.t_ns[-1]))) / 1e9
    rate_mbps = np.append(capacity.rate_bps, capacity.rate_bps[-1]) / 1e6
    # The value `UNSHAPED`, which means "no limit", becomes nan. `UNSHAPED` is so large that all measured values would
    # be at the bottom of the axis.
    return t_s, np.where(rate_mbps == UNSHAPED / 1e6, np.nan, rate_mbps)


def _footer(description: Description) -> str:
    schedule = description.schedule
    if schedule is None:
        return f"{description.source}: no period found in it"
    how = "given" if description.schedule_given else "found in the data"
    every_s, first_s = schedule.period_ns / 1e9, schedule.phase_ns / 1e9
    return f"{description.source}: vertical lines every {every_s:.3f} s from {first_s:.3f} s on, {how}"
