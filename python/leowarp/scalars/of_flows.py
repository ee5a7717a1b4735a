# SPDX-License-Identifier: Apache-2.0
"""The scalars of a flow in the order of `summary.json`. The scalars of each section are computed together.

Every scalar that is declared here must be computed, and every computed scalar must be declared here. Otherwise,
`scalars.ordered` raises an error. The files below are in `metrics/`. Each line has the name, unit, group and definition
of a scalar. If a run's page or the overview shows the scalar, the line ends with the texts that they show. A text of
the page may continue the text of the row above ("smallest", "mean", "median").

    IDENTITY                names and kind of the flow
    PACKETS                 packets on the wire, matched at both ends
    SOCKET                  goodput; TCP_INFO of the sender            per_flow/goodput.py, flows.py
    ECHOES, REPLIES         probes, one-way and round trip             per_flow/probes.py, flows.py
    LIFE, ENDING, HOST      sockets' ends, counters of a host          per_flow/goodput.py, flows.py
    REORDERING              RFC 4737 and RFC 5236                      per_flow/reordering.py
    CAUSES                  causes of losses                           route_changes/causes.py
    ROUND_TRIPS, ONE_WAY    delays of data packets                     per_flow/round_trips.py, delays.py
    NEAR_CHANGES, RECOVERY  effects of path changes                    route_changes/handovers.py, recovery.py
    CHANGES_*, SPIKES       effects of path changes                    route_changes/handovers.py, recovery.py
    ACKNOWLEDGEMENTS        actions of the receiver                    per_flow/acknowledgements.py
    SHARE, CAPACITY         competing flows; the path                  sharing/shares.py, capacity.py

The scalars of program flows are in `scalars/of_programs.py`.

The numbers in definitions, such as 1 s, 5 s, 90 % and 1/128, are the values of constants in `metrics/`. Two sections
may contain scalars with the same name (`rtt_min_ns` of TCP and of pings). Scalars with the same name have the same
unit. A flow has only one scalar with a given name.

>>> [scalar.name for scalar in IDENTITY]
['flow', 'name', 'kind', 'source', 'destination', 'congestion_control']
>>> len(TCP), len(PROBE), len(COMMON)
(112, 77, 51)
"""

from __future__ import annotations

from leowarp.scalars.of_programs import IPERF3, MEASURES, PROGRAMS
from leowarp.scalars.scalar import (
    BPS,
    BYTES,
    COUNT,
    NATS,
    NS,
    NS_AS_S,
    NS_AS_US,
    PKTS,
    RATIO,
    TEXT,
    US,
    Group,
    Scalar,
    Section,
)

_WHAT, _CHANGES, _GOODPUT, _DELAYS = Group.WHAT, Group.CHANGES, Group.GOODPUT, Group.DELAYS
_ORDER, _PACKETS, _SENDER, _ACKS = Group.ORDER, Group.PACKETS, Group.SENDER, Group.ACKS

# fmt: off
# The scalars in this section come from the plan and identify the flow. The section comes first, so that a row of
# `summary.json` begins with the flow's name.
IDENTITY: Section = (
    Scalar("flow", COUNT, _WHAT, "number of the flow, from 0"),
    Scalar("name", TEXT, _WHAT, "name of the flow in the scenario; null: no name"),
    Scalar("kind", TEXT, _WHAT, "tcp, ping, udp or program"),
    Scalar("source", TEXT, _WHAT, "station that sends data"),
    Scalar("destination", TEXT, _WHAT, "station that receives it"),
    Scalar("congestion_control", TEXT, _WHAT, "the sender's congestion control; null: not TCP", "congestion control",
           "congestion control"),
)

