// SPDX-License-Identifier: Apache-2.0
//! The addresses (endpoints) for the kernel's path manager of Multipath TCP
//! (Documentation/netlink/specs/mptcp_pm.yaml).
//!
//! A host gets an additional address from each host that joins it. As a source, the host opens a subflow from each
//! additional address. As a destination, the host announces each additional address (ADD_ADDR), and the source opens a
//! subflow to this address.

use crate::base::error::{Error, Result};
use crate::network::netlink::{attributes, Batch, Socket, NLA_F_NESTED};
use crate::network::{netns, Network};
use leowarp_timeline::setup::Setup;
use std::collections::BTreeSet;
use std::net::IpAddr;

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// The size of struct genlmsghdr: command, version, two bytes of padding.
const HEAD_BYTES: usize = 4;
const NAME: &[u8] = b"mptcp_pm\0";
const VERSION: u8 = 1;
const ADD_ADDR: u8 = 1;
const SET_LIMITS: u8 = 5;
const ENDPOINT: u16 = 1;
const FAMILY: u16 = 1;
const ADDRESS_IPV4: u16 = 3;
const ADDRESS_IPV6: u16 = 4;
const FLAGS: u16 = 6;
const LIMIT_OF_ANNOUNCED: u16 = 2;
const LIMIT_OF_SUBFLOWS: u16 = 3;
const SIGNAL: u32 = 1;
const SUBFLOW: u32 = 2;
/// The maximum number of endpoints in the kernel (MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h).
const MOST: u32 = 8;

/// Tells the path manager the additional addresses of each host that has Multipath TCP flows.
///
/// # Errors
/// [`Error::Lacks`] if the kernel has no Multipath TCP.
pub fn open(network: &Network, setup: &Setup) -> Result<()> {
    if !setup.has_mptcp() {
        return Ok(());
    }
    if !std::path::Path::new("/proc/sys/net/mptcp").exists() {
        return Err(Error::Lacks {
            what: "protocol = \"mptcp\": this guest kernel has no Multipath TCP".into(),
            hint: "write --kernel 6.12+net, or take guest.kernel out".into(),
        });
    }
    let whole = setup.flows.iter().filter(|f| f.is_mptcp && f.subflow_of.is_none());
    let hosts: BTreeSet<usize> = whole.flat_map(|f| [f.source, f.destination]).collect();
    for host in hosts {
        // addresses of joining hosts: a source opens subflows from them, and a destination announces them. A host may
        // be both a source and a destination
        let joining = |flags: u32, of: fn(&leowarp_timeline::setup::Flow) -> usize| {
            let mine = setup.flows.iter().filter(|f| f.subflow_of.is_some()).map(of);
            let mine: BTreeSet<usize> = mine.filter(|&i| setup.hosts[i].joins == Some(host)).collect();
            mine.into_iter().map(move |i| (setup.hosts[i].address, flags)).collect::<Vec<_>>()
        };
        let endpoints = [joining(SUBFLOW, |f| f.source), joining(SIGNAL, |f| f.destination)].concat();
        network.inside(setup.hosts[host].node, || tell(&endpoints))?;
    }
    Ok(())
}

/// Sets limits and endpoints in the calling thread's namespace.
fn tell(endpoints: &[(IpAddr, u32)]) -> Result<()> {
    netns::set_sysctl("net.mptcp.enabled", "1")?;
    let socket = Socket::open_generic()?;
    let family = family(&socket)?;
    let mut batch = Batch::default();
    batch.message(family, 0, &[SET_LIMITS, VERSION, 0, 0]);
    batch.u32(LIMIT_OF_ANNOUNCED, MOST).u32(LIMIT_OF_SUBFLOWS, MOST);
    for (address, flags) in endpoints {
        batch.message(family, 0, &[ADD_ADDR, VERSION, 0, 0]);
        let nest = batch.nest(ENDPOINT | NLA_F_NESTED, &[]);
        match address {
            IpAddr::V4(ip) => {
                batch.attribute(FAMILY, &(libc::AF_INET as u16).to_ne_bytes()).attribute(ADDRESS_IPV4, &ip.octets())
            }
            IpAddr::V6(ip) => {
                batch.attribute(FAMILY, &(libc::AF_INET6 as u16).to_ne_bytes()).attribute(ADDRESS_IPV6, &ip.octets())
            }
        };
        batch.u32(FLAGS, *flags);
        batch.end(&nest);
    }
    socket.send(&batch)?;
    let Some(refusal) = socket.refusals()?.into_iter().next() else { return Ok(()) };
    let words = refusal.text.as_deref().unwrap_or("the kernel gives no reason");
    Err(Error::errno(format!("tell the path manager of Multipath TCP the addresses of a host: {words}"), refusal.errno))
}

/// Returns the number of the path manager's netlink family.
fn family(socket: &Socket) -> Result<u16> {
    let mut found = None;
    socket.dump(GENL_ID_CTRL, &[CTRL_CMD_GETFAMILY, 1, 0, 0], |body| {
        let of = |wanted| attributes(body.get(HEAD_BYTES..).unwrap_or_default()).find(|a| a.0 == wanted).map(|a| a.1);
        if of(CTRL_ATTR_FAMILY_NAME) == Some(NAME) {
            found = of(CTRL_ATTR_FAMILY_ID).and_then(|id| Some(u16::from_ne_bytes([*id.first()?, *id.get(1)?])));
        }
    })?;
    found.ok_or_else(|| Error::Broken("the kernel has Multipath TCP, but no path manager".into()))
}
