// SPDX-License-Identifier: Apache-2.0
//! Slow implementations of the metrics, directly from the definitions. Property tests use these implementations as the
//! reference.

use crate::settings::{Arrival, Settings};
use std::collections::{BTreeMap, BTreeSet};

/// The received packets, and the counts of all other arrivals. A received packet is a first copy that is not too late.
#[derive(Debug, Default, PartialEq)]
pub struct Judged {
    pub received: Vec<Arrival>,
    /// All arrivals except recognised duplicates. These are the first copies, and the arrivals that are too late.
    pub undoubled: Vec<u64>,
    pub duplicate_pkts: u64,
    pub too_late_pkts: u64,
    pub outside_pkts: u64,
}

/// Classifies each arrival by comparing it with all earlier arrivals.
pub fn judged(arrivals: &[Arrival], settings: &Settings) -> Judged {
    let mut judged = Judged::default();
    let mut highest = 0;
    for &a in arrivals {
        if a.seq < settings.first_seq.unwrap_or(0) || a.seq == u64::MAX {
            judged.outside_pkts += 1;
        } else if a.seq < highest && highest - a.seq > u64::from(settings.loss_window_pkts) {
            judged.too_late_pkts += 1;
            judged.undoubled.push(a.seq);
        } else if judged.received.iter().any(|r| r.seq == a.seq) {
            judged.duplicate_pkts += 1;
        } else {
            highest = highest.max(a.seq);
            judged.received.push(a);
            judged.undoubled.push(a.seq);
        }
    }
    judged
}

/// Returns whether packet i is reordered (RFC 4737, section 3.3).
pub fn reordered(s: &[Arrival], i: usize) -> bool {
    s[..i].iter().any(|earlier| earlier.seq > s[i].seq)
}

/// Returns the index of the first arrival with a larger number than arrival i. It is the smallest j with s\[j\] >
/// s\[i\] in RFC 4737, section 4.2.
pub fn first_overtaker(s: &[Arrival], i: usize) -> Option<usize> {
    (0..i).find(|&j| s[j].seq > s[i].seq)
}

/// Returns the byte offset of packet i (RFC 4737, section 4.4).
pub fn offset_bytes(s: &[Arrival], i: usize, extent: usize) -> u64 {
    s[i - extent..i].iter().filter(|j| j.seq > s[i].seq).map(|j| u64::from(j.len_bytes)).sum()
}

/// Returns the indices of the reordering discontinuities in the sequence of arrivals, sorted (RFC 4737, section 4.5).
pub fn discontinuities(s: &[Arrival]) -> Vec<usize> {
    let found: BTreeSet<usize> = (0..s.len()).filter_map(|i| first_overtaker(s, i)).collect();
    found.into_iter().collect()
}

/// Returns the lengths of all runs that end at a reordered packet, and the length of the last run (RFC 4737, section
/// 4.6).
pub fn run_lengths(s: &[Arrival]) -> (Vec<u64>, u64) {
    let flags: Vec<bool> = (0..s.len()).map(|i| reordered(s, i)).collect();
    let mut runs: Vec<u64> = flags.split(|&reordered| reordered).map(|run| run.len() as u64).collect();
    let last = runs.pop().unwrap_or(0);
    (runs, last)
}

/// Returns the number of n-reordered packets (RFC 4737, section 5.3). Indices begin at 0, so n packets precede packet i
/// only if i >= n.
pub fn n_reordered_pkts(s: &[Arrival], n: usize) -> u64 {
    (n..s.len()).filter(|&i| s[i - n..i].iter().all(|j| j.seq > s[i].seq)).count() as u64
}

/// Returns the displacements by RFC 5236, section 3, without a threshold. The receive indices are the received numbers,
/// sorted.
pub fn displacements(numbers: &[u64]) -> Vec<i32> {
    let mut indices = numbers.to_vec();
    indices.sort_unstable();
    indices.iter().zip(numbers).map(|(&index, &s)| (index as i64 - s as i64) as i32).collect()
}

/// Returns the buffer occupancy after each arrival, without a threshold and without losses (RFC 5236, section 3). The
/// occupancy is the number of received packets above the smallest missing number.
pub fn occupancies(numbers: &[u64], first_seq: u64) -> Vec<u32> {
    let after = |i: usize| {
        let here: BTreeSet<u64> = numbers[..=i].iter().copied().collect();
        let missing = (first_seq..).find(|n| !here.contains(n)).unwrap_or(u64::MAX);
        here.iter().filter(|&&n| n > missing).count() as u32
    };
    (0..numbers.len()).map(after).collect()
}

