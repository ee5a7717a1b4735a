# SPDX-License-Identifier: Apache-2.0
"""The page's clock, the numbers of its nodes, and its pairs of stations."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.results.run import Run

# Maximum number of ticks in a run. The maximum is below 2^31, so that every time of a run in ticks fits into an int32.
MOST_TICKS = 2_000_000_000


def tick_ns(run: Run) -> int:
    """Return the length of a tick in ns, the resolution of times on the page. A tick is 1 us for runs up to 2000 s, and
    10 us up to five and a half hours, so that times fit into 32 bits."""
    tick = 1000
    while run.end_ns // tick > MOST_TICKS:
        tick *= 10
    return tick


def ticks(run: Run, t_ns: Any) -> np.ndarray:
    """Return times in ticks of the page's clock, rounded down, as an int64 array of the shape of `t_ns`."""
    return np.asarray(t_ns).astype("int64") // tick_ns(run)


def station_pairs(run: Run) -> list[tuple[str, str]]:
    """Return the pairs (from, to) of stations between which data packets or return packets travel."""
    found = [(flow.source, flow.destination) for flow in run.observed_plan.flows]
    return list(dict.fromkeys([*found, *((b, a) for a, b in found)]))


class Names:
    """A numbering of nodes by their names. The satellites have the first numbers. Any other node gets the next number
    when its name is first used.

    >>> names = Names(["s-00-00"])
    >>> names("Madrid"), names("s-00-00"), names.others
    (1, 0, ['Madrid'])
    """

    def __init__(self, satellites: list[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(satellites)}
        self._satellites = len(satellites)

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def others(self) -> list[str]:
        return list(self._numbers)[self._satellites :]
