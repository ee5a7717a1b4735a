// SPDX-License-Identifier: Apache-2.0
//! The packets of Multipath TCP subflows. The kernel chooses the source port of an additional subflow. Therefore, the
//! addresses and the destination port identify a packet's flow.

use crate::packets::frame::{self, Foreign, Parsed, DESTINATION_PORT};
use leowarp_timeline::setup::{FlowKind, Setup};
use std::collections::BTreeMap;

/// The flow numbers by source address, destination address and destination port. The map is empty if no flow uses
/// Multipath TCP.
pub struct Subflows(BTreeMap<(u32, u32, u16), usize>);

impl Subflows {
    /// Returns the subflows that the setup lists.
    pub fn new(setup: &Setup) -> Self {
        let address = |host: usize| setup.hosts[host].short_address();
        let flows = setup.flows.iter().enumerate().filter(|(_, flow)| flow.is_mptcp);
        let key = |(i, flow): (usize, &leowarp_timeline::setup::Flow)| {
            let port = DESTINATION_PORT + flow.subflow_of.unwrap_or(i) as u16;
            ((address(flow.source), address(flow.destination), port), i)
        };
        Self(flows.map(key).collect())
    }

    /// Parses a packet from its IP header on. None means that the packet belongs to no subflow.
    pub fn parse(&self, t_ns: i64, ip: &[u8]) -> Option<Parsed> {
        if self.0.is_empty() {
            return None;
        }
        let Foreign { tuple, seen, window } = frame::parse_foreign(t_ns, ip)?;
        let flow = |from: (u32, u16), to: (u32, u16)| self.0.get(&(from.0, to.0, to.1)).copied();
        let there = flow(tuple.from, tuple.to).map(|flow| (flow, 0));
        let (flow, direction) = there.or_else(|| Some((flow(tuple.to, tuple.from)?, 1)))?;
        tuple.is_tcp.then_some(Parsed { kind: FlowKind::Tcp, flow, direction, seen, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(from: (u8, u16), to: (u8, u16)) -> Vec<u8> {
        let mut out = vec![0x45, 0, 0, 140, 0xab, 0xcd, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, from.0, 10, 1, 0, to.0];
        out.extend(from.1.to_be_bytes());
        out.extend(to.1.to_be_bytes());
        out.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 1, 0, 0, 0, 0]);
        out
    }

    #[test]
    fn packets_go_by_addresses_and_the_port_of_the_connection() {
        let second = (0x0a01_0003, 0x0a01_0002, DESTINATION_PORT);
        let subflows = Subflows(BTreeMap::from([((0x0a01_0001, 0x0a01_0002, DESTINATION_PORT), 0), (second, 1)]));
        let of = |ip: &[u8]| subflows.parse(5, ip).map(|p| (p.flow, p.direction, p.seen.len_bytes));
        assert_eq!(of(&tcp((1, 10_000), (2, DESTINATION_PORT))), Some((0, 0, 100)));
        // the kernel chooses the source port of a further subflow, so any port is accepted
        assert_eq!(of(&tcp((3, 40_001), (2, DESTINATION_PORT))), Some((1, 0, 100)));
        assert_eq!(of(&tcp((2, DESTINATION_PORT), (3, 40_001))), Some((1, 1, 100)));
        assert_eq!(of(&tcp((3, 40_001), (2, DESTINATION_PORT + 1))), None);
        assert_eq!(of(&tcp((1, 10_000), (4, DESTINATION_PORT))), None);
        assert_eq!(Subflows(BTreeMap::new()).parse(5, &tcp((1, 10_000), (2, DESTINATION_PORT))), None);
    }
}
