// SPDX-License-Identifier: Apache-2.0
//! Finds the flow of a packet that belongs to a connection of a program. The ports of such a packet are not known in
//! advance. This module has no side effects.
//!
//! The protocol (TCP or UDP), both addresses and both ports identify a connection. A TCP connection is also identified
//! by its first sequence number. A SYN between the same ports with another sequence number begins a new connection (RFC
//! 9293, 3.4.1). A connection becomes a flow at its first packet. The new flow's number is above the numbers of the
//! setup's flows.

use crate::packets::frame::{Foreign, Tuple};
use crate::packets::truth::{FLAG_ACK, FLAG_SYN};
use leowarp_timeline::setup::{FlowKind, Setup};
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// The largest number of connections in a run. One connection's records need some 20 KiB. If a run has more
/// connections, it fails, because the user probably made a mistake.
pub const CONNECTIONS_MAX: usize = 8192;

/// The hosts and ports of a program flow.
#[derive(Debug)]
struct Program {
    flow: usize,
    source: u32,
    destination: u32,
    port: u16,
}

/// A connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The program flow to which the connection belongs.
    pub program: usize,
    pub is_tcp: bool,
    pub source_port: u16,
    pub destination_port: u16,
    /// The host that sent the connection's first packet. 0 is the source of the flow, and 1 is its destination.
    pub opened_by: usize,
}

impl Connection {
    /// Returns whether `self` and `other` have the same hosts, protocol and ports.
    pub fn has_ports_of(&self, other: &Self) -> bool {
        let ends = |c: &Self| (c.program, c.is_tcp, c.source_port, c.destination_port);
        ends(self) == ends(other)
    }

    /// Returns the kind of flow that records the connection.
    pub fn kind(&self) -> FlowKind {
        if self.is_tcp {
            FlowKind::Tcp
        } else {
            FlowKind::Udp
        }
    }
}

/// A connection that appeared in the run. It may have ended.
#[derive(Debug, Clone)]
pub struct Lived {
    pub flow: usize,
    pub connection: Connection,
    /// The times of the connection's first and last packet.
    pub start_ns: i64,
    pub stop_ns: i64,
    /// The congestion control of the socket at the flow's source. None means UDP, or a socket that was never sampled.
    pub congestion_control: Option<String>,
}

impl Lived {
    /// Returns the connection's entry in `end.json`.
    pub fn described(&self) -> Value {
        let c = &self.connection;
        json!({
            "flow": self.flow, "program": c.program, "kind": if c.is_tcp { "tcp" } else { "udp" },
            "source_port": c.source_port, "destination_port": c.destination_port,
            "opened_by": if c.opened_by == 0 { "source" } else { "destination" },
            "congestion_control": self.congestion_control, "start_ns": self.start_ns, "stop_ns": self.stop_ns,
        })
    }
}

/// The flow and direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub flow: usize,
    /// The direction. 0 means packets from the flow's source, and 1 means packets to the flow's source.
    pub direction: usize,
    /// Whether the packet is the first of its connection.
    pub is_new: bool,
}

/// All connections of a run.
#[derive(Debug)]
pub struct Connections {
    programs: Vec<Program>,
    /// The number of the first connection's flow.
    first_flow: usize,
    all: Vec<Connection>,
    /// For each host and pair of ends, the latest connection of which the host has seen a packet.
    latest: BTreeMap<(usize, Tuple), usize>,
    /// A map from (ends, initial sequence number) to the index of the TCP connection.
    opened: BTreeMap<(Tuple, u32), usize>,
}

impl Connections {
    /// Creates an empty list for the setup's program flows.
    pub fn new(setup: &Setup) -> Self {
        let address = |host: usize| setup.hosts[host].short_address();
        let of = |(flow, program): (usize, &leowarp_timeline::setup::Flow)| {
            program.program.as_ref().map(|p| Program {
                flow,
                source: address(program.source),
                destination: address(program.destination),
                port: p.port,
            })
        };
        Self {
            programs: setup.flows.iter().enumerate().filter_map(of).collect(),
            first_flow: setup.flows.len(),
            all: Vec::new(),
            latest: BTreeMap::new(),
            opened: BTreeMap::new(),
        }
    }

