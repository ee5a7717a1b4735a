# SPDX-License-Identifier: Apache-2.0
"""Finds links that a path uses before they are available. These are ground links after a handover, and links whose
lasers are still being pointed.

Each interruption is a time interval of one link, in both directions. With `lost`, packets are lost if their
transmission begins in the interval. With `buffered`, the link's capacity is 0 in the interval. Packets then wait in the
link's queue, up to its limit. With `old` (only for ground links), packets take the old path until both ground links of
the new path are available.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.base.units import TIME
from leowarp.routes import Routes
from leowarp.routes.acquisition import Acquisition
from leowarp.routes.observed import links_of
from leowarp.scenario.schema import Plan
from leowarp.timeline.events import Events, LinkKind


class Interruptions:
    """The interruptions of a run. There is one group for each way in which packets are treated. A handover gap is an
    `Acquisition`, too: the link is not available when a path begins to use it.

    satellites: The number of satellites. Nodes with this number or a larger one are stations.
    dishes: The nodes of stations with an access link. The handovers of these stations are part of the access link.
    """

    def __init__(self, plan: Plan, routes: Routes, satellites: int, dishes: Sequence[int]) -> None:
        told: dict[str, list[Acquisition]] = {"lost": [], "buffered": [], "old": [], "wait": []}
        told[plan.ground.in_gap] += _gaps(plan, routes, satellites, dishes)
        told[plan.isl.acquiring] += routes.acquisitions
        self._lost, self._buffered = _by_link(told["lost"]), _by_link(told["buffered"])
        self._old = {(one.a, one.b, one.begin_ns): one.end_ns - one.begin_ns for one in told["old"]}
        self._duration_ns = plan.run.duration_ns

    def is_buffered(self, a: int, b: int) -> bool:
        """Return whether packets are buffered on the link in at least one interval. The link then needs a table of
        capacity."""
        return (a, b) in self._buffered

    def delayed_ns(self, t_ns: int, path: Sequence[int], until_ns: int) -> int:
        """Return the time in ns from a route update until the nodes get the entries of a path. Until that time, packets
        take the old path. `until_ns` is the time of the next update.

        Raises ScenarioError if the next update comes before the entries are installed.
        """
        delayed_ns = max(self._old.get((path[1], path[0], t_ns), 0), self._old.get((path[-2], path[-1], t_ns), 0))
        if delayed_ns and t_ns + delayed_ns >= until_ns:
            raise ScenarioError(
                f"the handover at {TIME.format(t_ns)} leaves a gap of {TIME.format(delayed_ns)}, and paths are found "
                f"anew {TIME.format(until_ns - t_ns)} after it, at a route update or a dish's reconfiguration",
                "write a shorter ground.handover_gap",
            )
        return delayed_ns

    def tell(self, events: Events, kind_of: Callable[[int], LinkKind]) -> None:
        """Add the events that start and end the loss of packets in interruptions. Before this call, the caller must add
        the events of links, including those of the links' own losses.

        kind_of: A function that takes the larger node number of a link, and returns the kind of the link. After an
            interruption, the loss ratio of this kind applies again.
        """
        for one in itertools.chain(*self._lost.values()):
            for a, b in ((one.a, one.b), (one.b, one.a)):
                events.loss(one.begin_ns, a, b, 1.0)
                if one.end_ns < self._duration_ns:
                    events.loss(one.end_ns, a, b, kind_of(one.b).loss_ratio)

    def tables(self, events: Events, a: int, b: int, link: LinkKind) -> None:
        """Add the capacity of both directions of a link: the link's rate, or 0 during interruptions."""
        t_ns, rate_bps = [0], [link.rate_bps]
        for one in self._buffered[a, b]:
            t_ns += [one.begin_ns, one.end_ns]
            rate_bps += [0, link.rate_bps]
        inside = [i for i, at_ns in enumerate(t_ns) if at_ns < self._duration_ns]
        masked = np.ma.array(
            [rate_bps[i] or 0 for i in inside], mask=[rate_bps[i] is None for i in inside], dtype=np.int64
        )
        for ends in ((a, b), (b, a)):
            events.capacity(*ends, np.array([t_ns[i] for i in inside], dtype=np.int64), masked)


def _by_link(interruptions: Sequence[Acquisition]) -> dict[tuple[int, int], list[Acquisition]]:
    """Return the interruptions of each link in order of time. Adjacent interruptions are merged."""
    found: dict[tuple[int, int], list[Acquisition]] = {}
    for one in sorted(interruptions, key=lambda one: (one.a, one.b, one.begin_ns, one.end_ns)):
        mine = found.setdefault((one.a, one.b), [])
        if mine and one.begin_ns <= mine[-1].end_ns:
            last = mine.pop()
            mine.append(dataclasses.replace(last, end_ns=max(last.end_ns, one.end_ns)))
        else:
            mine.append(one)
    return found


def _gaps(plan: Plan, routes: Routes, satellites: int, dishes: Sequence[int]) -> list[Acquisition]:
    """Return an interruption for each ground link that the paths begin to use at a route update. Ground links of dishes
    are left out."""
    gap_ns, spread_ns = plan.ground.handover_gap_ns, plan.ground.handover_gap_spread_ns
    if not gap_ns:
        return []
    found: list[Acquisition] = []
    for k in range(1, len(routes.t_ns)):
        t_ns = int(routes.t_ns[k])
        before = set(map(tuple, links_of(routes.paths[k - 1]).tolist()))
        for a, b in links_of(routes.paths[k]).tolist():
            if b < satellites or b in dishes or (a, b) in before:
                continue
            # Each link and update has its own random stream, so that its random number does not depend on other
            # handovers.
            drawn_ns = stream(plan.run.seed, "ground.handover_gap", k, a, b).integers(-spread_ns, spread_ns + 1)
            found.append(Acquisition(a, b, t_ns, t_ns + gap_ns + int(drawn_ns)))
    return [one for one in found if one.end_ns > one.begin_ns]
