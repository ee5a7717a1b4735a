// SPDX-License-Identifier: Apache-2.0
//! Carries data between the host's frames and the guest's sockets. At each step of virtual time, the module waits for
//! the host.
//!
//! Data from the host arrive as files in `in/live/` of the guest's boot directory, one file per frame. A console would
//! be too slow, because it is read byte by byte (arch/um/drivers/chan_kern.c, `chan_interrupt`). The host first writes
//! a file, and then sends the frame that announces this file. A file name is never used twice, because the guest caches
//! files.

use super::frame::{self, Tell, Told, FRAME_BYTES};
use super::stream::{Outcome, Stream};
use crate::base::clock::Clock;
use crate::base::error::{check, Error, Result};
use crate::flows::socket;
use crate::network::netns;
use crate::network::Network;
use crate::programs::console::Gate;
use leowarp_timeline::setup::{self, DelayedAck, Setup};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 64 * 1024;
const PIECES: &str = "live";
/// The indexes of the entries in the list for poll(2).
const CONSOLE: usize = 0;
const LISTENER: usize = 1;
const TICKS: usize = 2;
const FIRST_OPENING: usize = 3;
/// The timeouts for poll(2).
const FOREVER: i32 = -1;
const AT_ONCE: i32 = 0;

/// A connection with an incomplete handshake.
struct Opening {
    fd: OwnedFd,
    began_ns: i64,
}

/// The live connections and their state.
pub struct Relay {
    spec: setup::Live,
    console: File,
    pieces: PathBuf,
    pieces_read: u64,
    /// The first bytes of an incomplete frame.
    partial: Vec<u8>,
    /// The namespace of the host at which connections begin.
    home: OwnedFd,
    from: IpAddr,
    to: IpAddr,
    listener: OwnedFd,
    listener_port: u16,
    /// A bound socket that does not listen. The socket receives connections to ports on which no outside program
    /// listens. The guest's TCP refuses these connections, like a machine on which no program listens.
    _closed: OwnedFd,
    closed_port: u16,
    /// For each end of a connection, whether it delays its acknowledgements. The end that opens connections is first.
    delays_acks: [bool; 2],
    /// The number of further steps at which the guest need not wait.
    spare_steps: u64,
    openings: BTreeMap<u32, Opening>,
    /// For each source port, the connection that uses this port.
    by_port: HashMap<u16, u32>,
    streams: BTreeMap<u32, Stream>,
}

