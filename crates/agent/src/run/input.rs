// SPDX-License-Identifier: Apache-2.0
//! Reads and checks the input files of a run.

use crate::base::error::{Error, Result};
use crate::packets::frame::FLOWS_MAX;
use leowarp_timeline::setup::Setup;
use leowarp_timeline::{event, Event, Tables};
use std::fmt::Display;
use std::path::Path;

/// The contents of a run's input directory.
pub struct Input {
    pub setup: Setup,
    /// All events, sorted by time.
    pub events: Vec<Event>,
    pub tables: Tables,
}

impl Input {
    /// Reads a directory with `setup.json` and `events.bin`. The directory also contains `tables.bin` if a direction
    /// has capacity or channel rows.
    pub fn read(directory: &Path) -> Result<Self> {
        let file = |name: &str| {
            let path = directory.join(name);
            std::fs::read(&path).map_err(|e| Error::Input(format!("read {}: {e}", path.display())))
        };
        let setup = Setup::from_json(&file("setup.json")?).map_err(refused)?;
        let events = event::read(&file("events.bin")?, &setup).map_err(refused)?;
        let has_tables = setup.links.iter().flat_map(|l| &l.directions).any(|d| d.capacity_rows + d.channel_rows > 0);
        let tables = if has_tables { file("tables.bin")? } else { Vec::new() };
        let tables = Tables::read(tables, &setup).map_err(refused)?;
        if setup.flows.len() > FLOWS_MAX {
            return Err(Error::Input(format!(
                "{} flows, but the agent has port numbers for {FLOWS_MAX}",
                setup.flows.len()
            )));
        }
        Ok(Self { setup, events, tables })
    }

    /// Returns the number of events at or before the run's first instant.
    pub fn events_of_start(&self) -> usize {
        self.events.iter().take_while(|e| e.t_ns <= 0).count()
    }
}

fn refused(error: impl Display) -> Error {
    Error::Input(error.to_string())
}
