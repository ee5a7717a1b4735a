# SPDX-License-Identifier: Apache-2.0
"""Figures over time: goodput (fig. 6), window (7) and smoothed RTT (8) around route changes, queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from leowarp.errors import TraceError
from leowarp.metrics import ARROW, DATA, goodput, packet_rtt, queue_series, step_at
from leowarp.metrics.changes import pair_routes
from leowarp.metrics.tables import floats
from leowarp.report.manyflows import Named, draw_bands, hit_hardest, shown_apart
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
from leowarp.report.view import MOST_LINES, RunView, by_run, footer_of, labels, run_labels, styles, worded

MOST_QUEUES = 6
"""Panels of queues of one run: each takes much room, and a pair each."""

PACKET_WORDS, EMPTY_WORDS = "each packet (every fifth)", "empty path, there and back"

SERIES_NAMES = {"in_order": "in order at the receiver", "acked": "acknowledged", "sacked": "SACK-aware delivery"}


def goodput_over_time(
    runs: Sequence[RunView], *, series: str = "in_order", bin_ns: int = 50_000_000, start_s: float = 0.0,
    end_s: float | None = None,
) -> Figure:  # fmt: skip
    """Goodput over time, a panel a run, route changes marked (fig. 6); flows of a run share its panel."""
    groups = by_run(runs)
    room = max(_legend_in(group) for group in groups)
    figure = new_figure(PAGE_IN, 0.55 + (1.25 + room) * len(groups), footer_of(runs))
    panels = figure.subplots(len(groups), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    ends, looks = [], dict(zip(map(id, runs), zip(labels(runs), styles(runs), strict=True), strict=True))
    of_runs = run_labels(runs)
    for axes, group in zip(panels, groups, strict=True):
        frames = [goodput(run.tables, run.main_flow, series, bin_ns) for run in group]
        rates = [(frame["t_ns"].to_numpy() / 1e9, frame["goodput_bps"].to_numpy() / 1e6) for frame in frames]
        ends.append(group[0].metrics.end_ns / 1e9)
        mark_changes(axes, sorted({t_ns / 1e9 for run in group for t_ns in run.changes["t_ns"]}))
        if not shown_apart(group):
            draw_bands(axes, rates)
        for run, rate in zip(group, rates, strict=True) if shown_apart(group) else ():
            name, style = looks[id(run)]
            look = style if len(group) > 1 else {"color": style["color"]}
            axes.plot(*rate, linewidth=0.6, label=name, **look)
        label = looks[id(group[0])][0] if len(group) == 1 else f"{of_runs[id(group[0].run)]}: {len(group)} flows"
        axes.set_title(f"{label}, {SERIES_NAMES[series]}, {bin_ns / 1e6:g} ms bins", loc="left", pad=2)
        axes.set_ylabel("goodput, Mbit/s")
        axes.margins(x=0)
        if len(group) > 1:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4 if not shown_apart(group) else 3)
    panels[0].set_xlim(start_s, end_s or max(ends))
    # What fills a hole arrives as one burst of several times the capacity: cut off, or the dips could not be read.
    capacity_mbps = max((run.capacity_bps or np.inf) for run in runs) / 1e6
    highest = highest_of(*panels)
    cut = highest > 1.35 * capacity_mbps
    panels[0].set_ylim(0, 1.35 * capacity_mbps if cut else 1.05 * highest)
    words = worded(runs, "time, s (vertical lines: route changes")
    panels[-1].set_xlabel(words + ("; bursts are cut off)" if cut else ")"))
    return figure


def _legend_in(group: Sequence[RunView]) -> float:
    """Height that the legend of a panel takes, in inches."""
    if len(group) == 1:
        return 0.0
    return 0.25 + 0.13 * (-(-len(group) // 3) if shown_apart(group) else 1)


def probe_delays(runs: Sequence[RunView]) -> Figure:
    """One-way delay and round-trip time of each ping or udp packet by when it was sent, a panel a run."""
    for run in runs:
        if not run.probe_flows:
            raise TraceError(f"cannot draw this figure of {run.path.name}: the run has no ping or udp flow")
    groups, of_runs = by_run(runs), run_labels(runs)
    figure = new_figure(PAGE_IN, 0.55 + 1.4 * len(groups) + sum(0.8 for group in groups if len(group) > 2),
                        footer_of(runs))  # fmt: skip
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        run = group[0]
        mark_changes(axes, sorted({t_ns / 1e9 for t_ns in run.metrics.route_changes["t_ns"]}))
        number = 0
        of_flows = []
        for view in group:
            flow = view.probe_flows[0] if view.flow is None else view.flow
            echoes = run.tables.echoes[run.tables.echoes["flow"] == flow]
            sent = floats(echoes["sent_ns"])
            for column, name, marker in (("received_ns", "one way", "."), ("reply_ns", "there and back", "x")):
                delay_ms = (floats(echoes[column]) - sent) / 1e6
                if np.isfinite(delay_ms).any() and shown_apart(group):
                    what = f"{run.flow_names[flow]}, {name}"
                    colour = line_style(number)["color"]
                    axes.plot(sent / 1e9, delay_ms, marker, color=colour, markersize=2, label=what, rasterized=True)
                    number += 1
                elif column == "received_ns":
                    of_flows.append((np.floor(sent / 1e7) / 100, delay_ms))
            lost = sent[np.isnan(floats(echoes["received_ns"]))]
            axes.plot(lost / 1e9, np.zeros(len(lost)), "D", color=BAD, markersize=2.5, clip_on=False)
        if not shown_apart(group):
            draw_bands(axes, of_flows)
            number = 1
        axes.set_ylabel("delay, ms")
        axes.set_ylim(bottom=0)
        what = f", one way, {len(group)} flows" if not shown_apart(group) else ""
        axes.set_title(f"{of_runs[id(run.run)] if len(groups) > 1 or len(group) > 1 else labels(runs)[0]}{what} "
                       "(diamonds on the axis: lost)", loc="left", pad=3)  # fmt: skip
        if number:
            if len(group) > 2:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=3, markerscale=2)
            else:
                axes.legend(loc="lower right", ncols=2, markerscale=2)
        axes.set_xlim(0, run.metrics.end_ns / 1e9)
    panels[-1].set_xlabel(worded(runs, "time of sending, s (vertical lines: route changes)"))
    return figure


def chosen_changes(run: RunView, count: int) -> list[int]:
    """The route changes with the most late packets, then with the most lost, by time; fewer if there are fewer."""
    order = sorted(_hits(run).items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))[:count]
    if not order:
        raise _never_changed([run])
    return sorted(t_ns for t_ns, _ in order)


def _never_changed(group: Sequence[RunView]) -> TraceError:
    run = group[0]
    whose = "the route" if len(run.plan.flows) == 1 else f"the route of {run.flow_names[run.main_flow]}"
    if len(group) > 1:
        whose = f"the route of none of these {len(group)} flows changed"
    what = whose if len(group) > 1 else f"{whose} never changed"
    return TraceError(f"cannot draw this figure of {run.path.name}: {what}", hint="make a longer run")


def hardest_hit(runs: Sequence[RunView], change_s: float | None = None) -> RunView:
    """Of several flows of the first run the one with the most late packets at one change of its path; at `change_s`, if
    given. The first, if the path of none changed.
    """
    group = by_run(runs)[0]
    if change_s is None and not any(len(run.changes) for run in group):
        raise _never_changed(group)

    def most(run: RunView) -> tuple[int, int]:
        hits = _hits(run)
        if change_s is not None:
            return hits.get(round(change_s * 1e9), (-1, -1))
        return max(hits.values(), default=(-1, -1))

    return max(group, key=most)


def _hits(run: RunView) -> dict[int, tuple[int, int]]:
    """Late and lost packets of each change of the path of a view's flow."""
    changes = run.changes
    late, lost = (changes[name].fillna(0).astype("int64") for name in ("late_pkts", "lost_pkts"))
    return {int(t_ns): (int(a), int(b)) for t_ns, a, b in zip(changes["t_ns"], late, lost, strict=True)}


