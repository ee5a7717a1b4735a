// SPDX-License-Identifier: Apache-2.0
//! Packets that were not read: how many, and why.

use crate::names;
use std::collections::BTreeMap;
use std::fmt;

/// Why a packet was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its link layer is not known.
    LinkType(u16),
    /// It is no IP packet, nor one of the encapsulations that are looked into.
    Ethertype(u16),
    /// An IEEE 802.3 frame with a length instead of a type.
    Llc,
    /// A PPP frame without IP in it.
    Ppp(u16),
    /// MPLS whose payload is neither IP nor Ethernet.
    Mpls,
    /// GRE whose payload is not known.
    Gre(u16),
    /// A protocol above IP that has no numbers.
    IpProtocol(u8),
    /// A part of an IP packet that does not begin with its header.
    Fragment,
    /// The capture holds only this much of it, and a header or the number reaches beyond.
    Cut(u32),
    /// It ends inside its headers, or contradicts itself.
    Short,
    /// One header within the other without an end.
    Deep,
    /// Its record in the file contradicts itself.
    Record,
    /// Its time does not fit into 64 bits of ns.
    Time,
    /// The file ends inside it.
    End,
    /// It is of one more flow than fit into bounded memory.
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
    /// Bounded: link types, ethertypes and PPP protocols have 16 bits; lengths have their smallest and largest alone.
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

    /// Packets cut by the capture before their number.
    pub fn cut_pkts(&self) -> u64 {
        self.cut.map_or(0, |cut| cut.packets)
    }

    /// All packets that were not read.
    pub fn packets(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.cut_pkts()
    }

    /// Count and reason, "5" and "of ARP (ethertype 0x0806)"; the most frequent first.
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