# The scalars in this section come from packets matched at both ends. These scalars count all packets on the wire,
# including retransmissions and packets without payload. The sections below contain the socket's own counts, which are
# therefore different.
PACKETS: Section = (
    Scalar("sent_pkts", PKTS, _PACKETS, "data packets on the wire, retransmissions included", "data packets sent",
           "data packets sent"),
    Scalar("delivered_pkts", PKTS, _PACKETS, "data packets that arrived, retransmissions included"),
    Scalar("lost_pkts", PKTS, _PACKETS, "data packets that were lost, retransmissions included", "lost packets"),
    Scalar("retransmissions_pkts", PKTS, _PACKETS, "data packets with bytes that had been sent before",
           "retransmissions", "retransmissions"),
    Scalar("spurious_retransmissions_pkts", PKTS, _PACKETS,
           "spurious retransmissions: all their bytes also arrived in earlier packets",
           "spurious retransmissions (the original arrived)", "  spurious"),
    Scalar("late_pkts", PKTS, _ORDER,
           "first transmissions that arrived after a packet sent later, which may be a retransmission. RFC 4737's "
           "reordered packets (`reordered_ratio`) are only those that a first transmission overtook",
           "late packets (overtaken)",
           "late packets (overtaken)"),
    Scalar("acks_late_pkts", PKTS, _ORDER, "packets of the reverse direction (TCP: acknowledgements) that were "
    "overtaken",
           "late acknowledgements"),
    Scalar("acks_lost_pkts", PKTS, _PACKETS, "packets of the reverse direction (TCP: acknowledgements) that were lost"),
    Scalar("data_drops_pkts", PKTS, _PACKETS, "data packets dropped on links", "data packets dropped"),
    Scalar("ack_drops_pkts", PKTS, _PACKETS, "packets of the reverse direction dropped on links"),
)

# The scalars in this section come from samples of TCP_INFO, which are values of the sender's kernel. Medians are
# weighted by time: each sample is valid until the next.
SOCKET: Section = (
    Scalar("goodput_in_order_mean_bps", BPS, _GOODPUT,
           "payload that the receiver got in order during the flow's life, divided by the length of this life. The "
           "life is from `start_ns` to `stop_ns`. For a completed flow, and for a connection that ended before the "
           "run, the payload is `bytes`; otherwise it is from the last socket sample; null: no such sample"),
    Scalar("goodput_acked_mean_bps", BPS, _GOODPUT,
           "as `goodput_in_order_mean_bps`, but for the payload that was cumulatively acknowledged at the sender; for "
           "a completed flow, both are equal",
           "mean goodput, acknowledged"),
    Scalar("goodput_sacked_mean_bps", BPS, _GOODPUT,
           "as `goodput_in_order_mean_bps`, but for the payload that was acknowledged cumulatively or selectively at "
           "the sender; for a completed flow, both are equal",
           "mean goodput, SACK-aware"),
    Scalar("goodput_mean_bps", BPS, _GOODPUT,
           "same as `goodput_in_order_mean_bps`: the rate at which an application at the receiver gets data",
           "mean goodput, in order at the receiver", "goodput"),
    Scalar("connection_goodput_mean_bps", BPS, _GOODPUT,
           "Multipath TCP: payload that the receiver got in order over all subflows, divided by the length of the "
           "flow's life; null: not Multipath TCP, or not the first subflow",
           "mean goodput of the connection, all subflows", "goodput, all subflows"),
    Scalar("srtt_p50_us", US, _DELAYS,
           "median by time of the sender's smoothed RTT, without interpolation; each sample holds until the next",
           "smoothed RTT, median by time", "smoothed RTT, median"),
    Scalar("srtt_p99_us", US, _DELAYS, "99th percentile by time of the sender's smoothed RTT, without interpolation",
           "smoothed RTT, 99th percentile by time", "smoothed RTT, 99th percentile"),
    Scalar("dsacks_pkts", PKTS, _ORDER, "duplicate SACKs that the sender received", "DSACKs received"),
    Scalar("sender_retransmissions_pkts", PKTS, _PACKETS, "retransmissions that the sender's socket counted",
           overview="retransmissions"),
    Scalar("sender_timeouts", COUNT, _SENDER, "retransmission timeouts that the sender's socket counted",
    overview="timeouts"),
    Scalar("sender_reordering_events", COUNT, _ORDER, "reordering events that the sender's socket detected"),
    Scalar("sender_reordering_pkts", PKTS, _ORDER,
           "largest reordering metric of the sender's socket (it starts at net.ipv4.tcp_reordering)"),
    Scalar("delivered_ce_pkts", PKTS, _PACKETS,
           "packets acknowledged with ECE. A receiver repeats ECE until the sender sends CWR, so they are far more "
           "than the packets marked with CE",
           "acknowledged with ECE (many per mark, until the sender sends CWR)"),
    Scalar("cwnd_p50_pkts", PKTS, _SENDER, "congestion window, median by time", "congestion window, median by time"),
    Scalar("rttvar_p50_us", US, _DELAYS, "median by time of the sender's RTT variation (mean deviation)"),
    Scalar("rto_p50_us", US, _DELAYS, "median by time of the sender's retransmission timeout"),
)

