// SPDX-License-Identifier: Apache-2.0
//! The discontinuities of RFC 4737, section 3.4, and the gaps between reordering discontinuities (section 4.5).
//!
//! A packet is a sequence discontinuity if its number skips numbers that are missing. If a packet with a skipped number
//! arrives later, the discontinuity becomes a *reordering* discontinuity. The RFC leaves one case open. Reordering
//! discontinuities may arrive in one order, and become known in another. For example, the numbers 1, 4, 7, 6, 2 arrive.
//! When 6 arrives, the discontinuity at 7 becomes known. When 2 arrives, the discontinuity at 4 becomes known. The RFC
//! first defines a gap as the distance between *successive* discontinuities, and later as the distance between
//! discontinuities that become known one after the other. This module sorts discontinuities by the time of their
//! arrival, not by the time at which they become known. With this order, gaps are never negative, and no gap is
//! omitted. The example has one gap, of length 1.

use std::collections::VecDeque;

/// The number of most recent discontinuities that are checked one by one. The older discontinuities are searched
/// afterwards.
const FEW: usize = 16;

/// Distances between successive reordering discontinuities, as sums and maxima.
/// Implements RFC 4737, 4.5.5 (summary of gaps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// The number of packets that skipped missing sequence numbers. The packets with the skipped numbers may be lost or
    /// late.
    pub sequence_discontinuities: u64,
    /// The number of packets that were the first to overtake a reordered packet.
    pub reordering_discontinuities: u64,
    /// The number of gaps: the number of reordering discontinuities minus 1, but at least 0. In the RFC, the first
    /// discontinuity has a gap of 0. This crate does not count that gap.
    pub gaps: u64,
    /// The sum of the gaps, in arrivals.
    pub sum_pkts: u64,
    /// The longest gap. None means that there are no gaps.
    pub max_pkts: Option<u64>,
    /// The number of gaps for which the times of both ends are known.
    pub timed_gaps: u64,
    /// The sum of the timed gaps, in ns.
    pub sum_ns: i128,
    /// The longest timed gap, in ns. None means that there is no timed gap.
    pub max_ns: Option<i64>,
}

impl Gaps {
    /// Returns the mean gap, in arrivals. None means that there are no gaps.
    pub fn mean_pkts(&self) -> Option<f64> {
        (self.gaps > 0).then(|| self.sum_pkts as f64 / self.gaps as f64)
    }

    /// Returns the mean gap in time. None means that there is no gap for which both arrival times are known.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.timed_gaps > 0).then(|| self.sum_ns as f64 / self.timed_gaps as f64)
    }
}

/// The position of a packet among the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The number of earlier arrivals, without duplicates.
    pub index: u64,
    /// The time of arrival, if known.
    pub t_ns: Option<i64>,
}

#[derive(Debug, Clone)]
struct Discontinuity {
    seq: u64,
    position: Position,
    /// Whether it is certain that the packet skipped numbers. If the sequence's first number is unknown, it is also
    /// unknown whether the first arrival skipped numbers. In this case, `leaps` of the first arrival is false.
    /// Nevertheless, packets that come later may be late relative to the first arrival.
    leaps: bool,
    reorders: bool,
}

/// Sequence discontinuities that may still turn out to be reordering discontinuities. They are sorted by arrival, which
/// is also the order of their numbers.
/// Implements RFC 4737, 6 (stored discontinuities).
#[derive(Debug, Clone, Default)]
pub struct Discontinuities {
    recent: VecDeque<Discontinuity>,
    last: Option<Position>,
    gaps: Gaps,
}

impl Discontinuities {
    /// Adds a packet that skipped missing numbers. `leaps` is true if the packet certainly skipped numbers. `lowest` is
    /// the smallest number that may still arrive.
    pub fn add(&mut self, seq: u64, position: Position, leaps: bool, lowest: u64) {
        while self.recent.front().is_some_and(|d| d.seq <= lowest) {
            self.settle();
        }
        self.recent.push_back(Discontinuity { seq, position, leaps, reorders: false });
    }

    /// Finds the first arrival whose number is above `seq`, and counts it as a reordering discontinuity. The caller
    /// must ensure that `seq` is not below the argument `lowest` of the last call of `add`. A number above `seq` must
    /// already have arrived.
    ///
    /// Only packets that skipped numbers are examined. Any other packet with a new largest number skipped none. All
    /// numbers between the previous largest number and its own have arrived.
    /// Implements RFC 4737, 4.5.3 (reordering discontinuity).
    #[inline]
    pub fn overtaker(&mut self, seq: u64) -> Position {
        // usually, the wanted arrival is one of the most recent ones in `recent`
        let few = self.recent.len().saturating_sub(FEW);
        let mut at = self.recent.len();
        while at > few && self.recent[at - 1].seq > seq {
            at -= 1;
        }
        if at == few {
            at = self.recent.partition_point(|d| d.seq <= seq);
        }
        let found = &mut self.recent[at];
        found.reorders = true;
        found.position
    }

    /// Returns the gaps of the whole sequence.
    pub fn finish(mut self) -> Gaps {
        while !self.recent.is_empty() {
            self.settle();
        }
        self.gaps
    }

    /// Removes the oldest entry. Packets that this entry overtook can no longer arrive.
    fn settle(&mut self) {
        let Some(oldest) = self.recent.pop_front() else { return };
        self.gaps.sequence_discontinuities += u64::from(oldest.leaps || oldest.reorders);
        if !oldest.reorders {
            return;
        }
        self.gaps.reordering_discontinuities += 1;
        if let Some(last) = self.last.replace(oldest.position) {
            // Implements RFC 4737, 4.5.4 (gap).
            let gap_pkts = oldest.position.index - last.index;
            self.gaps.gaps += 1;
            self.gaps.sum_pkts += gap_pkts;
            self.gaps.max_pkts = self.gaps.max_pkts.max(Some(gap_pkts));
            if let (Some(from_ns), Some(to_ns)) = (last.t_ns, oldest.position.t_ns) {
                // Implements RFC 4737, 4.5.4 (gap in time).
                let gap_ns = to_ns.saturating_sub(from_ns);
                self.gaps.timed_gaps += 1;
                self.gaps.sum_ns += i128::from(gap_ns);
                self.gaps.max_ns = self.gaps.max_ns.max(Some(gap_ns));
            }
        }
    }
}
