// SPDX-License-Identifier: Apache-2.0
//! Several runs in one boot, one after the other, each in a process of its own: with it end its threads, sockets and
//! namespaces, and a run that fails takes no other with it.

use crate::clock;
use crate::drops::Drops;
use crate::error::{check, Error, Result};
use crate::{run, say};
use serde_json::json;
use std::path::{Path, PathBuf};

/// How long the kernel gets to take the namespaces of the run before down: it does so when nothing else is to be done.
const CLEANUP_NS: i64 = 500_000_000;

/// The runs in the numbered subdirectories of `input`, into those of `output` that have the same names.
pub fn run(input: &Path, output: &Path) -> Result<()> {
    for (number, name) in numbered(input)?.iter().enumerate() {
        if number > 0 {
            clock::sleep(CLEANUP_NS)?;
            // What a link of the run before still lost when it was taken down is nobody's.
            Drops::open().discard()?;
        }
        // SAFETY: this process has one thread.
        let child = check(unsafe { libc::fork() }, "start the process of a run")?;
        if child == 0 {
            say::of_run(number);
            match run::run(input, &input.join(name), &output.join(name)) {
                Ok(()) => std::process::exit(0),
                Err(e) => say::fail(&e),
            }
        }
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        check(unsafe { libc::waitpid(child, &raw mut status, 0) }, "wait for the process of a run")?;
        if libc::WIFSIGNALED(status) {
            let what = format!("the process of the run was ended by signal {}", libc::WTERMSIG(status));
            say::line(
                &json!({"run": number, "error": what, "hint": "make the run by itself: `leowarp run 00-plan.toml`"}),
            );
        }
    }
    Ok(())
}

fn numbered(input: &Path) -> Result<Vec<PathBuf>> {
    let read = |source| Error::Kernel { attempt: format!("read {}", input.display()), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(input).map_err(read)? {
        names.push(PathBuf::from(entry.map_err(read)?.file_name()));
    }
    if names.is_empty() {
        return Err(Error::Input(format!("{} holds neither a run nor a batch of runs", input.display())));
    }
    names.sort();
    Ok(names)
}
