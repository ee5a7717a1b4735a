# SPDX-License-Identifier: Apache-2.0
"""The tables about the actions of `[cures]` at route changes."""

from leowarp.trace.schema.columns import BOOL, BYTES, I64, NS, PKTS, U8, U31, U64, Column, TableSchema, host, key

REFUSALS = {1: "no_old_path", 2: "same_path", 3: "no_time", 4: "in_flight"}
"""The reasons why a cure did not act on some or all packets at a route change. Only cures that need the old path can
fail to act for one of these reasons."""

_ENTRY_CHANGE = (
    key("t_ns", I64, NS, "time at which the forwarding entry changed"),
    key("from_direction", U31, "", "direction of the previous link, numbered as in `links`"),
    key("to_direction", U31, "", "direction of the new link"),
    host("host", "number of the destination host; the table's metadata `hosts` has the names"),
)
"""A row for each switch of a node's route to another link, with the actions of cures at this change."""

SWITCHES = TableSchema(
    "switches",
    "Switch",
    "Actions of `[cures]` at route changes. One row per change of a forwarding entry, if packets waited or were in "
    "flight on the old link, or may have been. With `duplicate`, every change has a row. Only with `move_queue`, "
    "`hold` or `duplicate`.",
    (
        *_ENTRY_CHANGE,
        Column(
            "moved_pkts", U64, PKTS,
            "packets that waited at the old link and moved to the new one; only the new link counts them as offered",
        ),
        Column("moved_bytes", U64, BYTES, "bytes of the moved packets, with the link's overhead"),
        Column("hold_ns", I64, NS, "planned hold of a packet that arrives at `t_ns`; null: no packets are held"),
        Column("held_back_pkts", U64, PKTS, "packets that were held before they were queued at the new link"),
        Column("held_back_bytes", U64, BYTES, "bytes of the held packets, with the link's overhead"),
        Column("held_back_max_bytes", U64, BYTES, "most bytes held at once"),
        Column("held_back_longest_ns", I64, NS, "longest hold of a packet; null: no packet was held"),
        Column("full_pkts", U64, PKTS, "packets that arrived when the hold buffer was full (`cures.hold_full`)"),
        Column(
            "copied_pkts", U64, PKTS,
            "packets sent over the new link and copied to the old one; null: `cures.duplicate` is off, or `refused` is "
            "not null",
        ),
        Column("copied_bytes", U64, BYTES, "bytes of the copies, with the link's overhead"),
        Column(
            "refused", U8, "",
            "reason why no copies were sent: 1 the old link no longer leads to the host, 2 it leads back to this node. "
            "With `move_queue` and without `hold`: 4 packets in flight on the old link may arrive after packets of the "
            "new link; null: none of these", words=REFUSALS,
        ),
    ),
)  # fmt: skip

MERGES = TableSchema(
    "merges",
    "Merge",
    "Actions of `cures.end_marker` at route changes. One row per change of a node's forwarding entry to another link, "
    "with the node where the old and the new path meet. Only with `end_marker`.",
    (
        *_ENTRY_CHANGE,
        Column(
            "refused", U8, "",
            "reason why there is no marker: 1 the old link no longer leads to the host, 2 it leads back to this node; "
            "3 the paths meet behind a link without delay and rate; null: there is a marker", words=REFUSALS,
        ),
        Column("marker", U31, "", "number of the marker, from 1; null: no marker (all later columns are then null)"),
        Column("old_direction", U31, "", "direction over which the old path enters the node where the paths meet"),
        Column("new_direction", U31, "", "direction over which the new path enters this node"),
        Column("marker_ns", I64, NS, "time at which the marker arrived at this node; null: it did not arrive"),
        Column(
            "ended_ns", I64, NS,
            "end of the wait for the marker: it arrived, or a packet had waited `cures.end_marker_wait`; null: no end "
            "of the wait",
        ),
        Column("waited_pkts", U64, PKTS, "packets that arrived over the new path and waited"),
        Column("waited_bytes", U64, BYTES, "bytes of these packets, with the link's overhead"),
        Column("waiting_max_bytes", U64, BYTES, "most bytes that waited at once"),
        Column("longest_ns", I64, NS, "longest wait of a packet; null: no packet waited"),
        Column("full_pkts", U64, PKTS, "packets that arrived when the buffer was full (`cures.hold_full`)"),
    ),
)  # fmt: skip

