// SPDX-License-Identifier: Apache-2.0
//! Plays the run from time 0 on. One thread sleeps until a task is due, and performs all tasks of that instant in a
//! fixed order. If a sample and an event are due at the same instant, the sample shows the network before the event.

use crate::base::context::Context;
use crate::base::error::{Error, Result};
use crate::base::table::Rows;
use crate::flows::tcp::Transfer;
use crate::flows::tcp_info::Infos;
use crate::flows::{program, Flows};
use crate::network::{Network, PathChange};
use crate::observe::diag::Diag;
use crate::observe::drops::{self, Drops};
use crate::observe::queue::Queues;
use crate::observe::sample::{self, Counters, LostBetweenLinks};
use crate::observe::subflows::Subflows;
use crate::packets::connections::Lived;
use leowarp_timeline::record::{Counter, Drop, LinkTotal, Queue, Socket};
use leowarp_timeline::setup::{Ends, FlowKind, Setup};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

const PROGRESS_NS: i64 = 1_000_000_000;

/// The kinds of tasks. If several tasks are due at the same instant, they are performed in the order of these variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Queues,
    Counters,
    Sockets,
    /// All events of an instant. The value is the index of the first event.
    Events(usize),
    /// The stop of the transfer with this index.
    Stop(usize),
    /// The stop of the program with this index.
    StopProgram(usize),
    /// The program with this index is killed, GRACE_NS after it was stopped.
    KillProgram(usize),
    /// The false notice with this index is sent.
    FalseNotice(usize),
    /// The notices about the route changes that happen at a later instant. The value is the index of that instant's
    /// first event.
    NoticesAhead(usize),
    /// A packet of a probe flow is sent. The values are the index of the probe flow and the packet's number.
    Probe(usize, u64),
    Progress,
}

/// The player of a run.
pub struct Player<'a> {
    context: Context<'a>,
    network: Network<'a>,
    flows: Flows,
    /// For each transfer, whether its last sample was taken. The last sample is taken after the transfer's end.
    looked_last: Vec<bool>,
    /// The flows whose end the run waits for, each with its end time or None.
    awaited: Vec<(usize, Option<i64>)>,
    counters: Counters,
    queues: Queues,
    infos: Infos,
    socket_rows: Rows<Socket>,
    /// The sampler of programs' sockets.
    diag: Option<Diag>,
    /// The sampler of Multipath TCP subflows.
    subflows: Option<Subflows>,
    counter_rows: Rows<Counter>,
    queue_rows: Rows<Queue>,
    /// The reader of the links' drop reports, and the table into which it writes. With packet truth, the value is None,
    /// because the capture thread writes the table `drops`.
    drops: Option<(Drops, Rows<Drop>)>,
}

/// The remaining tasks.
type Agenda = BinaryHeap<Reverse<(i64, Due)>>;

/// Returns the flows that end by themselves. The run waits for their end.
fn awaited(setup: &Setup) -> Vec<(usize, Option<i64>)> {
    let has_end = |i: &usize| match setup.flows[*i].kind {
        FlowKind::Tcp => setup.flows[*i].size_bytes.is_some() && setup.flows[*i].subflow_of.is_none(),
        FlowKind::Ping | FlowKind::Udp => setup.flows[*i].packets.is_some(),
        FlowKind::Program => setup.flows[*i].program.as_ref().is_some_and(|p| p.expect_exit.is_some()),
    };
    (0..setup.flows.len()).filter(|i| setup.ends == Ends::Flows && has_end(i)).map(|i| (i, None)).collect()
}

impl<'a> Player<'a> {
    /// Opens the sampled files and the tables.
    pub fn open(context: &Context<'a>, network: Network<'a>, flows: Flows) -> Result<Self> {
        let Context { setup, header, .. } = context;
        let counters = Counters::open(&network, setup)?;
        let counter_rows = Rows::create(&context.header_with("names", counters.names().into()))?;
        let drops = if setup.observe.truth { None } else { Some((Drops::open(), Rows::create(header)?)) };
        let diag = Diag::open(&network, setup)?;
        let subflows = Subflows::open(&network, setup)?;
        Ok(Self {
            looked_last: vec![false; flows.transfers.len()],
            network,
            flows,
            diag,
            subflows,
            awaited: awaited(setup),
            counters,
            queues: Queues::open(setup)?,
            infos: Infos::open()?,
            socket_rows: Rows::create(header)?,
            counter_rows,
            queue_rows: Rows::create(header)?,
            drops,
            context: context.clone(),
        })
    }

