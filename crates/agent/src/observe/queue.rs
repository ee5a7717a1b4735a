// SPDX-License-Identifier: Apache-2.0
//! The queue lengths and traffic of each link. All leolinks are read together from /proc/leolink/links. Netems are read
//! from the queueing disciplines' statistics, with one dump per namespace. A jittered direction has a tbf with a netem
//! as its child discipline. The tbf's statistics are used, because they include packets that the netem holds or drops
//! (tbf_enqueue). A packet counts as sent as soon as the tbf has passed it on.

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::table::Rows;
use crate::network::directions::is_modelled;
use crate::network::leolink;
use crate::network::netlink::{attributes, RTM_GETQDISC};
use crate::network::Network;
use crate::observe::sample::{read_all, too_many};
use leowarp_timeline::record::{LinkTotal, Missing, Queue};
use leowarp_timeline::setup::Setup;
use std::collections::BTreeMap;
use std::fs::File;

/// The size of a record in /proc/leolink/links (guest/links/leolink.h).
const LINK_RECORD_BYTES: usize = 160;

const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;

/// The queues of all directions.
pub struct Queues {
    leolink: Option<File>,
    buffer: Vec<u8>,
    netems: Vec<usize>,
    /// For each direction, the values of the previous sample: waiting packets, waiting bytes, and a maximum. The
    /// maximum is the largest number of waiting packets in the interval before the sample.
    last: Vec<(u32, u64, u32)>,
}

/// The counts that the kernel has for every queueing discipline.
#[derive(Debug, Clone, Copy, Default)]
struct Statistics {
    sent_pkts: u32,
    sent_bytes: u64,
    held_pkts: u32,
    held_bytes: u32,
    dropped_pkts: u32,
}

impl Queues {
    /// Opens /proc/leolink/links if the kernel has it, and finds the netem directions.
    ///
    /// # Errors
    /// If the file exists but cannot be opened.
    pub fn open(setup: &Setup) -> Result<Self> {
        let path = "/proc/leolink/links";
        let leolink = leolink::open(path, File::options().read(true))?;
        let directions = 2 * setup.links.len();
        let is_netem = |d: &usize| setup.links[d / 2].is_by_netem() && is_modelled(setup, *d);
        Ok(Self {
            leolink,
            buffer: vec![0; directions * LINK_RECORD_BYTES + 4096],
            netems: (0..directions).filter(is_netem).collect(),
            last: vec![(0, 0, 0); directions],
        })
    }

    /// Returns the size of the buffer into which /proc/leolink/links is read. If the file's content is longer than the
    /// buffer, reading fails. None means that the file does not exist.
    pub fn links_bytes(&self) -> Option<usize> {
        self.leolink.as_ref().map(|_| self.buffer.len())
    }

    /// Adds a row for each queue that changed since the last sample. `links` is the content of /proc/leolink/links at
    /// `t_ns`. None means that `sample` must read the file.
    pub fn sample(&mut self, rows: &mut Rows<Queue>, network: &Network, t_ns: i64, links: Option<&[u8]>) -> Result<()> {
        for (direction, s) in self.netem_statistics(network)? {
            let now = (s.held_pkts, u64::from(s.held_bytes), u32::MISSING);
            let before = std::mem::replace(&mut self.last[direction], now);
            if (before.0, before.1) != (now.0, now.1) {
                rows.push(&Queue {
                    t_ns,
                    direction: direction as u32,
                    queue_pkts: now.0,
                    queue_bytes: now.1,
                    queue_max_pkts: u32::MISSING,
                })?;
            }
        }
        let Some(file) = &self.leolink else { return Ok(()) };
        let records = match links {
            Some(links) if links.len() + LINK_RECORD_BYTES > self.buffer.len() => {
                return Err(too_many(self.buffer.len()))
            }
            Some(links) => links,
            None => {
                let n = read_all(file, &mut self.buffer)?;
                &self.buffer[..n]
            }
        };
        whole_records(records.len())?;
        for record in records.chunks_exact(LINK_RECORD_BYTES) {
            let (id, pkts, bytes, max) = (word(record, 0), word(record, 4), long(record, 8), word(record, 16));
            let now = (pkts, bytes, max);
            let last = self.last.get_mut(id as usize).ok_or_else(|| unknown(id))?;
            if *last != now {
                *last = now;
                rows.push(&Queue { t_ns, direction: id, queue_pkts: pkts, queue_bytes: bytes, queue_max_pkts: max })?;
            }
        }
        Ok(())
    }

