// SPDX-License-Identifier: Apache-2.0
//! Finds a packet's sequence number in ICMP echo, RTP or TCP, or in a selected field of a UDP payload.

use crate::layers::{half, word, Datagram, ICMP, ICMPV6, TCP, UDP};
use crate::tcp::Segment;
use crate::via::Via;
use std::net::IpAddr;

/// A protocol whose packets are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// Echo requests. Flows are distinguished by identifier, and numbers have 16 bits (RFC 792, RFC 4443).
    Icmp,
    /// Replies to echo requests, with the same fields. Replies are read only if `IcmpReply` is selected.
    IcmpReply,
    /// UDP whose payload is RTP. Flows are distinguished by synchronization source, and numbers have 16 bits (RFC
    /// 3550).
    Rtp,
    /// TCP segments with data. The sequence numbers of the segments count bytes (RFC 9293).
    Tcp,
    /// UDP with a number in a field that the user selects.
    Udp(Field),
}

/// The position and format of a sequence number in a UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// The number of bytes before the number.
    pub offset: usize,
    /// The length of the number: 2, 4 or 8 bytes.
    pub size: usize,
    /// The byte order of the number.
    pub order: Order,
}

/// The byte order of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Most significant byte first, as in Internet protocols.
    Big,
    /// Least significant byte first.
    Little,
}

/// The key that identifies the flow of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub protocol: Protocol,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ports: Option<(u16, u16)>,
    /// The identifier of ICMP, or the synchronization source of RTP.
    pub id: u32,
    pub via: Via,
}

impl Key {
    /// Returns the key of the packets that answer the flow, whatever their encapsulation.
    pub fn reversed(&self) -> Key {
        let protocol = match self.protocol {
            Protocol::Icmp => Protocol::IcmpReply,
            Protocol::IcmpReply => Protocol::Icmp,
            other => other,
        };
        let ports = self.ports.map(|(source, destination)| (destination, source));
        Key { protocol, source: self.destination, destination: self.source, ports, id: self.id, via: Via::default() }
    }

    /// Returns a copy of this key without encapsulations.
    pub fn bare(&self) -> Key {
        Key { via: Via::default(), ..*self }
    }
}

/// The sequence number of a packet. Its form depends on the protocol.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// The sequence number, and the number of bits of its field.
    Field {
        value: u64,
        bits: u32,
    },
    Segment(Segment),
    /// A SYN, which states the initial sequence number of a connection. The SYN is not an element of the measured
    /// sequence.
    Begin(Begin),
    /// A TCP segment without data.
    Bare,
    /// The sequence number of an echo packet in the opposite direction. If requests are measured, the packet is a
    /// reply. If replies are measured, the packet is a request.
    Answer(u16),
}

/// A SYN.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// Sequence number of the first byte after the SYN itself.
    pub seq: u32,
    /// The number of data bytes in the SYN (RFC 7413).
    pub len_bytes: u32,
    /// The maximum segment size (option MSS) that the SYN's sender accepts.
    pub mss_bytes: Option<u16>,
}

/// The facts that a TCP segment states about the opposite direction.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub seq: u32,
    /// The timestamp (TSval).
    pub stamp: Option<u32>,
    /// The timestamp that the segment echoes (TSecr).
    pub echo: Option<u32>,
}

/// A packet with a sequence number, or an answer to such a packet.
#[derive(Debug, Clone, Copy)]
pub struct Numbered {
    pub key: Key,
    pub number: Number,
    /// The length of the payload of ICMP, UDP or TCP.
    pub len_bytes: u32,
    pub ack: Option<Ack>,
    /// The time to live (IPv4), or hop limit (IPv6).
    pub hops: u8,
}

/// The reason why a datagram has no sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The packet belongs to a protocol that was not selected, or is an ICMP message without a number.
    Foreign,
    /// The IP protocol with this number has no sequence numbers.
    Protocol(u8),
    /// The packet is UDP, but the user has not said which field contains the number.
    Udp,
    /// The UDP datagram is too short for the selected field, or is not RTP.
    Field,
    /// The captured bytes end inside the datagram's header.
    Cut,
    /// The lengths in the datagram contradict each other.
    Short,
}

/// Finds the sequence number of a datagram. If `wanted` is None, ICMP echo requests and TCP segments are numbered.
pub fn number(datagram: &Datagram, t_ns: Option<i64>, wanted: Option<Protocol>) -> Result<Numbered, Without> {
    match (datagram.protocol, wanted) {
        (ICMP | ICMPV6, None) => icmp(datagram, Protocol::Icmp),
        (ICMP | ICMPV6, Some(wanted @ (Protocol::Icmp | Protocol::IcmpReply))) => icmp(datagram, wanted),
        (TCP, None | Some(Protocol::Tcp)) => tcp(datagram, t_ns),
        (UDP, None) => Err(Without::Udp),
        (UDP, Some(Protocol::Udp(field))) => udp(datagram, field),
        (UDP, Some(Protocol::Rtp)) => rtp(datagram),
        (ICMP | ICMPV6 | TCP | UDP, _) => Err(Without::Foreign),
        (other, _) => Err(Without::Protocol(other)),
    }
}

