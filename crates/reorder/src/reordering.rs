// SPDX-License-Identifier: Apache-2.0
//! The results for one sequence.

use crate::buffer::BufferDensity;
use crate::density::Density;
use crate::extent::{ByteOffsets, Extents, LateTimes};
use crate::gaps::Gaps;
use crate::runs::Runs;
use crate::settings::Settings;

/// The metrics of one sequence of packets. The fields contain counts. The methods return shares and means, or None if
/// nothing was counted.
///
/// Every arrival is counted once: arrived = received + duplicate + too late + outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Reordering {
    /// The settings of the meter.
    pub settings: Settings,
    /// The number of all arrivals.
    pub arrived_pkts: u64,
    /// Number of first copies, which are the packets that RFC 4737 analyses (section 3.6).
    /// Implements RFC 4737, 5.2 (received packets).
    pub received_pkts: u64,
    /// The payload of the received packets, in bytes.
    pub received_bytes: u64,
    /// The number of arrivals that are additional copies of a received packet.
    pub duplicate_pkts: u64,
    /// The number of too-late arrivals. An arrival is too late if its number is more than the loss-waiting window below
    /// the largest number so far. RFC 4737 counts a packet as lost if it arrives outside this window. Among too-late
    /// arrivals, duplicates cannot be recognised.
    pub too_late_pkts: u64,
    /// The number of arrivals whose number is invalid, or is below the first number of the sequence.
    pub outside_pkts: u64,
    /// The number of packets sent, if it was given. Otherwise, the number of sequence numbers from the first number to
    /// the largest received number.
    pub expected_pkts: u64,
    /// The number of lost packets: expected - received. The value is 0 if more packets were received than the given
    /// number of sent packets.
    pub lost_pkts: u64,
    /// The first number of the sequence: the number in the settings, or else the smallest number received. None means
    /// that nothing was received.
    pub first_seq: Option<u64>,
    /// The largest number received. None means that nothing was received.
    pub last_seq: Option<u64>,
    /// The number of packets that arrived after a packet with a larger number (RFC 4737, section 3.3).
    pub reordered_pkts: u64,
    /// The reordering extents (RFC 4737, section 4.2).
    pub extent: Extents,
    /// The statistics of late times (RFC 4737, section 4.3).
    pub late_time: LateTimes,
    /// The byte offsets (RFC 4737, section 4.4). The statistics are empty if no arrival has payload, because the
    /// lengths are then unknown.
    pub byte_offset: ByteOffsets,
    /// The gaps (RFC 4737, section 4.5).
    pub gaps: Gaps,
    /// The runs (RFC 4737, section 4.6).
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
