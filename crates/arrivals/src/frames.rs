// SPDX-License-Identifier: Apache-2.0
//! Reads the frames of pcap and pcapng files incrementally. Both byte orders are supported.
//!
//! References: draft-ietf-opsawg-pcap-05 and draft-ietf-opsawg-pcapng-03. The reader differs from these drafts in one
//! point: it skips all pcapng blocks except section, interface and packet blocks. The reader does not check the length
//! at the end of a skipped block.

use crate::error::{Error, Result};
use crate::skips::Reason;

/// The maximum length of a frame, which is libpcap's own limit (MAXIMUM_SNAPLEN). A file with a longer frame is
/// damaged.
const FRAME_MAX_BYTES: u32 = 262_144;
/// The maximum length of a block: the longest frame, with options.
const BLOCK_MAX_BYTES: u32 = 2 * FRAME_MAX_BYTES;
const INTERFACES_MAX: usize = 65_536;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

/// A captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The index of the frame in the file, counted from 1.
    pub number: u64,
    /// The offset of the frame's record in the file.
    pub at: u64,
    /// The time of the frame. None means that the frame is in a simple packet block, which stores no time.
    pub t_ns: Option<i64>,
    pub link_type: u16,
    pub data: &'a [u8],
    /// The length on the wire.
    pub original_bytes: u32,
}

/// A packet in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    Frame(Frame<'a>),
    /// The packet cannot be read, but the packets after it can be read.
    Unreadable(Reason),
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u16,
    per_second: u128,
    offset_s: i64,
    snap_bytes: u32,
}

#[derive(Debug)]
enum Format {
    Unknown,
    Pcap { big_endian: bool, unit_ns: i64, link_type: u16 },
    Pcapng { big_endian: bool, interfaces: Vec<Option<Interface>> },
}

/// Splits a file into frames.
#[derive(Debug)]
pub struct Frames {
    format: Format,
    /// The bytes of an incomplete element (header, record or block).
    pending: Vec<u8>,
    /// The offset of `pending` in the file.
    at: u64,
    /// The number of bytes that will be skipped.
    skip: u64,
    /// The number of frames so far.
    frames: u64,
}

/// The result of one step of splitting the file.
enum Step {
    /// This many bytes of `pending` were processed, and can be removed.
    Done(usize),
    /// The next step needs this many bytes in `pending`.
    Need(usize),
}

impl Frames {
    /// Creates a reader for the beginning of a file.
    pub fn new() -> Self {
        Frames { format: Format::Unknown, pending: Vec::new(), at: 0, skip: 0, frames: 0 }
    }

