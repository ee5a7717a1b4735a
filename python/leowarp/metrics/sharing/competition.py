# SPDX-License-Identifier: Apache-2.0
"""Finds the TCP flows that compete for a link, and the times at which they compete.

Two flows compete while both are alive and send their data over the same direction of a rate-limited link. Flows of the
same ordered pair of stations take the same path. Flows in opposite directions do not compete, because each direction of
a link has its own queue and rate.

Two flows are competitors if they compete for at least `LEAST_NS`. Their competition must also last at least
`LEAST_RATIO` times as long as the longer-lived of the two flows. Over a shorter time, a share would only show how
bursts of two flows alternate. For a long flow, the share over a short moment would also not be typical.

Connections of programs that carry almost no data (`CONTROL_RATIO`) do not compete. iperf3's first connection negotiates
the test. It does not compete either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import link_values
from leowarp.metrics.inputs.tables import ACK, Tables, floats, rows_by
from leowarp.metrics.per_flow.goodput import Life, life
from leowarp.metrics.per_flow.iperf3 import said

LEAST_NS = 1_000_000_000
"""Two flows count as competitors only if they compete for at least this time. 1 s is several round trips of any path
over LEO satellites."""

LEAST_RATIO = 0.1
"""Competitors must compete for at least this share of the longer of their two lives."""

CONTROL_RATIO = 0.01
"""A connection is a control connection if its payload is below this share of the largest payload of its program. The
largest payload is taken over all connections and both directions."""

Spans = np.ndarray
"""The times as (from, until), where `until` is excluded: int64 array of shape (n, 2), in ns, disjoint, ascending."""

ALWAYS: Spans = np.array([[0, np.iinfo(np.int64).max]])


@dataclass(frozen=True)
class Competition:
    """The TCP flows of a run that may compete, with the competitors of each flow.

    lives: The lives of all TCP flows.
    controls: The numbers of control connections, which do not compete.
    rivals: For each TCP flow, the numbers of its competitors in ascending order.
    together: For each flow, the times at which it competed with all its competitors simultaneously.
    """

    lives: Mapping[int, Life]
    controls: frozenset[int]
    rivals: Mapping[int, tuple[int, ...]]
    together: Mapping[int, Spans]

    def group(self, flow: int) -> tuple[int, ...]:
        """Return the ascending numbers of a flow and its competitors."""
        return tuple(sorted((flow, *self.rivals[flow])))


def competition(tables: Tables, flows: Sequence[Any], end_ns: int) -> Competition:
    """Return the TCP flows of a run that compete, and when they compete."""
    lives = {number: life(tables, number, flow, end_ns) for number, flow in enumerate(flows) if flow.kind == "tcp"}
    controls = frozenset(_controls(tables) & lives.keys())
    numbers = np.array([number for number in lives if number not in controls], dtype="int64")
    starts, stops = (np.array([getattr(lives[number], name) for number in numbers.tolist()], dtype="int64")
                     for name in ("start_ns", "stop_ns"))  # fmt: skip
    paths = _Paths(tables)
    pairs = [(flows[number].source, flows[number].destination) for number in numbers.tolist()]
    of_pair, names = pd.factorize(pd.Series(pairs, dtype=object))
    rivals: dict[int, tuple[int, ...]] = dict.fromkeys(lives, ())
    together: dict[int, Spans] = {}
    # All tuples of competitors share these integer objects. For 2000 flows, new ones would take 130 MB.
    listed = numbers.tolist()
    for place, number in enumerate(listed):
        from_ns, until_ns = np.maximum(starts, starts[place]), np.minimum(stops, stops[place])
        least_ns = np.maximum(LEAST_NS, LEAST_RATIO * np.maximum(stops - starts, stops[place] - starts[place]))
        near = until_ns - from_ns >= least_ns
        near[place] = False
        spans, found = ALWAYS, list[int]()
        at = np.flatnonzero(near)
        for other, mine in rows_by(of_pair[at]).items():
            common = paths.common(pairs[place], names[other])
            mine = at[mine]
            mine = mine[_length_ns(common, from_ns[mine], until_ns[mine]) >= least_ns[mine]]
            if len(mine):
                spans = both(spans, common)
                spans = both(spans, np.array([[from_ns[mine].max(), until_ns[mine].min()]]))
                found += [listed[each] for each in mine.tolist()]
        rivals[number] = tuple(sorted(found))
        if found:
            together[number] = spans
    return Competition(lives, controls, rivals, together)


def both(one: Spans, other: Spans) -> Spans:
    """Return the time spans that `one` and `other` have in common.

    >>> both(np.array([[0, 10], [20, 30]]), np.array([[5, 25]])).tolist()
    [[5, 10], [20, 25]]
    """
    from_ns = np.maximum(one[:, :1], other[:, 0])
    until_ns = np.minimum(one[:, 1:], other[:, 1])
    inside = from_ns < until_ns
    return np.column_stack([from_ns[inside], until_ns[inside]])


def _length_ns(spans: Spans, from_ns: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
    within = np.minimum(until_ns, spans[:, 1:]) - np.maximum(from_ns, spans[:, :1])
    return np.maximum(within, 0).sum(axis=0)


def _controls(tables: Tables) -> set[int]:
    """Return the numbers of the programs' control connections. They include the first connection of each iperf3."""
    found = set()
    by_program: dict[int, list[int]] = {}
    for connection in tables.connections:
        by_program.setdefault(connection["program"], []).append(connection["flow"])
    for program, numbers in by_program.items():
        there = {number: float(np.nansum(floats(tables.of_flow("flows", number)["bytes"]))) for number in numbers}
        largest = max(*there.values(), *(_back_bytes(tables, number) for number in numbers))
        found |= {number for number in numbers if there[number] < CONTROL_RATIO * largest}
        if said(tables, program) is not None:
            found.add(numbers[0])
    return found


