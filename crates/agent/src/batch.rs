// SPDX-License-Identifier: Apache-2.0
//! The runs of a boot, one after the other, each in a process of its own: with it end its threads, sockets and namespaces,
//! and a run that fails takes no other with it.
//!
//! The only run of a boot has such a process, too, if it could have shared the boot. Made in the guest's first process it was
//! another run in rare cases: the scheduler took two threads that wake at one instant in another order
//! (tests/guest/batch_test.py).

use crate::clock;
use crate::drops::Drops;
use crate::error::{check, Error, Result};
use crate::input::Input;
use crate::{run, say};
use serde_json::json;
use std::path::{Path, PathBuf};

/// How long the kernel gets to take the namespaces of the run before down: it does so when nothing else is to be done.
const CLEANUP_NS: i64 = 500_000_000;

/// The run in `boot_dir`, whose end ends the guest: taking its namespaces down first would cost time.
pub fn only_run(boot_dir: &Path, output: &Path) -> Result<()> {
    let input = Input::read(boot_dir)?;
    let make = || run::run(boot_dir, &input, output);
    let setup = &input.setup;
    if setup.has_programs() || setup.shell.is_some() || setup.live.is_some() {
        // In the guest's first process, which no signal of a program reaches.
        return make();
    }
    let signal = in_own_process(|| make().map(|()| say::power_off()))?;
    Err(signal.map_or(Error::Broken("the process of the run has ended".into()), |signal| Error::Killed { signal }))
}

/// The runs in the numbered subdirectories of `input`, into those of `output` that have the same names.
pub fn runs(input: &Path, output: &Path) -> Result<()> {
    for (number, name) in numbered(input)?.iter().enumerate() {
        if number > 0 {
            clock::sleep(CLEANUP_NS)?;
            // What a link of the run before still lost when it was taken down is nobody's.
            Drops::open().discard()?;
        }
        let signal = in_own_process(|| {
            say::of_run(number);
            run::run(input, &Input::read(&input.join(name))?, &output.join(name))
        })?;
        if let Some(signal) = signal {
            let error = Error::Killed { signal };
            say::line(&json!({"run": number, "error": error.to_string(), "hint": error.hint()}));
        }
    }
    Ok(())
}

/// Makes a run and waits for its process; the signal that ended it, if one did. A run that fails says so itself.
fn in_own_process(make: impl FnOnce() -> Result<()>) -> Result<Option<i32>> {
    // SAFETY: this process has one thread.
    let child = check(unsafe { libc::fork() }, "start the process of a run")?;
    if child == 0 {
        match make() {
            Ok(()) => std::process::exit(0),
            Err(e) => say::fail(&e),
        }
    }
    let mut status = 0;
    // SAFETY: `status` lives through the call.
    check(unsafe { libc::waitpid(child, &raw mut status, 0) }, "wait for the process of a run")?;
    Ok(libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)))
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
