# SPDX-License-Identifier: Apache-2.0
"""Routing tables while the network changes: only what really changes becomes an event."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leowarp.routes.paths import Path
from leowarp.timeline.events import Events

_Entry = tuple[int, int, int | None]
"""Node, destination host, path id (None unless packets keep the path they left with)."""


class Forwarding:
    """Next hops of all nodes.

    events: Receives the changes.
    host_of: Host of each node at an end of a path.
    by_path: Whether packets keep the path they left with (``in_flight = "source"``): each path then has entries of its
        own. Otherwise a node has one next hop for each destination.
    """

    def __init__(self, events: Events, host_of: dict[int, int], *, by_path: bool) -> None:
        self._events, self._host_of, self._by_path = events, host_of, by_path
        self._next: dict[_Entry, int] = {}
        self._by_link: dict[tuple[int, int], set[_Entry]] = {}
        self._path_ids: dict[tuple[int, int], int | None] = {}

    def attach_hosts(self, pairs: list[tuple[int, int]]) -> None:
        """The entries that never change: a host's first hop, and the last node's next to the host it is for."""
        for source, destination in pairs:
            host = self._host_of[destination]
            self._events.route(0, self._host_of[source], host, source, None)
        # Each destination once, whatever the number of flows to it; `dict.fromkeys` keeps their order.
        for destination in dict.fromkeys(destination for _, destination in pairs):
            self._events.route(0, destination, self._host_of[destination], self._host_of[destination], None)

    def follow(
        self,
        t_ns: int,
        pair: tuple[int, int],
        path: Path | None,
        path_id: int | None,
        after_ns: Sequence[int] | None = None,
    ) -> None:
        """From now on packets of a pair go on a path; None: on none.

        pair: (int, int). Nodes at which source and destination hang.
        path_id: Its number among the paths to this destination.
        after_ns: How long after `t_ns` each node but the last has its entry; at once if not given. Nothing else may
            happen to these entries meanwhile.
        """
        source, destination = pair
        host = self._host_of[destination]
        if path is None:
            first: _Entry = (source, host, self._path_ids.get(pair) if self._by_path else None)
            if first in self._next:
                # Nodes further on keep their entries: what is under way still arrives.
                self._remove(t_ns, first)
        else:
            for place, (node, after) in enumerate(pairwise(path)):
                entry: _Entry = (node, host, path_id if self._by_path else None)
                # An entry that stays is no event: most nodes of a path are the same after a route update.
                if self._next.get(entry) != after:
                    # Only nodes of the new path change; those that the old one alone has keep their entry, so that what
                    # is under way arrives (docs/concepts/in-flight-rules.md, `drain`).
                    self._forget(entry)
                    self._next[entry] = after
                    # By link, so that a link that goes down finds its entries without a walk over all nodes; a
                    # constellation has thousands.
                    self._by_link.setdefault(_link(node, after), set()).add(entry)
                    at_ns = t_ns if after_ns is None else t_ns + after_ns[place]
                    self._events.route(at_ns, node, host, after, path_id)
        # For when there is no path: by path, the host's entry is found under the number last in use.
        self._path_ids[pair] = path_id

    def link_went_down(self, t_ns: int, a: int, b: int) -> None:
        """No entry may point over a link that is down.

        Entries of both directions are withdrawn at this instant; packets that reach their nodes have no route (drop
        cause 4).
        """
        entries = self._by_link.get(_link(a, b), set())
        # A set has no order of its own, and events of one instant must have one.
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
