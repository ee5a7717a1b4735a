# SPDX-License-Identifier: Apache-2.0
"""Check that no flow delivers more during its life than its last link with a rate limit carried. If a flow delivers
more than the link carried, the run is invalid, and `check_carried` raises an error.

Every packet that arrives has passed the last link with a rate limit during the flow's life. The payload with its
headers has two upper limits during the flow's life. The first limit is the data that the link can carry at its rate.
The second limit is the data that the link counted. The check covers the whole life of a flow. In a short window, a flow
may deliver more than the link carried. The reason: when a missing packet arrives, all data that waited for it count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leowarp.base.errors import TraceError
from leowarp.base.nodes import host_node
from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import link_values
from leowarp.metrics.inputs.tables import DATA, Tables, floats, rows_of_event
from leowarp.metrics.per_flow.goodput import Life, arrived, life, payload_bytes
from leowarp.metrics.sharing.capacity import ETHERNET_BYTES

_HEADER_BYTES = {"tcp": 20}
_OTHER_HEADER_BYTES = 8
"""The smallest header behind the IP header, in bytes: 20 for TCP without options, and 8 for UDP and ICMP echo."""

_ROUNDING_NS = 1
"""The tolerance per packet. Queueing disciplines send packets at whole nanoseconds, and netem rounds the transmission
time down."""


def check_carried(tables: Tables, flows: Sequence[Any], end_ns: int, ip_bytes: int, ip_header_bytes: int = 20) -> None:
    """Check every flow of a run.

    ip_bytes, ip_header_bytes: The length of a full packet (`network.mtu`), and of its IP header.
    Raises TraceError if a flow delivered more than its last link carried. The message lists all of these flows.
    """
    last = _LastLinks(tables, ip_bytes)
    wrong = []
    for number, flow in enumerate(flows):
        lived = life(tables, number, flow, end_ns)
        load = _load(tables, number, flow.kind, lived, ip_bytes, ip_header_bytes)
        if load is None or load.payload_bytes == 0 or lived.stop_ns <= lived.start_ns:
            continue
        where, bits, overhead_bytes = last.carried(flow.source, flow.destination, lived, load)
        if load.link_bits(overhead_bytes) > bits:
            wrong.append(
                f"flow {number}: {load.payload_bytes:.0f} bytes of payload in "
                f"{(lived.stop_ns - lived.start_ns) / 1e9:g} s are at least {load.pkts:.0f} packets and "
                f"{load.link_bits(overhead_bytes) / 8:.0f} bytes, of which {where} carried {bits / 8:.0f} at most"
            )
    if wrong:
        raise TraceError(
            "flows delivered more than their last link carried, so no number can be trusted:\n  " + "\n  ".join(wrong),
            hint="this is a fault of leowarp or of a kernel of your own; please report it with the run directory",
        )


@dataclass(frozen=True)
class _Load:
    """The payload that a flow delivered during its life, with the smallest possible number of packets and headers."""

    payload_bytes: float
    pkts: float
    headers_bytes: int

    def link_bits(self, overhead_bytes: float) -> float:
        return 8 * (self.payload_bytes + self.pkts * (self.headers_bytes + overhead_bytes))


def _load(tables: Tables, number: int, kind: str, lived: Life, ip_bytes: int, ip_header_bytes: int) -> _Load | None:
    """Return the data that a flow delivered. None means that the amount is unknown, or that the flow is a program,
    whose connections are separate flows."""
    headers = ip_header_bytes + _HEADER_BYTES.get(kind, _OTHER_HEADER_BYTES)
    if kind == "program":
        return None
    if kind == "tcp":
        payload = payload_bytes(tables, number, lived)
        return None if payload is None else _Load(payload, math.ceil(payload / (ip_bytes - headers)), headers)
    came = arrived(tables, number, DATA, lived)
    return None if came is None else _Load(came.payload_bytes, came.pkts, headers)


class _LastLinks:
    """For each destination, the last link directions on the way that have a rate limit, and the bits that they
    carried."""

    def __init__(self, tables: Tables, ip_bytes: int) -> None:
        self._tables, self._links, self._ip_bytes = tables, link_values(tables), ip_bytes
        totals = tables.linktotals
        # netem is excluded, because it does not report offered packets, and its counter of delivered bytes restarts
        # when it discards its queue.
        own = totals["offered_pkts"].notna().to_numpy()
        counts = zip(totals["direction"][own], floats(totals["delivered_bytes"])[own], strict=True)
        self._counted_bytes = {int(direction): count for direction, count in counts}
        self._into: dict[str, list[str]] = {}
        for a, b, _ in tables.directions:
            self._into.setdefault(b, []).append(a)
        self._disciplines: dict[frozenset[str], Any] = {}
        if "discipline" in tables.timeline:
            ends_and_names = zip(*rows_of_event(tables.timeline, "link", "a", "b", "discipline"), strict=True)
            self._disciplines = {frozenset(ends): name for *ends, name in ends_and_names}
        self._reached: dict[str, frozenset[str]] = {}
        self._gates: dict[str, list[Pair]] = {}
        self._most: dict[tuple[Pair, int, int], tuple[float, float]] = {}

    def carried(self, source: str, destination: str, lived: Life, load: _Load) -> tuple[str, float, float]:
        """Return the links that a flow passed last, an upper limit on their bits during its life, and their least
        overhead in bytes. Without such links, the limit is infinite."""
        last = self._of(source, destination, lived)
        if not last:
            return "", math.inf, 0.0
        bits = sum(self._bits(link, lived, load) for link in last)
        # The kernel's own queueing disciplines count an Ethernet header, even if the link has another overhead.
        overhead = min(ETHERNET_BYTES, *(self._overhead_bytes(link) for link in last))
        where = f"{'>'.join(last[0])} alone" if len(last) == 1 else f"its {len(last)} last links together"
        return where, bits, overhead

    def _of(self, source: str, destination: str, lived: Life) -> list[Pair] | None:
        """For each possible path of a flow's packets, return the last link direction that has a rate limit. None means
        that no direction limits the packets."""
        paths = self._paths(source, destination, lived)
        if len(paths) == 1:
            taken = [link for link in self._tables.links_of(paths[0]) if self._links.is_shaped(*link)]
            if taken:
                return taken[-1:]
        # A packet in flight at a route change follows the routing tables of the nodes that it reaches. The packet's
        # last rate-limited link may therefore be on neither the old nor the new path.
        return self._to(destination, source)

    def _paths(self, source: str, destination: str, lived: Life) -> list[Any]:
        routes = pair_routes(self._tables, (source, destination))
        t_ns = routes["t_ns"].to_numpy(dtype="int64")
        first, end = np.searchsorted(t_ns, [lived.start_ns, lived.stop_ns], side="right")
        return list(dict.fromkeys(routes["path"].iloc[max(first - 1, 0) : end]))

    def _to(self, destination: str, source: str) -> list[Pair] | None:
        """Return the last directions with a rate limit on the way to a destination. After such a direction, a path
        without rate limits leads to the destination. None means that a path from the source to the destination may have
        no rate limit at all."""
        if destination not in self._gates:
            host = host_node(destination)
            reached, gates = [host if host in self._into else destination], []
            for node in reached:
                for before in self._into.get(node, []):
                    if self._links.is_shaped(before, node):
                        gates.append((before, node))
                    elif before not in reached:
                        reached.append(before)
            self._reached[destination], self._gates[destination] = frozenset(reached), gates
        is_open = not self._reached[destination].isdisjoint({source, host_node(source)})
        return None if is_open else self._gates[destination]

    def _bits(self, link: Pair, lived: Life, load: _Load) -> float:
        """Return an upper limit on the bits that a direction carried, which may be infinite."""
        key = (link, lived.start_ns, lived.stop_ns)
        if key not in self._most:
            self._most[key] = self._by_rate(link, lived)
        bits, highest_bps = self._most[key]
        direction = self._tables.direction_of(*link)
        counted = math.inf if direction is None else 8 * self._counted_bytes.get(direction, math.inf)
        return min(counted, bits + load.pkts * _ROUNDING_NS * highest_bps / 1e9)

    def _by_rate(self, link: Pair, lived: Life) -> tuple[float, float]:
        """Return how many bits a direction can carry during a flow's life, and its highest rate in this time. Without a
        limit, the number of bits is infinite."""
        links, (low, high) = self._links, (lived.start_ns, lived.stop_ns)
        instants = links.rate_instants_ns(*link)
        changes_ns = instants[(instants > low) & (instants < high)]
        rates = links.rate_bps(*link, np.append(low, changes_ns))
        discipline = self._disciplines.get(frozenset(link))
        # A packet that waits in netem is sent at the rate that was set when it arrived, so after a change of the rate
        # no limit can be computed.
        if np.isnan(rates).any() or (discipline == "netem" and len(np.unique(rates)) > 1):
            return math.inf, 0.0
        bits = float(links.capacity_bits(*link, np.array([low, high]))[0])
        # At each change of the rate, one additional packet is allowed. The packet that is being sent keeps the old
        # rate. The token bucket of a link with jitter is filled. With a capacity table, a new rate also applies to the
        # packet that is being sent. A change of the rate therefore allows no extra packet. In addition, one packet is
        # allowed for a token bucket that is full at the start.
        is_table = links.has_capacity_table(*link) and discipline != "jitter"
        packets = 1 + (0 if is_table else len(changes_ns))
        return bits + 8 * packets * (self._ip_bytes + self._overhead_bytes(link)), float(rates.max())

    def _overhead_bytes(self, link: Pair) -> float:
        told = self._tables.link_overheads_bytes.get(frozenset(link), math.nan)
        return ETHERNET_BYTES if math.isnan(told) else told
