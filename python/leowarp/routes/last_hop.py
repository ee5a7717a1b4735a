# SPDX-License-Identifier: Apache-2.0
"""Routes over a constellation, where the last hop is a link of the medium. This module chooses the last satellite of
each route, and gives the delay of the last hop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, Stations
from leowarp.routes.paths import Path

TERMINAL = 0
"""The index of the station at the last hop. The other station is the gateway."""


@dataclass(frozen=True, kw_only=True)
class LastHop:
    """The medium's link that replaces the ground link to the terminal.

    rule: The rule for the last satellite: kept, highest or shortest. The rule chooses among the satellites that the
        terminal sees.
    leaving_ns, arriving_ns: The one-way delay of packets that leave the terminal, and the smallest one-way delay of
        packets that arrive there. Both delays include the propagation delay. These two delays replace the delay that
        follows from the link's length.
    """

    rule: str
    leaving_ns: int
    arriving_ns: int

    def link_of(self, satellites: int, path: Path) -> tuple[int, int]:
        """Find the link of a path that is the last hop. Return its index (from 0) among the links, and its one-way
        delay in ns.

        satellites: The number of satellites. Nodes with this number or a larger one are stations.
        path: A path from the terminal or to the terminal.

        >>> LastHop(rule="kept", leaving_ns=5, arriving_ns=10).link_of(3, (3, 0, 1, 4))
        (0, 5)
        """
        if path[0] == satellites + TERMINAL:
            return 0, self.leaving_ns
        return len(path) - 2, self.arriving_ns


class LastSatellite:
    """Chooses the terminal's satellite at each route update.

    With the rule ``kept``, a terminal keeps its satellite until the satellite is below the mask. ns-2 does the same
    (sat-hand.cc, ``TermLinkHandoffMgr::handoff``), but first tries the next satellite of the same plane.
    """

    def __init__(self, rule: str, stations: Stations) -> None:
        self._rule, self._stations = rule, stations
        self._now: int | None = None

    def of(self, seen: NDArray[np.bool_], satellites_m: EcefMetres) -> NDArray[np.bool_]:
        """Return a mask of the satellites that may be the last satellite of a route. The mask contains one visible
        satellite or none. With the rule ``shortest``, the mask contains all visible satellites.

        Call this method once for each route update, in chronological order. Each choice depends on the previous one.

        seen: Whether each satellite is above the terminal's mask now, bool array of shape (n,).
        satellites_m: A float64 array of shape (n, 3), m
        """
        if self._rule == "shortest":
            return seen
        visible = np.flatnonzero(seen)
        kept = self._rule == "kept" and self._now is not None and bool(seen[self._now])
        # If the terminal sees no satellite, it has no current satellite any more. The rule is applied again when a
        # satellite rises.
        if not len(visible):
            self._now = None
        elif not kept:
            elevations_deg = self._stations.elevations_deg(TERMINAL, EcefMetres(satellites_m[visible]))
            self._now = int(visible[np.argmax(elevations_deg)])
        only = np.zeros_like(seen)
        if self._now is not None:
            only[self._now] = True
        return only
