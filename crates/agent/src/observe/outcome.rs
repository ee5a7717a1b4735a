// SPDX-License-Identifier: Apache-2.0
//! The result of a run: its packets, the check of the sums, and `end.json`.

use crate::base::clock::Clock;
use crate::base::context::Context;
use crate::base::error::Result;
use crate::base::say;
use crate::base::table::{self, Rows};
use crate::flows::tcp::Transfer;
use crate::packets::connections::Lived;
use crate::packets::delays::Extremes;
use crate::packets::ledger::Totals;
use leowarp_timeline::record::{FlowEnd, LinkTotal, Missing};
use leowarp_timeline::setup::{Flow, Setup};
use serde_json::{json, Value};

/// The facts about a flow at the end of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowOutcome {
    /// The time at which the flow started. For a connection, the time of its first packet.
    pub start_ns: i64,
    /// For a program's connection, the time at which the answer to its first segment arrived.
    pub connect_ns: Option<i64>,
    /// The time at which the first payload reached the destination.
    pub first_byte_ns: Option<i64>,
    /// The time at which the last payload reached the destination.
    pub last_byte_ns: Option<i64>,
    /// The time at which all data had arrived. None means that not all data arrived, or that the flow has no size.
    pub complete_ns: Option<i64>,
    /// The number of payload bytes that arrived at the destination. Each byte counts once.
    pub arrived_bytes: Option<u64>,
    /// The number of duplicate acknowledgements that reached the source. None means that the flow is not TCP, or that
    /// packets were not recorded.
    pub duplicate_acks_pkts: Option<u64>,
    /// The round trips of the flow's data packets.
    pub round_trips: Option<Extremes>,
}

/// The results about packets that are known at the end of the run.
pub struct Outcome {
    /// The sums per flow and direction, at index 2 * flow + direction. Empty without packet truth.
    pub totals: Vec<Totals>,
    pub flows: Vec<FlowOutcome>,
    /// The connections of programs. Their numbers follow the numbers of the setup's flows.
    pub connections: Vec<Lived>,
    /// The number of packets that vanished. Neither an arrival nor a drop was reported for these packets. Counters of
    /// losses between links do not explain them either.
    pub vanished_pkts: u64,
    pub warnings: Vec<String>,
    /// The contradictions between the run's results.
    pub failures: Vec<String>,
}

impl Outcome {
    /// Returns the outcome of a run without packet truth. The outcome contains only the number of bytes that each
    /// transfer's receiver has counted.
    pub fn of_receivers(setup: &Setup, transfers: &[Transfer]) -> Result<Self> {
        let flow = |f: &Flow| FlowOutcome { start_ns: f.start_ns, ..FlowOutcome::default() };
        let mut flows: Vec<_> = setup.flows.iter().map(flow).collect();
        for transfer in transfers {
            let has_size = setup.flows[transfer.flow].size_bytes.is_some();
            let outcome = &mut flows[transfer.flow];
            outcome.arrived_bytes = Some(transfer.received_bytes()?);
            outcome.complete_ns = transfer.complete_ns().filter(|_| has_size);
        }
        let (totals, connections, warnings, failures) = Default::default();
        Ok(Self { totals, flows, connections, vanished_pkts: 0, warnings, failures })
    }

    /// Adds a warning about packets whose time to live ended in a routing loop. Adds a failure if more packets vanished
    /// than `expired_pkts`. Other losses are counted, and need no explanation.
    pub fn explain_vanished(&mut self, expired_pkts: u64) {
        let vanished = self.vanished_pkts;
        if expired_pkts > 0 {
            self.warnings.push(format!(
                "{expired_pkts} packets went in a circle of routes until their time to live ended (drop cause no route)"
            ));
        }
        if vanished > expired_pkts {
            self.failures.push(format!(
                "{vanished} packets vanished beyond those that found no route, {expired_pkts} in a circle"
            ));
        }
    }
}

/// Writes the tables whose content is known only at the run's end.
pub fn write_rows(context: &Context, links: &[LinkTotal], transfers: &[Transfer], flows: &[FlowOutcome]) -> Result<()> {
    let mut link_rows = Rows::create(&context.header)?;
    links.iter().try_for_each(|link| link_rows.push(link))?;
    link_rows.flush()?;
    let mut flow_rows = Rows::create(&context.header)?;
    for (flow, outcome) in flows.iter().enumerate() {
        let transfer = transfers.iter().find(|t| t.flow == flow);
        let mut row = flow_end(flow, transfer, outcome);
        // A further subflow of Multipath TCP ends with its connection. Connections of programs have no subflows. The
        // numbers of these connections come after those of the plan's flows.
        let whole = context.setup.flows.get(flow).and_then(|of_plan| of_plan.subflow_of).unwrap_or(flow);
        if let Some(transfer) = transfers.iter().find(|t| t.flow == whole && t.is_mptcp()) {
            let complete_ns = transfer.complete_ns().filter(|_| context.setup.flows[whole].size_bytes.is_some());
            row.completion_ns = complete_ns.map_or(i64::MISSING, |t_ns| t_ns - outcome.start_ns);
        }
        flow_rows.push(&row)?;
    }
    flow_rows.flush()
}

