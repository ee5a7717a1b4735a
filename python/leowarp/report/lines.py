# SPDX-License-Identifier: Apache-2.0
"""Figures over time: goodput (fig. 6), window (7) and smoothed RTT (8) around route changes, queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from leowarp.errors import TraceError
from leowarp.metrics import ARROW, DATA, goodput, packet_rtt, queue_series, step_at
from leowarp.metrics.changes import pair_routes
from leowarp.metrics.tables import floats
from leowarp.report.style import (
    AFTER,
    BAD,
    CHANGE_COLOUR,
    PAGE_IN,
    highest_of,
    line_style,
    mark_changes,
    new_figure,
)
from leowarp.report.view import RunView, footer_of, labels, styles, worded

SERIES_NAMES = {"in_order": "in order at the receiver", "acked": "acknowledged", "sacked": "SACK-aware delivery"}


def goodput_over_time(
    runs: Sequence[RunView], *, series: str = "in_order", bin_ns: int = 50_000_000, start_s: float = 0.0,
    end_s: float | None = None,
) -> Figure:  # fmt: skip
    """Goodput over time, a panel a run, route changes marked (fig. 6)."""
    figure = new_figure(PAGE_IN, 0.55 + 1.25 * len(runs), footer_of(runs))
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    ends = []
    for axes, run, label, style in zip(panels, runs, labels(runs), styles(runs), strict=True):
        frame = goodput(run.tables, run.main_flow, series, bin_ns)
        t_s = frame["t_ns"].to_numpy() / 1e9
        ends.append(run.metrics.end_ns / 1e9)
        mark_changes(axes, list(run.changes["t_ns"] / 1e9))
        axes.plot(t_s, frame["goodput_bps"] / 1e6, color=style["color"], linewidth=0.6)
        axes.set_title(f"{label}, {SERIES_NAMES[series]}, {bin_ns / 1e6:g} ms bins", loc="left", pad=2)
        axes.set_ylabel("goodput, Mbit/s")
        axes.margins(x=0)
    panels[0].set_xlim(start_s, end_s or max(ends))
    # What fills a hole arrives as one burst of several times the capacity: cut off, or the dips could not be read.
    capacity_mbps = max((run.capacity_bps or np.inf) for run in runs) / 1e6
    highest = highest_of(*panels)
    cut = highest > 1.35 * capacity_mbps
    panels[0].set_ylim(0, 1.35 * capacity_mbps if cut else 1.05 * highest)
    words = worded(runs, "time, s (vertical lines: route changes")
    panels[-1].set_xlabel(words + ("; bursts are cut off)" if cut else ")"))
    return figure


def probe_delays(runs: Sequence[RunView]) -> Figure:
    """One-way delay and round-trip time of each ping or udp packet by when it was sent, a panel a run."""
    for run in runs:
        if not run.probe_flows:
            raise TraceError(f"cannot draw this figure of {run.path.name}: the run has no ping or udp flow")
    figure = new_figure(PAGE_IN, 0.55 + 1.4 * len(runs), footer_of(runs))
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
    for axes, run, label in zip(panels, runs, labels(runs), strict=True):
        mark_changes(axes, sorted({t_ns / 1e9 for t_ns in run.metrics.route_changes["t_ns"]}))
        number = 0
        for flow in run.probe_flows:
            echoes = run.tables.echoes[run.tables.echoes["flow"] == flow]
            sent = floats(echoes["sent_ns"])
            for column, name, marker in (("received_ns", "one way", "."), ("reply_ns", "there and back", "x")):
                delay_ms = (floats(echoes[column]) - sent) / 1e6
                if np.isfinite(delay_ms).any():
                    what = f"flow {flow}, {run.plan.flows[flow].kind}, {name}"
                    colour = line_style(number)["color"]
                    axes.plot(sent / 1e9, delay_ms, marker, color=colour, markersize=2, label=what, rasterized=True)
                    number += 1
            lost = sent[np.isnan(floats(echoes["received_ns"]))]
            axes.plot(lost / 1e9, np.zeros(len(lost)), "D", color=BAD, markersize=2.5, clip_on=False)
        axes.set_ylabel("delay, ms")
        axes.set_ylim(bottom=0)
        axes.set_title(f"{label} (diamonds on the axis: lost)", loc="left", pad=3)
        if number:
            axes.legend(loc="lower right", ncols=2, markerscale=2)
        axes.set_xlim(0, run.metrics.end_ns / 1e9)
    panels[-1].set_xlabel(worded(runs, "time of sending, s (vertical lines: route changes)"))
    return figure


def chosen_changes(run: RunView, count: int) -> list[int]:
    """The route changes with the most late packets, then with the most lost, by time; fewer if there are fewer."""
    changes = run.changes
    if len(changes) == 0:
        raise TraceError(
            f"cannot draw this figure of {run.path.name}: the route never changed", hint="make a longer run"
        )
    late = changes["late_pkts"].fillna(0).to_numpy(dtype="int64")
    lost = changes["lost_pkts"].fillna(0).to_numpy(dtype="int64")
    order = sorted(range(len(changes)), key=lambda index: (-late[index], -lost[index], index))[:count]
    return [int(changes["t_ns"].iloc[index]) for index in sorted(order)]


def _columns(runs: Sequence[RunView], count: int) -> list[tuple[RunView, int, str, dict[str, Any]]]:
    """What stands in each column: one change of each of several runs, or several changes of one run."""
    if len(runs) == 1:
        style = styles(runs)[0]
        return [
            (runs[0], t_ns, f"{labels(runs)[0]}, change at {t_ns / 1e9:g} s", style)
            for t_ns in chosen_changes(runs[0], count)
        ]
    return [
        (run, chosen_changes(run, 1)[0], f"{label}, change at {chosen_changes(run, 1)[0] / 1e9:g} s", style)
        for run, label, style in zip(runs, labels(runs), styles(runs), strict=True)
    ]


def cwnd_around_changes(
    runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3
) -> Figure:
    """Congestion window, and retransmissions in 50 ms bins, around route changes (fig. 7)."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 3.1, footer_of(runs))
    panels = figure.subplots(2, len(columns), sharex=True, squeeze=False, height_ratios=(1.3, 1))
    for place, (run, t_ns, title, style) in enumerate(columns):
        top, bottom = panels[0, place], panels[1, place]
        samples = _around(run.tables.sockets, run.main_flow, t_ns, before_s, after_s)
        top.plot((samples["t_ns"] - t_ns) / 1e9, floats(samples["cwnd_pkts"]), color=style["color"])
        top.set_title(title, pad=3)
        top.set_ylim(0, 1.08 * highest_of(top))
        bins = run.tables.bins[run.tables.bins["direction"] == DATA]
        bins = _around(bins, run.main_flow, t_ns, before_s, after_s)
        when, again = (bins["t_ns"] - t_ns) / 1e9 + 0.025, floats(bins["retrans_pkts"])
        vain = floats(bins["spurious_pkts"])
        bottom.bar(when, again - vain, width=0.05, bottom=vain, color=BAD, label="needed", linewidth=0)
        bottom.bar(when, vain, width=0.05, color=AFTER, hatch="////", edgecolor="#7a5200", linewidth=0,
                   label="spurious (the original arrived)")  # fmt: skip
        for axes in (top, bottom):
            mark_changes(axes, [0.0])
        bottom.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        if not again.any():
            bottom.set_ylim(0, 1)
        bottom.set_xlim(-before_s, after_s)
        bottom.set_xlabel("time after the change, s")
    panels[0, 0].set_ylabel("congestion window,\npackets")
    panels[1, 0].set_ylabel("retransmissions,\npackets per 50 ms")
    panels[1, -1].legend(loc="upper right")
    return figure


