# SPDX-License-Identifier: Apache-2.0
"""Draw goodput beside the capacity of the link (figures 6 to 9 of `huston2024`). Also draw the shares of flows that use
one path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import goodput, overhead_bytes, path_capacity, payload_ratio, share_series
from leowarp.metrics.sharing.shares import least_index
from leowarp.report.figures.manyflows import draw_bands, hit_hardest
from leowarp.report.labels import MOST_LINES, by_run, footer_of, identity, labels, run_labels, styles, worded
from leowarp.report.style import PAGE_IN, highest_of, line_style, mark_changes, new_figure
from leowarp.results.run import Run

BIN_S = 0.5
"""The length of the bins in s. This length is much more than a round trip, and much less than a slot of 15 s."""


def _draw_capacity(axes: Axes, run: Run, bin_s: float) -> float | None:
    """Draw the mean capacity of the main flow's path in each bin as an area: the payload rate that the slowest link
    allows. Return its mean over the run in Mbit/s, or None if no link has a rate limit."""
    ends = run.observed_plan.flows[run.main_flow]
    pair = (ends.source, ends.destination)
    # Only complete bins are used. An incomplete bin at the end of the run would have too large a weight in the mean.
    edges_ns = np.arange(0, run.end_ns + 1, round(bin_s * 1e9), dtype="int64")
    share = payload_ratio(run.tables, run.main_flow, overhead_bytes(run.tables, pair), run.plan.network.mtu_bytes)
    payload_mbps = path_capacity(run.tables, pair, edges_ns) * share / 1e6
    if not np.isfinite(payload_mbps).any():
        return None
    axes.stairs(payload_mbps, edges_ns / 1e9, fill=True, color="#e4e4e4", zorder=0.3, label="capacity (payload)")
    return float(np.nanmean(payload_mbps))


def throughput(runs: Sequence[Run], *, bin_s: float = BIN_S, together: bool = False) -> Figure:
    """Draw the goodput of the main flow and the capacity over time. Route changes are marked.

    together: Whether all runs are in one panel, with the capacity and the changes of the first run.
    """
    shown, what = hit_hardest(runs, [run.numbers.summary["flows"][run.main_flow]["goodput_mean_bps"] for run in runs])
    runs = runs if together else shown
    count = 1 if together else len(runs)
    figure = new_figure(PAGE_IN, 0.55 + (2.1 if together else 1.5 * count), footer_of(runs))
    if what and not together:
        figure.suptitle(f"The {what} with the highest goodput", x=0.01, ha="left", fontsize=7.5)
    # All panels have the same x axis and the same y axis, so that the panels can be compared.
    panels = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for place, (run, label, style) in enumerate(zip(runs, labels(runs), styles(runs), strict=True)):
        axes = panels[0 if together else place]
        if place == 0 or not together:
            mean_mbps = _draw_capacity(axes, run, bin_s)
            mark_changes(axes, run.change_instants_ns(run.main_flow) / 1e9)
        rate = goodput(run.tables, run.main_flow, "in_order", round(bin_s * 1e9))
        axes.plot(rate["t_ns"] / 1e9 + bin_s / 2, rate["goodput_bps"] / 1e6, label=label, linewidth=1.0, **style)
        if not together:
            got = run.numbers.summary["flows"][run.main_flow]["goodput_mean_bps"] / 1e6
            of = "" if mean_mbps is None else f" of {mean_mbps:.1f}"
            axes.set_title(f"{label}: mean {got:.1f}{of} Mbit/s, bins of {bin_s:g} s", loc="left", pad=3)
        axes.set_ylabel("goodput, Mbit/s")
        axes.set_ylim(bottom=0)
    panels[0].set_xlim(0, max(run.end_ns for run in runs) / 1e9)
    panels[-1].set_xlabel(worded(runs, "time, s (pink: route changes; grey: what the link could carry)"))
    if together:
        panels[0].legend(loc="upper right", ncols=3)
    return figure


def flow_shares(runs: Sequence[Run]) -> Figure:
    """Draw the goodput of each TCP flow per second, and below it Jain's index over the competing flows.

    Jain's index (Jain, Chiu, Hawe 1984) is (sum x)^2 / (n sum x^2), where x is the goodput of each of n competing
    flows. It is 1 if all goodputs are equal, and 1/n (the dotted line) if one flow has all the goodput. If a run has
    several groups of competing flows, the smallest of the groups' indexes is drawn.

    Raises TraceError if a run has fewer than two TCP flows.
    """
    for run in runs:
        if len(run.tcp_flows) < 2:
            raise TraceError(f"cannot draw this figure of {run.path.name}: the run has fewer than two TCP flows")
    groups, names = by_run(runs), run_labels(runs)
    figure = new_figure(PAGE_IN, 0.55 + 2.3 * len(groups), footer_of(runs))
    panels = figure.subplots(2 * len(groups), 1, sharex=True, squeeze=False, height_ratios=(2.2, 1) * len(groups))[:, 0]
    for place, group in enumerate(groups):
        run, label = group[0], names[identity(group[0])]
        flows = run.tcp_flows if run.chosen_flow is None else [view.main_flow for view in group]
        above, below = panels[2 * place : 2 * place + 2]
        frame = share_series(run.tables, run.observed_plan.flows, run.end_ns)
        changes_s = sorted({t_ns / 1e9 for view in group for t_ns in view.change_instants_ns(view.main_flow)})
        for axes in (above, below):
            mark_changes(axes, changes_s)
        of_flows = [frame[frame["flow"] == flow] for flow in flows]
        if len(flows) > MOST_LINES:
            draw_bands(above, [(mine["t_ns"].to_numpy() / 1e9 + 0.5, mine["goodput_bps"].to_numpy() / 1e6)
                               for mine in of_flows])  # fmt: skip
        else:
            for number, (flow, mine) in enumerate(zip(flows, of_flows, strict=True)):
                words = run.flow_names[flow]
                above.plot(mine["t_ns"] / 1e9 + 0.5, mine["goodput_bps"] / 1e6, label=words, **line_style(number))
        least = least_index(frame)
        below.plot(least["t_ns"] / 1e9 + 0.5, least["jain_index"], color="#333333")
        index = run.numbers.summary["fairness"]["jain_index"]
        whole = "" if index is None else f", while they compete: {index:.3f}"
        above.set_title(f"{label}: {len(flows)} flows", loc="left", pad=3)
        above.set_ylabel("goodput, Mbit/s")
        # The upper limit of the axis leaves space for the legend above the lines.
        above.set_ylim(0, (1.15 + 0.1 * -(-min(len(flows), MOST_LINES) // 2)) * highest_of(above))
        # Many short flows may never be active at the same time. If no flows are active at the same time, the panel has
        # no band, and an empty legend would give a warning.
        if above.get_legend_handles_labels()[0]:
            above.legend(loc="upper right", ncols=4 if len(flows) > MOST_LINES else 2)
        below.set_ylabel("Jain's index")
        below.set_ylim(0, 1.05)
        below.set_title(f"Jain's index by the second{whole}", loc="left", pad=3)
        # The smallest possible index of n flows is 1/n. This is the index if one flow has all the goodput (Jain, Chiu
        # and Hawe, DEC-TR-301, 1984). If flows compete in several groups, n is different for each group.
        if index is not None:
            count = frame.loc[frame["jain_index"].notna(), "flow"].nunique()
            below.axhline(1 / count, color="#888888", linewidth=0.6, linestyle=":")
    panels[-1].set_xlim(0, max(run.end_ns for run in runs) / 1e9)
    panels[-1].set_xlabel("time, s (dotted: one flow has everything)")
    return figure
