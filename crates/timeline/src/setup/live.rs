// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says between which hosts the connections of the machine's own programs run.

use serde::Deserialize;

/// Connections of programs outside, from one host to another, in real time. Nothing is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The host where they begin: index into `hosts`.
    pub from: usize,
    /// Where they end.
    pub to: usize,
    /// The congestion control of both ends; none = the kernel's choice.
    pub congestion_control: Option<String>,
    /// Time between two looks at the real-time clock.
    pub step_ns: i64,
    /// The most bytes in flight between the host and one end of a connection, each way.
    pub window_bytes: u32,
}
