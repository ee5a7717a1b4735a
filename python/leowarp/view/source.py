# SPDX-License-Identifier: Apache-2.0
"""The parts of a run that a page needs: plan, tables, end of the run, and the clock of the page."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from leowarp.base.layout import MANIFEST
from leowarp.metrics import LinkValues, Tables, link_values
from leowarp.results.run import Run
from leowarp.scenario import Plan

# Maximum number of ticks. The number of ticks is below 2^31, so that every time of a run fits into an int32.
MOST_TICKS = 2_000_000_000


class Source:
    """A run as the source of a page. Each part of the run is read when it is first needed.

    run: The run, or its directory. The run must have a plan and a trace; a manifest is used if it exists.
    """

    def __init__(self, run: Run | Path | str) -> None:
        self.run = run if isinstance(run, Run) else Run(run, complete=False)
        self.path = self.run.path

    @property
    def plan(self) -> Plan:
        """Plan of the run. The plan's flows include the connections of programs."""
        return self.run.observed_plan

    @property
    def tables(self) -> Tables:
        """The run's tables."""
        return self.run.tables

    @property
    def manifest(self) -> dict[str, Any]:
        """Content of `manifest.json`; empty if there is none."""
        return self.run.manifest if (self.path / MANIFEST).exists() else {}

    @cached_property
    def links(self) -> LinkValues:
        """Delay and rate of links over time."""
        return link_values(self.tables)

    @cached_property
    def end_ns(self) -> int:
        """End of the run, ns."""
        # A run with `ends = "flows"` may have ended earlier than planned.
        return int(self.tables.virtual_ns or self.plan.run.duration_ns)

    @cached_property
    def tick_ns(self) -> int:
        """Resolution of times on the page: 1 us, or more if the times of a long run would not fit into 32 bits."""
        tick_ns = 1000
        # A power of ten, so that a tick is a round number of us: 1 us up to 2000 s, and 10 us up to five and a half
        # hours.
        while self.end_ns // tick_ns > MOST_TICKS:
            tick_ns *= 10
        return tick_ns

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Ordered pairs of stations between which packets of a flow travel: data packets, and packets in the return
        direction."""
        found = [(flow.source, flow.destination) for flow in self.plan.flows]
        return list(dict.fromkeys([*found, *((b, a) for a, b in found)]))

    def ticks(self, t_ns: Any) -> np.ndarray:
        """Convert times to the clock of the page.

        Times are rounded down to whole ticks, as int64 of the same shape.
        """
        return np.asarray(t_ns).astype("int64") // self.tick_ns


class Names:
    """Numbers of nodes by name. Satellites come first, then other nodes in the order of their first use.

    >>> names = Names(["s-00-00"])
    >>> names("Madrid"), names("s-00-00"), names.others
    (1, 0, ['Madrid'])
    """

    def __init__(self, satellites: list[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(satellites)}
        self._satellites = len(satellites)

    def __call__(self, name: str) -> int:
        """Number of a node. A node gets a new number when it is first used."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def others(self) -> list[str]:
        """Names of the nodes that are not satellites."""
        return list(self._numbers)[self._satellites :]
