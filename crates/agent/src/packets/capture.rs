// SPDX-License-Identifier: Apache-2.0
//! The thread that turns captured packets and link drops into packet truth.
//!
//! The thread sleeps until data can be read ([`Wires`]). Departures are recorded immediately. Packet sockets deliver
//! their blocks at different moments. The thread therefore processes an arrival or a drop only when it has read the
//! sender's wire up to the same time.

use crate::base::clock::Clock;
use crate::base::context::Context;
use crate::base::ending::Ending;
use crate::base::error::{check, Error, Result};
use crate::base::table::Rows;
use crate::network::interfaces::interface_name;
use crate::network::Network;
use crate::observe::drops::{self, Drops};
use crate::observe::outcome::{FlowOutcome, Outcome};
use crate::observe::sample::LostBetweenLinks;
use crate::packets::acks::Acks;
use crate::packets::books::{Books, Programs};
use crate::packets::connections::{Connections, Lived};
use crate::packets::frame::{self, Foreign, Frame, Parsed};
use crate::packets::ledger::{lost_between_links, Ledger};
use crate::packets::pcapng::PcapNg;
use crate::packets::reordering::Reordering;
use crate::packets::short;
use crate::packets::subflows::Subflows;
use crate::packets::truth::{Loss, Numbers, Packet, Seen, Stream, CAUSE_NO_ROUTE, CAUSE_UNKNOWN, FLAG_ACK, FLAG_SYN};
use crate::packets::wires::{Wire, Wires, LAG_NS};
use leowarp_timeline::record::{AckWait, Drop};
use leowarp_timeline::setup::{Discipline, Flow, FlowKind, Link, LinkKind, Pcap, Setup};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The number of captured bytes. They contain the Ethernet and IP headers, and the TCP header or the datagram number.
const SNAP_HEADERS_BYTES: u32 = 64;
/// The number of captured bytes for IPv6, including the Ethernet header.
const SNAP_IPV6_BYTES: u32 = 14 + short::NEEDED_BYTES as u32;
const SYN_ACK: u8 = FLAG_SYN | FLAG_ACK;
/// A packet without an arrival or drop report counts as lost after this time, 60 s. Until this time, the packet and all
/// later packets stay in memory.
const SILENCE_NS: i64 = 60_000_000_000;

/// The time for which the run waits after the last packet. After this time, the capture thread has received all frames
/// and drop reports.
pub const FLUSH_NS: i64 = LAG_NS + 100_000_000;

/// The counts that the thread needs at the end of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// The number of packets that are inside links when the run ends. None means that at least one link does not count
    /// the packets inside the link.
    pub held_pkts: Option<u64>,
    pub lost_between_links: LostBetweenLinks,
}

/// A host whose packets are captured on its wire.
struct Host {
    index: usize,
    /// The run time up to which the wire has been read.
    read_until_ns: i64,
    arrivals: VecDeque<(usize, Seen)>,
    pcap: Option<PcapNg>,
}

impl Host {
    /// Opens the wire, and a file for its packets if requested.
    fn open(network: &Network, setup: &Setup, index: usize) -> Result<(Wire, Self)> {
        let first = |end: fn(&Flow) -> usize| setup.flows.first().is_some_and(|f| end(f) == index);
        let file = match setup.observe.pcap {
            Pcap::Source | Pcap::Both if first(|f| f.source) => Some("source.pcapng"),
            Pcap::Destination | Pcap::Both if first(|f| f.destination) => Some("destination.pcapng"),
            _ => None,
        };
        let node = setup.hosts[index].node;
        let wire = |l: &Link| l.kind == LinkKind::Wire && (l.a == node || l.b == node);
        let name = interface_name(setup.links.iter().position(wire).unwrap_or_default());
        let followed_bytes = if setup.is_ipv6() { SNAP_IPV6_BYTES } else { SNAP_HEADERS_BYTES };
        let kept_bytes = if file.is_some() { setup.observe.pcap_snap_bytes } else { 0 };
        let snap_bytes = kept_bytes.max(followed_bytes);
        let pcap = file.map(|f| PcapNg::create(f, &name, snap_bytes)).transpose()?;
        let wire = Wire { node, ifindex: network.wire_of(index)?, snap_bytes };
        Ok((wire, Self { index, read_until_ns: i64::MIN, arrivals: VecDeque::new(), pcap }))
    }

