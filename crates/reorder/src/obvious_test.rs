// SPDX-License-Identifier: Apache-2.0
//! Compares every metric with its definition, on random sequences with losses and duplicates.

use crate::obvious::{self, Discarding, Overflowing};
use crate::{Arrival, Meter, Reordering, Settings};
use proptest::collection::vec;
use proptest::prelude::*;

/// Packets that are sent in order, delayed by random jitter, and sorted by arrival. Some packets are lost, and some are
/// duplicated.
fn jittered(most_pkts: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let packet = (0u32..40, 0u32..20, 0u32..60, 1u32..1500);
    (0u64..3, 1u32..40, vec(packet, 0..most_pkts)).prop_map(|(first_seq, jitter, packets)| {
        let mut arrivals = Vec::new();
        for (seq, (delay, fate, copy_delay, len_bytes)) in (first_seq..).zip(packets) {
            let t_ns = 10 * seq as i64 + 10 * i64::from(delay % jitter);
            if fate > 2 {
                arrivals.push(Arrival { seq, t_ns: Some(t_ns), len_bytes });
            }
            if fate == 3 {
                arrivals.push(Arrival { seq, t_ns: Some(t_ns + 10 * i64::from(copy_delay)), len_bytes });
            }
        }
        arrivals.sort_by_key(|a| a.t_ns);
        arrivals
    })
}

/// Arbitrary numbers in any order, some close together and some far apart. Some packets have no time.
fn wild(most_pkts: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let near = || 0u64..30;
    let far = prop_oneof![near(), 0u64..300, 5000u64..5050, Just(70_000), Just(1 << 40), u64::MAX - 3..=u64::MAX];
    let seqs = prop_oneof![vec(near(), 0..most_pkts), vec(far, 0..most_pkts)];
    (seqs, vec((prop::option::of(0i64..5), 0u32..9), most_pkts)).prop_map(|(seqs, others)| {
        let arrival = |(seq, (t_ns, len_bytes))| Arrival { seq, t_ns, len_bytes };
        seqs.into_iter().zip(others).map(arrival).collect()
    })
}

fn any_arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    prop_oneof![jittered(120), jittered(120), wild(60)]
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let threshold = || prop_oneof![1u32..6, 1u32..40, Just(200)];
    let first_seq = prop_oneof![3 => Just(None), 1 => (0u64..3).prop_map(Some)];
    (threshold(), threshold(), 1u32..12, prop_oneof![1u32..50, Just(65_536)], first_seq).prop_map(
        |(density_threshold_pkts, buffer_threshold_pkts, n_max, loss_window_pkts, first_seq)| Settings {
            density_threshold_pkts,
            buffer_threshold_pkts,
            n_max,
            loss_window_pkts,
            first_seq,
        },
    )
}

fn feed(meter: &mut Meter, arrivals: &[Arrival]) {
    for &arrival in arrivals {
        meter.arrive(arrival);
    }
}

fn measured(arrivals: &[Arrival], settings: Settings) -> Reordering {
    let mut meter = Meter::new(settings);
    feed(&mut meter, arrivals);
    meter.finish(None)
}

