// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what is recorded.

use serde::Deserialize;

/// What is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Between two samples of TCP_INFO; none = no sample.
    pub sockets_ns: Option<i64>,
    /// Between two readings of the kernel's counters; none = at the end alone.
    pub counters_ns: Option<i64>,
    /// Between two readings of the queues; none = no reading.
    pub queues_ns: Option<i64>,
    /// Both ends of each flow are captured and matched; false: no packets, bins, drops of flows, echoes, reordering.
    pub truth: bool,
    /// By what.
    #[serde(default)]
    pub capture: Capture,
    /// D_T and B_T of RFC 5236.
    pub reordering_threshold_pkts: u32,
    /// Width of the windows in which reordering is measured; none = no windows.
    pub reordering_window_ns: Option<i64>,
    /// Time before and after a route change in which a flow's reordering is measured.
    pub around_changes_ns: (i64, i64),
    /// Packets that may be stored.
    pub packets: Packets,
    /// For `changes`: when, by sending time; sorted, disjoint, half open.
    pub windows_ns: Vec<(i64, i64)>,
    /// The ends that also leave a pcapng of the first flow.
    pub pcap: Pcap,
    /// How much of each frame it has.
    pub pcap_snap_bytes: u32,
}

/// Which packets are stored. Late, lost and retransmitted ones always are, unless `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// No packet; bins and totals are made all the same.
    None,
    /// Those inside the windows.
    Changes,
    /// All.
    All,
}

/// Ends that leave a pcapng.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pcap {
    /// None.
    None,
    /// The first flow's source.
    Source,
    /// The first flow's destination.
    Destination,
    /// Both.
    Both,
}

/// Means of capturing packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capture {
    /// Taps of the guest kernel, if it has them.
    #[default]
    Taps,
    /// Packet sockets.
    Sockets,
}