    /// Starts the threads that run the flows.
    pub fn start_flows(&mut self) -> Result<()> {
        self.flows.start(&self.context)
    }

    /// Returns all bulk transfers.
    pub fn transfers(&self) -> &[Transfer] {
        &self.flows.transfers
    }

    /// Ends programs that still run after SIGTERM. Returns how each program ended.
    pub fn end_programs(&mut self) -> Result<Vec<serde_json::Value>> {
        program::end_all(self.context.ending.end_ns(), &self.flows.programs)
    }

    /// Returns the traffic of each link direction up to now.
    pub fn link_totals(&mut self) -> Result<Vec<LinkTotal>> {
        self.queues.totals(&self.network, self.context.clock)
    }

    /// Returns the number of packets whose time to live ended in a routing loop.
    pub fn expired_pkts(&self) -> Result<u64> {
        let is_ipv6 = self.context.setup.is_ipv6();
        self.network.routers().map(|node| self.network.inside(node, || sample::expired_pkts(is_ipv6))).sum()
    }

    /// Returns the number of packets lost between links so far.
    pub fn lost_between_links(&self) -> Result<LostBetweenLinks> {
        if !self.context.setup.is_ipv6() {
            return LostBetweenLinks::so_far();
        }
        // IPv6 has no counter for the whole guest
        let no_route = self.network.routers().map(|node| self.network.inside(node, sample::no_route_pkts));
        Ok(LostBetweenLinks { no_route_pkts: no_route.sum::<Result<u64>>()?, unresolved_pkts: 0 })
    }

    /// Plays the timeline from its event `first` until the run is over.
    pub fn play(&mut self, first: usize) -> Result<()> {
        let mut agenda = self.agenda(first);
        self.note_ends(&mut agenda);
        self.context.clock.sleep_until(0)?;
        let (mut now_ns, mut rung) = (0, 0);
        while let Some(&Reverse((t_ns, what))) = agenda.peek() {
            if t_ns > self.context.ending.end_ns() {
                break;
            }
            if t_ns > now_ns {
                if !self.sleep_until(t_ns, what, rung)? {
                    rung = self.context.ending.rung();
                    self.note_ends(&mut agenda);
                    continue;
                }
                now_ns = t_ns;
            }
            agenda.pop();
            match self.carry_out(t_ns, what)? {
                Some(next) => agenda.push(Reverse(next)),
                None => self.note_ends(&mut agenda),
            }
        }
        Ok(())
    }

