// SPDX-License-Identifier: Apache-2.0
//! Live connections between the user's machine and the network, as a part of the setup.

use serde::Deserialize;

/// The two hosts that carry the connections of programs on the user's machine. The run is in real time, and records
/// nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The host at which connections begin, as an index into `hosts`.
    pub from: usize,
    /// The host at which connections end, as an index into `hosts`.
    pub to: usize,
    /// The congestion control of both ends. None means the kernel's default.
    pub congestion_control: Option<String>,
    /// The interval of virtual time after which the guest waits for real time.
    pub step_ns: i64,
    /// The maximum number of bytes buffered between the user's machine and one end of a connection, per direction.
    pub window_bytes: u32,
}
