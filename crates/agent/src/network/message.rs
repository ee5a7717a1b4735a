// SPDX-License-Identifier: Apache-2.0
//! Netlink messages for links, addresses and routes.

use crate::network::netlink::{
    Batch, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, RTM_DELROUTE, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWROUTE, RTM_NEWRULE,
};
use std::net::IpAddr;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFF_UP: u32 = 1;
const IFF_NOARP: u32 = 0x80;
const IFF_MULTICAST: u32 = 0x1000;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// The flag that turns off duplicate address detection (RFC 4862, 5.4).
const IFA_F_NODAD: u8 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTA_TABLE: u16 = 15;
const RTAX_QUICKACK: u16 = 15;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const RTN_BLACKHOLE: u8 = 6;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;
/// The priority of leowarp's routing rules. The kernel's own rules have the priorities 32766 and 32767, so the kernel's
/// rules apply later.
const PRIORITY: u32 = 1000;

/// One end of a link.
pub struct Interface {
    pub ifindex: u32,
    pub name: String,
    pub mac: [u8; 6],
    pub arp: bool,
    /// Whether the interface has the multicast flag. IPv6's multicast groups are reported to routers only with this
    /// flag (net/ipv6/mcast.c).
    pub multicast: bool,
    pub mtu_bytes: u32,
}

/// The next hop of a route.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    pub ifindex: u32,
    /// The address of the next hop. None means that the route has no gateway. The route needs no gateway, because the
    /// link's far end accepts every packet.
    pub gateway: Option<IpAddr>,
    /// Whether TCP on this route immediately acknowledges each segment that it receives.
    pub quickack: bool,
}

fn ifinfomsg(ifindex: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    out[8..12].copy_from_slice(&flags.to_ne_bytes());
    out[12..].copy_from_slice(&change.to_ne_bytes());
    out
}

/// Creates a veth pair between the receiving namespace and the namespace of `there_fd`. The message also brings up the
/// end `here` in the receiving namespace. Another message brings the far end up, because both ends must exist first
/// (veth_open).
pub fn make_pair(batch: &mut Batch, here: &Interface, there: &Interface, there_fd: i32) {
    let noarp = |i: &Interface| if i.arp { 0 } else { IFF_NOARP };
    // flags that the message changes; all other flags keep their values
    let changed = |i: &Interface| if i.multicast { IFF_NOARP } else { IFF_NOARP | IFF_MULTICAST };
    let describe = |batch: &mut Batch, i: &Interface| {
        batch.text(IFLA_IFNAME, &i.name).attribute(IFLA_ADDRESS, &i.mac).u32(IFLA_MTU, i.mtu_bytes);
    };
    let head = ifinfomsg(here.ifindex, IFF_UP | noarp(here), IFF_UP | changed(here));
    batch.message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head);
    describe(batch, here);
    let info = batch.nest(IFLA_LINKINFO, &[]);
    batch.text(IFLA_INFO_KIND, "veth");
    let data = batch.nest(IFLA_INFO_DATA, &[]);
    let peer = batch.nest(VETH_INFO_PEER, &ifinfomsg(there.ifindex, noarp(there), changed(there)));
    describe(batch, there);
    batch.u32(IFLA_NET_NS_FD, there_fd as u32);
    batch.end(&peer);
    batch.end(&data);
    batch.end(&info);
}

/// Sets an interface up.
pub fn up(batch: &mut Batch, ifindex: u32) {
    batch.message(RTM_NEWLINK, 0, &ifinfomsg(ifindex, IFF_UP, IFF_UP));
}

/// Takes an interface down and brings it up again, so that it can send immediately. In a new veth pair, one end is
/// brought up first. It has no carrier until the other end is up. This carrier may come up to a second late, because
/// net/core/link_watch.c handles only 100 devices at once. An interface without a carrier has the queueing discipline
/// noop, which silently discards packets. However, the end that is brought up last has a carrier immediately.
pub fn up_again(batch: &mut Batch, ifindex: u32) {
    batch.message(RTM_NEWLINK, 0, &ifinfomsg(ifindex, 0, IFF_UP));
    up(batch, ifindex);
}

/// Disables and re-enables ARP on an interface. The kernel then clears the interface's neighbour table
/// (arp_netdev_event).
pub fn forget_neighbours(batch: &mut Batch, ifindex: u32) {
    batch.message(RTM_NEWLINK, 0, &ifinfomsg(ifindex, IFF_NOARP, IFF_NOARP));
    batch.message(RTM_NEWLINK, 0, &ifinfomsg(ifindex, 0, IFF_NOARP));
}

/// Adds an address to an interface.
pub fn address(batch: &mut Batch, ifindex: u32, address: IpAddr, prefix: u8) {
    let flags = if address.is_ipv6() { IFA_F_NODAD } else { 0 };
    let mut body = [family(address), prefix, flags, RT_SCOPE_UNIVERSE, 0, 0, 0, 0];
    body[4..].copy_from_slice(&ifindex.to_ne_bytes());
    batch.message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body);
    with_address(with_address(batch, IFA_LOCAL, address), IFA_ADDRESS, address);
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv6() {
        AF_INET6
    } else {
        AF_INET
    }
}

