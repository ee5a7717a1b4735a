// SPDX-License-Identifier: Apache-2.0
//! Tests what acknowledgements and replies in a capture show: missing segments, the place of the capture, and late echo
//! replies.

use crate::capture_test::{echo, ipv4, pcap, read, steps, whole, RAW};
use crate::{Place, Protocol, Settings};
use proptest::prelude::*;

const SYN: u8 = 2;
const ACK: u8 = 16;
const COOKED: u16 = 113;

/// A segment of the flow or an answer to a segment, with the time to live in its IP header.
#[derive(Debug, Clone, Copy)]
struct One {
    t_us: u32,
    is_answer: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    stamps: Option<(u32, u32)>,
    data: usize,
    hops: u8,
    ip_id: u16,
}

const DATA: One =
    One { t_us: 0, is_answer: false, seq: 0, ack: 1, flags: ACK, stamps: None, data: 100, hops: 64, ip_id: 0 };
const ANSWER: One = One { is_answer: true, data: 0, ..DATA };

impl One {
    fn ip(self) -> Vec<u8> {
        let mut segment = if self.is_answer { vec![0, 80, 0x30, 0x39] } else { vec![0x30, 0x39, 0, 80] };
        segment.extend(self.seq.to_be_bytes());
        segment.extend(self.ack.to_be_bytes());
        segment.extend([if self.stamps.is_some() { 8 << 4 } else { 5 << 4 }, self.flags, 1, 1, 0, 0, 0, 0]);
        if let Some((stamp, echo)) = self.stamps {
            segment.extend([1, 1, 8, 10]);
            segment.extend([stamp, echo].map(u32::to_be_bytes).concat());
        }
        segment.resize(segment.len() + self.data, 3);
        directed(&ipv4(6, &segment), self.is_answer, self.hops, self.ip_id)
    }
}

fn directed(ip: &[u8], is_answer: bool, hops: u8, ip_id: u16) -> Vec<u8> {
    let mut ip = ip.to_vec();
    ip[4..6].copy_from_slice(&ip_id.to_be_bytes());
    ip[8] = hops;
    if is_answer {
        let source: Vec<_> = ip[12..16].to_vec();
        ip.copy_within(16..20, 12);
        ip[16..20].copy_from_slice(&source);
    }
    ip
}

/// Returns a capture of packets, each with its time.
fn timed(link: u16, mut packets: Vec<(u32, Vec<u8>)>) -> Vec<u8> {
    packets.sort_by_key(|&(t_us, _)| t_us);
    let (times, frames): (Vec<_>, Vec<_>) = packets.into_iter().unzip();
    let mut file = pcap(link, &frames);
    let mut at = 24;
    for (t_us, frame) in times.iter().zip(&frames) {
        file[at + 4..at + 8].copy_from_slice(&(t_us * 1000).to_le_bytes());
        at += 16 + frame.len();
    }
    file
}

fn of(all: &[One]) -> Vec<u8> {
    timed(RAW, all.iter().map(|one| (one.t_us, one.ip())).collect())
}

fn data(k: u32) -> One {
    One { t_us: 1000 * k, seq: 1000 + 100 * k, ..DATA }
}

fn acked(k: u32, to: u32) -> One {
    One { t_us: 1000 * k + 50, ack: 1000 + 100 * to, ..ANSWER }
}

#[test]
fn segments_that_were_acknowledged_and_not_captured_are_missed_and_not_lost() {
    // The capture does not contain segments 3 and 4, which are acknowledged. The capture also lacks segment 7, which is
    // not acknowledged.
    let mut all: Vec<_> = [0, 1, 2, 5, 6, 8].map(data).into();
    let (_, lost) = read(&of(&all), 1000, Settings::default());
    assert_eq!(lost.unwrap().seq, [0, 1, 2, 5, 6, 8]);
    all.extend([acked(2, 3), acked(6, 7)]);
    let (capture, result) = read(&of(&all), 1000, Settings::default());
    assert_eq!(result.unwrap().seq, [0, 1, 2, 3, 4, 6]);
    assert_eq!((capture.counts().missed_pkts, capture.counts().missed_bytes), (2, 200));
    assert_eq!(capture.counts().answer_pkts, 2);
}

