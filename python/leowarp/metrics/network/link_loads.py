# SPDX-License-Identifier: Apache-2.0
"""The load of each link direction over time, its queue, and its drops.

For the traffic of a link, a trace contains only the sum over the whole run (`linktotals`). The load over time is
computed from the flows' traffic. Every packet is counted at its sending time (table `bins`), on every link of the
flow's path at this time. If a link drops a packet, the packet is not counted on later links (table `drops`). A packet
is counted about a tenth of a second too early, because it takes this time to travel from its source to the link. A
packet that waits in the queue of a full link is also counted too early. In a time step, the load may therefore exceed
the rate. Summed over a whole run, the computed load equals the totals in `linktotals`, except for two kinds of packets.
Packets sent shortly before a route change may take another path, and some packets belong to no flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import LinkValues, link_values
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import DATA, Tables, floats

# In addition to IP, Ethernet has 14 header bytes, and TCP with timestamps has 32. UDP and ICMP echo have 8 each. The
# link's load needs the header bytes, because `sent_bytes` counts only payload.
_HEADERS_BYTES = {"tcp": 46}
_OTHER_HEADERS_BYTES = 22

_ROWS_AT_ONCE = 1 << 18


def link_loads(
    tables: Tables, flows: Sequence[Any], end_ns: int, step_ns: int, ip_header_bytes: int = 20
) -> pd.DataFrame:
    """Return the load, longest queue and drops of each link direction in each time step. A step is left out if it has
    no traffic, no queued packets and no drops.

    flows: The flows of the plan and of programs' connections (`Run.observed_plan.flows`).
    step_ns: The length of a step, a whole multiple of the 50 ms of `bins`.
    Returns: DataFrame, sorted by direction and step. `direction`, `step` (int64). `busy_ratio`: bits of the packets
        sent in this step over the direction, divided by the bits that the rate allows. The ratio is nan if the
        direction has no rate limit or the run recorded no bins. The ratio is above 1 if the packets have more bits than
        the rate allows. `queue_max_pkts`: largest number of queued packets (nan: the run sampled no queues).
        `dropped_pkts`: number of packets that the link itself dropped.
    """
    steps = -(-end_ns // step_ns)
    bits = _carried_bits(tables, flows, step_ns, steps, ip_header_bytes)
    queues = _longest_queues(tables, step_ns, steps)
    dropped = _dropped(tables, step_ns, steps)
    counted = tables.has("bins") and "sent_bytes" in tables.bins
    sampled = tables.has("links")
    edges_ns = np.minimum(np.arange(steps + 1) * step_ns, end_ns)
    pieces = []
    nothing = np.zeros(steps)
    for direction in sorted({*bits, *queues, *dropped}):
        carried = bits.get(direction, nothing)
        queue, drops = queues.get(direction, nothing), dropped.get(direction, nothing)
        place = np.flatnonzero((carried > 0) | (queue > 0) | (drops > 0))
        capacity = _capacity_bits(link_values(tables), tables.directions[direction][:2], edges_ns)
        pieces.append(pd.DataFrame({
            "direction": direction, "step": place,
            "busy_ratio": carried[place] / capacity[place] if counted else np.nan,
            "queue_max_pkts": queue[place] if sampled else np.nan,
            "dropped_pkts": drops[place].astype("int64"),
        }))  # fmt: skip
    return pd.concat([_EMPTY, *pieces], ignore_index=True) if pieces else _EMPTY.copy()


def _carried_bits(
    tables: Tables, flows: Sequence[Any], step_ns: int, steps: int, ip_header_bytes: int
) -> dict[int, np.ndarray]:
    """Return the bits sent over each direction in each step of time, as the module's docstring counts them."""
    sent = tables.bins
    if len(sent) == 0 or "sent_bytes" not in sent:
        return {}
    beside_ip = [_HEADERS_BYTES.get(flow.kind, _OTHER_HEADERS_BYTES) for flow in flows]
    headers = np.array(beside_ip, dtype="int64") + ip_header_bytes
    pairs = _Pairs(flows)
    pair_of = pairs.of(sent["flow"].to_numpy(), sent["direction"].to_numpy())
    lost = tables.drops
    # Packets without a flow (neighbour discovery, resets of an unknown port) are left out, because `bins` does not
    # contain them.
    lost = lost[lost["flow"].notna().to_numpy() & lost["direction"].notna().to_numpy()]
    flow = lost["flow"].to_numpy(dtype="int64")
    length = floats(lost["len_bytes"]) if "len_bytes" in lost else np.zeros(len(lost))
    gone = pd.DataFrame({
        "pair": pairs.of(flow, floats(lost["flow_direction"])),
        "t_ns": lost["t_ns"].to_numpy(dtype="int64"),
        "direction": lost["direction"].to_numpy(dtype="int64"),
        "bits": 8 * (length + headers[flow]),
    })  # fmt: skip
    found: dict[int, np.ndarray] = {}
    for pair in np.flatnonzero(np.bincount(pair_of)):
        ways = _Ways(tables, pairs.names[pair])
        mine = np.flatnonzero(pair_of == pair)
        # There may be millions of rows, so only a part of the rows is copied at a time. Sums of whole bits are exact.
        for begin in range(0, len(mine), _ROWS_AT_ONCE):
            rows = sent.iloc[mine[begin : begin + _ROWS_AT_ONCE]]
            beside = headers[rows["flow"].to_numpy()]
            bits = 8 * (floats(rows["sent_bytes"]) + floats(rows["sent_pkts"]) * beside)
            ways.add(found, rows["t_ns"].to_numpy(dtype="int64"), bits, step_ns, steps)
        ways.take(found, gone[gone["pair"] == pair], step_ns, steps)
    for bits in found.values():
        for step in range(steps - 1, 0, -1):
            # A negative sum means that a packet was dropped in this step, but sent in the previous step.
            if bits[step] < 0:
                bits[step - 1 : step + 1] += (bits[step], -bits[step])
    return found


