// SPDX-License-Identifier: Apache-2.0
//! Computes all metrics of a sequence in one pass.

use crate::buffer::BufferMeter;
use crate::density::DensityMeter;
use crate::extent::{ByteOffsets, ExtentMeter, LateTimes};
use crate::gaps::{Discontinuities, Position};
use crate::n_reordering::NReordering;
use crate::recent::Recent;
use crate::reordering::Reordering;
use crate::runs::Runs;
use crate::settings::{Arrival, Settings};
use crate::verdict::{Late, Verdict};

/// Measures a sequence while packets arrive. Memory grows with the sequence, up to limits that follow from the
/// thresholds and the loss-waiting window.
/// Implements RFC 4737, 1.2 (on the fly).
/// Implements RFC 4737, 1.2 (losses and duplicates).
#[derive(Debug, Clone)]
pub struct Meter {
    settings: Settings,
    window: u64,
    received_bytes: u64,
    duplicate_pkts: u64,
    too_late_pkts: u64,
    outside_pkts: u64,
    /// Smallest and largest number of all packets received so far.
    /// Implements RFC 4737, 3 (next expected).
    ends: Option<(u64, u64)>,
    recent: Recent,
    discontinuities: Discontinuities,
    extents: ExtentMeter,
    late_times: LateTimes,
    byte_offsets: ByteOffsets,
    runs: Runs,
    n_reordering: NReordering,
    density: DensityMeter,
    buffer: BufferMeter,
}

impl Meter {
    /// Creates a meter for one sequence.
    pub fn new(settings: Settings) -> Self {
        let window = settings.loss_window_pkts.min(Settings::MOST_LOSS_WINDOW_PKTS);
        Self {
            settings,
            window: u64::from(window),
            received_bytes: 0,
            duplicate_pkts: 0,
            too_late_pkts: 0,
            outside_pkts: 0,
            ends: None,
            recent: Recent::new(window),
            discontinuities: Discontinuities::default(),
            extents: ExtentMeter::default(),
            late_times: LateTimes::default(),
            byte_offsets: ByteOffsets::default(),
            runs: Runs::default(),
            n_reordering: NReordering::new(settings.n_max),
            density: DensityMeter::new(settings.density_threshold_pkts),
            buffer: BufferMeter::new(settings.buffer_threshold_pkts, settings.first_seq),
        }
    }

    /// Adds the next arrival, and classifies it.
    #[inline]
    pub fn arrive(&mut self, arrival: Arrival) -> Verdict {
        let seq = arrival.seq;
        if seq == u64::MAX || self.settings.first_seq.is_some_and(|first| seq < first) {
            self.outside_pkts += 1;
            return Verdict::Outside;
        }
        // Implements RFC 4737, 3.3 (reordered).
        let verdict = match self.ends {
            Some((_, largest)) if seq <= largest => {
                if largest - seq > self.window {
                    self.too_late_pkts += 1;
                    // every RFC 5236 metric has its own threshold and its own rule for numbers given up as lost
                    self.density.arrive(seq);
                    self.buffer.arrive(seq);
                    return Verdict::TooLate;
                }
                if self.recent.contains(seq) {
                    // Implements RFC 4737, 3.6 (duplicates).
                    self.duplicate_pkts += 1;
                    return Verdict::Duplicate;
                }
                Verdict::Reordered(self.reordered(arrival, largest))
            }
            _ => {
                // Implements RFC 4737, 3.6 (first packet).
                // Implements RFC 4737, 6 (losses alone).
                self.in_order(arrival);
                Verdict::InOrder
            }
        };
        self.received_bytes += u64::from(arrival.len_bytes);
        self.recent.insert(seq, arrival.len_bytes);
        if !self.density.arrive(seq) {
            self.density.give_up();
        }
        if !self.buffer.arrive(seq) {
            self.buffer.give_up();
        }
        verdict
    }

    /// Returns the metrics of all arrivals so far. `sent_pkts` is the number of packets sent in the sequence, if known.
    /// None means that losses after the largest number received are not counted. If the settings also lack the first
    /// number, losses before the smallest received number are not counted.
    /// Implements RFC 5236, 7 (up to date).
    pub fn finish(self, sent_pkts: Option<u64>) -> Reordering {
        let received_pkts = self.runs.pkts;
        let first_seq = self.settings.first_seq.or(self.ends.map(|e| e.0));
        let last_seq = self.ends.map(|e| e.1);
        let span_pkts = first_seq.zip(last_seq).map_or(0, |(first, last)| last - first + 1);
        // Implements RFC 4737, 4.1.2 (packets sent and received).
        let expected_pkts = sent_pkts.unwrap_or(span_pkts);
        Reordering {
            settings: self.settings,
            arrived_pkts: received_pkts + self.duplicate_pkts + self.too_late_pkts + self.outside_pkts,
            received_pkts,
            received_bytes: self.received_bytes,
            duplicate_pkts: self.duplicate_pkts,
            too_late_pkts: self.too_late_pkts,
            outside_pkts: self.outside_pkts,
            expected_pkts,
            lost_pkts: expected_pkts.saturating_sub(received_pkts),
            first_seq,
            last_seq,
            reordered_pkts: received_pkts - self.runs.in_order_pkts,
            extent: self.extents.finish(),
            late_time: self.late_times,
            byte_offset: if self.received_bytes > 0 { self.byte_offsets } else { ByteOffsets::default() },
            gaps: self.discontinuities.finish(),
            runs: self.runs,
            n_reordering: self.n_reordering.finish(),
            density: self.density.finish(),
            buffer_density: self.buffer.finish(),
        }
    }

    /// Records an arrival whose number is the largest so far.
    #[inline]
    fn in_order(&mut self, arrival: Arrival) {
        let seq = arrival.seq;
        // Implements RFC 4737, 3.4 (sequence discontinuity).
        let leaps = match self.ends {
            Some((_, largest)) => seq > largest + 1,
            None => self.settings.first_seq.is_some_and(|first| seq > first),
        };
        if leaps || self.ends.is_none() {
            // Implements RFC 4737, 4.2.2 (arrival index).
            let position = Position { index: self.runs.pkts, t_ns: arrival.t_ns };
            self.discontinuities.add(seq, position, leaps, seq.saturating_sub(self.window));
        }
        self.ends = Some((self.ends.map_or(seq, |e| e.0), seq));
        self.n_reordering.in_order(seq);
        self.runs.in_order();
    }

    #[inline]
    fn reordered(&mut self, arrival: Arrival, largest: u64) -> Late {
        let seq = arrival.seq;
        let (index, t_ns) = (self.runs.pkts, arrival.t_ns);
        let overtaker = self.discontinuities.overtaker(seq);
        let late = Late {
            // Implements RFC 4737, 4.2.3 (extent).
            extent_pkts: (index - overtaker.index) as u32,
            // Implements RFC 4737, 4.3.3 (late time).
            late_ns: t_ns.zip(overtaker.t_ns).map(|(here, there)| here.saturating_sub(there)),
            // Implements RFC 4737, 4.4.3 (byte offset).
            offset_bytes: self.recent.bytes_above(seq, largest),
            n: self.n_reordering.reordered(seq),
        };
        self.ends = self.ends.map(|(smallest, _)| (smallest.min(seq), largest));
        self.extents.add(late.extent_pkts);
        if let Some(late_ns) = late.late_ns {
            self.late_times.add(late_ns);
        }
        self.byte_offsets.add(late.offset_bytes);
        self.runs.reordered();
        late
    }
}
