// SPDX-License-Identifier: Apache-2.0
//! The supported encapsulations: VLAN, PPPoE, PPP, MPLS, GRE, ERSPAN, EtherIP, IP in IP, 6in4, VXLAN, Geneve and GTP-U.
//!
//! References: IEEE 802.1Q, 802.1ah; RFC 2516 (PPPoE), RFC 1661 (PPP), RFC 3032 and RFC 4385 (MPLS), RFC 2784, RFC 2890
//! and RFC 2637 (GRE), RFC 3378 (EtherIP), RFC 2003 (IP in IP), RFC 4213 (6in4), RFC 7348 (VXLAN), RFC 8926 (Geneve),
//! 3GPP TS 29.281 (GTP-U). A UDP datagram to a tunnel's port is decapsulated only if its header is valid for this
//! tunnel. A datagram with an invalid header counts as ordinary UDP.

use crate::layers::{Datagram, Found, Layer, Slice, Stop, UDP};
use crate::skips::Reason;
use crate::via::{Via, ERSPAN, ETHER_IP, GENEVE, GRE, GTP_U, IPV6_IN_IPV4, IP_IN_IP, MPLS, PPPOE, VXLAN};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const PPPOE_SESSION: u16 = 0x8864;
const ETHERNET_IN_GRE: u16 = 0x6558;
const PPP_IN_GRE: u16 = 0x880b;
const BACKBONE: u16 = 0x88e7;
const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
/// The smallest ethertype. In an IEEE 802.3 frame, the field contains the frame's length, which is a smaller value
/// (3.2.6).
const ETHERTYPE_LEAST: u16 = 0x0600;
const LABELS_MAX: usize = 16;

/// Parses the header of a layer below IP, and returns the next layer.
pub fn next<'a>(layer: Layer, here: Slice<'a>, via: &mut Via) -> Found<(Layer, Slice<'a>)> {
    match layer {
        Layer::Ethernet => ethernet(here),
        Layer::Type(kind) => of_type(kind, here, via),
        Layer::Ppp => ppp(here),
        Layer::Mpls => {
            *via = via.and(MPLS);
            mpls(here)
        }
        Layer::Ip => Ok((layer, here)),
    }
}

fn ethernet(here: Slice) -> Found<(Layer, Slice)> {
    let kind = here.half(12)?;
    if kind >= ETHERTYPE_LEAST {
        return Ok((Layer::Type(kind), here.from(14)?));
    }
    // If LLC contains SNAP with the organisation 0, an ethertype follows (RFC 1042).
    match here.bytes.get(14..20) {
        Some([0xaa, 0xaa, 3, 0, 0, 0]) => Ok((Layer::Type(here.half(20)?), here.from(22)?)),
        _ => Err(Stop::For(Reason::Llc)),
    }
}

fn of_type<'a>(kind: u16, here: Slice<'a>, via: &mut Via) -> Found<(Layer, Slice<'a>)> {
    match kind {
        IPV4 | IPV6 => Ok((Layer::Ip, here)),
        // VLAN tags. Older switches use the ethertypes 0x9100 and 0x9200.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => Ok((Layer::Type(here.half(2)?), here.from(4)?)),
        PPPOE_SESSION => {
            *via = via.and(PPPOE);
            // PPPoE has version 1, type 1 and code 0. The length does not include the padding.
            if here.half(0)? != 0x1100 {
                return Err(Stop::For(Reason::Ethertype(kind)));
            }
            Ok((Layer::Ppp, here.from(6)?.to(here.half(4)?.into())))
        }
        0x8847 | 0x8848 => Ok((Layer::Mpls, here)),
        BACKBONE => Ok((Layer::Ethernet, here.from(4)?)),
        ETHERNET_IN_GRE => Ok((Layer::Ethernet, here)),
        PPP_IN_GRE => Ok((Layer::Ppp, here)),
        // In Cisco's HDLC and in Linux's cooked captures, the value 1 or 4 in place of an ethertype means LLC.
        1 | 4 => Err(Stop::For(Reason::Llc)),
        _ => Err(Stop::For(Reason::Ethertype(kind))),
    }
}

