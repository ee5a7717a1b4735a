// SPDX-License-Identifier: Apache-2.0
//! Inputs of a [`Meter`](crate::Meter): settings and arrivals.

/// The thresholds and limits of the metrics, in packets. The settings bound the memory of a [`Meter`](crate::Meter),
/// however many packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// D_T of RFC 5236. For the reorder density, a packet with a larger displacement counts as lost. Must be at least
    /// 1.
    /// Implements RFC 5236, 3.4 (displacement threshold).
    pub density_threshold_pkts: u32,
    /// B_T of RFC 5236: the size of the hypothetical receive buffer. Must be at least 1.
    /// Implements RFC 5236, 3.9 (buffer threshold).
    pub buffer_threshold_pkts: u32,
    /// n-reordering (RFC 4737 section 5) is counted for n = 1..=n_max.
    pub n_max: u32,
    /// The loss-waiting window, in packets. It replaces the waiting time dT of RFC 4737 (sections 3 and 4.1), for which
    /// the RFC recommends no value. An arrival counts as lost if its number is below the largest number so far by more
    /// than this window. [`Reordering::too_late_pkts`](crate::Reordering) is the number of such arrivals. Each packet
    /// of the window takes 5 to 10 bytes of memory.
    /// Implements RFC 4737, 4.1.2 (waiting time).
    /// Implements RFC 4737, 6 (sliding window).
    pub loss_window_pkts: u32,
    /// Sequence number of the first packet that was sent. An arrival with a lower number does not belong to the
    /// sequence ([`Reordering::outside_pkts`](crate::Reordering)). None means that the smallest number that arrives
    /// counts as the first one. Packets before it then cannot count as lost. The hypothetical receive buffer then first
    /// expects the smallest of the first B_T + 1 arrivals. It does not expect a lower number that arrives later,
    /// because the buffer would be full before that.
    /// Implements RFC 5236, 7 (numbers from 1).
    pub first_seq: Option<u64>,
}

/// The constants below are upper limits of the settings. If a setting is larger than its limit, a `Meter` uses the
/// limit instead. Callers should therefore refuse values above these limits.
impl Settings {
    /// The limit of both thresholds, because displacements are `i32`.
    pub const MOST_THRESHOLD_PKTS: u32 = i32::MAX as u32;
    /// The limit of the loss-waiting window. With a window of this size, a `Meter` needs 80 to 160 MB.
    pub const MOST_LOSS_WINDOW_PKTS: u32 = 1 << 24;
    /// The limit of `n_max`.
    pub const MOST_N: u32 = 1 << 16;
}

impl Default for Settings {
    /// Both thresholds are 1000 packets, because a route change can displace packets by a whole queue or more. The
    /// loss-waiting window is 65,536 packets, which is the range of a 16-bit number. With packets of 1514 bytes at 100
    /// Mbit/s, these are 8 s.
    /// Implements RFC 5236, 5 (choice of D_T).
    fn default() -> Self {
        Self {
            density_threshold_pkts: 1000,
            buffer_threshold_pkts: 1000,
            n_max: 10,
            loss_window_pkts: 65_536,
            first_seq: None,
        }
    }
}

/// A packet that has arrived.
/// Implements RFC 4737, 3.2 (parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Sequence number in order of sending, unwrapped ([`Unwrap`](crate::Unwrap)). Each packet has its own number.
    /// `u64::MAX` is invalid.
    /// Implements RFC 4737, 3 (order of sending).
    pub seq: u64,
    /// Time of arrival, if known. It is needed only for late times and for gaps in time.
    /// Implements RFC 4737, 4.3.2 (time of arrival).
    pub t_ns: Option<i64>,
    /// The payload in bytes. It is needed only for byte offsets.
    pub len_bytes: u32,
}

impl Arrival {
    /// Creates an arrival without time and payload.
    pub fn new(seq: u64) -> Self {
        Self { seq, t_ns: None, len_bytes: 0 }
    }
}