/// The result of the pseudo-code in RFC 5236, section 7.1.
#[derive(Debug, Default, PartialEq)]
pub struct StayBack {
    pub counts: BTreeMap<i32, u64>,
    /// The number of packets that were too early when they left the window, and were therefore discarded.
    pub early_pkts: u64,
    pub late_pkts: u64,
    /// The refused arrivals. Their numbers are below the receive index, or are already in the window or the buffer.
    pub refused_pkts: u64,
}

/// Whether the receive index advances when a late packet is discarded. In the RFC's pseudo-code, the receive index does
/// not advance (see `density.rs`).
#[derive(Clone, Copy, PartialEq)]
pub enum Discarding {
    MovesOn,
    AsInTheRfc,
}

/// Runs the pseudo-code of RFC 5236, section 7.1, step by step.
pub fn stay_back(numbers: &[u64], threshold: u64, discarding: Discarding) -> StayBack {
    let mut out = StayBack::default();
    let (mut window, mut buffer): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut coming = numbers.iter().copied();
    let mut index = 0;
    let mut take_next = |window: &mut Vec<u64>, buffer: &[u64], index: u64, refused: &mut u64| {
        for s in coming.by_ref() {
            if s >= index && !buffer.contains(&s) && !window.contains(&s) {
                window.push(s);
                return;
            }
            *refused += 1;
        }
    };
    for _ in 0..=threshold {
        take_next(&mut window, &buffer, index, &mut out.refused_pkts);
    }
    while !window.is_empty() {
        if !window.contains(&index) && !buffer.contains(&index) {
            let smallest = window.iter().chain(&buffer).copied().min().unwrap_or(index);
            index = if index < smallest { smallest } else { index + 1 };
            continue;
        }
        let s = window.remove(0);
        let displacement = index as i64 - s as i64;
        if displacement.unsigned_abs() <= threshold {
            *out.counts.entry(displacement as i32).or_default() += 1;
            buffer.retain(|&b| b != index);
            if displacement < 0 {
                buffer.push(s);
            }
            index += 1;
        } else if displacement < 0 {
            out.early_pkts += 1;
        } else {
            out.late_pkts += 1;
            if discarding == Discarding::MovesOn {
                buffer.retain(|&b| b != index);
                index += 1;
            }
        }
        take_next(&mut window, &buffer, index, &mut out.refused_pkts);
    }
    out
}

/// Whether the full buffer stores an early arrival that is still early after the expected number has moved. The buffer
/// of the RFC drops such an arrival (see `buffer.rs`).
#[derive(Clone, Copy, PartialEq)]
pub enum Overflowing {
    Stores,
    AsInTheRfc,
}

/// Runs the pseudo-code of RFC 5236, section 7.2, step by step. Returns the occupancy after each counted arrival. Also
/// returns the number of arrivals that found the buffer full, and were early even after the expected number moved.
pub fn buffer_steps(numbers: &[u64], threshold: usize, first_seq: u64, overflowing: Overflowing) -> (Vec<u32>, u64) {
    let (mut expected, mut buffer) = (first_seq, BTreeSet::new());
    let (mut occupancies, mut unreached) = (Vec::new(), 0);
    for &s in numbers {
        if s < expected || buffer.contains(&s) {
            continue;
        }
        if s == expected {
            expected += 1;
            while buffer.remove(&expected) {
                expected += 1;
            }
        } else if buffer.len() < threshold {
            buffer.insert(s);
        } else {
            while !buffer.contains(&expected) && expected != s {
                expected += 1;
            }
            while buffer.contains(&expected) || expected == s {
                if expected != s {
                    buffer.remove(&expected);
                }
                expected += 1;
            }
            if s >= expected {
                unreached += 1;
                if overflowing == Overflowing::Stores {
                    buffer.insert(s);
                }
            }
        }
        occupancies.push(buffer.len() as u32);
    }
    (occupancies, unreached)
}

/// Converts values to a sorted histogram.
pub fn histogram<I: Ord>(values: impl IntoIterator<Item = I>) -> Vec<(I, u64)> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().collect()
}
