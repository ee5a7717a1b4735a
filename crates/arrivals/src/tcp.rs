// SPDX-License-Identifier: Apache-2.0
//! Numbers the first transmissions of a TCP flow, from the flow's data segments in order of arrival.
//!
//! A sender sends new data in the order of its bytes. First transmissions are therefore sent in the order of their
//! first bytes. The number of a segment is its position in this order. Whether a segment is a first transmission
//! follows from its bytes:
//!
//! - If the bytes are beyond all bytes seen so far, the segment is a first transmission.
//! - If the bytes fill a hole, the segment is an overtaken first transmission, or a retransmission after a loss. As in
//!   RFC 3522, timestamps of the sender (RFC 7323) distinguish a first transmission from a retransmission. If the
//!   segment has an earlier timestamp than the segment above the hole, it is a first transmission. If the segment's
//!   timestamp is later, the segment is a retransmission. If the two timestamps are equal or missing, the IPv4
//!   identification decides, provided that it has so far increased from packet to packet. Linux, for example,
//!   increments the identification with each packet of a connection. If neither timestamp nor identification decides,
//!   the segment counts as a first transmission, and as undecided.
//! - If no byte is new, the segment is a spurious retransmission, or a duplicate from the network. A segment without
//!   new bytes is only counted.
//!
//! If a first transmission is lost, its number does not occur among the arrivals. The lost packet has the number of the
//! segment that retransmits its data. If a hole is never filled, the number of packets in it is unknown. The number is
//! estimated from the longest segment so far. If the receiver acknowledged the bytes of a hole that is never filled,
//! the bytes arrived but are not in the capture. Packets of an acknowledged hole get no numbers, and are counted
//! separately.
//!
//! An arrival gets its number only when there is no hole below it. Until then, the arrival waits. At most
//! [`WAITING_MAX`] arrivals wait. If more arrivals would have to wait, the lowest hole is given up. This seldom
//! happens, because few receivers have a window of `WAITING_MAX` segments.

use std::collections::{BTreeMap, VecDeque};

/// The maximum number of arrivals that wait. 65,536 segments of 1460 bytes are 95 MB.
const WAITING_MAX: usize = 65_536;
/// The position of the first byte in the capture. Bytes before the first captured byte may arrive later. The position
/// is large, so that the positions of these earlier bytes are also above 0.
const ORIGIN: u64 = 1 << 40;
/// The maximum number of segments above a hole that are searched for a first transmission. The timestamp or IP
/// identification of this first transmission is then examined.
const LOOK_MAX: usize = 64;
/// The maximum distance in bytes from the captured data to a later acknowledgement number. An acknowledgement that is
/// further ahead belongs to another connection, because no window is larger than this distance (RFC 7323, 2.3).
const WINDOW_MAX_BYTES: u64 = 1 << 30;
/// The maximum difference between the IP identifications of two segments if the sender counts them up. Two captured
/// segments can have very different IP identifications, because a network card may make many packets of one segment.
const STEP_MAX: u16 = 4096;

/// A segment with data.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub seq: u32,
    pub len_bytes: u32,
    pub t_ns: Option<i64>,
    /// The timestamp (TSval).
    pub stamp: Option<u32>,
    pub ip_id: Option<u16>,
}

/// The counts of segments that yield no arrival, or whose arrival is uncertain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// The segments that have no new bytes, or that arrived too late, after their hole was given up.
    pub repeated_pkts: u64,
    /// The segments that filled a hole as retransmissions.
    pub in_need_pkts: u64,
    /// The segments that filled a hole, but may be first transmissions or retransmissions.
    pub undecided_pkts: u64,
    /// The approximate number of segments that were acknowledged but are not in the capture.
    pub missed_pkts: u64,
    /// The number of bytes in the missing segments.
    pub missed_bytes: u64,
}

/// Counts how the IPv4 identification changes between successive segments of new data.
#[derive(Debug, Default)]
struct Identifications {
    last: Option<u16>,
    steps: u64,
    counting: u64,
}

impl Identifications {
    fn new_data(&mut self, ip_id: Option<u16>) {
        let Some(mine) = ip_id else { return };
        if let Some(last) = self.last.replace(mine) {
            self.steps += 1;
            self.counting += u64::from((1..=STEP_MAX).contains(&mine.wrapping_sub(last)));
        }
    }

    /// Returns whether the sender's IP identification counts up. At least nine of ten increments of the identification
    /// must be small. Some systems choose the identification at random, which RFC 6864 allows.
    fn is_counter(&self) -> bool {
        self.counting * 10 >= self.steps * 9
    }
}

