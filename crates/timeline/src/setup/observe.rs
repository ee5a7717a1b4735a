// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what is recorded.

use serde::Deserialize;

/// The settings of recording.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// The interval between samples of TCP_INFO. None means no samples.
    pub sockets_ns: Option<i64>,
    /// The interval between readings of the kernel's counters. None means that the counters are read only once, at the
    /// end.
    pub counters_ns: Option<i64>,
    /// The interval between readings of the queues. None means no readings.
    pub queues_ns: Option<i64>,
    /// Whether packets are captured and matched at both ends of each flow. Without the capture, the tables of packets,
    /// bins, flow drops, echoes and reordering are missing.
    pub truth: bool,
    /// How packets are captured.
    #[serde(default)]
    pub capture: Capture,
    /// The thresholds D_T and B_T of RFC 5236.
    pub reordering_threshold_pkts: u32,
    /// The width of the windows in which reordering is measured. None means no windows.
    pub reordering_window_ns: Option<i64>,
    /// The durations before and after a route change in which reordering is measured.
    pub around_changes_ns: (i64, i64),
    /// The packets that are stored.
    pub packets: Packets,
    /// The intervals of send time in which packets are stored, if `packets` is `changes`. The intervals are sorted,
    /// disjoint and half-open.
    pub windows_ns: Vec<(i64, i64)>,
    /// The ends of the first flow that get a pcapng file.
    pub pcap: Pcap,
    /// The number of bytes of each frame in the pcapng file.
    pub pcap_snap_bytes: u32,
}

/// The packets that are stored. Late, lost and retransmitted packets are always stored, except with `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// No packets. Bins and totals are still recorded.
    None,
    /// All packets with a send time in a window (`windows_ns`).
    Changes,
    /// All packets.
    All,
}

/// The ends of the first flow that get a pcapng file.
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
    /// Capture by taps of the guest kernel, if the kernel has taps.
    #[default]
    Taps,
    /// Capture by packet sockets.
    Sockets,
}
