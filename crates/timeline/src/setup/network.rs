// SPDX-License-Identifier: Apache-2.0
//! The nodes, hosts and links in the setup.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A node, which is a network namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The name of the node, as in the timeline.
    pub name: String,
    /// The kind of the node.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A router in orbit.
    Satellite,
    /// A router on the ground.
    Ground,
    /// A host, where flows begin or end.
    Host,
    /// A router between the two ends of a chain.
    Router,
}

/// A host, where flows begin or end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The index into `nodes`.
    pub node: usize,
    /// The host's only address. All hosts have IPv4 addresses, or all have IPv6 addresses.
    pub address: IpAddr,
    /// The kernel parameters of the host's namespace. The keys are dotted names.
    pub sysctl: BTreeMap<String, String>,
    /// The pacer for the host's sockets.
    #[serde(default)]
    pub pacing: Pacing,
    /// When the host's sockets acknowledge received data.
    #[serde(default)]
    pub delayed_ack: DelayedAck,
    /// The host that this host joins, as an index into `hosts`. None means that the host has its own namespace. A
    /// joining host is an interface with its own address in the other host's namespace.
    #[serde(default)]
    pub joins: Option<usize>,
}

impl Host {
    /// Returns the last four bytes of the host's address. These four bytes are different for each host.
    pub fn short_address(&self) -> u32 {
        match self.address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => u128::from(address) as u32,
        }
    }
}

/// The minimum of [`super::Setup::mtu_bytes`]: two headers of 60 bytes, and some payload.
pub const MTU_LEAST_BYTES: u32 = 256;
/// The minimum of [`super::Setup::mtu_bytes`] for IPv6 (RFC 8200, 5). The kernel turns IPv6 off on an interface with a
/// smaller MTU.
pub const MTU_LEAST_BYTES_IPV6: u32 = 1280;
/// The maximum of [`super::Setup::mtu_bytes`], which is Ethernet's MTU.
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
    /// The kernel's IP stack forwards packets.
    Kernel,
}

/// Determines when a host's sockets acknowledge received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayedAck {
    /// Linux's default. At first, a socket acknowledges each segment. Later, it sends an ACK for every second segment,
    /// or when an adaptive timer expires.
    #[default]
    Adaptive,
    /// From the start, an ACK is sent for every second segment, or when a timer expires (`guest/ulp/delack.c`).
    On,
    /// An immediate ACK for each segment.
    Off,
}

/// The pacer for the sockets of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// TCP itself paces its packets if the congestion control requests pacing.
    #[default]
    Internal,
    /// The kernel's `fq` on the host's wire, which paces all sockets.
    Fq,
}

/// A link with two directions: `2 * index` from a to b, and `2 * index + 1` from b to a.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The node at end a, as an index into `nodes`.
    pub a: usize,
    /// The node at end b, as an index into `nodes`.
    pub b: usize,
    /// The kind of the link.
    pub kind: LinkKind,
    /// The queueing discipline that models both directions. None means that the link, for example a wire, has no model.
    pub discipline: Option<Discipline>,
    /// The fate of the link's packets when the link goes down. In `events.bin`, each event for the link already states
    /// this fate.
    pub on_down: Option<OnDown>,
    /// Maximum number of waiting packets. If neither `limit_pkts` nor `limit_bytes` is set, the queue is unlimited.
    pub limit_pkts: Option<u32>,
    /// Maximum number of waiting bytes, including `overhead_bytes` for each frame.
    pub limit_bytes: Option<u32>,
    /// The number of bytes that the link adds to the Ethernet frame (IP packet + 14 bytes).
    pub overhead_bytes: i32,
    /// Whether neighbours are resolved by ARP each time the link comes up.
    pub arp: bool,
    /// The packets that count towards the limit of a netem or jitter link.
    #[serde(default)]
    pub queue_counts: QueueCounts,
    /// The other settings of the two directions. The first entry is for a to b, the second entry for b to a.
    #[serde(default)]
    pub directions: [Direction; 2],
}

impl Link {
    /// Returns whether a queueing discipline models the link. A wire has a discipline only if it is jittered.
    pub fn is_modelled(&self) -> bool {
        self.kind != LinkKind::Wire || self.discipline == Some(Discipline::Jitter)
    }

    /// Returns whether the queueing discipline is a netem, either alone or as the child of a tbf.
    pub fn is_by_netem(&self) -> bool {
        matches!(self.discipline, Some(Discipline::Netem | Discipline::Jitter))
    }
}

/// The kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// A link between two satellites.
    Isl,
    /// A link between a satellite and the ground.
    Gsl,
    /// A link between a host and its station. A wire has no delay, rate or queue, unless it is jittered.
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

/// The fate of a link's packets when the link goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDown {
    /// Packets on the link arrive. The link still accepts packets that are routed to it.
    Drain,
    /// Packets on the link are lost. Packets that are routed to the link while it is down are also lost.
    Drop,
}

/// The packets that count towards the limit of a netem link's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// The packets that wait for the serialiser. netem also counts packets in flight, so the agent adds the number of
    /// packets in flight to netem's limit.
    #[default]
    Waiting,
    /// The packets that wait for the serialiser, and the packets in flight. netem itself counts in this way.
    WaitingAndFlying,
}

/// The settings of a direction. Only the discipline leolink uses them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// The queue in front of the serialiser. None means a FIFO with the link's limits.
    pub queue: Option<Queue>,
    /// Whether packets stay in order even if the delay falls. If false, a packet with a smaller delay overtakes earlier
    /// packets.
    pub in_order: bool,
    /// The length of the probe packets with which the delay was measured. The measured delay includes the transmission
    /// time of one probe packet.
    pub probe_bytes: u32,
    /// The number of capacity rows of the direction in `tables.bin`. 0 means that events set the rate.
    pub capacity_rows: usize,
    /// The number of delay and loss rows of the direction in `tables.bin`. 0 means that events set the delay and the
    /// loss.
    pub channel_rows: usize,
}

impl Default for Direction {
    fn default() -> Self {
        Self { queue: None, in_order: true, probe_bytes: 0, capacity_rows: 0, channel_rows: 0 }
    }
}

impl Direction {
    /// Returns whether the direction has only default settings.
    pub fn is_plain(&self) -> bool {
        self.queue.is_none() && self.in_order && (self.probe_bytes, self.capacity_rows, self.channel_rows) == (0, 0, 0)
    }
}

/// The largest queue limit of a direction in which packets may overtake each other.
pub const OVERTAKING_LIMIT_PKTS: u32 = 65_536;

/// A queue in front of a serialiser.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The queueing discipline.
    pub kind: QueueKind,
    /// Whether the discipline marks ECN packets instead of dropping them.
    pub ecn: bool,
    /// The parameters of the discipline, by name. The names are those of [`QueueKind::parameters`].
    pub parameters: BTreeMap<String, u64>,
    /// Maximum number of waiting packets. If both limits are None, the link's limits apply.
    pub limit_pkts: Option<u32>,
    /// Maximum number of waiting bytes. If both limits are None, the link's limits apply.
    pub limit_bytes: Option<u32>,
}

/// A queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// The fifo of leolink.
    Fifo,
    /// CoDel (RFC 8289).
    Codel,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
    /// PIE (RFC 8033).
    Pie,
    /// PIE with a separate queue for each flow.
    FqPie,
    /// Common Applications Kept Enhanced (CAKE), without its shaper.
    Cake,
    /// Random early detection (RED).
    Red,
}

impl QueueKind {
    /// Returns the name of the discipline in the kernel.
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

    /// Returns the names of the discipline's parameters.
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
