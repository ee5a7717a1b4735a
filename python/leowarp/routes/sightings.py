# SPDX-License-Identifier: Apache-2.0
"""Finds the satellites that the stations see during a run. If a station sees no satellite, the module finds the reason:
the station's latitude, or too few satellites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import EcefMetres, Ephemeris
from leowarp.routes.dishes import Dish
from leowarp.routes.links import INSTANTS_AT_ONCE, in_view, within_rule
from leowarp.scenario.schema import Plan, Station

_A_DAY_NS = 86_400_000_000_000


class Sightings:
    """The satellites that each station has seen so far. If a station has seen no satellite, the nearest approach of a
    satellite so far is kept.

    ephemeris: The ephemeris of the same plan.
    stations: The indexes of the stations with flows.
    dishes: The dishes. A dish sees the satellite of its current slot. The rule of ``[ground]`` has no effect on dishes.
    """

    def __init__(self, plan: Plan, ephemeris: Ephemeris, stations: Sequence[int], dishes: Sequence[Dish] = ()) -> None:
        self._plan, self._ephemeris = plan, ephemeris
        self._seen: dict[int, list[NDArray[np.bool_]]] = {station: [] for station in stations}
        self._dishes = {dish.station: dish for dish in dishes}
        self._blind = set(stations)
        self._hidden: set[int] = set()
        self._highest_deg = dict.fromkeys(stations, -90.0)
        self._nearest_m = dict.fromkeys(stations, np.inf)

    def views(self, satellites_m: EcefMetres, t_ns: NDArray[np.int64]) -> dict[int, NDArray[np.bool_]]:
        """Return for each station with flows a mask of the satellites that it sees at `t_ns`, shape (instants,
        satellites)."""
        stations = self._ephemeris.stations
        seen = {}
        for station, before in self._seen.items():
            if station in self._dishes:
                seen[station] = self._dishes[station].seen(t_ns, satellites_m.shape[-2])
            else:
                seen[station] = in_view(self._plan.ground, stations, station, satellites_m)
            before.append(np.asarray(seen[station].any(axis=-1)))
            if before[-1].any():
                self._blind.discard(station)
            # The nearest approach is needed only for the message about a station that never sees a satellite. It is
            # therefore no longer computed once the station has seen a satellite.
            if station in self._blind:
                self._note_hidden(station, satellites_m)
                highest = float(stations.elevations_deg(station, satellites_m).max())
                nearest = float(stations.ground_distances_m(station, satellites_m).min())
                self._highest_deg[station] = max(self._highest_deg[station], highest)
                self._nearest_m[station] = min(self._nearest_m[station], nearest)
        return seen

    def _note_hidden(self, station: int, satellites_m: EcefMetres) -> None:
        """Record whether a station that sees no satellite would see one if all directions were allowed."""
        limited = self._ephemeris.stations.skies[station] is not None and station not in self._dishes
        if limited and within_rule(self._plan.ground, self._ephemeris.stations, station, satellites_m).any():
            self._hidden.add(station)

    def together(self, one: int, other: int) -> bool:
        """Return whether there is an instant at which each of the two stations sees a satellite."""
        return bool((np.concatenate(self._seen[one]) & np.concatenate(self._seen[other])).any())

    def raise_if_blind(self) -> None:
        """Raise ScenarioError if a station with flows never saw a satellite. The message names the nearest approach of
        a satellite and the reason. The hint names changes to the scenario that may help."""
        blind = [station for station in self._seen if station in self._blind]
        if not blind:
            return
        ground, names = self._plan.ground, self._ephemeris.stations.names
        station = blind[0]
        updates = sum(map(len, self._seen[station]))
        others = "" if len(blind) == 1 else f" (nor do {', '.join(names[s] for s in blind[1:])})"
        if station in self._hidden:
            place = self._plan.stations[station]
            raise ScenarioError(
                f"station {names[station]} sees no satellite at any of {updates} route updates{others}: those that "
                f'ground.rule = "{ground.rule}" gives are hidden by its {limits_of(place)}',
                f"check {limits_of(place)}, or take more satellites",
            )
        highest_deg, nearest_km = self._highest_deg[station], self._nearest_m[station] / 1e3
        if ground.rule == "ground-range":
            asked = (
                f"asks for a sub-satellite point within {ground.max_ground_range_m / 1e3:g} km, the nearest was "
                f"{nearest_km:.0f} km away (elevation at best {highest_deg:.1f} deg)"
            )
        else:
            asked = (
                f"asks for {ground.min_elevation_deg:g} deg, the highest satellite stood at {highest_deg:.1f} deg "
                f"(sub-satellite point {nearest_km:.0f} km away)"
            )
        raise ScenarioError(
            f"station {names[station]} sees no satellite at any of {updates} route updates{others}: "
            f'ground.rule = "{ground.rule}" {asked}',
            ", or ".join(self._remedies(station)),
        )

    def _remedies(self, station: int) -> Iterator[str]:
        """Yield changes to the scenario. Each of them lets the station see a satellite."""
        if self._plan.ground.rule == "ground-range":
            yield f'set ground.max_ground_range = "{np.ceil(self._nearest_m[station] / 1e4) * 10:.0f} km" or more'
        # If the highest satellite is below the horizon, no elevation mask helps.
        elif self._highest_deg[station] > 0:
            yield f'set ground.min_elevation = "{np.floor(self._highest_deg[station]):.0f} deg" or less'
        latitude_deg, least_deg = self._inclination_deg(station)
        if least_deg > 0:
            yield (
                f"take satellites with an inclination of {least_deg} to {180 - least_deg} deg: the orbits do not come "
                f"near enough to the station's latitude ({latitude_deg:.1f} deg)"
            )
            return
        first_ns = self._first_ns(station)
        if first_ns is not None:
            start = units.TIME.format(self._plan.run.start_ns + first_ns)
            yield f'set run.start = "{start}", when the first one is there'
        yield "take more satellites: the orbits reach the station's latitude, and none was there during the run"

    def _inclination_deg(self, station: int) -> tuple[float, int]:
        """Return a station's geocentric latitude, and the smallest inclination of an orbit whose satellites the
        station would see. The inclination 0 means that the station could see satellites of an existing orbit."""
        # The plane of an orbit follows from two positions of its satellite; positions a minute apart are never
        # collinear with the Earth's centre.
        first_m, second_m = self._ephemeris.positions_eci_m(np.array([0, 60_000_000_000]))
        normals = np.cross(first_m, second_m)
        inclination_deg = np.degrees(np.arccos(normals[:, 2] / np.linalg.norm(normals, axis=-1)))
        northernmost_deg = np.minimum(inclination_deg, 180 - inclination_deg)
        x_m, y_m, z_m = self._ephemeris.stations.positions_ecef_m[station]
        latitude_deg = float(np.degrees(np.arctan2(z_m, np.hypot(x_m, y_m))))
        ground, here_m = self._plan.ground, float(np.linalg.norm([x_m, y_m, z_m]))
        if ground.rule == "ground-range":
            reach_deg = np.degrees(ground.max_ground_range_m / self._ephemeris.stations.sphere_radius_m)
        else:
            # Let e be the minimum elevation, and r the satellite's distance from the Earth's centre. The angle at the
            # Earth's centre between station and satellite then follows from cos(e + angle) = (R / r) cos e.
            elevation_rad = np.radians(ground.min_elevation_deg)
            radius_m = np.maximum(np.linalg.norm(first_m, axis=-1), here_m)
            reach_deg = np.degrees(np.arccos(here_m / radius_m * np.cos(elevation_rad)) - elevation_rad)
        lacking_deg = abs(latitude_deg) - reach_deg
        if (lacking_deg <= northernmost_deg).any():
            return latitude_deg, 0
        return latitude_deg, int(np.ceil(np.min(lacking_deg)))

    def _first_ns(self, station: int) -> int | None:
        """Return the time of the first route update at which the station sees a satellite. None means that the station
        sees no satellite within a day after the run's start."""
        updates_ns = np.arange(0, _A_DAY_NS, max(self._plan.routing.interval_ns, _A_DAY_NS // 1440), dtype=np.int64)
        for begin in range(0, len(updates_ns), INSTANTS_AT_ONCE):
            now_ns = updates_ns[begin : begin + INSTANTS_AT_ONCE]
            try:
                satellites_m = self._ephemeris.positions_ecef_m(now_ns)
            except ScenarioError:
                # A satellite may decay within the searched day, but after the end of the run.
                return None
            seen = in_view(self._plan.ground, self._ephemeris.stations, station, satellites_m).any(axis=-1)
            if seen.any():
                return int(now_ns[seen][0])
        return None


def limits_of(place: Station) -> str:
    """Return the keys of a station that limit its view, for a message."""
    limits = {
        "obstructions": place.obstructions is not None,
        "geostationary_separation": place.geostationary_separation_deg is not None,
    }
    return " and ".join(key for key, is_there in limits.items() if is_there)
