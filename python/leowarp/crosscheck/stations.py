# SPDX-License-Identifier: Apache-2.0
"""The times and sizes of the packets on a station's link, and the time of the last arrival. All are reconstructed from
stored packets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leowarp.base.nodes import host_node
from leowarp.crosscheck.changes import hosts_of_flow
from leowarp.crosscheck.network import Link
from leowarp.metrics.inputs.tables import DATA
from leowarp.trace.schema.packets import QUEUE

if TYPE_CHECKING:
    from leowarp.results.run import Run

# Header lengths: IPv4 without options, UDP, and ICMP.
_IP_BYTES, _UDP_BYTES, _ICMP_BYTES = 20, 8, 8
_TCP_BYTES, _TIMESTAMP_BYTES = 20, 12


class Stations:
    """The packets of a run that stored all of them (`observe.packets = "all"`), by the station at which they entered
    the network."""

    def __init__(self, run: Run) -> None:
        self._plan = run.observed_plan
        self._tables = run.tables

    @cached_property
    def packets(self) -> pd.DataFrame:
        """The table `packets`, sorted by the time of sending, with the nodes of both hosts as `source` and `target`."""
        packets = self._tables.packets.copy()
        keys = list(zip(packets["flow"], packets["direction"], strict=True))
        ends = {key: hosts_of_flow(self._plan, int(key[0]), int(key[1])) for key in set(keys)}
        packets["source"] = [ends[key][0] for key in keys]
        packets["target"] = [ends[key][1] for key in keys]
        return packets.sort_values("sent_ns", kind="stable")

    def refused(self, packets: pd.DataFrame, link: Link) -> np.ndarray:
        """Return a mask of the packets that the queue of the link refused."""
        at_link = packets["drop_direction"] == self._tables.direction_of(*link)
        return (at_link & (packets["drop_cause"] == QUEUE)).to_numpy()

    def sent(self, link: Link, host: str, from_ns: int, until_ns: int) -> pd.DataFrame:
        """Return the packets to a host that reached the link's station and its queue within a time interval."""
        packets = self.packets
        sent_ns = packets["sent_ns"].to_numpy()
        at_station = (packets["source"] == host_node(link[0])).to_numpy() & (packets["target"] == host).to_numpy()
        mine = packets[at_station & (sent_ns >= from_ns) & (sent_ns < until_ns)]
        return mine[~self.refused(mine, link)]

    def on_link(self, sent: pd.DataFrame) -> pd.DataFrame | None:
        """Return the packets with their bytes on a ground link as `link_bytes`, or None if a size is unknown."""
        headers = {key: self._header_bytes(*key) for key in set(zip(sent["flow"], sent["direction"], strict=True))}
        known = {key: header for key, header in headers.items() if header is not None}
        if len(known) < len(headers):
            return None
        header_bytes = [known[key] for key in zip(sent["flow"], sent["direction"], strict=True)]
        return sent.assign(link_bytes=sent["len_bytes"].to_numpy(dtype="int64") + np.array(header_bytes, dtype="int64"))

    def _header_bytes(self, flow: int, direction: int) -> int | None:
        planned = self._plan.flows[flow]
        below_bytes = self._plan.ground.overhead_bytes + _IP_BYTES
        if planned.kind == "udp":
            return below_bytes + _UDP_BYTES
        if planned.kind == "ping":
            return below_bytes + _ICMP_BYTES
        # The size of an acknowledgement is unknown, because its TCP options vary in length.
        if planned.kind != "tcp" or direction != DATA:
            return None
        sysctl = next(host.sysctl for host in self._plan.hosts if host.name == planned.source)
        stamped = sysctl["net.ipv4.tcp_timestamps"] != "0"
        return below_bytes + _TCP_BYTES + (_TIMESTAMP_BYTES if stamped else 0)


@dataclass(frozen=True)
class Queue:
    """The packets that a link still has when a node stops using this link.

    waiting_pkts, waiting_bytes: The packets whose transmission had not begun, with the link's overhead.
    all_arrived_ns, begun_arrived_ns: The arrival at the far end of the last packet, and of the last packet whose
        transmission had begun. If there is no such packet, the time is 0.
    """

    waiting_pkts: int
    waiting_bytes: int
    all_arrived_ns: int
    begun_arrived_ns: int


def queue_at(
    sent: pd.DataFrame, at_ns: int, rate_bps: int | None, delay_ns: int, former_ns: int, marker_bytes: int | None = None
) -> Queue:
    """Return the queue of a link to which no packets are sent from the instant `at_ns` on.

    sent: The packets that the queue of the link accepted, in order: `sent_ns` and `link_bytes`.
    rate_bps: None means that transmission takes no time.
    delay_ns, former_ns: The delay of the link from `at_ns` on, and before. A packet gets the delay that the link has at
        the end of the packet's transmission. Packets do not overtake each other.
    marker_bytes: The size of a marker that is sent last. It counts for `all_arrived_ns` and `begun_arrived_ns`.
    """

    def sent_ns_of(link_bytes: int) -> int:
        # The transmission time is rounded to the nearest ns.
        return 0 if rate_bps is None else (link_bytes * 8_000_000_000 + rate_bps // 2) // rate_bps

    busy_ns = arrived_ns = begun_ns = begun_arrived_ns = waiting_pkts = waiting_bytes = 0
    for sent_ns, link_bytes in zip(sent["sent_ns"].tolist(), sent["link_bytes"].tolist(), strict=True):
        start_ns = max(sent_ns, busy_ns)
        busy_ns = start_ns + sent_ns_of(link_bytes)
        arrived_ns = max(arrived_ns, busy_ns + (former_ns if busy_ns <= at_ns else delay_ns))
        if start_ns <= at_ns:
            begun_ns, begun_arrived_ns = busy_ns, arrived_ns
        else:
            waiting_pkts += 1
            waiting_bytes += link_bytes
    if marker_bytes is not None:
        marker_ns = sent_ns_of(marker_bytes) + delay_ns
        arrived_ns = max(arrived_ns, max(busy_ns, at_ns) + marker_ns)
        begun_arrived_ns = max(begun_arrived_ns, max(begun_ns, at_ns) + marker_ns)
    return Queue(waiting_pkts, waiting_bytes, arrived_ns, begun_arrived_ns)
