# SPDX-License-Identifier: Apache-2.0
"""Random streams on the host: one per component, from the run's seed and the component's name."""

from __future__ import annotations

import numpy as np


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """A generator whose random values depend neither on the other streams nor on the order of creation.

    seed: ``run.seed``.
    name: Name of the component (``access.outages``).
    numbers: Non-negative integers that distinguish the streams of one component.
    Returns: numpy.random.Generator. PCG64 is used instead of numpy's default, because another default would change
        results.

    `numpy.random.SeedSequence` with a spawn key: streams of different keys are independent of each other.
    """
    # A name's bytes are below 256, so that 256 separates it from the numbers.
    key = (*name.encode(), *((256, *numbers) if numbers else ()))
    # PCG64 is named explicitly: `default_rng` may use another generator in a later numpy (NEP 19), and every draw would
    # change.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
