// SPDX-License-Identifier: Apache-2.0
//! A run from its input to `end.json`.

use crate::capture::{Capture, Held, Outcome, FLUSH_NS};
use crate::clock::{Clock, LEAD_NS};
use crate::delays::Extremes;
use crate::drops::Drops;
use crate::ending::Ending;
use crate::error::{Error, Result};
use crate::flows::{flood::Flood, probe::Probe, socket, tcp::Transfer};
use crate::frame::{DESTINATION_PORT, FLOWS_MAX};
use crate::network::{interface_name, Network};
use crate::play::{awaited, Player};
use crate::queue::Queues;
use crate::sample::{self, Counters};
use crate::table::{self, Rows};
use crate::{modules, netns, say};
use leowarp_timeline::event;
use leowarp_timeline::record::{FlowEnd, LinkTotal, Missing};
use leowarp_timeline::setup::{Discipline, Ends, FlowKind, LinkKind, Setup};
use leowarp_timeline::Tables;
use serde_json::{json, Map, Value};
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;

/// All of it, from its input directory, in that of the boot, into its output directory, which becomes the working one.
pub fn run(boot_dir: &Path, input_dir: &Path, output_dir: &Path) -> Result<()> {
    std::env::set_current_dir(output_dir)
        .map_err(|source| Error::Output { file: output_dir.display().to_string(), source })?;
    let input = |name: &str| {
        let path = input_dir.join(name);
        std::fs::read(&path).map_err(|e| Error::Input(format!("read {}: {e}", path.display())))
    };
    let setup = Setup::from_json(&input("setup.json")?).map_err(|e| Error::Input(e.to_string()))?;
    let events = event::read(&input("events.bin")?, &setup).map_err(|e| Error::Input(e.to_string()))?;
    let has_tables = setup.links.iter().flat_map(|l| &l.directions).any(|d| d.capacity_rows + d.channel_rows > 0);
    let tables = if has_tables { input("tables.bin")? } else { Vec::new() };
    let tables = Tables::read(tables, &setup).map_err(|e| Error::Input(e.to_string()))?;
    if setup.flows.len() > FLOWS_MAX {
        return Err(Error::Input(format!(
            "{} flows, but the agent has port numbers for {FLOWS_MAX}",
            setup.flows.len()
        )));
    }
    // They count from the boot on: runs before this one may have had some.
    let (no_route_before, unresolved_before) = (sample::no_route_pkts()?, sample::unresolved_pkts()?);
    modules::prepare(&setup, boot_dir)?;
    let allowed = netns::sysctl("net.ipv4.tcp_available_congestion_control")?;
    netns::set_sysctl("net.ipv4.tcp_allowed_congestion_control", &allowed)?;

    let mut network = Network::new(&setup, &tables)?;
    let first = events.iter().take_while(|e| e.t_ns <= 0).count();
    let paths = network.apply(&events[..first])?;
    for (i, link) in setup.links.iter().enumerate().filter(|(_, l)| l.kind == LinkKind::Wire) {
        for node in [link.a, link.b].into_iter().filter(|&n| setup.hosts.iter().any(|h| h.node == n)) {
            network.inside(node, || netns::disable_segmentation_offload(&interface_name(i)))?;
        }
    }
    let (mut transfers, mut probes, mut floods) = (Vec::new(), Vec::new(), Vec::new());
    for (i, flow) in setup.flows.iter().enumerate() {
        match flow.kind {
            FlowKind::Tcp => transfers.push(Transfer::open(&network, &setup, i)?),
            FlowKind::Ping if flow.flood => floods.push(Flood::open(&network, &setup, i)?),
            FlowKind::Ping | FlowKind::Udp => probes.push(Probe::open(&network, &setup, i)?),
        }
    }

    let clock = Clock::begin();
    network.begin(clock.start_ns)?;
    modules::set_origin(clock.start_ns)?;
    clock.sleep_until(-LEAD_NS)?;
    let is_watched = setup.ends == Ends::Flows || !setup.observe.truth;
    let ending = Arc::new(Ending::new(setup.duration_ns, is_watched));
    let header = header(&setup);
    let counters = Counters::open(&network, &setup)?;
    let queues = Queues::open(&setup)?;
    let mut counter_header = header.clone();
    counter_header.insert("names".into(), json!(counters.names()));
    let truth = setup.observe.truth;
    let capture =
        if truth { Some(Capture::open(&network, &setup, &events, clock, ending.clone(), &header)?) } else { None };
    let mut player = Player {
        setup: &setup,
        events: &events,
        clock,
        network,
        looked_last: vec![false; transfers.len()],
        transfers,
        probes,
        floods,
        ending: ending.clone(),
        awaited: awaited(&setup),
        counters,
        queues,
        socket_rows: Rows::create(&header)?,
        counter_rows: Rows::create(&counter_header)?,
        queue_rows: Rows::create(&header)?,
        drops: if truth { None } else { Some((Drops::open(), Rows::create(&header)?)) },
    };
    player.mark(&paths)?;
    let capturing = capture.map(Capture::start).transpose()?;
    for transfer in &player.transfers {
        let flow = &setup.flows[transfer.flow];
        let to = setup.hosts[flow.destination].address;
        let to = socket::address(to, DESTINATION_PORT + transfer.flow as u16);
        transfer.start(clock, flow, to, &ending)?;
    }
    for flood in &mut player.floods {
        flood.start(clock, &ending)?;
    }
    player.play(first)?;

    let end_ns = ending.end_ns();
    clock.sleep_until(end_ns + setup.drain_ns.max(1))?;
    // Whatever was sent has arrived by now, and is seen before the capture ends, or a link holds it.
    let held = player.queues.totals(&player.network)?;
    clock.sleep_until(end_ns + setup.drain_ns.max(1) + FLUSH_NS)?;
    let totals = player.queues.totals(&player.network)?;
    let outcome = match capturing {
        Some((finish, thread)) => {
            let told = setup.links.iter().all(|l| !l.is_modelled() || l.discipline == Some(Discipline::Leolink));
            let held_pkts = told.then(|| held.iter().map(|t| t.held_pkts).sum());
            let no_route_pkts = sample::no_route_pkts()? - no_route_before;
            let unresolved_pkts = sample::unresolved_pkts()? - unresolved_before;
            finish.tell(Held { held_pkts, no_route_pkts, unresolved_pkts })?;
            thread.join().map_err(|_| Error::Broken("the capture thread broke".into()))?
        }
        None => without_truth(&setup, &player.transfers)?,
    };
    player.finish()?;
    end(&setup, end_ns, &header, &totals, &player.transfers, outcome)
}

