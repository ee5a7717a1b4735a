// SPDX-License-Identifier: Apache-2.0
//! Netlink messages for the queueing disciplines `netem` and `jitter`. The discipline `jitter` is a `tbf` with a netem
//! as its child. The module `leolink` builds messages for leowarp's own discipline, and `aqm` for the children of a
//! leolink.
//!
//! Before working on `jitter` read net/sched/sch_netem.c (netem_enqueue, tabledist, netem_change) and sch_tbf.c. If a
//! netem has no rate, it sends each packet after a random delay of its own, so packets overtake each other. A netem
//! with a rate would keep the packets in order. In the discipline `jitter`, a tbf therefore limits the rate. The tbf
//! takes packets when they leave netem's delay line. Packets that wait for tbf stay in netem's queue, so netem's limit
//! counts waiting packets and packets in flight.

use crate::network::netlink::{Batch, NLA_F_NESTED, NLM_F_CREATE, NLM_F_REPLACE, RTM_DELQDISC, RTM_NEWQDISC};
use leowarp_timeline::setup::{QueueCounts, Resequence};

/// The attributes of a discipline: its name and its options (include/uapi/linux/rtnetlink.h).
pub const TCA_KIND: u16 = 1;
pub const TCA_OPTIONS: u16 = 2;
const TC_H_ROOT: u32 = 0xffff_ffff;
/// The handle of the root discipline, 1:0.
const HANDLE: u32 = 0x0001_0000;
/// The only class of tbf and leolink, 1:1. A discipline attached to this class has the handle 2:0.
pub const CHILD_PARENT: u32 = 0x0001_0001;
pub const CHILD_HANDLE: u32 = 0x0002_0000;

const TCA_STAB: u16 = 8;
const TCA_STAB_BASE: u16 = 1;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;

const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;
/// The size of an Ethernet header.
pub const ETHERNET_BYTES: u32 = 14;
/// The rate of an unshaped netem. Without a rate, netem sorts packets by their time of departure, so packets would be
/// reordered when the delay falls. At 2^40 byte/s, a frame takes 1 ns, and netem keeps the order.
const NETEM_UNSHAPED_BYTES_PER_S: u64 = 1 << 40;
const NETEM_UNLIMITED_PKTS: u32 = 1 << 30;

/// The intended settings for one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// The number of the direction: `2 * link` from a to b, and `2 * link + 1` from b to a.
    pub id: u32,
    /// The rate. 0 means unshaped.
    pub rate_bps: u64,
    pub delay_ns: u64,
    pub loss_ratio: f64,
    pub limit_pkts: Option<u32>,
    pub limit_bytes: Option<u32>,
    pub overhead_bytes: i32,
    pub seed: u64,
    /// Whether the direction refuses all packets.
    pub down: bool,
    pub jitter: Jitter,
    /// `has_capacity` is true if a leolink has a table for the rate. `has_channel` is true if it has a table for delay
    /// and loss. Values in a table are never sent separately.
    pub has_capacity: bool,
    pub has_channel: bool,
    pub in_order: bool,
    pub probe_bytes: u32,
    /// How a leolink numbers the packets of this direction and restores their order. None means that it does neither.
    pub order: Option<Order>,
    /// The IP length of a full packet. This length determines the size of delay lines and token buckets.
    pub full_packet_bytes: u32,
}

impl Direction {
    /// Returns the transmission time of a full packet. 0 means that the link is unshaped.
    pub fn full_packet_ns(&self) -> u64 {
        (self.full_bytes() * 8 * 1_000_000_000).checked_div(self.rate_bps).map_or(0, |ns| ns + 1)
    }

    /// Returns the number of bytes that a full packet occupies on the link.
    fn full_bytes(&self) -> u64 {
        u64::from(self.full_packet_bytes + ETHERNET_BYTES).saturating_add_signed(self.overhead_bytes.into()).max(1)
    }
}

