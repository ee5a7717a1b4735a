// SPDX-License-Identifier: Apache-2.0
//! Netlink messages for the kernel's queueing disciplines in a leolink, and for `fq` on a host's wire
//! (include/uapi/linux/pkt_sched.h of Linux 6.12).
//!
//! If a scenario does not set a parameter, the kernel's default applies. Limits are an exception. Instead of the
//! kernel's limits (1,000 or 10,240 packets, 32 MiB), leowarp always sets the queue's limit. Queueing disciplines count
//! their limits in different units. If a discipline counts packets, a limit in bytes is converted to the number of full
//! frames. For `red`, a limit in packets is converted to bytes of full frames. For `cake`, a limit in packets is
//! converted to the guest memory that full frames take.

use crate::base::error::{Error, Result};
use crate::network::netlink::{Batch, NLA_F_NESTED, NLM_F_CREATE, NLM_F_REPLACE, RTM_NEWQDISC};
use crate::network::tc::{tcmsg, tcmsg_at, CHILD_HANDLE, CHILD_PARENT, TCA_KIND, TCA_OPTIONS};
use leowarp_timeline::setup::{Queue, QueueKind};

/// The limit that a queue gets if the scenario sets no limit.
const UNLIMITED_PKTS: u32 = 1 << 30;
/// The guest memory that one waiting frame of 1,514 bytes occupies. The kernel calls this memory truesize. The
/// disciplines cake, fq_codel and fq_pie count it. The value applies to a frame with a UDP datagram. Frames with a TCP
/// segment and shorter frames need slightly less memory.
const FRAME_MEMORY_BYTES: u32 = 2304;
/// The kernel's own memory limit of fq_codel and fq_pie.
const MEMORY_BYTES: u32 = 32 << 20;

/// The maximum content of a queue, in packets or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    pub pkts: Option<u32>,
    pub bytes: Option<u32>,
    /// The size of a full frame.
    pub frame_bytes: u32,
}

impl Limit {
    /// Returns the limit of `queue`, or `link` if the queue has no limit of its own.
    pub fn of(queue: &Queue, link: Limit) -> Self {
        match (queue.limit_pkts, queue.limit_bytes) {
            (None, None) => link,
            (pkts, bytes) => Self { pkts, bytes, ..link },
        }
    }

    fn in_pkts(self) -> u32 {
        let full = |bytes: u32| (bytes / self.frame_bytes).max(1);
        self.pkts.or(self.bytes.map(full)).unwrap_or(UNLIMITED_PKTS)
    }

    fn in_bytes(self) -> Option<u32> {
        let full = |pkts: u32| pkts.saturating_mul(self.frame_bytes);
        self.bytes.or(self.pkts.map(full))
    }

    fn in_memory_bytes(self) -> u32 {
        self.in_pkts().saturating_mul(FRAME_MEMORY_BYTES)
    }
}