impl Relay {
    /// Opens the sockets, and listens at the far end.
    pub fn open(network: &Network, setup: &Setup, spec: &setup::Live, console: File, input_dir: &Path) -> Result<Self> {
        let hosts = [&setup.hosts[spec.from], &setup.hosts[spec.to]];
        let to = hosts[1].address;
        let bound = || {
            let fd = socket::open(to, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
            prepare(&fd, spec)?;
            socket::bind(&fd, &socket::address(to, 0))?;
            let port = port_of(&fd)?;
            Ok((fd, port))
        };
        let (listener, listener_port) = network.inside(hosts[1].node, bound)?;
        let (closed, closed_port) = network.inside(hosts[1].node, bound)?;
        // SAFETY: this is a plain system call.
        check(unsafe { libc::listen(listener.as_raw_fd(), libc::SOMAXCONN) }, "listen")?;
        let home = network.inside(hosts[0].node, || {
            let opened = File::open("/proc/thread-self/ns/net").map(OwnedFd::from);
            opened.map_err(|source| Error::Kernel { attempt: "open a namespace".into(), source })
        })?;
        let delays_acks = hosts.map(|host| host.delayed_ack == DelayedAck::On);
        if delays_acks.contains(&true) {
            socket::require_delack()?;
        }
        Ok(Self {
            spec: spec.clone(),
            console,
            pieces: input_dir.join(PIECES),
            pieces_read: 0,
            partial: Vec::new(),
            home,
            from: hosts[0].address,
            to,
            listener,
            listener_port,
            _closed: closed,
            closed_port,
            delays_acks,
            spare_steps: 0,
            openings: BTreeMap::new(),
            by_port: HashMap::new(),
            streams: BTreeMap::new(),
        })
    }

    /// Runs until the guest ends. The host's frames are handled when they arrive. At time 0 of the run and at every
    /// later step, the relay passes on all available data. The relay then waits for the host at `gate`, except if the
    /// host has told it not to wait.
    ///
    /// In real time, the guest computes a whole step at once. Streams are therefore checked once per step.
    pub fn run(&mut self, gate: &mut Gate, step_ns: i64, clock: Clock) -> Result<()> {
        netns::enter(self.home.as_raw_fd())?;
        let ticks = ticks(clock, step_ns)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut t_ns = -step_ns;
        loop {
            let mut awaited = self.awaited(&ticks);
            poll(&mut awaited, FOREVER)?;
            let is_ready = |place: usize| awaited[place].revents != 0;
            for connection in changed(&awaited[FIRST_OPENING..], self.openings.keys()) {
                self.connected(connection, clock)?;
            }
            if is_ready(LISTENER) {
                self.accept()?;
            }
            if is_ready(CONSOLE) {
                self.obey(&mut buffer, clock)?;
            }
            if is_ready(TICKS) {
                let mut due = [0; size_of::<u64>()];
                (&ticks).read_exact(&mut due).map_err(|e| kernel("read a timer", e))?;
                t_ns += u64::from_le_bytes(due) as i64 * step_ns;
                self.serve_all(&mut buffer)?;
                match self.spare_steps.checked_sub(1) {
                    Some(left) => self.spare_steps = left,
                    None => gate.wait(t_ns)?,
                }
            }
        }
    }

    /// Returns the entries for poll(2). Connections with an incomplete handshake come last.
    fn awaited(&self, ticks: &File) -> Vec<libc::pollfd> {
        let mut all = vec![entry(0, 0); FIRST_OPENING];
        all[CONSOLE] = entry(self.console.as_raw_fd(), libc::POLLIN);
        all[LISTENER] = entry(self.listener.as_raw_fd(), libc::POLLIN);
        all[TICKS] = entry(ticks.as_raw_fd(), libc::POLLIN);
        all.extend(self.openings.values().map(|opening| entry(opening.fd.as_raw_fd(), libc::POLLOUT)));
        all
    }

    /// Serves every stream that can be written or read now.
    fn serve_all(&mut self, buffer: &mut [u8]) -> Result<()> {
        let waiting = self.streams.iter().filter(|(_, stream)| stream.awaited() != 0);
        let (numbers, mut ends): (Vec<u32>, Vec<_>) = waiting.map(|(&n, s)| (n, entry(s.raw(), s.awaited()))).unzip();
        if ends.is_empty() {
            return Ok(());
        }
        poll(&mut ends, AT_ONCE)?;
        changed(&ends, numbers.iter()).into_iter().try_for_each(|stream| self.serve(stream, buffer))
    }

    /// Reads and carries out the host's messages.
    fn obey(&mut self, buffer: &mut [u8], clock: Clock) -> Result<()> {
        let n = self.console.read(buffer).map_err(|e| kernel("read what the host says", e))?;
        if n == 0 {
            return Err(Error::Broken("the host's end of the console of connections is closed".into()));
        }
        self.partial.extend_from_slice(&buffer[..n]);
        let whole = self.partial.len() / FRAME_BYTES * FRAME_BYTES;
        let frames: Vec<u8> = self.partial.drain(..whole).collect();
        for bytes in frames.chunks_exact(FRAME_BYTES) {
            let mut one = [0; FRAME_BYTES];
            one.copy_from_slice(bytes);
            self.obey_one(frame::read(&one)?, buffer, clock)?;
        }
        Ok(())
    }

    /// Carries out one message. The message's stream may already have ended.
    fn obey_one(&mut self, told: Told, buffer: &mut [u8], clock: Clock) -> Result<()> {
        match told {
            Told::Open { connection, is_answered } => self.connect(connection, is_answered, clock),
            Told::Data { stream, bytes } => {
                let piece = self.next_piece(bytes)?;
                let Some(known) = self.streams.get_mut(&stream) else { return Ok(()) };
                known.push(piece)?;
                self.serve(stream, buffer)
            }
            Told::Credit { stream, bytes } => {
                let Some(known) = self.streams.get_mut(&stream) else { return Ok(()) };
                known.grant(bytes);
                self.serve(stream, buffer)
            }
            Told::End { stream } => {
                let Some(known) = self.streams.get_mut(&stream) else { return Ok(()) };
                known.finish();
                self.serve(stream, buffer)
            }
            Told::Reset { stream } => {
                // If the connection's handshake is not complete, removing it aborts the handshake.
                if let (0, Some(opening)) = (stream % 2, self.openings.remove(&(stream / 2))) {
                    // Without this removal, the far end would mistake the next connection from the same port for the
                    // reset connection.
                    self.by_port.remove(&port_of(&opening.fd)?);
                }
                self.streams.remove(&stream).map_or(Ok(()), Stream::cut)
            }
            Told::Spare { steps } => {
                self.spare_steps = steps;
                Ok(())
            }
        }
    }

    /// Returns the content of the next data file.
    fn next_piece(&mut self, bytes: u64) -> Result<Vec<u8>> {
        let path = self.pieces.join(self.pieces_read.to_string());
        self.pieces_read += 1;
        let piece = std::fs::read(&path).map_err(|e| kernel(&format!("read {}", path.display()), e))?;
        std::fs::remove_file(&path).map_err(|e| kernel(&format!("remove {}", path.display()), e))?;
        if piece.len() as u64 != bytes {
            return Err(Error::Broken(format!("{} has {} bytes, not {bytes}", path.display(), piece.len())));
        }
        Ok(piece)
    }

    /// Sends the first segment of a connection.
    fn connect(&mut self, connection: u32, is_answered: bool, clock: Clock) -> Result<()> {
        let fd = socket::open(self.to, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
        prepare(&fd, &self.spec)?;
        let port = if is_answered { self.listener_port } else { self.closed_port };
        let began_ns = clock.now_ns();
        match socket::connect(fd.as_raw_fd(), &socket::address(self.to, port)) {
            Ok(()) | Err(libc::EINPROGRESS) => {
                self.by_port.insert(port_of(&fd)?, connection);
                self.openings.insert(connection, Opening { fd, began_ns });
                Ok(())
            }
            Err(errno) => self.tell(Tell::Failed { connection, errno }, &[]),
        }
    }

    /// Handles a handshake that has succeeded or failed.
    fn connected(&mut self, connection: u32, clock: Clock) -> Result<()> {
        let Some(Opening { fd, began_ns }) = self.openings.remove(&connection) else { return Ok(()) };
        match error_of(&fd)? {
            0 => {
                let took_ns = clock.now_ns() - began_ns;
                self.begin(2 * connection, fd);
                self.tell(Tell::Connected { connection, took_ns }, &[])
            }
            errno => {
                self.by_port.remove(&port_of(&fd)?);
                self.tell(Tell::Failed { connection, errno }, &[])
            }
        }
    }

    /// Accepts a connection on the listening socket. The accepted socket is the far end of the connection.
    fn accept(&mut self) -> Result<()> {
        let mut from = socket::address_v4(Ipv4Addr::UNSPECIFIED, 0);
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: address and size outlive the call; the descriptor is owned afterwards.
        let fd = unsafe { libc::accept4(self.listener.as_raw_fd(), (&raw mut from).cast(), &raw mut size, flags) };
        if fd < 0 {
            return match socket::errno() {
                // The connection was reset while it waited for accept(2).
                libc::EAGAIN | libc::EINTR | libc::ECONNABORTED => Ok(()),
                _ => Err(Error::last_os("accept a connection")),
            };
        }
        // SAFETY: the descriptor is valid and is owned from here on.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // The port alone does not identify a live connection, because another program in the guest may use the same
        // port. Another program must not reach a live connection.
        let is_ours = IpAddr::from(Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr))) == self.from;
        match is_ours.then(|| self.by_port.remove(&u16::from_be(from.sin_port))).flatten() {
            Some(connection) => {
                self.begin(2 * connection + 1, fd);
                self.tell(Tell::Accepted { connection }, &[])
            }
            // The source belongs to no live connection, so another program in the guest opened this connection.
            None => Stream::new(fd, self.spec.window_bytes).cut(),
        }
    }

