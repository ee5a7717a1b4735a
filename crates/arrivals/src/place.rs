// SPDX-License-Identifier: Apache-2.0
//! Finds out where a capture was made: at the flow's sender, at its receiver, or between them.
//!
//! The result lists the places that no evidence excludes. It may be empty if the evidence is contradictory.
//!
//! - The link layer may record whether packets left this machine or entered it.
//! - If the time to live of a packet has an initial value (64, 128, 255), no router has forwarded it. In this case, the
//!   capture was made in the network of the packet's sender. An initial value counts as evidence only if routers have
//!   decremented the time to live in at least one of the two directions.
//! - The receiver answers a packet at once, and the sender reacts to an answer at once. The capture point therefore
//!   divides the round trip into two parts: to the receiver and back, and to the sender and back. The receiver's part
//!   is the shortest time from a packet to its acknowledgement or reply. The sender's part is the shortest time from an
//!   acknowledgement to a packet that reacts to it. A packet reacts to an acknowledgement if it is the first packet
//!   that echoes the acknowledgement's timestamp (RFC 7323). The next packet of the handshake also reacts to an
//!   acknowledgement.
//! - If echo requests are out of order, the capture was not made at the host that sent them. If replies are out of
//!   order but requests are not, the capture was not made at the replies' sender.

use crate::fields::Ack;
use crate::link::Direction;
use std::fmt;

/// If a part of the round trip is at most 1/`NOTHING_DIVISOR` of the round trip, the part counts as zero.
const NOTHING_DIVISOR: i64 = 10;
/// If a round trip is shorter than this time, its delays come from one machine's software. They then contain no
/// information about the path.
const TRIP_LEAST_NS: i64 = 50_000;
/// The maximum time in which a machine answers a packet.
const ANSWER_MAX_NS: i64 = 2_000_000;
/// Acknowledgements count as evidence only if there are at least this many. Three quarters of the acknowledgements must
/// follow a segment closely.
const ACKS_LEAST: u64 = 8;
/// The initial values of the time to live in Linux and macOS, in Windows, and in network equipment.
const FRESH_HOPS: [u8; 3] = [64, 128, 255];
const ECHOES: usize = 4096;

/// A place on a flow's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where the flow's packets were sent.
    Sender,
    /// Between sender and receiver.
    Middle,
    /// Where the flow's packets were received.
    Receiver,
}

/// The possible places of the capture, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The places that no evidence excludes.
    pub places: Vec<Place>,
    /// The evidence that excludes all other places on the path.
    pub evidence: Vec<String>,
}

/// Evidence of the place of the capture in the packets from one end to the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    hops: Option<(u8, u8)>,
    is_in: bool,
    is_past: bool,
    is_out: bool,
    /// The time of the last SYN in this direction, and whether it was a SYN-ACK.
    syn: Option<(i64, bool)>,
    /// The time of the first segment after the SYN.
    after_syn_ns: Option<i64>,
}

impl Facts {
    pub fn packet(&mut self, hops: u8, direction: Option<Direction>) {
        let (least, most) = self.hops.unwrap_or((hops, hops));
        self.hops = Some((least.min(hops), most.max(hops)));
        match direction {
            Some(Direction::In) => self.is_in = true,
            Some(Direction::Past) => self.is_past = true,
            Some(Direction::Out) => self.is_out = true,
            None => {}
        }
    }

    pub fn syn(&mut self, t_ns: Option<i64>, acknowledges: bool) {
        self.syn = t_ns.map(|t_ns| (t_ns, acknowledges));
        self.after_syn_ns = None;
    }

    pub fn after_syn(&mut self, t_ns: Option<i64>) {
        if self.after_syn_ns.is_none() {
            self.after_syn_ns = t_ns;
        }
    }

    fn is_fresh(&self) -> Option<bool> {
        self.hops.map(|(least, most)| least == most && FRESH_HOPS.contains(&least))
    }
}

