// SPDX-License-Identifier: Apache-2.0
//! Reads TCP_INFO of programs' sockets. The agent has no descriptors of these sockets, so the kernel lists the sockets
//! of each namespace (sock_diag(7)).
//!
//! Until the capture ends, it is unknown to which flow a socket belongs. Samples are therefore stored until the capture
//! ends.

use crate::base::error::{Error, Result};
use crate::flows::tcp_info::{BbrInfo, TcpInfo};
use crate::network::netlink::{attributes, Socket as Netlink};
use crate::network::Network;
use crate::observe::sample::socket_row;
use crate::packets::connections::Lived;
use leowarp_timeline::record::Socket;
use leowarp_timeline::setup::Setup;
use std::collections::{BTreeMap, BTreeSet};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The kinds of attributes in an answer. A request selects a kind by the bit with the number kind - 1
/// (include/uapi/linux/inet_diag.h). A request for Vegas returns BBR's attribute if the socket uses BBR
/// (net/ipv4/tcp_bbr.c, `bbr_get_info`).
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_VEGASINFO: u16 = 3;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_BBRINFO: u16 = 16;
/// All states of include/net/tcp_states.h except LISTEN (10), TIME_WAIT (6), NEW_SYN_RECV (12) and CLOSE (7). Sockets
/// in these four states have no TCP_INFO or no far end.
const STATES: u32 = 0xfff & !(1 << 10 | 1 << 6 | 1 << 12 | 1 << 7);
/// The size of struct inet_diag_msg, which has family, state, timer, retrans, both ends, and five numbers.
const MESSAGE_BYTES: usize = 4 + 48 + 20;
/// The maximum number of samples. At 400 bytes each, this number of samples takes half a gigabyte of the guest's
/// memory.
const SAMPLES_MAX: usize = 1 << 20;

/// The ends of a connection, in this order: local address, local port, remote address, remote port.
pub type Ends = (u32, u16, u32, u16);

/// The state of a socket at one instant.
#[derive(Debug)]
pub struct Sample {
    pub info: TcpInfo,
    pub bbr: Option<BbrInfo>,
    congestion_control: Option<String>,
}

/// The samples of sockets at hosts that run programs.
pub struct Diag {
    /// The number and netlink socket of each host that runs programs.
    hosts: Vec<(usize, Netlink)>,
    /// A map from (host, ends, time) to the sample of a socket.
    samples: BTreeMap<(usize, Ends, i64), Sample>,
    /// The source host and the destination host of each program flow. A host is given by its number and its address.
    ends: BTreeMap<usize, [(usize, u32); 2]>,
    /// The family of the listed sockets: AF_INET or AF_INET6.
    family: u8,
}

