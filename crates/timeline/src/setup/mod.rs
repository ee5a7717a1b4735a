// SPDX-License-Identifier: Apache-2.0
//! `in/setup.json`: the initial network, the workload, and what is recorded.

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

/// The whole of `setup.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Must be [`VERSION`].
    pub version: u32,
    /// Length of the run.
    pub duration_ns: i64,
    /// Root seed; each link direction derives its own random stream from it.
    pub seed: u64,
    /// Time after the end in which packets in flight may still arrive.
    pub drain_ns: i64,
    /// Condition that ends the run.
    pub ends: Ends,
    /// `ends` = `flows`: time for which the run continues after the last flow has ended.
    pub linger_ns: i64,
    /// All elements that have their own network namespace.
    pub nodes: Vec<Node>,
    /// Nodes that run flows.
    pub hosts: Vec<Host>,
    /// Maximum IP packet size of a host; for a link it is [`MTU_MOST_BYTES`].
    #[serde(default = "network::mtu_most_bytes")]
    pub mtu_bytes: u32,
    /// Method by which nodes forward packets.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// All links that are up at some time.
    pub links: Vec<Link>,
    /// Distributions of random delays, referenced by index in events.
    pub jitter_tables: Vec<JitterTable>,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Packets keep their initial path: routes carry the path's tag in the TOS field.
    pub source_routing: bool,
    /// Kernel parameters for the whole guest, by dotted name.
    pub sysctl: BTreeMap<String, String>,
    /// Kernel modules, loaded or built in, with their parameters.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Actions of nodes when one of their routes changes, in addition to following it.
    #[serde(default)]
    pub cures: Cures,
    /// What is recorded.
    pub observe: Observe,
    /// The interactive program.
    #[serde(default)]
    pub shell: Option<Shell>,
    /// Connections of outside programs.
    #[serde(default)]
    pub live: Option<Live>,
}

/// Condition that ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// `duration_ns`.
    Duration,
    /// The end of the last flow with a size or a number of packets, plus `linger_ns`; at the latest `duration_ns`.
    Flows,
}

/// Distribution of a random delay, as sampled by netem (`tabledist` in `net/sched/sch_netem.c`): mean + jitter x value
/// / [`JITTER_SCALE`], with equally likely values. The values have mean 0 and standard deviation 1 / `multiplier`, so
/// netem's jitter is the standard deviation times the multiplier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// `uniform`, `normal`, `exponential` or `table`.
    pub name: String,
    /// Factor from the standard deviation to netem's jitter.
    pub multiplier: f64,
    /// At most [`JITTER_VALUES_MAX`]; None = netem's uniform distribution, from -jitter to +jitter.
    pub values: Vec<i16>,
}

/// `NETEM_DIST_SCALE`: the value that corresponds to one jitter.
pub const JITTER_SCALE: i64 = 8192;
/// `NETEM_DIST_MAX`.
pub const JITTER_VALUES_MAX: usize = 16384;

/// A kernel module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The kernel's name of the module (`/sys/module/NAME`).
    pub name: String,
    /// File to load, relative to the boot's `in/`; None = the module is in the kernel.
    pub file: Option<String>,
    /// Values by name, as written to `/sys/module/NAME/parameters`.
    pub parameters: BTreeMap<String, String>,
}

/// Reason why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The text is not JSON, or has the wrong structure.
    #[error("setup.json: {0}")]
    Json(#[from] serde_json::Error),
    /// Correct structure, but invalid content.
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

    /// Whether some flow is a user program.
    pub fn has_programs(&self) -> bool {
        self.flows.iter().any(|f| f.program.is_some())
    }

    /// Whether some flow is of Multipath TCP.
    pub fn has_mptcp(&self) -> bool {
        self.flows.iter().any(|f| f.is_mptcp)
    }

    /// Numbers of the flows that are further subflows of a flow's connection.
    pub fn subflows_of(&self, flow: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.flows.len()).filter(move |&i| self.flows[i].subflow_of == Some(flow))
    }

    /// Node whose namespace a host's node shares; its own if the host joins no other.
    pub fn home_of(&self, host: usize) -> usize {
        self.hosts[self.hosts[host].joins.unwrap_or(host)].node
    }

    /// Individual settings of a direction (`2 * link`; + 1 for b to a).
    pub fn direction(&self, direction: usize) -> &Direction {
        &self.links[direction / 2].directions[direction % 2]
    }
}

#[cfg(test)]
pub(crate) mod setup_test;
