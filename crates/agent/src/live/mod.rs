// SPDX-License-Identifier: Apache-2.0
//! `leowarp live` connects programs on the user's machine by TCP between two hosts of the guest. The guest carries the
//! programs' data between its hosts. Virtual time follows real time, and the run records nothing.
//!
//! `python/leowarp/guest/live/` is the host's half of this module.

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

/// The numbers of two consoles of the guest. The first console carries frames. The second console is the gate at which
/// the guest waits for real time.
const CONSOLE: u32 = 1;
const GATE: u32 = 2;

/// The state of live connections before the run starts.
pub struct Live {
    relay: Relay,
    gate: Gate,
    step_ns: i64,
}

impl Live {
    /// Opens the sockets in the namespaces of both hosts. None means that the run has no live connections.
    pub fn open(network: &Network, setup: &Setup, input_dir: &Path) -> Result<Option<Self>> {
        let Some(spec) = &setup.live else { return Ok(None) };
        let relay = Relay::open(network, setup, spec, raw(CONSOLE)?, input_dir)?;
        Ok(Some(Self { relay, gate: Gate::new(raw(GATE)?), step_ns: spec.step_ns }))
    }

    /// Starts the thread that serves the live connections.
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

/// Records in `end.json` that the run is over.
pub fn end(t_ns: i64) -> Result<()> {
    table::write_file("end.json", json!({"ok": true, "virtual_ns": t_ns}).to_string().as_bytes())
}