fn flow_end(flow: usize, transfer: Option<&Transfer>, outcome: &FlowOutcome) -> FlowEnd {
    let round_trips = |value: fn(Extremes) -> i64| outcome.round_trips.map_or(i64::MISSING, value);
    FlowEnd {
        flow: flow as u32,
        connect_ns: transfer.and_then(Transfer::connect_ns).or(outcome.connect_ns).unwrap_or(i64::MISSING),
        first_byte_ns: outcome.first_byte_ns.unwrap_or(i64::MISSING),
        last_byte_ns: outcome.last_byte_ns.unwrap_or(i64::MISSING),
        completion_ns: outcome.complete_ns.map_or(i64::MISSING, |t_ns| t_ns - outcome.start_ns),
        bytes: outcome.arrived_bytes.unwrap_or(u64::MISSING),
        connection_bytes: transfer.and_then(Transfer::connection_bytes).unwrap_or(u64::MISSING),
        error: transfer.map_or(0, Transfer::errno) as u32,
        duplicate_acks_pkts: outcome.duplicate_acks_pkts.unwrap_or(u64::MISSING),
        rtt_min_ns: round_trips(|r| r.min_ns),
        rtt_max_ns: round_trips(|r| r.max_ns),
        rtt_sum_ns: round_trips(|r| r.sum_ns),
    }
}

/// Writes `end.json`: all sums of packets, and whether they agree. A run whose sums disagree has failed. `programs`
/// describes how user programs ended. With user programs, the file also contains `clock`, because programs may have
/// stored times of the guest's clock.
pub fn write_end(end_ns: i64, clock: Clock, links: &[LinkTotal], outcome: Outcome, programs: Vec<Value>) -> Result<()> {
    let mut accounts = Accounts { conservation: Vec::new(), failures: outcome.failures };
    links.iter().for_each(|link| accounts.add_link(link));
    outcome.totals.iter().enumerate().for_each(|(account, totals)| accounts.add_flow(account, totals));
    let Accounts { conservation, failures } = accounts;
    let mut text = json!({
        "ok": failures.is_empty(), "virtual_ns": end_ns, "warnings": outcome.warnings, "failures": failures,
        "conservation": conservation,
    });
    if !programs.is_empty() {
        text["programs"] = programs.into();
        text["start_realtime_ns"] = clock.real_ns(0).into();
        text["connections"] = outcome.connections.iter().map(Lived::described).collect();
    }
    table::write_file("end.json", text.to_string().as_bytes())?;
    if let Some(first) = failures.first() {
        say::line(&json!({
            "error": format!("packets do not add up ({} findings): {first}", failures.len()),
            "hint": "end.json lists them; please report it with the plan of this run",
        }));
    }
    Ok(())
}

/// The sums of packets in links and in flows, which must agree.
struct Accounts {
    conservation: Vec<Value>,
    failures: Vec<String>,
}

impl Accounts {
    /// Adds a link's packets. netem does not count offered packets, so netem links are skipped.
    fn add_link(&mut self, link: &LinkTotal) {
        if link.offered_pkts == u64::MISSING {
            return;
        }
        let dropped_pkts = link.dropped_queue_pkts + link.dropped_loss_pkts + link.dropped_down_pkts;
        let dropped_bytes = link.dropped_queue_bytes + link.dropped_loss_bytes + link.dropped_down_bytes;
        let ok = link.offered_pkts == link.delivered_pkts + dropped_pkts + link.held_pkts
            && link.offered_bytes == link.delivered_bytes + dropped_bytes + link.held_bytes;
        if !ok {
            self.failures.push(format!("link direction {} does not add up: {link:?}", link.direction));
        }
        if link.offered_pkts > 0 || !ok {
            self.conservation.push(json!({
                "what": "link", "direction": link.direction, "ok": ok,
                "offered_pkts": link.offered_pkts, "delivered_pkts": link.delivered_pkts,
                "dropped_pkts": dropped_pkts, "held_pkts": link.held_pkts,
                "offered_bytes": link.offered_bytes, "delivered_bytes": link.delivered_bytes,
                "dropped_bytes": dropped_bytes, "held_bytes": link.held_bytes,
            }));
        }
    }