/// What the receivers of transfers know by themselves.
fn without_truth(setup: &Setup, transfers: &[Transfer]) -> Result<Outcome> {
    let mut outcome = Outcome::unknown(setup.flows.len());
    for transfer in transfers {
        outcome.arrived_bytes[transfer.flow] = transfer.received_bytes()?;
        let complete_ns = Some(transfer.shared.complete_ns.load(SeqCst)).filter(|&t| t != i64::MISSING);
        outcome.times_ns[transfer.flow].2 = complete_ns.filter(|_| setup.flows[transfer.flow].size_bytes.is_some());
    }
    Ok(outcome)
}

fn header(setup: &Setup) -> Map<String, Value> {
    let names = |i: usize| setup.nodes[i].name.clone();
    let directions: Vec<Value> = setup
        .links
        .iter()
        .flat_map(|l| {
            let kind = format!("{:?}", l.kind).to_lowercase();
            [json!([names(l.a), names(l.b), kind]), json!([names(l.b), names(l.a), kind])]
        })
        .collect();
    let mut out = Map::new();
    // null: nobody knows yet; end.json will
    let duration_ns = (setup.ends == Ends::Duration).then_some(setup.duration_ns);
    out.insert("duration_ns".into(), duration_ns.into());
    out.insert("directions".into(), directions.into());
    out
}

