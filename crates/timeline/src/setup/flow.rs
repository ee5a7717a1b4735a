// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: the workload.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Time for which a flood without an interval waits for an answer.
pub const FLOOD_SILENCE_NS: i64 = 1_000_000_000;

/// One flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What it is.
    pub kind: FlowKind,
    /// Index into `hosts`.
    pub source: usize,
    /// Index into `hosts`.
    pub destination: usize,
    /// tcp only.
    pub congestion_control: Option<String>,
    /// tcp: the connection is of Multipath TCP (RFC 8684).
    #[serde(default)]
    pub is_mptcp: bool,
    /// tcp: index of the flow of Multipath TCP to whose connection this one belongs, as a subflow that the kernel opens.
    #[serde(default)]
    pub subflow_of: Option<usize>,
    /// Time at which it connects or sends its first packet.
    pub start_ns: i64,
    /// Time at which the flow is stopped.
    pub stop_ns: i64,
    /// tcp: none = unlimited.
    pub size_bytes: Option<u64>,
    /// tcp: rate of the application's data (None = as much as TCP accepts), payload; udp: frames (IP packet + 14).
    pub rate_bps: Option<u64>,
    /// ping only; None = `packets_per_s`, or for a flood [`FLOOD_SILENCE_NS`].
    pub interval_ns: Option<i64>,
    /// ping and udp.
    pub payload_bytes: Option<u32>,
    /// ping and udp: number of packets; None = until `stop_ns`.
    pub packets: Option<u64>,
    /// ping and udp, instead of `interval_ns` and `rate_bps`: packet k is due at start + floor(k 1e9 / packets_per_s).
    pub packets_per_s: Option<f64>,
    /// ping: the destination answers (false: `net.ipv4.icmp_echo_ignore_all` is set there).
    pub replies: bool,
    /// ping: the next request is sent when the previous one is answered or after `interval_ns`, whichever comes first.
    #[serde(default)]
    pub flood: bool,
    /// program only.
    #[serde(default)]
    pub program: Option<Program>,
}

/// User programs, whose connections between the two hosts become separate flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Command of the client (program and arguments), which runs at the host `client_at`.
    pub client: Vec<String>,
    /// Command of the server, which runs at the flow's other host; None = there is no server.
    pub server: Option<Vec<String>>,
    /// Index into `hosts`.
    pub client_at: usize,
    /// Start of the client; the server starts at the flow's start.
    pub client_start_ns: i64,
    /// A connection between the hosts belongs to this flow if one end uses this port.
    pub port: u16,
    /// All environment variables of the programs.
    pub environment: BTreeMap<String, String>,
    /// Working directory; None = the writable directory.
    pub directory: Option<String>,
    /// Root of the programs: a directory of the host, in the notation of the guest's hostfs.
    pub root: String,
    /// Limits of a program's files and of each of its outputs.
    pub storage_bytes: u64,
    /// Exit code of the client; None = it must still run when the flow stops.
    pub expect_exit: Option<i32>,
}

/// Kinds of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// Bulk transfer.
    Tcp,
    /// ICMP echo.
    Ping,
    /// One-way stream at a constant rate.
    Udp,
    /// User programs; the flow itself has no packets, its connections do.
    Program,
}