    /// Processes a frame on the wire. A departure is recorded immediately. An arrival is recorded later, when all
    /// earlier departures are known.
    fn see(
        &mut self,
        t_ns: i64,
        frame: &Frame,
        books: &mut Books,
        (own_flows, subflows): (usize, &Subflows),
        programs: &mut Programs,
        end_ns: i64,
    ) -> Result<()> {
        let Some(ip) = frame.ip() else { return Ok(()) };
        let shortened = short::is_ipv6(ip).then(|| short::short(ip));
        let ip = shortened.as_ref().map_or(ip, |bytes| &bytes[..]);
        let own = |p: &Parsed| p.flow < own_flows && books.flows[p.flow].kind == p.kind;
        let parsed = match subflows.parse(t_ns, ip).or_else(|| frame::parse(t_ns, ip)).filter(own) {
            Some(parsed) => parsed,
            None if programs.connections.is_idle() => return Ok(()),
            None => match programs.follow(books, t_ns, ip, (self.index, frame.outgoing), end_ns)? {
                Some(parsed) => parsed,
                None => return Ok(()),
            },
        };
        let flow = &books.flows[parsed.flow];
        let ends = [flow.source, flow.destination];
        let stream = 2 * parsed.flow + parsed.direction;
        if flow.subflow_of.is_some() && !frame.outgoing && parsed.seen.flags & SYN_ACK == SYN_ACK {
            programs.connected_ns.entry(parsed.flow).or_insert(t_ns);
        }
        let is_end = ends[if frame.outgoing { parsed.direction } else { 1 - parsed.direction }] == self.index;
        if is_end && flow.kind == FlowKind::Tcp && t_ns < end_ns {
            books.acks[parsed.flow].passes(&parsed, frame.outgoing);
        }
        if frame.outgoing && is_end {
            // Packets that leave after the run's end, such as resets from sockets that are closed, are not part of the
            // run.
            if t_ns < end_ns {
                let place = books.streams[stream].sent(parsed.seen);
                if let (Some(place), 0) = (place, parsed.direction) {
                    books.reordering.sent(parsed.flow, place, t_ns);
                }
            }
        } else if is_end {
            self.arrivals.push_back((stream, parsed.seen));
        }
        Ok(())
    }
}

struct Dropped {
    t_ns: i64,
    parsed: Option<Parsed>,
    foreign: Option<Foreign>,
    loss: Loss,
}

/// The state of the capture thread.
pub struct Capture {
    clock: Clock,
    ending: Arc<Ending>,
    books: Books,
    own_flows: usize,
    subflows: Subflows,
    programs: Programs,
    /// The wires, indexed by position in `hosts`.
    wires: Wires,
    hosts: Vec<Host>,
    ack_rows: Rows<AckWait>,
    drops: Drops,
    dropped: VecDeque<Dropped>,
    drop_rows: Rows<Drop>,
    /// The cause of loss that is recorded for packets that neither arrived nor were reported as dropped. `silent_pkts`
    /// is the number of these packets.
    silence: u8,
    silent_pkts: u64,
    failures: Vec<String>,
}

/// The running capture thread.
pub struct Capturing {
    event: i32,
    held: Arc<Mutex<Held>>,
    thread: JoinHandle<Outcome>,
}

impl Capturing {
    /// Ends the thread after the run. Returns its results.
    pub fn finish(self, held: Held) -> Result<Outcome> {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        let one = 1u64;
        // SAFETY: the value outlives the call.
        check(unsafe { libc::write(self.event, (&raw const one).cast(), 8) }, "end the capture")?;
        self.thread.join().map_err(|_| Error::Broken("the capture thread broke".into()))
    }
}

