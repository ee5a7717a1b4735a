// SPDX-License-Identifier: Apache-2.0
//! Messages of the guest on its standard output, and shutdown after an error.

use crate::base::error::Error;
use std::io::Write;

/// Prints one line in the format that the host looks for.
pub fn line(value: &serde_json::Value) {
    let text = format!("leowarp: {value}\n");
    // If writing to standard output fails, no other channel is left.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints the error and shuts down the guest. There is no end.json after such an error.
pub fn fail(error: &Error) -> ! {
    line(&serde_json::json!({"error": error.to_string(), "hint": error.hint()}));
    power_off()
}

/// Ends the guest.
pub fn power_off() -> ! {
    // SAFETY: plain system calls.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    // This process runs a test on a host and is not the init of a guest.
    std::process::exit(1)
}

/// Panics are bugs in the agent; they are reported in the same way.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        fail(&Error::Broken(format!("the agent broke: {info}")));
    }));
}
