// SPDX-License-Identifier: Apache-2.0
//! The user programs of a flow: a client at one host, and a server at the other host. The agent starts both programs,
//! reads their output and checks their exit codes.
//!
//! Programs have few rights ([`crate::programs::place`]). The programs' files are copied to the run's output.

use crate::base::clock::{self, Clock};
use crate::base::ending::Ending;
use crate::base::error::{check, Error, Result};
use crate::network::Network;
use crate::programs::place::{self, Place, Wanted};
use leowarp_timeline::setup::Setup;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time from SIGTERM to SIGKILL for a program that does not end.
pub const GRACE_NS: i64 = 1_000_000_000;
/// The largest number of processes and threads of all programs. If there are more, the run fails, because some program
/// seems to fork without end. The agent itself has three threads per flow. Each process of the guest is also a process
/// on the user's machine. The kernel of this machine would refuse many more processes.
const PROCESSES_MAX: usize = 500;
const PROCESSES_REFUSED: usize = 520;
const PIECE_BYTES: usize = 64 * 1024;
/// The virtual time from a program's end until the agent handles it. Meanwhile, the thread that reads the program's
/// output can finish.
const LISTENERS_NS: i64 = 1000;
const LAST_LINES: usize = 6;
const LONGEST_LINE: usize = 300;

/// The client and the server of a flow.
pub struct Program {
    pub flow: usize,
    expect_exit: Option<i32>,
    roles: Vec<Arc<Role>>,
}

/// The client program or the server program of a flow.
struct Role {
    flow: usize,
    name: &'static str,
    command: Vec<String>,
    start_ns: i64,
    environment: BTreeMap<String, String>,
    place: Place,
    storage_bytes: u64,
    /// The required exit code. None means that any exit code is accepted, and that the program need not exit.
    expect_exit: Option<i32>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    pid: Option<i32>,
    end: Option<(i64, ExitStatus)>,
    /// Whether the agent has sent the program SIGTERM or SIGKILL.
    is_stopped: bool,
}

impl Program {
    /// Prepares the files that the programs will see.
    pub fn open(network: &Network, setup: &Setup, flow: usize) -> Result<Self> {
        let spec = &setup.flows[flow];
        let Some(program) = &spec.program else {
            return Err(Error::Input(format!("flow {flow} names no program")));
        };
        crate::network::netns::set_sysctl("kernel.threads-max", &PROCESSES_REFUSED.to_string())?;
        let server_at = if program.client_at == spec.source { spec.destination } else { spec.source };
        let client = ("client", Some(&program.client), program.client_at, program.client_start_ns);
        let server = ("server", program.server.as_ref(), server_at, spec.start_ns);
        let mut roles = Vec::new();
        for (name, command, host, start_ns) in [server, client] {
            let Some(command) = command else { continue };
            let wanted = Wanted {
                name: &format!("{flow}-{name}"),
                host_dir: &program.root,
                storage_bytes: program.storage_bytes,
                directory: program.directory.as_ref(),
            };
            let place = Place::open(network, setup, setup.hosts[host].node, &wanted)?;
            roles.push(Arc::new(Role {
                flow,
                name,
                command: command.clone(),
                start_ns,
                environment: program.environment.clone(),
                place,
                storage_bytes: program.storage_bytes,
                expect_exit: if name == "client" { program.expect_exit } else { Some(0) },
                state: Mutex::default(),
            }));
        }
        Ok(Self { flow, expect_exit: program.expect_exit, roles })
    }

    /// Starts the threads that start the programs.
    pub fn start(&self, clock: Clock, ending: &Arc<Ending>) -> Result<()> {
        for role in &self.roles {
            std::fs::create_dir_all(role.output()).map_err(|e| role.cannot_write(e))?;
            let (role, ending) = (role.clone(), ending.clone());
            let body = move || {
                if let Err(e) = role.run(clock, &ending) {
                    crate::base::say::fail(&e);
                }
            };
            spawn("program", body)?;
        }
        Ok(())
    }

    /// If the client has ended by itself, returns the time of its end.
    pub fn end_ns(&self) -> Option<i64> {
        let client = self.roles.iter().find(|r| r.name == "client")?;
        client.state().end.map(|(t_ns, _)| t_ns)
    }