impl Capture {
    /// Starts capturing the wire of each host that has flows.
    pub fn open(context: &Context, network: &Network) -> Result<Self> {
        let Context { setup, events, clock, ending, header } = context;
        let has_flows = |host: &usize| setup.flows.iter().any(|f| f.source == *host || f.destination == *host);
        let hosts = (0..setup.hosts.len()).filter(has_flows).map(|host| Host::open(network, setup, host));
        let (looked_at, hosts): (Vec<_>, Vec<_>) = hosts.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let numbers = |f: &Flow| match f.kind {
            FlowKind::Tcp => Numbers::Tcp,
            FlowKind::Ping => Numbers::Packets(16),
            FlowKind::Udp | FlowKind::Program => Numbers::Packets(32),
        };
        // The size is that of the whole connection. It is not known in advance how much of the data a subflow will
        // carry.
        let size_bytes = |f: &Flow| f.size_bytes.filter(|_| !f.is_mptcp);
        // The links report their losses. If no link reports the loss of a packet, the packet was lost between links: it
        // had no route. If neighbours are resolved (ARP), the queue of an unresolved neighbour may also have dropped
        // the packet.
        let reports_all = |l: &Link| !l.is_modelled() || (l.discipline == Some(Discipline::Leolink) && !l.arp);
        let silence = if setup.links.iter().all(reports_all) { CAUSE_NO_ROUTE } else { CAUSE_UNKNOWN };
        let streams =
            setup.flows.iter().flat_map(|f| [Stream::new(numbers(f), size_bytes(f)), Stream::new(numbers(f), None)]);
        Ok(Self {
            clock: *clock,
            ending: ending.clone(),
            books: Books {
                flows: setup.flows.clone(),
                streams: streams.collect(),
                ledger: Ledger::create(setup, events, header)?,
                reordering: Reordering::create(setup, events, header)?,
                acks: setup.flows.iter().map(|_| Acks::default()).collect(),
            },
            own_flows: setup.flows.len(),
            subflows: Subflows::new(setup),
            programs: Programs {
                connections: Connections::new(setup),
                unfollowed_pkts: 0,
                connected_ns: BTreeMap::new(),
                addresses: setup.hosts.iter().map(|h| h.short_address()).collect(),
            },
            wires: Wires::open(network, setup.observe.capture, &looked_at)?,
            hosts,
            ack_rows: Rows::create(header)?,
            drops: Drops::open(),
            dropped: VecDeque::new(),
            drop_rows: Rows::create(header)?,
            silence,
            silent_pkts: 0,
            failures: Vec::new(),
        })
    }

