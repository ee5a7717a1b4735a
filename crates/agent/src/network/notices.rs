// SPDX-License-Identifier: Apache-2.0
//! The notices to hosts whose packets take another path. This module determines who gets a notice, and what it contains
//! (design/cures.md, "Notice").

use super::switches::{Told, What, When};
use super::{Before, Network};
use crate::base::error::Result;
use crate::network::directions::{is_modelled, substream};
use crate::network::leolink::{Notice, NoticeCause};
use leowarp_timeline::setup::LinkKind;
use std::collections::BTreeSet;

impl Network<'_> {
    /// Returns the value of `cures.notify_delay`. None means no notices.
    pub(super) fn notify_delay_ns(&self) -> Option<i64> {
        self.setup.cures.notify.as_ref().map(|n| n.delay_ns)
    }

    /// Returns the notices for the route changes of an instant. If a node on the path from host A to B changes its
    /// route to B, A gets a notice.
    pub(super) fn notices(&mut self, before: &Before, when: When) -> Vec<Told> {
        let delay_ns = if let When::After { delay_ns } = when { delay_ns } else { 0 };
        let pairs: BTreeSet<(usize, usize)> =
            self.setup.flows.iter().flat_map(|f| [(f.source, f.destination), (f.destination, f.source)]).collect();
        let mut out = Vec::new();
        for (told, destination) in pairs {
            let Some((to, cause, old_delay_ns, new_delay_ns)) = self.change(before, when, (told, destination)) else {
                continue;
            };
            out.push(Told {
                to,
                what: What::Notice(self.notice(to, (told, destination), (old_delay_ns, new_delay_ns), cause, delay_ns)),
            });
        }
        out
    }

    fn notice(
        &mut self,
        to: usize,
        (told, destination): (usize, usize),
        (old_delay_ns, new_delay_ns): (u64, u64),
        cause: NoticeCause,
        delay_ns: u64,
    ) -> Notice {
        self.notices += 1;
        let loss_ratio = self.setup.cures.notify.as_ref().map_or(0.0, |n| n.loss_ratio);
        Notice {
            number: self.notices,
            told: self.setup.hosts[told].short_address().into(),
            destination: self.setup.hosts[destination].short_address().into(),
            old_delay_ns: old_delay_ns as i64,
            new_delay_ns: new_delay_ns as i64,
            cause,
            delay_ns,
            is_lost: is_lost(self.setup.seed, self.notices, to, loss_ratio),
        }
    }

    /// On the old path between two hosts, finds the first node whose route changed. Returns the new and the old
    /// direction of this node. Also returns the delay of the whole path before and after the change.
    fn change(
        &self,
        before: &Before,
        when: When,
        (told, destination): (usize, usize),
    ) -> Option<(usize, NoticeCause, u64, u64)> {
        let station = self.station_of(told)?;
        let now = |at: usize| self.routes.get(&(at, destination)).copied();
        let then = |at: usize, host: usize| {
            before.routes.get(&(at, host)).copied().or_else(|| self.routes.get(&(at, host)).copied())
        };
        let old = self.way_from(station, destination, |at| then(at, destination))?;
        let (place, to) = old.iter().enumerate().find_map(|(place, &from)| {
            let to = now(self.sending_node(from))?;
            (to != from).then_some((place, to))
        })?;
        let from = old[place];
        if !is_modelled(self.setup, from) || !is_modelled(self.setup, to) {
            return None;
        }
        let node = self.sending_node(from);
        let delay_ns = |d: &usize| self.directions[*d].delay_ns;
        let former_ns = |d: &usize| before.delays_ns.get(d).copied().unwrap_or_else(|| delay_ns(d));
        let old_delay_ns = old.iter().map(former_ns).sum();
        let new_delay_ns = self.delay_ns(station, destination)?;
        let rests = self.rests(before, destination, from, to);
        let back = self.station_of(destination).and_then(|station| self.delay_ns(station, told));
        let notice = match when {
            When::After { .. } => self.delay_ns(node, told),
            When::Before => self.way_from(node, told, |at| then(at, told)).map(|way| way.iter().map(former_ns).sum()),
        };
        // without a return path, no acknowledgements can arrive; without a path to the host, the notice cannot arrive
        let answer_ns = back.zip(notice).map(|(back_ns, notice_ns)| back_ns as i64 - notice_ns as i64);
        let cause = NoticeCause::Change {
            from,
            rests_ns: rests.filter(|_| answer_ns.is_some()).map(|rests| (rests.from_ns, rests.to_ns)),
            answer_ns: answer_ns.unwrap_or_default(),
        };
        Some((to, cause, old_delay_ns, new_delay_ns))
    }

    /// Sends a false notice to a host from the host's own station. `place` is the index of the false notice in the
    /// setup.
    pub fn tell_falsely(&mut self, place: usize) -> Result<()> {
        let Some(&(t_ns, told, destination)) = self.setup.cures.notify.as_ref().and_then(|n| n.r#false.get(place))
        else {
            return Ok(());
        };
        // a false notice announces the change of a route, so a station without a route sends no notice
        let known = self.station_of(told).and_then(|station| {
            let there_ns = self.delay_ns(station, destination)?;
            let back_ns = self.delay_ns(self.station_of(destination)?, told)?;
            Some((*self.routes.get(&(station, destination))?, there_ns, back_ns))
        });
        let Some((to, there_ns, back_ns)) = known else { return Ok(()) };
        let cause = NoticeCause::False { wait_ns: there_ns + back_ns };
        let notice = self.notice(to, (told, destination), (there_ns, there_ns), cause, 0);
        self.tell(Some(vec![Told { to, what: What::Notice(notice) }]));
        self.flush(t_ns)
    }

    /// Returns the sum of the link delays from a node to a host along the present routes.
    fn delay_ns(&self, node: usize, host: usize) -> Option<u64> {
        let way = self.way_from(node, host, |at| self.routes.get(&(at, host)).copied())?;
        Some(way.iter().map(|&d| self.directions[d].delay_ns).sum())
    }

    /// Returns the node at the other end of a host's wire.
    fn station_of(&self, host: usize) -> Option<usize> {
        let node = self.setup.hosts[host].node;
        let mut wires = self.setup.links.iter().filter(|link| link.kind == LinkKind::Wire);
        wires.find_map(|link| match (link.a, link.b) {
            (a, b) if a == node => Some(b),
            (a, b) if b == node => Some(a),
            _ => None,
        })
    }

    fn sending_node(&self, direction: usize) -> usize {
        self.receiving_node(direction ^ 1)
    }
}

/// Returns whether a notice on the direction `to` is lost. The result depends on the seed, the number and the
/// direction. Without the direction, all runs with the same seed would lose the first notice, or none of them would.
fn is_lost(seed: u64, number: u32, to: usize, loss_ratio: f64) -> bool {
    uniform(substream(seed, "cures.notices", u64::from(number) << 32 | to as u64)) < loss_ratio
}

/// Converts a seed to a number between 0 and 1. The final step of splitmix64 makes neighbouring seeds give dissimilar
/// results.
fn uniform(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_notices_are_lost_as_the_ratio_says() {
        let lost = |ratio: f64| (1..=10_000).filter(|&n| is_lost(1, n, 7, ratio)).count();
        assert_eq!((lost(0.0), lost(1.0)), (0, 10_000));
        // the standard deviation of a binomial distribution of 10,000 trials with probability 0.2 is 40
        assert!((1840..=2160).contains(&lost(0.2)), "{}", lost(0.2));
    }

    #[test]
    fn the_first_notice_is_lost_over_some_directions_and_not_over_others() {
        let lost = (0..1000).filter(|&to| is_lost(1, 1, to, 0.5)).count();
        assert!((400..=600).contains(&lost), "{lost}");
    }
}
