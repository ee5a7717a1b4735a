// SPDX-License-Identifier: Apache-2.0
//! Which field of a packet numbers it: ICMP echo, RTP, TCP, or any field of a UDP payload.

use crate::packet::{half, word, Datagram, ICMP, ICMPV6, TCP, UDP};
use crate::tcp::Segment;
use std::net::IpAddr;

/// What is looked for in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// Echo requests, by identifier; their 16-bit numbers (RFC 792, RFC 4443).
    Icmp,
    /// UDP whose payload is RTP, by synchronization source; its 16-bit numbers (RFC 3550).
    Rtp,
    /// Data segments, by byte (RFC 9293).
    Tcp,
    /// UDP with a number at a known place.
    Udp(Field),
}

/// A number in a UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// Bytes before it.
    pub offset: usize,
    /// 2, 4 or 8 bytes.
    pub size: usize,
    /// Which byte comes first.
    pub order: Order,
}

/// The order of a number's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Most significant first, as in the Internet's own protocols.
    Big,
    /// Least significant first.
    Little,
}

/// Whose packet it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub protocol: Protocol,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ports: Option<(u16, u16)>,
    /// Identifier of ICMP, synchronization source of RTP.
    pub id: u32,
}

/// A packet's own number.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// In a field of so many bits.
    Field {
        value: u64,
        bits: u32,
    },
    Segment(Segment),
    /// The number of a connection's first byte: no packet of the sequence.
    Begin(u32),
}

/// A packet that may belong to a sequence.
#[derive(Debug, Clone, Copy)]
pub struct Numbered {
    pub key: Key,
    pub number: Number,
    /// Payload above ICMP, UDP or TCP.
    pub len_bytes: u32,
}

/// Why a datagram has no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// It is of another protocol, or carries no data.
    Foreign,
    /// It is UDP, in a capture in which nobody said where UDP has its number.
    Udp,
    /// It is UDP, too short for the field, or no RTP.
    Field,
    /// It ends inside its header.
    Cut,
}

/// The number of a datagram. `wanted`: None looks for ICMP and TCP.
pub fn number(datagram: &Datagram, t_ns: Option<i64>, wanted: Option<Protocol>) -> Result<Numbered, Without> {
    let takes = |protocol| wanted.is_none_or(|wanted| wanted == protocol);
    match datagram.protocol {
        ICMP | ICMPV6 if takes(Protocol::Icmp) => icmp(datagram),
        TCP if takes(Protocol::Tcp) => tcp(datagram, t_ns),
        UDP => match wanted {
            Some(Protocol::Udp(field)) => udp(datagram, field),
            Some(Protocol::Rtp) => rtp(datagram),
            None => Err(Without::Udp),
            _ => Err(Without::Foreign),
        },
        _ => Err(Without::Foreign),
    }
}

fn key(datagram: &Datagram, protocol: Protocol, ports: Option<(u16, u16)>, id: u32) -> Key {
    Key { protocol, source: datagram.source, destination: datagram.destination, ports, id }
}

fn icmp(datagram: &Datagram) -> Result<Numbered, Without> {
    let bytes = datagram.payload;
    let request = if datagram.protocol == ICMP { 8 } else { 128 };
    if *bytes.first().ok_or(Without::Cut)? != request {
        return Err(Without::Foreign);
    }
    let id = half(bytes, 4).ok_or(Without::Cut)?;
    let value = half(bytes, 6).ok_or(Without::Cut)?.into();
    let len_bytes = datagram.payload_bytes.saturating_sub(8);
    let key = key(datagram, Protocol::Icmp, None, id.into());
    Ok(Numbered { key, number: Number::Field { value, bits: 16 }, len_bytes })
}

fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    Some((half(bytes, 0)?, half(bytes, 2)?))
}

/// The payload of a UDP datagram, as far as captured, and its whole length.
fn udp_payload<'a>(datagram: &Datagram<'a>) -> Result<(&'a [u8], u32), Without> {
    let said = u32::from(half(datagram.payload, 4).ok_or(Without::Cut)?);
    // 0: longer than the field can say (RFC 2675), or left to the network card.
    let said = if said == 0 { datagram.payload_bytes } else { said.min(datagram.payload_bytes) };
    let payload = datagram.payload.get(8..).ok_or(Without::Cut)?;
    let len_bytes = said.saturating_sub(8);
    Ok((&payload[..payload.len().min(len_bytes as usize)], len_bytes))
}

fn udp(datagram: &Datagram, field: Field) -> Result<Numbered, Without> {
    let (payload, len_bytes) = udp_payload(datagram)?;
    let end = field.offset.saturating_add(field.size);
    if end > len_bytes as usize {
        return Err(Without::Field);
    }
    let bytes = payload.get(field.offset..end).ok_or(Without::Cut)?;
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = match field.order {
        Order::Big => bytes.iter().fold(0, join),
        Order::Little => bytes.iter().rev().fold(0, join),
    };
    let key = key(datagram, Protocol::Udp(field), ports(datagram.payload), 0);
    Ok(Numbered { key, number: Number::Field { value, bits: field.size as u32 * 8 }, len_bytes })
}

// Implements RFC 4737, 6.1 (passive measurement).
fn rtp(datagram: &Datagram) -> Result<Numbered, Without> {
    let (payload, len_bytes) = udp_payload(datagram)?;
    if len_bytes < 12 {
        return Err(Without::Field);
    }
    let (&[first, second], Some(value), Some(source)) =
        (payload.get(..2).ok_or(Without::Cut)?, half(payload, 2), word(payload, 8))
    else {
        return Err(Without::Cut);
    };
    // Version 2; 192 to 223 are RTCP's packet types (RFC 5761, 4).
    if first >> 6 != 2 || (192..=223).contains(&second) {
        return Err(Without::Field);
    }
    let key = key(datagram, Protocol::Rtp, ports(datagram.payload), source);
    Ok(Numbered { key, number: Number::Field { value: value.into(), bits: 16 }, len_bytes })
}

fn tcp(datagram: &Datagram, t_ns: Option<i64>) -> Result<Numbered, Without> {
    const SYN: u8 = 2;
    let bytes = datagram.payload;
    let (Some(ports), Some(seq), Some(&offset), Some(&flags)) =
        (ports(bytes), word(bytes, 4), bytes.get(12), bytes.get(13))
    else {
        return Err(Without::Cut);
    };
    let header = usize::from(offset >> 4) * 4;
    let key = key(datagram, Protocol::Tcp, Some(ports), 0);
    if flags & SYN != 0 {
        // It has a number of its own; data beside it (RFC 7413) would be sent again if they were lost.
        return Ok(Numbered { key, number: Number::Begin(seq.wrapping_add(1)), len_bytes: 0 });
    }
    let Some(len_bytes) = datagram.payload_bytes.checked_sub(header as u32) else { return Err(Without::Foreign) };
    if header < 20 || len_bytes == 0 {
        return Err(Without::Foreign);
    }
    let stamp = bytes.get(20..header).and_then(timestamp);
    let number = Number::Segment(Segment { seq, len_bytes, t_ns, stamp, ip_id: datagram.ip_id });
    Ok(Numbered { key, number, len_bytes })
}

/// TSval among the options (RFC 7323).
fn timestamp(mut options: &[u8]) -> Option<u32> {
    loop {
        match options {
            [8, 10, rest @ ..] => return word(rest, 0),
            [0, ..] | [] => return None,
            [1, rest @ ..] => options = rest,
            [_, length, ..] => options = options.get(usize::from(*length).max(2)..)?,
            [_] => return None,
        }
    }
}
