// SPDX-License-Identifier: Apache-2.0
//! What the cures have nodes do because of the routes of an instant: who is told what.

use super::{is_modelled, Network};
use crate::leolink::{self, Merge, Refused, Switch};
use crate::tc::Say;
use leowarp_timeline::setup::{Discipline, EndMarker, MoveQueue};

/// What the leolink of a node's new direction is told.
pub(super) struct Told {
    to: usize,
    switch: Switch,
}

impl Network<'_> {
    /// What the cures have nodes do because of the routes of this instant.
    ///
    /// Of the old way the longest that a packet takes counts, of the new one the shortest. Where a delay falls at this
    /// instant, packets of before still fly the former one, and those behind them wait for them at the link's other end:
    /// on a full path the last one takes as long as if nothing had fallen.
    pub(super) fn switches(&mut self) -> Vec<Told> {
        let cures = &self.setup.cures;
        let mut out = Vec::new();
        let former_delays_ns = std::mem::take(&mut self.former_delays_ns);
        for ((node, host), from) in std::mem::take(&mut self.switched) {
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
            let longest_ns = |d: usize| {
                let direction = &self.directions[d];
                let former_ns = former_delays_ns.get(&d).copied().unwrap_or_default();
                direction.delay_ns.max(former_ns) + direction.full_packet_ns()
            };
            let shortest_ns = |d: usize| self.directions[d].delay_ns;
            // without a way to the host nothing that left before arrives, and there is nothing to wait for
            let ways = self.way(from, host).filter(|_| !is_gone).zip(self.way(to, host));
            let hold = cures.hold.filter(|_| ways.is_some()).map(|hold| (hold.buffer_bytes, hold.full));
            let marker = cures.end_marker.map(|end_marker| {
                let (old, new) = ways.as_ref().ok_or(Refused::NoOldWay)?;
                self.merge(node, (from, old), (to, new), end_marker)
            });
            let rest = |way: &[usize], each: &dyn Fn(usize) -> u64| way.iter().map(|&d| each(d)).sum::<u64>();
            let (rest_from_ns, rest_to_ns) =
                ways.map(|(old, new)| (rest(&old, &longest_ns), rest(&new, &shortest_ns))).unwrap_or_default();
            self.markers += u32::from(matches!(marker, Some(Ok(_))));
            if moves || hold.is_some() || marker.is_some() {
                let destination = self.setup.hosts[host].address;
                let switch = Switch { from, destination, rest_from_ns, rest_to_ns, moves, hold, marker };
                out.push(Told { to, switch });
            }
        }
        out
    }

    /// The directions that a packet takes to a host from the other end of one on, by the routes as they are now. None = it
    /// does not come there.
    fn way(&self, direction: usize, host: usize) -> Option<Vec<usize>> {
        let (mut at, mut way) = (self.receiving_node(direction), Vec::new());
        // a walk that is longer than there are nodes goes in circles
        while way.len() <= self.setup.nodes.len() {
            if at == self.setup.hosts[host].node {
                return Some(way);
            }
            let next = *self.routes.get(&(at, host))?;
            way.push(next);
            at = self.receiving_node(next);
        }
        None
    }

    /// Where the old and the new way of a node meet, given as the node's direction and the rest of each.
    fn merge(
        &self,
        node: usize,
        (from, old): (usize, &[usize]),
        (to, new): (usize, &[usize]),
        end_marker: EndMarker,
    ) -> Result<Merge, Refused> {
        let enters = |first: usize, rest: &[usize], at: usize| {
            std::iter::once(first).chain(rest.iter().copied()).find(|&d| self.receiving_node(d) == at)
        };
        if enters(from, old, node).is_some() {
            return Err(Refused::SameWay);
        }
        let met = std::iter::once(to).chain(new.iter().copied()).find_map(|d| {
            let by_old = enters(from, old, self.receiving_node(d))?;
            Some((by_old, d))
        });
        // both ways lead to the host, so they meet there at the latest, behind the wire that they share
        let (by_old, by_new) = met.ok_or(Refused::NoOldWay)?;
        if !self.takes_time(by_old) || !self.takes_time(by_new) {
            return Err(Refused::NoTime);
        }
        Ok(Merge { marker: self.markers + 1, from: by_old, to: by_new, end_marker })
    }

    /// Whether what leaves over a direction arrives later: leolink hands the rest on where it was offered.
    fn takes_time(&self, direction: usize) -> bool {
        let d = &self.directions[direction];
        let is_leolink = self.setup.links[direction / 2].discipline == Some(Discipline::Leolink);
        is_leolink && is_modelled(self.setup, direction) && (d.delay_ns > 0 || d.rate_bps > 0)
    }

    fn receiving_node(&self, direction: usize) -> usize {
        let link = &self.setup.links[direction / 2];
        if direction % 2 == 0 {
            link.b
        } else {
            link.a
        }
    }

    pub(super) fn say_switches(&mut self, switches: Option<Vec<Told>>) {
        for Told { to, switch } in switches.unwrap_or_default() {
            if let Some(Ok(merge)) = switch.marker {
                if let Some((node, ifindex)) = self.sending_side(merge.to) {
                    leolink::merge(self.changing(node), ifindex, switch.destination, &merge);
                }
                if let Some((node, ifindex)) = self.sending_side(merge.from) {
                    leolink::expect_markers(self.changing(node), ifindex);
                }
            }
            if let Some((node, ifindex)) = self.sending_side(to) {
                leolink::switch(self.changing(node), ifindex, &switch);
            }
        }
    }
}
