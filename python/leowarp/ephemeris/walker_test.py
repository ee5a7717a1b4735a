# SPDX-License-Identifier: Apache-2.0
import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.ephemeris import Walker, ephemeris_of
from support.plans import S, plan, star

STUDY = Walker(
    planes=18,
    satellites_per_plane=36,
    radius_m=7_578_137.0,
    inclination_rad=math.radians(86.4),
    ascending_nodes_over_deg=180.0,
)

walkers = st.builds(
    Walker,
    planes=st.integers(1, 12),
    satellites_per_plane=st.integers(1, 12),
    radius_m=st.floats(6.6e6, 4.3e7),
    inclination_rad=st.floats(0.0, math.pi),
    ascending_nodes_over_deg=st.sampled_from([180.0, 360.0]),
    phasing=st.integers(0, 11),
    node_offset_rad=st.floats(-3.0, 3.0),
    greenwich_rad=st.floats(-3.0, 3.0),
    start_ns=st.integers(0, 10**15),
)
instants = st.integers(0, 10**15)


def test_names_are_plane_and_slot_in_the_order_of_the_positions() -> None:
    assert STUDY.names[:2] == ["s-00-00", "s-00-01"]
    assert STUDY.names[36] == "s-01-00"
    assert STUDY.names[-1] == "s-17-35"
    assert len(STUDY.names) == len(STUDY.positions_ecef_m(0)) == 648


def test_satellites_start_where_the_pattern_says() -> None:
    # The ascending node of plane p is at p 180/P. The argument of latitude of slot s is 360 s/S + 360 F p/(P S).
    walker = dataclasses.replace(STUDY, phasing=5, node_offset_rad=0.3)
    eci_m = walker.positions_eci_m(0)
    for p, s in ((0, 0), (3, 7), (17, 35)):
        node = 0.3 + math.radians(180 * p / 18)
        u = math.radians(360 * s / 36 + 360 * 5 * p / (18 * 36))
        i = walker.inclination_rad
        expected = walker.radius_m * np.array(
            [
                math.cos(u) * math.cos(node) - math.sin(u) * math.cos(i) * math.sin(node),
                math.cos(u) * math.sin(node) + math.sin(u) * math.cos(i) * math.cos(node),
                math.sin(u) * math.sin(i),
            ]
        )
        assert eci_m[p * 36 + s] == pytest.approx(expected, abs=1e-6)


def test_period_is_keplers() -> None:
    # 2 pi sqrt(7578.137^3 / 398600.4418) s = 6565.3 s
    assert STUDY.period_s == pytest.approx(6565.30, abs=0.01)
    after_m = STUDY.positions_eci_m(round(STUDY.period_s * 1e9))
    # The period is not a whole number of ns; at 7.25 km/s, a satellite moves 4 um in 0.5 ns.
    assert np.abs(after_m - STUDY.positions_eci_m(0)).max() < 1e-5


def test_neighbouring_planes_are_farthest_at_the_equator_and_nearest_at_the_highest_latitude() -> None:
    # The nodes of two satellites of equal phase are 10 deg apart. At u = 0, the satellites are 2 a sin(5 deg) apart. At
    # u = 90 deg, they are 2 a cos(i) sin(5 deg) apart.
    eci_m = STUDY.positions_eci_m(0)
    chord_m = 2 * STUDY.radius_m * math.sin(math.radians(5))
    assert np.linalg.norm(eci_m[36] - eci_m[0]) == pytest.approx(chord_m, abs=1e-6)
    quarter_turn = 9
    nearest_m = np.linalg.norm(eci_m[36 + quarter_turn] - eci_m[quarter_turn])
    assert nearest_m == pytest.approx(chord_m * math.cos(math.radians(86.4)), abs=1e-6)


def test_a_geostationary_satellite_stands_still_over_the_earth() -> None:
    rate = 7.2921158553e-5
    walker = Walker(
        planes=1,
        satellites_per_plane=1,
        radius_m=(398_600.4418e9 / rate**2) ** (1 / 3),
        inclination_rad=0.0,
        ascending_nodes_over_deg=360.0,
        earth_rotation_rad_per_s=rate,
        greenwich_rad=0.7,
    )
    track_m = walker.positions_ecef_m(np.arange(0, 86_400 * S, 3_600 * S))
    # The tolerance allows for rounding: 42164 km times the relative error 1e-15 of an angle.
    assert np.abs(track_m - track_m[0]).max() < 1e-5
    assert math.atan2(track_m[0, 0, 1], track_m[0, 0, 0]) == pytest.approx(-0.7)


@given(walkers, instants)
def test_orbits_are_circles_of_the_inclination(walker: Walker, t_ns: int) -> None:
    eci_m = walker.positions_eci_m(t_ns)
    assert np.linalg.norm(eci_m, axis=1) == pytest.approx(walker.radius_m, rel=1e-12)
    assert np.abs(eci_m[:, 2]).max() <= walker.radius_m * math.sin(walker.inclination_rad) * (1 + 1e-12) + 1e-6


@pytest.mark.slow
@given(walkers, instants)
def test_turning_keeps_distances_and_latitudes(walker: Walker, t_ns: int) -> None:
    eci_m, ecef_m = walker.positions_eci_m(t_ns), walker.positions_ecef_m(t_ns)
    assert (eci_m[:, 2] == ecef_m[:, 2]).all()
    apart = np.linalg.norm(eci_m - eci_m[0], axis=1)
    assert np.linalg.norm(ecef_m - ecef_m[0], axis=1) == pytest.approx(apart, abs=1e-4)


@pytest.mark.slow
@given(walkers, instants, st.integers(0, 10**12))
def test_start_shifts_the_clock(walker: Walker, t_ns: int, later_ns: int) -> None:
    shifted = dataclasses.replace(walker, start_ns=walker.start_ns + later_ns)
    assert (shifted.positions_ecef_m(t_ns) == walker.positions_ecef_m(t_ns + later_ns)).all()


@pytest.mark.slow
@given(walkers, st.lists(instants, min_size=1, max_size=4))
def test_many_instants_at_once_are_the_same_as_one_by_one(walker: Walker, times: list[int]) -> None:
    together_m = walker.positions_ecef_m(np.array(times))
    assert together_m.shape == (len(times), walker.planes * walker.satellites_per_plane, 3)
    for t_ns, here_m in zip(times, together_m, strict=True):
        # numpy uses different code for arrays and for single values, so the last bits may differ.
        assert np.abs(here_m - walker.positions_ecef_m(t_ns)).max() <= 1e-6


def test_the_plan_gives_pattern_clock_and_greenwich() -> None:
    later = ephemeris_of(plan(star(), start_s=15))
    now = ephemeris_of(plan(star()))
    assert later is not None
    assert now is not None
    assert (later.positions_ecef_m(0) == now.positions_ecef_m(15 * S)).all()
    assert now.names == STUDY.names
    assert np.abs(now.positions_ecef_m(7 * S) - STUDY.positions_ecef_m(7 * S)).max() < 1e-6
    # With "gmst", Greenwich is at 99.9678 deg (6 h 39 m 52.26 s) at the epoch 2000-01-01T00:00:00Z
    turned = ephemeris_of(plan(star(greenwich_deg=None)))
    assert turned is not None
    assert math.degrees(turned.orbits.greenwich_rad) == pytest.approx(99.9678, abs=1e-3)  # type: ignore[union-attr]
