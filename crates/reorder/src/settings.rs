// SPDX-License-Identifier: Apache-2.0
//! Inputs of a [`Meter`](crate::Meter): its thresholds, and each arrival.

/// Thresholds, in packets. They, and never the number of arrivals, bound the memory of a [`Meter`](crate::Meter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// D_T of RFC 5236: a packet displaced by more counts as lost for the reorder density. At least 1.
    /// Implements RFC 5236, 3.4 (displacement threshold).
    pub density_threshold_pkts: u32,
    /// B_T of RFC 5236: places in the hypothetical receive buffer. At least 1.
    /// Implements RFC 5236, 3.9 (buffer threshold).
    pub buffer_threshold_pkts: u32,
    /// n-reordering (RFC 4737 section 5) is counted for n = 1..=n_max.
    pub n_max: u32,
    /// Loss-waiting window, in place of RFC 4737's waiting time dT (sections 3 and 4.1; it recommends no value). An
    /// arrival more than this below the largest number so far was sent so long ago that it counts as lost. It is
    /// counted in [`Reordering::too_late_pkts`](crate::Reordering). Costs 5 to 10 bytes a packet.
    /// Implements RFC 4737, 4.1.2 (waiting time).
    /// Implements RFC 4737, 6 (sliding window).
    pub loss_window_pkts: u32,
    /// Number of the first packet sent. Arrivals below it are none of this sequence
    /// ([`Reordering::outside_pkts`](crate::Reordering)). None: the smallest number that arrives is taken for the first
    /// (losses are counted from it). The receive buffer begins to wait at the smallest of the first B_T + 1 arrivals:
    /// if an even smaller one was on its way, the buffer would be full by now and would not wait for it.
    /// Implements RFC 5236, 7 (numbers from 1).
    pub first_seq: Option<u64>,
}

/// The most that is in force; a larger value is taken for it. A caller that gets one should refuse it.
impl Settings {
    /// Displacements are `i32`.
    pub const MOST_THRESHOLD_PKTS: u32 = i32::MAX as u32;
    /// 80 to 160 MB.
    pub const MOST_LOSS_WINDOW_PKTS: u32 = 1 << 24;
    /// Each n up to it is reported.
    pub const MOST_N: u32 = 1 << 16;
}

impl Default for Settings {
    /// Thresholds of 1000 packets: a route change displaces packets by a queue and more. The window of 65,536 packets is
    /// 8 s at 100 Mbit/s in packets of 1514 bytes, and the range of a 16-bit number.
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
    /// Number in order of sending, one a packet, not wrapped ([`Unwrap`](crate::Unwrap)). `u64::MAX` is no number.
    /// Implements RFC 4737, 3 (order of sending).
    pub seq: u64,
    /// When it arrived, if known: needed for late times and gap times alone.
    /// Implements RFC 4737, 4.3.2 (time of arrival).
    pub t_ns: Option<i64>,
    /// Payload: needed for byte offsets alone.
    pub len_bytes: u32,
}

impl Arrival {
    /// An arrival of which only the number is known.
    pub fn new(seq: u64) -> Self {
        Self { seq, t_ns: None, len_bytes: 0 }
    }
}
