// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what the network is made of.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A network namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// As in the timeline.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// Kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A router in orbit.
    Satellite,
    /// A router on the ground.
    Ground,
    /// An end of flows.
    Host,
    /// A router of a chain.
    Router,
}

/// An end of flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Index into `nodes`.
    pub node: usize,
    /// Its only address. Hosts have all an IPv4 address, or all one of IPv6.
    pub address: IpAddr,
    /// Kernel parameters of its namespace, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// The pacer of its sockets.
    #[serde(default)]
    pub pacing: Pacing,
    /// When its sockets acknowledge what they receive.
    #[serde(default)]
    pub delayed_ack: DelayedAck,
}

impl Host {
    /// The last four bytes of its address, in which addresses of hosts differ.
    pub fn short_address(&self) -> u32 {
        match self.address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => u128::from(address) as u32,
        }
    }
}

/// The least [`super::Setup::mtu_bytes`]: headers of 60 and 60 bytes, and some payload.
pub const MTU_LEAST_BYTES: u32 = 256;
/// The same of IPv6 (RFC 8200, 5): the kernel has no IPv6 on an interface with less.
pub const MTU_LEAST_BYTES_IPV6: u32 = 1280;
/// The most, Ethernet's.
pub const MTU_MOST_BYTES: u32 = 1500;

pub(super) fn mtu_most_bytes() -> u32 {
    MTU_MOST_BYTES
}

/// How a node passes packets on from one leolink to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarding {
    /// From queue to queue.
    #[default]
    Direct,
    /// Through the kernel's IP stack.
    Kernel,
}

/// When a host's sockets acknowledge what they receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayedAck {
    /// Linux's own: the first segments one by one, then every second, or after a timer that adapts.
    #[default]
    Adaptive,
    /// Every second segment from the first on, or after a timer (`guest/ulp/delack.c`).
    On,
    /// Each segment.
    Off,
}

/// Pacers of a host's sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// TCP itself, for the congestion controls that ask for it.
    #[default]
    Internal,
    /// The kernel's `fq` on the host's wire, for all of them.
    Fq,
}

/// A pair of directions; `2 * index` is a>b and `2 * index + 1` is b>a.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Index into `nodes`.
    pub a: usize,
    /// Index into `nodes`.
    pub b: usize,
    /// What it is.
    pub kind: LinkKind,
    /// Its model; wires need none.
    pub discipline: Option<Discipline>,
    /// Fate of the packets that it holds when it goes down; the decision is what `events.bin` says each time.
    pub on_down: Option<OnDown>,
    /// Packets that may wait; none of the two limits = unlimited.
    pub limit_pkts: Option<u32>,
    /// Bytes that may wait, counted with the overhead.
    pub limit_bytes: Option<u32>,
    /// On top of the Ethernet frame (IP packet + 14).
    pub overhead_bytes: i32,
    /// Neighbours are resolved by ARP each time the link comes up.
    pub arp: bool,
    /// netem and jitter only: what its limit counts.
    #[serde(default)]
    pub queue_counts: QueueCounts,
    /// Further settings of each direction; a>b, b>a.
    #[serde(default)]
    pub directions: [Direction; 2],
}

impl Link {
    /// Queueing disciplines model its directions; a wire has none, unless it is a jittered one.
    pub fn is_modelled(&self) -> bool {
        self.kind != LinkKind::Wire || self.discipline == Some(Discipline::Jitter)
    }

    /// Its queueing discipline is netem, alone or below a tbf.
    pub fn is_by_netem(&self) -> bool {
        matches!(self.discipline, Some(Discipline::Netem | Discipline::Jitter))
    }
}

/// Kinds of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// Between satellites.
    Isl,
    /// Between satellite and ground.
    Gsl,
    /// Between a host and its station: no delay, no rate, no queue, unless its discipline is `jitter`.
    Wire,
}

/// The queueing discipline that models a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Discipline {
    /// Ours (`guest/links`).
    Leolink,
    /// The kernel's.
    Netem,
    /// netem (delay, jitter, loss, limit, no rate) below tbf (rate): packets overtake each other, then are serialised.
    Jitter,
}

/// Fates of the packets that a link holds when it goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDown {
    /// They arrive, and the link goes on taking what is still routed to it.
    Drain,
    /// They are lost, and so is what is offered while it is down.
    Drop,
}

/// Meanings of the limit of a netem link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// Packets that wait for the serialiser: netem's own limit is raised by what the delay line holds.
    #[default]
    Waiting,
    /// netem's own rule: the delay line counts too.
    WaitingAndFlying,
}

/// Settings of a direction; discipline leolink only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// The queue before the serialiser; none = a fifo with the link's limits.
    pub queue: Option<Queue>,
    /// False: a packet that meets a smaller delay overtakes.
    pub in_order: bool,
    /// Length of the packets that measured the delay, which holds their own time on the link.
    pub probe_bytes: u32,
    /// Rows of its table of capacity in `tables.bin`; 0 = none, rates are events.
    pub capacity_rows: usize,
    /// Rows of its table of delay and loss in `tables.bin`; 0 = none, they are events.
    pub channel_rows: usize,
}

impl Default for Direction {
    fn default() -> Self {
        Self { queue: None, in_order: true, probe_bytes: 0, capacity_rows: 0, channel_rows: 0 }
    }
}

impl Direction {
    /// It is a plain direction.
    pub fn is_plain(&self) -> bool {
        self.queue.is_none() && self.in_order && (self.probe_bytes, self.capacity_rows, self.channel_rows) == (0, 0, 0)
    }
}

/// The most packets that may wait in a direction in which packets overtake.
pub const OVERTAKING_LIMIT_PKTS: u32 = 65_536;

/// A queue before a serialiser.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The queueing discipline.
    pub kind: QueueKind,
    /// It marks packets that can be marked, instead of dropping them.
    pub ecn: bool,
    /// Parameters of the discipline, by name; see [`QueueKind::parameters`].
    pub parameters: BTreeMap<String, u64>,
    /// None of the two = the link's.
    pub limit_pkts: Option<u32>,
    /// None of the two = the link's.
    pub limit_bytes: Option<u32>,
}

/// A queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// leolink's own.
    Fifo,
    /// RFC 8289.
    Codel,
    /// RFC 8290.
    FqCodel,
    /// RFC 8033.
    Pie,
    /// PIE for each of many flows.
    FqPie,
    /// Common Applications Kept Enhanced, without its shaper.
    Cake,
    /// Random early detection.
    Red,
}

impl QueueKind {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Codel => "codel",
            Self::FqCodel => "fq_codel",
            Self::Pie => "pie",
            Self::FqPie => "fq_pie",
            Self::Cake => "cake",
            Self::Red => "red",
        }
    }

    /// The names of its parameters.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Fifo => &[],
            Self::Codel => &["target_ns", "interval_ns", "ce_threshold_ns"],
            Self::FqCodel => {
                &["target_ns", "interval_ns", "ce_threshold_ns", "flows", "quantum_bytes", "memory_limit_bytes"]
            }
            Self::Pie => &["target_ns", "tupdate_ns", "alpha", "beta"],
            Self::FqPie => &["target_ns", "tupdate_ns", "alpha", "beta", "flows", "quantum_bytes"],
            Self::Cake => &["rtt_ns", "flow_mode", "memory_limit_bytes", "ack_filter"],
            Self::Red => &["min_bytes", "max_bytes", "probability_ppm", "adaptive"],
        }
    }
}
