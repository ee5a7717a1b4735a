# SPDX-License-Identifier: Apache-2.0
"""The random streams of the Python library. Each component has a random stream, which is derived from the run's seed
and the component's name."""

from __future__ import annotations

import numpy as np


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """Return a random generator whose values do not depend on other streams or on the order in which streams are
    created.

    seed: The seed ``run.seed``.
    name: The name of the component (``access.outages``).
    numbers: The integers are 0 or larger, and distinguish several streams of the same component.
    Returns: numpy.random.Generator. The generator is PCG64. A change of numpy's default generator would change results.

    `numpy.random.SeedSequence` with a spawn key: streams of different keys are independent of each other.
    """
    # All bytes of a name are below 256, so 256 marks the end of the name.
    key = (*name.encode(), *((256, *numbers) if numbers else ()))
    # PCG64 is named because `default_rng` may use another generator in a later version of numpy (NEP 19), and all
    # values would change.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
