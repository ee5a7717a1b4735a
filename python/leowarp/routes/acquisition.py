# SPDX-License-Identifier: Apache-2.0
"""Links between satellites that need time to be pointed, from the route update at which their rule gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.routes.links import Pairs


@dataclass(frozen=True)
class Acquisition:
    """A link that a path uses before it is there.

    a, b: Its nodes, a < b.
    begin_ns, end_ns: From when a path uses it, and when it is there.
    """

    a: int
    b: int
    begin_ns: int
    end_ns: int


class Acquired:
    """When the links of a rule are there, from one route update to the next; those of the first always are.

    takes_ns: How long a new link takes.
    satellites: How many there are.
    """

    def __init__(self, takes_ns: int, satellites: int) -> None:
        self._takes_ns, self._satellites = takes_ns, satellites
        self._codes: NDArray[np.int64] | None = None
        self._ready_ns = np.empty(0, dtype=np.int64)
        self._told: set[tuple[int, int, int]] = set()

    def ready_ns(self, t_ns: int, links: Pairs) -> NDArray[np.int64]:
        """When each link is there, shape (m,); must be called once for each route update, in order.

        links: int array of shape (m, 2). All that the rule gives, sorted.
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
        """Those of the links in use from now on that are not there yet, each once.

        used: int array of shape (m, 2). As `observed.links_of` gives them. A path that stays may use a link that the
            rule gives no more.
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