    /// Returns the total traffic of each direction since the run's start.
    pub fn totals(&mut self, network: &Network, clock: Clock) -> Result<Vec<LinkTotal>> {
        let netems = self.netem_statistics(network)?;
        let mut out: Vec<LinkTotal> = netems.into_iter().map(|(d, s)| netem_total(d as u32, &s)).collect();
        let Some(file) = &self.leolink else { return Ok(out) };
        let n = read_all(file, &mut self.buffer)?;
        whole_records(n)?;
        let leolinks = self.buffer[..n].chunks_exact(LINK_RECORD_BYTES).map(|r| LinkTotal {
            direction: word(r, 0),
            offered_pkts: long(r, 24),
            offered_bytes: long(r, 32),
            delivered_pkts: long(r, 40),
            delivered_bytes: long(r, 48),
            dropped_queue_pkts: long(r, 56),
            dropped_loss_pkts: long(r, 64),
            dropped_down_pkts: long(r, 72),
            dropped_queue_bytes: long(r, 80),
            dropped_loss_bytes: long(r, 88),
            dropped_down_bytes: long(r, 96),
            held_pkts: long(r, 104),
            held_bytes: long(r, 112),
            queue_max_pkts: word(r, 20),
            busy_ns: long(r, 120),
            run_queue_max_pkts: word(r, 20),
            run_queue_max_pkts_at_ns: instant(clock, long(r, 144)),
            run_queue_max_bytes: long(r, 136),
            run_queue_max_bytes_at_ns: instant(clock, long(r, 152)),
        });
        out.extend(leolinks);
        out.sort_by_key(|t| t.direction);
        Ok(out)
    }

    fn netem_statistics(&self, network: &Network) -> Result<BTreeMap<usize, Statistics>> {
        let mut places = BTreeMap::new();
        for &direction in &self.netems {
            if let Some((node, ifindex)) = network.sending_side(direction) {
                places.entry(node).or_insert_with(BTreeMap::new).insert(ifindex, direction);
            }
        }
        let mut out = BTreeMap::new();
        for (node, interfaces) in places {
            network.route_socket(node).dump(RTM_GETQDISC, &[0; 20], |body| {
                if body.len() >= 20 && word(body, 12) == TC_H_ROOT {
                    if let Some(&direction) = interfaces.get(&word(body, 4)) {
                        out.insert(direction, statistics(&body[20..]));
                    }
                }
            })?;
        }
        Ok(out)
    }
}

fn statistics(attrs: &[u8]) -> Statistics {
    let mut out = Statistics::default();
    for (_, stats) in attributes(attrs).filter(|a| a.0 == TCA_STATS2) {
        for (kind, value) in attributes(stats) {
            match kind {
                TCA_STATS_BASIC if value.len() >= 12 => {
                    (out.sent_bytes, out.sent_pkts) = (long(value, 0), word(value, 8))
                }
                TCA_STATS_QUEUE if value.len() >= 12 => {
                    (out.held_pkts, out.held_bytes, out.dropped_pkts) =
                        (word(value, 0), word(value, 4), word(value, 8));
                }
                _ => {}
            }
        }
    }
    out
}

/// Returns the totals of a netem. These totals cannot be verified, because netem does not count offered packets,
/// dropped bytes or causes of drops.
fn netem_total(direction: u32, s: &Statistics) -> LinkTotal {
    LinkTotal {
        direction,
        offered_pkts: u64::MISSING,
        offered_bytes: u64::MISSING,
        delivered_pkts: s.sent_pkts.into(),
        delivered_bytes: s.sent_bytes,
        dropped_queue_pkts: s.dropped_pkts.into(),
        dropped_queue_bytes: u64::MISSING,
        dropped_loss_pkts: u64::MISSING,
        dropped_loss_bytes: u64::MISSING,
        dropped_down_pkts: u64::MISSING,
        dropped_down_bytes: u64::MISSING,
        held_pkts: s.held_pkts.into(),
        held_bytes: s.held_bytes.into(),
        queue_max_pkts: u32::MISSING,
        busy_ns: u64::MISSING,
        run_queue_max_pkts: u32::MISSING,
        run_queue_max_pkts_at_ns: i64::MISSING,
        run_queue_max_bytes: u64::MISSING,
        run_queue_max_bytes_at_ns: i64::MISSING,
    }
}

/// Replaces the maximum queue lengths in `totals` with those of the reading `earlier`.
pub fn with_maxima_of(totals: Vec<LinkTotal>, earlier: &[LinkTotal]) -> Vec<LinkTotal> {
    let then: BTreeMap<u32, &LinkTotal> = earlier.iter().map(|t| (t.direction, t)).collect();
    let with = |t: LinkTotal| match then.get(&t.direction) {
        Some(e) => LinkTotal {
            run_queue_max_pkts: e.run_queue_max_pkts,
            run_queue_max_pkts_at_ns: e.run_queue_max_pkts_at_ns,
            run_queue_max_bytes: e.run_queue_max_bytes,
            run_queue_max_bytes_at_ns: e.run_queue_max_bytes_at_ns,
            ..t
        },
        None => t,
    };
    totals.into_iter().map(with).collect()
}

/// Converts a timestamp of leolink to run time. 0 means that no packet has ever waited.
fn instant(clock: Clock, at_ns: u64) -> i64 {
    if at_ns == 0 {
        i64::MISSING
    } else {
        clock.of_monotonic_ns(at_ns as i64)
    }
}

/// Fails if the records do not have the expected length. An older leolink has shorter records, which this program would
/// misread.
fn whole_records(bytes: usize) -> Result<()> {
    if bytes % LINK_RECORD_BYTES == 0 {
        return Ok(());
    }
    Err(Error::Broken(format!(
        "/proc/leolink/links has {bytes} bytes, which are no records of {LINK_RECORD_BYTES}: the kernel was built by \
         another version of leowarp; build it again from its tree"
    )))
}

fn unknown(id: u32) -> Error {
    Error::Broken(format!("/proc/leolink/links speaks of direction {id}, which is not in the setup"))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at + 4)) << 32 | u64::from(word(bytes, at))
}
