// SPDX-License-Identifier: Apache-2.0
//! The reordering-free runs of RFC 4737, section 4.6.

/// The RFC's counters. A run is a sequence of packets in order, and a reordered packet ends it. Its length may be 0.
/// The last run lasts until the sequence ends, and no reordered packet ends it. As in the RFC, the last run counts in
/// `p` and `a`, but not in `x` and `q`.
/// Implements RFC 4737, 4.6.2 (counters of runs).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Runs {
    /// p, the number of packets.
    pub pkts: u64,
    /// a, the number of packets in order.
    pub in_order_pkts: u64,
    /// x, the number of runs that were ended by a reordered packet.
    pub runs: u64,
    /// q, the sum of the squares of the lengths of all runs that have ended.
    pub squares: u128,
    /// r, the length of the last run of the sequence.
    pub last_pkts: u64,
    /// The length of the longest run, including the last run of the sequence.
    pub max_pkts: u64,
}

impl Runs {
    /// a / p, the share of packets in order. None: there are no packets.
    /// Implements RFC 4737, 4.6.3 (ratios of runs).
    pub fn in_order_ratio(&self) -> Option<f64> {
        (self.pkts > 0).then(|| self.in_order_pkts as f64 / self.pkts as f64)
    }

    /// a / x, the mean length of a run. None: no run has ended.
    /// Implements RFC 4737, 4.6.3 (ratios of runs).
    pub fn mean_pkts(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.in_order_pkts as f64 / self.runs as f64)
    }

    /// Returns q / a. It is the mean, over all packets in order, of the length of the packet's run. None means that no
    /// packet is in order.
    pub fn weighted_mean_pkts(&self) -> Option<f64> {
        (self.in_order_pkts > 0).then(|| self.squares as f64 / self.in_order_pkts as f64)
    }

    /// (q / a) / (a / x). The ratio is 1 if all runs are equally long. None means that no run has ended, or that no
    /// packet is in order.
    /// Implements RFC 4737, 4.6.3 (ratios of runs).
    pub fn variability_ratio(&self) -> Option<f64> {
        Some(self.weighted_mean_pkts()? / self.mean_pkts()?)
    }

    #[inline]
    pub(crate) fn in_order(&mut self) {
        self.pkts += 1;
        self.in_order_pkts += 1;
        self.last_pkts += 1;
        self.max_pkts = self.max_pkts.max(self.last_pkts);
    }

    // Implements RFC 4737, 4.6.3 (reordering-free run).
    pub(crate) fn reordered(&mut self) {
        self.pkts += 1;
        self.runs += 1;
        self.squares += u128::from(self.last_pkts).pow(2);
        self.last_pkts = 0;
    }
}
