// SPDX-License-Identifier: Apache-2.0
//! The samples of the kernel's state: TCP_INFO of both ends, each host's counters, and the queues.

use crate::base::error::{Error, Result};
use crate::base::table::Rows;
use crate::flows::tcp::Transfer;
use crate::flows::tcp_info::{BbrInfo, Infos, TcpInfo};
use crate::network::Network;
use leowarp_timeline::record::{Counter, Missing, Socket};
use leowarp_timeline::setup::Setup;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The initial value of the slow start threshold (include/net/tcp.h).
const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// The value of the smoothed round-trip time before the first measurement (`tcp_sock.srtt_us`; net/ipv4/tcp_input.c,
/// `tcp_rtt_estimator`).
const NO_RTT_YET: u32 = 0;
/// The unit of BBR's gains, which are fixed-point numbers (BBR_UNIT, net/ipv4/tcp_bbr.c).
const BBR_GAIN_UNIT: f64 = 256.0;

/// Returns `value` as the kernel reported it, or the value for "missing" if `is_given` is false.
fn given(value: u32, is_given: bool) -> u32 {
    if is_given {
        value
    } else {
        u32::MISSING
    }
}

/// Converts bytes to bits. `MISSING` is returned unchanged.
fn bits(bytes: u64) -> u64 {
    if bytes == u64::MISSING {
        bytes
    } else {
        bytes.saturating_mul(8)
    }
}

/// Returns whether an established transfer cannot send. This is the case if data wait, no data are in flight, and one
/// of two conditions holds. Either no data have been sent yet, or the congestion window is 0.
pub fn is_held_back(transfer: &Transfer) -> Result<bool> {
    let s = TcpInfo::read(transfer.sender())?;
    let nothing_leaves = s.tcpi_unacked == 0 && (s.tcpi_snd_cwnd == 0 || s.tcpi_bytes_sent == 0);
    Ok(s.is_established() && s.tcpi_notsent_bytes > 0 && nothing_leaves)
}

/// The descriptors of the sender's and the receiver's socket. The receiver has no socket before it accepts the
/// connection.
type Ends = (i32, Option<i32>);

fn ends(transfer: &Transfer) -> Ends {
    (transfer.sender(), transfer.receiver())
}

fn sockets(ends: &[Ends]) -> Vec<i32> {
    ends.iter().flat_map(|&(sender, receiver)| [Some(sender), receiver]).flatten().collect()
}

/// Sleeps until an instant of the monotonic clock. At this instant, `transfers` and all links are sampled. The same
/// system call sleeps and reads the state. Returns false if the call may have returned without sleeping. In that case,
/// the caller itself must sleep.
pub fn sleep_until(infos: &mut Infos, monotonic_ns: i64, transfers: &[&Transfer], links_bytes: usize) -> Result<bool> {
    let ends: Vec<Ends> = transfers.iter().map(|t| ends(t)).collect();
    infos.sleep_until(monotonic_ns, &sockets(&ends), links_bytes)
}

/// Adds one sample per transfer.
pub fn sample_sockets(rows: &mut Rows<Socket>, infos: &mut Infos, t_ns: i64, transfers: &[&Transfer]) -> Result<()> {
    let ends: Vec<Ends> = transfers.iter().map(|t| ends(t)).collect();
    let mut answers = infos.read(&sockets(&ends))?.into_iter();
    let mut next = || answers.next().ok_or_else(|| Error::Broken("fewer sockets were told of than were asked".into()));
    for (transfer, (_, receiver)) in transfers.iter().zip(ends) {
        let (s, bbr) = next()?;
        let r = receiver.map(|_| next()).transpose()?;
        rows.push(&socket_row(t_ns, transfer.flow, &s, r.map(|(r, _)| r).as_ref(), bbr))?;
    }
    Ok(())
}

