// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what the network does about route changes.

use serde::Deserialize;

/// What nodes do when a route of theirs changes, so that packets arrive in order; by default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cures {
    /// What waits at the link before goes over the new one; none = it stays where it is.
    pub move_queue: Option<MoveQueue>,
    /// New packets are held back; none = they are not.
    pub hold: Option<Hold>,
    /// Stations number what they send, and put what they get in order; none = they do not.
    pub resequence: Option<Resequence>,
}

/// Ordering between stations (RFC 9550).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resequence {
    /// What has numbers of its own.
    pub by: Numbering,
    /// How long a packet waits for those before it.
    pub delay_ns: u64,
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
        self.move_queue.is_some() || self.hold.is_some()
    }

    /// Whether nodes do anything at all.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}
