// SPDX-License-Identifier: Apache-2.0
//! `leowarp shell` runs an interactive program at a host of the network. The program uses a console of the guest. This
//! console is connected to the user's terminal. If the user has no terminal, standard output and standard error of the
//! program are copied to two consoles. When the program ends, the guest ends. The run records nothing.

use crate::base::clock::Clock;
use crate::base::error::{check, Error, Result};
use crate::base::{say, table};
use crate::network::Network;
use crate::programs::console::{opened, raw, Gate};
use crate::programs::place::{self, Place, Wanted};
use crate::programs::stillness;
use leowarp_timeline::setup::{self, Setup, Terminal};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The console for the user's terminal or standard output. `python/leowarp/guest/user/shell.py` defines all consoles.
const CONSOLE: u32 = 1;
/// The console for the terminal's size, and for the gate at which the guest waits for the user.
const CONTROL: u32 = 2;
const STANDARD_ERROR: u32 = 3;
const PIECE_BYTES: usize = 64 * 1024;
/// If a signal ends a program, a shell's exit code is 128 plus the number of the signal.
const BY_SIGNAL: i32 = 128;

/// An interactive program and its environment.
pub struct Shell {
    spec: Arc<setup::Shell>,
    place: Arc<Place>,
    input: Option<PathBuf>,
    pid: Arc<Mutex<Option<i32>>>,
}

impl Shell {
    /// Prepares the files that the program will see. None means that the run has no shell.
    pub fn open(network: &Network, setup: &Setup, input_dir: &Path) -> Result<Option<Self>> {
        let Some(spec) = &setup.shell else { return Ok(None) };
        let wanted = Wanted { name: "shell", host_dir: &spec.root, storage_bytes: spec.storage_bytes, directory: None };
        let place = Place::open(network, setup, setup.hosts[spec.at].node, &wanted)?;
        if spec.terminal.is_some() {
            place.root.add_terminal(CONSOLE)?;
        }
        let input = spec.input.as_ref().map(|name| input_dir.join(name));
        Ok(Some(Self { spec: Arc::new(spec.clone()), place: Arc::new(place), input, pid: Arc::default() }))
    }

    /// Starts a thread that starts the program at time 0 of the run.
    pub fn start(&self, clock: Clock) -> Result<()> {
        let (spec, place, input, pid) = (self.spec.clone(), self.place.clone(), self.input.clone(), self.pid.clone());
        spawn("shell", move || {
            let started = |started| *pid.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
            match run(clock, &spec, &place, input.as_deref(), started) {
                Ok(()) => say::power_off(),
                Err(e) => say::fail(&e),
            }
        })
        .map(|_| ())
    }

    /// If the program has not ended when the run ends, ends the program and returns an error.
    pub fn end_with_run(&self, clock: Clock) -> Result<()> {
        if let Some(pid) = *self.pid.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: this is a plain system call.
            unsafe { libc::kill(-pid, libc::SIGHUP) };
        }
        Err(Error::Program {
            what: format!(
                "`{}` still runs at the run's end, {} s",
                self.spec.command.join(" "),
                clock.now_ns() / 1_000_000_000
            ),
            hint: "let the run last longer: --set run.duration=\"1 h\"".into(),
        })
    }
}

