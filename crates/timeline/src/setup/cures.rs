// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what the network does about route changes.

use serde::Deserialize;

/// Actions of nodes when a route of theirs changes, so that packets arrive in order; by default none.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// Packets that wait at the link before go over the new one; none = they stay.
    pub move_queue: Option<MoveQueue>,
    /// New packets are held; none = they are not.
    pub hold: Option<Hold>,
    /// A marker ends the old way, and what comes by the new one waits for it; none = there is none.
    pub end_marker: Option<EndMarker>,
    /// Time after a change in which packets go over both links; none = over the new one alone.
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
    /// The longest wait of a packet for it.
    pub wait_ns: u64,
    /// Where packets wait.
    pub buffer: Hold,
}

/// Notices to hosts whose packets a node takes another way.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Delay after the change at which they leave; below 0: this long before it.
    pub delay_ns: i64,
    /// The share that is lost, 0 to 1.
    pub loss_ratio: f64,
    /// False notices, in order of time: run time in ns, the host that gets it and the one to which its packets go.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// Ordering between stations (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// The scope of numbering.
    pub by: Numbering,
    /// Packets that wait for those before them.
    pub kind: Ordering,
    /// The longest wait of a packet for those before it.
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

/// The buffer of held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// For each direction of a link, frames with the link's overhead.
    pub buffer_bytes: u32,
    /// The rule for a full one.
    pub full: HoldFull,
}

/// Rules for a full hold buffer.
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

    /// Time for which packets of a new path wait at stations, if only they do.
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Whether nodes do anything at all.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
