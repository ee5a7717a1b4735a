// SPDX-License-Identifier: Apache-2.0
//! n-reordering, RFC 4737 section 5.
//!
//! Packet i is n-reordered if it is at least the n-th after the first and each of the n packets right before it has a
//! larger number (section 5.3). The share is of all packets received (Definition 2: m / l); the program in the RFC's
//! Appendix A divides by l - n instead. (The second program there has its `l` in the wrong scope, and finds
//! 1-reordering only.)

use std::collections::VecDeque;

/// Counts n-reordered packets as they come.
#[derive(Debug, Clone)]
pub struct NReordering {
    n_max: usize,
    /// Numbers of the last n_max arrivals.
    last: VecDeque<u64>,
    /// Packets by the number of larger numbers right before them, n_max for more; from 1.
    degrees: Vec<u64>,
}

impl NReordering {
    /// For n = 1..=n_max.
    pub fn new(n_max: u32) -> Self {
        Self { n_max: n_max as usize, last: VecDeque::new(), degrees: Vec::new() }
    }

    /// Takes a first copy; `reordered`: a larger number has arrived before.
    #[inline]
    pub fn arrive(&mut self, seq: u64, reordered: bool) {
        if self.n_max == 0 {
            return;
        }
        if reordered {
            let degree = self.last.iter().rev().take_while(|&&s| s > seq).count();
            if degree > 0 {
                crate::density::count(&mut self.degrees, degree - 1);
            }
        }
        if self.last.len() == self.n_max {
            self.last.pop_front();
        }
        self.last.push_back(seq);
    }

    /// (n, n-reordered packets) for each n up to n_max, those without packets too. Who is n-reordered is so for all
    /// smaller n.
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
