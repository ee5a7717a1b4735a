// SPDX-License-Identifier: Apache-2.0
//! Writes rows for settled packets, and keeps the packet sums of each direction of a flow.

use crate::base::error::Result;
use crate::base::table::Rows;
use crate::packets::delays::{Delays, Extremes};
use crate::packets::truth::Packet;
use leowarp_timeline::event::Change;
use leowarp_timeline::record::{self, Bin, DelayBin, Drop, Echo, Missing};
use leowarp_timeline::setup::{FlowKind, Packets, Setup};
use leowarp_timeline::Event;
use std::collections::BTreeMap;

/// The width of a bin of the table `bins`.
pub const BIN_NS: i64 = 50_000_000;

const BECAUSE_WINDOW: u8 = 1;
const BECAUSE_LATE: u8 = 2;
const BECAUSE_LOST: u8 = 4;
const BECAUSE_RETRANSMISSION: u8 = 8;

/// The counts of packets and payload bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Sum {
    pub pkts: u64,
    pub bytes: u64,
}

impl Sum {
    /// Adds one packet with its payload.
    pub fn add(&mut self, len_bytes: u32) {
        self.pkts += 1;
        self.bytes += u64::from(len_bytes);
    }
}

/// The sums over all packets of a flow in one direction.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub sent: Sum,
    pub received: Sum,
    /// The lost packets by cause. The entry at index i is for cause i + 1.
    pub lost: [Sum; 5],
    pub in_flight: Sum,
}

impl Totals {
    /// Returns whether sent = received + lost + in flight, both in packets and in bytes.
    pub fn adds_up(&self) -> bool {
        let parts = self.lost.iter().chain([&self.received, &self.in_flight]);
        let (pkts, bytes) = parts.fold((0, 0), |(p, b), s| (p + s.pkts, b + s.bytes));
        (pkts, bytes) == (self.sent.pkts, self.sent.bytes)
    }
}

#[derive(Debug)]
struct Account {
    flow: usize,
    direction: u8,
    kind: FlowKind,
    bin: Option<Bin>,
    totals: Totals,
    /// The paths that packets of this direction take, in order of time. `path` counts the paths that have been valid so
    /// far.
    paths: Vec<(i64, Option<u32>)>,
    path: usize,
    window: usize,
    first_number: Option<i64>,
}

/// The tables that describe packets.
pub struct Ledger {
    packets: Packets,
    windows_ns: Vec<(i64, i64)>,
    accounts: Vec<Account>,
    /// The delays of each flow.
    delays: Vec<Delays>,
    bins: Rows<Bin>,
    delay_bins: Rows<DelayBin>,
    stored: Rows<record::Packet>,
    echoes: Rows<Echo>,
    pings: BTreeMap<(u32, u32), Echo>,
}

