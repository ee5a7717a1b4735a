// SPDX-License-Identifier: Apache-2.0
//! The end of the run, which may not be known in advance, and a bell that flows ring when they end.
//!
//! The bell is a futex, because a thread that waits for the bell must also wake at an instant of the virtual clock. A
//! condition variable of the standard library would read the virtual clock, and reading advances that clock.

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::SeqCst};

/// State that is shared by all threads that need the run's end.
#[derive(Debug)]
pub struct Ending {
    end_ns: AtomicI64,
    rung: AtomicU32,
    /// Whether flows record when they end. Recording an end costs one reading of the clock.
    is_watched: bool,
}

impl Ending {
    /// Ending of a run that is over at `duration_ns`, unless something ends the run earlier.
    pub fn new(duration_ns: i64, is_watched: bool) -> Self {
        Self { end_ns: AtomicI64::new(duration_ns), rung: AtomicU32::new(0), is_watched }
    }

    /// End of the run, as far as it is known at this moment.
    pub fn end_ns(&self) -> i64 {
        self.end_ns.load(SeqCst)
    }

    /// Ends the run at the run time `t_ns`. Threads that sleep notice the new end only after [`Ending::ring`].
    pub fn set_end_ns(&self, t_ns: i64) {
        self.end_ns.store(t_ns, SeqCst);
    }

    /// Whether a flow must record the time of its end, and ring the bell afterwards.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Number of times that the bell has rung so far.
    pub fn rung(&self) -> u32 {
        self.rung.load(SeqCst)
    }

    /// Wakes all threads in [`Ending::sleep_until`].
    pub fn ring(&self) {
        self.rung.fetch_add(1, SeqCst);
        // SAFETY: this is a plain system call on a word that lives as long as `self`.
        unsafe { libc::syscall(libc::SYS_futex, self.rung.as_ptr(), WAKE, i32::MAX) };
    }

    /// Sleeps until a run time, or until the bell has rung more than `rung` times since the run's start. Returns false
    /// if the bell ended the sleep.
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
/// Makes the futex sleep until an absolute time of the monotonic clock.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
/// The value of FUTEX_BITSET_MATCH_ANY.
const ANYBODY: u32 = u32::MAX;
