// SPDX-License-Identifier: Apache-2.0
//! The values that header parsers pass to each other.

use crate::skips::Reason;
use crate::via::Via;
use std::net::IpAddr;

/// The protocol numbers of IP (IANA, "Protocol Numbers").
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

/// A complete IP packet, or the first fragment of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub protocol: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The identification of IPv4.
    pub ip_id: Option<u16>,
    /// The time to live (IPv4), or hop limit (IPv6).
    pub hops: u8,
    /// The encapsulations around the packet.
    pub via: Via,
    /// The captured bytes of the payload, without the padding of the link layer.
    pub payload: &'a [u8],
    /// The length of the payload according to IP.
    pub payload_bytes: u32,
}

/// A part of a frame.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// The length on the wire, including padding.
    pub wire_bytes: u32,
}

impl<'a> Slice<'a> {
    /// Returns the part that begins after `at` bytes.
    pub fn from(&self, at: usize) -> Found<Slice<'a>> {
        let bytes = self.bytes.get(at..).ok_or(Stop::Ended)?;
        Ok(Slice { bytes, wire_bytes: self.wire_bytes.saturating_sub(at as u32) })
    }

    /// Returns the part that consists of the first `length` bytes on the wire.
    pub fn to(&self, length: u32) -> Slice<'a> {
        let wire_bytes = self.wire_bytes.min(length);
        Slice { bytes: &self.bytes[..self.bytes.len().min(wire_bytes as usize)], wire_bytes }
    }

    pub fn byte(&self, at: usize) -> Found<u8> {
        self.bytes.get(at).copied().ok_or(Stop::Ended)
    }

    pub fn half(&self, at: usize) -> Found<u16> {
        half(self.bytes, at).ok_or(Stop::Ended)
    }
}

/// The type of the next layer, according to the header before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Ethernet,
    /// The layer with this ethertype.
    Type(u16),
    Ppp,
    Mpls,
    /// IP of either version.
    Ip,
}

/// The reason why the search for further layers ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The captured bytes end inside a header.
    Ended,
    For(Reason),
}

/// The result type of all header parsers.
pub type Found<T> = Result<T, Stop>;

/// Reads 16 bits at an offset, in network byte order. None means that there are not enough bytes.
pub fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads 32 bits at an offset, in network byte order. None means that there are not enough bytes.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
