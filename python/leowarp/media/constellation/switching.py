# SPDX-License-Identifier: Apache-2.0
"""The times at which the nodes of a new path get their forwarding entries one after another (``routing.update =
"staggered"``).

The nodes of the forward path come first, each after the previous node. The nodes of the return path come afterwards. A
node whose entry does not change needs the same time. The program that installs routes writes every entry. The emulator
of `frederiksen2024` calls ``podman exec ... ip route replace`` for one node after another, forward path first (main.go
at 34e333e).
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
    """The times at which nodes switch to their new routes, for each route update and pair."""

    def __init__(self, plan: Plan) -> None:
        self._routing, self._seed = plan.routing, plan.run.seed
        self._done_ns = 0

    def after_ns(self, update: int, pair: int, path: Path, *, is_way_back: bool) -> Sequence[int]:
        """Return the delay in ns from the route update until each node of a path gets its entry. The last node has no
        value.

        update, pair: The indices of the route update and of the pair. For each update and pair, call this method first
            for the forward path, then for the return path. On the return path, nodes start to switch after the forward
            path is complete.
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
        """Raise an error if a node would get its entry only after the next change.

        at_ns: The time of the update.
        after_ns: The delays from the method `after_ns`.
        until_ns: The time of the next update. If links that are no longer used are removed earlier, the time of their
            removal.
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
