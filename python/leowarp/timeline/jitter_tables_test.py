# SPDX-License-Identifier: Apache-2.0
"""Tests the tables against closed forms. Delays are computed from a table with the kernel's arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.timeline.jitter_tables import (
    ENTRIES,
    SCALE,
    JitterTable,
    named_table,
    quantiles_of,
    standardised,
    table_of,
)

MEAN_NS, SIGMA_NS = 100_000_000, 1_247_500


def draws_ns(table: JitterTable, sigma_ns: int = SIGMA_NS, mean_ns: int = MEAN_NS) -> np.ndarray:
    """Return every delay that netem can produce. A delay is repeated in proportion to its probability. The formula is
    that of netem's `tabledist`, with C's division towards 0."""
    jitter_ns = round(sigma_ns * table.multiplier)
    if not len(table.values):
        return np.arange(2 * jitter_ns) + mean_ns - jitter_ns
    t = table.values.astype(np.int64)
    x = jitter_ns % SCALE * t
    x += np.where(x >= 0, SCALE // 2, -(SCALE // 2))
    return np.trunc(x / SCALE).astype(np.int64) + jitter_ns // SCALE * t + mean_ns


# The first number in a row is the mean absolute deviation of a distribution with standard deviation 1. The second
# number is the allowed error. Errors come from rounding to 16 bits, and from the missing tail beyond the last of 16384
# quantiles. The last two numbers are the distribution's quantiles at the first and the last table entry.
CLOSED_FORMS = [
    ("uniform", math.sqrt(3) / 2, 1e-4, -math.sqrt(3), math.sqrt(3)),
    ("normal", math.sqrt(2 / math.pi), 1e-4, -4.0088, 4.0088),
    ("exponential", 2 / math.e, 3e-4, -1.0, math.log(2 * ENTRIES) - 1),
]


@pytest.mark.parametrize(("name", "deviation", "within", "first", "last"), CLOSED_FORMS)
def test_what_netem_draws_has_the_moments_of_the_distribution(name, deviation, within, first, last):
    table = named_table(name)
    off_ns = draws_ns(table) - MEAN_NS
    assert abs(off_ns.mean()) < 1
    assert off_ns.std() / SIGMA_NS == pytest.approx(1, abs=1e-6)
    assert np.abs(off_ns).mean() / SIGMA_NS == pytest.approx(deviation, abs=within)
    greatest = table.values[-1] * table.multiplier / SCALE if len(table.values) else -table.least
    assert (table.least, greatest) == pytest.approx((first, last), abs=3e-3)
    assert (off_ns.min() / SIGMA_NS, off_ns.max() / SIGMA_NS) == pytest.approx((first, last), abs=3e-3)


def test_quantiles_between_are_those_of_the_distribution():
    shares = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]
    normal = [-2.32635, -1.28155, -0.67449, 0.0, 0.67449, 1.28155, 2.32635]
    exponential = [-math.log(1 - share) - 1 for share in shares]
    for name, expected in (("normal", normal), ("exponential", exponential)):
        quantiles = np.quantile((draws_ns(named_table(name)) - MEAN_NS) / SIGMA_NS, shares)
        # A part of the exponential distribution's variance lies in the tail beyond the last quantile. netem's table
        # nevertheless has the complete variance, so its values are larger by 6e-4.
        assert quantiles == pytest.approx(expected, abs=2.5e-3), name


@pytest.mark.parametrize(("name", "multiplier"), [("normal", 2.0), ("exponential", 4.0)])
def test_no_tail_is_clipped_and_the_multiplier_is_no_larger_than_need_be(name, multiplier):
    table = named_table(name)
    assert table.multiplier == multiplier
    assert len(table.values) == ENTRIES
    assert np.abs(table.values.astype(int)).max() < 2**15 - 1
    assert np.abs(table.values.astype(int)).max() * 2 > 2**15 - 1
    assert int(table.values.sum(dtype=np.int64)) == 0


def test_a_table_of_samples_holds_each_as_often_as_there_are():
    quantiles = quantiles_of(np.array([5.0, 1.0, 1.0, 3.0]))
    assert [int((quantiles == value).sum()) for value in (1, 3, 5)] == [8192, 4096, 4096]
    three = table_of("table", standardised(quantiles_of(np.array([10.0, 20.0, 30.0]))))
    assert {int(value) for value in three.values} == {-10033, 0, 10033}
    assert three.multiplier == 1.0


def test_a_long_tail_gets_a_larger_multiplier():
    samples = np.zeros(10_000)
    samples[7] = 1.0
    table = table_of("table", standardised(quantiles_of(samples)))
    # One sample of 10,000 fills 1 or 2 of the table's 16,384 entries. This sample is then 128 or 91 standard deviations
    # from the mean.
    assert table.multiplier == 32.0
    assert (draws_ns(table, 10_000) - MEAN_NS).std() == pytest.approx(10_000, rel=5e-3)


@settings(max_examples=40)
@given(
    samples=st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60, unique=True),
    sigma_ns=st.integers(1_000, 10_000_000),
)
def test_any_samples_are_drawn_with_the_mean_and_the_deviation_that_were_asked_for(samples, sigma_ns):
    values = standardised(quantiles_of(np.array(samples)))
    if not np.isfinite(values).all() or np.ptp(samples) < 1e-6 * max(map(abs, samples)):
        return  # The samples are so close to each other that floats cannot represent their differences.
    table = table_of("table", values)
    off_ns = draws_ns(table, sigma_ns) - MEAN_NS
    assert abs(off_ns.mean()) <= 0.5
    # The tolerance covers two rounding errors: one 8192th of the jitter, and one ns.
    assert off_ns.std() == pytest.approx(sigma_ns, abs=sigma_ns * table.multiplier / SCALE + 1)
    assert off_ns.min() / sigma_ns == pytest.approx(table.least, abs=1e-3)
