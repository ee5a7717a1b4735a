// SPDX-License-Identifier: Apache-2.0
//! Discontinuities (RFC 4737 section 3.4) and the gaps between those that reorder (section 4.5).
//!
//! A packet that leaps over missing numbers is a sequence discontinuity. It becomes a *reordering* discontinuity when one
//! of those numbers arrives later. Decided where the RFC is silent: discontinuities may be found in another order than
//! that of the sequence. In 1, 4, 7, 6, 2 packet 7 is found at the arrival of 6, then packet 4 at that of 2. The RFC
//! first calls a gap the distance between *successive* discontinuities, then defines it for those found one after the
//! other. Here they are in the order of their own arrival, whenever they were found, so that no gap is negative or left
//! out: in the example one gap of 1.

use std::collections::VecDeque;

/// Discontinuities that are looked at one by one before all are searched.
const FEW: usize = 16;

/// Distances between successive reordering discontinuities.
/// Implements RFC 4737, 4.5.5 (summary of gaps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Packets that leapt over missing numbers, lost ones included.
    pub sequence_discontinuities: u64,
    /// Packets that were the first to overtake a reordered packet.
    pub reordering_discontinuities: u64,
    /// Gaps: one fewer, or 0. (The RFC gives the first discontinuity a gap of 0; it is not counted.)
    pub gaps: u64,
    /// Sum over the gaps, in arrivals.
    pub sum_pkts: u64,
    /// None: there is no gap.
    pub max_pkts: Option<u64>,
    /// Gaps of which both ends' times are known.
    pub timed_gaps: u64,
    /// Sum over them.
    pub sum_ns: i128,
    /// None: there are none.
    pub max_ns: Option<i64>,
}

impl Gaps {
    /// None: there is no gap.
    pub fn mean_pkts(&self) -> Option<f64> {
        (self.gaps > 0).then(|| self.sum_pkts as f64 / self.gaps as f64)
    }

    /// None: there is no gap with both times known.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.timed_gaps > 0).then(|| self.sum_ns as f64 / self.timed_gaps as f64)
    }
}

/// Where a packet stands among the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Arrivals before it; first copies only.
    pub index: u64,
    /// If known.
    pub t_ns: Option<i64>,
}

#[derive(Debug, Clone)]
struct Discontinuity {
    seq: u64,
    position: Position,
    /// Numbers before it are known to be missing. Not so for the first arrival of a sequence whose first number is not
    /// known, but packets may be late for it all the same.
    leaps: bool,
    reorders: bool,
}

/// The sequence discontinuities that a packet may still be late for, in order of arrival and so of number.
/// Implements RFC 4737, 6 (stored discontinuities).
#[derive(Debug, Clone, Default)]
pub struct Discontinuities {
    recent: VecDeque<Discontinuity>,
    last: Option<Position>,
    gaps: Gaps,
}

impl Discontinuities {
    /// Adds a packet that leapt over missing numbers, or (`leaps` false) that may have. The smallest number that may
    /// still arrive is `lowest`.
    pub fn add(&mut self, seq: u64, position: Position, leaps: bool, lowest: u64) {
        while self.recent.front().is_some_and(|d| d.seq <= lowest) {
            self.settle();
        }
        self.recent.push_back(Discontinuity { seq, position, leaps, reorders: false });
    }

    /// The first packet with a larger number than `seq`, which is at least the lowest given and arrives after one with a
    /// larger number: now a reordering discontinuity.
    ///
    /// Only leaps need be looked at: the numbers between any other new maximum and the one before have all arrived.
    /// Implements RFC 4737, 4.5.3 (reordering discontinuity).
    #[inline]
    pub fn overtaker(&mut self, seq: u64) -> Position {
        // mostly one of the last few
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

    /// All gaps.
    pub fn finish(mut self) -> Gaps {
        while !self.recent.is_empty() {
            self.settle();
        }
        self.gaps
    }

    /// No packet can be late for the oldest any more.
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
