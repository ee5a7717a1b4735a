// SPDX-License-Identifier: Apache-2.0
//! Counts the delays of all packets of a flow in narrow bins. The delays are the one-way delays of both directions, and
//! the round trips. This module has no side effects.
//!
//! The round trip of a data packet is its own one-way delay plus the one-way delay of a return packet. The return
//! packet is the first packet that is sent after the data packet's arrival and is not lost (see
//! python/leowarp/metrics/per_flow/round_trips.py). Data packets are reported when they arrive. Return packets are
//! reported in send order, once it is known whether they arrived. All data packets that arrived before a return packet
//! left are reported before this return packet. Each data packet stays in a queue until its return packet is known.

use crate::packets::truth::Packet;
use leowarp_timeline::record::{DelayBin, Missing};
use leowarp_timeline::setup::FlowKind;
use std::collections::VecDeque;

/// The value of `quantity` for round trips. For one-way delays, `quantity` is the direction of the packets.
pub const ROUND_TRIP: u8 = 2;

/// The number of bins per octave, as a power of two. The width of each bin is at most 1/128 of the delays in it.
const OCTAVE_BITS: u32 = 7;
/// The maximum width of a bin, 2^13 ns = 8.192 us.
const WIDEST_BITS: u32 = 13;
/// The number of bins allocated together, 4 KiB.
const PAGE: usize = 1024;
/// Each histogram and each queue reserves this many entries at the start. Unused entries cost no memory. Without this
/// reserve, entries would be allocated behind large buffers, which could then not grow in place. The first use of four
/// new pages takes 40 us. In this time, 2,000 packets can be counted.
const PAGES: usize = 32;
const WAITING: usize = 4096;
/// The entry of `Histogram::numbers` for a missing page.
const NO_PAGE: u32 = u32::MAX;

/// The number of packets in each bin. A bin is a range of delays.
#[derive(Debug)]
pub struct Histogram {
    /// For each page of bins, its index in `pages`.
    numbers: Vec<u32>,
    /// The counters of the bins. An overflow of a counter is detected, because the sum of all bins must equal the
    /// number of arrivals.
    pages: Vec<[u32; PAGE]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { numbers: Vec::with_capacity(PAGE), pages: Vec::with_capacity(PAGES) }
    }
}

impl Histogram {
    /// Counts a packet with this delay. metrics/conservation.py detects an overflow of the counter, because it compares
    /// the sum of the counts with the arrivals.
    pub fn count(&mut self, delay_ns: i64) {
        let place = place(delay_ns);
        let (page, within) = (place / PAGE, place % PAGE);
        let number = self.numbers.get(page).copied().filter(|&number| number != NO_PAGE);
        let number = number.unwrap_or_else(|| self.make(page));
        let bin = &mut self.pages[number as usize][within];
        *bin = bin.wrapping_add(1);
    }

    /// Allocates a page. The function is separate, so that no page is allocated on the caller's stack.
    #[cold]
    #[inline(never)]
    fn make(&mut self, page: usize) -> u32 {
        if page >= self.numbers.len() {
            self.numbers.resize(page + 1, NO_PAGE);
        }
        let number = self.pages.len() as u32;
        self.numbers[page] = number;
        self.pages.push([0; PAGE]);
        number
    }

    /// Returns a row for each bin that contains packets, sorted by delay.
    fn rows(&self, flow: u32, quantity: u8) -> impl Iterator<Item = DelayBin> + '_ {
        let pages = self.numbers.iter().enumerate().filter(|page| *page.1 != NO_PAGE);
        let pages = pages.map(|(i, &number)| (i, &self.pages[number as usize]));
        let bins = pages.flat_map(|(i, page)| page.iter().enumerate().map(move |(k, &pkts)| (i * PAGE + k, pkts)));
        bins.filter(|bin| bin.1 > 0).map(move |(place, pkts)| DelayBin {
            flow,
            quantity,
            lower_ns: lower_ns(place),
            upper_ns: lower_ns(place + 1),
            pkts,
        })
    }
}

/// The exact minimum, maximum and sum of delays. The bins do not give these values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes {
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
}