# Probes are datagrams, so loss and delay are known for each packet.
ECHOES: Section = (
    Scalar("probes_pkts", PKTS, _PACKETS, "probes sent", "probes", "sent"),
    Scalar("probes_lost_pkts", PKTS, _PACKETS, "probes that had not arrived by the end of the run", "probes lost",
           "lost"),
    Scalar("owd_min_ns", NS, _DELAYS, "smallest one-way delay of the probes", "smallest one-way delay",
           "one-way delay, least"),
    Scalar("owd_p50_ns", NS, _DELAYS, "median one-way delay of the probes", "median one-way delay",
           "one-way delay, median"),
    Scalar("owd_p99_ns", NS, _DELAYS, "99th percentile of the one-way delays of the probes, without interpolation",
           "99th percentile of the one-way delay"),
    Scalar("owd_max_ns", NS, _DELAYS, "largest one-way delay of the probes", "largest one-way delay",
           "one-way delay, largest"),
)

# These scalars describe a program's UDP connections. Such connections are not in the plan; they are found in the
# packets.
DATAGRAMS: Section = (
    Scalar("program", COUNT, _WHAT,
           "number of the program flow to which the connection belongs; null: the flow has leowarp's own probes"),
    Scalar("payload_mean_bps", BPS, _GOODPUT,
           "payload that reached the destination during the flow's life, divided by the length of this life. The life "
           "is from the connection's first packet to its last, or to the run's end. The run's last 50 ms and packets "
           "in flight do not count",
           "goodput", "goodput"),
    Scalar("payload_back_mean_bps", BPS, _GOODPUT,
           "as `payload_mean_bps`, but for the payload of the reverse direction",
           "goodput, back", "goodput, back"),
)

# The life of a flow is the time from its start to its end. Means over a flow's life are totals divided by the length of
# the flow's life.
LIFE: Section = (
    Scalar("start_ns", NS_AS_S, _WHAT, "time from the run's start to the flow's start (its first SYN or datagram)"),
    Scalar("stop_ns", NS_AS_S, _WHAT,
           "time from the run's start to the end of the flow's life. The end is its completion, its stop (for a "
           "program's connection: its last packet) or the run's end, whichever came first"),
)

# The agent observed the values in this section on the flow's sockets.
ENDING: Section = (
    Scalar("bytes", BYTES, _GOODPUT, "payload that arrived; each byte counts once"),
    Scalar("completion_ns", NS_AS_S, _GOODPUT,
           "time from the flow's start to its last byte; null: the flow had no size, or did not finish",
           "flow completion time",
           "time to completion"),
    Scalar("connect_ns", NS, _GOODPUT, "time from the flow's start to the end of connection establishment; null: never "
    "established"),
    Scalar("error", COUNT, _WHAT, "errno with which the flow ended; 0: no error"),
)

