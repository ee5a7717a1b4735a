// SPDX-License-Identifier: Apache-2.0
//! Reads a capture. The input consists of the bytes of the file. The output is the arrivals of one flow and the counts
//! of all flows.

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

/// The selection of the packets that are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// The protocol of the packets. None means ICMP echo requests and TCP. UDP must be selected explicitly, because a
    /// UDP packet does not show where its number is.
    pub protocol: Option<Protocol>,
    /// The flow to measure. Flows are counted from 0, in the order of their first packets. None means the only flow of
    /// the capture.
    pub flow: Option<usize>,
}

/// The number of packets of each kind in the capture. Every packet is in exactly one of `numbered_pkts`, `answer_pkts`,
/// `udp_pkts`, `without_field_pkts`, `foreign_pkts` and [`Capture::skips`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of all packets in the capture.
    pub packets: u64,
    /// The packets with a sequence number, in all flows.
    pub numbered_pkts: u64,
    /// The TCP segments without data, and the echo packets that are not measured. An echo packet is not measured if it
    /// is a reply while requests are measured, or a request while replies are measured.
    pub answer_pkts: u64,
    /// The UDP packets, if `Settings::protocol` is None.
    pub udp_pkts: u64,
    /// The UDP packets that are too short for the selected field, or are not RTP.
    pub without_field_pkts: u64,
    /// The packets of protocols that were not selected, and ICMP errors.
    pub foreign_pkts: u64,
    /// The segments of the measured flow that contain no new data.
    pub repeated_pkts: u64,
    /// The segments of the measured flow that retransmitted lost data.
    pub in_need_pkts: u64,
    /// The undecided segments of the measured flow. They filled a hole, and no evidence shows that they were
    /// retransmissions. They count as first transmissions.
    pub undecided_pkts: u64,
    /// The approximate number of the measured flow's segments that were acknowledged but not captured.
    pub missed_pkts: u64,
    /// The number of bytes in these missing segments.
    pub missed_bytes: u64,
    /// The number of packets whose sequence number is missing because the capture truncated them. Only packets between
    /// the ends of the measured flow are counted.
    pub cut_pkts: u64,
}

/// Reads pcap and pcapng files.
#[derive(Debug)]
pub struct Capture {
    wanted: Option<Protocol>,
    frames: Frames,
    flows: Flows,
    counts: Counts,
    skips: Skips,
    /// For the measured flow's first packet with a number above `SEQ_MAX`, this number and the packet's offset in the
    /// file.
    too_large: Option<(u64, u64)>,
    is_timed: Option<bool>,
}

impl Capture {
    /// Creates a reader.
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

    /// Reads the next bytes of the file. A chunk may end anywhere. Appends arrivals of the measured flow to `into`.
    ///
    /// # Errors
    ///
    /// Fails if a part violates the format. The error states the packet's number, and the position in the file in
    /// bytes. `into` still gets the arrivals before the invalid part.
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

    /// Ends the file, and appends to `into` the arrivals that still wait for missing packets.
    ///
    /// # Errors
    ///
    /// [`Error::CutShort`] if the file ends inside its first packet. [`Error::NoCapture`] if the file is empty or not a
    /// capture. [`Error::Malformed`] if a number of the measured flow is invalid.
    pub fn finish(&mut self, into: &mut Arrivals) -> Result<()> {
        self.flows.finish(|seq, t_ns, len_bytes| into.push(seq, t_ns, len_bytes));
        match self.frames.finish() {
            // If a capture program is killed, its file ends inside a packet. Everything before the incomplete packet
            // can be read.
            Err(Error::CutShort { .. }) if self.counts.packets > 0 => {
                self.counts.packets += 1;
                self.skips.count(Reason::End);
            }
            ended => ended?,
        }
        match self.too_large {
            // If no flow was selected although there are several, there is no measured flow, and the caller reports the
            // missing selection.
            Some((packet, at)) if self.flows.measured().is_some() => {
                let why = format!(
                    "its sequence number is larger than the largest, {SEQ_MAX}: offset, size or order is wrong"
                );
                Err(Error::Malformed { what: format!("packet {packet}"), at, why })
            }
            _ => Ok(()),
        }
    }

    /// Returns the flows that were found so far.
    pub fn flows(&self) -> &[Flow] {
        &self.flows.flows
    }

    /// Returns the counts of the packets that were read so far.
    pub fn counts(&self) -> Counts {
        let Passed { repeated_pkts, in_need_pkts, undecided_pkts, missed_pkts, missed_bytes } = self.flows.passed();
        let measured = self.flows.measured();
        let cut_pkts = measured.map_or(0, |(_, flow)| self.flows.ends.cut_pkts(flow.source, flow.destination));
        Counts { repeated_pkts, in_need_pkts, undecided_pkts, missed_pkts, missed_bytes, cut_pkts, ..self.counts }
    }

    /// Returns the counts of the packets that were not read, by reason.
    pub fn skips(&self) -> &Skips {
        &self.skips
    }

    /// Returns the place of the capture on the measured flow's path. None means that there is no measured flow.
    pub fn place(&self) -> Option<Verdict> {
        self.flows.measured().map(|(measured, _)| measured.place(&self.flows.ends))
    }

    /// For the measured flow, returns statistics of captured segments that consist of several segments on the wire.
    /// None means that there is no evidence of merged segments.
    pub fn merged(&self) -> Option<Merged> {
        self.flows.measured().and_then(|(measured, _)| measured.merged(&self.flows.ends))
    }
}

/// A frame and the selected protocol, which decides how the frame is parsed.
struct One<'a> {
    frame: Frame<'a>,
    wanted: Option<Protocol>,
}

impl One<'_> {
    /// Parses the packet and assigns it to its flow. If the packet cannot be read, the inner error gives the reason.
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
