# SPDX-License-Identifier: Apache-2.0
"""The page's clock, the numbers of its nodes, and its pairs of stations."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.results.run import Run

# Maximum number of ticks in a run. The maximum is below 2^31, so that every time of a run in ticks fits into an int32.
MOST_TICKS = 2_000_000_000


def tick_ns(run: Run) -> int:
    """Length in ns of a tick, the resolution of times on the page: 1 us, or more if the times of a long run would not
    fit into 32 bits."""
    tick = 1000
    # A tick is 1 us, multiplied by ten until all times fit: 1 us for runs up to 2000 s, 10 us up to five and a half
    # hours.
    while run.end_ns // tick > MOST_TICKS:
        tick *= 10
    return tick


def ticks(run: Run, t_ns: Any) -> np.ndarray:
    """Times in ticks of the page's clock, rounded down, as int64 array of the same shape as `t_ns`."""
    return np.asarray(t_ns).astype("int64") // tick_ns(run)


def station_pairs(run: Run) -> list[tuple[str, str]]:
    """Pairs (from, to) of stations between which packets of a flow travel, for data and for return packets."""
    found = [(flow.source, flow.destination) for flow in run.observed_plan.flows]
    return list(dict.fromkeys([*found, *((b, a) for a, b in found)]))


class Names:
    """Assigns numbers to nodes by their names. Satellites have the first numbers; other nodes get the next number when
    they are first used.

    >>> names = Names(["s-00-00"])
    >>> names("Madrid"), names("s-00-00"), names.others
    (1, 0, ['Madrid'])
    """

    def __init__(self, satellites: list[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(satellites)}
        self._satellites = len(satellites)

    def __call__(self, name: str) -> int:
        """Number of the node `name`. A node that has no number yet gets the next one."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def others(self) -> list[str]:
        """Names of the nodes that are not satellites."""
        return list(self._numbers)[self._satellites :]