    /// Reads the next bytes of the file, and passes complete frames to `on_record`.
    pub fn feed(&mut self, chunk: &[u8], mut on_record: impl FnMut(Record) -> Result<()>) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.pending);
        buffer.extend_from_slice(chunk);
        let mut begin = 0;
        loop {
            let skipped = self.skip.min((buffer.len() - begin) as u64);
            self.skip -= skipped;
            self.at += skipped;
            begin += skipped as usize;
            if self.skip > 0 || begin == buffer.len() {
                break;
            }
            match self.step(&buffer[begin..], &mut on_record)? {
                Step::Done(bytes) => {
                    begin += bytes;
                    self.at += bytes as u64;
                }
                Step::Need(_) => break,
            }
        }
        buffer.drain(..begin);
        self.pending = buffer;
        Ok(())
    }

    /// Fails if the file ended inside an element.
    pub fn finish(&mut self) -> Result<()> {
        let end = self.at + self.pending.len() as u64;
        let cut = |what: String, from: u64, to: u64| Err(Error::CutShort { what, from, to, end });
        if self.skip > 0 {
            return cut("a block".into(), self.at, self.at + self.skip);
        }
        if self.pending.is_empty() && !matches!(self.format, Format::Unknown) {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let needed = match self.step(&pending, &mut |_| Ok(()))? {
            Step::Need(bytes) => bytes as u64,
            // `feed` has already done all steps that are possible.
            Step::Done(_) => return Ok(()),
        };
        let what = match self.format {
            Format::Unknown => "the header".into(),
            Format::Pcap { .. } => format!("packet {}", self.frames + 1),
            Format::Pcapng { .. } => format!("the block after packet {}", self.frames),
        };
        cut(what, self.at, self.at + needed)
    }

    fn step(&mut self, bytes: &[u8], on_record: &mut impl FnMut(Record) -> Result<()>) -> Result<Step> {
        match &mut self.format {
            Format::Unknown => self.begin(bytes),
            &mut Format::Pcap { big_endian, unit_ns, link_type } => {
                let read = Reader { bytes, big_endian };
                let Some(captured) = read.word(8) else { return Ok(Step::Need(16)) };
                let (number, at) = (self.frames + 1, self.at);
                check_length(captured, number, at)?;
                let length = 16 + captured as usize;
                let (Some(data), Some(original_bytes)) = (bytes.get(16..length), read.word(12)) else {
                    return Ok(Step::Need(length));
                };
                let (seconds, fraction) = (read.word(0).unwrap_or(0), read.word(4).unwrap_or(0));
                let t_ns = Some(i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit_ns);
                self.frames = number;
                // The captured part of a packet cannot be longer than the packet, so one of the two lengths is damaged.
                on_record(if captured > original_bytes {
                    Record::Unreadable(Reason::Record)
                } else {
                    Record::Frame(Frame { number, at, t_ns, link_type, data, original_bytes })
                })?;
                Ok(Step::Done(length))
            }
            Format::Pcapng { .. } => self.block(bytes, on_record),
        }
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<Step> {
        let Some(&[a, b, c, d]) = bytes.get(..4) else { return Ok(Step::Need(24)) };
        let magic = [a, b, c, d];
        if u32::from_be_bytes(magic) == SECTION {
            self.format = Format::Pcapng { big_endian: false, interfaces: Vec::new() };
            return Ok(Step::Done(0));
        }
        let (big_endian, unit_ns) = match u32::from_be_bytes(magic) {
            0xa1b2_c3d4 => (true, 1000),
            0xa1b2_3c4d => (true, 1),
            0xd4c3_b2a1 => (false, 1000),
            0x4d3c_b2a1 => (false, 1),
            _ => return Err(Error::NoCapture(magic)),
        };
        let Some(link) = (Reader { bytes, big_endian }).word(20) else { return Ok(Step::Need(24)) };
        // Only the lower half is the link type; the upper half describes the frame check sequence.
        self.format = Format::Pcap { big_endian, unit_ns, link_type: link as u16 };
        Ok(Step::Done(24))
    }

    fn block(&mut self, bytes: &[u8], on_record: &mut impl FnMut(Record) -> Result<()>) -> Result<Step> {
        let Format::Pcapng { big_endian, interfaces } = &mut self.format else { return Ok(Step::Need(0)) };
        let at = self.at;
        let malformed = |why: &str| Error::Malformed { what: "the block".into(), at, why: why.into() };
        if bytes.len() < 12 {
            return Ok(Step::Need(12));
        }
        // The magic number of a section block has the same bytes in both byte orders.
        let begins_section = bytes[..4] == SECTION.to_be_bytes();
        if begins_section {
            *big_endian = match bytes[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return Err(malformed("the section has no byte-order magic")),
            };
        }
        let read = Reader { bytes, big_endian: *big_endian };
        let (Some(kind), Some(length)) = (read.word(0), read.word(4)) else { return Ok(Step::Need(12)) };
        if length < 12 || length % 4 != 0 {
            return Err(malformed(&format!("it says it is {length} bytes long, which no block can be")));
        }
        if !begins_section && !matches!(kind, INTERFACE | PACKET | SIMPLE | ENHANCED) {
            self.skip = u64::from(length);
            return Ok(Step::Done(0));
        }
        if length > BLOCK_MAX_BYTES {
            return Err(malformed(&format!("it says it is {length} bytes long, more than {BLOCK_MAX_BYTES}")));
        }
        let Some(block) = bytes.get(..length as usize) else { return Ok(Step::Need(length as usize)) };
        let read = Reader { bytes: block, big_endian: *big_endian };
        if read.word(block.len() - 4) != Some(length) {
            return Err(malformed("the length at its end is another than the one at its begin"));
        }
        let body = Reader { bytes: &block[8..block.len() - 4], big_endian: *big_endian };
        // A reader must not read a major version that it does not know (draft-ietf-opsawg-pcapng, 4.1).
        if begins_section && body.half(4).is_some_and(|major| major != 1) {
            return Err(malformed("the section is of another major version of pcapng than 1"));
        }
        match kind {
            _ if begins_section => interfaces.clear(),
            INTERFACE if interfaces.len() >= INTERFACES_MAX => {
                return Err(malformed(&format!("it describes more than {INTERFACES_MAX} interfaces")));
            }
            INTERFACE => interfaces.push(interface(&body)),
            _ => {
                self.frames += 1;
                on_record(record(kind, &body, interfaces, self.frames, at))?;
            }
        }
        Ok(Step::Done(block.len()))
    }
}

fn check_length(captured: u32, number: u64, at: u64) -> Result<()> {
    if captured > FRAME_MAX_BYTES {
        let why = format!("it says it holds {captured} bytes, more than any capture's {FRAME_MAX_BYTES}");
        return Err(Error::Malformed { what: format!("packet {number}"), at, why });
    }
    Ok(())
}

/// Parses the packet in a block. An inconsistent packet does not affect other blocks, because the length of the block
/// itself is correct.
fn record<'a>(kind: u32, body: &Reader<'a>, interfaces: &[Option<Interface>], number: u64, at: u64) -> Record<'a> {
    let Some(Described { interface, ticks, captured, original_bytes, from }) = described(kind, body, interfaces) else {
        return Record::Unreadable(Reason::Record);
    };
    let Some(data) = body.bytes.get(from..).and_then(|rest| rest.get(..captured as usize)) else {
        return Record::Unreadable(Reason::Record);
    };
    if captured > original_bytes {
        return Record::Unreadable(Reason::Record);
    }
    let t_ns = match ticks.map(|ticks| instant_ns(ticks, &interface)) {
        Some(None) => return Record::Unreadable(Reason::Time),
        known => known.flatten(),
    };
    Record::Frame(Frame { number, at, t_ns, link_type: interface.link_type, data, original_bytes })
}

