// SPDX-License-Identifier: Apache-2.0
//! The kernel's reports on a TCP socket: TCP_INFO and TCP_CC_INFO.

use super::socket::{self, Plain};
use crate::base::error::{Error, Result};
use crate::network::leolink;
use std::fs::File;
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The `struct tcp_info` of Linux 6.12 (include/uapi/linux/tcp.h), with the kernel's names. libc's struct lacks the
/// byte with `tcpi_delivery_rate_app_limited`. Newer kernels only append fields, so an older kernel fills only the
/// first fields. All bits of the remaining fields are set, and tables show these fields as missing values. Each comment
/// between the fields names the kernel version that added the next fields.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TcpInfo {
    pub tcpi_state: u8,
    pub tcpi_ca_state: u8,
    pub tcpi_retransmits: u8,
    pub tcpi_probes: u8,
    pub tcpi_backoff: u8,
    pub tcpi_options: u8,
    /// The two bit fields `tcpi_snd_wscale` and `tcpi_rcv_wscale`.
    pub tcpi_wscales: u8,
    /// The two bit fields `tcpi_delivery_rate_app_limited` (the lowest bit) and `tcpi_fastopen_client_fail`.
    pub tcpi_flags: u8,
    pub tcpi_rto: u32,
    pub tcpi_ato: u32,
    pub tcpi_snd_mss: u32,
    pub tcpi_rcv_mss: u32,
    pub tcpi_unacked: u32,
    pub tcpi_sacked: u32,
    pub tcpi_lost: u32,
    pub tcpi_retrans: u32,
    pub tcpi_fackets: u32,
    pub tcpi_last_data_sent: u32,
    pub tcpi_last_ack_sent: u32,
    pub tcpi_last_data_recv: u32,
    pub tcpi_last_ack_recv: u32,
    pub tcpi_pmtu: u32,
    pub tcpi_rcv_ssthresh: u32,
    pub tcpi_rtt: u32,
    pub tcpi_rttvar: u32,
    pub tcpi_snd_ssthresh: u32,
    pub tcpi_snd_cwnd: u32,
    pub tcpi_advmss: u32,
    pub tcpi_reordering: u32,
    pub tcpi_rcv_rtt: u32,
    pub tcpi_rcv_space: u32,
    pub tcpi_total_retrans: u32,
    // Linux 3.15 and newer.
    pub tcpi_pacing_rate: u64,
    pub tcpi_max_pacing_rate: u64,
    // Linux 4.1 and newer.
    pub tcpi_bytes_acked: u64,
    pub tcpi_bytes_received: u64,
    // Linux 4.2 and newer.
    pub tcpi_segs_out: u32,
    pub tcpi_segs_in: u32,
    // Linux 4.6 and newer.
    pub tcpi_notsent_bytes: u32,
    pub tcpi_min_rtt: u32,
    pub tcpi_data_segs_in: u32,
    pub tcpi_data_segs_out: u32,
    // Linux 4.9 and newer.
    pub tcpi_delivery_rate: u64,
    // Linux 4.10 and newer.
    pub tcpi_busy_time: u64,
    pub tcpi_rwnd_limited: u64,
    pub tcpi_sndbuf_limited: u64,
    // Linux 4.18 and newer.
    pub tcpi_delivered: u32,
    pub tcpi_delivered_ce: u32,
    // Linux 4.19 and newer.
    pub tcpi_bytes_sent: u64,
    pub tcpi_bytes_retrans: u64,
    pub tcpi_dsack_dups: u32,
    pub tcpi_reord_seen: u32,
    // Linux 5.4 and newer.
    pub tcpi_rcv_ooopack: u32,
    pub tcpi_snd_wnd: u32,
    // Linux 6.2 and newer.
    pub tcpi_rcv_wnd: u32,
    pub tcpi_rehash: u32,
    // Linux 6.7 and newer.
    pub tcpi_total_rto: u16,
    pub tcpi_total_rto_recoveries: u16,
    pub tcpi_total_rto_time: u32,
}

// SAFETY: the struct consists of integers, without padding (the test below adds up their sizes).
unsafe impl Plain for TcpInfo {}

