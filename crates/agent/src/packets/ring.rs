// SPDX-License-Identifier: Apache-2.0
//! Captures an interface through a memory-mapped ring (TPACKET_V3, Documentation/networking/packet_mmap.rst).
//!
//! The kernel delivers a thousand packets or more per block, so one system call serves many packets. A few blocks are
//! enough, because virtual time pauses while the reader processes a block.

use crate::base::error::{check, Error, Result};
use crate::packets::frame::Frame;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

const BLOCK_BYTES: usize = 1 << 18;
const BLOCKS: usize = 8;
const FRAME_BYTES: usize = 2048;
/// The timeout of a block that is not full, in ms. A block that is not full is delivered after at most twice this time.
pub const RETIRE_MS: u32 = 500;

const SOL_PACKET: i32 = 263;
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const TPACKET_V3: i32 = 2;
const TP_STATUS_KERNEL: u32 = 0;
const TP_STATUS_USER: u32 = 1;
const ETH_P_ALL: u16 = 3;
const PACKET_OUTGOING: u8 = 4;
/// The offset of the packet type in a frame: sizeof(struct tpacket3_hdr) plus 10. A sockaddr_ll follows the header,
/// with the type at offset 10.
const PACKET_TYPE_AT: usize = 48 + 10;

/// A capture ring on one interface.
pub struct Ring {
    fd: OwnedFd,
    map: *mut u8,
    next: usize,
}

// SAFETY: only the ring uses the mapping.
unsafe impl Send for Ring {}

impl Ring {
    /// Captures the first `snap_bytes` of each frame of an interface in the calling thread's namespace.
    pub fn open(ifindex: u32, snap_bytes: u32) -> Result<Self> {
        #[repr(C)]
        struct Request {
            block_size: u32,
            block_nr: u32,
            frame_size: u32,
            frame_nr: u32,
            retire_blk_tov: u32,
            sizeof_priv: u32,
            feature_req_word: u32,
        }
        let request = Request {
            block_size: BLOCK_BYTES as u32,
            block_nr: BLOCKS as u32,
            frame_size: FRAME_BYTES as u32,
            frame_nr: (BLOCK_BYTES / FRAME_BYTES * BLOCKS) as u32,
            retire_blk_tov: RETIRE_MS,
            sizeof_priv: 0,
            feature_req_word: 0,
        };
        // BPF_RET | BPF_K: the filter keeps the first `snap_bytes`
        let mut code = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: snap_bytes }];
        let filter = libc::sock_fprog { len: 1, filter: code.as_mut_ptr() };
        // SAFETY: the block makes plain system calls, and their arguments outlive the calls. The mapping is as long as
        // the ring that was requested.
        unsafe {
            let fd =
                check(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0), "open a packet socket")?;
            let fd = OwnedFd::from_raw_fd(fd);
            set(&fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter, "filter a capture")?;
            set(&fd, SOL_PACKET, PACKET_VERSION, &TPACKET_V3, "choose TPACKET_V3")?;
            set(&fd, SOL_PACKET, PACKET_RX_RING, &request, "make a capture ring")?;
            let map = libc::mmap(
                std::ptr::null_mut(),
                BLOCK_BYTES * BLOCKS,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            );
            if map == libc::MAP_FAILED {
                return Err(Error::last_os("map a capture ring"));
            }
            // A child process that starts a program must not inherit the mapping. If the child inherited and unmapped
            // it, User Mode Linux would treat the ring's pages as anonymous memory ("Bad page map", mm/memory.c).
            check(libc::madvise(map, BLOCK_BYTES * BLOCKS, libc::MADV_DONTFORK), "keep a capture ring from children")?;
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = ETH_P_ALL.to_be();
            address.sll_ifindex = ifindex as i32;
            let size = size_of::<libc::sockaddr_ll>() as u32;
            check(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size), "capture an interface")?;
            Ok(Self { fd, map: map.cast(), next: 0 })
        }
    }

    /// Returns the descriptor for poll(2).
    pub fn raw(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Processes the ready blocks.
    pub fn drain(&mut self, mut each: impl FnMut(&Frame) -> Result<()>) -> Result<()> {
        loop {
            // SAFETY: after the kernel has set USER, it does not touch the block until the reader sets KERNEL. The
            // offsets and lengths in the block come from the kernel. Layout: struct tpacket_block_desc, tpacket3_hdr
            // (linux/if_packet.h).
            unsafe {
                let block = self.map.add(self.next * BLOCK_BYTES);
                let status = &*block.add(8).cast::<AtomicU32>();
                if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
                    return Ok(());
                }
                let word = |at: *const u8| at.cast::<u32>().read();
                let count = word(block.add(12));
                let mut packet = block.add(word(block.add(16)) as usize).cast_const();
                for _ in 0..count {
                    let mac = usize::from(packet.add(24).cast::<u16>().read());
                    each(&Frame {
                        real_ns: i64::from(word(packet.add(4))) * 1_000_000_000 + i64::from(word(packet.add(8))),
                        outgoing: *packet.add(PACKET_TYPE_AT) == PACKET_OUTGOING,
                        frame_bytes: word(packet.add(16)),
                        data: std::slice::from_raw_parts(packet.add(mac), word(packet.add(12)) as usize),
                    })?;
                    packet = packet.add(word(packet) as usize);
                }
                status.store(TP_STATUS_KERNEL, Ordering::Release);
                self.next = (self.next + 1) % BLOCKS;
            }
        }
    }

    /// Returns how many frames were dropped since the last call because the ring was full.
    pub fn dropped(&self) -> Result<u32> {
        let mut statistics = [0u32; 3];
        let mut size = size_of_val(&statistics) as u32;
        // SAFETY: the value has the given size.
        let result = unsafe {
            libc::getsockopt(self.raw(), SOL_PACKET, PACKET_STATISTICS, statistics.as_mut_ptr().cast(), &raw mut size)
        };
        check(result, "read a capture's statistics")?;
        Ok(statistics[1])
    }
}

unsafe fn set<T>(fd: &OwnedFd, level: i32, option: i32, value: &T, attempt: &str) -> Result<()> {
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const *value).cast(), size_of::<T>() as u32) };
    check(result, attempt).map(|_| ())
}
