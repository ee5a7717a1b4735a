# SPDX-License-Identifier: Apache-2.0
"""The times at which the nodes of a new path get their forwarding entries (``routing.update = "staggered"``). The nodes
get their entries one after another.

The nodes of the forward path come first, each after the previous node. The nodes of the return path come afterwards. A
node needs the same time even if its entry does not change. The program that installs routes writes every entry. The
emulator of `frederiksen2024` calls ``podman exec ... ip route replace`` for one node after another, forward path first
(main.go at 34e333e).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.base.units import TIME
from leowarp.routes.paths import Path
from leowarp.scenario.schema import Plan


class Switching:
    """For each route update and pair, the times at which nodes switch to their new routes."""

    def __init__(self, plan: Plan) -> None:
        self._routing, self._seed = plan.routing, plan.run.seed
        self._done_ns = 0

    def after_ns(self, update: int, pair: int, path: Path, *, is_way_back: bool) -> Sequence[int]:
        """For each node of a path, return when it gets its entry, in ns after the route update. The last node has no
        value.

        update, pair: The indices of the route update and of the pair. For each update and pair, call this method twice:
            first for the forward path, then for the return path. Nodes of the return path start to switch only after
            the forward path is complete.
        """
        nodes = len(path) - 1
        # At update 0 there is no delay, because the initial routes exist when the run begins.
        if update == 0 or self._routing.update == "atomic":
            return [0] * nodes
        draw = stream(self._seed, "routing.update", update, pair)
        order: NDArray[np.intp] = np.arange(nodes)
        if self._routing.update_order == "destination-first":
            order = order[::-1]
        elif self._routing.update_order == "random":
            order = draw.permutation(nodes)
        done_ns = np.cumsum(self._takes_ns(draw, nodes)) + (self._done_ns if is_way_back else 0)
        self._done_ns = int(done_ns[-1])
        after_ns = np.empty(nodes, dtype=np.int64)
        after_ns[order] = done_ns
        return [int(value) for value in after_ns]

    def check(self, at_ns: int, after_ns: Sequence[int], until_ns: int) -> None:
        """Raise an error if the next change comes before every node has its entry.

        after_ns: The delays from the method `after_ns`.
        until_ns: The time of the next update. If unused links are removed before that, it is the time of their removal.
        Raises ScenarioError if a node would get its entry at or after `until_ns`.
        """
        last_ns = max(after_ns, default=0)
        if last_ns and at_ns + last_ns >= until_ns:
            raise ScenarioError(
                f"the nodes of the route update at {TIME.format(at_ns)} need {TIME.format(last_ns)} to switch, and the "
                f"next update or the end of old links comes {TIME.format(until_ns - at_ns)} after it",
                hint="write a shorter routing.update_delay, or a longer routing.interval",
            )

    def _takes_ns(self, draw: np.random.Generator, nodes: int) -> NDArray[np.int64]:
        mean_ns = self._routing.update_delay_ns
        if self._routing.update_spread == "uniform":
            return np.rint(draw.uniform(0, 2 * mean_ns, nodes)).astype(np.int64)
        if self._routing.update_spread == "exponential":
            return np.rint(draw.exponential(mean_ns, nodes)).astype(np.int64)
        return np.full(nodes, mean_ns, dtype=np.int64)
