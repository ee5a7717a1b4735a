# SPDX-License-Identifier: Apache-2.0
"""A special last hop of routes over a constellation: the choice of the last satellite, and the delay of that link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, Stations
from leowarp.routes.paths import Path

TERMINAL = 0
"""Station of the ephemeris at the last hop; the other station is the gateway."""


@dataclass(frozen=True, kw_only=True)
class LastHop:
    """Link that replaces the ground link to a medium's terminal.

    rule: Rule for the last satellite among those that the terminal sees: kept, highest or shortest.
    leaving_ns, arriving_ns: One-way delay of the link from the terminal, and towards it (a minimum). The delay includes
        the propagation, so it replaces the link's own delay.
    """

    rule: str
    leaving_ns: int
    arriving_ns: int

    def link_of(self, satellites: int, path: Path) -> tuple[int, int]:
        """Index of this link in a path, counted from 0, and its one-way delay in ns.

        satellites: Number of nodes that are satellites; stations are numbered after them.
        path: A path from the terminal or to the terminal.

        >>> LastHop(rule="kept", leaving_ns=5, arriving_ns=10).link_of(3, (3, 0, 1, 4))
        (0, 5)
        """
        if path[0] == satellites + TERMINAL:
            return 0, self.leaving_ns
        return len(path) - 2, self.arriving_ns


class LastSatellite:
    """The satellite that the terminal uses among those that it sees, from one route update to the next.

    ``kept`` follows the terminals of ns-2: they look for another satellite when the current one is below the mask
    (sat-hand.cc, ``TermLinkHandoffMgr::handoff``, which first tries the next satellite of the same plane).
    """

    def __init__(self, rule: str, stations: Stations) -> None:
        self._rule, self._stations = rule, stations
        self._now: int | None = None

    def of(self, seen: NDArray[np.bool_], satellites_m: EcefMetres) -> NDArray[np.bool_]:
        """Visible satellites at which a route may end: one, none, or (``shortest``) all of them.

        The method must be called exactly once for each route update, in order, because it remembers the previous
        result.

        seen: bool array of shape (n,). Satellites above the terminal's mask now.
        satellites_m: float64 array of shape (n, 3), m
        """
        if self._rule == "shortest":
            return seen
        visible = np.flatnonzero(seen)
        kept = self._rule == "kept" and self._now is not None and bool(seen[self._now])
        # A terminal that sees no satellite forgets its last one, so the next one to rise is a new choice.
        if not len(visible):
            self._now = None
        elif not kept:
            # With `kept`, the highest satellite is chosen when the current one has set; ns-2 would first try the next
            # satellite of the same plane.
            elevations_deg = self._stations.elevations_deg(TERMINAL, EcefMetres(satellites_m[visible]))
            self._now = int(visible[np.argmax(elevations_deg)])
        only = np.zeros_like(seen)
        if self._now is not None:
            only[self._now] = True
        return only