class _Column(NamedTuple):
    """One change of the path: the flows that it is shown of, each with its label and line, and the title above."""

    t_ns: int
    flows: list[Named]
    title: str
    of_several: bool
    """Whether the run has more flows, so that those drawn are named."""


def _columns(runs: Sequence[RunView], count: int) -> list[_Column]:
    """What stands in each column: one change of each of several runs, or several changes of one run.

    Of a run with several flows: those whose path changed then, the hardest hit if these are too many.
    """
    groups, looks, of_runs = by_run(runs), list(zip(runs, labels(runs), styles(runs), strict=True)), run_labels(runs)
    columns = []
    for group in groups:
        mine = [look for look in looks if look[0].run is group[0].run]
        hits = {id(run): _hits(run) for run in group}
        sums: dict[int, tuple[int, int]] = {}
        for of_flow in hits.values():
            for t_ns, (late, lost) in of_flow.items():
                sums[t_ns] = (sums.get(t_ns, (0, 0))[0] + late, sums.get(t_ns, (0, 0))[1] + lost)
        if not sums:
            raise _never_changed(group)
        most = count if len(groups) == 1 else 1
        for t_ns in sorted(sorted(sums, key=lambda t_ns: (-sums[t_ns][0], -sums[t_ns][1], t_ns))[:most]):
            changed = [look for look in mine if t_ns in hits[id(look[0])]]
            scores = [float(sum(hits[id(look[0])][t_ns])) for look in changed]
            kept, what = hit_hardest([look[0] for look in changed], scores)
            flows = [look for look in changed if any(look[0] is run for run in kept)]
            if len(group) > MOST_LINES:
                # Colours are those of the column: eight can be told apart, not eight of ninety.
                flows = [(run, name, line_style(place)) for place, (run, name, _) in enumerate(flows)]
            label = flows[0][1] if len(group) == 1 else (of_runs[id(group[0].run)] if len(groups) > 1 else "")
            parts = [label, f"change at {t_ns / 1e9:g} s", what]
            columns.append(_Column(t_ns, flows, ", ".join(part for part in parts if part), len(group) > 1))
    return columns


