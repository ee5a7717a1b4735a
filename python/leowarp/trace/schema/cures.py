# SPDX-License-Identifier: Apache-2.0
"""The tables about the actions of `[cures]` at route changes."""

from leowarp.trace.schema.columns import BOOL, BYTES, I64, NS, PKTS, U8, U31, U64, Column, TableSchema, host, key

REFUSALS = {1: "no_old_way", 2: "same_way", 3: "no_time", 4: "in_flight"}
"""The reasons why a cure did not act on some or all packets at a route change. Only cures that need the old path can
fail to act for one of these reasons."""

_ENTRY_CHANGE = (
    key("t_ns", I64, NS, "when the entry changed"),
    key("from_direction", U31, "", "direction of the link before, numbered as in `links`"),
    key("to_direction", U31, "", "direction of the link from then on"),
    host("host", "number of the host that the packets are for; the table's metadata `hosts` names them"),
)
"""A row for each switch of a node's route to another link, with the actions of cures at this change."""

SWITCHES = TableSchema(
    "switches",
    "Switch",
    "What `[cures]` did at route changes: each entry of a node that went over to another link while packets for the "
    "host waited or flew before it, or may have; with `duplicate` each that went over. Only with `move_queue`, `hold` "
    "or `duplicate`.",
    (
        *_ENTRY_CHANGE,
        Column(
            "moved_pkts", U64, PKTS,
            "packets that waited at the link before and were handed to the new one: only that counts them as offered",
        ),
        Column("moved_bytes", U64, BYTES, "the same in bytes, with the link's overhead"),
        Column("hold_ns", I64, NS, "how long a packet that came at once would be held back; null: none is"),
        Column("held_back_pkts", U64, PKTS, "packets that were held back before they were queued at the new link"),
        Column("held_back_bytes", U64, BYTES, "the same in bytes, with the link's overhead"),
        Column("held_back_max_bytes", U64, BYTES, "most of them at once"),
        Column("held_back_longest_ns", I64, NS, "longest time that one was held back; null: none was"),
        Column("full_pkts", U64, PKTS, "packets that came when the hold buffer was full (`cures.hold_full`)"),
        Column(
            "copied_pkts", U64, PKTS,
            "packets that went over the new link and copies of which were sent over the one before; null: "
            "`cures.duplicate` is off, or did nothing here",
        ),
        Column("copied_bytes", U64, BYTES, "the copies in bytes, with the link's overhead"),
        Column(
            "refused", U8, "",
            "why no copies were sent: 1 the old link leads to the host no more, 2 it leads back to this node; with "
            "`move_queue` and no `hold` 4: what flies over the old link may arrive after what leaves over the new one; "
            "null: none of these", words=REFUSALS,
        ),
    ),
)  # fmt: skip

MERGES = TableSchema(
    "merges",
    "Merge",
    "What `cures.end_marker` did at route changes: each entry of a node that went over to another link, and the node "
    "where the old and the new way meet. Only with `end_marker`.",
    (
        *_ENTRY_CHANGE,
        Column(
            "refused", U8, "",
            "why there is no marker: 1 the old link leads to the host no more, 2 it leads back to this node, 3 the "
            "ways meet behind a link without delay and rate; null: there is one", words=REFUSALS,
        ),
        Column("marker", U31, "", "its number, from 1 on; null: there is none, as of all that follow"),
        Column("old_direction", U31, "", "direction by which the old way enters the node where the ways meet"),
        Column("new_direction", U31, "", "direction by which the new way does"),
        Column("marker_ns", I64, NS, "when the marker came there; null: it has not"),
        Column(
            "ended_ns", I64, NS,
            "since when nothing waits for it: it came, or a packet had waited `cures.end_marker_wait`; null: never",
        ),
        Column("waited_pkts", U64, PKTS, "packets that came by the new way and waited"),
        Column("waited_bytes", U64, BYTES, "the same in bytes, with the link's overhead"),
        Column("waiting_max_bytes", U64, BYTES, "most of them at once"),
        Column("longest_ns", I64, NS, "longest time that one waited; null: none did"),
        Column("full_pkts", U64, PKTS, "packets that came when the buffer was full (`cures.hold_full`)"),
    ),
)  # fmt: skip

