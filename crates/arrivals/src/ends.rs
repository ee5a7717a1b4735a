// SPDX-License-Identifier: Apache-2.0
//! Directions between two ends: what is known of each, and which answers which.

use crate::fields::{Key, Numbered, Protocol};
use crate::link::Direction;
use crate::place::Facts;
use std::collections::HashMap;
use std::net::IpAddr;

/// More would no longer be a bounded memory.
const CUT_ENDS_MAX: usize = 65_536;

/// One direction, in whatever encapsulation.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneWay {
    pub facts: Facts,
    /// The last acknowledgement that it carried.
    pub acknowledged: Option<u32>,
    /// The longest segment that its sender takes.
    pub mss_bytes: Option<u16>,
}

/// All directions; the two of a pair have the numbers 2 k and 2 k + 1.
#[derive(Debug, Default)]
pub struct Ends {
    keys: HashMap<Key, usize>,
    ways: Vec<OneWay>,
    /// Packets that were cut before their number, by ends and protocol: of which flow they are is not known.
    cut: HashMap<(IpAddr, IpAddr), u64>,
}

impl Ends {
    /// The number of the direction of a packet.
    pub fn of(&mut self, key: &Key) -> usize {
        let next = self.ways.len();
        let way = *self.keys.entry(key.bare()).or_insert(next);
        if way == next {
            self.ways.extend([OneWay::default(); 2]);
            let reversed = key.reversed();
            // Between an end and itself both directions are one.
            self.keys.entry(reversed).or_insert(next + 1);
        }
        way
    }

    pub fn way(&self, number: usize) -> &OneWay {
        &self.ways[number]
    }

    pub fn way_mut(&mut self, number: usize) -> &mut OneWay {
        &mut self.ways[number]
    }

    /// Notes what every packet tells.
    pub fn packet(&mut self, number: usize, packet: &Numbered, direction: Option<Direction>) {
        let way = &mut self.ways[number];
        way.facts.packet(packet.hops, direction);
        way.acknowledged = packet.ack.map(|ack| ack.seq).or(way.acknowledged);
    }

    /// Counts a packet whose number the capture leaves out.
    pub fn cut(&mut self, source: IpAddr, destination: IpAddr) {
        if self.cut.len() < CUT_ENDS_MAX || self.cut.contains_key(&(source, destination)) {
            *self.cut.entry((source, destination)).or_default() += 1;
        }
    }

    /// The number of those between two ends.
    pub fn cut_pkts(&self, source: IpAddr, destination: IpAddr) -> u64 {
        self.cut.get(&(source, destination)).copied().unwrap_or(0)
    }
}

/// The direction that answers another.
pub fn reverse(number: usize) -> usize {
    number ^ 1
}

/// Whether replies are what is measured.
pub fn measures_replies(protocol: Protocol) -> bool {
    protocol == Protocol::IcmpReply
}
