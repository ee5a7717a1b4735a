// SPDX-License-Identifier: Apache-2.0
//! The flows of a capture, numbered in the order of their first packets.

use crate::arrivals::SEQ_MAX;
use crate::ends::{reverse, Ends};
use crate::fields::{Begin, Key, Number, Numbered, Protocol};
use crate::link::Direction;
use crate::measured::Measured;
use crate::skips::Reason;
use crate::tcp::Passed;
use crate::via::Via;
use std::collections::HashMap;
use std::net::IpAddr;

/// The maximum number of flows, which keeps memory bounded.
const FLOWS_MAX: usize = 65_536;
/// The maximum number of directions that have packets. A flow has two directions.
const ENTRIES_MAX: usize = 2 * FLOWS_MAX;

/// A flow consists of the packets in one direction that share one sequence of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The field that numbers the flow's packets.
    pub protocol: Protocol,
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address.
    pub destination: IpAddr,
    /// The ports of both ends, if the protocol has ports.
    pub ports: Option<(u16, u16)>,
    /// The identifier of ICMP, or the synchronization source of RTP. 0 for other protocols.
    pub id: u32,
    /// The encapsulations around the flow's packets.
    pub via: Via,
    /// The number of the flow's packets that have a sequence number.
    pub packets: u64,
    /// The sum of the payload bytes of the flow's packets.
    pub payload_bytes: u64,
    /// The time of the first arrival, if the capture has times.
    pub first_ns: Option<i64>,
    /// The time of the last arrival, if the capture has times.
    pub last_ns: Option<i64>,
}

/// The state of a connection (TCP) or of a stream of packets (ICMP, UDP).
#[derive(Debug)]
struct Entry {
    /// The index of the flow. None means that only the connection's SYN has been seen.
    flow: Option<usize>,
    /// The latest SYN, for TCP.
    begin: Option<Begin>,
    /// The number of the direction (`Ends`).
    way: usize,
}

/// The classification of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is in a flow, and was counted.
    Counted,
    /// The packet is not of the measured kind. It is a TCP segment without data, or an ICMP echo message of the
    /// unmeasured kind. Either requests or replies are measured.
    Answer,
    /// The packet is in the measured flow, but its number is above the largest possible sequence number.
    TooLarge,
}

/// All flows seen so far.
#[derive(Debug)]
pub struct Flows {
    wanted: Option<usize>,
    keys: HashMap<Key, usize>,
    /// A cache for `keys`: the flow keys of the two most recent packets. Two entries are enough, because segments and
    /// their acknowledgements alternate.
    last: [Option<(Key, usize)>; 2],
    entries: Vec<Entry>,
    pub ends: Ends,
    pub flows: Vec<Flow>,
    measured: Option<Measured>,
    passed: Passed,
}

impl Flows {
    /// `wanted` is the flow whose sequence is read. None means that the first flow is read until a second flow appears.
    pub fn new(wanted: Option<usize>) -> Self {
        Flows {
            wanted,
            keys: HashMap::new(),
            last: [None, None],
            entries: Vec::new(),
            ends: Ends::default(),
            flows: Vec::new(),
            measured: None,
            passed: Passed::default(),
        }
    }

    /// Returns the measured flow. None means that the flow has not begun, or that no flow was selected although there
    /// are several flows.
    pub fn measured(&self) -> Option<(&Measured, &Flow)> {
        Some((self.measured.as_ref()?, self.flows.get(self.wanted.unwrap_or(0))?))
    }

    /// Returns the counts of TCP segments that yielded no arrival.
    pub fn passed(&self) -> Passed {
        self.measured.as_ref().map_or(self.passed, Measured::passed)
    }

