# SPDX-License-Identifier: Apache-2.0
"""The routing tables of all nodes over time. Only entries that change become events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from leowarp.routes.paths import Path
from leowarp.timeline.events import Events

_Entry = tuple[int, int, int | None]
"""A forwarding entry: the node, the destination host, and the path id. The path id is None if packets do not keep their
initial path."""


class Forwarding:
    """The next hops of all nodes.

    events: The timeline to which the changes are added.
    host_of: A path has a node at each end. This is a dict from such a node to the host that is attached to it.
    by_path: Whether packets keep their initial path (``in_flight = "source"``). If they keep it, a node has one entry
        for each path. Otherwise, a node has one next hop for each destination.
    """

    def __init__(self, events: Events, host_of: dict[int, int], *, by_path: bool) -> None:
        self._events, self._host_of, self._by_path = events, host_of, by_path
        self._next: dict[_Entry, int] = {}
        self._by_link: dict[tuple[int, int], set[_Entry]] = {}
        self._path_ids: dict[tuple[int, int], int | None] = {}

    def attach_hosts(self, pairs: list[tuple[int, int]], between: Mapping[int, int] | None = None) -> None:
        """Add the entries that never change. They lead from each source's host to its next hop, and from each
        destination's node to its host.

        between: A dict from a node to the router between this node and its host. The node is at an end of a path.
        """
        between = between or {}
        for source, destination in pairs:
            host = self._host_of[destination]
            self._events.route(0, self._host_of[source], host, between.get(source, source), None)
            if source in between:
                self._events.route(0, between[source], host, source, None)
        for destination in dict.fromkeys(destination for _, destination in pairs):
            host = self._host_of[destination]
            self._events.route(0, destination, host, between.get(destination, host), None)
            if destination in between:
                self._events.route(0, between[destination], host, host, None)

    def follow(
        self,
        t_ns: int,
        pair: tuple[int, int],
        path: Path | None,
        path_id: int | None,
        after_ns: Sequence[int] | None = None,
    ) -> None:
        """Send the packets of a pair on a path from `t_ns` on. None means that there is no path.

        pair: (int, int). The source and the destination, which are the nodes to which the two hosts are attached.
        path_id: The path's number among the paths to this destination.
        after_ns: For each node except the last, the time from `t_ns` until the node gets its entry. The default is 0.
            Until all nodes have the path's entries, make no other call that changes these entries.
        """
        source, destination = pair
        host = self._host_of[destination]
        if path is None:
            first: _Entry = (source, host, self._path_ids.get(pair) if self._by_path else None)
            if first in self._next:
                # All nodes except the source keep their entries, so that packets in flight still arrive.
                self._remove(t_ns, first)
        else:
            for place, (node, after) in enumerate(pairwise(path)):
                entry: _Entry = (node, host, path_id if self._by_path else None)
                # A node needs an event only if its entry changes. At a route update, most nodes keep their entry.
                if self._next.get(entry) != after:
                    # Only nodes of the new path change. Nodes that are only on the old path keep their entry, so that
                    # packets in flight arrive (docs/concepts/in-flight-rules.md, `drain`).
                    self._forget(entry)
                    self._next[entry] = after
                    # Entries are indexed by link: when one of a constellation's links goes down, its entries must be
                    # found without searching thousands of nodes.
                    self._by_link.setdefault(_link(node, after), set()).add(entry)
                    at_ns = t_ns if after_ns is None else t_ns + after_ns[place]
                    self._events.route(at_ns, node, host, after, path_id)
        # The path id is stored because a later removal of the path needs it. If there is one entry per path, the
        # source's entry is stored under the id of the source's last path.
        self._path_ids[pair] = path_id

    def link_went_down(self, t_ns: int, a: int, b: int) -> None:
        """Remove all entries that use a link that goes down.

        The entries of both directions are removed at the time `t_ns`. Packets that reach a node without an entry have
        no route (drop cause 4).
        """
        entries = self._by_link.get(_link(a, b), set())
        # A set is unordered, but events of one instant need a fixed order.
        for entry in sorted(entries, key=lambda e: (e[0], e[1], -1 if e[2] is None else e[2])):
            self._remove(t_ns, entry)

    def _remove(self, t_ns: int, entry: _Entry) -> None:
        self._forget(entry)
        node, host, path_id = entry
        self._events.route(t_ns, node, host, None, path_id)

    def _forget(self, entry: _Entry) -> None:
        after = self._next.pop(entry, None)
        if after is not None:
            self._by_link[_link(entry[0], after)].discard(entry)


def _link(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