/// The `struct tcp_bbr_info` of include/uapi/linux/inet_diag.h, BBR's answer to TCP_CC_INFO.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BbrInfo {
    pub bbr_bw_lo: u32,
    pub bbr_bw_hi: u32,
    pub bbr_min_rtt: u32,
    pub bbr_pacing_gain: u32,
    pub bbr_cwnd_gain: u32,
}

// SAFETY: the struct consists of integers, without padding.
unsafe impl Plain for BbrInfo {}

/// The size of the struct up to Linux 5.4. Every supported kernel has at least these fields.
const LEAST_BYTES: usize = offset_of!(TcpInfo, tcpi_rcv_wnd);
const ESTABLISHED: u8 = 1;

impl TcpInfo {
    /// Reads the report on a socket.
    pub fn read(fd: i32) -> Result<Self> {
        match socket::get(fd, libc::IPPROTO_TCP, libc::TCP_INFO) {
            Ok((info, n)) if n >= LEAST_BYTES => Ok(info),
            Ok((_, n)) => Err(too_little(n)),
            Err(errno) => Err(Error::errno("read TCP_INFO", errno)),
        }
    }

    /// Parses an answer of sock_diag(7). None means that the answer is too short, because the kernel reports too few
    /// fields.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= LEAST_BYTES).then(|| socket::plain(bytes))
    }

    /// Returns whether the connection is established and not closed at either end (`TCP_ESTABLISHED`,
    /// include/net/tcp_states.h).
    pub fn is_established(&self) -> bool {
        self.tcpi_state == ESTABLISHED
    }

    /// Returns whether the application limited the latest sample of the delivery rate.
    pub fn is_app_limited(&self) -> bool {
        self.tcpi_flags & 1 != 0
    }
}

impl BbrInfo {
    /// Reads BBR's information about a socket. None means that the socket has another congestion control. Only a
    /// version of BBR gives an answer with exactly the length of `BbrInfo`. Vegas, DCTCP and similar congestion
    /// controls answer with 16 bytes. All others give no answer.
    pub fn read(fd: i32) -> Result<Option<Self>> {
        match socket::get(fd, libc::IPPROTO_TCP, libc::TCP_CC_INFO) {
            Ok((info, n)) => Ok((n == size_of::<Self>()).then_some(info)),
            Err(errno) => Err(Error::errno("read TCP_CC_INFO", errno)),
        }
    }

    /// Parses an answer of sock_diag(7). None means that the answer does not have the length of BBR's answer.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == size_of::<Self>()).then(|| socket::plain(bytes))
    }

    /// Returns the estimated bandwidth in bytes per second.
    pub fn bandwidth_bytes_per_s(&self) -> u64 {
        u64::from(self.bbr_bw_hi) << 32 | u64::from(self.bbr_bw_lo)
    }
}

/// A reader of the reports on many sockets in one system call (guest/tcp/sockets.c). With a custom kernel, one or two
/// calls per socket are needed.
pub struct Infos {
    file: Option<File>,
    /// The list of sockets that the kernel last received. The kernel reports on these sockets.
    told: Vec<i32>,
    buffer: Vec<u8>,
    /// The ranges of `buffer` with the answers and with the content of /proc/leolink/links. The agent reads both when
    /// it wakes from a sleep. Both are valid until virtual time advances.
    of_this_instant: Option<(Range<usize>, Range<usize>)>,
}

/// The layout of `struct answer` of guest/tcp/sockets.c: the offsets of its two parts, and its maximum size.
const CC_AT: usize = 8;
const INFO_AT: usize = 32;
const ANSWER_MOST_BYTES: usize = INFO_AT + 2 * size_of::<TcpInfo>();
/// The size of the field before the answers. This field contains the total length of the answers.
const LENGTH_BYTES: usize = 8;

impl Infos {
    /// Opens /proc/leolink/sockets if the kernel has it.
    pub fn open() -> Result<Self> {
        let path = "/proc/leolink/sockets";
        let file = leolink::open(path, File::options().read(true).write(true))?;
        Ok(Self { file, told: Vec::new(), buffer: Vec::new(), of_this_instant: None })
    }

