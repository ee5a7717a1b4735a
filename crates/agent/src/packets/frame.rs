// SPDX-License-Identifier: Apache-2.0
//! Parses a captured frame: the flow of its packet, and the fields that identify the packet. This module has no side
//! effects.

use crate::packets::short::{self, HEAD_BYTES, SHORT_BYTES};
use crate::packets::truth::Seen;
use leowarp_timeline::setup::FlowKind;

/// The source port of flow 0. Flow f uses `SOURCE_PORT` + f.
pub const SOURCE_PORT: u16 = 10_000;
/// The destination port of flow 0. Flow f uses `DESTINATION_PORT` + f. For a ping, f is the ICMP identifier.
pub const DESTINATION_PORT: u16 = 30_000;
/// The maximum number of flows in a run. More flows would not fit between the two port ranges.
pub const FLOWS_MAX: usize = 20_000;

const IPPROTO_ICMP: u8 = 1;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_UDP: u8 = 17;
const IPPROTO_ICMPV6: u8 = 58;
const ICMP_ECHO: u8 = 8;
const ICMP_ECHO_REPLY: u8 = 0;
const ICMPV6_ECHO: u8 = 128;
const ICMPV6_ECHO_REPLY: u8 = 129;

const ETHERNET_BYTES: usize = 14;

/// A captured frame.
pub struct Frame<'a> {
    /// The time of the real-time clock.
    pub real_ns: i64,
    pub outgoing: bool,
    /// The length of the whole frame on the wire.
    pub frame_bytes: u32,
    /// The captured bytes from the Ethernet header on.
    pub data: &'a [u8],
}

impl Frame<'_> {
    /// Returns the frame's IP packet, if it contains one.
    pub fn ip(&self) -> Option<&[u8]> {
        let kind = self.data.get(12..ETHERNET_BYTES)?;
        (kind == [8, 0] || kind == [0x86, 0xdd]).then(|| &self.data[ETHERNET_BYTES..])
    }
}

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parsed {
    pub kind: FlowKind,
    pub flow: usize,
    /// The direction. 0 means packets from the flow's source, and 1 means packets to the source.
    pub direction: usize,
    pub seen: Seen,
    /// The window field of the TCP header. 0 for other protocols.
    pub window: u16,
}

/// The two ends of a program's packet. Each end consists of the last four bytes of the address, and the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    pub is_tcp: bool,
    pub from: (u32, u16),
    pub to: (u32, u16),
}

impl Tuple {
    /// Returns the packet's two ends, sorted. Both directions of a connection give the same result.
    pub fn both_ways(self) -> Self {
        Self { is_tcp: self.is_tcp, from: self.from.min(self.to), to: self.from.max(self.to) }
    }
}

/// A packet that does not belong to the agent's own flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Foreign {
    pub tuple: Tuple,
    pub seen: Seen,
    /// The window field of the TCP header, as in [`Parsed`].
    pub window: u16,
}

/// For a UDP packet, the digest ends at this byte. Identification, length, UDP header and the first bytes of the
/// payload distinguish UDP packets. The digest ends at byte 40 of the IP packet, because a link's drop report ends
/// there.
const DIGEST_UNTIL: usize = 40;

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn half(&self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn is_short(&self) -> bool {
        short::is_ipv6(self.0)
    }

    /// Returns the length of the IP header, and the common fields of every packet. IPv6 packets have no identification,
    /// so a digest of the bytes after the IPv6 header is used instead.
    fn ip(&self, t_ns: i64) -> Option<(usize, Seen)> {
        let (head, ip_id) = match self.0.first()? >> 4 {
            4 => (usize::from(self.0[0] & 15) * 4, self.half(4)?),
            6 => {
                let digest = digest(self.0.get(HEAD_BYTES..SHORT_BYTES)?);
                (HEAD_BYTES, (digest ^ digest >> 16) as u16)
            }
            _ => return None,
        };
        Some((head, Seen { t_ns, ip_id, seq: 0, ack: 0, flags: 0, len_bytes: 0 }))
    }

    fn protocol(&self) -> u8 {
        self.0[if self.is_short() { 6 } else { 9 }]
    }

    /// Returns the last four bytes of the source and destination addresses.
    fn addresses(&self) -> Option<(u32, u32)> {
        let at = if self.is_short() { 8 } else { 12 };
        Some((self.word(at)?, self.word(at + 4)?))
    }

    /// Returns the payload length after the IP header and a transport header of `header` bytes.
    fn payload_bytes(&self, head: usize, header: usize) -> Option<u32> {
        let (bytes, header) = if self.is_short() { (self.half(4)?, header) } else { (self.half(2)?, head + header) };
        u32::from(bytes).checked_sub(header as u32)
    }

    /// Fills in the fields of `seen` from a TCP header. Returns the window field.
    fn tcp(&self, head: usize, seen: &mut Seen) -> Option<u16> {
        seen.seq = self.word(head + 4)?;
        seen.flags = *self.0.get(head + 13)?;
        seen.ack = if seen.flags & crate::packets::truth::FLAG_ACK != 0 { self.word(head + 8)? } else { 0 };
        seen.len_bytes = self.payload_bytes(head, usize::from(self.0[head + 12] >> 4) * 4)?;
        self.half(head + 14)
    }
}