    /// Stops the flow by SIGTERM to its running programs. Fails if the client still runs although it should have ended
    /// by itself.
    pub fn stop(&self, t_ns: i64) -> Result<()> {
        for role in &self.roles {
            let mut state = role.state();
            if state.is_stopped || state.end.is_some() {
                continue;
            }
            if let ("client", Some(code)) = (role.name, self.expect_exit) {
                return Err(Error::Program {
                    what: format!("{} still runs at the flow's stop, {} s", role.described(), t_ns as f64 / 1e9),
                    hint: format!(
                        "it is expected to exit with {code} before: give it less to do, or the flow a later stop, or \
                         write expect_exit = \"stopped\""
                    ),
                });
            }
            state.is_stopped = true;
            if let Some(pid) = state.pid {
                signal_group(pid, libc::SIGTERM);
            }
        }
        Ok(())
    }

    /// Kills programs that SIGTERM did not end.
    pub fn kill(&self) {
        let states = self.roles.iter().map(|role| *role.state());
        states.filter(|s| s.end.is_none()).filter_map(|s| s.pid).for_each(|pid| signal_group(pid, libc::SIGKILL));
    }
}

/// Ends all programs of the run and their child processes, and copies the programs' files to the output. Returns how
/// each program ended. `end_ns` is the run time at which the run ended.
pub fn end_all(end_ns: i64, programs: &[Program]) -> Result<Vec<Value>> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    for role in programs.iter().flat_map(|p| &p.roles) {
        role.state().is_stopped = true;
    }
    // SAFETY: this is a plain system call. The signal does not reach the agent, because the agent is the guest's init
    // process.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    clock::sleep(LISTENERS_NS)?;
    programs.iter().flat_map(|p| &p.roles).map(|role| role.described_end(end_ns)).collect()
}

/// Fails if there are more than PROCESSES_MAX processes and threads.
pub fn refuse_many_processes() -> Result<()> {
    // SAFETY: a zeroed value is valid, and it outlives the call.
    let count = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        check(libc::sysinfo(&raw mut info), "count the guest's tasks")?;
        usize::from(info.procs)
    };
    if count <= PROCESSES_MAX {
        return Ok(());
    }
    Err(Error::Program {
        what: format!("the programs of the run have started {count} processes and threads that still run"),
        hint: format!("a guest bears {PROCESSES_MAX}; one of them may start others for ever"),
    })
}

impl Role {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn described(&self) -> String {
        format!("flow {}: its {} `{}`", self.flow, self.name, self.command.join(" "))
    }

    /// Returns the directory of the program's outputs, relative to the run directory.
    fn output(&self) -> PathBuf {
        Path::new("programs").join(self.flow.to_string()).join(self.name)
    }

    fn cannot_write(&self, source: std::io::Error) -> Error {
        Error::Output { file: self.output().display().to_string(), source }
    }

    /// Runs a program from its start to its end.
    fn run(self: &Arc<Self>, clock: Clock, ending: &Ending) -> Result<()> {
        while !clock.sleep_until(self.start_ns)? {}
        let mut child = {
            let mut state = self.state();
            if state.is_stopped {
                return Ok(());
            }
            let child = self.spawn()?;
            state.pid = Some(child.id() as i32);
            child
        };
        let transcript = File::create(self.output().join("output.txt")).map_err(|e| self.cannot_write(e))?;
        let transcript = Arc::new(Mutex::new(transcript));
        let outputs =
            [("stdout", child.stdout.take().map(OwnedFd::from)), ("stderr", child.stderr.take().map(OwnedFd::from))];
        for (stream, pipe) in outputs {
            let Some(pipe) = pipe else { continue };
            let (role, transcript) = (self.clone(), transcript.clone());
            spawn(stream, move || {
                if let Err(e) = role.listen(clock, stream, File::from(pipe), &transcript) {
                    crate::base::say::fail(&e);
                }
            })?;
        }
        let status = child.wait().map_err(|e| kernel("wait for a program", e))?;
        let t_ns = clock.now_ns();
        let is_stopped = {
            let mut state = self.state();
            state.end = Some((t_ns, status));
            state.is_stopped
        };
        if !is_stopped && self.expect_exit.is_some_and(|code| status.code() != Some(code)) {
            // If there are too many processes, they are the more likely cause of the exit code. The number of processes
            // is therefore checked first.
            refuse_many_processes()?;
            clock::sleep(LISTENERS_NS)?;
            return Err(self.unexpected(t_ns, status));
        }
        if self.name == "client" && ending.is_watched() {
            ending.ring();
        }
        Ok(())
    }

