// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: the workload.

use serde::Deserialize;
use std::collections::BTreeMap;

/// If a flood has no interval, it waits this long for an answer before it sends the next request.
pub const FLOOD_SILENCE_NS: i64 = 1_000_000_000;

/// A flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Kind of the flow.
    pub kind: FlowKind,
    /// Index into `hosts`.
    pub source: usize,
    /// Index into `hosts`.
    pub destination: usize,
    /// Congestion control; only for tcp.
    pub congestion_control: Option<String>,
    /// tcp: whether the connection uses Multipath TCP (RFC 8684).
    #[serde(default)]
    pub is_mptcp: bool,
    /// Index of the flow whose Multipath TCP connection contains this flow. Only for tcp, and only for a further
    /// subflow, which the kernel opens.
    #[serde(default)]
    pub subflow_of: Option<usize>,
    /// Time at which the flow begins: it connects, or sends its first packet.
    pub start_ns: i64,
    /// Time at which the flow is stopped.
    pub stop_ns: i64,
    /// Bytes to transfer; only for tcp. None = unlimited.
    pub size_bytes: Option<u64>,
    /// tcp: rate at which the application writes payload; None = as fast as TCP accepts it. udp: rate of frames (IP
    /// packet + 14 bytes).
    pub rate_bps: Option<u64>,
    /// Interval between packets; only for ping. None = `packets_per_s` is set, or the flow is a flood, which then waits
    /// [`FLOOD_SILENCE_NS`].
    pub interval_ns: Option<i64>,
    /// Payload per packet; only for ping and udp.
    pub payload_bytes: Option<u32>,
    /// Number of packets; only for ping and udp. None = packets are sent until `stop_ns`.
    pub packets: Option<u64>,
    /// Packets per second; only for ping and udp, instead of `interval_ns` and `rate_bps`. Packet k is sent at start +
    /// floor(k 1e9 / packets_per_s).
    pub packets_per_s: Option<f64>,
    /// Whether the destination answers pings. If false, the guest sets `net.ipv4.icmp_echo_ignore_all` at the
    /// destination.
    pub replies: bool,
    /// Whether a ping is a flood. A flood sends its next request when the previous one is answered or after
    /// `interval_ns`, whichever comes first.
    #[serde(default)]
    pub flood: bool,
    /// The user's programs; only for flows of kind program.
    #[serde(default)]
    pub program: Option<Program>,
}

/// User programs. Each connection that the programs open between the two hosts becomes a flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Command of the client: program and arguments. The client runs at the host `client_at`.
    pub client: Vec<String>,
    /// Command of the server, which runs at the flow's other host. None = no server is started.
    pub server: Option<Vec<String>>,
    /// Host of the client, as an index into `hosts`.
    pub client_at: usize,
    /// Time at which the client starts. The server starts at the flow's start.
    pub client_start_ns: i64,
    /// A connection between the hosts belongs to this flow if one of its ends uses this port.
    pub port: u16,
    /// All environment variables of the programs.
    pub environment: BTreeMap<String, String>,
    /// Working directory; None = the writable directory of the program.
    pub directory: Option<String>,
    /// Root of the programs: a directory of the user's machine, as a path of the guest's hostfs.
    pub root: String,
    /// Maximum size of a program's files, and of each of its outputs.
    pub storage_bytes: u64,
    /// Exit code that the client must have. None = the client must still run when the flow stops.
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
    /// User programs. The flow itself has no packets; each connection of the programs is a flow with packets.
    Program,
}