/// The random part of the delay of a `jitter`. With a table, the delay's random part is `spread_ns` times a value of
/// the table, divided by 8192 (NETEM_DIST_SCALE). Without a table, it is uniform between -`spread_ns` and `spread_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter {
    /// The spread, at most i32::MAX, because netem caps larger values.
    pub spread_ns: u64,
    /// The index into the setup's tables.
    pub table: usize,
}

/// How a direction of a station's link numbers packets and restores their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Determines which packets this station puts back in order. None means no packets.
    pub resequence: Option<Resequence>,
    /// Whether a second copy of the same packet is discarded.
    pub eliminates: bool,
    /// Whether the station numbers packets. It does so in the direction that leads away from the station.
    pub numbers: bool,
    /// Whether the station restores the order of packets. It does so in the direction that leads to the station.
    pub restores: bool,
}

/// The settings of a direction that are sent to the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Say {
    /// All settings, because the discipline is created.
    All,
    /// The settings that the timeline changes.
    Changes,
    /// The settings that the timeline changes. In addition, the direction drops the packets that it holds.
    Flush,
}

/// Returns `struct tcmsg` for an interface's root discipline, 1:0.
pub fn tcmsg(ifindex: u32) -> [u8; 20] {
    tcmsg_at(ifindex, HANDLE, TC_H_ROOT)
}

