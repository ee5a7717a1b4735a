# SPDX-License-Identifier: Apache-2.0
"""Clock of the page, numbers of its nodes, and its pairs of stations."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.results.run import Run

# Largest number of ticks. It is below 2^31, so that every time of a run fits into an int32.
MOST_TICKS = 2_000_000_000


def tick_ns(run: Run) -> int:
    """Resolution of times on the page: 1 us, or more if the times of a long run would not fit into 32 bits."""
    tick = 1000
    # The resolution is a power of ten, so that a tick is a round number of us: 1 us up to 2000 s, and 10 us up to
    # five and a half hours.
    while run.end_ns // tick > MOST_TICKS:
        tick *= 10
    return tick


def ticks(run: Run, t_ns: Any) -> np.ndarray:
    """Times on the clock of the page, rounded down to whole ticks, as int64 of the same shape."""
    return np.asarray(t_ns).astype("int64") // tick_ns(run)


def station_pairs(run: Run) -> list[tuple[str, str]]:
    """Ordered pairs of stations between which packets of a flow travel, both data and return packets."""
    found = [(flow.source, flow.destination) for flow in run.observed_plan.flows]
    return list(dict.fromkeys([*found, *((b, a) for a, b in found)]))


class Names:
    """Numbers of nodes by name. Satellites come first, and then the others in the order of their first use.

    >>> names = Names(["s-00-00"])
    >>> names("Madrid"), names("s-00-00"), names.others
    (1, 0, ['Madrid'])
    """

    def __init__(self, satellites: list[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(satellites)}
        self._satellites = len(satellites)

    def __call__(self, name: str) -> int:
        """Number of a node. At its first use, it gets a new number."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def others(self) -> list[str]:
        """Names of the nodes that are not satellites."""
        return list(self._numbers)[self._satellites :]
