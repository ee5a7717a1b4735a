// SPDX-License-Identifier: Apache-2.0
//! The end of the run, and a bell. The end may not be known in advance. Flows ring the bell when they end.
//!
//! The bell is a futex, because a thread that waits for it must also wake at a virtual time. A condition variable of
//! the standard library is not used, because it would read the virtual clock, and each reading advances this clock.

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::SeqCst};

/// The end of the run, shared by all threads.
#[derive(Debug)]
pub struct Ending {
    end_ns: AtomicI64,
    rung: AtomicU32,
    /// Whether flows record the time of their end. Recording this time costs one reading of the clock.
    is_watched: bool,
}

impl Ending {
    /// Creates the `Ending` of a run that ends at `duration_ns` or earlier.
    pub fn new(duration_ns: i64, is_watched: bool) -> Self {
        Self { end_ns: AtomicI64::new(duration_ns), rung: AtomicU32::new(0), is_watched }
    }

    /// Returns the time at which the run will end, as currently known.
    pub fn end_ns(&self) -> i64 {
        self.end_ns.load(SeqCst)
    }

    /// Ends the run at the run time `t_ns`. Threads that sleep do not notice the new end until [`Ending::ring`] is
    /// called.
    pub fn set_end_ns(&self, t_ns: i64) {
        self.end_ns.store(t_ns, SeqCst);
    }

    /// Returns whether a flow must record its end and ring the bell.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Returns the number of times that the bell has rung so far.
    pub fn rung(&self) -> u32 {
        self.rung.load(SeqCst)
    }

    /// Wakes all threads in [`Ending::sleep_until`].
    pub fn ring(&self) {
        self.rung.fetch_add(1, SeqCst);
        // SAFETY: this is a plain system call on a word that lives as long as `self`.
        unsafe { libc::syscall(libc::SYS_futex, self.rung.as_ptr(), WAKE, i32::MAX) };
    }

    /// Sleeps until a run time, or until the bell has rung more than `rung` times in the run. Returns false if the bell
    /// woke the caller.
    pub fn sleep_until(&self, clock: Clock, t_ns: i64, rung: u32) -> Result<bool> {
        let when = clock.monotonic(t_ns);
        let nobody = std::ptr::null::<u32>();
        loop {
            // SAFETY: the word and the time outlive the call.
            let result = unsafe {
                libc::syscall(libc::SYS_futex, self.rung.as_ptr(), WAIT, rung, &raw const when, nobody, ANYBODY)
            };
            let error = std::io::Error::last_os_error();
            if self.rung() != rung {
                return Ok(false);
            }
            match error.raw_os_error().filter(|_| result < 0) {
                Some(libc::ETIMEDOUT) => return Ok(true),
                None | Some(libc::EINTR | libc::EAGAIN) => {}
                _ => return Err(Error::Kernel { attempt: format!("sleep until {t_ns} ns"), source: error }),
            }
        }
    }
}

const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
/// The futex operation that sleeps until an absolute time of the monotonic clock.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
/// The value of FUTEX_BITSET_MATCH_ANY.
const ANYBODY: u32 = u32::MAX;
