// SPDX-License-Identifier: Apache-2.0
//! A flood of pings. The next request is sent when the previous request is answered. If no answer comes, the next
//! request is sent after a fixed time (as `ping -f` of iputils). An answer also counts for all earlier requests, so a
//! lost request does not delay later requests. A separate thread waits for the answers.

use super::probe::Probe;
use super::socket;
use crate::base::clock::Clock;
use crate::base::ending::Ending;
use crate::base::error::{check, Error, Result};
use crate::network::Network;
use leowarp_timeline::setup::{Setup, FLOOD_SILENCE_NS};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::Arc;

const STACK_BYTES: usize = 256 * 1024;
/// The size of an IP header (at most 60 bytes) and an ICMP header.
const REPLY_BYTES: usize = 60 + 8;
const ICMP_ECHOREPLY: u8 = 0;
const ICMPV6_ECHO_REPLY: u8 = 129;

/// A flood that is ready to start.
#[derive(Debug)]
pub struct Flood {
    pub flow: usize,
    socket: OwnedFd,
    /// The run time at which the flood ended. i64::MIN means not yet, or not recorded.
    end_ns: Arc<AtomicI64>,
    /// The sender of the requests. None means that the flood's thread has taken the sender.
    sender: Option<Sender>,
}

#[derive(Debug)]
struct Sender {
    probe: Probe,
    flow: u16,
    is_ipv6: bool,
    start_ns: i64,
    stop_ns: i64,
    packets: u64,
    /// The time to the next request if no answer arrives.
    silence_ns: i64,
}

impl Flood {
    /// Opens the flood's socket in the namespace of its source.
    pub fn open(network: &Network, setup: &Setup, flow: usize) -> Result<Self> {
        let spec = &setup.flows[flow];
        let probe = Probe::open(network, setup, flow)?;
        let sender = Sender {
            flow: flow as u16,
            is_ipv6: setup.is_ipv6(),
            start_ns: spec.start_ns,
            stop_ns: spec.stop_ns,
            packets: spec.packets.unwrap_or(u64::MAX),
            silence_ns: spec.interval_ns.unwrap_or(FLOOD_SILENCE_NS),
            probe,
        };
        let socket = sender.probe.socket()?;
        Ok(Self { flow, socket, end_ns: Arc::new(AtomicI64::new(i64::MIN)), sender: Some(sender) })
    }

    /// Starts the flood's thread, which sleeps until the flow starts. If the thread fails, the run fails immediately.
    pub fn start(&mut self, clock: Clock, ending: &Arc<Ending>) -> Result<()> {
        let Some(sender) = self.sender.take() else { return Ok(()) };
        let (end_ns, ending) = (self.end_ns.clone(), ending.clone());
        let body = move || match sender.run(clock, &ending) {
            Ok(t_ns) if ending.is_watched() => {
                end_ns.store(t_ns, SeqCst);
                ending.ring();
            }
            Ok(_) => {}
            Err(e) => crate::base::say::fail(&e),
        };
        let thread = std::thread::Builder::new().name(format!("flood {}", self.flow)).stack_size(STACK_BYTES);
        let started = thread.spawn(body);
        started.map(|_| ()).map_err(|source| Error::Kernel { attempt: "start a flood's thread".into(), source })
    }

    /// Returns the run time at which the flood ended, if ends are recorded.
    pub fn end_ns(&self) -> Option<i64> {
        Some(self.end_ns.load(SeqCst)).filter(|&t_ns| t_ns != i64::MIN)
    }

    /// Sets the TOS field of later packets. If `in_flight` is "source", the TOS field selects the packets' path.
    pub fn set_tos(&self, tos: u8) -> Result<()> {
        socket::set_tos(self.socket.as_raw_fd(), tos)
    }
}

