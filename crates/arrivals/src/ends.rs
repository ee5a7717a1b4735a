// SPDX-License-Identifier: Apache-2.0
//! Directions between two ends: their state, and which direction answers which.

use crate::fields::{Key, Numbered, Protocol};
use crate::link::Direction;
use crate::place::Facts;
use std::collections::HashMap;
use std::net::IpAddr;

/// More would not keep memory bounded.
const CUT_ENDS_MAX: usize = 65_536;

/// One direction between two ends, in any encapsulation.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneWay {
    pub facts: Facts,
    /// The last acknowledgement sent in the direction.
    pub acknowledged: Option<u32>,
    /// Maximum segment size that the direction's sender accepts.
    pub mss_bytes: Option<u16>,
}

/// All directions; the two of a pair have the numbers 2 k and 2 k + 1.
#[derive(Debug, Default)]
pub struct Ends {
    keys: HashMap<Key, usize>,
    ways: Vec<OneWay>,
    /// Packets truncated before their number, by ends and protocol: their flow is unknown.
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
            // If both ends are equal, both directions are one.
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

    /// Records facts that every packet contains.
    pub fn packet(&mut self, number: usize, packet: &Numbered, direction: Option<Direction>) {
        let way = &mut self.ways[number];
        way.facts.packet(packet.hops, direction);
        way.acknowledged = packet.ack.map(|ack| ack.seq).or(way.acknowledged);
    }

    /// Counts a packet whose number was not captured.
    pub fn cut(&mut self, source: IpAddr, destination: IpAddr) {
        if self.cut.len() < CUT_ENDS_MAX || self.cut.contains_key(&(source, destination)) {
            *self.cut.entry((source, destination)).or_default() += 1;
        }
    }

    /// Number of truncated packets between two ends.
    pub fn cut_pkts(&self, source: IpAddr, destination: IpAddr) -> u64 {
        self.cut.get(&(source, destination)).copied().unwrap_or(0)
    }
}

/// The opposite direction.
pub fn reverse(number: usize) -> usize {
    number ^ 1
}

/// Whether echo replies are measured instead of requests.
pub fn measures_replies(protocol: Protocol) -> bool {
    protocol == Protocol::IcmpReply
}
