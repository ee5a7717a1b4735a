// SPDX-License-Identifier: Apache-2.0
//! The results for one sequence.

use crate::buffer::BufferDensity;
use crate::density::Density;
use crate::extent::{ByteOffsets, Extents, LateTimes};
use crate::gaps::Gaps;
use crate::runs::Runs;
use crate::settings::Settings;

/// Metrics of one sequence of packets. Fields contain counts. Methods return shares and means, or None if nothing was
/// counted.
///
/// The counts add up: arrived = received + duplicate + too late + outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Reordering {
    /// The settings of the meter.
    pub settings: Settings,
    /// Number of all arrivals.
    pub arrived_pkts: u64,
    /// Number of first copies, which are the packets that RFC 4737 analyses (section 3.6).
    /// Implements RFC 4737, 5.2 (received packets).
    pub received_pkts: u64,
    /// Payload of the received packets, in bytes.
    pub received_bytes: u64,
    /// Number of arrivals that are further copies of a received packet.
    pub duplicate_pkts: u64,
    /// Number of arrivals whose sequence number is below the largest one so far by more than the loss-waiting window.
    /// RFC 4737 counts packets that arrive outside the loss-waiting window as lost. Among too-late arrivals, duplicates
    /// cannot be recognised.
    pub too_late_pkts: u64,
    /// Number of arrivals below the first number of the sequence, or with an invalid number.
    pub outside_pkts: u64,
    /// Number of packets sent, if it was given. Without a given number, this is the number of sequence numbers from the
    /// first to the largest received.
    pub expected_pkts: u64,
    /// expected - received. If more packets were received than the given number of sent packets, that number is wrong,
    /// and the value is 0.
    pub lost_pkts: u64,
    /// First number of the sequence: the number in the settings, or else the smallest number received. None: nothing
    /// was received.
    pub first_seq: Option<u64>,
    /// Largest number received. None: nothing was received.
    pub last_seq: Option<u64>,
    /// Number of packets that arrived after a packet with a larger number (RFC 4737, section 3.3).
    pub reordered_pkts: u64,
    /// Reordering extents (RFC 4737, section 4.2).
    pub extent: Extents,
    /// Late times (RFC 4737, section 4.3).
    pub late_time: LateTimes,
    /// Byte offsets (RFC 4737, section 4.4). Empty if no arrival has payload, because the lengths are then unknown.
    pub byte_offset: ByteOffsets,
    /// Gaps (RFC 4737, section 4.5).
    pub gaps: Gaps,
    /// Runs (RFC 4737, section 4.6).
    pub runs: Runs,
    /// (n, number of n-reordered packets) for n = 1..=n_max (RFC 4737, section 5).
    /// Implements RFC 4737, 5.4 (histogram of n-reordering).
    pub n_reordering: Vec<(u32, u64)>,
    /// RD (RFC 5236, section 4).
    pub density: Density,
    /// RBD (RFC 5236, section 3).
    pub buffer_density: BufferDensity,
}

impl Reordering {
    /// Share of reordered packets among the received packets (RFC 4737, section 4.1). None: nothing was received.
    /// Implements RFC 4737, 4.1.3 (reordered ratio).
    pub fn reordered_ratio(&self) -> Option<f64> {
        self.of_received(self.reordered_pkts)
    }

    /// Share of n-reordered packets among the received packets. None: nothing was received, or n is 0 or above `n_max`.
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
