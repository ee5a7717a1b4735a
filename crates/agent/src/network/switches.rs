// SPDX-License-Identifier: Apache-2.0
//! The actions of nodes when routes change, as required by the cures.

use super::{Before, Network};
use crate::network::directions::is_modelled;
use crate::network::leolink::{self, Merge, Notice, Refused, Switch};
use crate::network::tc::Say;
use leowarp_timeline::setup::{Discipline, EndMarker, MoveQueue};
use std::net::Ipv4Addr;

/// A message from a cure to the leolink of a node's new direction.
pub(super) struct Told {
    pub to: usize,
    pub what: What,
}

pub(super) enum What {
    Switch(Switch),
    Notice(Notice),
}

/// The time at which a node sends the notices of a route change.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum When {
    After {
        delay_ns: u64,
    },
    /// Before the change. The notices take the old paths.
    Before,
}

/// The remaining parts of a switch's old and new path, with their delays. Each part leads from the far end of a node's
/// direction to the host.
pub(super) struct Rests {
    old: Vec<usize>,
    new: Vec<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Network<'_> {
    /// Returns the messages that the cures send about this instant's route changes.
    pub(super) fn told(&mut self) -> Vec<Told> {
        let before = std::mem::take(&mut self.before);
        let mut told = self.switches(&before);
        if let Some(delay_ns) = self.notify_delay_ns().and_then(|delay_ns| u64::try_from(delay_ns).ok()) {
            told.extend(self.notices(&before, When::After { delay_ns }));
        }
        told
    }

    /// Returns the remaining parts ("rests") of the old and the new path of a switch. A rest begins at the far end of
    /// `from` or `to`, and ends at the host. The result contains the directions of both rests. It also contains the
    /// maximum time on the old rest and the minimum time on the new rest. None means that packets on the old direction
    /// do not arrive.
    ///
    /// If a link's delay falls at the instant of the switch, earlier packets still have the old delay. A link keeps the
    /// order of packets. Later packets therefore wait at the link's far end for these earlier packets. As a result, the
    /// last packet on a busy path does not arrive earlier when the delay falls.
    pub(super) fn rests(&self, before: &Before, host: usize, from: usize, to: usize) -> Option<Rests> {
        if self.say[from] == Some(Say::Flush) {
            return None;
        }
        let longest_ns = |&d: &usize| {
            let direction = &self.directions[d];
            let former_ns = before.delays_ns.get(&d).copied().unwrap_or_default();
            direction.delay_ns.max(former_ns) + direction.full_packet_ns()
        };
        let (old, new) = (self.way(from, host)?, self.way(to, host)?);
        let from_ns = old.iter().map(longest_ns).sum();
        let to_ns = new.iter().map(|&d| self.directions[d].delay_ns).sum();
        Some(Rests { old, new, from_ns, to_ns })
    }

    fn switches(&mut self, before: &Before) -> Vec<Told> {
        let cures = &self.setup.cures;
        let mut out = Vec::new();
        for (&(node, host), &from) in &before.routes {
            let Some(&to) = self.routes.get(&(node, host)) else { continue };
            if to == from || !is_modelled(self.setup, from) || !is_modelled(self.setup, to) {
                continue;
            }
            let is_gone = self.say[from] == Some(Say::Flush);
            let moves = match cures.move_queue {
                Some(MoveQueue::Kept) => true,
                Some(MoveQueue::Lost) => !is_gone,
                None => false,
            };
            // if no packet arrives on the old path, packets of the new path need not wait
            let rests = self.rests(before, host, from, to);
            let hold = cures.hold.filter(|_| rests.is_some()).map(|hold| (hold.buffer_bytes, hold.full));
            let open = rests.as_ref().filter(|_| !self.directions[from].down).ok_or(Refused::NoOldWay);
            let leads_on = open.and_then(|rests| {
                let returns = rests.old.iter().any(|&d| self.receiving_node(d) == node);
                if returns {
                    Err(Refused::SameWay)
                } else {
                    Ok(rests)
                }
            });
            let marker = cures.end_marker.map(|end_marker| {
                leads_on.and_then(|rests| self.merge((from, &rests.old), (to, &rests.new), end_marker))
            });
            let copies_ns = cures.duplicate_ns.map(|copies_ns| leads_on.map(|_| copies_ns));
            let new_way_ns = cures.advanced().filter(|_| rests.is_some());
            let (rest_from_ns, rest_to_ns) = rests.map(|rests| (rests.from_ns, rests.to_ns)).unwrap_or_default();
            self.markers += u32::from(matches!(marker, Some(Ok(_))));
            if moves || hold.is_some() || marker.is_some() || copies_ns.is_some() || new_way_ns.is_some() {
                let destination = self.setup.hosts[host].short_address().into();
                let switch =
                    Switch { from, destination, rest_from_ns, rest_to_ns, moves, hold, marker, copies_ns, new_way_ns };
                out.push(Told { to, what: What::Switch(switch) });
            }
        }
        out
    }

