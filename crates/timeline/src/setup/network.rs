// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: the elements of the network.

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
    /// A host: an end of flows.
    Host,
    /// A router of a chain.
    Router,
}

/// A host: an end of flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Index into `nodes`.
    pub node: usize,
    /// Its only address. Hosts have all an IPv4 address, or all one of IPv6.
    pub address: IpAddr,
    /// Kernel parameters of the host's namespace, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// Pacer of the host's sockets.
    #[serde(default)]
    pub pacing: Pacing,
    /// When the host's sockets acknowledge received data.
    #[serde(default)]
    pub delayed_ack: DelayedAck,
    /// Index into `hosts`: the host whose namespace this one shares, as a further interface with an address of its own.
    #[serde(default)]
    pub joins: Option<usize>,
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

/// Minimum of [`super::Setup::mtu_bytes`]: headers of 60 and 60 bytes, and some payload.
pub const MTU_LEAST_BYTES: u32 = 256;
/// The same of IPv6 (RFC 8200, 5): the kernel has no IPv6 on an interface with less.
pub const MTU_LEAST_BYTES_IPV6: u32 = 1280;
/// The most, Ethernet's.
pub const MTU_MOST_BYTES: u32 = 1500;

pub(super) fn mtu_most_bytes() -> u32 {
    MTU_MOST_BYTES
}

/// Method by which a node forwards packets from one leolink to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarding {
    /// Directly from queue to queue.
    #[default]
    Direct,
    /// Through the kernel's IP stack.
    Kernel,
}

/// When a host's sockets acknowledge received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayedAck {
    /// Linux's default: the first segments one by one, then every second segment, or after an adaptive timer.
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
    /// TCP itself, for congestion controls that request pacing.
    #[default]
    Internal,
    /// The kernel's `fq` on the host's wire, for all sockets.
    Fq,
}

/// A pair of directions; `2 * index` is a to b and `2 * index + 1` is b to a.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Index into `nodes`.
    pub a: usize,
    /// Index into `nodes`.
    pub b: usize,
    /// What it is.
    pub kind: LinkKind,
    /// Model of the link's directions; wires need none.
    pub discipline: Option<Discipline>,
    /// Fate of its packets when it goes down; `events.bin` contains the decision for each case.
    pub on_down: Option<OnDown>,
    /// Maximum number of waiting packets; if neither limit is set, the queue is unlimited.
    pub limit_pkts: Option<u32>,
    /// Maximum number of waiting bytes, including the overhead.
    pub limit_bytes: Option<u32>,
    /// Bytes added to the Ethernet frame (IP packet + 14).
    pub overhead_bytes: i32,
    /// Neighbours are resolved by ARP each time that the link comes up.
    pub arp: bool,
    /// netem and jitter only: packets to which the limit applies.
    #[serde(default)]
    pub queue_counts: QueueCounts,
    /// Further settings of each direction: a to b, b to a.
    #[serde(default)]
    pub directions: [Direction; 2],
}

impl Link {
    /// Queueing disciplines model its directions; a wire has none, unless it is jittered.
    pub fn is_modelled(&self) -> bool {
        self.kind != LinkKind::Wire || self.discipline == Some(Discipline::Jitter)
    }

    /// Whether the queueing discipline is netem, alone or below a tbf.
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
    /// Between a host and its station: without delay, rate or queue, unless its discipline is `jitter`.
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

/// Fates of a link's packets when it goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDown {
    /// The packets of the link arrive, and the link still accepts packets that are routed to it.
    Drain,
    /// The packets of the link are lost, and so are packets sent to it while it is down.
    Drop,
}

/// Meanings of the limit of a netem link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// Packets that wait for the serialiser: netem's own limit is increased by the content of the delay line.
    #[default]
    Waiting,
    /// netem's own rule: packets in the delay line count too.
    WaitingAndFlying,
}

/// Settings of a direction; only for the discipline leolink.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// Queue before the serialiser; None = a fifo with the link's limits.
    pub queue: Option<Queue>,
    /// False: a packet with a smaller delay overtakes.
    pub in_order: bool,
    /// Length of the packets with which the delay was measured; the measured delay includes their transmission time.
    pub probe_bytes: u32,
    /// Rows of its table of capacity in `tables.bin`; 0 = no table, rates are events.
    pub capacity_rows: usize,
    /// Rows of the direction's table of delay and loss in `tables.bin`; 0 = no table, both are events.
    pub channel_rows: usize,
}

impl Default for Direction {
    fn default() -> Self {
        Self { queue: None, in_order: true, probe_bytes: 0, capacity_rows: 0, channel_rows: 0 }
    }
}

impl Direction {
    /// Whether the direction has only default settings.
    pub fn is_plain(&self) -> bool {
        self.queue.is_none() && self.in_order && (self.probe_bytes, self.capacity_rows, self.channel_rows) == (0, 0, 0)
    }
}

/// Maximum number of waiting packets in a direction in which packets overtake.
pub const OVERTAKING_LIMIT_PKTS: u32 = 65_536;

/// A queue before a serialiser.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The queueing discipline.
    pub kind: QueueKind,
    /// The discipline marks packets that support marking instead of dropping them.
    pub ecn: bool,
    /// Parameters of the discipline by name; see [`QueueKind::parameters`].
    pub parameters: BTreeMap<String, u64>,
    /// If neither limit is set, the link's limits apply.
    pub limit_pkts: Option<u32>,
    /// If neither limit is set, the link's limits apply.
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

    /// Names of the discipline's parameters.
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
