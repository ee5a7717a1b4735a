// SPDX-License-Identifier: Apache-2.0
//! Worked examples from RFC 4737, RFC 5236 and the study `torres2020`, with the numbers that these sources print.

use crate::obvious::{self, Discarding, Overflowing};
use crate::{Arrival, BufferDensity, Density, DensityMeter, Late, Meter, Reordering, Settings, Verdict};

/// The payload of each packet in the tables of RFC 4737.
const LEN_BYTES: u32 = 100;

fn thresholds(pkts: u32) -> Settings {
    Settings { density_threshold_pkts: pkts, buffer_threshold_pkts: pkts, ..Settings::default() }
}

fn measured(numbers: &[u64], settings: Settings) -> Reordering {
    let mut meter = Meter::new(settings);
    for &seq in numbers {
        meter.arrive(Arrival::new(seq));
    }
    meter.finish(None)
}

fn density(numbers: &[u64], threshold_pkts: u32) -> Density {
    measured(numbers, thresholds(threshold_pkts)).density
}

fn buffer(numbers: &[u64], threshold_pkts: u32) -> BufferDensity {
    measured(numbers, thresholds(threshold_pkts)).buffer_density
}

/// Measures the arrivals in a table of RFC 4737. Times of arrival are in ms. Returns the verdicts in order of arrival,
/// and the totals.
fn table(numbers: &[u64], dst_time_ms: Option<&[i64]>) -> (Vec<Verdict>, Reordering) {
    let mut meter = Meter::new(Settings { first_seq: Some(1), ..Settings::default() });
    let t_ns = |i: usize| dst_time_ms.map(|t| t[i] * 1_000_000);
    let arrival = |(i, &seq): (usize, &u64)| Arrival { seq, t_ns: t_ns(i), len_bytes: LEN_BYTES };
    let verdicts = numbers.iter().enumerate().map(arrival).map(|a| meter.arrive(a)).collect();
    (verdicts, meter.finish(Some(numbers.len() as u64)))
}

/// Asserts that the verdicts agree with the table's column NextExp (section 3.3). A packet is reordered exactly if its
/// number is below NextExp.
fn assert_next_exp(numbers: &[u64], next_exp: &[u64], verdicts: &[Verdict]) {
    for ((s, next), verdict) in numbers.iter().zip(next_exp).zip(verdicts) {
        assert_eq!(*verdict == Verdict::InOrder, s >= next, "packet {s}");
    }
}

fn late(extent_pkts: u32, late_ms: i64, offset_bytes: u64, n: u32) -> Verdict {
    Verdict::Reordered(Late { extent_pkts, late_ns: Some(late_ms * 1_000_000), offset_bytes, n })
}

// Tests RFC 4737, 7.1 (table 1).
// Tests RFC 4737, 3 (next expected).
// Tests RFC 4737, 3.2 (parameters).
// Tests RFC 4737, 3.3 (reordered).
// Tests RFC 4737, 4.1.3 (reordered ratio).
// Tests RFC 4737, 4.3.2 (time of arrival).
// Tests RFC 4737, 4.3.3 (late time).
#[test]
fn rfc_4737_table_1() {
    let numbers = [1, 2, 3, 5, 6, 7, 8, 4, 9, 10];
    let (verdicts, whole) = table(&numbers, Some(&[68, 88, 108, 148, 168, 188, 208, 210, 228, 248]));
    assert_next_exp(&numbers, &[1, 2, 3, 4, 6, 7, 8, 9, 9, 10], &verdicts);
    assert_eq!(verdicts[7], late(4, 62, 400, 4));
    assert_eq!((whole.reordered_pkts, whole.reordered_ratio()), (1, Some(0.1)));
    assert_eq!(whole.n_reordering[2..5], [(3, 1), (4, 1), (5, 0)]);
    assert_eq!(whole.late_time.mean_ns(), Some(62e6));
    assert_eq!(whole.byte_offset.mean_bytes(), Some(400.0));
}

