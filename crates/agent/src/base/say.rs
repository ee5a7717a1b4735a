// SPDX-License-Identifier: Apache-2.0
//! Prints the guest's messages on standard output, and shuts the guest down after an error.

use crate::base::error::Error;
use std::io::Write;

/// Prints one line in the format that the host expects.
pub fn line(value: &serde_json::Value) {
    let text = format!("leowarp: {value}\n");
    // If this write fails, no other channel is left on which to report the error.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints the error and shuts the guest down without end.json.
pub fn fail(error: &Error) -> ! {
    line(&serde_json::json!({"error": error.to_string(), "hint": error.hint()}));
    power_off()
}

/// Ends the guest.
pub fn power_off() -> ! {
    // SAFETY: these are plain system calls.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    // The system calls return only if this process is a test on a host, and not the init of a guest.
    std::process::exit(1)
}

/// Reports panics as errors. A panic is a bug in the agent.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        fail(&Error::Broken(format!("the agent broke: {info}")));
    }));
}
