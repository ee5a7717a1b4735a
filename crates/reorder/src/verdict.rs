// SPDX-License-Identifier: Apache-2.0
//! Facts about an arrival that are known at once.

/// The kind of an arrival in RFC 4737. (RFC 5236 knows a packet's displacement D_T arrivals later only.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The largest number so far.
    /// Implements RFC 4737, 4.2.3 (no extent).
    InOrder,
    /// A larger number has arrived before.
    Reordered(Late),
    /// A copy of one that has arrived.
    Duplicate,
    /// Further below the largest number than the loss-waiting window: lost.
    TooLate,
    /// No number of this sequence.
    Outside,
}

/// How late a reordered packet is.
/// Implements RFC 4737, 5 (cases of reordering).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// Arrivals since the first that overtook, that one included (RFC 4737 section 4.2).
    pub extent_pkts: u32,
    /// Time since then (section 4.3). None: a time is not known.
    pub late_ns: Option<i64>,
    /// Payload that waited for it (section 4.4).
    pub offset_bytes: u64,
    /// Largest n, up to `n_max`, for which it is n-reordered (section 5); 0: for none.
    pub n: u32,
}