# The kernel keeps these counters per network namespace, and each host has its own namespace. If several flows share a
# host, the scalars in `HOST` are null, because the counts cannot be attributed to one flow.
HOST: Section = (
    Scalar("sender_recoveries", COUNT, _SENDER,
           "number of recoveries that the kernel of the sender's host began because it marked packets as lost; null: "
           "another TCP flow starts at that host"),
    Scalar("sender_undos", COUNT, _SENDER, "number of times that the kernel of the sender's host undid a reduction of "
    "the window; null: another TCP flow starts at that host"),
    Scalar("sender_tail_loss_probes", COUNT, _SENDER,
           "probes that the kernel of the sender's host sent because no ACK came for about two round trips (TLP, RFC "
           "8985); null: another TCP flow starts at that host"),
    Scalar("received_ce_pkts", PKTS, _PACKETS,
           "packets that arrived with a congestion mark (CE); null: more than one TCP flow ends at that host",
           "arrived with a congestion mark (CE)", "marked for congestion"),
)

# Only first transmissions are counted. If a retransmission is late, the cause is TCP, not the path.
REORDERING: Section = (
    Scalar("reordered_ratio", RATIO, _ORDER,
           "share of the received first transmissions that arrived after one sent later (RFC 4737, 4.1)",
           "reordered, of the packets received"),
    Scalar("reordered3_ratio", RATIO, _ORDER,
           "share of the received first transmissions that arrived directly after three consecutive ones sent later "
           "(RFC 4737, 5.3)",
           "3-reordered"),
    Scalar("mean_displacement_pkts", PKTS, _ORDER, "MD: mean of abs(displacement) over the reorder density (RFC 5236)",
           "mean displacement (MD)", "mean displacement"),
    Scalar("entropy_nats", NATS, _ORDER, "E_r: entropy of the reorder density, -sum RD ln RD (RFC 5236)",
           "entropy of the reorder density (E_r)", "reordering entropy"),
    Scalar("buffer_mean_pkts", PKTS, _ORDER,
           "mean occupancy of a buffer that restores the order (RBD, RFC 5236). A lost packet fills the buffer to its "
           "threshold, so losses also raise the mean", "mean occupancy of a buffer that restores the order"),
    Scalar("reordering_extent_mean_pkts", PKTS, _ORDER,
           "mean extent of the reordered packets (RFC 4737, 4.2); null: no packet was reordered", "mean extent"),
    Scalar("reordering_extent_max_pkts", PKTS, _ORDER,
           "largest extent of a reordered packet (RFC 4737, 4.2); null: no packet was reordered",
           "largest reordering extent",
           "largest reordering extent"),
    Scalar("late_time_mean_ns", NS, _ORDER, "mean late time of the reordered packets (RFC 4737, 4.3); null: no packet "
    "was reordered",
           "mean late time"),
    Scalar("late_time_max_ns", NS, _ORDER, "largest late time of a reordered packet (RFC 4737, 4.3); null: no packet "
    "was reordered",
           "largest late time"),
    Scalar("byte_offset_max_bytes", BYTES, _ORDER,
           "largest byte offset of a reordered packet (RFC 4737, 4.4); null: no packet was reordered",
           "largest byte offset"),
    Scalar("reordering_discontinuities", COUNT, _ORDER, "reordering discontinuities (RFC 4737, 4.5)",
           "discontinuities"),
    Scalar("reordering_free_run_mean_pkts", PKTS, _ORDER, "mean length of a reordering-free run (RFC 4737, 4.6)",
           "mean run without reordering"),
    Scalar("density_beyond_pkts", PKTS, _ORDER,
           "packets displaced by more than `observe.reordering_threshold`, which the reorder density counts as lost",
           "displaced by more than the threshold of RD: lost to it"),
)

