# SPDX-License-Identifier: Apache-2.0
"""Estimate how much jitter differs between slots. Slots with equal jitter would also differ by chance. These
differences are subtracted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, resampled

KEY = "jitter_spread"

_LEAST_NS = 10_000.0
"""The smallest width in ns that is used for the delays of a slot. Without this minimum, the code would take the
logarithm of 0 for a slot with equal delays."""

_CUT_SPREAD = 0.8796
"""The standard deviation of a standard normal distribution that is truncated at +-2. The profile truncates the random
factors of its slots in this way."""

_MOST = 1.0
"""The largest allowed value of `jitter_spread`."""


def fit_spread(widths_ns: NDArray[np.float64], made_ns: NDArray[np.float64]) -> Estimate:
    """Estimate `jitter_spread`. For each slot, the logarithm of the width of its delays is computed. `jitter_spread` is
    their standard deviation. A part of this standard deviation also occurs in simulated slots with one jitter. This
    part is subtracted.

    If the confidence interval of the difference includes 0, the estimate is 0.

    widths_ns: float64 array of shape (slots,). For each slot of the recording, the width of its delays.
    made_ns: float64 array of shape (m,). The widths of the delays in simulated slots. They are simulated with the
        profile, and with the same jitter in all slots.
    """
    logs, of_made = _logs(widths_ns), _logs(made_ns)

    def variance(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(drawn.var(ddof=1))

    here, by_chance = float(variance(logs)), float(variance(of_made))
    least, most = (float(end) for end in resampled(logs, variance))
    fewest, largest = (float(end) for end in resampled(of_made, variance))
    # The two variances are independent estimates. The squared error of their difference is therefore the sum of their
    # squared errors.
    low = here - by_chance - float(np.hypot(here - least, largest - by_chance))
    high = here - by_chance + float(np.hypot(most - here, by_chance - fewest))
    value = here - by_chance if low > 0.0 else 0.0
    note = "widths of delays within slots, beyond their differences over the profile with one jitter for all slots"
    return Estimate(KEY, _ratio(value), _ratio(low), _ratio(high), len(logs), "slots", note)


def _logs(widths_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(widths_ns, _LEAST_NS))


def _ratio(variance: float) -> float:
    return min(float(np.sqrt(max(variance, 0.0))) / _CUT_SPREAD, _MOST)