    /// Returns the present path of a packet to a host, as a list of directions. The packet starts at the far end of
    /// `direction`. None means that the packet does not reach the host.
    fn way(&self, direction: usize, host: usize) -> Option<Vec<usize>> {
        self.way_from(self.receiving_node(direction), host, |at| self.routes.get(&(at, host)).copied())
    }

    /// Returns the directions from a node to a host. `next` returns the direction on which a node sends packets to the
    /// host, or None if the node has no route.
    pub(super) fn way_from(
        &self,
        node: usize,
        host: usize,
        next: impl Fn(usize) -> Option<usize>,
    ) -> Option<Vec<usize>> {
        let (mut at, mut way) = (node, Vec::new());
        // a path with more hops than there are nodes is a loop
        while way.len() <= self.setup.nodes.len() {
            if at == self.setup.hosts[host].node {
                return Some(way);
            }
            way.push(next(at)?);
            at = self.receiving_node(way[way.len() - 1]);
        }
        None
    }

    /// Finds the node at which the old and the new path of a switch meet. Each path is given as two values: the
    /// direction that leaves the switching node, and the later directions of the path.
    fn merge(
        &self,
        (from, old): (usize, &[usize]),
        (to, new): (usize, &[usize]),
        end_marker: EndMarker,
    ) -> Result<Merge, Refused> {
        let enters = |first: usize, rest: &[usize], at: usize| {
            std::iter::once(first).chain(rest.iter().copied()).find(|&d| self.receiving_node(d) == at)
        };
        let met = std::iter::once(to).chain(new.iter().copied()).find_map(|d| {
            let by_old = enters(from, old, self.receiving_node(d))?;
            Some((by_old, d))
        });
        // both paths lead to the host, so they meet at the host's own wire at the latest
        let (by_old, by_new) = met.ok_or(Refused::NoOldWay)?;
        if !self.takes_time(by_old) || !self.takes_time(by_new) {
            return Err(Refused::NoTime);
        }
        Ok(Merge { marker: self.markers + 1, from: by_old, to: by_new, end_marker })
    }

    /// Returns whether a direction is a leolink with a delay or a rate. A leolink without delay and rate passes packets
    /// on immediately.
    fn takes_time(&self, direction: usize) -> bool {
        let d = &self.directions[direction];
        let is_leolink = self.setup.links[direction / 2].discipline == Some(Discipline::Leolink);
        is_leolink && is_modelled(self.setup, direction) && (d.delay_ns > 0 || d.rate_bps > 0)
    }

    pub(super) fn receiving_node(&self, direction: usize) -> usize {
        let link = &self.setup.links[direction / 2];
        if direction % 2 == 0 {
            link.b
        } else {
            link.a
        }
    }

    pub(super) fn tell(&mut self, told: Option<Vec<Told>>) {
        for Told { to, what } in told.unwrap_or_default() {
            let Some((node, ifindex)) = self.sending_side(to) else { continue };
            match what {
                What::Switch(switch) => {
                    if let Some(Ok(merge)) = switch.marker {
                        self.tell_merge(switch.destination, &merge);
                    }
                    leolink::switch(self.changing(node), ifindex, &switch);
                }
                What::Notice(notice) => leolink::notice(self.changing(node), ifindex, &notice),
            }
        }
    }

    fn tell_merge(&mut self, destination: Ipv4Addr, merge: &Merge) {
        if let Some((node, ifindex)) = self.sending_side(merge.to) {
            leolink::merge(self.changing(node), ifindex, destination, merge);
        }
        if let Some((node, ifindex)) = self.sending_side(merge.from) {
            leolink::expect_markers(self.changing(node), ifindex);
        }
    }
}
