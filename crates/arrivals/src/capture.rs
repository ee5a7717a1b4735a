// SPDX-License-Identifier: Apache-2.0
//! A capture as a reader: bytes in, arrivals of one flow out, all flows counted.

use crate::arrivals::{Arrivals, SEQ_MAX};
use crate::error::{Error, Result};
use crate::fields::{number, Protocol, Without};
use crate::flows::{is_number, Flow, Flows};
use crate::frames::{Frame, Frames};
use crate::packet::{cut_or_none, datagram};
use crate::tcp::Passed;

/// What is looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// None: ICMP echo requests and TCP. UDP does not say by itself where its numbers are.
    pub protocol: Option<Protocol>,
    /// The flow that is measured, counted from 0 in order of the first packets. None: the only one.
    pub flow: Option<usize>,
}

/// What was in the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All packets.
    pub packets: u64,
    /// UDP, while ICMP and TCP were looked for.
    pub udp_pkts: u64,
    /// UDP that is too short for the field, or no RTP.
    pub without_field_pkts: u64,
    /// Segments of the measured flow that brought nothing new.
    pub repeated_pkts: u64,
    /// Segments that brought what had been lost.
    pub in_need_pkts: u64,
    /// Segments that filled a hole and were taken for first transmissions because nothing told.
    pub undecided_pkts: u64,
}

/// Reads pcap and pcapng.
#[derive(Debug)]
pub struct Capture {
    wanted: Option<Protocol>,
    frames: Frames,
    flows: Flows,
    counts: Counts,
    is_timed: Option<bool>,
}

impl Capture {
    /// A reader that has read nothing.
    pub fn new(settings: Settings) -> Self {
        Capture {
            wanted: settings.protocol,
            frames: Frames::new(),
            flows: Flows::new(settings.flow),
            counts: Counts::default(),
            is_timed: None,
        }
    }

    /// Reads the next bytes of the file, cut anywhere; arrivals of the measured flow are appended to `into`.
    ///
    /// # Errors
    ///
    /// Whatever contradicts the format, with packet and byte; what stands before it is in `into`.
    pub fn feed(&mut self, chunk: &[u8], into: &mut Arrivals) -> Result<()> {
        let Capture { wanted, frames, flows, counts, is_timed } = self;
        frames.feed(chunk, |frame| one(&frame, *wanted, flows, counts, is_timed, into))
    }

    /// The last arrivals: those that waited for what never came.
    ///
    /// # Errors
    ///
    /// [`Error::CutShort`] if the file ends inside a packet, [`Error::NoCapture`] if it is empty or no capture.
    pub fn finish(&mut self, into: &mut Arrivals) -> Result<()> {
        self.flows.finish(|seq, t_ns, len_bytes| into.push(seq, t_ns, len_bytes));
        self.frames.finish()
    }

    /// The flows so far.
    pub fn flows(&self) -> &[Flow] {
        &self.flows.flows
    }

    /// What was in the capture so far.
    pub fn counts(&self) -> Counts {
        let Passed { repeated_pkts, in_need_pkts, undecided_pkts } = self.flows.passed();
        Counts { repeated_pkts, in_need_pkts, undecided_pkts, ..self.counts }
    }
}

fn one(
    frame: &Frame,
    wanted: Option<Protocol>,
    flows: &mut Flows,
    counts: &mut Counts,
    is_timed: &mut Option<bool>,
    into: &mut Arrivals,
) -> Result<()> {
    counts.packets += 1;
    let Some(datagram) = datagram(frame)? else { return Ok(()) };
    let packet = match number(&datagram, frame.t_ns, wanted) {
        Ok(packet) => packet,
        Err(why) => {
            counts.udp_pkts += u64::from(why == Without::Udp);
            counts.without_field_pkts += u64::from(why == Without::Field);
            return if why == Without::Cut { cut_or_none(frame).map(|_: Option<()>| ()) } else { Ok(()) };
        }
    };
    if *is_timed.get_or_insert(frame.t_ns.is_some()) != frame.t_ns.is_some() {
        return Err(Error::MixedTimes { packet: frame.number, at: frame.at });
    }
    if !is_number(&packet.number) {
        let why = format!("its sequence number is larger than the largest, {SEQ_MAX}: offset, size or order is wrong");
        return Err(Error::Malformed { what: format!("packet {}", frame.number), at: frame.at, why });
    }
    flows.packet(&packet, frame.t_ns, |seq, t_ns, len_bytes| into.push(seq, t_ns, len_bytes))
}
