// SPDX-License-Identifier: Apache-2.0
//! Samples of the kernel's own state: TCP_INFO of both ends, the counters of each host, the queues.

use crate::error::{Error, Result};
use crate::flows::{socket, tcp::Transfer};
use crate::network::Network;
use crate::table::Rows;
use leowarp_timeline::record::{Counter, Socket};
use leowarp_timeline::setup::Setup;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// struct tcp_info of 6.12 has 248 bytes; a later kernel's begins the same.
const TCP_INFO_BYTES: usize = 248;
const BYTES_RECEIVED_AT: usize = 128;
const TCP_ESTABLISHED: u8 = 1;

/// The part of `struct tcp_info` that is recorded, by the offsets of include/uapi/linux/tcp.h.
struct TcpInfo([u8; TCP_INFO_BYTES]);

impl TcpInfo {
    fn read(fd: i32) -> Result<Self> {
        let mut bytes = [0; TCP_INFO_BYTES];
        match socket::get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes) {
            Ok(n) if n >= 232 => Ok(Self(bytes)),
            Ok(n) => Err(Error::Lacks {
                what: format!("TCP_INFO of this guest kernel has {n} bytes, at least 232 are needed"),
                hint: "use Linux 6.7 or newer".into(),
            }),
            Err(errno) => Err(Error::errno("read TCP_INFO", errno)),
        }
    }

    fn u8(&self, at: usize) -> u8 {
        self.0[at]
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from(self.u16(at + 2)) << 16 | u32::from(self.u16(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at + 4)) << 32 | u64::from(self.u32(at))
    }
}

/// Bits of a number of bytes; all ones stays so (not set).
fn bits(bytes: u64) -> u64 {
    if bytes == u64::MAX {
        bytes
    } else {
        bytes.saturating_mul(8)
    }
}

/// Payload that a socket has received in order. Once the other side has ended its stream it is one more: its end counts.
pub fn received_bytes(fd: i32) -> Result<u64> {
    TcpInfo::read(fd).map(|info| info.u64(BYTES_RECEIVED_AT))
}

/// Data waits in an established connection without any on its way, and either none was ever sent or the window is 0.
pub fn is_held_back(transfer: &Transfer) -> Result<bool> {
    let s = TcpInfo::read(transfer.shared.sender.as_raw_fd())?;
    let (cwnd_pkts, unacked_pkts, notsent_bytes, bytes_sent) = (s.u32(80), s.u32(24), s.u32(144), s.u64(200));
    Ok(s.u8(0) == TCP_ESTABLISHED && notsent_bytes > 0 && unacked_pkts == 0 && (cwnd_pkts == 0 || bytes_sent == 0))
}

/// Adds a sample of a transfer.
pub fn sample_socket(rows: &mut Rows<Socket>, t_ns: i64, transfer: &Transfer) -> Result<()> {
    let s = TcpInfo::read(transfer.shared.sender.as_raw_fd())?;
    let r = transfer.receiver().map(TcpInfo::read).transpose()?;
    let (mut bbr_bw_bps, mut bbr_min_rtt_us, mut gains) = (u64::MAX, u32::MAX, [f64::NAN; 2]);
    // BBR, whatever it is called, is the one that says this much; Vegas, DCTCP and their like say 16 bytes, others none
    let mut info = [0u8; 20];
    let n = socket::get(transfer.shared.sender.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CC_INFO, &mut info)
        .map_err(|errno| Error::errno("read TCP_CC_INFO", errno))?;
    if n == 20 {
        let word = |i: usize| u32::from_ne_bytes([info[4 * i], info[4 * i + 1], info[4 * i + 2], info[4 * i + 3]]);
        bbr_bw_bps = bits(u64::from(word(1)) << 32 | u64::from(word(0)));
        bbr_min_rtt_us = word(2);
        gains = [f64::from(word(3)) / 256.0, f64::from(word(4)) / 256.0];
    }
    let missing32 = |value: u32, missing: u32| if value == missing { u32::MAX } else { value };
    let receiver32 = |at: usize| r.as_ref().map_or(u32::MAX, |r| r.u32(at));
    let srtt_us = s.u32(68);
    rows.push(&Socket {
        t_ns,
        flow: transfer.flow as u32,
        state: s.u8(0),
        ca_state: s.u8(1),
        cwnd_pkts: s.u32(80),
        ssthresh_pkts: missing32(s.u32(76), 0x7fff_ffff),
        srtt_us: missing32(srtt_us, 0),
        rttvar_us: if srtt_us == 0 { u32::MAX } else { s.u32(72) },
        min_rtt_us: s.u32(148),
        rto_us: s.u32(8),
        pacing_bps: bits(s.u64(104)),
        delivery_rate_bps: bits(s.u64(160)),
        delivery_rate_app_limited: s.u8(7) & 1,
        bytes_acked: s.u64(120),
        bytes_sent: s.u64(200),
        bytes_retrans: s.u64(208),
        bytes_received: r.as_ref().map_or(u64::MAX, |r| r.u64(BYTES_RECEIVED_AT)),
        segs_out_pkts: s.u32(136),
        retrans_pkts: s.u32(100),
        lost_pkts: s.u32(32),
        sacked_pkts: s.u32(28),
        unacked_pkts: s.u32(24),
        dsack_pkts: s.u32(216),
        reordering_pkts: s.u32(88),
        reord_seen: s.u32(220),
        delivered_pkts: s.u32(192),
        delivered_ce_pkts: s.u32(196),
        rcv_ooopack_pkts: receiver32(224),
        snd_mss_bytes: s.u32(16),
        busy_us: s.u64(168),
        rwnd_limited_us: s.u64(176),
        sndbuf_limited_us: s.u64(184),
        notsent_bytes: s.u32(144),
        bbr_bw_bps,
        bbr_min_rtt_us,
        bbr_pacing_gain: gains[0],
        bbr_cwnd_gain: gains[1],
        retrans_out_pkts: s.u32(36),
        backoff: s.u8(4),
        snd_wnd_bytes: s.u32(228),
        rto_pkts: s.u16(240),
        rcv_rtt_us: receiver32(92),
        rcv_space_bytes: receiver32(96),
    })
}

