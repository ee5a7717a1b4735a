// SPDX-License-Identifier: Apache-2.0
//! Netlink messages for `leolink` (guest/links/leolink.h).

use crate::base::error::{self, Error};
use crate::network::netlink::{Batch, Nest, NLA_F_NESTED, NLM_F_CREATE, NLM_F_REPLACE, RTM_NEWQDISC};
use crate::network::tc::{share, tcmsg, Direction, Order, Say, TCA_KIND, TCA_OPTIONS};
use leowarp_timeline::setup::{EndMarker, Forwarding, HoldFull, Numbering, Ordering};
use leowarp_timeline::tables;
use std::fs::{File, OpenOptions};
use std::net::Ipv4Addr;

const LEOLINK_ID: u16 = 1;
const LEOLINK_RATE_BPS: u16 = 2;
const LEOLINK_DELAY_NS: u16 = 3;
const LEOLINK_LIMIT_PKTS: u16 = 4;
const LEOLINK_LIMIT_BYTES: u16 = 5;
const LEOLINK_OVERHEAD_BYTES: u16 = 6;
const LEOLINK_LOSS: u16 = 7;
const LEOLINK_SEED: u16 = 8;
const LEOLINK_DOWN: u16 = 9;
const LEOLINK_FLUSH: u16 = 10;
const LEOLINK_CAPACITY: u16 = 11;
const LEOLINK_CHANNEL: u16 = 12;
const LEOLINK_ORIGIN: u16 = 13;
const LEOLINK_IN_ORDER: u16 = 14;
const LEOLINK_PROBE_BYTES: u16 = 15;
const LEOLINK_SWITCH: u16 = 16;
const LEOLINK_ORDER: u16 = 17;
const LEOLINK_MERGE: u16 = 18;
const LEOLINK_MARKERS: u16 = 19;
const LEOLINK_NOTICE: u16 = 20;

const ORDER_NUMBER: u32 = 1;
const ORDER_RESTORE: u32 = 2;
const ORDER_BY_FLOW: u32 = 4;
const ORDER_ADVANCED: u32 = 8;
const ORDER_ELIMINATE: u32 = 16;

const SWITCH_MOVE: u32 = 1;
const SWITCH_HOLD: u32 = 2;
const SWITCH_SEND: u32 = 4;

const NOTICE_FALSE: u32 = 2;
const NOTICE_NO_OLD_WAY: u32 = 4;
const FORWARDING: &str = "/proc/leolink/forwarding";
const NAMESPACES: &str = "/proc/leolink/namespaces";
const PAYLOAD: &str = "/proc/leolink/payload";

/// The maximum size of a piece of a table. The length of a netlink attribute has only 16 bits.
const PIECE_BYTES: usize = 2048 * tables::RECORD_BYTES;

/// Selects whether nodes forward packets directly or by the kernel's IP stack (guest/links/leolink_direct.c).
pub fn set_forwarding(forwarding: Forwarding) -> error::Result<()> {
    let word = match forwarding {
        Forwarding::Direct => "direct",
        Forwarding::Kernel => "kernel",
    };
    // on a custom kernel without leolink, this setting is missing, and all packets go through the IP stack
    tell(FORWARDING, word).map(|_| ())
}

/// Registers each link of the calling thread's namespace if the link's other end has no leolink. Each of these links is
/// a wire, or a link that netem models.
pub fn forward_here() -> error::Result<()> {
    // on a custom kernel without leolink, this setting is missing, and nothing needs to be registered
    tell(FORWARDING, "here").map(|_| ())
}

/// Selects the kind of all namespaces that are created from now on. If `of_routers` is true, these namespaces are for
/// nodes that only forward packets. Such namespaces have no directories in /proc/sys and /sys (guest/netns/routers.c).
/// Returns false if this kernel has only ordinary namespaces.
pub fn set_namespaces(of_routers: bool) -> error::Result<bool> {
    tell(NAMESPACES, if of_routers { "router" } else { "host" })
}

