// SPDX-License-Identifier: Apache-2.0
//! `in/setup.json`: the network before it moves, the workload and what is to be observed.

mod check;
mod cures;
mod flow;
mod live;
mod network;
mod observe;
mod shell;

pub use cures::{Cures, EndMarker, Hold, HoldFull, MoveQueue, Notify, Numbering, Ordering, Resequence};
pub use flow::{Flow, FlowKind, Program, FLOOD_SILENCE_NS};
pub use live::Live;
pub use network::{
    DelayedAck, Direction, Discipline, Forwarding, Host, Link, LinkKind, Node, NodeKind, OnDown, Pacing, Queue,
    QueueCounts, QueueKind, MTU_LEAST_BYTES, MTU_LEAST_BYTES_IPV6, MTU_MOST_BYTES, OVERTAKING_LIMIT_PKTS,
};
pub use observe::{Capture, Observe, Packets, Pcap};
pub use shell::{Shell, Terminal};

use serde::Deserialize;
use std::collections::BTreeMap;

/// The version of `setup.json`, `events.bin` and `tables.bin` that this crate reads.
pub const VERSION: u32 = 4;

/// The whole of `setup.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Must be [`VERSION`].
    pub version: u32,
    /// Length of the run.
    pub duration_ns: i64,
    /// Root of all random streams; each link direction draws from its own.
    pub seed: u64,
    /// Time for which packets in flight at the end may still arrive.
    pub drain_ns: i64,
    /// Conditions that end the run.
    pub ends: Ends,
    /// `ends` = `flows`: how long the run goes on after the last flow has come to its end.
    pub linger_ns: i64,
    /// Everything that has a network namespace of its own.
    pub nodes: Vec<Node>,
    /// The nodes that run flows.
    pub hosts: Vec<Host>,
    /// The longest IP packet of a host; of a link it is [`MTU_MOST_BYTES`].
    #[serde(default = "network::mtu_most_bytes")]
    pub mtu_bytes: u32,
    /// How nodes pass packets on.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// Every link that is ever up.
    pub links: Vec<Link>,
    /// Shapes of random delays, which events name by index.
    pub jitter_tables: Vec<JitterTable>,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Packets keep the path they left with: routes carry the path's tag in the TOS field.
    pub source_routing: bool,
    /// Kernel parameters of the whole guest, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// Kernel modules that are loaded, or that the kernel has, and their parameters.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Actions of nodes at a change of their routes, besides obeying it.
    #[serde(default)]
    pub cures: Cures,
    /// What is recorded.
    pub observe: Observe,
    /// The program that the user runs by hand.
    #[serde(default)]
    pub shell: Option<Shell>,
    /// Connections of programs outside.
    #[serde(default)]
    pub live: Option<Live>,
}

/// What ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// `duration_ns`.
    Duration,
    /// The last flow with a size or a number of packets, and then `linger_ns`; at the latest `duration_ns`.
    Flows,
}

/// The shape of a random delay, as netem draws it (`tabledist` in `net/sched/sch_netem.c`): mean + jitter x value /
/// [`JITTER_SCALE`], each value equally likely. It has mean 0 and standard deviation 1 / `multiplier`, so netem's jitter
/// is the standard deviation times the multiplier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// `uniform`, `normal`, `exponential` or `table`.
    pub name: String,
    /// Multiplier of the standard deviation, which gives netem's jitter.
    pub multiplier: f64,
    /// At most [`JITTER_VALUES_MAX`]; none = netem's own uniform distribution, from -jitter to +jitter.
    pub values: Vec<i16>,
}

/// `NETEM_DIST_SCALE`: the value that stands for one jitter.
pub const JITTER_SCALE: i64 = 8192;
/// `NETEM_DIST_MAX`.
pub const JITTER_VALUES_MAX: usize = 16384;

/// A kernel module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The kernel's name for it (`/sys/module/NAME`).
    pub name: String,
    /// To be loaded, relative to the boot's `in/`; none = the kernel has it.
    pub file: Option<String>,
    /// Values by name, as they are written to `/sys/module/NAME/parameters`.
    pub parameters: BTreeMap<String, String>,
}

/// Why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Not JSON, or not of this shape.
    #[error("setup.json: {0}")]
    Json(#[from] serde_json::Error),
    /// It has this shape, but does not make sense.
    #[error("setup.json: {what} is {value}, but {rule}")]
    Rule {
        /// Path of the field.
        what: String,
        /// What it holds.
        value: String,
        /// The required form.
        rule: String,
    },
}

impl Setup {
    /// Reads and checks `setup.json`.
    ///
    /// # Errors
    /// [`SetupError`] names the field, its value and the rule.
    pub fn from_json(text: &[u8]) -> Result<Self, SetupError> {
        let setup: Self = serde_json::from_slice(text)?;
        setup.check()?;
        Ok(setup)
    }

    /// Whether hosts have addresses of IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.hosts.iter().any(|host| host.address.is_ipv6())
    }

    /// Length of the IP header of packets of flows.
    pub fn ip_header_bytes(&self) -> u32 {
        if self.is_ipv6() {
            40
        } else {
            20
        }
    }

    /// Whether some flow is a program of the user's.
    pub fn has_programs(&self) -> bool {
        self.flows.iter().any(|f| f.program.is_some())
    }

    /// Settings that a direction (`2 * link`, + 1 for b>a) has of its own.
    pub fn direction(&self, direction: usize) -> &Direction {
        &self.links[direction / 2].directions[direction % 2]
    }
}

#[cfg(test)]
pub(crate) mod setup_test;
