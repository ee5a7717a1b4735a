# SPDX-License-Identifier: Apache-2.0
"""Loo's distribution: a direct signal whose level is Gaussian in dB (log-normal), plus a diffuse Rayleigh signal.

C. Loo, "A statistical model for a land mobile satellite link", IEEE Trans. Vehicular Technology 34(3), 1985. Let z be
the amplitude of the direct signal, and w a complex Gaussian of mean power 10^(multipath_db / 10):

    r = |z + w|,   20 log10 z ~ Normal(mean_db, deviation_db)

All levels are relative to line of sight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leowarp.timeline.channel.decibels import power_ratio


@dataclass(frozen=True)
class Loo:
    """The three parameters of Loo's model, in dB relative to the power with a line of sight.

    mean_db, deviation_db: The mean and the standard deviation of the direct signal's level.
    multipath_db: The mean power of the diffuse signal.
    name: The name of the channel state to which the parameters belong.
    """

    mean_db: float
    deviation_db: float
    multipath_db: float
    name: str = ""

    @property
    def mean_power(self) -> float:
        """The mean power E r^2 = E z^2 + E |w|^2. For the log-normal part, E z^2 = exp(2 m + 2 s^2), where ln z has
        mean m and standard deviation s."""
        m, s = _NEPERS_PER_DB * self.mean_db, _NEPERS_PER_DB * self.deviation_db
        return math.exp(2 * m + 2 * s * s) + float(power_ratio(self.multipath_db))

    def share_below(self, level_db: ArrayLike) -> NDArray[np.float64]:
        """Return P(power <= level), in the shape of `level_db`.

        For a fixed direct signal z, the power is a non-central chi-squared variable with two degrees of freedom. The
        mean over z is computed by the trapezoidal rule over +-8 standard deviations. For a Gaussian, this rule
        converges exponentially.
        """
        variance = float(power_ratio(self.multipath_db)) / 2
        direct = power_ratio(self.mean_db + self.deviation_db * _NODES) / variance
        scaled = np.asarray(power_ratio(level_db)) / variance
        # scipy.stats takes 0.9 s of CPU time to import. The import is inside the function, so that programs that only
        # read a run need no time for it.
        from scipy.special import ndtr
        from scipy.stats import ncx2

        share = ncx2.cdf(scaled[..., None], 2, direct)
        # Far above the diffuse signal, scipy's series gives nan. Where the series gives nan, the amplitude is
        # approximated by z plus the in-phase part of the diffuse signal, a Gaussian with deviation sqrt(variance). This
        # neglects a part of r = |z + w|. The neglected part is 1 / (2 sqrt(direct)) deviations, or 5e-5 at 80 dB.
        gaussian = ndtr(np.sqrt(scaled)[..., None] - np.sqrt(direct))
        return np.where(np.isnan(share), gaussian, share) @ _WEIGHTS


def mixture_share_below(states: Sequence[Loo], shares: ArrayLike, level_db: ArrayLike) -> NDArray[np.float64]:
    """Return P(power <= level). It is the mean over all states, weighted by the states' shares of time.

    shares: array of shape (states,). The shares of time, which sum to 1.
    level_db: array of any shape, dB relative to line of sight
    """
    return sum(
        share * state.share_below(level_db) for share, state in zip(np.asarray(shares).tolist(), states, strict=True)
    )


def mixture_quantile_db(states: Sequence[Loo], shares: ArrayLike, share: float) -> float:
    """Return a level in dB. The power is below this level for the given share of the time (0 < share < 1)."""
    from scipy.optimize import brentq

    if not 0 < share < 1:
        raise ValueError(f"a quantile of share {share} is no level")
    # brentq needs an interval that contains the level; a wide interval costs only a few steps more than a narrow one.
    reach = [8 * state.deviation_db + 40 for state in states]
    low = min(min(s.mean_db, s.multipath_db) - r for s, r in zip(states, reach, strict=True)) - 60
    high = max(max(s.mean_db, s.multipath_db) + r for s, r in zip(states, reach, strict=True))
    return float(brentq(lambda x: float(mixture_share_below(states, shares, x)) - share, low, high, xtol=1e-6))


# Factor from a level in dB to the natural logarithm of an amplitude ratio: 20 log10 z = x, ln z = x ln(10) / 20
_NEPERS_PER_DB = math.log(10) / 20

# Integration covers 8 deviations on each side, because the tails of a Gaussian beyond 8 deviations have a probability
# of 1.2e-15.
_NODES = np.linspace(-8.0, 8.0, 321)
_WEIGHTS = np.exp(-_NODES * _NODES / 2)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
