# SPDX-License-Identifier: Apache-2.0
"""The distributions of a random delay, as tables from which netem samples.

netem computes a delay as ``mean + jitter * table[r % size] / 8192``, with `r` from 32 random bits. The table's values
have 16 bits, so a random delay differs from `mean` by at most 4 times `jitter`. A table has at most 16384 values
(`tabledist` and `get_dist_table` in Linux 6.12's net/sched/sch_netem.c). Because 16384 divides 2^32, all values of the
table are equally likely. The table is the inverse of the distribution function at the midpoints of 16384 equal shares
of probability.

All distributions here have mean 0 and standard deviation 1. Their values are divided by a power of two, the multiplier,
so that netem's limit does not clip the tail. netem's jitter is set to the standard deviation times the multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

SCALE = 8192
"""NETEM_DIST_SCALE: a table value of this size stands for a deviation of one jitter."""

ENTRIES = 16384
"""NETEM_DIST_MAX: the longest table that the kernel accepts."""

JITTER_MAX_NS = 2**31 - 1
"""netem silently caps its jitter at this value (`netem_change`)."""


@dataclass(frozen=True)
class JitterTable:
    """netem's input for a distribution with standard deviation 1.

    name: uniform, normal, exponential or table.
    multiplier: netem's parameter for the jitter, divided by the wanted standard deviation.
    values: int16 array of shape (16384,) or (0,). The values ascend. An empty array stands for netem's built-in uniform
        distribution from -jitter to +jitter.
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
    """Return the table of `uniform`, `normal` or `exponential`.

    A uniform distribution with standard deviation 1 extends from -sqrt(3) to +sqrt(3). The exponential distribution is
    shifted to mean 0, so it extends from -1 upwards. A delay with the mean `delay` is the sum of `delay - sigma` and an
    exponential value.

    >>> named_table("uniform").multiplier, named_table("exponential").least
    (1.7320508075688772, -1.0)
    """
    # The distribution is divided into `ENTRIES` equal shares of probability, and each entry is the quantile in the
    # middle of its share. If the ends of the shares were used, the last quantile of an unbounded distribution would be
    # infinite.
    middles = (np.arange(ENTRIES) + 0.5) / ENTRIES
    match name:
        case "uniform":
            # Without a table, netem samples uniformly from -jitter to +jitter (`tabledist`), with standard deviation
            # jitter / sqrt(3).
            return JitterTable(name, 3**0.5, np.zeros(0, dtype=np.int16))
        case "normal":
            quantiles = np.array([NormalDist().inv_cdf(share) for share in middles.tolist()])
        case "exponential":
            # The expression is the inverse of 1 - exp(-x); log1p is precise for small shares.
            quantiles = -np.log1p(-middles)
        case _:
            raise ValueError(f"{name!r} has no table of its own")
    return table_of(name, standardised(quantiles))


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values scaled to mean 0 and standard deviation 1. The variance is divided by n instead of n - 1,
    because all values are equally likely.

    If all values are equal, the result is nan. `jittered.timeline` rejects equal values before it calls this function.
    """
    # `_in_range` is applied before and after the mean is subtracted. The mean of very small floats is inexact, and the
    # differences from the mean can again be very small.
    centred = _in_range(values)
    centred = _in_range(centred - centred.mean())
    return centred / centred.std()


def _in_range(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values in a unit in which their squares are neither infinite nor 0."""
    most = np.abs(values).max()
    return values if 1e-100 < most < 1e100 or most == 0 else values / most


def quantiles_of(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `ENTRIES` ascending values with the distribution of the samples. Each value is one of the samples, without
    interpolation."""
    ordered = np.sort(samples)
    # Positions are computed as integers: with floats, a position would be off by one for some numbers of samples.
    places = (2 * np.arange(ENTRIES) + 1) * len(ordered) // (2 * ENTRIES)
    return ordered[places]


def table_of(name: str, values: NDArray[np.float64]) -> JitterTable:
    """Return the table for values with mean 0 and standard deviation 1.

    The values are rounded so that their sum is exactly 0 (largest remainders), which keeps the mean delay.
    """
    # A complete table of exponential values extends to 9.4 standard deviations. netem's 16 bits, however, reach only 4
    # times the jitter. If values above 4 were clipped, the standard deviation would be 0.83
    # (design/exponential-jitter.md).
    multiplier = 1
    # One unit is subtracted from the largest allowed value, because the rounding below may add one unit. Division of
    # floats by powers of two is exact.
    while np.abs(values).max() * SCALE / multiplier > np.iinfo(np.int16).max - 1:
        multiplier *= 2
    exact = values * (SCALE / multiplier)
    whole = np.floor(exact).astype(np.int64)
    # Rounding down makes the sum too small; the values with the largest remainders are rounded up until the sum is 0.
    up = np.argsort(whole - exact, kind="stable")[: -whole.sum()]
    whole[up] += 1
    return JitterTable(name, float(multiplier), np.sort(whole).astype(np.int16))
