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
QUEUE, LOSS, LINK_DOWN, NO_ROUTE, UNKNOWN = CAUSES

_DIRECTION_OF_FLOW = key(
    "direction",
    U8,
    "",
    "0: from the flow's source to its destination (data), 1: the reverse direction (ACKs)",
    DIRECTIONS,
)
_CAUSE = "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown"

PACKETS = TableSchema(
    "packets",
    "Packet",
    "Packet truth: the sending time of each stored packet, and its arrival time or the place and cause of its loss.",
    (
        FLOW,
        _DIRECTION_OF_FLOW,
        key("sent_ns", I64, NS, "time at which it left the sending host's interface"),
        Column("received_ns", I64, NS, "time at which it reached the other host; null: lost, or in flight at the end"),
        Column("seq", U64, BYTES, "first payload byte, from the flow's start (tcp); number of the packet (ping, udp)"),
        Column("len_bytes", U31, BYTES, "length of the payload"),
        Column("ack", U64, BYTES, "cumulative acknowledgement, bytes from the flow's start"),
        Column("is_retransmission", BOOL, "", "whether any of its bytes were sent before"),
        Column("is_spurious", BOOL, "", "whether its bytes all arrived in earlier packets; null: first transmission"),
        Column(
            "is_late", BOOL, "",
            "whether it is a first transmission that arrived after a packet sent later (retransmissions included)",
        ),
        Column(
            "extent_pkts", U31, PKTS,
            "number of arrivals since the first arrival of a packet sent later, retransmissions included. RFC 4737's "
            "extent counts only first transmissions (`reordering`, `densities`); null: not late",
        ),
        Column("path_id", U31, "", "number of the path on which it left (`path_id` in 10-routes.parquet)"),
        Column("drop_direction", U31, "", "direction of the link that lost it; null: not lost on a link"),
        Column("drop_cause", U8, "", _CAUSE + "; null: not lost", words=CAUSES),
        Column("stored_because", U8, "", "sum of: 1 inside a window, 2 late, 4 lost, 8 retransmission"),
    ),
)  # fmt: skip

# Recovery from a route change is computed from these bins of 50 ms. Goodput has fallen if a bin is below 90 % of the
# mean in the second before the change (docs/concepts/truth.md).
BINS = TableSchema(
    "bins",
    "Bin",
    "All packets of each flow and direction, stored or not, counted in bins of 50 ms of their sending time.",
    (
        T_NS,
        FLOW,
        _DIRECTION_OF_FLOW,
        Column("sent_pkts", U32, PKTS, "packets sent"),
        Column("sent_bytes", U64, BYTES, "payload sent"),
        Column("delivered_pkts", U32, PKTS, "sent packets that arrived"),
        Column("delivered_bytes", U64, BYTES, "payload of the packets that arrived"),
        Column("lost_pkts", U32, PKTS, "sent packets that were lost"),
        Column("late_pkts", U32, PKTS, "first transmissions that arrived after a packet sent later"),
        Column("retrans_pkts", U32, PKTS, "retransmissions sent"),
        Column("spurious_pkts", U32, PKTS, "retransmissions whose bytes all arrived in earlier packets"),
        Column("owd_min_ns", I64, NS, "smallest one-way delay; null: nothing arrived"),
        Column("owd_max_ns", I64, NS, "largest one-way delay; null: nothing arrived"),
        Column("owd_sum_ns", I64, NS, "sum of the one-way delays of `delivered_pkts`"),
    ),
)

# The guest counts every packet in a bin of its delay, although most packets are not stored. A percentile is therefore
# accurate to within a bin, even if `observe.packets` selects few packets.
DELAYS = TableSchema(
    "delays",
    "DelayBin",
    "Delays of all packets of each flow, counted in bins that are at most 1/128 of the delay and 8.192 us wide; "
    "without empty bins.",
    (
        FLOW,
        key(
            "quantity", U8, "",
            "0 one-way delay of data, 1 one-way delay in the reverse direction, 2 round trip (tcp). A round trip is "
            "the delay of a data packet plus that of the first reverse packet that left after its arrival and arrived",
            {**DIRECTIONS, 2: "round_trip"},
        ),
        Column("lower_ns", I64, NS, "smallest delay of the bin; null: data packets without a known round trip"),
        Column("upper_ns", I64, NS, "end of the bin (exclusive); null if `lower_ns` is null"),
        key("pkts", U32, PKTS, "packets whose delay lies in the bin"),
    ),
)  # fmt: skip

DROPS = TableSchema(
    "drops",
    "Drop",
    "Every lost packet, including ACKs and probes: dropped on a link, or between links (no route, or unknown place).",
    (
        key("t_ns", I64, NS, "time of the drop; if no link reported it (`direction` is null), time of sending"),
        Column("direction", U31, "", "direction of the link that dropped it, as in `links`; null: no link reported it"),
        Column("cause", U8, "", _CAUSE, words=CAUSES),
        Column("flow", U31, "", "flow to which it belonged; null: no flow (for example ARP)"),
        Column("flow_direction", U8, "", "0: data, 1: the reverse direction; null: no flow", words=DIRECTIONS),
        Column("seq", U64, BYTES, "first payload byte from the flow's start; null: unknown"),
        Column("len_bytes", U31, BYTES, "length of the payload; null: unknown"),
    ),
)
