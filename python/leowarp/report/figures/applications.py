# SPDX-License-Identifier: Apache-2.0
"""Draw measurements by programs: a video player's buffer and bit rate, and the objects of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from leowarp.metrics.inputs.tables import floats
from leowarp.report.labels import footer_of
from leowarp.report.style import AFTER, BAD, BEFORE, PAGE_IN, legend_below, mark_changes, new_figure
from leowarp.results.run import Run

MOST_PANELS = 6
"""The maximum number of players or pages in a figure."""


def playback(runs: Sequence[Run]) -> Figure:
    """Draw the buffer of each player with its stalls, and below it the segments' bit rate and throughput. A pink line
    marks a route change, and a red area marks a stall."""
    shown = [(run, flow) for run in runs for flow in flows_with(run, "segment")][:MOST_PANELS]
    figure = new_figure(PAGE_IN, 0.6 + 2.3 * len(shown), footer_of(runs))
    panels = figure.subplots(2 * len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for (run, flow), above, below in zip(shown, panels[::2], panels[1::2], strict=True):
        mine = run.tables.of_flow("measures", flow)
        segments = mine[mine["kind"] == "segment"].sort_values("end_ns", kind="stable")
        changes_s = run.change_instants_ns(flow) / 1e9
        for axes in (above, below):
            mark_changes(axes, changes_s)
        t_s, buffer_s = buffer_over_time(segments)
        above.plot(t_s, buffer_s, color=BEFORE, linewidth=1, label="buffer")
        for number, stall in enumerate(mine[mine["kind"] == "stall"].itertuples()):
            until_ns = run.end_ns if np.isnan(stall.end_ns) else stall.end_ns
            above.axvspan(
                stall.start_ns / 1e9, until_ns / 1e9, color=BAD, alpha=0.4, linewidth=0,
                label=None if number else "stall",
            )  # fmt: skip
        above.set_ylim(bottom=0)
        above.set_ylabel("buffer, s")
        above.set_title(_title(run, flow, runs), loc="left", pad=3)
        asked_s, came_s = floats(segments["start_ns"]) / 1e9, floats(segments["end_ns"]) / 1e9
        below.hlines(
            floats(segments["bitrate_bps"]) / 1e6, asked_s, came_s, color=BEFORE, linewidth=2, label="bit rate"
        )
        throughput_bps = floats(segments["bytes"]) * 8 / (came_s - asked_s)
        below.plot(came_s, throughput_bps / 1e6, ".", color=AFTER, markersize=3, label="throughput of the segment")
        below.set_ylim(bottom=0)
        below.set_ylabel("Mbit/s")
    panels[-1].set_xlabel("time, s (pink: route changes)")
    # Legend entries are collected from all panels, because the first panel may have no stall.
    known = {name: handle for axes in panels for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    legend_below(panels[-1], list(known.values()), list(known), ncols=len(known))
    return figure


def buffer_over_time(segments: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the content of a player's buffer in s over time, as the points of a line: `(t_s, buffer_s)`.

    When a segment arrives, the buffer grows by the whole segment. Between arrivals, the buffer shrinks while the player
    plays, and stays constant while it does not play.

    segments: The rows of the table `measures`, sorted by `end_ns`.
    """
    came_s, after_s = floats(segments["end_ns"]) / 1e9, floats(segments["buffer_ns"]) / 1e9
    before_s = after_s - floats(segments["media_ns"]) / 1e9
    # `played_s` is the time for which the player played after the previous segment arrived. From the end of this time
    # until the present segment arrived, the buffer was empty, or playback had not begun.
    # `fmax` makes it 0 if a buffer is unknown (nan), so that the time of the point stays known.
    played_s = np.fmax(after_s[:-1] - before_s[1:], 0.0)
    stopped_s = np.insert(np.minimum(came_s[:-1] + played_s, came_s[1:]), 0, came_s[0])
    # Each segment has three points: the end of playing before it, and its arrival without and with its content.
    t_s = np.stack([stopped_s, came_s, came_s], axis=1).ravel()
    buffer_s = np.stack([before_s, before_s, after_s], axis=1).ravel()
    return np.append(t_s, came_s[-1] + after_s[-1]), np.append(buffer_s, 0.0)


def waterfall(runs: Sequence[Run]) -> Figure:
    """Draw the times at which the objects of a page were requested and arrived, in ms since the page's start. Each
    object is a bar. Each flow has a panel with its slowest page load."""
    shown = [(run, flow) for run in runs for flow in flows_with(run, "page")][:MOST_PANELS]
    figure = new_figure(PAGE_IN, 0.7 + 2.4 * len(shown), footer_of(runs))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for (run, flow), axes in zip(shown, panels, strict=True):
        mine = run.tables.of_flow("measures", flow)
        pages = mine[(mine["kind"] == "page") & mine["end_ns"].notna()]
        page = pages.loc[(pages["end_ns"] - pages["start_ns"]).idxmax()]
        objects = mine[(mine["kind"] == "object") & (mine["number"] == page["number"])]
        objects = objects.sort_values(["start_ns", "end_ns"], kind="stable")
        edges_ms = [(floats(objects[name]) - page["start_ns"]) / 1e6 for name in
                    ("start_ns", "request_ns", "first_byte_ns", "end_ns")]  # fmt: skip
        rows = np.arange(len(objects))
        parts = (("#c8c8c8", "waits for a connection"), (BEFORE, "until the first byte"), (AFTER, "until the last"))
        for (colour, label), begin_ms, end_ms in zip(parts, edges_ms[:-1], edges_ms[1:], strict=True):
            axes.barh(rows, end_ms - begin_ms, left=begin_ms, height=0.8, color=colour, label=label)
        mark_changes(axes, (run.change_instants_ns(flow) - page["start_ns"]) / 1e6)
        took_ms = (page["end_ns"] - page["start_ns"]) / 1e6
        axes.set_xlim(0, took_ms * 1.02)
        axes.invert_yaxis()
        axes.set_ylabel("object")
        axes.set_title(f"{_title(run, flow, runs)}: {len(objects)} objects in {took_ms:.0f} ms", loc="left", pad=3)
    panels[-1].set_xlabel("time since the page's start, ms")
    legend_below(panels[-1], ncols=3)
    return figure


def flows_with(run: Run, kind: str) -> list[int]:
    """Return the sorted numbers of the flows whose programs completed a measurement of kind `kind`."""
    if not run.tables.has("measures"):
        return []
    rows = run.tables.measures
    return sorted(set(rows["flow"][(rows["kind"] == kind) & rows["end_ns"].notna()].tolist()))


def _title(run: Run, flow: int, runs: Sequence[Run]) -> str:
    name = run.flow_names[flow]
    return f"{run.name}: {name}" if len(runs) > 1 else name
