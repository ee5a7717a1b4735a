// SPDX-License-Identifier: Apache-2.0
//! The reorder buffer-occupancy density (RBD) of RFC 5236, sections 3 and 7.2.
//!
//! The RFC's pseudo-code contradicts section 3 in one case: a packet arrives early while the buffer is full. Because of
//! the early arrival, the expected number becomes the smallest number in the buffer. The expected number then passes
//! all numbers that follow without a gap. If the new packet is still early after this move, the pseudo-code drops the
//! packet. Section 3, however, also counts the arriving packet as buffered, and the buffer has free space after the
//! move. This implementation follows section 3, so it stores the arriving packet. For example, with B_T = 1, the
//! arrivals 1, 3, 5 give the occupancies 0, 1, 1.

use crate::ahead::Ahead;
use crate::density::count;
use crate::settings::Settings;

/// The RBD of one sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BufferDensity {
    /// The threshold B_T.
    pub threshold_pkts: u32,
    /// Pairs of an occupancy and the number of arrivals that have it. The occupancy is the number of packets in the
    /// buffer just after an arrival, including the arrival itself if it is early. The list is sorted by occupancy, and
    /// contains only occupancies that occur.
    /// Implements RFC 5236, 3.10 (buffer-occupancy frequency).
    pub counts: Vec<(u32, u64)>,
    /// N', the sum of the arrival counts in `counts`.
    pub pkts: u64,
    /// The arrivals that are below the expected number and are not duplicates. The buffer no longer waited for these
    /// packets. Arrivals that the loss-waiting window excludes are not counted.
    pub late_beyond_pkts: u64,
}

impl BufferDensity {
    /// RBD\[occupancy\], the share of the counted arrivals with this occupancy. None: no arrivals were counted.
    /// Implements RFC 5236, 3.11 (reorder buffer-occupancy density).
    pub fn share_ratio(&self, occupancy_pkts: u32) -> Option<f64> {
        let found = self.counts.binary_search_by_key(&occupancy_pkts, |c| c.0);
        let pkts = found.map_or(0, |i| self.counts[i].1);
        (self.pkts > 0).then(|| pkts as f64 / self.pkts as f64)
    }

    /// Mean occupancy, the sum of i RBD\[i\]. None: no arrivals were counted.
    /// Implements RFC 5236, 9 (mean occupancy).
    pub fn buffer_mean_pkts(&self) -> Option<f64> {
        let sum: u128 = self.counts.iter().map(|&(b, n)| u128::from(b) * u128::from(n)).sum();
        (self.pkts > 0).then(|| sum as f64 / self.pkts as f64)
    }
}

/// Computes RBD incrementally.
#[derive(Debug, Clone)]
pub struct BufferMeter {
    threshold_pkts: u32,
    /// The first arrivals, which are held until the first expected number is known. None means that the first expected
    /// number is known.
    held: Option<Vec<u64>>,
    /// Buffered packets. The base of this set is E, the number for which the receiver waits.
    /// Implements RFC 5236, 3.7 (expected packet).
    buffer: Ahead,
    counts: Vec<u64>,
    late_beyond_pkts: u64,
}

impl BufferMeter {
    /// Creates a meter with the threshold B_T, at most 2^31 - 1. `first_seq` is the first number that the receiver
    /// expects. If `first_seq` is None, the receiver first expects the smallest number among the first B_T + 1
    /// arrivals.
    pub fn new(threshold_pkts: u32, first_seq: Option<u64>) -> Self {
        let threshold_pkts = threshold_pkts.min(Settings::MOST_THRESHOLD_PKTS);
        let mut buffer = Ahead::new(threshold_pkts);
        buffer.advance(first_seq.unwrap_or(0));
        let held = first_seq.is_none().then(Vec::new);
        Self { threshold_pkts, held, buffer, counts: Vec::new(), late_beyond_pkts: 0 }
    }

    /// Adds an arrival. Returns false if the arrival is not counted. Duplicates, numbers below the expected number, and
    /// `u64::MAX` are not counted.
    #[inline]
    pub fn arrive(&mut self, seq: u64) -> bool {
        if seq == u64::MAX {
            return false;
        }
        let Some(held) = &mut self.held else { return self.store(seq) };
        if !self.buffer.insert(seq) {
            return false;
        }
        held.push(seq);
        if held.len() > self.threshold_pkts as usize {
            self.release();
        }
        true
    }

    /// Counts an arrival that `arrive` refused although it is not a duplicate.
    pub(crate) fn give_up(&mut self) {
        self.late_beyond_pkts += 1;
    }

    /// Returns the RBD of all arrivals so far.
    pub fn finish(mut self) -> BufferDensity {
        self.release();
        let counts: Vec<(u32, u64)> = self.counts.iter().zip(0..).map(|(&n, b)| (b, n)).filter(|c| c.1 > 0).collect();
        BufferDensity {
            threshold_pkts: self.threshold_pkts,
            pkts: counts.iter().map(|c| c.1).sum(),
            counts,
            late_beyond_pkts: self.late_beyond_pkts,
        }
    }

    /// Processes the held arrivals, because the first expected number is now known.
    fn release(&mut self) {
        let Some(held) = self.held.take() else { return };
        let first = self.buffer.first().unwrap_or(0);
        self.buffer = Ahead::new(self.threshold_pkts);
        self.buffer.advance(first);
        for seq in held {
            self.store(seq);
        }
    }

    #[inline]
    // Implements RFC 5236, 7.2 (algorithm for RBD).
    fn store(&mut self, seq: u64) -> bool {
        if seq == self.buffer.base() {
            self.buffer.pass(seq);
        } else if self.buffer.len() < self.threshold_pkts as usize {
            if !self.buffer.insert(seq) {
                return false;
            }
        // Implements RFC 5236, 6 (duplicate).
        } else if seq < self.buffer.base() || self.buffer.contains(seq) {
            return false;
        } else {
            // Implements RFC 5236, 6 (lost in RBD).
            let smallest = self.buffer.first().map_or(seq, |b| b.min(seq));
            self.buffer.pass(smallest);
            if seq == self.buffer.base() {
                self.buffer.pass(seq);
            } else {
                // if `seq` was the smallest number, the base has moved past `seq`. The set then refuses `seq`
                self.buffer.insert(seq);
            }
        }
        // Implements RFC 5236, 3.8 (buffer occupancy).
        count(&mut self.counts, self.buffer.len());
        true
    }
}
