# SPDX-License-Identifier: Apache-2.0
"""Conversion of decibels to ratios. A level in dB is 10 log10 of a power ratio and 20 log10 of an amplitude ratio."""

from __future__ import annotations

from typing import Any

import numpy as np


def power_ratio(level_db: Any) -> Any:
    """Return the power ratio for a level in dB, 10^(x/10), as float64 of the same shape."""
    return np.power(10.0, np.asarray(level_db, dtype=np.float64) / 10.0)


def amplitude_ratio(level_db: Any) -> Any:
    """Return the amplitude ratio for a level in dB, 10^(x/20), as float64 of the same shape."""
    return np.power(10.0, np.asarray(level_db, dtype=np.float64) / 20.0)


def power_db(ratio: Any) -> Any:
    """Return 10 log10 of a power ratio, or -inf for 0.

    >>> float(power_db(100)), float(power_db(0))
    (20.0, -inf)
    """
    with np.errstate(divide="ignore"):
        return 10.0 * np.log10(np.asarray(ratio, dtype=np.float64))
