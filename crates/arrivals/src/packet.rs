// SPDX-License-Identifier: Apache-2.0
//! Parses a frame down to its innermost IP packet, and returns that packet's payload. The parser handles link layers,
//! VLAN tags, encapsulations, IPv4, and IPv6 with extension headers.
//!
//! References: RFC 791, RFC 8200, RFC 2675 (jumbograms). Encapsulations are in `tunnels.rs`, link layers in
//! `link.rs`.

use crate::frames::Frame;
use crate::layers::{word, Datagram, Found, Layer, Slice, Stop};
use crate::link;
use crate::skips::Reason;
use crate::tunnels;
use crate::via::Via;
use std::net::{Ipv4Addr, Ipv6Addr};

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const EXTENSIONS_MAX: usize = 8;
/// The maximum number of nested headers. Real networks use fewer.
const DEPTH_MAX: usize = 16;
const OPTION_PAD: u8 = 0;
const OPTION_JUMBO: u8 = 0xc2;

/// Returns the innermost IP packet of a frame, or the reason why there is none.
pub fn datagram<'a>(frame: &Frame<'a>) -> Result<Datagram<'a>, Reason> {
    innermost(frame).map_err(|stop| match stop {
        Stop::Ended => cut_or_short(frame),
        Stop::For(reason) => reason,
    })
}

/// Returns the reason why a packet ends inside a header. `Cut` means that the capture truncated the packet. `Short`
/// means that the packet is damaged.
pub fn cut_or_short(frame: &Frame) -> Reason {
    let captured = frame.data.len() as u32;
    if captured < frame.original_bytes {
        Reason::Cut(captured)
    } else {
        Reason::Short
    }
}

fn innermost<'a>(frame: &Frame<'a>) -> Found<Datagram<'a>> {
    let whole = Slice { bytes: frame.data, wire_bytes: frame.original_bytes };
    let (mut layer, mut here) = link::first(frame.link_type, whole)?;
    let mut via = Via::default();
    for _ in 0..DEPTH_MAX {
        if layer != Layer::Ip {
            (layer, here) = tunnels::next(layer, here, &mut via)?;
            continue;
        }
        let found = ip(here, via)?;
        match tunnels::inside(&found)? {
            Some((next, rest, around)) => {
                (layer, here) = (next, rest);
                via = around;
            }
            None => return Ok(found),
        }
    }
    Err(Stop::For(Reason::Deep))
}

fn ip(here: Slice, via: Via) -> Found<Datagram> {
    match here.byte(0)? >> 4 {
        4 => ipv4(here, via),
        6 => ipv6(here, via),
        _ => Err(Stop::For(Reason::Short)),
    }
}

fn ipv4(ip: Slice, via: Via) -> Found<Datagram> {
    let mut header = usize::from(ip.byte(0)? & 15) * 4;
    let (total, ip_id, fragment) = (ip.half(2)?, ip.half(4)?, ip.half(6)?);
    let (hops, mut protocol) = (ip.byte(8)?, ip.byte(9)?);
    let source = Ipv4Addr::from(array::<4>(ip.bytes, 12)?);
    let destination = Ipv4Addr::from(array::<4>(ip.bytes, 16)?);
    if header < 20 {
        return Err(Stop::For(Reason::Short));
    }
    if fragment & 0x1fff != 0 {
        return Err(Stop::For(Reason::Fragment));
    }
    // A length of 0 means that the length does not fit into the field: the capture saw a segment that the network card
    // split later.
    let total = if total == 0 { ip.wire_bytes } else { u32::from(total) };
    if protocol == AUTHENTICATION {
        protocol = ip.byte(header)?;
        header += (usize::from(ip.byte(header + 1)?) + 2) * 4;
    }
    let payload_bytes = total.checked_sub(header as u32).ok_or(Stop::For(Reason::Short))?;
    let payload = carried(ip, header, payload_bytes)?;
    let (source, destination) = (source.into(), destination.into());
    Ok(Datagram { protocol, source, destination, ip_id: Some(ip_id), hops, via, payload, payload_bytes })
}

fn ipv6(ip: Slice, via: Via) -> Found<Datagram> {
    let source = Ipv6Addr::from(array::<16>(ip.bytes, 8)?);
    let destination = Ipv6Addr::from(array::<16>(ip.bytes, 24)?);
    let (mut protocol, hops, mut at) = (ip.byte(6)?, ip.byte(7)?, 40);
    let said = u32::from(ip.half(4)?);
    // If the packet's length does not fit into IPv6's length field, the field is 0, and a jumbo option contains the
    // length. Since 6.18, Linux omits the jumbo option (BIG TCP).
    let mut total = if said == 0 { ip.wire_bytes } else { 40 + said };
    for _ in 0..EXTENSIONS_MAX {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => (usize::from(ip.byte(at + 1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(ip.byte(at + 1)?) + 2) * 4,
            FRAGMENT if ip.half(at + 2)? & !7 != 0 => return Err(Stop::For(Reason::Fragment)),
            FRAGMENT => 8,
            _ => break,
        };
        if protocol == HOP_BY_HOP && said == 0 {
            total = jumbo_bytes(ip.bytes.get(at + 2..at + length).ok_or(Stop::Ended)?).map_or(total, |long| 40 + long);
        }
        protocol = ip.byte(at)?;
        at += length;
    }
    let payload_bytes = total.checked_sub(at as u32).ok_or(Stop::For(Reason::Short))?;
    let payload = carried(ip, at, payload_bytes)?;
    let (source, destination) = (source.into(), destination.into());
    Ok(Datagram { protocol, source, destination, ip_id: None, hops, via, payload, payload_bytes })
}

/// Returns the length in the jumbo option of an IPv6 packet (RFC 2675, 2). This length includes everything after the 40
/// bytes of the IPv6 header.
fn jumbo_bytes(mut options: &[u8]) -> Option<u32> {
    loop {
        match options {
            [OPTION_JUMBO, 4, rest @ ..] => return word(rest, 0).filter(|&long| long < u32::MAX - 40),
            [OPTION_PAD, rest @ ..] => options = rest,
            [_, length, rest @ ..] => options = rest.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}

fn carried<'a>(ip: Slice<'a>, header: usize, payload_bytes: u32) -> Found<&'a [u8]> {
    let payload = ip.bytes.get(header..).ok_or(Stop::Ended)?;
    Ok(&payload[..payload.len().min(payload_bytes as usize)])
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Found<[u8; N]> {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).ok_or(Stop::Ended)
}
