// SPDX-License-Identifier: Apache-2.0
//! The part of the setup that says what the user runs at a host with his own hands.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A program at a host that the user talks to. With its end the guest ends, and nothing is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Index into `hosts`.
    pub at: usize,
    /// Program and arguments.
    pub command: Vec<String>,
    /// All variables that it has.
    pub environment: BTreeMap<String, String>,
    /// Its root: a directory of the host, as the guest's hostfs names it.
    pub root: String,
    /// Limit of its files.
    pub storage_bytes: u64,
    /// It runs on the user's terminal; none = its outputs are pipes.
    pub terminal: Option<Terminal>,
    /// Without a terminal: a file of the boot's `in/` that is its standard input; none = it has none.
    pub input: Option<String>,
}

/// The size of the user's terminal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Lines of text.
    pub rows: u16,
    /// Characters of a line.
    pub columns: u16,
}