// Tests RFC 4737, 7.2 (table 2).
// Tests RFC 4737, 4.5.3 (reordering discontinuity).
#[test]
fn rfc_4737_table_2() {
    let numbers = [1, 2, 3, 4, 7, 5, 6, 8, 9, 10];
    let (verdicts, whole) = table(&numbers, Some(&[68, 88, 108, 128, 188, 189, 190, 208, 228, 248]));
    assert_next_exp(&numbers, &[1, 2, 3, 4, 5, 8, 8, 8, 9, 10], &verdicts);
    assert_eq!(verdicts[5..7], [late(1, 1, 100, 1), late(2, 2, 100, 0)]);
    assert_eq!(whole.gaps.reordering_discontinuities, 1);
    assert_eq!(whole.n_reordering[..2], [(1, 1), (2, 0)]);
}

// Tests RFC 4737, 7.3 (table 3).
// Tests RFC 4737, 4.2.3 (no extent).
// Tests RFC 4737, 4.2.4 (histogram of extents).
#[test]
fn rfc_4737_table_3() {
    let numbers = [1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11];
    let (verdicts, whole) = table(&numbers, Some(&[68, 88, 108, 188, 208, 228, 248, 250, 252, 256, 268]));
    assert_next_exp(&numbers, &[1, 2, 3, 4, 8, 9, 10, 11, 11, 11, 11], &verdicts);
    assert_eq!(verdicts[7..10], [late(4, 62, 400, 4), late(5, 64, 400, 0), late(6, 68, 400, 0)]);
    assert_eq!(whole.extent.counts, [(4, 1), (5, 1), (6, 1)]);
    assert_eq!((whole.extent.mean_pkts(), whole.extent.max_pkts), (Some(5.0), Some(6)));
}

// Tests RFC 4737, 7.4 (table 4).
// Tests RFC 4737, 3.4 (sequence discontinuity).
// Tests RFC 4737, 4.5.4 (gap).
// Tests RFC 4737, 4.5.5 (summary of gaps).
// Tests RFC 4737, 4.6.2 (counters of runs).
#[test]
fn rfc_4737_table_4_gaps_and_runs() {
    let numbers = [1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 12, 13, 11, 14, 15, 16];
    let (verdicts, whole) = table(&numbers, None);
    let extents = verdicts.iter().zip(numbers).filter_map(|(v, s)| match v {
        Verdict::Reordered(late) => Some((s, late.extent_pkts)),
        _ => None,
    });
    assert_eq!(extents.collect::<Vec<_>>(), [(4, 2), (5, 3), (11, 2)]);
    let gaps = whole.gaps;
    assert_eq!((gaps.sequence_discontinuities, gaps.reordering_discontinuities), (2, 2));
    assert_eq!((gaps.gaps, gaps.mean_pkts(), gaps.mean_ns()), (1, Some(7.0), None));
    // r after each packet is: 1 2 3 4 5 0 0 1 2 3 4 5 0 1 2 3
    let runs = whole.runs;
    assert_eq!((runs.pkts, runs.in_order_pkts, runs.runs), (16, 13, 3));
    assert_eq!((runs.squares, runs.last_pkts, runs.max_pkts), (5 * 5 + 5 * 5, 3, 5));
    assert_eq!(whole.late_time.mean_ns(), None);
}

// Tests RFC 4737, 4.6.4 (equal and unequal runs).
// Tests RFC 4737, 4.6.3 (ratios of runs).
#[test]
fn rfc_4737_section_4_6_4_runs() {
    // the sequence consists of n packets in order and one reordered packet, three times
    let three = |runs: [u64; 3]| {
        let mut numbers = Vec::new();
        let mut next = 0;
        for run in runs {
            numbers.extend(next + 1..=next + run);
            numbers.push(next);
            next += run + 1;
        }
        measured(&numbers, Settings::default()).runs
    };
    let even = three([11, 11, 11]);
    assert_eq!((even.pkts, even.runs, even.in_order_pkts, even.squares), (36, 3, 33, 363));
    assert_eq!((even.weighted_mean_pkts(), even.mean_pkts()), (Some(11.0), Some(11.0)));
    assert_eq!((even.variability_ratio(), even.in_order_ratio()), (Some(1.0), Some(33.0 / 36.0)));
    let uneven = three([1, 1, 31]);
    assert_eq!((uneven.pkts, uneven.runs, uneven.in_order_pkts, uneven.squares), (36, 3, 33, 963));
    assert_eq!(format!("{:.2}", uneven.weighted_mean_pkts().unwrap()), "29.18");
    assert_eq!(format!("{:.2}", uneven.variability_ratio().unwrap()), "2.65");
}