/// Returns the row of the table `sockets` for a sender's socket at one instant. The values of the receiver's socket `r`
/// are added to the row.
pub fn socket_row(t_ns: i64, flow: usize, s: &TcpInfo, r: Option<&TcpInfo>, bbr: Option<BbrInfo>) -> Socket {
    let gain = |value: fn(&BbrInfo) -> u32| bbr.map_or(f64::MISSING, |b| f64::from(value(&b)) / BBR_GAIN_UNIT);
    let has_rtt = s.tcpi_rtt != NO_RTT_YET;
    Socket {
        t_ns,
        flow: flow as u32,
        state: s.tcpi_state,
        ca_state: s.tcpi_ca_state,
        cwnd_pkts: s.tcpi_snd_cwnd,
        ssthresh_pkts: given(s.tcpi_snd_ssthresh, s.tcpi_snd_ssthresh != TCP_INFINITE_SSTHRESH),
        srtt_us: given(s.tcpi_rtt, has_rtt),
        rttvar_us: given(s.tcpi_rttvar, has_rtt),
        // Before the first sample the value is ~0U (net/ipv4/tcp.c, `tcp_init_sock`), which is also the missing value
        // in the tables.
        min_rtt_us: s.tcpi_min_rtt,
        rto_us: s.tcpi_rto,
        // Without a limit the value is ~0ULL (net/ipv4/tcp.c, `tcp_get_info`), which is also the missing value in the
        // tables.
        pacing_bps: bits(s.tcpi_pacing_rate),
        delivery_rate_bps: bits(s.tcpi_delivery_rate),
        delivery_rate_app_limited: s.is_app_limited().into(),
        bytes_acked: s.tcpi_bytes_acked,
        bytes_sent: s.tcpi_bytes_sent,
        bytes_retrans: s.tcpi_bytes_retrans,
        bytes_received: r.map_or(u64::MISSING, |r| r.tcpi_bytes_received),
        segs_out_pkts: s.tcpi_segs_out,
        retrans_pkts: s.tcpi_total_retrans,
        lost_pkts: s.tcpi_lost,
        sacked_pkts: s.tcpi_sacked,
        unacked_pkts: s.tcpi_unacked,
        dsack_pkts: s.tcpi_dsack_dups,
        reordering_pkts: s.tcpi_reordering,
        reord_seen: s.tcpi_reord_seen,
        delivered_pkts: s.tcpi_delivered,
        delivered_ce_pkts: s.tcpi_delivered_ce,
        rcv_ooopack_pkts: r.map_or(u32::MISSING, |r| r.tcpi_rcv_ooopack),
        snd_mss_bytes: s.tcpi_snd_mss,
        busy_us: s.tcpi_busy_time,
        rwnd_limited_us: s.tcpi_rwnd_limited,
        sndbuf_limited_us: s.tcpi_sndbuf_limited,
        notsent_bytes: s.tcpi_notsent_bytes,
        bbr_bw_bps: bbr.map_or(u64::MISSING, |b| bits(b.bandwidth_bytes_per_s())),
        bbr_min_rtt_us: bbr.map_or(u32::MISSING, |b| b.bbr_min_rtt),
        bbr_pacing_gain: gain(|b| b.bbr_pacing_gain),
        bbr_cwnd_gain: gain(|b| b.bbr_cwnd_gain),
        retrans_out_pkts: s.tcpi_retrans,
        backoff: s.tcpi_backoff,
        snd_wnd_bytes: s.tcpi_snd_wnd,
        rto_pkts: s.tcpi_total_rto,
        rcv_rtt_us: r.map_or(u32::MISSING, |r| r.tcpi_rcv_rtt),
        rcv_space_bytes: r.map_or(u32::MISSING, |r| r.tcpi_rcv_space),
    }
}

/// The counters in /proc/net/snmp and /proc/net/netstat of every host. A run over IPv6 also has the counters in
/// /proc/net/snmp6.
pub struct Counters {
    files: Vec<Vec<File>>,
    names: Vec<String>,
    last: Vec<Vec<Option<u64>>>,
    buffer: Vec<u8>,
}

