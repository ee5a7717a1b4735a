// SPDX-License-Identifier: Apache-2.0
//! Messages of the guest on its standard output, and its end.

use crate::base::error::Error;
use std::io::Write;

/// One line of the kind that the host looks for.
pub fn line(value: &serde_json::Value) {
    let text = format!("leowarp: {value}\n");
    // If even this fails there is nobody left to tell.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Says what went wrong and ends the guest. There is no end.json then.
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
    // Not the init of a guest: a test on a host.
    std::process::exit(1)
}

/// Panics are errors of ours: they are said in the same way.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        fail(&Error::Broken(format!("the agent broke: {info}")));
    }));
}
