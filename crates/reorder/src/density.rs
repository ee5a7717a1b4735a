// SPDX-License-Identifier: Apache-2.0
//! The reorder density (RD) of RFC 5236, sections 3, 4 and 7.1, with mean displacement and entropy.
//!
//! This module deviates from the RFC's pseudo-code (7.1) in one point. If a late packet has a displacement beyond D_T,
//! the pseudo-code discards it without advancing the receive index. But the packet's number has already been used as a
//! receive index. After one discarded late packet, the pseudo-code gives packets in order the displacement -1. After
//! several discarded late packets, the pseudo-code discards all packets. A test shows both effects. They contradict
//! section 3, where packets in order have displacement 0 and lost packets have no effect. In this module, the receive
//! index therefore advances when a late packet is discarded. As long as no late packet is discarded, the results equal
//! the results of the pseudo-code. A late packet is discarded only if its displacement exceeds D_T.
//!
//! A second case concerns duplicates. The pseudo-code may discard a packet as too early. If another copy arrives later,
//! this copy counts as the packet itself. A [`DensityMeter`] does the same. However, a [`Meter`](crate::Meter) gives
//! its `DensityMeter` only first copies, as in RFC 5236, section 3.1.

use crate::ahead::Ahead;
use crate::settings::Settings;
use std::collections::VecDeque;

/// The reorder density (RD) of one sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Density {
    /// The threshold D_T.
    pub threshold_pkts: u32,
    /// Pairs of a displacement and the number of packets with this displacement. The displacement is the receive index
    /// minus the number. It is positive for late packets and negative for early ones. The list is sorted by
    /// displacement, and contains only displacements that occur.
    /// Implements RFC 5236, 3 (early and late).
    /// Implements RFC 5236, 3.2 (out of order).
    /// Implements RFC 5236, 3.5 (displacement frequency).
    /// Implements RFC 5236, 4 (reorder set).
    pub counts: Vec<(i32, u64)>,
    /// N', the sum of the packet counts in `counts`.
    pub pkts: u64,
    /// The arrivals that are early by more than D_T, which count as lost.
    pub early_beyond_pkts: u64,
    /// The arrivals that are late by more than D_T. They count as lost. Duplicates, and arrivals that the loss-waiting
    /// window excludes, are not counted.
    pub late_beyond_pkts: u64,
}

impl Density {
    /// RD\[displacement\], the share of the counted packets with this displacement. None: no packets were counted.
    /// Implements RFC 5236, 3.6 (reorder density).
    /// Implements RFC 5236, 4 (density of the reorder set).
    pub fn share_ratio(&self, displacement_pkts: i32) -> Option<f64> {
        let found = self.counts.binary_search_by_key(&displacement_pkts, |c| c.0);
        self.of_all(found.map_or(0, |i| self.counts[i].1))
    }

    /// MD, the sum of |i| RD\[i\] (Ye, Jayasumana, Piratla 2006). None: no packets were counted.
    /// Implements RFC 5236, 9 (mean displacement).
    pub fn mean_displacement_pkts(&self) -> Option<f64> {
        let sum: u128 = self.counts.iter().map(|&(d, n)| u128::from(d.unsigned_abs()) * u128::from(n)).sum();
        (self.pkts > 0).then(|| sum as f64 / self.pkts as f64)
    }

    /// E_r, the negative sum of RD\[i\] ln RD\[i\], in nats (Ye, Jayasumana, Piratla 2006). None: no packets were
    /// counted.
    /// Implements RFC 5236, 9 (entropy).
    pub fn entropy_nats(&self) -> Option<f64> {
        let all = self.pkts as f64;
        let term = |&(_, n): &(i32, u64)| n as f64 / all * (all / n as f64).ln();
        (self.pkts > 0).then(|| self.counts.iter().map(term).sum())
    }

    /// Share of packets that arrive after at least `successors` packets that were sent later. It is the sum of all
    /// RD\[i\] with i from `successors` to D_T. None: no packets were counted.
    /// Implements RFC 5236, 9 (late share).
    pub fn overtaken_ratio(&self, successors: u32) -> Option<f64> {
        self.of_all(self.counts.iter().filter(|c| i64::from(c.0) >= i64::from(successors)).map(|c| c.1).sum())
    }

    fn of_all(&self, pkts: u64) -> Option<f64> {
        (self.pkts > 0).then(|| pkts as f64 / self.pkts as f64)
    }
}