/// Returns `struct tcmsg` (include/uapi/linux/rtnetlink.h) of any discipline: family, interface, handle, parent, info
/// 0.
pub fn tcmsg_at(ifindex: u32, handle: u32, parent: u32) -> [u8; 20] {
    let mut out = [0; 20];
    for (at, value) in [(4, ifindex), (8, handle), (12, parent)] {
        out[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    out
}

/// Converts a ratio to a share of 2^32, as netem and leolink expect it. A ratio of 1 becomes slightly less than 2^32.
pub fn share(ratio: f64) -> u32 {
    (ratio * 4_294_967_296.0).round().clamp(0.0, f64::from(u32::MAX)) as u32
}

/// Creates or changes a netem. Every message contains all settings, because netem resets missing settings.
pub fn netem(batch: &mut Batch, ifindex: u32, d: &Direction, counts: QueueCounts, say: Say) {
    if say == Say::Flush {
        // a netem drops its packets only when it is removed
        batch.message(RTM_DELQDISC, 0, &tcmsg(ifindex));
    }
    let flags = if say == Say::Changes { 0 } else { NLM_F_CREATE | NLM_F_REPLACE };
    batch.message(RTM_NEWQDISC, flags, &tcmsg(ifindex)).text(TCA_KIND, "netem");
    let mut qopt = [0u8; 24];
    qopt[4..8].copy_from_slice(&netem_limit(d, counts).to_ne_bytes());
    qopt[8..12].copy_from_slice(&netem_loss(d).to_ne_bytes());
    let options = batch.nest(TCA_OPTIONS, &qopt);
    let bytes_per_s = if d.rate_bps == 0 { NETEM_UNSHAPED_BYTES_PER_S } else { d.rate_bps / 8 };
    let mut rate = [0u8; 16];
    rate[..4].copy_from_slice(&u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
    rate[4..8].copy_from_slice(&d.overhead_bytes.to_ne_bytes());
    batch.attribute(TCA_NETEM_RATE, &rate);
    if bytes_per_s > u64::from(u32::MAX) {
        batch.u64(TCA_NETEM_RATE64, bytes_per_s);
    }
    batch.u64(TCA_NETEM_LATENCY64, d.delay_ns).u64(TCA_NETEM_PRNG_SEED, d.seed);
    batch.end(&options);
}

fn netem_loss(d: &Direction) -> u32 {
    if d.down {
        u32::MAX
    } else {
        share(d.loss_ratio)
    }
}

/// Creates a `jitter`. If `before` is given, sends only the settings that differ from `before`. Packets that netem
/// already holds keep the time at which they will be sent.
///
/// If a message does not contain latency, jitter, limit or loss, netem sets them to 0. But netem keeps its table and
/// the state of its random stream. The seed is sent only once. If it were sent again, the random stream would restart
/// and delays would repeat. The table of a netem cannot be removed. Each change of a tbf fills its bucket, so the next
/// frame may leave immediately.
pub fn jitter(batch: &mut Batch, ifindex: u32, d: &Direction, before: Option<&Direction>, table: &[i16], flush: bool) {
    if flush {
        batch.message(RTM_DELQDISC, 0, &tcmsg(ifindex));
    }
    let before = before.filter(|_| !flush);
    let flags = if before.is_some() { 0 } else { NLM_F_CREATE | NLM_F_REPLACE };
    let is_shaped = d.rate_bps != 0;
    if is_shaped && before.is_none_or(|b| b.rate_bps != d.rate_bps) {
        batch.message(RTM_NEWQDISC, flags, &tcmsg(ifindex)).text(TCA_KIND, "tbf");
        overhead(batch, d);
        let options = batch.nest(TCA_OPTIONS | NLA_F_NESTED, &[]);
        let mut parms = [0u8; 36];
        parms[1] = TC_LINKLAYER_ETHERNET;
        batch.attribute(TCA_TBF_PARMS, &parms).u64(TCA_TBF_RATE64, (d.rate_bps / 8).max(1));
        // With a larger bucket, two full frames could leave at once. With a smaller bucket, tbf would refuse a full
        // frame.
        batch.u32(TCA_TBF_BURST, d.full_bytes() as u32);
        batch.end(&options);
    }
    let rest = |d: &Direction| Direction { rate_bps: 0, ..*d };
    if before.is_some_and(|b| rest(b) == rest(d)) {
        return;
    }
    let place = if is_shaped { tcmsg_at(ifindex, CHILD_HANDLE, CHILD_PARENT) } else { tcmsg(ifindex) };
    batch.message(RTM_NEWQDISC, flags, &place).text(TCA_KIND, "netem");
    if !is_shaped {
        overhead(batch, d);
    }
    let mut qopt = [0u8; 24];
    qopt[4..8].copy_from_slice(&d.limit_pkts.unwrap_or(NETEM_UNLIMITED_PKTS).to_ne_bytes());
    qopt[8..12].copy_from_slice(&netem_loss(d).to_ne_bytes());
    let options = batch.nest(TCA_OPTIONS, &qopt);
    batch.u64(TCA_NETEM_LATENCY64, d.delay_ns).u64(TCA_NETEM_JITTER64, d.jitter.spread_ns);
    if before.is_none() {
        batch.u64(TCA_NETEM_PRNG_SEED, d.seed);
    }
    if !table.is_empty() && before.is_none_or(|b| b.jitter.table != d.jitter.table) {
        let values: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
        batch.attribute(TCA_NETEM_DELAY_DIST, &values);
    }
    batch.end(&options);
}

/// Makes a discipline add `overhead_bytes` to the size of each packet. A negative value reduces the size. The kernel
/// calls this setting a size table. Only the root discipline can have a size table (qdisc_graft). If a change message
/// has no size table, the discipline loses its size table (qdisc_change).
fn overhead(batch: &mut Batch, d: &Direction) {
    let mut sizespec = [0u8; 24];
    sizespec[4..8].copy_from_slice(&d.overhead_bytes.to_ne_bytes());
    let stab = batch.nest(TCA_STAB | NLA_F_NESTED, &[]);
    batch.attribute(TCA_STAB_BASE, &sizespec);
    batch.end(&stab);
}

/// Returns netem's limit. netem counts packets in flight and waiting packets. The result is therefore `limit_pkts`,
/// plus the number of full frames in flight.
fn netem_limit(d: &Direction, counts: QueueCounts) -> u32 {
    let Some(limit) = d.limit_pkts else { return NETEM_UNLIMITED_PKTS };
    match counts {
        QueueCounts::WaitingAndFlying => limit,
        QueueCounts::Waiting => {
            let bits_e9 = u128::from(d.delay_ns) * u128::from(d.rate_bps);
            let flying = bits_e9.div_ceil(1_000_000_000 * 8 * u128::from(d.full_bytes()));
            u32::try_from(u128::from(limit) + flying).unwrap_or(NETEM_UNLIMITED_PKTS).min(NETEM_UNLIMITED_PKTS)
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A direction with usual settings.
    pub fn direction() -> Direction {
        Direction {
            id: 5,
            rate_bps: 100_000_000,
            delay_ns: 10_000_001,
            loss_ratio: 0.5,
            limit_pkts: Some(500),
            limit_bytes: None,
            overhead_bytes: -14,
            seed: 9,
            down: false,
            jitter: Jitter::default(),
            has_capacity: false,
            has_channel: false,
            in_order: true,
            probe_bytes: 0,
            order: None,
            full_packet_bytes: 1500,
        }
    }

    #[test]
    fn netem_names_every_option_each_time() {
        let mut batch = Batch::default();
        netem(&mut batch, 3, &direction(), QueueCounts::Waiting, Say::Changes);
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 0,  0x48, 2, 0, 0,  0, 0, 0, 128,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
            20, 0, 6, 0,  0x20, 0xbc, 0xbe, 0,  0xf2, 0xff, 0xff, 0xff,  0, 0, 0, 0,  0, 0, 0, 0,
            12, 0, 10, 0,  129, 150, 152, 0, 0, 0, 0, 0,
            12, 0, 14, 0,  9, 0, 0, 0, 0, 0, 0, 0,
        ];
        let bytes = batch.bytes();
        assert_eq!(bytes[bytes.len() - expected.len()..], expected);
    }

    /// Returns the kind, flags, handle, parent and remaining content of each message of a batch.
    pub fn messages(batch: &Batch) -> Vec<(u16, u16, u32, u32, Vec<u8>)> {
        let (mut out, mut bytes) = (Vec::new(), batch.bytes());
        while !bytes.is_empty() {
            let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
            let length = word(0) as usize;
            out.push((word(4) as u16, (word(4) >> 16) as u16, word(24), word(28), bytes[36..length].to_vec()));
            bytes = &bytes[length..];
        }
        out
    }

    #[test]
    fn a_jitter_is_a_netem_without_a_rate_under_a_bucket_of_one_frame() {
        let mut batch = Batch::default();
        let d = Direction { jitter: Jitter { spread_ns: 4_000_000, table: 1 }, overhead_bytes: 4, ..direction() };
        jitter(&mut batch, 3, &d, None, &[-8192, 8191], false);
        let [tbf, netem] = &messages(&batch)[..] else { panic!("two disciplines") };
        let make = 1 | NLM_F_CREATE | NLM_F_REPLACE;
        assert_eq!((tbf.0, tbf.1, tbf.2, tbf.3), (RTM_NEWQDISC, make, 0x1_0000, u32::MAX));
        #[rustfmt::skip]
        let expected = [
            8, 0, 1, 0, b't', b'b', b'f', 0,
            32, 0, 8, 128,  28, 0, 1, 0,  0, 0, 0, 0,  4, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
            64, 0, 2, 128,
            40, 0, 1, 0,  0, 1, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
                          0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
            12, 0, 4, 0,  0x20, 0xbc, 0xbe, 0, 0, 0, 0, 0,
            8, 0, 6, 0,  0xee, 5, 0, 0,
        ];
        assert_eq!(tbf.4, expected);
        assert_eq!((netem.0, netem.1, netem.2, netem.3), (RTM_NEWQDISC, make, 0x2_0000, 0x1_0001));
        #[rustfmt::skip]
        let expected = [
            10, 0, 1, 0, b'n', b'e', b't', b'e', b'm', 0, 0, 0,
            72, 0, 2, 0,
            0, 0, 0, 0,  0xf4, 1, 0, 0,  0, 0, 0, 128,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
            12, 0, 10, 0,  129, 150, 152, 0, 0, 0, 0, 0,
            12, 0, 11, 0,  0, 9, 61, 0, 0, 0, 0, 0,
            12, 0, 14, 0,  9, 0, 0, 0, 0, 0, 0, 0,
            8, 0, 2, 0,  0, 0xe0, 0xff, 0x1f,
        ];
        assert_eq!(netem.4, expected);
    }

    #[test]
    fn a_change_of_a_jitter_goes_on_with_its_random_stream_and_names_a_table_only_if_it_is_another() {
        let d = Direction { jitter: Jitter { spread_ns: 5, table: 1 }, ..direction() };
        let said = |now: Direction| {
            let mut batch = Batch::default();
            jitter(&mut batch, 3, &now, Some(&d), &[1, 2], false);
            messages(&batch).into_iter().map(|m| (m.1, m.2, m.4.len())).collect::<Vec<_>>()
        };
        // the sizes of the parts kind, options, latency and jitter
        let without_table = 12 + 4 + 24 + 12 + 12;
        assert_eq!(said(Direction { delay_ns: 7, ..d }), [(1, 0x2_0000, without_table)]);
        assert_eq!(
            said(Direction { jitter: Jitter { spread_ns: 6, ..d.jitter }, ..d }),
            [(1, 0x2_0000, without_table)]
        );
        let other = Jitter { table: 0, ..d.jitter };
        assert_eq!(said(Direction { jitter: other, ..d }), [(1, 0x2_0000, without_table + 8)]);
        assert_eq!(said(Direction { rate_bps: 8, ..d }), [(1, 0x1_0000, 8 + 32 + 64)]);
        assert_eq!(said(d), []);
    }

    #[test]
    fn without_a_rate_a_jitter_is_a_netem_alone_which_knows_the_overhead() {
        let mut batch = Batch::default();
        let d = Direction { rate_bps: 0, down: true, limit_pkts: None, ..direction() };
        jitter(&mut batch, 3, &d, Some(&d), &[], true);
        let [gone, netem] = &messages(&batch)[..] else { panic!("it is taken away and made anew") };
        assert_eq!((gone.0, gone.2, gone.3), (RTM_DELQDISC, 0x1_0000, u32::MAX));
        assert_eq!((netem.2, netem.3), (0x1_0000, u32::MAX));
        assert_eq!(netem.4[12..24], [32, 0, 8, 128, 28, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(netem.4[24..28], (-14i32).to_ne_bytes());
        // the fields of netem's limit and of its loss ratio. The loss ratio is 100 %
        assert_eq!(netem.4[52..60], [0, 0, 0, 64, 255, 255, 255, 255]);
        assert_eq!(netem.4.len(), 12 + 32 + 4 + 24 + 12 + 12 + 12);
    }

    #[test]
    fn netem_s_limit_adds_the_delay_line_unless_it_is_to_count() {
        // in 10 ms, 100 Mbit/s carry 1e6 bits, or 83.3 frames of 1,500 bytes
        let d = Direction { delay_ns: 10_000_000, ..direction() };
        assert_eq!(netem_limit(&d, QueueCounts::Waiting), 584);
        assert_eq!(netem_limit(&d, QueueCounts::WaitingAndFlying), 500);
        assert_eq!(netem_limit(&Direction { limit_pkts: None, ..d }, QueueCounts::Waiting), NETEM_UNLIMITED_PKTS);
        // 10 ms at 100 Mbit/s are 112.1 frames of 1,115 bytes
        assert_eq!(netem_limit(&Direction { full_packet_bytes: 1115, ..d }, QueueCounts::Waiting), 613);
    }

    #[test]
    fn a_ratio_of_one_stays_below_two_to_the_32() {
        assert_eq!((share(0.0), share(0.25), share(1.0)), (0, 1 << 30, u32::MAX));
    }
}