/// Tells the kernel a range of memory. No program reads payload from this range after the payload is sent. The kernel
/// sends the bytes of this range without copying them (guest/tcp/payload.c).
pub fn set_payload(nobody_looks_at: &'static [u8]) -> error::Result<()> {
    let range = [nobody_looks_at.as_ptr() as u64, nobody_looks_at.len() as u64];
    // a custom kernel without the file PAYLOAD copies all payload
    tell(PAYLOAD, range.map(u64::to_ne_bytes).concat()).map(|_| ())
}

/// Opens a file that only leowarp's guest kernel has. Returns None if the file does not exist.
pub fn open(file: &str, options: &OpenOptions) -> error::Result<Option<File>> {
    match options.open(file) {
        Ok(opened) => Ok(Some(opened)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Kernel { attempt: format!("open {file}"), source }),
    }
}

/// Writes `what` to `file`, which only leowarp's guest kernel has. Returns false if the file does not exist.
fn tell(file: &str, what: impl AsRef<[u8]>) -> error::Result<bool> {
    match std::fs::write(file, &what) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => {
            Err(Error::Kernel { attempt: format!("write \"{}\" to {file}", what.as_ref().escape_ascii()), source })
        }
        Ok(()) => Ok(true),
    }
}

fn begin(batch: &mut Batch, ifindex: u32, flags: u16) -> Nest {
    batch.message(RTM_NEWQDISC, flags, &tcmsg(ifindex)).text(TCA_KIND, "leolink");
    batch.nest(TCA_OPTIONS | NLA_F_NESTED, &[])
}

/// Creates or changes a leolink. Settings that the message does not contain stay unchanged.
pub fn leolink(batch: &mut Batch, ifindex: u32, d: &Direction, say: Say) {
    let options = begin(batch, ifindex, if say == Say::All { NLM_F_CREATE | NLM_F_REPLACE } else { 0 });
    if say == Say::All {
        batch
            .u32(LEOLINK_ID, d.id)
            .u32(LEOLINK_LIMIT_PKTS, d.limit_pkts.unwrap_or(u32::MAX))
            .u32(LEOLINK_LIMIT_BYTES, d.limit_bytes.unwrap_or(u32::MAX))
            .u32(LEOLINK_OVERHEAD_BYTES, d.overhead_bytes as u32)
            .u64(LEOLINK_SEED, d.seed);
        if !d.in_order {
            batch.u32(LEOLINK_IN_ORDER, 0);
        }
        if d.probe_bytes > 0 {
            batch.u32(LEOLINK_PROBE_BYTES, d.probe_bytes);
        }
        if let Some(order) = d.order {
            batch.attribute(LEOLINK_ORDER, &order_bytes(order));
        }
    }
    if !d.has_capacity {
        batch.u64(LEOLINK_RATE_BPS, d.rate_bps);
    }
    if !d.has_channel {
        batch.u64(LEOLINK_DELAY_NS, d.delay_ns).u32(LEOLINK_LOSS, share(d.loss_ratio));
    }
    batch.u32(LEOLINK_DOWN, u32::from(d.down));
    if say == Say::Flush {
        batch.attribute(LEOLINK_FLUSH, &[]);
    }
    batch.end(&options);
}

/// Returns the bytes of `struct leolink_order`.
fn order_bytes(order: Order) -> [u8; 16] {
    let mut flags = if order.numbers { ORDER_NUMBER } else { 0 };
    flags |= if order.restores && order.resequence.is_some() { ORDER_RESTORE } else { 0 };
    flags |= if order.restores && order.eliminates { ORDER_ELIMINATE } else { 0 };
    flags |= if order.resequence.is_none_or(|r| r.by == Numbering::Flow) { ORDER_BY_FLOW } else { 0 };
    flags |= if order.resequence.is_some_and(|r| r.kind == Ordering::Advanced) { ORDER_ADVANCED } else { 0 };
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&flags.to_ne_bytes());
    bytes[8..].copy_from_slice(&order.resequence.map_or(0, |r| r.delay_ns).to_ne_bytes());
    bytes
}

