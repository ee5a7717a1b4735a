// SPDX-License-Identifier: Apache-2.0
//! A bulk transfer with a writing thread and a reading thread. Each system call blocks until a gigabyte is written or
//! read. Large calls are cheaper, because a system call costs as much as the stack's work on ten packets.
//!
//! The reader discards data while reading (MSG_TRUNC). The reader wakes when it can read 1/32 of the receiver's window,
//! or 64 KiB if 64 KiB is less. Unread data reduce the advertised window by about 1/32 at most. The kernel measures the
//! reading speed (`tcp_rcv_space_adjust`) as if all data were read immediately. Nevertheless, the receiver sends one
//! ACK for every two segments (`__tcp_ack_snd_check` looks at SO_RCVLOWAT).
//!
//! If the receiver delays its acknowledgements, the reader wakes only when it can read a quarter of the window. If the
//! reader read all data at once, the kernel would acknowledge a short last segment immediately (`tcp_cleanup_rbuf`). It
//! would not wait for the timer.
//!
//! The sender is the kernel's own TCP.
//! Implements RFC 4737, 5 (resemblance to TCP).
//! Implements RFC 4737, 6 (TCP-like streams).

use super::socket::{self, Address};
use super::tcp_info;
use crate::base::clock::Clock;
use crate::base::ending::Ending;
use crate::base::error::{check, Error, Result};
use crate::network::leolink;
use crate::network::Network;
use crate::packets::frame::{DESTINATION_PORT, SOURCE_PORT};
use leowarp_timeline::setup::{DelayedAck, Flow, Pcap, Setup};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;

const MOST_LOW_WATER_BYTES: u32 = 64 * 1024;
/// The reader wakes up when it can read the receiver's window divided by this number. `WINDOW_PER_DELAYED_LOW_WATER`
/// applies if acknowledgements are delayed. Otherwise, `WINDOW_PER_LOW_WATER` applies.
const WINDOW_PER_LOW_WATER: u32 = 32;
const WINDOW_PER_DELAYED_LOW_WATER: u32 = 4;
/// The number of memory pieces that one write call sends. Every piece is the same memory, which fits into the
/// processor's cache.
const PIECES: usize = 1024;
const PIECE_BYTES: usize = 16 * 1024;
static ZEROS: [u8; PIECE_BYTES] = [0; PIECE_BYTES];
/// The number of bytes per read call. If the window can no longer grow, `READ_MUCH_BYTES` applies.
const READ_BYTES: usize = 256 * 1024;
const READ_MUCH_BYTES: usize = 1 << 30;
/// An application with a rate limit writes once in this interval. If sending one segment takes longer than the
/// interval, the application writes one segment at a time.
const RATE_INTERVAL_NS: i64 = 10_000_000;
/// The size of the TCP header and of its timestamp option.
const HEADERS_BYTES: u32 = 20 + 12;
const STACK_BYTES: usize = 256 * 1024;

/// The state that the threads of a flow share with its observers.
#[derive(Debug)]
struct Shared {
    sender: OwnedFd,
    listener: OwnedFd,
    /// The accepted socket. -1 means not accepted yet.
    receiver: AtomicI32,
    /// Whether the connection uses Multipath TCP.
    is_mptcp: bool,
    /// The payload that the receiver had in order when a Multipath TCP transfer was stopped. u64::MAX means not stopped
    /// yet.
    connection_bytes: AtomicU64,
    /// Whether the receiver delays its acknowledgements from the first segment on.
    delays_acks: bool,
    /// The payload of a full segment.
    segment_bytes: u64,
    /// The run time at which the source connected. i64::MIN means that it has not connected yet.
    connect_ns: AtomicI64,
    /// The error that ended the transfer early. 0 means none.
    error: AtomicI32,
    stop: AtomicBool,
    /// Whether the sending thread has stopped using the socket.
    ended: AtomicBool,
    writer: AtomicU64,
    /// The number of bytes that the receiver has read.
    read_bytes: AtomicU64,
    /// The run time at which the receiver read the end of the stream. i64::MIN means not yet, or not recorded.
    complete_ns: AtomicI64,
    /// The run time at which the transfer ended, successfully or not. i64::MIN means not yet, or not recorded.
    end_ns: AtomicI64,
}

/// A transfer that is ready to start.
#[derive(Debug, Clone)]
pub struct Transfer {
    pub flow: usize,
    shared: Arc<Shared>,
}

