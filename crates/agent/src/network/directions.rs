// SPDX-License-Identifier: Apache-2.0
//! One direction of a link in the kernel: its queueing discipline, its initial values and its random stream.

use crate::base::error::{Error, Result};
use crate::network::aqm;
use crate::network::tc::{self, Direction, Jitter, Order};
use leowarp_timeline::setup::{Discipline, LinkKind, NodeKind, Queue, QueueKind, Setup};
use leowarp_timeline::tables;
use std::collections::BTreeSet;

/// Returns whether one of leowarp's queueing disciplines models this direction. On a jittered wire, only the direction
/// to the host is modelled, because a host's packets must leave immediately. If packets waited in the host's queueing
/// disciplines, the capture would not see them, but TCP would count them.
pub fn is_modelled(setup: &Setup, direction: usize) -> bool {
    let link = &setup.links[direction / 2];
    let sender = if direction % 2 == 0 { link.a } else { link.b };
    link.is_modelled() && (link.kind != LinkKind::Wire || setup.nodes[sender].kind != NodeKind::Host)
}

/// Returns the nodes without hosts that have at least one netem link.
pub fn netem_routers(setup: &Setup, host_of_node: &[Option<usize>]) -> BTreeSet<usize> {
    let by_netem = setup.links.iter().filter(|l| l.is_by_netem());
    by_netem.flat_map(|l| [l.a, l.b]).filter(|&node| host_of_node[node].is_none()).collect()
}

/// Refuses changes that require a new netem or tbf. With a new discipline, the queued packets would be lost.
pub fn refuse_what_netem_cannot(setup: &Setup, d: &Direction, before: Option<&Direction>) -> Result<()> {
    let Some(before) = before else { return Ok(()) };
    let has_values = |d: &Direction| setup.jitter_tables.get(d.jitter.table).is_some_and(|t| !t.values.is_empty());
    let what = if has_values(before) && !has_values(d) {
        "goes from a table of delays to netem's own distribution"
    } else if (before.rate_bps == 0) != (d.rate_bps == 0) {
        "begins or ceases to have a rate"
    } else {
        return Ok(());
    };
    Err(Error::Input(format!("direction {} is jittered and {what} while it is up", d.id)))
}

/// Returns the highest rate in a capacity table. None means that the direction has no rate.
pub fn highest_rate_bps(capacity: &[u8]) -> Option<u64> {
    tables::rows(capacity).map(|row| row.value).filter(|&rate_bps| rate_bps != tables::UNSHAPED).max()
}

pub fn initial_direction(setup: &Setup, d: usize) -> Direction {
    let link = &setup.links[d / 2];
    let (own, has_fifo) = (setup.direction(d), |q: &Queue| q.kind == QueueKind::Fifo);
    let link_limit = aqm::Limit {
        pkts: link.limit_pkts,
        bytes: link.limit_bytes,
        frame_bytes: setup.mtu_bytes + tc::ETHERNET_BYTES,
    };
    let limit = own.queue.as_ref().filter(|q| has_fifo(q)).map_or(link_limit, |q| aqm::Limit::of(q, link_limit));
    let stream = if link.discipline == Some(Discipline::Jitter) { "link.jitter" } else { "link.loss" };
    Direction {
        id: d as u32,
        rate_bps: 0,
        delay_ns: 0,
        loss_ratio: 0.0,
        limit_pkts: limit.pkts,
        limit_bytes: limit.bytes,
        overhead_bytes: link.overhead_bytes,
        seed: substream(setup.seed, stream, d as u64),
        down: false,
        jitter: Jitter::default(),
        has_capacity: own.capacity_rows > 0,
        has_channel: own.channel_rows > 0,
        in_order: own.in_order,
        probe_bytes: own.probe_bytes,
        order: order_of(setup, d),
        full_packet_bytes: setup.mtu_bytes,
    }
}

/// Returns how the direction numbers packets and restores their order. None means that the direction does neither. A
/// station numbers the packets that it sends to satellites. It also restores the order of the packets that it receives.
fn order_of(setup: &Setup, d: usize) -> Option<Order> {
    let (resequence, eliminates) = (setup.cures.resequence, setup.cures.duplicate_ns.is_some());
    if resequence.is_none() && !eliminates {
        return None;
    }
    let link = &setup.links[d / 2];
    let (sender, receiver) = if d % 2 == 0 { (link.a, link.b) } else { (link.b, link.a) };
    let is_station = |node: usize| setup.nodes[node].kind == NodeKind::Ground;
    let (numbers, restores) = (is_station(sender), is_station(receiver));
    (link.kind == LinkKind::Gsl).then_some(Order { resequence, eliminates, numbers, restores })
}

/// Returns the seed of the random stream `name`: the FNV-1a hash of the run's seed, the name and a number. A stream
/// does not depend on how many other streams exist.
pub fn substream(seed: u64, name: &str, number: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes()).chain(number.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