fn with_address(batch: &mut Batch, kind: u16, address: IpAddr) -> &mut Batch {
    match address {
        IpAddr::V4(address) => batch.attribute(kind, &address.octets()),
        IpAddr::V6(address) => batch.attribute(kind, &address.octets()),
    }
}

fn rtmsg(family: u8, prefix: u8, tos: u8, scope: u8, kind: u8) -> [u8; 12] {
    [family, prefix, 0, tos, RT_TABLE_MAIN, RTPROT_STATIC, scope, kind, 0, 0, 0, 0]
}

/// Returns the length of the prefix of a single address.
pub fn whole_prefix(address: IpAddr) -> u8 {
    if address.is_ipv6() {
        128
    } else {
        32
    }
}

/// Sets the route to a host for packets with the TOS value `tos`. With `tos` 0, the route is for all packets that have
/// no more specific route.
pub fn route(batch: &mut Batch, destination: IpAddr, tos: u8, hop: Hop) {
    let scope = if hop.gateway.is_some() { RT_SCOPE_UNIVERSE } else { RT_SCOPE_LINK };
    let head = rtmsg(family(destination), whole_prefix(destination), tos, scope, RTN_UNICAST);
    batch.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &head);
    with_address(batch, RTA_DST, destination).u32(RTA_OIF, hop.ifindex);
    if let Some(gateway) = hop.gateway {
        with_address(batch, RTA_GATEWAY, gateway);
    }
    quickack(batch, hop.quickack);
}

fn quickack(batch: &mut Batch, wanted: bool) {
    if wanted {
        let metrics = batch.nest(RTA_METRICS, &[]);
        batch.u32(RTAX_QUICKACK, 1);
        batch.end(&metrics);
    }
}

/// Removes the route to a host.
pub fn no_route(batch: &mut Batch, destination: IpAddr, tos: u8) {
    // the scope "nowhere" matches a route of any scope
    let head = rtmsg(family(destination), whole_prefix(destination), tos, 255, RTN_UNICAST);
    with_address(batch.message(RTM_DELROUTE, 0, &head), RTA_DST, destination);
}

/// Sets the default route. Packets on this route leave through the interface of `hop`, without a gateway. They get the
/// source address `source`.
pub fn default_route(batch: &mut Batch, source: IpAddr, hop: Hop) {
    let head = rtmsg(family(source), 0, 0, RT_SCOPE_LINK, RTN_UNICAST);
    batch.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &head);
    with_address(batch.u32(RTA_OIF, hop.ifindex), RTA_PREFSRC, source);
    quickack(batch, hop.quickack);
}

