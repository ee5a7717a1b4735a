# SPDX-License-Identifier: Apache-2.0
"""The paths on a page. For each pair of stations, the page has the path over time, its link delays, and its changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.base.instants import distinct
from leowarp.metrics import flow_pairs, pair_routes, route_changes
from leowarp.results.run import Run
from leowarp.scenario.schema import Access, Plan
from leowarp.view.clock import Names, station_pairs, ticks
from leowarp.view.container import Arrays

MOST_REFRESHES = 5_000
"""The maximum number of times at which the delays of a path are listed. The delay of a mobile channel changes every
millisecond, so only the delays at route updates are listed in this case."""

# Columns of the table of route changes (docs/concepts/truth.md) that the page shows for each change.
CHANGE_COUNTS = (
    "late_pkts", "overtaken_pkts", "lost_pkts", "retransmissions_pkts", "spurious_retransmissions_pkts",
    "queue_left_pkts",
)  # fmt: skip


def pairs_of(run: Run, names: Names, arrays: Arrays) -> list[dict[str, Any]]:
    """Return the different paths of each pair of stations. Also return which path is valid at each time, and its
    delays.

    A path has `nodes` (numbers), `links` (numbers of directions, -1: none) and `drawn` (nodes through which it is drawn
    on the globe).

    Returns: One dict for each pair, with `source` and `destination` (numbers of nodes), `paths`, and arrays. At each
        time `t` (ticks), a new path becomes valid. `path` is the new path's index in `paths`, or -1 for no path.
        `delays_us` has the delays of the new path's links. Whenever one path replaces another, `left_us` has the delays
        of the links of the old path.
    """
    return [_pair(run, pair, names, arrays) for pair in station_pairs(run)]


def _pair(run: Run, pair: tuple[str, str], names: Names, arrays: Arrays) -> dict[str, Any]:
    routes = pair_routes(run.tables, pair)
    paths, starts = list(routes["path"]), [*(int(t) for t in routes["t_ns"]), run.end_ns]
    distinct: dict[tuple[tuple[str, ...], int | None], int] = {}
    t_ns, places = [np.zeros(0, dtype="int64")], [np.zeros(0, dtype="int64")]
    delays_ns, left_ns = [np.zeros(0)], [np.zeros(0)]
    before = -1
    for row, path in enumerate(paths):
        if path is None:
            at_ns, place = np.array(starts[row : row + 1]), -1
        else:
            number = routes["path_id"].iloc[row]
            # Each slot of an access link has a path of its own, even if the next slot uses the same satellite.
            identity = (path, None if number is None or number != number else int(number))
            place = distinct.setdefault(identity, len(distinct))
            # All paths share a maximum number of instants. If a run has many changes, the delays of each path are
            # therefore listed at fewer instants.
            at_ns, of_links_ns = _delays(run, path, starts[row], starts[row + 1], MOST_REFRESHES // len(paths) + 1)
            delays_ns.append(of_links_ns)
        # Packets in flight still use an old path when a new path replaces it. `left_ns` has values only in this case.
        if before >= 0 <= place != before:
            left_ns.append(_delays_left(run, paths[row - 1], path, starts[row - 1], starts[row]))
        t_ns.append(at_ns)
        places.append(np.full(len(at_ns), place))
        before = place
    return {
        "source": names(pair[0]),
        "destination": names(pair[1]),
        "paths": [
            {
                "id": number,
                "nodes": [names(node) for node in path],
                "links": [_direction(run, link) for link in run.tables.links_of(path)],
                "drawn": [names(node) for node in _drawn(run.observed_plan, path)],
            }
            for path, number in distinct
        ],
        "t": arrays.instants(ticks(run, np.concatenate(t_ns))),
        "path": arrays.integers(np.concatenate(places)),
        "delays_us": arrays.integers(np.rint(np.concatenate(delays_ns) / 1e3)),
        # For each replaced path, `left_us` contains the delays at the time when the path was replaced.
        "left_us": arrays.integers(np.rint(np.concatenate(left_ns) / 1e3)),
    }


def _delays(run: Run, path: tuple[str, ...], from_ns: int, until_ns: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the times at which the delay of any link of a path changes. Also return the delays of all links of the
    path at these times.

    Returns at_ns: int array of shape (k,). The first value is `from_ns`. If there are more than `most` times, only
        `from_ns` is returned.
    Returns delays_ns: float array of shape (k * links,). The first values are the delays of all links at the first
        time.
    """
    taken = run.tables.links_of(path)
    instants = [np.array([from_ns])]
    for a, b in taken:
        when = run.link_values.delay_instants_ns(a, b)
        if not run.link_values.has_channel(a, b):
            instants.append(when[(when > from_ns) & (when < until_ns)].astype("int64"))
    at_ns = distinct(instants)
    # Either all times are listed or only the first. If only some times were listed, the delays would seem constant
    # between the listed times.
    at_ns = at_ns if len(at_ns) <= most else at_ns[:1]
    of_links = [
        np.full(len(at_ns), _delay_ns(run, link, from_ns, from_ns, until_ns))
        if run.link_values.has_channel(*link)
        else run.link_values.delay_ns(*link, at_ns)
        for link in taken
    ]
    return at_ns, np.array(of_links).reshape(len(taken), len(at_ns)).T.ravel()


