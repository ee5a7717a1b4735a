# SPDX-License-Identifier: Apache-2.0
"""Draw a run's reordering: densities over the run's whole duration, and metrics over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from leowarp.base.errors import TraceError
from leowarp.metrics import histogram
from leowarp.metrics.inputs.tables import floats
from leowarp.report.curves.densities import Shares, draw_buffer_density, draw_density, draw_n_reordering
from leowarp.report.labels import MOST_LINES, by_run, footer_of, identity, labels, styles, worded
from leowarp.report.style import PAGE_IN, legend_below, mark_changes, new_figure
from leowarp.results.run import Run

OVER_TIME = (
    ("reordered_ratio", "Reordered packets, share of the received", "share"),
    ("mean_displacement_pkts", "Mean displacement", "packets"),
    ("entropy_nats", "Entropy of the reorder density, E_r", "nats"),
)
"""The columns of the reordering table that each get a panel, with the panel's title and axis label."""


def reordering_densities(runs: Sequence[Run]) -> Figure:
    """Draw RD, RBD (RFC 5236, 3.6 and 3.11), n-reordering and extents (RFC 4737, 5 and 4.2) of each flow's first
    transmissions over the whole run. If there are too many flows to distinguish by lines, those with the most late
    packets are shown.

    Raises TraceError if reordering was not measured, or if no packet was reordered.
    """
    runs, rows, chosen = _chosen(runs)
    if not any(row["reordered_pkts"] > 0 for row in rows):
        raise TraceError(f"cannot draw the reordering of {_names(runs)}: no packet was reordered")
    figure = new_figure(PAGE_IN, 4.1, _footer(runs))
    panels = figure.subplots(2, 2).ravel()
    drawn = list(zip(runs, labels(runs), styles(runs), strict=True))
    for axes, kind, draw, title in (
        (panels[0], "density", draw_density, "Reorder density (RD)"),
        (panels[1], "buffer_density", draw_buffer_density, "Reorder buffer-occupancy density (RBD)"),
        (panels[2], "n_reordering", draw_n_reordering, "n-reordering"),
    ):
        shares = [_shares(run, kind, label, style) for run, label, style in drawn]
        draw(axes, [each for each in shares if np.size(each.index)] or shares)
        axes.set_title(title, loc="left", pad=3)
    for run, label, style in drawn:
        _draw_extents(panels[3], histogram(run.numbers.densities, _flow(run), "extent"), label, style)
    panels[2].set_xlim(0.5, max(10, panels[2].get_xlim()[1] - 0.5) + 0.5)
    panels[3].set_title("Reordering extent", loc="left", pad=3)
    if len(runs) > 1:
        panels[3].legend(loc="upper right", fontsize=5.5 if len(runs) > 3 else None)
    _say_what_is_beyond(figure, runs, rows, chosen)
    return figure