/// A range of consecutive bytes that has arrived. Ranges are stored in a map. The key is the first byte of the range.
#[derive(Debug)]
struct Unit {
    end: u64,
    /// If the range arrived in a first transmission, the arrival number, timestamp and IP identification of this
    /// transmission.
    first: Option<First>,
}

#[derive(Debug, Clone, Copy)]
struct First {
    arrival: u64,
    stamp: Option<u32>,
    ip_id: Option<u16>,
}

#[derive(Debug)]
struct Waiting {
    number: Option<u64>,
    t_ns: Option<i64>,
    len_bytes: u32,
}

/// Assigns numbers to the first transmissions in one direction of a connection.
#[derive(Debug, Default)]
pub struct Numbering {
    begun: bool,
    /// Every byte below this position has a number.
    resolved: u64,
    /// The position after the last byte that has arrived.
    highest: u64,
    next_number: u64,
    /// The ranges above `resolved` that have arrived. The key is the number of a range's first byte.
    above: BTreeMap<u64, Unit>,
    waiting: VecDeque<Waiting>,
    /// The number of arrivals that were removed from `waiting`.
    gone: u64,
    longest_bytes: u32,
    /// Every byte below this position has been acknowledged.
    acknowledged: u64,
    identifications: Identifications,
    pub passed: Passed,
}

impl Numbering {
    /// Sets the first byte of the connection, from its SYN.
    pub fn begin(&mut self, seq: u32) {
        self.begun = true;
        self.resolved = ORIGIN + u64::from(seq);
        self.highest = self.resolved;
    }

    /// Processes an acknowledgement from the opposite direction.
    pub fn acknowledge(&mut self, seq: u32) {
        if !self.begun {
            return;
        }
        let distance = seq.wrapping_sub(self.highest as u32) as i32;
        let position = self.highest.saturating_add_signed(distance.into());
        if position <= self.highest + WINDOW_MAX_BYTES {
            self.acknowledged = self.acknowledged.max(position);
        }
    }

    /// Processes a segment. Calls `on_arrival(number, t_ns, len_bytes)` for each arrival whose number is now known.
    pub fn arrive(&mut self, segment: Segment, mut on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        if !self.begun {
            self.begin(segment.seq);
        }
        self.longest_bytes = self.longest_bytes.max(segment.len_bytes);
        let distance = segment.seq.wrapping_sub(self.highest as u32) as i32;
        let begin = self.highest.saturating_add_signed(distance.into());
        let end = begin + u64::from(segment.len_bytes);
        if begin >= self.highest {
            self.identifications.new_data(segment.ip_id);
        }
        if begin == self.resolved && self.above.is_empty() && self.waiting.is_empty() && end > begin {
            // The segment is in order and there is no hole, as for nearly every segment of a bulk transfer.
            self.resolved = end;
            self.highest = end;
            self.next_number += 1;
            self.gone += 1;
            return on_arrival(self.next_number - 1, segment.t_ns, segment.len_bytes);
        }
        let new = self.new_parts(begin.max(self.resolved), end);
        let Some(&(first_new, _)) = new.first() else {
            self.passed.repeated_pkts += 1;
            return;
        };
        let is_first = first_new >= self.highest || self.was_overtaken(&segment, end, new.len());
        let mut first = None;
        if is_first {
            let arrival = self.gone + self.waiting.len() as u64;
            first = Some(First { arrival, stamp: segment.stamp, ip_id: segment.ip_id });
            self.waiting.push_back(Waiting { number: None, t_ns: segment.t_ns, len_bytes: segment.len_bytes });
        } else {
            self.passed.in_need_pkts += 1;
        }
        for (begin, end) in new {
            self.above.insert(begin, Unit { end, first: first.take() });
        }
        self.highest = self.highest.max(end);
        self.number_what_is_whole();
        self.hand_out(&mut on_arrival);
        while self.waiting.len() > WAITING_MAX || self.above.len() > WAITING_MAX {
            self.give_up_lowest_hole();
            self.hand_out(&mut on_arrival);
        }
    }

    /// Gives up every hole, because no more segments will arrive.
    pub fn finish(&mut self, mut on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        while !self.above.is_empty() {
            self.give_up_lowest_hole();
        }
        // A FIN occupies a sequence number although it is not a byte.
        if self.begun && self.acknowledged > self.highest + 1 {
            self.miss(self.acknowledged - self.highest);
        }
        self.hand_out(&mut on_arrival);
    }