fn key(datagram: &Datagram, protocol: Protocol, ports: Option<(u16, u16)>, id: u32) -> Key {
    let &Datagram { source, destination, via, .. } = datagram;
    Key { protocol, source, destination, ports, id, via }
}

fn icmp(datagram: &Datagram, wanted: Protocol) -> Result<Numbered, Without> {
    let bytes = datagram.payload;
    let (request, reply) = if datagram.protocol == ICMP { (8, 0) } else { (128, 129) };
    let protocol = match *bytes.first().ok_or(Without::Cut)? {
        kind if kind == request => Protocol::Icmp,
        kind if kind == reply => Protocol::IcmpReply,
        _ => return Err(Without::Foreign),
    };
    let id = half(bytes, 4).ok_or(Without::Cut)?;
    let value = half(bytes, 6).ok_or(Without::Cut)?;
    let len_bytes = datagram.payload_bytes.saturating_sub(8);
    let key = key(datagram, protocol, None, id.into());
    let is_wanted = protocol == wanted;
    let number = if is_wanted { Number::Field { value: value.into(), bits: 16 } } else { Number::Answer(value) };
    Ok(Numbered { key, number, len_bytes, ack: None, hops: datagram.hops })
}

fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    Some((half(bytes, 0)?, half(bytes, 2)?))
}

/// Returns the captured payload of a UDP datagram, and the length of the whole payload.
fn udp_payload<'a>(datagram: &Datagram<'a>) -> Result<(&'a [u8], u32), Without> {
    let said = u32::from(half(datagram.payload, 4).ok_or(Without::Cut)?);
    // A length of 0 occurs in two cases: the length does not fit into the field (RFC 2675), or the network card would
    // have filled it in after the capture.
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
    Ok(Numbered {
        key,
        number: Number::Field { value, bits: field.size as u32 * 8 },
        len_bytes,
        ack: None,
        hops: datagram.hops,
    })
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
    // RTP has version 2. A payload type from 192 to 223 would be a packet type of RTCP (RFC 5761, 4).
    if first >> 6 != 2 || (192..=223).contains(&second) {
        return Err(Without::Field);
    }
    let key = key(datagram, Protocol::Rtp, ports(datagram.payload), source);
    Ok(Numbered {
        key,
        number: Number::Field { value: value.into(), bits: 16 },
        len_bytes,
        ack: None,
        hops: datagram.hops,
    })
}

fn tcp(datagram: &Datagram, t_ns: Option<i64>) -> Result<Numbered, Without> {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let bytes = datagram.payload;
    let (Some(ports), Some(seq), Some(acknowledged), Some(&offset), Some(&flags)) =
        (ports(bytes), word(bytes, 4), word(bytes, 8), bytes.get(12), bytes.get(13))
    else {
        return Err(Without::Cut);
    };
    let header = usize::from(offset >> 4) * 4;
    let len_bytes = datagram.payload_bytes.checked_sub(header as u32).ok_or(Without::Short)?;
    if header < 20 {
        return Err(Without::Short);
    }
    // Possibly, only a part of the options was captured.
    let options = bytes.get(20..header.min(bytes.len())).unwrap_or_default();
    let stamps = option(options, 8, 8);
    let stamp = stamps.and_then(|value| word(value, 0));
    let echo = stamps.and_then(|value| word(value, 4));
    let number = if flags & SYN != 0 {
        let mss_bytes = option(options, 2, 2).and_then(|value| half(value, 0));
        Number::Begin(Begin { seq: seq.wrapping_add(1), len_bytes, mss_bytes })
    } else if len_bytes == 0 {
        Number::Bare
    } else {
        Number::Segment(Segment { seq, len_bytes, t_ns, stamp, ip_id: datagram.ip_id })
    };
    let ack = (flags & ACK != 0).then_some(Ack { seq: acknowledged, stamp, echo });
    let key = key(datagram, Protocol::Tcp, Some(ports), 0);
    Ok(Numbered { key, number, len_bytes, ack, hops: datagram.hops })
}

/// Returns the value of a TCP option, if its length is correct (RFC 9293, 3.1; for timestamps RFC 7323, 3).
fn option(mut options: &[u8], kind: u8, length: usize) -> Option<&[u8]> {
    loop {
        match *options {
            [0, ..] | [] => return None,
            [1, ref rest @ ..] => options = rest,
            [found, said, ref rest @ ..] if found == kind && usize::from(said) == length + 2 => {
                return rest.get(..length);
            }
            [_, said, ..] => options = options.get(usize::from(said).max(2)..)?,
            [_] => return None,
        }
    }
}
