// SPDX-License-Identifier: Apache-2.0
//! The addresses and names of satellites, stations and routers. Routers have addresses only in runs with a shell. A
//! router needs an address only to answer traceroute (net/ipv4/icmp.c, `icmp_route_lookup`).

use crate::network::message;
use crate::network::netlink::Batch;
use leowarp_timeline::setup::{NodeKind, Setup};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The interface number of the loopback interface in each namespace.
const LOOPBACK: u32 = 1;

/// Returns the address of a node that is not a host. Addresses begin at 10.64.0.1 or fd00::2:1.
fn address(node: usize, is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        return Ipv6Addr::from((0xfd << 120) + 0x0002_0001 + node as u128).into();
    }
    Ipv4Addr::from(0x0a40_0001 + node as u32).into()
}

/// Assigns a node's address to the node's loopback interface.
pub fn set(batch: &mut Batch, node: usize, is_ipv6: bool) {
    let address = address(node, is_ipv6);
    message::up(batch, LOOPBACK);
    message::address(batch, LOOPBACK, address, message::whole_prefix(address));
}

/// Returns the lines of /etc/hosts, one per host and per router. A router has its own name. A station's antenna is
/// called `ground-` plus the station's name.
pub fn names(setup: &Setup) -> String {
    if setup.shell.is_none() {
        return String::new();
    }
    let routers = setup.nodes.iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Host);
    let lines = routers.map(|(number, node)| {
        // The station's plain name is the name of its host.
        let prefix = if node.kind == NodeKind::Ground { "ground-" } else { "" };
        format!(
            "{} {prefix}{}\n",
            address(number, setup.is_ipv6()),
            node.name.replace(char::is_whitespace, "-").to_lowercase()
        )
    });
    lines.collect()
}
