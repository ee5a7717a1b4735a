// SPDX-License-Identifier: Apache-2.0
//! Format of `in/setup.json`: the initial network, the workload, and what is recorded.

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

/// Version of `setup.json`, `events.bin` and `tables.bin` that this crate reads.
pub const VERSION: u32 = 4;

/// The content of `setup.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Must be [`VERSION`].
    pub version: u32,
    /// Length of the run.
    pub duration_ns: i64,
    /// The seed of the run, from which each direction of a link derives its own random stream.
    pub seed: u64,
    /// Time after the run's end in which packets in flight can still arrive.
    pub drain_ns: i64,
    /// Condition that ends the run.
    pub ends: Ends,
    /// Only if `ends` is `flows`: time for which the run continues after the last flow has ended.
    pub linger_ns: i64,
    /// All satellites, stations, routers and hosts; each has a network namespace.
    pub nodes: Vec<Node>,
    /// Nodes at which flows begin or end.
    pub hosts: Vec<Host>,
    /// Maximum size of an IP packet that a host sends. Links always accept [`MTU_MOST_BYTES`].
    #[serde(default = "network::mtu_most_bytes")]
    pub mtu_bytes: u32,
    /// How nodes forward packets.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// All links that are up at some time.
    pub links: Vec<Link>,
    /// Distributions of random delays. Events refer to a distribution by its index.
    pub jitter_tables: Vec<JitterTable>,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Whether a packet stays on the path that was in force when it was sent. With source routing, packets and routes
    /// carry a tag of the path in the TOS field.
    pub source_routing: bool,
    /// Kernel parameters of the whole guest, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// Kernel modules with their parameters. A module is loaded from a file, or is built into the kernel.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Actions of nodes when one of their routes changes, besides using the new route.
    #[serde(default)]
    pub cures: Cures,
    /// What is recorded.
    pub observe: Observe,
    /// The interactive program of a run with a shell.
    #[serde(default)]
    pub shell: Option<Shell>,
    /// The hosts between which connections of outside programs run.
    #[serde(default)]
    pub live: Option<Live>,
}

/// Condition that ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// At `duration_ns`.
    Duration,
    /// `linger_ns` after the last flow with a size or a number of packets has ended, but not later than `duration_ns`.
    Flows,
}

/// Distribution of a random delay. netem computes a delay as mean + jitter x value / [`JITTER_SCALE`] (`tabledist` in
/// `net/sched/sch_netem.c`). netem draws each value of the table with the same probability. The values have mean 0 and
/// standard deviation 1 / `multiplier`. To get a given standard deviation of the delay, netem's jitter must be this
/// deviation times the multiplier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// `uniform`, `normal`, `exponential` or `table`.
    pub name: String,
    /// Ratio of netem's jitter to the standard deviation of the delay.
    pub multiplier: f64,
    /// At most [`JITTER_VALUES_MAX`] values. Empty = netem's uniform distribution, from -jitter to +jitter.
    pub values: Vec<i16>,
}

/// `NETEM_DIST_SCALE`: the table value that corresponds to a delay of one jitter.
pub const JITTER_SCALE: i64 = 8192;
/// `NETEM_DIST_MAX`.
pub const JITTER_VALUES_MAX: usize = 16384;

/// A kernel module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Name of the module in the kernel (`/sys/module/NAME`).
    pub name: String,
    /// File to load, relative to the boot's `in/`. None = the module is built into the kernel.
    pub file: Option<String>,
    /// Parameters by name. The values are written to `/sys/module/NAME/parameters`.
    pub parameters: BTreeMap<String, String>,
}

/// Reason why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The text is not JSON, or has the wrong structure.
    #[error("setup.json: {0}")]
    Json(#[from] serde_json::Error),
    /// The structure is correct, but a value is invalid.
    #[error("setup.json: {what} is {value}, but {rule}")]
    Rule {
        /// Path of the field.
        what: String,
        /// Value of the field.
        value: String,
        /// Rule that the value must obey.
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

    /// Whether the hosts of the setup have IPv6 addresses.
    pub fn is_ipv6(&self) -> bool {
        self.hosts.iter().any(|host| host.address.is_ipv6())
    }

    /// Length of the IP header of the flows' packets.
    pub fn ip_header_bytes(&self) -> u32 {
        if self.is_ipv6() {
            40
        } else {
            20
        }
    }

    /// Whether any flow is a user program.
    pub fn has_programs(&self) -> bool {
        self.flows.iter().any(|f| f.program.is_some())
    }

    /// Whether any flow uses Multipath TCP.
    pub fn has_mptcp(&self) -> bool {
        self.flows.iter().any(|f| f.is_mptcp)
    }

    /// Numbers of the further subflows of the connection of flow `flow`.
    pub fn subflows_of(&self, flow: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.flows.len()).filter(move |&i| self.flows[i].subflow_of == Some(flow))
    }

    /// Node whose namespace a host uses: its own node, or the node of the host that it joins.
    pub fn home_of(&self, host: usize) -> usize {
        self.hosts[self.hosts[host].joins.unwrap_or(host)].node
    }

    /// Settings of one direction (`2 * link` from a to b, `2 * link + 1` from b to a).
    pub fn direction(&self, direction: usize) -> &Direction {
        &self.links[direction / 2].directions[direction % 2]
    }
}

#[cfg(test)]
pub(crate) mod setup_test;
