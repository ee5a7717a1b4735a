// SPDX-License-Identifier: Apache-2.0
//! The run from its time 0 on: one thread that sleeps until something is due, does all that is due at that instant in a
//! fixed order (samples see the network as it was before the instant's events), and sleeps again.

use crate::clock::Clock;
use crate::error::Result;
use crate::flows::{probe::Probe, tcp::Transfer};
use crate::network::{Network, PathChange};
use crate::queue::Queues;
use crate::sample::{self, Counters};
use crate::table::Rows;
use leowarp_timeline::record::{Counter, Queue, Socket};
use leowarp_timeline::setup::Setup;
use leowarp_timeline::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const PROGRESS_NS: i64 = 1_000_000_000;

/// What is due; in this order within an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Queues,
    Counters,
    Sockets,
    /// From this event on, all of its instant.
    Events(usize),
    /// Of this transfer.
    Stop(usize),
    /// Of this flow of probes, packet.
    Probe(usize, u64),
    Progress,
}

/// Everything that takes part.
pub struct Player<'a> {
    pub setup: &'a Setup,
    pub events: &'a [Event],
    pub clock: Clock,
    pub network: Network<'a>,
    pub transfers: Vec<Transfer>,
    /// Of each transfer: it has ended and its last sample has been taken.
    pub looked_last: Vec<bool>,
    pub probes: Vec<Probe>,
    pub counters: Counters,
    pub queues: Queues,
    pub socket_rows: Rows<Socket>,
    pub counter_rows: Rows<Counter>,
    pub queue_rows: Rows<Queue>,
}

impl Player<'_> {
    /// Plays the timeline from its event `first` on, until the duration is over.
    pub fn play(&mut self, first: usize) -> Result<()> {
        let mut due = BinaryHeap::new();
        let mut add = |t_ns: i64, what: Due| due.push(Reverse((t_ns, what)));
        for (what, period_ns) in self.periodic() {
            if let Some(period_ns) = period_ns {
                add(period_ns, what);
            }
        }
        if let Some(event) = self.events.get(first) {
            add(event.t_ns, Due::Events(first));
        }
        for (i, transfer) in self.transfers.iter().enumerate() {
            add(self.setup.flows[transfer.flow].stop_ns, Due::Stop(i));
        }
        for (i, probe) in self.probes.iter().enumerate() {
            if let Some(t_ns) = probe.due_ns(0) {
                add(t_ns, Due::Probe(i, 0));
            }
        }
        self.clock.sleep_until(0)?;
        let mut now_ns = 0;
        while let Some(Reverse((t_ns, what))) = due.pop() {
            if t_ns > self.setup.duration_ns {
                break;
            }
            if t_ns > now_ns {
                self.clock.sleep_until(t_ns)?;
                now_ns = t_ns;
            }
            if let Some(next) = self.carry_out(t_ns, what)? {
                due.push(Reverse(next));
            }
        }
        Ok(())
    }

    fn periodic(&self) -> [(Due, Option<i64>); 4] {
        let o = &self.setup.observe;
        [
            (Due::Queues, o.queues_ns),
            (Due::Counters, o.counters_ns),
            (Due::Sockets, o.sockets_ns),
            (Due::Progress, Some(PROGRESS_NS)),
        ]
    }

    /// Does what is due and says when it is due next.
    fn carry_out(&mut self, t_ns: i64, what: Due) -> Result<Option<(i64, Due)>> {
        match what {
            Due::Queues => self.queues.sample(&mut self.queue_rows, &self.network, t_ns)?,
            Due::Counters => self.counters.sample(&mut self.counter_rows, t_ns)?,
            Due::Sockets => self.sample_sockets(t_ns)?,
            Due::Progress => crate::say::line(&serde_json::json!({ "t_ns": t_ns })),
            Due::Events(from) => {
                let instant = self.events[from..].iter().take_while(|e| e.t_ns == t_ns).count();
                self.apply(from, from + instant)?;
                return Ok(self.events.get(from + instant).map(|e| (e.t_ns, Due::Events(from + instant))));
            }
            Due::Stop(i) => {
                if self.setup.observe.sockets_ns.is_some_and(|period_ns| t_ns % period_ns != 0) {
                    self.sample_socket(t_ns, i)?;
                }
                self.transfers[i].stop();
                return Ok(None);
            }
            Due::Probe(i, index) => {
                self.probes[i].send(index)?;
                return Ok(self.probes[i].due_ns(index + 1).map(|t| (t, Due::Probe(i, index + 1))));
            }
        }
        let period_ns = self.periodic().into_iter().find(|(w, _)| *w == what).and_then(|(_, period_ns)| period_ns);
        Ok(period_ns.map(|period_ns| (t_ns + period_ns, what)))
    }

    /// Applies events `from..to`, which are of one instant.
    fn apply(&mut self, from: usize, to: usize) -> Result<()> {
        let changes = self.network.apply(&self.events[from..to])?;
        self.mark(&changes)
    }

    /// Has the sockets of the flows concerned mark what they send from now on with the path's tag.
    pub fn mark(&mut self, changes: &[PathChange]) -> Result<()> {
        for change in changes {
            for transfer in &self.transfers {
                let flow = &self.setup.flows[transfer.flow];
                if (flow.source, flow.destination) == (change.source, change.destination) {
                    transfer.set_tos(true, change.tos)?;
                } else if (flow.destination, flow.source) == (change.source, change.destination) {
                    transfer.set_tos(false, change.tos)?;
                }
            }
            for probe in &self.probes {
                let flow = &self.setup.flows[probe.flow];
                if (flow.source, flow.destination) == (change.source, change.destination) {
                    probe.set_tos(change.tos)?;
                }
            }
        }
        Ok(())
    }

    /// Writes out what is left.
    pub fn finish(&mut self) -> Result<()> {
        self.socket_rows.flush()?;
        self.counter_rows.flush()?;
        self.queue_rows.flush()
    }

    fn sample_sockets(&mut self, t_ns: i64) -> Result<()> {
        (0..self.transfers.len()).try_for_each(|i| self.sample_socket(t_ns, i))
    }

    /// A transfer is looked at from its start until it is stopped, or once more after it has ended by itself.
    fn sample_socket(&mut self, t_ns: i64, i: usize) -> Result<()> {
        let transfer = &self.transfers[i];
        let flow = &self.setup.flows[transfer.flow];
        if t_ns <= flow.start_ns || transfer.is_stopped() || self.looked_last[i] {
            return Ok(());
        }
        self.looked_last[i] = transfer.has_ended();
        let is_bbr = flow.congestion_control.as_deref() == Some("bbr");
        sample::sample_socket(&mut self.socket_rows, t_ns, transfer, is_bbr)
    }
}
