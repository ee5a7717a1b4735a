# SPDX-License-Identifier: Apache-2.0
"""Tests that the +Grid of orbital elements equals the +Grid of the Walker pattern from which the elements were made."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from leowarp.ephemeris import EcefMetres, Ephemeris, ephemeris_of
from leowarp.routes.links import isl_rule
from leowarp.scenario.schema import Constellation, Isl, Shell
from support.elements import disturbed, orbits_of, written
from support.plans import S, plan

GRID = Isl(rule="plus-grid")
STARLINK = Shell(planes=72, satellites_per_plane=22, altitude_m=550e3, inclination_deg=53.0, phasing=39)
STAR = Shell(planes=18, satellites_per_plane=36, altitude_m=1200e3, inclination_deg=86.4, pattern="star")
Links = set[tuple[int, int]]


def sky_of(constellation: Constellation) -> Ephemeris:
    sky = ephemeris_of(plan(constellation, isl=GRID))
    assert sky is not None
    return sky


def of_elements(sky: Ephemeris, isl: Isl, t_ns: int) -> tuple[Links, EcefMetres]:
    """Return the links and the position of each satellite. A link is a pair of the numbers in the satellites' names."""
    number = np.array([int(name.removeprefix("S-")) for name in sky.names])
    here_m = sky.positions_ecef_m(t_ns)
    pairs = np.sort(number[isl_rule(plan(isl=isl), sky).pairs(here_m)], axis=1)
    by_number_m = np.full((number.max() + 1, 3), np.nan)
    by_number_m[number] = here_m
    return {(a, b) for a, b in pairs.tolist()}, EcefMetres(by_number_m)


def of_walker(shell: Shell, isl: Isl, satellites_m: EcefMetres) -> Links:
    """Return the links of the Walker pattern, if its satellites are at SGP4's positions."""
    one = plan(Constellation(shells=(shell,)), isl=isl)
    sky = ephemeris_of(one)
    assert sky is not None
    return {(a, b) for a, b in isl_rule(one, sky).pairs(satellites_m).tolist()}


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    "shell",
    [
        STARLINK,
        dataclasses.replace(STARLINK, phasing=36),  # planes are shifted by half a slot; the partner is the slot ahead
        dataclasses.replace(STARLINK, phasing=37),
        STAR,
        dataclasses.replace(STAR, phasing=9, node_offset_deg=95.0),
    ],
    ids=["starlink", "half-a-slot", "a-72nd-more", "star", "star-of-half-slots"],
)
def test_elements_of_a_walker_pattern_are_linked_as_the_pattern(tmp_path: Path, shell: Shell, seed: int | None) -> None:
    orbits, order = orbits_of(shell), None
    if seed is not None:
        draw = np.random.default_rng(seed)
        orbits, order = disturbed(orbits, draw), draw.permutation(len(orbits))
    sky = sky_of(written(tmp_path / "set.tle", orbits, order))
    for isl in (GRID, Isl(rule="plus-grid", seam=False, polar_cutoff_deg=60.0)):
        links, here_m = of_elements(sky, isl, 123 * S)
        assert links == of_walker(shell, isl, here_m)
    assert sky.places is not None
    (found,) = sky.places.shells
    assert (len(found.slots), found.phasing, found.kind) == (shell.planes, shell.phasing, shell.pattern)
    assert len(found.satellites) == shell.satellites


@st.composite
def shells(draw: st.DrawFn, least: int = 1) -> Shell:
    planes, slots = draw(st.integers(least, 20)), draw(st.integers(least, 24))
    # Shells with one satellite, or with two in the same plane, are always evenly spaced.
    assume(planes > 1 or slots > 2)
    pattern = draw(st.sampled_from(["delta", "star"]))
    return Shell(
        planes=planes,
        satellites_per_plane=slots,
        phasing=draw(st.integers(0, planes - 1)),
        pattern=pattern,
        inclination_deg=draw(st.floats(1.0, 179.0)),
        altitude_m=draw(st.floats(400e3, 2000e3)),
        node_offset_deg=draw(st.floats(0.0, 360.0)),
    )


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(shells(), st.integers(0, 2**32 - 1), st.booleans())
def test_any_pattern_is_found_in_shuffled_and_disturbed_elements(
    tmp_path: Path, shell: Shell, seed: int, exact: bool
) -> None:
    draw = np.random.default_rng(seed)
    orbits = orbits_of(shell) if exact else disturbed(orbits_of(shell), draw)
    sky = sky_of(written(tmp_path / "set.tle", orbits, draw.permutation(len(orbits))))
    links, here_m = of_elements(sky, GRID, 123 * S)
    assert links == of_walker(shell, GRID, here_m)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(shells(least=4), st.integers(0, 2**32 - 1))
def test_a_missing_satellite_takes_its_links_with_it_and_no_others(tmp_path: Path, shell: Shell, seed: int) -> None:
    draw = np.random.default_rng(seed)
    # Up to a quarter of the satellites of each plane are missing.
    planes = np.arange(shell.satellites).reshape(shell.planes, -1)
    most = shell.satellites_per_plane // 4
    there = np.concatenate([draw.permutation(plane)[draw.integers(most, endpoint=True) :] for plane in planes])
    isl = Isl(rule="plus-grid", seam=False)
    sky = sky_of(written(tmp_path / "set.tle", disturbed(orbits_of(shell), draw), draw.permutation(there)))
    links, _ = of_elements(sky, isl, 0)
    every = of_walker(shell, isl, EcefMetres(np.ones((shell.satellites, 3))))
    assert links == {(a, b) for a, b in every if {a, b} <= set(there.tolist())}
