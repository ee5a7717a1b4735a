// SPDX-License-Identifier: Apache-2.0
//! The names of encapsulations, and sets of encapsulations.

use std::fmt;

/// The encapsulations around a packet, except VLAN tags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Via(u16);

const NAMES: [&str; 10] =
    ["PPPoE", "MPLS", "GRE", "ERSPAN", "EtherIP", "IP in IP", "IPv6 in IPv4", "VXLAN", "Geneve", "GTP-U"];
pub const PPPOE: Via = Via(1);
pub const MPLS: Via = Via(1 << 1);
pub const GRE: Via = Via(1 << 2);
pub const ERSPAN: Via = Via(1 << 3);
pub const ETHER_IP: Via = Via(1 << 4);
pub const IP_IN_IP: Via = Via(1 << 5);
pub const IPV6_IN_IPV4: Via = Via(1 << 6);
pub const VXLAN: Via = Via(1 << 7);
pub const GENEVE: Via = Via(1 << 8);
pub const GTP_U: Via = Via(1 << 9);

impl Via {
    /// Returns the encapsulations of `self` and of `other` together.
    pub fn and(self, other: Via) -> Via {
        Via(self.0 | other.0)
    }

    /// Returns whether the packet has no encapsulation.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Via {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<_> = (0..NAMES.len()).filter(|at| self.0 & 1 << at != 0).map(|at| NAMES[at]).collect();
        to.write_str(&names.join(", "))
    }
}
