# SPDX-License-Identifier: Apache-2.0
"""Draw the window and the round-trip time around route changes (fig. 7 and 8 of Frederiksen et al., 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from leowarp.base.errors import TraceError
from leowarp.base.instants import distinct
from leowarp.metrics import DATA, packet_rtt, path_delay, step_at
from leowarp.metrics.inputs.tables import floats
from leowarp.report.figures.instants import common_instant, hit_hardest_first, hits, hits_of_run
from leowarp.report.figures.manyflows import Named, hit_hardest
from leowarp.report.labels import MOST_LINES, by_run, footer_of, identity, labels, run_labels, styles
from leowarp.report.style import AFTER, BAD, PAGE_IN, highest_of, legend_below, line_style, mark_changes, new_figure
from leowarp.results.run import Run

# Score (late, lost packets) of a flow whose path did not change. If a flow's path changed, but no packet was late or
# lost, the flow has the higher score (0, 0). Such a flow is shown before flows whose path did not change.
_NOT_CHANGED = (-1, -1)
PACKET_WORDS, EMPTY_WORDS = "each packet (every fifth)", "empty path, there and back"


def _never_changed(group: Sequence[Run]) -> TraceError:
    run = group[0]
    whose = "the route" if len(run.observed_plan.flows) == 1 else f"the route of {run.flow_names[run.main_flow]}"
    if len(group) > 1:
        whose = f"the route of none of these {len(group)} flows changed"
    what = whose if len(group) > 1 else f"{whose} never changed"
    return TraceError(f"cannot draw this figure of {run.path.name}: {what}", hint="make a longer run")


def hardest_hit(runs: Sequence[Run], change_s: float | None = None) -> Run:
    """Return the view of the first run's flow that has the most late packets at one route change.

    change_s: The time in s of the route change at which the flows are compared. If it is None, the flows are compared
        over all changes. Flows whose path did not change at `change_s` come last.
    Raises TraceError if `change_s` is None and no flow's path ever changed.
    """
    group = by_run(runs)[0]
    if change_s is None and not any(len(run.changes) for run in group):
        raise _never_changed(group)

    def most(run: Run) -> tuple[int, int]:
        mine = hits(run)
        if change_s is not None:
            return mine.get(round(change_s * 1e9), _NOT_CHANGED)
        return max(mine.values(), default=_NOT_CHANGED)

    # `max` returns the first of equal values, so the same runs always give the same figure.
    return max(group, key=most)


def shown_change(runs: Sequence[Run], change_s: float | None) -> tuple[Run, int]:
    """Return the view that `hardest_hit` chooses, and the time in ns of the change to show. By default, it is this
    view's change with the most late packets."""
    run = hardest_hit(runs, change_s)
    return run, hit_hardest_first(hits(run))[0] if change_s is None else round(change_s * 1e9)


class Column(NamedTuple):
    """A column of a figure, which shows a route change. `flows` are the flows with their labels and line styles."""

    t_ns: int
    flows: list[Named]
    title: str
    of_several: bool
    """True if the run has several flows. The figure must then name the flows."""


def columns_of(runs: Sequence[Run], count: int, change_s: float | None = None) -> list[Column]:
    """Return the columns of a figure, each for one route change. With several runs, each run has one column, in their
    order. With a single run, there are columns for several route changes, in order of time.

    count: The number of columns if there is a single run. They show the route changes with the most late packets of all
        flows (`instants.hit_hardest_first`). A column contains the flows whose path changed at the column's time. If
        lines cannot distinguish all flows, a column shows the flows that were affected most.
    change_s: The time in s around which every column is drawn. By default, several runs are shown at the time that
        `instants.common_instant` chooses.
    Raises TraceError if no flow of one of the runs ever had a change of its path.
    """
    at_ns = None if change_s is None else round(change_s * 1e9)
    groups, looks, of_runs = by_run(runs), list(zip(runs, labels(runs), styles(runs), strict=True)), run_labels(runs)
    if at_ns is None and len(groups) > 1 and (at_ns := common_instant(runs)) is None:
        raise _never_changed(groups[0])
    columns = []
    for group in groups:
        mine = [look for look in looks if identity(look[0]) == identity(group[0])]
        of_flows = {id(run): hits(run) for run in group}
        sums = hits_of_run(group)
        if not sums and at_ns is None:
            raise _never_changed(group)
        for t_ns in sorted(hit_hardest_first(sums)[:count]) if at_ns is None else [at_ns]:
            # A run in which no path changed at the common time is shown as well, with the title "no change at". If
            # other runs had a change, it is a result that this run had none.
            changed = [look for look in mine if t_ns in of_flows[id(look[0])]] or mine
            scores = [of_flows[id(look[0])].get(t_ns, _NOT_CHANGED) for look in changed]
            kept, what = hit_hardest([look[0] for look in changed], scores)
            flows = [look for look in changed if any(look[0] is run for run in kept)]
            if len(group) > MOST_LINES:
                # A figure has only eight colours for up to ninety flows. Each column therefore starts again with the
                # first colour.
                flows = [(run, name, line_style(place)) for place, (run, name, _) in enumerate(flows)]
            label = flows[0][1] if len(group) == 1 else (of_runs[identity(group[0])] if len(groups) > 1 else "")
            event = "change at" if t_ns in sums else "no change at"
            parts = [label, f"{event} {t_ns / 1e9:g} s", what]
            columns.append(Column(t_ns, flows, ", ".join(part for part in parts if part), len(group) > 1))
    return columns


