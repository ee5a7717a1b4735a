// SPDX-License-Identifier: Apache-2.0
//! The reordering extent, late time and byte offset of RFC 4737, sections 4.2 to 4.4.

use crate::density::count;

/// The extents of reordered packets. An extent is the number of arrivals from the first overtaking packet to the
/// overtaken packet (RFC 4737, section 4.2). For packet i the reordering extent is e = i - j, where j is the *smallest*
/// index with s\[j\] > s\[i\]. Packets in order have no extent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extents {
    /// Pairs of an extent and the number of reordered packets with this extent. The list is sorted by extent, and
    /// contains only extents that occur.
    /// Implements RFC 4737, 4.2.4 (histogram of extents).
    pub counts: Vec<(u32, u64)>,
    /// The sum of the extents of all reordered packets.
    pub sum_pkts: u64,
    /// The largest extent. None means that no packet is reordered.
    pub max_pkts: Option<u32>,
}

impl Extents {
    /// Returns the mean extent. None means that no packet is reordered.
    pub fn mean_pkts(&self) -> Option<f64> {
        let pkts: u64 = self.counts.iter().map(|c| c.1).sum();
        (pkts > 0).then(|| self.sum_pkts as f64 / pkts as f64)
    }
}

/// The time by which a packet arrived after the first packet that overtook it (RFC 4737, section 4.3). The late time of
/// packet i is DstTime(i) - DstTime(i - e).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LateTimes {
    /// The number of reordered packets for which both DstTime(i) and DstTime(i - e) are known.
    pub pkts: u64,
    /// The sum of all known late times.
    pub sum_ns: i128,
    /// The largest late time. None means that no packet has a known late time.
    pub max_ns: Option<i64>,
}

impl LateTimes {
    /// Returns the mean late time. None means that no packet has a known late time.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.pkts > 0).then(|| self.sum_ns as f64 / self.pkts as f64)
    }

    pub(crate) fn add(&mut self, late_ns: i64) {
        self.pkts += 1;
        self.sum_ns += i128::from(late_ns);
        self.max_ns = self.max_ns.max(Some(late_ns));
    }
}

/// For a reordered packet, the payload of the packets that were sent after it but arrived before it. The receiver must
/// store this payload until the reordered packet arrives (RFC 4737, section 4.4). The byte offset is the sum of the
/// payloads of all packets j with i - e <= j < i and s\[j\] > s\[i\].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByteOffsets {
    /// The number of reordered packets.
    pub pkts: u64,
    /// The sum of the byte offsets of all reordered packets.
    pub sum_bytes: u128,
    /// The largest byte offset. None means that no packet is reordered.
    pub max_bytes: Option<u64>,
}

impl ByteOffsets {
    /// Returns the mean byte offset. None means that no packet is reordered.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.pkts > 0).then(|| self.sum_bytes as f64 / self.pkts as f64)
    }

    pub(crate) fn add(&mut self, offset_bytes: u64) {
        self.pkts += 1;
        self.sum_bytes += u128::from(offset_bytes);
        self.max_bytes = self.max_bytes.max(Some(offset_bytes));
    }
}

/// Computes the statistics of extents incrementally.
#[derive(Debug, Clone, Default)]
pub struct ExtentMeter {
    counts: Vec<u64>,
    sum_pkts: u64,
}

impl ExtentMeter {
    /// Adds an extent, which is at least 1.
    pub fn add(&mut self, extent_pkts: u32) {
        count(&mut self.counts, extent_pkts as usize);
        self.sum_pkts += u64::from(extent_pkts);
    }

    /// Returns the statistics of all extents.
    pub fn finish(self) -> Extents {
        let counts: Vec<(u32, u64)> = self.counts.iter().zip(0..).map(|(&n, e)| (e, n)).filter(|c| c.1 > 0).collect();
        Extents { max_pkts: counts.last().map(|c| c.0), counts, sum_pkts: self.sum_pkts }
    }
}
