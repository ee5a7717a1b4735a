// SPDX-License-Identifier: Apache-2.0
//! Inputs of a [`Meter`](crate::Meter): its thresholds and the arrivals.

/// Thresholds, in packets. The thresholds bound the memory of a [`Meter`](crate::Meter), independent of the number of
/// arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// D_T of RFC 5236: a packet with a larger displacement counts as lost for the reorder density. At least 1.
    /// Implements RFC 5236, 3.4 (displacement threshold).
    pub density_threshold_pkts: u32,
    /// B_T of RFC 5236: size of the hypothetical receive buffer. At least 1.
    /// Implements RFC 5236, 3.9 (buffer threshold).
    pub buffer_threshold_pkts: u32,
    /// n-reordering (RFC 4737 section 5) is counted for n = 1..=n_max.
    pub n_max: u32,
    /// Loss-waiting window in packets, which replaces RFC 4737's waiting time dT (sections 3 and 4.1; it recommends no
    /// value). An arrival more than this below the largest number so far was sent so long ago that it counts as lost.
    /// Such an arrival is counted in [`Reordering::too_late_pkts`](crate::Reordering). Costs 5 to 10 bytes per packet.
    /// Implements RFC 4737, 4.1.2 (waiting time).
    /// Implements RFC 4737, 6 (sliding window).
    pub loss_window_pkts: u32,
    /// Number of the first packet sent. Arrivals below it are not part of this sequence
    /// ([`Reordering::outside_pkts`](crate::Reordering)). None: the smallest number that arrives is assumed to be the
    /// first (losses are counted from it). The receive buffer then begins to wait at the smallest of the first B_T + 1
    /// arrivals. It need not wait for a smaller one in flight, since it would be full by now.
    /// Implements RFC 5236, 7 (numbers from 1).
    pub first_seq: Option<u64>,
}

/// Largest effective value; larger values are reduced to it. A caller should refuse larger values.
impl Settings {
    /// Displacements are `i32`.
    pub const MOST_THRESHOLD_PKTS: u32 = i32::MAX as u32;
    /// 80 to 160 MB.
    pub const MOST_LOSS_WINDOW_PKTS: u32 = 1 << 24;
    /// A result is reported for each n up to it.
    pub const MOST_N: u32 = 1 << 16;
}

impl Default for Settings {
    /// Thresholds of 1000 packets: a route change displaces packets by a queue or more. The window of 65,536 packets is
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
    /// Number in order of sending, one per packet, unwrapped ([`Unwrap`](crate::Unwrap)). `u64::MAX` is invalid.
    /// Implements RFC 4737, 3 (order of sending).
    pub seq: u64,
    /// Time of arrival, if known: only needed for late times and gap times.
    /// Implements RFC 4737, 4.3.2 (time of arrival).
    pub t_ns: Option<i64>,
    /// Payload: only needed for byte offsets.
    pub len_bytes: u32,
}

impl Arrival {
    /// An arrival with only a number.
    pub fn new(seq: u64) -> Self {
        Self { seq, t_ns: None, len_bytes: 0 }
    }
}
