# SPDX-License-Identifier: Apache-2.0
"""Base round trips of slots: their distribution, and how often a reconfiguration keeps one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, resampled
from leowarp.fitting.slotted import Slotted

QUANTILES = 11
"""Of the base round trip: least, deciles, largest."""


def fit_base(probes: Slotted, over_base_ns: NDArray[np.float64], extra_ns: int = 0) -> tuple[Estimate, ...]:
    """`base_rtts` and `base_kept`.

    Parameters
    ----------
    probes : Slotted
        Of round trips.
    over_base_ns : float64 array of shape (n,)
        What the fitted jitter adds to the base at the instants of the probes, by simulation: a slot's least delay is
        above its base by the least of these.
    extra_ns : int
        Round trip that other keys of the profile add.
    """
    numbers, floors_ns = probes.floors_ns(probes.series.delay_ns)
    _, above_ns = probes.floors_ns(over_base_ns)
    bases_ns = np.maximum(floors_ns - float(above_ns.mean()) - extra_ns, 0.0)
    shares = np.linspace(0.0, 1.0, QUANTILES)
    follows = np.diff(numbers) == 1
    steps_ns = np.abs(np.diff(floors_ns))[follows]
    # Two floors of one path differ by what the jitter leaves of itself in each.
    same_ns = 3.0 * np.sqrt(2.0) * float(above_ns.std()) + 100_000.0
    # Slots that kept one path are one draw, and are resampled together.
    draws = np.split(bases_ns, np.flatnonzero(~(follows & (np.abs(np.diff(floors_ns)) <= same_ns))) + 1)

    def spread(places: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.quantile(np.concatenate([draws[int(place)] for place in places]), shares)

    low, high = resampled(np.arange(len(draws), dtype=np.float64), spread)
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
    others_ns = np.abs(bases_ns[:, None] - bases_ns[None, :])[np.triu_indices(len(bases_ns), 2)]
    by_chance = float((others_ns <= same_ns).mean()) if len(others_ns) else 0.0

    def kept(steps: NDArray[np.float64]) -> NDArray[np.float64]:
        share = float((steps <= same_ns).mean())
        return np.asarray(min(max((share - by_chance) / max(1.0 - by_chance, 1e-9), 0.0), 0.99))

    low, high = resampled(steps_ns, kept)
    stays = Estimate(
        "base_kept",
        float(kept(steps_ns)),
        float(low),
        float(high),
        len(steps_ns),
        "reconfigurations",
        f"share of steps within {same_ns / 1e6:.2g} ms, the {100 * by_chance:.0f} % of any two slots taken off",
    )
    return quantiles, stays
