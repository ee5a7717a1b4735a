# SPDX-License-Identifier: Apache-2.0
"""Tests of claims 2.12 to 2.15 on synthetic results for which they do not hold. `torres2020_test.py` tests these claims
on results for which they hold."""

import numpy as np
import pytest

from leowarp.study.claim import judged
from leowarp_studies.torres2020 import results
from leowarp_studies.torres2020.claims_scale import CLAIMS
from support.studies import torres2020 as synthetic


@pytest.fixture(scope="module")
def as_the_study_says():
    return synthetic.frames(synthetic.as_the_study_says)


@pytest.fixture(scope="module")
def undisturbed():
    return synthetic.frames(synthetic.undisturbed)


def outcome(number, frames):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", frames)])


# Tests claim 2.12 of torres2020.
def test_algorithms_that_collapse_near_each_other_are_not_told_apart(undisturbed):
    def all_at_once(distribution, algorithm, profile, jitter_ms):
        return synthetic.collapse_at(1.2 if algorithm == "westwood" else 1.5)(jitter_ms)

    row = outcome("2.12", synthetic.frames(all_at_once))
    assert row["verdict"] == "partly"
    assert row["numbers"]["apart_ratio"]["jitter_ms"] < 0.2
    assert row["numbers"]["apart_ratio"]["entropy_nats"] < 0.25

    # In this test, throughput collapses at jitters of 4 to 9 ms. The collapses are further apart on the axis of jitter
    # than on the axis of E_r.
    def far_apart(distribution, algorithm, profile, jitter_ms):
        return synthetic.collapse_at(4.0 if algorithm == "westwood" else 9.0)(jitter_ms)

    assert outcome("2.12", synthetic.frames(far_apart))["verdict"] == "does not hold"
    row = outcome("2.12", undisturbed)
    assert row["verdict"] == "cannot be told"
    assert "below 50 %: none" in row["measured"]
    together = synthetic.frames(
        lambda distribution, algorithm, profile, jitter_ms: synthetic.collapse_at(1.2)(jitter_ms)
    )
    assert outcome("2.12", together)["verdict"] == "cannot be told"


# Tests claim 2.13 of torres2020.
def test_a_throughput_without_an_edge_or_that_rises_again_shows_no_largest_entropy(undisturbed):
    def slope(distribution, algorithm, profile, jitter_ms):
        return synthetic.collapse_at(0.5, steepness=0.7)(jitter_ms)

    row = outcome("2.13", synthetic.frames(slope))
    assert row["verdict"] == "partly"
    assert row["numbers"]["edge_axis_ratio"]["BIC, normal"]["entropy_nats"] > 0.25
    # If all algorithms have the same throughput, no metric can distinguish them.
    assert row["numbers"]["apart_ratio"]["entropy_nats"] == pytest.approx(0)

    def rises(distribution, algorithm, profile, jitter_ms):
        return slope(distribution, algorithm, profile, jitter_ms) if jitter_ms < 5 else 0.9

    row = outcome("2.13", synthetic.frames(rises))
    assert row["verdict"] == "does not hold"
    assert row["numbers"]["rise_ratio"]["BIC, normal"]["mean_displacement_pkts"] > 0.5
    assert outcome("2.13", undisturbed)["verdict"] == "cannot be told"


def shapes_of(reach_pkts):
    """Return a dict from each distribution to packets whose displacements are spread evenly up to a limit."""
    return {
        name: results.Shape(np.arange(-reach, reach + 1), np.full(2 * reach + 1, 1 / (2 * reach + 1)), None, None)
        for name, reach in reach_pkts.items()
    }


# Tests claim 2.14 of torres2020.
def test_entropy_follows_displacements_where_all_are_as_even(as_the_study_says):
    even = shapes_of({"uniform": 20, "normal": 30, "exponential": 10})
    row = outcome("2.14", as_the_study_says | {"shapes": even})
    assert row["verdict"] == "holds", row["measured"]
    assert not row["cause"]
    assert row["numbers"]["entropy_nats"]["normal"] == pytest.approx(np.log(61))
    # One packet in a thousand has a far larger displacement. A packet with a far larger displacement changes the
    # largest displacement, but not the 99th percentile.
    tail = np.concatenate([even["exponential"].share * 0.999, [0.001]])
    far = results.Shape(np.append(even["exponential"].displacement_pkts, 90), tail, None, None)
    row = outcome("2.14", as_the_study_says | {"shapes": even | {"exponential": far}})
    assert row["verdict"] == "partly"
    assert "long thin tail" in row["cause"]


# Tests claim 2.14 of torres2020.
def test_by_the_distributions_themselves_the_largest_displacements_have_the_lowest_entropy(as_the_study_says):
    row = outcome("2.14", as_the_study_says)
    assert row["verdict"] == "does not hold"
    assert row["measured"].startswith("E_r normal ")
    assert "largest displacement exponential " in row["measured"]


# Tests claim 2.15 of torres2020.
def test_entropy_that_grows_as_displacements_do_is_not_significant_early(as_the_study_says):
    probes = as_the_study_says["probes"]
    row = outcome("2.15", as_the_study_says | {"probes": probes.assign(entropy_nats=probes["jitter_ns"] / 1e6)})
    assert row["verdict"] == "does not hold"
    late = probes.assign(entropy_nats=probes["entropy_nats"] * (1 + (probes["jitter_ns"] > 5_000_000) / 2))
    row = outcome("2.15", as_the_study_says | {"probes": late})
    assert row["verdict"] == "partly"
    assert row["cause"] == "not so: half at the larger"
