// SPDX-License-Identifier: Apache-2.0
//! n-reordering, RFC 4737 section 5.
//!
//! Packet i is n-reordered if it is at least the n-th after the first and each of the n packets right before it has a
//! larger number (section 5.3). The share is of all packets received (Definition 2: m / l). The program in the RFC's
//! Appendix A divides by l - n instead; its second program has its `l` in the wrong scope, and finds 1-reordering only.

use crate::density::count;
use crate::settings::Settings;

/// Counts n-reordered packets as they come.
#[derive(Debug, Clone)]
pub struct NReordering {
    n_max: usize,
    /// Numbers of the last arrivals, n_max at least: a ring. At first it holds 0, and 0 is larger than no number.
    /// Implements RFC 4737, 6 (sliding window).
    last: Vec<u64>,
    pkts: usize,
    /// Packets by the number of larger numbers right before them, n_max for more; from 1.
    degrees: Vec<u64>,
}

impl NReordering {
    /// For n = 1..=n_max, 65,536 at most.
    pub fn new(n_max: u32) -> Self {
        let n_max = n_max.min(Settings::MOST_N) as usize;
        Self { n_max, last: vec![0; n_max.next_power_of_two()], pkts: 0, degrees: Vec::new() }
    }

    /// Takes a packet that is in order: nothing before it has a larger number.
    #[inline]
    pub fn in_order(&mut self, seq: u64) {
        let mask = self.last.len() - 1;
        self.last[self.pkts & mask] = seq;
        self.pkts = self.pkts.wrapping_add(1);
    }

    /// Takes a packet that is not; for how large an n, up to n_max, it is n-reordered.
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

    /// (n, n-reordered packets) for each n up to n_max, those without packets too. An n-reordered packet is so for all
    /// smaller n.
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