/// Attaches a queue's discipline as the child of a newly created leolink.
///
/// `rate_bps` is the highest rate that the link ever has. None means unknown.
pub fn child(batch: &mut Batch, ifindex: u32, queue: &Queue, limit: Limit, rate_bps: Option<u64>) -> Result<()> {
    if queue.kind == QueueKind::Fifo {
        return Ok(());
    }
    let red = if queue.kind == QueueKind::Red { Some(Red::of(queue, limit, rate_bps)?) } else { None };
    let place = tcmsg_at(ifindex, CHILD_HANDLE, CHILD_PARENT);
    batch.message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &place).text(TCA_KIND, queue.kind.name());
    let options = batch.nest(TCA_OPTIONS | NLA_F_NESTED, &[]);
    let ecn = u32::from(queue.ecn);
    match queue.kind {
        QueueKind::Fifo => {}
        QueueKind::Codel => {
            batch.u32(2, limit.in_pkts()).u32(4, ecn);
            given(batch, queue, &[("target_ns", 1), ("interval_ns", 3), ("ce_threshold_ns", 5)]);
        }
        QueueKind::FqCodel => {
            batch.u32(2, limit.in_pkts()).u32(4, ecn);
            given(batch, queue, &[("target_ns", 1), ("interval_ns", 3), ("ce_threshold_ns", 7)]);
            given(batch, queue, &[("flows", 5), ("quantum_bytes", 6)]);
            batch.u32(9, parameter(queue, "memory_limit_bytes").unwrap_or(limit.in_memory_bytes().max(MEMORY_BYTES)));
        }
        QueueKind::Pie => {
            batch.u32(2, limit.in_pkts()).u32(6, ecn);
            given(batch, queue, &[("target_ns", 1), ("tupdate_ns", 3), ("alpha", 4), ("beta", 5)]);
        }
        QueueKind::FqPie => {
            batch.u32(1, limit.in_pkts()).u32(10, ecn);
            given(batch, queue, &[("flows", 2), ("target_ns", 3), ("tupdate_ns", 4), ("alpha", 5), ("beta", 6)]);
            given(batch, queue, &[("quantum_bytes", 7)]);
            batch.u32(8, limit.in_memory_bytes().max(MEMORY_BYTES));
        }
        QueueKind::Cake => {
            // The tags of source routing do not select classes of service.
            batch.u32(CAKE_DIFFSERV_MODE, CAKE_BESTEFFORT);
            given(batch, queue, &[("flow_mode", 5), ("rtt_ns", 7), ("ack_filter", 16)]);
            if let Some(rtt_us) = parameter(queue, "rtt_ns") {
                // tc(8) computes the target from the rtt as well. Without the attribute CAKE_TARGET_US, the kernel
                // would keep the target that belongs to its default rtt
                batch.u32(CAKE_TARGET_US, (rtt_us / 20).max(1));
            }
            batch.u32(10, parameter(queue, "memory_limit_bytes").unwrap_or(limit.in_memory_bytes()));
        }
        QueueKind::Red => {
            if let Some(red) = red {
                batch.attribute(1, &red.parms()).attribute(2, &red.idle).u32(3, red.max_p);
            }
        }
    }
    batch.end(&options);
    Ok(())
}

const CAKE_DIFFSERV_MODE: u16 = 3;
const CAKE_BESTEFFORT: u32 = 3;
const CAKE_TARGET_US: u16 = 8;

/// Writes the parameters for which the queue has a value. `attributes` gives the netlink attribute of each parameter.
/// All disciplines measure time in us.
fn given(batch: &mut Batch, queue: &Queue, attributes: &[(&str, u16)]) {
    for &(name, number) in attributes {
        if let Some(value) = parameter(queue, name) {
            batch.u32(number, value);
        }
    }
}

/// Returns a parameter in the kernel's format. Times are rounded up to whole us.
fn parameter(queue: &Queue, name: &str) -> Option<u32> {
    let value = *queue.parameters.get(name)?;
    let value = if name.ends_with("_ns") { value.div_ceil(1000) } else { value };
    Some(u32::try_from(value).unwrap_or(u32::MAX))
}

/// The parameters of `red`, computed as by tc(8) (tc/tc_red.c of iproute2). Limits are in bytes. The permitted burst is
/// (2 min + max) / 3. It determines the weight of the moving average. A table contains the decay of the average while
/// the queue is empty.
#[derive(Debug, PartialEq)]
struct Red {
    limit_bytes: u32,
    min_bytes: u32,
    max_bytes: u32,
    weight_log: u8,
    probability_log: u8,
    cell_log: u8,
    flags: u8,
    max_p: u32,
    idle: [u8; 256],
}

const RED_ECN: u8 = 1;
const RED_ADAPTIVE: u8 = 4;