# Numbers of lost, late and retransmitted packets by cause. The causes are derived from drops that links report, and
# from route changes.
CAUSES: Section = (
    Scalar("lost_queue_pkts", PKTS, _PACKETS, "data packets lost at a full queue", "lost at full queues",
           "lost at full queues"),
    Scalar("lost_loss_pkts", PKTS, _PACKETS, "data packets lost by a link's own loss", overview="lost on links"),
    Scalar("lost_link_down_pkts", PKTS, _PACKETS, "data packets lost because their link went down",
           overview="lost because a link went down"),
    Scalar("lost_no_route_pkts", PKTS, _PACKETS, "data packets lost because there was no route",
           overview="lost without a route"),
    Scalar("lost_unknown_pkts", PKTS, _PACKETS, "data packets lost at an unknown place",
           overview="lost, cause unknown"),
    Scalar("needed_retransmissions_pkts", PKTS, _PACKETS, "retransmissions that were not spurious",
           "needed retransmissions"),
    Scalar("late_by_changes_pkts", PKTS, _CHANGES, "data packets that were late because of route changes",
           "late because of a route change"),
    Scalar("lost_by_changes_pkts", PKTS, _CHANGES, "data packets that were lost because of route changes",
           "lost because of a route change"),
    Scalar("needed_by_changes_pkts", PKTS, _CHANGES, "retransmissions of bytes that were lost because of route changes",
           "needed, of bytes that a route change lost"),
    Scalar("spurious_by_changes_pkts", PKTS, _CHANGES,
           "spurious retransmissions of bytes that were late because of route changes",
           "spurious, of bytes that a route change made late"),
)

# Round trips are computed for each data packet. The sender's own estimate is not used, because it is smoothed by 1/8
# per sample (RFC 6298, 2).
ROUND_TRIPS: Section = (
    Scalar("rtt_min_ns", NS, _DELAYS,
           "smallest round trip of a data packet. The round trip is its one-way delay plus that of the first reverse "
           "packet that left after its arrival and was not lost. It does not include the time that the receiver waits, "
           "for a delayed ACK or for a missing segment",
           "round-trip time of packets, smallest", "RTT, least"),
    Scalar("rtt_mean_ns", NS, _DELAYS, "mean of the data packets' round trips", "mean"),
    Scalar("rtt_p50_ns", NS, _DELAYS, "median of the data packets' round trips", "median", "RTT, median"),
    Scalar("rtt_p90_ns", NS, _DELAYS, "90th percentile of the data packets' round trips", "90th percentile"),
    Scalar("rtt_p99_ns", NS, _DELAYS, "99th percentile of the data packets' round trips", "99th percentile",
           "RTT, 99th percentile"),
    Scalar("rtt_p999_ns", NS, _DELAYS, "99.9th percentile of the data packets' round trips",
           "99.9th percentile"),
    Scalar("rtt_max_ns", NS, _DELAYS, "largest round trip of a data packet", "largest"),
    Scalar("rtt_error_ns", NS_AS_US, _DELAYS,
           "largest possible error of a percentile of round trips. Packets were counted in bins of at most 8.192 us "
           "and 1/128 of the delay; null: a run of an older version, which counts packets that were not stored as "
           "means over 50 ms", "largest possible error of a percentile"),
)

# One-way delays are exact, because both ends use the guest's only clock.
ONE_WAY: Section = (
    Scalar("owd_min_ns", NS, _DELAYS, "smallest one-way delay of a data packet", "smallest one-way delay",
           "one-way delay, least"),
    Scalar("owd_mean_ns", NS, _DELAYS, "mean one-way delay of the data packets"),
    Scalar("owd_p50_ns", NS, _DELAYS, "median of the one-way delays of data packets", "median one-way delay",
           "one-way delay, median"),
    Scalar("owd_p90_ns", NS, _DELAYS, "90th percentile of the one-way delays of data packets"),
    Scalar("owd_p99_ns", NS, _DELAYS, "99th percentile of the one-way delays of data packets",
           "99th percentile of the one-way delay"),
    Scalar("owd_p999_ns", NS, _DELAYS, "99.9th percentile of the one-way delays of data packets"),
    Scalar("owd_max_ns", NS, _DELAYS, "largest one-way delay of a data packet", "largest one-way delay",
           "one-way delay, largest"),
    Scalar("owd_error_ns", NS, _DELAYS,
           "largest possible error of a percentile of one-way delays"),
)