    /// Returns the parts of `begin..end` that have not arrived yet.
    fn new_parts(&self, begin: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut at = begin;
        if let Some((_, unit)) = self.above.range(..=begin).next_back() {
            at = at.max(unit.end);
        }
        if at >= end {
            return parts;
        }
        for (&from, unit) in self.above.range(at..end) {
            if from > at {
                parts.push((at, from));
            }
            at = at.max(unit.end);
        }
        if at < end {
            parts.push((at, end));
        }
        parts
    }

    /// Returns whether a segment that fills a hole is the first transmission of its bytes.
    /// Implements RFC 4737, 6.1 (retransmissions).
    fn was_overtaken(&mut self, segment: &Segment, end: u64, parts: usize) -> bool {
        if parts > 1 {
            // Some bytes of the segment have already arrived in another segment. The sender has therefore divided its
            // data anew, which happens only in a retransmission.
            return false;
        }
        let overtaker = self.above.range(end..).take(LOOK_MAX).find_map(|(_, unit)| unit.first);
        if let Some(overtaker) = overtaker {
            if let (Some(mine), Some(its)) = (segment.stamp, overtaker.stamp) {
                if mine != its {
                    return (mine.wrapping_sub(its) as i32) < 0;
                }
            }
            if let (Some(mine), Some(its)) = (segment.ip_id, overtaker.ip_id) {
                if mine != its && self.identifications.is_counter() {
                    return (mine.wrapping_sub(its) as i16) < 0;
                }
            }
        }
        self.passed.undecided_pkts += 1;
        true
    }

    fn number_what_is_whole(&mut self) {
        while let Some(entry) = self.above.first_entry().filter(|entry| *entry.key() <= self.resolved) {
            let unit = entry.remove();
            self.resolved = self.resolved.max(unit.end);
            if let Some(first) = unit.first {
                self.waiting[(first.arrival - self.gone) as usize].number = Some(self.next_number);
            }
            self.next_number += 1;
        }
    }

    fn give_up_lowest_hole(&mut self) {
        if let Some((&begin, _)) = self.above.first_key_value() {
            let arrived = self.acknowledged.clamp(self.resolved, begin);
            self.miss(arrived - self.resolved);
            self.next_number += self.packets_of(begin - arrived);
            self.resolved = begin;
            self.number_what_is_whole();
        }
    }

    fn miss(&mut self, bytes: u64) {
        self.passed.missed_pkts += self.packets_of(bytes);
        self.passed.missed_bytes += bytes;
    }

