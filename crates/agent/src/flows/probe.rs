// SPDX-License-Identifier: Apache-2.0
//! Pings and streams of datagrams. This module only sends packets. Packet truth records when each packet left and
//! arrived, and when its reply came back.

use super::socket;
use crate::base::error::{check, Error, Result};
use crate::network::netns;
use crate::network::Network;
use crate::packets::frame::{DESTINATION_PORT, SOURCE_PORT};
use leowarp_timeline::setup::{Flow, FlowKind, Setup};
use std::os::fd::{AsRawFd, OwnedFd};

const UDP_ETHERNET_BYTES: u64 = 8 + 14;
/// ICMP_FILTER of linux/icmp.h, and ICMPV6_FILTER of linux/icmpv6.h
const ICMP_FILTER: i32 = 1;
const SOL_RAW: i32 = 255;
const ECHO: u8 = 8;
const ECHO_IPV6: u8 = 128;
/// Masks with one bit per ICMP type. A set bit means that the socket does not receive this type. `NOTHING` lets no type
/// pass. `ANSWERS` lets only the answer to an echo pass.
const NOTHING: [u32; 8] = [u32::MAX; 8];
const ANSWERS: u32 = !1;
/// The mask for ICMPv6. It lets only type 129 pass, which is the answer to an echo.
const ANSWERS_IPV6: [u32; 8] = [u32::MAX, u32::MAX, u32::MAX, u32::MAX, !2, u32::MAX, u32::MAX, u32::MAX];

/// A flow of probes that is ready to start.
#[derive(Debug)]
pub struct Probe {
    pub flow: usize,
    kind: FlowKind,
    socket: OwnedFd,
    /// The open socket at the destination port. It prevents ICMP errors as answers.
    _sink: Option<OwnedFd>,
    packet: Vec<u8>,
    /// The sum of a ping's 16-bit words, without its checksum and its number. None means IPv6, where the kernel writes
    /// the checksum (RFC 3542, 3.1).
    word_sum: Option<u32>,
    start_ns: i64,
    stop_ns: i64,
    packets: u64,
    pace: Pace,
}

/// Determines when the packets are due, relative to the start of the flow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pace {
    EveryNs(i64),
    /// The rate in bits per second, and the size of a packet in bits.
    Bits(u64, u64),
    PerSecond(f64),
}

impl Pace {
    fn of(spec: &Flow, ip_header_bytes: u32) -> Self {
        match (spec.packets_per_s, spec.interval_ns, spec.rate_bps) {
            (Some(packets_per_s), _, _) => Self::PerSecond(packets_per_s),
            (None, Some(interval_ns), _) => Self::EveryNs(interval_ns),
            (None, None, rate_bps) => {
                let bits =
                    8 * (u64::from(spec.payload_bytes.unwrap_or_default() + ip_header_bytes) + UDP_ETHERNET_BYTES);
                Self::Bits(rate_bps.unwrap_or(1), bits)
            }
        }
    }

    /// Returns the time from the start to the packet `index`, rounded down to whole ns.
    // Implements RFC 4737, 6 (periodic streams).
    fn offset_ns(self, index: u64) -> i64 {
        let quotient = |dividend: u128, divisor: u64| (dividend * 1_000_000_000 / u128::from(divisor)) as i64;
        match self {
            Self::EveryNs(interval_ns) => index as i64 * interval_ns,
            Self::Bits(rate_bps, bits) => quotient(u128::from(index) * u128::from(bits), rate_bps),
            Self::PerSecond(n) if n.fract() == 0.0 => quotient(index.into(), n as u64),
            Self::PerSecond(n) => (index as f64 * 1e9 / n).floor() as i64,
        }
    }
}