    /// Returns the tasks that are known at the start of the run: the first occurrence of each repeated task, the first
    /// event, and the stops of flows.
    fn agenda(&mut self, first: usize) -> Agenda {
        let mut agenda = Agenda::new();
        let mut add = |t_ns: i64, what: Due| agenda.push(Reverse((t_ns, what)));
        for (what, period_ns) in self.periodic() {
            if let Some(period_ns) = period_ns {
                add(period_ns, what);
            }
        }
        if let Some(event) = self.context.events.get(first) {
            add(event.t_ns, Due::Events(first));
        }
        for (i, transfer) in self.flows.transfers.iter().enumerate() {
            add(self.context.setup.flows[transfer.flow].stop_ns, Due::Stop(i));
        }
        for (i, program) in self.flows.programs.iter().enumerate() {
            add(self.context.setup.flows[program.flow].stop_ns, Due::StopProgram(i));
        }
        for (i, probe) in self.flows.probes.iter().enumerate() {
            match probe.due_ns(0) {
                Some(t_ns) => add(t_ns, Due::Probe(i, 0)),
                None => note_end(&mut self.awaited, probe.flow, 0),
            }
        }
        if let Some(notify) = &self.context.setup.cures.notify {
            for (place, &(t_ns, ..)) in notify.r#false.iter().enumerate() {
                add(t_ns, Due::FalseNotice(place));
            }
            for (event, t_ns) in Network::told_ahead(self.context.events, first, notify.delay_ns) {
                add(t_ns, Due::NoticesAhead(event));
            }
        }
        if self.context.setup.observe.counters_ns.is_none() {
            add(self.context.ending.end_ns(), Due::Counters);
        }
        agenda
    }

    /// Sleeps until the task `what` is due at `t_ns`. Returns false if a flow ended before `t_ns`.
    fn sleep_until(&mut self, t_ns: i64, what: Due, rung: u32) -> Result<bool> {
        self.infos.forget();
        if !self.awaited.is_empty() {
            return self.context.ending.sleep_until(self.context.clock, t_ns, rung);
        }
        let clock = self.context.clock;
        let sockets_ns = self.context.setup.observe.sockets_ns;
        let are_both_sampled = what == Due::Queues && sockets_ns.is_some_and(|period_ns| t_ns % period_ns == 0);
        if let Some(links_bytes) = self.queues.links_bytes().filter(|_| are_both_sampled) {
            let transfers = &self.flows.transfers;
            // The call of `sample::sleep_until` queries the transfers in `looked_at`. All other transfers are queried
            // separately.
            let is_asked = |i: &usize| !transfers[*i].is_mptcp() && self.is_looked_at(t_ns, *i);
            let looked_at = (0..transfers.len()).filter(is_asked).map(|i| &transfers[i]);
            let looked_at: Vec<&Transfer> = looked_at.collect();
            if sample::sleep_until(&mut self.infos, clock.monotonic_ns(t_ns), &looked_at, links_bytes)? {
                return Ok(true);
            }
        }
        clock.sleep_until(t_ns).map(|_| true)
    }

    /// If all flows that the run waits for have ended, sets the end of the run. Also adds the tasks that are due at the
    /// run's end.
    fn note_ends(&mut self, agenda: &mut Agenda) {
        if self.awaited.is_empty() {
            return;
        }
        for (flow, end_ns) in self.flows.ends_ns() {
            note_end(&mut self.awaited, flow, end_ns);
        }
        let Some(ends_ns) = self.awaited.iter().map(|a| a.1).collect::<Option<Vec<i64>>>() else { return };
        self.awaited.clear();
        let end_ns = ends_ns.into_iter().max().unwrap_or_default().saturating_add(self.context.setup.linger_ns);
        if end_ns >= self.context.ending.end_ns() {
            return;
        }
        self.context.ending.set_end_ns(end_ns);
        if self.context.setup.observe.counters_ns.is_none_or(|period_ns| end_ns % period_ns != 0) {
            agenda.push(Reverse((end_ns, Due::Counters)));
        }
        for i in 0..self.flows.transfers.len() {
            agenda.push(Reverse((end_ns, Due::Stop(i))));
        }
        for i in 0..self.flows.programs.len() {
            agenda.push(Reverse((end_ns, Due::StopProgram(i))));
        }
    }

    fn periodic(&self) -> [(Due, Option<i64>); 4] {
        let o = &self.context.setup.observe;
        [
            (Due::Queues, o.queues_ns),
            (Due::Counters, o.counters_ns),
            (Due::Sockets, o.sockets_ns),
            (Due::Progress, Some(PROGRESS_NS)),
        ]
    }

    /// Performs a task. Returns the next due time of a repeated task.
    fn carry_out(&mut self, t_ns: i64, what: Due) -> Result<Option<(i64, Due)>> {
        match what {
            Due::Queues => self.queues.sample(&mut self.queue_rows, &self.network, t_ns, self.infos.links())?,
            Due::Counters => self.counters.sample(&mut self.counter_rows, t_ns)?,
            Due::Sockets => self.sample_sockets(t_ns)?,
            Due::Progress => {
                crate::base::say::line(&serde_json::json!({ "t_ns": t_ns }));
                self.read_drops()?;
                if !self.flows.programs.is_empty() {
                    program::refuse_many_processes()?;
                }
            }
            Due::Events(from) => {
                let instant = self.context.events[from..].iter().take_while(|e| e.t_ns == t_ns).count();
                self.apply(from, from + instant)?;
                return Ok(self.context.events.get(from + instant).map(|e| (e.t_ns, Due::Events(from + instant))));
            }
            Due::FalseNotice(place) => {
                self.network.tell_falsely(place)?;
                // this task cannot end a flow, so its result is None, and the ends of flows are not checked
                return Ok(None);
            }
            Due::NoticesAhead(from) => {
                let events = self.context.events;
                // the events of this instant have already been applied, because events are the first items of an
                // instant
                let next = events.partition_point(|e| e.t_ns <= t_ns);
                let change = events[from..].iter().take_while(|e| e.t_ns == events[from].t_ns).count();
                self.network.tell_ahead(t_ns, &events[next..from], &events[from..from + change])?;
                return Ok(None);
            }
            Due::Stop(i) => {
                if self.context.setup.observe.sockets_ns.is_none_or(|period_ns| t_ns % period_ns != 0) {
                    self.sample_transfers(t_ns, i..i + 1)?;
                }
                self.demand_sending(i)?;
                self.flows.transfers[i].note_connection()?;
                self.flows.transfers[i].stop();
                note_end(&mut self.awaited, self.flows.transfers[i].flow, t_ns);
                return Ok(None);
            }
            Due::StopProgram(i) => {
                self.flows.programs[i].stop(t_ns)?;
                note_end(&mut self.awaited, self.flows.programs[i].flow, t_ns);
                return Ok(Some((t_ns + program::GRACE_NS, Due::KillProgram(i))));
            }
            Due::KillProgram(i) => {
                self.flows.programs[i].kill();
                return Ok(None);
            }
            Due::Probe(i, index) => {
                self.flows.probes[i].send(index)?;
                let next_ns = self.flows.probes[i].due_ns(index + 1);
                if next_ns.is_none() {
                    note_end(&mut self.awaited, self.flows.probes[i].flow, t_ns);
                }
                return Ok(next_ns.map(|t_ns| (t_ns, Due::Probe(i, index + 1))));
            }
        }
        let period_ns = self.periodic().into_iter().find(|(w, _)| *w == what).and_then(|(_, period_ns)| period_ns);
        Ok(period_ns.map(|period_ns| (t_ns + period_ns, what)))
    }

    /// Applies the events `from..to` of one instant.
    fn apply(&mut self, from: usize, to: usize) -> Result<()> {
        let changes = self.network.apply(&self.context.events[from..to])?;
        self.mark(&changes)
    }

    /// Sets the tag of the new path on the sockets of each flow whose path changed. Later packets carry this tag.
    pub fn mark(&mut self, changes: &[PathChange]) -> Result<()> {
        self.flows.mark(self.context.setup, changes)
    }

    /// Writes the remaining rows of all tables.
    pub fn finish(&mut self, connections: &mut [Lived]) -> Result<()> {
        if let Some(diag) = &self.diag {
            diag.rows(connections).try_for_each(|row| self.socket_rows.push(&row))?;
        }
        self.socket_rows.flush()?;
        self.counter_rows.flush()?;
        self.queue_rows.flush()?;
        self.read_drops()?;
        self.drops.iter_mut().try_for_each(|(_, rows)| rows.flush())
    }

    fn read_drops(&mut self) -> Result<()> {
        let Some((drops, rows)) = &mut self.drops else { return Ok(()) };
        drops.read(self.context.clock, |t_ns, loss, _| rows.push(&drops::row(t_ns, loss)))
    }

    fn sample_sockets(&mut self, t_ns: i64) -> Result<()> {
        if let Some(diag) = &mut self.diag {
            diag.sample(t_ns)?;
        }
        self.sample_transfers(t_ns, 0..self.flows.transfers.len())
    }

    /// Fails if a congestion control, such as a user's module, has stopped its flow permanently.
    fn demand_sending(&self, i: usize) -> Result<()> {
        let transfer = &self.flows.transfers[i];
        if transfer.is_stopped() || transfer.has_ended() || !sample::is_held_back(transfer)? {
            return Ok(());
        }
        let name = self.context.setup.flows[transfer.flow].congestion_control.as_deref().unwrap_or_default();
        Err(Error::Lacks {
            what: format!("flow {}, congestion_control = {name:?}: it lets nothing be sent", transfer.flow),
            hint: "its window must be a packet at least and its pacing rate above 0 once the connection stands".into(),
        })
    }

    /// Returns whether a transfer is sampled at `t_ns`. Sampling lasts from the transfer's start to its stop. A
    /// transfer that ends by itself is sampled one last time after its end.
    fn is_looked_at(&self, t_ns: i64, i: usize) -> bool {
        let transfer = &self.flows.transfers[i];
        t_ns > self.context.setup.flows[transfer.flow].start_ns && !transfer.is_stopped() && !self.looked_last[i]
    }

    fn sample_transfers(&mut self, t_ns: i64, which: Range<usize>) -> Result<()> {
        let mut looked_at = Vec::new();
        for i in which {
            if self.is_looked_at(t_ns, i) {
                let transfer = &self.flows.transfers[i];
                self.looked_last[i] = transfer.has_ended();
                looked_at.push(transfer);
            }
        }
        let (of_mptcp, looked_at): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(|t| t.is_mptcp());
        if let Some(subflows) = &self.subflows {
            let wholes: Vec<usize> = of_mptcp.iter().map(|t| t.flow).collect();
            subflows.sample(&mut self.socket_rows, t_ns, &wholes)?;
        }
        sample::sample_sockets(&mut self.socket_rows, &mut self.infos, t_ns, &looked_at)
    }
}

/// If the run waits for the end of `flow`, records the first end of this flow.
fn note_end(awaited: &mut [(usize, Option<i64>)], flow: usize, t_ns: i64) {
    if let Some((_, end_ns)) = awaited.iter_mut().find(|(i, _)| *i == flow) {
        end_ns.get_or_insert(t_ns);
    }
}
