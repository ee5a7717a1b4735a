// SPDX-License-Identifier: Apache-2.0
//! Sockets in the calling thread's namespace.

use crate::base::error::{check, Error, Result};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The upper-layer protocol that delays acknowledgements (guest/ulp/delack.c).
const DELACK: &str = "delack";
const TCP_ULP: i32 = 31;

/// An address and a port in the kernel's format.
#[derive(Clone, Copy)]
pub enum Address {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl Address {
    /// Returns a pointer to the address, and the address's length. The pointer is valid as long as `self` is borrowed.
    fn raw(&self) -> (*const libc::sockaddr, u32) {
        match self {
            Self::V4(a) => ((&raw const *a).cast(), size_of::<libc::sockaddr_in>() as u32),
            Self::V6(a) => ((&raw const *a).cast(), size_of::<libc::sockaddr_in6>() as u32),
        }
    }
}

/// Converts an address and a port.
pub fn address(ip: IpAddr, port: u16) -> Address {
    match ip {
        IpAddr::V4(ip) => Address::V4(address_v4(ip, port)),
        IpAddr::V6(ip) => Address::V6(libc::sockaddr_in6 {
            sin6_family: libc::AF_INET6 as u16,
            sin6_port: port.to_be(),
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: ip.octets() },
            sin6_scope_id: 0,
        }),
    }
}

/// Converts an IPv4 address and a port.
pub fn address_v4(ip: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
        sin_zero: [0; 8],
    }
}

/// Opens a socket in the calling thread's namespace. The socket has the address family of `of`. Programs that the agent
/// executes do not inherit the socket (SOCK_CLOEXEC).
pub fn open(of: IpAddr, kind: i32, protocol: i32) -> Result<OwnedFd> {
    let family = if of.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    // SAFETY: this is a plain system call; the descriptor is owned afterwards.
    unsafe {
        Ok(OwnedFd::from_raw_fd(check(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol), "open a socket")?))
    }
}

/// Binds a socket to a local address.
pub fn bind(fd: &OwnedFd, to: &Address) -> Result<()> {
    let (address, size) = to.raw();
    // SAFETY: the address outlives the call and has the size that is passed.
    check(unsafe { libc::bind(fd.as_raw_fd(), address, size) }, "bind a flow's socket").map(|_| ())
}

/// Connects a socket. Returns the errno on failure.
pub fn connect(fd: i32, to: &Address) -> std::result::Result<(), i32> {
    let (address, size) = to.raw();
    // SAFETY: the address outlives the call and has the size that is passed.
    match unsafe { libc::connect(fd, address, size) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// Sets a socket option to the bytes of `value`.
pub fn set<T>(fd: i32, level: i32, option: i32, value: &T, attempt: &str) -> Result<()> {
    // SAFETY: the value outlives the call and has the size that is passed.
    let result = unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), size_of::<T>() as u32) };
    check(result, attempt).map(|_| ())
}

/// A C struct for which every sequence of bytes is a valid value.
///
/// # Safety
///
/// The struct consists of integers, without padding.
pub unsafe trait Plain: Copy {}

/// Reads a socket option that is a struct. Returns the struct and the number of bytes that the kernel has written. In
/// all bytes that the kernel has not written, all bits are set. Returns the errno on failure.
pub fn get<T: Plain>(fd: i32, level: i32, option: i32) -> std::result::Result<(T, usize), i32> {
    let mut value = MaybeUninit::<T>::uninit();
    let mut size = size_of::<T>() as u32;
    // SAFETY: the value outlives the call and has the size that is passed; any bytes are valid.
    unsafe {
        std::ptr::write_bytes(value.as_mut_ptr(), 0xff, 1);
        match libc::getsockopt(fd, level, option, value.as_mut_ptr().cast(), &raw mut size) {
            0 => Ok((value.assume_init(), size as usize)),
            _ => Err(errno()),
        }
    }
}

/// Reads a struct from the beginning of `bytes`. If `bytes` is too short, all bits of the missing bytes are set.
pub fn plain<T: Plain>(bytes: &[u8]) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let count = bytes.len().min(size_of::<T>());
    // SAFETY: the copy is never longer than the value, and any bytes are valid for this type.
    unsafe {
        std::ptr::write_bytes(value.as_mut_ptr(), 0xff, 1);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast(), count);
        value.assume_init()
    }
}

/// Sets the TOS field of the packets that the socket sends from now on. The two ECN bits of a TCP socket stay
/// unchanged.
pub fn set_tos(fd: i32, tos: u8) -> Result<()> {
    set(fd, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(tos), "set the path of a flow")
}

/// Selects a TCP socket's congestion control.
///
/// # Errors
/// [`Error::Lacks`] with the available algorithms, if the kernel lacks the requested one.
pub fn set_congestion_control(fd: &OwnedFd, name: &str) -> Result<()> {
    // SAFETY: the name outlives the call and has the length that is passed.
    let result = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        libc::setsockopt(fd.as_raw_fd(), level, option, name.as_ptr().cast(), name.len() as u32)
    };
    if result == 0 {
        return Ok(());
    }
    if errno() != libc::ENOENT {
        return Err(Error::last_os(format!("choose the congestion control {name}")));
    }
    let available = crate::network::netns::sysctl("net.ipv4.tcp_available_congestion_control")?;
    Err(Error::Lacks {
        what: format!("congestion_control = {name:?}: this guest kernel does not have it"),
        hint: format!("{}it has: {available}", crate::programs::modules::offers()),
    })
}

/// Makes the socket wake its reader only when at least `bytes` bytes can be read. Returns false on failure.
pub fn set_low_water(fd: i32, bytes: u32) -> bool {
    set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(bytes as i32), "set SO_RCVLOWAT").is_ok()
}

/// Makes an accepted socket delay its acknowledgements. Returns false on failure.
pub fn delay_acks(fd: i32) -> bool {
    // SAFETY: the name outlives the call and has the length that is passed.
    unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, TCP_ULP, DELACK.as_ptr().cast(), DELACK.len() as u32) == 0 }
}

/// Fails if the kernel cannot delay acknowledgements.
pub fn require_delack() -> Result<()> {
    let available = crate::network::netns::sysctl("net.ipv4.tcp_available_ulp")?;
    if available.split_whitespace().any(|name| name == DELACK) {
        return Ok(());
    }
    Err(Error::Lacks {
        what: "delayed_ack = \"on\": this guest kernel has no upper-layer protocol delack".into(),
        hint: "build the kernel with `leowarp kernel build`, or write delayed_ack = \"adaptive\"".into(),
    })
}

/// Returns the errno of this thread's last system call. The errno must be read before the next system call.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