NOTICES = TableSchema(
    "notices",
    "Notice",
    "Notices that tell hosts about route changes (`cures.notify`), in the order of their numbers. Only with `notify`.",
    (
        key("t_ns", I64, NS, "time at which the forwarding entry of the sending node changes"),
        key("number", U31, "", "number of the notice in its packet (design/cures.md), from 1"),
        key(
            "to_direction", U31, "",
            "direction over which that node sends after the change, numbered as in `links`; if the notice left before "
            "the change, the direction before it",
        ),
        host("told_host", "number of the host to which the notice goes; the table's metadata `hosts` has the names"),
        host("destination_host", "number of the host at the end of the changed path, which starts at `told_host`"),
        Column("is_false", BOOL, "", "whether the notice is false: no path changes (`cures.notify_false_interval`)"),
        Column("is_lost", BOOL, "", "whether `cures.notify_loss` prevented its sending; losses on links do not count"),
        Column("sent_ns", I64, NS, "time at which it left the node; null: not sent (`is_lost`, too late, or no route)"),
        Column("old_delay_ns", I64, NS, "delay of the old path from host to host: the sum of its links' delays"),
        Column("new_delay_ns", I64, NS, "delay of the new path"),
        Column(
            "wait_ns", I64, NS,
            "time after the notice's arrival in which the host should declare no losses. At its end, the ACK of the "
            "last packet on the old path can be back; 0: no packet is overtaken",
        ),
    ),
)  # fmt: skip

NODETOTALS = TableSchema(
    "nodetotals",
    "NodeTotal",
    "Totals at the end for each node that held packets or sent packets of its own. Only with `[cures]`.",
    (
        Column(
            "node",
            U31,
            "",
            "number of the node; the table's metadata `nodes` has the names",
            nullable=False,
            names="nodes",
        ),
        Column("held_pkts", U64, PKTS, "packets that the node held at the end, before sending or after arrival"),
        Column("held_bytes", U64, BYTES, "bytes of these packets, with the link's overhead"),
        Column("held_max_bytes", U64, BYTES, "most bytes that the node held at once, over all of its links"),
        Column("held_max_at_ns", I64, NS, "first time at which it held `held_max_bytes`; null: no packet was held"),
        Column("signals_pkts", U64, PKTS, "packets of its own that the node sent: end markers and notices"),
        Column("signals_bytes", U64, BYTES, "bytes of `signals_pkts`, as Ethernet frames without a link's overhead"),
    ),
)

ORDERS = TableSchema(
    "orders",
    "Order",
    "One row per stream of packets that one station numbered and another put in order, or whose second copies it "
    "discarded. Only with `cures.resequence` or `duplicate`.",
    (
        host("source_host", "number of the host that sends; the table's metadata `hosts` has the names"),
        host("destination_host", "number of the destination host"),
        Column("protocol", U8, "", "IP protocol of the flow; null: all packets from source to destination"),
        Column("source_port", U31, "", "source port of the flow; 0: protocol without ports; null: `protocol` is null"),
        Column("destination_port", U31, "", "destination port of the flow; 0 or null as for `source_port`"),
        Column("numbered_pkts", U64, PKTS, "packets that were numbered: all that the first link's queue accepted"),
        Column("waited_pkts", U64, PKTS, "packets that arrived before their turn, and waited"),
        Column("waiting_max_bytes", U64, BYTES, "most bytes that waited at once, with the last link's overhead"),
        Column("longest_ns", I64, NS, "longest wait of a packet; null: no packet waited"),
        Column("given_up_pkts", U64, PKTS, "packets that were missing when a later packet had waited the full time"),
        Column("late_pkts", U64, PKTS, "packets that arrived after they were given up, and passed out of order"),
        Column("eliminated_pkts", U64, PKTS, "second copies that were discarded; null: `cures.duplicate` is off"),
    ),
)