// Tests RFC 4737, 5.3 (late block).
// Tests RFC 4737, 5.3 (smaller n).
#[test]
fn rfc_4737_section_5_3_only_the_first_of_a_late_block_is_n_reordered() {
    let numbers = [1, 2, 3, 7, 8, 9, 4, 5, 6];
    let got = measured(&numbers, Settings::default());
    assert_eq!(got.reordered_pkts, 3);
    assert_eq!(got.n_reordering[..4], [(1, 1), (2, 1), (3, 1), (4, 0)]);
}

// Tests RFC 4737, 1 (late packets).
// Tests RFC 5236, 3.8 (occupancy of five packets).
#[test]
fn of_two_early_packets_and_a_late_one_the_late_one_is_reordered_and_the_early_ones_wait() {
    let (verdicts, whole) = table(&[1, 2, 4, 5, 3], None);
    let reordered: Vec<bool> = verdicts.iter().map(|v| *v != Verdict::InOrder).collect();
    assert_eq!(reordered, [false, false, false, false, true]);
    // after each of the five packets, the occupancies of the buffer are 0, 0, 1, 2 and 0
    assert_eq!(buffer(&[1, 2, 4], 200).counts, [(0, 2), (1, 1)]);
    assert_eq!(buffer(&[1, 2, 4, 5], 200).counts, [(0, 2), (1, 1), (2, 1)]);
    assert_eq!(whole.buffer_density.counts, [(0, 3), (1, 1), (2, 1)]);
}

// Tests RFC 4737, 6 (losses alone).
// Tests RFC 5236, 2 (losses).
#[test]
fn a_loss_alone_puts_nothing_out_of_order() {
    let got = measured(&[1, 3, 4, 5, 6], thresholds(4));
    assert_eq!((got.lost_pkts, got.reordered_pkts), (1, 0));
    assert_eq!(got.density.counts, [(0, 5)]);
}

// Tests RFC 4737, 3.6 (duplicates).
// Tests RFC 5236, 2 (duplicates).
#[test]
fn a_duplicate_alone_puts_nothing_out_of_order() {
    let got = measured(&[1, 2, 3, 2, 4, 5], thresholds(4));
    assert_eq!((got.duplicate_pkts, got.reordered_pkts), (1, 0));
    assert_eq!(got.density.counts, [(0, 5)]);
}

// Tests RFC 4737, 5.2 (received packets).
#[test]
fn a_duplicate_is_none_of_the_packets_of_n_reordering() {
    // if section 5.2 counted copies as well, packet 1 would be 2-reordered: one packet of three
    let got = measured(&[2, 2, 1], Settings::default());
    assert_eq!(got.n_reordering[..2], [(1, 1), (2, 0)]);
    assert_eq!(got.n_reordered_ratio(1), Some(0.5));
}

// Tests RFC 4737, 5.3 (monotonic reordering).
#[test]
fn a_sequence_without_1_reordering_is_not_n_reordered_for_any_n() {
    let late = measured(&[1, 3, 2, 4], Settings::default());
    assert_eq!(late.n_reordered_ratio(1), Some(0.25));
    let in_order = measured(&[1, 2, 4, 7], Settings::default());
    assert!((1..=10).all(|n| in_order.n_reordered_ratio(n) == Some(0.0)));
}

// Tests RFC 4737, A (program for both).
#[test]
fn of_a_late_block_of_three_the_programs_of_the_appendix_count_three_and_one() {
    let got = measured(&[1, 2, 3, 7, 8, 4, 5, 6], Settings::default());
    assert_eq!((got.reordered_pkts, got.n_reordering[0]), (3, (1, 1)));
}