/// The times at which a flow's packets and their answers pass the capture.
#[derive(Debug, Default)]
pub struct Watch {
    /// The shortest round trips from the point of capture: to the receiver and back (`ahead_ns`), and to the sender and
    /// back (`behind_ns`).
    ahead_ns: Option<i64>,
    behind_ns: Option<i64>,
    highest: Option<u32>,
    /// A segment that is not acknowledged yet. The values are the sequence number after its last byte, and its time.
    probe: Option<(u32, i64)>,
    /// The newest segment. The values are the sequence number after the newest segment's last byte, and the segment's
    /// time. A receiver that acknowledges every second segment answers the newest segment at once.
    newest: Option<(u32, i64)>,
    last_stamp: Option<u32>,
    /// A TCP timestamp that the sender has not echoed yet, and the time of the receiver's packet with this timestamp.
    stamped: Option<(u32, i64)>,
    last_forward_ns: Option<i64>,
    /// The time of the last acknowledgement that answered a segment, and the time from the segment to the
    /// acknowledgement.
    answered: Option<(i64, i64)>,
    last_ack: Option<u32>,
    acks: u64,
    close_acks: u64,
    /// The numbers and times of recent echo requests.
    requests: Vec<Option<(u16, i64)>>,
    last_request: Option<u16>,
    last_reply: Option<u16>,
    is_request_late: bool,
    is_reply_late: bool,
}

fn least(known: &mut Option<i64>, found: i64) {
    if found >= 0 {
        *known = Some(known.map_or(found, |known| known.min(found)));
    }
}

impl Watch {
    /// Processes a segment of the flow. `end` is the sequence number after the segment's last byte.
    pub fn segment(&mut self, end: Option<u32>, echo: Option<u32>, t_ns: i64) {
        if let (Some((stamp, since)), Some(echo)) = (self.stamped, echo) {
            if echo.wrapping_sub(stamp) as i32 >= 0 {
                least(&mut self.behind_ns, t_ns - since);
                self.stamped = None;
            }
        }
        let Some(end) = end else { return };
        if let Some((at, behind)) = self.answered.take() {
            self.acks += 1;
            self.close_acks += u64::from(behind.saturating_mul(5) <= t_ns - at);
        }
        self.last_forward_ns = Some(t_ns);
        if self.highest.is_none_or(|highest| end.wrapping_sub(highest) as i32 > 0) {
            self.highest = Some(end);
            self.newest = Some((end, t_ns));
            self.probe.get_or_insert((end, t_ns));
        }
    }

    /// Processes an acknowledgement in the opposite direction, which acknowledges data of the flow.
    pub fn ack(&mut self, ack: Ack, t_ns: i64) {
        if let Some((end, since)) = self.probe {
            if ack.seq.wrapping_sub(end) as i32 >= 0 {
                least(&mut self.ahead_ns, t_ns - since);
                self.probe = None;
            }
        }
        if let Some((_, since)) = self.newest.filter(|&(end, _)| end == ack.seq) {
            least(&mut self.ahead_ns, t_ns - since);
            self.newest = None;
        }
        let is_new = self.last_ack.is_none_or(|last| ack.seq.wrapping_sub(last) as i32 > 0);
        if is_new {
            self.last_ack = Some(ack.seq);
            if let (Some(since), None) = (self.last_forward_ns, self.answered) {
                self.answered = Some((t_ns, t_ns - since));
            }
        }
        // Only the first ACK with a new timestamp counts, because the sender may echo the timestamp as soon as it has
        // received this ACK.
        if let Some(stamp) = ack.stamp {
            if self.last_stamp.is_some_and(|last| last != stamp) && self.stamped.is_none() {
                self.stamped = Some((stamp, t_ns));
            }
            self.last_stamp = Some(stamp);
        }
    }

    /// Processes an echo request. Requests are processed even if replies are measured.
    pub fn request(&mut self, number: u16, t_ns: i64) {
        self.is_request_late |= is_late(&mut self.last_request, number);
        self.requests.resize(ECHOES, None);
        self.requests[usize::from(number) % ECHOES] = Some((number, t_ns));
    }

    /// Processes the reply to a request. `measured` tells whether replies are measured.
    pub fn reply(&mut self, number: u16, t_ns: i64, measured: bool) {
        let asked = self.requests.get_mut(usize::from(number) % ECHOES).and_then(Option::take);
        let Some((_, since)) = asked.filter(|&(asked, _)| asked == number) else { return };
        self.is_reply_late |= is_late(&mut self.last_reply, number);
        least(if measured { &mut self.behind_ns } else { &mut self.ahead_ns }, t_ns - since);
    }

    /// From the timing and the facts about both directions, returns where on the path the capture may have been made.
    pub fn verdict(&self, forward: &Facts, reverse: &Facts, replies_measured: bool) -> Verdict {
        let mut verdict = Verdict { places: vec![Place::Sender, Place::Middle, Place::Receiver], evidence: Vec::new() };
        self.by_link(forward, &mut verdict);
        self.by_hops(forward, reverse, &mut verdict);
        self.by_time(forward, reverse, &mut verdict);
        self.by_order(replies_measured, &mut verdict);
        verdict
    }

