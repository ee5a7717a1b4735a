// SPDX-License-Identifier: Apache-2.0
//! Network namespaces. A socket always belongs to the namespace in which it was opened. Threads enter a namespace only
//! to open sockets and files in it.

use crate::base::error::{check, Error, Result};
use crate::network::leolink;
use crate::network::netlink::Socket;
use leowarp_timeline::setup::{NodeKind, Setup};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A namespace and its route netlink socket.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
    pub route: Socket,
}

impl Namespace {
    /// Returns the calling thread's namespace.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        let handle = File::open(path).map_err(|source| Error::Kernel { attempt: format!("open {path}"), source })?;
        Ok(Self { handle, route: Socket::open()? })
    }

    /// Creates a namespace and moves the calling thread into it.
    pub fn create() -> Result<Self> {
        // SAFETY: this is a plain system call.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) }, "make a network namespace")?;
        Self::current()
    }

    /// Moves the calling thread into this namespace.
    pub fn enter(&self) -> Result<()> {
        enter(self.raw())
    }

    /// Returns the descriptor of the namespace. The namespace still owns the descriptor.
    pub fn raw(&self) -> i32 {
        self.handle.as_raw_fd()
    }
}

/// Moves the calling thread into the namespace of the descriptor `namespace`.
pub fn enter(namespace: i32) -> Result<()> {
    // SAFETY: this is a plain system call.
    check(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) }, "enter a network namespace").map(|_| ())
}

/// Sets a kernel parameter by its dotted name. Some parameters belong to the calling thread's namespace, and other
/// parameters belong to the whole guest.
pub fn set_sysctl(name: &str, value: &str) -> Result<()> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    std::fs::write(&path, value).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::Lacks {
            what: format!("set sysctl {name} = {value:?}: this guest kernel has no such parameter"),
            hint: "check its name in [tcp] sysctl, or use a kernel that has it (--kernel)".into(),
        },
        io::ErrorKind::InvalidInput => Error::Lacks {
            what: format!("set sysctl {name} = {value:?}: the guest kernel refuses this value"),
            hint: "see Documentation/networking/ip-sysctl.rst of the kernel for what it takes".into(),
        },
        _ => Error::Kernel { attempt: format!("set sysctl {name} = {value:?}"), source: e },
    })
}

/// Returns the value of a kernel parameter by its dotted name.
pub fn sysctl(name: &str) -> Result<String> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim().to_string()),
        Err(source) => Err(Error::Kernel { attempt: format!("read {path}"), source }),
    }
}

/// Makes TCP segments leave an interface as separate packets. TCP still builds larger segments, but the kernel splits
/// them before they reach the wire and the capture.
pub fn disable_segmentation_offload(interface: &str) -> Result<()> {
    const ETHTOOL_STSO: u32 = 0x1f;
    let mut value = [ETHTOOL_STSO, 0];
    ethtool(interface, value.as_mut_ptr().cast(), "switch segmentation offload off")
}

/// Makes datagrams leave an interface as separate packets. By default, QUIC stacks send several datagrams as one packet
/// (UDP_SEGMENT, udp(7)). In separate packets, each datagram has a checksum, which distinguishes captured datagrams of
/// equal length.
pub fn disable_datagram_offload(interface: &str) -> Result<()> {
    const ETHTOOL_SFEATURES: u32 = 0x3b;
    let names = features(interface)?;
    // struct ethtool_sfeatures has two words per 32 features: a mask of the features to set, and their values
    let blocks = names.len().div_ceil(32);
    let mut request = vec![0u32; 2 + 2 * blocks];
    (request[0], request[1]) = (ETHTOOL_SFEATURES, blocks as u32);
    for wanted in ["tx-udp-segmentation", "tx-checksum-ip-generic"] {
        let place = names.iter().position(|name| name == wanted);
        let place = place.ok_or_else(|| Error::Lacks {
            what: format!("follow the packets of programs: interfaces of this guest kernel have no feature {wanted}"),
            hint: "use leowarp's own kernel".into(),
        })?;
        request[2 + 2 * (place / 32)] |= 1 << (place % 32);
    }
    ethtool(interface, request.as_mut_ptr().cast(), "switch offload of datagrams off")
}

/// Returns the names of an interface's features, indexed by feature number.
fn features(interface: &str) -> Result<Vec<String>> {
    const ETHTOOL_GSTRINGS: u32 = 0x1b;
    const ETH_SS_FEATURES: u32 = 4;
    const NAME_BYTES: usize = 32;
    // In Linux 6.12, an interface has 64 features. A kernel with more than `MOST` features reports a larger count and
    // truncates the data.
    const MOST: usize = 256;
    let mut strings = vec![0u32; 3 + MOST * NAME_BYTES / 4];
    (strings[0], strings[1], strings[2]) = (ETHTOOL_GSTRINGS, ETH_SS_FEATURES, 0);
    ethtool(interface, strings.as_mut_ptr().cast(), "read the names of its features")?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |raw: &[u8]| String::from_utf8_lossy(raw.split(|&b| b == 0).next().unwrap_or_default()).into_owned();
    Ok(bytes.chunks_exact(NAME_BYTES).take((strings[2] as usize).min(MOST)).map(name).collect())
}

/// Sends an ethtool request to an interface of the calling thread's namespace. `value` is the argument of SIOCETHTOOL.
fn ethtool(interface: &str, value: *mut libc::c_void, attempt: &str) -> Result<()> {
    const SIOCETHTOOL: u64 = 0x8946;
    #[repr(C)]
    struct Ifreq {
        name: [u8; 16],
        data: *mut libc::c_void,
        rest: [u8; 16],
    }
    let mut request = Ifreq { name: [0; 16], data: value, rest: [0; 16] };
    request.name[..interface.len()].copy_from_slice(interface.as_bytes());
    // SAFETY: these are plain system calls. The callers' values outlive the call and have the size that their command
    // requires.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0), "open a socket")?;
        let result = check(
            libc::ioctl(fd, SIOCETHTOOL as libc::Ioctl, &raw mut request),
            &format!("interface {interface}: {attempt}"),
        );
        libc::close(fd);
        result.map(|_| ())
    }
}

/// Creates the namespace of a node and moves the calling thread into it.
pub fn of_node(setup: &Setup, node: usize) -> Result<Namespace> {
    let is_router = setup.nodes[node].kind != NodeKind::Host;
    // in a run with a shell, users expect the usual directories in a router's namespace
    let wants_bare = is_router && setup.shell.is_none();
    let is_bare = leolink::set_namespaces(wants_bare)? && wants_bare;
    let space = Namespace::create()?;
    if is_router && !is_bare {
        // with ip_early_demux, the kernel would search for a local socket for each forwarded packet
        set_sysctl("net.ipv4.ip_early_demux", "0")?;
    }
    Ok(space)
}

/// Returns, for each node, the node whose namespace it uses (`Network::homes`).
pub fn homes(setup: &Setup) -> Vec<usize> {
    let mut homes: Vec<usize> = (0..setup.nodes.len()).collect();
    for (host, spec) in setup.hosts.iter().enumerate() {
        homes[spec.node] = setup.home_of(host);
    }
    homes
}

/// Watches the route netlink socket of a node.
pub fn watched(watch: &OwnedFd, node: usize, space: &Namespace) -> Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: node as u64 };
    // SAFETY: `event` lives through the call.
    check(
        unsafe { libc::epoll_ctl(watch.as_raw_fd(), libc::EPOLL_CTL_ADD, space.route.raw(), &raw mut event) },
        "watch a netlink socket",
    )
    .map(|_| ())
}
