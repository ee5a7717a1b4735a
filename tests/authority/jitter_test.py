# SPDX-License-Identifier: Apache-2.0
"""Tests the simulation of jittered paths against closed forms and published examples. Other tests use this
simulation."""

import numpy as np
import pytest

from leowarp import reordering
from leowarp_studies.torres2020 import simulation

PROBES = 5


def averaged(measure, distribution, sigma_s):
    return float(
        np.mean([measure(simulation.density(simulation.probe(distribution, sigma_s, seed))) for seed in range(PROBES)])
    )


@pytest.mark.parametrize("sigma_ms", [0.6, 0.8585, 1.0, 1.2475, 2.0, 4.0])
@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_mean_displacement_is_the_mean_deviation_times_the_rate(distribution, sigma_ms):
    sigma_s = sigma_ms / 1e3
    measured = averaged(simulation.mean_displacement_pkts, distribution, sigma_s)
    assert measured == pytest.approx(simulation.closed_form_pkts(distribution, sigma_s), rel=0.03)


# torres2020, section 4, states for 1 ms: "approximate 7.1, 6.6". design/exponential-jitter.md explains why the study
# has 5.3 for the exponential distribution.
@pytest.mark.parametrize(("distribution", "study_pkts"), [("uniform", 7.1), ("normal", 6.6)])
def test_the_studys_mean_displacements_at_one_millisecond(distribution, study_pkts):
    assert averaged(simulation.mean_displacement_pkts, distribution, 1e-3) == pytest.approx(study_pkts, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("sigma_ms", [0.05, 0.2, 10.0])
def test_closed_forms_are_not_to_be_used_outside(sigma_ms):
    """The closed forms are accurate for a sigma from 0.6 to 4 ms. Outside this range, their error is more than 3 %."""
    sigma_s = sigma_ms / 1e3
    measured = averaged(simulation.mean_displacement_pkts, "exponential", sigma_s)
    assert abs(measured / simulation.closed_form_pkts("exponential", sigma_s) - 1) > 0.03


@pytest.mark.slow
@pytest.mark.parametrize("sigma_ms", [0.3, 0.6, 1.0, 1.2475, 4.0, 10.0])
def test_entropy_orders_normal_uniform_exponential_above_the_packet_spacing(sigma_ms):
    normal, uniform, exponential = (
        averaged(simulation.entropy_nats, name, sigma_ms / 1e3) for name in ("normal", "uniform", "exponential")
    )
    assert normal > uniform > exponential


def test_the_order_turns_over_below_it():
    assert averaged(simulation.entropy_nats, "uniform", 75e-6) > averaged(simulation.entropy_nats, "normal", 75e-6)
    assert averaged(simulation.entropy_nats, "exponential", 50e-6) > averaged(simulation.entropy_nats, "uniform", 50e-6)


@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_displacements_of_a_complete_sequence_sum_to_zero(distribution):
    rd = simulation.density(simulation.probe(distribution, 1.2475e-3, 3))
    assert sum(rd.values()) == pytest.approx(1.0, abs=1e-9)
    assert sum(index * share for index, share in rd.items()) == pytest.approx(0.0, abs=1e-9)


# Each case is (arrivals numbered from 1, threshold, RD): tables 1 and 2 of torres2020; RFC 5236 section 8 (a).
@pytest.mark.parametrize(
    ("arrivals", "threshold", "expected"),
    [
        ([1, 6, 7, 2, 3, 4, 5, 8], 200, {-4: 0.25, 0: 0.25, 2: 0.5}),
        ([1, 4, 2, 5, 3, 6, 7, 8], 4, {-2: 0.125, -1: 0.125, 0: 0.5, 1: 0.125, 2: 0.125}),
    ],
)
def test_worked_examples(arrivals, threshold, expected):
    rd = simulation.density(np.array(arrivals) - 1, threshold)
    assert rd == pytest.approx(expected)
    if threshold == 200:
        assert simulation.mean_displacement_pkts(rd) == pytest.approx(2.0)
        assert simulation.entropy_nats(rd) == pytest.approx(1.039721, abs=1e-6)


def test_beyond_the_threshold_counts_as_lost():
    # In the example of RFC 5236 section 6, packet 5430 is discarded, and the other packets are in order.
    assert simulation.density(np.array([0, 5, 1, 2, 3, 4, 6]), 3) == {0: 1.0}


@pytest.mark.parametrize("threshold", [40, 1000])
def test_the_two_ways_to_count_agree_where_nothing_is_beyond(threshold):
    arrivals = simulation.probe("normal", 1e-3, 7, packets=3000)
    place = np.argsort(arrivals)
    assert simulation._stay_back(arrivals.tolist(), threshold) == (np.arange(3000) - arrivals).tolist()
    assert np.abs(place - np.arange(3000)).max() < 40


@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_draws_and_densities_are_of_mean_0_and_sigma_1(distribution):
    draws = simulation.deviations(distribution, 400_000, np.random.default_rng(1))
    assert draws.mean() == pytest.approx(0, abs=0.01)
    assert draws.std() == pytest.approx(1, abs=0.01)
    assert np.abs(draws).mean() == pytest.approx(simulation.MEAN_DEVIATION[distribution], abs=0.01)
    x = np.linspace(-12, 30, 420_001)
    step = x[1] - x[0]
    weights = simulation.pdf(distribution, x) * step
    assert weights.sum() == pytest.approx(1, abs=1e-3)
    assert (weights * x).sum() == pytest.approx(0, abs=1e-3)
    assert (weights * x**2).sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("sigma_ms", "threshold"), [(0.05, 200), (1.0, 200), (10.0, 200), (4.0, 20), (10.0, 3)])
@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_the_library_measures_what_the_slow_way_does(distribution, sigma_ms, threshold):
    """Check that the library and the slow simulation agree, even if packets are late by more than the threshold."""
    arrivals = simulation.probe(distribution, sigma_ms / 1e3, 11, packets=6000)
    slow, fast = simulation.density(arrivals, threshold), reordering.density(arrivals, threshold_pkts=threshold)
    assert dict(zip(fast.displacement_pkts.tolist(), fast.share.tolist(), strict=True)) == pytest.approx(slow)
    assert fast.mean_displacement_pkts == pytest.approx(simulation.mean_displacement_pkts(slow))
    assert fast.entropy_nats == pytest.approx(simulation.entropy_nats(slow))
