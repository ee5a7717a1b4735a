# SPDX-License-Identifier: Apache-2.0
"""Use of each direction of a link over time, waiting packets, and drops.

A trace counts what a link carried only over the whole run (`linktotals`). Load over time is computed from the flows'
traffic. Every packet is counted in the bin of its sending time (`bins`), on every link of the path in force then. Links
behind the one that dropped the packet (`drops`) are excluded. The load therefore appears too early, by the packet's
time to the link, about a tenth of a second. Packets waiting at a full link are counted before they are sent, so a step
may contain more than the rate can carry. Over a run the sums equal those of `linktotals`, except for packets sent
around a route change or
belonging to no flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import LinkValues
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import DATA, Tables, floats

# Ethernet 14, IPv4 20, TCP 20 and its timestamps 12; for UDP and ICMP echo 8. `sent_bytes` is payload.
_HEADERS_BYTES = {"tcp": 66}
_OTHER_HEADERS_BYTES = 42


def link_loads(tables: Tables, flows: Sequence[Any], links: LinkValues, end_ns: int, step_ns: int) -> pd.DataFrame:
    """Load, longest queue and drops of each direction of a link, for each step in which any of them occurred.

    flows: The flows with the trace's numbers (`Run.observed_plan.flows`).
    links: Values of the tables' timeline.
    step_ns: Length of a step, a whole multiple of the 50 ms of `bins`.
    Returns: DataFrame, ordered by direction and step. `direction`, `step` (int64). `busy_ratio`: bits of the packets
        sent onto a path over it, divided by what its rate can carry in a step (nan: unshaped, or the run recorded no
        bins; above 1: more was sent). `queue_max_pkts`: maximum of waiting packets (nan: the run sampled no queues).
        `dropped_pkts`: drops by the link itself.
    """
    steps = -(-end_ns // step_ns)
    bits = _carried_bits(tables, flows, step_ns, steps)
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
        capacity = _capacity_bits(links, tables.directions[direction][:2], edges_ns)
        pieces.append(pd.DataFrame({
            "direction": direction, "step": place,
            "busy_ratio": carried[place] / capacity[place] if counted else np.nan,
            "queue_max_pkts": queue[place] if sampled else np.nan,
            "dropped_pkts": drops[place].astype("int64"),
        }))  # fmt: skip
    return pd.concat([_EMPTY, *pieces], ignore_index=True) if pieces else _EMPTY.copy()


def _carried_bits(tables: Tables, flows: Sequence[Any], step_ns: int, steps: int) -> dict[int, np.ndarray]:
    """Bits sent over each direction in each step, by sending time. Packets dropped before that direction are left
    out."""
    sent = tables.bins
    if len(sent) == 0 or "sent_bytes" not in sent:
        return {}
    headers = np.array([_HEADERS_BYTES.get(flow.kind, _OTHER_HEADERS_BYTES) for flow in flows], dtype="int64")
    pairs = _Pairs(flows)
    number = sent["flow"].to_numpy(dtype="int64")
    frame = pd.DataFrame({
        "pair": pairs.of(number, sent["direction"].to_numpy()),
        "t_ns": sent["t_ns"].to_numpy(dtype="int64"),
        "bits": 8 * (floats(sent["sent_bytes"]) + floats(sent["sent_pkts"]) * headers[number]),
    })  # fmt: skip
    lost = tables.drops
    # Packets of no flow (neighbour discovery, resets of an unknown port) are not in bins either.
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
    for pair in np.unique(frame["pair"]):
        ways = _Ways(tables, pairs.names[pair])
        ways.add(found, frame[frame["pair"] == pair], step_ns, steps)
        ways.take(found, gone[gone["pair"] == pair], step_ns, steps)
    for bits in found.values():
        for step in range(steps - 1, 0, -1):
            # The packet was dropped in the step after that of its sending.
            if bits[step] < 0:
                bits[step - 1 : step + 1] += (bits[step], -bits[step])
    return found


class _Pairs:
    """Index of the ordered pair of stations, by flow and direction of its packets."""

    def __init__(self, flows: Sequence[Any]) -> None:
        there = [(flow.source, flow.destination) for flow in flows]
        self.names: list[Pair] = list(dict.fromkeys([*there, *((b, a) for a, b in there)]))
        number = {pair: place for place, pair in enumerate(self.names)}
        self._there = np.array([number[pair] for pair in there], dtype="int64")
        self._back = np.array([number[b, a] for a, b in there], dtype="int64")

    def of(self, flow: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return np.where(direction == DATA, self._there[flow], self._back[flow])


class _Ways:
    """The paths of one pair over time, as direction numbers."""

    def __init__(self, tables: Tables, pair: Pair) -> None:
        routes = pair_routes(tables, pair)
        self._t_ns = routes["t_ns"].to_numpy(dtype="int64")
        self._links = [[tables.direction_of(*link) for link in tables.links_of(path)] for path in routes["path"]]

    def _at(self, t_ns: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._t_ns, t_ns, side="right") - 1

    def add(self, found: dict[int, np.ndarray], sent: pd.DataFrame, step_ns: int, steps: int) -> None:
        """Add the sent bits to every link of the path in force at that time."""
        row = self._at(sent["t_ns"].to_numpy())
        step = sent["t_ns"].to_numpy() // step_ns
        for place in np.unique(row[row >= 0]):
            mine = row == place
            each = np.bincount(step[mine], weights=sent["bits"].to_numpy()[mine], minlength=steps)[:steps]
            for direction in self._links[place]:
                if direction is not None:
                    found.setdefault(direction, np.zeros(steps))[:] += each

    def take(self, found: dict[int, np.ndarray], gone: pd.DataFrame, step_ns: int, steps: int) -> None:
        """Subtract dropped bits, from the dropping link on."""
        if len(gone) == 0:
            return
        rows = gone.assign(row=self._at(gone["t_ns"].to_numpy()), step=gone["t_ns"].to_numpy() // step_ns)
        sums = rows.groupby(["row", "direction", "step"])["bits"].sum()
        for (row, direction, step), bits in sums.items():  # type: ignore[misc]
            # The path in force at the drop. If it lacks the link, the latest earlier path that has it.
            for place in range(int(row), -1, -1):
                if direction in self._links[place]:
                    for behind in self._links[place][self._links[place].index(direction) :]:
                        # Packets sent after the end of the run are in no bin.
                        if behind in found and step < steps:
                            found[behind][int(step)] -= bits
                    break


def _longest_queues(tables: Tables, step_ns: int, steps: int) -> dict[int, np.ndarray]:
    """Maximum of waiting packets at each direction in each step."""
    found = {}
    edges_ns = np.arange(steps) * step_ns
    number = tables.links["direction"].to_numpy(dtype="int64")
    for direction in np.unique(number):
        rows = tables.links[number == direction]
        t_ns = rows["t_ns"].to_numpy(dtype="int64")
        waiting = floats(rows["queue_pkts"])
        # There are rows only where something changed; the previous value holds until then.
        most = step_at(t_ns, waiting, edges_ns, 0.0)
        peak = floats(rows["queue_max_pkts"])
        # The maximum covers the time since the previous sample, so it also belongs to the step that ends with the
        # sample.
        place = np.maximum(t_ns - 1, 0) // step_ns
        inside = place < steps
        np.maximum.at(most, place[inside], np.where(np.isnan(peak), waiting, peak)[inside])
        found[int(direction)] = most
    return found


def _dropped(tables: Tables, step_ns: int, steps: int) -> dict[int, np.ndarray]:
    """Packets dropped by each direction in each step, for any cause."""
    drops = tables.drops[tables.drops["direction"].notna().to_numpy()]
    direction = drops["direction"].to_numpy(dtype="int64")
    step = drops["t_ns"].to_numpy(dtype="int64") // step_ns
    return {int(each): np.bincount(step[direction == each], minlength=steps)[:steps] for each in np.unique(direction)}


def _capacity_bits(links: LinkValues, link: Pair, edges_ns: np.ndarray) -> np.ndarray:
    """Bits that a direction can carry in each step; nan: the direction was unshaped throughout."""
    whole = links.capacity_bits(*link, edges_ns)
    # A link built within a step has no rate before that. It is treated as if it had its rate from the start of the
    # step.
    late = links.rate_bps(*link, edges_ns[1:] - 1) * np.diff(edges_ns) / 1e9
    return np.where(np.isnan(whole), late, whole)


_EMPTY = pd.DataFrame({
    "direction": pd.Series(dtype="int64"), "step": pd.Series(dtype="int64"), "busy_ratio": pd.Series(dtype="float64"),
    "queue_max_pkts": pd.Series(dtype="float64"), "dropped_pkts": pd.Series(dtype="int64"),
})  # fmt: skip
