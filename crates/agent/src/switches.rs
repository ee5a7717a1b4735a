// SPDX-License-Identifier: Apache-2.0
//! What nodes did about route changes: /proc/leolink/switches, where what has been read is gone.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::table::Rows;
use leowarp_timeline::record::{Missing, Switch};
use leowarp_timeline::setup::Setup;
use std::fs::File;
use std::io::Read;

/// struct leolink_switched (guest/qdisc/leolink.h).
const RECORD_BYTES: usize = 88;
const BUFFER_RECORDS: usize = 256;

/// Writes the table `switches`, if the network does anything about route changes.
pub fn write_rows(context: &Context) -> Result<()> {
    if !context.setup.cures.any() {
        return Ok(());
    }
    let mut rows = Rows::create(&context.header)?;
    let hosts: Vec<[u8; 4]> = context.setup.hosts.iter().map(|host| host.address.octets()).collect();
    records(|r| {
        let address = [r[16], r[17], r[18], r[19]];
        let host = hosts.iter().position(|h| *h == address);
        let host = host.ok_or_else(|| Error::Input(format!("leolink switched packets for no host: {address:?}")))?;
        let hold_ns = long(r, 40);
        let held_back_pkts = long(r, 48);
        rows.push(&Switch {
            t_ns: context.clock.of_monotonic_ns(long(r, 0) as i64),
            from_direction: word(r, 8),
            to_direction: word(r, 12),
            host: host as u32,
            moved_pkts: long(r, 24),
            moved_bytes: long(r, 32),
            hold_ns: if hold_ns == 0 { i64::MISSING } else { hold_ns as i64 },
            held_back_pkts,
            held_back_bytes: long(r, 56),
            held_back_max_bytes: long(r, 64),
            held_back_longest_ns: if held_back_pkts == 0 { i64::MISSING } else { long(r, 72) as i64 },
            full_pkts: long(r, 80),
        })
    })?;
    rows.flush()
}

/// Forgets those of an earlier run of the same boot.
pub fn discard(setup: &Setup) -> Result<()> {
    if setup.cures.any() {
        records(|_| Ok(()))
    } else {
        Ok(())
    }
}

fn records(mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let path = "/proc/leolink/switches";
    let lacks = |source| Error::Kernel { attempt: format!("read {path}"), source };
    let mut file = File::open(path).map_err(lacks)?;
    let mut buffer = vec![0; BUFFER_RECORDS * RECORD_BYTES];
    loop {
        let n = file.read(&mut buffer).map_err(lacks)?;
        buffer[..n].chunks_exact(RECORD_BYTES).try_for_each(&mut each)?;
        if n < buffer.len() {
            return Ok(());
        }
    }
}

fn word(record: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}

fn long(record: &[u8], at: usize) -> u64 {
    u64::from(word(record, at + 4)) << 32 | u64::from(word(record, at))
}
