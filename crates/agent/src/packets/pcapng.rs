// SPDX-License-Identifier: Apache-2.0
//! Writes a pcapng file with one interface. The times in the file are relative to the run's start. Reference:
//! draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.

use crate::base::error::Result;
use crate::base::table::Output;
use crate::packets::frame::Frame;

/// A pcapng file.
#[derive(Debug)]
pub struct PcapNg(Output);

impl PcapNg {
    /// Creates the file with the section block, and the interface block with the interface's name. Frames may have at
    /// most `snap_bytes` bytes.
    pub fn create(file: &str, interface: &str, snap_bytes: u32) -> Result<Self> {
        let mut output = Output::create(file)?;
        begin(output.buffer(), interface, snap_bytes);
        Ok(Self(output))
    }

    /// Adds a frame that was captured at the run time `t_ns`.
    pub fn push(&mut self, t_ns: i64, frame: &Frame) -> Result<()> {
        packet(self.0.buffer(), t_ns, frame.frame_bytes, frame.data);
        self.0.relieve()
    }

    /// Writes buffered data. Callers must flush before they drop the file, because dropping the file writes nothing.
    pub fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

fn begin(out: &mut Vec<u8>, interface: &str, snap_bytes: u32) {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    block(out, 0x0a0d_0d0a, &body);
    // link type Ethernet; options: if_name, if_tsresol 10^-9, end of options
    let mut body = vec![1, 0, 0, 0];
    body.extend(snap_bytes.to_le_bytes());
    option(&mut body, 2, interface.as_bytes());
    option(&mut body, 9, &[9]);
    option(&mut body, 0, &[]);
    block(out, 1, &body);
}

fn packet(out: &mut Vec<u8>, t_ns: i64, frame_bytes: u32, data: &[u8]) {
    let padded = data.len().next_multiple_of(4);
    let total = (32 + padded) as u32;
    let t = t_ns as u64;
    for word in [6, total, 0, (t >> 32) as u32, t as u32, data.len() as u32, frame_bytes] {
        out.extend(word.to_le_bytes());
    }
    out.extend(data);
    out.resize(out.len() + padded - data.len(), 0);
    out.extend(total.to_le_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let total = (12 + body.len()) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(total.to_le_bytes());
    out.extend(body);
    out.extend(total.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_say_their_length_at_both_ends() {
        let mut out = Vec::new();
        begin(&mut out, "l12", 128);
        packet(&mut out, (7 << 32) + 5, 1514, &[1, 2, 3, 4, 5]);
        let (mut at, mut kinds) = (0, Vec::new());
        while at < out.len() {
            let word = |i: usize| u32::from_le_bytes([out[i], out[i + 1], out[i + 2], out[i + 3]]);
            let total = word(at + 4) as usize;
            assert_eq!((total % 4, word(at + total - 4) as usize), (0, total));
            kinds.push(word(at));
            if word(at) == 6 {
                assert_eq!([word(at + 12), word(at + 16), word(at + 20), word(at + 24)], [7, 5, 5, 1514]);
            }
            at += total;
        }
        assert_eq!((at, kinds), (out.len(), vec![0x0a0d_0d0a, 1, 6]));
    }
}
