# SPDX-License-Identifier: Apache-2.0
"""An estimate of a profile's parameter, made from a recording. The estimate has a value, an interval, and the data on
which value and interval are based."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm
from scipy.stats import t as student

RESAMPLES = 1000
"""The number of bootstrap samples. Both ends of a 99 % interval are accurate to 3 % of its width."""

LEVEL = 0.99
"""The nominal level of all intervals. Most intervals are approximations. Every interval should contain the true value
in at least 95 of 100 recordings. At a nominal level of 95 %, intervals would reach this share only on average
(design/fit-coverage.py)."""

TAIL = (1.0 - LEVEL) / 2.0
"""The probability that the true value is below the interval, and the same probability that it is above."""

CUT_SPREAD = 0.8796
"""The standard deviation of a standard normal distribution that is truncated at two standard deviations. The profile
truncates the logarithms of its capacity levels, and of the jitter's random factors of its slots, in this way."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of a key of the profile.

    key: The name of the key in `[access]`.
    value: A number in the key's stored unit (ns, bit/s, 0 to 1), a tuple of quantiles, or a word.
    low, high: The limits of the 99 % interval. If `value` is a tuple of quantiles, there is one interval for each
        quantile. None means that no interval can be computed. `note` has the reason.
    count, of: The number of observations, and their kind: slots, reconfigurations, probes, intervals.
    note: The method of the estimate, and its limitations.
    """

    key: str
    value: float | tuple[float, ...] | str
    low: float | tuple[float, ...] | None
    high: float | tuple[float, ...] | None
    count: int
    of: str
    note: str


@dataclass(frozen=True)
class Untold:
    """A scenario key whose value the recording does not determine, and the reason. The fitted profile keeps the initial
    value of this key."""

    key: str
    why: str


Found = Estimate | Untold
"""A key about which a recording says something: its value, or why it says none."""


def number(estimate: Estimate) -> float:
    assert not isinstance(estimate.value, tuple | str), f"{estimate.key} is no single number"
    return estimate.value


def resampled(
    values: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Resample the slots, and return both ends of the interval of a statistic.

    Complete slots are resampled, because the delays within a slot belong to one path and are not independent.

    values: float64 array of shape (slots, ...)
    statistic: A function from an array like `values` to an array of shape (k,) or a number.
    Returns low, high: float64 arrays of shape (k,) or ()
    """
    rng = np.random.default_rng(seed)
    count = len(values)
    found = np.array([statistic(values[rng.integers(0, count, count)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(found, [TAIL, 1.0 - TAIL], axis=0)
    # If a recording has only a few slots, its resamples vary less than other recordings would. Their variance is
    # smaller by the factor (n - 1) / n, and Student's t applies instead of the normal distribution.
    middle = statistic(values)
    others = max(count - 1, 1)
    wider = float(student.ppf(1.0 - TAIL, others) / norm.ppf(1.0 - TAIL)) * np.sqrt(count / others)
    return middle + (low - middle) * wider, middle + (high - middle) * wider


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Return the exact interval of a share of independent trials (Clopper and Pearson 1934)."""
    low = float(beta.ppf(TAIL, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - TAIL, hits + 1, of - hits)) if hits < of else 1.0
    return low, high