/// Computes RD incrementally by the RFC's stay-back algorithm. The time per arrival is independent of D_T.
///
/// When a packet leaves the window, it gets a receive index. It is the smallest number that is not yet used, among the
/// numbers of packets in the window and of packets that left it early. In this implementation, these numbers are in a
/// sorted set.
/// Implements RFC 5236, 2 (complexity).
/// Implements RFC 5236, 6 (stay-back).
/// Implements RFC 5236, 7.1 (algorithm for RD).
#[derive(Debug, Clone)]
pub struct DensityMeter {
    threshold_pkts: u32,
    /// The latest arrivals, in order of arrival. After D_T further arrivals, the displacement of a packet is known.
    window: VecDeque<u64>,
    /// The receive indices that are not used yet. They are the numbers in the window and in the RFC's buffer. The set
    /// always has as many numbers as the window has packets. A number below the set's base was used as a receive index,
    /// or is lost.
    /// Implements RFC 5236, 3.1 (receive index).
    indices: Ahead,
    /// The number of packets with each displacement, in the order 0, -1, 1, -2, 2, ... Negative and positive
    /// displacements share one vector, because the processor cannot predict whether a packet is early or late.
    counts: Vec<u64>,
    early_beyond_pkts: u64,
    late_beyond_pkts: u64,
}

impl DensityMeter {
    /// Creates a meter with the threshold D_T, at most 2^31 - 1.
    pub fn new(threshold_pkts: u32) -> Self {
        let threshold_pkts = threshold_pkts.min(Settings::MOST_THRESHOLD_PKTS);
        Self {
            threshold_pkts,
            window: VecDeque::new(),
            indices: Ahead::new(threshold_pkts),
            counts: Vec::new(),
            early_beyond_pkts: 0,
            late_beyond_pkts: 0,
        }
    }

    /// Adds an arrival. Returns false if the arrival is not measured. Duplicates, numbers that were given up, and
    /// `u64::MAX` are not measured.
    #[inline]
    pub fn arrive(&mut self, seq: u64) -> bool {
        if seq == u64::MAX || !self.indices.insert(seq) {
            return false;
        }
        self.window.push_back(seq);
        if self.window.len() > self.threshold_pkts as usize {
            self.leave();
        }
        true
    }

    /// Counts an arrival that `arrive` refused because it is late beyond the threshold.
    pub(crate) fn give_up(&mut self) {
        self.late_beyond_pkts += 1;
    }

    /// Returns the RD of all arrivals so far.
    pub fn finish(mut self) -> Density {
        while !self.window.is_empty() {
            self.leave();
        }
        let displacement = |i: usize| if i % 2 == 0 { i as i32 / 2 } else { -(i as i32 / 2) - 1 };
        let met = self.counts.iter().enumerate().filter(|c| *c.1 > 0);
        let mut counts: Vec<(i32, u64)> = met.map(|(i, &n)| (displacement(i), n)).collect();
        counts.sort_unstable();
        Density {
            threshold_pkts: self.threshold_pkts,
            pkts: counts.iter().map(|c| c.1).sum(),
            counts,
            early_beyond_pkts: self.early_beyond_pkts,
            late_beyond_pkts: self.late_beyond_pkts,
        }
    }

    /// Assigns the next receive index to the oldest packet in the window.
    #[inline]
    fn leave(&mut self) {
        let (Some(seq), Some(index)) = (self.window.pop_front(), self.indices.first()) else { return };
        let displacement = index.abs_diff(seq);
        if seq > index && displacement > u64::from(self.threshold_pkts) {
            // the packet is discarded as too early, so its number must not become a receive index
            self.indices.remove(seq);
            self.indices.advance(index);
            self.early_beyond_pkts += 1;
            return;
        }
        self.indices.pass_first(index);
        if displacement > u64::from(self.threshold_pkts) {
            // Implements RFC 5236, 6 (lost in RD).
            self.late_beyond_pkts += 1;
            return;
        }
        // Implements RFC 5236, 3.3 (displacement).
        let displacement = index.wrapping_sub(seq) as i64;
        count(&mut self.counts, (displacement << 1 ^ displacement >> 63) as usize);
    }
}

/// Adds one at index `at`.
#[inline]
pub(crate) fn count(counts: &mut Vec<u64>, at: usize) {
    if at >= counts.len() {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}