// Tests RFC 4737, 5.3 (degree of n-reordering).
// Tests RFC 4737, A (program for n-reordering).
#[test]
fn n_reordering_is_a_share_of_all_received_and_not_of_those_after_the_nth() {
    // by Definition 2 (m / l), the ratio is 1 / 9; by Appendix A (m / (l - n)), it would be 1 / 6
    let got = measured(&[1, 2, 3, 7, 8, 9, 4, 5, 6], Settings::default());
    assert_eq!(got.n_reordered_ratio(3), Some(1.0 / 9.0));
}

// Tests RFC 4737, 3.6 (first packet).
// Tests RFC 4737, 5.3 (n-reordered).
#[test]
fn the_first_packet_is_in_order_and_cannot_be_n_reordered() {
    let (verdicts, whole) = table(&[3, 2, 1], None);
    assert_eq!(verdicts[0], Verdict::InOrder);
    assert_eq!(whole.n_reordering[..3], [(1, 2), (2, 1), (3, 0)]);
}

// Tests RFC 4737, 4.2.3 (extent).
#[test]
fn the_extent_goes_back_to_the_first_that_overtook_and_not_to_the_last() {
    let (verdicts, _) = table(&[1, 5, 3, 6, 7, 2], Some(&[0, 10, 20, 30, 40, 50]));
    assert_eq!(verdicts[5], late(4, 40, 400, 4));
}

// Tests RFC 4737, 4.4.3 (byte offset).
#[test]
fn bytes_below_the_late_packet_do_not_wait_for_it() {
    let (verdicts, _) = table(&[1, 6, 3, 7, 2, 4], Some(&[0, 10, 20, 30, 40, 50]));
    assert_eq!(verdicts[5], late(4, 40, 200, 0));
}

// Tests RFC 4737, 4.5.4 (gap).
#[test]
fn gaps_are_in_order_of_position_whenever_they_were_found() {
    let gaps = measured(&[1, 4, 7, 6, 2], Settings::default()).gaps;
    assert_eq!((gaps.reordering_discontinuities, gaps.gaps, gaps.mean_pkts()), (2, 1, Some(1.0)));
}

// Tests RFC 5236, 3.1 (examples 1 and 2).
// Tests RFC 5236, 3.1 (receive index).
// Tests RFC 5236, 3.3 (example 3).
// Tests RFC 5236, 3.3 (displacement).
// Tests RFC 5236, 3 (early and late).
#[test]
fn rfc_5236_section_3_displacements() {
    // the receive indices are 1 2 3 4 5
    assert_eq!(density(&[2, 1, 4, 5, 3], 5).counts, [(-1, 3), (1, 1), (2, 1)]);
    // 2 is lost and 3 arrives twice; the receive indices are 1 3 4 5 -
    let got = measured(&[1, 4, 3, 5, 3], thresholds(4));
    assert_eq!(got.density.counts, [(-1, 1), (0, 2), (1, 1)]);
    assert_eq!((got.lost_pkts, got.duplicate_pkts), (1, 1));
    // the receive indices are 1 3 4 5 - 6 7 8, and the displacements 0 -1 1 0 - -2 0 2
    let got = density(&[1, 4, 3, 5, 3, 8, 7, 6], 4);
    assert_eq!(got.counts, [(-2, 1), (-1, 1), (0, 3), (1, 1), (2, 1)]);
}

// Tests RFC 5236, 4 (examples 4 and 5).
// Tests RFC 5236, 4 (reorder set).
#[test]
fn rfc_5236_section_4_events() {
    assert_eq!(density(&[1, 2, 3, 5, 4, 6], 4).counts, [(-1, 1), (0, 4), (1, 1)]);
    // 4 is lost and 2 arrives twice; the receive indices are 1 2 3 5 6 -, so the displacements are 0 0 -2 2 0 -
    let got = measured(&[1, 2, 5, 3, 6, 2], thresholds(4));
    assert_eq!(got.density.counts, [(-2, 1), (0, 3), (2, 1)]);
    assert_eq!((got.lost_pkts, got.duplicate_pkts), (1, 1));
}

