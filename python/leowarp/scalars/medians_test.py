# SPDX-License-Identifier: Apache-2.0
"""Compares the confidence intervals of medians with published tables, and with an enumeration of all cases."""

import itertools

import pytest

from leowarp.scalars.medians import compared_groups, coverage_ratio, median_interval, order_interval, sentence
from leowarp.scalars.overview import Section


@pytest.mark.parametrize(
    ("count", "place", "probability"),
    # J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, table A.1 (median, 95 %).
    [(6, 1, 0.969), (8, 1, 0.992), (9, 2, 0.961), (10, 2, 0.979), (12, 3, 0.961), (20, 6, 0.959), (30, 10, 0.957)],
)
def test_places_are_those_of_the_published_table(count, place, probability):
    found = order_interval(count)
    assert found[0] == place
    assert found[1] == pytest.approx(probability, abs=6e-4)


def test_probabilities_are_those_of_counting_all_outcomes():
    for count in range(2, 11):
        place, probability = order_interval(count)
        # Each value is below the distribution's median with probability 1/2. The interval contains the median if x(j)
        # is below the median and x(n+1-j) is not below it.
        held = sum(place <= sum(below) <= count - place for below in itertools.product((0, 1), repeat=count))
        assert probability == held / 2**count


def test_coverage_is_the_binomials():
    # The expected coverages are 1 - 2 (C(20,0) + ... + C(20,5)) / 2^20 and 1 - 2 / 2^6, as in textbook tables.
    assert coverage_ratio(20, 6) == pytest.approx(0.9586, abs=1e-4)
    assert coverage_ratio(20, 7) == pytest.approx(0.8847, abs=1e-4)
    assert coverage_ratio(6, 1) == pytest.approx(0.96875)


@pytest.mark.slow
def test_thousands_of_values_have_an_interval():
    # For such a large sample, the binomial distribution is nearly normal. j is then n/2 minus 1.96 standard deviations,
    # each of sqrt(n)/2.
    place, probability = order_interval(4000)
    assert place == pytest.approx(2000 - 1.96 * 4000**0.5 / 2, abs=2)
    assert probability == pytest.approx(0.95, abs=2e-3)


def test_five_runs_have_the_whole_range_and_what_it_is_worth():
    assert order_interval(5) == (1, 0.9375)
    found = median_interval([5, 1, 4, 2, 3])
    assert (found.median, found.low, found.high) == (3, 1, 5)
    assert "93.8 %" in sentence([5])


@pytest.mark.parametrize(("count", "place"), [(30, "10th"), (36, "12th"), (57, "21st"), (59, "22nd"), (62, "23rd")])
def test_the_sentence_names_places_by_their_ordinals(count, place):
    assert f"from the {place} smallest to the {place} largest value" in sentence([count])


def test_of_an_even_number_the_median_is_the_middle_of_two():
    assert median_interval([1, 2, 4, 8]).median == 3


def summary(goodput_bps, timeouts=0):
    flow = {"flow": 0, "kind": "tcp", "source": "A", "destination": "B", "congestion_control": "cubic"}
    flow |= {"goodput_mean_bps": goodput_bps, "sender_timeouts": timeouts}
    return {"name": "x", "flows": [flow], "virtual_s": 60.0}


def test_a_cell_has_the_median_and_its_interval_in_one_unit():
    groups = [[summary(1e6 * n) for n in (1, 2, 3)], [summary(5e6), summary(5e6)]]
    sections = compared_groups(["a", "b"], groups)
    assert isinstance(sections[0], Section)
    rows = dict(sections[0].rows)
    assert rows["goodput"] == ("2.000 [1.000 to 3.000] Mbit/s", "5.000 Mbit/s")
    assert rows["congestion control"] == ("cubic", "cubic")
    assert sections[0].title.endswith("median [interval]")


def test_the_middle_of_two_counts_is_said_with_all_digits():
    groups = [[summary(1e6, timeouts=400_000), summary(1e6, timeouts=400_001)]]
    assert dict(compared_groups(["a"], groups)[0].rows)["timeouts"] == ("400,000.5 [400,000 to 400,001]",)


def test_what_some_runs_do_not_know_says_of_how_many_it_is():
    groups = [[summary(1e6), summary(None), summary(3e6)]]
    rows = dict(compared_groups(["a"], groups)[0].rows)
    assert rows["goodput"] == ("2.000 [1.000 to 3.000] Mbit/s (of 2)",)
