// SPDX-License-Identifier: Apache-2.0
//! The flows of the workload in the agent. Each bulk transfer ([`tcp`]), each [`flood`] of pings and each user
//! [`program`] has its own threads. The timeline's player sends [`probe`]s.

pub mod flood;
pub mod probe;
pub mod program;
pub mod socket;
pub mod tcp;
pub mod tcp_info;

use crate::base::context::Context;
use crate::base::error::Result;
use crate::network::{Network, PathChange};
use crate::packets::frame::DESTINATION_PORT;
use flood::Flood;
use leowarp_timeline::setup::{FlowKind, Setup};
use probe::Probe;
use program::Program;
use tcp::Transfer;

/// All flows of a run. For each kind, the flows are sorted by their numbers.
pub struct Flows {
    pub transfers: Vec<Transfer>,
    pub probes: Vec<Probe>,
    pub floods: Vec<Flood>,
    pub programs: Vec<Program>,
}

impl Flows {
    /// Opens the sockets of all flows.
    pub fn open(network: &Network, setup: &Setup) -> Result<Self> {
        let mut flows = Self { transfers: vec![], probes: vec![], floods: vec![], programs: vec![] };
        for (i, flow) in setup.flows.iter().enumerate() {
            match flow.kind {
                // The agent opens no socket, because the kernel opens further subflows by itself
                FlowKind::Tcp if flow.subflow_of.is_some() => {}
                FlowKind::Tcp => flows.transfers.push(Transfer::open(network, setup, i)?),
                FlowKind::Ping if flow.flood => flows.floods.push(Flood::open(network, setup, i)?),
                FlowKind::Ping | FlowKind::Udp => flows.probes.push(Probe::open(network, setup, i)?),
                FlowKind::Program => flows.programs.push(Program::open(network, setup, i)?),
            }
        }
        tcp::prepare_payload(setup)?;
        Ok(flows)
    }

    /// Starts the threads of transfers, floods and programs. Each thread sleeps until its flow starts.
    pub fn start(&mut self, context: &Context) -> Result<()> {
        for transfer in &self.transfers {
            let flow = &context.setup.flows[transfer.flow];
            let to = context.setup.hosts[flow.destination].address;
            let to = socket::address(to, DESTINATION_PORT + transfer.flow as u16);
            transfer.start(context.clock, flow, to, &context.ending)?;
        }
        self.floods.iter_mut().try_for_each(|flood| flood.start(context.clock, &context.ending))?;
        self.programs.iter().try_for_each(|program| program.start(context.clock, &context.ending))
    }

    /// If the path of a flow has changed, makes the flow's sockets mark later packets with the tag of the new path.
    pub fn mark(&self, setup: &Setup, changes: &[PathChange]) -> Result<()> {
        for change in changes {
            let ends = (change.source, change.destination);
            let sends_data = |flow: usize| (setup.flows[flow].source, setup.flows[flow].destination) == ends;
            let sends_acks = |flow: usize| (setup.flows[flow].destination, setup.flows[flow].source) == ends;
            for transfer in &self.transfers {
                if sends_data(transfer.flow) {
                    transfer.set_tos(true, change.tos)?;
                } else if sends_acks(transfer.flow) {
                    transfer.set_tos(false, change.tos)?;
                }
            }
            for probe in self.probes.iter().filter(|p| sends_data(p.flow)) {
                probe.set_tos(change.tos)?;
            }
            for flood in self.floods.iter().filter(|f| sends_data(f.flow)) {
                flood.set_tos(change.tos)?;
            }
        }
        Ok(())
    }

    /// Returns the number and the end time of each flow that has its own threads and has ended.
    pub fn ends_ns(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        let transfers = self.transfers.iter().filter_map(|t| Some((t.flow, t.end_ns()?)));
        let floods = self.floods.iter().filter_map(|f| Some((f.flow, f.end_ns()?)));
        transfers.chain(floods).chain(self.programs.iter().filter_map(|p| Some((p.flow, p.end_ns()?))))
    }
}