# Either a probe or its reply may be lost. The sender of a ping cannot distinguish the loss of a probe from the loss of
# its reply.
REPLIES: Section = (
    Scalar("replies_pkts", PKTS, _PACKETS, "replies that arrived; null: these probes have no replies"),
    Scalar("replies_lost_pkts", PKTS, _PACKETS,
           "probes without a reply, whichever direction lost it; probes in flight at the end count neither as lost nor "
           "as answered",
           "probes without a reply", "without a reply"),
    Scalar("replies_lost_near_changes_pkts", PKTS, _CHANGES,
           "probes without a reply that were sent within 1 s before or after a change of the path",
           "probes without a reply within 1 s of a route change", "  within 1 s of a change"),
    Scalar("rtt_min_ns", NS, _DELAYS, "smallest round-trip time of a probe", "round-trip time of packets, smallest",
           "RTT, least"),
    Scalar("rtt_mean_ns", NS, _DELAYS, "mean round-trip time over the replies", "mean"),
    Scalar("rtt_p50_ns", NS, _DELAYS, "median round-trip time of the replies, without interpolation", "median",
           "RTT, median"),
    Scalar("rtt_p99_ns", NS, _DELAYS, "99th percentile of the round-trip times, without interpolation",
           "99th percentile", "RTT, 99th percentile"),
    Scalar("rtt_p999_ns", NS, _DELAYS, "99.9th percentile of the round-trip times, without interpolation",
           "99.9th percentile"),
    Scalar("rtt_max_ns", NS, _DELAYS, "largest round-trip time of a probe", "largest"),
    Scalar("rtt_step_mean_ns", NS, _DELAYS,
           "mean of the absolute difference between the round trips of successive replies; lost probes between them "
           "are ignored", "mean step from reply to reply", "RTT, mean step from reply to reply"),
    Scalar("loss_runs", COUNT, _PACKETS, "number of bursts of lost probes: consecutive probes without a reply",
    "runs of lost probes"),
    Scalar("loss_run_mean_pkts", PKTS, _PACKETS, "mean length of the bursts of lost probes; null: no probe was lost"),
    Scalar("loss_run_max_pkts", PKTS, _PACKETS, "length of the longest burst of lost probes; null: no probe was lost",
    "the longest",
           "longest run of losses"),
)

# Losses within 1 s of a change include outages of the access profile. In LENS's recordings, 327 of the 337 lost pings
# were lost within this time.
NEAR_CHANGES: Section = (
    Scalar("lost_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost within 1 s before or after a change of the path in either direction (for an access link: "
           "a reconfiguration)", "data packets lost within 1 s of a change", "lost within 1 s of a change"),
    Scalar("lost_queue_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost at a full queue within 1 s before or after a change",
           "data packets lost within 1 s of a change at full queues"),
    Scalar("lost_loss_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost by a link's own loss within 1 s before or after a change"),
    Scalar("lost_link_down_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost because their link went down, within 1 s before or after a change"),
    Scalar("lost_no_route_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost because there was no route, within 1 s before or after a change"),
    Scalar("lost_unknown_near_changes_pkts", PKTS, _CHANGES,
           "data packets lost at an unknown place within 1 s before or after a change"),
)

_LOSSY_WORDS = ("reconfigurations with a loss (not at a queue) within 1 s", "with exactly one")

# Losses at a full queue are excluded, because a bulk flow fills its queue whether or not the path changes.
CHANGES_WITH_LOSS: Section = (
    Scalar("changes_with_loss_ratio", RATIO, _CHANGES,
           "share of the changes during the flow's life with losses of its data packets within 1 s before or after; "
           "losses at a full queue do not count", _LOSSY_WORDS[0]),
    Scalar("changes_with_one_loss_ratio", RATIO, _CHANGES,
           "share of the changes during the flow's life with exactly one lost data packet within 1 s before or after; "
           "losses at a full queue do not count", _LOSSY_WORDS[1]),
)