impl Counters {
    /// Opens /proc/net/snmp and /proc/net/netstat in the namespace of every host. The counter names are read only at
    /// the first host, because all hosts share one kernel.
    pub fn open(network: &Network, setup: &Setup) -> Result<Self> {
        let mut files = Vec::new();
        for host in &setup.hosts {
            if host.joins.is_some() {
                // a joining host uses the namespace of the host that it joins, and so has that host's counters
                files.push(Vec::new());
                continue;
            }
            files.push(network.inside(host.node, || {
                let open = |name: &str| {
                    let path = format!("/proc/thread-self/net/{name}");
                    File::open(&path).map_err(|source| Error::Kernel { attempt: format!("open {path}"), source })
                };
                let names: &[&str] = if setup.is_ipv6() { &["snmp", "netstat", "snmp6"] } else { &["snmp", "netstat"] };
                names.iter().map(|name| open(name)).collect()
            })?);
        }
        let mut counters = Self { files, names: Vec::new(), last: Vec::new(), buffer: vec![0; 64 * 1024] };
        if let Some(first) = counters.files.iter().position(|files| !files.is_empty()) {
            let mut names = Vec::new();
            counters.read(first, |name, _| names.push(name.to_string()))?;
            counters.names = names;
        }
        counters.last = vec![vec![None; counters.names.len()]; counters.files.len()];
        Ok(counters)
    }

    /// Returns the names of all counters, such as `TcpExt.TCPTimeouts`. A name's index is the counter's number in the
    /// table.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a row for each counter that changed.
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

