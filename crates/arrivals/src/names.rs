// SPDX-License-Identifier: Apache-2.0
//! The names of protocols that often occur in captures but are not read.
//!
//! References: IANA's registries "IEEE 802 Numbers", "Protocol Numbers" and "PPP DLL Protocol Numbers", and
//! tcpdump.org/linktypes.html.

/// Returns the name of a link type that often occurs but is not supported.
pub fn of_link_type(kind: u16) -> Option<&'static str> {
    Some(match kind {
        105 => "IEEE 802.11",
        119 | 127 | 163 => "IEEE 802.11 with a radio header",
        147..=162 => "a private link layer",
        189 | 220 => "USB",
        187 | 201 => "Bluetooth",
        190 | 227 => "CAN",
        195 | 230 => "IEEE 802.15.4",
        224 => "Fibre Channel",
        239 => "Netfilter's log",
        247 => "InfiniBand",
        249 => "USB",
        253 => "Netlink",
        258 => "macOS's pktap",
        _ => return None,
    })
}

/// Returns the name of an ethertype that often occurs but is not parsed.
pub fn of_ethertype(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0x0806 => "ARP",
        0x0842 => "Wake-on-LAN",
        0x8035 => "RARP",
        0x809b => "AppleTalk",
        0x8137 => "IPX",
        0x8808 => "Ethernet flow control",
        0x8809 => "Ethernet slow protocols",
        0x8863 => "PPPoE discovery",
        0x888e => "EAP over LAN",
        0x88b8 => "GOOSE",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        0x8902 => "Ethernet CFM",
        0x8906 => "Fibre Channel over Ethernet",
        0x890d => "IEEE 802.11 over Ethernet",
        0x894f => "NSH",
        0x9000 => "Ethernet loopback test",
        _ => return None,
    })
}

/// Returns the name of an IP protocol that often occurs but has no numbers and is not parsed.
pub fn of_ip_protocol(kind: u8) -> Option<&'static str> {
    Some(match kind {
        2 => "IGMP",
        33 => "DCCP",
        46 => "RSVP",
        50 => "ESP, encrypted",
        55 => "Minimal Encapsulation",
        59 => "IPv6 without a next header",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        108 => "IPComp, compressed",
        112 => "VRRP",
        115 => "L2TP",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}

/// Returns the name of a PPP protocol that often occurs but is not parsed.
pub fn of_ppp(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0x003d => "multilink PPP",
        0x0053 | 0x0055 => "encrypted PPP",
        0x00fd => "compressed PPP",
        0x8021 | 0x8057 | 0x80fd => "PPP control",
        0xc021 => "PPP LCP",
        0xc023 => "PPP PAP",
        0xc223 => "PPP CHAP",
        _ => return None,
    })
}
