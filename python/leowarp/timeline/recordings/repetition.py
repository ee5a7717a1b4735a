# SPDX-License-Identifier: Apache-2.0
"""Repeat a trace until the end of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.measurement import Capacity, Times

MOST_ROWS = 50_000_000
"""The limit on rows per direction. More rows would need more than a gigabyte of memory in the guest's kernel."""


def repeated(t_ns: Times, period_ns: int, until_ns: int) -> tuple[Times, NDArray[np.int64]]:
    """Return the times of a trace that is repeated every `period_ns` until `until_ns`. For each returned time, also
    return its index in the original trace."""
    rounds = max(-(-until_ns // period_ns), 1)
    if rounds * len(t_ns) > MOST_ROWS:
        raise ScenarioError(
            f"{rounds} rounds of a trace of {len(t_ns)} rows are too many for a guest", "make the run shorter"
        )
    again = np.add.outer(np.arange(rounds, dtype=np.int64) * period_ns, t_ns).ravel()
    return again, np.tile(np.arange(len(t_ns)), rounds)


def repeated_capacity(capacity: Capacity, until_ns: int) -> Capacity:
    """Return the capacity over time, repeated from its beginning until `until_ns`. If the end of the last row is
    unknown, the last row is as long as the median row."""
    period_ns = capacity.end_ns
    if period_ns <= capacity.t_ns[-1]:
        steps_ns = np.diff(capacity.t_ns)
        period_ns = int(capacity.t_ns[-1] + (np.median(steps_ns) if len(steps_ns) else 1_000_000_000))
    t_ns, place = repeated(capacity.t_ns, period_ns, until_ns)
    rounds = len(t_ns) // len(capacity.t_ns)
    return Capacity(t_ns=t_ns, rate_bps=capacity.rate_bps[place], end_ns=rounds * period_ns)
