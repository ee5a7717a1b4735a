# SPDX-License-Identifier: Apache-2.0
"""The figures of page loads and films: load times, bit rates of the film as played, and stalls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from leowarp import TraceError
from leowarp.report.style import PAGE_IN, new_figure
from leowarp.study.drawing import Kind
from leowarp_studies.programs.application_runs import PAGES
from leowarp_studies.programs.figures import CONDITIONS, TITLES
from leowarp_studies.programs.rules import Rules
from leowarp_studies.programs.ways import BY_NAME, LOADED, PLAYERS

SECONDS = (1, 2, 5, 10, 20, 50, 100)
"""The ticks of a logarithmic axis of load times, in s."""
MOST_RATIO = 5
"""The axis is logarithmic if the largest load time is more than this many times the smallest."""


def pages(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the page load time by protocol and stack, with one panel per path and one mark per run.

    Raises TraceError if no page was loaded.
    """
    frame: pd.DataFrame = frames["pages"]
    loaded = frame[np.isfinite(frame["load_ns"].astype("float64"))]
    paths = [path for path in PAGES if path in set(loaded["path"])]
    if not paths:
        raise TraceError("no page was loaded")
    names = [name for name in LOADED if name in set(frame["way"])]
    drawn = new_figure(PAGE_IN, 1.1 + 0.22 * len(names), rules.footer("1.9 MB in 55 objects"))
    panels = drawn.subplots(1, len(paths), sharey=True, squeeze=False)[0]
    for axes, path in zip(panels, paths, strict=True):
        mine = loaded[loaded["path"] == path]
        _marks(axes, mine, mine["way"].map(names.index), mine["load_ns"].astype("float64") / 1e9)
        _seconds(axes, mine["load_ns"].astype("float64") / 1e9)
        axes.set_title(TITLES[path], loc="left")
        axes.set_xlabel("page load time, s")
    _rows(panels[0], [BY_NAME[name].label for name in names])
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return drawn


def films(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the mean bit rate of a film, and below it the stalled time, by player, protocol and stack.

    Raises TraceError if no film was played.
    """
    frame: pd.DataFrame = frames["videos"]
    paths = [path for path in PAGES if path in set(frame["path"])]
    if not paths:
        raise TraceError("no film was played")
    have = set(zip(frame["player"], frame["way"], strict=True))
    keys = [(player.name, way) for player in PLAYERS for way in player.ways if (player.name, way) in have]
    drawn = new_figure(PAGE_IN, 1.2 + 0.4 * len(keys), rules.footer("20 s of play, dash.js's rule"))
    panels = drawn.subplots(2, len(paths), sharey=True, squeeze=False)
    shown: Sequence[tuple[str, float, str, Callable[[Axes], Any]]] = (
        ("bitrate_bps", 1e6, "mean bit rate, Mbit/s", lambda axes: axes.set_xlim(0, max(1, 1.08 * axes.get_xlim()[1]))),
        ("stalled_ns", 1e9, "stalled, s", lambda axes: axes.set_xlim(-0.3, max(3, 1.08 * axes.get_xlim()[1]))),
    )
    for line, (column, scale, label, limit) in zip(panels, shown, strict=True):
        for axes, path in zip(line, paths, strict=True):
            mine = frame[frame["path"] == path]
            places = pd.Series(
                [keys.index(key) for key in zip(mine["player"], mine["way"], strict=True)], mine.index, dtype="int64"
            )
            _marks(axes, mine, places, mine[column].astype("float64") / scale)
            limit(axes)
            axes.set_xlabel(label)
        _rows(line[0], [f"{player}: {BY_NAME[way].label}" for player, way in keys])
    for axes, path in zip(panels[0], paths, strict=True):
        axes.set_title(TITLES[path], loc="left")
    drawn.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return drawn


def _marks(axes: Axes, frame: pd.DataFrame, places: pd.Series, values: pd.Series) -> None:
    """Draw one marker per run, in the row of this run. In each row, the marks of the unmodified path are above the
    marks of its control."""
    for place, (condition, style) in enumerate(CONDITIONS.items()):
        mine = frame["condition"] == condition
        look: dict[str, Any] = {"linestyle": "none", "markersize": 3.4, "markeredgewidth": 0.8} | style
        axes.plot(values[mine].to_numpy(), places[mine].to_numpy() + (place - 0.5) * 0.3, **look)


def _seconds(axes: Axes, values: pd.Series) -> None:
    """Make an axis for load times."""
    if values.max() <= MOST_RATIO * values.min():
        axes.set_xlim(0, 1.08 * values.max())
        return
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xticks([second for second in SECONDS if low <= second <= high], minor=False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


KINDS: Sequence[Kind[Rules]] = (
    Kind("pages", "How long a page takes",
         "From the client's first packet to the last byte of the last object, a mark a run; over the mobile channel "
         "logarithmic. What changes does so in the middle of the load. Control: routes frozen, no reconfiguration, "
         "resequencing.", ("pages",), pages),
    Kind("films", "What players show, and how long they stall",
         "DASH over 10 Mbit/s, a mark a run. Live: 2 s of buffer, segments of 1 s; film: 6 s, segments of 2 s.",
         ("videos",), films),
)  # fmt: skip
