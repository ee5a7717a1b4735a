# SPDX-License-Identifier: Apache-2.0
"""Tests HARQ against closed forms on steady channels. On fading channels, HARQ is compared with a slow and simple
implementation. In addition, two extreme cases of fading give bounds. The loss ratio must be between these bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel.harq import (
    CODE_RATES,
    KINDS,
    RATIOS_BY_RATE,
    RULES,
    Harq,
    levels_known,
    outcomes,
)
from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series, unfaded
from leowarp.timeline.channel.loo import mixture_share_below
from leowarp.timeline.channel.mutual_information import quadrature, snr_for
from leowarp.timeline.channel.realisation import channel_rows

MS, SECOND = 1_000_000, 1_000_000_000


def steady(level_db, duration_ns=SECOND):
    return PowerSeries(duration_ns, np.full(2, level_db, np.float32), np.zeros(2, np.int8), ("steady",), True)


def starts(count, harq, step=1):
    return np.arange(count, dtype=np.int64) * harq.codeword_period_ns * step


def test_a_codeword_is_one_packet_of_1115_bytes_every_223_us_at_40_mbit_per_second():
    harq = Harq()
    assert harq.data_bits == 8 * 1115
    assert harq.codeword_period_ns == 223_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_without_fading_everything_arrives_after_10_ms(kind, rule):
    for snr_db in (7.0, 10.0, 13.0, 40.0):
        for threshold in ("constant", "by-rate"):
            harq = Harq(kind=kind, rule=rule, threshold_kind=threshold)
            codewords = outcomes(unfaded(SECOND), snr_db, harq, starts(1000, harq))
            assert codewords.loss_ratio == 0
            assert set(codewords.delay_ns.tolist()) == {10 * MS}
            assert codewords.decoded_shares(3) == [1, 0, 0, 0]


def test_without_fading_the_first_transmission_has_just_the_bits_that_decode():
    harq = Harq()
    for snr_db in (0.0, 7.0):
        codewords = outcomes(unfaded(SECOND), snr_db, harq, starts(1, harq))
        bit = float(quadrature("qpsk", 10 ** (snr_db / 10))) / 2
        assert codewords.first_bits == pytest.approx(1.15 * 8920 / bit, abs=3)


@pytest.mark.parametrize(("level_db", "again", "lost"), [(0, 0, False), (-5, 1, False), (-7, 2, False), (-20, 3, True)])
def test_on_a_steady_channel_equal_parts_add_up(level_db, again, lost):
    harq = Harq(rule="equal")
    # Each of the codeword's four equal parts delivers 13,380 bits times the information per bit. The codeword can be
    # decoded when the sum reaches 1.15 x 8,920.
    part = 13_380 * float(quadrature("qpsk", 10 ** ((4.0 + level_db) / 10))) / 2
    assert min(4, math.ceil(1.15 * 8920 / part)) - 1 == again
    codewords = outcomes(steady(level_db), 4.0, harq, starts(10, harq))
    assert set(codewords.retransmissions.tolist()) == {again}
    assert set(codewords.lost.tolist()) == {lost}
    assert set(codewords.delay_ns.tolist()) == {(10 + 20 * again) * MS}
    assert set(codewords.sent_bits.tolist()) == {13_380 * (again + 1)}


def test_on_a_steady_channel_chase_combining_adds_up_ratios():
    harq = Harq(kind="chase", first_bits=12_000)
    for level_db in (-3.0, -6.0, -8.0, -12.0):
        ratio = 10 ** ((5.0 + level_db) / 10)
        needed = [n for n in range(1, 5) if 6000 * float(quadrature("qpsk", n * ratio)) >= 1.15 * 8920]
        codewords = outcomes(steady(level_db), 5.0, harq, starts(3, harq))
        assert codewords.retransmissions.tolist() == [(needed[0] if needed else 4) - 1] * 3
        assert codewords.lost.tolist() == [not needed] * 3
        assert codewords.sent_bits.tolist() == [12_000 * (int(codewords.retransmissions[0]) + 1)] * 3


def test_at_minus_40_db_everything_is_lost():
    for kind in KINDS:
        for rule in RULES:
            harq = Harq(kind=kind, rule=rule)
            _, codewords = channel_rows(LandMobile(), harq, -40.0, SECOND // 4, 1)
            assert codewords.loss_ratio == 1
            assert codewords.decoded_shares(3) == [0, 0, 0, 0]
            assert (codewords.sent_bits <= 4 * harq.codeword_bits).all()
            assert (codewords.delay_ns <= 70 * MS).all()
    with pytest.raises(ScenarioError, match="signal-to-noise ratio of nan"):
        outcomes(unfaded(SECOND), math.nan, Harq(), starts(1, Harq()))


def one_by_one(power, snr_db, harq, start_ns, levels):
    """Simulate the protocol step by step for one codeword. Return (retransmissions, lost, bits sent)."""
    symbol_ns = harq.codeword_period_ns / (harq.first_transmission_bits(snr_db, levels) / 2)
    got = sent = 0.0
    energies = []
    bits = harq.first_transmission_bits(snr_db, levels)
    for attempt in range(harq.retransmissions + 1):
        begin = start_ns + attempt * harq.retransmission_delay_ns
        at = begin + (np.arange(400) + 0.5) / 400 * bits / 2 * symbol_ns
        grid = np.arange(len(power.level_db)) * power.spacing_ns
        ratios = 10 ** ((power.level_db.astype(float) + snr_db) / 10)
        energies.append(float(np.interp(at, grid, ratios).mean()))
        k = int(begin // power.spacing_ns)
        near = slice(k, k + int(bits / 2 * symbol_ns // power.spacing_ns) + 3)
        sent += bits
        if harq.kind == "chase":
            got = bits / 2 * float(quadrature("qpsk", sum(energies)))
        else:
            information = quadrature("qpsk", ratios[near]) / 2
            got += bits * float(np.interp(at, grid[near], information).mean())
        ratio = harq.threshold_ratio
        if harq.threshold_kind == "by-rate":
            ratio = float(np.interp(8920 / (bits if harq.kind == "chase" else sent), CODE_RATES, RATIOS_BY_RATE))
        if got >= ratio * 8920:
            return attempt, False, sent
        if harq.kind == "chase":
            continue
        left = harq.codeword_bits - sent
        if attempt == harq.retransmissions or left <= 0:
            return attempt, True, sent
        if harq.last_sends_rest and attempt + 1 == harq.retransmissions:
            bits = left
            continue
        if harq.rule == "equal":
            bits = min(left, harq.codeword_bits / 4)
            continue
        seen_db = 10 * math.log10(energies[-1]) - snr_db
        expected_db = {
            "received": seen_db,
            "predicted": float(np.interp(seen_db, levels.seen_db, levels.next_db)),
            "statistics": levels.again_db,
        }[harq.rule]
        needed = harq.threshold_ratio if harq.threshold_kind == "constant" else max(RATIOS_BY_RATE)
        bit = float(quadrature("qpsk", 10 ** ((snr_db + expected_db) / 10))) / 2
        bits = min(left, 2 * math.ceil((needed * 8920 - got) / bit / 2))
    return harq.retransmissions, True, sent


@pytest.mark.slow
@settings(max_examples=12)
@given(
    kind=st.sampled_from(KINDS),
    rule=st.sampled_from(RULES),
    threshold=st.sampled_from(("constant", "by-rate")),
    last_sends_rest=st.booleans(),
    snr_db=st.floats(2, 13),
    seed=st.integers(0, 100),
)
def test_many_codewords_at_once_are_as_one_by_one(kind, rule, threshold, last_sends_rest, snr_db, seed):
    harq = Harq(kind=kind, rule=rule, threshold_kind=threshold, last_sends_rest=last_sends_rest)
    channel = LandMobile(speed_m_per_s=25.0)
    levels = levels_known(channel, harq)
    power = power_series(channel, 3 * SECOND, seed)
    begins = np.arange(12, dtype=np.int64) * 231_234_567
    codewords = outcomes(power, snr_db, harq, begins, levels)
    differ = 0
    for index, begin in enumerate(begins.tolist()):
        again, lost, sent = one_by_one(power, snr_db, harq, begin, levels)
        same = (again, lost) == (codewords.retransmissions[index], codewords.lost[index])
        # The interpolated integrals and tables have errors of up to 1e-4, so about one codeword in thousands has
        # another outcome.
        differ += not (same and sent == pytest.approx(int(codewords.sent_bits[index]), rel=2e-3))
    assert differ <= 1


BANDS = {7.0: (0.025, 0.157), 10.0: (0.083**2, 0.083), 13.0: (0.0018, 0.042)}
"""The bounds on the loss ratio by Es/N0 in dB, in the environment "intermediate tree shadowing" at 40 degrees. The
upper bound assumes that a single fade covers all transmissions of a codeword. For the lower bound, the whole codeword
is sent twice, in two independent fades. The codeword is lost only if both attempts fail. The lower bound is therefore
the square of the upper bound. The values are from an independent Monte Carlo simulation of Loo's mixture, with QPSK and
the threshold 1.15. Real fading during the 60 ms of a codeword gives a loss ratio between the two bounds."""


def test_the_upper_band_is_the_share_of_time_in_which_a_whole_codeword_is_too_little():
    model = LandMobile().model()
    needed_db = 10 * math.log10(snr_for("qpsk", 2 * 1.15 / 6))
    for snr_db, (_, high) in BANDS.items():
        share = float(mixture_share_below(model.environment.states, model.way_shares, needed_db - snr_db))
        # The result of the independent Monte Carlo simulation has two digits.
        assert share == pytest.approx(high, abs=1.5e-3)


@pytest.fixture(scope="module")
def found_by_snr():
    """Return the outcomes of every 50th codeword in two series of 600 s each."""
    harq = Harq()
    levels = levels_known(LandMobile(), harq)
    by_snr = {}
    powers = [power_series(LandMobile(), 600 * SECOND + harq.longest_ns, seed) for seed in (1, 2)]
    for snr_db in BANDS:
        by_snr[snr_db] = [outcomes(power, snr_db, harq, starts(53_800, harq, 50), levels) for power in powers]
    return by_snr


@pytest.mark.slow
@pytest.mark.parametrize("snr_db", BANDS)
def test_residual_loss_lies_between_one_fade_and_two(found_by_snr, snr_db):
    low, high = BANDS[snr_db]
    assert low < np.mean([codewords.loss_ratio for codewords in found_by_snr[snr_db]]) < high


def test_shares_of_retransmissions_and_losses_are_everything(found_by_snr):
    for runs in found_by_snr.values():
        for codewords in runs:
            shares = codewords.decoded_shares(3)
            assert sum(shares) + codewords.loss_ratio == pytest.approx(1)
            assert min(shares) > 0
            # The first transmission has as many bits as the target probability requires. The share differs from the
            # target only because of slopes between states and the random numbers of one run.
            assert shares[0] == pytest.approx(0.5, abs=0.06)
            assert codewords.symbols_ratio > 1
    losses = [np.mean([codewords.loss_ratio for codewords in found_by_snr[snr_db]]) for snr_db in sorted(BANDS)]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.4, 0.6])
def test_a_prediction_meets_its_target_where_bits_are_left(target):
    # The terminal is fast, so that in 400 s the channel stays in each state many times.
    harq = Harq(rule="predicted", target_ratio=target)
    channel = LandMobile(speed_m_per_s=50.0, samples_per_wavelength=8)
    power = power_series(channel, 400 * SECOND, 1)
    codewords = outcomes(power, 13.0, harq, starts(40_000, harq, 44), levels_known(channel, harq))
    shares = codewords.decoded_shares(3)
    assert shares[1] / (1 - shares[0]) == pytest.approx(target, abs=0.04)


@pytest.mark.slow
def test_a_slower_terminal_loses_more_because_its_transmissions_meet_the_same_fade():
    losses = []
    for speed in (0.3, 20.0):
        harq = Harq()
        channel = LandMobile(speed_m_per_s=speed, samples_per_wavelength=8)
        # Both series cover the same distance, so that both contain the same states.
        duration = round(4000 / speed * SECOND)
        count = 40_000
        begins = np.linspace(0, duration, count).astype(np.int64)
        power = power_series(channel, duration + harq.longest_ns, 1)
        losses.append(outcomes(power, 10.0, harq, begins, levels_known(channel, harq)).loss_ratio)
    assert losses[0] > 2 * losses[1]


def test_rows_give_every_codewords_outcome_back_and_neighbours_differ():
    harq = Harq()
    rows, codewords = channel_rows(LandMobile(), harq, 9.0, 5 * SECOND, 3)
    begins = starts(len(codewords.lost), harq)
    assert begins[-1] < 5 * SECOND <= begins[-1] + harq.codeword_period_ns
    at = np.searchsorted(rows.t_ns, begins, side="right") - 1
    assert np.array_equal(rows.delay_ns[at], codewords.delay_ns)
    assert np.array_equal(rows.loss_ratio[at], codewords.lost.astype(float))
    assert rows.t_ns[0] == 0
    assert (rows.t_ns % harq.codeword_period_ns == 0).all()
    changed = (np.diff(rows.delay_ns) != 0) | (np.diff(rows.loss_ratio) != 0)
    assert changed.all()
    assert set(rows.loss_ratio.tolist()) <= {0.0, 1.0}
    assert set(rows.delay_ns.tolist()) <= {10 * MS, 30 * MS, 50 * MS, 70 * MS}


def test_without_a_channel_there_is_one_row_and_a_run_shorter_than_a_codeword_has_one_too():
    rows, _ = channel_rows(None, Harq(), 7.0, SECOND, 1)
    assert (rows.t_ns.tolist(), rows.delay_ns.tolist(), rows.loss_ratio.tolist()) == ([0], [10 * MS], [0.0])
    assert len(channel_rows(LandMobile(), Harq(), 7.0, 1000, 1)[0].t_ns) == 1


def test_chunks_change_nothing(monkeypatch):
    from leowarp.timeline.channel import harq as module

    whole = channel_rows(LandMobile(), Harq(), 9.0, SECOND, 3)[1]
    monkeypatch.setattr(module, "CHUNK_CODEWORDS", 1000)
    cut = channel_rows(LandMobile(), Harq(), 9.0, SECOND, 3)[1]
    assert np.array_equal(whole.retransmissions, cut.retransmissions)
    assert np.array_equal(whole.lost, cut.lost)


def test_more_codewords_than_memory_holds_are_refused_before_they_are_made():
    with pytest.raises(ScenarioError, match=r"300,000,000 codewords of 8 data bits in 60 s"):
        channel_rows(None, Harq(data_bits=8, codeword_bits=8), 7.0, 60 * SECOND, 1)


def test_a_power_series_that_ends_too_early_is_a_fault_of_the_caller():
    harq = Harq()
    with pytest.raises(ValueError, match="in a power series of"):
        outcomes(unfaded(50 * MS), 7.0, harq, starts(10, harq))
    assert len(outcomes(unfaded(SECOND), 7.0, harq, np.zeros(0, np.int64)).lost) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "type II"}, "kind = 'type II'"),
        ({"modulation": "64qam"}, "bpsk, qpsk, 8psk, 16qam"),
        ({"data_bits": 60_000}, "60000 data bits in a codeword of 53520"),
        ({"data_bits": 8919}, "no whole number of bytes"),
        ({"rate_bps": 0}, "rate of 0"),
        ({"retransmissions": -1}, "-1 retransmissions"),
        ({"first_delay_ns": -1}, "delay below 0"),
        ({"threshold_ratio": 0.9}, "no code decodes"),
        ({"target_ratio": 1.0}, "target_ratio = 1.0"),
        ({"first_bits": 8000}, "first_bits = 8000"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ScenarioError, match=message):
        Harq(**wrong)
