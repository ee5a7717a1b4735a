// SPDX-License-Identifier: Apache-2.0
//! Packets that were not read, counted by reason.

use crate::names;
use std::collections::BTreeMap;
use std::fmt;

/// Reason why a packet was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Unknown link layer.
    LinkType(u16),
    /// Neither an IP packet nor a supported encapsulation.
    Ethertype(u16),
    /// An IEEE 802.3 frame with a length instead of a type.
    Llc,
    /// A PPP frame without IP in it.
    Ppp(u16),
    /// MPLS with a payload other than IP or Ethernet.
    Mpls,
    /// GRE with an unknown payload.
    Gre(u16),
    /// A protocol above IP without numbers.
    IpProtocol(u8),
    /// A fragment of an IP packet other than the first.
    Fragment,
    /// Only this many bytes were captured, and a header or the number extends beyond them.
    Cut(u32),
    /// The packet ends inside its headers, or is inconsistent.
    Short,
    /// Too many nested headers.
    Deep,
    /// The packet's record in the file is inconsistent.
    Record,
    /// The packet's time does not fit into 64 bits of ns.
    Time,
    /// The file ends inside it.
    End,
    /// The packet's flow would exceed the number of flows that fit into bounded memory.
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

/// Packets that were not read, counted by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skips {
    /// Memory is bounded: link types, ethertypes and PPP protocols have 16 bits; of lengths only the minimum and
    /// maximum are kept.
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

    /// Number of packets truncated before their number.
    pub fn cut_pkts(&self) -> u64 {
        self.cut.map_or(0, |cut| cut.packets)
    }

    /// Number of all packets that were not read.
    pub fn packets(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.cut_pkts()
    }

    /// Count and reason, such as "5" and "of ARP (ethertype 0x0806)"; the most frequent first.
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