fn end(
    setup: &Setup,
    end_ns: i64,
    header: &Map<String, Value>,
    links: &[LinkTotal],
    transfers: &[Transfer],
    outcome: Outcome,
) -> Result<()> {
    let mut failures = outcome.failures;
    let mut conservation = Vec::new();

    let mut rows = Rows::create(header)?;
    for link in links {
        rows.push(link)?;
        if link.offered_pkts == u64::MISSING {
            continue;
        }
        let dropped_pkts = link.dropped_queue_pkts + link.dropped_loss_pkts + link.dropped_down_pkts;
        let dropped_bytes = link.dropped_queue_bytes + link.dropped_loss_bytes + link.dropped_down_bytes;
        let ok = link.offered_pkts == link.delivered_pkts + dropped_pkts + link.held_pkts
            && link.offered_bytes == link.delivered_bytes + dropped_bytes + link.held_bytes;
        if !ok {
            failures.push(format!("link direction {} does not add up: {link:?}", link.direction));
        }
        if link.offered_pkts > 0 || !ok {
            conservation.push(json!({
                "what": "link", "direction": link.direction, "ok": ok,
                "offered_pkts": link.offered_pkts, "delivered_pkts": link.delivered_pkts,
                "dropped_pkts": dropped_pkts, "held_pkts": link.held_pkts,
                "offered_bytes": link.offered_bytes, "delivered_bytes": link.delivered_bytes,
                "dropped_bytes": dropped_bytes, "held_bytes": link.held_bytes,
            }));
        }
    }
    rows.flush()?;

    let mut rows = Rows::create(header)?;
    for flow in 0..setup.flows.len() {
        let transfer = transfers.iter().find(|t| t.flow == flow);
        let (first, last, complete) = outcome.times_ns[flow];
        let of_round_trips = |value: fn(Extremes) -> i64| outcome.round_trips[flow].map_or(i64::MISSING, value);
        rows.push(&FlowEnd {
            flow: flow as u32,
            connect_ns: transfer.map_or(i64::MISSING, |t| t.shared.connect_ns.load(SeqCst)),
            first_byte_ns: first.unwrap_or(i64::MISSING),
            last_byte_ns: last.unwrap_or(i64::MISSING),
            completion_ns: complete.map_or(i64::MISSING, |t| t - setup.flows[flow].start_ns),
            bytes: outcome.arrived_bytes[flow],
            error: transfer.map_or(0, |t| t.shared.error.load(SeqCst)) as u32,
            duplicate_acks_pkts: outcome.duplicate_acks_pkts[flow],
            rtt_min_ns: of_round_trips(|r| r.min_ns),
            rtt_max_ns: of_round_trips(|r| r.max_ns),
            rtt_sum_ns: of_round_trips(|r| r.sum_ns),
        })?;
    }
    rows.flush()?;
    for (account, t) in outcome.totals.iter().enumerate() {
        let ok = t.adds_up();
        if !ok {
            failures.push(format!("flow {}, direction {} does not add up: {t:?}", account / 2, account % 2));
        }
        let lost = |i: usize| json!({"pkts": t.lost[i].pkts, "bytes": t.lost[i].bytes});
        conservation.push(json!({
            "what": "flow", "flow": account / 2, "direction": account % 2, "ok": ok,
            "sent": t.sent, "received": t.received, "in_flight": t.in_flight,
            "lost": {"queue": lost(0), "loss": lost(1), "down": lost(2), "no_route": lost(3), "unknown": lost(4)},
        }));
    }

    let ok = failures.is_empty();
    let text = json!({
        "ok": ok, "virtual_ns": end_ns, "warnings": outcome.warnings, "failures": failures,
        "conservation": conservation,
    });
    table::write_file("end.json", text.to_string().as_bytes())?;
    if let Some(first) = failures.first() {
        say::line(&json!({
            "error": format!("packets do not add up ({} findings): {first}", failures.len()),
            "hint": "end.json lists them; please report it with the plan of this run",
        }));
    }
    Ok(())
}