// Tests RFC 5236, 8 (example a).
// Tests RFC 5236, 3.2 (out of order).
// Tests RFC 5236, 3.5 (displacement frequency).
// Tests RFC 5236, 4 (density of the reorder set).
// Tests RFC 5236, 9 (mean occupancy).
#[test]
fn rfc_5236_section_8_a() {
    let numbers = [1, 4, 2, 5, 3, 6, 7, 8];
    let got = measured(&numbers, thresholds(4));
    assert_eq!(got.density.counts, [(-2, 1), (-1, 1), (0, 4), (1, 1), (2, 1)]);
    assert_eq!((got.density.share_ratio(0), got.density.share_ratio(2)), (Some(0.5), Some(0.125)));
    let (occupancies, _) = obvious::buffer_steps(&numbers, 4, 1, Overflowing::AsInTheRfc);
    assert_eq!(occupancies, [0, 1, 1, 2, 0, 0, 0, 0]);
    assert_eq!(got.buffer_density.counts, [(0, 5), (1, 2), (2, 1)]);
    assert_eq!(got.buffer_density.share_ratio(0), Some(0.625));
    assert_eq!(got.buffer_density.buffer_mean_pkts(), Some(0.5));
}

// Tests RFC 5236, 8 (example b).
// Tests RFC 5236, 3.10 (buffer-occupancy frequency).
// Tests RFC 5236, 6 (lost in RBD).
#[test]
fn rfc_5236_section_8_b_a_lost_packet_shows_in_the_buffer_alone() {
    let numbers = [1, 2, 4, 5, 6, 7];
    let got = measured(&numbers, thresholds(3));
    assert_eq!(got.density.counts, [(0, 6)]);
    assert_eq!((got.density.share_ratio(0), got.density.share_ratio(1)), (Some(1.0), Some(0.0)));
    // In the last column of Table 6, E = 7 is the value after the arrival. In all other columns, E is the value before
    // the arrival. In the last column, the value before the arrival would be 3. When 7 arrives, the buffer is full, so
    // 3 is given up, and 4 to 6 leave the buffer.
    let (occupancies, _) = obvious::buffer_steps(&numbers, 3, 1, Overflowing::AsInTheRfc);
    assert_eq!(occupancies, [0, 0, 1, 2, 3, 0]);
    assert_eq!(got.buffer_density.counts, [(0, 3), (1, 1), (2, 1), (3, 1)]);
    assert_eq!(got.lost_pkts, 1);
}

// Tests RFC 5236, 8 (example c).
// Tests RFC 5236, 6 (duplicate).
#[test]
fn rfc_5236_section_8_c_a_duplicate_shows_nowhere() {
    let got = measured(&[1, 3, 2, 3, 4, 5], thresholds(2));
    assert_eq!(got.density.counts, [(-1, 1), (0, 3), (1, 1)]);
    assert_eq!(got.density.share_ratio(0), Some(0.6));
    assert_eq!(got.buffer_density.counts, [(0, 4), (1, 1)]);
    assert_eq!(got.buffer_density.share_ratio(1), Some(0.2));
    assert_eq!(got.duplicate_pkts, 1);
}

// Tests RFC 5236, 1 (one early packet).
#[test]
fn rfc_5236_section_1_one_early_packet() {
    let numbers: Vec<u64> = [1, 20].into_iter().chain(2..=19).chain([21, 22]).collect();
    assert_eq!(density(&numbers, 20).counts, [(-18, 1), (0, 3), (1, 18)]);
}

// Tests RFC 5236, 6 (rogue packet).
#[test]
fn rfc_5236_section_6_a_foreign_number_does_no_harm() {
    let numbers: Vec<u64> = [1, 5430].into_iter().chain(2..=100).collect();
    for threshold_pkts in [1, 5, 98, 99, 1000, 5427] {
        let got = density(&numbers, threshold_pkts);
        assert_eq!((got.counts, got.early_beyond_pkts), (vec![(0, 100)], 1), "D_T = {threshold_pkts}");
    }
}

// Tests RFC 5236, 9 (entropy).
// Tests RFC 5236, 9 (late share).
// Tests RFC 5236, 9 (mean displacement).
#[test]
fn torres2020_tables_1_and_2() {
    let got = density(&[1, 6, 7, 2, 3, 4, 5, 8], 200);
    assert_eq!(got.counts, [(-4, 2), (0, 2), (2, 4)]);
    let shares = [-4, 0, 2].map(|d| got.share_ratio(d).unwrap());
    assert_eq!(shares, [0.25, 0.25, 0.5]);
    assert_eq!(got.mean_displacement_pkts(), Some(2.0));
    assert_eq!(format!("{:.6}", got.entropy_nats().unwrap()), "1.039721");
    assert_eq!((got.overtaken_ratio(2), got.overtaken_ratio(3)), (Some(0.5), Some(0.0)));
}