class _Pairs:
    """A map from a packet's flow and direction to the index of its ordered pair of stations."""

    def __init__(self, flows: Sequence[Any]) -> None:
        there = [(flow.source, flow.destination) for flow in flows]
        self.names: list[Pair] = list(dict.fromkeys([*there, *((b, a) for a, b in there)]))
        number = {pair: place for place, pair in enumerate(self.names)}
        self._there = np.array([number[pair] for pair in there], dtype="int32")
        self._back = np.array([number[b, a] for a, b in there], dtype="int32")

    def of(self, flow: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return np.where(direction == DATA, self._there[flow], self._back[flow])


class _Ways:
    """The paths of a pair of stations over time. A path is a list of direction numbers."""

    def __init__(self, tables: Tables, pair: Pair) -> None:
        routes = pair_routes(tables, pair)
        self._t_ns = routes["t_ns"].to_numpy(dtype="int64")
        self._links = [[tables.direction_of(*link) for link in tables.links_of(path)] for path in routes["path"]]

    def _at(self, t_ns: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._t_ns, t_ns, side="right") - 1

    def add(
        self, found: dict[int, np.ndarray], sent_ns: np.ndarray, bits: np.ndarray, step_ns: int, steps: int
    ) -> None:
        """Add each packet's bits to every link of the path in force at its sending time."""
        row = self._at(sent_ns)
        step = sent_ns // step_ns
        for place in np.flatnonzero(np.bincount(row[row >= 0])):
            mine = row == place
            each = np.bincount(step[mine], weights=bits[mine], minlength=steps)[:steps]
            for direction in self._links[place]:
                if direction is not None:
                    found.setdefault(direction, np.zeros(steps))[:] += each

    def take(self, found: dict[int, np.ndarray], gone: pd.DataFrame, step_ns: int, steps: int) -> None:
        """Subtract the bits of dropped packets from the link that drops them, and from the later links of the path."""
        if len(gone) == 0:
            return
        rows = gone.assign(row=self._at(gone["t_ns"].to_numpy()), step=gone["t_ns"].to_numpy() // step_ns)
        sums = rows.groupby(["row", "direction", "step"])["bits"].sum()
        for (row, direction, step), bits in sums.items():  # type: ignore[misc]
            # `row` is the index of the path that was valid when the packet was dropped. If the path lacks the link that
            # dropped the packet, the latest earlier path with this link is used.
            for place in range(int(row), -1, -1):
                if direction in self._links[place]:
                    for behind in self._links[place][self._links[place].index(direction) :]:
                        # Bins end with the run, so a drop after the end is ignored.
                        if behind in found and step < steps:
                            found[behind][int(step)] -= bits
                    break


def _longest_queues(tables: Tables, step_ns: int, steps: int) -> dict[int, np.ndarray]:
    found = {}
    edges_ns = np.arange(steps) * step_ns
    number = tables.links["direction"].to_numpy(dtype="int64")
    for direction in np.unique(number):
        rows = tables.links[number == direction]
        t_ns = rows["t_ns"].to_numpy(dtype="int64")
        waiting = floats(rows["queue_pkts"])
        # The table has a row only where the queue changed. The value of a row is valid until the next row.
        most = step_at(t_ns, waiting, edges_ns, 0.0)
        peak = floats(rows["queue_max_pkts"])
        # `queue_max_pkts` is the maximum since the previous sample. If a sample is at the border between two steps, its
        # maximum belongs to the earlier step.
        place = np.maximum(t_ns - 1, 0) // step_ns
        inside = place < steps
        np.maximum.at(most, place[inside], np.where(np.isnan(peak), waiting, peak)[inside])
        found[int(direction)] = most
    return found


def _dropped(tables: Tables, step_ns: int, steps: int) -> dict[int, np.ndarray]:
    drops = tables.drops[tables.drops["direction"].notna().to_numpy()]
    direction = drops["direction"].to_numpy(dtype="int64")
    step = drops["t_ns"].to_numpy(dtype="int64") // step_ns
    return {int(each): np.bincount(step[direction == each], minlength=steps)[:steps] for each in np.unique(direction)}


def _capacity_bits(links: LinkValues, link: Pair, edges_ns: np.ndarray) -> np.ndarray:
    whole = links.capacity_bits(*link, edges_ns)
    # A link that is built within a step is treated as if its rate had been set at the start of the step.
    late = links.rate_bps(*link, edges_ns[1:] - 1) * np.diff(edges_ns) / 1e9
    return np.where(np.isnan(whole), late, whole)


_EMPTY = pd.DataFrame({
    "direction": pd.Series(dtype="int64"), "step": pd.Series(dtype="int64"), "busy_ratio": pd.Series(dtype="float64"),
    "queue_max_pkts": pd.Series(dtype="float64"), "dropped_pkts": pd.Series(dtype="int64"),
})  # fmt: skip
