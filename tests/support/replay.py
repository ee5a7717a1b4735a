# SPDX-License-Identifier: Apache-2.0
"""The state of the network at an instant. It is rebuilt from the events of a timeline, as in the guest."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import TraceError

_Ends = tuple[str, str]


@dataclass
class Replay:
    """The state of a network after some of the events.

    nodes: The kind of each node.
    links: Whether each link is up. The key is the pair of names in the order of the link's first event.
    delay_ns, rate_bps, sigma_ns, loss_ratio: The values of each direction (sender, receiver), from events or from
        tables.
    queue: The queue of each direction. It has the event's columns `queue, ecn, parameters` (a dict), `limit_pkts`,
        `limit_bytes`.
    next_hop: A dict from (node, destination host, path id) to the next hop. The path id is None, except if packets keep
        the path on which they started.
    path_id: A dict from (source host, destination host) to the path on which packets leave. None means no path.
    """

    by_path: bool = False
    nodes: dict[str, str] = field(default_factory=dict)
    links: dict[_Ends, bool] = field(default_factory=dict)
    delay_ns: dict[_Ends, int] = field(default_factory=dict)
    rate_bps: dict[_Ends, int | None] = field(default_factory=dict)
    sigma_ns: dict[_Ends, int] = field(default_factory=dict)
    loss_ratio: dict[_Ends, float] = field(default_factory=dict)
    queue: dict[_Ends, dict[str, Any]] = field(default_factory=dict)
    next_hop: dict[tuple[str, str, int | None], str] = field(default_factory=dict)
    path_id: dict[_Ends, int | None] = field(default_factory=dict)

    def apply(self, event: dict[str, Any]) -> None:
        """Apply one event (a row of the timeline).

        Raises TraceError if the event names a node or link that does not exist.
        """
        kind = event["event"]
        if kind == "node":
            self.nodes[event["a"]] = event["kind"]
            return
        if kind == "route":
            self._route(event)
            return
        ends = (event["a"], event["b"])
        if not self.nodes.keys() >= set(ends):
            raise TraceError(f"replaying a timeline: {kind} at {event['t_ns']} ns between {ends}, which are no nodes")
        if kind == "link":
            self.links[ends] = event["up"]
        elif kind == "path":
            self.path_id[ends] = event["path_id"]
        else:
            # All events of queues and tables are at time 0. The link of a queue or a table may come up after time 0.
            if kind not in ("queue", "capacity", "channel") and ends not in self.links and ends[::-1] not in self.links:
                raise TraceError(f"replaying a timeline: {kind} at {event['t_ns']} ns on {ends}, which is no link")
            if kind == "queue":
                self.queue[ends] = {name: event[name] for name in _QUEUE} | {
                    "parameters": json.loads(event["parameters"])
                }
            for name in _VALUES.get(kind, ()):
                getattr(self, name)[ends] = event[name]

    def is_up(self, a: str, b: str) -> bool:
        """Return whether the link between two nodes is up. The names can be in either order."""
        return self.links.get((a, b), False) or self.links.get((b, a), False)

    def walk(self, source: str, destination: str) -> list[str] | None:
        """Return the nodes on a packet's path from host to host, including both hosts. None means that the packet does
        not arrive.

        Raises TraceError if the packet would loop.
        """
        path_id = self.path_id.get((source, destination)) if self.by_path else None
        nodes = [source]
        while nodes[-1] != destination:
            here = nodes[-1]
            # Under every in-flight rule, two kinds of entries have no path id: entries of hosts, and entries of the
            # node before the destination host (`Forwarding.attach_hosts`).
            after = self.next_hop.get((here, destination, path_id), self.next_hop.get((here, destination, None)))
            if after is None or not self.is_up(here, after):
                return None
            # Each node of a path is closer to the destination than the previous one (`routes.paths`), so a loop is a
            # mistake in the timeline.
            if after in nodes:
                raise TraceError(f"replaying a timeline: packets for {destination} loop: {' > '.join([*nodes, after])}")
            nodes.append(after)
        return nodes

    def _route(self, event: dict[str, Any]) -> None:
        if event["node"] not in self.nodes:
            where = f"{event['t_ns']} ns on {event['node']}"
            raise TraceError(f"replaying a timeline: a route at {where}, which is no node")
        # Entries are stored by path only under the rule `source`. All other rules ignore the path id of an event.
        key = (event["node"], event["destination"], event["path_id"] if self.by_path else None)
        if event["next_hop"] is None:
            self.next_hop.pop(key, None)
        else:
            self.next_hop[key] = event["next_hop"]


def replayed(table: pa.Table, until_ns: int, *, by_path: bool = False) -> Replay:
    """Return the network after all events up to and including an instant.

    by_path: True if nodes forward by path (``in_flight = "source"``). False if they forward only by destination.
    """
    state = Replay(by_path=by_path)
    links = table.filter(pc.field("event") == "link").select(["a", "b"]).to_pylist()
    joined = {frozenset(link.values()) for link in links}
    # The events of a timeline are sorted by time and rank, which is the order in which the guest applies them.
    table = table.filter(pc.field("t_ns") <= until_ns)
    in_table = pc.field("event").isin(["capacity", "channel"])
    for event in table.filter(~in_table).to_pylist():
        state.apply(event)
    # A direction may have millions of rows. Only the last row up to `until_ns` is applied.
    rows = table.filter(in_table)
    rows = rows.append_column("number", pa.array(np.arange(len(rows))))
    last = rows.group_by(["event", "a", "b"]).aggregate([("number", "max")])["number_max"]
    for event in rows.take(last.sort()).to_pylist():
        ends = event["a"], event["b"]
        # A table begins at time 0, but its link may come up later. The rows of tables are therefore applied last.
        if frozenset(ends) not in joined:
            raise TraceError(
                f"replaying a timeline: {event['event']} at {event['t_ns']} ns on {ends}, which is no link"
            )
        state.apply(event)
    return state


_VALUES = {
    "delay": ("delay_ns",),
    "rate": ("rate_bps",),
    "jitter": ("sigma_ns",),
    "loss": ("loss_ratio",),
    "capacity": ("rate_bps",),
    "channel": ("delay_ns", "loss_ratio"),
}
_QUEUE = ("queue", "ecn", "limit_pkts", "limit_bytes")