#[test]
fn a_capture_that_begins_in_a_recovery_or_ends_early_counts_nothing_as_lost() {
    // The packets are, in order: a retransmission of an old segment; new segments whose numbers are 400 higher; answers
    // to segments that are not in the capture.
    let mut all = vec![data(0), One { t_us: 50, ack: 41_000, ..ANSWER }];
    all.extend((400..410).map(|k| One { t_us: k, ..data(k) }));
    all.push(One { t_us: 9000, ack: 1000 + 100 * 412, ..ANSWER });
    let (capture, result) = read(&of(&all), 1000, Settings::default());
    assert_eq!(result.unwrap().seq, (0..11).collect::<Vec<_>>());
    assert_eq!(capture.counts().missed_bytes, 39_900 + 200);
}

#[test]
fn an_acknowledgement_of_another_connection_tells_nothing() {
    for ack in [0, 1000 + (2 << 30), 500] {
        let all = [data(0), data(2), One { ack, t_us: 9000, ..ANSWER }];
        let (capture, result) = read(&of(&all), 1000, Settings::default());
        assert_eq!((result.unwrap().seq, capture.counts().missed_bytes), (vec![0, 2], 0), "{ack}");
    }
}

#[test]
fn equal_timestamps_leave_it_to_the_identification_if_that_counts() {
    let numbers = |ids: [u16; 6], stamp: fn(u32) -> u32| {
        // Segment 3 arrives after 4 and 5.
        let order = [0, 1, 2, 4, 5, 3];
        let all: Vec<_> = (0u32..6)
            .map(|at| {
                let k = order[at as usize];
                let stamps = Some((stamp(k), 7));
                One { t_us: at, seq: 1000 + 100 * k, ip_id: ids[at as usize], stamps, ..DATA }
            })
            .collect();
        let (capture, result) = read(&of(&all), 1000, Settings::default());
        (result.unwrap().seq, capture.counts().in_need_pkts, capture.counts().undecided_pkts)
    };
    let (overtaken, repeated) = (vec![0, 1, 2, 4, 5, 3], vec![0, 1, 2, 4, 5]);
    // All segments have the same timestamp, so the identification decides. In the first case, the identification counts
    // up from 100 in order of sending.
    assert_eq!(numbers([100, 101, 102, 104, 105, 103], |_| 9), (overtaken.clone(), 0, 0));
    assert_eq!(numbers([100, 101, 102, 104, 105, 106], |_| 9), (repeated.clone(), 1, 0));
    // If the identification is missing or random, there is no evidence.
    assert_eq!(numbers([0; 6], |_| 9), (overtaken.clone(), 0, 1));
    assert_eq!(numbers([100, 20_000, 7, 60_000, 9000, 3], |_| 9), (overtaken.clone(), 0, 1));
    // Different timestamps are stronger evidence than the identification.
    assert_eq!(numbers([100, 101, 102, 104, 105, 106], |k| k), (overtaken, 0, 0));
    assert_eq!(numbers([100, 101, 102, 103, 104, 105], |k| if k == 3 { 10 } else { 9 }), (repeated, 1, 0));
}

#[test]
fn data_in_a_syn_are_no_packet_and_leave_no_hole() {
    let syn = One { seq: 999, flags: SYN, data: 500, ..DATA };
    let answer = |ack| One { t_us: 10, ack, flags: SYN | ACK, ..ANSWER };
    let accepted: Vec<_> = (5..25).map(data).collect();
    let refused: Vec<_> = (0..25).map(data).collect();
    for (answers, segments) in
        [(vec![], &accepted), (vec![answer(1500)], &accepted), (vec![answer(1000)], &refused), (vec![], &refused)]
    {
        let all = [vec![syn], answers, segments.clone()].concat();
        let (capture, result) = read(&of(&all), 1000, Settings::default());
        let expected: Vec<u64> = (0..segments.len() as u64).collect();
        assert_eq!(result.unwrap().seq, expected);
        assert_eq!(capture.counts().repeated_pkts + capture.counts().missed_pkts, 0);
    }
    // The first segment after the SYN is lost, which leaves a hole of one segment.
    let all = [vec![syn, answer(1500)], accepted[1..].to_vec()].concat();
    assert_eq!(whole(&of(&all), Settings::default()).seq, (1..20).collect::<Vec<_>>());
}