    fn begin(&mut self, stream: u32, fd: OwnedFd) {
        if self.delays_acks[stream as usize % 2] {
            // If the connection is already gone, this call fails, and the next read will report that it is gone.
            socket::delay_acks(fd.as_raw_fd());
        }
        self.streams.insert(stream, Stream::new(fd, self.spec.window_bytes));
    }

    /// Writes and reads as much as possible, and reports the moved bytes to the host.
    fn serve(&mut self, number: u32, buffer: &mut [u8]) -> Result<()> {
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        match stream.write() {
            Outcome::Moved(bytes) => self.tell(Tell::Credit { stream: number, bytes }, &[])?,
            Outcome::Failed(errno) => return self.cut_off(number, errno),
            Outcome::Waits | Outcome::Ended => {}
        }
        // The loop reads until nothing more can be read. If the stream has ended after an answer, the answer and the
        // end are passed on together.
        while let Some(stream) = self.streams.get_mut(&number) {
            match stream.read(buffer) {
                Outcome::Moved(bytes) => self.tell(Tell::Data { stream: number, bytes }, &buffer[..bytes])?,
                Outcome::Ended => self.tell(Tell::End { stream: number }, &[])?,
                Outcome::Failed(errno) => return self.cut_off(number, errno),
                Outcome::Waits => break,
            }
        }
        if self.streams.get(&number).is_some_and(Stream::is_over) {
            self.streams.remove(&number);
        }
        Ok(())
    }

