// SPDX-License-Identifier: Apache-2.0
//! What nodes and stations did about route changes: /proc/leolink/switches and orders, where what has been read is gone.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::table::Rows;
use leowarp_timeline::record::{Missing, Order, Switch};
use leowarp_timeline::setup::Setup;
use std::fs::File;
use std::io::Read;

/// struct leolink_switched (guest/qdisc/leolink.h).
const SWITCHES: (&str, usize) = ("/proc/leolink/switches", 88);
/// struct leolink_ordered.
const ORDERS: (&str, usize) = ("/proc/leolink/orders", 64);
const BUFFER_RECORDS: usize = 256;

/// Writes the tables `switches` and `orders`, if the network does what they are about.
pub fn write_rows(context: &Context) -> Result<()> {
    let cures = &context.setup.cures;
    if cures.at_switches() {
        switches(context)?;
    }
    if cures.resequence.is_some() {
        orders(context)?;
    }
    Ok(())
}

fn switches(context: &Context) -> Result<()> {
    let mut rows = Rows::create(&context.header)?;
    records(SWITCHES, |r| {
        let hold_ns = long(r, 40);
        let held_back_pkts = long(r, 48);
        rows.push(&Switch {
            t_ns: context.clock.of_monotonic_ns(long(r, 0) as i64),
            from_direction: word(r, 8),
            to_direction: word(r, 12),
            host: host(context.setup, r, 16)?,
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

fn orders(context: &Context) -> Result<()> {
    let mut rows = Rows::create(&context.header)?;
    records(ORDERS, |r| {
        let protocol = word(r, 8);
        let is_flow = protocol != 0;
        let port = |at: usize| if is_flow { u32::from(u16::from_be_bytes([r[at], r[at + 1]])) } else { u32::MISSING };
        let waited_pkts = long(r, 24);
        rows.push(&Order {
            source_host: host(context.setup, r, 0)?,
            destination_host: host(context.setup, r, 4)?,
            protocol: if is_flow { protocol as u8 } else { u8::MISSING },
            source_port: port(12),
            destination_port: port(14),
            numbered_pkts: long(r, 16),
            waited_pkts,
            waiting_max_bytes: long(r, 32),
            longest_ns: if waited_pkts == 0 { i64::MISSING } else { long(r, 40) as i64 },
            given_up_pkts: long(r, 48),
            late_pkts: long(r, 56),
        })
    })?;
    rows.flush()
}

/// Forgets those of an earlier run of the same boot.
pub fn discard(setup: &Setup) -> Result<()> {
    if setup.cures.any() {
        records(SWITCHES, |_| Ok(()))?;
        records(ORDERS, |_| Ok(()))?;
    }
    Ok(())
}

/// The number of the host whose address stands in a record.
fn host(setup: &Setup, record: &[u8], at: usize) -> Result<u32> {
    let address = &record[at..at + 4];
    let number = setup.hosts.iter().position(|host| host.address.octets() == address);
    number.map(|n| n as u32).ok_or_else(|| Error::Input(format!("leolink has a record of no host: {address:?}")))
}

fn records((path, record_bytes): (&str, usize), mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let lacks = |source| Error::Kernel { attempt: format!("read {path}"), source };
    let mut file = File::open(path).map_err(lacks)?;
    let mut buffer = vec![0; BUFFER_RECORDS * record_bytes];
    loop {
        let n = file.read(&mut buffer).map_err(lacks)?;
        buffer[..n].chunks_exact(record_bytes).try_for_each(&mut each)?;
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
