// SPDX-License-Identifier: Apache-2.0
//! Queueing disciplines as netlink messages: `leolink` (guest/qdisc/leolink.c) and the kernel's `netem`.

use crate::netlink::{Batch, NLA_F_NESTED, NLM_F_CREATE, NLM_F_REPLACE, RTM_DELQDISC, RTM_NEWQDISC};
use leowarp_timeline::setup::QueueCounts;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TC_H_ROOT: u32 = 0xffff_ffff;
/// 1:0
const HANDLE: u32 = 0x0001_0000;

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

const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_PRNG_SEED: u16 = 14;
/// A full frame: 1,500 bytes of IP and 14 of Ethernet.
const FRAME_BYTES: u64 = 1514;
/// Without a rate netem sorts by time and a falling delay would reorder within the link. At this rate (2^40 byte/s) a
/// frame takes 1 ns.
const NETEM_UNSHAPED_BYTES_PER_S: u64 = 1 << 40;
const NETEM_UNLIMITED_PKTS: u32 = 1 << 30;

/// One direction of a link as it is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// `2 * link`, + 1 for b>a.
    pub id: u32,
    /// 0 = unshaped.
    pub rate_bps: u64,
    pub delay_ns: u64,
    pub loss_ratio: f64,
    pub limit_pkts: Option<u32>,
    pub limit_bytes: Option<u32>,
    pub overhead_bytes: i32,
    pub seed: u64,
    /// Refuses what it is offered.
    pub down: bool,
}

/// What of a direction is said to the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Say {
    /// All, to make it.
    All,
    /// What the timeline changes.
    Changes,
    /// That, and what it holds is lost.
    Flush,
}

fn tcmsg(ifindex: u32) -> [u8; 20] {
    let mut out = [0; 20];
    out[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    out[8..12].copy_from_slice(&HANDLE.to_ne_bytes());
    out[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    out
}

/// A ratio as a share of 2^32, as netem and leolink take it; 1 stays below 2^32.
fn share(ratio: f64) -> u32 {
    (ratio * 4_294_967_296.0).round().clamp(0.0, f64::from(u32::MAX)) as u32
}

/// Makes or changes a leolink. It keeps what is not named.
pub fn leolink(batch: &mut Batch, ifindex: u32, d: &Direction, say: Say) {
    let flags = if say == Say::All { NLM_F_CREATE | NLM_F_REPLACE } else { 0 };
    batch.message(RTM_NEWQDISC, flags, &tcmsg(ifindex)).text(TCA_KIND, "leolink");
    let options = batch.nest(TCA_OPTIONS | NLA_F_NESTED, &[]);
    if say == Say::All {
        batch
            .u32(LEOLINK_ID, d.id)
            .u32(LEOLINK_LIMIT_PKTS, d.limit_pkts.unwrap_or(u32::MAX))
            .u32(LEOLINK_LIMIT_BYTES, d.limit_bytes.unwrap_or(u32::MAX))
            .u32(LEOLINK_OVERHEAD_BYTES, d.overhead_bytes as u32)
            .u64(LEOLINK_SEED, d.seed);
    }
    batch
        .u64(LEOLINK_RATE_BPS, d.rate_bps)
        .u64(LEOLINK_DELAY_NS, d.delay_ns)
        .u32(LEOLINK_LOSS, share(d.loss_ratio))
        .u32(LEOLINK_DOWN, u32::from(d.down));
    if say == Say::Flush {
        batch.attribute(LEOLINK_FLUSH, &[]);
    }
    batch.end(&options);
}

/// Makes or changes a netem. Whatever a change does not name falls back to its default, so all is always named.
pub fn netem(batch: &mut Batch, ifindex: u32, d: &Direction, counts: QueueCounts, say: Say) {
    if say == Say::Flush {
        // netem cannot lose what it holds but by being taken away
        batch.message(RTM_DELQDISC, 0, &tcmsg(ifindex));
    }
    let flags = if say == Say::Changes { 0 } else { NLM_F_CREATE | NLM_F_REPLACE };
    batch.message(RTM_NEWQDISC, flags, &tcmsg(ifindex)).text(TCA_KIND, "netem");
    let mut qopt = [0u8; 24];
    qopt[4..8].copy_from_slice(&netem_limit(d, counts).to_ne_bytes());
    let loss = if d.down { u32::MAX } else { share(d.loss_ratio) };
    qopt[8..12].copy_from_slice(&loss.to_ne_bytes());
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

/// netem's limit counts what flies as well: what waits is limited to `limit_pkts` by adding what the delay line holds
/// when it is full of full frames.
fn netem_limit(d: &Direction, counts: QueueCounts) -> u32 {
    let Some(limit) = d.limit_pkts else { return NETEM_UNLIMITED_PKTS };
    match counts {
        QueueCounts::WaitingAndFlying => limit,
        QueueCounts::Waiting => {
            let frame_bits = 8 * FRAME_BYTES.saturating_add_signed(i64::from(d.overhead_bytes)).max(1);
            let bits_e9 = u128::from(d.delay_ns) * u128::from(d.rate_bps);
            let flying = bits_e9.div_ceil(1_000_000_000 * u128::from(frame_bits));
            u32::try_from(u128::from(limit) + flying).unwrap_or(NETEM_UNLIMITED_PKTS).min(NETEM_UNLIMITED_PKTS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction() -> Direction {
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
        }
    }

    #[test]
    fn leolink_is_named_whole_once_and_then_by_its_changes() {
        let mut batch = Batch::default();
        leolink(&mut batch, 3, &direction(), Say::Flush);
        #[rustfmt::skip]
        let expected = [
            96, 0, 0, 0,  36, 0,  1, 0,  1, 0, 0, 0,  0, 0, 0, 0,
            0, 0, 0, 0,  3, 0, 0, 0,  0, 0, 1, 0,  255, 255, 255, 255,  0, 0, 0, 0,
            12, 0, 1, 0, b'l', b'e', b'o', b'l', b'i', b'n', b'k', 0,
            48, 0, 2, 128,
            12, 0, 2, 0,  0, 225, 245, 5, 0, 0, 0, 0,
            12, 0, 3, 0,  129, 150, 152, 0, 0, 0, 0, 0,
            8, 0, 7, 0,  0, 0, 0, 128,
            8, 0, 9, 0,  0, 0, 0, 0,
            4, 0, 10, 0,
        ];
        assert_eq!(batch.bytes().len(), 96);
        assert_eq!(batch.bytes(), &expected[..]);
        let mut whole = Batch::default();
        leolink(&mut whole, 3, &direction(), Say::All);
        assert_eq!(whole.bytes().len(), 96 - 4 + 4 * 8 + 12);
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

    #[test]
    fn netem_s_limit_adds_the_delay_line_unless_it_is_to_count() {
        // 10 ms at 100 Mbit/s are 1e6 bits, 83.3 frames of 1,500 bytes
        let d = Direction { delay_ns: 10_000_000, ..direction() };
        assert_eq!(netem_limit(&d, QueueCounts::Waiting), 584);
        assert_eq!(netem_limit(&d, QueueCounts::WaitingAndFlying), 500);
        assert_eq!(netem_limit(&Direction { limit_pkts: None, ..d }, QueueCounts::Waiting), NETEM_UNLIMITED_PKTS);
    }

    #[test]
    fn a_ratio_of_one_stays_below_two_to_the_32() {
        assert_eq!((share(0.0), share(0.25), share(1.0)), (0, 1 << 30, u32::MAX));
    }
}
