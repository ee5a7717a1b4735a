# SPDX-License-Identifier: Apache-2.0
"""Columns of the trace tables: name, types, unit, meaning.

This is the one place where they are written. The agent's half of them (`crates/timeline/src/record/tables.rs`, made by
`make docs`), Parquet field metadata, the pandas attributes, the check of what the guest wrote and
`docs/reference/tables.md` are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from leowarp.metadata import encode_metadata

SCHEMA_VERSION = 1
"""In each file's metadata; of the trace's tables as a whole."""


@dataclass(frozen=True)
class Kind:
    """How a value is stored, in Parquet and in the guest's records.

    Attributes
    ----------
    type : pyarrow.DataType
        In Parquet.
    wire : str
        In the records, little endian: one of `i64 u64 i32 u32 u16 u8 f64` (design/interfaces.md, section 5); empty of
        what no record has.
    """

    type: pa.DataType
    wire: str


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
        Ends in the unit.
    kind : Kind
    unit : str
        "" for what has none.
    doc : str
        Its meaning, in the file and in the reference.
    nullable : bool
        False: it never misses a value, and a record that does is an error.
    words : mapping of int to str
        Of an enumeration: what each number stands for, as tables of a `Run` have it; else empty.
    names : str
        Of a number of a host or node: the entry of the table's metadata that names it, as tables of a `Run` have it;
        else empty.
    """

    name: str
    kind: Kind
    unit: str
    doc: str
    nullable: bool = True
    words: Mapping[int, str] = field(default_factory=dict)
    names: str = ""

    @property
    def type(self) -> pa.DataType:
        """Arrow type in Parquet."""
        return self.kind.type

    def field(self) -> pa.Field:
        """Arrow field with `unit` and `doc` as its metadata."""
        return pa.field(self.name, self.type, self.nullable, metadata={"unit": self.unit, "doc": self.doc})


@dataclass(frozen=True)
class TableSchema:
    """One table of `30-trace/`.

    Attributes
    ----------
    name : str
        Also of its files: `NAME.rec` of the guest, `NAME.parquet` of the run.
    record : str
        What one row of it is called in Rust; empty if the agent does not write it.
    doc : str
    columns : tuple of Column
        In the order of the records.

    A table is read, written, documented and made in Rust from this one object:

    >>> TABLES["echoes"].names
    ['flow', 'index', 'sent_ns', 'received_ns', 'reply_ns']
    """

    name: str
    record: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Of its columns, in order."""
        return [column.name for column in self.columns]

    def arrow(self, metadata: dict[str, object] | None = None) -> pa.Schema:
        """Arrow schema; `metadata` values are written as JSON, keys sorted, so that equal input gives equal bytes.

        Parameters
        ----------
        metadata : dict, optional
            Further entries, such as `directions`, `hosts` and `flows`.

        Returns
        -------
        schema : pyarrow.Schema
            Metadata `leowarp.table`, `leowarp.schema`, `doc` and those entries; each field has `unit` and `doc`.
        """
        entries: dict[bytes | str, bytes | str] = {
            "leowarp.table": self.name,
            "leowarp.schema": str(SCHEMA_VERSION),
            "doc": self.doc,
        }
        entries.update(encode_metadata(metadata or {}))
        return pa.schema(self._fields, metadata=entries)

    @cached_property
    def _fields(self) -> list[pa.Field]:
        return [column.field() for column in self.columns]


def _key(name: str, kind: Kind, unit: str, doc: str, words: Mapping[int, str] | None = None) -> Column:
    """A column that never misses a value."""
    return Column(name, kind, unit, doc, nullable=False, words=words or {})


def _host(name: str, doc: str) -> Column:
    """A column of hosts by their number."""
    return Column(name, _U31, "", doc, nullable=False, names="hosts")


DIRECTIONS = {0: "data", 1: "back"}
"""Within a flow: from its source to its destination, and what comes back (ACKs, replies)."""

CAUSES = {1: "queue", 2: "loss", 3: "link_down", 4: "no_route", 5: "unknown"}
"""Why a packet was lost."""

SCOPES = {0: "run", 1: "window", 2: "change"}
"""The part of a flow that reordering is measured over."""

DENSITY_KINDS = {0: "density", 1: "buffer_density", 2: "n_reordering", 3: "extent"}
"""Kinds of histogram of reordering."""

REFUSALS = {1: "no_old_way", 2: "same_way", 3: "no_time", 4: "in_flight"}
"""Why a cure that needs the old way did nothing at a route change, or not all."""

CA_STATES = {0: "Open", 1: "Disorder", 2: "CWR", 3: "Recovery", 4: "Loss"}
"""Of the sender's congestion control, as the kernel calls them (`enum tcp_ca_state` of linux/tcp.h)."""

