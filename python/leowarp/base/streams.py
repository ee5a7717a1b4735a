# SPDX-License-Identifier: Apache-2.0
"""Random streams on the host: one for each component, from the run's seed and the component's name."""

from __future__ import annotations

import numpy as np


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """A generator whose draws do not depend on which other streams there are, nor on the order of asking.

    seed: ``run.seed``.
    name: Of the component (``access.outages``).
    numbers: Not negative; they tell apart streams of one component.
    Returns: numpy.random.Generator. PCG64, named and not numpy's default: another default would change results.

    References
    ----------
    `numpy.random.SeedSequence` with a spawn key: streams of different keys are independent of each other.
    """
    # A name's bytes are below 256, so that 256 separates it from the numbers.
    key = (*name.encode(), *((256, *numbers) if numbers else ()))
    # PCG64 by name: `default_rng` may take another generator in a later numpy (NEP 19), and every draw would be
    # another.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
