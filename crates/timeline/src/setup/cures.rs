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
    /// Whether nodes do anything at all.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}
