// SPDX-License-Identifier: Apache-2.0
//! The agent is the init process of a guest kernel in virtual time. The agent reads `/host/in`, builds the network,
//! plays the timeline, runs the flows, records into `/host/out`, and powers off.
//!
//! Before working on this crate, read arch/um/kernel/time.c (`time-travel=inf-cpu`). Computing takes no virtual time.
//! The clock advances only when no task of the guest can run. Reading the clock costs 256 ns of virtual time. A system
//! call costs 10 us of the host's CPU time.

mod base;
mod flows;
mod live;
mod network;
mod observe;
mod packets;
mod programs;
mod run;

use base::error::{check, Error, Result};
use std::ffi::CStr;
use std::path::Path;

fn main() {
    keep_memory();
    base::say::hook_panics();
    match begin().and_then(|()| run::run(Path::new("/host/in"), Path::new("/host/out"))) {
        Ok(()) => base::say::power_off(),
        Err(e) => base::say::fail(&e),
    }
}

/// Makes the allocator keep freed memory, for all threads. The first touch of four pages costs 40 us of the host's CPU
/// time, because a page fault of User Mode Linux goes through ptrace. With this setting, the reordering meters of a
/// window reuse the memory of the previous window's meters. A run of 100 s takes 1 % longer without this setting.
fn keep_memory() {
    const NEVER_BYTES: libc::c_int = 1 << 30;
    for (option, value) in [
        (libc::M_ARENA_MAX, 1),
        (libc::M_MMAP_THRESHOLD, NEVER_BYTES),
        (libc::M_TRIM_THRESHOLD, NEVER_BYTES),
        (libc::M_TOP_PAD, 1 << 20),
    ] {
        // SAFETY: this is a plain call before there are other threads. If the allocator refuses a value, the option's
        // default stays in force.
        unsafe { libc::mallopt(option, value) };
    }
}

/// Does the common work of an init process.
fn begin() -> Result<()> {
    for (kind, at) in [(c"proc", c"/proc"), (c"hostfs", c"/host"), (c"sysfs", c"/sys")] {
        // The directories normally exist in the initramfs already. SAFETY: the strings outlive the calls.
        unsafe { libc::mkdir(at.as_ptr(), 0o755) };
        mount(kind, at)?;
    }
    let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    // SAFETY: the value outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, "raise the number of open files")?;
    flows::tcp::prepare_signal()?;
    base::clock::disable_timer_slack()
}

fn mount(kind: &CStr, at: &CStr) -> Result<()> {
    // SAFETY: the strings outlive the call.
    let result = unsafe { libc::mount(c"none".as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    check(result, &format!("mount {kind:?} at {at:?}")).map(|_| ()).map_err(|e| match e {
        Error::Kernel { source, .. } if source.raw_os_error() == Some(libc::ENODEV) => Error::Lacks {
            what: format!("this guest kernel has no file system {kind:?}"),
            hint: "build the kernel with `leowarp kernel build`".into(),
        },
        e => e,
    })
}
