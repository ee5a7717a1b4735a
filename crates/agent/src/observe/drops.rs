// SPDX-License-Identifier: Apache-2.0
//! The packets that the guest's leolinks dropped, from /proc/leolink/drops. When this file is read, the records are
//! removed.

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::packets::truth::Loss;
use leowarp_timeline::record::{Drop, Missing};
use std::fs::File;
use std::io::Read;

/// The size of struct leolink_drop (guest/links/leolink.h).
const RECORD_BYTES: usize = 64;
const BUFFER_RECORDS: usize = 1024;

/// The file of drops. None means that the kernel has no leolink.
pub struct Drops {
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Drops {
    /// Opens /proc/leolink/drops, if the kernel has it (guest/links/leolink_proc.c).
    pub fn open() -> Self {
        Self { file: File::open("/proc/leolink/drops").ok(), buffer: vec![0; BUFFER_RECORDS * RECORD_BYTES] }
    }

    /// Calls `each` for each drop since the last call. The arguments are the drop's time, the loss, and up to 40 bytes
    /// of the packet from its IP header on.
    pub fn read(&mut self, clock: Clock, mut each: impl FnMut(i64, Loss, &[u8]) -> Result<()>) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut record = |r: &[u8]| {
            let word = |at: usize| u32::from_ne_bytes([r[at], r[at + 1], r[at + 2], r[at + 3]]);
            let t_ns = clock.of_monotonic_ns((u64::from(word(4)) << 32 | u64::from(word(0))) as i64);
            let captured = (word(20) as usize).min(40);
            each(t_ns, Loss { cause: word(12) as u8, direction: Some(word(8)) }, &r[24..24 + captured])
        };
        loop {
            let n = file
                .read(&mut self.buffer)
                .map_err(|source| Error::Kernel { attempt: "read /proc/leolink/drops".into(), source })?;
            self.buffer[..n].chunks_exact(RECORD_BYTES).try_for_each(&mut record)?;
            if n < self.buffer.len() {
                return Ok(());
            }
        }
    }
}

/// Returns the row of the table `drops` for a packet of which only the drop is known.
pub fn row(t_ns: i64, loss: Loss) -> Drop {
    Drop {
        t_ns,
        direction: loss.direction.unwrap_or(u32::MISSING),
        cause: loss.cause,
        flow: u32::MISSING,
        flow_direction: u8::MISSING,
        seq: u64::MISSING,
        len_bytes: u32::MISSING,
    }
}
