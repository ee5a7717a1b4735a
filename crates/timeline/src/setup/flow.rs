// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what is sent.

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
    /// When it connects or sends first.
    pub start_ns: i64,
    /// When it is cut off.
    pub stop_ns: i64,
    /// tcp: none = unlimited.
    pub size_bytes: Option<u64>,
    /// tcp: what the application offers (none = as much as TCP takes), payload; udp: frames (IP packet + 14).
    pub rate_bps: Option<u64>,
    /// ping only; none = `packets_per_s`, or of a flood [`FLOOD_SILENCE_NS`].
    pub interval_ns: Option<i64>,
    /// ping and udp.
    pub payload_bytes: Option<u32>,
    /// ping and udp: how many; none = until `stop_ns`.
    pub packets: Option<u64>,
    /// ping and udp, in place of `interval_ns` and `rate_bps`: packet k is due at start + floor(k 1e9 / packets_per_s).
    pub packets_per_s: Option<f64>,
    /// ping: the destination answers (false: `net.ipv4.icmp_echo_ignore_all` there).
    pub replies: bool,
    /// ping: the next request leaves when the one before is answered, or `interval_ns` after it, whichever is first.
    #[serde(default)]
    pub flood: bool,
    /// program only.
    #[serde(default)]
    pub program: Option<Program>,
}

/// Programs of the user's own, whose connections between the two hosts become flows of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Program and arguments; runs at the host `client_at`.
    pub client: Vec<String>,
    /// Runs at the other of the flow's two hosts; none = nobody does.
    pub server: Option<Vec<String>>,
    /// Index into `hosts`.
    pub client_at: usize,
    /// When the client starts; the server does at the flow's start.
    pub client_start_ns: i64,
    /// A connection between the hosts that uses this port at one of them belongs to this flow.
    pub port: u16,
    /// All variables that the programs have.
    pub environment: BTreeMap<String, String>,
    /// Working directory; none = the one that the programs may write to.
    pub directory: Option<String>,
    /// The programs' root: a directory of the host, as the guest's hostfs names it.
    pub root: String,
    /// Limits of a program's files and of its outputs, each.
    pub storage_bytes: u64,
    /// Exit code of the client; none = it is still running when the flow stops.
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
    /// Programs of the user's own; it has no packets itself, its connections have.
    Program,
}
