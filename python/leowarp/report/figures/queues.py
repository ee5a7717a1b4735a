# SPDX-License-Identifier: Apache-2.0
"""Draw the queues of a path over the whole run, or around route changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from leowarp.metrics import queue_series, step_at
from leowarp.metrics.inputs.changes import pair_routes
from leowarp.report.figures.around_changes import columns_of, hardest_hit
from leowarp.report.labels import by_run, footer_of, identity, labels, run_labels, worded
from leowarp.report.style import CHANGE_COLOUR, PAGE_IN, legend_below, line_style, mark_changes, new_figure
from leowarp.results.run import Run

MOST_QUEUES = 6
"""The maximum number of panels in the figure of one run's queues. Each station pair has a panel, and panels are
large."""


def queue_map(run: Run, known: dict[int, np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest sampled queue of each link of the current path in each time bin. Links are counted along the
    path.

    known: The queues in these bins that were already computed, by direction. The function adds those that it computes.
    Returns edges_ns: int64 array of shape (bins + 1,). There are at most 600 bins, and never more than samples.
    Returns waiting: float64 array of shape (hops of the longest path, bins). The values are in packets. A value is nan
        if the path has fewer links at that time, or if the link has no samples.
    """
    flow = run.observed_plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (flow.source, flow.destination))
    end_ns = run.end_ns
    # With more bins than samples, a bin without a sample would repeat the value of the bin before it.
    samples = end_ns // (run.plan.observe.queues_ns or end_ns)
    edges_ns = np.linspace(0, end_ns, min(600, max(samples, 1)) + 1).astype("int64")
    longest = max((len(run.tables.links_of(path)) for path in routes["path"]), default=0)
    waiting = np.full((longest, len(edges_ns) - 1), np.nan)
    series = {} if known is None else known
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


def queues(runs: Sequence[Run]) -> Figure:
    """For each link of the path, draw the number of packets in the queue over time.

    Each run and pair of stations has a panel, because flows between the same two stations share the path. A panel has a
    row per link of the path. For a single run, only the `MOST_QUEUES` pairs with the longest queues have panels.
    """
    names, left_out = labels(runs), ""
    if any(len(group) > 1 for group in by_run(runs)):
        runs, names = _one_a_pair(runs)
    if len(runs) > MOST_QUEUES and any(run.chosen_flow is not None for run in runs):
        left_out = f"The {MOST_QUEUES} of {len(runs)} pairs with the longest queues"
        found = _longest(runs)
        runs, names, maps = [runs[at] for at in found], [names[at] for at in found], list(found.values())
    else:
        maps = [queue_map(run) for run in runs]
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
            # Without route changes, no line is drawn. matplotlib finds no position for an empty unclipped line, so the
            # layout would fail.
            axes.plot(run.changes["t_ns"] / 1e9, np.full(len(run.changes), places[-1]), "v", color=CHANGE_COLOUR,
                      markersize=3, clip_on=False)  # fmt: skip
        axes.set_title(label, loc="left", pad=5)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(visible=False)
        axes.set_ylim(places[0], places[-1])
        # Missing values are grey, so that a link that is not on the path does not look like an empty queue.
        axes.set_facecolor("#dddddd")
        axes.set_ylabel("link of the path")
    words = worded(runs, "time, s (triangles: route changes; link 1 leaves the source; grey: no such link)")
    panels[-1].set_xlabel(words)
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="packets waiting", pad=0.01, aspect=30)
    return figure


