// SPDX-License-Identifier: Apache-2.0
//! What the guest says on its standard output, and how it ends.

use crate::error::Error;
use std::io::Write;
use std::sync::OnceLock;

/// The number of the run that speaks, in a guest of several.
static RUN: OnceLock<usize> = OnceLock::new();

/// From now on this process speaks of that run, and ends by itself instead of ending the guest.
pub fn of_run(run: usize) {
    RUN.get_or_init(|| run);
}

/// One line of the kind that the host looks for.
pub fn line(value: &serde_json::Value) {
    let mut value = value.clone();
    if let (Some(run), Some(object)) = (RUN.get(), value.as_object_mut()) {
        object.insert("run".into(), (*run).into());
    }
    let text = format!("leowarp: {value}\n");
    // If even this fails there is nobody left to tell.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Says what went wrong and ends the guest, or the run if there are several. There is no end.json then.
pub fn fail(error: &Error) -> ! {
    line(&serde_json::json!({"error": error.to_string(), "hint": error.hint()}));
    if RUN.get().is_some() {
        std::process::exit(1);
    }
    power_off()
}

/// Ends the guest.
pub fn power_off() -> ! {
    // SAFETY: plain system calls.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    // Not the init of a guest: a test on a host.
    std::process::exit(1)
}

/// Panics are errors of ours: they are said in the same way.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        fail(&Error::Broken(format!("the agent broke: {info}")));
    }));
}
