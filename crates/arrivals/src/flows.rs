// SPDX-License-Identifier: Apache-2.0
//! The flows of a capture, numbered by their first packet, and the sequence of the one that is measured.

use crate::arrivals::SEQ_MAX;
use crate::error::{Error, Result};
use crate::fields::{Key, Number, Numbered, Protocol};
use crate::tcp::{Numbering, Passed};
use reorder::Unwrap;
use std::collections::HashMap;
use std::net::IpAddr;

/// More would no longer be a bounded memory.
const FLOWS_MAX: usize = 65_536;

/// Packets in one direction that are numbered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// What numbers its packets.
    pub protocol: Protocol,
    /// Sender's address.
    pub source: IpAddr,
    /// Receiver's address.
    pub destination: IpAddr,
    /// Ports of both, where there are ports.
    pub ports: Option<(u16, u16)>,
    /// Identifier of ICMP, synchronization source of RTP, else 0.
    pub id: u32,
    /// Numbered packets.
    pub packets: u64,
    /// Their payload.
    pub payload_bytes: u64,
    /// Arrival of the first and of the last, if the capture has times.
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    pub last_ns: Option<i64>,
}

/// A connection or stream by its key.
#[derive(Debug, Default)]
struct Entry {
    /// Which flow; None while it has only begun.
    flow: Option<usize>,
    /// Number of the first byte, from TCP's SYN.
    begin: Option<u32>,
}

#[derive(Debug)]
enum Sequence {
    None,
    Field(Unwrap),
    Tcp(Box<Numbering>),
}

/// All flows so far.
#[derive(Debug)]
pub struct Flows {
    wanted: Option<usize>,
    keys: HashMap<Key, usize>,
    last: Option<(Key, usize)>,
    entries: Vec<Entry>,
    pub flows: Vec<Flow>,
    sequence: Sequence,
    passed: Passed,
}

impl Flows {
    /// `wanted`: the flow whose sequence is read; without, the first as long as it is the only one.
    pub fn new(wanted: Option<usize>) -> Self {
        Flows {
            wanted,
            keys: HashMap::new(),
            last: None,
            entries: Vec::new(),
            flows: Vec::new(),
            sequence: Sequence::None,
            passed: Passed::default(),
        }
    }

    /// What of TCP's segments gave no arrival.
    pub fn passed(&self) -> Passed {
        match &self.sequence {
            Sequence::Tcp(numbering) => numbering.passed,
            _ => self.passed,
        }
    }

    /// Counts a packet; `on_arrival(number, t_ns, len_bytes)` gets what is known now of the flow that is measured.
    pub fn packet(
        &mut self,
        packet: &Numbered,
        t_ns: Option<i64>,
        on_arrival: impl FnMut(u64, Option<i64>, u32),
    ) -> Result<()> {
        let entry = self.entry(&packet.key)?;
        if let Number::Begin(seq) = packet.number {
            if self.entries[entry].begin != Some(seq) {
                // The ports are used anew, or the handshake comes first as it should: in either case a flow of its own.
                self.entries[entry] = Entry { flow: None, begin: Some(seq) };
            }
            return Ok(());
        }
        let number = match self.entries[entry].flow {
            Some(number) => number,
            None => self.begin(entry, packet, t_ns)?,
        };
        let flow = &mut self.flows[number];
        flow.packets += 1;
        flow.payload_bytes += u64::from(packet.len_bytes);
        flow.last_ns = t_ns.or(flow.last_ns);
        if number == self.wanted.unwrap_or(0) {
            self.sequence_of(packet, t_ns, on_arrival);
        }
        Ok(())
    }

    /// Hands out what still waits.
    pub fn finish(&mut self, on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        if let Sequence::Tcp(numbering) = &mut self.sequence {
            numbering.finish(on_arrival);
        }
    }

    fn entry(&mut self, key: &Key) -> Result<usize> {
        if let Some((last, entry)) = &self.last {
            if last == key {
                return Ok(*entry);
            }
        }
        let next = self.entries.len();
        let entry = *self.keys.entry(*key).or_insert(next);
        if entry == next {
            if next == FLOWS_MAX {
                return Err(Error::TooManyFlows(FLOWS_MAX));
            }
            self.entries.push(Entry::default());
        }
        self.last = Some((*key, entry));
        Ok(entry)
    }

    fn begin(&mut self, entry: usize, packet: &Numbered, t_ns: Option<i64>) -> Result<usize> {
        let number = self.flows.len();
        if number == FLOWS_MAX {
            return Err(Error::TooManyFlows(FLOWS_MAX));
        }
        let Key { protocol, source, destination, ports, id } = packet.key;
        self.flows.push(Flow {
            protocol,
            source,
            destination,
            ports,
            id,
            packets: 0,
            payload_bytes: 0,
            first_ns: t_ns,
            last_ns: t_ns,
        });
        self.entries[entry].flow = Some(number);
        if number == self.wanted.unwrap_or(0) {
            self.sequence = match packet.number {
                // 2, 4 or 8 bytes: all of them widths that can be unwrapped.
                Number::Field { bits, .. } => Unwrap::new(bits).map_or(Sequence::None, Sequence::Field),
                _ => {
                    let mut numbering = Numbering::default();
                    if let Some(seq) = self.entries[entry].begin {
                        numbering.begin(seq);
                    }
                    Sequence::Tcp(Box::new(numbering))
                }
            };
        } else if self.wanted.is_none() {
            // Somebody has to choose; nothing need be kept until then.
            self.passed = self.passed();
            self.sequence = Sequence::None;
        }
        Ok(number)
    }

    fn sequence_of(&mut self, packet: &Numbered, t_ns: Option<i64>, mut on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        match (&mut self.sequence, packet.number) {
            (Sequence::Field(unwrap), Number::Field { value, .. }) => {
                on_arrival(unwrap.number(value), t_ns, packet.len_bytes);
            }
            (Sequence::Tcp(numbering), Number::Segment(segment)) => numbering.arrive(segment, on_arrival),
            _ => {}
        }
    }
}

/// Whether a number of a field is a sequence number at all.
pub fn is_number(number: &Number) -> bool {
    !matches!(number, Number::Field { value, .. } if *value > SEQ_MAX)
}