impl Ledger {
    /// Creates the tables of a run, with an account for each flow and direction.
    ///
    /// # Errors
    /// If a file cannot be created in the output directory.
    pub fn create(
        setup: &Setup,
        events: &[Event],
        header: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self> {
        let mut accounts = Vec::new();
        for (flow, spec) in setup.flows.iter().enumerate() {
            for (direction, ends) in
                [(spec.source, spec.destination), (spec.destination, spec.source)].into_iter().enumerate()
            {
                let path = |e: &Event| match e.change {
                    Change::Path { source, destination, path, .. } if (source, destination) == ends => {
                        Some((e.t_ns, path))
                    }
                    _ => None,
                };
                accounts.push(Account {
                    flow,
                    direction: direction as u8,
                    kind: spec.kind,
                    bin: None,
                    totals: Totals::default(),
                    paths: events.iter().filter_map(path).collect(),
                    path: 0,
                    window: 0,
                    first_number: None,
                });
            }
        }
        let mut bin_header = header.clone();
        bin_header.insert("bin_ns".into(), BIN_NS.into());
        Ok(Self {
            packets: setup.observe.packets,
            windows_ns: setup.observe.windows_ns.clone(),
            accounts,
            delays: setup.flows.iter().map(|f| Delays::new(f.kind)).collect(),
            bins: Rows::create(&bin_header)?,
            delay_bins: Rows::create(header)?,
            stored: Rows::create(header)?,
            echoes: Rows::create(header)?,
            pings: BTreeMap::new(),
        })
    }

    /// Adds accounts for a new flow, which is a connection between the hosts of the flow `like`.
    pub fn open(&mut self, like: usize, kind: FlowKind) {
        for direction in 0..2 {
            self.accounts.push(Account {
                flow: self.delays.len(),
                direction: direction as u8,
                kind,
                bin: None,
                totals: Totals::default(),
                paths: self.accounts[2 * like + direction].paths.clone(),
                path: 0,
                window: 0,
                first_number: None,
            });
        }
        self.delays.push(Delays::new(kind));
    }

    /// Records the arrival of a flow's data packet. Call this function in order of arrival.
    pub fn arrived(&mut self, flow: usize, packet: &Packet) {
        self.delays[flow].arrived(packet);
    }

    /// Records a settled packet. For each account (2 * flow + direction), pass the packets in send order.
    pub fn enter(&mut self, account: usize, packet: &Packet) -> Result<()> {
        let a = &mut self.accounts[account];
        a.totals.sent.add(packet.len_bytes);
        match (packet.received_ns, packet.loss) {
            (Some(_), _) => a.totals.received.add(packet.len_bytes),
            (None, Some(loss)) => a.totals.lost[usize::from(loss.cause.clamp(1, 5)) - 1].add(packet.len_bytes),
            (None, None) => a.totals.in_flight.add(packet.len_bytes),
        }
        let start_ns = packet.sent_ns - packet.sent_ns.rem_euclid(BIN_NS);
        if a.bin.is_none_or(|b| b.t_ns != start_ns) {
            if let Some(full) = a.bin.replace(empty_bin(start_ns, a.flow, a.direction)) {
                self.bins.push(&full)?;
            }
        }
        if let Some(bin) = &mut a.bin {
            count(bin, packet);
        }
        self.delays[a.flow].enter(a.direction, packet);
        // A program's datagram does not answer one particular datagram. Only pings and the agent's own datagrams
        // therefore have echoes.
        if a.kind == FlowKind::Ping || (a.kind == FlowKind::Udp && a.direction == 0) {
            self.echo(account, packet)?;
        }
        self.store(account, packet)
    }

    /// Writes the remaining rows. Returns the sums per account and the round trips per flow.
    pub fn finish(mut self) -> Result<(Vec<Totals>, Vec<Option<Extremes>>)> {
        for account in &self.accounts {
            account.bin.iter().try_for_each(|bin| self.bins.push(bin))?;
        }
        for (flow, delays) in self.delays.iter().enumerate() {
            delays.rows(flow as u32).try_for_each(|row| self.delay_bins.push(&row))?;
        }
        self.pings.values().try_for_each(|echo| self.echoes.push(echo))?;
        self.bins.flush()?;
        self.delay_bins.flush()?;
        self.stored.flush()?;
        self.echoes.flush()?;
        let round_trips = self.delays.iter().map(Delays::round_trips).collect();
        Ok((self.accounts.into_iter().map(|a| a.totals).collect(), round_trips))
    }

    fn echo(&mut self, account: usize, packet: &Packet) -> Result<()> {
        let a = &mut self.accounts[account];
        let first = *a.first_number.get_or_insert(packet.seq);
        let (flow, index) = (a.flow as u32, (packet.seq - first) as u32);
        let arrived = packet.received_ns.unwrap_or(i64::MISSING);
        if a.kind == FlowKind::Udp {
            let echo = Echo { flow, index, sent_ns: packet.sent_ns, received_ns: arrived, reply_ns: i64::MISSING };
            return self.echoes.push(&echo);
        }
        let empty = Echo { flow, index, sent_ns: i64::MISSING, received_ns: i64::MISSING, reply_ns: i64::MISSING };
        // A reply carries the number of its request, so `seq` is the request's index.
        let number = if a.direction == 0 { index } else { packet.seq as u32 };
        let echo = self.pings.entry((flow, number)).or_insert(Echo { index: number, ..empty });
        if a.direction == 0 {
            (echo.sent_ns, echo.received_ns) = (packet.sent_ns, arrived);
        } else {
            echo.reply_ns = arrived;
        }
        Ok(())
    }

    fn store(&mut self, account: usize, packet: &Packet) -> Result<()> {
        let a = &mut self.accounts[account];
        let mut because = 0;
        while self.windows_ns.get(a.window).is_some_and(|w| w.1 <= packet.sent_ns) {
            a.window += 1;
        }
        let in_window = self.windows_ns.get(a.window).is_some_and(|w| w.0 <= packet.sent_ns);
        if in_window || self.packets == Packets::All {
            because |= BECAUSE_WINDOW;
        }
        if packet.extent_pkts.is_some() {
            because |= BECAUSE_LATE;
        }
        if packet.loss.is_some() {
            because |= BECAUSE_LOST;
        }
        if packet.is_retransmission {
            because |= BECAUSE_RETRANSMISSION;
        }
        if because == 0 {
            return Ok(());
        }
        while a.paths.get(a.path).is_some_and(|p| p.0 <= packet.sent_ns) {
            a.path += 1;
        }
        let path = a.path.checked_sub(1).and_then(|i| a.paths[i].1);
        self.stored.push(&record::Packet {
            sent_ns: packet.sent_ns,
            received_ns: packet.received_ns.unwrap_or(i64::MISSING),
            flow: a.flow as u32,
            direction: a.direction,
            is_retransmission: u8::from(packet.is_retransmission),
            is_spurious: packet.is_spurious.map_or(u8::MISSING, u8::from),
            is_late: u8::from(packet.extent_pkts.is_some()),
            stored_because: because,
            drop_cause: packet.loss.map_or(u8::MISSING, |l| l.cause),
            drop_direction: packet.loss.and_then(|l| l.direction).unwrap_or(u32::MISSING),
            path_id: path.unwrap_or(u32::MISSING),
            extent_pkts: packet.extent_pkts.unwrap_or(u32::MISSING),
            len_bytes: packet.len_bytes,
            seq: packet.seq.max(0) as u64,
            ack: packet.ack.map_or(u64::MISSING, |a| a.max(0) as u64),
        })
    }
}

fn empty_bin(t_ns: i64, flow: usize, direction: u8) -> Bin {
    Bin {
        t_ns,
        flow: flow as u32,
        direction,
        sent_pkts: 0,
        sent_bytes: 0,
        delivered_pkts: 0,
        delivered_bytes: 0,
        lost_pkts: 0,
        late_pkts: 0,
        retrans_pkts: 0,
        spurious_pkts: 0,
        owd_min_ns: i64::MISSING,
        owd_max_ns: i64::MISSING,
        owd_sum_ns: 0,
    }
}

fn count(bin: &mut Bin, packet: &Packet) {
    bin.sent_pkts += 1;
    bin.sent_bytes += u64::from(packet.len_bytes);
    bin.lost_pkts += u32::from(packet.loss.is_some());
    bin.late_pkts += u32::from(packet.extent_pkts.is_some());
    bin.retrans_pkts += u32::from(packet.is_retransmission);
    bin.spurious_pkts += u32::from(packet.is_spurious == Some(true));
    if let Some(received_ns) = packet.received_ns {
        let delay_ns = received_ns - packet.sent_ns;
        bin.delivered_pkts += 1;
        bin.delivered_bytes += u64::from(packet.len_bytes);
        bin.owd_min_ns = if bin.owd_min_ns == i64::MISSING { delay_ns } else { bin.owd_min_ns.min(delay_ns) };
        bin.owd_max_ns = bin.owd_max_ns.max(delay_ns);
        bin.owd_sum_ns += delay_ns;
    }
}

/// Returns the row for a lost packet whose loss no link has reported. The row's time is the time of sending, because
/// the time of the loss is unknown.
pub fn lost_between_links(account: usize, packet: &Packet) -> Option<Drop> {
    let loss = packet.loss.filter(|loss| loss.direction.is_none())?;
    Some(Drop {
        t_ns: packet.sent_ns,
        direction: u32::MISSING,
        cause: loss.cause,
        flow: (account / 2) as u32,
        flow_direction: (account % 2) as u8,
        seq: packet.seq.max(0) as u64,
        len_bytes: packet.len_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::truth::Loss;

    fn packet(received_ns: Option<i64>, loss: Option<Loss>) -> Packet {
        Packet {
            sent_ns: 100,
            received_ns,
            loss,
            seq: 0,
            ack: None,
            len_bytes: 10,
            place: None,
            is_retransmission: false,
            is_spurious: None,
            extent_pkts: None,
        }
    }

    #[test]
    fn a_bin_without_arrivals_has_no_delays() {
        let mut bin = empty_bin(0, 1, 0);
        count(&mut bin, &packet(None, Some(Loss { cause: 1, direction: None })));
        assert_eq!((bin.sent_pkts, bin.lost_pkts, bin.delivered_pkts), (1, 1, 0));
        assert_eq!((bin.owd_min_ns, bin.owd_max_ns, bin.owd_sum_ns), (i64::MISSING, i64::MISSING, 0));
    }

    #[test]
    fn a_bin_counts_what_was_sent_in_it_and_its_delays() {
        let mut bin = empty_bin(0, 1, 0);
        let late = Packet { extent_pkts: Some(3), ..packet(Some(190), None) };
        let vain = Packet { is_retransmission: true, is_spurious: Some(true), ..packet(Some(140), None) };
        for p in [packet(Some(150), None), late, vain, packet(None, None)] {
            count(&mut bin, &p);
        }
        assert_eq!((bin.sent_pkts, bin.sent_bytes, bin.delivered_pkts, bin.delivered_bytes), (4, 40, 3, 30));
        assert_eq!((bin.late_pkts, bin.retrans_pkts, bin.spurious_pkts, bin.lost_pkts), (1, 1, 1, 0));
        assert_eq!((bin.owd_min_ns, bin.owd_max_ns, bin.owd_sum_ns), (40, 90, 180));
    }

    #[test]
    fn totals_add_up_in_packets_and_in_bytes() {
        let mut totals = Totals { sent: Sum { pkts: 3, bytes: 30 }, ..Totals::default() };
        totals.received.add(10);
        totals.lost[3].add(10);
        assert!(!totals.adds_up());
        totals.in_flight.add(9);
        assert!(!totals.adds_up());
        totals.in_flight.bytes += 1;
        assert!(totals.adds_up());
    }
}