impl Probe {
    /// Opens the flow's sockets in the namespaces of its hosts.
    pub fn open(network: &Network, setup: &Setup, flow: usize) -> Result<Self> {
        let spec = &setup.flows[flow];
        let (from, to) = (&setup.hosts[spec.source], &setup.hosts[spec.destination]);
        let payload = spec.payload_bytes.unwrap_or_default() as usize;
        let port = |base: u16| base + flow as u16;
        let is_ipv6 = setup.is_ipv6();
        let (socket, sink, packet) = match spec.kind {
            FlowKind::Ping => {
                if !spec.replies {
                    let name = if is_ipv6 { "net.ipv6.icmp.echo_ignore_all" } else { "net.ipv4.icmp_echo_ignore_all" };
                    network.inside(to.node, || netns::set_sysctl(name, "1"))?;
                }
                let fd = network.inside(from.node, || {
                    let protocol = if is_ipv6 { libc::IPPROTO_ICMPV6 } else { libc::IPPROTO_ICMP };
                    let fd = socket::open(from.address, libc::SOCK_RAW, protocol)?;
                    // the socket must receive no packets, except for the answers of a flood
                    let attempt = "filter a ping's socket";
                    if is_ipv6 {
                        let unwanted = if spec.flood { ANSWERS_IPV6 } else { NOTHING };
                        socket::set(fd.as_raw_fd(), libc::IPPROTO_ICMPV6, ICMP_FILTER, &unwanted, attempt)?;
                    } else {
                        let unwanted = if spec.flood { ANSWERS } else { NOTHING[0] };
                        socket::set(fd.as_raw_fd(), SOL_RAW, ICMP_FILTER, &unwanted, attempt)?;
                    }
                    if from.joins.is_some() {
                        // without this bind, packets would leave with the address of the joined host, and over the
                        // joined host's wire
                        socket::bind(&fd, &socket::address(from.address, 0))?;
                    }
                    Ok(fd)
                })?;
                let mut packet = vec![0u8; 8 + payload];
                packet[0] = if is_ipv6 { ECHO_IPV6 } else { ECHO };
                packet[4..6].copy_from_slice(&(flow as u16).to_be_bytes());
                (fd, None, packet)
            }
            _ => {
                let sink = network.inside(to.node, || {
                    let fd = socket::open(to.address, libc::SOCK_DGRAM, 0)?;
                    let mut code = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 }];
                    let filter = libc::sock_fprog { len: 1, filter: code.as_mut_ptr() };
                    socket::set(
                        fd.as_raw_fd(),
                        libc::SOL_SOCKET,
                        libc::SO_ATTACH_FILTER,
                        &filter,
                        "filter a datagram sink",
                    )?;
                    socket::bind(&fd, &socket::address(to.address, port(DESTINATION_PORT)))?;
                    Ok(fd)
                })?;
                let fd = network.inside(from.node, || {
                    let fd = socket::open(to.address, libc::SOCK_DGRAM, 0)?;
                    socket::bind(&fd, &socket::address(from.address, port(SOURCE_PORT)))?;
                    Ok(fd)
                })?;
                (fd, Some(sink), vec![0u8; payload])
            }
        };
        let attempt = "connect a probe's socket";
        let to = socket::address(to.address, if sink.is_some() { port(DESTINATION_PORT) } else { 0 });
        socket::connect(socket.as_raw_fd(), &to).map_err(|errno| Error::errno(attempt, errno))?;
        Ok(Self {
            flow,
            kind: spec.kind,
            socket,
            _sink: sink,
            word_sum: (!is_ipv6).then(|| word_sum(&packet)),
            packet,
            start_ns: spec.start_ns,
            stop_ns: spec.stop_ns,
            packets: spec.packets.unwrap_or(u64::MAX),
            pace: Pace::of(spec, setup.ip_header_bytes()),
        })
    }

    /// Returns the time at which packet `index` is due. None means that the packet does not exist or is due after the
    /// flow's end.
    pub fn due_ns(&self, index: u64) -> Option<i64> {
        let due_ns = || self.start_ns.saturating_add(self.pace.offset_ns(index));
        (index < self.packets).then(due_ns).filter(|&t| t < self.stop_ns)
    }

    /// Sends packet `index`.
    pub fn send(&mut self, index: u64) -> Result<()> {
        if self.kind == FlowKind::Ping {
            self.packet[6..8].copy_from_slice(&(index as u16).to_be_bytes());
            if let Some(word_sum) = self.word_sum {
                let sum = checksum(word_sum + u32::from(index as u16));
                self.packet[2..4].copy_from_slice(&sum.to_be_bytes());
            }
        } else {
            self.packet[..8].copy_from_slice(&index.to_be_bytes());
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the packet outlives the call.
        let n = unsafe { libc::send(self.socket.as_raw_fd(), self.packet.as_ptr().cast(), self.packet.len(), flags) };
        check(n, "send a probe").map(|_| ())
    }

    /// Returns a duplicate of the socket's descriptor.
    pub fn socket(&self) -> Result<OwnedFd> {
        let failed = |source| Error::Kernel { attempt: "double a probe's descriptor".into(), source };
        self.socket.try_clone().map_err(failed)
    }

    /// Returns the descriptor of the socket. The socket still owns the descriptor.
    pub fn raw(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Sets the TOS field of later packets. With `in_flight = "source"`, the TOS field selects the packet's path.
    pub fn set_tos(&self, tos: u8) -> Result<()> {
        socket::set_tos(self.socket.as_raw_fd(), tos)
    }
}

/// Returns the sum of a packet's 16-bit words. If the number of bytes is odd, the last byte is the upper half of a
/// word.
fn word_sum(packet: &[u8]) -> u32 {
    packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// Returns the checksum of RFC 1071, computed from the sum of the words.
fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_makes_the_words_add_up_to_ones() {
        for length in [8, 9, 64, 1480] {
            for index in [0u16, 1, 256, 65_535] {
                let mut packet: Vec<u8> = (0..length).map(|i| (i * 37 + 11) as u8).collect();
                packet[2..4].fill(0);
                packet[6..8].fill(0);
                let base = word_sum(&packet);
                packet[6..8].copy_from_slice(&index.to_be_bytes());
                packet[2..4].copy_from_slice(&checksum(base + u32::from(index)).to_be_bytes());
                assert_eq!(checksum(word_sum(&packet)), 0);
            }
        }
    }

    // Tests RFC 4737, 6 (periodic streams).
    #[test]
    fn packets_are_due_at_the_start_of_their_nanosecond() {
        let thirds = Pace::PerSecond(3.0);
        assert_eq!([0, 1, 2, 3].map(|k| thirds.offset_ns(k)), [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(thirds.offset_ns(3_000_000_000), 1_000_000_000_000_000_000);
        // 65,534 / 8,235 s
        assert_eq!(Pace::PerSecond(8235.0).offset_ns(65_534), 7_957_984_213);
        assert_eq!(Pace::PerSecond(0.5).offset_ns(3), 6_000_000_000);
        assert_eq!(Pace::EveryNs(7).offset_ns(6), 42);
        // packets of 1,042 bytes (8,336 bits) at 20 Mbit/s
        assert_eq!(Pace::Bits(20_000_000, 8336).offset_ns(10_000), 4_168_000_000);
    }
}
