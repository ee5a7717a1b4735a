# SPDX-License-Identifier: Apache-2.0
"""Computes the delay of a fibre along the great circle between two stations. This delay is compared with the delay of a
satellite path."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leowarp.ephemeris.frames import SPEED_OF_LIGHT_M_PER_S
from leowarp.scenario.schema import Plan

FIBRE_INDEX = 1.468
"""The group index of single-mode fibre (ITU-T G.652) at 1550 nm, from data sheets: light travels at 0.681 c."""
EARTH_RADIUS_M = 6_371_008.8
"""The mean radius of the WGS84 ellipsoid (IUGG). A great circle on it differs from the geodesic by up to 0.6 %."""


@dataclass(frozen=True)
class Fibre:
    """A fibre along the great circle. No fibre between the two stations can be shorter. Real fibres are 33 to 50 %
    longer than the great circle, and their equipment adds delay.

    source, destination: The names of the stations.
    """

    source: str
    destination: str
    length_m: float

    @property
    def delay_ns(self) -> int:
        """The one-way delay, ns."""
        return round(self.length_m * FIBRE_INDEX / SPEED_OF_LIGHT_M_PER_S * 1e9)

    def text(self) -> str:
        """Return the end of a sentence that compares the fibre with a satellite path.

        >>> Fibre("A", "B", 1_000_000).text()
        'a fibre along the great circle from A to B (1000 km): 4.897 ms'
        """
        ends = f"from {self.source} to {self.destination}"
        return f"a fibre along the great circle {ends} ({self.length_m / 1e3:.0f} km): {self.delay_ns / 1e6:.3f} ms"


def fibres(plan: Plan) -> list[Fibre]:
    """Return one fibre per pair of stations with a flow, in the order of the flows. If the plan has no flows, there is
    a fibre for each pair of stations.

    Stations without coordinates are skipped, for example those of a measured path.
    """
    placed = {station.name: station for station in plan.stations if station.latitude_deg is not None}
    pairs = [(flow.source, flow.destination) for flow in plan.flows]
    if not pairs:
        names = list(placed)
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    found: dict[frozenset[str], Fibre] = {}
    for source, destination in pairs:
        if source in placed and destination in placed:
            ends = placed[source], placed[destination]
            degrees = [(end.latitude_deg or 0.0, end.longitude_deg or 0.0) for end in ends]
            found.setdefault(frozenset((source, destination)), Fibre(source, destination, great_circle_m(*degrees)))
    return list(found.values())


def great_circle_m(one_deg: tuple[float, float], other_deg: tuple[float, float]) -> float:
    """Return the distance between two places on a sphere of `EARTH_RADIUS_M`, m.

    one_deg, other_deg: The latitude and longitude of a place, as (float, float).

    >>> round(great_circle_m((0.0, 0.0), (0.0, 90.0)) / 1e3)
    10008
    """
    (lat_a, lon_a), (lat_b, lon_b) = ([math.radians(value) for value in place] for place in (one_deg, other_deg))
    # The haversine formula is also exact for places near each other.
    half = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(half, 1.0)))
