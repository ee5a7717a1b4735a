// SPDX-License-Identifier: Apache-2.0
//! Facts about an arrival that are known immediately.

/// Class of an arrival in RFC 4737. (In RFC 5236, a packet's displacement is only known D_T arrivals later.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The arrival has the largest number so far.
    /// Implements RFC 4737, 4.2.3 (no extent).
    InOrder,
    /// A larger number has arrived before.
    Reordered(Late),
    /// A copy of an earlier arrival.
    Duplicate,
    /// Further below the largest number than the loss-waiting window: counted as lost.
    TooLate,
    /// The number does not belong to this sequence.
    Outside,
}

/// How late a reordered packet is.
/// Implements RFC 4737, 5 (cases of reordering).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// Number of arrivals since the first packet that overtook it, which is included (RFC 4737 section 4.2).
    pub extent_pkts: u32,
    /// Time since the first overtaking packet arrived (section 4.3). None: a time is not known.
    pub late_ns: Option<i64>,
    /// Payload that waited for the packet (section 4.4).
    pub offset_bytes: u64,
    /// Largest n, up to `n_max`, for which the packet is n-reordered (section 5); 0: for none.
    pub n: u32,
}
