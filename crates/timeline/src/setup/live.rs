// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: live connections, which join programs on the user's machine to hosts of the network.

use serde::Deserialize;

/// Two hosts of a run in real time, between which connections of programs on the user's machine run. A run in real time
/// records nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Host at which connections begin: index into `hosts`.
    pub from: usize,
    /// Host at which connections end: index into `hosts`.
    pub to: usize,
    /// Congestion control of both ends; None = the kernel's default.
    pub congestion_control: Option<String>,
    /// Interval of virtual time after which the guest waits for real time.
    pub step_ns: i64,
    /// Maximum number of bytes that are buffered between the user's machine and one end of a connection, per direction.
    pub window_bytes: u32,
}
