# SPDX-License-Identifier: Apache-2.0
"""Draws a series of received power in three ways. They show the first seconds of the series with the channel's states,
its distribution beside the model's, and its fades."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.report.style import AFTER, BEFORE, PAGE_IN, draw_file, new_figure
from leowarp.timeline.channel import LandMobile, PowerSeries
from leowarp.timeline.channel.statistics import statistics

FIRST_S = 10.0
"""The figure shows this many seconds of the series over time. With a longer time, single fades would be too narrow to
see."""


def draw(power: PowerSeries, channel: LandMobile | None, file: Path, footer: str) -> None:
    """Write `fading_figure` into a file.

    Raises ScenarioError if the file's suffix is not a known format, if the file cannot be written, or if the power
    never changes.
    """
    try:
        draw_file(file, "--figure", lambda: fading_figure(power, channel, footer))
    except OSError as error:
        raise ScenarioError(f"--figure {file}: {error}") from None


def fading_figure(
    power: PowerSeries, channel: LandMobile | None = None, footer: str = "", *, seconds: float = FIRST_S
) -> Figure:
    """Return a figure of a power series. The figure's first panel shows the power over the first seconds, with a strip
    of states. Further panels describe the whole series: distribution, autocorrelation, and rate and duration of fades.

    channel: The channel that made the series. The closed forms of its model are drawn.
    Raises ScenarioError if the power never changes.
    """
    if power.frozen:
        raise ScenarioError(
            f"the level is {float(power.level_db[0]):.2f} dB throughout: there is nothing to draw",
            "a moving terminal (mobile.speed above 0) and fading = true",
        )
    table = statistics(power, channel).to_pandas()
    figure = new_figure(PAGE_IN, 5.2, footer)
    panels = figure.subplot_mosaic(
        [["states", "states"], ["power", "power"], ["levels", "rates"], ["correlation", "lengths"]],
        height_ratios=(0.13, 1.5, 1.35, 1.35),
    )
    # The line has one more sample than the time span contains, so that it reaches the end of the axis. At least two
    # samples are drawn, because a line needs two samples.
    shown = min(len(power.level_db), max(2, math.ceil(seconds * 1e9 / power.spacing_ns) + 1))
    times_s = np.arange(shown) * power.spacing_ns * 1e-9
    # Above 20,000 points the line is drawn as pixels, which makes the file smaller. With 5,000 points of noise, the SVG
    # has 88 kB with a line, and 108 kB with pixels. With 20,000 points of noise, it has 124 kB with a line, and 87 kB
    # with pixels.
    panels["power"].plot(times_s, power.level_db[:shown], color=BEFORE, linewidth=0.5, rasterized=shown > 20_000)
    until_s = min(seconds, float(times_s[-1]))
    panels["power"].set(xlabel="time, s", ylabel="power, dB", xlim=(0, until_s))
    edges_s = np.append(times_s, times_s[-1] + power.spacing_ns * 1e-9)
    draw_states(panels["states"], edges_s, power.states[:shown], power.state_names)
    panels["states"].set_xlim(0, until_s)
    panels["states"].set_title(
        f"Received power, relative to line of sight: the first {until_s:.4g} s of {power.duration_ns / 1e9:.4g} s",
        loc="left",
        pad=3,
    )
    _draw_levels(panels["levels"], table[table.statistic == "quantile"])
    _draw_correlation(panels["correlation"], table[table.statistic == "autocorrelation"])
    for name, statistic, scale, label, title in (
        ("rates", "crossing_rate", 1, "fades per second", "How often the power falls below a level"),
        ("lengths", "fade_duration", 1e3, "mean length, ms", "How long it stays there"),
    ):
        # A level that the series never crosses has a crossing rate of 0, which a logarithmic axis cannot show.
        rows = table[(table.statistic == statistic) & (table.value > 0)]
        panels[name].semilogy(rows["at"], rows.value * scale, color=BEFORE, marker=".", markersize=3)
        panels[name].set(xlabel="level, dB", ylabel=label)
        # The rates and durations of an environment may all lie within one decade. With ticks only at powers of ten,
        # there would be too few ticks.
        panels[name].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panels[name].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panels[name].yaxis.set_minor_locator(NullLocator())
        panels[name].set_title(title, loc="left", pad=3)
    return figure


def draw_states(axes: Axes, edges_s: NDArray[np.floating], states: NDArray[np.integer], names: Sequence[str]) -> None:
    """Draw the states over time as a strip of grey rectangles. The first state is the lightest, and the last state is
    the darkest.

    edges_s: float64 array of shape (n + 1,). The times in s at which states begin and end: state i lasts from entry i
        to entry i + 1.
    states: int array of shape (n,)
    """
    borders = np.concatenate(([0], np.flatnonzero(np.diff(states)) + 1, [len(states)]))
    stays, begins_s, ends_s = states[borders[:-1]], edges_s[borders[:-1]], edges_s[borders[1:]]
    # The first state is the lightest.
    greys = [str(grey) for grey in np.linspace(0.88, 0.25, max(2, len(names)))]
    for index in range(len(names)):
        own = stays == index
        spans = list(zip(begins_s[own], ends_s[own] - begins_s[own], strict=True))
        axes.broken_barh(spans, (0, 1), color=greys[index], linewidth=0)
    axes.set(ylim=(0, 1), yticks=[])
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    patches = [Patch(facecolor=grey, label=name) for grey, name in zip(greys, names, strict=False)]
    axes.legend(handles=patches, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(patches), borderaxespad=0.2,
                handlelength=1.2, columnspacing=1.2)  # fmt: skip


def _draw_levels(axes: Axes, quantiles: pd.DataFrame) -> None:
    if quantiles.closed_form.notna().any():
        axes.plot(quantiles.closed_form, quantiles["at"], color=AFTER, label="model, closed form")
    axes.plot(quantiles.value, quantiles["at"], "o", markersize=3, color=BEFORE, label="series")
    # The logit scale shows both tails in equal detail. The tails are the levels that are exceeded in 99 % and in 1 % of
    # the time.
    axes.set_yscale("logit")
    ticks = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
    axes.set_yticks(ticks, [f"{100 * tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set(xlabel="level, dB", ylabel="share of time below, %")
    axes.set_title("Distribution", loc="left", pad=3)
    axes.legend(loc="upper left")


def _draw_correlation(axes: Axes, lags: pd.DataFrame) -> None:
    axes.semilogx(lags["at"], lags.value, color=BEFORE, marker=".", markersize=3)
    axes.axhline(0, color="#888888", linewidth=0.6, linestyle=":")
    axes.set(xlabel="lag, s", ylabel="correlation")
    axes.set_title("Autocorrelation of the level in dB", loc="left", pad=3)
