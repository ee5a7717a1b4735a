// SPDX-License-Identifier: Apache-2.0
//! Inputs of a [`Meter`](crate::Meter): thresholds and arrivals.

/// Thresholds, in packets. The thresholds limit the memory of a [`Meter`](crate::Meter), whatever the number of
/// arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// D_T of RFC 5236. A packet with a larger displacement counts as lost for the reorder density. The threshold is at
    /// least 1.
    /// Implements RFC 5236, 3.4 (displacement threshold).
    pub density_threshold_pkts: u32,
    /// B_T of RFC 5236: the size of the hypothetical receive buffer. The threshold is at least 1.
    /// Implements RFC 5236, 3.9 (buffer threshold).
    pub buffer_threshold_pkts: u32,
    /// n-reordering (RFC 4737 section 5) is counted for n = 1..=n_max.
    pub n_max: u32,
    /// Loss-waiting window in packets. The window replaces the waiting time dT of RFC 4737 (sections 3 and 4.1), for
    /// which the RFC recommends no value. If an arrival is below the largest number so far by more than this window, it
    /// counts as lost. [`Reordering::too_late_pkts`](crate::Reordering) counts such arrivals. The window needs 5 to 10
    /// bytes of memory per packet.
    /// Implements RFC 4737, 4.1.2 (waiting time).
    /// Implements RFC 4737, 6 (sliding window).
    pub loss_window_pkts: u32,
    /// Number of the first packet that was sent. Arrivals below this number do not belong to the sequence
    /// ([`Reordering::outside_pkts`](crate::Reordering)). None: the smallest number that arrives is assumed to be the
    /// first, and losses count from that number on. The receive buffer then first waits for the smallest of the first
    /// B_T + 1 arrivals. The buffer need not wait for a smaller number that is still in flight, because the buffer
    /// would be full by now.
    /// Implements RFC 5236, 7 (numbers from 1).
    pub first_seq: Option<u64>,
}

/// The constants below are the largest values that have an effect. Larger values are reduced to these limits. Callers
/// should refuse larger values.
impl Settings {
    /// The limit of displacements, which are `i32`.
    pub const MOST_THRESHOLD_PKTS: u32 = i32::MAX as u32;
    /// This window needs 80 to 160 MB.
    pub const MOST_LOSS_WINDOW_PKTS: u32 = 1 << 24;
    /// Results are reported for each n up to this value.
    pub const MOST_N: u32 = 1 << 16;
}

impl Default for Settings {
    /// The thresholds are 1000 packets, because a route change displaces packets by the length of a queue or more. The
    /// loss-waiting window is 65,536 packets, which is the range of a 16-bit number. The window is 8 s at 100 Mbit/s
    /// with packets of 1514 bytes.
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
    /// Number in order of sending, unwrapped ([`Unwrap`](crate::Unwrap)). Each packet has its own number. `u64::MAX` is
    /// invalid.
    /// Implements RFC 4737, 3 (order of sending).
    pub seq: u64,
    /// Time of arrival, if known. The time is only needed for late times and for gaps in time.
    /// Implements RFC 4737, 4.3.2 (time of arrival).
    pub t_ns: Option<i64>,
    /// Payload. The payload is only needed for byte offsets.
    pub len_bytes: u32,
}

impl Arrival {
    /// Creates an arrival that only has a number.
    pub fn new(seq: u64) -> Self {
        Self { seq, t_ns: None, len_bytes: 0 }
    }
}
