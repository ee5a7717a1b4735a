// SPDX-License-Identifier: Apache-2.0
//! Part of the setup: an interactive program at a host.

use serde::Deserialize;
use std::collections::BTreeMap;

/// An interactive program at a host. When the program ends, the guest ends, and nothing is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Index into `hosts`.
    pub at: usize,
    /// Program and arguments.
    pub command: Vec<String>,
    /// All environment variables of the program.
    pub environment: BTreeMap<String, String>,
    /// Root of the program: a directory of the host, in the notation of the guest's hostfs.
    pub root: String,
    /// Size limit of the program's files.
    pub storage_bytes: u64,
    /// The program runs on the user's terminal; None = its outputs are pipes.
    pub terminal: Option<Terminal>,
    /// Without a terminal: file of the boot's `in/` that serves as standard input; None = no input.
    pub input: Option<String>,
}

/// Size of the user's terminal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Lines of text.
    pub rows: u16,
    /// Characters per line.
    pub columns: u16,
}
