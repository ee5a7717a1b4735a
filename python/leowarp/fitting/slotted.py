# SPDX-License-Identifier: Apache-2.0
"""A series of probes divided into the slots of a schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.timeline.recordings.losses import HANDOVER_NS
from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.schedule import Schedule

FEWEST_PROBES = 8
"""A slot's minimum delay is valid only with this number of answered probes away from its ends."""

_DENSE_NS = 30_000_000


@dataclass(frozen=True, eq=False)
class Slotted:
    """The probes of a recording, by slots.

    series: The probes, including lost ones.
    slot: int64 array of shape (n,). The number of each probe's slot, from 0.
    clear: bool array of shape (n,). True if the probe was answered, and is at least 1 s away from either end of its
        slot.
    """

    series: Series
    schedule: Schedule
    slot: NDArray[np.int64]
    clear: NDArray[np.bool_]

    @property
    def interval_ns(self) -> int:
        interval_ns = self.series.interval_ns
        assert interval_ns is not None, "two probes at least"
        return interval_ns

    @property
    def is_dense(self) -> bool:
        """Return whether probes are dense enough to show jitter steps of 6 and 28 ms, and outage lengths."""
        return self.interval_ns <= _DENSE_NS

    @property
    def until_ns(self) -> int:
        """Return the time just after the last probe."""
        return int(self.series.t_ns[-1]) + 1

    @property
    def begins_ns(self) -> NDArray[np.int64]:
        """Return the times at which slots begin, from the first probe's slot to the last probe's slot."""
        first_ns = int(self.series.t_ns[0])
        return self.schedule.instants_ns(first_ns - self.schedule.period_ns + 1, self.until_ns)

    @property
    def one_way_ns(self) -> float:
        """Return half of the median of the slots' minimum round trips."""
        return float(np.median(self.floors_ns(self.series.delay_ns)[1])) / 2.0

    def floors_ns(self, delay_ns: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the numbers of the slots that have enough probes, and the smallest `delay_ns` in each of these slots.

        delay_ns: float64 array of shape (n,). The recorded delays, or simulated delays for probes at the same times.
        """
        slots, starts, counts = np.unique(self.slot[self.clear], return_index=True, return_counts=True)
        least_ns = np.minimum.reduceat(delay_ns[self.clear], starts)
        enough = counts >= FEWEST_PROBES
        return slots[enough], least_ns[enough]


def slotted(series: Series, schedule: Schedule) -> Slotted:
    number = (series.t_ns - schedule.phase_ns) // schedule.period_ns
    clear = (schedule.distance_ns(series.t_ns) >= min(HANDOVER_NS, schedule.period_ns // 4)) & ~np.isnan(
        series.delay_ns
    )
    return Slotted(series, schedule, (number - number[0]).astype(np.int64), clear)
