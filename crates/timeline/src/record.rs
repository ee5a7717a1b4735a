// SPDX-License-Identifier: Apache-2.0
//! `out/*.rec`: the tables that the guest writes. One macro makes, for each, the struct, its bytes and its description,
//! so that the header of a file cannot say anything else than what the file holds.

/// A column.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Field {
    /// Column name; a quantity's ends in its unit.
    pub name: &'static str,
    /// `i64 u64 i32 u32 u16 u8 f64`, little endian.
    #[serde(rename = "type")]
    pub type_: &'static str,
    /// `ns`, `pkts`, ..., or `1` where there is none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// A table.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Table {
    /// File name without `.rec`.
    pub table: &'static str,
    /// Bytes of one record, packed.
    pub record_bytes: usize,
    /// In order.
    pub fields: &'static [Field],
}

/// First bytes of each file.
pub const MAGIC: &[u8; 8] = b"LEOWARP1";

/// Missing values, by type: the least `i64` and `i32`, the greatest `u64`, `u32`, `u16`, `u8`.
pub const MISSING_I64: i64 = i64::MIN;

/// A record of some table.
pub trait Record {
    /// Which.
    const TABLE: Table;
    /// Appends the record's bytes.
    fn put(&self, out: &mut Vec<u8>);
}

macro_rules! tables {
    ($($(#[$meta:meta])* $table:literal $record:ident { $($field:ident: $type:ident [$unit:literal, $doc:literal],)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub struct $record {
                $(#[doc = $doc] pub $field: $type,)*
            }

            impl Record for $record {
                const TABLE: Table = Table {
                    table: $table,
                    record_bytes: 0 $(+ size_of::<$type>())*,
                    fields: &[$(Field { name: stringify!($field), type_: stringify!($type), unit: $unit, doc: $doc },)*],
                };
                fn put(&self, out: &mut Vec<u8>) {
                    let mut bytes = [0u8; <Self as Record>::TABLE.record_bytes];
                    let mut at = 0;
                    $(
                        bytes[at..at + size_of::<$type>()].copy_from_slice(&self.$field.to_le_bytes());
                        at += size_of::<$type>();
                    )*
                    debug_assert_eq!(at, bytes.len());
                    out.extend_from_slice(&bytes);
                }
            }
        )*

        /// Every table.
        pub const TABLES: &[Table] = &[$($record::TABLE,)*];
    };
}

tables! {
    /// One flow at one sample.
    "sockets" Socket {
        t_ns: i64 ["ns", "time from the run's start"],
        flow: u32 ["1", "index into the flows"],
        state: u8 ["1", "sender: state of the connection, 1 = established (include/net/tcp_states.h)"],
        ca_state: u8 ["1", "sender: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"],
        cwnd_pkts: u32 ["pkts", "sender: congestion window"],
        ssthresh_pkts: u32 ["pkts", "sender: slow start threshold; missing = none yet"],
        srtt_us: u32 ["us", "sender: smoothed round-trip time; missing before the first sample"],
        rttvar_us: u32 ["us", "sender: mean deviation of the round-trip time; missing before the first sample"],
        min_rtt_us: u32 ["us", "sender: least round-trip time of the kernel's window; missing before the first sample"],
        rto_us: u32 ["us", "sender: retransmission timeout"],
        pacing_bps: u64 ["bit/s", "sender: pacing rate; missing = not set"],
        delivery_rate_bps: u64 ["bit/s", "sender: latest delivery rate sample, payload"],
        delivery_rate_app_limited: u8 ["1", "sender: 1 = that sample was limited by the application"],
        bytes_acked: u64 ["bytes", "sender: cumulatively acknowledged"],
        bytes_sent: u64 ["bytes", "sender: payload sent, retransmissions included"],
        bytes_retrans: u64 ["bytes", "sender: payload retransmitted"],
        bytes_received: u64 ["bytes", "receiver: received in order; missing before the connection is accepted"],
        segs_out_pkts: u32 ["pkts", "sender: segments sent"],
        retrans_pkts: u32 ["pkts", "sender: segments retransmitted so far"],
        lost_pkts: u32 ["pkts", "sender: segments now thought lost"],
        sacked_pkts: u32 ["pkts", "sender: segments now selectively acknowledged"],
        unacked_pkts: u32 ["pkts", "sender: segments now not cumulatively acknowledged"],
        dsack_pkts: u32 ["pkts", "sender: duplicate SACKs received so far"],
        reordering_pkts: u32 ["pkts", "sender: reordering degree, the duplicate threshold"],
        reord_seen: u32 ["1", "sender: reordering events seen so far"],
        delivered_pkts: u32 ["pkts", "sender: segments delivered so far, SACKed ones included"],
        delivered_ce_pkts: u32 ["pkts", "sender: of those, with a congestion mark"],
        rcv_ooopack_pkts: u32 ["pkts", "receiver: segments that came out of order so far; missing before the connection is accepted"],
        snd_mss_bytes: u32 ["bytes", "sender: payload of a full segment"],
        busy_us: u64 ["us", "sender: time with data to send"],
        rwnd_limited_us: u64 ["us", "sender: of that, limited by the receiver's window"],
        sndbuf_limited_us: u64 ["us", "sender: of that, limited by its own send buffer"],
        notsent_bytes: u32 ["bytes", "sender: written and not yet sent"],
        bbr_bw_bps: u64 ["bit/s", "bbr: bandwidth estimate; missing for other congestion controls"],
        bbr_min_rtt_us: u32 ["us", "bbr: min_rtt estimate; missing for other congestion controls"],
        bbr_pacing_gain: f64 ["1", "bbr: pacing gain; NaN for other congestion controls"],
        bbr_cwnd_gain: f64 ["1", "bbr: cwnd gain; NaN for other congestion controls"],
        retrans_out_pkts: u32 ["pkts", "sender: retransmitted segments now in flight"],
        backoff: u8 ["1", "sender: doublings of the retransmission timeout"],
        snd_wnd_bytes: u32 ["bytes", "sender: the receiver's window as last advertised"],
        rto_pkts: u16 ["1", "sender: retransmission timeouts so far, those of the handshake included"],
        rcv_rtt_us: u32 ["us", "receiver: its round-trip time estimate; missing before the connection is accepted"],
        rcv_space_bytes: u32 ["bytes", "receiver: window autotuning's estimate; missing before the connection is accepted"],
    }
    /// A stored packet.
    "packets" Packet {
        sent_ns: i64 ["ns", "when it left the sending host, from the run's start"],
        received_ns: i64 ["ns", "when it reached the receiving host; missing = lost or in flight at the end"],
        flow: u32 ["1", "index into the flows"],
        direction: u8 ["1", "0 from the flow's source, 1 to it"],
        is_retransmission: u8 ["1", "1 = carries bytes that were sent before"],
        is_spurious: u8 ["1", "1 = all its bytes also arrived in packets sent before it; missing for first transmissions"],
        is_late: u8 ["1", "1 = a first transmission that arrived after a packet sent later"],
        stored_because: u8 ["1", "sum of 1 window, 2 late, 4 lost, 8 retransmission"],
        drop_cause: u8 ["1", "1 queue, 2 loss, 3 link down, 4 no route, 5 unknown; missing = not lost"],
        drop_direction: u32 ["1", "the link direction that lost it; missing = none or unknown"],
        path_id: u32 ["1", "the path in force when it was sent; missing = none"],
        extent_pkts: u32 ["pkts", "reordering extent (RFC 4737, 4.2); missing = not late"],
        len_bytes: u32 ["bytes", "payload"],
        seq: u64 ["bytes", "offset of its first payload byte from the start of the stream; ping and udp: index"],
        ack: u64 ["bytes", "bytes of the other direction that it acknowledges; missing = it acknowledges nothing"],
    }
    /// What became of the packets that were sent within one bin.
    "bins" Bin {
        t_ns: i64 ["ns", "start of the bin, by sending time"],
        flow: u32 ["1", "index into the flows"],
        direction: u8 ["1", "0 from the flow's source, 1 to it"],
        sent_pkts: u32 ["pkts", "sent"],
        sent_bytes: u64 ["bytes", "payload sent"],
        delivered_pkts: u32 ["pkts", "of those, arrived"],
        delivered_bytes: u64 ["bytes", "payload of those that arrived"],
        lost_pkts: u32 ["pkts", "of those, lost"],
        late_pkts: u32 ["pkts", "of those, first transmissions that arrived after a packet sent later"],
        retrans_pkts: u32 ["pkts", "of those, retransmissions"],
        spurious_pkts: u32 ["pkts", "of those, spurious retransmissions"],
        owd_min_ns: i64 ["ns", "least one-way delay; missing if none arrived"],
        owd_max_ns: i64 ["ns", "greatest one-way delay; missing if none arrived"],
        owd_sum_ns: i64 ["ns", "sum of one-way delays"],
    }
    /// A queue, when something about it changed.
    "links" Queue {
        t_ns: i64 ["ns", "time from the run's start"],
        direction: u32 ["1", "2 * link, + 1 for b>a"],
        queue_pkts: u32 ["pkts", "waiting (netem: waiting and flying)"],
        queue_bytes: u64 ["bytes", "waiting, overhead included"],
        queue_max_pkts: u32 ["pkts", "most that waited since the sample before; missing for netem"],
    }
    /// A link direction at the end.
    "linktotals" LinkTotal {
        direction: u32 ["1", "2 * link, + 1 for b>a"],
        offered_pkts: u64 ["pkts", "offered to the queue"],
        offered_bytes: u64 ["bytes", "offered, overhead included"],
        delivered_pkts: u64 ["pkts", "arrived at the other end"],
        delivered_bytes: u64 ["bytes", "arrived, overhead included"],
        dropped_queue_pkts: u64 ["pkts", "dropped because the queue was full"],
        dropped_queue_bytes: u64 ["bytes", "dropped because the queue was full"],
        dropped_loss_pkts: u64 ["pkts", "lost at random; missing for netem, which does not tell"],
        dropped_loss_bytes: u64 ["bytes", "lost at random; missing for netem"],
        dropped_down_pkts: u64 ["pkts", "lost because the link was down; missing for netem"],
        dropped_down_bytes: u64 ["bytes", "lost because the link was down; missing for netem"],
        held_pkts: u64 ["pkts", "still waiting or flying"],
        held_bytes: u64 ["bytes", "still waiting or flying"],
        queue_max_pkts: u32 ["pkts", "most that ever waited; missing for netem"],
        busy_ns: u64 ["ns", "time spent transmitting; missing for netem"],
    }
    /// A kernel counter, when it changed.
    "counters" Counter {
        t_ns: i64 ["ns", "time from the run's start"],
        host: u32 ["1", "index into the hosts"],
        counter: u32 ["1", "index into the header's names"],
        value: u64 ["1", "since the host came up"],
    }
    /// A packet that a link dropped.
    "drops" Drop {
        t_ns: i64 ["ns", "time from the run's start"],
        direction: u32 ["1", "the link direction that dropped it"],
        cause: u8 ["1", "1 queue, 2 loss, 3 link down"],
        flow: u32 ["1", "index into the flows; missing = of no flow"],
        flow_direction: u8 ["1", "0 from the flow's source, 1 to it; missing = of no flow"],
        seq: u64 ["bytes", "as in packets; missing = not known"],
        len_bytes: u32 ["bytes", "payload; missing = not known"],
    }
    /// A flow at the end.
    "flows" FlowEnd {
        flow: u32 ["1", "index into the flows"],
        connect_ns: i64 ["ns", "tcp: when the connection stood at the source; missing = never"],
        first_byte_ns: i64 ["ns", "when the first payload reached the destination; missing = never"],
        last_byte_ns: i64 ["ns", "when the last payload that arrived did; missing = never"],
        completion_ns: i64 ["ns", "tcp with a size: from its start until all of it had arrived; missing = not complete or no size"],
        bytes: u64 ["bytes", "payload that reached the destination, each byte once"],
        error: u32 ["1", "errno of what ended it early, 0 = none"],
        duplicate_acks_pkts: u64 ["pkts", "tcp: duplicate acknowledgements (RFC 5681, 2) that reached the source; missing = not tcp, or packets were not followed"],
        rtt_min_ns: i64 ["ns", "tcp: least round trip of a data packet, as in delays; missing = none is known"],
        rtt_max_ns: i64 ["ns", "tcp: greatest of them; missing = none is known"],
        rtt_sum_ns: i64 ["ns", "tcp: sum of them; missing = none is known"],
    }
    /// Acknowledgements of a flow that answer as many segments after the same wait.
    "acks" AckWait {
        flow: u32 ["1", "index into the flows"],
        segments_pkts: u32 ["pkts", "data segments that arrived since the acknowledgement before"],
        wait_ns: i64 ["ns", "from the arrival of the first of them to the acknowledgement, rounded down to 0.1 ms; missing = there is none"],
        acks_pkts: u64 ["pkts", "acknowledgements sent, that of the SYN left out"],
    }
    /// Delays of a flow that fell into one bin; only bins that are not empty.
    "delays" DelayBin {
        flow: u32 ["1", "index into the flows"],
        quantity: u8 ["1", "one-way delay of packets 0 from the flow's source, 1 to it; 2 round trip of those from it (tcp)"],
        lower_ns: i64 ["ns", "smallest delay of the bin; missing = packets that nothing answered"],
        upper_ns: i64 ["ns", "end of the bin, which is not part of it; missing as lower_ns"],
        pkts: u32 ["pkts", "packets whose delay fell into it"],
    }
    /// A probe or a datagram.
    "echoes" Echo {
        flow: u32 ["1", "index into the flows"],
        index: u32 ["1", "from 0"],
        sent_ns: i64 ["ns", "when it left the source"],
        received_ns: i64 ["ns", "when it reached the destination; missing = lost"],
        reply_ns: i64 ["ns", "ping: when the reply was back; missing = lost"],
    }
    /// Reordering of a flow's first transmissions in one scope (RFC 4737, RFC 5236).
    "reordering" ReorderingRow {
        flow: u32 ["1", "index into the flows"],
        scope: u8 ["1", "0 the whole run, 1 a window of sending time, 2 around a change of the flow's path"],
        number: u32 ["1", "of the window or the change, from 0; 0 for the whole run"],
        t_ns: i64 ["ns", "first sending time of the scope"],
        end_ns: i64 ["ns", "end of the scope, which is not part of it"],
        sent_pkts: u64 ["pkts", "sent"],
        received_pkts: u64 ["pkts", "of those, arrived, each counted once"],
        lost_pkts: u64 ["pkts", "of those, never arrived"],
        reordered_pkts: u64 ["pkts", "arrived after one sent later (RFC 4737, 3.3)"],
        extent_mean_pkts: f64 ["pkts", "mean reordering extent of the reordered (RFC 4737, 4.2); missing = none reordered"],
        extent_max_pkts: u32 ["pkts", "greatest reordering extent; missing = none reordered"],
        late_time_mean_ns: f64 ["ns", "mean late time of the reordered (RFC 4737, 4.3); missing = none reordered"],
        late_time_max_ns: i64 ["ns", "greatest late time; missing = none reordered"],
        byte_offset_mean_bytes: f64 ["bytes", "mean byte offset of the reordered (RFC 4737, 4.4); missing = none reordered"],
        byte_offset_max_bytes: u64 ["bytes", "greatest byte offset; missing = none reordered"],
        discontinuities: u64 ["1", "reordering discontinuities (RFC 4737, 4.5)"],
        gap_mean_pkts: f64 ["pkts", "mean gap between reordering discontinuities (RFC 4737, 4.5); missing = fewer than two"],
        gap_mean_ns: f64 ["ns", "mean gap in time of arrival; missing = fewer than two"],
        runs: u64 ["1", "reordering-free runs (RFC 4737, 4.6)"],
        run_mean_pkts: f64 ["pkts", "mean length of a run (a/x); missing = none"],
        run_variability_ratio: f64 ["1", "variability of the runs' lengths, (q/a)/(a/x); missing = none"],
        density_pkts: u64 ["pkts", "N' of the reorder density (RFC 5236, 4)"],
        density_beyond_pkts: u64 ["pkts", "arrivals that the density's threshold turned into losses"],
        mean_displacement_pkts: f64 ["pkts", "sum of abs(displacement) times density; missing = nothing counted"],
        entropy_nats: f64 ["nat", "entropy of the reorder density; missing = nothing counted"],
        buffer_mean_pkts: f64 ["pkts", "mean buffer occupancy (RFC 5236, 5); missing = nothing counted"],
        reordered3_pkts: u64 ["pkts", "3-reordered (RFC 4737, 5.3)"],
    }
    /// A bar of one of a scope's histograms; only those that are not 0.
    "densities" Density {
        flow: u32 ["1", "index into the flows"],
        scope: u8 ["1", "as in reordering"],
        number: u32 ["1", "as in reordering"],
        kind: u8 ["1", "0 reorder density, 1 reorder buffer-occupancy density, 2 n-reordering, 3 reordering extent"],
        index: i32 ["1", "displacement (late positive), occupancy, n or extent"],
        pkts: u64 ["pkts", "packets of that index; of kind 2 the packets that are n-reordered (so cumulative)"],
    }
}

/// The first bytes of a file of `table`: magic, length, JSON padded so that records start at a multiple of 8. `extra`
/// holds what else a reader must know (`names` of counters, for instance).
pub fn header(table: &Table, extra: &serde_json::Map<String, serde_json::Value>) -> Vec<u8> {
    let mut json = serde_json::Map::new();
    json.insert("table".into(), table.table.into());
    json.insert("record_bytes".into(), table.record_bytes.into());
    json.insert("fields".into(), serde_json::json!(table.fields));
    json.extend(extra.iter().map(|(k, v)| (k.clone(), v.clone())));
    let mut text = serde_json::Value::Object(json).to_string().into_bytes();
    while (MAGIC.len() + 4 + text.len()) % 8 != 0 {
        text.push(b' ');
    }
    let mut out = MAGIC.to_vec();
    out.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_bytes_that_its_table_says() {
        let mut out = Vec::new();
        Echo { flow: 1, index: 2, sent_ns: 3, received_ns: MISSING_I64, reply_ns: 4 }.put(&mut out);
        assert_eq!(out.len(), Echo::TABLE.record_bytes);
        assert_eq!(out[..16], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out[16..24], i64::MIN.to_le_bytes());
    }

    #[test]
    fn each_table_adds_up_and_names_units() {
        for table in TABLES {
            let bytes: usize = table
                .fields
                .iter()
                .map(|f| match f.type_ {
                    "i64" | "u64" | "f64" => 8,
                    "i32" | "u32" => 4,
                    "u16" => 2,
                    "u8" => 1,
                    other => panic!("{other} is not a type of the agreement"),
                })
                .sum();
            assert_eq!(bytes, table.record_bytes, "{}", table.table);
            for field in table.fields {
                for (ending, unit) in [("_ns", "ns"), ("_us", "us"), ("_bytes", "bytes"), ("_bps", "bit/s")] {
                    assert!(!field.name.ends_with(ending) || field.unit == unit, "{}.{}", table.table, field.name);
                }
                assert!(!field.doc.is_empty());
            }
        }
    }

    #[test]
    fn a_header_ends_at_a_multiple_of_eight() {
        let mut extra = serde_json::Map::new();
        for text in ["", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"] {
            extra.insert("x".into(), text.into());
            let bytes = header(&Echo::TABLE, &extra);
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(bytes[..8], *MAGIC);
            let json: serde_json::Value = serde_json::from_slice(&bytes[12..]).unwrap();
            assert_eq!(json["record_bytes"], 32);
            assert_eq!(json["fields"][2]["type"], "i64");
            assert_eq!(json["x"], text);
        }
    }
}
