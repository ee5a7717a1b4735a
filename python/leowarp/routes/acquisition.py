# SPDX-License-Identifier: Apache-2.0
"""Finds the inter-satellite links that cannot be used yet. When a rule first includes a link, the link cannot be used
for some time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import Ephemeris
from leowarp.routes.links import Pairs
from leowarp.scenario.schema import Plan


@dataclass(frozen=True)
class Acquisition:
    """A link that is not yet available when a path begins to use it.

    a, b: The nodes of the link, where a < b.
    begin_ns, end_ns: The time at which a path begins to use the link, and the time from which the link is available.
    """

    a: int
    b: int
    begin_ns: int
    end_ns: int


class Acquired:
    """For each link of a rule, the time at which the link becomes available. The times are stored between route
    updates. Links that exist at the first update are available at once."""

    def __init__(self, plan: Plan, ephemeris: Ephemeris) -> None:
        sky = plan.constellation
        self._isl, self._satellites = plan.isl, len(ephemeris.names)
        # The orbital plane of each satellite, shape (n,). -1 means an unknown plane. Planes are unknown only if all
        # links have the same acquisition time.
        self._planes = np.full(self._satellites, -1)
        if ephemeris.places is not None:
            # In each shell, planes are numbered from 0. The numbers that are computed here therefore also contain the
            # shell.
            places = ephemeris.places
            self._planes = np.where(places.shell < 0, -1, places.shell * self._satellites + places.plane)
        elif sky is not None and sky.tle is None:
            sizes = [shell.satellites_per_plane for shell in sky.patterns for _ in range(shell.planes)]
            self._planes = np.repeat(np.arange(len(sizes)), sizes)
        self._codes: NDArray[np.int64] | None = None
        self._ready_ns = np.empty(0, dtype=np.int64)
        self._told: set[tuple[int, int, int]] = set()

    def times_ns(self, links: Pairs) -> NDArray[np.int64]:
        """Return the acquisition time of each link, ns, shape (m,).

        links: An int array of shape (m, 2)
        """
        isl, plane = self._isl, self._planes[links]
        between_ns = (
            isl.acquisition_ns if isl.acquisition_between_planes_ns is None else isl.acquisition_between_planes_ns
        )
        is_within = (plane[:, 0] == plane[:, 1]) & (plane[:, 0] >= 0)
        return np.where(is_within, isl.acquisition_ns, between_ns).astype(np.int64)

    def ready_ns(self, t_ns: int, links: Pairs) -> NDArray[np.int64]:
        """Return the time at which each link is available, ns, shape (m,). Call this method exactly once per route
        update, in order of time.

        links: All links that the rule includes, sorted, int array of shape (m, 2).
        """
        codes = links[:, 0].astype(np.int64) * self._satellites + links[:, 1]
        if self._codes is None:
            ready_ns = np.full(len(codes), t_ns, dtype=np.int64)
        else:
            ready_ns = t_ns + self.times_ns(links)
            _, now, before = np.intersect1d(codes, self._codes, assume_unique=True, return_indices=True)
            ready_ns[now] = self._ready_ns[before]
        self._codes, self._ready_ns = codes, ready_ns
        return ready_ns

    def late(self, t_ns: int, used: Pairs) -> list[Acquisition]:
        """Return the links that paths use from this update on, but that are not available yet.

        used: The links on paths, from `observed.links_of`, int array of shape (m, 2). If a path stays in use, the rule
            may no longer include one of its links. Such a link counts as available.
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