NOTICES = TableSchema(
    "notices",
    "Notice",
    "What hosts were told of route changes (`cures.notify`), in the order of the telling. Only with `notify`.",
    (
        key("t_ns", I64, NS, "when the entry of the node that tells changes"),
        key("number", U31, "", "from 1 on, as in the packet (design/cures.md)"),
        key(
            "to_direction", U31, "",
            "direction over which that node sends from then on, numbered as in `links`; if the notice left before the "
            "change, that over which it sends until then",
        ),
        host("told_host", "number of the host that is told; the table's metadata `hosts` names them"),
        host("destination_host", "number of the host to which its packets go another way"),
        Column("is_false", BOOL, "", "there is no such change (`cures.notify_false_interval`)"),
        Column("is_lost", BOOL, "", "not sent (`cures.notify_loss`); those that links lose are not among them"),
        Column("sent_ns", I64, NS, "when it left the node; null: it did not, being lost, too late, or without a way"),
        Column("old_delay_ns", I64, NS, "delay of the way before, from host to host: the links' delays added up"),
        Column("new_delay_ns", I64, NS, "delay of the new way"),
        Column(
            "wait_ns", I64, NS,
            "how long loss detection is to be held from the notice's arrival on: until the acknowledgement of the last "
            "packet by the old way can be back; 0: nothing is overtaken",
        ),
    ),
)  # fmt: skip

NODETOTALS = TableSchema(
    "nodetotals",
    "NodeTotal",
    "What nodes that hold packets back, or send some of their own, did by the end. Only with `[cures]`.",
    (
        Column(
            "node",
            U31,
            "",
            "number of the node; the table's metadata `nodes` names them",
            nullable=False,
            names="nodes",
        ),
        Column("held_pkts", U64, PKTS, "packets held back at the end, before its links or behind them"),
        Column("held_bytes", U64, BYTES, "the same in bytes, with the link's overhead"),
        Column("held_max_bytes", U64, BYTES, "most held back at once, by all of its links together"),
        Column("held_max_at_ns", I64, NS, "when that was first so; null: nothing was held back"),
        Column("signals_pkts", U64, PKTS, "packets of its own that it sent: end markers and notices"),
        Column("signals_bytes", U64, BYTES, "the same in bytes, as Ethernet frames without a link's overhead"),
    ),
)

ORDERS = TableSchema(
    "orders",
    "Order",
    "Each stream of a host that was numbered at one station and put in order at another, or of which second copies "
    "were discarded there. Only with `cures.resequence` or `duplicate`.",
    (
        host("source_host", "number of the host that sends; the table's metadata `hosts` names them"),
        host("destination_host", "number of the host that the packets are for"),
        Column("protocol", U8, "", "IP protocol of the flow; null: the stream is all from host to host"),
        Column("source_port", U31, "", "of the flow; 0: its protocol has none; null: as of `protocol`"),
        Column("destination_port", U31, "", "the same"),
        Column("numbered_pkts", U64, PKTS, "packets that were numbered: those that the first link's queue accepted"),
        Column("waited_pkts", U64, PKTS, "packets that came before their turn, and waited"),
        Column("waiting_max_bytes", U64, BYTES, "most that waited at once, with the last link's overhead"),
        Column("longest_ns", I64, NS, "longest time that one waited; null: none did"),
        Column("given_up_pkts", U64, PKTS, "packets that had not come when one behind them had waited its time"),
        Column("late_pkts", U64, PKTS, "packets that came after they were given up, and passed at once, out of order"),
        Column("eliminated_pkts", U64, PKTS, "second copies that were discarded; null: `cures.duplicate` is off"),
    ),
)