impl Red {
    fn of(queue: &Queue, limit: Limit, rate_bps: Option<u64>) -> Result<Self> {
        let Some(limit_bytes) = limit.in_bytes() else {
            return Err(Error::Input("a queue of kind red needs a limit".into()));
        };
        let (least, most) = (parameter(queue, "min_bytes"), parameter(queue, "max_bytes"));
        let max_bytes = most.unwrap_or((limit_bytes / 4).max(least.unwrap_or(0).saturating_mul(3)).min(limit_bytes));
        let min_bytes = least.unwrap_or(max_bytes / 3);
        if min_bytes >= max_bytes {
            return Err(Error::Lacks {
                what: format!("red: min = {min_bytes} B is not below max = {max_bytes} B (limit {limit_bytes} B)"),
                hint: "give queue_parameters.min and .max, or a larger queue".into(),
            });
        }
        let probability = f64::from(parameter(queue, "probability_ppm").unwrap_or(20_000)) / 1e6;
        let frame = f64::from(limit.frame_bytes);
        let burst = ((2.0 * f64::from(min_bytes) + f64::from(max_bytes)) / (3.0 * frame)).floor().max(1.0);
        // the kernel stores the average times 2^weight_log in 32 bits (red_check_params)
        let weight_log = average_weight_log(f64::from(min_bytes) / frame, burst)
            .min((max_bytes.leading_zeros() as u8).saturating_sub(1));
        let rate_bps = rate_bps.filter(|&r| r > 0).unwrap_or(10_000_000);
        let (cell_log, idle) = idle_damping(weight_log, frame * 8e6 / rate_bps as f64);
        let is_adaptive = queue.parameters.get("adaptive").is_some_and(|&a| a != 0);
        Ok(Self {
            limit_bytes,
            min_bytes,
            max_bytes,
            weight_log,
            probability_log: probability_log(probability, max_bytes - min_bytes),
            cell_log,
            flags: if queue.ecn { RED_ECN } else { 0 } | if is_adaptive { RED_ADAPTIVE } else { 0 },
            max_p: (probability * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32,
            idle,
        })
    }

    /// Returns struct tc_red_qopt.
    fn parms(&self) -> [u8; 16] {
        let mut out = [0; 16];
        for (at, value) in [(0, self.limit_bytes), (4, self.min_bytes), (8, self.max_bytes)] {
            out[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        out[12..].copy_from_slice(&[self.weight_log, self.probability_log, self.cell_log, self.flags]);
        out
    }
}

/// Returns the smallest k for which an average with weight 2^-k stays below `min` during a burst (tc_red_eval_ewma).
/// The average starts at 0.
fn average_weight_log(min_pkts: f64, burst_pkts: f64) -> u8 {
    let room = burst_pkts + 1.0 - min_pkts;
    let passes = |k: &u8| {
        let weight = 0.5f64.powi(i32::from(*k));
        room <= (1.0 - (1.0 - weight).powf(burst_pkts)) / weight
    };
    (1..31).find(passes).unwrap_or(31)
}

/// Returns k, where 2^-k is the probability divided by the range of the average, rounded (tc_red_eval_P).
fn probability_log(probability: f64, range_bytes: u32) -> u8 {
    let step = probability / f64::from(range_bytes);
    (0..32).find(|&k| step * 2f64.powi(k) > 1.0).unwrap_or(32) as u8
}

/// Returns a table for idle times. Entry i is the number of bits by which the average is shifted after `i << cell_log`
/// us. A frame takes `frame_us` to transmit. The shift is the number for which 2^-shift = (1 - weight)^frames.
/// tc_red_eval_idle_damping of tc(8) has the same purpose, but uses the natural logarithm and ticks of 64 ns. The
/// kernel shifts bits, and indexes the table in units of 1 us. This function therefore computes with base 2 and in us.
fn idle_damping(weight_log: u8, frame_us: f64) -> (u8, [u8; 256]) {
    let per_us = -(1.0 - 0.5f64.powi(weight_log.into())).log2().max(-1e9) / frame_us;
    let longest_us = 31.0 / per_us;
    let cell_log = (0..31).find(|&k| longest_us / 2f64.powi(k) < 512.0).unwrap_or(31) as u8;
    let mut shifts = [31; 256];
    for (i, shift) in shifts.iter_mut().enumerate().take(255) {
        *shift = (i as f64 * 2f64.powi(cell_log.into()) * per_us).min(31.0) as u8;
    }
    (cell_log, shifts)
}

const FQ_PLIMIT: u16 = 1;
const FQ_FLOW_PLIMIT: u16 = 2;
const FQ_HORIZON_DROP: u16 = 15;
const FQ_PRIOMAP: u16 = 16;

/// Makes a host send its packets through the discipline `fq`. `fq` sends the packets of each socket at the socket's
/// pacing rate, with any congestion control. `fq` drops no packet, so a capture contains all packets that leave the
/// sockets. All packets are in one class, so that the tags of source routing do not select classes.
pub fn pacing(batch: &mut Batch, ifindex: u32) {
    batch.message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &tcmsg(ifindex)).text(TCA_KIND, "fq");
    let options = batch.nest(TCA_OPTIONS | NLA_F_NESTED, &[]);
    batch.u32(FQ_PLIMIT, UNLIMITED_PKTS).u32(FQ_FLOW_PLIMIT, UNLIMITED_PKTS).attribute(FQ_HORIZON_DROP, &[0]);
    let mut map = [1u8; 20];
    map[..4].copy_from_slice(&3u32.to_ne_bytes());
    batch.attribute(FQ_PRIOMAP, &map);
    batch.end(&options);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::netlink::attributes;
    use crate::network::tc::tests::messages;

    fn queue(kind: QueueKind, parameters: &[(&str, u64)]) -> Queue {
        let parameters = parameters.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        Queue { kind, ecn: true, parameters, limit_pkts: None, limit_bytes: None }
    }

    /// Returns the kind of the discipline, and its 4-byte options as (attribute, value) pairs.
    fn made(queue: &Queue, limit: Limit) -> (String, Vec<(u16, u32)>) {
        let mut batch = Batch::default();
        child(&mut batch, 7, queue, limit, Some(100_000_000)).unwrap();
        let [(RTM_NEWQDISC, flags, 0x2_0000, 0x1_0001, attrs)] = &messages(&batch)[..] else { panic!("one child") };
        assert_eq!(*flags, 1 | NLM_F_CREATE | NLM_F_REPLACE);
        let find = |kind| attributes(attrs).find(|a| a.0 == kind).unwrap().1;
        let name = String::from_utf8(find(TCA_KIND).to_vec()).unwrap();
        let number = |v: &[u8]| u32::from_ne_bytes(v[..4].try_into().unwrap());
        let mut options: Vec<_> = attributes(find(TCA_OPTIONS)).map(|(kind, v)| (kind, number(v))).collect();
        options.sort_unstable();
        (name.trim_end_matches('\0').into(), options)
    }

    const LIMIT: Limit = Limit { pkts: Some(500), bytes: None, frame_bytes: 1514 };

    #[test]
    fn every_discipline_says_its_limit_and_what_is_given() {
        let codel = queue(QueueKind::Codel, &[("target_ns", 5_000_001), ("interval_ns", 100_000_000)]);
        assert_eq!(made(&codel, LIMIT), ("codel".into(), vec![(1, 5001), (2, 500), (3, 100_000), (4, 1)]));
        let fq_codel = queue(QueueKind::FqCodel, &[("flows", 16), ("ce_threshold_ns", 1000), ("quantum_bytes", 300)]);
        let said = made(&Queue { ecn: false, ..fq_codel }, LIMIT);
        assert_eq!(said, ("fq_codel".into(), vec![(2, 500), (4, 0), (5, 16), (6, 300), (7, 1), (9, 32 << 20)]));
        let pie = queue(QueueKind::Pie, &[("target_ns", 15_000_000), ("alpha", 2), ("beta", 20)]);
        assert_eq!(made(&pie, LIMIT), ("pie".into(), vec![(1, 15_000), (2, 500), (4, 2), (5, 20), (6, 1)]));
        let fq_pie = queue(QueueKind::FqPie, &[("tupdate_ns", 15_000_000), ("flows", 8)]);
        let said = made(&fq_pie, Limit { pkts: None, bytes: Some(30 << 20), ..LIMIT });
        assert_eq!(said, ("fq_pie".into(), vec![(1, 20_777), (2, 8), (4, 15_000), (8, 20_777 * 2304), (10, 1)]));
        let cake = queue(QueueKind::Cake, &[("rtt_ns", 50_000_000), ("ack_filter", 1)]);
        assert_eq!(
            made(&cake, LIMIT),
            ("cake".into(), vec![(3, 3), (7, 50_000), (8, 2500), (10, 500 * 2304), (16, 1)])
        );
    }

    #[test]
    fn a_fifo_is_no_child() {
        let mut batch = Batch::default();
        child(&mut batch, 7, &queue(QueueKind::Fifo, &[]), LIMIT, None).unwrap();
        assert!(batch.is_empty());
    }

    #[test]
    fn a_queue_without_a_limit_has_its_link_s() {
        let own = Queue { limit_bytes: Some(9), ..queue(QueueKind::Red, &[]) };
        assert_eq!(Limit::of(&own, LIMIT), Limit { pkts: None, bytes: Some(9), ..LIMIT });
        assert_eq!(Limit::of(&queue(QueueKind::Red, &[]), LIMIT), LIMIT);
    }

    #[test]
    fn packets_and_bytes_are_those_of_full_frames() {
        let short = Limit { frame_bytes: 1129, ..LIMIT };
        let bytes = Limit { pkts: None, bytes: Some(1_000_000), ..short };
        assert_eq!((short.in_bytes(), bytes.in_pkts(), bytes.in_bytes()), (Some(564_500), 885, Some(1_000_000)));
        let red = Red::of(&queue(QueueKind::Red, &[]), short, Some(100_000_000)).unwrap();
        assert_eq!((red.limit_bytes, red.weight_log), (564_500, 5));
    }

    #[test]
    fn red_is_worked_out_from_the_limit() {
        // tc qdisc add dev lo root red limit 757000 min 63083 max 189250 avpkt 1514 burst 69 bandwidth 100mbit
        // probability 0.02 ecn sends Wlog 5, Plog 23
        let red = Red::of(&queue(QueueKind::Red, &[]), LIMIT, Some(100_000_000)).unwrap();
        assert_eq!((red.limit_bytes, red.min_bytes, red.max_bytes), (757_000, 63_083, 189_250));
        assert_eq!((red.weight_log, red.probability_log, red.flags), (5, 23, RED_ECN));
        assert_eq!(red.max_p, 85_899_345);
        // an idle time of n frames, 121 us each, multiplies the average by (1 - 2^-5)^n = 2^-shift
        let frames = |shift: f64| shift / -(1.0 - 1.0f64 / 32.0).log2();
        let cell = |shift: f64| (frames(shift) * 121.12) as usize >> red.cell_log;
        assert_eq!((red.idle[cell(9.0)], red.idle[cell(9.0) + 1], red.idle[255]), (8, 9, 31));
        let given = queue(QueueKind::Red, &[("max_bytes", 3000), ("adaptive", 1), ("probability_ppm", 1_000_000)]);
        let red = Red::of(&Queue { ecn: false, ..given }, LIMIT, None).unwrap();
        assert_eq!((red.min_bytes, red.flags, red.max_p), (1000, RED_ADAPTIVE, u32::MAX));
    }

    #[test]
    fn red_refuses_a_minimum_above_the_maximum() {
        let error = Red::of(&queue(QueueKind::Red, &[("min_bytes", 5000), ("max_bytes", 5000)]), LIMIT, None);
        assert!(error.unwrap_err().to_string().contains("min = 5000 B is not below max = 5000 B"));
        assert!(Red::of(&queue(QueueKind::Red, &[]), Limit { pkts: None, ..LIMIT }, None).is_err());
    }

    #[test]
    fn a_large_red_keeps_its_average_in_32_bits() {
        let red =
            Red::of(&queue(QueueKind::Red, &[]), Limit { pkts: None, bytes: Some(1 << 31), ..LIMIT }, None).unwrap();
        assert!(32 - red.max_bytes.leading_zeros() + u32::from(red.weight_log) < 32);
    }

    #[test]
    fn pacing_drops_nothing_and_knows_one_class() {
        let mut batch = Batch::default();
        pacing(&mut batch, 7);
        let [(RTM_NEWQDISC, _, 0x1_0000, u32::MAX, attrs)] = &messages(&batch)[..] else { panic!("one root") };
        let options = attributes(attrs).find(|a| a.0 == TCA_OPTIONS).unwrap().1;
        let said: Vec<_> = attributes(options).collect();
        assert_eq!(said[2], (15, &[0u8][..]));
        assert_eq!(said[3].1[..6], [3, 0, 0, 0, 1, 1]);
        assert_eq!(said[1], (2, &UNLIMITED_PKTS.to_ne_bytes()[..]));
    }
}
