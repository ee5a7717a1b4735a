// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: what is recorded.

use serde::Deserialize;

/// What is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Interval between samples of TCP_INFO; None = no samples.
    pub sockets_ns: Option<i64>,
    /// Interval between readings of the kernel's counters; None = they are read only at the end.
    pub counters_ns: Option<i64>,
    /// Interval between readings of the queues; None = queues are not read.
    pub queues_ns: Option<i64>,
    /// Whether packets are captured at both ends of each flow, and matched. Without the capture, there are no tables of
    /// packets, bins, drops of flows, echoes and reordering.
    pub truth: bool,
    /// How packets are captured.
    #[serde(default)]
    pub capture: Capture,
    /// The thresholds D_T and B_T of RFC 5236.
    pub reordering_threshold_pkts: u32,
    /// Width of the windows in which reordering is measured; None = no windows.
    pub reordering_window_ns: Option<i64>,
    /// Durations before and after a route change in which its reordering is measured.
    pub around_changes_ns: (i64, i64),
    /// Selection of the packets that are stored.
    pub packets: Packets,
    /// Intervals of sending time in which packets are stored, only for `changes`; sorted, disjoint and half-open.
    pub windows_ns: Vec<(i64, i64)>,
    /// Ends of the first flow at which a pcapng file is written.
    pub pcap: Pcap,
    /// Number of bytes of each frame that the pcapng file contains.
    pub pcap_snap_bytes: u32,
}

/// Selection of the packets that are stored. Late, lost and retransmitted packets are always stored, except with
/// `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// No packets; bins and totals are still recorded.
    None,
    /// Packets whose sending time is in a window (`windows_ns`).
    Changes,
    /// All packets.
    All,
}

/// Ends of the first flow at which a pcapng file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pcap {
    /// Neither end.
    None,
    /// The source of the first flow.
    Source,
    /// The destination of the first flow.
    Destination,
    /// Both ends.
    Both,
}

/// How packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capture {
    /// Taps of the guest kernel capture packets, if the kernel has taps.
    #[default]
    Taps,
    /// By packet sockets.
    Sockets,
}
