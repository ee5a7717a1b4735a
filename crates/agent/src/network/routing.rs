// SPDX-License-Identifier: Apache-2.0
//! The routes of nodes to hosts. With source routing, there is one route per path, and the TOS value of a packet
//! selects the path.

use super::interfaces::end_address;
use super::Network;
use crate::base::error::{Error, Result};
use crate::network::message::{self, Hop};
use leowarp_timeline::setup::DelayedAck;
use std::net::IpAddr;

impl Network<'_> {
    pub(super) fn route(
        &mut self,
        node: usize,
        host: usize,
        direction: Option<usize>,
        path: Option<u32>,
    ) -> Result<()> {
        if self.setup.hosts[host].node == node {
            return Err(Error::Input(format!("host {host} has a route to itself in events.bin")));
        }
        if self.homes[node] != node {
            // A host that joins another host uses the other host's namespace. In this namespace, a route of the joining
            // host would become a route of the other host. The joining host has a routing table of its own with a
            // default route
            return Ok(());
        }
        let path = path.filter(|_| self.setup.source_routing);
        let Some(direction) = direction else {
            self.remove_route(node, host, path);
            return Ok(());
        };
        if self.sending_side(direction).is_none() {
            return Err(Error::Input(format!(
                "node {node} has a route over link {}, which was never up",
                direction / 2
            )));
        }
        let before = self.routes.insert((node, host), direction);
        if let Some(before) = before.filter(|&before| before != direction && self.setup.cures.at_switches()) {
            self.before.routes.entry((node, host)).or_insert(before);
        }
        self.set_route(node, host, 0, direction);
        if let Some(path) = path {
            let tos = self.tag(host, path);
            self.path_routes.entry((host, path)).or_default().insert(node, direction);
            self.set_route(node, host, tos, direction);
        }
        Ok(())
    }

    /// Returns the next hop of a node's route: an interface, and a gateway if given.
    pub(super) fn hop(&self, node: usize, ifindex: u32, gateway: Option<IpAddr>) -> Hop {
        let quickack = self.host_of_node[node].is_some_and(|h| self.setup.hosts[h].delayed_ack == DelayedAck::Off);
        Hop { ifindex, gateway, quickack }
    }

    pub(super) fn set_route(&mut self, node: usize, host: usize, tos: u8, direction: usize) {
        let Some((_, ifindex)) = self.sending_side(direction) else { return };
        let arp = self.setup.links[direction / 2].arp;
        let hop = self.hop(node, ifindex, arp.then(|| end_address(direction / 2, 1 - direction % 2).into()));
        let address = self.setup.hosts[host].address;
        message::route(self.changing(node), address, tos, hop);
    }

    /// Removes the route of a path. If untagged packets have the same route, their route is removed too. If `path` is
    /// None, only the route for untagged packets is removed.
    pub(super) fn remove_route(&mut self, node: usize, host: usize, path: Option<u32>) {
        let address = self.setup.hosts[host].address;
        let untagged = self.routes.get(&(node, host)).copied();
        let mut goes = untagged.is_some();
        if let Some(path) = path {
            let direction = self.path_routes.get_mut(&(host, path)).and_then(|nodes| nodes.remove(&node));
            goes = direction.is_some() && direction == untagged;
            if let (Some(_), Some(tos)) = (direction, self.tags[host].existing_tos(path)) {
                message::no_route(self.changing(node), address, tos);
            }
        }
        if goes {
            // the direction of the removed path, even if the node now uses another direction
            let before = self.routes.remove(&(node, host));
            if let Some(before) = before.filter(|_| self.setup.cures.at_switches()) {
                self.before.routes.entry((node, host)).or_insert(before);
            }
            message::no_route(self.changing(node), address, 0);
        }
    }

    /// Returns the TOS value of a path to a host. If the path has no TOS value yet, the path gets a value, and its
    /// routes are added.
    pub(super) fn tag(&mut self, host: usize, path: u32) -> u8 {
        let (tos, fresh) = self.tags[host].tos(path);
        if fresh {
            for (node, direction) in self.path_routes.get(&(host, path)).cloned().unwrap_or_default() {
                self.set_route(node, host, tos, direction);
            }
        }
        tos
    }
}