/// Runs the program from its start to its end, and records its end in `end.json`.
fn run(clock: Clock, spec: &setup::Shell, place: &Place, input: Option<&Path>, started: impl Fn(i32)) -> Result<()> {
    while !clock.sleep_until(0)? {}
    let mut environment = spec.environment.clone();
    environment.insert("LEOWARP_START_US".into(), (clock.real_ns(0) / 1000).to_string());
    let mut command = place.command(&spec.command, &environment)?;
    let (status, outputs) = if let Some(size) = spec.terminal {
        // This path ends with the terminal's name inside the program's root. The program can therefore find out the
        // name of its terminal (ttyname(3)).
        let terminal = opened(&place.root.path.join(format!("dev/tty{CONSOLE}")))?;
        set_size(terminal.as_raw_fd(), size)?;
        let end = || terminal.try_clone().map(Stdio::from).map_err(|e| kernel("open the terminal once more", e));
        command.stdin(end()?).stdout(end()?).stderr(end()?);
        // SAFETY: this is a plain system call. The program leads a session of its own when it runs (`place`).
        unsafe {
            command.pre_exec(|| match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let mut child = command.spawn().map_err(|e| place::not_started(&described(spec), &e))?;
        started(child.id() as i32);
        follow(child.id() as i32, &terminal, clock)?;
        (end_of(&mut child)?, Vec::new())
    } else {
        let stdin = match input {
            Some(path) => File::open(path).map(Stdio::from).map_err(|e| kernel("open its standard input", e))?,
            None => Stdio::null(),
        };
        let (out, err) = (raw(CONSOLE)?, raw(STANDARD_ERROR)?);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| place::not_started(&described(spec), &e))?;
        started(child.id() as i32);
        let outputs = vec![copy(child.stdout.take(), out)?, copy(child.stderr.take(), err)?];
        (end_of(&mut child)?, outputs)
    };
    let t_ns = clock.now_ns();
    // Background processes are killed, because they would keep the program's outputs open. SAFETY: this is a plain
    // system call. The signal SIGKILL does not reach the agent, because the agent is the guest's init process.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    for output in outputs {
        output.join().map_err(|_| Error::Broken("a thread that copies an output broke".into()))?;
    }
    let code = status.code().or(status.signal().map(|signal| BY_SIGNAL + signal));
    table::write_file("end.json", json!({"ok": true, "virtual_ns": t_ns, "exit_code": code}).to_string().as_bytes())
}

fn described(spec: &setup::Shell) -> String {
    format!("`{}`", spec.command.join(" "))
}

fn end_of(child: &mut Child) -> Result<ExitStatus> {
    child.wait().map_err(|e| kernel("wait for the shell", e))
}

/// Whenever the size of the user's terminal changes, gives `terminal` the same size. Also stops virtual time while a
/// program waits for the user.
fn follow(pid: i32, terminal: &File, clock: Clock) -> Result<()> {
    let again = || terminal.try_clone().map_err(|e| kernel("open the terminal once more", e));
    let (sized, looked_at) = (again()?, again()?);
    let control = raw(CONTROL)?;
    let gate = control.try_clone().map_err(|e| kernel("open a console once more", e))?;
    spawn("size", move || {
        if let Err(e) = follow_size(control, sized.as_raw_fd()) {
            say::fail(&e);
        }
    })?;
    spawn("stillness", move || {
        if let Err(e) = stillness::keep(pid, &looked_at, Gate::new(gate), clock) {
            say::fail(&e);
        }
    })
    .map(|_| ())
}

/// Reads lines `rows columns`, and sets the terminal's size to each of them.
fn follow_size(mut control: File, terminal: RawFd) -> Result<()> {
    let (mut piece, mut line) = ([0; 64], Vec::new());
    loop {
        let n = control.read(&mut piece).map_err(|e| kernel("read the terminal's size", e))?;
        if n == 0 {
            return Ok(());
        }
        for &byte in &piece[..n] {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            let numbers: Vec<u16> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [rows, columns] = numbers[..] else {
                return Err(Error::Input(format!("{text:?} is no size of a terminal")));
            };
            set_size(terminal, Terminal { rows, columns })?;
            line.clear();
        }
    }
}

fn set_size(terminal: RawFd, size: Terminal) -> Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` outlives the call.
    check(unsafe { libc::ioctl(terminal, libc::TIOCSWINSZ, &raw const size) }, "set the terminal's size").map(|_| ())
}

/// Starts a thread that copies a program's output.
fn copy(from: Option<impl Read + Send + 'static>, mut to: File) -> Result<JoinHandle<()>> {
    let mut from = from.ok_or_else(|| Error::Broken("an output of the shell is no pipe".into()))?;
    spawn("output", move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let copied = match from.read(&mut piece) {
                Ok(0) => return,
                Ok(n) => to.write_all(&piece[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(()),
                Err(e) => Err(e),
            };
            if let Err(e) = copied {
                say::fail(&kernel("copy what the shell says", e));
            }
        }
    })
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(body).map_err(|e| kernel("start a thread of the shell", e))
}

fn kernel(attempt: &str, source: std::io::Error) -> Error {
    Error::Kernel { attempt: attempt.into(), source }
}