CHANGES_WITH_LOST_PROBES: Section = (
    Scalar("changes_with_loss_ratio", RATIO, _CHANGES,
           "share of the changes during the flow's life with lost probes (pings: without reply) within 1 s before or "
           "after",
           _LOSSY_WORDS[0]),
    Scalar("changes_with_one_loss_ratio", RATIO, _CHANGES,
           "share of the changes during the flow's life with exactly one lost probe within 1 s before or after",
           _LOSSY_WORDS[1]),
)

_SPIKE_WORDS = ("spike of the one-way delay (pings: there and back), median", "90th percentile")

# Recovery is examined for at most 5 s after a change, and not beyond the next change. If a flow has not recovered by
# the end of the examined time, the value is null instead of 5 s.
RECOVERY: Section = (
    Scalar("recovery_p50_ns", NS, _CHANGES,
           "median over all changes of the time until goodput is again at 90 % of its mean in the second before the "
           "change; null: too many changes had no recovery within 5 s",
           "goodput back at 90 %, median", "recovery from a change, median"),
    Scalar("recovery_p90_ns", NS, _CHANGES, "90th percentile of the times whose median is `recovery_p50_ns`",
           "90th percentile (a dash: longer than 5 s)"),
    Scalar("recovered_ratio", RATIO, _CHANGES,
           "share of the changes after which goodput came back within 5 s, or never fell",
           "reconfigurations with a recovery within 5 s", "  recovered within 5 s"),
    Scalar("goodput_dip_p50_ratio", RATIO, _CHANGES, "median over all changes of the depth of goodput's dip",
           "depth of the dip, median"),
    Scalar("spike_p50_ns", NS, _CHANGES,
           "median over the changes of the spike of the one-way delay. The spike is the largest delay of the data sent "
           "in the second after the change, minus the mean of the second before",
           _SPIKE_WORDS[0], "spike at a change, median"),
    Scalar("spike_p90_ns", NS, _CHANGES, "90th percentile of the values with median `spike_p50_ns`", _SPIKE_WORDS[1]),
)

SPIKES: Section = (
    Scalar("spike_p50_ns", NS, _CHANGES,
           "median over the changes of the spike of the round trip (for probes without replies: of the one-way delay). "
           "The spike is the largest value within 1 s before or after the change, minus the median of the second "
           "before; null: fewer than 5 probes in the second before or after each change",
           _SPIKE_WORDS[0], "spike at a change, median"),
    Scalar("spike_p90_ns", NS, _CHANGES, "90th percentile of the values with median `spike_p50_ns`", _SPIKE_WORDS[1]),
)

# The receiver's actions (docs/concepts/delayed-acks.md) are counted from packets, whatever the value of
# `tcp.delayed_ack`.
ACKNOWLEDGEMENTS: Section = (
    Scalar("acks_per_segment_ratio", RATIO, _ACKS,
           "all ACKs that the receiver sent, divided by the data segments that they answered"),
    Scalar("ack_wait_p50_ns", NS, _ACKS,
           "median over ACKs of the time from the arrival of the first segment that an ACK answers to the ACK, rounded "
           "down to 0.1 ms. An ACK answers the segments that arrived since the previous ACK"),
    Scalar("ack_wait_p90_ns", NS, _ACKS, "90th percentile of the times whose median is `ack_wait_p50_ns`"),
    Scalar("ack_wait_p99_ns", NS, _ACKS, "99th percentile of the times whose median is `ack_wait_p50_ns`"),
    Scalar("ack_wait_max_ns", NS, _ACKS, "longest of the times whose median is `ack_wait_p50_ns`"),
    Scalar("ack_waits_long_ratio", RATIO, _ACKS,
           "of the ACKs that answer segments, share whose first segment waited 10 ms or more"),
    Scalar("duplicate_acks_pkts", PKTS, _ACKS,
           "duplicate ACKs that reached the sender, counted from the packets that passed its host (RFC 5681, 2). An "
           "ACK with a smaller window also counts as a duplicate"),
    Scalar("duplicate_acks_ratio", RATIO, _ACKS, "`duplicate_acks_pkts` divided by the data packets sent"),
    Scalar("spurious_retransmissions_ratio", RATIO, _PACKETS,
           "`spurious_retransmissions_pkts` divided by the data packets sent; packets without payload do not count"),
    Scalar("timeouts", COUNT, _SENDER,
           "retransmission timeouts of the sender's host (`TcpExt.TCPTimeouts`); null: another TCP flow starts at that "
           "host"),
    Scalar("timeout_retransmissions_pkts", PKTS, _PACKETS,
           "packets that the retransmission timer sent, and retransmissions of the slow start after each timeout "
           "(TCPTimeouts - TCPSynRetrans + TCPSlowStartRetrans); null: another TCP flow starts at that host"),
    Scalar("timeout_retransmissions_ratio", RATIO, _PACKETS,
           "`timeout_retransmissions_pkts` divided by the data packets sent"),
)