NEEDED: dict[str, Any] = {"color": BAD, "linewidth": 0, "label": "needed"}
SPURIOUS: dict[str, Any] = {
    "facecolor": AFTER, "hatch": "////", "edgecolor": "#7a5200", "linewidth": 0,
    "label": "spurious (the original arrived)",
}  # fmt: skip
"""The line styles of needed and spurious retransmissions."""


def _below_in(columns: Sequence[Column]) -> float:
    """Return the height of the legends below the columns."""
    most = max(len(column.flows) for column in columns)
    return 0.3 + 0.11 * most if any(column.of_several for column in columns) else 0.0


def _name_flows(axes: Axes, column: Column) -> None:
    handles = [Line2D([], [], **style) for _, _, style in column.flows]
    legend_below(axes, handles, [name for _, name, _ in column.flows], fontsize=5.5)


def cwnd_around_changes(
    runs: Sequence[Run], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3,
    change_s: float | None = None,
) -> Figure:  # fmt: skip
    """Draw the congestion window in packets, and below it the retransmissions in 50 ms bins, around route changes
    (fig. 7). Spurious retransmissions are hatched.

    before_s, after_s: The shown time in s before and after each change.
    count: The number of shown changes of a single run. Each of several runs has one.
    change_s: The time in s that is shown for all runs. By default, several runs are shown at the time that
        `instants.common_instant` chooses.
    Raises TraceError if no path ever changed.
    """
    columns = columns_of(runs, count, change_s)
    figure = new_figure(PAGE_IN, 3.1 + _below_in(columns), footer_of(runs))
    panels = figure.subplots(2, len(columns), sharex=True, squeeze=False, height_ratios=(1.3, 1))
    for place, column in enumerate(columns):
        t_ns, several = column.t_ns, column.of_several
        top, bottom = panels[0, place], panels[1, place]
        for run, _, style in column.flows:
            samples = _around(run.tables.of_flow("sockets", run.main_flow), t_ns, before_s, after_s)
            look = style if several else {"color": style["color"]}
            top.plot((samples["t_ns"] - t_ns) / 1e9, floats(samples["cwnd_pkts"]), **look)
        top.set_title(column.title, pad=3)
        top.set_ylim(0, 1.08 * highest_of(top))
        # All flows of a column belong to one run, so one table of bins contains all these flows.
        tables = column.flows[0][0].tables
        names = ["t_ns", "retrans_pkts", "spurious_pkts"]
        of_flows = [tables.of_flow("bins", run.main_flow) for run, _, _ in column.flows]
        each = [_around(bins[bins["direction"] == DATA][names], t_ns, before_s, after_s) for bins in of_flows]
        # min_count=1 leaves a bin unknown if no flow has a value in it; without it, pandas would return 0.
        bins = pd.concat(each).groupby("t_ns", as_index=False)[["retrans_pkts", "spurious_pkts"]].sum(min_count=1)
        # The bars are shifted by half a bin: a row of `bins` has the bin's start, while a bar is centred on its x
        # value.
        when, again = ((bins["t_ns"] - t_ns) / 1e9 + 0.025).to_numpy(), floats(bins["retrans_pkts"])
        spurious = floats(bins["spurious_pkts"])
        for height, below, look in ((again - spurious, spurious, NEEDED), (spurious, 0 * spurious, SPURIOUS)):
            # Bars of height 0 are not drawn. Each bar is a separate artist of matplotlib, so drawing the bars of height
            # 0 would take half a CPU second.
            some = height > 0
            bottom.bar(when[some], height[some], width=0.05, bottom=below[some], **look)
        for axes in (top, bottom):
            mark_changes(axes, [0.0])
        bottom.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        if not again.any():
            bottom.set_ylim(0, 1)
        bottom.set_xlim(-before_s, after_s)
        bottom.set_xlabel("time after the change, s")
        if place == len(columns) - 1:
            causes = bottom.legend(handles=[Patch(**NEEDED), Patch(**SPURIOUS)], loc="upper right")
        if several:
            # The legend with the flows' names belongs to the axes. The legend with the causes is added as an artist.
            # The layout reserves space only for the legend of the axes.
            _name_flows(bottom, column)
            if place == len(columns) - 1:
                bottom.add_artist(causes)
    panels[0, 0].set_ylabel("congestion window,\npackets")
    panels[1, 0].set_ylabel("retransmissions,\npackets per 50 ms")
    return figure


