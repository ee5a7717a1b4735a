// SPDX-License-Identifier: Apache-2.0
//! Notices that are sent before the route change (`cures.notify_delay` below 0). A node can know future route changes,
//! because routes are computed from the constellation.

use super::switches::{What, When};
use super::{Before, Network};
use crate::base::error::Result;
use crate::network::leolink::NoticeCause;
use crate::network::tc::Say;
use leowarp_timeline::event::Change;
use leowarp_timeline::Event;

impl Network<'_> {
    /// Returns the instants at which routes change, from the event `first` on. Each element contains the index of the
    /// instant's first event, and the time at which the notice is sent. If `delay_ns` is 0 or more, the result is
    /// empty. Changes that come too soon after the run's start are left out.
    pub fn told_ahead(events: &[Event], first: usize, delay_ns: i64) -> Vec<(usize, i64)> {
        let mut out: Vec<(usize, i64)> = Vec::new();
        if delay_ns >= 0 {
            return out;
        }
        let mut begins = first;
        for (place, event) in events.iter().enumerate().skip(first) {
            if event.t_ns != events[begins].t_ns {
                begins = place;
            }
            let is_noted = out.last().is_some_and(|&(noted, _)| noted == begins);
            let told_ns = event.t_ns + delay_ns;
            if matches!(event.change, Change::Route { .. }) && !is_noted && told_ns >= 0 {
                out.push((begins, told_ns));
            }
        }
        out
    }

    /// Notifies hosts of the route changes at a future instant. Does not change the routes themselves. The events are
    /// applied only to a copy of the routes. `change` contains the events at the future instant. `until` contains the
    /// events after `t_ns` and before this instant.
    pub fn tell_ahead(&mut self, t_ns: i64, until: &[Event], change: &[Event]) -> Result<()> {
        let Some(first) = change.first() else { return Ok(()) };
        let present = (self.routes.clone(), self.directions.clone());
        self.foresee(until);
        // here, a link counts as losing packets only if it goes down at the instant of the change. A link that goes
        // down earlier has already lost its packets
        self.say.fill(None);
        let before = self.foresee(change);
        let mut told = self.notices(&before, When::Before);
        self.say.fill(None);
        for each in &mut told {
            let What::Notice(notice) = &mut each.what else { continue };
            if let NoticeCause::Change { from, .. } = notice.cause {
                let delays_ns = (present.1[from].delay_ns, self.directions[each.to].delay_ns);
                notice.cause = ahead(notice.cause, delays_ns, (first.t_ns - t_ns) as u64);
                each.to = from;
            }
        }
        (self.routes, self.directions) = present;
        self.tell(Some(told));
        self.flush(t_ns)
    }

    /// Applies events to the copy of routes and delays, without the kernel. Returns the state before the events.
    fn foresee(&mut self, events: &[Event]) -> Before {
        let mut before = Before::default();
        for event in events {
            match event.change {
                Change::Down { link, lose } => {
                    for d in [2 * link, 2 * link + 1] {
                        self.say[d] = lose.then_some(Say::Flush);
                    }
                }
                Change::Delay { direction, delay_ns } => {
                    let former_ns = std::mem::replace(&mut self.directions[direction].delay_ns, delay_ns);
                    before.delays_ns.entry(direction).or_insert(former_ns);
                }
                Change::Rate { direction, rate_bps } => self.directions[direction].rate_bps = rate_bps,
                Change::Route { node, host, direction, .. } => {
                    let former = match direction {
                        Some(direction) => self.routes.insert((node, host), direction),
                        None => self.routes.remove(&(node, host)),
                    };
                    if let Some(former) = former.filter(|&former| Some(former) != direction) {
                        before.routes.entry((node, host)).or_insert(former);
                    }
                }
                _ => {}
            }
        }
        before
    }
}

/// Changes a notice so that the leolink of the old direction can send it. The new direction's leolink may not exist
/// yet.
///
/// leolink uses the length of the node's present queue, and adds the delay of the sending direction. Here, the sending
/// direction is the old direction. The delays of the old and the new direction may differ. This function therefore adds
/// the new delay minus the old delay to the time on the new path. All sums are modulo 2^64.
fn ahead(cause: NoticeCause, (old_ns, new_ns): (u64, u64), lead_ns: u64) -> NoticeCause {
    let NoticeCause::Change { from, rests_ns, answer_ns } = cause else { return cause };
    let rests_ns = rests_ns.map(|(from_ns, to_ns)| (from_ns, to_ns.wrapping_add(new_ns).wrapping_sub(old_ns)));
    NoticeCause::Change { from, rests_ns, answer_ns: answer_ns + lead_ns as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(t_ns: i64) -> Event {
        Event { t_ns, change: Change::Route { node: 0, host: 1, direction: None, path: None } }
    }

    fn delay(t_ns: i64) -> Event {
        Event { t_ns, change: Change::Delay { direction: 0, delay_ns: 1 } }
    }

    #[test]
    fn hosts_are_told_so_long_before_each_instant_at_which_routes_change() {
        let events = [route(0), delay(15), delay(30), route(30), route(30), delay(45), route(60)];
        assert_eq!(Network::told_ahead(&events, 1, -7), [(2, 23), (6, 53)]);
        assert_eq!(Network::told_ahead(&events, 1, -31), [(6, 29)]);
        assert_eq!(Network::told_ahead(&events, 1, 7), []);
        assert_eq!(Network::told_ahead(&events, 7, -7), []);
    }

    #[test]
    fn a_notice_ahead_waits_from_now_until_the_change_and_on_and_overtakes_by_the_same_comparison() {
        let cause = NoticeCause::Change { from: 6, rests_ns: Some((900, 100)), answer_ns: -5 };
        let NoticeCause::Change { from, rests_ns: Some((from_ns, to_ns)), answer_ns } = ahead(cause, (300, 50), 2000)
        else {
            panic!("it is of a change");
        };
        assert_eq!((from, from_ns, answer_ns), (6, 900, 1995));
        // this test adds the delay of the old direction to `to_ns`, as leolink does
        assert_eq!(300_u64.wrapping_add(to_ns), 50 + 100);
        let lost = NoticeCause::Change { from: 6, rests_ns: None, answer_ns: 0 };
        assert_eq!(ahead(lost, (300, 50), 2), NoticeCause::Change { from: 6, rests_ns: None, answer_ns: 2 });
    }
}
