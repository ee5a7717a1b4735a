// SPDX-License-Identifier: Apache-2.0
//! Connections of the machine's own programs, `leowarp live`: TCP of the guest between two of its hosts. Its bytes come
//! from the machine and go there again, while virtual time keeps to real time. Nothing of the run is recorded.
//!
//! `python/leowarp/guest/live.py` is the other half.

mod frame;
mod relay;
mod stream;

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::{say, table};
use crate::network::Network;
use crate::programs::console::{raw, Gate};
use leowarp_timeline::setup::Setup;
use relay::Relay;
use serde_json::json;
use std::path::Path;

/// Frames, both ways; and where the guest waits for real time.
const CONSOLE: u32 = 1;
const GATE: u32 = 2;

/// Work that waits for the run's start.
pub struct Live {
    relay: Relay,
    gate: Gate,
    step_ns: i64,
}

impl Live {
    /// Opens what it needs in the namespaces of both hosts. None = the run has none.
    pub fn open(network: &Network, setup: &Setup, input_dir: &Path) -> Result<Option<Self>> {
        let Some(spec) = &setup.live else { return Ok(None) };
        let relay = Relay::open(network, setup, spec, raw(CONSOLE)?, input_dir)?;
        Ok(Some(Self { relay, gate: Gate::new(raw(GATE)?), step_ns: spec.step_ns }))
    }

    /// Starts its thread.
    pub fn start(self, clock: Clock) -> Result<()> {
        let Self { mut relay, mut gate, step_ns } = self;
        let thread = std::thread::Builder::new().name("live".into());
        let started = thread.spawn(move || {
            if let Err(e) = relay.run(&mut gate, step_ns, clock) {
                say::fail(&e);
            }
        });
        started.map(|_| ()).map_err(|source| Error::Kernel { attempt: "start a thread".into(), source })
    }
}

/// The run is over, of which `end.json` tells.
pub fn end(t_ns: i64) -> Result<()> {
    table::write_file("end.json", json!({"ok": true, "virtual_ns": t_ns}).to_string().as_bytes())
}
