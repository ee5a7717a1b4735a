# SPDX-License-Identifier: Apache-2.0
"""Check every sent packet: it must have arrived, have been dropped with a cause, or be in flight. If a packet violates
this rule, the run is not a valid result, and `check_conservation` raises an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp.base.errors import TraceError
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import DATA, Tables, floats, truths
from leowarp.metrics.network.queues import DROP_STEMS
from leowarp.metrics.per_flow.delays import ROUND_TRIP, delays


@dataclass(frozen=True)
class Balance:
    """The balance of a link or a flow, in packets or bytes. `rule` is its equation in words."""

    what: str
    unit: str
    rule: str
    sent: int
    delivered: int
    dropped: int
    under_way: int

    @property
    def adds_up(self) -> bool:
        """Whether the balance holds. A negative number in flight breaks it."""
        return self.sent == self.delivered + self.dropped + self.under_way and self.under_way >= 0


def link_balances(tables: Tables) -> list[Balance]:
    """Return the balances of each link direction: one of packets and one of bytes, sorted by direction number.

    Some queueing disciplines, such as netem, do not report offered packets. A direction with such a discipline has no
    balance.
    """
    totals = tables.linktotals
    numbers = totals["direction"].to_numpy()
    order = np.argsort(numbers, kind="stable")
    directions = numbers[order].tolist()
    sums = ("offered", "delivered", *(f"dropped_{stem}" for stem in DROP_STEMS), "held")
    # Values are in lists, because a large network has 20,000 directions, and access to cells of a data frame is slow.
    rows = {
        unit: np.column_stack([floats(totals[f"{name}_{unit}"]) for name in sums])[order].tolist()
        for unit in ("pkts", "bytes")
    }
    return [
        Balance(
            what=f"link {tables.direction_name(direction)}",
            unit=unit,
            rule="offered = delivered + dropped + held",
            sent=int(offered),
            delivered=int(delivered),
            dropped=int(sum(dropped)),
            under_way=int(held),
        )
        for place, direction in enumerate(directions)
        for unit in rows
        for offered, delivered, *dropped, held in [rows[unit][place]]
        if not math.isnan(offered)
    ]


def flow_balances(tables: Tables) -> list[Balance]:
    """Return the packet balance of each flow in each direction, sorted by flow.

    The number in flight is sent minus delivered minus lost, and must not be negative. The balance cannot detect that
    the number in flight is too large.
    """
    return [
        Balance(
            what=f"flow {flow}, {'data' if direction == DATA else 'back'}",
            unit="pkts",
            rule="sent = delivered + lost + in flight",
            sent=sent,
            delivered=delivered,
            dropped=lost,
            under_way=sent - delivered - lost,
        )
        for (flow, direction), (sent, delivered, lost) in _sums(tables, "sent_pkts", "delivered_pkts", "lost_pkts")
    ]


def _sums(tables: Tables, *columns: str) -> list[tuple[tuple[int, int], list[int]]]:
    """Return the sums of `columns` of the table `bins` for each flow and direction."""
    bins = tables.bins
    flows, directions = bins["flow"].to_numpy(dtype="int64"), bins["direction"].to_numpy(dtype="int64")
    # Flow and direction are combined into one small integer, so that `bincount` can sum without sorting or grouping;
    # `divmod` separates them.
    keys = 2 * flows + directions
    # Sums of packets are exact in float64 up to 2^53.
    sums = [np.bincount(keys, weights=floats(bins[column])) for column in columns]
    return [(divmod(key, 2), [int(each[key]) for each in sums]) for key in np.flatnonzero(np.bincount(keys)).tolist()]


def check_conservation(tables: Tables) -> list[Balance]:
    """Return all balances of a run, of links and of flows.

    Raises TraceError if a balance does not hold, or if the tables contradict each other. The message lists all balances
    that do not hold, and all contradictions, because the reader needs them to see where packets were lost.
    """
    balances = link_balances(tables) + flow_balances(tables)
    wrong = [
        f"{b.what}: {b.rule} in {b.unit}: {b.sent} = {b.delivered} + {b.dropped} + {b.under_way} is not so"
        for b in balances
        if not b.adds_up
    ]
    wrong += _contradictions(tables)
    if wrong:
        raise TraceError(
            "the run does not add up, so none of its numbers can be trusted:\n  " + "\n  ".join(wrong),
            hint="this is a fault of leowarp or of a kernel of your own; please report it with the run directory",
        )
    return balances


def late_outside_changes(tables: Tables, change_instants_ns: np.ndarray, within_ns: int) -> pd.DataFrame:
    """Return the late packets (data or ACKs) for which no route change happened in the last `within_ns` before their
    arrival. On in-order links, no such packets should exist, because packets overtake only where two paths meet.

    change_instants_ns: The instants at which the path of any flow changed, in either direction, in any order.
    """
    late = tables.packets[truths(tables.packets["is_late"])]
    changes_ns, received_ns = np.sort(change_instants_ns), floats(late["received_ns"])
    # For a packet that arrives before the first change, the time since the last change is infinite.
    return late[received_ns - step_at(changes_ns, changes_ns, received_ns, -np.inf) > within_ns]


def _contradictions(tables: Tables) -> list[str]:
    """Return the contradictions between tables, one sentence each.

    Each compared number is counted twice by different code: at hosts and at links, or by the receiver's and the
    sender's TCP.
    """
    sentences = []
    if tables.knows_drops:
        drops = tables.drops
        keys = 2 * floats(drops["flow"]) + floats(drops["flow_direction"])
        names = dict(
            zip(*(each.tolist() for each in np.unique(keys[~np.isnan(keys)], return_counts=True)), strict=True)
        )
        for (flow, direction), (count,) in _sums(tables, "lost_pkts"):
            named = names.get(2 * flow + direction, 0)
            if named != count:
                way = "data" if direction == DATA else "back"
                sentences.append(f"flow {flow}, {way}: {count} packets lost, but the drop table names {named}")
    if tables.knows_drops and tables.has("linktotals"):
        # All packets are compared, not only those of flows: the links and the drop table both count dropped resets and
        # ACKs without a flow. netem counts its drops but does not identify the packets, so its drops are in the table
        # without a direction.
        telling = tables.linktotals["offered_pkts"].notna().to_numpy()
        counted = int(sum(floats(tables.linktotals[f"dropped_{stem}_pkts"])[telling].sum() for stem in DROP_STEMS))
        named = int(tables.drops["direction"].notna().sum())
        if counted != named:
            sentences.append(f"links count {counted} dropped packets, but the drop table has {named}")
    for flow in np.unique(tables.sockets["flow"].to_numpy()):
        samples = tables.of_flow("sockets", int(flow))
        read, acked = floats(samples["bytes_received"]), floats(samples["bytes_acked"])
        # Acknowledged bytes cannot exceed the bytes that the receiver's TCP received. `bytes_acked` counts the SYN as
        # one byte.
        known = ~np.isnan(read) & ~np.isnan(acked)
        if (acked[known] > read[known] + 1).any():
            sentences.append(f"flow {flow}: more bytes acknowledged than received in order")
        # `bytes_received` counts in-order data and never decreases. If `bytes_received` decreases between two samples,
        # the second sample belongs to another socket.
        if (np.diff(read[known]) < 0).any():
            sentences.append(f"flow {flow}: bytes_received went back")
    if tables.has("bins") and tables.has("packets"):
        sentences += _not_stored(tables)
    if tables.has("bins") and tables.has("delays"):
        sentences += _not_counted(tables)
    return sentences


def _not_counted(tables: Tables) -> list[str]:
    """Return one sentence for each flow with missing delays. Either arrived packets lack a one-way delay, or data
    packets lack a round trip."""
    # The bins of round trips do not include pings and UDP. The table `echoes` has the round trip of each ping.
    transfers = {int(flow) for flow in np.unique(tables.sockets["flow"].to_numpy())}
    sentences = []
    for (flow, direction), (delivered,) in _sums(tables, "delivered_pkts"):
        wanted = {direction: "one-way delays"}
        if direction == DATA and flow in transfers:
            wanted[ROUND_TRIP] = "round trips"
        for quantity, what in wanted.items():
            counted = delays(tables, flow, quantity)
            have = 0 if counted is None else counted.total_pkts + counted.unanswered_pkts
            if have != delivered:
                way = "data" if direction == DATA else "back"
                sentences.append(f"flow {flow}, {way}: {delivered} packets arrived, but {have} {what} were counted")
    return sentences


def _not_stored(tables: Tables) -> list[str]:
    """Return one sentence for each kind of packets of which the table `packets` lacks some."""
    packets = tables.packets
    flows, directions = packets["flow"].to_numpy(), packets["direction"].to_numpy()
    # The counts in `bins` cover all packets. `observe.packets` selects the packets that are stored individually.
    # Packets of the kinds in `kept` are always stored.
    kept = {
        "late_pkts": ("late packets", truths(packets["is_late"])),
        "lost_pkts": ("lost packets", packets["drop_cause"].notna().to_numpy()),
        "retrans_pkts": ("retransmissions", truths(packets["is_retransmission"])),
        "spurious_pkts": ("spurious retransmissions", truths(packets["is_spurious"])),
    }
    stored = {
        name: np.bincount(2 * flows[mine].astype("int64") + directions[mine].astype("int64"), minlength=1)
        for name, (_, mine) in kept.items()
    }
    return [
        f"flow {flow}: {count} {kept[name][0]} counted, {have} stored"
        for (flow, direction), counts in _sums(tables, *kept)
        for name, count in zip(kept, counts, strict=True)
        for have in [int(stored[name][2 * flow + direction]) if 2 * flow + direction < len(stored[name]) else 0]
        if have != count
    ]
