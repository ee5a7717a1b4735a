# SPDX-License-Identifier: Apache-2.0
"""One parameter of a profile, estimated from a recording: value, interval, and the data on which both are based."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from scipy.stats import t as student

RESAMPLES = 1000
"""Number of bootstrap samples; with 1000 samples, the ends of a 95 % interval are accurate to a tenth of its width."""

Z_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """Estimate of one key of the profile.

    key: Name of the key in `[access]`.
    value: Value in the key's stored unit (ns, bit/s, 0 to 1); a tuple of quantiles; a word.
    low, high: Ends of the 95 % interval; for a tuple of quantiles, one pair per quantile. None if no interval can be
        computed; `note` has the reason.
    count: Number of observations on which the estimate is based.
    of: Kind of observations: slots, reconfigurations, probes, intervals.
    note: Method of the estimate, and its limitations.
    """

    key: str
    value: float | tuple[float, ...] | str
    low: float | tuple[float, ...] | None
    high: float | tuple[float, ...] | None
    count: int
    of: str
    note: str

    def holds(self, truth: float) -> bool:
        """Whether a value is inside the interval of this estimate, which must not be a tuple of quantiles."""
        assert not isinstance(self.low, tuple)
        assert not isinstance(self.high, tuple)
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


@dataclass(frozen=True)
class Untold:
    """A key that the recording does not determine, with the reason; the fitted profile has the initial value of this
    key."""

    key: str
    why: str


def resampled(
    values: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % interval of a statistic, by resampling slots.

    Complete slots are resampled, because the delays within a slot belong to one path and are not independent.

    values: float64 array of shape (slots, ...)
    statistic: Function from such an array to an array of shape (k,) or a number.
    Returns low, high: float64 arrays of shape (k,) or ()
    """
    rng = np.random.default_rng(seed)
    count = len(values)
    found = np.array([statistic(values[rng.integers(0, count, count)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    # Resamples of a few slots vary less than other recordings would: the variance is smaller by (n - 1) / n, and
    # Student's t applies instead of the normal distribution. The interval is therefore widened by both factors.
    middle = statistic(values)
    wider = float(student.ppf(0.975, max(count - 1, 1))) / Z_95 * np.sqrt(count / max(count - 1, 1))
    return middle + (low - middle) * wider, middle + (high - middle) * wider


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of independent trials (Clopper and Pearson 1934)."""
    low = float(beta.ppf(0.025, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, of - hits)) if hits < of else 1.0
    return low, high
