// SPDX-License-Identifier: Apache-2.0
//! Facts about an arrival that are known immediately.

/// Class of an arrival according to RFC 4737. (In RFC 5236, the displacement of a packet is known only after D_T
/// further arrivals.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The arrival has the largest number so far.
    /// Implements RFC 4737, 4.2.3 (no extent).
    InOrder,
    /// A larger number has arrived earlier.
    Reordered(Late),
    /// A copy of an earlier arrival.
    Duplicate,
    /// The number is below the largest number by more than the loss-waiting window. The arrival counts as lost.
    TooLate,
    /// The number does not belong to this sequence.
    Outside,
}

/// How late a reordered packet arrived.
/// Implements RFC 4737, 5 (cases of reordering).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// Number of arrivals since the first packet that overtook this one. The overtaking packet is included (RFC 4737,
    /// section 4.2).
    pub extent_pkts: u32,
    /// Time since the first overtaking packet arrived (section 4.3). None: the time of one of the two arrivals is not
    /// known.
    pub late_ns: Option<i64>,
    /// Payload that was sent later but arrived earlier, and waited for this packet (section 4.4).
    pub offset_bytes: u64,
    /// Largest n, up to `n_max`, for which the packet is n-reordered (section 5). 0: the packet is not n-reordered for
    /// any n.
    pub n: u32,
}
