# SPDX-License-Identifier: Apache-2.0
"""The tables about the start and end of flows, the acknowledgements of receivers, and probes."""

from leowarp.trace.schema.columns import BYTES, FLOW, I64, NS, PKTS, U31, U32, U64, Column, TableSchema, key

FLOWS = TableSchema(
    "flows",
    "FlowEnd",
    "One row per flow, written at the end.",
    (
        FLOW,
        Column("connect_ns", I64, NS, "duration of connection establishment; null: never established"),
        Column("first_byte_ns", I64, NS, "time at which the receiver got its first byte"),
        Column("last_byte_ns", I64, NS, "time at which the receiver got its last byte"),
        Column("completion_ns", I64, NS,
            "time from the start to the last byte; null: the flow had no size, or did not finish",
        ),
        Column("bytes", U64, BYTES, "payload bytes that arrived at the receiver; each byte counts once"),
        Column(
            "connection_bytes", U64, BYTES,
            "Multipath TCP: payload that the receiver got in order over all subflows; null: another kind of flow, or a "
            "subflow",
        ),
        Column("error", U31, "", "errno with which the flow ended; 0: none"),
        Column(
            "duplicate_acks_pkts", U64, PKTS,
            "duplicate ACKs that reached the sender (RFC 5681, 2, but an ACK with a smaller window also counts); null: "
            "not TCP, or packets were not followed",
        ),
        Column("rtt_min_ns", I64, NS,
            "smallest round trip of a data packet, as in `delays`; null: no round trip is known",
        ),
        Column("rtt_max_ns", I64, NS, "largest round trip of a data packet; null: no round trip is known"),
        Column("rtt_sum_ns", I64, NS, "sum of the data packets' round trips; null: no round trip is known"),
    ),
)  # fmt: skip

ACKS = TableSchema(
    "acks",
    "AckWait",
    "ACKs that the receiver of each TCP flow sent. Each row counts the ACKs that answer `segments_pkts` segments after "
    "the time `wait_ns`.",
    (
        FLOW,
        key("segments_pkts", U31, PKTS, "data segments that arrived since the previous ACK, in order or not"),
        Column(
            "wait_ns", I64, NS,
            "time from the arrival of the first of these segments to the sending of the ACK, rounded down to 0.1 ms; "
            "null: there is no such segment",
        ),
        key("acks_pkts", U64, PKTS, "ACKs sent, without the ACK of the SYN"),
    ),
)  # fmt: skip

# Every probe is stored, even if `observe.packets` selects other packets, because each probe is a sample of delay and
# loss.
ECHOES = TableSchema(
    "echoes",
    "Echo",
    "Probe packets of ping and udp flows.",
    (
        FLOW,
        key("index", U32, "", "number of the probe, from 0"),
        key("sent_ns", I64, NS, "time at which it left"),
        Column("received_ns", I64, NS, "time at which it reached the destination; null: lost"),
        Column("reply_ns", I64, NS, "time at which the reply was back (ping); null: lost, or udp"),
    ),
)
