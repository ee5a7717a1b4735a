# SPDX-License-Identifier: Apache-2.0
"""Figures about the path: capacity tests (figure 2) and pings (figures 3 to 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter, MonthLocator
from matplotlib.figure import Figure

from leowarp.report import figure
from leowarp.report.style import AFTER, BEFORE, PAGE_IN, new_figure
from leowarp_studies.huston2024 import runs
from leowarp_studies.huston2024.claims.path import STUDY_BPS
from leowarp_studies.huston2024.rules import Rules

DIRECTIONS = {"down": BEFORE, "up": AFTER}
"""The colour of each direction of a capacity test."""


def capacity(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 2. The figure shows each capacity test over time, and the distribution of all tests. In the
    distribution, lines mark the median and the extremes of the study."""
    rows: pd.DataFrame = frames["capacity"]
    test = (
        f"test: {len(runs.DOWN_FLOWS)} parallel CUBIC connections for {runs.TEST_S} s, mean of the whole time; "
        f"{len(rows)} of {len(runs.capacity_instants())} tests"
    )
    drawn = new_figure(PAGE_IN, 2.9, rules.footer(test))
    panels = drawn.subplots(2, 2, sharey="row", sharex="col", width_ratios=(5, 1))
    for (over_time, spread), (name, colour) in zip(panels, DIRECTIONS.items(), strict=True):
        values = rows[f"{name}_bps"].to_numpy() / 1e6
        # A quick reproduction has only 61 tests instead of 1,464, so its dots can be larger.
        size = 1.8 if len(values) > 500 else 4
        # Times are in UTC, like `access.clock`. The times are plotted without a time zone, so that the axis does not
        # convert them.
        over_time.plot(rows["at"].dt.tz_convert(None), values, ".", color=colour, markersize=size, markeredgewidth=0)
        over_time.set_ylabel(f"{name}, Mbit/s")
        # The axis includes the study's maximum, even if no test of this reproduction reaches it.
        over_time.set_ylim(0, 1.05 * max(values.max(), STUDY_BPS[name][2] / 1e6))
        _distribution(spread, values, colour, name)
    over_time = panels[-1][0]
    over_time.xaxis.set_major_locator(MonthLocator())
    over_time.xaxis.set_major_formatter(DateFormatter("%b %Y"))
    panels[-1][1].set_xlabel("share of tests")
    return drawn


def _distribution(axes: Axes, values: np.ndarray, colour: str, name: str) -> None:
    """Draw the empirical distribution of one direction's tests in Mbit/s."""
    ordered = np.sort(values)
    axes.step(np.arange(1, len(ordered) + 1) / len(ordered), ordered, color=colour, linewidth=1.1)
    for level_bps in STUDY_BPS[name]:
        axes.axhline(level_bps / 1e6, color="#555555", linewidth=0.6, linestyle=":")
    axes.set_title(f"median {np.median(values):.0f}", loc="left", pad=2)
    axes.set_xlim(0, 1)


def pings(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 3: the round-trip time of each probe of one flood ping, with marks for lost probes."""
    return figure(frames["flood_view"], "ping")


def handover(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 4: the reconfiguration with the largest round-trip time."""
    return figure(frames["flood_view"], "ping_change")


def between(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 5: the same pings without the second around each reconfiguration."""
    return figure(frames["flood_view"], "ping_slots")
