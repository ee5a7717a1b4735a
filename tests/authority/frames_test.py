# SPDX-License-Identifier: Apache-2.0
"""Tests sidereal time, and the conversion from TEME to Earth-fixed coordinates. The tests compare with a textbook and
with Skyfield.

D. Vallado, Fundamentals of Astrodynamics and Applications, example 3-5: at 1992-08-20 12:14:00 UT1 GMST is
152.578787810 deg. Skyfield (B. Rhodes, MIT; version in the lock file) is an independent implementation.
"""

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from skyfield.api import EarthSatellite, load, wgs84
from skyfield.framelib import itrs

from leowarp.ephemeris.frames import gmst_rad, julian_date
from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits
from leowarp.ephemeris.stations import stations_on
from support.element_sets import elements_of
from support.plans import station

EARTH_ROTATION_RAD_PER_S = 7.2921158553e-5
# Vanguard 1 of Vallado's set (9,200 km up at apogee), and a OneWeb satellite of CelesTrak's list of November 2022.
TLE = (
    "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
    "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
)


def test_sidereal_time_is_the_textbooks() -> None:
    day, fraction = julian_date(datetime(1992, 8, 20, 12, 14, tzinfo=UTC))
    assert math.degrees(gmst_rad(day, fraction)) == pytest.approx(152.578787810, abs=1e-7)


def test_julian_dates_of_known_instants() -> None:
    assert sum(julian_date(datetime(2000, 1, 1, 12, tzinfo=UTC))) == 2_451_545.0
    assert sum(julian_date(datetime(1970, 1, 1, tzinfo=UTC))) == 2_440_587.5


def test_earth_fixed_positions_are_skyfields(tmp_path: Path) -> None:
    path = tmp_path / "one.tle"
    path.write_text("\n".join(TLE))
    names, elements = elements_of(path)
    epoch = datetime(2000, 6, 28, tzinfo=UTC)
    orbits = Sgp4Orbits(file=str(path), names=names, elements=elements, epoch=epoch)
    timescale = load.timescale(builtin=True)
    satellite = EarthSatellite(*TLE, "one", timescale)
    for hours in range(0, 24, 3):
        ours_m = orbits.positions_ecef_m(hours * 3_600_000_000_000)[0]
        t = timescale.utc(2000, 6, 28, hours)
        theirs_m = satellite.at(t).frame_xyz(itrs).m
        radius_m = float(np.linalg.norm(theirs_m))
        # Skyfield uses UT1 - UTC (0.2 s at that date), and leowarp takes it as 0. In the time UT1 - UTC, which is up to
        # 0.9 s, the Earth rotates by omega (UT1 - UTC).
        turned_m = EARTH_ROTATION_RAD_PER_S * abs(t.dut1) * radius_m
        # No table of polar motion is loaded, so Skyfield, like leowarp, does not apply polar motion. Skyfield's chain
        # TEME > ICRF > ITRS uses another model of sidereal time and nutation. The other model causes a difference of
        # about 1e-7 rad.
        assert np.linalg.norm(ours_m - theirs_m) < turned_m + 3.0
        angle = EARTH_ROTATION_RAD_PER_S * t.dut1
        cos, sin = math.cos(angle), math.sin(angle)
        corrected_m = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) @ ours_m
        assert np.linalg.norm(corrected_m - theirs_m) < 3.0


def test_stations_on_wgs84_are_skyfields() -> None:
    for latitude, longitude in ((40.228732, -4.010844), (-33.925, 18.424), (89.5, 120.0)):
        ours_m = stations_on("wgs84", 6_378_137.0, [station("here", latitude, longitude)]).positions_ecef_m[0]
        assert ours_m == pytest.approx(wgs84.latlon(latitude, longitude).itrs_xyz.m, abs=1e-3)