    /// Returns one report per socket, in the order of `fds`.
    pub fn read(&mut self, fds: &[i32]) -> Result<Vec<(TcpInfo, Option<BbrInfo>)>> {
        if let Some((answers, _)) = self.of_this_instant.clone().filter(|_| fds == self.told) {
            return answers_of(fds, &self.buffer[answers]);
        }
        if !self.tell(fds, 0)? {
            return fds.iter().map(|&fd| Ok((TcpInfo::read(fd)?, BbrInfo::read(fd)?))).collect();
        }
        let Some(file) = self.file.as_ref().filter(|_| !fds.is_empty()) else { return Ok(Vec::new()) };
        let n = file.read_at(&mut self.buffer, 0).map_err(failed)?;
        answers_of(fds, &self.buffer[..n])
    }

    /// Sleeps until `monotonic_ns` on the monotonic clock. The same system call reads the reports on the sockets and
    /// the state of all links. The method `links` returns this state. Returns false if the call may have returned
    /// without sleeping. In that case, the caller itself must sleep.
    pub fn sleep_until(&mut self, monotonic_ns: i64, fds: &[i32], links_bytes: usize) -> Result<bool> {
        if !self.tell(fds, links_bytes)? {
            return Ok(false);
        }
        let Some(file) = &self.file else { return Ok(false) };
        let n = match file.read_at(&mut self.buffer, monotonic_ns as u64) {
            // A signal interrupted the sleep, or a socket was closed during the sleep. If this function returns false,
            // the caller sleeps and reads in separate calls, with the same result.
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EBADF)) => return Ok(false),
            read => read.map_err(failed)?,
        };
        let length = self.buffer[..n].first_chunk().map(|&first| u64::from_ne_bytes(first) as usize);
        let links_at = length.map(|length| LENGTH_BYTES + length).filter(|&at| at <= n);
        let links_at = links_at.ok_or_else(|| Error::Broken(format!("{n} bytes of sockets and links")))?;
        self.of_this_instant = Some((LENGTH_BYTES..links_at, links_at..n));
        Ok(true)
    }

    /// Returns the content of /proc/leolink/links at the end of the last sleep. None means that the last sleep did not
    /// read the file.
    pub fn links(&self) -> Option<&[u8]> {
        self.of_this_instant.as_ref().map(|(_, links)| &self.buffer[links.clone()])
    }

    /// Discards the reports, which are valid only for one instant. Must be called before virtual time advances.
    pub fn forget(&mut self) {
        self.of_this_instant = None;
    }

    /// Selects the sockets to report on. Reserves buffer space for the sockets' reports and for `more_bytes` bytes of
    /// other data. Returns false if this kernel lacks /proc/leolink/sockets.
    fn tell(&mut self, fds: &[i32], more_bytes: usize) -> Result<bool> {
        self.forget();
        let Some(file) = &self.file else { return Ok(false) };
        if fds != self.told {
            let words: Vec<u8> = fds.iter().flat_map(|fd| fd.to_ne_bytes()).collect();
            file.write_at(&words, 0).map_err(failed)?;
            self.told = fds.to_vec();
        }
        let room = LENGTH_BYTES + fds.len() * ANSWER_MOST_BYTES + more_bytes;
        self.buffer.resize(room.max(self.buffer.len()), 0);
        Ok(true)
    }
}

fn failed(source: std::io::Error) -> Error {
    Error::Kernel { attempt: "read TCP_INFO of all sockets".into(), source }
}

/// Splits `bytes` into one answer per socket.
fn answers_of(fds: &[i32], bytes: &[u8]) -> Result<Vec<(TcpInfo, Option<BbrInfo>)>> {
    if fds.is_empty() {
        return Ok(Vec::new());
    }
    let answer_bytes = bytes.len() / fds.len();
    if answer_bytes < INFO_AT {
        return Err(too_little(0));
    }
    bytes.chunks_exact(answer_bytes).map(answer).collect()
}

fn answer(bytes: &[u8]) -> Result<(TcpInfo, Option<BbrInfo>)> {
    let length = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes) as usize;
    let part = |at: usize, n: usize| bytes.get(at..at + n).unwrap_or_default();
    let info = TcpInfo::of_bytes(part(INFO_AT, length(0))).ok_or_else(|| too_little(length(0)))?;
    Ok((info, BbrInfo::of_bytes(part(CC_AT, length(4)))))
}

fn too_little(n: usize) -> Error {
    Error::Lacks {
        what: format!("TCP_INFO of this guest kernel has {n} bytes, at least {LEAST_BYTES} are needed"),
        hint: "use Linux 6.7 or newer".into(),
    }
}