fn ppp(here: Slice) -> Found<(Layer, Slice)> {
    // The sender may omit HDLC's address and control, and the first byte of the protocol (RFC 1661, 6.5 and 6.6).
    let here = if here.half(0)? == 0xff03 { here.from(2)? } else { here };
    let first = here.byte(0)?;
    let (kind, rest) = if first & 1 == 1 { (first.into(), here.from(1)?) } else { (here.half(0)?, here.from(2)?) };
    match kind {
        0x0021 | 0x0057 => Ok((Layer::Ip, rest)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, rest)),
        _ => Err(Stop::For(Reason::Ppp(kind))),
    }
}

fn mpls(mut here: Slice) -> Found<(Layer, Slice)> {
    for _ in 0..LABELS_MAX {
        let is_last = here.byte(2)? & 1 == 1;
        here = here.from(4)?;
        if !is_last {
            continue;
        }
        // MPLS does not record the type of its payload. The payload counts as Ethernet if its bytes look like an
        // Ethernet header before an IP header. The ethertype must agree with the IP version. Below MPLS, the Ethernet
        // header follows either directly, or after a control word whose first four bits are 0.
        for at in [4, 0] {
            if at == 0 || here.byte(0)? >> 4 == 0 {
                let inside = here.from(at)?;
                if is_ethernet_with_ip(&inside) {
                    return Ok((Layer::Ethernet, inside));
                }
            }
        }
        return match here.byte(0)? >> 4 {
            4 | 6 => Ok((Layer::Ip, here)),
            _ => Err(Stop::For(Reason::Mpls)),
        };
    }
    Err(Stop::For(Reason::Deep))
}

fn is_ethernet_with_ip(here: &Slice) -> bool {
    let mut at = 12;
    while matches!(here.half(at), Ok(0x8100 | 0x88a8)) {
        at += 4;
    }
    match (here.half(at), here.byte(at + 2)) {
        (Ok(IPV4), Ok(first)) => first >> 4 == 4 && first & 15 >= 5,
        (Ok(IPV6), Ok(first)) => first >> 4 == 6,
        _ => false,
    }
}

/// Returns the payload of an encapsulation, and all encapsulations so far. None means that the datagram is the
/// innermost packet.
pub fn inside<'a>(datagram: &Datagram<'a>) -> Found<Option<(Layer, Slice<'a>, Via)>> {
    let here = Slice { bytes: datagram.payload, wire_bytes: datagram.payload_bytes };
    let via = datagram.via;
    let found = match datagram.protocol {
        4 | 94 => Some((Layer::Ip, here, IP_IN_IP)),
        41 if datagram.ip_id.is_some() => Some((Layer::Ip, here, IPV6_IN_IPV4)),
        41 => Some((Layer::Ip, here, IP_IN_IP)),
        47 => Some(gre(here)?),
        97 => Some((Layer::Ethernet, here.from(2)?, ETHER_IP)),
        137 => Some((Layer::Mpls, here, MPLS)),
        UDP => of_udp(here),
        _ => None,
    };
    Ok(found.map(|(layer, rest, around)| (layer, rest, via.and(around))))
}

