// SPDX-License-Identifier: Apache-2.0
//! The link layers: where the next header begins, and whether a frame was sent or received.
//!
//! References: tcpdump.org/linktypes.html and its pages on the link types, RFC 1662 (PPP), RFC 2516 (PPPoE).

use crate::layers::{Found, Layer, Slice, Stop};
use crate::skips::Reason;

/// The names of the supported link types, for messages.
pub const KNOWN: &str = "Ethernet (1), PPP (9, 50), PPPoE (51), Cisco HDLC (104), raw IP (12, 14, 101, 228, 229), \
                         Linux cooked (113, 276), loopback (0, 108)";

const ETHERNET: u16 = 1;
const COOKED: u16 = 113;
const COOKED_2: u16 = 276;
const PPPOE_SESSION: u16 = 0x8864;

/// The direction in which a packet passed the interface, if the link layer records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// This machine received the packet. The packet was sent to this machine, or to all machines.
    In,
    /// This machine saw a packet between two other machines.
    Past,
    /// This machine sent the packet.
    Out,
}

/// Finds the first layer above the link's header.
pub fn first(link_type: u16, frame: Slice) -> Found<(Layer, Slice)> {
    match link_type {
        ETHERNET => Ok((Layer::Ethernet, frame)),
        COOKED => Ok((Layer::Type(frame.half(14)?), frame.from(16)?)),
        COOKED_2 => Ok((Layer::Type(frame.half(0)?), frame.from(20)?)),
        12 | 14 | 101 | 228 | 229 => Ok((Layer::Ip, frame)),
        // The first 4 bytes contain the protocol family, whose numbers differ between systems. The protocol family is
        // skipped, because the version in the IP header is enough to identify IPv4 and IPv6.
        0 | 108 => Ok((Layer::Ip, frame.from(4)?)),
        9 | 50 => Ok((Layer::Ppp, frame)),
        51 => Ok((Layer::Type(PPPOE_SESSION), frame)),
        // The header consists of address, control and an ethertype.
        104 => Ok((Layer::Type(frame.half(2)?), frame.from(4)?)),
        other => Err(Stop::For(Reason::LinkType(other))),
    }
}

/// Returns the direction in which the packet passed the interface, according to the link layer's header. None means
/// that the link type records no direction.
pub fn direction(link_type: u16, frame: &[u8]) -> Option<Direction> {
    let kind = match link_type {
        COOKED => *frame.get(1)?,
        COOKED_2 => *frame.get(10)?,
        _ => return None,
    };
    match kind {
        0..=2 => Some(Direction::In),
        3 => Some(Direction::Past),
        4 => Some(Direction::Out),
        _ => None,
    }
}
