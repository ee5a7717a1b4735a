// SPDX-License-Identifier: Apache-2.0
//! The n-reordering of RFC 4737, section 5.
//!
//! Packet i is n-reordered under two conditions (section 5.3). At least n packets arrived before it, and the last n of
//! these all have larger numbers. The share of n-reordered packets is their number divided by the number of all
//! received packets (Definition 2: m / l). The program in the RFC's Appendix A, however, divides by l - n. The RFC's
//! second program finds only 1-reordering, because its variable `l` has the wrong scope.

use crate::density::count;
use crate::settings::Settings;

/// Counts n-reordered packets incrementally.
#[derive(Debug, Clone)]
pub struct NReordering {
    n_max: usize,
    /// A ring with the numbers of at least the n_max latest arrivals. At first the ring contains zeros, which are
    /// larger than no number.
    /// Implements RFC 4737, 6 (sliding window).
    last: Vec<u64>,
    pkts: usize,
    /// The entries are in order: the number of packets with degree 1, with degree 2, and so on. The degree of a packet
    /// is the number of packets directly before it that have a larger number, but at most n_max.
    degrees: Vec<u64>,
}

impl NReordering {
    /// Creates counters for n = 1 to n_max, which is at most 65,536.
    pub fn new(n_max: u32) -> Self {
        let n_max = n_max.min(Settings::MOST_N) as usize;
        Self { n_max, last: vec![0; n_max.next_power_of_two()], pkts: 0, degrees: Vec::new() }
    }

    /// Adds a packet that is in order: no earlier packet has a larger number.
    #[inline]
    pub fn in_order(&mut self, seq: u64) {
        let mask = self.last.len() - 1;
        self.last[self.pkts & mask] = seq;
        self.pkts = self.pkts.wrapping_add(1);
    }

    /// Adds a reordered packet. Returns the largest n, up to n_max, for which the packet is n-reordered.
    /// Implements RFC 4737, 5.3 (n-reordered).
    #[inline]
    pub fn reordered(&mut self, seq: u64) -> u32 {
        let mask = self.last.len() - 1;
        let before = |back: &usize| self.last[self.pkts.wrapping_sub(*back) & mask] > seq;
        let degree = (1..=self.n_max).take_while(before).count();
        if degree > 0 {
            count(&mut self.degrees, degree - 1);
        }
        self.in_order(seq);
        degree as u32
    }

    /// Pairs (n, number of n-reordered packets) for each n up to n_max, including zeros. An n-reordered packet is
    /// n-reordered for all smaller n as well.
    /// Implements RFC 4737, 5.3 (smaller n).
    pub fn finish(self) -> Vec<(u32, u64)> {
        let mut pkts = 0;
        let mut counts: Vec<(u32, u64)> = (1..=self.n_max as u32)
            .rev()
            .map(|n| {
                pkts += self.degrees.get(n as usize - 1).copied().unwrap_or(0);
                (n, pkts)
            })
            .collect();
        counts.reverse();
        counts
    }
}
