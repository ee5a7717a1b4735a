# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, ephemeris_of
from leowarp.routes.links import IslRule, isl_rule
from leowarp.routes.over_constellation import constellation_routes
from leowarp.scenario.schema import Constellation, Ground, Isl, Shell
from support.plans import plan, station

LOW = Shell(planes=12, satellites_per_plane=10, altitude_m=550e3, inclination_deg=53.0, phasing=5)
HIGH = Shell(planes=6, satellites_per_plane=11, altitude_m=780e3, inclination_deg=86.4, phasing=3, pattern="star")
FIRST_HIGH = 120


def made(isl: Isl, *shells: Shell) -> tuple[IslRule, EcefMetres]:
    one = plan(Constellation(shells=shells), isl=isl)
    sky = ephemeris_of(one)
    assert sky is not None
    return isl_rule(one, sky), sky.positions_ecef_m(0)


def crosses(pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.asarray((pairs < FIRST_HIGH).any(axis=1) & (pairs >= FIRST_HIGH).any(axis=1))


@pytest.mark.parametrize("isl", [Isl(rule="plus-grid"), Isl(max_range_m=4000e3), Isl(max_range_m=4000e3, terminals=3)])
def test_each_shell_is_linked_as_it_would_be_alone(isl: Isl) -> None:
    rule, satellites_m = made(isl, LOW, HIGH)
    pairs = rule.pairs(satellites_m)
    alone = [each.pairs(positions_m) for each, positions_m in (made(isl, LOW), made(isl, HIGH))]
    assert all(len(one) for one in alone)
    assert np.array_equal(pairs, np.concatenate([alone[0], alone[1] + FIRST_HIGH]))
    assert rule.holds(satellites_m, pairs).all()


def test_a_link_from_shell_to_shell_is_made_only_if_asked_for() -> None:
    across: dict[str, Any] = {"max_range_m": 2000e3, "across_shells": True}
    rule, satellites_m = made(Isl(**across), LOW, HIGH)
    pairs = rule.pairs(satellites_m)
    assert crosses(pairs).any()
    within, _ = made(Isl(max_range_m=2000e3), LOW, HIGH)
    assert np.array_equal(within.pairs(satellites_m), pairs[~crosses(pairs)])
    assert np.array_equal(within.holds(satellites_m, pairs), ~crosses(pairs))


def test_a_station_too_far_north_for_one_shell_is_reached_over_the_other() -> None:
    far_north = station("Svalbard", 78.22, 15.65)
    two = plan(
        Constellation(shells=(LOW, HIGH)), ("Madrid", far_north), duration_s=30, isl=Isl(rule="plus-grid"),
        ground=Ground(rule="min-elevation", min_elevation_deg=8.2),
    )  # fmt: skip
    sky = ephemeris_of(two)
    assert sky is not None
    paths = constellation_routes(two, sky).table["path"].to_pylist()
    assert all(node.startswith("s-2-") for path in paths for node in path[1:-1])