    fn cut_off(&mut self, number: u32, errno: i32) -> Result<()> {
        self.streams.remove(&number);
        self.tell(Tell::Reset { stream: number, errno }, &[])
    }

    fn tell(&mut self, tell: Tell, bytes: &[u8]) -> Result<()> {
        let mut text = frame::written(tell).to_vec();
        text.extend_from_slice(bytes);
        self.console.write_all(&text).map_err(|e| kernel("tell the host", e))
    }
}

/// Returns a timer that expires at time 0 of the run and at every later step.
fn ticks(clock: Clock, step_ns: i64) -> Result<File> {
    let step = libc::timespec { tv_sec: step_ns / 1_000_000_000, tv_nsec: step_ns % 1_000_000_000 };
    let times = libc::itimerspec { it_interval: step, it_value: clock.monotonic(0) };
    // SAFETY: timerfd_create and timerfd_settime are plain system calls, and `times` outlives them; the descriptor is
    // owned afterwards.
    unsafe {
        let fd = check(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC), "make a timer")?;
        let timer = File::from_raw_fd(fd);
        let absolute = libc::TFD_TIMER_ABSTIME;
        check(libc::timerfd_settime(fd, absolute, &raw const times, std::ptr::null_mut()), "set a timer")?;
        Ok(timer)
    }
}

fn entry(fd: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

fn poll(entries: &mut [libc::pollfd], timeout_ms: i32) -> Result<()> {
    loop {
        // SAFETY: the entries outlive the call, and their correct number is passed.
        if unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout_ms) } >= 0 {
            return Ok(());
        }
        if socket::errno() != libc::EINTR {
            return Err(Error::last_os("wait for connections"));
        }
    }
}

/// Returns the numbers of the entries with poll(2) events, in the order of the entries.
fn changed<'a>(entries: &[libc::pollfd], numbers: impl Iterator<Item = &'a u32>) -> Vec<u32> {
    entries.iter().zip(numbers).filter(|(entry, _)| entry.revents != 0).map(|(_, &number)| number).collect()
}

/// Sets the socket options of an end of a live connection. Accepted sockets inherit the listener's options.
fn prepare(fd: &OwnedFd, spec: &setup::Live) -> Result<()> {
    // Nagle's algorithm is off, because the agent cannot know whether the outside program uses it.
    socket::set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32, "set TCP_NODELAY")?;
    spec.congestion_control.as_deref().map_or(Ok(()), |name| socket::set_congestion_control(fd, name))
}

fn port_of(fd: &OwnedFd) -> Result<u16> {
    let mut own = socket::address_v4(Ipv4Addr::UNSPECIFIED, 0);
    let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: address and size outlive the call.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut own).cast(), &raw mut size) }, "ask for a port")?;
    Ok(u16::from_be(own.sin_port))
}

/// Returns the error that ended the handshake. 0 means none.
fn error_of(fd: &OwnedFd) -> Result<i32> {
    let (mut errno, mut size) = (0i32, size_of::<i32>() as libc::socklen_t);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ERROR);
    // SAFETY: value and size outlive the call.
    let asked = unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, (&raw mut errno).cast(), &raw mut size) };
    check(asked, "ask how a handshake ended").map(|_| errno)
}

fn kernel(attempt: &str, source: std::io::Error) -> Error {
    Error::Kernel { attempt: attempt.into(), source }
}