impl Diag {
    /// Opens a netlink socket at the source and the destination of each program flow. None means that the setup has no
    /// programs.
    pub fn open(network: &Network, setup: &Setup) -> Result<Option<Self>> {
        let programs = setup.flows.iter().enumerate().filter(|(_, f)| f.program.is_some());
        let end = |host: usize| (host, setup.hosts[host].short_address());
        let ends: BTreeMap<_, _> = programs.map(|(i, f)| (i, [end(f.source), end(f.destination)])).collect();
        let numbers: BTreeSet<usize> = ends.values().flatten().map(|end| end.0).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let open = |host: usize| Ok((host, network.inside(setup.hosts[host].node, Netlink::open_diag)?));
        let hosts = numbers.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Some(Self { hosts, samples: BTreeMap::new(), ends, family: family_of(setup) }))
    }

    /// Stores the present state of all sockets at `hosts`.
    pub fn sample(&mut self, t_ns: i64) -> Result<()> {
        for (host, netlink) in &self.hosts {
            sockets(netlink, self.family, |ends, sample| {
                self.samples.insert((*host, ends, t_ns), sample);
            })?;
        }
        if self.samples.len() <= SAMPLES_MAX {
            return Ok(());
        }
        Err(Error::Lacks {
            what: format!("more than {SAMPLES_MAX} samples of the programs' sockets"),
            hint: "look at them less often (observe.sockets), or let the programs open fewer connections".into(),
        })
    }

    /// For each connection, returns one row per sample of the sending socket. Also stores the socket's congestion
    /// control in the connection's entry of `connections`.
    pub fn rows<'a>(&'a self, connections: &'a mut [Lived]) -> impl Iterator<Item = Socket> + 'a {
        let all: Vec<_> = connections.iter().map(|c| (c.connection.clone(), c.start_ns)).collect();
        connections.iter_mut().filter(|c| c.connection.is_tcp).flat_map(move |lived| {
            let c = &lived.connection;
            let [source, destination] = self.ends[&c.program];
            let at_source = (source.1, c.source_port, destination.1, c.destination_port);
            let at_destination = (destination.1, c.destination_port, source.1, c.source_port);
            // A socket may outlive its last packet. From the start of the next connection between the same ports, the
            // samples therefore belong to this next connection.
            let next = all.iter().filter(|(other, start_ns)| other.has_ports_of(c) && *start_ns > lived.start_ns);
            let until_ns = next.map(|(_, start_ns)| *start_ns).min().unwrap_or(i64::MAX);
            let range = (source.0, at_source, lived.start_ns)..(source.0, at_source, until_ns);
            let mine: Vec<_> = self.samples.range(range).collect();
            lived.congestion_control = mine.iter().find_map(|(_, sample)| sample.congestion_control.clone());
            let flow = lived.flow;
            mine.into_iter().map(move |((_, _, t_ns), sample)| {
                let receiver = self.samples.get(&(destination.0, at_destination, *t_ns)).map(|r| &r.info);
                socket_row(*t_ns, flow, &sample.info, receiver, sample.bbr)
            })
        })
    }
}

/// Returns AF_INET or AF_INET6, the family of a run's sockets.
pub fn family_of(setup: &Setup) -> u8 {
    (if setup.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET }) as u8
}

/// Calls `each` with the state of every TCP socket in a netlink socket's namespace.
pub fn sockets(netlink: &Netlink, family: u8, mut each: impl FnMut(Ends, Sample)) -> Result<()> {
    let wanted =
        [INET_DIAG_INFO, INET_DIAG_VEGASINFO, INET_DIAG_CONG].iter().fold(0, |bits, kind| bits | 1 << (kind - 1));
    let mut request = vec![family, libc::IPPROTO_TCP as u8, wanted, 0];
    request.extend(STATES.to_ne_bytes());
    // zeros in the socket's id match connections between any two ends
    request.extend([0; 48]);
    netlink.dump(SOCK_DIAG_BY_FAMILY, &request, |body| {
        if let Some((ends, sample)) = read(body) {
            each(ends, sample);
        }
    })
}

/// Reads one socket from an answer. None means that the answer contains no TCP_INFO.
fn read(body: &[u8]) -> Option<(Ends, Sample)> {
    let port = |at: usize| Some(u16::from_be_bytes([*body.get(at)?, *body.get(at + 1)?]));
    let address = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
    // struct inet_diag_sockid begins with the two ports; source and destination follow with 16 bytes each. For IPv4,
    // only the first 4 of the 16 bytes of an address are used
    let short = if i32::from(*body.first()?) == libc::AF_INET6 { 12 } else { 0 };
    let ends = (address(8 + short)?, port(4)?, address(24 + short)?, port(6)?);
    let (mut info, mut bbr, mut congestion_control) = (None, None, None);
    for (kind, value) in attributes(body.get(MESSAGE_BYTES..)?) {
        match kind {
            INET_DIAG_INFO => info = TcpInfo::of_bytes(value),
            INET_DIAG_BBRINFO => bbr = BbrInfo::of_bytes(value),
            INET_DIAG_CONG => {
                congestion_control = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_string());
            }
            _ => {}
        }
    }
    Some((ends, Sample { info: info?, bbr, congestion_control }))
}
