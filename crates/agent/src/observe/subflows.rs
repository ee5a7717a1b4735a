// SPDX-License-Identifier: Apache-2.0
//! The TCP_INFO of Multipath TCP subflows. The agent has no descriptors of these sockets, so the kernel lists the
//! sockets (sock_diag(7)). A socket's addresses identify its flow.

use crate::base::error::Result;
use crate::base::table::Rows;
use crate::network::netlink::Socket as Netlink;
use crate::network::Network;
use crate::observe::diag::{self, Ends, Sample};
use crate::observe::sample::socket_row;
use crate::packets::frame::DESTINATION_PORT;
use leowarp_timeline::record::Socket;
use leowarp_timeline::setup::Setup;
use std::collections::BTreeMap;

/// A sampler of the subflows of all connections.
pub struct Subflows {
    /// The netlink sockets, one in each namespace with an end of a connection.
    namespaces: Vec<Netlink>,
    /// The subflows of each connection. The key is the connection's flow number. The value has the flow number, the
    /// source address and the destination address of each subflow.
    ends: BTreeMap<usize, Vec<(usize, u32, u32)>>,
    family: u8,
}

impl Subflows {
    /// Opens the sockets. None means that no flow uses Multipath TCP.
    pub fn open(network: &Network, setup: &Setup) -> Result<Option<Self>> {
        if !setup.has_mptcp() {
            return Ok(None);
        }
        let address = |host: usize| setup.hosts[host].short_address();
        let of = |flow: usize| (flow, address(setup.flows[flow].source), address(setup.flows[flow].destination));
        let whole = |flow: &usize| setup.flows[*flow].is_mptcp && setup.flows[*flow].subflow_of.is_none();
        let wholes: Vec<usize> = (0..setup.flows.len()).filter(whole).collect();
        let ends =
            wholes.iter().map(|&flow| (flow, [flow].into_iter().chain(setup.subflows_of(flow)).map(of).collect()));
        let mut nodes: Vec<usize> = wholes
            .iter()
            .flat_map(|&i| [setup.flows[i].source, setup.flows[i].destination])
            .map(|h| setup.home_of(h))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let open = |node: usize| network.inside(node, Netlink::open_diag);
        Ok(Some(Self {
            ends: ends.collect(),
            namespaces: nodes.into_iter().map(open).collect::<Result<_>>()?,
            family: diag::family_of(setup),
        }))
    }

    /// Adds a row for each established subflow. `wholes` contains the flow numbers of the connections.
    pub fn sample(&self, rows: &mut Rows<Socket>, t_ns: i64, wholes: &[usize]) -> Result<()> {
        if wholes.is_empty() {
            return Ok(());
        }
        let mut sockets: BTreeMap<Ends, Sample> = BTreeMap::new();
        for netlink in &self.namespaces {
            diag::sockets(netlink, self.family, |ends, sample| {
                sockets.insert(ends, sample);
            })?;
        }
        for whole in wholes {
            let port = DESTINATION_PORT + *whole as u16;
            for &(flow, source, destination) in &self.ends[whole] {
                let of_source = (source, 0, 0, 0)..=(source, u16::MAX, u32::MAX, u16::MAX);
                let here =
                    sockets.range(of_source).find(|((_, _, to, to_port), _)| (*to, *to_port) == (destination, port));
                let Some((&(_, from_port, ..), sample)) = here else { continue };
                let there = sockets.get(&(destination, port, source, from_port)).map(|sample| &sample.info);
                rows.push(&socket_row(t_ns, flow, &sample.info, there, sample.bbr))?;
            }
        }
        Ok(())
    }
}