/// Returns the number of payload bytes that a socket has received in order. The FIN of the other end counts as one
/// byte.
pub fn received_bytes(fd: i32) -> Result<u64> {
    TcpInfo::read(fd).map(|info| info.tcpi_bytes_received)
}

/// The `struct mptcp_info` of Linux 6.12 (include/uapi/linux/mptcp.h). The agent reads only one field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct MptcpInfo {
    before: [u64; 8],
    bytes_received: u64,
    after: [u64; 3],
}

// SAFETY: the struct consists of integers, without padding.
unsafe impl Plain for MptcpInfo {}

/// Returns the number of payload bytes that a Multipath TCP receiver has received in order, over all subflows.
pub fn received_by_mptcp_bytes(fd: i32) -> Result<u64> {
    const SOL_MPTCP: i32 = 284;
    const MPTCP_INFO: i32 = 1;
    match socket::get::<MptcpInfo>(fd, SOL_MPTCP, MPTCP_INFO) {
        Ok((info, n)) if n >= offset_of!(MptcpInfo, after) => Ok(info.bytes_received),
        Ok((_, n)) => Err(too_little(n)),
        Err(errno) => Err(Error::errno("read MPTCP_INFO", errno)),
    }
}

/// Returns the last advertised receive window (`tcp_sock.rcv_wnd`). 0 means that the kernel does not report the window
/// (before 6.2).
pub fn receive_window_bytes(fd: i32) -> u32 {
    TcpInfo::read(fd).map_or(0, |info| if info.tcpi_rcv_wnd == u32::MAX { 0 } else { info.tcpi_rcv_wnd })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tested fields have the same offset as in `struct tcp_info` of Linux 6.12. They include the last field of
    /// each kernel version.
    #[test]
    fn fields_are_where_the_kernel_has_them() {
        for (name, ours, theirs) in [
            ("tcpi_rto", offset_of!(TcpInfo, tcpi_rto), 8),
            ("tcpi_total_retrans", offset_of!(TcpInfo, tcpi_total_retrans), 100),
            ("tcpi_max_pacing_rate", offset_of!(TcpInfo, tcpi_max_pacing_rate), 112),
            ("tcpi_bytes_received", offset_of!(TcpInfo, tcpi_bytes_received), 128),
            ("tcpi_segs_in", offset_of!(TcpInfo, tcpi_segs_in), 140),
            ("tcpi_data_segs_out", offset_of!(TcpInfo, tcpi_data_segs_out), 156),
            ("tcpi_delivery_rate", offset_of!(TcpInfo, tcpi_delivery_rate), 160),
            ("tcpi_sndbuf_limited", offset_of!(TcpInfo, tcpi_sndbuf_limited), 184),
            ("tcpi_delivered_ce", offset_of!(TcpInfo, tcpi_delivered_ce), 196),
            ("tcpi_reord_seen", offset_of!(TcpInfo, tcpi_reord_seen), 220),
            ("tcpi_snd_wnd", offset_of!(TcpInfo, tcpi_snd_wnd), 228),
            ("tcpi_rehash", offset_of!(TcpInfo, tcpi_rehash), 236),
            ("tcpi_total_rto_time", offset_of!(TcpInfo, tcpi_total_rto_time), 244),
        ] {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!((size_of::<TcpInfo>(), size_of::<BbrInfo>(), LEAST_BYTES), (248, 20, 232));
        assert_eq!((offset_of!(MptcpInfo, bytes_received), size_of::<MptcpInfo>()), (64, 96));
    }

    #[test]
    fn a_socket_of_this_machine_answers_and_what_its_kernel_lacks_stays_missing() {
        let fd = socket::open(std::net::Ipv4Addr::LOCALHOST.into(), libc::SOCK_STREAM, 0).expect("a TCP socket");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&fd);
        let (info, n) = socket::get::<TcpInfo>(fd, libc::IPPROTO_TCP, libc::TCP_INFO).expect("TCP_INFO");
        // TCP_CLOSE, include/net/tcp_states.h
        assert_eq!(info.tcpi_state, 7);
        assert_eq!(info.tcpi_total_rto == u16::MAX, n < 242, "{n} bytes");
    }
}
