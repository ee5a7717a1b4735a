# SPDX-License-Identifier: Apache-2.0
"""The state of the network at each instant of a run's timeline. It has the routes of nodes, the delays, and the links
that are down."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from leowarp.base.nodes import host_node

if TYPE_CHECKING:
    from leowarp.results.run import Run

Link = tuple[str, str]
"""A direction of a link: the sending node and the receiving node."""
Entry = tuple[str, str]
"""A route has two parts: the node that sends, and the node of the host to which the packets go."""


@dataclass
class State:
    """The state of the network at one instant.

    entries: For a node and a host, the next node on the path to this host.
    delays_ns, rates_bps: A direction without an entry in `rates_bps` has no rate limit.
    down, lost: The directions that are down, and those that lost packets at this instant.
    """

    entries: dict[Entry, str] = field(default_factory=dict)
    delays_ns: dict[Link, int] = field(default_factory=dict)
    rates_bps: dict[Link, int] = field(default_factory=dict)
    down: set[Link] = field(default_factory=set)
    lost: set[Link] = field(default_factory=set)

    def way(self, node: str, host: str, entries: Mapping[Entry, str] | None = None) -> list[Link] | None:
        """Return the links on the path from a node to a host's station, without the wire to the host. None means that
        there is no path on which packets arrive."""
        entries = self.entries if entries is None else entries
        way: list[Link] = []
        # A path with more hops than there are routes must contain a loop.
        while len(way) <= len(entries):
            following = entries.get((node, host))
            if following is None:
                return None
            if following == host:
                return way
            way.append((node, following))
            node = following
        return None

    def delay_ns(self, way: list[Link]) -> int:
        """Return the delay of a path, in ns. If the delay of a link is unknown, it counts as 0."""
        return sum(self.delays_ns.get(link, 0) for link in way)


@dataclass(frozen=True)
class Instant:
    """An instant at which the network changed.

    state: The state from this instant on. When the next instant is read, this object is modified.
    former: The previous next hops of routes that were changed or removed at `t_ns`.
    former_ns: The previous delay of each direction whose delay changed at `t_ns`.
    """

    t_ns: int
    state: State
    former: dict[Entry, str]
    former_ns: dict[Link, int]

    @property
    def switched(self) -> dict[Entry, str]:
        """The previous next node of the routes whose next node changed."""
        return {entry: old for entry, old in self.former.items() if self.state.entries.get(entry) not in (None, old)}

    def old_way(self, node: str, host: str) -> list[Link] | None:
        """Return the path that packets to a host used before `t_ns`."""
        return self.state.way(node, host, self.state.entries | self.former)

    def old_delay_ns(self, way: list[Link]) -> int:
        """Return the delay of a path just before this instant, in ns."""
        return sum(self.former_ns.get(link, self.state.delays_ns.get(link, 0)) for link in way)


def instants(timeline: pd.DataFrame) -> Iterator[Instant]:
    """Yield the instants of a timeline in order, each with the state from that instant on."""
    state = State()
    wanted = timeline[timeline["event"].isin(("link", "rate", "delay", "route"))]
    for t_ns, rows in itertools.groupby(wanted.itertuples(index=False), key=lambda row: int(row.t_ns)):
        before: dict[Entry, str | None] = {}
        former_ns: dict[Link, int] = {}
        state.lost.clear()
        for row in rows:
            _play(state, row, before, former_ns)
        yield Instant(t_ns, state, {entry: old for entry, old in before.items() if old is not None}, former_ns)


def _play(state: State, row: Any, before: dict[Entry, str | None], former_ns: dict[Link, int]) -> None:
    if row.event == "route":
        entry = (row.node, row.destination)
        before.setdefault(entry, state.entries.get(entry))
        if pd.isna(row.next_hop):
            state.entries.pop(entry, None)
        else:
            state.entries[entry] = row.next_hop
        return
    link = (row.a, row.b)
    if row.event == "delay":
        if link in state.delays_ns:
            former_ns.setdefault(link, state.delays_ns[link])
        state.delays_ns[link] = int(row.delay_ns)
    elif row.event == "rate":
        state.rates_bps.pop(link, None)
        if not pd.isna(row.rate_bps):
            state.rates_bps[link] = int(row.rate_bps)
    else:
        both = {link, link[::-1]}
        if row.up:
            state.down -= both
        else:
            state.down |= both
            state.lost |= both if row.on_down == "drop" else set()


def talking(run: Run) -> list[tuple[str, str]]:
    """Return the pairs (sender, receiver) of host nodes that exchange packets: data, acknowledgements or replies."""
    ends = [(host_node(flow.source), host_node(flow.destination)) for flow in run.plan.flows]
    return sorted({pair for a, b in ends for pair in ((a, b), (b, a))})


def station_of_host(state: State, host: str) -> str | None:
    """Return the station to which a host is connected by its wire. None means that the host has no wire."""
    return next((node for (node, to), following in state.entries.items() if to == following == host), None)