def reordering_over_time(runs: Sequence[Run]) -> Figure:
    """Draw the quantities of `OVER_TIME`, one panel each. Thin lines show windows of sending time. Thick lines show the
    packets around a route change.

    Raises TraceError if reordering was measured neither in windows nor around route changes.
    """
    runs, rows, chosen = _chosen(runs)
    if not any(row["reordered_pkts"] > 0 for row in rows):
        raise TraceError(f"cannot draw the reordering of {_names(runs)} over time: no packet was reordered")
    figure = new_figure(PAGE_IN, 3.9 + (0.12 * (len(runs) // 2 + 1) if len(runs) > 1 else 0), _footer(runs))
    panels = figure.subplots(len(OVER_TIME), 1, sharex=True)
    found = any_around = False
    for run, label, style in zip(runs, labels(runs), styles(runs), strict=True):
        mine = run.numbers.reordering[run.numbers.reordering["flow"] == _flow(run)]
        windows, around = mine[mine["scope"] == "window"], mine[mine["scope"] == "change"]
        found |= len(windows) + len(around) > 0
        any_around |= len(around) > 0
        for axes, (column, _, _) in zip(panels, OVER_TIME, strict=True):
            if len(windows):
                axes.plot(*_levels(windows, column), label=f"{label}, windows", **style)
            wide = {"linewidth": 2.6, "color": style["color"], "solid_capstyle": "butt", "alpha": 0.55}
            # The line is not clipped. If it were empty, matplotlib would place it at the lower left corner of the
            # figure.
            if len(around):
                axes.plot(*_levels(around, column), zorder=2.5, clip_on=False, **wide)
    if not found:
        raise TraceError(
            f"cannot draw the reordering of {_names(runs)} over time: it was measured over the whole run alone",
            hint='ask for windows: --set observe.reordering_window="10 s"',
        )
    instants = sorted({t_ns / 1e9 for run in runs for t_ns in run.numbers.route_changes["t_ns"]})
    for axes, (_, title, unit) in zip(panels, OVER_TIME, strict=True):
        mark_changes(axes, instants)
        axes.set_title(title, loc="left", pad=3)
        axes.set_ylabel(unit)
        axes.set_ylim(0, 1.08 * axes.dataLim.ymax if axes.dataLim.ymax > 0 else 1)
        axes.yaxis.set_major_locator(MaxNLocator(4))
    panels[-1].set_xlim(0, max(run.end_ns for run in runs) / 1e9)
    words = "time of sending, s" + (" (vertical lines: route changes)" if instants else "")
    panels[-1].set_xlabel(worded(runs, words))
    handles = panels[0].get_legend_handles_labels()[0]
    if any_around:
        colour = "#777777" if len(runs) > 1 else styles(runs)[0]["color"]
        words = worded(runs, "around a route change")
        handles.append(Line2D([], [], linewidth=2.6, alpha=0.55, color=colour, label=words))
    if len(runs) > 1:
        # The legend is below the panel, because names of flows are long and do not fit beside a title.
        legend_below(panels[-1], handles, [str(handle.get_label()) for handle in handles], ncols=2)
    else:
        panels[0].legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0)
    _say_what_is_beyond(figure, runs, rows, chosen)
    return figure


def _flow(run: Run) -> int:
    return run.chosen_flow if run.chosen_flow is not None else (run.tcp_flows or [0])[0]


def _chosen(runs: Sequence[Run]) -> tuple[list[Run], list[pd.Series], str]:
    """Return the views to draw, their rows in the reordering table, and a text about the views that are left out.

    Flows without a late packet are left out if the run has several flows. If there are still more flows than lines can
    distinguish, the flows with the fewest late packets are left out too.
    """
    rows = _whole_runs(runs)
    some = [place for place, row in enumerate(rows) if row["reordered_pkts"] > 0]
    if not some or len(runs) == len(by_run(runs)):
        return list(runs), rows, ""
    # Views are selected by their number of late packets, but drawn in their original order.
    most = sorted(sorted(some, key=lambda place: -rows[place]["reordered_pkts"])[:MOST_LINES])
    what = f"{len(most)} of {len(runs)} flows: those with the most reordered packets ({len(some)} had any)"
    return [runs[place] for place in most], [rows[place] for place in most], what if len(most) < len(runs) else ""


def _whole_runs(runs: Sequence[Run]) -> list[pd.Series]:
    places: dict[int, dict[int, int]] = {}
    rows = []
    for run in runs:
        frame = run.numbers.reordering
        # The run's table is searched only once, for all flows of the run.
        if identity(run) not in places:
            at = np.flatnonzero((frame["scope"] == "run").to_numpy(dtype=bool))[::-1]
            places[identity(run)] = dict(zip(frame["flow"].to_numpy()[at].tolist(), at.tolist(), strict=True))
        place = places[identity(run)].get(_flow(run))
        if place is None:
            raise TraceError(
                f"cannot draw the reordering of {run.path.name}: it was not measured",
                hint="the run follows no packets (observe.truth = false), or an older version made it",
            )
        rows.append(frame.iloc[place])
    return rows


def _shares(run: Run, kind: str, label: str, style: dict[str, Any]) -> Shares:
    bars = histogram(run.numbers.densities, _flow(run), kind)
    return Shares(bars["index"].to_numpy(), floats(bars["share_ratio"]), label, style)


def _draw_extents(axes: Axes, bars: pd.DataFrame, label: str, style: dict[str, Any]) -> None:
    index, share = bars["index"].to_numpy(), floats(bars["share_ratio"])
    if len(index):
        at_least = np.cumsum(share[::-1])[::-1]
        axes.step(np.append(index, index[-1]), np.append(at_least, 0.0), where="pre", label=label, **style)
    axes.set_ylim(0, 1.04)
    axes.set_xlim(left=0)
    axes.set_xlabel("extent, packets")
    axes.set_ylabel("share of reordered packets\nwith this extent or more")


def _levels(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a line. For each row, the line has a horizontal piece from the start of the row to its end.
    If a row ends when the next row begins, the horizontal pieces of the two rows are connected."""
    start, end = floats(rows["t_ns"]) / 1e9, floats(rows["end_ns"]) / 1e9
    value = floats(rows[column])
    # If the next row begins after the end of a row, nan interrupts the line, because nothing was measured between the
    # two rows.
    follows = np.append(start[1:] == end[:-1], False) if len(rows) else np.zeros(0, dtype=bool)
    t_s = np.stack([start, end, end], axis=1).ravel()
    return t_s, np.stack([value, value, np.where(follows, value, np.nan)], axis=1).ravel()


def _say_what_is_beyond(figure: Figure, runs: Sequence[Run], rows: Sequence[pd.Series], chosen: str) -> None:
    """Say above the figure which flows it shows, and how many packets RD omits because of its threshold."""
    lines = [
        f"{label + ': ' if len(runs) > 1 else ''}{int(row['density_beyond_pkts']):,} packets are displaced by more "
        f"than {run.plan.observe.reordering_threshold_pkts} packets: RD takes them for lost, and those that overtook "
        f"them for packets in order ({int(row['reordered_pkts']):,} were reordered)"
        for run, label, row in zip(runs, labels(runs), rows, strict=True)
        if row["density_beyond_pkts"] > 0
    ]
    lines = [chosen, *lines] if chosen else lines
    if lines:
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color="#a33c00")


def _footer(runs: Sequence[Run]) -> str:
    # RD and RBD are only defined for a given threshold (RFC 5236, 3.4 and 3.9), so every figure states the threshold.
    thresholds = dict.fromkeys(f"{run.plan.observe.reordering_threshold_pkts} packets" for run in runs)
    return f"reordering: first transmissions; threshold of RD and RBD: {' | '.join(thresholds)} · {footer_of(runs)}"


def _names(runs: Sequence[Run]) -> str:
    return ", ".join(dict.fromkeys(run.path.name for run in runs))
