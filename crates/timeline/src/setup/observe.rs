// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: what is recorded.

use serde::Deserialize;

/// What is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Interval between samples of TCP_INFO; None = no samples.
    pub sockets_ns: Option<i64>,
    /// Interval between readings of the kernel's counters; None = only at the end.
    pub counters_ns: Option<i64>,
    /// Interval between readings of the queues; None = no readings.
    pub queues_ns: Option<i64>,
    /// Both ends of each flow are captured and matched; false: no tables of packets, bins, drops of flows, echoes,
    /// reordering.
    pub truth: bool,
    /// By what.
    #[serde(default)]
    pub capture: Capture,
    /// D_T and B_T of RFC 5236.
    pub reordering_threshold_pkts: u32,
    /// Width of the windows in which reordering is measured; None = no windows.
    pub reordering_window_ns: Option<i64>,
    /// Time before and after a route change in which a flow's reordering is measured.
    pub around_changes_ns: (i64, i64),
    /// Selection of stored packets.
    pub packets: Packets,
    /// For `changes`: intervals of sending time; sorted, disjoint, half open.
    pub windows_ns: Vec<(i64, i64)>,
    /// Ends at which a pcapng of the first flow is written.
    pub pcap: Pcap,
    /// Bytes stored of each frame.
    pub pcap_snap_bytes: u32,
}

/// Packets that are stored. Late, lost and retransmitted packets are always stored, unless `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// No packets; bins and totals are recorded nevertheless.
    None,
    /// Packets inside the windows.
    Changes,
    /// All.
    All,
}

/// Ends at which a pcapng is written.
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

/// Methods of capturing packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capture {
    /// Taps of the guest kernel, if it supports them.
    #[default]
    Taps,
    /// Packet sockets.
    Sockets,
}
