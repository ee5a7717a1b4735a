# SPDX-License-Identifier: Apache-2.0
"""The stations on the ground, and their view of satellites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.frames import (
    WGS84_EQUATORIAL_RADIUS_M,
    WGS84_FLATTENING,
    EcefMetres,
    geodetic_to_ecef_m,
    vertical,
)
from leowarp.ephemeris.skies import Sky, sky_of
from leowarp.scenario.schema import Station


@dataclass(frozen=True, kw_only=True)
class Stations:
    """The stations, which do not move on the Earth.

    positions_ecef_m: A float64 array of shape (m, 3), m
    verticals: The unit vectors that point up at each station, float64 array of shape (m, 3). On a sphere, these vectors
        point away from the centre. On WGS84, they point along the ellipsoid's normal.
    sphere_radius_m: The radius of the sphere on which ground distances are measured.
    skies: The allowed directions of each station. If it is None, the station may use all directions.
    """

    names: list[str]
    positions_ecef_m: EcefMetres
    verticals: NDArray[np.float64]
    sphere_radius_m: float
    skies: tuple[Sky | None, ...]

    def slant_ranges_m(self, station: int, satellites_ecef_m: EcefMetres) -> NDArray[np.float64]:
        """Return the straight distances in m from a station to satellites at positions of shape (..., 3)."""
        return np.linalg.norm(satellites_ecef_m - self.positions_ecef_m[station], axis=-1)

    def elevations_deg(self, station: int, satellites_ecef_m: EcefMetres) -> NDArray[np.float64]:
        """Return the elevations of satellites above a station's horizon in deg, negative below it. The satellites'
        positions have the shape (..., 3)."""
        sight_m = satellites_ecef_m - self.positions_ecef_m[station]
        up_m = sight_m @ self.verticals[station]
        # Rounding can make the sine of a satellite at the zenith larger than 1.
        return np.degrees(np.arcsin(np.clip(up_m / np.linalg.norm(sight_m, axis=-1), -1.0, 1.0)))

    def is_free(self, station: int, satellites_ecef_m: EcefMetres, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which satellites of `among` are in directions allowed for the station, as bool of shape (...).
        `satellites_ecef_m` has shape (..., 3)."""
        sky = self.skies[station]
        if sky is None:
            return among
        free = np.array(among)
        free[free] = sky.is_open(satellites_ecef_m[free] - self.positions_ecef_m[station])
        return free

    def ground_distances_m(self, station: int, satellites_ecef_m: EcefMetres) -> NDArray[np.float64]:
        """Return the great-circle distances, m, from a station to the sub-satellite points of satellites at (..., 3).

        The station and the satellites are first projected from the Earth's centre to the sphere. This is also done if
        the Earth is an ellipsoid. On WGS84, the result differs from the geodesic by up to 0.6 %.
        """
        position_m = self.positions_ecef_m[station]
        # The angle is computed as atan2(|a x b|, a . b), which is exact near 0; arccos is not.
        across = np.linalg.norm(np.cross(satellites_ecef_m, position_m), axis=-1)
        return self.sphere_radius_m * np.arctan2(across, satellites_ecef_m @ position_m)


def stations_on(earth: str, sphere_radius_m: float, places: Sequence[Station]) -> Stations:
    """Return the stations of a plan on a sphere or an ellipsoid.

    earth: {"sphere", "wgs84"}
    sphere_radius_m: The radius of the sphere. Distances on the ground are measured on this sphere, even with "wgs84".
    places: The stations, with coordinates.
    Raises ValueError if a place lacks coordinates; ScenarioError if an obstruction map is invalid.
    """
    # The shape of the Earth matters: at a pole, WGS84 is 21 km closer to the centre than a sphere with its equatorial
    # radius.
    radius_m, flattening = (WGS84_EQUATORIAL_RADIUS_M, WGS84_FLATTENING) if earth == "wgs84" else (sphere_radius_m, 0.0)
    positions_m, verticals, skies = [], [], []
    for place in places:
        if place.latitude_deg is None or place.longitude_deg is None or place.height_m is None:
            raise ValueError(f"station {place.name} has no coordinates: not a resolved plan of a constellation")
        positions_m.append(
            geodetic_to_ecef_m(
                place.latitude_deg,
                place.longitude_deg,
                place.height_m,
                equatorial_radius_m=radius_m,
                flattening=flattening,
            )
        )
        verticals.append(vertical(place.latitude_deg, place.longitude_deg))
        obstructions = None if place.obstructions is None else place.obstructions.path
        skies.append(sky_of(positions_m[-1], verticals[-1], place.geostationary_separation_deg, obstructions))
    return Stations(
        names=[place.name for place in places],
        positions_ecef_m=EcefMetres(np.array(positions_m).reshape(-1, 3)),
        verticals=np.array(verticals).reshape(-1, 3),
        sphere_radius_m=sphere_radius_m,
        skies=tuple(skies),
    )