/// Returns a capture of a transfer. A round trip is `ahead_us` plus `behind_us`. `ahead_us` is the time from the
/// capture to the receiver and back, and `behind_us` the time to the sender and back.
fn transfer(ahead_us: u32, behind_us: u32, with_handshake: bool, with_stamps: bool, hops: (u8, u8)) -> Vec<u8> {
    let mut all = Vec::new();
    let stamps = |mine: u32, its: u32| with_stamps.then_some((mine, its));
    let forward = One { hops: hops.0, ..DATA };
    let answer = One { hops: hops.1, ..ANSWER };
    if with_handshake {
        all.push(One { seq: 999, flags: SYN, data: 0, ..forward });
        all.push(One { t_us: ahead_us, ack: 1000, flags: SYN | ACK, ..answer });
        all.push(One { t_us: ahead_us + behind_us, seq: 1000, data: 0, ..forward });
    }
    for k in 0..20 {
        // The window is one segment, so each segment is sent in reaction to an answer.
        let t_us = (k + 1) * (ahead_us + behind_us);
        all.push(One { t_us, seq: 1000 + 100 * k, stamps: stamps(500 + k, 700 + k), ..forward });
        all.push(One { t_us: t_us + ahead_us, ack: 1100 + 100 * k, stamps: stamps(701 + k, 500 + k), ..answer });
    }
    of(&all)
}

fn places(file: &[u8], settings: Settings) -> Vec<Place> {
    read(file, 1000, settings).0.place().unwrap().places
}

#[test]
fn sender_middle_and_receiver_are_told_by_handshake_timestamps_or_times_to_live() {
    use Place::{Middle, Receiver, Sender};
    for (handshake, stamps) in [(true, false), (false, true), (true, true)] {
        for (ahead_us, behind_us, place) in [(20_000, 100, Sender), (20_000, 9_000, Middle), (100, 20_000, Receiver)] {
            let file = transfer(ahead_us, behind_us, handshake, stamps, (64, 64));
            assert_eq!(places(&file, Settings::default()), [place], "{handshake} {stamps}");
        }
    }
    // In the next two captures, only the delay of the answers shows where the capture was made. In the first capture,
    // the delay excludes the receiver. In the second capture, the delay shows that the place is the receiver.
    assert_eq!(places(&transfer(20_000, 100, false, false, (64, 64)), Settings::default()), [Sender, Middle]);
    assert_eq!(places(&transfer(100, 20_000, false, false, (64, 64)), Settings::default()), [Receiver]);
    // Both ends are on one machine.
    assert_eq!(places(&transfer(20, 20, true, true, (64, 64)), Settings::default()).len(), 3);
    for (hops, place) in [((64, 57), Sender), ((52, 128), Receiver), ((60, 119), Middle)] {
        assert_eq!(places(&transfer(20, 20, false, false, hops), Settings::default()), [place]);
    }
    // The delay of the answers contradicts the time to live, so no place is possible.
    assert_eq!(places(&transfer(20_000, 100, true, true, (52, 64)), Settings::default()), []);
}

#[test]
fn a_cooked_capture_says_which_way_its_packets_went() {
    let cooked = |kind: u8, ip: &[u8]| [&[0, kind, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0][..], ip].concat();
    let with = |kinds: &[u8]| {
        let packets = kinds.iter().zip(0..).map(|(&kind, k)| (k, cooked(kind, &data(k).ip()))).collect();
        places(&timed(COOKED, packets), Settings::default())
    };
    assert_eq!(with(&[4, 4]), [Place::Sender, Place::Middle]);
    assert_eq!(with(&[0, 0]), [Place::Middle, Place::Receiver]);
    assert_eq!(with(&[0, 4]), [Place::Middle]);
    assert_eq!(with(&[3]), [Place::Middle]);
}