fn gre(here: Slice) -> Found<(Layer, Slice, Via)> {
    let (flags, kind) = (here.half(0)?, here.half(2)?);
    let has = |bit: u16| usize::from(flags & bit != 0) * 4;
    let (checksum, routing, key, sequence, acknowledgement) =
        (has(0x8000), has(0x4000), has(0x2000), has(0x1000), has(0x0080));
    let unknown = Err(Stop::For(Reason::Gre(kind)));
    match flags & 7 {
        0 if routing == 0 => {
            let rest = here.from(4 + checksum + key + sequence)?;
            match kind {
                IPV4 | IPV6 => Ok((Layer::Ip, rest, GRE)),
                ETHERNET_IN_GRE => Ok((Layer::Ethernet, rest, GRE)),
                PPP_IN_GRE => Ok((Layer::Ppp, rest, GRE)),
                0x8847 | 0x8848 => Ok((Layer::Mpls, rest, GRE)),
                // ERSPAN type II has a header and a sequence number in the GRE header. ERSPAN type I has neither a
                // header nor a sequence number.
                ERSPAN_2 => Ok((Layer::Ethernet, rest.from(sequence * 2)?, ERSPAN)),
                // The last bit of the header shows whether 8 platform-specific bytes follow.
                ERSPAN_3 => Ok((Layer::Ethernet, rest.from(12 + 8 * usize::from(rest.byte(11)? & 1))?, ERSPAN)),
                _ => unknown,
            }
        }
        // Version 1 of GRE is PPTP. A PPTP packet without a sequence number has no payload.
        1 if kind == PPP_IN_GRE && sequence != 0 => Ok((Layer::Ppp, here.from(8 + sequence + acknowledgement)?, GRE)),
        _ => unknown,
    }
}

fn of_udp(here: Slice) -> Option<(Layer, Slice, Via)> {
    let (from, to) = (here.half(0).ok()?, here.half(2).ok()?);
    let rest = here.from(8).ok()?;
    match to {
        // Linux used port 8472 before 4789 was assigned.
        4789 | 8472 => vxlan(rest),
        6081 => geneve(rest),
        2152 => gtp(rest),
        _ if from == 2152 => gtp(rest),
        _ => None,
    }
}

fn vxlan(here: Slice) -> Option<(Layer, Slice, Via)> {
    // VXLAN's flag 0x08 in the first byte means that the header contains a network identifier. The header's last byte
    // is reserved, and is 0.
    let is_one = here.byte(0).ok()? & 8 != 0 && here.byte(7).ok()? == 0;
    is_one.then_some((Layer::Ethernet, here.from(8).ok()?, VXLAN)).filter(|(_, rest, _)| is_plausible(rest))
}

fn geneve(here: Slice) -> Option<(Layer, Slice, Via)> {
    let first = here.byte(0).ok()?;
    let kind = here.half(2).ok()?;
    if first >> 6 != 0 || here.byte(7).ok()? != 0 {
        return None;
    }
    let rest = here.from(8 + usize::from(first & 63) * 4).ok()?;
    match kind {
        ETHERNET_IN_GRE => Some((Layer::Ethernet, rest, GENEVE)).filter(|(_, rest, _)| is_plausible(rest)),
        IPV4 | IPV6 => Some((Layer::Ip, rest, GENEVE)).filter(|(_, rest, _)| is_ip(rest)),
        _ => None,
    }
}

fn gtp(here: Slice) -> Option<(Layer, Slice, Via)> {
    let (flags, kind) = (here.byte(0).ok()?, here.byte(1).ok()?);
    // The flags stand for version 1, and not for GTP'. The message type 255 is a user's packet.
    if flags >> 4 != 3 || kind != 255 {
        return None;
    }
    let mut at = 8;
    if flags & 7 != 0 {
        at = 12;
        let mut extension = here.byte(11).ok()?;
        while flags & 4 != 0 && extension != 0 {
            let length = usize::from(here.byte(at).ok()?) * 4;
            if length == 0 {
                return None;
            }
            at += length;
            extension = here.byte(at - 1).ok()?;
        }
    }
    Some((Layer::Ip, here.from(at).ok()?, GTP_U)).filter(|(_, rest, _)| is_ip(rest))
}

fn is_ip(here: &Slice) -> bool {
    matches!(here.byte(0), Ok(first) if first >> 4 == 6 || (first >> 4 == 4 && first & 15 >= 5))
}

/// Returns whether the bytes look like an Ethernet header. The header's type must be a type that is parsed, or a type
/// that has a name in `names.rs`.
fn is_plausible(here: &Slice) -> bool {
    is_ethernet_with_ip(here)
        || matches!(here.half(12), Ok(kind) if kind == PPPOE_SESSION || crate::names::of_ethertype(kind).is_some())
        || matches!(here.half(12), Ok(0x8100 | 0x88a8 | 0x8847 | 0x8848))
}
