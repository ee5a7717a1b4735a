# SPDX-License-Identifier: Apache-2.0
"""Follow packets over a timeline without a guest. At each hop, a packet uses the current route and the current state of
the link.

Sending a packet takes no time. A link loses packets whose transmission begins while its loss ratio is 1, and holds
packets while its capacity is 0. The packets of a link arrive in the order in which they were sent.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from support.replay import Replay


def arrivals_ns(timeline: pa.Table, start_ns: Sequence[int], begin: str, host: str) -> NDArray[np.float64]:
    """Send packets from the node `begin` at `start_ns`. Return the times in ns at which they arrive at the last node
    before the host. nan means a lost packet.

    timeline: The timeline. Its routes must not depend on a packet's source.
    start_ns: The times at which the packets are at `begin`, in order.
    """
    events, at, state = timeline.to_pylist(), 0, Replay()
    capacity: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
    for event in events:
        if event["event"] == "capacity":
            capacity.setdefault((event["a"], event["b"]), []).append((event["t_ns"], event["rate_bps"]))
    arrived_ns = np.full(len(start_ns), np.nan)
    last_ns: dict[tuple[str, str], int] = {}
    waiting = [(int(t_ns), number, number, begin) for number, t_ns in enumerate(start_ns)]
    heapq.heapify(waiting)
    pushed = len(waiting)
    while waiting:
        t_ns, _, number, node = heapq.heappop(waiting)
        while at < len(events) and events[at]["t_ns"] <= t_ns:
            state.apply(events[at])
            at += 1
        after = state.next_hop[node, host, None]
        if after == host or after.startswith("dish:"):
            arrived_ns[number] = t_ns
            continue
        link = node, after
        rows = capacity.get(link, [(0, None)])
        row = bisect_right([begun for begun, _ in rows], t_ns) - 1
        pushed += 1
        if rows[row][1] == 0:
            # Each node forwards packets in the order in which they arrive.
            heapq.heappush(waiting, (rows[row + 1][0], pushed, number, node))
        elif state.loss_ratio.get(link, 0.0) != 1.0:
            last_ns[link] = max(t_ns + state.delay_ns[link], last_ns.get(link, 0))
            heapq.heappush(waiting, (last_ns[link], pushed, number, after))
    return arrived_ns
