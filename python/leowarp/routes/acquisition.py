# SPDX-License-Identifier: Apache-2.0
"""Links between satellites that need acquisition time after the route update at which their rule first includes
them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.routes.links import Pairs


@dataclass(frozen=True)
class Acquisition:
    """A link that a path uses before it is available.

    a, b: Its nodes, a < b.
    begin_ns, end_ns: Instants at which a path begins to use it, and at which it is available.
    """

    a: int
    b: int
    begin_ns: int
    end_ns: int


class Acquired:
    """When each link of a rule is available, from one route update to the next. Links of the first update are available
    at once.

    takes_ns: Acquisition time of a new link.
    satellites: Number of satellites.
    """

    def __init__(self, takes_ns: int, satellites: int) -> None:
        self._takes_ns, self._satellites = takes_ns, satellites
        self._codes: NDArray[np.int64] | None = None
        self._ready_ns = np.empty(0, dtype=np.int64)
        self._told: set[tuple[int, int, int]] = set()

    def ready_ns(self, t_ns: int, links: Pairs) -> NDArray[np.int64]:
        """When each link is available, shape (m,). Call it exactly once for each route update, in order.

        links: int array of shape (m, 2). All links that the rule includes, sorted.
        """
        codes = links[:, 0].astype(np.int64) * self._satellites + links[:, 1]
        if self._codes is None:
            ready_ns = np.full(len(codes), t_ns, dtype=np.int64)
        else:
            ready_ns = np.full(len(codes), t_ns + self._takes_ns, dtype=np.int64)
            _, now, before = np.intersect1d(codes, self._codes, assume_unique=True, return_indices=True)
            ready_ns[now] = self._ready_ns[before]
        self._codes, self._ready_ns = codes, ready_ns
        return ready_ns

    def late(self, t_ns: int, used: Pairs) -> list[Acquisition]:
        """Links that are in use from now on but not yet available, each once.

        used: int array of shape (m, 2). used: Result of `observed.links_of`. If a path stays, it may use a link that
            the rule no longer includes.
        """
        assert self._codes is not None
        ready_ns = dict(zip(self._codes.tolist(), self._ready_ns.tolist(), strict=True))
        found = []
        for a, b in used[used[:, 1] < self._satellites].tolist():
            end_ns = ready_ns.get(a * self._satellites + b, t_ns)
            if end_ns > t_ns and (a, b, end_ns) not in self._told:
                self._told.add((a, b, end_ns))
                found.append(Acquisition(a, b, t_ns, end_ns))
        return found
