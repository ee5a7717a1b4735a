// SPDX-License-Identifier: Apache-2.0
//! All metrics of a sequence in one pass.

use crate::buffer::BufferMeter;
use crate::density::DensityMeter;
use crate::extent::{ByteOffsets, ExtentMeter, LateTimes};
use crate::gaps::{Discontinuities, Position};
use crate::n_reordering::NReordering;
use crate::recent::Recent;
use crate::reordering::Reordering;
use crate::runs::Runs;
use crate::settings::{Arrival, Settings, MOST_LOSS_WINDOW_PKTS};

/// Measures a sequence while it arrives. Memory is bounded by the thresholds and the loss-waiting window, and grows to
/// what the sequence needs of them.
#[derive(Debug, Clone)]
pub struct Meter {
    settings: Settings,
    window: u64,
    duplicate_pkts: u64,
    too_late_pkts: u64,
    outside_pkts: u64,
    /// Smallest and largest number received.
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
    /// A meter for one sequence.
    pub fn new(settings: Settings) -> Self {
        let window = settings.loss_window_pkts.min(MOST_LOSS_WINDOW_PKTS);
        Self {
            settings,
            window: u64::from(window),
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

    /// Takes the next arrival.
    #[inline]
    pub fn arrive(&mut self, arrival: Arrival) {
        let seq = arrival.seq;
        if seq == u64::MAX || self.settings.first_seq.is_some_and(|first| seq < first) {
            self.outside_pkts += 1;
            return;
        }
        let position = Position { index: self.runs.pkts, t_ns: arrival.t_ns };
        match self.ends {
            Some((_, highest)) if seq <= highest => {
                if highest - seq > self.window {
                    self.too_late_pkts += 1;
                    // RFC 5236 has thresholds of its own and knows by itself what it has given up
                    self.density.arrive(seq);
                    self.buffer.arrive(seq);
                    return;
                }
                if self.recent.contains(seq) {
                    self.duplicate_pkts += 1;
                    return;
                }
                self.reordered(arrival, position, highest);
            }
            _ => self.in_order(arrival, position),
        }
        if !self.density.arrive(seq) {
            self.density.give_up();
        }
        if !self.buffer.arrive(seq) {
            self.buffer.give_up();
        }
    }

    /// The metrics of all that has arrived. `sent_pkts`: packets of the sequence that were sent, if known; without it
    /// losses after the last arrival, and without a first number those before the smallest, cannot be seen.
    pub fn finish(self, sent_pkts: Option<u64>) -> Reordering {
        let received_pkts = self.runs.pkts;
        let first_seq = self.settings.first_seq.or(self.ends.map(|e| e.0));
        let last_seq = self.ends.map(|e| e.1);
        let span_pkts = first_seq.zip(last_seq).map_or(0, |(first, last)| last - first + 1);
        let expected_pkts = sent_pkts.unwrap_or(span_pkts);
        Reordering {
            settings: self.settings,
            arrived_pkts: received_pkts + self.duplicate_pkts + self.too_late_pkts + self.outside_pkts,
            received_pkts,
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
            byte_offset: self.byte_offsets,
            gaps: self.discontinuities.finish(),
            runs: self.runs,
            n_reordering: self.n_reordering.finish(),
            density: self.density.finish(),
            buffer_density: self.buffer.finish(),
        }
    }

    /// A new largest number.
    #[inline]
    fn in_order(&mut self, arrival: Arrival, position: Position) {
        let seq = arrival.seq;
        let lowest = seq.saturating_sub(self.window);
        let leaps = match self.ends {
            Some((_, highest)) => seq > highest + 1,
            None => self.settings.first_seq.is_some_and(|first| seq > first),
        };
        if leaps || self.ends.is_none() {
            self.discontinuities.add(seq, position, leaps, lowest);
        }
        let smallest = self.ends.map_or(seq, |e| e.0);
        self.ends = Some((smallest, seq));
        self.recent.insert(seq, arrival.len_bytes, lowest);
        self.n_reordering.arrive(seq, false);
        self.runs.in_order();
    }

    fn reordered(&mut self, arrival: Arrival, position: Position, highest: u64) {
        let seq = arrival.seq;
        self.ends = self.ends.map(|(smallest, _)| (smallest.min(seq), highest));
        if let Some(overtaker) = self.discontinuities.overtaker(seq) {
            self.extents.add((position.index - overtaker.index) as u32);
            if let (Some(t_ns), Some(overtaken_ns)) = (position.t_ns, overtaker.t_ns) {
                self.late_times.add(t_ns.saturating_sub(overtaken_ns));
            }
        }
        self.byte_offsets.add(self.recent.bytes_above(seq, highest));
        self.recent.insert(seq, arrival.len_bytes, highest.saturating_sub(self.window));
        self.n_reordering.arrive(seq, true);
        self.runs.reordered();
    }
}