/// Sets a default route like `default_route`. This route is in a separate routing table, and only packets from `source`
/// use it.
pub fn default_route_of(batch: &mut Batch, table: u32, source: IpAddr, hop: Hop) {
    // struct fib_rule_hdr begins like struct rtmsg, with the prefix length of the source at offset 2
    let rule = [family(source), 0, whole_prefix(source), 0, 0, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    batch.message(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &rule);
    with_address(batch, FRA_SRC, source).u32(FRA_TABLE, table).u32(FRA_PRIORITY, PRIORITY);
    default_route(batch, source, hop);
    batch.u32(RTA_TABLE, table);
}

/// Makes the kernel discard packets that have no route. The kernel does not answer these packets with ICMP.
pub fn discard_by_default(batch: &mut Batch, is_ipv6: bool) {
    let family = if is_ipv6 { AF_INET6 } else { AF_INET };
    let head = rtmsg(family, 0, 0, RT_SCOPE_UNIVERSE, RTN_BLACKHOLE);
    batch.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &head);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_one_message_with_the_other_end_nested() {
        let end = |ifindex, mac| Interface {
            ifindex,
            name: "l7".into(),
            mac: [2, 0, 0, 0, 0, mac],
            arp: false,
            multicast: true,
            mtu_bytes: 1500,
        };
        let mut batch = Batch::default();
        make_pair(&mut batch, &end(2, 7), &end(5, 7), 9);
        #[rustfmt::skip]
        let expected = [
            132, 0, 0, 0,  16, 0,  1, 6,  1, 0, 0, 0,  0, 0, 0, 0,
            0, 0, 0, 0,  2, 0, 0, 0,  0x81, 0, 0, 0,  0x81, 0, 0, 0,
            7, 0, 3, 0, b'l', b'7', 0, 0,  10, 0, 1, 0, 2, 0, 0, 0, 0, 7, 0, 0,  8, 0, 4, 0, 0xdc, 5, 0, 0,
            72, 0, 18, 0,
                9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0,
                56, 0, 2, 0,
                    52, 0, 1, 0,
                        0, 0, 0, 0,  5, 0, 0, 0,  0x80, 0, 0, 0,  0x80, 0, 0, 0,
                        7, 0, 3, 0, b'l', b'7', 0, 0,  10, 0, 1, 0, 2, 0, 0, 0, 0, 7, 0, 0,  8, 0, 4, 0, 0xdc, 5, 0, 0,
        ];
        let bytes = batch.bytes();
        assert_eq!(bytes[32..60], expected[32..60]);
        assert_eq!(bytes[8..32], expected[8..32]);
        assert_eq!(bytes[bytes.len() - 8..], [8, 0, 28, 0, 9, 0, 0, 0]);
        assert_eq!(bytes[..4], (bytes.len() as u32).to_ne_bytes());
        assert_eq!(usize::from(bytes[60]), bytes.len() - 60, "linkinfo reaches to the end");
        assert_eq!(bytes[84..84 + 16 + 28], expected[84..84 + 16 + 28]);
    }

    #[test]
    fn a_route_names_tos_interface_and_gateway() {
        let mut batch = Batch::default();
        route(
            &mut batch,
            IpAddr::from([10, 1, 0, 2]),
            8,
            Hop { ifindex: 3, gateway: Some(IpAddr::from([10, 128, 0, 1])), quickack: false },
        );
        #[rustfmt::skip]
        let expected = [
            52, 0, 0, 0,  24, 0,  1, 5,  1, 0, 0, 0,  0, 0, 0, 0,
            2, 32, 0, 8, 254, 4, 0, 1, 0, 0, 0, 0,
            8, 0, 1, 0, 10, 1, 0, 2,  8, 0, 4, 0, 3, 0, 0, 0,  8, 0, 5, 0, 10, 128, 0, 1,
        ];
        assert_eq!(batch.bytes(), expected);
    }

    #[test]
    fn addresses_and_routes_of_ipv6_have_sixteen_bytes_and_no_duplicate_is_looked_for() {
        let host: IpAddr = "fd00::1:2".parse().unwrap();
        let mut batch = Batch::default();
        address(&mut batch, 3, host, whole_prefix(host));
        assert_eq!(batch.bytes()[16..24], [10, 128, 2, 0, 3, 0, 0, 0]);
        assert_eq!(batch.bytes()[24..28], [20, 0, 2, 0]);
        assert_eq!(batch.bytes()[40..48], [0, 1, 0, 2, 20, 0, 1, 0]);
        let mut batch = Batch::default();
        route(&mut batch, host, 0, Hop { ifindex: 3, gateway: None, quickack: false });
        assert_eq!(batch.bytes()[16..28], [10, 128, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0]);
        assert_eq!(batch.bytes().len(), 28 + 20 + 8);
    }

    #[test]
    fn packets_from_a_further_address_have_a_rule_and_a_default_route_of_their_own() {
        let mut batch = Batch::default();
        let hop = Hop { ifindex: 3, gateway: None, quickack: false };
        default_route_of(&mut batch, 1001, IpAddr::from([10, 1, 0, 2]), hop);
        #[rustfmt::skip]
        let rule = [
            52, 0, 0, 0,  32, 0,  1, 6,  1, 0, 0, 0,  0, 0, 0, 0,
            2, 0, 32, 0, 0, 0, 0, 1, 0, 0, 0, 0,
            8, 0, 2, 0, 10, 1, 0, 2,  8, 0, 15, 0, 0xe9, 3, 0, 0,  8, 0, 6, 0, 0xe8, 3, 0, 0,
        ];
        assert_eq!(batch.bytes()[..52], rule);
        assert_eq!(batch.bytes()[68..80], [2, 0, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0]);
        assert_eq!(batch.bytes()[batch.bytes().len() - 8..], [8, 0, 15, 0, 0xe9, 3, 0, 0]);
    }

    #[test]
    fn a_route_without_gateway_is_of_link_scope() {
        let mut batch = Batch::default();
        let hop = Hop { ifindex: 3, gateway: None, quickack: false };
        route(&mut batch, IpAddr::from([10, 1, 0, 2]), 0, hop);
        assert_eq!(batch.bytes()[16..28], [2, 32, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0]);
        assert_eq!(batch.bytes().len(), 44);
    }

    #[test]
    fn a_route_of_a_host_that_acknowledges_each_segment_says_so_as_a_metric() {
        let hop = Hop { ifindex: 3, gateway: None, quickack: true };
        let made = |make: &dyn Fn(&mut Batch)| {
            let mut batch = Batch::default();
            make(&mut batch);
            batch.bytes().to_vec()
        };
        let metric = [12, 0, 8, 0, 8, 0, 15, 0, 1, 0, 0, 0];
        let address = IpAddr::from([10, 1, 0, 2]);
        for bytes in [made(&|b| route(b, address, 0, hop)), made(&|b| default_route(b, address, hop))] {
            assert_eq!(bytes[bytes.len() - metric.len()..], metric);
            assert_eq!(bytes[..4], (bytes.len() as u32).to_ne_bytes());
        }
    }
}
