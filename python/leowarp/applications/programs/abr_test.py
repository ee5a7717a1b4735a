# SPDX-License-Identifier: Apache-2.0
"""Tests of the thresholds at which the rules change the bit rate."""

import pytest

from .abr import Bola, ByThroughput, Dynamic, Throughput, rule_of

LADDER_BPS = (1_000_000, 2_500_000, 5_000_000)


def test_throughput_is_the_mean_of_the_last_four_segments():
    throughput = Throughput()
    assert throughput.mean_bps() is None
    for length in (100, 1000, 2000, 3000, 4000):
        throughput.add(length, 8_000_000)
    assert throughput.mean_bps() == 2_500_000.0


def test_by_throughput_the_highest_below_nine_tenths_is_taken():
    rule = ByThroughput(LADDER_BPS)
    assert [rule.choose(0, bps) for bps in (None, 100, 2.77e6, 2.78e6, 5.55e6, 5.56e6, 1e9)] == [0, 0, 0, 1, 1, 2, 2]


def test_bola_takes_the_lowest_up_to_ten_seconds_and_the_highest_from_the_target_on():
    # The documentation of dash.js shows this example: 1, 2.5 and 5 Mbit/s with 18 s of buffer. At 18 s, BOLA must use
    # the highest bit rate.
    rule = Bola(LADDER_BPS, 18)
    places = [rule.choose(buffer_s, None) for buffer_s in (0, 9.9, 18, 30)]
    assert places == [0, 0, 2, 2]
    rising = [rule.choose(tenth / 10, None) for tenth in range(0, 300)]
    assert rising == sorted(rising)
    assert set(rising) == {0, 1, 2}


def test_bola_of_a_single_bit_rate_takes_it():
    assert [Bola((5,), 30).choose(buffer_s, None) for buffer_s in (0, 50)] == [0, 0]


def test_dynamic_begins_by_throughput_goes_over_to_the_buffer_and_comes_back():
    rule = Dynamic(LADDER_BPS, 18)
    assert rule.choose(0, 1e7) == 2, "an empty buffer says nothing yet"
    assert rule.choose(12, 1e7) == 2, "BOLA would choose less"
    assert rule.choose(20, 1e6) == 2, "BOLA chooses more, and 10 s are there"
    assert rule.choose(15, 1e6) == Bola(LADDER_BPS, 18).choose(15, None) > 0, "it stays, whatever the throughput"
    assert rule.choose(5, 2.8e6) == 1, "less than 10 s, and BOLA would choose less"


def test_a_rule_is_known_by_its_name():
    assert rule_of("fixed:1", LADDER_BPS, 30).choose(0, None) == 1
    assert isinstance(rule_of("dynamic", LADDER_BPS, 30), Dynamic)
    for wrong in ("fixed:3", "fixed", "best", "bola:1"):
        with pytest.raises(ValueError, match=f"there is no rule {wrong}"):
            rule_of(wrong, LADDER_BPS, 30)
