# SPDX-License-Identifier: Apache-2.0
"""The scalars of a flow of kind program, in the order of `summary.json`. `scalars/of_flows.py` explains the fields of a
scalar's line."""

from __future__ import annotations

from leowarp.scalars.scalar import BPS, BYTES, COUNT, NS, NS_AS_S, PKTS, RATIO, Group, Scalar, Section

_WHAT, _GOODPUT, _MEASURED = Group.WHAT, Group.GOODPUT, Group.MEASURED

# fmt: off
# Results of a user's programs. The programs' connections are separate flows of the kinds tcp and udp.
PROGRAMS: Section = (
    Scalar("connections", COUNT, _WHAT,
           "number of the programs' connections, each of which is a flow: TCP, or UDP between two ports",
           overview="connections"),
    Scalar("connections_bytes", BYTES, _GOODPUT, "payload that arrived over all connections; each byte counts once",
           overview="payload"),
    Scalar("client_exit_code", COUNT, _WHAT,
           "exit code of the client; null: a signal or the end of the run stopped it", overview="client exited with"),
    Scalar("client_end_ns", NS_AS_S, _WHAT, "time at which the client exited, from the run's start; null: it ran until "
    "the end",
           overview="client ended at"),
    Scalar("server_exit_code", COUNT, _WHAT, "exit code of the server; null: there was no server, or a signal or the "
    "end of the run stopped it",
           overview="server exited with"),
    Scalar("server_end_ns", NS_AS_S, _WHAT, "time at which the server exited, from the run's start; null: it ran until "
    "the end"),
)

# Numbers that iperf3 reports if the client is iperf3 -J. A scalar is null if the client is another program, or if
# iperf3 does not report the number.
IPERF3: Section = (
    Scalar("iperf3_sent_bytes", BYTES, _MEASURED, "bytes that iperf3's sender wrote, by its report (`sum_sent`)"),
    Scalar("iperf3_received_bytes", BYTES, _MEASURED, "bytes that iperf3's receiver read, by its report "
    "(`sum_received`)"),
    Scalar("iperf3_sent_bps", BPS, _MEASURED, "goodput that iperf3's sender reports"),
    Scalar("iperf3_received_bps", BPS, _MEASURED, "goodput that iperf3's receiver reports", overview="iperf3: goodput"),
    Scalar("iperf3_retransmissions_pkts", PKTS, _MEASURED, "TCP: retransmissions that iperf3 reports (`retransmits`)",
           overview="iperf3: retransmissions"),
    Scalar("iperf3_jitter_ns", NS, _MEASURED, "UDP: jitter that iperf3 reports (RFC 3550, 6.4.1, by its own clocks)",
           overview="iperf3: jitter"),
    Scalar("iperf3_datagrams_pkts", PKTS, _MEASURED, "UDP: datagrams sent, as iperf3 reports"),
    Scalar("iperf3_lost_pkts", PKTS, _MEASURED, "UDP: datagrams that iperf3's receiver missed",
           overview="iperf3: datagrams lost"),
)

# Numbers that the programs measured themselves (docs/guides/measures.md). The scalars of this section are null if the
# programs wrote no measurements.
MEASURES: Section = (
    Scalar("transactions", COUNT, _MEASURED, "completed transactions", overview="transactions"),
    Scalar("transactions_failed", COUNT, _MEASURED, "transactions that never completed", overview="  never completed"),
    Scalar("transaction_p50_ns", NS, _MEASURED,
           "median over the completed transactions of the time from start to last byte",
           overview="transaction time, median"),
    Scalar("transaction_p99_ns", NS, _MEASURED,
           "99th percentile of the times of transactions, without interpolation",
           overview="transaction time, 99th percentile"),
    Scalar("transaction_max_ns", NS, _MEASURED, "longest time of a transaction"),
    Scalar("first_byte_p50_ns", NS, _MEASURED,
           "median over the transactions of the time from start to first byte of the answer",
           overview="time to first byte, median"),
    Scalar("pages", COUNT, _MEASURED, "pages that were loaded completely", overview="page loads"),
    Scalar("pages_failed", COUNT, _MEASURED, "pages that were not loaded completely", overview="  never complete"),
    Scalar("page_objects", COUNT, _MEASURED, "objects of all pages"),
    Scalar("page_load_p50_ns", NS_AS_S, _MEASURED,
           "median over pages of the time from start to the last byte of the last object",
           overview="page load time, median"),
    Scalar("page_load_max_ns", NS_AS_S, _MEASURED, "longest page load time"),
    Scalar("page_first_byte_p50_ns", NS, _MEASURED,
           "median over pages of the time from start to the first byte of the first object",
           overview="time to first byte of a page, median"),
    Scalar("startup_ns", NS_AS_S, _MEASURED, "startup delay: from a player's start to the first picture",
           overview="startup delay"),
    Scalar("segments", COUNT, _MEASURED, "segments that a player got", overview="segments"),
    Scalar("bitrate_mean_bps", BPS, _MEASURED, "mean bit rate of the segments, weighted by their playing time",
           overview="mean bit rate"),
    Scalar("bitrate_switches", COUNT, _MEASURED, "segments with another bit rate than the previous one",
           overview="bit rate switches"),
    Scalar("stalls", COUNT, _MEASURED, "number of times that the player's buffer was empty after the first picture",
           overview="stalls"),
    Scalar("stalled_ns", NS_AS_S, _MEASURED,
           "rebuffering: total time with an empty buffer; a stall that did not end counts until the run's end",
           overview="rebuffering"),
    Scalar("stalled_ratio", RATIO, _MEASURED,
           "rebuffering ratio: `stalled_ns` divided by the sum of `stalled_ns` and the playing time of all segments",
           overview="rebuffering ratio"),
    Scalar("live_latency_p50_ns", NS_AS_S, _MEASURED,
           "delay of the player behind the live edge, median over segments; null: not live",
           overview="live latency, median"),
    Scalar("live_latency_max_ns", NS_AS_S, _MEASURED, "largest delay of the player behind the live edge",
           overview="live latency, most"),
    Scalar("frames", COUNT, _MEASURED, "media frames that were sent", overview="frames"),
    Scalar("frames_lost", COUNT, _MEASURED, "frames that were never complete", overview="  never complete"),
    Scalar("frame_delay_p50_ns", NS, _MEASURED, "median of the frame delays, from sending to the arrival of the "
    "frame's last packet",
           overview="frame delay, median"),
    Scalar("frame_delay_p95_ns", NS, _MEASURED, "95th percentile of the frame delays, without interpolation",
           overview="frame delay, 95th percentile"),
    Scalar("frame_delay_p99_ns", NS, _MEASURED, "99th percentile of the frame delays, without interpolation",
           overview="frame delay, 99th percentile"),
    Scalar("freezes", COUNT, _MEASURED,
           "number of freezes (W3C webrtc-stats, freezeCount). A freeze is an interval between rendered frames of at "
           "least three times the mean of the last 30, and at least 150 ms above it. A frame is rendered when it is "
           "complete, unless a later frame was rendered before",
           overview="freezes"),
    Scalar("frozen_ns", NS, _MEASURED, "total duration of the freezes (totalFreezesDuration)", overview="frozen"),
)
# fmt: on