/// A node's route to a host changes from one outgoing direction of the node to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    pub from: usize,
    pub destination: Ipv4Addr,
    /// The travel time of the last packet in the old direction, from the direction's far end to the host.
    pub rest_from_ns: u64,
    /// The minimum travel time of the first packet in the new direction, from the direction's far end to the host.
    pub rest_to_ns: u64,
    /// Whether packets that wait in the old direction are moved to the new direction.
    pub moves: bool,
    /// The size in bytes of the buffer in which packets for the new direction are held. `HoldFull` decides what happens
    /// if this buffer is full.
    pub hold: Option<(u32, HoldFull)>,
    /// If the cure of end markers is on, the merge that belongs to this switch. The last packet on the old direction is
    /// the marker `Merge::marker`. At the node where both paths meet, packets on the new direction wait for the marker.
    /// `Refused` is the reason why the cure sends no marker at this switch. None means that the cure never sends
    /// markers.
    pub marker: Option<Result<Merge, Refused>>,
    /// The time after the switch for which the old direction also carries copies of the packets sent on the new
    /// direction. If no copies are sent at this switch, `Refused` gives the reason. None means that the cure never
    /// sends copies.
    pub copies_ns: Option<Result<u64, Refused>>,
    /// The time after the switch for which packets on the new direction are marked as rerouted. None means that no
    /// packet can arrive on the old path, or that no cure uses the mark.
    pub new_way_ns: Option<u64>,
}

/// The reason why a cure cannot use the old path (enum leolink_refused).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The old link no longer leads to the host.
    NoOldWay = 1,
    /// The old link leads back to the node that sends the marker or the copies.
    SameWay = 2,
    /// The paths meet after a link without delay and rate. leolink does not notice arrivals on links without delay and
    /// rate.
    NoTime = 3,
}

/// The node where the old and the new path of a switch meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The number of the marker, from 1.
    pub marker: u32,
    /// On the old path, packets enter the node through the direction `from`. On the new path, they enter it through the
    /// direction `to`.
    pub from: usize,
    pub to: usize,
    pub end_marker: EndMarker,
}

/// Tells a leolink about the merge (`struct leolink_merge`). This leolink receives the packets of the new path.
pub fn merge(batch: &mut Batch, ifindex: u32, destination: Ipv4Addr, m: &Merge) {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&m.marker.to_ne_bytes());
    bytes[4..8].copy_from_slice(&destination.octets());
    bytes[8..16].copy_from_slice(&m.end_marker.wait_ns.to_ne_bytes());
    bytes[16..20].copy_from_slice(&(m.from as u32).to_ne_bytes());
    bytes[20..24].copy_from_slice(&m.end_marker.buffer.buffer_bytes.to_ne_bytes());
    let flags = if m.end_marker.buffer.full == HoldFull::Send { SWITCH_SEND } else { 0 };
    bytes[24..28].copy_from_slice(&flags.to_ne_bytes());
    let options = begin(batch, ifindex, 0);
    batch.attribute(LEOLINK_MERGE, &bytes);
    batch.end(&options);
}

/// A notice that tells a host about the new path of its packets to another host (`struct leolink_notice`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Notice {
    /// The number of the notice, from 1.
    pub number: u32,
    pub told: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub old_delay_ns: i64,
    pub new_delay_ns: i64,
    pub cause: NoticeCause,
    /// The time for which the node waits before it sends the notice.
    pub delay_ns: u64,
    pub is_lost: bool,
}

/// The kind of change that a notice announces: a real change or a false change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoticeCause {
    /// The node's route changes from the direction `from` to the direction that receives this message. `answer_ns` is
    /// the travel time from the destination back to the host, minus the travel time of the notice. `rests_ns` contains
    /// `rest_from_ns` and `rest_to_ns`, as in [`Switch`]. If packets sent before the change do not arrive, `rests_ns`
    /// is None.
    Change { from: usize, rests_ns: Option<(u64, u64)>, answer_ns: i64 },
    /// A false notice of a change that does not happen.
    False { wait_ns: u64 },
}