def srtt_around_changes(
    runs: Sequence[Run], *, before_s: float = 1.0, after_s: float = 5.0, count: int = 3,
    change_s: float | None = None,
) -> Figure:  # fmt: skip
    """Draw the smoothed RTT around route changes (fig. 8), with one panel per change. Also draw the RTT of each packet
    and of the empty path: the sum of both directions' current propagation delays, without queues.

    The parameters and the error are those of `cwnd_around_changes`.
    """
    columns = columns_of(runs, count, change_s)
    figure = new_figure(PAGE_IN, 2.3 + _below_in(columns), footer_of(runs))
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
    # The panels are merged in reverse order, so that the first panel's handle replaces the handles of later panels.
    found = {name: handle for each in pairs[::-1] for name, handle in each.items()}
    names = [name for name in (PACKET_WORDS, EMPTY_WORDS, "smoothed") if name in found]
    several = len(by_run(runs)) > 1 or columns[0].of_several
    # Each panel or each flow has its own colour for the smoothed RTT. The legend has only one entry for the smoothed
    # RTT, which is therefore grey.
    handles = [Line2D([], [], color="#333333") if name != PACKET_WORDS and several and name == "smoothed"
               else found[name] for name in names]  # fmt: skip
    figure.legend(handles, names, loc="outside upper center", ncols=3, markerscale=4)
    return figure


def _draw_srtt(axes: Axes, column: Column, before_s: float, after_s: float) -> None:
    """Draw the smoothed RTT and the RTT of the empty path. The packets' RTT is drawn only if the run has one flow."""
    t_ns, several = column.t_ns, column.of_several
    for run, _, style in column.flows:
        if not several:
            begin_ns, end_ns = t_ns - (before_s + 1) * 1e9, t_ns + (after_s + 1) * 1e9
            each = packet_rtt(run.tables, run.main_flow, from_ns=begin_ns, until_ns=end_ns)
            # At 100 Mbit/s, some 50,000 full packets are sent in the 6 s that are shown. Only every fifth packet is
            # drawn, which is enough to show how each queue grows.
            near = each[((each["sent_ns"] - t_ns) / 1e9).between(-before_s, after_s)].iloc[::5]
            # Each point is drawn at the arrival time of the acknowledgement, because the sender learns the RTT at this
            # time. The smoothed RTT is drawn at the times of its samples.
            axes.plot((near["sent_ns"] + near["rtt_ns"] - t_ns) / 1e9, near["rtt_ns"] / 1e6, ".", color="#9a9a9a",
                      markersize=1.2, markeredgewidth=0, label=PACKET_WORDS, rasterized=True)  # fmt: skip
        flow = run.observed_plan.flows[run.main_flow]
        ways = [
            path_delay(run.tables, ends, run.end_ns)
            for ends in ((flow.source, flow.destination), (flow.destination, flow.source))
        ]
        inside = [way["t_ns"][way["t_ns"].between(t_ns - before_s * 1e9, t_ns + after_s * 1e9)] for way in ways]
        # With `routing.reverse = "own"`, the two directions change at different instants. The sum of the delays of both
        # directions is therefore evaluated at every instant at which either delay changes.
        grid = distinct([[t_ns - before_s * 1e9, t_ns + after_s * 1e9], *inside])
        empty_ns = sum((step_at(way["t_ns"], way["delay_ns"], grid, np.nan) for way in ways), np.zeros(len(grid)))
        axes.step((grid - t_ns) / 1e9, empty_ns / 1e6, where="post", color=style["color"] if several else "#000000",
                  linewidth=0.8, linestyle=":", label=EMPTY_WORDS)  # fmt: skip
        samples = _around(run.tables.of_flow("sockets", run.main_flow), t_ns, before_s, after_s)
        when_s, value_ms = (samples["t_ns"] - t_ns) / 1e9, floats(samples["srtt_us"]) / 1e3
        axes.plot(when_s, value_ms, label="smoothed", **(style if several else {"color": style["color"]}))


def _around(frame: pd.DataFrame, t_ns: int, before_s: float, after_s: float) -> pd.DataFrame:
    return frame[((frame["t_ns"] - t_ns) / 1e9).between(-before_s, after_s)]
