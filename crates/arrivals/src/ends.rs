// SPDX-License-Identifier: Apache-2.0
//! The state of each direction between two ends. Opposite directions are paired.

use crate::fields::{Key, Numbered, Protocol};
use crate::link::Direction;
use crate::place::Facts;
use std::collections::HashMap;
use std::net::IpAddr;

/// The maximum number of entries in `cut`. The limit bounds the memory.
const CUT_ENDS_MAX: usize = 65_536;

/// The state of one direction between two ends. It covers packets with all kinds of encapsulations.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneWay {
    pub facts: Facts,
    /// The acknowledgement number that was last sent in this direction.
    pub acknowledged: Option<u32>,
    /// The maximum segment size that the sender of this direction announced for segments that it receives.
    pub mss_bytes: Option<u16>,
}

/// All directions. The two directions between the same two ends have the numbers 2 k and 2 k + 1.
#[derive(Debug, Default)]
pub struct Ends {
    keys: HashMap<Key, usize>,
    ways: Vec<OneWay>,
    /// For each pair of ends, the number of packets that were truncated before their sequence number. The flow of a
    /// truncated packet is unknown.
    cut: HashMap<(IpAddr, IpAddr), u64>,
}

impl Ends {
    /// Returns the number of a packet's direction.
    pub fn of(&mut self, key: &Key) -> usize {
        let next = self.ways.len();
        let way = *self.keys.entry(key.bare()).or_insert(next);
        if way == next {
            self.ways.extend([OneWay::default(); 2]);
            let reversed = key.reversed();
            // If a packet has the same address and port at both ends, both directions of its flow have the same number.
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

    /// Records what the packet shows about its direction.
    pub fn packet(&mut self, number: usize, packet: &Numbered, direction: Option<Direction>) {
        let way = &mut self.ways[number];
        way.facts.packet(packet.hops, direction);
        way.acknowledged = packet.ack.map(|ack| ack.seq).or(way.acknowledged);
    }

    /// Counts a packet that was truncated before its sequence number.
    pub fn cut(&mut self, source: IpAddr, destination: IpAddr) {
        if self.cut.len() < CUT_ENDS_MAX || self.cut.contains_key(&(source, destination)) {
            *self.cut.entry((source, destination)).or_default() += 1;
        }
    }

    /// Returns how many packets between two ends were truncated before their sequence number.
    pub fn cut_pkts(&self, source: IpAddr, destination: IpAddr) -> u64 {
        self.cut.get(&(source, destination)).copied().unwrap_or(0)
    }
}

/// Returns the number of the opposite direction.
pub fn reverse(number: usize) -> usize {
    number ^ 1
}

/// Returns whether `protocol` measures echoes by their replies instead of their requests.
pub fn measures_replies(protocol: Protocol) -> bool {
    protocol == Protocol::IcmpReply
}