def _below(columns: Sequence[_Column]) -> float:
    """Height of the legends below columns of several flows, in inches."""
    most = max(len(column.flows) for column in columns)
    return 0.3 + 0.11 * most if any(column.of_several for column in columns) else 0.0


def _name_flows(axes: Axes, column: _Column) -> None:
    handles = [Line2D([], [], **style) for _, _, style in column.flows]
    axes.legend(handles, [name for _, name, _ in column.flows], loc="upper center", bbox_to_anchor=(0.5, -0.3),
                fontsize=5.5)  # fmt: skip


def cwnd_around_changes(
    runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3
) -> Figure:
    """Congestion window, and retransmissions in 50 ms bins, around route changes (fig. 7)."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 3.1 + _below(columns), footer_of(runs))
    panels = figure.subplots(2, len(columns), sharex=True, squeeze=False, height_ratios=(1.3, 1))
    for place, column in enumerate(columns):
        t_ns, several = column.t_ns, column.of_several
        top, bottom = panels[0, place], panels[1, place]
        for run, _, style in column.flows:
            samples = _around(run.tables.sockets, run.main_flow, t_ns, before_s, after_s)
            look = style if several else {"color": style["color"]}
            top.plot((samples["t_ns"] - t_ns) / 1e9, floats(samples["cwnd_pkts"]), **look)
        top.set_title(column.title, pad=3)
        top.set_ylim(0, 1.08 * highest_of(top))
        if several:
            _name_flows(bottom, column)
            names = bottom.get_legend()
        tables = column.flows[0][0].tables
        bins = tables.bins[tables.bins["direction"] == DATA]
        each = [_around(bins, run.main_flow, t_ns, before_s, after_s) for run, _, _ in column.flows]
        bins = pd.concat(each).groupby("t_ns", as_index=False)[["retrans_pkts", "spurious_pkts"]].sum(min_count=1)
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
        if place == len(columns) - 1:
            bottom.legend(loc="upper right")
            if several:
                bottom.add_artist(names)
    panels[0, 0].set_ylabel("congestion window,\npackets")
    panels[1, 0].set_ylabel("retransmissions,\npackets per 50 ms")
    return figure


def srtt_around_changes(
    runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3
) -> Figure:
    """Smoothed RTT around route changes (fig. 8), with each packet's RTT and the RTT of the empty path."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 2.3 + _below(columns), footer_of(runs))
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for axes, column in zip(panels, columns, strict=True):
        _draw_srtt(axes, column, before_s, after_s)
        mark_changes(axes, [0.0])
        axes.set_title(column.title, pad=3)
        axes.set_xlim(-before_s, after_s)
        axes.set_xlabel("time after the change, s")
        if column.of_several:
            _name_flows(axes, column)
    panels[0].set_ylabel("round-trip time, ms")
    panels[0].set_ylim(bottom=0)
    pairs = [dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True)) for axes in panels]
    found = {name: handle for each in pairs[::-1] for name, handle in each.items()}
    names = [name for name in (PACKET_WORDS, EMPTY_WORDS, "smoothed") if name in found]
    several = len(by_run(runs)) > 1 or columns[0].of_several
    # The smoothed RTT has another colour in each panel, or for each flow.
    handles = [Line2D([], [], color="#333333") if name != PACKET_WORDS and several and name == "smoothed"
               else found[name] for name in names]  # fmt: skip
    figure.legend(handles, names, loc="outside upper center", ncols=3, markerscale=4)
    return figure


