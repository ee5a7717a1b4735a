// SPDX-License-Identifier: Apache-2.0
//! Records what nodes and stations did at route changes. When /proc/leolink/switches, merges or orders is read, the
//! records are removed. When /proc/leolink/nodes is read, nothing is removed.

use crate::base::context::Context;
use crate::base::error::{Error, Result};
use crate::base::table::Rows;
use leowarp_timeline::record::{Merge, Missing, NodeTotal, Notice, Order, Switch};
use leowarp_timeline::setup::Setup;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

/// The file and record size of struct leolink_switched (guest/cures/leolink_cures.h).
const SWITCHES: (&str, usize) = ("/proc/leolink/switches", 112);
/// The file and record size of struct leolink_ordered.
const ORDERS: (&str, usize) = ("/proc/leolink/orders", 72);
/// The file and record size of struct leolink_merged.
const MERGES: (&str, usize) = ("/proc/leolink/merges", 80);
/// The file and record size of struct leolink_node_record.
const NODES: (&str, usize) = ("/proc/leolink/nodes", 64);
/// The file and record size of struct leolink_noticed.
const NOTICES: (&str, usize) = ("/proc/leolink/notices", 64);
const BUFFER_RECORDS: usize = 256;
/// The value of REFUSED_IN_FLIGHT in leolink.h.
const IN_FLIGHT: u32 = 4;

/// Writes the cures' tables: `switches`, `merges`, `orders`, `nodetotals`.
pub fn write_rows(context: &Context) -> Result<()> {
    let cures = &context.setup.cures;
    if !cures.any() {
        return Ok(());
    }
    // this table comes first, because reading the other files drops the packets that still wait. Dropping them would
    // change the nodes' counts
    node_totals(context)?;
    if cures.at_switches() {
        switches(context)?;
    }
    if cures.resequence.is_some() || cures.duplicate_ns.is_some() {
        orders(context)?;
    }
    if cures.notify.is_some() {
        notices(context)?;
    }
    Ok(())
}

/// Returns a map from marker number to record. Each record comes from the node where the old and the new path meet.
fn merges() -> Result<BTreeMap<u32, [u8; MERGES.1]>> {
    let mut out = BTreeMap::new();
    records(MERGES, |r| {
        let mut record = [0; MERGES.1];
        record.copy_from_slice(r);
        out.insert(word(r, 8), record);
        Ok(())
    })?;
    Ok(out)
}

fn switches(context: &Context) -> Result<()> {
    let cures = &context.setup.cures;
    let is_wanted = cures.move_queue.is_some() || cures.hold.is_some() || cures.duplicate_ns.is_some();
    let mut rows = is_wanted.then(|| Rows::create(&context.header)).transpose()?;
    let mut marked = cures.end_marker.is_some().then(|| Rows::create(&context.header)).transpose()?;
    let merges = merges()?;
    records(SWITCHES, |r| {
        let (moved_pkts, hold_ns) = (long(r, 32), long(r, 48));
        let row = switch(context, r)?;
        if let Some(marked) = &mut marked {
            marked.push(&merge(context, &row, word(r, 24), merges.get(&word(r, 20))))?;
        }
        match &mut rows {
            Some(rows) if moved_pkts > 0 || hold_ns > 0 || cures.duplicate_ns.is_some() || word(r, 24) == IN_FLIGHT => {
                rows.push(&row)
            }
            _ => Ok(()),
        }
    })?;
    rows.map_or(Ok(()), |mut rows| rows.flush())?;
    marked.map_or(Ok(()), |mut rows| rows.flush())
}

fn switch(context: &Context, r: &[u8]) -> Result<Switch> {
    let hold_ns = long(r, 48);
    let held_back_pkts = long(r, 56);
    let refused = word(r, 24);
    let copies = |at: usize| match context.setup.cures.duplicate_ns {
        Some(_) if refused == 0 => long(r, at),
        _ => u64::MISSING,
    };
    Ok(Switch {
        t_ns: context.clock.of_monotonic_ns(long(r, 0) as i64),
        from_direction: word(r, 8),
        to_direction: word(r, 12),
        host: host(context.setup, r, 16)?,
        moved_pkts: long(r, 32),
        moved_bytes: long(r, 40),
        hold_ns: if hold_ns == 0 { i64::MISSING } else { hold_ns as i64 },
        held_back_pkts,
        held_back_bytes: long(r, 64),
        held_back_max_bytes: long(r, 72),
        held_back_longest_ns: if held_back_pkts == 0 { i64::MISSING } else { long(r, 80) as i64 },
        full_pkts: long(r, 88),
        copied_pkts: copies(96),
        copied_bytes: copies(104),
        // if no marker was sent, the row of the table `merges` contains the reason
        refused: match refused {
            IN_FLIGHT => refused as u8,
            _ if context.setup.cures.duplicate_ns.is_none() || refused == 0 => u8::MISSING,
            _ => refused as u8,
        },
    })
}

