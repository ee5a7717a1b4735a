// SPDX-License-Identifier: Apache-2.0
//! The name and the addresses of the interfaces at the ends of a link.

use std::net::Ipv4Addr;

/// Returns the name of the interfaces at both ends of a link.
pub fn interface_name(link: usize) -> String {
    format!("l{link}")
}

/// Returns a locally administered MAC address, derived from the link's number and side.
pub fn mac(link: usize, side: usize) -> [u8; 6] {
    let n = (link as u32).to_be_bytes();
    [2, side as u8, n[0], n[1], n[2], n[3]]
}

/// Returns the address of one end of an `arp` link, in 10.128.0.0/9.
pub fn end_address(link: usize, side: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a80_0000 + (2 * link + side) as u32)
}
