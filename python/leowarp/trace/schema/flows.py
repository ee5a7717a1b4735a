# SPDX-License-Identifier: Apache-2.0
"""The tables about the start and end of flows, the acknowledgements of receivers, and probes."""

from leowarp.trace.schema.columns import BYTES, FLOW, I64, NS, PKTS, U31, U32, U64, Column, TableSchema, key

FLOWS = TableSchema(
    "flows",
    "FlowEnd",
    "One row a flow, at the end.",
    (
        FLOW,
        Column("connect_ns", I64, NS, "how long connecting took; null: never connected"),
        Column("first_byte_ns", I64, NS, "when the receiver got its first byte"),
        Column("last_byte_ns", I64, NS, "when the receiver got its last byte"),
        Column("completion_ns", I64, NS, "from the start to the last byte; null: had no size, or did not finish"),
        Column("bytes", U64, BYTES, "bytes that the receiver got in order"),
        Column(
            "connection_bytes", U64, BYTES,
            "Multipath TCP: payload that the receiver had in order over all subflows; null: another flow, or a subflow",
        ),
        Column("error", U31, "", "errno with which the flow ended; 0: none"),
        Column(
            "duplicate_acks_pkts", U64, PKTS,
            "duplicate ACKs that reached the sender (RFC 5681, 2; a smaller window is no news); null: not TCP, or "
            "packets were not followed",
        ),
        Column("rtt_min_ns", I64, NS, "smallest round trip of a data packet, as in `delays`; null: none is known"),
        Column("rtt_max_ns", I64, NS, "largest of them; null: none is known"),
        Column("rtt_sum_ns", I64, NS, "sum of them; null: none is known"),
    ),
)  # fmt: skip

ACKS = TableSchema(
    "acks",
    "AckWait",
    "How the receiver of each TCP flow acknowledged: one row for all ACKs that answer as many segments after as long.",
    (
        FLOW,
        key("segments_pkts", U31, PKTS, "data segments that arrived since the ACK before, in order or not"),
        Column(
            "wait_ns", I64, NS,
            "from the arrival of the first of them to the ACK's sending, rounded down to 0.1 ms; null: there is none",
        ),
        key("acks_pkts", U64, PKTS, "ACKs sent, that of the SYN left out"),
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
        key("sent_ns", I64, NS, "when it left"),
        Column("received_ns", I64, NS, "when it reached the destination; null: lost"),
        Column("reply_ns", I64, NS, "when the reply was back (ping); null: lost, or udp"),
    ),
)
