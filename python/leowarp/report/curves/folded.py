# SPDX-License-Identifier: Apache-2.0
"""Draw a measured path over the phase of its period: delay and loss, and an image with one row per slot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.report.style import BAD, BEFORE, CHANGE_COLOUR, PAGE_IN, new_figure
from leowarp.timeline.recordings import Description, Measurement, Schedule, Series

# Number of bins per period. With a period of 15 s, as for a dish's reconfigurations, a bin is 125 ms long. An outage of
# the Starlink profile lasts 146 ms on average, about one bin (design/starlink-profile.md: 14.58 lost pings in a row, 10
# ms apart).
_BINS = 120
_MOST_ROWS = 400


def folded_figure(described: Sequence[tuple[Measurement, Description]]) -> Figure:
    """Return one figure with panels for all series that have a period. The panels of a series show, over the phase,
    quantiles of the delay and the share of lost probes. An image has one row for each slot.

    The reconfiguration is drawn at a quarter of the width, so that the time before it is also visible. The best
    candidate for a period is drawn even if the search rejected it, because the figure shows why.

    Raises ScenarioError if no series has a period.
    """
    chosen = []
    for measurement, description in described:
        schedule, sure = _schedule(description)
        series = measurement.series.get(description.series)
        if schedule is not None and series is not None:
            chosen.append((measurement, description, series, schedule, sure))
    if not chosen:
        names = ", ".join(description.source for _, description in described)
        raise ScenarioError(
            f"--folded: no period was found in {names}", "leave --folded out; --figure draws it as it is"
        )
    footer = "; ".join(f"{description.source}: {sure}" for _, description, _, _, sure in chosen)
    figure = new_figure(PAGE_IN, 0.4 + 2.9 * len(chosen), footer)
    panels = figure.subplots(
        2 * len(chosen), 2, squeeze=False, sharex="row", height_ratios=[2, 1] * len(chosen), width_ratios=[1, 1]
    )
    for row, (measurement, description, series, schedule, _) in enumerate(chosen):
        upper, lower = panels[2 * row], panels[2 * row + 1]
        title = f"{Path(measurement.source).name}, {description.series.replace('_', ' ')}"
        phase_s, slot = _folded(series, schedule)
        _draw_delay(upper[0], title, series, schedule, phase_s)
        _draw_loss(lower[0], series, schedule, phase_s)
        grid = upper[1].get_gridspec()
        # The image of the slots is as high as the panels of delay and loss together.
        for axes in (upper[1], lower[1]):
            axes.remove()
        _draw_slots(figure.add_subplot(grid[2 * row : 2 * row + 2, 1]), series, schedule, phase_s, slot)
    return figure


def _schedule(description: Description) -> tuple[Schedule | None, str]:
    """Return the schedule whose period is used to fold the series, and a text about how certain this period is."""
    finding = description.finding
    if description.schedule is not None:
        every = f"folded by {description.schedule.period_ns / 1e9:.4f} s"
        if finding is None:
            return description.schedule, f"{every}, as given"
        # The printed confidence is at most 99.9 %, however strong the evidence, because it is based on one recording;
        # 99.96 % would be printed as 100.0 %.
        return description.schedule, f"{every}, found with a confidence of {min(finding.confidence_ratio, 0.999):.1%}"
    if finding is None or not finding.runners_up:
        return None, ""
    schedule, ratio = finding.runners_up[0]
    every = (
        "" if schedule is None else f"folded by {schedule.period_ns / 1e9:.4f} s, which is not believed ({ratio:.1%})"
    )
    return schedule, every


def _folded(series: Series, schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the phase of each probe in s, and the number of its row. Each slot is one row. The phase starts a quarter
    of a period before the reconfiguration."""
    since_ns = series.t_ns - schedule.phase_ns + schedule.period_ns // 4
    return (since_ns % schedule.period_ns - schedule.period_ns // 4) / 1e9, since_ns // schedule.period_ns


def _draw_delay(axes: Axes, title: str, series: Series, schedule: Schedule, phase_s: NDArray[np.float64]) -> None:
    axes.set_title(title, loc="left", pad=2)
    edges_s = _edges_s(schedule, series)
    place = np.digitize(phase_s, edges_s) - 1
    known = ~np.isnan(series.delay_ns)
    # Delays of different slots are not normalised. The band of quantiles therefore includes differences between slots;
    # the image shows each slot in its own row.
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2
    quantiles = np.full((len(middles_s), 4), np.nan)
    for number in range(len(middles_s)):
        delays_ms = series.delay_ns[known & (place == number)] / 1e6
        if len(delays_ms):
            quantiles[number] = np.quantile(delays_ms, (0.05, 0.5, 0.95, 0.99))
    axes.fill_between(middles_s, quantiles[:, 0], quantiles[:, 2], color=BEFORE, alpha=0.25, linewidth=0,
                      label="5 % to 95 %", step="mid")  # fmt: skip
    axes.step(middles_s, quantiles[:, 1], where="mid", color=BEFORE, label="median")
    axes.step(middles_s, quantiles[:, 3], where="mid", color=BEFORE, linewidth=0.6, linestyle=(0, (3, 1)), label="99 %")
    axes.axvline(0, color=CHANGE_COLOUR, linewidth=0.9, zorder=0.5)
    axes.set_ylabel("delay, ms")
    axes.tick_params(labelbottom=False)
    axes.margins(x=0)
    axes.legend(loc="upper right", ncols=3)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.15 * (high - low))


