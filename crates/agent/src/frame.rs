// SPDX-License-Identifier: Apache-2.0
//! Which flow a packet belongs to, and what tells it from others. Pure.

use crate::truth::Seen;
use leowarp_timeline::setup::FlowKind;

/// Flow f goes from this port + f ...
pub const SOURCE_PORT: u16 = 10_000;
/// ... to this port + f; a ping has f as its ICMP identifier.
pub const DESTINATION_PORT: u16 = 30_000;
/// More would not fit between the two.
pub const FLOWS_MAX: usize = 20_000;

const IPPROTO_ICMP: u8 = 1;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_UDP: u8 = 17;
const ICMP_ECHO: u8 = 8;
const ICMP_ECHO_REPLY: u8 = 0;

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parsed {
    pub kind: FlowKind,
    pub flow: usize,
    /// 0 from the flow's source, 1 to it.
    pub direction: usize,
    pub seen: Seen,
    /// TCP: its window, as its header has it, else 0.
    pub window: u16,
}

/// Reads a packet from its IP header on; none = of no flow. 40 bytes are enough.
pub fn parse(t_ns: i64, ip: &[u8]) -> Option<Parsed> {
    let half = |at: usize| Some(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?]));
    let word = |at: usize| Some(u32::from(half(at)?) << 16 | u32::from(half(at + 2)?));
    if ip.first()? >> 4 != 4 {
        return None;
    }
    let head = usize::from(ip[0] & 15) * 4;
    let total = u32::from(half(2)?);
    let mut seen = Seen { t_ns, ip_id: half(4)?, seq: 0, ack: 0, flags: 0, len_bytes: 0 };
    let mut window = 0;
    let payload = |header: usize| total.checked_sub((head + header) as u32);
    let between_ports = || {
        let (source, destination) = (half(head)?, half(head + 2)?);
        let (direction, from, to) =
            if source < destination { (0, source, destination) } else { (1, destination, source) };
        let flow = from.checked_sub(SOURCE_PORT)?;
        (to.checked_sub(DESTINATION_PORT)? == flow).then_some((usize::from(flow), direction))
    };
    let (kind, (flow, direction)) = match ip[9] {
        IPPROTO_TCP => {
            seen.seq = word(head + 4)?;
            seen.flags = *ip.get(head + 13)?;
            seen.ack = if seen.flags & crate::truth::FLAG_ACK != 0 { word(head + 8)? } else { 0 };
            seen.len_bytes = payload(usize::from(ip[head + 12] >> 4) * 4)?;
            window = half(head + 14)?;
            (FlowKind::Tcp, between_ports()?)
        }
        IPPROTO_UDP => {
            seen.len_bytes = payload(8)?;
            // the datagram's number, big endian, in the first 8 bytes of the payload
            seen.seq = word(head + 12)?;
            (FlowKind::Udp, between_ports()?)
        }
        IPPROTO_ICMP => {
            let direction = match *ip.get(head)? {
                ICMP_ECHO => 0,
                ICMP_ECHO_REPLY => 1,
                _ => return None,
            };
            seen.seq = u32::from(half(head + 6)?);
            seen.len_bytes = payload(8)?;
            (FlowKind::Ping, (usize::from(half(head + 4)?), direction))
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
    fn what_is_of_no_flow_is_left_alone() {
        assert_eq!(parse(0, &[]), None);
        assert_eq!(parse(0, &[0x60; 40]), None);
        assert_eq!(parse(0, &ip(6, 1500, &[0, 1, 0, 2])), None);
        assert_eq!(parse(0, &ip(6, 40, &[0, 22, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0])), None);
        assert_eq!(parse(0, &ip(1, 84, &[3, 0, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(parse(0, &ip(2, 40, &[0; 20])), None);
    }
}