def srtt_around_changes(
    runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3
) -> Figure:
    """Smoothed RTT around route changes (fig. 8), with each packet's RTT and the RTT of the empty path."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 2.3, footer_of(runs))
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (run, t_ns, title, style) in zip(panels, columns, strict=True):
        each = packet_rtt(run.tables, run.main_flow)
        near = each[((each["sent_ns"] - t_ns) / 1e9).between(-before_s, after_s)].iloc[::5]
        # At the instant at which the sender learns it: when the acknowledgement arrives, like the smoothed one.
        axes.plot((near["sent_ns"] + near["rtt_ns"] - t_ns) / 1e9, near["rtt_ns"] / 1e6, ".", color="#9a9a9a",
                  markersize=1.2, markeredgewidth=0, label="each packet (every fifth)", rasterized=True)  # fmt: skip
        flow = run.plan.flows[run.main_flow]
        ways = [run.path_delay(*ends) for ends in ((flow.source, flow.destination), (flow.destination, flow.source))]
        inside = [way["t_ns"][way["t_ns"].between(t_ns - before_s * 1e9, t_ns + after_s * 1e9)] for way in ways]
        grid = np.unique(np.concatenate([[t_ns - before_s * 1e9, t_ns + after_s * 1e9], *inside]))
        empty_ns = sum((step_at(way["t_ns"], way["delay_ns"], grid, np.nan) for way in ways), np.zeros(len(grid)))
        axes.step((grid - t_ns) / 1e9, empty_ns / 1e6, where="post", color="#000000", linewidth=0.8, linestyle=":",
                  label="empty path, there and back")  # fmt: skip
        samples = _around(run.tables.sockets, run.main_flow, t_ns, before_s, after_s)
        when_s, value_ms = (samples["t_ns"] - t_ns) / 1e9, floats(samples["srtt_us"]) / 1e3
        axes.plot(when_s, value_ms, color=style["color"], label="smoothed")
        mark_changes(axes, [0.0])
        axes.set_title(title, pad=3)
        axes.set_xlim(-before_s, after_s)
        axes.set_xlabel("time after the change, s")
    panels[0].set_ylabel("round-trip time, ms")
    panels[0].set_ylim(bottom=0)
    handles, names = panels[0].get_legend_handles_labels()
    if len(runs) > 1:
        # The smoothed RTT has another colour in each panel.
        handles = [Line2D([], [], color="#333333") if name == "smoothed" else handle
                   for handle, name in zip(handles, names, strict=True)]  # fmt: skip
    figure.legend(handles, names, loc="outside upper center", ncols=3, markerscale=4)
    return figure


def queue_map(run: RunView) -> tuple[np.ndarray, np.ndarray]:
    """(edges_ns, waiting): largest sampled queue of the n-th link of the path in force, in each time bin.

    `waiting` has shape (hops of the longest path, bins); nan where the path in force is shorter.
    """
    flow = run.plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (flow.source, flow.destination))
    end_ns = run.metrics.end_ns
    samples = end_ns // (run.plan.observe.queues_ns or end_ns)
    edges_ns = np.linspace(0, end_ns, min(600, max(samples, 1)) + 1).astype("int64")
    longest = max((len(run.tables.links_of(path)) for path in routes["path"]), default=0)
    waiting = np.full((longest, len(edges_ns) - 1), np.nan)
    series = {}
    for index, (t_ns, path) in enumerate(zip(routes["t_ns"], routes["path"], strict=True)):
        until_ns = routes["t_ns"].iloc[index + 1] if index + 1 < len(routes) else end_ns
        bins = np.flatnonzero((edges_ns[:-1] >= t_ns) & (edges_ns[:-1] < until_ns))
        for place, link in enumerate(run.tables.links_of(path)):
            direction = run.tables.direction_of(*link)
            if direction is None:
                continue
            if direction not in series:
                series[direction] = _largest_in_bins(queue_series(run.tables, direction, end_ns), edges_ns)
            waiting[place, bins] = series[direction][bins]
    return edges_ns, waiting


def queues(runs: Sequence[RunView]) -> Figure:
    """Packets that wait at each link of the path over time, a panel a run: where the queue stands."""
    figure = new_figure(PAGE_IN, 0.6 + 1.35 * len(runs), footer_of(runs))
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
    maps = [queue_map(run) for run in runs]
    highest = max((float(np.nanmax(waiting)) for _, waiting in maps if np.isfinite(waiting).any()), default=1.0)
    image = None
    for axes, run, label, (edges_ns, waiting) in zip(panels, runs, labels(runs), maps, strict=True):
        places = np.arange(waiting.shape[0] + 1) + 0.5
        image = axes.pcolormesh(
            edges_ns / 1e9, places, waiting, cmap="YlGnBu", vmin=0, vmax=max(highest, 1), rasterized=True
        )
        if len(run.changes):
            # Not an empty line: what is not clipped and has no points has no place either, and no layout is found.
            axes.plot(run.changes["t_ns"] / 1e9, np.full(len(run.changes), places[-1]), "v", color=CHANGE_COLOUR,
                      markersize=3, clip_on=False)  # fmt: skip
        axes.set_title(label, loc="left", pad=5)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(visible=False)
        axes.set_ylim(places[0], places[-1])
        axes.set_facecolor("#dddddd")
        axes.set_ylabel("link of the path")
    words = worded(runs, "time, s (triangles: route changes; link 1 leaves the source; grey: no such link)")
    panels[-1].set_xlabel(words)
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="packets waiting", pad=0.01, aspect=30)
    return figure


def queues_at_change(runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 3.0, count: int = 3) -> Figure:
    """Queues of the links that a route change leaves (dashed), keeps and newly takes, around it."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 2.6, footer_of(runs))
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (run, t_ns, title, _) in zip(panels, columns, strict=True):
        row = run.changes[run.changes["t_ns"] == t_ns].iloc[0]
        before, after = (run.tables.links_of(_path(row[f"path_{which}"])) for which in ("before", "after"))
        number = 0
        for link in dict.fromkeys([*before, *after]):
            direction = run.tables.direction_of(*link)
            if direction is None:
                continue
            series = queue_series(run.tables, direction, run.metrics.end_ns)
            t_s = np.arange(-before_s, after_s, 0.05)
            value = step_at(series["t_ns"], series["queue_pkts"], t_ns + (t_s * 1e9).astype("int64"), 0.0)
            if value.max() < 2:
                continue
            kept = link in before and link in after
            what = "kept" if kept else ("left" if link in before else "new")
            style = line_style(number) | {"linestyle": {"kept": "-", "left": "--", "new": ":"}[what]}
            axes.plot(t_s, value, label=f"{what}: {link[0]} > {link[1]}", **style)
            number += 1
        mark_changes(axes, [0.0])
        axes.set_title(title, pad=3)
        axes.set_xlim(-before_s, after_s)
        axes.set_xlabel("time after the change, s")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.27), fontsize=5.5) if number else axes.text(
            0.5, 0.5, "no queue of 2 packets or more", transform=axes.transAxes, ha="center"
        )
    panels[0].set_ylabel("packets waiting")
    panels[0].set_ylim(bottom=0)
    return figure


def _path(text: Any) -> tuple[str, ...] | None:
    return tuple(text.split(ARROW)) if isinstance(text, str) else None


def _around(frame: pd.DataFrame, flow: int, t_ns: int, before_s: float, after_s: float) -> pd.DataFrame:
    since_s = (frame["t_ns"] - t_ns) / 1e9
    return frame[(frame["flow"] == flow) & since_s.between(-before_s, after_s)]


def _largest_in_bins(series: pd.DataFrame, edges_ns: np.ndarray) -> np.ndarray:
    """Largest value of a step function in each bin: what it was at the start, or any sample inside."""
    start = step_at(series["t_ns"], series["queue_pkts"], edges_ns[:-1], 0.0)
    place = np.searchsorted(edges_ns, series["t_ns"].to_numpy(), side="right") - 1
    inside = (place >= 0) & (place < len(start))
    np.maximum.at(start, place[inside], series["queue_pkts"].to_numpy(dtype="float64")[inside])
    return start
