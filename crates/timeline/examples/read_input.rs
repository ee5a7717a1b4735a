// SPDX-License-Identifier: Apache-2.0
//! Reads `setup.json`, `tables.bin` and `events.bin` of a directory as the agent does. Prints one line for each module,
//! host, flood, table row and event, and for each direction whose settings are not the defaults. A test compares this
//! output with the files that the Python side wrote.

use leowarp_timeline::event::{self, Change};
use leowarp_timeline::setup::Setup;
use leowarp_timeline::tables::{self, Tables};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("usage: read_input DIRECTORY")?);
    let setup = Setup::from_json(&std::fs::read(directory.join("setup.json"))?)?;
    let node = |i: usize| &setup.nodes[i].name;
    let host = |i: usize| node(setup.hosts[i].node);
    let ends = |direction: usize| {
        let link = &setup.links[direction / 2];
        let (a, b) = if direction % 2 == 0 { (link.a, link.b) } else { (link.b, link.a) };
        format!("{} {}", node(a), node(b))
    };
    println!("mtu {}", setup.mtu_bytes);
    for host in &setup.hosts {
        println!("{} {:?} {:?}", node(host.node), host.pacing, host.delayed_ack);
    }
    for (i, _) in setup.flows.iter().enumerate().filter(|(_, f)| f.flood) {
        println!("flood {i} {:?}", setup.flows[i].interval_ns);
    }
    for module in &setup.modules {
        println!("module {} {:?} {:?}", module.name, module.file, module.parameters);
    }
    let path = directory.join("tables.bin");
    let tables = Tables::read(if path.exists() { std::fs::read(path)? } else { Vec::new() }, &setup)?;
    for direction in (0..2 * setup.links.len()).filter(|&d| !setup.direction(d).is_plain()) {
        let d = setup.direction(direction);
        println!("direction {} in_order {} probe_bytes {}", ends(direction), d.in_order, d.probe_bytes);
        if let Some(q) = &d.queue {
            let name = q.kind.name();
            println!("queue {name} ecn {} {:?} {:?} {:?}", q.ecn, q.parameters, q.limit_pkts, q.limit_bytes);
        }
        for (table, records) in [("capacity", tables.capacity(direction)), ("channel", tables.channel(direction))] {
            for row in tables::rows(records) {
                println!("{table} {} {} {}", row.t_ns, row.value, row.loss);
            }
        }
    }
    for event in event::read(&std::fs::read(directory.join("events.bin"))?, &setup)? {
        let what = match event.change {
            Change::Up { link } => format!("up {}", ends(2 * link)),
            Change::Down { link, lose } => format!("down {} {lose}", ends(2 * link)),
            Change::Delay { direction, delay_ns } => format!("delay {} {delay_ns}", ends(direction)),
            Change::Rate { direction, rate_bps } => format!("rate {} {rate_bps}", ends(direction)),
            Change::Loss { direction, ratio } => format!("loss {} {ratio}", ends(direction)),
            Change::Route { node: at, host: to, direction, path } => {
                format!("route {} {} {} {path:?}", node(at), host(to), direction.map_or("none".into(), ends))
            }
            Change::Jitter { direction, table, sigma_ns } => {
                format!("jitter {} {sigma_ns} {}", ends(direction), setup.jitter_tables[table].name)
            }
            Change::Path { source, destination, path, change } => {
                format!("path {} {} {path:?} {change:?}", host(source), host(destination))
            }
        };
        println!("{} {what}", event.t_ns);
    }
    Ok(())
}