/// The counters of /proc/net/snmp and netstat of every host.
pub struct Counters {
    files: Vec<[File; 2]>,
    names: Vec<String>,
    last: Vec<Vec<Option<u64>>>,
    buffer: Vec<u8>,
}

impl Counters {
    pub fn open(network: &Network, setup: &Setup) -> Result<Self> {
        let mut files = Vec::new();
        for host in &setup.hosts {
            files.push(network.inside(host.node, || {
                let open = |name: &str| {
                    let path = format!("/proc/thread-self/net/{name}");
                    File::open(&path).map_err(|source| Error::Kernel { attempt: format!("open {path}"), source })
                };
                Ok([open("snmp")?, open("netstat")?])
            })?);
        }
        let mut counters = Self { files, names: Vec::new(), last: Vec::new(), buffer: vec![0; 64 * 1024] };
        if !counters.files.is_empty() {
            let mut names = Vec::new();
            counters.read(0, |name, _| names.push(name.to_string()))?;
            counters.names = names;
        }
        counters.last = vec![vec![None; counters.names.len()]; counters.files.len()];
        Ok(counters)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds those that changed.
    pub fn sample(&mut self, rows: &mut Rows<Counter>, t_ns: i64) -> Result<()> {
        for host in 0..self.files.len() {
            let mut last = std::mem::take(&mut self.last[host]);
            let mut changed = Vec::new();
            let mut counter = 0;
            self.read(host, |_, value| {
                if last[counter] != Some(value) {
                    last[counter] = Some(value);
                    changed.push(Counter { t_ns, host: host as u32, counter: counter as u32, value });
                }
                counter += 1;
            })?;
            self.last[host] = last;
            changed.iter().try_for_each(|row| rows.push(row))?;
        }
        Ok(())
    }

    /// Both files are pairs of lines: `Tcp: names` and `Tcp: values`.
    fn read(&mut self, host: usize, mut each: impl FnMut(&str, u64)) -> Result<()> {
        for file in &self.files[host] {
            let n = read_all(file, &mut self.buffer)?;
            let text = String::from_utf8_lossy(&self.buffer[..n]);
            let mut lines = text.lines();
            while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
                let mut names = names.split_ascii_whitespace();
                let group = names.next().unwrap_or_default().trim_end_matches(':');
                // its columns appear as messages do; `Icmp` has the sums
                if group == "IcmpMsg" {
                    continue;
                }
                for (name, value) in names.zip(values.split_ascii_whitespace().skip(1)) {
                    // MaxConn is -1: not a counter
                    if let Ok(value) = value.parse() {
                        each(&format!("{group}.{name}"), value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Packets that no router had a route for, in the whole guest (net/ipv4/route.c).
pub fn no_route_pkts() -> Result<u64> {
    statistic("/proc/net/stat/rt_cache", "in_no_route")
}

/// Packets that found the queue of a neighbour full whose address was being resolved (net/core/neighbour.c).
pub fn unresolved_pkts() -> Result<u64> {
    statistic("/proc/net/stat/arp_cache", "unresolved_discards")
}

/// A column of a file with a line of names and a line of hexadecimal numbers for each processor.
fn statistic(path: &str, name: &str) -> Result<u64> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Kernel { attempt: format!("read {path}"), source })?;
    let mut lines = text.lines().map(|l| l.split_ascii_whitespace());
    let column = lines.next().and_then(|mut names| names.position(|n| n == name));
    let value = |mut line: std::str::SplitAsciiWhitespace| u64::from_str_radix(line.nth(column?)?, 16).ok();
    lines.map(value).sum::<Option<u64>>().ok_or_else(|| Error::Broken(format!("{path} has no column {name}")))
}

/// A file of /proc in one read, as its makers give it; a second one to see the end would cost another system call.
pub fn read_all(file: &File, buffer: &mut [u8]) -> Result<usize> {
    let n =
        file.read_at(buffer, 0).map_err(|source| Error::Kernel { attempt: "read a file of /proc".into(), source })?;
    if n == buffer.len() {
        return Err(Error::Broken(format!("a file of /proc has more than the {n} bytes that were expected")));
    }
    Ok(n)
}