def _draw_loss(axes: Axes, series: Series, schedule: Schedule, phase_s: NDArray[np.float64]) -> None:
    edges_s = _edges_s(schedule, series)
    sent = np.histogram(phase_s, edges_s)[0]
    lost = np.histogram(phase_s[series.lost], edges_s)[0]
    percent = 100 * np.divide(lost, sent, out=np.full(len(sent), np.nan), where=sent > 0)
    top = max(1.1 * float(np.nanmax(percent)), 0.1)
    axes.stairs(percent, edges_s, fill=True, color=BAD)
    if not sent.all():
        # A bin without probes is grey, because an empty bin would look like a loss of 0 %. Bins without probes exist if
        # the period is a multiple of the interval between probes.
        axes.stairs(np.where(sent > 0, np.nan, top), edges_s, fill=True, color="#dddddd", label="no probe")
        axes.legend(loc="upper right")
    axes.axvline(0, color=CHANGE_COLOUR, linewidth=0.9, zorder=0.5)
    axes.set_ylabel("lost, %")
    axes.set_ylim(0, top)
    axes.set_xlabel("time since a reconfiguration, s")
    axes.margins(x=0)


def _draw_slots(
    axes: Axes, series: Series, schedule: Schedule, phase_s: NDArray[np.float64], slot: NDArray[np.int64]
) -> None:
    """Draw an image with the smallest delay in each bin of each slot. Lost probes are drawn as dots. If the period is
    right, the delay changes at the same phase in every row of the image."""
    edges_s = _edges_s(schedule, series)
    rows = slot - slot[0]
    every = -(-(int(rows[-1]) + 1) // _MOST_ROWS)
    rows = rows // every
    column = np.clip(np.digitize(phase_s, edges_s) - 1, 0, len(edges_s) - 2)
    least_ms = np.full((int(rows[-1]) + 1, len(edges_s) - 1), np.inf)
    known = ~np.isnan(series.delay_ns)
    # `minimum.at` is used because a bin may contain several probes. An assignment would store the last delay of a bin,
    # not the smallest.
    np.minimum.at(least_ms, (rows[known], column[known]), series.delay_ns[known] / 1e6)
    least_ms[np.isinf(least_ms)] = np.nan
    # The colour range excludes the smallest and the largest 2 % of the delays. If the range included all delays, a
    # single outage would take the whole colour range, although slots differ by only a few ms.
    low, high = (float(np.nanquantile(least_ms, q)) for q in (0.02, 0.98)) if known.any() else (0.0, 1.0)
    period_s = schedule.period_ns / 1e9
    minutes = np.arange(len(least_ms) + 1) * every * period_s / 60
    image = axes.pcolormesh(
        edges_s, minutes, least_ms, cmap="viridis", vmin=low, vmax=max(high, low + 1e-3), rasterized=True
    )
    lost = series.lost
    axes.plot(phase_s[lost], (slot[lost] - slot[0] + 0.5) * period_s / 60, ".", color=BAD, markersize=2,
              markeredgewidth=0, rasterized=True)  # fmt: skip
    axes.grid(visible=False)
    axes.axvline(0, color=CHANGE_COLOUR, linewidth=0.7)
    axes.set_ylim(minutes[-1], 0)
    axes.set_xlabel("time since a reconfiguration, s")
    axes.set_ylabel("time, min")
    axes.set_title("least delay, ms; lost probes red", loc="left", pad=2)
    axes.figure.colorbar(image, ax=axes, pad=0.01, aspect=40)


def _edges_s(schedule: Schedule, series: Series) -> NDArray[np.float64]:
    period_s, interval_s = schedule.period_ns / 1e9, (series.interval_ns or 1_000_000_000) / 1e9
    # If bins were shorter than the interval between probes, some bins would contain no probe. The figure would then
    # show the sender's clock.
    count = int(np.clip(period_s / interval_s, 4, _BINS))
    begin_s = -(schedule.period_ns // 4) / 1e9
    return begin_s + np.linspace(0, period_s, count + 1)
