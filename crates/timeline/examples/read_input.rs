// SPDX-License-Identifier: Apache-2.0
//! Reads `setup.json` and `events.bin` of a directory as the agent does and prints one line an event, so that what the
//! Python side writes can be compared with what is read here.

use leowarp_timeline::event::{self, Change};
use leowarp_timeline::setup::Setup;
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
            Change::Path { source, destination, path } => {
                format!("path {} {} {path:?}", host(source), host(destination))
            }
        };
        println!("{} {what}", event.t_ns);
    }
    Ok(())
}
