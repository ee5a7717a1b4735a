// SPDX-License-Identifier: Apache-2.0
//! The packets on the wires of hosts. Taps in the guest kernel usually deliver the packets. Packet sockets are used if
//! the kernel has no taps (`--kernel`), or if packet sockets are requested.

use crate::base::error::Result;
use crate::network::Network;
use crate::packets::frame::Frame;
use crate::packets::ring::{Ring, RETIRE_MS};
use crate::packets::taps::Taps;
use leowarp_timeline::setup::Capture;

/// The maximum time until a packet socket delivers a packet.
pub const LAG_NS: i64 = 2 * RETIRE_MS as i64 * 1_000_000 + 10_000_000;

/// A wire to capture.
pub struct Wire {
    pub node: usize,
    pub ifindex: u32,
    pub snap_bytes: u32,
}

/// All captured wires. A wire's number is its index.
pub enum Wires {
    Taps(Taps),
    /// A packet socket for each wire. Packet sockets deliver their packets at different moments.
    Rings(Vec<Ring>),
}

impl Wires {
    /// Starts capturing each wire, in the namespace of its node.
    pub fn open(network: &Network, by: Capture, wires: &[Wire]) -> Result<Self> {
        let taps = if by == Capture::Taps { Taps::open()? } else { None };
        let Some(mut taps) = taps else {
            let ring = |w: &Wire| network.inside(w.node, || Ring::open(w.ifindex, w.snap_bytes));
            return Ok(Self::Rings(wires.iter().map(ring).collect::<Result<_>>()?));
        };
        for (number, wire) in wires.iter().enumerate() {
            network.inside(wire.node, || taps.add(wire.ifindex, number, wire.snap_bytes))?;
        }
        Ok(Self::Taps(taps))
    }

    /// Returns the descriptors for poll(2).
    pub fn raw(&self) -> Vec<i32> {
        match self {
            Self::Taps(taps) => vec![taps.raw()],
            Self::Rings(rings) => rings.iter().map(Ring::raw).collect(),
        }
    }

    /// Returns whether taps are used. With taps, all wires are read up to the same time. With taps, poll(2) also
    /// reports POLLPRI if some drops of links have not been read yet.
    pub fn are_by_taps(&self) -> bool {
        matches!(self, Self::Taps(_))
    }

    /// Processes the packets that the kernel has delivered. With packet sockets, one call processes all delivered
    /// packets. With taps, one call processes one chunk of packets. If `is_end` is true, a last chunk that is not full
    /// is also processed. `each` receives the wire's number and a frame. The frames of a wire come in order of time.
    /// Returns whether more packets may be available.
    pub fn drain(&mut self, is_end: bool, mut each: impl FnMut(usize, &Frame) -> Result<()>) -> Result<bool> {
        match self {
            Self::Taps(taps) => taps.drain(is_end, each),
            Self::Rings(rings) => {
                let mut numbered = rings.iter_mut().enumerate();
                numbered.try_for_each(|(number, ring)| ring.drain(|frame| each(number, frame))).map(|()| false)
            }
        }
    }

    /// Returns how many frames of a wire were dropped because the packet socket's ring was full. Drops by taps are not
    /// counted, because `drain` fails if a tap drops a frame.
    pub fn missed_pkts(&self, number: usize) -> Result<u32> {
        match self {
            Self::Taps(_) => Ok(0),
            Self::Rings(rings) => rings[number].dropped(),
        }
    }
}
