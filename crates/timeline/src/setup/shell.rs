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
    /// Root of the program: a directory of the user's machine, as a path of the guest's hostfs.
    pub root: String,
    /// Maximum size of the program's files.
    pub storage_bytes: u64,
    /// Size of the user's terminal, on which the program runs. None = the program's outputs are pipes.
    pub terminal: Option<Terminal>,
    /// Only without a terminal: name of the file in the boot's `in/` that is the program's standard input. None = there
    /// is no input.
    pub input: Option<String>,
}

/// Size of the user's terminal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Number of lines of text.
    pub rows: u16,
    /// Number of characters per line.
    pub columns: u16,
}
