// SPDX-License-Identifier: Apache-2.0
//! All results for a sequence.

use crate::buffer::BufferDensity;
use crate::density::Density;
use crate::extent::{ByteOffsets, Extents, LateTimes};
use crate::gaps::Gaps;
use crate::runs::Runs;
use crate::settings::Settings;

/// Metrics of a sequence: counts as fields, shares and means as methods (None if nothing was counted).
///
/// arrived = received + duplicate + too late + outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Reordering {
    /// As given.
    pub settings: Settings,
    /// All arrivals.
    pub arrived_pkts: u64,
    /// First copies, which RFC 4737 analyses (section 3.6).
    /// Implements RFC 4737, 5.2 (received packets).
    pub received_pkts: u64,
    /// Their payload.
    pub received_bytes: u64,
    /// Further copies.
    pub duplicate_pkts: u64,
    /// Arrivals more than the loss-waiting window below the largest number: lost according to RFC 4737. Copies of such
    /// packets cannot be recognised.
    pub too_late_pkts: u64,
    /// Arrivals below the first number of the sequence, or with an invalid number.
    pub outside_pkts: u64,
    /// Number of packets sent, if given; otherwise from the first number to the largest arrival.
    pub expected_pkts: u64,
    /// expected - received; 0 if more were received than sent, which only a wrong number of sent packets can cause.
    pub lost_pkts: u64,
    /// First number of the sequence: the given one, else the smallest received. None: unknown.
    pub first_seq: Option<u64>,
    /// Largest number received. None: nothing was.
    pub last_seq: Option<u64>,
    /// Packets that arrived after one with a larger number (RFC 4737 section 3.3). The first arrival is in order.
    pub reordered_pkts: u64,
    /// RFC 4737 section 4.2.
    pub extent: Extents,
    /// RFC 4737 section 4.3.
    pub late_time: LateTimes,
    /// RFC 4737 section 4.4. Empty if no arrival has payload: lengths are then unknown.
    pub byte_offset: ByteOffsets,
    /// RFC 4737 section 4.5.
    pub gaps: Gaps,
    /// RFC 4737 section 4.6.
    pub runs: Runs,
    /// (n, n-reordered packets), n = 1..=n_max (RFC 4737 section 5).
    /// Implements RFC 4737, 5.4 (histogram of n-reordering).
    pub n_reordering: Vec<(u32, u64)>,
    /// RD (RFC 5236 section 4).
    pub density: Density,
    /// RBD (RFC 5236 section 3).
    pub buffer_density: BufferDensity,
}

impl Reordering {
    /// Share of reordered packets among those received (RFC 4737 section 4.1). None: nothing was received.
    /// Implements RFC 4737, 4.1.3 (reordered ratio).
    pub fn reordered_ratio(&self) -> Option<f64> {
        self.of_received(self.reordered_pkts)
    }

    /// Share of n-reordered packets among those received. None: nothing was received, or n is 0 or beyond `n_max`.
    /// Implements RFC 4737, 5.3 (degree of n-reordering).
    /// Implements RFC 4737, 5.3 (monotonic reordering).
    pub fn n_reordered_ratio(&self, n: u32) -> Option<f64> {
        let &(_, pkts) = self.n_reordering.get((n as usize).checked_sub(1)?)?;
        self.of_received(pkts)
    }

    fn of_received(&self, pkts: u64) -> Option<f64> {
        (self.received_pkts > 0).then(|| pkts as f64 / self.received_pkts as f64)
    }
}