    /// Adds a flow's packets. `account` is 2 * flow + direction.
    fn add_flow(&mut self, account: usize, totals: &Totals) {
        let (flow, direction, ok) = (account / 2, account % 2, totals.adds_up());
        if !ok {
            self.failures.push(format!("flow {flow}, direction {direction} does not add up: {totals:?}"));
        }
        let [queue, loss, down, no_route, unknown] = totals.lost;
        self.conservation.push(json!({
            "what": "flow", "flow": flow, "direction": direction, "ok": ok,
            "sent": totals.sent, "received": totals.received, "in_flight": totals.in_flight,
            "lost": {"queue": queue, "loss": loss, "down": down, "no_route": no_route, "unknown": unknown},
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::ledger::Sum;

    fn link() -> LinkTotal {
        LinkTotal {
            direction: 3,
            offered_pkts: 10,
            offered_bytes: 1000,
            delivered_pkts: 5,
            delivered_bytes: 500,
            dropped_queue_pkts: 1,
            dropped_queue_bytes: 100,
            dropped_loss_pkts: 1,
            dropped_loss_bytes: 100,
            dropped_down_pkts: 1,
            dropped_down_bytes: 100,
            held_pkts: 2,
            held_bytes: 200,
            queue_max_pkts: 4,
            busy_ns: 9,
            run_queue_max_pkts: 4,
            run_queue_max_pkts_at_ns: 7,
            run_queue_max_bytes: 400,
            run_queue_max_bytes_at_ns: 7,
        }
    }

    fn accounts() -> Accounts {
        Accounts { conservation: Vec::new(), failures: Vec::new() }
    }

    #[test]
    fn what_vanishes_is_explained_by_circles_of_routes_or_a_failure() {
        let vanished = |vanished_pkts, expired_pkts| {
            let (totals, flows, connections, warnings, failures) = Default::default();
            let mut outcome = Outcome { totals, flows, connections, vanished_pkts, warnings, failures };
            outcome.explain_vanished(expired_pkts);
            (outcome.warnings.len(), outcome.failures.len())
        };
        assert_eq!(vanished(3, 3), (1, 0));
        // In a routing loop, the answers of routers circulate as well, so more packets may have expired than vanished.
        assert_eq!(vanished(3, 5), (1, 0));
        assert_eq!(vanished(3, 2), (1, 1));
        assert_eq!(vanished(3, 0), (0, 1));
    }

    #[test]
    fn a_link_that_adds_up_is_an_account_and_no_failure() {
        let mut accounts = accounts();
        accounts.add_link(&link());
        assert!(accounts.failures.is_empty());
        assert_eq!(accounts.conservation[0]["dropped_pkts"], 3);
        assert_eq!(accounts.conservation[0]["ok"], true);
    }

    #[test]
    fn a_link_that_lost_a_packet_or_a_byte_is_a_failure_that_names_it() {
        for wrong in [LinkTotal { delivered_pkts: 4, ..link() }, LinkTotal { held_bytes: 199, ..link() }] {
            let mut accounts = accounts();
            accounts.add_link(&wrong);
            assert!(accounts.failures[0].starts_with("link direction 3 does not add up"), "{:?}", accounts.failures);
            assert_eq!(accounts.conservation[0]["ok"], false);
        }
    }

    #[test]
    fn a_link_that_nothing_was_offered_to_or_that_does_not_tell_is_no_account() {
        let zero = LinkTotal { offered_pkts: 0, offered_bytes: 0, delivered_pkts: 0, delivered_bytes: 0, ..link() };
        let idle = LinkTotal { dropped_queue_pkts: 0, dropped_loss_pkts: 0, dropped_down_pkts: 0, ..zero };
        let idle = LinkTotal { dropped_queue_bytes: 0, dropped_loss_bytes: 0, dropped_down_bytes: 0, ..idle };
        let mut accounts = accounts();
        accounts.add_link(&LinkTotal { held_pkts: 0, held_bytes: 0, ..idle });
        accounts.add_link(&LinkTotal { offered_pkts: u64::MISSING, ..link() });
        assert!(accounts.conservation.is_empty() && accounts.failures.is_empty());
    }

    #[test]
    fn a_flow_names_its_direction_and_what_was_lost_by_cause() {
        let sum = |pkts| Sum { pkts, bytes: 100 * pkts };
        let mut totals = Totals { sent: sum(6), received: sum(3), in_flight: sum(1), ..Totals::default() };
        totals.lost[3] = sum(2);
        let mut accounts = accounts();
        accounts.add_flow(5, &totals);
        let flow = &accounts.conservation[0];
        assert_eq!((&flow["flow"], &flow["direction"], &flow["ok"]), (&json!(2), &json!(1), &json!(true)));
        assert_eq!(flow["lost"]["no_route"], json!({"pkts": 2, "bytes": 200}));
        accounts.add_flow(4, &Totals { sent: sum(7), ..totals });
        assert!(accounts.failures[0].starts_with("flow 2, direction 0 does not add up"));
    }
}
