// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: the hosts between which connections of outside programs run.

use serde::Deserialize;

/// Connections of programs on the user's machine from one host to another, in real time. Such a run records nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Host at which connections begin: index into `hosts`.
    pub from: usize,
    /// Host at which connections end: index into `hosts`.
    pub to: usize,
    /// Congestion control of both ends; None = the kernel's default.
    pub congestion_control: Option<String>,
    /// Interval between readings of the real-time clock.
    pub step_ns: i64,
    /// Maximum number of bytes in transfer between the machine and one end of a connection, per direction.
    pub window_bytes: u32,
}
