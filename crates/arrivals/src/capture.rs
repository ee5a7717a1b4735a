// SPDX-License-Identifier: Apache-2.0
//! Reader of a capture: its input is bytes, its output the arrivals of one flow and counts of all flows.

use crate::arrivals::{Arrivals, SEQ_MAX};
use crate::error::{Error, Result};
use crate::fields::{number, Protocol, Without};
use crate::flows::{Flow, Flows, Outcome};
use crate::frames::{Frame, Frames, Record};
use crate::link;
use crate::merged::Merged;
use crate::packet::{cut_or_short, datagram};
use crate::place::Verdict;
use crate::skips::{Reason, Skips};
use crate::tcp::Passed;

/// Packets to look for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// None: ICMP echo requests and TCP. UDP packets do not show where their numbers are.
    pub protocol: Option<Protocol>,
    /// The flow to measure, counted from 0 in order of first packets. None: the only flow.
    pub flow: Option<usize>,
}

/// Summary of the capture's packets. Every packet is in one of `numbered_pkts`, `answer_pkts`, `udp_pkts`,
/// `without_field_pkts`, `foreign_pkts` and [`Capture::skips`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All packets.
    pub packets: u64,
    /// Sums over all flows.
    pub numbered_pkts: u64,
    /// TCP without data, and echo replies where requests are numbered, or vice versa.
    pub answer_pkts: u64,
    /// UDP packets, if ICMP and TCP were selected.
    pub udp_pkts: u64,
    /// UDP packets that are too short for the field, or are not RTP.
    pub without_field_pkts: u64,
    /// Protocols that were not selected, and ICMP errors.
    pub foreign_pkts: u64,
    /// Segments of the measured flow without new data.
    pub repeated_pkts: u64,
    /// Segments that repaired a loss.
    pub in_need_pkts: u64,
    /// Segments that filled a hole and count as first transmissions for lack of evidence.
    pub undecided_pkts: u64,
    /// Approximate number of segments that were acknowledged but not captured.
    pub missed_pkts: u64,
    /// Their bytes.
    pub missed_bytes: u64,
    /// Packets between the measured flow's ends that the capture truncated before their number.
    pub cut_pkts: u64,
}

/// Reader for pcap and pcapng.
#[derive(Debug)]
pub struct Capture {
    wanted: Option<Protocol>,
    frames: Frames,
    flows: Flows,
    counts: Counts,
    skips: Skips,
    /// The first packet of the measured flow whose number is too large for a sequence number.
    too_large: Option<(u64, u64)>,
    is_timed: Option<bool>,
}

impl Capture {
    /// A new reader.
    pub fn new(settings: Settings) -> Self {
        Capture {
            wanted: settings.protocol,
            frames: Frames::new(),
            flows: Flows::new(settings.flow),
            counts: Counts::default(),
            skips: Skips::default(),
            too_large: None,
            is_timed: None,
        }
    }

    /// Reads the next bytes of the file, split at any place; arrivals of the measured flow are appended to `into`.
    ///
    /// # Errors
    ///
    /// The part that violates the format, with packet and byte; everything before it is in `into`.
    pub fn feed(&mut self, chunk: &[u8], into: &mut Arrivals) -> Result<()> {
        let Capture { wanted, frames, flows, counts, skips, too_large, is_timed } = self;
        frames.feed(chunk, |record| {
            counts.packets += 1;
            let read = match record {
                Record::Frame(frame) => {
                    One { frame, wanted: *wanted }.read(flows, counts, too_large, is_timed, into)?
                }
                Record::Unreadable(reason) => Err(reason),
            };
            if let Err(reason) = read {
                skips.count(reason);
            }
            Ok(())
        })
    }

