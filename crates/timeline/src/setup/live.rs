// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says between which hosts the connections of the machine's own programs run.

use serde::Deserialize;

/// Connections of programs outside, from one host to another, by the clock on the wall. Nothing is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Where they begin: index into `hosts`.
    pub from: usize,
    /// Where they end.
    pub to: usize,
    /// Of both ends; none = what the kernel chooses.
    pub congestion_control: Option<String>,
    /// Between two looks at the clock on the wall.
    pub step_ns: i64,
    /// What may be under way between the host and one end of a connection, each way.
    pub window_bytes: u32,
}
