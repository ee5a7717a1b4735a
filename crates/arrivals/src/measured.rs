// SPDX-License-Identifier: Apache-2.0
//! The measured flow. It has a sequence of arrivals, and collects evidence about the place of the capture.

use crate::ends::{measures_replies, reverse, Ends};
use crate::fields::{Number, Numbered, Protocol};
use crate::merged::{Lengths, Merged};
use crate::place::{Verdict, Watch};
use crate::tcp::{Numbering, Passed};
use reorder::Unwrap;

#[derive(Debug)]
enum Sequence {
    Field(Option<Unwrap>),
    Tcp(Box<Numbering>),
}

/// The measured flow.
#[derive(Debug)]
pub struct Measured {
    protocol: Protocol,
    /// The number of the direction in which the flow's packets are sent.
    way: usize,
    /// Gives the flow's packets their numbers in the sequence. For TCP, the first number of the sequence follows from
    /// the SYN, the first segment and the other end's acknowledgement.
    sequence: Sequence,
    watch: Watch,
    lengths: Lengths,
    /// Whether another connection between the same ports has begun. Later answers belong to the new connection.
    is_over: bool,
}

/// Returns the sequence number of the first byte after a SYN. Data in the SYN come before this byte if the other end
/// accepted them (RFC 7413).
fn first_byte(seq: u32, syn_bytes: u32, first_seq: u32, acknowledged: Option<u32>) -> u32 {
    let said = acknowledged.map(|acknowledged| acknowledged.wrapping_sub(seq) as i32).filter(|&beyond| beyond >= 0);
    let accepted = match said {
        Some(beyond) => (beyond as u32).min(syn_bytes),
        // If the answer to the SYN is not captured, the first segment shows whether the SYN's data were refused.
        // Refused data are retransmitted first.
        None if first_seq.wrapping_sub(seq) as i32 >= syn_bytes as i32 => syn_bytes,
        None => 0,
    };
    seq.wrapping_add(accepted)
}

impl Measured {
    /// Begins the flow with its first packet. `syn` contains the first byte and the length of the data in the SYN.
    pub fn new(packet: &Numbered, syn: Option<(u32, u32)>, way: usize, ends: &Ends) -> Self {
        let sequence = match packet.number {
            // The sequence number has 16, 32 or 64 bits, and can be unwrapped with any of these widths.
            Number::Field { bits, .. } => Sequence::Field(Unwrap::new(bits)),
            Number::Segment(segment) => {
                let mut numbering = Numbering::default();
                let acknowledged = ends.way(reverse(way)).acknowledged;
                let first = syn.map_or(segment.seq, |(seq, bytes)| first_byte(seq, bytes, segment.seq, acknowledged));
                numbering.begin(first);
                if let Some(acknowledged) = acknowledged {
                    numbering.acknowledge(acknowledged);
                }
                Sequence::Tcp(Box::new(numbering))
            }
            _ => Sequence::Field(None),
        };
        let (watch, lengths) = (Watch::default(), Lengths::default());
        Measured { protocol: packet.key.protocol, way, sequence, watch, lengths, is_over: false }
    }

    /// Processes a packet of the flow.
    pub fn packet(&mut self, packet: &Numbered, t_ns: Option<i64>, mut on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        match (&mut self.sequence, packet.number) {
            (Sequence::Field(Some(unwrap)), Number::Field { value, .. }) => {
                on_arrival(unwrap.number(value), t_ns, packet.len_bytes);
            }
            (Sequence::Tcp(numbering), Number::Segment(segment)) => {
                self.lengths.count(segment.len_bytes);
                numbering.arrive(segment, on_arrival);
            }
            _ => {}
        }
    }

    /// Processes a packet between the flow's ends in either direction. The packet need not belong to the flow.
    pub fn hear(&mut self, packet: &Numbered, way: usize, t_ns: Option<i64>) {
        if self.is_over || (way != self.way && way != reverse(self.way)) {
            return;
        }
        if way != self.way {
            if let (Sequence::Tcp(numbering), Some(ack)) = (&mut self.sequence, packet.ack) {
                numbering.acknowledge(ack.seq);
            }
        }
        let Some(t_ns) = t_ns else { return };
        let echo = packet.ack.and_then(|ack| ack.echo);
        match packet.number {
            Number::Segment(segment) if way == self.way => {
                self.watch.segment(Some(segment.seq.wrapping_add(segment.len_bytes)), echo, t_ns);
            }
            Number::Bare if way == self.way => self.watch.segment(None, echo, t_ns),
            Number::Segment(_) | Number::Bare => {
                if let Some(ack) = packet.ack {
                    self.watch.ack(ack, t_ns);
                }
            }
            Number::Field { value, .. } => self.echo(packet.key.protocol, value as u16, t_ns),
            Number::Answer(value) => self.echo(packet.key.protocol, value, t_ns),
            Number::Begin(_) => {}
        }
    }

    fn echo(&mut self, kind: Protocol, number: u16, t_ns: i64) {
        match kind {
            Protocol::Icmp => self.watch.request(number, t_ns),
            Protocol::IcmpReply => self.watch.reply(number, t_ns, measures_replies(self.protocol)),
            _ => {}
        }
    }

    /// Records that a new connection has begun in the direction `way` or in the opposite direction.
    pub fn another_begins(&mut self, way: usize) {
        self.is_over |= way == self.way || way == reverse(self.way);
    }

    /// Passes on the arrivals whose numbers were not known before the end of the capture.
    pub fn finish(&mut self, on_arrival: impl FnMut(u64, Option<i64>, u32)) {
        if let Sequence::Tcp(numbering) = &mut self.sequence {
            numbering.finish(on_arrival);
        }
    }

    /// Returns the counts of TCP segments that yielded no arrival.
    pub fn passed(&self) -> Passed {
        match &self.sequence {
            Sequence::Tcp(numbering) => numbering.passed,
            Sequence::Field(_) => Passed::default(),
        }
    }

    /// Returns the captured segments that consist of several segments.
    pub fn merged(&self, ends: &Ends) -> Option<Merged> {
        self.lengths.merged(ends.way(reverse(self.way)).mss_bytes)
    }

    /// Returns the possible places of the capture, with the evidence for them.
    pub fn place(&self, ends: &Ends) -> Verdict {
        let (forward, back) = (&ends.way(self.way).facts, &ends.way(reverse(self.way)).facts);
        self.watch.verdict(forward, back, measures_replies(self.protocol))
    }
}
