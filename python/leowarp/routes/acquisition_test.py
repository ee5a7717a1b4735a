# SPDX-License-Identifier: Apache-2.0
"""Tests how new links are classified. Satellites are in the same plane if their names have the same plane number."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from leowarp.ephemeris import ephemeris_of
from leowarp.routes.acquisition import Acquired
from leowarp.routes.links import isl_rule
from leowarp.scenario.schema import Constellation, Isl, Shell
from support.elements import orbits_of, written
from support.plans import S, plan

TWO_TIMES = Isl(rule="plus-grid", acquisition_ns=2 * S, acquisition_between_planes_ns=5 * S)
SMALL = Shell(planes=8, satellites_per_plane=12, altitude_m=550e3, inclination_deg=53.0, phasing=3)


def times_of(constellation: Constellation, isl: Isl = TWO_TIMES) -> tuple[Acquired, list[str], np.ndarray]:
    planned = plan(constellation, isl=isl)
    sky = ephemeris_of(planned)
    assert sky is not None
    return Acquired(planned, sky), sky.names, isl_rule(planned, sky).pairs(sky.positions_ecef_m(0))


@pytest.mark.parametrize("shells", [(SMALL,), (SMALL, dataclasses.replace(SMALL, altitude_m=560e3, planes=5))])
@pytest.mark.parametrize("rule", ["plus-grid", "range"])
def test_satellites_of_one_plane_of_one_shell_share_a_plane(shells: tuple[Shell, ...], rule: str) -> None:
    isl = dataclasses.replace(TWO_TIMES, rule=rule, max_range_m=5000e3, across_shells=rule == "range")
    times, names, links = times_of(Constellation(shells=shells), isl)
    # A name is ``s-PP-SS`` or ``s-K-PP-SS``, so everything before its last hyphen identifies the plane.
    plane = np.array([name.rsplit("-", 1)[0] for name in names])
    expected_ns = np.where(plane[links[:, 0]] == plane[links[:, 1]], 2 * S, 5 * S)
    assert times.times_ns(links).tolist() == expected_ns.tolist()
    assert len(set(expected_ns.tolist())) == 2


def test_planes_of_elements_are_those_of_the_pattern_that_they_were_made_from(tmp_path: Path) -> None:
    orbits = orbits_of(SMALL)
    order = np.random.default_rng(1).permutation(len(orbits))
    times, names, links = times_of(written(tmp_path / "set.tle", orbits, order))
    plane = np.array([int(name.removeprefix("S-")) for name in names]) // SMALL.satellites_per_plane
    expected_ns = np.where(plane[links[:, 0]] == plane[links[:, 1]], 2 * S, 5 * S)
    assert times.times_ns(links).tolist() == expected_ns.tolist()
    assert len(set(expected_ns.tolist())) == 2
