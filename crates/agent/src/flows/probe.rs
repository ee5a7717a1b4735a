// SPDX-License-Identifier: Apache-2.0
//! Pings and datagram streams. Only sending is done here: when each packet left, arrived and came back is packet truth.

use super::socket;
use crate::error::{check, Result};
use crate::frame::{DESTINATION_PORT, SOURCE_PORT};
use crate::network::Network;
use leowarp_timeline::setup::{FlowKind, Setup};
use std::os::fd::{AsRawFd, OwnedFd};

const IP_UDP_ETHERNET_BYTES: u64 = 20 + 8 + 14;
/// ICMP_FILTER, linux/icmp.h
const ICMP_FILTER: i32 = 1;
const SOL_RAW: i32 = 255;

/// A flow of probes that is ready to run.
#[derive(Debug)]
pub struct Probe {
    pub flow: usize,
    kind: FlowKind,
    socket: OwnedFd,
    /// At the destination; keeps the port open.
    _sink: Option<OwnedFd>,
    packet: Vec<u8>,
    pub start_ns: i64,
    pub stop_ns: i64,
    rate_bps: u64,
    interval_ns: i64,
}

impl Probe {
    /// Opens its sockets in the namespaces of its hosts.
    pub fn open(network: &Network, setup: &Setup, flow: usize) -> Result<Self> {
        let spec = &setup.flows[flow];
        let (from, to) = (&setup.hosts[spec.source], &setup.hosts[spec.destination]);
        let payload = spec.payload_bytes.unwrap_or_default() as usize;
        let port = |base: u16| base + flow as u16;
        let (socket, sink, packet) = match spec.kind {
            FlowKind::Ping => {
                let fd = network.inside(from.node, || {
                    let fd = socket::open(libc::SOCK_RAW, libc::IPPROTO_ICMP)?;
                    // nothing that comes in is wanted here
                    socket::set(fd.as_raw_fd(), SOL_RAW, ICMP_FILTER, &u32::MAX, "filter a ping's socket")?;
                    Ok(fd)
                })?;
                let mut packet = vec![0u8; 8 + payload];
                packet[0] = 8;
                packet[4..6].copy_from_slice(&(flow as u16).to_be_bytes());
                (fd, None, packet)
            }
            _ => {
                let sink = network.inside(to.node, || {
                    let fd = socket::open(libc::SOCK_DGRAM, 0)?;
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
                    let fd = socket::open(libc::SOCK_DGRAM, 0)?;
                    socket::bind(&fd, &socket::address(from.address, port(SOURCE_PORT)))?;
                    Ok(fd)
                })?;
                (fd, Some(sink), vec![0u8; payload])
            }
        };
        let attempt = "connect a probe's socket";
        let to = socket::address(to.address, if sink.is_some() { port(DESTINATION_PORT) } else { 0 });
        socket::connect(socket.as_raw_fd(), &to).map_err(|errno| crate::error::Error::errno(attempt, errno))?;
        Ok(Self {
            flow,
            kind: spec.kind,
            socket,
            _sink: sink,
            packet,
            start_ns: spec.start_ns,
            stop_ns: spec.stop_ns,
            rate_bps: spec.rate_bps.unwrap_or_default(),
            interval_ns: spec.interval_ns.unwrap_or_default(),
        })
    }

    /// When its packet `index` is due, if it is.
    pub fn due_ns(&self, index: u64) -> Option<i64> {
        let offset_ns = match self.kind {
            FlowKind::Ping => index as i64 * self.interval_ns,
            _ => {
                let bits = 8 * (self.packet.len() as u64 + IP_UDP_ETHERNET_BYTES);
                (u128::from(index) * u128::from(bits) * 1_000_000_000 / u128::from(self.rate_bps)) as i64
            }
        };
        Some(self.start_ns + offset_ns).filter(|&t| t < self.stop_ns)
    }

    /// Sends packet `index`.
    pub fn send(&mut self, index: u64) -> Result<()> {
        if self.kind == FlowKind::Ping {
            self.packet[6..8].copy_from_slice(&(index as u16).to_be_bytes());
            let sum = checksum(&self.packet);
            self.packet[2..4].copy_from_slice(&sum.to_be_bytes());
        } else {
            self.packet[..8].copy_from_slice(&index.to_be_bytes());
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the packet lives through the call.
        let n = unsafe { libc::send(self.socket.as_raw_fd(), self.packet.as_ptr().cast(), self.packet.len(), flags) };
        check(n, "send a probe").map(|_| ())
    }

    pub fn set_tos(&self, tos: u8) -> Result<()> {
        socket::set_tos(self.socket.as_raw_fd(), tos)
    }
}

/// RFC 1071 over the packet with its own field taken as 0.
fn checksum(packet: &[u8]) -> u16 {
    let word = |(i, pair): (usize, &[u8])| match i {
        1 => 0,
        _ => u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)),
    };
    let mut sum: u32 = packet.chunks(2).enumerate().map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn the_checksum_makes_the_words_add_up_to_ones() {
        for length in [8, 9, 64] {
            let mut packet: Vec<u8> = (0..length).map(|i| (i * 37 + 11) as u8).collect();
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
            let mut total: u32 = 0;
            for pair in packet.chunks(2) {
                total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            }
            while total > 0xffff {
                total = (total & 0xffff) + (total >> 16);
            }
            assert_eq!(total, 0xffff);
        }
    }
}
