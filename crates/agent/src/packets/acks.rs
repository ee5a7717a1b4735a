// SPDX-License-Identifier: Apache-2.0
//! How receivers acknowledge segments. The module counts the segments per acknowledgement and the duplicate
//! acknowledgements that reach the sender. It measures how long the first of the answered segments waits. This module
//! has no side effects.
//!
//! An acknowledgement answers all data segments that arrived since the previous acknowledgement, even if they are not
//! in order. A receiver counts segments in the same way to decide when to acknowledge (RFC 5681, 4.2). It does so even
//! if a hole stops the acknowledgement number.

use crate::packets::frame::Parsed;
use crate::packets::truth::FLAG_ACK;
use leowarp_timeline::record::AckWait;
use std::collections::BTreeMap;

/// The resolution at which the waiting times of segments are counted.
const WAIT_STEP_NS: i64 = 100_000;
const FLAG_FIN: u8 = 1;
const FLAG_SYN_OR_RST: u8 = 2 | 4;

/// The acknowledgements of one flow.
#[derive(Debug, Default)]
pub struct Acks {
    /// The arrival time of the first segment that is not acknowledged yet, and the number of unacknowledged segments.
    waiting: Option<(i64, u32)>,
    /// For each key, the number of acknowledgements. The key contains the number of segments that an acknowledgement
    /// answers, and the waiting time of the first segment. The waiting time is i64::MIN for an acknowledgement that
    /// answers no segment.
    sent: BTreeMap<(u32, i64), u64>,
    /// The sequence number after the last byte that the source has sent.
    sent_until: Option<u32>,
    /// The number and window of the last acknowledgement that reached the source.
    last: Option<(u32, u16)>,
    duplicates: u64,
}

impl Acks {
    /// Processes a segment that leaves or arrives at an end of its flow.
    pub fn passes(&mut self, packet: &Parsed, leaves: bool) {
        let seen = &packet.seen;
        match (packet.direction, leaves) {
            (0, true) => {
                let end = seen.seq.wrapping_add(seen.len_bytes);
                let is_later = |until: u32| (end.wrapping_sub(until) as i32) > 0;
                if seen.flags & FLAG_SYN_OR_RST == 0 && self.sent_until.is_none_or(is_later) {
                    self.sent_until = Some(end);
                }
            }
            (0, false) if seen.len_bytes > 0 => {
                let (since_ns, segments) = self.waiting.unwrap_or((seen.t_ns, 0));
                self.waiting = Some((since_ns, segments + 1));
            }
            (1, true) if seen.flags & (FLAG_ACK | FLAG_SYN_OR_RST) == FLAG_ACK => {
                let waited = |since_ns: i64| (seen.t_ns - since_ns) / WAIT_STEP_NS * WAIT_STEP_NS;
                let kind = self.waiting.take().map_or((0, i64::MIN), |(since_ns, n)| (n, waited(since_ns)));
                *self.sent.entry(kind).or_default() += 1;
            }
            (1, false) if seen.flags & (FLAG_ACK | FLAG_SYN_OR_RST) == FLAG_ACK => {
                // RFC 5681, 2 defines a duplicate acknowledgement. An acknowledgement with a smaller window counts as a
                // duplicate as well, as in Linux (FLAG_NOT_DUP), because the window shrinks while out-of-order segments
                // fill the buffer
                let repeats = self.last.is_some_and(|(ack, window)| ack == seen.ack && packet.window <= window);
                let is_outstanding = self.sent_until.is_some_and(|until| until != seen.ack);
                let is_bare = seen.len_bytes == 0 && seen.flags & FLAG_FIN == 0;
                self.duplicates += u64::from(repeats && is_outstanding && is_bare);
                let is_old = self.last.is_some_and(|(ack, _)| (seen.ack.wrapping_sub(ack) as i32) < 0);
                if !is_old {
                    self.last = Some((seen.ack, packet.window));
                }
            }
            _ => {}
        }
    }

