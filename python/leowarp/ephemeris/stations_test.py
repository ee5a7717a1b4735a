# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.ephemeris.frames import EcefMetres, geodetic_to_ecef_m
from leowarp.ephemeris.stations import stations_on
from support.plans import station

EARTH_M = 6_378_137.0
latitudes, longitudes = st.floats(-89.0, 89.0), st.floats(-180.0, 180.0)


@given(latitudes, longitudes, st.floats(0.0, 180.0), st.floats(0.0, 360.0), st.floats(200e3, 40_000e3))
def test_visibility_is_the_triangle_of_station_centre_and_satellite(
    latitude: float, longitude: float, apart_deg: float, bearing_deg: float, altitude_m: float
) -> None:
    seen = stations_on("sphere", EARTH_M, [station("here", latitude, longitude)])
    up = seen.verticals[0]
    east = np.array([-math.sin(math.radians(longitude)), math.cos(math.radians(longitude)), 0.0])
    north = np.cross(up, east)
    bearing, gamma = math.radians(bearing_deg), math.radians(apart_deg)
    aside = math.cos(bearing) * north + math.sin(bearing) * east
    radius_m = EARTH_M + altitude_m
    satellite_m = EcefMetres(radius_m * (math.cos(gamma) * up + math.sin(gamma) * aside))

    # The slant range follows from the law of cosines. The elevation follows from tan(elevation) = (cos g - R/r) / sin g
    slant_m = math.sqrt(EARTH_M**2 + radius_m**2 - 2 * EARTH_M * radius_m * math.cos(gamma))
    elevation_deg = math.degrees(math.atan2(math.cos(gamma) - EARTH_M / radius_m, math.sin(gamma)))
    # The law of cosines is inexact if the three points are nearly on a line.
    assert seen.slant_ranges_m(0, satellite_m) == pytest.approx(slant_m, rel=1e-9)
    # At the zenith, the derivative of arcsin is infinite, so a rounding error of 1e-16 becomes an error of 1e-8 rad.
    assert seen.elevations_deg(0, satellite_m) == pytest.approx(elevation_deg, abs=2e-6)
    assert seen.ground_distances_m(0, satellite_m) == pytest.approx(EARTH_M * gamma, abs=1e-6 + 1e-9 * radius_m)


def test_the_study_reaches_1500_km_on_the_ground_at_this_elevation() -> None:
    # The expected values were computed by hand, for a height of 1200 km and a distance on the ground of 1500 km. For
    # 1200 km and 1500 km, g = 13.475 deg, R/r = 0.84165, tan(elevation) = (0.97247 - 0.84165) / 0.23302 = 0.5614;
    # slant^2 = (40.681 + 57.428 - 94.008) Mm^2.
    seen = stations_on("sphere", EARTH_M, [station("here", 0.0, 0.0)])
    gamma = 1500e3 / EARTH_M
    radius_m = EARTH_M + 1200e3
    satellite_m = EcefMetres(radius_m * np.array([math.cos(gamma), math.sin(gamma), 0.0]))
    assert seen.elevations_deg(0, satellite_m) == pytest.approx(29.31, abs=0.01)
    assert seen.slant_ranges_m(0, satellite_m) / 1e3 == pytest.approx(2025, abs=1)


def test_wgs84_is_flattened() -> None:
    # The semi-axes of WGS84 are 6378137 m and 6356752.3142 m (NIMA TR8350.2).
    both = stations_on("wgs84", EARTH_M, [station("pole", 90.0, 0.0), station("equator", 0.0, 90.0)])
    assert both.positions_ecef_m[0] == pytest.approx([0.0, 0.0, 6_356_752.3142], abs=1e-4)
    assert both.positions_ecef_m[1] == pytest.approx([0.0, 6_378_137.0, 0.0], abs=1e-4)


@given(latitudes, longitudes, st.floats(-500.0, 9000.0))
def test_height_is_along_the_vertical_on_either_figure(latitude: float, longitude: float, height_m: float) -> None:
    for flattening in (0.0, 1 / 298.257223563):
        figure = {"equatorial_radius_m": EARTH_M, "flattening": flattening}
        foot_m = geodetic_to_ecef_m(latitude, longitude, 0.0, **figure)
        head_m = geodetic_to_ecef_m(latitude, longitude, height_m, **figure)
        up = stations_on("sphere", EARTH_M, [station("here", latitude, longitude)]).verticals[0]
        assert head_m - foot_m == pytest.approx(height_m * up, abs=1e-6)
