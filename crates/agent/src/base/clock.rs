// SPDX-License-Identifier: Apache-2.0
//! The guest's virtual clock. The agent reads the clock only where a result depends on it, because each reading costs a
//! process 256 ns of virtual time. Each sleep ends at an absolute time.

use crate::base::error::{Error, Result};

/// The minimum time from the start of the network to time 0 of the run. This minimum time makes the network's timers,
/// such as a capture ring's, start at the same instant in every run.
pub const LEAD_NS: i64 = 1_000_000_000;

/// The run's time 0 on the guest's clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The monotonic clock at time 0 of the run.
    pub start_ns: i64,
    /// The real-time clock minus the monotonic clock. The difference is constant, because the guest's real-time clock
    /// is never set or slewed.
    real_less_monotonic_ns: i64,
}

impl Clock {
    /// Sets time 0 to 10 s after boot. If the network is not built 9 s after boot, time 0 is later by whole seconds.
    pub fn begin() -> Self {
        const FIRST_NS: i64 = 10_000_000_000;
        const STEP_NS: i64 = 1_000_000_000;
        let before = read(libc::CLOCK_MONOTONIC);
        let real = read(libc::CLOCK_REALTIME);
        let after = read(libc::CLOCK_MONOTONIC);
        // each reading takes 256 ns, so `real` was read halfway between `before` and `after`
        let start_ns = FIRST_NS.max(((after + LEAD_NS) / STEP_NS + 1) * STEP_NS);
        Self { start_ns, real_less_monotonic_ns: real - (before + after) / 2 }
    }

    /// Returns the present run time.
    pub fn now_ns(&self) -> i64 {
        read(libc::CLOCK_MONOTONIC) - self.start_ns
    }

    /// Converts a timestamp of the real-time clock to run time.
    pub fn of_real_ns(&self, real_ns: i64) -> i64 {
        real_ns - self.real_less_monotonic_ns - self.start_ns
    }

    /// Converts a run time to the real-time clock.
    pub fn real_ns(&self, t_ns: i64) -> i64 {
        t_ns + self.start_ns + self.real_less_monotonic_ns
    }

    /// Converts a timestamp of the monotonic clock to run time.
    pub fn of_monotonic_ns(&self, monotonic_ns: i64) -> i64 {
        monotonic_ns - self.start_ns
    }

    /// Converts a run time to the monotonic clock.
    pub fn monotonic_ns(&self, t_ns: i64) -> i64 {
        self.start_ns + t_ns
    }

    /// Converts a run time to the monotonic clock, in seconds and nanoseconds.
    pub fn monotonic(&self, t_ns: i64) -> libc::timespec {
        let at = self.monotonic_ns(t_ns);
        libc::timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 }
    }

    /// Sleeps until a run time. Returns false if a signal interrupted the sleep.
    pub fn sleep_until(&self, t_ns: i64) -> Result<bool> {
        let when = self.monotonic(t_ns);
        // SAFETY: `when` outlives the call.
        let result = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const when, std::ptr::null_mut())
        };
        match result {
            0 => Ok(true),
            libc::EINTR => Ok(false),
            errno => Err(Error::errno(format!("sleep until {t_ns} ns"), errno)),
        }
    }
}

/// Sleeps for a duration.
pub fn sleep(duration_ns: i64) -> Result<()> {
    Clock { start_ns: read(libc::CLOCK_MONOTONIC), real_less_monotonic_ns: 0 }.sleep_until(duration_ns).map(|_| ())
}

/// Removes the timer slack of the calling thread. With the default slack of 50 us, sleeps would end late. Threads that
/// are created later inherit this setting.
pub fn disable_timer_slack() -> Result<()> {
    // SAFETY: this is a plain system call.
    crate::base::error::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) }, "set the timer slack")
        .map(|_| ())
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call, which cannot fail for these clocks.
    unsafe { libc::clock_gettime(clock, &raw mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}
