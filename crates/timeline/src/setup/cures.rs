// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what the network does about route changes.

use serde::Deserialize;

/// What nodes do when a route of theirs changes, so that packets arrive in order; by default nothing.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// What waits at the link before goes over the new one; none = it stays where it is.
    pub move_queue: Option<MoveQueue>,
    /// New packets are held back; none = they are not.
    pub hold: Option<Hold>,
    /// A marker ends the old way, and what comes by the new one waits for it; none = there is none.
    pub end_marker: Option<EndMarker>,
    /// How long after a change packets go over both links; none = over the new one alone.
    pub duplicate_ns: Option<u64>,
    /// Stations number what they send, and put what they get in order; none = they do not.
    pub resequence: Option<Resequence>,
    /// Nodes tell hosts; none = they do not.
    pub notify: Option<Notify>,
}

/// A marker behind the last packet by the old way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMarker {
    /// How long a packet waits for it, at most.
    pub wait_ns: u64,
    /// Where packets wait.
    pub buffer: Hold,
}

/// Notices to hosts whose packets a node takes another way.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// How long after the change they leave; below 0: so long before it.
    pub delay_ns: i64,
    /// The share that is lost, 0 to 1.
    pub loss_ratio: f64,
    /// Run time in ns, the host that is told and the one to which its packets go, in order of time: of changes that
    /// there are not.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// Ordering between stations (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// What has numbers of its own.
    pub by: Numbering,
    /// Which packets wait for those before them.
    pub kind: Ordering,
    /// How long a packet waits for those before it.
    pub delay_ns: u64,
}

/// Which packets wait for those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// All.
    Basic,
    /// Those that came by the new way of a recent change.
    Advanced,
}

/// What has numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// Each flow, by protocol and ports.
    Flow,
    /// All packets from one host to another.
    Aggregate,
}

/// Whether what waits at a link that goes down can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveQueue {
    /// It is in the node's memory.
    Kept,
    /// It is lost with the link.
    Lost,
}

/// The buffer of what is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// For each direction of a link, frames with the link's overhead.
    pub buffer_bytes: u32,
    /// What happens when it is full.
    pub full: HoldFull,
}

/// What a full hold buffer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldFull {
    /// Refuses the packet that comes.
    Drop,
    /// Sends the oldest that it has.
    Send,
}

impl Cures {
    /// Whether nodes do anything when a route of theirs changes.
    pub fn at_switches(&self) -> bool {
        self.move_queue.is_some()
            || self.hold.is_some()
            || self.end_marker.is_some()
            || self.duplicate_ns.is_some()
            || self.notify.is_some()
            || self.advanced().is_some()
    }

    /// How long packets of a new way wait at stations, if only they do.
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Whether nodes do anything at all.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
