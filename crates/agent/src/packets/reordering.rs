// SPDX-License-Identifier: Apache-2.0
//! Measures how each flow's first transmissions are reordered (RFC 4737, RFC 5236): in the run, in windows of send
//! time, and around path changes.
//!
//! The scopes are the run, each window, and each route change. The packets of a scope form a separate sequence,
//! numbered from 0 in send order. Each scope has a meter, which measures arrivals as they happen. Packets are not
//! stored. A scope is complete when a packet that was sent later is settled. Packets are settled in send order, so all
//! packets of the scope are then already settled.

use crate::base::error::Result;
use crate::base::table::Rows;
use crate::packets::truth::Packet;
use leowarp_timeline::event::Change;
use leowarp_timeline::record::{Density, Missing, ReorderingRow};
use leowarp_timeline::setup::Setup;
use leowarp_timeline::Event;
use reorder::{Arrival, Meter, Settings};
use std::collections::VecDeque;

const WHOLE: u8 = 0;
const WINDOW: u8 = 1;
const CHANGE: u8 = 2;

/// The reordering measurement of all flows.
pub struct Reordering {
    flows: Vec<Sequence>,
    rows: Rows<ReorderingRow>,
    bars: Rows<Density>,
}

/// The first transmissions of a flow.
struct Sequence {
    settings: Settings,
    window_ns: Option<i64>,
    /// The number of each route change, and the half-open interval of send times around it.
    changes_ns: Vec<(u32, (i64, i64))>,
    /// The number of route changes whose interval has begun.
    changes_seen: usize,
    whole: Scope,
    windows: VecDeque<Scope>,
    changes: VecDeque<Scope>,
}

/// Implements RFC 4737, 4.2.4 (part of a stream).
struct Scope {
    kind: u8,
    number: u32,
    from_ns: i64,
    to_ns: i64,
    /// The index of the scope's first packet among the first transmissions.
    first: u32,
    sent_pkts: u64,
    meter: Meter,
}

impl Scope {
    fn new(kind: u8, number: u32, (from_ns, to_ns): (i64, i64), first: u32, settings: Settings) -> Self {
        Self { kind, number, from_ns, to_ns, first, sent_pkts: 0, meter: Meter::new(settings) }
    }

    fn holds(&self, sent_ns: i64) -> bool {
        self.from_ns <= sent_ns && sent_ns < self.to_ns
    }

    // Implements RFC 4737, 3 (order of sending).
    fn arrive(&mut self, place: u32, t_ns: i64, len_bytes: u32) {
        self.meter.arrive(Arrival { seq: u64::from(place - self.first), t_ns: Some(t_ns), len_bytes });
    }
}

impl Sequence {
    fn new(setup: &Setup, events: &[Event], flow: usize) -> Self {
        let observe = &setup.observe;
        let settings = Settings {
            density_threshold_pkts: observe.reordering_threshold_pkts,
            buffer_threshold_pkts: observe.reordering_threshold_pkts,
            first_seq: Some(0),
            ..Settings::default()
        };
        let (before_ns, after_ns) = observe.around_changes_ns;
        let around = |(number, t_ns): (u32, i64)| (number, ((t_ns - before_ns).max(0), t_ns.saturating_add(after_ns)));
        let changes_ns = path_changes(setup, events, flow).into_iter().map(around).collect();
        Self::empty(settings, observe.reordering_window_ns, changes_ns)
    }

    fn empty(settings: Settings, window_ns: Option<i64>, changes_ns: Vec<(u32, (i64, i64))>) -> Self {
        Self {
            settings,
            window_ns,
            changes_ns,
            changes_seen: 0,
            whole: Scope::new(WHOLE, 0, (0, i64::MAX), 0, settings),
            windows: VecDeque::new(),
            changes: VecDeque::new(),
        }
    }

    fn sent(&mut self, place: u32, t_ns: i64) {
        self.whole.sent_pkts += 1;
        if let Some(width_ns) = self.window_ns {
            if self.windows.back().is_none_or(|w| w.to_ns <= t_ns) {
                // Routes change at multiples of their interval. These instants may be multiples of the window's width.
                // A packet is late in no window if the packet that overtakes it is in another window. Window borders
                // are therefore shifted by half a window.
                let half_ns = width_ns / 2;
                let number = (t_ns + half_ns).div_euclid(width_ns);
                let from_ns = number * width_ns - half_ns;
                let span_ns = (from_ns.max(0), from_ns.saturating_add(width_ns));
                self.windows.push_back(Scope::new(WINDOW, number as u32, span_ns, place, self.settings));
            }
            if let Some(window) = self.windows.back_mut() {
                window.sent_pkts += 1;
            }
        }
        while let Some(&(number, span_ns)) = self.changes_ns.get(self.changes_seen).filter(|c| c.1 .0 <= t_ns) {
            if t_ns < span_ns.1 {
                self.changes.push_back(Scope::new(CHANGE, number, span_ns, place, self.settings));
            }
            self.changes_seen += 1;
        }
        self.changes.iter_mut().filter(|c| c.holds(t_ns)).for_each(|c| c.sent_pkts += 1);
    }

    fn arrived(&mut self, place: u32, sent_ns: i64, t_ns: i64, len_bytes: u32) {
        self.whole.arrive(place, t_ns, len_bytes);
        // usually, the packet is in the last scope
        if let Some(window) = self.windows.iter_mut().rev().find(|w| w.from_ns <= sent_ns) {
            window.arrive(place, t_ns, len_bytes);
        }
        for change in self.changes.iter_mut().filter(|c| c.holds(sent_ns)) {
            change.arrive(place, t_ns, len_bytes);
        }
    }

