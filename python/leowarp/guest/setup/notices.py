# SPDX-License-Identifier: Apache-2.0
"""Draws the times at which hosts get false notices (`cures.notify_false_interval`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leowarp.base.nodes import host_node
from leowarp.base.streams import stream

if TYPE_CHECKING:
    from leowarp.scenario import Plan


def false_notices(plan: Plan, host_numbers: dict[str, int]) -> list[tuple[int, int, int]]:
    """Return the false notices of a run, sorted by time. Each end of a flow gets notices about the other end.

    Each notice has a time on the run's clock in ns, the host that gets the notice, and a destination. The notice says
    that the route to this destination changes. For each pair of hosts, the times are a Poisson process with mean
    interval `cures.notify_false_interval`. The times of each pair come from a separate random stream. The stream's name
    is ``cures.notices`` with the two host numbers.
    """
    mean_ns = plan.cures.notify_false_interval_ns
    if mean_ns is None:
        return []
    ends = [tuple(host_numbers[host_node(name)] for name in (flow.source, flow.destination)) for flow in plan.flows]
    out = []
    for told, destination in sorted({pair for a, b in ends for pair in ((a, b), (b, a))}):
        rng = stream(plan.run.seed, "cures.notices", told, destination)
        t_ns = 0
        while (t_ns := t_ns + round(rng.exponential(mean_ns))) < plan.run.duration_ns:
            out.append((t_ns, told, destination))
    return sorted(out)
