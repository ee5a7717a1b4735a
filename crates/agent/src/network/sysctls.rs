// SPDX-License-Identifier: Apache-2.0
//! The kernel parameters of the whole guest, set before the guest has a network.

use super::netns;
use crate::base::error::{Error, Result};
use leowarp_timeline::setup::Setup;

/// The kernel parameters of the first namespace. All later namespaces inherit them (net.core.devconf_inherit_init_net).
const OF_ALL_NAMESPACES: [(&str, &str); 8] = [
    ("net.core.devconf_inherit_init_net", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
    ("net.core.netdev_max_backlog", "1000000"),
    // the default is 4 per MiB of memory
    ("user.max_net_namespaces", "1000000"),
];

/// The IPv6 parameters of all namespaces, in kernels with IPv6. Packets that IPv6 sends by itself would need space in
/// the queues of links. Interfaces therefore have no link-local address, send no router solicitation, and report no
/// multicast group (`message::Interface`). `conf.all.forwarding` makes a node forward packets on all interfaces.
/// `conf.<interface>.forwarding` would have only one effect: the interface would join the multicast groups of routers
/// (net/ipv6/addrconf.c).
const OF_IPV6: [(&str, &str); 7] = [
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.dad_transmits", "0"),
    ("net.ipv6.conf.default.accept_redirects", "0"),
];

/// Sets this module's parameters and the setup's parameters. Returns whether the kernel has IPv6.
///
/// # Errors
/// [`Error::Lacks`] if the run uses IPv6 but the kernel lacks it, or if the kernel lacks a parameter of the setup.
pub(super) fn of_guest(setup: &Setup) -> Result<bool> {
    let has_ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    if setup.is_ipv6() && !has_ipv6 {
        return Err(Error::Lacks {
            what: "network.family = \"ipv6\": this guest kernel has no IPv6".into(),
            hint: "write --kernel 6.12+net, or take guest.kernel out".into(),
        });
    }
    let of_ipv6 = if has_ipv6 { &OF_IPV6[..] } else { &[] };
    for (name, value) in OF_ALL_NAMESPACES.iter().chain(of_ipv6) {
        netns::set_sysctl(name, value)?;
    }
    for (name, value) in &setup.sysctl {
        netns::set_sysctl(name, value)?;
    }
    Ok(has_ipv6)
}