    /// Returns the number of duplicate acknowledgements that reached the source.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Returns the rows of the table `acks` for a flow.
    pub fn rows(&self, flow: u32) -> impl Iterator<Item = AckWait> + '_ {
        self.sent.iter().map(move |(&(segments_pkts, wait_ns), &acks_pkts)| AckWait {
            flow,
            segments_pkts,
            wait_ns,
            acks_pkts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::truth::Seen;
    use leowarp_timeline::setup::FlowKind;

    const ACK: u8 = FLAG_ACK;

    fn segment(direction: usize, t_ns: i64, seq: u32, len_bytes: u32, ack: u32, window: u16, flags: u8) -> Parsed {
        let seen = Seen { t_ns, ip_id: 0, seq, ack, flags, len_bytes };
        Parsed { kind: FlowKind::Tcp, flow: 0, direction, seen, window }
    }

    #[test]
    fn an_acknowledgement_answers_what_arrived_since_the_one_before() {
        let mut acks = Acks::default();
        let data = |t_ns| segment(0, t_ns, 0, 100, 0, 9, ACK);
        let ack = |t_ns| segment(1, t_ns, 0, 0, 0, 9, ACK);
        acks.passes(&segment(1, 0, 0, 0, 0, 9, ACK | 2), true);
        for t_ns in [1_000_000, 3_050_000] {
            acks.passes(&data(t_ns), false);
        }
        acks.passes(&segment(0, 4_000_000, 0, 0, 0, 9, ACK), false);
        acks.passes(&ack(4_199_999), true);
        acks.passes(&data(5_000_000), false);
        acks.passes(&ack(5_000_000), true);
        acks.passes(&ack(6_000_000), true);
        acks.passes(&data(7_000_000), false);
        let rows: Vec<_> = acks.rows(3).map(|r| (r.flow, r.segments_pkts, r.wait_ns, r.acks_pkts)).collect();
        assert_eq!(rows, [(3, 0, i64::MIN, 1), (3, 1, 0, 1), (3, 2, 3_100_000, 1)]);
    }

    #[test]
    fn a_duplicate_repeats_the_number_without_data_or_a_larger_window_while_something_is_outstanding() {
        let mut acks = Acks::default();
        let start = u32::MAX - 50;
        let mut reaches = |ack: u32, window: u16, flags: u8, len_bytes: u32| {
            acks.passes(&segment(1, 0, 0, len_bytes, ack, window, flags), false);
            acks.duplicates()
        };
        assert_eq!(reaches(start, 9, ACK, 0), 0);
        assert_eq!(reaches(start, 9, ACK, 0), 0, "nothing has been sent");
        acks.passes(&segment(0, 0, start, 100, 0, 9, ACK), true);
        acks.passes(&segment(0, 0, start.wrapping_add(100), 100, 0, 9, ACK), true);
        acks.passes(&segment(0, 0, start, 100, 0, 9, ACK), true);
        let mut reaches = |ack: u32, window: u16, flags: u8, len_bytes: u32| {
            acks.passes(&segment(1, 0, 0, len_bytes, ack, window, flags), false);
            acks.duplicates()
        };
        assert_eq!(reaches(start, 8, ACK, 0), 1, "a smaller window");
        assert_eq!(reaches(start, 10, ACK, 0), 1, "a larger one");
        assert_eq!(reaches(start, 10, ACK, 7), 1, "data");
        assert_eq!(reaches(start, 10, ACK | FLAG_FIN, 0), 1, "the end");
        assert_eq!(reaches(start.wrapping_add(100), 10, ACK, 0), 1, "news");
        assert_eq!(reaches(start, 10, ACK, 0), 1, "an old one, overtaken");
        assert_eq!(reaches(start.wrapping_add(100), 10, ACK, 0), 2);
        assert_eq!(reaches(start.wrapping_add(200), 10, ACK, 0), 2);
        assert_eq!(reaches(start.wrapping_add(200), 10, ACK, 0), 2, "nothing is outstanding");
    }
}
