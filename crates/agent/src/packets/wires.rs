// SPDX-License-Identifier: Apache-2.0
//! Packets at the wires of hosts: by taps of the guest kernel, or by packet sockets where it has no taps (`--kernel`),
//! or where they are requested.

use crate::base::error::Result;
use crate::network::Network;
use crate::packets::frame::Frame;
use crate::packets::ring::{Ring, RETIRE_MS};
use crate::packets::taps::Taps;
use leowarp_timeline::setup::Capture;

/// The most by which one packet socket may be behind another: it hands over whatever it has after at most this.
pub const LAG_NS: i64 = 2 * RETIRE_MS as i64 * 1_000_000 + 10_000_000;

/// A wire to look at.
pub struct Wire {
    pub node: usize,
    pub ifindex: u32,
    pub snap_bytes: u32,
}

/// Wires by number.
pub enum Wires {
    Taps(Taps),
    /// One of each, which hand over what they have at different moments.
    Rings(Vec<Ring>),
}

impl Wires {
    /// Begins to look, at each in its node's namespace.
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

    /// Descriptors to wait for with poll(2).
    pub fn raw(&self) -> Vec<i32> {
        match self {
            Self::Taps(taps) => vec![taps.raw()],
            Self::Rings(rings) => rings.iter().map(Ring::raw).collect(),
        }
    }

    /// Whether by taps: all wires are read up to the same time, and poll(2) says POLLPRI if links have dropped packets
    /// that nobody has read of yet.
    pub fn are_by_taps(&self) -> bool {
        matches!(self, Self::Taps(_))
    }

    /// Works through the packets handed over: all of them, a part of those of taps, or at the end the rest. Each has
    /// the wire's number and the frame, those of a wire in the order of time. Whether there may be more.
    pub fn drain(&mut self, is_end: bool, mut each: impl FnMut(usize, &Frame) -> Result<()>) -> Result<bool> {
        match self {
            Self::Taps(taps) => taps.drain(is_end, each),
            Self::Rings(rings) => {
                let mut numbered = rings.iter_mut().enumerate();
                numbered.try_for_each(|(number, ring)| ring.drain(|frame| each(number, frame))).map(|()| false)
            }
        }
    }

    /// Frames of a wire that found no room; taps fail in `drain` then.
    pub fn missed_pkts(&self, number: usize) -> Result<u32> {
        match self {
            Self::Taps(_) => Ok(0),
            Self::Rings(rings) => rings[number].dropped(),
        }
    }
}