impl Transfer {
    /// Opens the transfer's sockets in the namespaces of its hosts.
    pub fn open(network: &Network, setup: &Setup, flow: usize) -> Result<Self> {
        let spec = &setup.flows[flow];
        let name = spec.congestion_control.as_deref().unwrap_or_default();
        let at = |host: usize, port: u16| match setup.hosts[host].address {
            // the listener of a Multipath TCP connection accepts every address of the host, because subflows arrive at
            // other addresses
            ip if spec.is_mptcp && host == spec.destination => socket::address(any(ip), port + flow as u16),
            ip => socket::address(ip, port + flow as u16),
        };
        let make = |host: usize, port: u16| {
            network.inside(setup.hosts[host].node, || {
                let protocol = if spec.is_mptcp { libc::IPPROTO_MPTCP } else { 0 };
                let fd = socket::open(setup.hosts[host].address, libc::SOCK_STREAM, protocol)?;
                socket::set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32, "reuse a flow's address")?;
                socket::set_congestion_control(&fd, name)?;
                socket::bind(&fd, &at(host, port))?;
                Ok(fd)
            })
        };
        let (sender, listener) = (make(spec.source, SOURCE_PORT)?, make(spec.destination, DESTINATION_PORT)?);
        if setup.hosts[spec.destination].delayed_ack == DelayedAck::On {
            socket::require_delack()?;
        }
        // SAFETY: this is a plain system call.
        check(unsafe { libc::listen(listener.as_raw_fd(), 1) }, "listen")?;
        let shared = Shared {
            sender,
            listener,
            receiver: AtomicI32::new(-1),
            is_mptcp: spec.is_mptcp,
            connection_bytes: AtomicU64::new(u64::MAX),
            delays_acks: setup.hosts[spec.destination].delayed_ack == DelayedAck::On,
            segment_bytes: u64::from(setup.mtu_bytes - setup.ip_header_bytes() - HEADERS_BYTES),
            connect_ns: AtomicI64::new(i64::MIN),
            error: AtomicI32::new(0),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            writer: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            complete_ns: AtomicI64::new(i64::MIN),
            end_ns: AtomicI64::new(i64::MIN),
        };
        Ok(Self { flow, shared: Arc::new(shared) })
    }

    /// Starts the transfer's threads. Each thread sleeps until the flow starts.
    pub fn start(&self, clock: Clock, spec: &Flow, to: Address, ending: &Arc<Ending>) -> Result<()> {
        let (reader, writer, spec) = (self.shared.clone(), self.shared.clone(), spec.clone());
        let (reader_ending, ending) = (ending.clone(), ending.clone());
        let spawn = |name: String, body: Box<dyn FnOnce() + Send>| match std::thread::Builder::new()
            .name(name)
            .stack_size(STACK_BYTES)
            .spawn(body)
        {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Kernel { attempt: "start a flow's thread".into(), source }),
        };
        spawn(format!("read {}", self.flow), Box::new(move || read(&reader, clock, &reader_ending)))?;
        spawn(
            format!("write {}", self.flow),
            Box::new(move || {
                // SAFETY: the call only returns the calling thread's identifier.
                writer.writer.store(unsafe { libc::pthread_self() }, SeqCst);
                write(&writer, clock, &spec, &to);
                writer.note_end(clock, &ending);
            }),
        )
    }

    /// Returns the connecting socket.
    pub fn sender(&self) -> i32 {
        self.shared.sender.as_raw_fd()
    }

    /// Returns the accepted socket.
    pub fn receiver(&self) -> Option<i32> {
        Some(self.shared.receiver.load(SeqCst)).filter(|&fd| fd >= 0)
    }

    /// Returns the run time at which the source connected.
    pub fn connect_ns(&self) -> Option<i64> {
        instant(&self.shared.connect_ns)
    }

    /// Returns the run time at which the receiver read the end of the stream, if ends are recorded.
    pub fn complete_ns(&self) -> Option<i64> {
        instant(&self.shared.complete_ns)
    }

    /// Returns the run time at which the transfer ended, successfully or not, if ends are recorded.
    pub fn end_ns(&self) -> Option<i64> {
        instant(&self.shared.end_ns)
    }

    /// Returns the error that ended the transfer early. 0 means none.
    pub fn errno(&self) -> i32 {
        self.shared.error.load(SeqCst)
    }

    /// Ends the transfer immediately, and discards queued data of the sender.
    pub fn stop(&self) {
        if self.shared.stop.swap(true, SeqCst) || self.shared.ended.load(SeqCst) {
            return;
        }
        // The signal interrupts the writer, which then resets the connection. SAFETY: the thread sets `ended` before it
        // ends. `ended` is not set, so the thread still exists.
        unsafe { libc::pthread_kill(self.shared.writer.load(SeqCst), libc::SIGUSR1) };
    }

    /// Returns whether the transfer was ended by `stop`. After `stop`, the transfer's sockets can no longer be sampled.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(SeqCst)
    }

    /// Returns whether the transfer has ended.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.load(SeqCst)
    }

    /// Returns the payload received in order: the bytes that were read, and the bytes in the receive queue.
    pub fn received_bytes(&self) -> Result<u64> {
        let read_bytes = self.shared.read_bytes.load(SeqCst);
        if self.complete_ns().is_some() {
            return Ok(read_bytes);
        }
        // The reader may be inside a system call that reads up to a gigabyte. The kernel's count is therefore used
        // instead of `read_bytes`.
        let told = if self.shared.is_mptcp { tcp_info::received_by_mptcp_bytes } else { tcp_info::received_bytes };
        self.receiver().map_or(Ok(0), told)
    }

    /// Returns whether the connection uses Multipath TCP.
    pub fn is_mptcp(&self) -> bool {
        self.shared.is_mptcp
    }

    /// For a Multipath TCP connection, stores the amount of payload that the receiver has in order at this moment. Must
    /// be called before the transfer is stopped.
    pub fn note_connection(&self) -> Result<()> {
        if self.shared.is_mptcp && self.connection_bytes().is_none() {
            self.shared.connection_bytes.store(self.received_bytes()?, SeqCst);
        }
        Ok(())
    }

    /// Returns the payload that the receiver had in order when a Multipath TCP transfer was stopped.
    pub fn connection_bytes(&self) -> Option<u64> {
        Some(self.shared.connection_bytes.load(SeqCst)).filter(|&bytes| bytes != u64::MAX)
    }

    /// Sets the TOS field of packets from one end of the connection. If `data` is true, this end is the source, which
    /// sends data. Otherwise, it is the destination, which sends acknowledgements.
    pub fn set_tos(&self, data: bool, tos: u8) -> Result<()> {
        if data {
            return if self.shared.ended.load(SeqCst) {
                Ok(())
            } else {
                socket::set_tos(self.shared.sender.as_raw_fd(), tos)
            };
        }
        socket::set_tos(self.shared.listener.as_raw_fd(), tos)?;
        self.receiver().map_or(Ok(()), |fd| socket::set_tos(fd, tos))
    }
}