/// Returns a capture of echo requests and replies. Each element of `echoes` contains a sequence number, the time of the
/// request and the time of the reply.
fn pinged(echoes: &[(u16, u32, u32)], hops: (u8, u8)) -> Vec<u8> {
    let mut packets = Vec::new();
    for &(seq, asked_us, answered_us) in echoes {
        packets.push((asked_us, directed(&ipv4(1, &echo(8, 7, seq)), false, hops.0, 0)));
        packets.push((answered_us, directed(&ipv4(1, &echo(0, 7, seq)), true, hops.1, 0)));
    }
    timed(RAW, packets)
}

#[test]
fn replies_are_measured_if_asked_for_and_tell_where_requests_tell_nothing() {
    use Place::{Middle, Receiver, Sender};
    let late =
        [0, 0, 0, 25_000, 0, 0].iter().zip(0..).map(|(late, k)| (k as u16, 10_000 * k, 10_000 * k + 45_000 + late));
    let file = pinged(&late.collect::<Vec<_>>(), (64, 64));
    assert_eq!(steps(&whole(&file, Settings::default())), [0, 1, 2, 3, 4, 5]);
    assert_eq!(places(&file, Settings::default()), [Sender, Middle]);
    let replies = Settings { protocol: Some(Protocol::IcmpReply), flow: None };
    assert_eq!(steps(&whole(&file, replies)), [0, 1, 2, 4, 5, 3]);
    let (capture, _) = read(&file, 1000, replies);
    assert_eq!((capture.counts().numbered_pkts, capture.counts().answer_pkts), (6, 6));
    assert_eq!(capture.flows()[0].source.to_string(), "10.0.0.2");
    assert_eq!(places(&file, replies), [Middle, Receiver]);
    // A capture at the receiver shows requests out of order, each with an immediate reply.
    let there: Vec<_> = [0, 1, 3, 2].iter().zip(0..).map(|(&seq, k)| (seq, 1000 * k, 1000 * k + 20)).collect();
    assert_eq!(places(&pinged(&there, (64, 64)), Settings::default()), [Middle, Receiver]);
    assert_eq!(places(&pinged(&there, (50, 64)), Settings::default()), [Receiver]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// If the receiver acknowledged all data, no segment counts as lost, even if segments are missing in the capture.
    /// The captured segments are numbered 0, 1, 2, ... in order.
    #[test]
    fn what_was_acknowledged_is_never_lost(kept in prop::collection::vec(any::<bool>(), 1..60)) {
        let mut all = vec![data(0)];
        all.extend((1..).zip(&kept).filter(|(_, &kept)| kept).map(|(k, _)| data(k)));
        let end = 1 + kept.len() as u32;
        all.push(acked(end, end));
        let (capture, result) = read(&of(&all), 1000, Settings::default());
        let captured = all.len() as u64 - 1;
        prop_assert_eq!(result.unwrap().seq, (0..captured).collect::<Vec<_>>());
        // 1 is subtracted for the sequence number of the FIN, which is not a byte.
        prop_assert_eq!(capture.counts().missed_bytes, 100 * (u64::from(end) - captured));
    }

    /// Packets may be truncated, duplicated and reordered. In each case, every packet is numbered, counted, or skipped
    /// with a reason. No capture is refused.
    #[test]
    fn every_packet_is_accounted_for(
        order in prop::collection::vec((0u32..40, any::<bool>(), prop::option::of(0usize..140)), 0..60),
    ) {
        let packets: Vec<_> = (0..)
            .zip(&order)
            .map(|(t_us, &(k, is_answer, cut))| {
                let mut ip = if is_answer { acked(k, k).ip() } else { data(k).ip() };
                ip.truncate(cut.unwrap_or(ip.len()));
                (t_us, ip)
            })
            .collect();
        let (capture, result) = read(&timed(RAW, packets), 77, Settings { protocol: None, flow: Some(0) });
        let (counts, found) = (capture.counts(), result.unwrap());
        prop_assert_eq!(counts.packets, order.len() as u64);
        prop_assert_eq!(counts.numbered_pkts + counts.answer_pkts + capture.skips().packets(), counts.packets);
        let passed = counts.repeated_pkts + counts.in_need_pkts;
        prop_assert_eq!(found.seq.len() as u64 + passed, counts.numbered_pkts);
    }
}