def _back_bytes(tables: Tables, number: int) -> float:
    bins = tables.of_flow("bins", number)
    if "delivered_bytes" not in bins:
        return 0.0
    return float(np.nansum(floats(bins["delivered_bytes"])[bins["direction"].to_numpy() == ACK]))


class _Paths:
    """For each pair of stations, the link directions with a rate limit that carry its data over time."""

    def __init__(self, tables: Tables) -> None:
        self._tables, self._links = tables, link_values(tables)
        self._taken: dict[Pair, tuple[np.ndarray, list[frozenset[Pair]]]] = {}
        self._common: dict[tuple[Pair, Pair], Spans] = {}

    def common(self, one: Pair, other: Pair) -> Spans:
        """Return the time spans in which the paths of two station pairs use a common link in the same direction."""
        if one == other:
            return ALWAYS
        key = (min(one, other), max(one, other))
        if key not in self._common:
            self._common[key] = self._found(*key)
        return self._common[key]

    def _found(self, one: Pair, other: Pair) -> Spans:
        (mine_ns, mine), (theirs_ns, theirs) = self._of(one), self._of(other)
        # In a large network, the paths of most pairs never have a link in common, so pairs without a common link are
        # excluded first.
        if frozenset().union(*mine).isdisjoint(frozenset().union(*theirs)):
            return ALWAYS[:0]
        edges_ns = np.union1d(mine_ns, theirs_ns)
        places = (np.searchsorted(t_ns, edges_ns, side="right") - 1 for t_ns in (mine_ns, theirs_ns))
        # A pair has no path before its first route.
        shared = np.array(
            [a >= 0 and b >= 0 and not mine[a].isdisjoint(theirs[b]) for a, b in zip(*places, strict=True)], dtype=bool
        )
        steps = np.diff(np.concatenate([[0], shared.astype("int8"), [0]]))
        after_ns = np.append(edges_ns, ALWAYS[0, 1])
        return np.column_stack([after_ns[steps == 1], after_ns[steps == -1]]).astype("int64")

    def _of(self, pair: Pair) -> tuple[np.ndarray, list[frozenset[Pair]]]:
        if pair not in self._taken:
            routes = pair_routes(self._tables, pair)
            taken = [
                frozenset(link for link in self._tables.links_of(path) if self._links.is_shaped(*link))
                for path in routes["path"]
            ]
            self._taken[pair] = (routes["t_ns"].to_numpy(dtype="int64"), taken)
        return self._taken[pair]
