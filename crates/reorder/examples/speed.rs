// SPDX-License-Identifier: Apache-2.0
//! Prints the time and memory that all metrics need for ten million arrivals. Each line is for one kind of reordering.
//! Usage: `cargo run --release -p leowarp-reorder --example speed [PACKETS]`.

use reorder::{Arrival, Meter, Settings};
use std::time::Instant;

const PKTS: u64 = 10_000_000;
const SPACING_NS: i64 = 121_120;
const LEN_BYTES: u32 = 1448;

fn main() {
    let pkts = std::env::args().nth(1).map_or(Ok(PKTS), |a| a.parse()).unwrap_or_else(|e| {
        eprintln!("the argument is a number of packets: {e}");
        std::process::exit(2);
    });
    println!("{:32} {:>10} {:>8} {:>10} {:>10} {:>8}", "", "arrivals", "s", "reordered", "MD, pkts", "kB");
    let kinds: [(&str, Vec<u64>); 9] = [
        ("in order", (0..pkts).collect()),
        ("normal, sigma 8.2 packets", jittered(pkts, |r| 8.2 * r.normal())),
        ("normal, sigma 75 packets", jittered(pkts, |r| 75.0 * r.normal())),
        ("exponential, mean 75 packets", jittered(pkts, |r| -75.0 * r.unit().ln())),
        ("uniform, width 1000 packets", jittered(pkts, |r| 1000.0 * r.unit())),
        ("normal, 75, 1 % lost", lossy(jittered(pkts, |r| 75.0 * r.normal()), 0.01, 0.0)),
        ("normal, 75, 30 % lost, 5 % twice", lossy(jittered(pkts, |r| 75.0 * r.normal()), 0.30, 0.05)),
        ("500 overtaken, every 10,000", swapped(pkts, 10_000, 500)),
        ("30,000 overtaken, every 100,000", swapped(pkts, 100_000, 30_000)),
    ];
    for (name, arrivals) in kinds {
        let before_kb = resident_kb();
        let start = Instant::now();
        let mut meter = Meter::new(Settings::default());
        for (i, &seq) in (0i64..).zip(&arrivals) {
            meter.arrive(Arrival { seq, t_ns: Some(i * SPACING_NS), len_bytes: LEN_BYTES });
        }
        let held_kb = resident_kb().saturating_sub(before_kb);
        let result = meter.finish(Some(pkts));
        let seconds = start.elapsed().as_secs_f64();
        let ratio = result.reordered_ratio().unwrap_or(f64::NAN);
        let mean_pkts = result.density.mean_displacement_pkts().unwrap_or(f64::NAN);
        println!("{name:32} {:10} {seconds:8.3} {ratio:10.4} {mean_pkts:10.3} {held_kb:8}", arrivals.len());
    }
}

/// Returns the numbers 0 to `pkts` - 1 in the order of their arrival. Packet n arrives at n plus its jitter. The jitter
/// is in packets.
fn jittered(pkts: u64, mut jitter_pkts: impl FnMut(&mut Random) -> f64) -> Vec<u64> {
    let mut random = Random(1);
    let mut keyed: Vec<(i64, u64)> =
        (0..pkts).map(|s| (((s as f64 + jitter_pkts(&mut random)) * 1e6) as i64, s)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|k| k.1).collect()
}

/// In each group of `every` packets, swaps the `block` packets after the middle with the following `block` packets.
fn swapped(pkts: u64, every: u64, block: u64) -> Vec<u64> {
    let place = |s: u64| match (s % every).checked_sub(every / 2) {
        Some(x) if x < block => s + block,
        Some(x) if x < 2 * block => s - block,
        _ => s,
    };
    (0..pkts).map(place).collect()
}

fn lossy(arrivals: Vec<u64>, lost_ratio: f64, twice_ratio: f64) -> Vec<u64> {
    let mut random = Random(2);
    let mut left = Vec::with_capacity(arrivals.len());
    for seq in arrivals {
        if random.unit() >= lost_ratio {
            left.push(seq);
            if random.unit() < twice_ratio {
                left.push(seq);
            }
        }
    }
    left
}

/// The random number generator SplitMix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ z >> 31) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a normally distributed number, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// On Linux, returns the resident memory of this process, from /proc. Returns 0 on other systems.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