TCP_STATES = {
    1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2", 6: "TIME_WAIT", 7: "CLOSE",
    8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN", 11: "CLOSING", 12: "NEW_SYN_RECV",
}  # fmt: skip
"""Of a socket (linux/tcp_states.h)."""


# Parquet gets signed integers, which every reader of it can compute with; the records what the kernel counts in.
_I64, _U64, _U32 = Kind(pa.int64(), "i64"), Kind(pa.int64(), "u64"), Kind(pa.int64(), "u32")
_I32, _U16 = Kind(pa.int32(), "i32"), Kind(pa.int32(), "u16")
# A number of something, or a size of one packet: far from 2^31. The reader refuses what is not.
_U31 = Kind(pa.int32(), "u32")
_U8, _BOOL, _F64 = Kind(pa.uint8(), "u8"), Kind(pa.bool_(), "u8"), Kind(pa.float64(), "f64")
# The record holds an index into the header's `names`.
_NAME = Kind(pa.dictionary(pa.int32(), pa.string()), "u32")
_NS, _B, _P = "ns", "bytes", "pkts"
_T = _key("t_ns", _I64, _NS, "time since the run's start")
_FLOW = _key("flow", _U31, "", "number of the flow, as in the plan, from 0")
_DIRECTION_OF_FLOW = _key(
    "direction", _U8, "", "0: from the flow's source to its destination (data), 1: back (ACKs)", DIRECTIONS
)
_LINK_DIRECTION = _key(
    "direction", _U31, "", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"
)
_CAUSE = "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown"