def _delays_left(run: Run, before: tuple[str, ...], after: tuple[str, ...], since_ns: int, at_ns: int) -> np.ndarray:
    """Return the delays of the old path's links at `at_ns`. At this time, a new path replaces the old path."""
    links = run.tables.links_of(before)
    # If the old and the new path share an access link or a mobile channel, this link already has the new delay at
    # `at_ns`. For a shared link, the delay 1 ns before `at_ns` is therefore used.
    held_ns = at_ns - (links == run.tables.links_of(after))
    return np.array([_delay_ns(run, link, held_ns, since_ns, at_ns) for link in links])


def _delay_ns(run: Run, link: tuple[str, str], at_ns: int, from_ns: int, until_ns: int) -> float:
    """Return the delay of a link in ns at the time `at_ns`. The delay of a channel varies continuously. For a channel,
    the smallest delay from `from_ns` to `until_ns` is therefore returned."""
    if run.link_values.has_channel(*link):
        return run.link_values.base_delay_ns(*link, from_ns, until_ns)
    return float(run.link_values.delay_ns(*link, at_ns))


def _direction(run: Run, link: tuple[str, str]) -> int:
    found = run.tables.direction_of(*link)
    return -1 if found is None else found


def _drawn(plan: Plan, path: tuple[str, ...]) -> list[str]:
    """Return the nodes through which a path is drawn on the globe. In an access link, the host "dish" is drawn at the
    terminal. The host "server" is drawn as two nodes, gateway and PoP."""
    if not isinstance(plan.medium, Access):
        return list(path)
    places = {"dish": ["terminal"], "server": ["gateway", "pop"]}
    # The satellite is drawn as a node of the path, although the timeline has no links to it.
    drawn = [place for node in path for place in places.get(node, [node])]
    return drawn if path[0] == "dish" else [*places["server"][::-1], *drawn[2:]]


def changes_of(run: Run, arrays: Arrays) -> dict[str, Any]:
    """Return the route changes of all pairs that send data, sorted by time. Each change has the packet counts of the
    table of route changes.

    Returns: The arrays with one value per route change: `t` (ticks), `pair` (index in `pairs_of`), `delay_before_us`,
        `delay_after_us`, and each of `CHANGE_COUNTS`. A value is missing if it is unknown.
    """
    pairs = flow_pairs(run.observed_plan.flows)
    found = route_changes(run.tables, pairs, run.end_ns)
    numbers = {pair: number for number, pair in enumerate(station_pairs(run))}
    of_pair = [numbers[pair] for pair in zip(found["source"], found["destination"], strict=True)]
    counts = {name: arrays.integers(found[name].to_numpy(dtype="float64", na_value=np.nan)) for name in CHANGE_COUNTS}
    return {
        "t": arrays.instants(ticks(run, found["t_ns"])),
        "pair": arrays.integers(np.array(of_pair, dtype="int64")),
        "delay_before_us": arrays.integers(_us(found["delay_before_ns"])),
        "delay_after_us": arrays.integers(_us(found["delay_after_ns"])),
        **counts,
    }


def _us(column: Any) -> np.ndarray:
    return column.to_numpy(dtype="float64", na_value=np.nan) / 1e3