    /// Removes and returns the next scope that is complete at `t_ns`, or None.
    fn over(&mut self, t_ns: i64) -> Option<Scope> {
        let mut scopes = [&mut self.windows, &mut self.changes].into_iter();
        scopes.find(|s| s.front().is_some_and(|s| s.to_ns <= t_ns)).and_then(VecDeque::pop_front)
    }
}

impl Reordering {
    /// Opens both tables, and creates the scopes of each flow.
    pub fn create(
        setup: &Setup,
        events: &[Event],
        header: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self> {
        Ok(Self {
            flows: (0..setup.flows.len()).map(|flow| Sequence::new(setup, events, flow)).collect(),
            rows: Rows::create(header)?,
            bars: Rows::create(header)?,
        })
    }

    /// Begins to measure a new flow. The new flow is a connection with the hosts and the settings of the flow `like`.
    pub fn open(&mut self, like: usize) {
        let Sequence { settings, window_ns, changes_ns, .. } = &self.flows[like];
        let sequence = Sequence::empty(*settings, *window_ns, changes_ns.clone());
        self.flows.push(sequence);
    }

    /// Records that a first transmission was sent.
    pub fn sent(&mut self, flow: usize, place: u32, t_ns: i64) {
        self.flows[flow].sent(place, t_ns);
    }

    /// Records that a packet arrived.
    pub fn arrived(&mut self, flow: usize, packet: &Packet) {
        if let (Some(place), Some(t_ns)) = (packet.place, packet.received_ns) {
            self.flows[flow].arrived(place, packet.sent_ns, t_ns, packet.len_bytes);
        }
    }

    /// Records that the fate of all packets sent before `sent_ns` is known.
    pub fn settled(&mut self, flow: usize, sent_ns: i64) -> Result<()> {
        while let Some(scope) = self.flows[flow].over(sent_ns) {
            self.write(flow as u32, scope)?;
        }
        Ok(())
    }

    /// Writes the remaining rows. The run ended at `end_ns`.
    pub fn finish(mut self, end_ns: i64) -> Result<()> {
        for (flow, sequence) in std::mem::take(&mut self.flows).into_iter().enumerate() {
            for mut scope in sequence.windows.into_iter().chain(sequence.changes).chain([sequence.whole]) {
                scope.to_ns = scope.to_ns.min(end_ns);
                self.write(flow as u32, scope)?;
            }
        }
        self.rows.flush()?;
        self.bars.flush()
    }

    fn write(&mut self, flow: u32, scope: Scope) -> Result<()> {
        if scope.sent_pkts == 0 {
            return Ok(());
        }
        let (kind, number) = (scope.kind, scope.number);
        let r = scope.meter.finish(Some(scope.sent_pkts));
        let mean = |value: Option<f64>| value.unwrap_or(f64::MISSING);
        self.rows.push(&ReorderingRow {
            flow,
            scope: kind,
            number,
            t_ns: scope.from_ns,
            end_ns: scope.to_ns,
            sent_pkts: scope.sent_pkts,
            received_pkts: r.received_pkts,
            lost_pkts: r.lost_pkts,
            reordered_pkts: r.reordered_pkts,
            extent_mean_pkts: mean(r.extent.mean_pkts()),
            extent_max_pkts: r.extent.max_pkts.unwrap_or(u32::MISSING),
            late_time_mean_ns: mean(r.late_time.mean_ns()),
            late_time_max_ns: r.late_time.max_ns.unwrap_or(i64::MISSING),
            byte_offset_mean_bytes: mean(r.byte_offset.mean_bytes()),
            byte_offset_max_bytes: r.byte_offset.max_bytes.unwrap_or(u64::MISSING),
            discontinuities: r.gaps.reordering_discontinuities,
            gap_mean_pkts: mean(r.gaps.mean_pkts()),
            gap_mean_ns: mean(r.gaps.mean_ns()),
            runs: r.runs.runs,
            run_mean_pkts: mean(r.runs.mean_pkts()),
            run_variability_ratio: mean(r.runs.variability_ratio()),
            density_pkts: r.density.pkts,
            density_beyond_pkts: r.density.early_beyond_pkts + r.density.late_beyond_pkts,
            mean_displacement_pkts: mean(r.density.mean_displacement_pkts()),
            entropy_nats: mean(r.density.entropy_nats()),
            buffer_mean_pkts: mean(r.buffer_density.buffer_mean_pkts()),
            // Implements RFC 4737, 5.4 (three duplicate acknowledgements).
            reordered3_pkts: r.n_reordering.iter().find(|n| n.0 == 3).map_or(0, |n| n.1),
        })?;
        let of = |kind: u8, counts: Vec<(u32, u64)>| counts.into_iter().map(move |(i, n)| (kind, i as i32, n));
        let density = r.density.counts.iter().map(|&(displacement, n)| (0, displacement, n));
        let bars =
            density.chain(of(1, r.buffer_density.counts)).chain(of(2, r.n_reordering)).chain(of(3, r.extent.counts));
        for (bar_kind, index, pkts) in bars.filter(|bar| bar.2 > 0) {
            self.bars.push(&Density { flow, scope: kind, number, kind: bar_kind, index, pkts })?;
        }
        Ok(())
    }
}

/// For each route change of a flow's data packets, returns its number in the timeline and its time.
fn path_changes(setup: &Setup, events: &[Event], flow: usize) -> Vec<(u32, i64)> {
    let ends = (setup.flows[flow].source, setup.flows[flow].destination);
    events
        .iter()
        .filter_map(|event| match event.change {
            Change::Path { source, destination, change: Some(number), .. } if (source, destination) == ends => {
                Some((number, event.t_ns))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
#[path = "reordering_test.rs"]
mod tests;