    fn by_link(&self, forward: &Facts, verdict: &mut Verdict) {
        match (forward.is_in, forward.is_past, forward.is_out) {
            (false, false, false) => {}
            (false, false, true) => verdict.rule_out(&[Place::Receiver], "its packets left this machine".into()),
            (true, false, false) => verdict.rule_out(&[Place::Sender], "its packets came to this machine".into()),
            _ => verdict.leave(Place::Middle, "its packets were on their way between other machines".into()),
        }
    }

    fn by_hops(&self, forward: &Facts, reverse: &Facts, verdict: &mut Verdict) {
        let told = |name: &str, facts: &Facts| {
            let (least, most) = facts.hops.unwrap_or_default();
            format!(
                "time to live of its {name}: {least}{}",
                if most > least { format!(" to {most}") } else { String::new() }
            )
        };
        let both = || format!("{}, {}", told("packets", forward), told("answers", reverse));
        match (forward.is_fresh(), reverse.is_fresh()) {
            (Some(true), Some(false)) => verdict.leave(Place::Sender, both()),
            (Some(false), Some(true)) => verdict.leave(Place::Receiver, both()),
            (Some(false), Some(false)) => verdict.leave(Place::Middle, both()),
            (Some(false), None) => verdict.rule_out(&[Place::Sender], told("packets", forward)),
            _ => {}
        }
    }

    fn by_time(&self, forward: &Facts, reverse: &Facts, verdict: &mut Verdict) {
        let (mut ahead, mut behind) = (self.ahead_ns, self.behind_ns);
        if let (Some((mine, answers)), Some((its, _))) = (forward.syn, reverse.syn) {
            let then = if answers { reverse.after_syn_ns } else { forward.after_syn_ns };
            let (first, second) = if answers { (&mut behind, &mut ahead) } else { (&mut ahead, &mut behind) };
            least(first, if answers { mine - its } else { its - mine });
            if let Some(then) = then {
                least(second, then - mine.max(its));
            }
        }
        let ms = |ns: i64| format!("{} ms", (ns / 1000) as f64 / 1e3);
        let after = |ahead: i64| format!("answers come {} behind its packets", ms(ahead));
        match (ahead, behind) {
            (Some(ahead), Some(behind)) if ahead + behind >= TRIP_LEAST_NS => {
                let place = match (ahead + behind) / NOTHING_DIVISOR {
                    nothing if ahead <= nothing => Place::Receiver,
                    nothing if behind <= nothing => Place::Sender,
                    _ => Place::Middle,
                };
                verdict.leave(place, format!("{}, its packets {} behind answers", after(ahead), ms(behind)));
            }
            (Some(ahead), None) if ahead >= ANSWER_MAX_NS => verdict.rule_out(&[Place::Receiver], after(ahead)),
            (Some(ahead), None)
                if ahead < ANSWER_MAX_NS / 2 && self.acks >= ACKS_LEAST && self.close_acks * 4 >= self.acks * 3 =>
            {
                verdict.leave(Place::Receiver, after(ahead));
            }
            (None, Some(behind)) if behind >= ANSWER_MAX_NS => {
                verdict.rule_out(&[Place::Sender], format!("its packets come {} behind what they answer", ms(behind)));
            }
            _ => {}
        }
    }

    fn by_order(&self, replies_measured: bool, verdict: &mut Verdict) {
        let (asks, answers) =
            if replies_measured { (Place::Receiver, Place::Sender) } else { (Place::Sender, Place::Receiver) };
        if self.is_request_late {
            verdict.rule_out(&[asks], "requests are out of order".into());
        } else if self.is_reply_late {
            verdict.rule_out(&[answers], "replies are out of order, requests are not".into());
        }
    }
}

impl Verdict {
    fn rule_out(&mut self, places: &[Place], evidence: String) {
        self.places.retain(|place| !places.contains(place));
        self.evidence.push(evidence);
    }

    fn leave(&mut self, place: Place, evidence: String) {
        self.places.retain(|&left| left == place);
        self.evidence.push(evidence);
    }
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(match self {
            Place::Sender => "sender",
            Place::Middle => "middle",
            Place::Receiver => "receiver",
        })
    }
}

/// Returns whether `number` is below the largest number so far. Numbers wrap around.
fn is_late(largest: &mut Option<u16>, number: u16) -> bool {
    let is_late = largest.is_some_and(|largest| (number.wrapping_sub(largest) as i16) < 0);
    if !is_late {
        *largest = Some(number);
    }
    is_late
}