def _draw_srtt(axes: Axes, column: _Column, before_s: float, after_s: float) -> None:
    """Smoothed RTT of each flow and of its empty path; of a run's only flow the RTT of its packets, too."""
    t_ns, several = column.t_ns, column.of_several
    for run, _, style in column.flows:
        each = packet_rtt(run.tables, run.main_flow)
        near = each[((each["sent_ns"] - t_ns) / 1e9).between(-before_s, after_s)].iloc[::5]
        if not several:
            # At the instant at which the sender learns it: when the acknowledgement arrives, like the smoothed one.
            axes.plot((near["sent_ns"] + near["rtt_ns"] - t_ns) / 1e9, near["rtt_ns"] / 1e6, ".", color="#9a9a9a",
                      markersize=1.2, markeredgewidth=0, label=PACKET_WORDS, rasterized=True)  # fmt: skip
        flow = run.plan.flows[run.main_flow]
        ways = [run.path_delay(*ends) for ends in ((flow.source, flow.destination), (flow.destination, flow.source))]
        inside = [way["t_ns"][way["t_ns"].between(t_ns - before_s * 1e9, t_ns + after_s * 1e9)] for way in ways]
        grid = np.unique(np.concatenate([[t_ns - before_s * 1e9, t_ns + after_s * 1e9], *inside]))
        empty_ns = sum((step_at(way["t_ns"], way["delay_ns"], grid, np.nan) for way in ways), np.zeros(len(grid)))
        axes.step((grid - t_ns) / 1e9, empty_ns / 1e6, where="post", color=style["color"] if several else "#000000",
                  linewidth=0.8, linestyle=":", label=EMPTY_WORDS)  # fmt: skip
        samples = _around(run.tables.sockets, run.main_flow, t_ns, before_s, after_s)
        when_s, value_ms = (samples["t_ns"] - t_ns) / 1e9, floats(samples["srtt_us"]) / 1e3
        axes.plot(when_s, value_ms, label="smoothed", **(style if several else {"color": style["color"]}))


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
    names, left_out = labels(runs), ""
    if any(len(group) > 1 for group in by_run(runs)):
        runs, names = _one_a_pair(runs)
    maps = [queue_map(run) for run in runs]
    if len(runs) > MOST_QUEUES and any(run.flow is not None for run in runs):
        longest = [float(np.nanmax(waiting)) if np.isfinite(waiting).any() else 0.0 for _, waiting in maps]
        kept = sorted(sorted(range(len(runs)), key=lambda place: -longest[place])[:MOST_QUEUES])
        left_out = f"The {MOST_QUEUES} of {len(runs)} pairs with the longest queues"
        runs, names, maps = ([runs[at] for at in kept], [names[at] for at in kept], [maps[at] for at in kept])
    figure = new_figure(PAGE_IN, 0.6 + 1.35 * len(runs), footer_of(runs))
    if left_out:
        figure.suptitle(left_out, x=0.01, ha="left", fontsize=7.5)
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
    highest = max((float(np.nanmax(waiting)) for _, waiting in maps if np.isfinite(waiting).any()), default=1.0)
    image = None
    for axes, run, label, (edges_ns, waiting) in zip(panels, runs, names, maps, strict=True):
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


def _one_a_pair(runs: Sequence[RunView]) -> tuple[list[RunView], list[str]]:
    """The first flow of each pair of each run, and what its path is called."""
    of_runs = run_labels(runs)
    found: dict[tuple[int, str, str], tuple[RunView, str]] = {}
    for run in runs:
        flow = run.plan.flows[run.main_flow]
        lead = f"{of_runs[id(run.run)]}, " if len(of_runs) > 1 else ""
        found.setdefault(
            (id(run.run), flow.source, flow.destination), (run, f"{lead}{flow.source} to {flow.destination}")
        )
    return [run for run, _ in found.values()], [name for _, name in found.values()]


def queues_at_change(runs: Sequence[RunView], *, before_s: float = 1.0, after_s: float = 3.0, count: int = 3) -> Figure:
    """Queues of the links that a route change leaves (dashed), keeps and newly takes, around it."""
    columns = _columns(runs, count)
    figure = new_figure(PAGE_IN, 2.6, footer_of(runs))
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (t_ns, flows, title, of_several) in zip(panels, columns, strict=True):
        run = hardest_hit([run for run, _, _ in flows], t_ns / 1e9)
        if of_several:
            flow = run.plan.flows[run.main_flow]
            title = f"change at {t_ns / 1e9:g} s\n{flow.source} to {flow.destination}"
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
