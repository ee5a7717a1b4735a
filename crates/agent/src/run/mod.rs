// SPDX-License-Identifier: Apache-2.0
//! The steps of a run, from its input to `end.json`.

pub mod input;
pub mod play;

use crate::base::clock::{Clock, LEAD_NS};
use crate::base::context::Context;
use crate::base::error::{Error, Result};
use crate::base::say;
use crate::flows::Flows;
use crate::live::{self, Live};
use crate::network::interfaces::interface_name;
use crate::network::Network;
use crate::network::{mptcp, netns};
use crate::observe::cures;
use crate::observe::outcome::{self, Outcome};
use crate::observe::queue::with_maxima_of;
use crate::packets::capture::{Capture, Held, FLUSH_NS};
use crate::programs::modules;
use crate::programs::shell::Shell;
use crate::run::input::Input;
use crate::run::play::Player;
use leowarp_timeline::record::LinkTotal;
use leowarp_timeline::setup::{Discipline, LinkKind, Setup};
use serde_json::json;
use std::path::Path;

/// Performs a run from beginning to end. Reads the directory `input_dir`, and makes `output_dir` the working directory.
pub fn run(input_dir: &Path, output_dir: &Path) -> Result<()> {
    let input = Input::read(input_dir)?;
    std::env::set_current_dir(output_dir)
        .map_err(|source| Error::Output { file: output_dir.display().to_string(), source })?;
    let setup = &input.setup;
    modules::prepare(setup, input_dir)?;
    allow_congestion_controls()?;

    let mut network = Network::new(setup, &input.tables)?;
    let first = input.events_of_start();
    let paths = network.apply(&input.events[..first])?;
    disable_segmentation_offload(setup, &network)?;
    mptcp::open(&network, setup)?;
    let flows = Flows::open(&network, setup)?;
    let shell = Shell::open(&network, setup, input_dir)?;
    let live = Live::open(&network, setup, input_dir)?;

    // After its start, the clock must have the same values in every run of a plan. Reading the clock changes its value,
    // and sleeping changes it too.
    let clock = Clock::begin();
    say::line(&json!({ "start_ns": clock.start_ns }));
    network.begin(clock.start_ns)?;
    modules::set_origin(clock.start_ns)?;
    clock.sleep_until(-LEAD_NS)?;
    let context = Context::new(setup, &input.events, clock);
    let capture = setup.observe.truth.then(|| Capture::open(&context, &network)).transpose()?;
    let mut player = Player::open(&context, network, flows)?;
    player.mark(&paths)?;
    let capture = capture.map(Capture::start).transpose()?;
    player.start_flows()?;
    if let Some(shell) = &shell {
        shell.start(clock)?;
    }
    let is_live = live.is_some();
    if let Some(live) = live {
        live.start(clock)?;
    }
    player.play(first)?;
    if is_live {
        clock.sleep_until(context.ending.end_ns())?;
        return live::end(clock.now_ns());
    }
    if let Some(shell) = &shell {
        return shell.end_with_run(clock);
    }

    let end_ns = context.ending.end_ns();
    clock.sleep_until(end_ns)?;
    // Queues are sampled before the links have drained. Packets that wait in queues after the run's end are answers to
    // closed sockets, and do not belong to the run.
    let links_at_end = player.link_totals()?;
    let drained_ns = end_ns + setup.drain_ns.max(1);
    clock.sleep_until(drained_ns)?;
    // By this time, every packet that was sent has arrived or is in a link. The capture will still record the later
    // arrivals.
    let links_drained = player.link_totals()?;
    clock.sleep_until(drained_ns + FLUSH_NS)?;
    // Programs are ended after the last reading of the links, because packets that they send while they end do not
    // belong to the run.
    let programs = player.end_programs()?;
    let links = with_maxima_of(player.link_totals()?, &links_at_end);
    let mut outcome = match capture {
        Some(capture) => capture.finish(Held {
            held_pkts: held_pkts(setup, &links_drained)
                .map(|in_links| Ok::<_, Error>(in_links + cures::held_behind_links_pkts(setup)?))
                .transpose()?,
            lost_between_links: player.lost_between_links()?,
        })?,
        None => Outcome::of_receivers(setup, player.transfers())?,
    };
    if outcome.vanished_pkts > 0 {
        // To count the packets whose time to live ended, the agent must query every router. These packets are therefore
        // counted last, and only if packets vanished.
        outcome.explain_vanished(player.expired_pkts()?);
    }
    player.finish(&mut outcome.connections)?;
    outcome::write_rows(&context, &links, player.transfers(), &outcome.flows)?;
    cures::write_rows(&context)?;
    outcome::write_end(end_ns, clock, &links, outcome, programs)
}

/// Allows every host to use each congestion control of the kernel. Each host is a separate namespace. Every namespace
/// except the first needs this permission for its default congestion control (net/ipv4/tcp_cong.c,
/// `tcp_set_default_congestion_control`).
fn allow_congestion_controls() -> Result<()> {
    let available = netns::sysctl("net.ipv4.tcp_available_congestion_control")?;
    netns::set_sysctl("net.ipv4.tcp_allowed_congestion_control", &available)
}

/// On the wires of hosts, limits the size of packets to the MTU, as on links.
fn disable_segmentation_offload(setup: &Setup, network: &Network) -> Result<()> {
    for (i, link) in setup.links.iter().enumerate().filter(|(_, l)| l.kind == LinkKind::Wire) {
        for node in [link.a, link.b].into_iter().filter(|&n| setup.hosts.iter().any(|h| h.node == n)) {
            network.inside(node, || {
                netns::disable_segmentation_offload(&interface_name(i))?;
                if setup.has_programs() {
                    netns::disable_datagram_offload(&interface_name(i))?;
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Returns the number of packets inside links. None means that at least one link uses netem, which does not count
/// packets in flight separately.
fn held_pkts(setup: &Setup, links: &[LinkTotal]) -> Option<u64> {
    let all_count = setup.links.iter().all(|l| !l.is_modelled() || l.discipline == Some(Discipline::Leolink));
    all_count.then(|| links.iter().map(|t| t.held_pkts).sum())
}
