# SPDX-License-Identifier: Apache-2.0
"""Tests the arithmetic on series against results computed by hand, and against laws that are true for all series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.metrics.inputs.series import (
    bin_edges,
    ccdf,
    cdf,
    holding_ns,
    rate_in_bins,
    step_at,
    weighted_quantile,
    whole,
)

S = 1_000_000_000


def test_rate_is_bits_of_the_bin_over_its_length():
    rate = rate_in_bins(np.array([0, S, 2 * S]), np.array([0, 1000, 4000]), np.array([0, S, 2 * S]))
    assert rate.tolist() == [8000.0, 24000.0]


def test_rate_between_samples_grows_evenly():
    rate = rate_in_bins(np.array([0, 2 * S]), np.array([0, 4000]), np.array([0, S // 2, 2 * S]))
    assert rate.tolist() == [16000.0, 16000.0]


def test_rate_refuses_bins_outside_the_samples():
    with pytest.raises(TraceError, match=r"span 0\.\."):
        rate_in_bins(np.array([S, 2 * S]), np.array([0, 1]), np.array([0, S]))
    with pytest.raises(TraceError, match="no samples"):
        rate_in_bins(np.array([]), np.array([]), np.array([0, S]))


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**7)), min_size=2, max_size=40), st.data())
def test_bins_of_a_span_add_up_to_its_bytes(steps, data):
    t_ns = np.cumsum([step for step, _ in steps])
    counter = np.cumsum([size for _, size in steps])
    inner = data.draw(st.lists(st.integers(int(t_ns[0]), int(t_ns[-1])), max_size=20))
    edges = np.unique([t_ns[0], *inner, t_ns[-1]])
    bits = rate_in_bins(t_ns, counter, edges) * np.diff(edges) / 1e9
    assert bits.sum() == pytest.approx(8 * (counter[-1] - counter[0]), rel=1e-9, abs=1e-3)
    assert (bits >= -1e-6).all()


def test_bin_edges_leave_out_the_incomplete_bin():
    assert bin_edges(10, 35, 10).tolist() == [10, 20, 30]
    assert bin_edges(10, 9, 10).tolist() == [10]
    with pytest.raises(TraceError, match="longer than 0"):
        bin_edges(0, 10, 0)


def test_a_step_holds_from_its_instant_on():
    at = step_at(np.array([10, 20]), np.array([1.0, 2.0]), np.array([9, 10, 19, 20, 99]), before=-1.0)
    assert at.tolist() == [-1.0, 1.0, 1.0, 2.0, 2.0]
    assert step_at(np.zeros(0), np.zeros(0), np.array([5]), before=7.0).tolist() == [7.0]


def test_samples_hold_until_the_next_and_the_last_until_the_end():
    assert holding_ns(np.array([0, 10, 40]), 100).tolist() == [10, 30, 60]
    assert holding_ns(np.array([0, 10]), 5).tolist() == [10, 0]
    assert holding_ns(np.zeros(0, dtype="int64"), 5).tolist() == []


def test_quantiles_are_measured_values_weighted_by_time():
    values, weights = np.array([3.0, 1.0, 2.0, np.nan]), np.array([1.0, 1.0, 8.0, 100.0])
    assert weighted_quantile(values, weights, 0.05) == 1.0
    assert weighted_quantile(values, weights, 0.1) == 1.0
    assert weighted_quantile(values, weights, 0.5) == 2.0
    assert weighted_quantile(values, weights, 1.0) == 3.0
    assert weighted_quantile(np.array([np.nan]), np.array([1.0]), 0.5) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_of_equal_weights_is_numpys_inverted_cdf(values, q):
    values = np.array(values)
    got = weighted_quantile(values, np.ones(len(values)), q)
    assert got in values
    # The two definitions may differ by one rank: in floating point, q n can be a whole number in only one of them.
    rank = np.searchsorted(np.sort(values), got, side="left"), np.searchsorted(np.sort(values), got, side="right")
    assert rank[0] <= q * len(values) + 1e-9
    assert rank[1] >= q * len(values) - 1e-9


def test_cdf_by_hand():
    x, share = cdf(np.array([2.0, 1.0, 2.0, np.nan, 4.0]))
    assert x.tolist() == [1.0, 2.0, 4.0]
    assert share.tolist() == [0.25, 0.75, 1.0]
    x, above = ccdf(np.array([2.0, 1.0]), np.array([3.0, 1.0]))
    assert x.tolist() == [1.0, 2.0]
    assert above.tolist() == [0.75, 0.0]


@given(st.lists(st.floats(-1e9, 1e9), max_size=60))
def test_a_cdf_grows_to_one_and_the_ccdf_is_the_rest(values):
    x, share = cdf(np.array(values))
    y, above = ccdf(np.array(values))
    assert (np.diff(x) > 0).all()
    assert (np.diff(share) > 0).all()
    assert len(share) == 0 or share[-1] == 1.0
    assert np.array_equal(x, y)
    assert np.allclose(share + above, 1)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_missing_is_none_and_never_zero(missing):
    assert whole(missing) is None


def test_present_values_become_whole_numbers():
    assert whole(np.float64(3.0)) == 3
    assert isinstance(whole(np.float64(3.0)), int)
    assert whole(0.0) == 0