/// A packet in a block: its interface, time, captured length, original length, and the data's offset in the block's
/// body.
struct Described {
    interface: Interface,
    ticks: Option<u64>,
    captured: u32,
    original_bytes: u32,
    from: usize,
}

fn described(kind: u32, body: &Reader, interfaces: &[Option<Interface>]) -> Option<Described> {
    let of = |number: u32| interfaces.get(number as usize).copied().flatten();
    if kind == SIMPLE {
        let (interface, original_bytes) = (of(0)?, body.word(0)?);
        let limit = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
        // A simple packet block does not contain the captured length, and its data are padded to 4 bytes. The captured
        // length is computed from the original length and the interface's limit.
        let captured = original_bytes.min(limit);
        return Some(Described { interface, ticks: None, captured, original_bytes, from: 4 });
    }
    let number = if kind == PACKET { body.half(0).map(u32::from) } else { body.word(0) };
    let interface = of(number?)?;
    let ticks = Some(u64::from(body.word(4)?) << 32 | u64::from(body.word(8)?));
    Some(Described { interface, ticks, captured: body.word(12)?, original_bytes: body.word(16)?, from: 20 })
}

/// Parses the description of an interface. None means that the description is inconsistent. The packets of this
/// interface cannot be read, but the packets of other interfaces can be read.
fn interface(body: &Reader) -> Option<Interface> {
    let mut found =
        Interface { link_type: body.half(0)?, per_second: 1_000_000, offset_s: 0, snap_bytes: body.word(4)? };
    let mut at = 8;
    while let (Some(code), Some(length)) = (body.half(at), body.half(at + 2)) {
        let value = body.bytes.get(at + 4..at + 4 + usize::from(length))?;
        match (code, value) {
            (OPTION_END, _) => break,
            (OPTION_TSRESOL, &[power]) if power & 0x80 != 0 => found.per_second = 1 << (power & 0x7f),
            (OPTION_TSRESOL, &[power]) => found.per_second = 10u128.checked_pow(power.into())?,
            (OPTION_TSOFFSET, _) => found.offset_s = body.long(at + 4).filter(|_| length == 8)? as i64,
            _ => {}
        }
        at += 4 + usize::from(length).next_multiple_of(4);
    }
    Some(found)
}

fn instant_ns(ticks: u64, interface: &Interface) -> Option<i64> {
    let since = u128::from(ticks).checked_mul(1_000_000_000)? / interface.per_second;
    let offset_ns = i128::from(interface.offset_s) * 1_000_000_000;
    i64::try_from(offset_ns.checked_add(i128::try_from(since).ok()?)?).ok()
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Reader<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn half(&self, at: usize) -> Option<u16> {
        self.array(at).map(if self.big_endian { u16::from_be_bytes } else { u16::from_le_bytes })
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.array(at).map(if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes })
    }

    fn long(&self, at: usize) -> Option<u64> {
        self.array(at).map(if self.big_endian { u64::from_be_bytes } else { u64::from_le_bytes })
    }
}