    /// Starts the capture thread. If the thread fails, the run fails immediately.
    pub fn start(self) -> Result<Capturing> {
        // SAFETY: this is a plain system call.
        let event = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) }, "make an eventfd")?;
        let held = Arc::new(Mutex::new(Held::default()));
        let held_at_end = held.clone();
        let body = move || match self.run(event, &held_at_end) {
            Ok(outcome) => outcome,
            Err(e) => crate::base::say::fail(&e),
        };
        let thread = std::thread::Builder::new().name("capture".into()).spawn(body);
        let thread = thread.map_err(|source| Error::Kernel { attempt: "start the capture thread".into(), source })?;
        Ok(Capturing { event, held, thread })
    }

    fn run(mut self, event: i32, held: &Mutex<Held>) -> Result<Outcome> {
        let poll = |fd| libc::pollfd { fd, events: libc::POLLIN | libc::POLLPRI, revents: 0 };
        let mut fds: Vec<libc::pollfd> = self.wires.raw().into_iter().chain([event]).map(poll).collect();
        loop {
            // SAFETY: the descriptors outlive the call.
            check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as u64, -1) }, "wait for captured packets")?;
            let over = fds.last().is_some_and(|f| f.revents != 0);
            let has_drops = over || !self.wires.are_by_taps() || fds.iter().any(|f| f.revents & libc::POLLPRI != 0);
            // If more data arrive during this loop, the next poll returns at once.
            while self.read_wires(over)? && over {
                self.conclude(has_drops)?;
            }
            self.conclude(has_drops)?;
            if over {
                let held = *held.lock().unwrap_or_else(PoisonError::into_inner);
                return self.finish(held);
            }
        }
    }

    /// Matches packets up to the time to which the wires have been read, and passes settled packets on. Packets without
    /// a report count as lost if they were sent more than `SILENCE_NS` before this time.
    fn conclude(&mut self, has_drops: bool) -> Result<()> {
        if has_drops {
            self.read_drops()?;
        }
        let latest_ns = self.hosts.iter().map(|h| h.read_until_ns).max().unwrap_or(i64::MIN);
        let until = |h: &Host| h.read_until_ns.max(latest_ns.saturating_sub(LAG_NS));
        let until_ns = self.hosts.iter().map(until).min().unwrap_or(i64::MIN);
        self.match_until(until_ns)?;
        self.settle(until_ns.saturating_sub(SILENCE_NS))
    }

    /// Reads the wires. Returns whether more data may be available.
    fn read_wires(&mut self, is_end: bool) -> Result<bool> {
        let Self { clock, ending, books, own_flows, subflows, wires, hosts, programs, .. } = self;
        let end_ns = ending.end_ns();
        let has_more = wires.drain(is_end, |number, frame| {
            let host = &mut hosts[number];
            let t_ns = clock.of_real_ns(frame.real_ns);
            host.read_until_ns = t_ns;
            if let (Some(pcap), true) = (&mut host.pcap, t_ns >= 0) {
                pcap.push(t_ns, frame)?;
            }
            host.see(t_ns, frame, books, (*own_flows, subflows), programs, end_ns)
        })?;
        if wires.are_by_taps() {
            let latest_ns = hosts.iter().map(|h| h.read_until_ns).max().unwrap_or(i64::MIN);
            hosts.iter_mut().for_each(|h| h.read_until_ns = latest_ns);
        }
        Ok(has_more)
    }

    fn read_drops(&mut self) -> Result<()> {
        let Self { clock, drops, dropped, subflows, .. } = self;
        let is_idle = self.programs.connections.is_idle();
        drops.read(*clock, |t_ns, loss, ip| {
            let foreign = if is_idle { None } else { frame::parse_foreign(t_ns, ip) };
            let parsed = subflows.parse(t_ns, ip).or_else(|| frame::parse(t_ns, ip));
            dropped.push_back(Dropped { t_ns, parsed, foreign, loss });
            Ok(())
        })
    }

    /// Processes the arrivals and drops before `until_ns`, sorted by time. If copies of a packet cannot be
    /// distinguished, the first report counts for the copy that was sent first. The caller must first read all
    /// departures before `until_ns`. Departures exactly at `until_ns` need not have been read yet.
    fn match_until(&mut self, until_ns: i64) -> Result<()> {
        let end_ns = self.ending.end_ns();
        while let Some(drop) = pop_if(&mut self.dropped, |d| d.t_ns < until_ns) {
            self.match_arrivals_until(drop.t_ns);
            let mut row = drops::row(drop.t_ns, drop.loss);
            if let Some((flow, direction, seen)) = self.whose(&drop) {
                if let Some(seq) = self.books.streams[2 * flow + direction].dropped(&seen, drop.loss) {
                    row.flow = flow as u32;
                    row.flow_direction = direction as u8;
                    row.seq = seq.max(0) as u64;
                    row.len_bytes = seen.len_bytes;
                } else if drop.t_ns < end_ns {
                    // A packet that left after the run's end is not a loss of any flow: only the link counts it.
                    self.failures.push(format!("flow {flow}: a packet was dropped that never left: {seen:?}"));
                }
            }
            self.drop_rows.push(&row)?;
        }
        self.match_arrivals_until(until_ns);
        Ok(())
    }

    fn match_arrivals_until(&mut self, until_ns: i64) {
        let end_ns = self.ending.end_ns();
        for host in &mut self.hosts {
            while let Some((stream, seen)) = pop_if(&mut host.arrivals, |(_, seen)| seen.t_ns < until_ns) {
                match self.books.streams[stream].received(&seen) {
                    Some(packet) if stream % 2 == 0 => {
                        self.books.reordering.arrived(stream / 2, &packet);
                        self.books.ledger.arrived(stream / 2, &packet);
                    }
                    Some(_) => {}
                    None if seen.t_ns < end_ns => {
                        let (flow, direction) = (stream / 2, stream % 2);
                        self.failures.push(format!(
                            "flow {flow}, direction {direction}: a packet arrived that never left: {seen:?}"
                        ));
                    }
                    None => {}
                }
            }
        }
    }

    /// Returns the flow, direction and identity of a dropped packet. None means that the packet's flow is unknown.
    fn whose(&self, drop: &Dropped) -> Option<(usize, usize, Seen)> {
        let own = |p: &Parsed| p.flow < self.own_flows && self.books.flows[p.flow].kind == p.kind;
        if let Some(p) = drop.parsed.filter(own) {
            return Some((p.flow, p.direction, p.seen));
        }
        let packet = drop.foreign?;
        let sender = self.programs.addresses.iter().position(|&address| address == packet.tuple.from.0)?;
        let place = self.programs.connections.find(sender, &packet)?;
        Some((place.flow, place.direction, packet.seen))
    }

    fn settle(&mut self, silent_before_ns: i64) -> Result<()> {
        let Self { books: Books { streams, ledger, reordering, .. }, silence, silent_pkts, drop_rows, .. } = self;
        let mut result = Ok(());
        for (account, stream) in streams.iter_mut().enumerate() {
            stream.settle(silent_before_ns, *silence, |packet| {
                *silent_pkts += u64::from(packet.loss.is_some_and(|l| l.direction.is_none()));
                if result.is_ok() {
                    result = enter(account, packet, ledger, reordering, drop_rows);
                }
            });
        }
        result
    }

    /// Decides what happened to packets for which neither an arrival nor a drop was reported. Returns a warning if one
    /// is needed, and the number of packets whose loss no counter explains.
    fn judge_silence(&self, held: Held) -> (Option<String>, u64) {
        let between = held.lost_between_links;
        let (silent, elsewhere) = (self.silent_pkts, between.no_route_pkts + between.unresolved_pkts);
        if silent == 0 {
            return (None, 0);
        }
        if held.held_pkts.is_none() {
            return (Some(format!("{silent} packets were lost for a reason that netem does not tell")), 0);
        }
        let said = (self.silence == CAUSE_UNKNOWN)
            .then(|| format!("{silent} packets were lost waiting for a neighbour's address or for want of a route"));
        (said, silent.saturating_sub(elsewhere))
    }

    fn finish(mut self, held: Held) -> Result<Outcome> {
        self.match_until(i64::MAX)?;
        // Some packets without a report are still in links. The function assumes that the packets in links are those
        // that were sent last.
        let unsettled: usize = self.books.streams.iter_mut().map(|s| s.unsettled().count()).sum();
        let mut in_flight = held.held_pkts.unwrap_or(0).min(unsettled as u64) as usize;
        self.silent_pkts += (unsettled - in_flight) as u64;
        let (said, vanished_pkts) = self.judge_silence(held);
        let mut warnings: Vec<String> = said.into_iter().collect();
        if self.programs.unfollowed_pkts > 0 {
            let text =
                "packets that programs sent belong to no flow: they are neither TCP nor UDP between the two hosts \
                        of one, or fragments";
            warnings.push(format!("{} {text}", self.programs.unfollowed_pkts));
        }
        let mut latest: Vec<_> = self.books.streams.iter_mut().flat_map(|s| s.unsettled()).collect();
        latest.sort_by_key(|p| std::cmp::Reverse(p.sent_ns()));
        for packet in latest {
            if in_flight > 0 {
                in_flight -= 1;
            } else {
                packet.lose(Loss { cause: self.silence, direction: None });
            }
        }
        for (number, host) in self.hosts.iter_mut().enumerate() {
            let lost = self.wires.missed_pkts(number)?;
            if lost > 0 {
                self.failures.push(format!("the capture at host {} missed {lost} packets", host.index));
            }
            if let Some(pcap) = &mut host.pcap {
                pcap.flush()?;
            }
        }
        let Self { books, mut drop_rows, mut ack_rows, .. } = self;
        let Books { flows: ends, mut streams, mut ledger, mut reordering, acks } = books;
        for (flow, acks) in acks.iter().enumerate() {
            acks.rows(flow as u32).try_for_each(|row| ack_rows.push(&row))?;
        }
        ack_rows.flush()?;
        for (account, stream) in streams.iter_mut().enumerate() {
            let mut result = Ok(());
            stream.finish(|packet| {
                if result.is_ok() {
                    result = enter(account, packet, &mut ledger, &mut reordering, &mut drop_rows);
                }
            });
            result?;
        }
        drop_rows.flush()?;
        reordering.finish(self.ending.end_ns())?;
        let (totals, round_trips) = ledger.finish()?;
        let data = streams.iter().step_by(2).zip(round_trips);
        let flows = ends.iter().zip(&acks).enumerate();
        let flows = data.zip(flows).map(|((data, round_trips), (number, (flow, acks)))| {
            let (first_byte_ns, last_byte_ns, complete_ns) = data.times_ns();
            FlowOutcome {
                start_ns: flow.start_ns,
                connect_ns: self.programs.connected_ns.get(&number).copied(),
                first_byte_ns,
                last_byte_ns,
                complete_ns,
                arrived_bytes: Some(data.arrived_bytes()),
                duplicate_acks_pkts: (flow.kind == FlowKind::Tcp).then(|| acks.duplicates()),
                round_trips,
            }
        });
        let flows = flows.collect();
        let lived = self.programs.connections.all().iter().zip(self.own_flows..).zip(&ends[self.own_flows..]);
        let connections = lived.map(|((connection, flow), life)| Lived {
            flow,
            connection: connection.clone(),
            start_ns: life.start_ns,
            stop_ns: life.stop_ns,
            congestion_control: None,
        });
        let connections = connections.collect();
        Ok(Outcome { totals, flows, connections, vanished_pkts, warnings, failures: self.failures })
    }
}

/// Records a settled packet. The packets of one account must be passed in the order in which they were sent.
fn enter(
    account: usize,
    packet: &Packet,
    ledger: &mut Ledger,
    reordering: &mut Reordering,
    drop_rows: &mut Rows<Drop>,
) -> Result<()> {
    if account % 2 == 0 {
        reordering.settled(account / 2, packet.sent_ns)?;
    }
    ledger.enter(account, packet)?;
    lost_between_links(account, packet).map_or(Ok(()), |row| drop_rows.push(&row))
}

fn pop_if<T>(queue: &mut VecDeque<T>, wanted: impl Fn(&T) -> bool) -> Option<T> {
    queue.front().is_some_and(wanted).then(|| queue.pop_front()).flatten()
}
