// SPDX-License-Identifier: Apache-2.0
//! Network namespaces. A socket belongs for ever to the namespace in which it was opened, so threads visit a namespace
//! only to open sockets and files there.

use crate::error::{check, Error, Result};
use crate::netlink::Socket;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A namespace and the route netlink socket that was opened in it.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
    pub route: Socket,
}

impl Namespace {
    /// The calling thread's.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        let handle = File::open(path).map_err(|source| Error::Kernel { attempt: format!("open {path}"), source })?;
        Ok(Self { handle, route: Socket::open()? })
    }

    /// A new one; the calling thread is left in it.
    pub fn create() -> Result<Self> {
        // SAFETY: plain system call.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) }, "make a network namespace")?;
        Self::current()
    }

    /// Moves the calling thread there.
    pub fn enter(&self) -> Result<()> {
        // SAFETY: plain system call.
        check(unsafe { libc::setns(self.raw(), libc::CLONE_NEWNET) }, "enter a network namespace")?;
        Ok(())
    }

    /// Its descriptor, which stays the namespace's.
    pub fn raw(&self) -> i32 {
        self.handle.as_raw_fd()
    }
}

/// Sets a kernel parameter, by dotted name, of the calling thread's namespace or of the whole guest.
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

/// A kernel parameter, by dotted name.
pub fn sysctl(name: &str) -> Result<String> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim().to_string()),
        Err(source) => Err(Error::Kernel { attempt: format!("read {path}"), source }),
    }
}

/// Has every frame of the calling thread's namespace's interface leave as a packet of its own: the stack still hands
/// down large segments, as on any host, and they are cut before they reach the wire (and the capture).
pub fn disable_segmentation_offload(interface: &str) -> Result<()> {
    const SIOCETHTOOL: u64 = 0x8946;
    const ETHTOOL_STSO: u32 = 0x1f;
    #[repr(C)]
    struct Ifreq {
        name: [u8; 16],
        data: *mut u32,
        rest: [u8; 16],
    }
    let mut value = [ETHTOOL_STSO, 0];
    let mut request = Ifreq { name: [0; 16], data: value.as_mut_ptr(), rest: [0; 16] };
    request.name[..interface.len()].copy_from_slice(interface.as_bytes());
    // SAFETY: plain system calls; `request` points to `value`, and both live through the call.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0), "open a socket")?;
        let result = check(
            libc::ioctl(fd, SIOCETHTOOL as libc::Ioctl, &raw mut request),
            &format!("switch segmentation offload of {interface} off"),
        );
        libc::close(fd);
        result.map(|_| ())
    }
}
