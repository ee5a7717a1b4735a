# SPDX-License-Identifier: Apache-2.0
"""One parameter of a profile as a recording tells it: a value, an interval, and what both rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from scipy.stats import t as student

RESAMPLES = 1000
"""Of the bootstrap; 1000 place the ends of a 95 % interval to within a tenth of its width."""

Z_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """A key of the profile.

    Attributes
    ----------
    key : str
        As `[access]` has it.
    value : float or tuple of float
        In the key's kept unit (ns, bit/s, 0 to 1); a tuple of quantiles.
    low, high : float or tuple of float, or None
        Ends of its 95 % interval, of a tuple one for each; None: no interval can be given, and `note` says why.
    count : int
        How many of `of` it rests on.
    of : str
        slots, reconfigurations, probes, intervals.
    note : str
        How it was found, and what it is no better than.
    """

    key: str
    value: float | tuple[float, ...]
    low: float | tuple[float, ...] | None
    high: float | tuple[float, ...] | None
    count: int
    of: str
    note: str

    def holds(self, truth: float) -> bool:
        """Whether a single number lies in the interval."""
        assert not isinstance(self.low, tuple)
        assert not isinstance(self.high, tuple)
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


@dataclass(frozen=True)
class Untold:
    """A key that the recording says nothing about, and why; the profile's own value stays."""

    key: str
    why: str


def resampled(
    values: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % interval of a statistic, by resampling slots.

    Slots are the unit: delays within one are of one path, and no two of them are independent.

    Parameters
    ----------
    values : float64 array of shape (slots, ...)
    statistic : function
        Of such an array, to an array of shape (k,) or a number.

    Returns
    -------
    low, high : float64 arrays of shape (k,) or ()
    """
    rng = np.random.default_rng(seed)
    count = len(values)
    found = np.array([statistic(values[rng.integers(0, count, count)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    # Resamples of a few slots spread less than the slots of another recording would: by (n - 1) / n in the variance,
    # and the quantile is that of Student's t.
    middle = statistic(values)
    wider = float(student.ppf(0.975, max(count - 1, 1))) / Z_95 * np.sqrt(count / max(count - 1, 1))
    return middle + (low - middle) * wider, middle + (high - middle) * wider


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of independent trials (Clopper and Pearson 1934)."""
    low = float(beta.ppf(0.025, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, of - hits)) if hits < of else 1.0
    return low, high