/// Returns the wildcard address of the family of `ip`.
fn any(ip: IpAddr) -> IpAddr {
    if ip.is_ipv6() {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    }
}

/// Returns the run time in a cell. i64::MIN in the cell means no time yet.
fn instant(cell: &AtomicI64) -> Option<i64> {
    Some(cell.load(SeqCst)).filter(|&t_ns| t_ns != i64::MIN)
}

/// Makes the kernel skip copying payload that nothing reads. Payload is read by programs, by a shell, by live
/// connections, by user modules, and by captures into files.
pub fn prepare_payload(setup: &Setup) -> Result<()> {
    let has_visitors = setup.shell.is_some() || setup.live.is_some();
    let is_seen = setup.observe.pcap != Pcap::None || setup.has_programs() || has_visitors || !setup.modules.is_empty();
    leolink::set_payload(if is_seen { &[] } else { &ZEROS })
}

/// Installs a handler for a signal. The handler does nothing. It is needed only because the signal must interrupt a
/// system call.
pub fn prepare_signal() -> Result<()> {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing. SA_RESTART is not set, so interrupted system calls return.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        check(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), "set a signal handler")
            .map(|_| ())
    }
}

impl Shared {
    fn note_end(&self, clock: Clock, ending: &Ending) {
        if ending.is_watched() && self.end_ns.load(SeqCst) == i64::MIN {
            self.end_ns.store(clock.now_ns(), SeqCst);
            ending.ring();
        }
    }
}

fn read(shared: &Shared, clock: Clock, ending: &Ending) {
    // SAFETY: these are plain system calls. With MSG_TRUNC, nothing is written to the buffer.
    unsafe {
        let fd =
            libc::accept4(shared.listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC);
        if fd < 0 {
            return;
        }
        // Computing takes no virtual time. The socket may already contain data. All these data arrived at the instant
        // at which the handshake ended.
        if shared.delays_acks && !socket::delay_acks(fd) {
            shared.error.store(socket::errno(), SeqCst);
        }
        shared.receiver.store(fd, SeqCst);
        let nowhere = std::ptr::without_provenance_mut(1 << 20);
        let per_low_water = if shared.delays_acks { WINDOW_PER_DELAYED_LOW_WATER } else { WINDOW_PER_LOW_WATER };
        let mut low_water_bytes = 0;
        let n = loop {
            if low_water_bytes < MOST_LOW_WATER_BYTES {
                let wanted = tcp_info::receive_window_bytes(fd) / per_low_water;
                low_water_bytes = wanted.clamp(low_water_bytes.max(1), MOST_LOW_WATER_BYTES);
                if !socket::set_low_water(fd, low_water_bytes) {
                    shared.error.store(socket::errno(), SeqCst);
                }
            }
            let bytes = if low_water_bytes < MOST_LOW_WATER_BYTES { READ_BYTES } else { READ_MUCH_BYTES };
            let n = libc::recv(fd, nowhere, bytes, libc::MSG_TRUNC | libc::MSG_WAITALL);
            if n <= 0 {
                break n;
            }
            shared.read_bytes.fetch_add(n as u64, SeqCst);
        };
        if n == 0 && ending.is_watched() {
            shared.note_end(clock, ending);
            shared.complete_ns.store(shared.end_ns.load(SeqCst), SeqCst);
        } else if n == 0 && shared.is_mptcp {
            // For Multipath TCP, only the reader knows when all data of the connection have arrived. The packets of a
            // single subflow do not show this time
            shared.complete_ns.store(clock.now_ns(), SeqCst);
        }
        // The stream has ended or was reset, so the sender has finished. The socket stays open, so that its state can
        // be sampled once more.
        libc::shutdown(fd, libc::SHUT_WR);
    }
}

