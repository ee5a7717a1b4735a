# SPDX-License-Identifier: Apache-2.0
"""The tables with values from the kernel of each host: TCP_INFO of sockets, and counters."""

import pyarrow as pa

from leowarp.trace.schema.columns import (
    BOOL,
    BYTES,
    F64,
    FLOW,
    NAME,
    PKTS,
    T_NS,
    U8,
    U16,
    U32,
    U64,
    Column,
    Kind,
    TableSchema,
    host,
    key,
)

CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS = range(5)
"""The states of the sender's congestion control (`enum tcp_ca_state` of include/uapi/linux/tcp.h)."""
CA_STATES = {CA_OPEN: "Open", CA_DISORDER: "Disorder", CA_CWR: "CWR", CA_RECOVERY: "Recovery", CA_LOSS: "Loss"}
"""The kernel's names for the states of the sender's congestion control."""

TCP_STATES = {
    1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2", 6: "TIME_WAIT", 7: "CLOSE",
    8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN", 11: "CLOSING", 12: "NEW_SYN_RECV",
}  # fmt: skip
"""The states of a socket (linux/tcp_states.h)."""

SOCKETS = TableSchema(
    "sockets",
    "Socket",
    "TCP_INFO of each flow's sender, and some values of its receiver's TCP_INFO, at every `observe.sockets`.",
    (
        T_NS,
        FLOW,
        Column(
            "state",
            U8,
            "",
            "TCP state of the sender (1 established, 2 SYN sent, ... as in linux/tcp_states.h)",
            words=TCP_STATES,
        ),
        Column("ca_state", U8, "", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss", words=CA_STATES),
        Column("cwnd_pkts", U32, PKTS, "congestion window"),
        Column("ssthresh_pkts", U32, PKTS, "slow start threshold; null: not yet set (the kernel's infinity)"),
        Column("srtt_us", U32, "us", "smoothed round-trip time"),
        Column("rttvar_us", U32, "us", "round-trip time variation"),
        Column(
            "min_rtt_us", U32, "us", "smallest round-trip time within the kernel's time window; null: not yet measured"
        ),
        Column("rto_us", U32, "us", "retransmission timeout"),
        Column("pacing_bps", U64, "bit/s", "pacing rate; null: not limited"),
        Column("delivery_rate_bps", U64, "bit/s", "most recent delivery rate sample of the kernel"),
        Column("delivery_rate_app_limited", BOOL, "", "whether the application limited `delivery_rate_bps`"),
        Column("bytes_acked", U64, BYTES, "bytes cumulatively acknowledged"),
        Column("bytes_sent", U64, BYTES, "payload bytes sent, retransmissions included"),
        Column("bytes_retrans", U64, BYTES, "payload bytes retransmitted"),
        Column("bytes_received", U64, BYTES, "bytes received in order at the receiver's socket"),
        Column("segs_out_pkts", U32, PKTS, "segments sent, retransmissions included"),
        Column("retrans_pkts", U32, PKTS, "segments retransmitted so far (tcpi_total_retrans)"),
        Column("lost_pkts", U32, PKTS, "segments that the sender now marks as lost"),
        Column("sacked_pkts", U32, PKTS, "segments now selectively acknowledged"),
        Column("unacked_pkts", U32, PKTS, "segments sent and not yet acknowledged"),
        Column("dsack_pkts", U32, PKTS, "duplicate SACKs received so far"),
        Column("reordering_pkts", U32, PKTS, "the sender's reordering metric (starts at net.ipv4.tcp_reordering)"),
        Column("reord_seen", U32, "", "reordering events that the sender has seen so far"),
        Column("delivered_pkts", U32, PKTS, "segments delivered so far, according to the sender's SACK scoreboard"),
        Column("delivered_ce_pkts", U32, PKTS, "delivered segments that were acknowledged with ECE"),
        Column("rcv_ooopack_pkts", U32, PKTS, "segments that arrived out of order at the receiver so far"),
        Column("snd_mss_bytes", U32, BYTES, "sender's maximum segment size"),
        Column("busy_us", U64, "us", "time with data to send or in flight"),
        Column("rwnd_limited_us", U64, "us", "part of the busy time limited by the receiver's window"),
        Column("sndbuf_limited_us", U64, "us", "part of the busy time limited by the send buffer"),
        Column("notsent_bytes", U32, BYTES, "bytes in the send buffer that are not yet sent"),
        Column("bbr_bw_bps", U64, "bit/s", "BBR's bottleneck estimate; null for other congestion controls"),
        Column("bbr_min_rtt_us", U32, "us", "BBR's minimum round-trip time; null for other congestion controls"),
        Column("bbr_pacing_gain", F64, "", "BBR's pacing gain; null for other congestion controls"),
        Column("bbr_cwnd_gain", F64, "", "BBR's window gain; null for other congestion controls"),
        Column("retrans_out_pkts", U32, PKTS, "retransmitted segments now in flight"),
        Column("backoff", U8, "", "number of doublings of the current retransmission timeout"),
        Column("snd_wnd_bytes", U32, BYTES, "the receiver's window as last advertised"),
        Column("rto_pkts", U16, "", "retransmission timeouts so far, those of the handshake included"),
        Column("rcv_rtt_us", U32, "us", "the receiver's own estimate of the round-trip time"),
        Column("rcv_space_bytes", U32, BYTES, "the receiver's estimate for the autotuning of its window"),
    ),
)

BBR_MODES = {0: "STARTUP", 1: "DRAIN", 2: "PROBE_BW", 3: "PROBE_RTT"}
"""The modes of BBR, from `enum bbr_mode` in net/ipv4/tcp_bbr.c, without the prefix BBR_."""

BBR_MODE = Column(
    "bbr_mode",
    Kind(pa.uint8(), ""),
    "",
    "BBR's mode, derived from its two gains when the table is read (in no file); null for other congestion controls "
    "and for your own modules",
    words=BBR_MODES,
)

# A row is stored only if a counter changed. If every sample were stored, most rows would repeat the counter's previous
# value.
COUNTERS = TableSchema(
    "counters",
    "Counter",
    "The kernel's own counters (/proc/net/snmp, netstat and, with IPv6, snmp6) of each host at every "
    "`observe.counters`: one row per counter that has changed.",
    (
        T_NS,
        host("host", "number of the host; the table's metadata `hosts` has the names"),
        key("counter", NAME, "", "the kernel's name of the counter, e.g. TcpExt.TCPDSACKRecv"),
        Column("value", U64, "", "value of the counter since the run's start"),
    ),
)