impl Extremes {
    fn with(this: Option<Self>, ns: i64) -> Self {
        let Self { min_ns, max_ns, sum_ns } = this.unwrap_or(Self { min_ns: ns, max_ns: ns, sum_ns: 0 });
        Self { min_ns: min_ns.min(ns), max_ns: max_ns.max(ns), sum_ns: sum_ns + ns }
    }
}

/// Returns the index of a delay's bin. All bins of an octave have the same width. From 2^20 ns on, bins have the
/// maximum width.
fn place(delay_ns: i64) -> usize {
    assert!(delay_ns >= 0, "a packet arrived {} ns before it left", -delay_ns);
    let ns = delay_ns as u64;
    let bits = (u64::BITS - ns.leading_zeros()).saturating_sub(OCTAVE_BITS + 1).min(WIDEST_BITS);
    ((u64::from(bits) << OCTAVE_BITS) + (ns >> bits)) as usize
}

/// Returns the smallest delay of a bin.
fn lower_ns(place: usize) -> i64 {
    let bits = ((place >> OCTAVE_BITS) as u32).saturating_sub(1).min(WIDEST_BITS);
    ((place - ((bits as usize) << OCTAVE_BITS)) as i64) << bits
}

/// The delays of one flow.
#[derive(Debug)]
pub struct Delays {
    ways: [Histogram; 2],
    /// The round trips of a TCP flow, whose packets are acknowledged in the opposite direction. None means that the
    /// flow is not TCP.
    round_trips: Option<RoundTrips>,
}

#[derive(Debug)]
struct RoundTrips {
    /// The arrival time and delay of each data packet without a return packet, in order of arrival.
    waiting: VecDeque<(i64, i64)>,
    answered: Histogram,
    extremes: Option<Extremes>,
}

impl Delays {
    /// Creates the delays of a flow. Round trips are counted only for TCP. `echoes` stores each round trip of a ping.
    pub fn new(kind: FlowKind) -> Self {
        let round_trips = (kind == FlowKind::Tcp).then(|| RoundTrips {
            waiting: VecDeque::with_capacity(WAITING),
            answered: Histogram::default(),
            extremes: None,
        });
        Self { ways: [Histogram::default(), Histogram::default()], round_trips }
    }

    /// Records that a data packet arrived. Calls must be in order of arrival.
    pub fn arrived(&mut self, packet: &Packet) {
        if let (Some(trips), Some(received_ns)) = (&mut self.round_trips, packet.received_ns) {
            trips.waiting.push_back((received_ns, received_ns - packet.sent_ns));
        }
    }

    /// Records a settled packet. Calls for one direction must be in send order.
    pub fn enter(&mut self, direction: u8, packet: &Packet) {
        let Some(received_ns) = packet.received_ns else { return };
        let delay_ns = received_ns - packet.sent_ns;
        self.ways[usize::from(direction)].count(delay_ns);
        let Some(trips) = self.round_trips.as_mut().filter(|_| direction == 1) else { return };
        while let Some(&(_, there_ns)) = trips.waiting.front().filter(|data| data.0 <= packet.sent_ns) {
            trips.answered.count(there_ns + delay_ns);
            trips.extremes = Some(Extremes::with(trips.extremes, there_ns + delay_ns));
            trips.waiting.pop_front();
        }
    }

    /// Returns the minimum, maximum and sum of the round trips. None means no round trips.
    pub fn round_trips(&self) -> Option<Extremes> {
        self.round_trips.as_ref()?.extremes
    }

    /// Returns the rows of the table `delays` for a flow. The last row has the number of data packets for which there
    /// is no return packet.
    pub fn rows(&self, flow: u32) -> impl Iterator<Item = DelayBin> + '_ {
        let ways = self.ways.iter().zip(0u8..).flat_map(move |(way, direction)| way.rows(flow, direction));
        let trips = self.round_trips.iter();
        ways.chain(trips.flat_map(move |trips| trips.answered.rows(flow, ROUND_TRIP).chain(trips.unanswered(flow))))
    }
}

impl RoundTrips {
    fn unanswered(&self, flow: u32) -> Option<DelayBin> {
        (!self.waiting.is_empty()).then_some(DelayBin {
            flow,
            quantity: ROUND_TRIP,
            lower_ns: i64::MISSING,
            upper_ns: i64::MISSING,
            pkts: self.waiting.len() as u32,
        })
    }
}

#[cfg(test)]
#[path = "delays_test.rs"]
mod tests;
