// SPDX-License-Identifier: Apache-2.0
//! Addresses and names of satellites, stations and routers, which exist only in runs with a shell. Without an address
//! they cannot answer to traceroute (net/ipv4/icmp.c, `icmp_route_lookup`); nothing else needs one.

use crate::network::message;
use crate::network::netlink::Batch;
use leowarp_timeline::setup::{NodeKind, Setup};
use std::net::Ipv4Addr;

/// Of each namespace.
const LOOPBACK: u32 = 1;

/// Address of a node without a host, from 10.64.0.0/10.
fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a40_0001 + node as u32)
}

/// Gives a node its address on its loopback interface.
pub fn set(batch: &mut Batch, node: usize) {
    message::up(batch, LOOPBACK);
    message::address(batch, LOOPBACK, address(node), 32);
}

/// Lines of /etc/hosts: each router by its name; a station's antenna as `ground-` plus the station's name.
pub fn names(setup: &Setup) -> String {
    if setup.shell.is_none() {
        return String::new();
    }
    let routers = setup.nodes.iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Host);
    let lines = routers.map(|(number, node)| {
        // The station's own name belongs to its host.
        let prefix = if node.kind == NodeKind::Ground { "ground-" } else { "" };
        format!("{} {prefix}{}\n", address(number), node.name.replace(char::is_whitespace, "-").to_lowercase())
    });
    lines.collect()
}