    /// Calls `each` for each counter of a host. `snmp` and `netstat` contain pairs of lines, `Tcp: names` and `Tcp:
    /// values`. `snmp6` has one line per counter, with its name and value, such as `Ip6InReceives 9`.
    fn read(&mut self, host: usize, mut each: impl FnMut(&str, u64)) -> Result<()> {
        for file in &self.files[host] {
            let n = read_all(file, &mut self.buffer)?;
            let text = String::from_utf8_lossy(&self.buffer[..n]);
            if text.starts_with("Ip6") {
                of_ipv6(&text, &mut each);
                continue;
            }
            let mut lines = text.lines();
            while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
                let mut names = names.split_ascii_whitespace();
                let group = names.next().unwrap_or_default().trim_end_matches(':');
                // `IcmpMsg` has a column for a type only after a message of this type. The group is skipped, because
                // `Icmp` contains the sums
                if group == "IcmpMsg" {
                    continue;
                }
                for (name, value) in names.zip(values.split_ascii_whitespace().skip(1)) {
                    // MaxConn is -1 and is not a counter
                    if let Ok(value) = value.parse() {
                        each(&format!("{group}.{name}"), value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Converts the line `Ip6InReceives 9` to the counter `Ip6.InReceives`. Counters of single ICMP types are skipped. The
/// kernel lists the counter of a type only after a message of this type. Counters over all types, such as
/// `Icmp6InMsgs`, are kept.
fn of_ipv6(text: &str, each: &mut impl FnMut(&str, u64)) {
    for (name, value) in text.lines().filter_map(|line| line.split_once(char::is_whitespace)) {
        let Some((group, rest)) = name.split_once('6').filter(|(_, rest)| !rest.contains("Type")) else { continue };
        if let Ok(value) = value.trim().parse() {
            each(&format!("{group}6.{rest}"), value);
        }
    }
}

/// The packets that were lost between links, in the whole guest.
#[derive(Debug, Clone, Copy, Default)]
pub struct LostBetweenLinks {
    /// The number of packets for which a router had no route (net/ipv4/route.c).
    pub no_route_pkts: u64,
    /// The number of packets that a full queue dropped during address resolution (net/core/neighbour.c).
    pub unresolved_pkts: u64,
}

impl LostBetweenLinks {
    /// Returns the counts so far.
    pub fn so_far() -> Result<Self> {
        Ok(Self {
            no_route_pkts: statistic("/proc/net/stat/rt_cache", "in_no_route")?,
            unresolved_pkts: statistic("/proc/net/stat/arp_cache", "unresolved_discards")?,
        })
    }
}

/// Returns the number of packets whose time to live ended in the calling thread's namespace. net/ipv4/ip_forward.c and
/// ip6_forward count them as header errors. Header errors have no other cause in the guest.
pub fn expired_pkts(is_ipv6: bool) -> Result<u64> {
    if is_ipv6 {
        return counter_of_ipv6("Ip6InHdrErrors");
    }
    let path = "/proc/thread-self/net/snmp";
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Kernel { attempt: format!("read {path}"), source })?;
    header_errors(&text).ok_or_else(|| Error::Broken(format!("{path} has no InHdrErrors")))
}

/// Returns the number of IPv6 packets without a route in the calling thread's namespace (net/ipv6/route.c,
/// `ip6_pkt_discard`).
pub fn no_route_pkts() -> Result<u64> {
    counter_of_ipv6("Ip6InNoRoutes")
}

/// Returns an IPv6 counter of the calling thread's namespace.
fn counter_of_ipv6(name: &str) -> Result<u64> {
    let path = "/proc/thread-self/net/snmp6";
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Kernel { attempt: format!("read {path}"), source })?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.ok_or_else(|| Error::Broken(format!("{path} has no {name}")))
}

/// Returns the number of header errors. The file has a line with names, `Ip: ... | InHdrErrors ...`, and a line with
/// numbers.
fn header_errors(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:")).map(str::split_ascii_whitespace);
    let column = lines.next()?.position(|name| name == "InHdrErrors")?;
    lines.next()?.nth(column)?.parse().ok()
}

/// Returns the sum of a column in a file. The file has a line of column names, and then a line of hexadecimal numbers
/// for each processor.
fn statistic(path: &str, name: &str) -> Result<u64> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Kernel { attempt: format!("read {path}"), source })?;
    let mut lines = text.lines().map(|l| l.split_ascii_whitespace());
    let column = lines.next().and_then(|mut names| names.position(|n| n == name));
    let value = |mut line: std::str::SplitAsciiWhitespace| u64::from_str_radix(line.nth(column?)?, 16).ok();
    lines.map(value).sum::<Option<u64>>().ok_or_else(|| Error::Broken(format!("{path} has no column {name}")))
}

/// Reads a file of /proc in a single call, which returns the whole content.
pub fn read_all(file: &File, buffer: &mut [u8]) -> Result<usize> {
    let n =
        file.read_at(buffer, 0).map_err(|source| Error::Kernel { attempt: "read a file of /proc".into(), source })?;
    if n == buffer.len() {
        return Err(too_many(n));
    }
    Ok(n)
}

/// Returns the error for a /proc file that is longer than the buffer.
pub fn too_many(bytes: usize) -> Error {
    Error::Broken(format!("a file of /proc has more than the {bytes} bytes that were expected"))
}

#[cfg(test)]
mod tests {
    use super::header_errors;

    #[test]
    fn counters_of_ipv6_have_a_line_each() {
        let mut found = Vec::new();
        let text = "Ip6InReceives  \t9\nIcmp6InMsgs\t2\nIcmp6OutType128\t1\nUdpLite6InErrors\t0\n";
        super::of_ipv6(text, &mut |name, value| found.push((name.to_string(), value)));
        let expected = [("Ip6.InReceives", 9), ("Icmp6.InMsgs", 2), ("UdpLite6.InErrors", 0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn packets_that_went_in_a_circle_are_errors_of_the_ip_header() {
        let text =
            "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors\nIp: 1 64 9 7 0\nIcmp: InMsgs\nIcmp: 3\n";
        assert_eq!(header_errors(text), Some(7));
        assert_eq!(header_errors("Tcp: InHdrErrors\nTcp: 1\n"), None);
        assert_eq!(header_errors("Ip: InReceives\nIp: 9\n"), None);
    }
}
