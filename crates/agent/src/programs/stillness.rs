// SPDX-License-Identifier: Apache-2.0
//! Pauses virtual time while a program waits for the user.
//!
//! During a pause, the guest waits at a [`Gate`]. The host opens the gate when the user has typed something.
//!
//! A program waits for the user if the terminal's foreground process group meets three conditions. All its processes
//! sleep, at least one of them waits for terminal input, and none of them has a socket. A process with a socket is
//! excluded, because packets arrive only while virtual time advances. Virtual time advances for `ping`, `sleep` and
//! `curl`, and pauses at a shell's prompt, in `less`, and in an interpreter. The agent detects a wait for terminal
//! input by rewriting the unchanged terminal settings. Writing the settings wakes all processes that wait for terminal
//! input (`n_tty_set_termios` in drivers/tty/n_tty.c). A woken process goes back to sleep, which counts as a voluntary
//! context switch. /proc/PID/wchan would be simpler, but on this architecture it contains a wrong address from the
//! stack.

use crate::base::clock::{self, Clock};
use crate::base::error::{check, Result};
use crate::programs::console::Gate;
use std::fs::File;
use std::os::fd::AsRawFd;

/// The shortest and the longest interval between checks. The interval can be short, because the clock advances only
/// when no task can run.
const SHORTEST_NS: i64 = 1000;
const LONGEST_NS: i64 = 10_000_000;
/// One in `WHOLE_LOOKS` checks looks at all processes of the group. The other checks look only at the group's first
/// process, which usually waits for the user.
const WHOLE_LOOKS: u64 = 16;
/// Stops the guest at `gate` each time a program of the session `leader` waits for the user's input at `terminal`.
/// Returns when the session ends.
pub fn keep(leader: i32, terminal: &File, mut gate: Gate, clock: Clock) -> Result<()> {
    // No other process may run between reading and writing the terminal's settings, so this thread gets a higher
    // priority. With a normal priority, a keypress could wake a shell that changes the settings between the read and
    // the write. This thread's write would then undo the shell's change.
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: `first` outlives the call.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) }, "run before the programs")?;
    let (mut pause_ns, mut looks) = (SHORTEST_NS, 0);
    loop {
        clock::sleep(pause_ns)?;
        let Some(session) = Process::of(leader) else { return Ok(()) };
        looks += 1;
        if waits_for_user(session.foreground, terminal, looks % WHOLE_LOOKS == 0)? {
            gate.wait(clock.now_ns())?;
            pause_ns = SHORTEST_NS;
        } else {
            pause_ns = (2 * pause_ns).min(LONGEST_NS);
        }
    }
}

/// Returns whether a process group waits for the user at the terminal. If `wholly` is false and the group's first
/// process does not wait, the other processes are not checked.
fn waits_for_user(group: i32, terminal: &File, wholly: bool) -> Result<bool> {
    let first_may = Process::of(group).is_some_and(|p| p.sleeps) && !has_socket(group);
    let first_waits = first_may && any_waits_for(terminal, &[group])?;
    if !first_waits && !wholly {
        return Ok(false);
    }
    let Ok(entries) = std::fs::read_dir("/proc") else { return Ok(false) };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let of_group = |pid: i32| Process::of(pid).filter(|p| p.group == group && !p.has_ended);
    let members: Vec<(i32, Process)> = pids.filter_map(|pid| Some((pid, of_group(pid)?))).collect();
    let all_sleep = members.iter().all(|(pid, process)| process.sleeps && !has_socket(*pid));
    let pids: Vec<i32> = members.iter().map(|m| m.0).collect();
    Ok(all_sleep && any_waits_for(terminal, &pids)?)
}

/// Returns whether one of the processes waits for terminal input.
fn any_waits_for(terminal: &File, pids: &[i32]) -> Result<bool> {
    let before: Vec<_> = pids.iter().map(|&pid| voluntary_switches(pid)).collect();
    // SAFETY: a zeroed value is valid, and it outlives the calls.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings), "read the terminal's settings")?;
        check(
            libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const settings),
            "keep the terminal's settings",
        )?;
    }
    clock::sleep(SHORTEST_NS)?;
    Ok(pids.iter().zip(before).any(|(&pid, before)| before.is_some() && voluntary_switches(pid) > before))
}

fn voluntary_switches(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

fn has_socket(pid: i32) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.into_iter().any(|target| target.to_string_lossy().starts_with("socket:"))
}

/// The content of /proc/PID/stat.
struct Process {
    group: i32,
    /// The foreground process group of the process's terminal.
    foreground: i32,
    sleeps: bool,
    has_ended: bool,
}

impl Process {
    fn of(pid: i32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn read(text: &str) -> Option<Self> {
        // Fields 3 to 8 of /proc/PID/stat (proc(5)): state, parent, process group, session, terminal, foreground group.
        // Field 2 is the process's name, which may contain any characters.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<i32>().ok();
        let state = *fields.first()?;
        Some(Self {
            group: number(2)?,
            foreground: number(5)?,
            // T means stopped by a signal.
            sleeps: matches!(state, "S" | "T"),
            has_ended: matches!(state, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_fields_is_passed_over() {
        let text = "42 (a) R 7 (b) S 1 42 40 1025 43 4194304 1 0";
        let process = Process::read(text).expect("a line of proc(5)");
        assert_eq!((process.group, process.foreground, process.sleeps, process.has_ended), (42, 43, true, false));
    }

    #[test]
    fn a_process_that_runs_does_not_sleep_and_a_zombie_has_ended() {
        let of = |state: &str| Process::read(&format!("1 (x) {state} 1 2 3 4 5 6")).expect("a line of proc(5)");
        assert!(!of("R").sleeps && !of("R").has_ended && of("T").sleeps && of("Z").has_ended);
        assert!(Process::read("1 (x) S 1").is_none());
    }
}