    fn spawn(&self) -> Result<std::process::Child> {
        let mut command = self.place.command(&self.command, &self.environment)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|source| place::not_started(&self.described(), &source))
    }

    /// Stores the program's output twice: as it is, and line by line with the virtual time of each line.
    fn listen(&self, clock: Clock, stream: &str, mut pipe: File, transcript: &Mutex<File>) -> Result<()> {
        let mut raw = File::create(self.output().join(stream)).map_err(|e| self.cannot_write(e))?;
        let mut piece = vec![0; PIECE_BYTES];
        let (mut said_bytes, mut line) = (0, (0, Vec::new()));
        loop {
            let n = match pipe.read(&mut piece) {
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(kernel("listen to a program", e)),
            };
            if n == 0 {
                break;
            }
            said_bytes += n as u64;
            if said_bytes > self.storage_bytes {
                return Err(Error::Program {
                    what: format!(
                        "{} has written more than {} bytes to {stream}",
                        self.described(),
                        self.storage_bytes
                    ),
                    hint: "let it say less, or raise the flow's storage".into(),
                });
            }
            raw.write_all(&piece[..n]).map_err(|e| self.cannot_write(e))?;
            let t_ns = clock.now_ns();
            for byte in &piece[..n] {
                if line.1.is_empty() {
                    line.0 = t_ns;
                }
                line.1.push(*byte);
                if *byte == b'\n' {
                    self.note(stream, &mut line, transcript)?;
                }
            }
        }
        if !line.1.is_empty() {
            line.1.push(b'\n');
            self.note(stream, &mut line, transcript)?;
        }
        Ok(())
    }

    fn note(&self, stream: &str, line: &mut (i64, Vec<u8>), transcript: &Mutex<File>) -> Result<()> {
        let (t_ns, text) = line;
        let mut row = format!("{:.9} {stream} ", *t_ns as f64 / 1e9).into_bytes();
        row.append(text);
        let mut file = transcript.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&row).map_err(|e| self.cannot_write(e))
    }

    /// Returns the error for a program that ended unexpectedly.
    fn unexpected(&self, t_ns: i64, status: ExitStatus) -> Error {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
        };
        let said = ["stderr", "stdout"].map(|stream| self.last_lines(stream));
        let said = said.iter().find(|text| !text.is_empty());
        let said = said.map_or_else(|| "; it said nothing".into(), |text| format!("; its last words:{text}"));
        let full = if matches!(self.place.root.is_full(), Ok(true)) { "; its directory is full" } else { "" };
        let expected = if self.name == "client" {
            format!(
                "expected: {}; write expect_exit = {} if that is right",
                self.expect_exit.unwrap_or(0),
                status.code().unwrap_or(0)
            )
        } else {
            "a server ends with 0 or runs until the flow's stop".into()
        };
        Error::Program {
            what: format!("{} {how} at {:.6} s{full}{said}", self.described(), t_ns as f64 / 1e9),
            hint: expected,
        }
    }

    fn last_lines(&self, stream: &str) -> String {
        let bytes = std::fs::read(self.output().join(stream)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let last = lines.iter().rev().take(LAST_LINES).rev();
        last.map(|l| format!("\n    {}", l.chars().take(LONGEST_LINE).collect::<String>())).collect()
    }

    fn described_end(&self, end_ns: i64) -> Result<Value> {
        if self.place.root.is_full()? {
            return Err(Error::Program {
                what: format!("{} has filled its directory, {} bytes", self.described(), self.storage_bytes),
                hint: "let it write less, or raise the flow's storage".into(),
            });
        }
        self.place.root.copy_out(&self.output().join("files"))?;
        let State { pid, end, .. } = *self.state();
        let status = end.map(|e| e.1);
        let ended_ns = end.map(|e| e.0).filter(|&t_ns| t_ns < end_ns);
        Ok(json!({
            "flow": self.flow, "role": self.name, "command": self.command, "started": pid.is_some(),
            "start_ns": self.start_ns, "end_ns": ended_ns,
            "exit_code": status.and_then(|s| s.code()), "signal": status.and_then(|s| s.signal()),
        }))
    }
}

/// Sends a signal to a program and its child processes. Child processes with their own session do not receive the
/// signal.
fn signal_group(pid: i32, signal: i32) {
    // SAFETY: this is a plain system call. The call fails with ESRCH if all processes of the group have ended. This is
    // not an error here.
    unsafe { libc::kill(-pid, signal) };
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(body);
    thread.map(|_| ()).map_err(|e| kernel("start a program's thread", e))
}

fn kernel(attempt: &str, source: std::io::Error) -> Error {
    Error::Kernel { attempt: attempt.into(), source }
}