impl Sender {
    /// Sends requests until the flood is over. Returns the time at which the flood ended.
    fn run(mut self, clock: Clock, ending: &Ending) -> Result<i64> {
        let timer = timer()?;
        while !clock.sleep_until(self.start_ns)? {}
        let mut now_ns = self.start_ns;
        for index in 0..self.packets {
            if now_ns >= self.stop_ns.min(ending.end_ns()) {
                break;
            }
            self.probe.send(index)?;
            if index + 1 < self.packets {
                let until_ns = now_ns.saturating_add(self.silence_ns).min(self.stop_ns);
                now_ns =
                    if self.is_answered(index as u16, &timer, clock, until_ns)? { clock.now_ns() } else { until_ns };
            }
        }
        Ok(now_ns)
    }

    /// Waits for the answer to request `index`. Returns false if no answer arrived before the deadline.
    fn is_answered(&self, index: u16, timer: &OwnedFd, clock: Clock, until_ns: i64) -> Result<bool> {
        let when = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: clock.monotonic(until_ns),
        };
        // SAFETY: the value outlives the call.
        let set = unsafe {
            libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const when, std::ptr::null_mut())
        };
        check(set, "set a flood's timer")?;
        let poll = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [poll(self.probe.raw()), poll(timer.as_raw_fd())];
        loop {
            // SAFETY: the descriptors outlive the call.
            check(unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) }, "wait for an answer to a ping")?;
            if fds[0].revents != 0 && self.has_come(index)? {
                return Ok(true);
            }
            if fds[1].revents != 0 {
                return Ok(false);
            }
        }
    }

    /// Reads all available answers. Returns whether request `index` is one of the answered requests.
    fn has_come(&self, index: u16) -> Result<bool> {
        let mut buffer = [0u8; REPLY_BYTES];
        let mut found = false;
        loop {
            // SAFETY: the buffer has the size that is passed.
            let n =
                unsafe { libc::recv(self.probe.raw(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
            if n < 0 && socket::errno() == libc::EAGAIN {
                return Ok(found);
            }
            let n = check(n, "read an answer to a ping")? as usize;
            found |= answers(&buffer[..n], self.is_ipv6) == Some((self.flow, index));
        }
    }
}

/// Returns the flow of an answer, and the number of the answered request. If the socket is an IPv6 socket, `packet` has
/// no IP header.
fn answers(packet: &[u8], is_ipv6: bool) -> Option<(u16, u16)> {
    let head_bytes = if is_ipv6 { 0 } else { 4 * usize::from(packet.first()? & 15) };
    let icmp = packet.get(head_bytes..)?;
    let word = |at: usize| Some(u16::from_be_bytes([*icmp.get(at)?, *icmp.get(at + 1)?]));
    (*icmp.first()? == if is_ipv6 { ICMPV6_ECHO_REPLY } else { ICMP_ECHOREPLY }).then_some(())?;
    Some((word(4)?, word(6)?))
}

fn timer() -> Result<OwnedFd> {
    // SAFETY: this is a plain system call; the descriptor is owned afterwards.
    unsafe {
        let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
        Ok(OwnedFd::from_raw_fd(check(fd, "make a timer")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_its_flow_and_number_behind_options_too() {
        let mut ip = vec![0x45; 20];
        ip.extend([0, 0, 0xaa, 0xaa, 0, 7, 0x12, 0x34, 99]);
        assert_eq!(answers(&ip, false), Some((7, 0x1234)));
        ip[20] = 8;
        assert_eq!(answers(&ip, false), None);
        let mut options = vec![0x46; 24];
        options.extend([0, 0, 0, 0, 0, 1, 0, 2]);
        assert_eq!(answers(&options, false), Some((1, 2)));
        assert_eq!(answers(&options[..30], false), None);
        assert_eq!(answers(&[], false), None);
        assert_eq!(answers(&[129, 0, 0, 0, 0, 7, 0, 9], true), Some((7, 9)));
        assert_eq!(answers(&[0, 0, 0, 0, 0, 7, 0, 9], true), None);
    }
}