pub fn notice(batch: &mut Batch, ifindex: u32, n: &Notice) {
    let (mut flags, mut from, mut answer_ns, mut rests_ns) = (u32::from(n.is_lost), 0, 0, (0, 0));
    match n.cause {
        NoticeCause::False { wait_ns } => {
            flags |= NOTICE_FALSE;
            rests_ns.0 = wait_ns;
        }
        NoticeCause::Change { from: before, rests_ns: known, answer_ns: answer } => {
            flags |= if known.is_none() { NOTICE_NO_OLD_WAY } else { 0 };
            (from, answer_ns, rests_ns) = (before as u32, answer, known.unwrap_or_default());
        }
    }
    let mut bytes = Vec::with_capacity(72);
    for word in [n.number, flags] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(n.told.octets());
    bytes.extend(n.destination.octets());
    bytes.extend(n.old_delay_ns.to_ne_bytes());
    bytes.extend(n.new_delay_ns.to_ne_bytes());
    bytes.extend(rests_ns.0.to_ne_bytes());
    bytes.extend(rests_ns.1.to_ne_bytes());
    bytes.extend(answer_ns.to_ne_bytes());
    bytes.extend(n.delay_ns.to_ne_bytes());
    bytes.extend(from.to_ne_bytes());
    bytes.extend([0; 4]);
    let options = begin(batch, ifindex, 0);
    batch.attribute(LEOLINK_NOTICE, &bytes);
    batch.end(&options);
}

/// Tells a direction's leolink that markers may arrive.
pub fn expect_markers(batch: &mut Batch, ifindex: u32) {
    let options = begin(batch, ifindex, 0);
    batch.attribute(LEOLINK_MARKERS, &[]);
    batch.end(&options);
}

/// Tells the leolink of the new direction about a route change (`struct leolink_switch`).
pub fn switch(batch: &mut Batch, ifindex: u32, s: &Switch) {
    let mut bytes = [0; 56];
    bytes[..4].copy_from_slice(&(s.from as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&s.destination.octets());
    bytes[8..16].copy_from_slice(&s.rest_from_ns.to_ne_bytes());
    bytes[16..24].copy_from_slice(&s.rest_to_ns.to_ne_bytes());
    let mut flags = if s.moves { SWITCH_MOVE } else { 0 };
    if let Some((limit_bytes, full)) = s.hold {
        flags |= SWITCH_HOLD | if full == HoldFull::Send { SWITCH_SEND } else { 0 };
        bytes[28..32].copy_from_slice(&limit_bytes.to_ne_bytes());
    }
    let marker = s.marker.map_or(0, |marker| marker.map_or(0, |merge| merge.marker));
    // the agent never uses markers and copies together, so at most one of the two was refused
    let refused = [s.marker.and_then(Result::err), s.copies_ns.and_then(Result::err)];
    let refused = refused.into_iter().flatten().next().map_or(0, |refused| refused as u32);
    bytes[32..36].copy_from_slice(&marker.to_ne_bytes());
    bytes[36..40].copy_from_slice(&refused.to_ne_bytes());
    bytes[40..48].copy_from_slice(&s.copies_ns.and_then(Result::ok).unwrap_or_default().to_ne_bytes());
    bytes[48..].copy_from_slice(&s.new_way_ns.unwrap_or_default().to_ne_bytes());
    bytes[24..28].copy_from_slice(&flags.to_ne_bytes());
    let options = begin(batch, ifindex, 0);
    batch.attribute(LEOLINK_SWITCH, &bytes);
    batch.end(&options);
}

/// Sends the tables of a direction to its leolink (`leowarp_timeline::tables`). The times in the tables are relative to
/// `origin_ns` on the kernel's monotonic clock. Each batch contains one message, and the batches must be sent in order.
pub fn tables<'a>(
    ifindex: u32,
    origin_ns: i64,
    capacity: &'a [u8],
    channel: &'a [u8],
) -> impl Iterator<Item = Batch> + 'a {
    let say = move |kind: u16, value: &[u8]| {
        let mut batch = Batch::default();
        let options = begin(&mut batch, ifindex, 0);
        batch.attribute(kind, value);
        batch.end(&options);
        batch
    };
    let pieces = move |kind: u16, table: &'a [u8]| table.chunks(PIECE_BYTES).map(move |piece| say(kind, piece));
    let origin = std::iter::once_with(move || say(LEOLINK_ORIGIN, &origin_ns.to_ne_bytes()));
    origin.chain(pieces(LEOLINK_CAPACITY, capacity)).chain(pieces(LEOLINK_CHANNEL, channel))
}

#[cfg(test)]
#[path = "leolink_test.rs"]
mod tests;
