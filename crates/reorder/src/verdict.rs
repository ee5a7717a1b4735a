// SPDX-License-Identifier: Apache-2.0
//! The facts about an arrival that are known as soon as it is added.

/// The class of an arrival according to RFC 4737. The displacement of RFC 5236 is known only after D_T further
/// arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No earlier arrival has a larger number.
    /// Implements RFC 4737, 4.2.3 (no extent).
    InOrder,
    /// At least one earlier arrival has a larger number.
    Reordered(Late),
    /// A copy of an earlier arrival.
    Duplicate,
    /// The packet arrived too late, so it counts as lost. Its number is more than the loss-waiting window below the
    /// largest number so far.
    TooLate,
    /// The number is below the first number of the sequence, or is invalid.
    Outside,
}

/// How late a reordered packet is.
/// Implements RFC 4737, 5 (cases of reordering).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The number of arrivals since the first packet that overtook this packet, including the overtaking packet (RFC
    /// 4737, section 4.2).
    pub extent_pkts: u32,
    /// The time since the first packet that overtook this packet arrived (section 4.3). None means that the arrival
    /// time of this packet, or of the first packet that overtook it, is not known.
    pub late_ns: Option<i64>,
    /// The number of payload bytes in the packets that were sent after this packet but arrived before it (section 4.4).
    pub offset_bytes: u64,
    /// The largest n, up to `n_max`, for which the packet is n-reordered (section 5). 0 means that the packet is not
    /// n-reordered.
    pub n: u32,
}
