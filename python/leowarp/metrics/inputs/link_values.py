# SPDX-License-Identifier: Apache-2.0
"""The delay and rate of each link direction over time, from events or tables of the timeline.

A direction's rate comes from `rate` events or from `capacity` rows, and its delay from `delay` events or from `channel`
rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leowarp.base.instants import distinct
from leowarp.metrics.inputs.channels import Pair, Steps
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import Tables, floats, kept, rows_by, rows_of_event


@kept
def link_values(tables: Tables) -> LinkValues:
    """Return the delay and rate of every link direction of a run."""
    return LinkValues(tables)


class LinkValues:
    """The delay and rate of every direction as step functions of time."""

    def __init__(self, tables: Tables) -> None:
        self._channels = tables.channels
        # A direction has either events or a table, never both (timeline/schema.py), so nothing is overwritten here.
        self._delay = _steps(tables.timeline, "delay", "delay_ns") | dict(tables.channels.delay_ns)
        self._rate = _steps(tables.timeline, "rate", "rate_bps") | dict(tables.channels.capacity_bps)

    def delay_ns(self, a: str, b: str, at_ns: np.ndarray | int) -> np.ndarray:
        """Return the propagation delay in force from node `a` to node `b`, in ns, as float64 array of the shape of
        `at_ns`. The delay is 0 until the first delay is set, as for a new link in the guest."""
        t_ns, value = self._delay.get((a, b), _NOTHING)
        return step_at(t_ns, value, at_ns, before=0.0)

    def rate_bps(self, a: str, b: str, at_ns: np.ndarray | int) -> np.ndarray:
        """Return the rate in force, in bit/s. nan means no rate limit, as before the first rate event of a link."""
        t_ns, value = self._rate.get((a, b), _NOTHING)
        return step_at(t_ns, value, at_ns, before=np.nan)

    def delay_instants_ns(self, a: str, b: str) -> np.ndarray:
        """Return the instants at which the delay of a direction was set: int64 array, ns, ascending."""
        return self._delay.get((a, b), _NOTHING)[0]

    def rate_instants_ns(self, a: str, b: str) -> np.ndarray:
        """Return the instants at which the rate of a direction was set: int64 array, ns, ascending."""
        return self._rate.get((a, b), _NOTHING)[0]

    def is_shaped(self, a: str, b: str) -> bool:
        """Return whether the direction has a rate limit during at least a part of the run."""
        return bool(np.isfinite(self._rate.get((a, b), _NOTHING)[1]).any())

    def has_channel(self, a: str, b: str) -> bool:
        """Return whether the direction's delay comes from a table, so that it varies within a slot."""
        return (a, b) in self._channels.delay_ns

    def has_capacity_table(self, a: str, b: str) -> bool:
        """Return whether the direction's rate comes from a table."""
        return (a, b) in self._channels.capacity_bps

    def base_delay_ns(self, a: str, b: str, from_ns: int, until_ns: int) -> float:
        """Return the smallest delay from `from_ns` (inclusive) to `until_ns` (exclusive), in ns."""
        t_ns, value = self._delay.get((a, b), _NOTHING)
        low, high = np.searchsorted(t_ns, [from_ns, until_ns], side="left")
        inside = value[low:high]
        start = float(self.delay_ns(a, b, from_ns))
        return min(start, float(inside.min())) if len(inside) else start

    def capacity_bits(self, a: str, b: str, edges_ns: np.ndarray) -> np.ndarray:
        """Return the bits that a direction can carry between two successive edges (int64, strictly increasing). The
        value is nan if the direction has no rate limit in a part of this time."""
        edges_ns = np.asarray(edges_ns, dtype="int64")
        if len(edges_ns) < 2 or edges_ns[-1] == edges_ns[0]:
            return np.zeros(max(len(edges_ns) - 1, 0))
        t_ns = self.rate_instants_ns(a, b)
        low, high = np.searchsorted(t_ns, [edges_ns[0], edges_ns[-1]], side="right")
        # Bins are also split at every change of the rate, so that the rate is constant in each piece.
        every = distinct([edges_ns, t_ns[low:high]])
        every = every[every <= edges_ns[-1]]
        bits = self.rate_bps(a, b, every[:-1]) * np.diff(every) / 1e9
        return np.add.reduceat(bits, np.searchsorted(every, edges_ns[:-1]))


def _steps(timeline: pd.DataFrame, event: str, column: str) -> dict[Pair, Steps]:
    """Return the step function of a column for each direction. Each event of the kind `event` is a step."""
    if len(timeline) == 0:
        return {}
    *ends, instants, held = rows_of_event(timeline, event, "a", "b", "t_ns", column)
    t_ns, values = instants.to_numpy(dtype="int64"), floats(held)
    (senders, a), (receivers, b) = map(pd.factorize, ends)
    # All events are sorted once instead of once per direction, because there may be thousands of directions. The sort
    # is stable. If several events have the same instant, the one written last is valid.
    order = np.argsort(t_ns, kind="stable")
    directions, t_ns, values = (senders * len(b) + receivers)[order], t_ns[order], values[order]
    return {
        (a[direction // len(b)], b[direction % len(b)]): (t_ns[at], values[at])
        for direction, at in rows_by(directions).items()
    }


_NOTHING: Steps = (np.zeros(0, dtype="int64"), np.zeros(0))
