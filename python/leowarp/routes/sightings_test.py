# SPDX-License-Identifier: Apache-2.0
"""Tests the hint for a station that sees no satellite. If `[ground]` is changed as the hint says, the station sees a
satellite."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.routes.sightings import Sightings
from leowarp.scenario.schema import Ground, Plan
from support.plans import plan, shell, station

BY_ANGLE = Ground(rule="min-elevation", min_elevation_deg=25.0)
BY_RANGE = Ground(rule="ground-range", max_ground_range_m=1_000e3)


def hint_of(resolved: Plan) -> str | None:
    """Return the hint of the error about station 0, or None if the station sees a satellite."""
    sky = ephemeris_of(resolved)
    assert sky is not None
    watch = Sightings(resolved, sky, [0])
    t_ns = np.arange(0, resolved.run.duration_ns, resolved.routing.interval_ns)
    watch.views(sky.positions_ecef_m(t_ns), t_ns)
    try:
        watch.raise_if_blind()
    except ScenarioError as error:
        return str(error.hint)
    return None


def sky_over(latitude_deg: float, ground: Ground, *, inclination_deg: float, planes: int, per_plane: int) -> Plan:
    sky = shell(planes, per_plane, inclination_deg=inclination_deg, altitude_m=550e3, phasing=0)
    return plan(sky, stations=(station("here", latitude_deg, 15.0), "Madrid"), ground=ground, duration_s=60)


def relaxed(resolved: Plan, hint: str) -> Plan:
    """Change `[ground]` as the hint proposes, and return the new plan."""
    degrees, km = (re.search(rf'{key} = "([\d.]+) {unit}"', hint) for key, unit in (
        ("min_elevation", "deg"), ("max_ground_range", "km"),
    ))  # fmt: skip
    if degrees is not None:
        return dataclasses.replace(resolved, ground=Ground(rule="min-elevation", min_elevation_deg=float(degrees[1])))
    assert km is not None
    return dataclasses.replace(resolved, ground=Ground(rule="ground-range", max_ground_range_m=float(km[1]) * 1e3))


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-89, 89), st.sampled_from([BY_ANGLE, BY_RANGE]), st.floats(1, 179), st.integers(1, 3), st.integers(1, 4)
)
def test_each_proposal_lets_the_station_see_a_satellite(
    latitude_deg: float, ground: Ground, inclination_deg: float, planes: int, per_plane: int
) -> None:
    shape = {"planes": planes, "per_plane": per_plane}
    resolved = sky_over(latitude_deg, ground, inclination_deg=inclination_deg, **shape)
    hint = hint_of(resolved)
    if hint is None:
        return
    if "ground." in hint:
        assert hint_of(relaxed(resolved, hint)) is None
    started = re.search(r'run\.start = "([^"]+)"', hint)
    if started is not None:
        run = dataclasses.replace(resolved.run, start_ns=int(units.TIME.parse(started[1])))
        assert hint_of(dataclasses.replace(resolved, run=run)) is None
    # The hint names the inclination or the number of satellites as the reason why the station sees no satellite. The
    # test checks the hint with 1,600 satellites, so that only the inclination can be the reason. Orbits that barely
    # come into view are not tested.
    steep = re.search(r"inclination of (\d+) to (\d+) deg", hint)
    assert (steep is None) == ("take more satellites" in hint)

    def sees(inclination_deg: float) -> bool:
        dense = sky_over(latitude_deg, ground, inclination_deg=inclination_deg, planes=40, per_plane=40)
        return hint_of(dense) is None

    if steep is None:
        assert sees(inclination_deg + (1 if inclination_deg < 90 else -1))
    else:
        assert started is None
        assert not sees(inclination_deg)
        assert sees(min(int(steep[1]) + 1, 90))
        assert sees(max(int(steep[2]) - 1, 90))
        assert not sees(max(int(steep[1]) - 1, 0))


@pytest.mark.parametrize(("latitude_deg", "inclination_deg", "blamed"), [
    (40.0, 53.0, "take more satellites"), (78.0, 53.0, "inclination of"), (0.0, 97.0, "take more satellites"),
    (-78.0, 127.0, "inclination of"),
])  # fmt: skip
def test_the_inclination_is_blamed_if_it_is_to_blame(latitude_deg: float, inclination_deg: float, blamed: str) -> None:
    hint = hint_of(sky_over(latitude_deg, BY_ANGLE, inclination_deg=inclination_deg, planes=1, per_plane=1))
    assert hint is not None
    assert [words in hint for words in ("take more satellites", "inclination of")].count(True) == 1
    assert blamed in hint
