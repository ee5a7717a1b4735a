// SPDX-License-Identifier: Apache-2.0
//! The format of `in/setup.json`: the initial network, the workload, and what is recorded.

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

/// The format version of `setup.json`, `events.bin` and `tables.bin` that this crate can read.
pub const VERSION: u32 = 4;

/// The content of `setup.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The version, which must be [`VERSION`].
    pub version: u32,
    /// The length of the run.
    pub duration_ns: i64,
    /// The seed of the run. Each direction of a link derives its own random stream from this seed.
    pub seed: u64,
    /// The time after the run's end in which packets in flight can still arrive.
    pub drain_ns: i64,
    /// The condition that ends the run.
    pub ends: Ends,
    /// The time for which the run continues after the last flow has ended. Used only if `ends` is `flows`.
    pub linger_ns: i64,
    /// All satellites, stations, routers and hosts. Each has a network namespace.
    pub nodes: Vec<Node>,
    /// The hosts of the network.
    pub hosts: Vec<Host>,
    /// Maximum size of an IP packet that a host sends. Links always accept [`MTU_MOST_BYTES`].
    #[serde(default = "network::mtu_most_bytes")]
    pub mtu_bytes: u32,
    /// How nodes forward packets.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// All links that are up at some time.
    pub links: Vec<Link>,
    /// The distributions of random delays. Events refer to a distribution by its index.
    pub jitter_tables: Vec<JitterTable>,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Whether a packet stays on the path that was valid when it was sent. With source routing, the TOS field of
    /// packets and routes contains a tag of the path.
    pub source_routing: bool,
    /// The kernel parameters of the whole guest. The keys are dotted names.
    pub sysctl: BTreeMap<String, String>,
    /// The kernel modules with their parameters. A module is loaded from a file, or is built into the kernel.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Actions of nodes when one of their routes changes, in addition to using the new route.
    #[serde(default)]
    pub cures: Cures,
    /// The settings of recording.
    pub observe: Observe,
    /// The interactive program of a run with a shell.
    #[serde(default)]
    pub shell: Option<Shell>,
    /// The hosts between which connections of outside programs run.
    #[serde(default)]
    pub live: Option<Live>,
}

/// The condition that ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// The run ends at `duration_ns`.
    Duration,
    /// The run ends `linger_ns` after the end of the last flow with a size or a number of packets. It ends at
    /// `duration_ns` at the latest.
    Flows,
}

/// The distribution of a random delay. In netem, a delay is mean + jitter x value / [`JITTER_SCALE`] (`tabledist` in
/// `net/sched/sch_netem.c`). All values of the table have the same probability. The values have mean 0 and standard
/// deviation 1 / `multiplier`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// The name: `uniform`, `normal`, `exponential` or `table`.
    pub name: String,
    /// Netem's jitter is this factor times the standard deviation of the delay.
    pub multiplier: f64,
    /// The values, at most [`JITTER_VALUES_MAX`]. An empty list means netem's uniform distribution, from -jitter to
    /// +jitter.
    pub values: Vec<i16>,
}

/// The value in a table that stands for a random delay as large as the jitter (`NETEM_DIST_SCALE`).
pub const JITTER_SCALE: i64 = 8192;
/// The largest number of values in a table (`NETEM_DIST_MAX`).
pub const JITTER_VALUES_MAX: usize = 16384;

/// A kernel module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The name of the module in the kernel (`/sys/module/NAME`).
    pub name: String,
    /// The file to load, relative to the boot's `in/`. None means that the module is built into the kernel.
    pub file: Option<String>,
    /// The parameters of the module. The keys are their names. The values are written to `/sys/module/NAME/parameters`.
    pub parameters: BTreeMap<String, String>,
}

/// The reason why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The text is not JSON, or has the wrong structure.
    #[error("setup.json: {0}")]
    Json(#[from] serde_json::Error),
    /// The structure is correct, but a value is invalid.
    #[error("setup.json: {what} is {value}, but {rule}")]
    Rule {
        /// The path of the field.
        what: String,
        /// The value of the field.
        value: String,
        /// The rule that the value must obey.
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

    /// Returns whether the hosts of the setup have IPv6 addresses.
    pub fn is_ipv6(&self) -> bool {
        self.hosts.iter().any(|host| host.address.is_ipv6())
    }

    /// Returns the length of the IP header of the flows' packets.
    pub fn ip_header_bytes(&self) -> u32 {
        if self.is_ipv6() {
            40
        } else {
            20
        }
    }

    /// Returns whether any flow is a user program.
    pub fn has_programs(&self) -> bool {
        self.flows.iter().any(|f| f.program.is_some())
    }

    /// Returns whether any flow uses Multipath TCP.
    pub fn has_mptcp(&self) -> bool {
        self.flows.iter().any(|f| f.is_mptcp)
    }

    /// Returns the flow numbers of a connection's additional subflows.
    pub fn subflows_of(&self, flow: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.flows.len()).filter(move |&i| self.flows[i].subflow_of == Some(flow))
    }

    /// Returns the node whose namespace a host uses. If a host joins another host, this is the other host's node.
    pub fn home_of(&self, host: usize) -> usize {
        self.hosts[self.hosts[host].joins.unwrap_or(host)].node
    }

    /// Returns the settings of one direction (`2 * link` from a to b, `2 * link + 1` from b to a).
    pub fn direction(&self, direction: usize) -> &Direction {
        &self.links[direction / 2].directions[direction % 2]
    }
}

#[cfg(test)]
pub(crate) mod setup_test;
