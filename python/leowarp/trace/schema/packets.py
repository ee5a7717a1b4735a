# SPDX-License-Identifier: Apache-2.0
"""The tables of packet truth. The tables contain stored packets, and the counts and losses of all packets."""

from leowarp.trace.schema.columns import (
    BOOL,
    BYTES,
    FLOW,
    I64,
    NS,
    PKTS,
    T_NS,
    U8,
    U31,
    U32,
    U64,
    Column,
    TableSchema,
    key,
)

DIRECTIONS = {0: "data", 1: "back"}
"""The directions of a flow: "data" is from its source to its destination, and "back" is the opposite direction (ACKs,
replies)."""

CAUSES = {1: "queue", 2: "loss", 3: "link_down", 4: "no_route", 5: "unknown"}
"""The causes of the loss of a packet."""

_DIRECTION_OF_FLOW = key(
    "direction", U8, "", "0: from the flow's source to its destination (data), 1: back (ACKs)", DIRECTIONS
)
_CAUSE = "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown"

PACKETS = TableSchema(
    "packets",
    "Packet",
    "Packet truth: when each stored packet was sent, and when it arrived or where and why it was lost.",
    (
        FLOW,
        _DIRECTION_OF_FLOW,
        key("sent_ns", I64, NS, "when it left the sending host's interface"),
        Column("received_ns", I64, NS, "when it reached the other host; null: lost, or in flight at the end"),
        Column("seq", U64, BYTES, "first payload byte, from the flow's start (tcp); number of the packet (ping, udp)"),
        Column("len_bytes", U31, BYTES, "payload"),
        Column("ack", U64, BYTES, "cumulative acknowledgement, bytes from the flow's start"),
        Column("is_retransmission", BOOL, "", "whether bytes of it were sent before"),
        Column("is_spurious", BOOL, "", "whether its original arrived too; null for first transmissions"),
        Column(
            "is_late", BOOL, "", "first transmission that arrived after any packet sent later, a retransmission too"
        ),
        Column(
            "extent_pkts", U31, PKTS,
            "arrivals since the first packet sent later, retransmissions counted; RFC 4737's extent counts first "
            "transmissions alone (`reordering`, `densities`); null: not late",
        ),
        Column("path_id", U31, "", "path on which it left, see 10-routes.parquet"),
        Column("drop_direction", U31, "", "direction of the link that lost it; null: not lost there"),
        Column("drop_cause", U8, "", _CAUSE + "; null: not lost", words=CAUSES),
        Column("stored_because", U8, "", "sum of: 1 inside a window, 2 late, 4 lost, 8 retransmission"),
    ),
)  # fmt: skip

# Recovery from a route change is computed from these bins of 50 ms. Goodput has fallen if a bin is below 90 % of the
# mean in the second before the change (docs/concepts/truth.md).
BINS = TableSchema(
    "bins",
    "Bin",
    "Packets of each flow and direction by 50 ms of the time at which they were sent; complete, whatever is stored.",
    (
        T_NS,
        FLOW,
        _DIRECTION_OF_FLOW,
        Column("sent_pkts", U32, PKTS, "sent"),
        Column("sent_bytes", U64, BYTES, "payload sent"),
        Column("delivered_pkts", U32, PKTS, "of those, arrived"),
        Column("delivered_bytes", U64, BYTES, "payload of those"),
        Column("lost_pkts", U32, PKTS, "of those, lost"),
        Column("late_pkts", U32, PKTS, "first transmissions that arrived after any packet sent later"),
        Column("retrans_pkts", U32, PKTS, "retransmissions sent"),
        Column("spurious_pkts", U32, PKTS, "retransmissions whose original arrived too"),
        Column("owd_min_ns", I64, NS, "smallest one-way delay; null: nothing arrived"),
        Column("owd_max_ns", I64, NS, "largest one-way delay; null: nothing arrived"),
        Column("owd_sum_ns", I64, NS, "sum of the one-way delays of delivered_pkts"),
    ),
)

# The guest counts every packet in a bin of its delay, although most packets are not stored. A percentile is therefore
# accurate to within a bin, even if `observe.packets` selects few packets.
DELAYS = TableSchema(
    "delays",
    "DelayBin",
    "Delays of all packets of each flow, counted in bins of at most 1/128 of the delay and 8.192 us; none is empty.",
    (
        FLOW,
        key(
            "quantity", U8, "",
            "one-way delay of 0 data, 1 packets back; 2 round trip (tcp): delay of data and of the first packet back "
            "that left once it had arrived, and arrived",
            {**DIRECTIONS, 2: "round_trip"},
        ),
        Column("lower_ns", I64, NS, "smallest delay of the bin; null: data packets that no packet back answered so"),
        Column("upper_ns", I64, NS, "end of the bin, which is not part of it; null as `lower_ns`"),
        key("pkts", U32, PKTS, "packets whose delay fell into the bin"),
    ),
)  # fmt: skip

DROPS = TableSchema(
    "drops",
    "Drop",
    "Every packet lost, ACKs and probes too: dropped on a link, or between links (no route, or unknown where).",
    (
        key("t_ns", I64, NS, "when it was dropped; if no link tells (`direction` null), when it was sent"),
        Column("direction", U31, "", "direction of the link that dropped it, numbered as in `links`; null: none tells"),
        Column("cause", U8, "", _CAUSE, words=CAUSES),
        Column("flow", U31, "", "flow it belonged to; null: none (for instance ARP)"),
        Column("flow_direction", U8, "", "0: data, 1: back; null: of no flow", words=DIRECTIONS),
        Column("seq", U64, BYTES, "first payload byte from the flow's start; null: unknown"),
        Column("len_bytes", U31, BYTES, "payload; null: unknown"),
    ),
)