    /// Counts a packet. Calls `on_arrival(number, t_ns, len_bytes)` when the number of an arrival of the measured flow
    /// becomes known.
    pub fn packet(
        &mut self,
        packet: &Numbered,
        t_ns: Option<i64>,
        direction: Option<Direction>,
        on_arrival: impl FnMut(u64, Option<i64>, u32),
    ) -> Result<Outcome, Reason> {
        let entry = self.entry(&packet.key)?;
        let way = self.entries[entry].way;
        if let Number::Begin(begin) = packet.number {
            self.connection(entry, begin, packet, t_ns);
        } else {
            self.ends.way_mut(way).facts.after_syn(t_ns);
        }
        self.ends.packet(way, packet, direction);
        let is_numbered = matches!(packet.number, Number::Field { .. } | Number::Segment(_));
        let number = match self.entries[entry].flow {
            Some(number) => number,
            None if is_numbered => self.begin(entry, packet, t_ns)?,
            None => self.flows.len(),
        };
        if let Some(measured) = &mut self.measured {
            measured.hear(packet, way, t_ns);
        }
        if !is_numbered {
            return Ok(Outcome::Answer);
        }
        let flow = &mut self.flows[number];
        flow.packets += 1;
        flow.payload_bytes += u64::from(packet.len_bytes);
        flow.last_ns = t_ns.or(flow.last_ns);
        if number != self.wanted.unwrap_or(0) {
            return Ok(Outcome::Counted);
        }
        if matches!(packet.number, Number::Field { value, .. } if value > SEQ_MAX) {
            return Ok(Outcome::TooLarge);
        }
        if let Some(measured) = &mut self.measured {
            measured.packet(packet, t_ns, on_arrival);
        }
        Ok(Outcome::Counted)
    }

    /// Passes on the arrivals whose numbers were not known before the end of the capture.
    pub fn finish(&mut self, on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        if let Some(measured) = &mut self.measured {
            measured.finish(on_arrival);
        }
    }

    /// Processes a SYN. The first SYN begins a new flow. If a SYN's sequence number differs from the last SYN's, a new
    /// connection uses the same ports. This SYN also begins a new flow.
    fn connection(&mut self, entry: usize, begin: Begin, packet: &Numbered, t_ns: Option<i64>) {
        let Entry { begin: known, way, .. } = self.entries[entry];
        if known.is_none_or(|known| known.seq != begin.seq) {
            if self.entries[entry].flow.is_some() || known.is_some() {
                if let Some(measured) = &mut self.measured {
                    measured.another_begins(way);
                }
            }
            self.entries[entry] = Entry { flow: None, begin: Some(begin), way };
            // If this packet is not a SYN-ACK, all earlier acknowledgements of the other end belong to another
            // connection.
            if packet.ack.is_none() {
                self.ends.way_mut(reverse(way)).acknowledged = None;
            }
        } else if begin.len_bytes > 0 {
            // The segment is a retransmitted SYN. Like the first SYN, it may contain data.
            self.entries[entry].begin = Some(begin);
        }
        let one = self.ends.way_mut(way);
        one.mss_bytes = begin.mss_bytes.or(one.mss_bytes);
        one.facts.syn(t_ns, packet.ack.is_some());
    }

    fn entry(&mut self, key: &Key) -> Result<usize, Reason> {
        for (last, entry) in self.last.iter().flatten() {
            if last == key {
                return Ok(*entry);
            }
        }
        let next = self.entries.len();
        let entry = match self.keys.get(key) {
            Some(&entry) => entry,
            None if next == ENTRIES_MAX => return Err(Reason::Flows(FLOWS_MAX)),
            None => {
                let way = self.ends.of(key);
                self.keys.insert(*key, next);
                self.entries.push(Entry { flow: None, begin: None, way });
                next
            }
        };
        self.last = [Some((*key, entry)), self.last[0]];
        Ok(entry)
    }

    fn begin(&mut self, entry: usize, packet: &Numbered, t_ns: Option<i64>) -> Result<usize, Reason> {
        let number = self.flows.len();
        if number == FLOWS_MAX {
            return Err(Reason::Flows(FLOWS_MAX));
        }
        let Key { protocol, source, destination, ports, id, via } = packet.key;
        self.flows.push(Flow {
            protocol,
            source,
            destination,
            ports,
            id,
            via,
            packets: 0,
            payload_bytes: 0,
            first_ns: t_ns,
            last_ns: t_ns,
        });
        self.entries[entry].flow = Some(number);
        if number == self.wanted.unwrap_or(0) {
            let Entry { begin, way, .. } = self.entries[entry];
            let syn = begin.map(|begin| (begin.seq, begin.len_bytes));
            self.measured = Some(Measured::new(packet, syn, way, &self.ends));
        } else if self.wanted.is_none() {
            // If a capture has several flows, the user must select one. Arrivals that were kept for the first flow are
            // discarded.
            self.passed = self.passed();
            self.measured = None;
        }
        Ok(number)
    }
}
