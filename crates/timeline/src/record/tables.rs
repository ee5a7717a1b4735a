// SPDX-License-Identifier: Apache-2.0
//! The columns of each table. Made from python/leowarp/trace/schema/ by `make docs`; do not edit.
//!
//! Where a text says "null", the record holds the missing value of the column's type.

use super::format::{tables, Field, Record, Table};

tables! {
    /// TCP_INFO of each flow's sender, and what its receiver has read, at every `observe.sockets`.
    "sockets" Socket {
        t_ns: i64 ["ns", "time since the run's start"],
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        state: u8 ["1", "TCP state of the sender (1 established, 2 SYN sent, ... as in linux/tcp_states.h)"],
        ca_state: u8 ["1", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"],
        cwnd_pkts: u32 ["pkts", "congestion window"],
        ssthresh_pkts: u32 ["pkts", "slow start threshold; null: none was set yet (the kernel's infinity)"],
        srtt_us: u32 ["us", "smoothed round-trip time"],
        rttvar_us: u32 ["us", "round-trip time variation"],
        min_rtt_us: u32 ["us", "smallest round-trip time in the kernel's window; null before the first sample"],
        rto_us: u32 ["us", "retransmission timeout"],
        pacing_bps: u64 ["bit/s", "pacing rate; null: not limited"],
        delivery_rate_bps: u64 ["bit/s", "most recent delivery rate sample of the kernel"],
        delivery_rate_app_limited: u8 ["1", "whether that sample was limited by the application"],
        bytes_acked: u64 ["bytes", "bytes cumulatively acknowledged"],
        bytes_sent: u64 ["bytes", "payload bytes sent, retransmissions included"],
        bytes_retrans: u64 ["bytes", "payload bytes retransmitted"],
        bytes_received: u64 ["bytes", "bytes received in order at the receiver's socket"],
        segs_out_pkts: u32 ["pkts", "segments sent, retransmissions included"],
        retrans_pkts: u32 ["pkts", "segments retransmitted so far (tcpi_total_retrans)"],
        lost_pkts: u32 ["pkts", "segments that the sender now holds for lost"],
        sacked_pkts: u32 ["pkts", "segments now selectively acknowledged"],
        unacked_pkts: u32 ["pkts", "segments now sent and not acknowledged"],
        dsack_pkts: u32 ["pkts", "duplicate SACKs received so far"],
        reordering_pkts: u32 ["pkts", "the sender's reordering metric (starts at net.ipv4.tcp_reordering)"],
        reord_seen: u32 ["1", "reordering events that the sender has seen so far"],
        delivered_pkts: u32 ["pkts", "segments delivered so far, as the sender's SACK scoreboard knows"],
        delivered_ce_pkts: u32 ["pkts", "of those, acknowledged with ECE"],
        rcv_ooopack_pkts: u32 ["pkts", "segments that arrived out of order at the receiver so far"],
        snd_mss_bytes: u32 ["bytes", "sender's maximum segment size"],
        busy_us: u64 ["us", "time with data to send or in flight"],
        rwnd_limited_us: u64 ["us", "of that, limited by the receiver's window"],
        sndbuf_limited_us: u64 ["us", "of that, limited by the send buffer"],
        notsent_bytes: u32 ["bytes", "bytes in the send buffer not sent yet"],
        bbr_bw_bps: u64 ["bit/s", "BBR's bottleneck estimate; null for other congestion controls"],
        bbr_min_rtt_us: u32 ["us", "BBR's minimum round-trip time; null for others"],
        bbr_pacing_gain: f64 ["1", "BBR's pacing gain; null for others"],
        bbr_cwnd_gain: f64 ["1", "BBR's window gain; null for others"],
        retrans_out_pkts: u32 ["pkts", "retransmitted segments now in flight"],
        backoff: u8 ["1", "doublings of the retransmission timeout now in force"],
        snd_wnd_bytes: u32 ["bytes", "the receiver's window as last advertised"],
        rto_pkts: u16 ["1", "retransmission timeouts so far, those of the handshake included"],
        rcv_rtt_us: u32 ["us", "the receiver's own estimate of the round-trip time"],
        rcv_space_bytes: u32 ["bytes", "the receiver's window autotuning estimate"],
    }
    /// Packet truth: when each stored packet was sent, and when it arrived or where and why it was lost.
    "packets" Packet {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        direction: u8 ["1", "0: from the flow's source to its destination (data), 1: back (ACKs)"],
        sent_ns: i64 ["ns", "when it left the sending host's interface"],
        received_ns: i64 ["ns", "when it reached the other host; null: lost, or in flight at the end"],
        seq: u64 ["bytes", "first payload byte, from the flow's start (tcp); number of the packet (ping, udp)"],
        len_bytes: u32 ["bytes", "payload"],
        ack: u64 ["bytes", "cumulative acknowledgement, bytes from the flow's start"],
        is_retransmission: u8 ["1", "whether bytes of it were sent before"],
        is_spurious: u8 ["1", "whether its original arrived too; null for first transmissions"],
        is_late: u8 ["1", "first transmission that arrived after any packet sent later, a retransmission too"],
        extent_pkts: u32 ["pkts", "arrivals since the first packet sent later, retransmissions counted; RFC 4737's extent counts first transmissions alone (`reordering`, `densities`); null: not late"],
        path_id: u32 ["1", "path on which it left, see 10-routes.parquet"],
        drop_direction: u32 ["1", "direction of the link that lost it; null: not lost there"],
        drop_cause: u8 ["1", "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown; null: not lost"],
        stored_because: u8 ["1", "sum of: 1 inside a window, 2 late, 4 lost, 8 retransmission"],
    }
    /// Packets of each flow and direction by 50 ms of the time at which they were sent; complete, whatever is stored.
    "bins" Bin {
        t_ns: i64 ["ns", "time since the run's start"],
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        direction: u8 ["1", "0: from the flow's source to its destination (data), 1: back (ACKs)"],
        sent_pkts: u32 ["pkts", "sent"],
        sent_bytes: u64 ["bytes", "payload sent"],
        delivered_pkts: u32 ["pkts", "of those, arrived"],
        delivered_bytes: u64 ["bytes", "payload of those"],
        lost_pkts: u32 ["pkts", "of those, lost"],
        late_pkts: u32 ["pkts", "first transmissions that arrived after any packet sent later"],
        retrans_pkts: u32 ["pkts", "retransmissions sent"],
        spurious_pkts: u32 ["pkts", "retransmissions whose original arrived too"],
        owd_min_ns: i64 ["ns", "smallest one-way delay; null: nothing arrived"],
        owd_max_ns: i64 ["ns", "largest one-way delay; null: nothing arrived"],
        owd_sum_ns: i64 ["ns", "sum of the one-way delays of delivered_pkts"],
    }
    /// Delays of all packets of each flow, counted in bins of at most 1/128 of the delay and 8.192 us; none is empty.
    "delays" DelayBin {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        quantity: u8 ["1", "one-way delay of 0 data, 1 packets back; 2 round trip (tcp): delay of data and of the first packet back that left once it had arrived, and arrived"],
        lower_ns: i64 ["ns", "smallest delay of the bin; null: data packets that no packet back answered so"],
        upper_ns: i64 ["ns", "end of the bin, which is not part of it; null as `lower_ns`"],
        pkts: u32 ["pkts", "packets whose delay fell into the bin"],
    }
    /// Queue of each direction of a link at every `observe.queues`, only where something changed.
    "links" Queue {
        t_ns: i64 ["ns", "time since the run's start"],
        direction: u32 ["1", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"],
        queue_pkts: u32 ["pkts", "packets waiting"],
        queue_bytes: u64 ["bytes", "bytes waiting, as the kernel counts them"],
        queue_max_pkts: u32 ["pkts", "most packets waiting at once since the sample before; null: netem"],
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
        dropped_down_pkts: u64 ["pkts", "packets dropped as the link went down"],
        dropped_down_bytes: u64 ["bytes", "bytes dropped as the link went down, as the kernel counts them"],
        held_pkts: u64 ["pkts", "packets in the queue or flying at the end"],
        held_bytes: u64 ["bytes", "bytes in the queue or flying at the end, as the kernel counts them"],
        queue_max_pkts: u32 ["pkts", "most packets that ever waited at once; null: netem"],
        busy_ns: u64 ["ns", "time spent transmitting; null: netem"],
        run_queue_max_pkts: u32 ["pkts", "most packets that waited at once until the run's end (`queue_max_pkts` goes on while the links drain); null: netem"],
        run_queue_max_pkts_at_ns: i64 ["ns", "when so many first waited; null: none ever did, netem"],
        run_queue_max_bytes: u64 ["bytes", "most bytes that waited at once until the run's end, the link's overhead included; null: netem"],
        run_queue_max_bytes_at_ns: i64 ["ns", "when so many first waited; null: none ever did, netem"],
    }
    /// The kernel's own counters (/proc/net/snmp, /proc/net/netstat) of each host, whenever one changed.
    "counters" Counter {
        t_ns: i64 ["ns", "time since the run's start"],
        host: u32 ["1", "number of the host; the table's metadata `hosts` names them"],
        counter: u32 ["1", "the kernel's name of the counter, e.g. TcpExtTCPDSACKRecv"],
        value: u64 ["1", "value of the counter since the run's start"],
    }
    /// Every packet lost, ACKs and probes too: dropped on a link, or between links (no route, or unknown where).
    "drops" Drop {
        t_ns: i64 ["ns", "when it was dropped; if no link tells (`direction` null), when it was sent"],
        direction: u32 ["1", "direction of the link that dropped it, numbered as in `links`; null: none tells"],
        cause: u8 ["1", "1 queue full, 2 loss of the link, 3 link down, 4 no route, 5 unknown"],
        flow: u32 ["1", "flow it belonged to; null: none (for instance ARP)"],
        flow_direction: u8 ["1", "0: data, 1: back; null: of no flow"],
        seq: u64 ["bytes", "first payload byte from the flow's start; null: unknown"],
        len_bytes: u32 ["bytes", "payload; null: unknown"],
    }
    /// One row a flow, at the end.
    "flows" FlowEnd {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        connect_ns: i64 ["ns", "how long connecting took; null: never connected"],
        first_byte_ns: i64 ["ns", "when the receiver got its first byte"],
        last_byte_ns: i64 ["ns", "when the receiver got its last byte"],
        completion_ns: i64 ["ns", "from the start to the last byte; null: had no size, or did not finish"],
        bytes: u64 ["bytes", "bytes that the receiver got in order"],
        connection_bytes: u64 ["bytes", "Multipath TCP: payload that the receiver had in order over all subflows; null: another flow, or a subflow"],
        error: u32 ["1", "errno with which the flow ended; 0: none"],
        duplicate_acks_pkts: u64 ["pkts", "duplicate ACKs that reached the sender (RFC 5681, 2; a smaller window is no news); null: not TCP, or packets were not followed"],
        rtt_min_ns: i64 ["ns", "smallest round trip of a data packet, as in `delays`; null: none is known"],
        rtt_max_ns: i64 ["ns", "largest of them; null: none is known"],
        rtt_sum_ns: i64 ["ns", "sum of them; null: none is known"],
    }
    /// How the receiver of each TCP flow acknowledged: one row for all ACKs that answer as many segments after as long.
    "acks" AckWait {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        segments_pkts: u32 ["pkts", "data segments that arrived since the ACK before, in order or not"],
        wait_ns: i64 ["ns", "from the arrival of the first of them to the ACK's sending, rounded down to 0.1 ms; null: there is none"],
        acks_pkts: u64 ["pkts", "ACKs sent, that of the SYN left out"],
    }
    /// Probe packets of ping and udp flows.
    "echoes" Echo {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        index: u32 ["1", "number of the probe, from 0"],
        sent_ns: i64 ["ns", "when it left"],
        received_ns: i64 ["ns", "when it reached the destination; null: lost"],
        reply_ns: i64 ["ns", "when the reply was back (ping); null: lost, or udp"],
    }
    /// Reordering of each flow's first transmissions (RFC 4737, RFC 5236): in the run, in windows, around path changes.
    "reordering" ReorderingRow {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        scope: u8 ["1", "0 the whole run, 1 a window of sending time, 2 around a change of the flow's path"],
        number: u32 ["1", "of the window or of the change, from 0; 0 for the whole run"],
        t_ns: i64 ["ns", "first sending time of the scope"],
        end_ns: i64 ["ns", "end of the scope, which is not part of it"],
        sent_pkts: u64 ["pkts", "first transmissions sent"],
        received_pkts: u64 ["pkts", "of those, arrived, each counted once"],
        lost_pkts: u64 ["pkts", "of those, never arrived"],
        reordered_pkts: u64 ["pkts", "arrived after one sent later (RFC 4737, 3.3)"],
        extent_mean_pkts: f64 ["pkts", "mean reordering extent (RFC 4737, 4.2); null: none reordered"],
        extent_max_pkts: u32 ["pkts", "largest reordering extent; null: none reordered"],
        late_time_mean_ns: f64 ["ns", "mean late time (RFC 4737, 4.3); null: none reordered"],
        late_time_max_ns: i64 ["ns", "largest late time; null: none reordered"],
        byte_offset_mean_bytes: f64 ["bytes", "mean byte offset (RFC 4737, 4.4); null: none reordered"],
        byte_offset_max_bytes: u64 ["bytes", "largest byte offset; null: none reordered"],
        discontinuities: u64 ["1", "reordering discontinuities (RFC 4737, 4.5)"],
        gap_mean_pkts: f64 ["pkts", "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"],
        gap_mean_ns: f64 ["ns", "the same in time of arrival; null: fewer than two"],
        runs: u64 ["1", "reordering-free runs (RFC 4737, 4.6)"],
        run_mean_pkts: f64 ["pkts", "mean length of a run (a/x); null: none"],
        run_variability_ratio: f64 ["1", "variability of their lengths, (q/a)/(a/x); null: none"],
        density_pkts: u64 ["pkts", "packets that the reorder density counts (N' of RFC 5236)"],
        density_beyond_pkts: u64 ["pkts", "arrivals that its threshold turned into losses"],
        mean_displacement_pkts: f64 ["pkts", "mean of abs(displacement) over the density; null: nothing counted"],
        entropy_nats: f64 ["nat", "entropy of the reorder density; null: nothing counted"],
        buffer_mean_pkts: f64 ["pkts", "mean buffer occupancy (RFC 5236, 5); null: nothing counted"],
        reordered3_pkts: u64 ["pkts", "3-reordered: came right after three sent later (RFC 4737, 5.3)"],
    }
    /// Histograms of the scopes of `reordering`: each bar that is not 0.
    "densities" Density {
        flow: u32 ["1", "number of the flow, as in the plan, from 0"],
        scope: u8 ["1", "0 the whole run, 1 a window of sending time, 2 around a change of the flow's path"],
        number: u32 ["1", "of the window or of the change, from 0; 0 for the whole run"],
        kind: u8 ["1", "0 reorder density, 1 reorder buffer-occupancy density, 2 n-reordering, 3 extent"],
        index: i32 ["1", "displacement in packets (late positive), occupancy in packets, n, extent in packets"],
        pkts: u64 ["pkts", "packets of that index; of n-reordering all that are n-reordered, so cumulative"],
    }
    /// What `[cures]` did at route changes: each entry of a node that went over to another link while packets for the host waited or flew before it, or may have; with `duplicate` each that went over. Only with `move_queue`, `hold` or `duplicate`.
    "switches" Switch {
        t_ns: i64 ["ns", "when the entry changed"],
        from_direction: u32 ["1", "direction of the link before, numbered as in `links`"],
        to_direction: u32 ["1", "direction of the link from then on"],
        host: u32 ["1", "number of the host that the packets are for; the table's metadata `hosts` names them"],
        moved_pkts: u64 ["pkts", "packets that waited at the link before and were handed to the new one: only that counts them as offered"],
        moved_bytes: u64 ["bytes", "the same in bytes, with the link's overhead"],
        hold_ns: i64 ["ns", "how long a packet that came at once would be held back; null: none is"],
        held_back_pkts: u64 ["pkts", "packets that were held back before they were queued at the new link"],
        held_back_bytes: u64 ["bytes", "the same in bytes, with the link's overhead"],
        held_back_max_bytes: u64 ["bytes", "most of them at once"],
        held_back_longest_ns: i64 ["ns", "longest time that one was held back; null: none was"],
        full_pkts: u64 ["pkts", "packets that came when the hold buffer was full (`cures.hold_full`)"],
        copied_pkts: u64 ["pkts", "packets that went over the new link and copies of which were sent over the one before; null: `cures.duplicate` is off, or did nothing here"],
        copied_bytes: u64 ["bytes", "the copies in bytes, with the link's overhead"],
        refused: u8 ["1", "why no copies were sent: 1 the old link leads to the host no more, 2 it leads back to this node; with `move_queue` and no `hold` 4: what flies over the old link may arrive after what leaves over the new one; null: none of these"],
    }
    /// What `cures.end_marker` did at route changes: each entry of a node that went over to another link, and the node where the old and the new way meet. Only with `end_marker`.
    "merges" Merge {
        t_ns: i64 ["ns", "when the entry changed"],
        from_direction: u32 ["1", "direction of the link before, numbered as in `links`"],
        to_direction: u32 ["1", "direction of the link from then on"],
        host: u32 ["1", "number of the host that the packets are for; the table's metadata `hosts` names them"],
        refused: u8 ["1", "why there is no marker: 1 the old link leads to the host no more, 2 it leads back to this node, 3 the ways meet behind a link without delay and rate; null: there is one"],
        marker: u32 ["1", "its number, from 1 on; null: there is none, as of all that follow"],
        old_direction: u32 ["1", "direction by which the old way enters the node where the ways meet"],
        new_direction: u32 ["1", "direction by which the new way does"],
        marker_ns: i64 ["ns", "when the marker came there; null: it has not"],
        ended_ns: i64 ["ns", "since when nothing waits for it: it came, or a packet had waited `cures.end_marker_wait`; null: never"],
        waited_pkts: u64 ["pkts", "packets that came by the new way and waited"],
        waited_bytes: u64 ["bytes", "the same in bytes, with the link's overhead"],
        waiting_max_bytes: u64 ["bytes", "most of them at once"],
        longest_ns: i64 ["ns", "longest time that one waited; null: none did"],
        full_pkts: u64 ["pkts", "packets that came when the buffer was full (`cures.hold_full`)"],
    }
    /// What hosts were told of route changes (`cures.notify`), in the order of the telling. Only with `notify`.
    "notices" Notice {
        t_ns: i64 ["ns", "when the entry of the node that tells changes"],
        number: u32 ["1", "from 1 on, as in the packet (design/cures.md)"],
        to_direction: u32 ["1", "direction over which that node sends from then on, numbered as in `links`; if the notice left before the change, that over which it sends until then"],
        told_host: u32 ["1", "number of the host that is told; the table's metadata `hosts` names them"],
        destination_host: u32 ["1", "number of the host to which its packets go another way"],
        is_false: u8 ["1", "there is no such change (`cures.notify_false_interval`)"],
        is_lost: u8 ["1", "not sent (`cures.notify_loss`); those that links lose are not among them"],
        sent_ns: i64 ["ns", "when it left the node; null: it did not, being lost, too late, or without a way"],
        old_delay_ns: i64 ["ns", "delay of the way before, from host to host: the links' delays added up"],
        new_delay_ns: i64 ["ns", "delay of the new way"],
        wait_ns: i64 ["ns", "how long loss detection is to be held from the notice's arrival on: until the acknowledgement of the last packet by the old way can be back; 0: nothing is overtaken"],
    }
    /// Each stream of a host that was numbered at one station and put in order at another, or of which second copies were discarded there. Only with `cures.resequence` or `duplicate`.
    "orders" Order {
        source_host: u32 ["1", "number of the host that sends; the table's metadata `hosts` names them"],
        destination_host: u32 ["1", "number of the host that the packets are for"],
        protocol: u8 ["1", "IP protocol of the flow; null: the stream is all from host to host"],
        source_port: u32 ["1", "of the flow; 0: its protocol has none; null: as of `protocol`"],
        destination_port: u32 ["1", "the same"],
        numbered_pkts: u64 ["pkts", "packets that were numbered: those that the first link's queue accepted"],
        waited_pkts: u64 ["pkts", "packets that came before their turn, and waited"],
        waiting_max_bytes: u64 ["bytes", "most that waited at once, with the last link's overhead"],
        longest_ns: i64 ["ns", "longest time that one waited; null: none did"],
        given_up_pkts: u64 ["pkts", "packets that had not come when one behind them had waited its time"],
        late_pkts: u64 ["pkts", "packets that came after they were given up, and passed at once, out of order"],
        eliminated_pkts: u64 ["pkts", "second copies that were discarded; null: `cures.duplicate` is off"],
    }
    /// What nodes that hold packets back, or send some of their own, did by the end. Only with `[cures]`.
    "nodetotals" NodeTotal {
        node: u32 ["1", "number of the node; the table's metadata `nodes` names them"],
        held_pkts: u64 ["pkts", "packets held back at the end, before its links or behind them"],
        held_bytes: u64 ["bytes", "the same in bytes, with the link's overhead"],
        held_max_bytes: u64 ["bytes", "most held back at once, by all of its links together"],
        held_max_at_ns: i64 ["ns", "when that was first so; null: nothing was held back"],
        signals_pkts: u64 ["pkts", "packets of its own that it sent: end markers and notices"],
        signals_bytes: u64 ["bytes", "the same in bytes, as Ethernet frames without a link's overhead"],
    }
}
