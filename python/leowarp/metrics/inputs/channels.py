# SPDX-License-Identifier: Apache-2.0
"""The tables in a timeline that give the capacity, delay and loss of each link direction over time. These tables are
computed before the run starts, for the whole run.

Measured paths, access links and mobile channels have these tables (design/interfaces.md, section 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Pair = tuple[str, str]
"""Two names in a fixed order. For stations, it is (source, destination). For nodes of a directed link, it is (sender,
receiver)."""
Steps = tuple[np.ndarray, np.ndarray]
"""A step function has two arrays: the instants (int64, ns, sorted), and the values that are valid from each instant on
(float64)."""


@dataclass(frozen=True)
class Channels:
    """The tables from the events `capacity` and `channel`. The key (a, b) means the direction from node a to node b.

    capacity_bps: The rate. A rate of nan means no limit, and a rate of 0 means that nothing is sent.
    delay_ns, loss_ratio: The values for packets whose transmission begins at or after each instant.
    """

    capacity_bps: Mapping[Pair, Steps] = field(default_factory=dict)
    delay_ns: Mapping[Pair, Steps] = field(default_factory=dict)
    loss_ratio: Mapping[Pair, Steps] = field(default_factory=dict)


def split_timeline(timeline: pa.Table) -> tuple[pa.Table, Channels]:
    """Separate the events of a timeline from the rows that belong to the tables of its links. A profile has millions of
    table rows, so no Python object is created per row."""
    is_capacity = pc.equal(timeline["event"], "capacity")
    is_channel = pc.equal(timeline["event"], "channel")
    rows = pc.or_(is_capacity, is_channel)
    if not pc.any(rows).as_py():
        return timeline, Channels()
    capacity, channel = timeline.filter(is_capacity), timeline.filter(is_channel)
    return timeline.filter(pc.invert(rows)), Channels(
        capacity_bps=_by_direction(capacity, "rate_bps"),
        delay_ns=_by_direction(channel, "delay_ns"),
        # A timeline that a user made may contain only delays.
        loss_ratio=_by_direction(channel, "loss_ratio") if "loss_ratio" in channel.column_names else {},
    )


def _by_direction(rows: pa.Table, column: str) -> dict[Pair, Steps]:
    """Return the step function of `column` for each direction. The rows stay in Arrow until they become numeric arrays,
    because a profile of an hour has millions of rows."""
    steps = {}
    for a in pc.unique(rows["a"]).to_pylist():
        of_a = rows.filter(pc.equal(rows["a"], a))
        for b in pc.unique(of_a["b"]).to_pylist():
            mine = of_a.filter(pc.equal(of_a["b"], b))
            t_ns = mine["t_ns"].to_numpy().astype("int64")
            # The sort is stable. If several rows have the same instant, the one written last is valid, and `step_at`
            # finds it.
            order = np.argsort(t_ns, kind="stable")
            value = mine[column].to_numpy().astype("float64")
            steps[a, b] = (t_ns[order], value[order])
    return steps
