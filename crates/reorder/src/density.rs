// SPDX-License-Identifier: Apache-2.0
//! Reorder density (RD), RFC 5236 sections 3, 4 and 7.1, with mean displacement and entropy.
//!
//! Deviation from the RFC's pseudo-code (7.1): it discards a late packet with a displacement beyond D_T without
//! advancing the receive index, although its number has already served as a receive index. From then on, each packet of
//! a sequence in order has displacement -1. After several such events, all further packets are discarded (a test shows
//! both effects). This contradicts section 3, where a packet in order has displacement 0 and lost packets have no
//! effect. Here the receive index advances with the discarded packet. If no late packet is discarded, the result is
//! that of the pseudo-code; a discard requires that D_T does not exceed the displacements.
//!
//! A further decision: the pseudo-code mistakes a copy of a packet that it discarded as early for the packet itself.
//! [`DensityMeter`] does so too, but a [`Meter`](crate::Meter) only passes first copies to it, as in section 3.1.

use crate::ahead::Ahead;
use crate::settings::Settings;
use std::collections::VecDeque;

/// RD of a sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Density {
    /// D_T.
    pub threshold_pkts: u32,
    /// Displacement (receive index minus number; late positive, early negative), and number of packets displaced by it.
    /// Sorted; only displacements that occur.
    /// Implements RFC 5236, 3 (early and late).
    /// Implements RFC 5236, 3.2 (out of order).
    /// Implements RFC 5236, 3.5 (displacement frequency).
    /// Implements RFC 5236, 4 (reorder set).
    pub counts: Vec<(i32, u64)>,
    /// N': number of packets counted above.
    pub pkts: u64,
    /// Arrivals early by more than D_T, which count as lost.
    pub early_beyond_pkts: u64,
    /// Arrivals late by more than D_T, which count as lost. Duplicates and arrivals too late to be counted are not
    /// included.
    pub late_beyond_pkts: u64,
}

impl Density {
    /// RD\[displacement\]: share of the counted packets. None if no packets were counted.
    /// Implements RFC 5236, 3.6 (reorder density).
    /// Implements RFC 5236, 4 (density of the reorder set).
    pub fn share_ratio(&self, displacement_pkts: i32) -> Option<f64> {
        let found = self.counts.binary_search_by_key(&displacement_pkts, |c| c.0);
        self.of_all(found.map_or(0, |i| self.counts[i].1))
    }

    /// MD: the sum of |i| RD\[i\] (Ye, Jayasumana, Piratla 2006). None if no packets were counted.
    /// Implements RFC 5236, 9 (mean displacement).
    pub fn mean_displacement_pkts(&self) -> Option<f64> {
        let sum: u128 = self.counts.iter().map(|&(d, n)| u128::from(d.unsigned_abs()) * u128::from(n)).sum();
        (self.pkts > 0).then(|| sum as f64 / self.pkts as f64)
    }

    /// E_r: minus the sum of RD\[i\] ln RD\[i\], in nats (Ye, Jayasumana, Piratla 2006). None if no packets were
    /// counted.
    /// Implements RFC 5236, 9 (entropy).
    pub fn entropy_nats(&self) -> Option<f64> {
        let all = self.pkts as f64;
        let term = |&(_, n): &(i32, u64)| n as f64 / all * (all / n as f64).ln();
        (self.pkts > 0).then(|| self.counts.iter().map(term).sum())
    }

    /// Probability that a packet arrives after at least `successors` packets that were sent later: sum of RD\[i\] from
    /// there to D_T. None if no packets were counted.
    /// Implements RFC 5236, 9 (late share).
    pub fn overtaken_ratio(&self, successors: u32) -> Option<f64> {
        self.of_all(self.counts.iter().filter(|c| i64::from(c.0) >= i64::from(successors)).map(|c| c.1).sum())
    }

    fn of_all(&self, pkts: u64) -> Option<f64> {
        (self.pkts > 0).then(|| pkts as f64 / self.pkts as f64)
    }
}

/// Incremental computation of RD: the RFC's stay-back algorithm, in time independent of D_T.
///
/// Consider each packet that leaves the window. The RFC's receive index is then the smallest unused number among those
/// in the window and those that left it early. Here the set of these numbers is kept sorted.
/// Implements RFC 5236, 2 (complexity).
/// Implements RFC 5236, 6 (stay-back).
/// Implements RFC 5236, 7.1 (algorithm for RD).
#[derive(Debug, Clone)]
pub struct DensityMeter {
    threshold_pkts: u32,
    /// Arrivals in order; a packet's displacement is known after D_T further arrivals.
    window: VecDeque<u64>,
    /// Future receive indices: numbers in the window or the RFC's buffer. The set has as many numbers as the window has
    /// packets. A number below the set's base has been a receive index or is lost.
    /// Implements RFC 5236, 3.1 (receive index).
    indices: Ahead,
    /// Packets displaced by 0, -1, 1, -2, 2, ...: one vector, because early and late cannot be predicted by the
    /// processor.
    counts: Vec<u64>,
    early_beyond_pkts: u64,
    late_beyond_pkts: u64,
}

impl DensityMeter {
    /// A meter with threshold D_T, at most 2^31 - 1.
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

    /// Adds an arrival. Returns false if it is not measured: a duplicate, a number that has been given up because it is
    /// too late, or `u64::MAX`.
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

    /// Records an arrival that was not measured and is not a duplicate: it is late beyond the threshold.
    pub(crate) fn give_up(&mut self) {
        self.late_beyond_pkts += 1;
    }

    /// RD of all arrivals so far.
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

    /// Assigns the next receive index to the oldest packet of the window.
    #[inline]
    fn leave(&mut self) {
        let (Some(seq), Some(index)) = (self.window.pop_front(), self.indices.first()) else { return };
        let displacement = index.abs_diff(seq);
        if seq > index && displacement > u64::from(self.threshold_pkts) {
            // a packet is lost if its number is not among the future receive indices
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

/// Adds one at `at`; the vector grows to the displacements that occur, not to the possible ones.
#[inline]
pub(crate) fn count(counts: &mut Vec<u64>, at: usize) {
    if at >= counts.len() {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}
