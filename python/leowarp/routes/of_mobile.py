# SPDX-License-Identifier: Apache-2.0
"""What a mobile channel does to routes over a constellation: who is the last satellite, and what the last hop takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, Ephemeris
from leowarp.routes.paths import Path
from leowarp.scenario.schema import Plan

TERMINAL = 0
"""Station of the ephemeris of a mobile channel; the other is the gateway."""


class LastSatellite:
    """The one satellite that the terminal uses of those that it sees, from one route update to the next.

    ``kept`` is what ns-2's terminals do: they look for another satellite when the one that they have is below the mask
    (sat-hand.cc, ``TermLinkHandoffMgr::handoff``; that first tries the next satellite of the same plane).
    """

    def __init__(self, plan: Plan, ephemeris: Ephemeris) -> None:
        if plan.mobile is None:
            raise ValueError("the plan has no mobile channel")
        self._rule, self._stations = plan.mobile.last_satellite, ephemeris.stations
        self._now: int | None = None

    def of(self, seen: NDArray[np.bool_], satellites_m: EcefMetres) -> NDArray[np.bool_]:
        """Which of the satellites that are seen a route may end with, (n,); one, none, or (``shortest``) all."""
        if self._rule == "shortest":
            return seen
        visible = np.flatnonzero(seen)
        kept = self._rule == "kept" and self._now is not None and bool(seen[self._now])
        if not len(visible):
            self._now = None
        elif not kept:
            elevations_deg = self._stations.elevations_deg(TERMINAL, EcefMetres(satellites_m[visible]))
            self._now = int(visible[np.argmax(elevations_deg)])
        only = np.zeros_like(seen)
        if self._now is not None:
            only[self._now] = True
        return only


def last_hop_ns(plan: Plan, satellites: int, path: Path) -> tuple[int, int] | None:
    """Which link of a path the channel delays, and by how much at least; None: no channel on it.

    Its delay has propagation in it, so that it stands in place of the link's own.
    """
    if plan.mobile is None:
        return None
    if path[0] == satellites + TERMINAL:
        return 0, plan.mobile.return_delay_ns
    return len(path) - 2, plan.mobile.first_delay_ns