fn write(shared: &Shared, clock: Clock, spec: &Flow, destination: &Address) {
    let result = transfer(shared, clock, spec, destination);
    if shared.stop.load(SeqCst) {
        // SAFETY: setsockopt and dup2 are plain system calls. Closing with a linger time of 0 resets the connection and
        // discards queued data. The descriptor is replaced and not closed, so that no other file can get its number.
        unsafe {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let (fd, size) = (shared.sender.as_raw_fd(), size_of::<libc::linger>() as u32);
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), size);
            shared.ended.store(true, SeqCst);
            libc::dup2(shared.listener.as_raw_fd(), fd);
        }
    } else if let Err(errno) = result {
        shared.error.store(errno, SeqCst);
    }
    shared.ended.store(true, SeqCst);
}

/// Runs the transfer. Returns the errno on failure.
fn transfer(shared: &Shared, clock: Clock, spec: &Flow, destination: &Address) -> std::result::Result<(), i32> {
    let sleep = |t_ns: i64| match clock.sleep_until(t_ns) {
        Ok(true) if !shared.stop.load(SeqCst) => Ok(()),
        _ => Err(libc::EINTR),
    };
    let fd = shared.sender.as_raw_fd();
    sleep(spec.start_ns)?;
    socket::connect(fd, destination)?;
    shared.connect_ns.store(clock.now_ns(), SeqCst);
    let mut left = spec.size_bytes.unwrap_or(u64::MAX);
    if let Some(rate_bps) = spec.rate_bps {
        // transmission time of one segment at the application's rate
        let segment_ns = (shared.segment_bytes * 8 * 1_000_000_000).div_ceil(rate_bps) as i64;
        let interval_ns = segment_ns.max(RATE_INTERVAL_NS);
        let at = |k: i64| (i128::from(rate_bps) * i128::from(interval_ns) * i128::from(k) / 8_000_000_000) as u64;
        let begin_ns = shared.connect_ns.load(SeqCst);
        for k in 0.. {
            let chunk = (at(k + 1) - at(k)).min(left);
            send(shared, fd, chunk)?;
            left -= chunk;
            if left == 0 {
                break;
            }
            sleep(begin_ns + (k + 1) * interval_ns)?;
        }
    } else {
        send(shared, fd, left)?;
    }
    // SAFETY: these are plain system calls. The receiver closes the connection after it has read everything. recv()
    // therefore returns when all data have arrived.
    unsafe {
        libc::shutdown(fd, libc::SHUT_WR);
        let mut byte = 0u8;
        if libc::recv(fd, (&raw mut byte).cast(), 1, 0) < 0 {
            return Err(socket::errno());
        }
    }
    Ok(())
}

/// Sends `left` bytes, and blocks until all bytes are written.
fn send(shared: &Shared, fd: i32, mut left: u64) -> std::result::Result<(), i32> {
    let piece = libc::iovec { iov_base: ZEROS.as_ptr().cast_mut().cast(), iov_len: PIECE_BYTES };
    let mut pieces = [piece; PIECES];
    while left > 0 {
        if shared.stop.load(SeqCst) {
            return Err(libc::EINTR);
        }
        let count = (left as usize / PIECE_BYTES).clamp(1, PIECES);
        pieces[0].iov_len = (left as usize).min(PIECE_BYTES);
        // SAFETY: the message's vectors outlive the call; a zeroed header is valid.
        let n = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = pieces.as_mut_ptr();
            message.msg_iovlen = count;
            libc::sendmsg(fd, &raw const message, libc::MSG_NOSIGNAL)
        };
        if n < 0 {
            return Err(socket::errno());
        }
        left -= n as u64;
    }
    Ok(())
}