    /// Adds the last arrivals, which waited for packets that never came.
    ///
    /// # Errors
    ///
    /// [`Error::CutShort`] if the file ends inside its first packet, [`Error::NoCapture`] if it is empty or no capture,
    /// [`Error::Malformed`] if a number of the measured flow is invalid.
    pub fn finish(&mut self, into: &mut Arrivals) -> Result<()> {
        self.flows.finish(|seq, t_ns, len_bytes| into.push(seq, t_ns, len_bytes));
        match self.frames.finish() {
            // What a capture program that was killed leaves behind: all before it can be read.
            Err(Error::CutShort { .. }) if self.counts.packets > 0 => {
                self.counts.packets += 1;
                self.skips.count(Reason::End);
            }
            ended => ended?,
        }
        match self.too_large {
            // With several flows and no selection, the missing selection is reported first.
            Some((packet, at)) if self.flows.measured().is_some() => {
                let why = format!(
                    "its sequence number is larger than the largest, {SEQ_MAX}: offset, size or order is wrong"
                );
                Err(Error::Malformed { what: format!("packet {packet}"), at, why })
            }
            _ => Ok(()),
        }
    }

    /// Flows seen so far.
    pub fn flows(&self) -> &[Flow] {
        &self.flows.flows
    }

    /// Summary of the packets so far.
    pub fn counts(&self) -> Counts {
        let Passed { repeated_pkts, in_need_pkts, undecided_pkts, missed_pkts, missed_bytes } = self.flows.passed();
        let measured = self.flows.measured();
        let cut_pkts = measured.map_or(0, |(_, flow)| self.flows.ends.cut_pkts(flow.source, flow.destination));
        Counts { repeated_pkts, in_need_pkts, undecided_pkts, missed_pkts, missed_bytes, cut_pkts, ..self.counts }
    }

    /// Packets that were not read, with the reasons.
    pub fn skips(&self) -> &Skips {
        &self.skips
    }

    /// Place of the capture relative to the measured flow; None if there is no measured flow.
    pub fn place(&self) -> Option<Verdict> {
        self.flows.measured().map(|(measured, _)| measured.place(&self.flows.ends))
    }

    /// Captured segments that consist of several; None without evidence for them.
    pub fn merged(&self) -> Option<Merged> {
        self.flows.measured().and_then(|(measured, _)| measured.merged(&self.flows.ends))
    }
}

/// A frame that can be read.
struct One<'a> {
    frame: Frame<'a>,
    wanted: Option<Protocol>,
}

impl One<'_> {
    /// Assigns the packet to its flow; the inner error means that it is not read.
    fn read(
        &self,
        flows: &mut Flows,
        counts: &mut Counts,
        too_large: &mut Option<(u64, u64)>,
        is_timed: &mut Option<bool>,
        into: &mut Arrivals,
    ) -> Result<std::result::Result<(), Reason>> {
        let frame = &self.frame;
        let datagram = match datagram(frame) {
            Ok(datagram) => datagram,
            Err(reason) => return Ok(Err(reason)),
        };
        let packet = match number(&datagram, frame.t_ns, self.wanted) {
            Ok(packet) => packet,
            Err(why) => {
                let count = match why {
                    Without::Foreign => &mut counts.foreign_pkts,
                    Without::Udp => &mut counts.udp_pkts,
                    Without::Field => &mut counts.without_field_pkts,
                    Without::Protocol(other) => return Ok(Err(Reason::IpProtocol(other))),
                    Without::Short => return Ok(Err(Reason::Short)),
                    Without::Cut => {
                        flows.ends.cut(datagram.source, datagram.destination);
                        return Ok(Err(cut_or_short(frame)));
                    }
                };
                *count += 1;
                return Ok(Ok(()));
            }
        };
        let direction = link::direction(frame.link_type, frame.data);
        let push = |seq, t_ns, len_bytes| into.push(seq, t_ns, len_bytes);
        let outcome = match flows.packet(&packet, frame.t_ns, direction, push) {
            Ok(outcome) => outcome,
            Err(reason) => return Ok(Err(reason)),
        };
        if outcome == Outcome::Answer {
            counts.answer_pkts += 1;
            return Ok(Ok(()));
        }
        counts.numbered_pkts += 1;
        if *is_timed.get_or_insert(frame.t_ns.is_some()) != frame.t_ns.is_some() {
            return Err(Error::MixedTimes { packet: frame.number, at: frame.at });
        }
        if outcome == Outcome::TooLarge {
            too_large.get_or_insert((frame.number, frame.at));
        }
        Ok(Ok(()))
    }
}
