// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: actions of the network at route changes.

use serde::Deserialize;

/// Actions of nodes when one of their routes changes, so that packets arrive in order; none by default.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// Packets that wait at the old link move to the new one; None = they stay.
    pub move_queue: Option<MoveQueue>,
    /// New packets are held; None = they are not.
    pub hold: Option<Hold>,
    /// A marker ends the old path, and packets on the new path wait for it; None = there is no marker.
    pub end_marker: Option<EndMarker>,
    /// Time after a change in which packets are sent on both links; None = only on the new link.
    pub duplicate_ns: Option<u64>,
    /// Stations number packets that they send, and reorder packets that they receive; None = they do not.
    pub resequence: Option<Resequence>,
    /// Nodes notify hosts; None = they do not.
    pub notify: Option<Notify>,
}

/// A marker after the last packet on the old path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMarker {
    /// Maximum time for which a packet waits for the marker.
    pub wait_ns: u64,
    /// Where packets wait.
    pub buffer: Hold,
}

/// Notices to hosts whose packets a node sends on another path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Time between the change and the notice; below 0: the notice precedes the change.
    pub delay_ns: i64,
    /// Share of notices that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// False notices in order of time: run time in ns, receiving host, and destination host of its packets.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// Reordering between stations (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// Scope of the numbering.
    pub by: Numbering,
    /// Packets that wait for earlier ones.
    pub kind: Ordering,
    /// Maximum time for which a packet waits for earlier ones.
    pub delay_ns: u64,
}

/// Packets that wait for earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// All.
    Basic,
    /// Packets that arrived on the new path of a recent change.
    Advanced,
}

/// Unit of packets that has its own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// Flows, identified by protocol and ports.
    Flow,
    /// All packets from one host to another.
    Aggregate,
}

/// Whether packets that wait at a link can be moved when it goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveQueue {
    /// The queue is in the node's memory.
    Kept,
    /// The queue is lost with the link.
    Lost,
}

/// Buffer of held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Size for each direction of a link, in frames including the link's overhead.
    pub buffer_bytes: u32,
    /// Rule for a full buffer.
    pub full: HoldFull,
}

/// Rules for a full hold buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldFull {
    /// Refuses the arriving packet.
    Drop,
    /// Sends the oldest packet.
    Send,
}

impl Cures {
    /// Whether nodes take any action when one of their routes changes.
    pub fn at_switches(&self) -> bool {
        self.move_queue.is_some()
            || self.hold.is_some()
            || self.end_marker.is_some()
            || self.duplicate_ns.is_some()
            || self.notify.is_some()
            || self.advanced().is_some()
    }

    /// Time for which packets of a new path wait at stations, if only those packets wait.
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Whether nodes take any action at all.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
