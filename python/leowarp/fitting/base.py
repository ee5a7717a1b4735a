# SPDX-License-Identifier: Apache-2.0
"""Estimates the distribution of the slots' base round trips, and the probability that a reconfiguration keeps the
base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, resampled
from leowarp.fitting.slotted import Slotted

QUANTILES = 11
"""The number of quantiles of the base round trip: minimum, deciles, maximum."""

_APART = 0.02
"""Several values of `base_kept` are tried, and this is the step between them."""

_SPARSE_ERROR_NS = 500_000.0
"""An additional error of estimated base round trips, which resampling does not show. Sparse probes seldom have the
smallest jitter. The estimates are 0.26 ms too high in the median of 87 simulated recordings
(design/fit-coverage.py)."""

_SHARES = np.arange(0.0, 0.96, _APART)
_DRAWN = 4000


def fit_base(probes: Slotted, over_base_ns: NDArray[np.float64], extra_ns: int = 0) -> tuple[Estimate, ...]:
    """Estimate `base_rtts` and `base_kept`.

    probes: The probes of round trips.
    over_base_ns: float64 array of shape (n,). The simulated delay above the base at the time of each probe, caused by
        the fitted jitter. The minimum of this delay in a slot says how far the slot's minimum delay is above the base.
    extra_ns: The part of the round trip that other keys of the profile cause.
    """
    numbers, floors_ns = probes.floors_ns(probes.series.delay_ns)
    _, above_ns = probes.floors_ns(over_base_ns)
    bases_ns = np.maximum(floors_ns - float(above_ns.mean()) - extra_ns, 0.0)
    shares = np.linspace(0.0, 1.0, QUANTILES)
    follows = np.diff(numbers) == 1
    steps_ns = np.abs(np.diff(floors_ns))[follows]
    # The minimum delays of two slots differ even on the same path, because each minimum contains some jitter.
    same_ns = 3.0 * np.sqrt(2.0) * float(above_ns.std()) + 100_000.0
    # Consecutive slots with the same path form one sample, which is resampled as a unit.
    draws = np.split(bases_ns, np.flatnonzero(~(follows & (np.abs(np.diff(floors_ns)) <= same_ns))) + 1)

    def spread(places: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.quantile(np.concatenate([draws[int(place)] for place in places]), shares)

    low, high = resampled(np.arange(len(draws), dtype=np.float64), spread)
    if not probes.is_dense:
        low, high = np.maximum(low - _SPARSE_ERROR_NS, 0.0), high + _SPARSE_ERROR_NS
    quantiles = Estimate(
        "base_rtts",
        tuple(np.quantile(bases_ns, shares).tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        len(bases_ns),
        "slots",
        "least delay of each slot, less what the jitter leaves of itself there; the ends are the extremes that were "
        "seen, and more slots would reach further",
    )
    rng = np.random.default_rng(1)
    one_ns, other_ns = (rng.choice(bases_ns, _DRAWN) for _ in range(2))
    rest_ns = rng.choice(above_ns, _DRAWN) - rng.choice(above_ns, _DRAWN)
    changes = rng.random(_DRAWN)
    # The sorted simulated steps between the minima of two successive slots, for each share of reconfigurations that
    # keep the base.
    made_ns = [
        np.sort(np.abs(np.where(changes >= share, one_ns - other_ns, 0.0) + rest_ns)) for share in _SHARES.tolist()
    ]

    ordered_ns = np.sort(steps_ns)
    below = np.array([np.searchsorted(made, ordered_ns, side="right") / len(made) for made in made_ns])
    upper = np.arange(1, len(steps_ns) + 1) / len(steps_ns)

    def kept(places: NDArray[np.float64]) -> NDArray[np.float64]:
        apart = below[:, np.sort(places).astype(np.int64)] - upper
        distances = np.maximum(np.abs(apart).max(axis=1), np.abs(apart + upper[0]).max(axis=1))
        return np.asarray(_SHARES[int(np.argmin(distances))])

    every = np.arange(len(steps_ns), dtype=np.float64)
    low, high = resampled(every, kept)
    stays = Estimate(
        "base_kept",
        float(kept(every)),
        max(float(low) - _APART, 0.0),
        min(float(high) + _APART, 1.0),
        len(steps_ns),
        "reconfigurations",
        "with it the steps are nearest to the recording's, by the distance of Kolmogorov and Smirnov",
    )
    return quantiles, stays
