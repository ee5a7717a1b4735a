// SPDX-License-Identifier: Apache-2.0
//! Counts packets that were not read, by reason.

use crate::names;
use std::collections::BTreeMap;
use std::fmt;

/// The reason why a packet was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The link layer is unknown.
    LinkType(u16),
    /// The frame contains neither IP nor a supported encapsulation.
    Ethertype(u16),
    /// The frame has IEEE 802.3's format, with a length where Ethernet has a type.
    Llc,
    /// The PPP frame does not contain IP.
    Ppp(u16),
    /// The payload of MPLS is neither IP nor Ethernet.
    Mpls,
    /// The payload of GRE is unknown.
    Gre(u16),
    /// The IP protocol with this number has no sequence numbers.
    IpProtocol(u8),
    /// The packet is a fragment, but not the first fragment.
    Fragment,
    /// Only this many bytes of the packet were captured. The captured bytes end inside a header, or before the end of
    /// the sequence number.
    Cut(u32),
    /// The packet ends inside its headers, or its lengths are contradictory.
    Short,
    /// The packet has more nested headers than are parsed.
    Deep,
    /// The values in the packet's record contradict each other.
    Record,
    /// The packet's time in ns does not fit into a signed 64-bit number.
    Time,
    /// The file ends inside the packet.
    End,
    /// The packet would begin a new flow, but the maximum number of flows has been reached.
    Flows(usize),
}

impl fmt::Display for Reason {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let named = |to: &mut fmt::Formatter, name: Option<&str>, number: String| match name {
            Some(name) => write!(to, "of {name} ({number})"),
            None => write!(to, "of {number}"),
        };
        match *self {
            Reason::LinkType(kind) => named(to, names::of_link_type(kind), format!("link type {kind}")),
            Reason::Ethertype(kind) => named(to, names::of_ethertype(kind), format!("ethertype 0x{kind:04x}")),
            Reason::Llc => to.write_str("of IEEE 802.3 with LLC"),
            Reason::Ppp(kind) => named(to, names::of_ppp(kind), format!("PPP protocol 0x{kind:04x}")),
            Reason::Mpls => to.write_str("of MPLS that carry neither IP nor Ethernet"),
            Reason::Gre(kind) => write!(to, "of GRE that carry protocol 0x{kind:04x}"),
            Reason::IpProtocol(kind) => named(to, names::of_ip_protocol(kind), format!("IP protocol {kind}")),
            Reason::Fragment => to.write_str("of later IP fragments"),
            Reason::Cut(bytes) => write!(to, "cut to {bytes} bytes"),
            Reason::Short => to.write_str("damaged: shorter than the headers need, or with lengths that contradict"),
            Reason::Deep => to.write_str("of more headers within each other than are followed"),
            Reason::Record => to.write_str("damaged: a record that contradicts itself, or of no known interface"),
            Reason::Time => to.write_str("of an instant beyond the year 2262"),
            Reason::End => to.write_str("cut off by the end of the file, and whatever came after it"),
            Reason::Flows(most) => write!(to, "of more than {most} flows"),
        }
    }
}

/// The counts of packets that were not read, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skips {
    /// Memory stays bounded, because link types, ethertypes and PPP protocols have 16 bits. For truncated packets, only
    /// the minimum and maximum of the captured lengths are kept.
    counts: BTreeMap<Reason, u64>,
    cut: Option<Cut>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    packets: u64,
    least_bytes: u32,
    most_bytes: u32,
}

impl Skips {
    /// Counts one packet.
    pub fn count(&mut self, reason: Reason) {
        let Reason::Cut(bytes) = reason else {
            *self.counts.entry(reason).or_default() += 1;
            return;
        };
        let cut = self.cut.get_or_insert(Cut { packets: 0, least_bytes: bytes, most_bytes: bytes });
        cut.packets += 1;
        cut.least_bytes = cut.least_bytes.min(bytes);
        cut.most_bytes = cut.most_bytes.max(bytes);
    }

    /// Returns the number of packets that were truncated before their sequence number.
    pub fn cut_pkts(&self) -> u64 {
        self.cut.map_or(0, |cut| cut.packets)
    }

    /// Returns the number of all packets that were not read.
    pub fn packets(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.cut_pkts()
    }

    /// Returns each count with its reason, such as "5" and "of ARP (ethertype 0x0806)". The most frequent reason comes
    /// first.
    pub fn listed(&self) -> Vec<(u64, String)> {
        let mut all: Vec<_> = self.counts.iter().map(|(reason, &packets)| (packets, reason.to_string())).collect();
        if let Some(Cut { packets, least_bytes, most_bytes }) = self.cut {
            let range = if least_bytes < most_bytes { format!("{least_bytes} to ") } else { String::new() };
            all.push((packets, format!("cut to {range}{most_bytes} bytes")));
        }
        all.sort_by_key(|&(packets, _)| std::cmp::Reverse(packets));
        all
    }
}