// Tests RFC 5236, 3.7 (expected packet).
// Tests RFC 5236, 7 (numbers from 1).
#[test]
fn the_first_number_is_the_smallest_though_it_comes_late() {
    let got = measured(&[6, 1, 2, 3, 4, 5], thresholds(4));
    assert_eq!((got.first_seq, got.lost_pkts, got.reordered_pkts), (Some(1), 0, 5));
    assert_eq!(got.buffer_density.counts, [(0, 1), (1, 5)]);
    // with 0 as the first number, packet 0 is lost, and the buffer waits for it until the buffer is full
    let got = measured(&[6, 1, 2, 3, 4, 5], Settings { first_seq: Some(0), ..thresholds(4) });
    assert_eq!((got.first_seq, got.lost_pkts), (Some(0), 1));
    assert_eq!(got.buffer_density.counts, [(0, 1), (1, 2), (2, 1), (3, 1), (4, 1)]);
}

#[test]
fn a_packet_below_the_first_number_is_none_of_the_sequence() {
    let (verdicts, whole) = table(&[1, 0, 2, u64::MAX], None);
    assert_eq!(verdicts[1..], [Verdict::Outside, Verdict::InOrder, Verdict::Outside]);
    assert_eq!((whole.outside_pkts, whole.received_pkts, whole.reordered_pkts), (2, 2, 0));
}

// Tests RFC 4737, 4.1.2 (waiting time).
// Tests RFC 4737, 6 (sliding window).
#[test]
fn a_packet_beyond_the_loss_window_is_lost() {
    let settings = Settings { loss_window_pkts: 3, ..thresholds(10) };
    let got = measured(&[1, 2, 6, 3, 7, 4, 5, 3], settings);
    // Packet 3 first arrives when the largest number is 6. Packet 4 arrives when the largest number is 7. Both packets
    // are within the loss window of 3 packets, so both are counted. When packet 3 arrives again, its number is smaller
    // than the largest number by 4. This copy is therefore too late, and is not recognised as a copy.
    assert_eq!((got.received_pkts, got.too_late_pkts, got.duplicate_pkts), (7, 1, 0));
    let got = measured(&[1, 2, 6, 7, 3, 4, 5], settings);
    assert_eq!((got.received_pkts, got.too_late_pkts, got.lost_pkts, got.reordered_pkts), (6, 1, 1, 2));
    // the density of RFC 5236 has its own threshold. By this threshold, the packet beyond the loss window is not too
    // late. The density therefore counts 7 packets
    assert_eq!(got.density.pkts, 7);
}

#[test]
fn an_empty_sequence_has_counts_and_no_shares() {
    let got = Meter::new(Settings::default()).finish(Some(3));
    assert_eq!((got.received_pkts, got.lost_pkts, got.first_seq), (0, 3, None));
    assert_eq!((got.reordered_ratio(), got.n_reordered_ratio(1)), (None, None));
    assert_eq!((got.density.entropy_nats(), got.density.mean_displacement_pkts()), (None, None));
    assert_eq!((got.density.share_ratio(0), got.density.overtaken_ratio(1)), (None, None));
    assert_eq!((got.buffer_density.share_ratio(0), got.buffer_density.buffer_mean_pkts()), (None, None));
    assert_eq!((got.runs.in_order_ratio(), got.runs.variability_ratio()), (None, None));
    assert_eq!((got.extent.mean_pkts(), got.gaps.mean_pkts()), (None, None));
}

#[test]
fn a_sequence_in_order_has_an_entropy_of_plain_zero() {
    let entropy_nats = density(&[1, 2, 3], 3).entropy_nats().unwrap();
    assert!(entropy_nats == 0.0 && entropy_nats.is_sign_positive());
}