# A share covers only the time in which all flows live, so that a flow that starts late does not seem to get an unfair
# share.
SHARE: Section = (
    Scalar("share_ratio", RATIO, _GOODPUT,
           "the flow's share of the goodput of itself and its competitors, while all of them competed. Two TCP flows "
           "compete while both live and their data pass the same direction of a link with a rate. They are competitors "
           "if they compete for 1 s and for a tenth of the longer life. Connections with less than 1 % of the payload "
           "of their program's largest one have no competitors",
           "share of the goodput of competing flows", "share of the flows' goodput"),
    Scalar("share_reason", TEXT, _GOODPUT, "reason why there is no `share_ratio`; null: there is one, or there is no "
    "other TCP flow",
           "no share, because"),
)

# The capacity includes only the payload of full segments, not headers. A flow can thus reach a ratio of 1.
CAPACITY: Section = (
    Scalar("path_capacity_mean_bps", BPS, _GOODPUT,
           "payload in full segments that the path could have carried during the flow's life. It is the mean over time "
           "of the rate of the path's slowest link, minus headers; times without a path count as 0; null: no link has "
           "a rate"),
    Scalar("capacity_used_ratio", RATIO, _GOODPUT,
           "`goodput_mean_bps` divided by `path_capacity_mean_bps`; flows on the same path share this capacity",
           overview="  of the path's capacity"),
    Scalar("below_capacity_ratio", RATIO, _GOODPUT,
           "share of the whole seconds of the flow's life in which its in-order goodput was below 90 % of the path's "
           "capacity (see `path_capacity_mean_bps`). In a second with a path change, both capacities count in "
           "proportion to their time. A second without any path does not count; null: no link has a rate",
           "time below 90 % of the path's capacity"),
)

# fmt: on

# The order of the sections applies to `summary.json`, to the reference page, and to each group in `leowarp show
# --metrics`.
TCP: Section = (
    *IDENTITY, *PACKETS, *SOCKET, *LIFE, *ENDING, *HOST, *REORDERING, *CAUSES, *ROUND_TRIPS, *ONE_WAY, *NEAR_CHANGES,
    *CHANGES_WITH_LOSS, *RECOVERY, *ACKNOWLEDGEMENTS, *SHARE, *CAPACITY,
)  # fmt: skip
"""The scalars of a TCP flow."""

PROGRAM: Section = (*IDENTITY, *PROGRAMS, *IPERF3, *MEASURES)
"""The scalars of a flow of kind program."""

PROBE: Section = (
    *IDENTITY, *PACKETS, *ECHOES, *DATAGRAMS, *LIFE, *ENDING, *REORDERING, *CAUSES, *REPLIES, *NEAR_CHANGES,
    *CHANGES_WITH_LOST_PROBES, *SPIKES,
)  # fmt: skip
"""The scalars of a flow of pings or UDP datagrams."""

COMMON: Section = (*IDENTITY, *PACKETS, *LIFE, *ENDING, *REORDERING, *CAUSES, *NEAR_CHANGES)
"""The scalars that both TCP flows and probes have."""