def _longest(runs: Sequence[Run]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return the `MOST_QUEUES` views with the longest queues, as a dict from the view's index to its map (`queue_map`).
    Among views with equal queues, the earlier ones are selected."""
    # Many pairs of stations share links, so the queue of each link is computed only once. A pair is skipped if an upper
    # bound shows that its queues are too short to be selected.
    known: dict[int, dict[int, np.ndarray]] = {}
    bounds = [_at_most(run) for run in runs]
    maps: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    longest: dict[int, float] = {}
    for place in sorted(range(len(runs)), key=lambda place: -bounds[place]):
        if len(longest) >= MOST_QUEUES and bounds[place] < sorted(longest.values())[-MOST_QUEUES]:
            break
        maps[place] = queue_map(runs[place], known.setdefault(identity(runs[place]), {}))
        waiting = maps[place][1]
        longest[place] = float(np.nanmax(waiting)) if np.isfinite(waiting).any() else 0.0
    kept = sorted(longest, key=lambda place: (-longest[place], place))[:MOST_QUEUES]
    return {place: maps[place] for place in sorted(kept)}


def _at_most(run: Run) -> float:
    """Return an upper bound of the queue lengths, in packets, over all links of the view's paths."""
    flow, tables = run.observed_plan.flows[run.main_flow], run.tables
    links = {
        link for path in pair_routes(tables, (flow.source, flow.destination))["path"] for link in tables.links_of(path)
    }
    directions = (tables.direction_of(*link) for link in links)
    return max((tables.longest_queues_pkts.get(direction, 0.0) for direction in directions), default=0.0)


def _one_a_pair(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Return the first flow's view and the path's name, for each run and pair of stations."""
    of_runs = run_labels(runs)
    found: dict[tuple[int, str, str], tuple[Run, str]] = {}
    for run in runs:
        flow = run.observed_plan.flows[run.main_flow]
        lead = f"{of_runs[identity(run)]}, " if len(of_runs) > 1 else ""
        found.setdefault(
            (identity(run), flow.source, flow.destination), (run, f"{lead}{flow.source} to {flow.destination}")
        )
    return [run for run, _ in found.values()], [name for _, name in found.values()]


def queues_at_change(
    runs: Sequence[Run], *, before_s: float = 1.0, after_s: float = 3.0, count: int = 3,
    change_s: float | None = None,
) -> Figure:  # fmt: skip
    """Draw the queues around a route change. A dashed line is a link that the change removes from the path. All other
    lines are links that the change keeps or adds.

    The figure has one panel per change, which shows the flow that the change affected most. A link is left out if its
    queue never has more than one packet. The parameters and the error are those of `cwnd_around_changes`.
    """
    columns = columns_of(runs, count, change_s)
    figure = new_figure(PAGE_IN, 2.6, footer_of(runs))
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (t_ns, flows, title, of_several) in zip(panels, columns, strict=True):
        run = hardest_hit([run for run, _, _ in flows], t_ns / 1e9)
        if of_several:
            flow = run.observed_plan.flows[run.main_flow]
            title = f"change at {t_ns / 1e9:g} s\n{flow.source} to {flow.destination}"
        before, after = (run.tables.links_of(path) for path in _paths_around(run, t_ns))
        number = 0
        for link in dict.fromkeys([*before, *after]):
            direction = run.tables.direction_of(*link)
            if direction is None:
                continue
            series = queue_series(run.tables, direction, run.end_ns)
            t_s = np.arange(-before_s, after_s, 0.05)
            value = step_at(series["t_ns"], series["queue_pkts"], t_ns + (t_s * 1e9).astype("int64"), 0.0)
            # A single packet may wait on any link, because another packet is being sent. The figure therefore leaves
            # out links on which never more than one packet waited.
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
        if number:
            legend_below(axes, fontsize=5.5)
        else:
            axes.text(0.5, 0.5, "no queue of 2 packets or more", transform=axes.transAxes, ha="center")
    panels[0].set_ylabel("packets waiting")
    panels[0].set_ylim(bottom=0)
    return figure


def _paths_around(run: Run, t_ns: int) -> list[tuple[str, ...] | None]:
    """Return the path of a view's flow just before `t_ns`, and its path from `t_ns` on."""
    flow = run.observed_plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (flow.source, flow.destination))
    # Each row of the routes is valid from the row's own time on. The old path is therefore still valid 1 ns before
    # `t_ns`.
    places = [np.searchsorted(routes["t_ns"], at_ns, side="right") - 1 for at_ns in (t_ns - 1, t_ns)]
    return [routes["path"].iloc[max(place, 0)] if len(routes) else None for place in places]


def _largest_in_bins(series: pd.DataFrame, edges_ns: np.ndarray) -> np.ndarray:
    """Return the largest value of a step function in each bin. The value at the start of the bin counts too."""
    start = step_at(series["t_ns"], series["queue_pkts"], edges_ns[:-1], 0.0)
    place = np.searchsorted(edges_ns, series["t_ns"].to_numpy(), side="right") - 1
    inside = (place >= 0) & (place < len(start))
    # `maximum.at` is used because a bin may contain several samples. An assignment would store the last sample of a
    # bin, not the largest.
    np.maximum.at(start, place[inside], series["queue_pkts"].to_numpy(dtype="float64")[inside])
    return start
