# SPDX-License-Identifier: Apache-2.0
"""Finds links that carry no packets for some time: in gaps after handovers, while lasers are pointed, and while dishes
hold packets."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from leowarp.base.nodes import dish_node
from leowarp.metrics import pair_routes
from leowarp.metrics.inputs.tables import floats, rows_of_event
from leowarp.results.run import Run
from leowarp.view.clock import Names, station_pairs, ticks
from leowarp.view.container import Arrays

MOST_GAPS = 20_000

Gap = tuple[str, str, int, int]
"""The two ends of a link, and the times in ns at which its gap begins and ends. If the entry is a hold of a dish, both
ends are the name of the dish's station."""


def gaps_of(run: Run, names: Names, arrays: Arrays) -> dict[str, Any] | None:
    """Return the gaps of links and the holds of dishes. The result is None if the plan has none, or if there are too
    many for a page.

    Returns: The arrays with one value per gap, in order of time: `t` (start in ticks), `lasts` (duration in ticks),
        `a`, `b` (numbers of the two nodes, equal for a dish).
    """
    plan = run.plan
    if plan.constellation is None or plan.medium.NAME != "constellation" or not (
        plan.dishes or plan.ground.handover_gap_ns or plan.isl.longest_acquisition_ns
    ):  # fmt: skip
        return None
    found = sorted(set(chain(_lossy(run), _without_capacity(run), _still_old(run))), key=lambda gap: gap[2:])
    if len(found) > MOST_GAPS:
        return None
    begin = ticks(run, np.array([gap[2] for gap in found], dtype="int64"))
    end = ticks(run, np.array([gap[3] for gap in found], dtype="int64"))
    return {
        "t": arrays.instants(begin),
        "lasts": arrays.integers(end - begin),
        "a": arrays.integers(np.array([names(gap[0]) for gap in found], dtype="int64")),
        "b": arrays.integers(np.array([names(gap[1]) for gap in found], dtype="int64")),
    }


def _lossy(run: Run) -> list[Gap]:
    """Return the gaps of links that lose all packets for a while."""
    a, b, t_ns, ratio = rows_of_event(run.tables.timeline, "loss", "a", "b", "t_ns", "loss_ratio")
    begun: dict[tuple[str, str], int] = {}
    found = []
    for start, end, at_ns, lost in zip(a, b, t_ns.to_numpy("int64").tolist(), floats(ratio).tolist(), strict=True):
        link = min(start, end), max(start, end)
        if lost == 1.0:
            begun.setdefault(link, at_ns)
        elif link in begun:
            found.append((*link, begun.pop(link), at_ns))
    return found + [(*link, at_ns, run.end_ns) for link, at_ns in begun.items()]


def _without_capacity(run: Run) -> list[Gap]:
    """Return the gaps in which links buffer packets, also those of a dish's links during holds and outages."""
    # On the globe, a dish is drawn at its station, so the station's name replaces the dish's node.
    stations = {dish_node(name): name for name in run.plan.dishes}
    found = []
    for start, end, _ in run.tables.directions:
        if not run.link_values.has_capacity_table(start, end):
            continue
        t_ns = run.link_values.rate_instants_ns(start, end)
        is_still = run.link_values.rate_bps(start, end, t_ns) == 0
        begins, ends = t_ns[is_still], np.append(t_ns[1:], run.end_ns)[is_still]
        places = sorted(stations.get(name, name) for name in (start, end))
        found += [
            (places[0], places[1], begin_ns, min(end_ns, run.end_ns))
            for begin_ns, end_ns in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
    return found


def _still_old(run: Run) -> list[Gap]:
    """Return the gaps of new ground links if packets take the old path during a gap (`ground.in_gap = "old"`)."""
    if run.plan.ground.in_gap != "old" or not run.plan.ground.handover_gap_ns:
        return []
    (t_ns,) = rows_of_event(run.tables.timeline, "route", "t_ns")
    installed_ns = np.unique(t_ns.to_numpy("int64"))
    found = []
    for pair in station_pairs(run):
        routes = pair_routes(run.tables, pair)
        for (before, now), at_ns in zip(pairwise(routes["path"]), routes["t_ns"].tolist()[1:], strict=True):
            later = installed_ns[installed_ns >= at_ns]
            if before is None or now is None or not len(later) or later[0] == at_ns:
                continue
            known = {frozenset(link) for link in pairwise(before)}
            found += [
                (min(link), max(link), at_ns, int(later[0]))
                for link in (now[:2], now[-2:])
                if frozenset(link) not in known
            ]
    return found
