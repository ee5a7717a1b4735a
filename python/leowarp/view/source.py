# SPDX-License-Identifier: Apache-2.0
"""Inputs of a page from a run: plan, tables, end of the run, and the page's clock."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from leowarp.base.layout import MANIFEST
from leowarp.metrics import LinkValues, Tables, link_values
from leowarp.results.run import Run
from leowarp.scenario import Plan

# The limit is below 2^31, so that any time of a run fits into an int32.
MOST_TICKS = 2_000_000_000


class Source:
    """A run for a page; each part is read when it is needed.

    run: The run, or its directory. A plan and a trace are required; a manifest is used if it exists.
    """

    def __init__(self, run: Run | Path | str) -> None:
        self.run = run if isinstance(run, Run) else Run(run, complete=False)
        self.path = self.run.path

    @property
    def plan(self) -> Plan:
        """The run's plan, with the connections of its programs among the flows."""
        return self.run.observed_plan

    @property
    def tables(self) -> Tables:
        """The run's tables."""
        return self.run.tables

    @property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`, empty if there is none."""
        return self.run.manifest if (self.path / MANIFEST).exists() else {}

    @cached_property
    def links(self) -> LinkValues:
        """Delay and rate of links over time."""
        return link_values(self.tables)

    @cached_property
    def end_ns(self) -> int:
        """End of the run."""
        # A run with `ends = "flows"` may have ended earlier than its plan specifies.
        return int(self.tables.virtual_ns or self.plan.run.duration_ns)

    @cached_property
    def tick_ns(self) -> int:
        """Resolution of the page's times: 1 us, or as much more as 32 bits require for the run's length."""
        tick_ns = 1000
        # The resolution is a power of ten, so that a tick is a round number of us: 1 us up to 2000 s, 10 us up to five
        # and a half hours.
        while self.end_ns // tick_ns > MOST_TICKS:
            tick_ns *= 10
        return tick_ns

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Ordered pairs of stations between which packets of a flow travel: data, and return packets."""
        found = [(flow.source, flow.destination) for flow in self.plan.flows]
        return list(dict.fromkeys([*found, *((b, a) for a, b in found)]))

    def ticks(self, t_ns: Any) -> np.ndarray:
        """Convert times to the page's clock.

        Rounded down to whole ticks; int64 of the same shape.
        """
        return np.asarray(t_ns).astype("int64") // self.tick_ns


class Names:
    """Numbers of nodes by name: satellites first, then the others in order of first use.

    >>> names = Names(["s-00-00"])
    >>> names("Madrid"), names("s-00-00"), names.others
    (1, 0, ['Madrid'])
    """

    def __init__(self, satellites: list[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(satellites)}
        self._satellites = len(satellites)

    def __call__(self, name: str) -> int:
        """Number of a node; a new number at its first use."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def others(self) -> list[str]:
        """Names of the nodes that are not satellites."""
        return list(self._numbers)[self._satellites :]