    /// Returns whether the setup has no programs.
    pub fn is_idle(&self) -> bool {
        self.programs.is_empty()
    }

    /// Returns the connections in the order of their flows.
    pub fn all(&self) -> &[Connection] {
        &self.all
    }

    /// Finds the connection of a packet that passes a host. If the packet opens a connection, the connection is added.
    /// None means that the packet is not between two hosts of a program flow.
    pub fn pass(&mut self, host: usize, packet: &Foreign) -> Option<Place> {
        let (program, direction) = self.program_of(packet.tuple)?;
        let ends = packet.tuple.both_ways();
        let opens = packet.tuple.is_tcp && packet.seen.flags & (FLAG_SYN | FLAG_ACK) == FLAG_SYN;
        if let Some(&index) = self.latest.get(&(host, ends)).filter(|_| !opens) {
            return Some(self.place(index, direction, false));
        }
        // At the host that opens the connection, the first packet is a UDP packet or a SYN. At the other host, any
        // packet may be the first that is seen.
        let first_number = if opens { packet.seen.seq } else { 0 };
        let elsewhere = self.latest.iter().filter(|((_, tuple), _)| *tuple == ends).map(|(_, &index)| index).max();
        let known = if opens { self.opened.get(&(ends, first_number)).copied() } else { elsewhere };
        let index = known.unwrap_or_else(|| {
            let (from_port, to_port) = (packet.tuple.from.1, packet.tuple.to.1);
            let ports = if direction == 0 { (from_port, to_port) } else { (to_port, from_port) };
            self.all.push(Connection {
                program,
                is_tcp: packet.tuple.is_tcp,
                source_port: ports.0,
                destination_port: ports.1,
                opened_by: direction,
            });
            self.opened.insert((ends, first_number), self.all.len() - 1);
            self.all.len() - 1
        });
        self.latest.insert((host, ends), index);
        Some(self.place(index, direction, known.is_none()))
    }

    /// Finds the connection of a dropped packet that `host` sent.
    pub fn find(&self, host: usize, packet: &Foreign) -> Option<Place> {
        let (_, direction) = self.program_of(packet.tuple)?;
        let index = *self.latest.get(&(host, packet.tuple.both_ways()))?;
        Some(self.place(index, direction, false))
    }

    /// Returns whether an address belongs to a program's host.
    pub fn has_host(&self, address: u32) -> bool {
        self.programs.iter().any(|p| p.source == address || p.destination == address)
    }

    fn place(&self, index: usize, direction: usize, is_new: bool) -> Place {
        Place { flow: self.first_flow + index, direction, is_new }
    }

    /// Finds the program flow that uses one of the ports, and the packet's direction. If no flow uses the ports, the
    /// result is the first program flow between the two hosts.
    fn program_of(&self, tuple: Tuple) -> Option<(usize, usize)> {
        let way = |p: &Program| match (tuple.from.0, tuple.to.0) {
            ends if ends == (p.source, p.destination) => Some(0),
            ends if ends == (p.destination, p.source) => Some(1),
            _ => None,
        };
        let mut between = self.programs.iter().filter_map(|p| Some((p, way(p)?)));
        let (first, way_of_first) = between.next()?;
        let uses = |p: &Program| tuple.from.1 == p.port || tuple.to.1 == p.port;
        if uses(first) {
            return Some((first.flow, way_of_first));
        }
        let own = between.find(|(p, _)| uses(p));
        Some(own.map_or((first.flow, way_of_first), |(p, direction)| (p.flow, direction)))
    }
}

#[cfg(test)]
#[path = "connections_test.rs"]
mod tests;