/// Parses a program's packet. `ip` is the packet from its IP header on. An IPv6 packet is in its short form. None means
/// that the packet is neither TCP nor UDP, or that it is a fragment other than the first.
pub fn parse_foreign(t_ns: i64, ip: &[u8]) -> Option<Foreign> {
    const FRAGMENT_OFFSET: u16 = 0x1fff;
    let fields = Fields(ip);
    let (head, mut seen) = fields.ip(t_ns)?;
    if !fields.is_short() && fields.half(6)? & FRAGMENT_OFFSET != 0 {
        return None;
    }
    let mut window = 0;
    let is_tcp = match fields.protocol() {
        IPPROTO_TCP => {
            window = fields.tcp(head, &mut seen)?;
            true
        }
        IPPROTO_UDP => {
            seen.len_bytes = fields.payload_bytes(head, 8)?;
            let total = if fields.is_short() { SHORT_BYTES } else { usize::from(fields.half(2)?) };
            seen.seq = digest(ip.get(head..DIGEST_UNTIL.min(total))?);
            false
        }
        _ => return None,
    };
    let (source, destination) = fields.addresses()?;
    let from = (source, fields.half(head)?);
    let to = (destination, fields.half(head + 2)?);
    Some(Foreign { tuple: Tuple { is_tcp, from, to }, seen, window })
}

/// Returns whether a packet is an ICMP error. A kernel sends an ICMP error if it cannot deliver a packet, such as a
/// datagram to an ended program.
pub fn is_icmp_error(ip: &[u8]) -> bool {
    // ICMP types: unreachable, quench, redirect, time exceeded, parameter problem (RFC 792).
    const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
    if short::is_ipv6(ip) {
        // RFC 4443, 2.1
        return ip.get(6) == Some(&IPPROTO_ICMPV6) && ip.get(HEAD_BYTES).is_some_and(|kind| *kind < ICMPV6_ECHO);
    }
    ip.get(9) == Some(&IPPROTO_ICMP) && ip.get(usize::from(ip[0] & 15) * 4).is_some_and(|kind| ERRORS.contains(kind))
}

