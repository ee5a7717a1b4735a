// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: the nodes, hosts and links of the network.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A node, which is a network namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name of the node, as in the timeline.
    pub name: String,
    /// Kind of the node.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A router in orbit.
    Satellite,
    /// A router on the ground.
    Ground,
    /// A host, at which flows begin or end.
    Host,
    /// A router between the two ends of a chain.
    Router,
}

/// A host, at which flows begin or end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Index into `nodes`.
    pub node: usize,
    /// The host's only address. All hosts have IPv4 addresses, or all have IPv6 addresses.
    pub address: IpAddr,
    /// Kernel parameters of the host's namespace, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// Pacer of the packets of the host's sockets.
    #[serde(default)]
    pub pacing: Pacing,
    /// When the host's sockets acknowledge received data.
    #[serde(default)]
    pub delayed_ack: DelayedAck,
    /// Set if this host joins another host: index into `hosts` of the host whose namespace it uses. A joining host is
    /// an interface with its own address in that namespace.
    #[serde(default)]
    pub joins: Option<usize>,
}

impl Host {
    /// The last four bytes of the host's address, which differ between hosts.
    pub fn short_address(&self) -> u32 {
        match self.address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => u128::from(address) as u32,
        }
    }
}

/// Minimum of [`super::Setup::mtu_bytes`]: two headers of 60 bytes, and some payload.
pub const MTU_LEAST_BYTES: u32 = 256;
/// Minimum of [`super::Setup::mtu_bytes`] for IPv6 (RFC 8200, 5). The kernel turns IPv6 off on an interface with a
/// smaller MTU.
pub const MTU_LEAST_BYTES_IPV6: u32 = 1280;
/// Maximum of [`super::Setup::mtu_bytes`], which is Ethernet's MTU.
pub const MTU_MOST_BYTES: u32 = 1500;

pub(super) fn mtu_most_bytes() -> u32 {
    MTU_MOST_BYTES
}

/// How a node forwards packets from one leolink to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarding {
    /// The node moves packets directly from one link's queue to the next link's queue.
    #[default]
    Direct,
    /// Through the kernel's IP stack.
    Kernel,
}

/// When a host's sockets acknowledge received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayedAck {
    /// Linux's default. A socket first acknowledges each segment, and later every second segment, or when an adaptive
    /// timer expires.
    #[default]
    Adaptive,
    /// An ACK for every second segment from the start, or after a timer (`guest/ulp/delack.c`).
    On,
    /// Each segment, immediately.
    Off,
}

/// Pacer of the packets of a host's sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// TCP itself paces, if its congestion control requests pacing.
    #[default]
    Internal,
    /// The kernel's `fq` on the host's wire, which paces all sockets.
    Fq,
}

/// A link, which is a pair of directions: `2 * index` from a to b, and `2 * index + 1` from b to a.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Node at the end a: index into `nodes`.
    pub a: usize,
    /// Node at the end b: index into `nodes`.
    pub b: usize,
    /// Kind of the link.
    pub kind: LinkKind,
    /// Queueing discipline that models the link's directions. None = the link has no model, as for wires.
    pub discipline: Option<Discipline>,
    /// Fate of the link's packets when the link goes down. For each event, `events.bin` contains the fate that results.
    pub on_down: Option<OnDown>,
    /// Maximum number of waiting packets. If neither `limit_pkts` nor `limit_bytes` is set, the queue is unlimited.
    pub limit_pkts: Option<u32>,
    /// Maximum number of waiting bytes, including `overhead_bytes` for each frame.
    pub limit_bytes: Option<u32>,
    /// Number of bytes that the link adds to the Ethernet frame (IP packet + 14 bytes).
    pub overhead_bytes: i32,
    /// Whether neighbours are resolved by ARP each time the link comes up.
    pub arp: bool,
    /// For netem and jitter: which packets count towards the queue's limit.
    #[serde(default)]
    pub queue_counts: QueueCounts,
    /// Further settings of the two directions: a to b, then b to a.
    #[serde(default)]
    pub directions: [Direction; 2],
}

impl Link {
    /// Whether queueing disciplines model the link's directions. A wire has no discipline, unless it is jittered.
    pub fn is_modelled(&self) -> bool {
        self.kind != LinkKind::Wire || self.discipline == Some(Discipline::Jitter)
    }

    /// Whether the queueing discipline is a netem, either alone or below a tbf.
    pub fn is_by_netem(&self) -> bool {
        matches!(self.discipline, Some(Discipline::Netem | Discipline::Jitter))
    }
}

/// Kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// Link between two satellites.
    Isl,
    /// Link between a satellite and the ground.
    Gsl,
    /// Link between a host and its station. A wire has no delay, rate or queue, unless it is jittered.
    Wire,
}

/// The queueing discipline that models a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Discipline {
    /// leowarp's discipline (`guest/links`).
    Leolink,
    /// The kernel's netem.
    Netem,
    /// A netem (delay, jitter, loss and limit) as the child of a tbf (rate). Packets overtake each other in the netem,
    /// and are serialised afterwards.
    Jitter,
}

/// Fate of a link's packets when the link goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDown {
    /// The link's packets arrive, and the link still accepts packets that are routed to it.
    Drain,
    /// The link's packets are lost, and so are packets that are routed to the link while it is down.
    Drop,
}

/// Packets that count towards the limit of a netem link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// Only packets that wait for the serialiser. The agent adds the content of the delay line to netem's own limit, so
    /// that only waiting packets count.
    #[default]
    Waiting,
    /// Packets that wait for the serialiser, and packets in the delay line. This is the count of netem itself.
    WaitingAndFlying,
}

/// Settings of a direction, which only the discipline leolink uses.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// Queue before the serialiser. None = a FIFO with the link's limits.
    pub queue: Option<Queue>,
    /// Whether packets stay in order even if the delay falls. If false, a packet with a smaller delay overtakes earlier
    /// packets.
    pub in_order: bool,
    /// Length of the packets that measured the delay. A measured delay includes the transmission time of a packet of
    /// this length.
    pub probe_bytes: u32,
    /// Number of rows in the direction's table of capacity in `tables.bin`. 0 = there is no table, and events set the
    /// rate.
    pub capacity_rows: usize,
    /// Number of rows in the direction's table of delay and loss in `tables.bin`. 0 = there is no table, and events set
    /// both.
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

/// Maximum limit of waiting packets in a direction in which packets may overtake each other.
pub const OVERTAKING_LIMIT_PKTS: u32 = 65_536;

/// A queue before a serialiser.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The queueing discipline.
    pub kind: QueueKind,
    /// Whether the discipline marks packets instead of dropping them, if the packets support ECN.
    pub ecn: bool,
    /// Parameters of the discipline, by name: see [`QueueKind::parameters`].
    pub parameters: BTreeMap<String, u64>,
    /// Maximum number of waiting packets. If `limit_pkts` and `limit_bytes` are both None, the link's limits apply.
    pub limit_pkts: Option<u32>,
    /// Maximum number of waiting bytes. If `limit_pkts` and `limit_bytes` are both None, the link's limits apply.
    pub limit_bytes: Option<u32>,
}

/// A queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// leolink's own fifo.
    Fifo,
    /// CoDel (RFC 8289).
    Codel,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
    /// PIE (RFC 8033).
    Pie,
    /// PIE for each of many flows separately.
    FqPie,
    /// Common Applications Kept Enhanced, without its shaper.
    Cake,
    /// Random early detection.
    Red,
}

impl QueueKind {
    /// Name of the discipline in the kernel.
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
