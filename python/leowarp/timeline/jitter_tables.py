# SPDX-License-Identifier: Apache-2.0
"""Distributions of a random delay, as the tables from which netem samples.

netem computes a delay as ``mean + jitter * table[r % size] / 8192``, with `r` from 32 random bits. The table's values
have 16 bits (so they are within +-4 jitters), and there are at most 16384 of them (`tabledist` and `get_dist_table` in
Linux 6.12's net/sched/sch_netem.c). Since 16384 divides 2^32, each value is equally likely: the table is the inverse of
the distribution function at the midpoints of 16384 equal shares of probability.

A table of this module has mean 0 and standard deviation 1, and may extend beyond 4. The values of a table are divided
by a power of two, the multiplier. netem's jitter is set to the standard deviation times the multiplier. No tail is
clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

SCALE = 8192
"""NETEM_DIST_SCALE: the table value for one jitter."""

ENTRIES = 16384
"""NETEM_DIST_MAX: the longest table that the kernel accepts."""

JITTER_MAX_NS = 2**31 - 1
"""netem silently caps its jitter at this value (`netem_change`)."""

DISTRIBUTIONS = ("uniform", "normal", "exponential", "table")


@dataclass(frozen=True)
class JitterTable:
    """netem's input for a distribution with standard deviation 1.

    name: One of `DISTRIBUTIONS`.
    multiplier: netem's jitter divided by the standard deviation.
    values: int16 array of shape (16384,) or (0,). Ascending. Empty: netem's built-in uniform distribution from -jitter
        to +jitter.
    """

    name: str
    multiplier: float
    values: NDArray[np.int16]

    @property
    def least(self) -> float:
        """The smallest value, in standard deviations."""
        if not len(self.values):
            return -self.multiplier
        return float(self.values[0]) * self.multiplier / SCALE


@cache
def named_table(name: str) -> JitterTable:
    """The table of `uniform`, `normal` or `exponential`.

    A uniform distribution with standard deviation 1 extends from -sqrt(3) to +sqrt(3). The exponential distribution is
    shifted to mean 0, so it extends from -1 upwards: a delay of mean `delay` is `delay - sigma` plus an exponential
    value.

    >>> named_table("uniform").multiplier, named_table("exponential").least
    (1.7320508075688772, -1.0)
    """
    # Quantiles are taken at the midpoints of equal shares. At the ends, the last quantile of an unbounded distribution
    # would be infinite.
    middles = (np.arange(ENTRIES) + 0.5) / ENTRIES
    match name:
        case "uniform":
            # Without a table, netem samples uniformly from -jitter to +jitter (`tabledist`), with standard deviation
            # jitter / sqrt(3).
            return JitterTable(name, 3**0.5, np.zeros(0, dtype=np.int16))
        case "normal":
            quantiles = np.array([NormalDist().inv_cdf(share) for share in middles.tolist()])
        case "exponential":
            # The inverse of 1 - exp(-x); log1p keeps precision for small shares.
            quantiles = -np.log1p(-middles)
        case _:
            raise ValueError(f"{name!r} has no table of its own")
    return table_of(name, standardised(quantiles))


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values scaled to mean 0 and standard deviation 1 (of equally likely values: divided by n).

    Equal values raise no exception: the result is then nan, and `jittered.timeline` rejects such values before the
        call.
    """
    # The scaling is done twice: the mean of very small floats is rounded to one of these floats, and the differences
    # can be very small again.
    centred = _in_range(values)
    centred = _in_range(centred - centred.mean())
    return centred / centred.std()


def _in_range(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values in another unit, so that their squares are finite numbers."""
    most = np.abs(values).max()
    return values if 1e-100 < most < 1e100 or most == 0 else values / most


def quantiles_of(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """`ENTRIES` values, ascending, with the distribution of the samples. Each value is one of the samples, without
    interpolation."""
    ordered = np.sort(samples)
    # Positions are integers: computed in floats, a position would miss its sample for some lengths of a file.
    places = (2 * np.arange(ENTRIES) + 1) * len(ordered) // (2 * ENTRIES)
    return ordered[places]


def table_of(name: str, values: NDArray[np.float64]) -> JitterTable:
    """The table for values with mean 0 and standard deviation 1.

    The values are rounded so that their sum is exactly 0 (largest remainders), which keeps the mean delay.
    """
    # A complete table of exponential values extends to 9.4 deviations, but 16 bits only to 4. If the values above 4
    # were clipped, the deviation would be 0.83 (design/exponential-jitter.md).
    multiplier = 1
    # The limit is one lower, to leave room for the values that are rounded up below. Division of floats by powers of
    # two is exact.
    while np.abs(values).max() * SCALE / multiplier > np.iinfo(np.int16).max - 1:
        multiplier *= 2
    exact = values * (SCALE / multiplier)
    whole = np.floor(exact).astype(np.int64)
    # As many values as the sum lacks are rounded up, beginning with the largest remainders.
    up = np.argsort(whole - exact, kind="stable")[: -whole.sum()]
    whole[up] += 1
    return JitterTable(name, float(multiplier), np.sort(whole).astype(np.int16))
