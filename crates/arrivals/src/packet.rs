// SPDX-License-Identifier: Apache-2.0
//! From a frame to what IP carries: link layers, VLAN tags, IPv4 and IPv6 with its extension headers.
//!
//! References: tcpdump.org/linktypes.html, RFC 791, RFC 8200, IEEE 802.1Q.

use crate::error::{Error, Result};
use crate::frames::Frame;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol numbers of IP (IANA, "Protocol Numbers").
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const EXTENSIONS_MAX: usize = 8;
const TAGS_MAX: usize = 4;

/// What an IP packet carries: the whole of it, or its first fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub protocol: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// IPv4's identification.
    pub ip_id: Option<u16>,
    /// As much as was captured, without the link layer's padding.
    pub payload: &'a [u8],
    /// As long as IP says.
    pub payload_bytes: u32,
}

/// The datagram in a frame; None: it holds another protocol, a later fragment, or is no IP packet inside.
///
/// # Errors
///
/// [`Error::LinkType`], and [`Error::SnapLength`] if the capture leaves out a part of the headers.
pub fn datagram<'a>(frame: &Frame<'a>) -> Result<Option<Datagram<'a>>> {
    let Some(begin) = ip_begins(frame)? else { return Ok(None) };
    let Some(ip) = frame.data.get(begin..) else { return cut_or_none(frame) };
    // What the frame carried on the wire from here on, padding included.
    let wire_bytes = frame.original_bytes.saturating_sub(begin as u32);
    match ip.first().map(|first| first >> 4) {
        Some(4) => ipv4(ip, wire_bytes).map_or_else(|| cut_or_none(frame), Ok),
        Some(6) => ipv6(ip).map_or_else(|| cut_or_none(frame), Ok),
        Some(_) => Ok(None),
        None => cut_or_none(frame),
    }
}

/// What a packet is that ends inside a header: cut by the capture, or damaged on the wire and so of no flow.
pub fn cut_or_none<T>(frame: &Frame) -> Result<Option<T>> {
    let captured = frame.data.len() as u32;
    if captured < frame.original_bytes {
        let (packet, at, original) = (frame.number, frame.at, frame.original_bytes);
        return Err(Error::SnapLength { packet, at, captured, original, needed: "a header or its sequence number" });
    }
    Ok(None)
}

/// Where the IP packet begins in the frame.
fn ip_begins(frame: &Frame) -> Result<Option<usize>> {
    let (mut type_at, mut begin) = match frame.link_type {
        1 => (12, 14),
        113 => (14, 16),
        276 => (0, 20),
        12 | 14 | 101 | 228 | 229 => return Ok(Some(0)),
        // The protocol family in 4 bytes, which differs between systems; IP's version tells enough.
        0 | 108 => return Ok(Some(4)),
        link_type => return Err(Error::LinkType { packet: frame.number, at: frame.at, link_type }),
    };
    for _ in 0..=TAGS_MAX {
        let Some(kind) = half(frame.data, type_at) else { return cut_or_none(frame) };
        match kind {
            0x0800 | 0x86dd => return Ok(Some(begin)),
            // VLAN tags
            0x8100 | 0x88a8 | 0x9100 => {
                type_at = begin + 2;
                begin += 4;
            }
            _ => break,
        }
    }
    Ok(None)
}

/// None: it is shorter than its headers. Some(None): nothing that is looked at.
fn ipv4(ip: &[u8], wire_bytes: u32) -> Option<Option<Datagram<'_>>> {
    let header = usize::from(ip.first()? & 15) * 4;
    let (total, ip_id, fragment, &protocol) = (half(ip, 2)?, half(ip, 4)?, half(ip, 6)?, ip.get(9)?);
    let source = Ipv4Addr::from(<[u8; 4]>::try_from(ip.get(12..16)?).ok()?);
    let destination = Ipv4Addr::from(<[u8; 4]>::try_from(ip.get(16..20)?).ok()?);
    if header < 20 || fragment & 0x1fff != 0 {
        return Some(None);
    }
    // 0: a segment that the network card was still to cut up, longer than the field can say.
    let total = if total == 0 { wire_bytes } else { u32::from(total) };
    let Some(payload_bytes) = total.checked_sub(header as u32) else { return Some(None) };
    let payload = ip.get(header..)?;
    let payload = &payload[..payload.len().min(payload_bytes as usize)];
    let (source, destination) = (source.into(), destination.into());
    Some(Some(Datagram { protocol, source, destination, ip_id: Some(ip_id), payload, payload_bytes }))
}

fn ipv6(ip: &[u8]) -> Option<Option<Datagram<'_>>> {
    let source = Ipv6Addr::from(<[u8; 16]>::try_from(ip.get(8..24)?).ok()?);
    let destination = Ipv6Addr::from(<[u8; 16]>::try_from(ip.get(24..40)?).ok()?);
    let (mut protocol, mut left, mut at) = (ip[6], u32::from(half(ip, 4)?), 40);
    for _ in 0..EXTENSIONS_MAX {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION => (usize::from(*ip.get(at + 1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(*ip.get(at + 1)?) + 2) * 4,
            FRAGMENT if half(ip, at + 2)? & !7 != 0 => return Some(None),
            FRAGMENT => 8,
            _ => break,
        };
        protocol = *ip.get(at)?;
        at += length;
        left = match left.checked_sub(length as u32) {
            Some(left) => left,
            None => return Some(None),
        };
    }
    let payload = ip.get(at..)?;
    let payload = &payload[..payload.len().min(left as usize)];
    let (source, destination) = (source.into(), destination.into());
    Some(Some(Datagram { protocol, source, destination, ip_id: None, payload, payload_bytes: left }))
}

/// The 16 bits at a place, in the order of the network; none = the bytes end before.
pub fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The 32 bits at a place, likewise.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
