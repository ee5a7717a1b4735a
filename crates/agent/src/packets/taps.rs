// SPDX-License-Identifier: Apache-2.0
//! Reads the packets of hosts' interfaces from taps in the guest kernel (guest/tap/taps.c). The frames of all
//! interfaces come in one sequence. The reader delays no packet, because it wakes only when the processor is idle.

use crate::base::error::{Error, Result};
use crate::packets::frame::Frame;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const FILE: &str = "/proc/leolink/taps";
/// The value of CHUNK_BYTES in taps.c.
const CHUNK_BYTES: usize = 256 << 10;
/// The size of struct tap_record.
const RECORD_BYTES: usize = 24;

/// The taps on interfaces, each with a number.
pub struct Taps {
    file: File,
    chunk: Vec<u8>,
}

impl Taps {
    /// Opens the file of the taps, without a tap. None means that this guest kernel has no taps.
    pub fn open() -> Result<Option<Self>> {
        match OpenOptions::new().read(true).write(true).open(FILE) {
            Ok(file) => Ok(Some(Self { file, chunk: vec![0; CHUNK_BYTES] })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Kernel { attempt: format!("open {FILE}"), source }),
        }
    }

    /// Adds a tap that captures the first `snap_bytes` of each frame of an interface in the calling thread's namespace.
    pub fn add(&mut self, ifindex: u32, number: usize, snap_bytes: u32) -> Result<()> {
        let wanted: Vec<u8> = [ifindex, number as u32, snap_bytes].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let attempt = || format!("tap interface {ifindex} (write to {FILE})");
        self.file.write_all(&wanted).map_err(|source| Error::Kernel { attempt: attempt(), source })
    }

    /// Returns the descriptor for poll(2).
    pub fn raw(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Processes the next full chunk. With `is_end`, a last chunk that is not full is also processed. `each` receives
    /// the tap's number and a frame, in order of time. Returns whether more data may be available.
    pub fn drain(&mut self, is_end: bool, mut each: impl FnMut(usize, &Frame) -> Result<()>) -> Result<bool> {
        match self.file.read_at(&mut self.chunk, u64::from(is_end)) {
            Ok(n) => records(&self.chunk[..n], &mut each).map(|()| n > 0),
            Err(e) if e.raw_os_error() == Some(libc::EOVERFLOW) => {
                Err(Error::Broken("packets passed faster than the capture could read them".into()))
            }
            Err(source) => Err(Error::Kernel { attempt: format!("read {FILE}"), source }),
        }
    }
}

fn records(mut chunk: &[u8], each: &mut impl FnMut(usize, &Frame) -> Result<()>) -> Result<()> {
    while let Some((head, rest)) = chunk.split_at_checked(RECORD_BYTES) {
        let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let kept_bytes = word(12) as usize;
        let frame = Frame {
            real_ns: (u64::from(word(4)) << 32 | u64::from(word(0))) as i64,
            outgoing: word(20) != 0,
            frame_bytes: word(8),
            data: &rest[..kept_bytes],
        };
        each(word(16) as usize, &frame)?;
        chunk = &rest[kept_bytes.next_multiple_of(8).min(rest.len())..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(real_ns: u64, number: u32, outgoing: u32, data: &[u8]) -> Vec<u8> {
        let words = [1500, data.len() as u32, number, outgoing];
        let mut bytes: Vec<u8> =
            real_ns.to_ne_bytes().into_iter().chain(words.iter().flat_map(|w| w.to_ne_bytes())).collect();
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn records_follow_each_other_at_multiples_of_eight_bytes() {
        let chunk = [record(7 << 32 | 1, 3, 1, &[1, 2, 3]), record(9, 0, 0, &[4; 8]), record(10, 1, 0, &[])].concat();
        let mut found = Vec::new();
        records(&chunk, &mut |number, frame| {
            found.push((number, frame.real_ns, frame.outgoing, frame.frame_bytes, frame.data.to_vec()));
            Ok(())
        })
        .expect("records");
        let expected = vec![
            (3, 7 << 32 | 1, true, 1500, vec![1, 2, 3]),
            (0, 9, false, 1500, vec![4; 8]),
            (1, 10, false, 1500, vec![]),
        ];
        assert_eq!(found, expected);
    }
}
