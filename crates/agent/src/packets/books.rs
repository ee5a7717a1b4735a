// SPDX-License-Identifier: Apache-2.0
//! The records of all flows' packets, and the assignment of programs' packets to flows.

use crate::base::error::{Error, Result};
use crate::packets::acks::Acks;
use crate::packets::connections::{Connections, CONNECTIONS_MAX};
use crate::packets::frame::{self, Foreign, Parsed};
use crate::packets::ledger::Ledger;
use crate::packets::reordering::Reordering;
use crate::packets::truth::{self, Numbers, Stream};
use leowarp_timeline::setup::{Flow, FlowKind};
use std::collections::BTreeMap;

const SYN_ACK: u8 = truth::FLAG_SYN | truth::FLAG_ACK;

/// The records of all flows. The setup's flows come first, then the programs' connections.
pub struct Books {
    pub flows: Vec<Flow>,
    /// The streams, one per flow and direction, at index 2 * flow + direction.
    pub streams: Vec<Stream>,
    pub ledger: Ledger,
    pub reordering: Reordering,
    /// The acknowledgements of each flow.
    pub acks: Vec<Acks>,
}

impl Books {
    /// Adds a flow for a connection. The connection belongs to the programs of the flow `program`. `t_ns` is the run
    /// time at which the connection was first seen.
    pub fn open(&mut self, program: usize, kind: FlowKind, t_ns: i64) {
        let like = &self.flows[program];
        self.flows.push(Flow { kind, start_ns: t_ns, stop_ns: t_ns, program: None, ..like.clone() });
        let numbers = if kind == FlowKind::Tcp { Numbers::Tcp } else { Numbers::Order };
        self.streams.extend([Stream::new(numbers, None), Stream::new(numbers, None)]);
        self.ledger.open(program, kind);
        self.reordering.open(program);
        self.acks.push(Acks::default());
    }
}

/// The state for assigning packets of programs to flows.
pub struct Programs {
    pub connections: Connections,
    /// The number of packets that belong to no connection although they were sent between the hosts of programs. These
    /// packets are neither TCP nor UDP, or are later fragments.
    pub unfollowed_pkts: u64,
    /// For each flow, the time at which the opening host got the answer to its first segment.
    pub connected_ns: BTreeMap<usize, i64>,
    /// The IPv4 address of each host in the setup.
    pub addresses: Vec<u32>,
}

impl Programs {
    /// Parses a packet on the wire of `host`, and finds its flow. None means that the packet belongs to no program.
    pub fn follow(
        &mut self,
        books: &mut Books,
        t_ns: i64,
        ip: &[u8],
        (host, leaves): (usize, bool),
        end_ns: i64,
    ) -> Result<Option<Parsed>> {
        let Self { connections, unfollowed_pkts, connected_ns, addresses } = self;
        // A connection that begins after the run's end is not part of the run.
        let mut place = |p: &Foreign| if t_ns < end_ns { connections.pass(host, p) } else { connections.find(host, p) };
        let Some((packet, place)) = frame::parse_foreign(t_ns, ip).and_then(|p| Some((p, place(&p)?))) else {
            let counts = leaves && t_ns < end_ns && !frame::is_icmp_error(ip) && connections.has_host(addresses[host]);
            *unfollowed_pkts += u64::from(counts);
            return Ok(None);
        };
        if let Some(connection) = connections.all().last().filter(|_| place.is_new) {
            books.open(connection.program, connection.kind(), t_ns);
            too_many(connections.all().len())?;
        }
        let flow = &mut books.flows[place.flow];
        flow.start_ns = flow.start_ns.min(t_ns);
        flow.stop_ns = flow.stop_ns.max(t_ns.min(end_ns));
        if flow.kind == FlowKind::Tcp && !leaves && packet.seen.flags & SYN_ACK == SYN_ACK {
            connected_ns.entry(place.flow).or_insert(t_ns);
        }
        let Foreign { seen, window, .. } = packet;
        Ok(Some(Parsed { kind: flow.kind, flow: place.flow, direction: place.direction, seen, window }))
    }
}

fn too_many(connections: usize) -> Result<()> {
    if connections <= CONNECTIONS_MAX {
        return Ok(());
    }
    Err(Error::Lacks {
        what: format!("the programs have opened more than {CONNECTIONS_MAX} connections"),
        hint: "let them use fewer, or the run be shorter".into(),
    })
}
