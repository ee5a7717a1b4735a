// SPDX-License-Identifier: Apache-2.0
//! The cures in the setup: the network's actions at route changes.

use serde::Deserialize;

/// The actions by which nodes keep packets in order when one of their routes changes. By default, nodes do nothing.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// Determines whether packets in the old link's queue move to the new link. None means that they are not moved.
    pub move_queue: Option<MoveQueue>,
    /// The buffer that holds packets of the new path. None means that packets are not held.
    pub hold: Option<Hold>,
    /// A marker that is sent after the last packet on the old path. Packets on the new path wait for this marker. None
    /// means no marker.
    pub end_marker: Option<EndMarker>,
    /// The time after a route change for which packets are sent on the old link and on the new link. None means that
    /// packets are sent only on the new link.
    pub duplicate_ns: Option<u64>,
    /// How stations number the packets that they send, and restore the order of received packets. None means that they
    /// do neither.
    pub resequence: Option<Resequence>,
    /// How nodes notify hosts of route changes. None means that nodes send no notices.
    pub notify: Option<Notify>,
}

/// A marker, which is the last packet on the old path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMarker {
    /// The longest time for which a packet waits for the marker.
    pub wait_ns: u64,
    /// The buffer for waiting packets.
    pub buffer: Hold,
}

/// The notices of nodes to hosts whose packets will take another path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The time from the route change to the notice. A negative value means that the notice is sent before the change.
    pub delay_ns: i64,
    /// The share of lost notices, 0 to 1.
    pub loss_ratio: f64,
    /// The false notices in order of time. Each entry has the run time in ns, the host that gets the notice, and the
    /// destination whose route seems to change.
    pub r#false: Vec<(i64, usize, usize)>,
}

/// How stations restore the order of packets (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// The packets that share one sequence of numbers.
    pub by: Numbering,
    /// The selection of the packets that wait for missing earlier packets.
    pub kind: Ordering,
    /// The longest time for which a packet waits for missing earlier packets.
    pub delay_ns: u64,
}

/// The selection of the packets that wait for missing earlier packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// All packets wait.
    Basic,
    /// A packet waits only if it took the new path shortly after a route change.
    Advanced,
}

/// The packets that share one sequence of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// The packets of one flow. Protocol and ports identify the flow.
    Flow,
    /// All packets from one host to another.
    Aggregate,
}

/// Whether packets in a link's queue can be moved after the link has gone down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveQueue {
    /// Packets can be moved, because the queue is in the node's memory.
    Kept,
    /// When the link goes down, its queue is lost, so packets cannot be moved.
    Lost,
}

/// A buffer for held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The number of bytes that the buffer can hold, for each direction of a link. A frame takes its own length plus
    /// the link's overhead.
    pub buffer_bytes: u32,
    /// The fate of packets when the buffer is full.
    pub full: HoldFull,
}

/// The fate of packets when a buffer for held packets is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldFull {
    /// The arriving packet is refused.
    Drop,
    /// The oldest packet in the buffer is sent early.
    Send,
}

impl Cures {
    /// Returns whether nodes apply at least one cure at route changes.
    pub fn at_switches(&self) -> bool {
        self.move_queue.is_some()
            || self.hold.is_some()
            || self.end_marker.is_some()
            || self.duplicate_ns.is_some()
            || self.notify.is_some()
            || self.advanced().is_some()
    }

    /// With [`Ordering::Advanced`], returns the maximum time for which a packet of a new path waits at the station.
    /// None means that packets never wait, or that all packets wait (`Basic`).
    pub fn advanced(&self) -> Option<u64> {
        self.resequence.filter(|r| r.kind == Ordering::Advanced).map(|r| r.delay_ns)
    }

    /// Returns whether any cure is set.
    pub fn any(&self) -> bool {
        self.at_switches() || self.resequence.is_some()
    }
}
