# SPDX-License-Identifier: Apache-2.0
"""Selects the code that forwards packets at nodes other than hosts. It is leowarp's direct forwarding, or the kernel's
forwarding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.nodes import host_node

if TYPE_CHECKING:
    from leowarp.scenario import Plan


def forwarding(plan: Plan, timeline: pa.Table) -> str:
    """Return the value of `network.forwarding` for the guest: "direct" or "kernel".

    Consider paths on which no link has a rate. The value is "kernel" if data of TCP or of a program may take such a
    path. On a path without rates, a flow's speed depends on when the guest's processes are scheduled. Linux schedules
    processes between two softirqs. Direct forwarding needs fewer softirqs than the kernel's forwarding. On a path
    without rates, direct forwarding would therefore change the flow. The value is also "kernel" for IPv6 packets,
    because direct forwarding cannot read the IPv6 header.
    """
    if plan.network.family == "ipv6":
        return "kernel"
    if plan.network.forwarding == "direct" and joined_without_rate(timeline, _pairs(plan)):
        return "kernel"
    return plan.network.forwarding


def joined_without_rate(timeline: pa.Table, pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether a pair (from, to) of hosts may have a path without any rate limit in the packets' direction.

    A link with a queueing discipline of the kernel, such as netem, is treated as having a rate limit.
    """
    onward: dict[str, list[str]] = {}
    for a, b in _directions_without_rate(timeline):
        onward.setdefault(a, []).append(b)
    for source, destination in pairs:
        reached = [source]
        for node in reached:
            reached += [after for after in onward.get(node, ()) if after not in reached]
        if destination in reached:
            return True
    return False


def _pairs(plan: Plan) -> set[tuple[str, str]]:
    """Return the pairs (from, to) of hosts between which TCP flows or programs send data. The hosts of a program flow
    appear in both orders, because programs may send in both directions."""
    ends = [(host_node(flow.source), host_node(flow.destination), flow.kind) for flow in plan.flows]
    there = {(source, destination) for source, destination, kind in ends if kind in ("tcp", "program")}
    return there | {(destination, source) for source, destination, kind in ends if kind == "program"}


def _directions_without_rate(timeline: pa.Table) -> list[tuple[str, str]]:
    """Return the directions of leolinks that are without a rate limit at some time. Wires are included."""
    links = timeline.filter((pc.field("event") == "link") & (pc.field("discipline") == "leolink"))
    ends = {tuple(sorted(pair)) for pair in zip(links["a"].to_pylist(), links["b"].to_pylist(), strict=True)}
    rows = timeline.filter(pc.field("event").isin(["rate", "capacity"])).select(["a", "b", "rate_bps"])
    # Rows are aggregated per direction, because a capacity table has many rows.
    least = rows.group_by(["a", "b"]).aggregate([("rate_bps", "min", pc.ScalarAggregateOptions(skip_nulls=False))])
    shaped = {
        (a, b)
        for a, b, rate_bps in zip(*(least[name].to_pylist() for name in ("a", "b", "rate_bps_min")), strict=True)
        if rate_bps is not None
    }
    return [way for a, b in ends for way in ((a, b), (b, a)) if way not in shaped]
