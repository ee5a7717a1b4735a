// SPDX-License-Identifier: Apache-2.0
//! The columns of each table. Made from python/leowarp/trace/schema/ by `make docs`; do not edit.
//!
//! Where a text says "null", the record holds the missing value of the column's type.

use super::format::{tables, Field, Record, Table};

tables! {
    /// TCP_INFO of each flow's sender, and some values of its receiver's TCP_INFO, at every `observe.sockets`.
    "sockets" Socket {
        t_ns: i64 ["ns", "time since the run's start"],
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        state: u8 ["1", "TCP state of the sender (1 established, 2 SYN sent, ... as in linux/tcp_states.h)"],
        ca_state: u8 ["1", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"],
        cwnd_pkts: u32 ["pkts", "congestion window"],
        ssthresh_pkts: u32 ["pkts", "slow start threshold; null: not yet set (the kernel's infinity)"],
        srtt_us: u32 ["us", "smoothed round-trip time"],
        rttvar_us: u32 ["us", "round-trip time variation"],
        min_rtt_us: u32 ["us", "smallest round-trip time within the kernel's time window; null: not yet measured"],
        rto_us: u32 ["us", "retransmission timeout"],
        pacing_bps: u64 ["bit/s", "pacing rate; null: not limited"],
        delivery_rate_bps: u64 ["bit/s", "most recent delivery rate sample of the kernel"],
        delivery_rate_app_limited: u8 ["1", "whether the application limited `delivery_rate_bps`"],
        bytes_acked: u64 ["bytes", "bytes cumulatively acknowledged"],
        bytes_sent: u64 ["bytes", "payload bytes sent, retransmissions included"],
        bytes_retrans: u64 ["bytes", "payload bytes retransmitted"],
        bytes_received: u64 ["bytes", "bytes received in order at the receiver's socket"],
        segs_out_pkts: u32 ["pkts", "segments sent, retransmissions included"],
        retrans_pkts: u32 ["pkts", "segments retransmitted so far (tcpi_total_retrans)"],
        lost_pkts: u32 ["pkts", "segments that the sender now marks as lost"],
        sacked_pkts: u32 ["pkts", "segments now selectively acknowledged"],
        unacked_pkts: u32 ["pkts", "segments sent and not yet acknowledged"],
        dsack_pkts: u32 ["pkts", "duplicate SACKs received so far"],
        reordering_pkts: u32 ["pkts", "the sender's reordering metric (starts at net.ipv4.tcp_reordering)"],
        reord_seen: u32 ["1", "reordering events that the sender has seen so far"],
        delivered_pkts: u32 ["pkts", "segments delivered so far, according to the sender's SACK scoreboard"],
        delivered_ce_pkts: u32 ["pkts", "delivered segments that were acknowledged with ECE"],
        rcv_ooopack_pkts: u32 ["pkts", "segments that arrived out of order at the receiver so far"],
        snd_mss_bytes: u32 ["bytes", "sender's maximum segment size"],
        busy_us: u64 ["us", "time with data to send or in flight"],
        rwnd_limited_us: u64 ["us", "part of the busy time limited by the receiver's window"],
        sndbuf_limited_us: u64 ["us", "part of the busy time limited by the send buffer"],
        notsent_bytes: u32 ["bytes", "bytes in the send buffer that are not yet sent"],
        bbr_bw_bps: u64 ["bit/s", "BBR's bottleneck estimate; null for other congestion controls"],
        bbr_min_rtt_us: u32 ["us", "BBR's minimum round-trip time; null for other congestion controls"],
        bbr_pacing_gain: f64 ["1", "BBR's pacing gain; null for other congestion controls"],
        bbr_cwnd_gain: f64 ["1", "BBR's window gain; null for other congestion controls"],
        retrans_out_pkts: u32 ["pkts", "retransmitted segments now in flight"],
        backoff: u8 ["1", "number of doublings of the current retransmission timeout"],
        snd_wnd_bytes: u32 ["bytes", "the receiver's window as last advertised"],
        rto_pkts: u16 ["1", "retransmission timeouts so far, those of the handshake included"],
        rcv_rtt_us: u32 ["us", "the receiver's own estimate of the round-trip time"],
        rcv_space_bytes: u32 ["bytes", "the receiver's estimate for the autotuning of its window"],
    }
    /// Packet truth: the sending time of each stored packet, and its arrival time or the place and cause of its loss.
    "packets" Packet {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        direction: u8 ["1", "0: from the flow's source to its destination (data), 1: the reverse direction (ACKs)"],
        sent_ns: i64 ["ns", "time at which it left the sending host's interface"],
        received_ns: i64 ["ns", "time at which it reached the other host; null: lost, or in flight at the end"],
        seq: u64 ["bytes", "first payload byte, from the flow's start (tcp); number of the packet (ping, udp)"],
        len_bytes: u32 ["bytes", "length of the payload"],
        ack: u64 ["bytes", "cumulative acknowledgement, bytes from the flow's start"],
        is_retransmission: u8 ["1", "whether any of its bytes were sent before"],
        is_spurious: u8 ["1", "whether its bytes all arrived in earlier packets; null: first transmission"],
        is_late: u8 ["1", "whether it is a first transmission that arrived after a packet sent later (retransmissions included)"],
        extent_pkts: u32 ["pkts", "number of arrivals since the first arrival of a packet sent later, retransmissions included. RFC 4737's extent counts only first transmissions (`reordering`, `densities`); null: not late"],
        path_id: u32 ["1", "number of the path on which it left (`path_id` in 10-routes.parquet)"],
        drop_direction: u32 ["1", "direction of the link that lost it; null: not lost on a link"],
        drop_cause: u8 ["1", "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown; null: not lost"],
        stored_because: u8 ["1", "sum of: 1 inside a window, 2 late, 4 lost, 8 retransmission"],
    }
    /// All packets of each flow and direction, stored or not, counted in bins of 50 ms of their sending time.
    "bins" Bin {
        t_ns: i64 ["ns", "time since the run's start"],
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        direction: u8 ["1", "0: from the flow's source to its destination (data), 1: the reverse direction (ACKs)"],
        sent_pkts: u32 ["pkts", "packets sent"],
        sent_bytes: u64 ["bytes", "payload sent"],
        delivered_pkts: u32 ["pkts", "sent packets that arrived"],
        delivered_bytes: u64 ["bytes", "payload of the packets that arrived"],
        lost_pkts: u32 ["pkts", "sent packets that were lost"],
        late_pkts: u32 ["pkts", "first transmissions that arrived after a packet sent later"],
        retrans_pkts: u32 ["pkts", "retransmissions sent"],
        spurious_pkts: u32 ["pkts", "retransmissions whose bytes all arrived in earlier packets"],
        owd_min_ns: i64 ["ns", "smallest one-way delay; null: nothing arrived"],
        owd_max_ns: i64 ["ns", "largest one-way delay; null: nothing arrived"],
        owd_sum_ns: i64 ["ns", "sum of the one-way delays of `delivered_pkts`"],
    }
    /// Delays of all packets of each flow, counted in bins that are at most 1/128 of the delay and 8.192 us wide; without empty bins.
    "delays" DelayBin {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        quantity: u8 ["1", "0 one-way delay of data, 1 one-way delay in the reverse direction, 2 round trip (tcp). A round trip is the delay of a data packet plus that of the first reverse packet that left after its arrival and arrived"],
        lower_ns: i64 ["ns", "smallest delay of the bin; null: data packets without a known round trip"],
        upper_ns: i64 ["ns", "end of the bin (exclusive); null if `lower_ns` is null"],
        pkts: u32 ["pkts", "packets whose delay lies in the bin"],
    }
    /// Samples of the queue of each direction of a link. The interval is `observe.queues`. A sample is stored only if a value has changed.
    "links" Queue {
        t_ns: i64 ["ns", "time since the run's start"],
        direction: u32 ["1", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"],
        queue_pkts: u32 ["pkts", "packets waiting"],
        queue_bytes: u64 ["bytes", "bytes waiting, as the kernel counts them"],
        queue_max_pkts: u32 ["pkts", "most packets waiting at once since the previous sample; null: netem"],
    }
    /// Balance of each direction of a link at the end: offered = delivered + dropped by cause + held.
    "linktotals" LinkTotal {
        direction: u32 ["1", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"],
        offered_pkts: u64 ["pkts", "packets offered"],
        offered_bytes: u64 ["bytes", "bytes offered, as the kernel counts them"],
        delivered_pkts: u64 ["pkts", "packets delivered"],
        delivered_bytes: u64 ["bytes", "bytes delivered, as the kernel counts them"],
        dropped_queue_pkts: u64 ["pkts", "packets dropped by a full queue"],
        dropped_queue_bytes: u64 ["bytes", "bytes dropped by a full queue, as the kernel counts them"],
        dropped_loss_pkts: u64 ["pkts", "packets dropped by the link's loss ratio"],
        dropped_loss_bytes: u64 ["bytes", "bytes dropped by the link's loss ratio, as the kernel counts them"],
        dropped_down_pkts: u64 ["pkts", "packets dropped when the link went down"],
        dropped_down_bytes: u64 ["bytes", "bytes dropped when the link went down, as the kernel counts them"],
        held_pkts: u64 ["pkts", "packets in the queue or in flight at the end"],
        held_bytes: u64 ["bytes", "bytes in the queue or in flight at the end, as the kernel counts them"],
        queue_max_pkts: u32 ["pkts", "most packets that ever waited at once; null: netem"],
        busy_ns: u64 ["ns", "time spent transmitting; null: netem"],
        run_queue_max_pkts: u32 ["pkts", "most packets that waited at once before the run's end (`queue_max_pkts` also counts the time after it, while the links drain); null: netem"],
        run_queue_max_pkts_at_ns: i64 ["ns", "first time at which `run_queue_max_pkts` waited; null: no packet ever waited, or netem"],
        run_queue_max_bytes: u64 ["bytes", "most bytes that waited at once before the run's end, the link's overhead included; null: netem"],
        run_queue_max_bytes_at_ns: i64 ["ns", "first time at which `run_queue_max_bytes` waited; null: no packet ever waited, or netem"],
    }
    /// The kernel's own counters (/proc/net/snmp, netstat and, with IPv6, snmp6) of each host at every `observe.counters`: one row per counter that has changed.
    "counters" Counter {
        t_ns: i64 ["ns", "time since the run's start"],
        host: u32 ["1", "number of the host; the table's metadata `hosts` has the names"],
        counter: u32 ["1", "the kernel's name of the counter, e.g. TcpExt.TCPDSACKRecv"],
        value: u64 ["1", "value of the counter since the run's start"],
    }
    /// Every lost packet, including ACKs and probes: dropped on a link, or between links (no route, or unknown place).
    "drops" Drop {
        t_ns: i64 ["ns", "time of the drop; if no link reported it (`direction` is null), time of sending"],
        direction: u32 ["1", "direction of the link that dropped it, as in `links`; null: no link reported it"],
        cause: u8 ["1", "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown"],
        flow: u32 ["1", "flow to which it belonged; null: no flow (for example ARP)"],
        flow_direction: u8 ["1", "0: data, 1: the reverse direction; null: no flow"],
        seq: u64 ["bytes", "first payload byte from the flow's start; null: unknown"],
        len_bytes: u32 ["bytes", "length of the payload; null: unknown"],
    }
    /// One row per flow, written at the end.
    "flows" FlowEnd {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        connect_ns: i64 ["ns", "duration of connection establishment; null: never established"],
        first_byte_ns: i64 ["ns", "time at which the receiver got its first byte"],
        last_byte_ns: i64 ["ns", "time at which the receiver got its last byte"],
        completion_ns: i64 ["ns", "time from the start to the last byte; null: the flow had no size, or did not finish"],
        bytes: u64 ["bytes", "payload bytes that arrived at the receiver; each byte counts once"],
        connection_bytes: u64 ["bytes", "Multipath TCP: payload that the receiver got in order over all subflows; null: another kind of flow, or a subflow"],
        error: u32 ["1", "errno with which the flow ended; 0: none"],
        duplicate_acks_pkts: u64 ["pkts", "duplicate ACKs that reached the sender (RFC 5681, 2, but an ACK with a smaller window also counts); null: not TCP, or packets were not followed"],
        rtt_min_ns: i64 ["ns", "smallest round trip of a data packet, as in `delays`; null: no round trip is known"],
        rtt_max_ns: i64 ["ns", "largest round trip of a data packet; null: no round trip is known"],
        rtt_sum_ns: i64 ["ns", "sum of the data packets' round trips; null: no round trip is known"],
    }
    /// ACKs that the receiver of each TCP flow sent. Each row counts the ACKs that answer `segments_pkts` segments after the time `wait_ns`.
    "acks" AckWait {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        segments_pkts: u32 ["pkts", "data segments that arrived since the previous ACK, in order or not"],
        wait_ns: i64 ["ns", "time from the arrival of the first of these segments to the sending of the ACK, rounded down to 0.1 ms; null: there is no such segment"],
        acks_pkts: u64 ["pkts", "ACKs sent, without the ACK of the SYN"],
    }
    /// Probe packets of ping and udp flows.
    "echoes" Echo {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        index: u32 ["1", "number of the probe, from 0"],
        sent_ns: i64 ["ns", "time at which it left"],
        received_ns: i64 ["ns", "time at which it reached the destination; null: lost"],
        reply_ns: i64 ["ns", "time at which the reply was back (ping); null: lost, or udp"],
    }
    /// Reordering of each flow's first transmissions (RFC 4737, RFC 5236): in the run, in windows, around path changes.
    "reordering" ReorderingRow {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        scope: u8 ["1", "0 the whole run, 1 a window of sending time, 2 the time around a change of the flow's path"],
        number: u32 ["1", "number of the window or of the change, from 0; 0 for the whole run"],
        t_ns: i64 ["ns", "first sending time of the scope"],
        end_ns: i64 ["ns", "end of the scope (exclusive)"],
        sent_pkts: u64 ["pkts", "first transmissions sent"],
        received_pkts: u64 ["pkts", "of these, arrived, each counted once"],
        lost_pkts: u64 ["pkts", "first transmissions that never arrived"],
        reordered_pkts: u64 ["pkts", "received packets that arrived after one sent later (RFC 4737, 3.3)"],
        extent_mean_pkts: f64 ["pkts", "mean reordering extent (RFC 4737, 4.2); null: no packet was reordered"],
        extent_max_pkts: u32 ["pkts", "largest reordering extent; null: no packet was reordered"],
        late_time_mean_ns: f64 ["ns", "mean late time (RFC 4737, 4.3); null: no packet was reordered"],
        late_time_max_ns: i64 ["ns", "largest late time; null: no packet was reordered"],
        byte_offset_mean_bytes: f64 ["bytes", "mean byte offset (RFC 4737, 4.4); null: no packet was reordered"],
        byte_offset_max_bytes: u64 ["bytes", "largest byte offset; null: no packet was reordered"],
        discontinuities: u64 ["1", "reordering discontinuities (RFC 4737, 4.5)"],
        gap_mean_pkts: f64 ["pkts", "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"],
        gap_mean_ns: f64 ["ns", "mean gap between discontinuities, in arrival time; null: fewer than two"],
        runs: u64 ["1", "reordering-free runs (RFC 4737, 4.6)"],
        run_mean_pkts: f64 ["pkts", "mean length of a reordering-free run (a/x); null: no run"],
        run_variability_ratio: f64 ["1", "variability of the lengths of these runs, (q/a)/(a/x); null: no run"],
        density_pkts: u64 ["pkts", "packets that the reorder density counts (N' of RFC 5236)"],
        density_beyond_pkts: u64 ["pkts", "arrivals beyond the density's threshold, which it counts as lost"],
        mean_displacement_pkts: f64 ["pkts", "mean abs(displacement) of the density; null: no packet counted"],
        entropy_nats: f64 ["nat", "entropy of the reorder density; null: no packet counted"],
        buffer_mean_pkts: f64 ["pkts", "mean buffer occupancy (RFC 5236, 5); null: no packet counted"],
        reordered3_pkts: u64 ["pkts", "received packets that came right after three sent later (RFC 4737, 5.3)"],
    }
    /// Histograms for each scope of `reordering`, one row per bar, without empty bars.
    "densities" Density {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        scope: u8 ["1", "0 the whole run, 1 a window of sending time, 2 the time around a change of the flow's path"],
        number: u32 ["1", "number of the window or of the change, from 0; 0 for the whole run"],
        kind: u8 ["1", "0 reorder density, 1 reorder buffer-occupancy density, 2 n-reordering, 3 extent"],
        index: i32 ["1", "place of the bar: displacement (positive if late), occupancy, n, or extent, in packets"],
        pkts: u64 ["pkts", "packets of this index; for n-reordering (cumulative), all n-reordered packets"],
    }
    /// Actions of `[cures]` at route changes. One row per change of a forwarding entry, if packets waited or were in flight on the old link, or may have been. With `duplicate`, every change has a row. Only with `move_queue`, `hold` or `duplicate`.
    "switches" Switch {
        t_ns: i64 ["ns", "time at which the forwarding entry changed"],
        from_direction: u32 ["1", "direction of the previous link, numbered as in `links`"],
        to_direction: u32 ["1", "direction of the new link"],
        host: u32 ["1", "number of the destination host; the table's metadata `hosts` has the names"],
        moved_pkts: u64 ["pkts", "packets that waited at the old link and moved to the new one; only the new link counts them as offered"],
        moved_bytes: u64 ["bytes", "bytes of the moved packets, with the link's overhead"],
        hold_ns: i64 ["ns", "planned hold of a packet that arrives at `t_ns`; null: no packets are held"],
        held_back_pkts: u64 ["pkts", "packets that were held before they were queued at the new link"],
        held_back_bytes: u64 ["bytes", "bytes of the held packets, with the link's overhead"],
        held_back_max_bytes: u64 ["bytes", "most bytes held at once"],
        held_back_longest_ns: i64 ["ns", "longest hold of a packet; null: no packet was held"],
        full_pkts: u64 ["pkts", "packets that arrived when the hold buffer was full (`cures.hold_full`)"],
        copied_pkts: u64 ["pkts", "packets sent over the new link and copied to the old one; null: `cures.duplicate` is off, or `refused` is not null"],
        copied_bytes: u64 ["bytes", "bytes of the copies, with the link's overhead"],
        refused: u8 ["1", "reason why no copies were sent: 1 the old link no longer leads to the host, 2 it leads back to this node. With `move_queue` and without `hold`: 4 packets in flight on the old link may arrive after packets of the new link; null: none of these"],
    }
    /// Actions of `cures.end_marker` at route changes. One row per change of a node's forwarding entry to another link, with the node where the old and the new path meet. Only with `end_marker`.
    "merges" Merge {
        t_ns: i64 ["ns", "time at which the forwarding entry changed"],
        from_direction: u32 ["1", "direction of the previous link, numbered as in `links`"],
        to_direction: u32 ["1", "direction of the new link"],
        host: u32 ["1", "number of the destination host; the table's metadata `hosts` has the names"],
        refused: u8 ["1", "reason why there is no marker: 1 the old link no longer leads to the host, 2 it leads back to this node; 3 the paths meet behind a link without delay and rate; null: there is a marker"],
        marker: u32 ["1", "number of the marker, from 1; null: no marker (all later columns are then null)"],
        old_direction: u32 ["1", "direction over which the old path enters the node where the paths meet"],
        new_direction: u32 ["1", "direction over which the new path enters this node"],
        marker_ns: i64 ["ns", "time at which the marker arrived at this node; null: it did not arrive"],
        ended_ns: i64 ["ns", "end of the wait for the marker: it arrived, or a packet had waited `cures.end_marker_wait`; null: no end of the wait"],
        waited_pkts: u64 ["pkts", "packets that arrived over the new path and waited"],
        waited_bytes: u64 ["bytes", "bytes of these packets, with the link's overhead"],
        waiting_max_bytes: u64 ["bytes", "most bytes that waited at once"],
        longest_ns: i64 ["ns", "longest wait of a packet; null: no packet waited"],
        full_pkts: u64 ["pkts", "packets that arrived when the buffer was full (`cures.hold_full`)"],
    }
    /// Notices that tell hosts about route changes (`cures.notify`), in the order of their numbers. Only with `notify`.
    "notices" Notice {
        t_ns: i64 ["ns", "time at which the forwarding entry of the sending node changes"],
        number: u32 ["1", "number of the notice in its packet (design/cures.md), from 1"],
        to_direction: u32 ["1", "direction over which that node sends after the change, numbered as in `links`; if the notice left before the change, the direction before it"],
        told_host: u32 ["1", "number of the host to which the notice goes; the table's metadata `hosts` has the names"],
        destination_host: u32 ["1", "number of the host at the end of the changed path, which starts at `told_host`"],
        is_false: u8 ["1", "whether the notice is false: no path changes (`cures.notify_false_interval`)"],
        is_lost: u8 ["1", "whether `cures.notify_loss` prevented its sending; losses on links do not count"],
        sent_ns: i64 ["ns", "time at which it left the node; null: not sent (`is_lost`, too late, or no route)"],
        old_delay_ns: i64 ["ns", "delay of the old path from host to host: the sum of its links' delays"],
        new_delay_ns: i64 ["ns", "delay of the new path"],
        wait_ns: i64 ["ns", "time after the notice's arrival in which the host should declare no losses. At its end, the ACK of the last packet on the old path can be back; 0: no packet is overtaken"],
    }
    /// One row per stream of packets that one station numbered and another put in order, or whose second copies it discarded. Only with `cures.resequence` or `duplicate`.
    "orders" Order {
        source_host: u32 ["1", "number of the host that sends; the table's metadata `hosts` has the names"],
        destination_host: u32 ["1", "number of the destination host"],
        protocol: u8 ["1", "IP protocol of the flow; null: all packets from source to destination"],
        source_port: u32 ["1", "source port of the flow; 0: protocol without ports; null: `protocol` is null"],
        destination_port: u32 ["1", "destination port of the flow; 0 or null as for `source_port`"],
        numbered_pkts: u64 ["pkts", "packets that were numbered: all that the first link's queue accepted"],
        waited_pkts: u64 ["pkts", "packets that arrived before their turn, and waited"],
        waiting_max_bytes: u64 ["bytes", "most bytes that waited at once, with the last link's overhead"],
        longest_ns: i64 ["ns", "longest wait of a packet; null: no packet waited"],
        given_up_pkts: u64 ["pkts", "packets that were missing when a later packet had waited the full time"],
        late_pkts: u64 ["pkts", "packets that arrived after they were given up, and passed out of order"],
        eliminated_pkts: u64 ["pkts", "second copies that were discarded; null: `cures.duplicate` is off"],
    }
    /// Totals at the end for each node that held packets or sent packets of its own. Only with `[cures]`.
    "nodetotals" NodeTotal {
        node: u32 ["1", "number of the node; the table's metadata `nodes` has the names"],
        held_pkts: u64 ["pkts", "packets that the node held at the end, before sending or after arrival"],
        held_bytes: u64 ["bytes", "bytes of these packets, with the link's overhead"],
        held_max_bytes: u64 ["bytes", "most bytes that the node held at once, over all of its links"],
        held_max_at_ns: i64 ["ns", "first time at which it held `held_max_bytes`; null: no packet was held"],
        signals_pkts: u64 ["pkts", "packets of its own that the node sent: end markers and notices"],
        signals_bytes: u64 ["bytes", "bytes of `signals_pkts`, as Ethernet frames without a link's overhead"],
    }
}
