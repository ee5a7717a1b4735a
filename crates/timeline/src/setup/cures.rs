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
    /// The marker ends the old path. Packets on the new path wait for it. None = there is no marker.
    pub end_marker: Option<EndMarker>,
    /// Time after a change for which packets are sent on both links; None = they are only sent on the new link.
    pub duplicate_ns: Option<u64>,
    /// How stations number the packets that they send, and reorder the packets that they receive; None = stations do
    /// neither.
    pub resequence: Option<Resequence>,
    /// How nodes notify hosts; None = nodes do not notify hosts.
    pub notify: Option<Notify>,
}

/// A marker that follows the last packet on the old path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMarker {
    /// Maximum time for which a packet waits for the marker.
    pub wait_ns: u64,
    /// Buffer in which packets wait.
    pub buffer: Hold,
}

/// Notices to hosts when a node sends their packets on another path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Time between the change and the notice. If the delay is below 0, the notice precedes the change.
    pub delay_ns: i64,
    /// Share of the notices that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// False notices in order of time. Each false notice has a run time in ns, the host that receives the notice, and
    /// the host to which its packets go.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// How stations restore the order of packets (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// Packets that share one sequence of numbers.
    pub by: Numbering,
    /// Selection of the packets that wait for earlier ones.
    pub kind: Ordering,
    /// Maximum time for which a packet waits for earlier ones.
    pub delay_ns: u64,
}

/// Selection of the packets that wait for earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// All packets wait.
    Basic,
    /// Only packets wait that arrived on the new path of a recent change.
    Advanced,
}

/// Packets that share one sequence of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// The packets of one flow, which protocol and ports identify.
    Flow,
    /// All packets from one host to another, of all flows.
    Aggregate,
}

/// Whether packets that wait at a link can still be moved when the link goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveQueue {
    /// The packets can be moved: the queue is in the node's memory.
    Kept,
    /// The packets cannot be moved: the queue is lost with the link.
    Lost,
}

/// A buffer for held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Size of the buffer for each direction of a link. Frames count with the link's overhead.
    pub buffer_bytes: u32,
    /// Behaviour when the buffer is full.
    pub full: HoldFull,
}

/// Behaviour when a buffer for held packets is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldFull {
    /// The packet that arrives is refused.
    Drop,
    /// The oldest packet is sent.
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

    /// Maximum time for which packets of a new path wait at stations. None = no packets wait, or all packets wait.
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Whether any cure is set.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
