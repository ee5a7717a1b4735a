// SPDX-License-Identifier: Apache-2.0
//! The workload, as a part of the setup.

use serde::Deserialize;
use std::collections::BTreeMap;

/// If a flood has no interval, it sends its next request after this time without an answer.
pub const FLOOD_SILENCE_NS: i64 = 1_000_000_000;

/// A flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The kind of the flow.
    pub kind: FlowKind,
    /// The source host, as an index into `hosts`.
    pub source: usize,
    /// The destination host, as an index into `hosts`.
    pub destination: usize,
    /// The congestion control. Only for tcp.
    pub congestion_control: Option<String>,
    /// Whether the connection uses Multipath TCP (RFC 8684). Only for tcp.
    #[serde(default)]
    pub is_mptcp: bool,
    /// The index of the flow whose Multipath TCP connection contains this flow. Only for an additional tcp subflow,
    /// which the kernel opens.
    #[serde(default)]
    pub subflow_of: Option<usize>,
    /// The time at which the flow connects or sends its first packet.
    pub start_ns: i64,
    /// The time at which the flow is stopped.
    pub stop_ns: i64,
    /// The number of bytes to transfer. Only for tcp. None means unlimited.
    pub size_bytes: Option<u64>,
    /// For tcp, the rate at which the application writes payload. None means no limit. For udp, the rate of the frames.
    /// A frame is an IP packet plus 14 bytes.
    pub rate_bps: Option<u64>,
    /// The interval between packets. Only for ping. None means that `packets_per_s` is set. A flood without an interval
    /// waits [`FLOOD_SILENCE_NS`].
    pub interval_ns: Option<i64>,
    /// The payload per packet. Only for ping and udp.
    pub payload_bytes: Option<u32>,
    /// The number of packets. Only for ping and udp. None means that packets are sent until `stop_ns`.
    pub packets: Option<u64>,
    /// The number of packets per second. It is used instead of `interval_ns` and `rate_bps`. Only for ping and udp.
    /// Packet k is sent at start + floor(k 1e9 / packets_per_s).
    pub packets_per_s: Option<f64>,
    /// Whether the destination answers pings. If false, the guest sets `net.ipv4.icmp_echo_ignore_all` at the
    /// destination.
    pub replies: bool,
    /// Whether a ping is a flood. A flood sends its next request when the answer arrives, or after `interval_ns`
    /// without an answer.
    #[serde(default)]
    pub flood: bool,
    /// The user's programs. Only for flows of kind program.
    #[serde(default)]
    pub program: Option<Program>,
}

/// The user programs of a flow. Each connection that the programs open between the two hosts becomes a flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The command line of the client, which runs at the host `client_at`.
    pub client: Vec<String>,
    /// The command line of the server, which runs at the flow's other host. None means that no server is started.
    pub server: Option<Vec<String>>,
    /// The host of the client, as an index into `hosts`.
    pub client_at: usize,
    /// The time at which the client starts. The server starts at the flow's start.
    pub client_start_ns: i64,
    /// The port that identifies the flow's connections. One end of each connection uses this port.
    pub port: u16,
    /// All environment variables of the programs.
    pub environment: BTreeMap<String, String>,
    /// The working directory. None means the program's writable directory.
    pub directory: Option<String>,
    /// The root directory of the programs on the user's machine, as a path of the guest's hostfs.
    pub root: String,
    /// The maximum size of a program's files. Each output of a program has the same maximum size.
    pub storage_bytes: u64,
    /// The exit code that the client must have. None means that the client must still run when the flow stops.
    pub expect_exit: Option<i32>,
}

/// The kinds of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// A bulk transfer.
    Tcp,
    /// An ICMP echo.
    Ping,
    /// A one-way stream at a constant rate.
    Udp,
    /// A set of user programs. Each connection of the programs counts as a separate flow. The programs' packets belong
    /// to these flows.
    Program,
}