    /// Returns the minimum number of packets that can carry `bytes` bytes.
    fn packets_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.longest_bytes.max(1).into())
    }

    fn hand_out(&mut self, on_arrival: &mut impl FnMut(u64, Option<i64>, u32)) {
        while let Some(&Waiting { number: Some(number), t_ns, len_bytes }) = self.waiting.front() {
            self.waiting.pop_front();
            self.gone += 1;
            on_arrival(number, t_ns, len_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: u32 = u32::MAX - 3000;

    /// Segment k of the flow, with 100 bytes. `stamp` is its timestamp.
    fn segment(k: u32, stamp: Option<u32>) -> Segment {
        let seq = START.wrapping_add(100 * k);
        Segment { seq, len_bytes: 100, t_ns: None, stamp, ip_id: None }
    }

    fn numbers(segments: &[Segment]) -> (Vec<u64>, Passed) {
        let (mut numbering, mut found) = (Numbering::default(), Vec::new());
        numbering.begin(START);
        for &segment in segments {
            numbering.arrive(segment, |number, _, _| found.push(number));
        }
        numbering.finish(|number, _, _| found.push(number));
        (found, numbering.passed)
    }

    // Tests RFC 4737, 6.1 (retransmissions).
    #[test]
    fn an_overtaken_segment_keeps_its_place_and_a_repetition_after_a_loss_is_left_out() {
        // Segment 1 is overtaken by 2 and 3; segment 5 is lost, and retransmitted at time 9; segment 6 is retransmitted
        // although it was not lost.
        let sent = [(0, 0), (2, 2), (3, 3), (1, 1), (4, 4), (6, 6), (7, 7), (5, 9), (6, 9), (8, 10)];
        let segments = sent.map(|(k, stamp)| segment(k, Some(stamp)));
        let (found, passed) = numbers(&segments);
        assert_eq!(found, [0, 2, 3, 1, 4, 6, 7, 8]);
        assert_eq!(passed, Passed { repeated_pkts: 1, in_need_pkts: 1, ..Passed::default() });
    }

    #[test]
    fn the_ip_identification_tells_where_there_are_no_timestamps_and_neither_is_counted_as_undecided() {
        let with_id = |k, ip_id| Segment { ip_id: Some(ip_id), ..segment(k, None) };
        // The IP identification wraps around between segments 0 and 1.
        let (found, passed) = numbers(&[with_id(0, 65535), with_id(2, 1), with_id(1, 0), with_id(4, 3), with_id(3, 4)]);
        assert_eq!(found, [0, 2, 1, 4]);
        assert_eq!(passed, Passed { in_need_pkts: 1, ..Passed::default() });
        // RFC 6864 allows the identification zero in every packet. Such an identification is no evidence.
        let (found, passed) = numbers(&[with_id(0, 0), with_id(2, 0), with_id(1, 0)]);
        assert_eq!(found, [0, 2, 1]);
        assert_eq!(passed, Passed { undecided_pkts: 1, ..Passed::default() });
    }

    #[test]
    fn a_hole_that_is_never_filled_is_as_many_packets_as_the_longest_segment_needs() {
        assert_eq!(numbers(&[segment(0, None), segment(5, None), segment(6, None)]).0, [0, 5, 6]);
    }

    #[test]
    fn a_repetition_cut_anew_is_no_first_transmission() {
        // Segments 1 and 3 are lost, and 2 arrives. A single segment then retransmits the bytes of segments 1, 2 and 3.
        let again = Segment { len_bytes: 300, ..segment(1, None) };
        let (found, passed) = numbers(&[segment(0, None), segment(2, None), segment(4, None), again]);
        assert_eq!(found, [0, 2, 4]);
        assert_eq!(passed, Passed { in_need_pkts: 1, ..Passed::default() });
    }

    #[test]
    fn a_capture_that_begins_inside_a_connection_begins_with_its_first_segment() {
        let (mut numbering, mut found) = (Numbering::default(), Vec::new());
        for k in [50, 49, 51] {
            numbering.arrive(segment(k, None), |number, _, _| found.push(number));
        }
        assert_eq!(found, [0, 1]);
        assert_eq!(numbering.passed.repeated_pkts, 1);
    }

    #[test]
    fn what_waits_for_a_hole_is_bounded() {
        let mut numbering = Numbering::default();
        numbering.begin(START);
        let mut found = 0u64;
        for k in 1..200_000 {
            numbering.arrive(segment(k, None), |_, _, _| found += 1);
            assert!(numbering.waiting.len() <= WAITING_MAX && numbering.above.len() <= WAITING_MAX);
        }
        assert!(found > 100_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        // Tests RFC 4737, 6.1 (retransmissions).
        /// The expected result follows from how the packets were sent.
        #[test]
        fn the_numbers_are_those_of_sending(fates in prop::collection::vec(prop_oneof![9 => (0u32..30).prop_map(Some), 1 => Just(None)], 1..200)) {
            let mut arrivals = Vec::new();
            for (k, delay) in fates.iter().enumerate() {
                let k = k as u32;
                match delay {
                    Some(delay) => arrivals.push((k + delay, k, k, true)),
                    // The retransmission of a lost packet arrives 100 time units later, so it overtakes no packet.
                    None => arrivals.push((k + 100, k, k + 100, false)),
                }
            }
            arrivals.sort();
            let segments: Vec<_> = arrivals.iter().map(|&(_, k, stamp, _)| segment(k, Some(stamp))).collect();
            let expected: Vec<u64> = arrivals.iter().filter(|&&(_, _, _, first)| first).map(|&(_, k, _, _)| k.into()).collect();
            let (found, passed) = numbers(&segments);
            // If the last packets are retransmissions, no later segment shows that they filled a hole.
            let tail = fates.iter().rev().take_while(|fate| fate.is_none()).count();
            prop_assert_eq!(passed.in_need_pkts, fates.iter().filter(|fate| fate.is_none()).count() as u64 - tail as u64);
            prop_assert_eq!(&found[..expected.len()], &expected[..]);
            prop_assert_eq!(found.len(), expected.len() + tail);
        }

        #[test]
        fn any_segments_are_numbered_without_a_number_twice(
            parts in prop::collection::vec((any::<u16>(), 1u32..5000, prop::option::of(any::<u32>()), prop::option::of(any::<u16>())), 0..100),
        ) {
            let segments: Vec<_> = parts.into_iter().map(|(at, len_bytes, stamp, ip_id)| {
                Segment { seq: START.wrapping_add(at.into()), len_bytes, t_ns: None, stamp, ip_id }
            }).collect();
            let (mut found, passed) = numbers(&segments);
            prop_assert_eq!(found.len() as u64 + passed.repeated_pkts + passed.in_need_pkts, segments.len() as u64);
            found.sort_unstable();
            prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