SOCKETS = TableSchema(
    "sockets",
    "Socket",
    "TCP_INFO of each flow's sender, and what its receiver has read, at every `observe.sockets`.",
    (
        _T,
        _FLOW,
        Column(
            "state",
            _U8,
            "",
            "TCP state of the sender (1 established, 2 SYN sent, ... as in linux/tcp_states.h)",
            words=TCP_STATES,
        ),
        Column("ca_state", _U8, "", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss", words=CA_STATES),
        Column("cwnd_pkts", _U32, _P, "congestion window"),
        Column("ssthresh_pkts", _U32, _P, "slow start threshold; null: none was set yet (the kernel's infinity)"),
        Column("srtt_us", _U32, "us", "smoothed round-trip time"),
        Column("rttvar_us", _U32, "us", "round-trip time variation"),
        Column(
            "min_rtt_us", _U32, "us", "smallest round-trip time in the kernel's window; null before the first sample"
        ),
        Column("rto_us", _U32, "us", "retransmission timeout"),
        Column("pacing_bps", _U64, "bit/s", "pacing rate; null: not limited"),
        Column("delivery_rate_bps", _U64, "bit/s", "most recent delivery rate sample of the kernel"),
        Column("delivery_rate_app_limited", _BOOL, "", "whether that sample was limited by the application"),
        Column("bytes_acked", _U64, _B, "bytes cumulatively acknowledged"),
        Column("bytes_sent", _U64, _B, "payload bytes sent, retransmissions included"),
        Column("bytes_retrans", _U64, _B, "payload bytes retransmitted"),
        Column("bytes_received", _U64, _B, "bytes received in order at the receiver's socket"),
        Column("segs_out_pkts", _U32, _P, "segments sent, retransmissions included"),
        Column("retrans_pkts", _U32, _P, "segments retransmitted so far (tcpi_total_retrans)"),
        Column("lost_pkts", _U32, _P, "segments that the sender now holds for lost"),
        Column("sacked_pkts", _U32, _P, "segments now selectively acknowledged"),
        Column("unacked_pkts", _U32, _P, "segments now sent and not acknowledged"),
        Column("dsack_pkts", _U32, _P, "duplicate SACKs received so far"),
        Column("reordering_pkts", _U32, _P, "the sender's reordering metric (starts at net.ipv4.tcp_reordering)"),
        Column("reord_seen", _U32, "", "reordering events that the sender has seen so far"),
        Column("delivered_pkts", _U32, _P, "segments delivered so far, as the sender's SACK scoreboard knows"),
        Column("delivered_ce_pkts", _U32, _P, "of those, acknowledged with ECE"),
        Column("rcv_ooopack_pkts", _U32, _P, "segments that arrived out of order at the receiver so far"),
        Column("snd_mss_bytes", _U32, _B, "sender's maximum segment size"),
        Column("busy_us", _U64, "us", "time with data to send or in flight"),
        Column("rwnd_limited_us", _U64, "us", "of that, limited by the receiver's window"),
        Column("sndbuf_limited_us", _U64, "us", "of that, limited by the send buffer"),
        Column("notsent_bytes", _U32, _B, "bytes in the send buffer not sent yet"),
        Column("bbr_bw_bps", _U64, "bit/s", "BBR's bottleneck estimate; null for other congestion controls"),
        Column("bbr_min_rtt_us", _U32, "us", "BBR's minimum round-trip time; null for others"),
        Column("bbr_pacing_gain", _F64, "", "BBR's pacing gain; null for others"),
        Column("bbr_cwnd_gain", _F64, "", "BBR's window gain; null for others"),
        Column("retrans_out_pkts", _U32, _P, "retransmitted segments now in flight"),
        Column("backoff", _U8, "", "doublings of the retransmission timeout now in force"),
        Column("snd_wnd_bytes", _U32, _B, "the receiver's window as last advertised"),
        Column("rto_pkts", _U16, "", "retransmission timeouts so far, those of the handshake included"),
        Column("rcv_rtt_us", _U32, "us", "the receiver's own estimate of the round-trip time"),
        Column("rcv_space_bytes", _U32, _B, "the receiver's window autotuning estimate"),
    ),
)

BBR_MODES = {0: "STARTUP", 1: "DRAIN", 2: "PROBE_BW", 3: "PROBE_RTT"}
"""As `enum bbr_mode` of net/ipv4/tcp_bbr.c numbers and names them, without BBR_."""

BBR_MODE = Column(
    "bbr_mode",
    Kind(pa.uint8(), ""),
    "",
    "BBR's mode by its two gains; null for other congestion controls and modules of your own; computed as the table is "
    "read, in no file",
    words=BBR_MODES,
)

COMPUTED = {"sockets": (BBR_MODE,)}
"""By table, columns that are computed from those of the file as it is read in words (`words.py`)."""

PACKETS = TableSchema(
    "packets",
    "Packet",
    "Packet truth: when each stored packet was sent, and when it arrived or where and why it was lost.",
    (
        _FLOW,
        _DIRECTION_OF_FLOW,
        _key("sent_ns", _I64, _NS, "when it left the sending host's interface"),
        Column("received_ns", _I64, _NS, "when it reached the other host; null: lost, or in flight at the end"),
        Column("seq", _U64, _B, "first payload byte, from the flow's start (tcp); number of the packet (ping, udp)"),
        Column("len_bytes", _U31, _B, "payload"),
        Column("ack", _U64, _B, "cumulative acknowledgement, bytes from the flow's start"),
        Column("is_retransmission", _BOOL, "", "whether bytes of it were sent before"),
        Column("is_spurious", _BOOL, "", "whether its original arrived too; null for first transmissions"),
        Column(
            "is_late", _BOOL, "", "first transmission that arrived after any packet sent later, a retransmission too"
        ),
        Column(
            "extent_pkts", _U31, _P,
            "arrivals since the first packet sent later, retransmissions counted; RFC 4737's extent counts first "
            "transmissions alone (`reordering`, `densities`); null: not late",
        ),
        Column("path_id", _U31, "", "path on which it left, see 10-routes.parquet"),
        Column("drop_direction", _U31, "", "direction of the link that lost it; null: not lost there"),
        Column("drop_cause", _U8, "", _CAUSE + "; null: not lost", words=CAUSES),
        Column("stored_because", _U8, "", "sum of: 1 inside a window, 2 late, 4 lost, 8 retransmission"),
    ),
)  # fmt: skip

# Of 50 ms, as recovery is read off: a fall is a bin under 90 % of the second before (docs/concepts/truth.md).
BINS = TableSchema(
    "bins",
    "Bin",
    "Packets of each flow and direction by 50 ms of the time at which they were sent; complete, whatever is stored.",
    (
        _T,
        _FLOW,
        _DIRECTION_OF_FLOW,
        Column("sent_pkts", _U32, _P, "sent"),
        Column("sent_bytes", _U64, _B, "payload sent"),
        Column("delivered_pkts", _U32, _P, "of those, arrived"),
        Column("delivered_bytes", _U64, _B, "payload of those"),
        Column("lost_pkts", _U32, _P, "of those, lost"),
        Column("late_pkts", _U32, _P, "first transmissions that arrived after any packet sent later"),
        Column("retrans_pkts", _U32, _P, "retransmissions sent"),
        Column("spurious_pkts", _U32, _P, "retransmissions whose original arrived too"),
        Column("owd_min_ns", _I64, _NS, "smallest one-way delay; null: nothing arrived"),
        Column("owd_max_ns", _I64, _NS, "largest one-way delay; null: nothing arrived"),
        Column("owd_sum_ns", _I64, _NS, "sum of the one-way delays of delivered_pkts"),
    ),
)

# Of all packets, most of which are stored nowhere: counted as they pass, so that a percentile is right to within a bin
# whatever `observe.packets` says.
DELAYS = TableSchema(
    "delays",
    "DelayBin",
    "Delays of all packets of each flow, counted in bins of at most 1/128 of the delay and 8.192 us; none is empty.",
    (
        _FLOW,
        _key(
            "quantity", _U8, "",
            "one-way delay of 0 data, 1 packets back; 2 round trip (tcp): delay of data and of the first packet back "
            "that left once it had arrived, and arrived",
            {**DIRECTIONS, 2: "round_trip"},
        ),
        Column("lower_ns", _I64, _NS, "smallest delay of the bin; null: data packets that no packet back answered so"),
        Column("upper_ns", _I64, _NS, "end of the bin, which is not part of it; null as `lower_ns`"),
        _key("pkts", _U32, _P, "packets whose delay fell into the bin"),
    ),
)  # fmt: skip

# Only where something changed: most links of a constellation carry nothing for most of a run.
LINKS = TableSchema(
    "links",
    "Queue",
    "Queue of each direction of a link at every `observe.queues`, only where something changed.",
    (
        _T,
        _LINK_DIRECTION,
        Column("queue_pkts", _U32, _P, "packets waiting"),
        Column("queue_bytes", _U64, _B, "bytes waiting, as the kernel counts them"),
        Column("queue_max_pkts", _U32, _P, "most packets waiting at once since the sample before; null: netem"),
    ),
)


def _counted(stem: str, what: str) -> tuple[Column, Column]:
    """Two columns of one thing that is counted, in packets and in bytes."""
    return (
        Column(f"{stem}_pkts", _U64, _P, f"packets {what}"),
        Column(f"{stem}_bytes", _U64, _B, f"bytes {what}, as the kernel counts them"),
    )


# Their sums are checked in every run: offered = delivered + dropped + held, in packets and bytes
# (docs/concepts/truth.md).
LINKTOTALS = TableSchema(
    "linktotals",
    "LinkTotal",
    "Balance of each direction of a link at the end: offered = delivered + dropped by cause + held.",
    (
        _LINK_DIRECTION,
        *_counted("offered", "offered"),
        *_counted("delivered", "delivered"),
        *_counted("dropped_queue", "dropped by a full queue"),
        *_counted("dropped_loss", "dropped by the link's loss ratio"),
        *_counted("dropped_down", "dropped as the link went down"),
        *_counted("held", "in the queue or flying at the end"),
        Column("queue_max_pkts", _U32, _P, "most packets that ever waited at once; null: netem"),
        Column("busy_ns", _U64, _NS, "time spent transmitting; null: netem"),
        Column(
            "run_queue_max_pkts", _U32, _P,
            "most packets that waited at once until the run's end (`queue_max_pkts` goes on while the links drain); "
            "null: netem",
        ),
        Column("run_queue_max_pkts_at_ns", _I64, _NS, "when so many first waited; null: none ever did, netem"),
        Column(
            "run_queue_max_bytes", _U64, _B,
            "most bytes that waited at once until the run's end, the link's overhead included; null: netem",
        ),
        Column("run_queue_max_bytes_at_ns", _I64, _NS, "when so many first waited; null: none ever did, netem"),
    ),
)  # fmt: skip

# Only where one changed: all of them at every sample would be repetition for the most part.
COUNTERS = TableSchema(
    "counters",
    "Counter",
    "The kernel's own counters (/proc/net/snmp, /proc/net/netstat) of each host, whenever one changed.",
    (
        _T,
        _host("host", "number of the host; the table's metadata `hosts` names them"),
        _key("counter", _NAME, "", "the kernel's name of the counter, e.g. TcpExtTCPDSACKRecv"),
        Column("value", _U64, "", "value of the counter since the run's start"),
    ),
)

DROPS = TableSchema(
    "drops",
    "Drop",
    "Every packet lost, ACKs and probes too: dropped on a link, or between links (no route, or unknown where).",
    (
        _key("t_ns", _I64, _NS, "when it was dropped; if no link tells (`direction` null), when it was sent"),
        Column(
            "direction", _U31, "", "direction of the link that dropped it, numbered as in `links`; null: none tells"
        ),
        Column("cause", _U8, "", _CAUSE, words=CAUSES),
        Column("flow", _U31, "", "flow it belonged to; null: none (for instance ARP)"),
        Column("flow_direction", _U8, "", "0: data, 1: back; null: of no flow", words=DIRECTIONS),
        Column("seq", _U64, _B, "first payload byte from the flow's start; null: unknown"),
        Column("len_bytes", _U31, _B, "payload; null: unknown"),
    ),
)

FLOWS = TableSchema(
    "flows",
    "FlowEnd",
    "One row a flow, at the end.",
    (
        _FLOW,
        Column("connect_ns", _I64, _NS, "how long connecting took; null: never connected"),
        Column("first_byte_ns", _I64, _NS, "when the receiver got its first byte"),
        Column("last_byte_ns", _I64, _NS, "when the receiver got its last byte"),
        Column("completion_ns", _I64, _NS, "from the start to the last byte; null: had no size, or did not finish"),
        Column("bytes", _U64, _B, "bytes that the receiver got in order"),
        Column("error", _U31, "", "errno with which the flow ended; 0: none"),
        Column(
            "duplicate_acks_pkts", _U64, _P,
            "duplicate ACKs that reached the sender (RFC 5681, 2; a smaller window is no news); null: not TCP, or "
            "packets were not followed",
        ),
        Column("rtt_min_ns", _I64, _NS, "smallest round trip of a data packet, as in `delays`; null: none is known"),
        Column("rtt_max_ns", _I64, _NS, "largest of them; null: none is known"),
        Column("rtt_sum_ns", _I64, _NS, "sum of them; null: none is known"),
    ),
)  # fmt: skip

ACKS = TableSchema(
    "acks",
    "AckWait",
    "How the receiver of each TCP flow acknowledged: one row for all ACKs that answer as many segments after as long.",
    (
        _FLOW,
        _key("segments_pkts", _U31, _P, "data segments that arrived since the ACK before, in order or not"),
        Column(
            "wait_ns", _I64, _NS,
            "from the arrival of the first of them to the ACK's sending, rounded down to 0.1 ms; null: there is none",
        ),
        _key("acks_pkts", _U64, _P, "ACKs sent, that of the SYN left out"),
    ),
)  # fmt: skip

_ENTRY_CHANGE = (
    _key("t_ns", _I64, _NS, "when the entry changed"),
    _key("from_direction", _U31, "", "direction of the link before, numbered as in `links`"),
    _key("to_direction", _U31, "", "direction of the link from then on"),
    _host("host", "number of the host that the packets are for; the table's metadata `hosts` names them"),
)
"""A node's entry for a host that goes over to another link."""

SWITCHES = TableSchema(
    "switches",
    "Switch",
    "What `[cures]` did at route changes: each entry of a node that went over to another link while packets for the "
    "host waited or flew before it, or may have; with `duplicate` each that went over. Only with `move_queue`, `hold` "
    "or `duplicate`.",
    (
        *_ENTRY_CHANGE,
        Column(
            "moved_pkts", _U64, _P,
            "packets that waited at the link before and were handed to the new one: only that counts them as offered",
        ),
        Column("moved_bytes", _U64, _B, "the same in bytes, with the link's overhead"),
        Column("hold_ns", _I64, _NS, "how long a packet that came at once would be held back; null: none is"),
        Column("held_back_pkts", _U64, _P, "packets that were held back before they were queued at the new link"),
        Column("held_back_bytes", _U64, _B, "the same in bytes, with the link's overhead"),
        Column("held_back_max_bytes", _U64, _B, "most of them at once"),
        Column("held_back_longest_ns", _I64, _NS, "longest time that one was held back; null: none was"),
        Column("full_pkts", _U64, _P, "packets that came when the hold buffer was full (`cures.hold_full`)"),
        Column(
            "copied_pkts", _U64, _P,
            "packets that went over the new link and copies of which were sent over the one before; null: "
            "`cures.duplicate` is off, or did nothing here",
        ),
        Column("copied_bytes", _U64, _B, "the copies in bytes, with the link's overhead"),
        Column(
            "refused", _U8, "",
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
            "refused", _U8, "",
            "why there is no marker: 1 the old link leads to the host no more, 2 it leads back to this node, 3 the "
            "ways meet behind a link without delay and rate; null: there is one", words=REFUSALS,
        ),
        Column("marker", _U31, "", "its number, from 1 on; null: there is none, as of all that follow"),
        Column("old_direction", _U31, "", "direction by which the old way enters the node where the ways meet"),
        Column("new_direction", _U31, "", "direction by which the new way does"),
        Column("marker_ns", _I64, _NS, "when the marker came there; null: it has not"),
        Column(
            "ended_ns", _I64, _NS,
            "since when nothing waits for it: it came, or a packet had waited `cures.end_marker_wait`; null: never",
        ),
        Column("waited_pkts", _U64, _P, "packets that came by the new way and waited"),
        Column("waited_bytes", _U64, _B, "the same in bytes, with the link's overhead"),
        Column("waiting_max_bytes", _U64, _B, "most of them at once"),
        Column("longest_ns", _I64, _NS, "longest time that one waited; null: none did"),
        Column("full_pkts", _U64, _P, "packets that came when the buffer was full (`cures.hold_full`)"),
    ),
)  # fmt: skip

NOTICES = TableSchema(
    "notices",
    "Notice",
    "What hosts were told of route changes (`cures.notify`), in the order of the telling. Only with `notify`.",
    (
        _key("t_ns", _I64, _NS, "when the entry of the node that tells changes"),
        _key("number", _U31, "", "from 1 on, as in the packet (design/cures.md)"),
        _key(
            "to_direction", _U31, "",
            "direction over which that node sends from then on, numbered as in `links`; if the notice left before the "
            "change, that over which it sends until then",
        ),
        _host("told_host", "number of the host that is told; the table's metadata `hosts` names them"),
        _host("destination_host", "number of the host to which its packets go another way"),
        Column("is_false", _BOOL, "", "there is no such change (`cures.notify_false_interval`)"),
        Column("is_lost", _BOOL, "", "not sent (`cures.notify_loss`); those that links lose are not among them"),
        Column("sent_ns", _I64, _NS, "when it left the node; null: it did not, being lost, too late, or without a way"),
        Column("old_delay_ns", _I64, _NS, "delay of the way before, from host to host: the links' delays added up"),
        Column("new_delay_ns", _I64, _NS, "delay of the new way"),
        Column(
            "wait_ns", _I64, _NS,
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
            _U31,
            "",
            "number of the node; the table's metadata `nodes` names them",
            nullable=False,
            names="nodes",
        ),
        Column("held_pkts", _U64, _P, "packets held back at the end, before its links or behind them"),
        Column("held_bytes", _U64, _B, "the same in bytes, with the link's overhead"),
        Column("held_max_bytes", _U64, _B, "most held back at once, by all of its links together"),
        Column("held_max_at_ns", _I64, _NS, "when that was first so; null: nothing was held back"),
        Column("signals_pkts", _U64, _P, "packets of its own that it sent: end markers and notices"),
        Column("signals_bytes", _U64, _B, "the same in bytes, as Ethernet frames without a link's overhead"),
    ),
)

ORDERS = TableSchema(
    "orders",
    "Order",
    "Each stream of a host that was numbered at one station and put in order at another, or of which second copies "
    "were discarded there. Only with `cures.resequence` or `duplicate`.",
    (
        _host("source_host", "number of the host that sends; the table's metadata `hosts` names them"),
        _host("destination_host", "number of the host that the packets are for"),
        Column("protocol", _U8, "", "IP protocol of the flow; null: the stream is all from host to host"),
        Column("source_port", _U31, "", "of the flow; 0: its protocol has none; null: as of `protocol`"),
        Column("destination_port", _U31, "", "the same"),
        Column("numbered_pkts", _U64, _P, "packets that were numbered: those that the first link's queue accepted"),
        Column("waited_pkts", _U64, _P, "packets that came before their turn, and waited"),
        Column("waiting_max_bytes", _U64, _B, "most that waited at once, with the last link's overhead"),
        Column("longest_ns", _I64, _NS, "longest time that one waited; null: none did"),
        Column("given_up_pkts", _U64, _P, "packets that had not come when one behind them had waited its time"),
        Column("late_pkts", _U64, _P, "packets that came after they were given up, and passed at once, out of order"),
        Column("eliminated_pkts", _U64, _P, "second copies that were discarded; null: `cures.duplicate` is off"),
    ),
)

# Every probe, whatever `observe.packets` says: each is a sample of delay and of loss by itself.
ECHOES = TableSchema(
    "echoes",
    "Echo",
    "Probe packets of ping and udp flows.",
    (
        _FLOW,
        _key("index", _U32, "", "number of the probe, from 0"),
        _key("sent_ns", _I64, _NS, "when it left"),
        Column("received_ns", _I64, _NS, "when it reached the destination; null: lost"),
        Column("reply_ns", _I64, _NS, "when the reply was back (ping); null: lost, or udp"),
    ),
)

_SCOPE = _key(
    "scope", _U8, "", "0 the whole run, 1 a window of sending time, 2 around a change of the flow's path", SCOPES
)
_SCOPE_NUMBER = _key("number", _U31, "", "of the window or of the change, from 0; 0 for the whole run")

REORDERING = TableSchema(
    "reordering",
    "ReorderingRow",
    "Reordering of each flow's first transmissions (RFC 4737, RFC 5236): in the run, in windows, around path changes.",
    (
        _FLOW,
        _SCOPE,
        _SCOPE_NUMBER,
        _key("t_ns", _I64, _NS, "first sending time of the scope"),
        _key("end_ns", _I64, _NS, "end of the scope, which is not part of it"),
        Column("sent_pkts", _U64, _P, "first transmissions sent"),
        Column("received_pkts", _U64, _P, "of those, arrived, each counted once"),
        Column("lost_pkts", _U64, _P, "of those, never arrived"),
        Column("reordered_pkts", _U64, _P, "arrived after one sent later (RFC 4737, 3.3)"),
        Column("extent_mean_pkts", _F64, _P, "mean reordering extent (RFC 4737, 4.2); null: none reordered"),
        Column("extent_max_pkts", _U32, _P, "largest reordering extent; null: none reordered"),
        Column("late_time_mean_ns", _F64, _NS, "mean late time (RFC 4737, 4.3); null: none reordered"),
        Column("late_time_max_ns", _I64, _NS, "largest late time; null: none reordered"),
        Column("byte_offset_mean_bytes", _F64, _B, "mean byte offset (RFC 4737, 4.4); null: none reordered"),
        Column("byte_offset_max_bytes", _U64, _B, "largest byte offset; null: none reordered"),
        Column("discontinuities", _U64, "", "reordering discontinuities (RFC 4737, 4.5)"),
        Column("gap_mean_pkts", _F64, _P, "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"),
        Column("gap_mean_ns", _F64, _NS, "the same in time of arrival; null: fewer than two"),
        Column("runs", _U64, "", "reordering-free runs (RFC 4737, 4.6)"),
        Column("run_mean_pkts", _F64, _P, "mean length of a run (a/x); null: none"),
        Column("run_variability_ratio", _F64, "", "variability of their lengths, (q/a)/(a/x); null: none"),
        Column("density_pkts", _U64, _P, "packets that the reorder density counts (N' of RFC 5236)"),
        Column("density_beyond_pkts", _U64, _P, "arrivals that its threshold turned into losses"),
        Column("mean_displacement_pkts", _F64, _P, "mean of abs(displacement) over the density; null: nothing counted"),
        Column("entropy_nats", _F64, "nat", "entropy of the reorder density; null: nothing counted"),
        Column("buffer_mean_pkts", _F64, _P, "mean buffer occupancy (RFC 5236, 5); null: nothing counted"),
        Column("reordered3_pkts", _U64, _P, "3-reordered: came right after three sent later (RFC 4737, 5.3)"),
    ),
)

DENSITIES = TableSchema(
    "densities",
    "Density",
    "Histograms of the scopes of `reordering`: each bar that is not 0.",
    (
        _FLOW,
        _SCOPE,
        _SCOPE_NUMBER,
        _key(
            "kind",
            _U8,
            "",
            "0 reorder density, 1 reorder buffer-occupancy density, 2 n-reordering, 3 extent",
            DENSITY_KINDS,
        ),
        _key("index", _I32, "", "displacement in packets (late positive), occupancy in packets, n, extent in packets"),
        _key("pkts", _U64, _P, "packets of that index; of n-reordering all that are n-reordered, so cumulative"),
    ),
)

_TEXT = Kind(pa.string(), "")
_WORD = Kind(pa.dictionary(pa.int32(), pa.string()), "")
ROLES = {0: "client", 1: "server"}
"""Of the two programs of a flow."""

# By the program's own account, which the host reads: text, of any length.
MEASURES = TableSchema(
    "measures",
    "",
    "What programs say that they measured: each line of a `measures.jsonl` that one left in its `{run_dir}`, by flow, "
    "role and line; and a row of what `iperf3 -J` printed as a client. Only if there was one.",
    (
        _FLOW,
        _key("role", _U8, "", "0 the flow's client, 1 its server", ROLES),
        _key("kind", _WORD, "", "what was measured: transaction, object, page, startup, segment, stall, frame, "
             "iperf3, or a word of the program's own"),
        Column("name", _TEXT, "", "which one: the path of an object, the representation of a segment"),
        Column("number", _I64, "", "which one: of transactions, pages, segments and frames from 0; of an object its "
               "page's"),
        _key("start_ns", _I64, _NS, "when it began: asked for, found missing (a stall), sent (a frame)"),
        Column("request_ns", _I64, _NS, "when its request left; before that it waited for a connection"),
        Column("first_byte_ns", _I64, _NS, "when the first byte of the answer was there"),
        Column("end_ns", _I64, _NS, "when it was complete, or over; null: never"),
        Column("bytes", _I64, _B, "its length"),
        Column("connection", _I64, "", "over which connection of the program's it came, from 0"),
        Column("bitrate_bps", _I64, "bit/s", "of a segment: bit rate of its representation"),
        Column("media_ns", _I64, _NS, "of a segment: how long it plays"),
        Column("buffer_ns", _I64, _NS, "of a segment: how much was there to be played once it had come"),
        Column("latency_ns", _I64, _NS, "of a segment of a live stream: how far behind the live edge the player was "
               "once it had come"),
        Column("other", _TEXT, "", "all else that the line has, as JSON"),
    ),
)  # fmt: skip

RECORDED: dict[str, TableSchema] = {
    table.name: table
    for table in (
        SOCKETS, PACKETS, BINS, DELAYS, LINKS, LINKTOTALS, COUNTERS, DROPS, FLOWS, ACKS, ECHOES, REORDERING,
        DENSITIES, SWITCHES, MERGES, NOTICES, ORDERS, NODETOTALS,
    )
}  # fmt: skip
"""Those that the agent writes as records."""

TABLES: dict[str, TableSchema] = RECORDED | {MEASURES.name: MEASURES}
"""All of `30-trace/`."""
