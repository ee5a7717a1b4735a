# SPDX-License-Identifier: Apache-2.0
"""One parameter of a profile, estimated from a recording: value, interval, and their basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""Number of bootstrap samples; 1000 determine the ends of a 95 % interval to a tenth of its width."""

Z_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """Estimate of one key of the profile.

    Attributes
    ----------
    key : str
        Name of the key in `[access]`.
    value : float or tuple of float
        Value in the key's stored unit (ns, bit/s, 0 to 1); a tuple of quantiles.
    low, high : float or tuple of float, or None
        Ends of the 95 % interval, one pair per quantile for a tuple; None: no interval is possible, and `note` has the
        reason.
    count : int
        Number of `of` on which the estimate rests.
    of : str
        Kind of `count`: slots, reconfigurations, probes, intervals.
    note : str
        Method of the estimate, and its limitations.
    """

    key: str
    value: float | tuple[float, ...]
    low: float | tuple[float, ...] | None
    high: float | tuple[float, ...] | None
    count: int
    of: str
    note: str

    def holds(self, truth: float) -> bool:
        """Whether a single number is in the interval."""
        assert not isinstance(self.low, tuple)
        assert not isinstance(self.high, tuple)
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


@dataclass(frozen=True)
class Untold:
    """A key about which the recording says nothing, with the reason; the profile's own value stays."""

    key: str
    why: str


def resampled(
    values: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % interval of a statistic, by resampling slots.

    Slots are the unit: delays within one belong to one path, so they are not independent.

    Parameters
    ----------
    values : float64 array of shape (slots, ...)
    statistic : function
        Function from such an array to an array of shape (k,) or a number.

    Returns
    -------
    low, high : float64 arrays of shape (k,) or ()
    """
    rng = np.random.default_rng(seed)
    count = len(values)
    found = np.array([statistic(values[rng.integers(0, count, count)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return low, high


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of independent trials."""
    if not of:
        return 0.0, 1.0
    share, z2 = hits / of, Z_95**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z_95 * np.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)