fn merge(context: &Context, switch: &Switch, refused: u32, record: Option<&[u8; MERGES.1]>) -> Merge {
    let time = |ns: u64| if ns == 0 { i64::MISSING } else { context.clock.of_monotonic_ns(ns as i64) };
    let count = |at: usize| record.map_or(u64::MISSING, |r| long(r, at));
    let number = |at: usize| record.map_or(u32::MISSING, |r| word(r, at));
    let instant = |at: usize| record.map_or(i64::MISSING, |r| time(long(r, at)));
    Merge {
        t_ns: switch.t_ns,
        from_direction: switch.from_direction,
        to_direction: switch.to_direction,
        host: switch.host,
        refused: if refused == 0 || refused == IN_FLIGHT { u8::MISSING } else { refused as u8 },
        marker: number(8),
        old_direction: number(12),
        new_direction: number(16),
        marker_ns: instant(24),
        ended_ns: instant(32),
        waited_pkts: count(40),
        waited_bytes: count(48),
        waiting_max_bytes: count(56),
        longest_ns: record.filter(|r| long(&r[..], 40) > 0).map_or(i64::MISSING, |r| long(r, 64) as i64),
        full_pkts: count(72),
    }
}

/// Returns the number of packets that links have delivered and that nodes hold at present.
pub fn held_behind_links_pkts(setup: &Setup) -> Result<u64> {
    let mut held_pkts = 0;
    if setup.cures.any() {
        records(NODES, |r| {
            held_pkts += long(r, 56);
            Ok(())
        })?;
    }
    Ok(held_pkts)
}

fn node_totals(context: &Context) -> Result<()> {
    let setup = context.setup;
    let names: Vec<&str> = setup.nodes.iter().map(|node| &node.name[..]).collect();
    let mut rows = Rows::create(&context.header_with("nodes", names.into()))?;
    let mut all = BTreeMap::new();
    records(NODES, |r| {
        let direction = word(r, 0) as usize;
        let link = &setup.links[direction / 2];
        // in the direction from a to b, a sends and b receives
        let is_a = (direction % 2 == 0) != (word(r, 4) != 0);
        let held_max_bytes = long(r, 24);
        let node = if is_a { link.a } else { link.b } as u32;
        let row = NodeTotal {
            node,
            held_pkts: long(r, 8),
            held_bytes: long(r, 16),
            held_max_bytes,
            held_max_at_ns: match held_max_bytes {
                0 => i64::MISSING,
                _ => context.clock.of_monotonic_ns(long(r, 32) as i64),
            },
            signals_pkts: long(r, 40),
            signals_bytes: long(r, 48),
        };
        all.insert(node, row);
        Ok(())
    })?;
    all.values().try_for_each(|row| rows.push(row))?;
    rows.flush()
}

fn notices(context: &Context) -> Result<()> {
    let mut rows = Rows::create(&context.header)?;
    let lead_ns = context.setup.cures.notify.as_ref().map_or(0, |notify| (-notify.delay_ns).max(0));
    // the records are sorted by number here, because they come in the order of the nodes that send the notices
    let mut all = BTreeMap::new();
    records(NOTICES, |r| {
        let flags = word(r, 12);
        let sent_ns = long(r, 32);
        let is_false = flags & 2 != 0;
        let row = Notice {
            // the record contains the time at which leolink received the message. For a notice ahead, this is one lead
            // time before the change
            t_ns: context.clock.of_monotonic_ns(long(r, 0) as i64) + if is_false { 0 } else { lead_ns },
            number: word(r, 8),
            to_direction: word(r, 16),
            told_host: host(context.setup, r, 20)?,
            destination_host: host(context.setup, r, 24)?,
            is_false: u8::from(is_false),
            is_lost: u8::from(flags & 1 != 0),
            sent_ns: if sent_ns == 0 { i64::MISSING } else { context.clock.of_monotonic_ns(sent_ns as i64) },
            old_delay_ns: long(r, 40) as i64,
            new_delay_ns: long(r, 48) as i64,
            wait_ns: long(r, 56) as i64,
        };
        all.insert(row.number, row);
        Ok(())
    })?;
    all.values().try_for_each(|row| rows.push(row))?;
    rows.flush()
}

fn orders(context: &Context) -> Result<()> {
    let duplicates = context.setup.cures.duplicate_ns.is_some();
    let mut rows = Rows::create(&context.header)?;
    records(ORDERS, |r| {
        // Packets that a node itself sends (ICMP) do not have a host as source.
        let Some(source_host) = host_of(context.setup, r, 0) else { return Ok(()) };
        let protocol = word(r, 8);
        let is_flow = protocol != 0;
        let port = |at: usize| if is_flow { u32::from(u16::from_be_bytes([r[at], r[at + 1]])) } else { u32::MISSING };
        let waited_pkts = long(r, 24);
        rows.push(&Order {
            source_host,
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
            eliminated_pkts: if duplicates { long(r, 64) } else { u64::MISSING },
        })
    })?;
    rows.flush()
}

/// Returns the host whose address is at offset `at` of a record.
fn host(setup: &Setup, record: &[u8], at: usize) -> Result<u32> {
    let address = &record[at..at + 4];
    host_of(setup, record, at).ok_or_else(|| Error::Input(format!("leolink has a record of no host: {address:?}")))
}

/// Returns the host whose address is at offset `at` of a record. None means that no host has the address.
fn host_of(setup: &Setup, record: &[u8], at: usize) -> Option<u32> {
    let number = setup.hosts.iter().position(|host| host.short_address().to_be_bytes() == record[at..at + 4]);
    number.map(|n| n as u32)
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