/// Returns the 32-bit FNV-1a hash.
fn digest(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Parses a packet. `ip` is the packet from its IP header on. Its first 40 bytes are needed. If the packet is IPv6,
/// `ip` is its short form. None means that the packet is not part of any flow of the agent.
pub fn parse(t_ns: i64, ip: &[u8]) -> Option<Parsed> {
    let fields = Fields(ip);
    let (head, mut seen) = fields.ip(t_ns)?;
    let mut window = 0;
    let between_ports = || {
        let (source, destination) = (fields.half(head)?, fields.half(head + 2)?);
        let (direction, from, to) =
            if source < destination { (0, source, destination) } else { (1, destination, source) };
        let flow = from.checked_sub(SOURCE_PORT)?;
        (to.checked_sub(DESTINATION_PORT)? == flow).then_some((usize::from(flow), direction))
    };
    let (kind, (flow, direction)) = match fields.protocol() {
        IPPROTO_TCP => {
            window = fields.tcp(head, &mut seen)?;
            (FlowKind::Tcp, between_ports()?)
        }
        IPPROTO_UDP => {
            seen.len_bytes = fields.payload_bytes(head, 8)?;
            // a datagram's number is in the first 8 bytes of the payload, in big-endian order
            seen.seq = fields.word(head + 12)?;
            (FlowKind::Udp, between_ports()?)
        }
        protocol @ (IPPROTO_ICMP | IPPROTO_ICMPV6) => {
            let direction = match (protocol, *ip.get(head)?) {
                (IPPROTO_ICMP, ICMP_ECHO) | (IPPROTO_ICMPV6, ICMPV6_ECHO) => 0,
                (IPPROTO_ICMP, ICMP_ECHO_REPLY) | (IPPROTO_ICMPV6, ICMPV6_ECHO_REPLY) => 1,
                _ => return None,
            };
            seen.seq = u32::from(fields.half(head + 6)?);
            seen.len_bytes = fields.payload_bytes(head, 8)?;
            (FlowKind::Ping, (usize::from(fields.half(head + 4)?), direction))
        }
        _ => return None,
    };
    Some(Parsed { kind, flow, direction, seen, window })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(protocol: u8, total: u16, rest: &[u8]) -> Vec<u8> {
        let mut out = vec![0x45, 0, 0, 0, 0xab, 0xcd, 0x40, 0, 64, protocol, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2];
        out[2..4].copy_from_slice(&total.to_be_bytes());
        out.extend(rest);
        out
    }

    #[test]
    fn tcp_goes_by_its_ports_and_its_payload_is_what_the_headers_leave() {
        let ports = [(SOURCE_PORT + 3).to_be_bytes(), (DESTINATION_PORT + 3).to_be_bytes()].concat();
        let rest = [&ports[..], &[0, 0, 0, 9, 0, 0, 0, 7, 0x80, 0x18, 1, 1, 0, 0, 0, 0]].concat();
        let seen = Seen { t_ns: 5, ip_id: 0xabcd, seq: 9, ack: 7, flags: 0x18, len_bytes: 1448 };
        let parsed = Parsed { kind: FlowKind::Tcp, flow: 3, direction: 0, seen, window: 257 };
        assert_eq!(parse(5, &ip(6, 1500, &rest)), Some(parsed));
        let back = [&ports[2..], &ports[..2], &rest[4..]].concat();
        assert_eq!(parse(5, &ip(6, 1500, &back)).map(|p| p.direction), Some(1));
    }

    #[test]
    fn packets_of_ipv6_are_read_from_their_short_form() {
        let packet = |next: u8, payload: u16, rest: &[u8]| {
            let mut out = vec![0x60, 0, 0, 0, 0, 0, next, 64];
            out[4..6].copy_from_slice(&payload.to_be_bytes());
            out.extend([
                0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2,
            ]);
            out.extend(rest);
            short::short(&out)
        };
        let ports = [(SOURCE_PORT + 3).to_be_bytes(), (DESTINATION_PORT + 3).to_be_bytes()].concat();
        let head = [&ports[..], &[0, 0, 0, 9, 0, 0, 0, 7, 0x80, 0x18, 1, 1, 0, 0, 0, 0]].concat();
        let stamped = |stamp: u8| packet(6, 1460, &[&head[..], &[1, 1, 8, 10, 0, 0, 0, stamp]].concat());
        let (one, other) = (parse(5, &stamped(1)).unwrap(), parse(5, &stamped(2)).unwrap());
        assert_eq!((one.kind, one.flow, one.direction, one.window), (FlowKind::Tcp, 3, 0, 257));
        assert_eq!((one.seen.seq, one.seen.ack, one.seen.flags, one.seen.len_bytes), (9, 7, 0x18, 1428));
        assert_ne!(one.seen.ip_id, other.seen.ip_id);
        let tuple = Tuple { is_tcp: true, from: (0x0001_0001, 10_003), to: (0x0001_0002, 30_003) };
        assert_eq!(parse_foreign(5, &stamped(1)).unwrap().tuple, tuple);
        let echo = parse(0, &packet(58, 64, &[128, 0, 0, 0, 0, 2, 1, 1])).unwrap();
        assert_eq!((echo.flow, echo.direction, echo.seen.seq, echo.seen.len_bytes), (2, 0, 257, 56));
        assert_eq!(parse(0, &packet(58, 64, &[129, 0, 0, 0, 0, 2, 1, 1])).unwrap().direction, 1);
        assert_eq!(parse(0, &packet(58, 64, &[8, 0, 0, 0, 0, 2, 1, 1])), None);
        let datagram = [&ports[..], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]].concat();
        let read = parse(0, &packet(17, 108, &datagram)).unwrap();
        assert_eq!((read.seen.seq, read.seen.len_bytes), (0x0001_0000, 100));
        assert!(is_icmp_error(&packet(58, 64, &[3, 0])) && !is_icmp_error(&packet(58, 64, &[129, 0])));
    }

    #[test]
    fn pings_and_datagrams_carry_their_numbers() {
        let echo = parse(0, &ip(1, 84, &[8, 0, 0, 0, 0, 2, 1, 1])).unwrap();
        assert_eq!((echo.flow, echo.direction, echo.seen.seq, echo.seen.len_bytes), (2, 0, 257, 56));
        assert_eq!(parse(0, &ip(1, 84, &[0, 0, 0, 0, 0, 2, 1, 1])).unwrap().direction, 1);
        let ports = [SOURCE_PORT.to_be_bytes(), DESTINATION_PORT.to_be_bytes()].concat();
        let datagram = [&ports[..], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]].concat();
        let parsed = parse(0, &ip(17, 128, &datagram)).unwrap();
        assert_eq!((parsed.seen.seq, parsed.seen.len_bytes), (0x0001_0000, 100));
    }

    #[test]
    fn a_programs_packets_go_by_addresses_and_ports() {
        let rest = [201, 1, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 1, 0, 0, 0, 0];
        let there = parse_foreign(5, &ip(6, 140, &rest)).unwrap();
        let tuple = Tuple { is_tcp: true, from: (0x0a01_0001, 51_457), to: (0x0a01_0002, 80) };
        assert_eq!((there.tuple, there.seen.seq, there.seen.len_bytes, there.window), (tuple, 9, 100, 257));
        assert_eq!(Tuple { from: tuple.to, to: tuple.from, ..tuple }.both_ways(), tuple.both_ways());
    }

    #[test]
    fn datagrams_differ_by_their_checksums_and_later_fragments_have_no_ports() {
        let datagram =
            |checksum: u8| ip(17, 1200, &[0, 1, 0, 2, 4, 148, 0, checksum, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let digest = |bytes: &[u8]| parse_foreign(0, bytes).unwrap().seen.seq;
        assert_eq!(digest(&datagram(1)), digest(&[datagram(1), vec![7; 60]].concat()));
        assert_ne!(digest(&datagram(1)), digest(&datagram(2)));
        let mut fragment = datagram(1);
        fragment[7] = 185;
        assert_eq!(parse_foreign(0, &fragment), None);
    }

    #[test]
    fn an_error_of_icmp_is_no_packet_of_a_program() {
        assert!(is_icmp_error(&ip(1, 56, &[3, 3, 0, 0])));
        assert!(!is_icmp_error(&ip(1, 84, &[8, 0, 0, 0])) && !is_icmp_error(&ip(17, 84, &[3, 3, 0, 0])));
    }

    #[test]
    fn what_is_of_no_flow_is_left_alone() {
        assert_eq!(parse(0, &[]), None);
        assert_eq!(parse(0, &[0x60; 40]), None);
        assert_eq!(parse(0, &ip(6, 1500, &[0, 1, 0, 2])), None);
        assert_eq!(parse(0, &ip(6, 40, &[0, 22, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0])), None);
        assert_eq!(parse(0, &ip(1, 84, &[3, 0, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(parse(0, &ip(2, 40, &[0; 20])), None);
    }
}
