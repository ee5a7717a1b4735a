// SPDX-License-Identifier: Apache-2.0
//! Discontinuities (RFC 4737 section 3.4), and gaps between reordering discontinuities (section 4.5).
//!
//! A packet that skips missing numbers is a sequence discontinuity. The packet becomes a *reordering* discontinuity
//! when one of the skipped numbers arrives later. The RFC leaves one case open: discontinuities may be found in another
//! order than that of the sequence. In 1, 4, 7, 6, 2, packet 7 is found when 6 arrives, then packet 4 when 2 arrives.
//! The RFC first defines a gap as the distance between *successive* discontinuities, then between those found one after
//! the other. Here discontinuities are sorted by their own arrival, whenever they were found. No gap is then negative
//! or left out: the example has one gap of 1.

use std::collections::VecDeque;

/// Number of discontinuities checked one by one before a search over all.
const FEW: usize = 16;

/// Distances between successive reordering discontinuities.
/// Implements RFC 4737, 4.5.5 (summary of gaps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Packets that skipped missing numbers, lost ones included.
    pub sequence_discontinuities: u64,
    /// Packets that were the first to overtake a reordered packet.
    pub reordering_discontinuities: u64,
    /// Number of gaps: one less than the discontinuities, or 0. (The RFC assigns the first discontinuity a gap of 0,
    /// which is not counted.)
    pub gaps: u64,
    /// Sum over the gaps, in arrivals.
    pub sum_pkts: u64,
    /// None if there are no gaps.
    pub max_pkts: Option<u64>,
    /// Gaps for which the times of both ends are known.
    pub timed_gaps: u64,
    /// Sum over them.
    pub sum_ns: i128,
    /// None if no gap has both times.
    pub max_ns: Option<i64>,
}

impl Gaps {
    /// None if there are no gaps.
    pub fn mean_pkts(&self) -> Option<f64> {
        (self.gaps > 0).then(|| self.sum_pkts as f64 / self.gaps as f64)
    }

    /// None if there are no gaps with both times known.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.timed_gaps > 0).then(|| self.sum_ns as f64 / self.timed_gaps as f64)
    }
}

/// Position of a packet among the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Number of earlier arrivals; only first copies count.
    pub index: u64,
    /// If known.
    pub t_ns: Option<i64>,
}

#[derive(Debug, Clone)]
struct Discontinuity {
    seq: u64,
    position: Position,
    /// Numbers before the packet are known to be missing. This is unknown for the first arrival of a sequence without a
    /// known first number. Packets may nevertheless be late relative to it.
    leaps: bool,
    reorders: bool,
}

/// Sequence discontinuities that a packet may still be late for, in order of arrival and thus of number.
/// Implements RFC 4737, 6 (stored discontinuities).
#[derive(Debug, Clone, Default)]
pub struct Discontinuities {
    recent: VecDeque<Discontinuity>,
    last: Option<Position>,
    gaps: Gaps,
}

impl Discontinuities {
    /// Adds a packet that skipped missing numbers, or (`leaps` false) may have skipped some. `lowest` is the smallest
    /// number that may still arrive.
    pub fn add(&mut self, seq: u64, position: Position, leaps: bool, lowest: u64) {
        while self.recent.front().is_some_and(|d| d.seq <= lowest) {
            self.settle();
        }
        self.recent.push_back(Discontinuity { seq, position, leaps, reorders: false });
    }

    /// The first packet with a number above `seq`, which now becomes a reordering discontinuity. `seq` must be at least
    /// the last `lowest`, and arrive after a larger number.
    ///
    /// Only leaps need to be checked: the numbers between any other new maximum and the previous one have all arrived.
    /// Implements RFC 4737, 4.5.3 (reordering discontinuity).
    #[inline]
    pub fn overtaker(&mut self, seq: u64) -> Position {
        // the discontinuity is usually one of the last few
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

    /// After this, no packet can be late for the oldest entry.
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
