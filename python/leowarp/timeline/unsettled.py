# SPDX-License-Identifier: Apache-2.0
"""Computes the time for which routing tables contradict each other while nodes switch one by one."""

from __future__ import annotations

from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import TraceError
from leowarp.timeline.replay import Replay


def unsettled(table: pa.Table) -> dict[str, int]:
    """Return the total time during which packets would loop, or would reach a node without a route. Only the routing
    entries are considered, not the positions of real packets.

    table: A timeline's table.
    Returns: `circle_ns` is the time in which packets would go in a circle. `no_entry_ns` is the time in which a node
        has no route. Both are sums over all ordered pairs that have a path. If all nodes of a path switch at the same
        instant, both sums are 0.
    """
    times = {"circle_ns": 0, "no_entry_ns": 0}
    kind = pc.field("event")
    entries = table.filter((kind == "route") & pc.field("next_hop").is_valid())["t_ns"].unique().to_pylist()
    if set(entries) <= set(table.filter(kind == "path")["t_ns"].unique().to_pylist()):
        return times
    state = Replay()
    rows = table.filter(kind.isin(["node", "link", "route", "path"])).to_pylist()
    instants = [(t_ns, list(events)) for t_ns, events in groupby(rows, key=lambda row: row["t_ns"])]
    until_ns = [t_ns for t_ns, _ in instants[1:]]
    # The time after the last event is not counted, because the timeline does not contain the end of the run.
    for (t_ns, events), next_ns in zip(instants, until_ns, strict=False):
        for event in events:
            state.apply(event)
        for (source, destination), path_id in state.path_id.items():
            if path_id is None:
                continue
            try:
                if state.walk(source, destination) is None:
                    times["no_entry_ns"] += next_ns - t_ns
            except TraceError:
                times["circle_ns"] += next_ns - t_ns
    return times