// Tests RFC 5236, 7.1 (algorithm for RD).
#[test]
fn a_late_packet_beyond_the_threshold_shifts_none_of_those_after_it() {
    // Packet 2 is lost; when packet 1 arrives after 3 and 4, the receive index is 4, so packet 1 is late by 3
    let numbers: Vec<u64> = [3, 4, 1].into_iter().chain(5..=50).collect();
    let got = density(&numbers, 2);
    assert_eq!(got.counts, [(-2, 1), (-1, 1), (0, 46)]);
    assert_eq!(got.late_beyond_pkts, 1);
    // after the late packet 1, the RFC's program counts each packet as early
    let rfc = obvious::stay_back(&numbers, 2, Discarding::AsInTheRfc);
    assert_eq!(rfc.counts.into_iter().collect::<Vec<_>>(), [(-2, 1), (-1, 47)]);
}

// Tests RFC 5236, 7.1 (algorithm for RD).
#[test]
fn a_threshold_within_the_jitter_does_not_bring_the_receive_index_to_a_halt() {
    // the jitter is up to 8 packets, in a pattern without a short period
    let mut keyed: Vec<(u64, u64)> = (1..=2000).map(|s| (10 * s + s * s * 7919 % 83, s)).collect();
    keyed.sort_unstable();
    let numbers: Vec<u64> = keyed.into_iter().map(|k| k.1).collect();
    let rfc = obvious::stay_back(&numbers, 2, Discarding::AsInTheRfc);
    assert!(rfc.counts.values().sum::<u64>() < 200, "{rfc:?}");
    assert!(density(&numbers, 2).pkts > 1400);
    // if the threshold is larger than the jitter, the RFC's program gives the same density as `density`
    let rfc = obvious::stay_back(&numbers, 9, Discarding::AsInTheRfc);
    assert_eq!(rfc.counts.into_iter().collect::<Vec<_>>(), density(&numbers, 9).counts);
}

// Tests RFC 5236, 3.4 (displacement threshold).
// Tests RFC 5236, 6 (lost in RD).
#[test]
fn a_packet_late_by_the_threshold_counts_and_by_one_more_is_lost() {
    let numbers = [2, 3, 4, 1, 5, 6, 7, 8];
    assert_eq!(density(&numbers, 3).counts, [(-1, 3), (0, 4), (3, 1)]);
    let got = density(&numbers, 2);
    assert_eq!((got.counts, got.late_beyond_pkts), (vec![(0, 7)], 1));
}

// Tests RFC 5236, 6 (stay-back).
#[test]
fn the_last_packets_are_measured_when_the_sequence_ends() {
    assert_eq!(density(&[1, 2, 4, 3], 200).counts, [(-1, 1), (0, 2), (1, 1)]);
    // the sequence ends before 3 arrives, so 3 is lost and 4 is in order
    assert_eq!(density(&[1, 2, 4], 200).counts, [(0, 3)]);
}

// Tests RFC 5236, 3.9 (buffer threshold).
// Tests RFC 5236, 7.2 (algorithm for RBD).
#[test]
fn an_early_packet_that_the_full_buffer_does_not_reach_is_stored() {
    // here, the RFC's program drops packet 5, so the occupancies are 0 1 0
    let (rfc, unreached) = obvious::buffer_steps(&[1, 3, 5], 1, 1, Overflowing::AsInTheRfc);
    assert_eq!((rfc, unreached), (vec![0, 1, 0], 1));
    assert_eq!(buffer(&[1, 3, 5], 1).counts, [(0, 1), (1, 2)]);
    // when 4 arrives, the stored packet 5 is released, and is not counted as late
    assert_eq!(buffer(&[1, 3, 5, 4, 6], 1).counts, [(0, 3), (1, 2)]);
}

#[test]
fn density_alone_refuses_what_it_has_seen() {
    let mut meter = DensityMeter::new(2);
    let taken: Vec<bool> = [1, 3, 2, 3, 1, 4].into_iter().map(|s| meter.arrive(s)).collect();
    assert_eq!(taken, [true, true, true, false, false, true]);
    assert_eq!(meter.finish().counts, [(-1, 1), (0, 2), (1, 1)]);
}
