// SPDX-License-Identifier: Apache-2.0
//! An interactive program at a host, as a part of the setup.

use serde::Deserialize;
use std::collections::BTreeMap;

/// An interactive program at a host. When the program ends, the guest ends, and nothing is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// The host, as an index into `hosts`.
    pub at: usize,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// All environment variables of the program.
    pub environment: BTreeMap<String, String>,
    /// The root directory of the program on the user's machine, as a path of the guest's hostfs.
    pub root: String,
    /// The largest size of the program's files.
    pub storage_bytes: u64,
    /// The size of the terminal on which the program runs. None means that the program's outputs go to pipes.
    pub terminal: Option<Terminal>,
    /// The file in the boot's `in/` that becomes the program's standard input. Only without a terminal. None means no
    /// input.
    pub input: Option<String>,
}

/// The size of the user's terminal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// The number of lines of text.
    pub rows: u16,
    /// The number of characters per line.
    pub columns: u16,
}
