// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: what the network does at route changes.

use serde::Deserialize;

/// Actions of nodes when one of their routes changes, so that packets arrive in order. By default, nodes do nothing.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// Whether packets that wait at the old link can move to the new one; None = they are not moved.
    pub move_queue: Option<MoveQueue>,
    /// Buffer in which new packets are held; None = they are not held.
    pub hold: Option<Hold>,
    /// A marker behind the last packet on the old path. Packets on the new path wait for this marker. None = there is
    /// no marker.
    pub end_marker: Option<EndMarker>,
    /// Time after a route change for which packets are sent on the old link as well as on the new one; None = only on
    /// the new link.
    pub duplicate_ns: Option<u64>,
    /// How stations number the packets that they send, and restore the order of packets that they receive; None = they
    /// do neither.
    pub resequence: Option<Resequence>,
    /// How nodes notify hosts of route changes; None = nodes do not notify hosts.
    pub notify: Option<Notify>,
}

/// A marker: the last packet on the old path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMarker {
    /// Maximum time for which a packet waits for the marker.
    pub wait_ns: u64,
    /// Buffer in which packets wait.
    pub buffer: Hold,
}

/// Notices of nodes to hosts whose packets will take another path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Time from the route change to the notice. A negative time means that the notice precedes the change.
    pub delay_ns: i64,
    /// Share of the notices that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// False notices in order of time. A false notice has a run time in ns, a receiving host, and the destination for
    /// which the notice claims a change.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// How stations restore the order of packets (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// Packets that share one sequence of numbers.
    pub by: Numbering,
    /// Selection of the packets that wait for missing earlier packets.
    pub kind: Ordering,
    /// Maximum time for which a packet waits for missing earlier packets.
    pub delay_ns: u64,
}

/// Selection of the packets that wait for missing earlier packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// All packets wait.
    Basic,
    /// A packet waits only if it took the new path shortly after a route change.
    Advanced,
}

/// Packets that share one sequence of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// The packets of one flow. Protocol and ports identify the flow.
    Flow,
    /// All packets from one host to another, of all flows.
    Aggregate,
}

/// Whether packets that wait at a link can be moved to another link after the link has gone down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveQueue {
    /// Waiting packets can be moved, because the queue is in the node's memory.
    Kept,
    /// Waiting packets cannot be moved, because the queue is lost with the link.
    Lost,
}

/// A buffer for held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Size of the buffer for each direction of a link. A frame takes its own bytes and the link's overhead.
    pub buffer_bytes: u32,
    /// Behaviour when the buffer is full.
    pub full: HoldFull,
}

/// Behaviour when a buffer for held packets is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldFull {
    /// The arriving packet is refused.
    Drop,
    /// The oldest packet in the buffer is sent early.
    Send,
}

impl Cures {
    /// Whether nodes do anything when one of their routes changes.
    pub fn at_switches(&self) -> bool {
        self.move_queue.is_some()
            || self.hold.is_some()
            || self.end_marker.is_some()
            || self.duplicate_ns.is_some()
            || self.notify.is_some()
            || self.advanced().is_some()
    }

    /// With [`Ordering::Advanced`]: maximum time for which a packet of a new path waits at the station. None = packets
    /// never wait, or all packets wait (`Basic`).
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Whether any cure is set.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
