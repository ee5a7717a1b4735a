# SPDX-License-Identifier: Apache-2.0
"""The directions in which a station may use satellites. Tests that the map of allowed directions is interpolated across
north, and that the geostationary arc has the right elevation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.frames import geodetic_to_ecef_m, vertical
from leowarp.ephemeris.skies import GEOSTATIONARY_RADIUS_M, read_obstructions, sky_of

EARTH_M = 6_378_137.0


def map_of(folder, text):
    path = folder / "map.csv"
    path.write_text(text)
    return path


def sky_at(latitude_deg, longitude_deg=0.0, *, separation_deg=None, obstructions=None):
    here_m = geodetic_to_ecef_m(latitude_deg, longitude_deg, 0.0, equatorial_radius_m=EARTH_M, flattening=0.0)
    sky = sky_of(here_m, vertical(latitude_deg, longitude_deg), separation_deg, obstructions)
    assert sky is not None
    return sky


def toward(sky, azimuth_deg, elevation_deg):
    azimuth, elevation = np.radians(azimuth_deg), np.radians(elevation_deg)
    level = math.cos(elevation) * (np.cos(azimuth) * sky.north + np.sin(azimuth) * sky.east)
    return (1_000e3 * (level + math.sin(elevation) * sky.up)).reshape(1, 3)


def test_a_sky_without_limits_is_none():
    assert sky_of(np.array([EARTH_M, 0, 0]), np.array([1.0, 0, 0]), None, None) is None


@given(st.floats(0, 359.99), st.floats(-89, 89), st.floats(-179, 179))
def test_a_map_is_straight_between_rows_and_over_north(azimuth_deg, latitude_deg, longitude_deg):
    sky = sky_at(latitude_deg, longitude_deg, separation_deg=0)
    rows = {20.0: 10.0, 100.0: 50.0, 340.0: 30.0}
    least_deg = np.interp(azimuth_deg, [-20, *rows, 380], [30.0, *rows.values(), 10.0])
    mapped = type(sky)(**{
        **vars(sky), "arc": np.empty((0, 3)), "azimuths_deg": np.array([-340.0, -260, -20, *rows, 380, 460, 700]),
        "elevations_deg": np.tile(list(rows.values()), 3),
    })  # fmt: skip
    assert mapped.is_open(toward(sky, azimuth_deg, least_deg + 0.01)).all()
    assert not mapped.is_open(toward(sky, azimuth_deg, least_deg - 0.01)).any()


def test_a_file_is_read_whatever_the_order_of_its_rows(tmp_path):
    path = map_of(tmp_path, "# my garden\nelevation_deg, azimuth_deg\n30, 340\n\n10, 20\n50, 100\n30,340\n")
    azimuths_deg, elevations_deg = read_obstructions(path)
    assert azimuths_deg.tolist() == [20, 100, 340]
    assert elevations_deg.tolist() == [10, 50, 30]
    sky = sky_at(52.0, obstructions=path)
    # North is half way between the rows for azimuth 340 and 20.
    assert sky.is_open(toward(sky, 0, 20.01)).all()
    assert not sky.is_open(toward(sky, 0, 19.99)).any()


def test_one_row_holds_all_around_and_360_is_0(tmp_path):
    sky = sky_at(10.0, obstructions=map_of(tmp_path, "azimuth_deg,elevation_deg\n360,30\n"))
    for azimuth_deg in range(0, 360, 30):
        assert sky.is_open(toward(sky, azimuth_deg, 30.1)).all()
        assert not sky.is_open(toward(sky, azimuth_deg, 29.9)).any()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no row"),
        ("azimuth_deg,elevation_deg\n", "has no row"),
        ("azimuth,elevation\n0,30\n", "line 1: has the columns"),
        ("0,30\n90,30\n", "line 1: has the columns"),
        ("azimuth_deg,elevation_deg\n0,30,5\n", "line 2: has 3 values"),
        ("azimuth_deg,elevation_deg\n0,thirty\n", "line 2: .*thirty"),
        ("azimuth_deg,elevation_deg\n0,nan\n", "line 2: .*nan"),
        ("azimuth_deg,elevation_deg\n-10,30\n", "line 2: .*from 0 to 360"),
        ("azimuth_deg,elevation_deg\n0,91\n", "line 2: .*from -90 to 90"),
        ("azimuth_deg,elevation_deg\n0,30\n360,31\n", "line 3: says again"),
    ],
)
def test_what_is_no_map_is_refused_with_its_line(tmp_path, text, told):
    with pytest.raises(ScenarioError, match=told) as caught:
        read_obstructions(map_of(tmp_path, text))
    assert "azimuth_deg,elevation_deg" in str(caught.value.hint)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "map.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match=r"cannot read map.csv"):
        read_obstructions(tmp_path / "map.csv")


def test_seen_from_the_equator_the_arc_passes_through_the_zenith():
    sky = sky_at(0.0, 15.0, separation_deg=22)
    for azimuth_deg in (0, 180):
        assert not sky.is_open(toward(sky, azimuth_deg, 90 - 21.9)).any()
        assert sky.is_open(toward(sky, azimuth_deg, 90 - 22.1)).all()
    assert not sky.is_open(toward(sky, 90, 40)).any(), "east and west it goes down to the horizon"


@pytest.mark.parametrize("latitude_deg", [-52.0, 40.0, 75.0])
def test_its_highest_point_stands_where_the_formula_has_it(latitude_deg):
    sky = sky_at(latitude_deg, separation_deg=10)
    latitude_rad = math.radians(abs(latitude_deg))
    # The formula is tan e = (cos(latitude) - R / r) / sin(latitude), e.g. Maral and Bousquet, Satellite Communications
    # Systems, 2.2.5.
    highest_deg = math.degrees(
        math.atan2(math.cos(latitude_rad) - EARTH_M / GEOSTATIONARY_RADIUS_M, math.sin(latitude_rad))
    )
    equatorward_deg = 180 if latitude_deg > 0 else 0
    assert not sky.is_open(toward(sky, equatorward_deg, highest_deg + 9.9)).any()
    assert sky.is_open(toward(sky, equatorward_deg, highest_deg + 10.1)).all()
    assert sky.is_open(toward(sky, 180 - equatorward_deg, 45)).all(), "polewards nothing is excluded"


def test_beyond_81_degrees_no_point_of_it_is_above_the_horizon():
    sky = sky_at(82.0, separation_deg=60)
    assert sky.is_open(toward(sky, 180, 1)).all()
    assert not sky_at(80.0, separation_deg=60).is_open(toward(sky_at(80.0, separation_deg=1), 180, 1)).any()