fn mean(sum: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

proptest! {
    // Tests RFC 4737, 3.6 (duplicates).
    // Tests RFC 4737, 4.1.2 (packets sent and received).
    // Tests RFC 4737, 6 (missing numbers).
    #[test]
    fn each_arrival_is_counted_once(arrivals in any_arrivals(), settings in any_settings(), sent in 0u64..200) {
        let judged = obvious::judged(&arrivals, &settings);
        let got = measured(&arrivals, settings);
        prop_assert_eq!(got.arrived_pkts, arrivals.len() as u64);
        prop_assert_eq!(got.received_pkts, judged.received.len() as u64);
        prop_assert_eq!(got.received_bytes, judged.received.iter().map(|a| u64::from(a.len_bytes)).sum::<u64>());
        prop_assert_eq!(got.duplicate_pkts, judged.duplicate_pkts);
        prop_assert_eq!(got.too_late_pkts, judged.too_late_pkts);
        prop_assert_eq!(got.outside_pkts, judged.outside_pkts);
        let numbers = || judged.received.iter().map(|a| a.seq);
        let first_seq = settings.first_seq.or(numbers().min());
        prop_assert_eq!((got.first_seq, got.last_seq), (first_seq, numbers().max()));
        let missing = first_seq.zip(numbers().max()).map_or(0, |(first, last)| {
            last + 1 - first - numbers().filter(|n| (first..=last).contains(n)).count() as u64
        });
        prop_assert_eq!(got.lost_pkts, missing);
        let mut meter = Meter::new(settings);
        feed(&mut meter, &arrivals);
        prop_assert_eq!(meter.finish(Some(got.received_pkts + sent)).lost_pkts, sent);
    }

    // Tests RFC 4737, 1.2 (losses and duplicates).
    // Tests RFC 4737, 3.3 (reordered).
    // Tests RFC 4737, 4.1.3 (reordered ratio).
    // Tests RFC 4737, 4.2.2 (arrival index).
    // Tests RFC 4737, 4.2.3 (extent).
    // Tests RFC 4737, 4.3.3 (late time).
    // Tests RFC 4737, 4.4.3 (byte offset).
    #[test]
    fn order_extent_late_time_and_byte_offset_are_as_defined(arrivals in any_arrivals(), settings in any_settings()) {
        let s = obvious::judged(&arrivals, &settings).received;
        let got = measured(&arrivals, settings);
        let late: Vec<usize> = (0..s.len()).filter(|&i| obvious::reordered(&s, i)).collect();
        prop_assert_eq!(got.reordered_pkts, late.len() as u64);
        prop_assert_eq!(got.reordered_ratio(), mean(late.len() as f64, s.len()));
        let extents: Vec<usize> = late.iter().map(|&i| i - obvious::first_overtaker(&s, i).unwrap()).collect();
        prop_assert_eq!(&got.extent.counts, &obvious::histogram(extents.iter().map(|&e| e as u32)));
        prop_assert_eq!(got.extent.max_pkts, extents.iter().max().map(|&e| e as u32));
        prop_assert_eq!(got.extent.mean_pkts(), mean(extents.iter().sum::<usize>() as f64, late.len()));
        let late_time = |(&i, &e): (&usize, &usize)| Some(s[i].t_ns? - s[i - e].t_ns?);
        let times: Vec<i64> = late.iter().zip(&extents).filter_map(late_time).collect();
        prop_assert_eq!(got.late_time.pkts, times.len() as u64);
        prop_assert_eq!(got.late_time.max_ns, times.iter().max().copied());
        prop_assert_eq!(got.late_time.mean_ns(), mean(times.iter().sum::<i64>() as f64, times.len()));
        let offset = |(&i, &e): (&usize, &usize)| obvious::offset_bytes(&s, i, e);
        let offsets: Vec<u64> = late.iter().zip(&extents).map(offset).collect();
        if s.iter().any(|a| a.len_bytes > 0) {
            prop_assert_eq!(got.byte_offset.max_bytes, offsets.iter().max().copied());
            prop_assert_eq!(got.byte_offset.mean_bytes(), mean(offsets.iter().sum::<u64>() as f64, late.len()));
        } else {
            prop_assert_eq!((got.byte_offset.max_bytes, got.byte_offset.mean_bytes()), (None, None));
        }
    }

    // Tests RFC 4737, 4.5.3 (reordering discontinuity).
    // Tests RFC 4737, 4.5.4 (gap).
    // Tests RFC 4737, 4.5.4 (gap in time).
    // Tests RFC 4737, 6 (stored discontinuities).
    #[test]
    fn gaps_are_as_defined(arrivals in any_arrivals(), settings in any_settings()) {
        let s = obvious::judged(&arrivals, &settings).received;
        let got = measured(&arrivals, settings).gaps;
        let found = obvious::discontinuities(&s);
        let gaps: Vec<u64> = found.windows(2).map(|w| (w[1] - w[0]) as u64).collect();
        let times: Vec<i64> = found.windows(2).filter_map(|w| Some(s[w[1]].t_ns? - s[w[0]].t_ns?)).collect();
        prop_assert_eq!(got.reordering_discontinuities, found.len() as u64);
        prop_assert_eq!((got.gaps, got.timed_gaps), (gaps.len() as u64, times.len() as u64));
        prop_assert_eq!(got.max_pkts, gaps.iter().max().copied());
        prop_assert_eq!(got.mean_pkts(), mean(gaps.iter().sum::<u64>() as f64, gaps.len()));
        prop_assert_eq!(got.max_ns, times.iter().max().copied());
        prop_assert_eq!(got.mean_ns(), mean(times.iter().sum::<i64>() as f64, times.len()));
    }

    // Tests RFC 4737, 3.4 (sequence discontinuity).
    #[test]
    fn sequence_discontinuities_are_as_defined(arrivals in any_arrivals(), settings in any_settings()) {
        let s = obvious::judged(&arrivals, &settings).received;
        let mut next = settings.first_seq.or(s.iter().map(|a| a.seq).min()).unwrap_or(0);
        let mut leaps = 0;
        for a in &s {
            leaps += u64::from(a.seq > next);
            next = next.max(a.seq + 1);
        }
        prop_assert_eq!(measured(&arrivals, settings).gaps.sequence_discontinuities, leaps);
    }

    // Tests RFC 4737, 4.6.2 (counters of runs).
    // Tests RFC 4737, 4.6.3 (reordering-free run).
    #[test]
    fn runs_are_as_defined(arrivals in any_arrivals(), settings in any_settings()) {
        let s = obvious::judged(&arrivals, &settings).received;
        let got = measured(&arrivals, settings).runs;
        let (runs, last) = obvious::run_lengths(&s);
        let in_order = runs.iter().sum::<u64>() + last;
        prop_assert_eq!((got.pkts, got.runs, got.in_order_pkts), (s.len() as u64, runs.len() as u64, in_order));
        prop_assert_eq!((got.last_pkts, got.max_pkts), (last, runs.iter().copied().max().unwrap_or(0).max(last)));
        prop_assert_eq!(got.squares, runs.iter().map(|&r| u128::from(r * r)).sum::<u128>());
    }

    // Tests RFC 4737, 5.3 (n-reordered).
    // Tests RFC 4737, 5.3 (smaller n).
    // Tests RFC 4737, 5.3 (degree of n-reordering).
    #[test]
    fn n_reordering_is_as_defined(arrivals in any_arrivals(), settings in any_settings()) {
        let s = obvious::judged(&arrivals, &settings).received;
        let got = measured(&arrivals, settings);
        let slow: Vec<(u32, u64)> = (1..=settings.n_max).map(|n| (n, obvious::n_reordered_pkts(&s, n as usize))).collect();
        prop_assert_eq!(&got.n_reordering, &slow);
        for (n, pkts) in slow {
            prop_assert_eq!(got.n_reordered_ratio(n), mean(pkts as f64, s.len()));
        }
        prop_assert_eq!((got.n_reordered_ratio(0), got.n_reordered_ratio(settings.n_max + 1)), (None, None));
    }

    // Tests RFC 5236, 6 (stay-back).
    // Tests RFC 5236, 7.1 (algorithm for RD).
    #[test]
    fn density_is_that_of_the_stay_back_algorithm(arrivals in any_arrivals(), settings in any_settings()) {
        let judged = obvious::judged(&arrivals, &settings);
        prop_assume!(judged.undoubled.iter().all(|&s| s < 1 << 20));
        let threshold = u64::from(settings.density_threshold_pkts);
        let slow = obvious::stay_back(&judged.undoubled, threshold, Discarding::MovesOn);
        let got = measured(&arrivals, settings).density;
        prop_assert_eq!(&got.counts, &slow.counts.iter().map(|(&d, &n)| (d, n)).collect::<Vec<_>>());
        prop_assert_eq!(got.early_beyond_pkts, slow.early_pkts);
        if judged.too_late_pkts == 0 {
            prop_assert_eq!(got.late_beyond_pkts, slow.late_pkts + slow.refused_pkts);
            let all = got.pkts + got.early_beyond_pkts + got.late_beyond_pkts;
            prop_assert_eq!(all, judged.received.len() as u64);
        }
        if slow.late_pkts == 0 {
            prop_assert_eq!(obvious::stay_back(&judged.undoubled, threshold, Discarding::AsInTheRfc), slow);
        }
    }

    // Tests RFC 5236, 3.1 (receive index).
    // Tests RFC 5236, 3.3 (displacement).
    // Tests RFC 5236, 3.6 (reorder density).
    // Tests RFC 5236, 9 (entropy).
    // Tests RFC 5236, 9 (late share).
    // Tests RFC 5236, 9 (mean displacement).
    #[test]
    fn density_with_room_is_that_of_sorted_numbers(arrivals in jittered(150), window in 150u32..500) {
        let settings = Settings { density_threshold_pkts: window, ..Settings::default() };
        let numbers = obvious::judged(&arrivals, &settings).undoubled;
        let got = measured(&arrivals, settings).density;
        prop_assert_eq!(&got.counts, &obvious::histogram(obvious::displacements(&numbers)));
        let sum: f64 = got.counts.iter().map(|c| c.1 as f64 * f64::from(c.0.abs())).sum();
        prop_assert_eq!(got.mean_displacement_pkts(), mean(sum, numbers.len()));
        if !numbers.is_empty() {
            let all: f64 = got.counts.iter().filter_map(|c| got.share_ratio(c.0)).sum();
            prop_assert!((all - 1.0).abs() < 1e-12);
            prop_assert_eq!(got.share_ratio(1000), Some(0.0));
            let entropy: f64 = got.counts.iter().filter_map(|c| got.share_ratio(c.0)).map(|p| -p * p.ln()).sum();
            prop_assert!((got.entropy_nats().unwrap() - entropy).abs() < 1e-12);
            let late: f64 = (3..=40).filter_map(|d| got.share_ratio(d)).sum();
            prop_assert!((got.overtaken_ratio(3).unwrap() - late).abs() < 1e-12);
        }
    }

    #[test]
    fn extreme_settings_break_nothing(arrivals in wild(40), most: bool, first_seq: Option<u64>) {
        let (pkts, window) = if most { (u32::MAX, 1 << 17) } else { (0, 0) };
        let settings = Settings {
            density_threshold_pkts: pkts,
            buffer_threshold_pkts: pkts,
            n_max: pkts,
            loss_window_pkts: window,
            first_seq,
        };
        let got = measured(&arrivals, settings);
        let all = got.received_pkts + got.duplicate_pkts + got.too_late_pkts + got.outside_pkts;
        prop_assert_eq!(all, arrivals.len() as u64);
        prop_assert_eq!(got.n_reordering.len() as u32, pkts.min(Settings::MOST_N));
        prop_assert!(most || got.density.counts.iter().all(|c| c.0 == 0));
        prop_assert!(most || got.buffer_density.counts.iter().all(|c| c.0 == 0));
    }

    #[test]
    fn displacements_of_a_complete_sequence_cancel(delays in vec(0u32..50, 0..200)) {
        let mut keyed: Vec<(u32, u64)> = delays.iter().zip(1..).map(|(&d, s)| (d + s as u32, s)).collect();
        keyed.sort();
        let arrivals: Vec<Arrival> = keyed.iter().map(|k| Arrival::new(k.1)).collect();
        let got = measured(&arrivals, Settings::default());
        prop_assert_eq!(got.density.counts.iter().map(|&(d, n)| i64::from(d) * n as i64).sum::<i64>(), 0);
        prop_assert_eq!((got.density.pkts, got.lost_pkts), (delays.len() as u64, 0));
    }

    // Tests RFC 5236, 3.9 (buffer threshold).
    // Tests RFC 5236, 3.11 (reorder buffer-occupancy density).
    // Tests RFC 5236, 7.2 (algorithm for RBD).
    // Tests RFC 5236, 9 (mean occupancy).
    #[test]
    fn buffer_density_is_that_of_the_algorithm(arrivals in any_arrivals(), settings in any_settings()) {
        let judged = obvious::judged(&arrivals, &settings);
        prop_assume!(judged.undoubled.iter().all(|&s| s < 1 << 20));
        let threshold = settings.buffer_threshold_pkts as usize;
        let held = judged.undoubled.iter().scan(Vec::new(), |seen, &s| {
            let new = !seen.contains(&s);
            seen.push(s);
            Some(new.then_some(s))
        });
        let smallest = held.flatten().take(threshold + 1).min();
        let first_seq = settings.first_seq.or(smallest).unwrap_or(0);
        let (slow, unreached) = obvious::buffer_steps(&judged.undoubled, threshold, first_seq, Overflowing::Stores);
        let got = measured(&arrivals, settings).buffer_density;
        prop_assert_eq!(&got.counts, &obvious::histogram(slow.iter().copied()));
        prop_assert!(got.counts.iter().all(|c| c.0 as usize <= threshold));
        prop_assert_eq!(got.buffer_mean_pkts(), mean(slow.iter().map(|&b| f64::from(b)).sum(), slow.len()));
        if judged.too_late_pkts == 0 {
            prop_assert_eq!(got.pkts + got.late_beyond_pkts, judged.received.len() as u64);
        }
        if unreached == 0 {
            let rfc = obvious::buffer_steps(&judged.undoubled, threshold, first_seq, Overflowing::AsInTheRfc);
            prop_assert_eq!(rfc.0, slow);
        }
        if got.pkts > 0 {
            let all: f64 = got.counts.iter().filter_map(|c| got.share_ratio(c.0)).sum();
            prop_assert!((all - 1.0).abs() < 1e-12);
        }
    }

    // Tests RFC 5236, 3.7 (expected packet).
    // Tests RFC 5236, 3.8 (buffer occupancy).
    #[test]
    fn buffer_with_room_holds_what_is_ahead_of_the_smallest_missing(delays in vec(0u32..50, 0..120)) {
        let mut keyed: Vec<(u32, u64)> = delays.iter().zip(7..).map(|(&d, s)| (d + s as u32, s)).collect();
        keyed.sort();
        let numbers: Vec<u64> = keyed.iter().map(|k| k.1).collect();
        let arrivals: Vec<Arrival> = numbers.iter().map(|&s| Arrival::new(s)).collect();
        let got = measured(&arrivals, Settings::default()).buffer_density;
        prop_assert_eq!(got.counts, obvious::histogram(obvious::occupancies(&numbers, 7)));
    }

    // Tests RFC 4737, 1.2 (on the fly).
    // Tests RFC 5236, 7 (up to date).
    #[test]
    fn looking_in_between_changes_nothing(arrivals in any_arrivals(), settings in any_settings(), cut in 0usize..120) {
        let cut = cut.min(arrivals.len());
        let mut meter = Meter::new(settings);
        feed(&mut meter, &arrivals[..cut]);
        prop_assert_eq!(meter.clone().finish(None), measured(&arrivals[..cut], settings));
        feed(&mut meter, &arrivals[cut..]);
        prop_assert_eq!(meter.finish(None), measured(&arrivals, settings));
    }

    #[test]
    fn a_shift_of_all_numbers_changes_nothing_but_the_numbers(arrivals in jittered(100), settings in any_settings(), shift in 1u64..1 << 60) {
        let settings = Settings { first_seq: None, ..settings };
        let shifted: Vec<Arrival> = arrivals.iter().map(|a| Arrival { seq: a.seq + shift, ..*a }).collect();
        let (plain, got) = (measured(&arrivals, settings), measured(&shifted, settings));
        prop_assert_eq!(got.first_seq, plain.first_seq.map(|s| s + shift));
        prop_assert_eq!(Reordering { first_seq: plain.first_seq, last_seq: plain.last_seq, ..got }, plain);
    }

    #[test]
    fn a_block_that_overtakes_is_measured_exactly(overtaken in 1u64..60, overtaking in 1u64..60, before in 1u64..80, after in 0u64..80) {
        let numbers = (0..before)
            .chain(before + overtaken..before + overtaken + overtaking)
            .chain(before..before + overtaken)
            .chain(before + overtaken + overtaking..before + overtaken + overtaking + after);
        let arrivals: Vec<Arrival> = numbers.map(Arrival::new).collect();
        let got = measured(&arrivals, Settings::default());
        let zero = Some((0, before + after));
        let slow: Vec<(i32, u64)> =
            [Some((-(overtaken as i32), overtaking)), zero, Some((overtaking as i32, overtaken))].into_iter().flatten().collect();
        prop_assert_eq!(got.density.counts, slow);
        let n_reordered = (1..=10).map(|n| (n, u64::from(u64::from(n) <= overtaking))).collect::<Vec<_>>();
        prop_assert_eq!(got.n_reordering, n_reordered);
        let extents: Vec<(u32, u64)> = (0..overtaken).map(|k| ((overtaking + k) as u32, 1)).collect();
        prop_assert_eq!(got.extent.counts, extents);
        prop_assert_eq!((got.gaps.reordering_discontinuities, got.gaps.gaps), (1, 0));
    }
}
