# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leowarp.ephemeris import EcefMetres, ephemeris_of
from leowarp.routes.grid import in_sight
from leowarp.routes.links import FewTerminals, RangeRule, delays_ns, in_view, isl_rule, lengths_m
from leowarp.scenario.schema import Ground, Isl, Network
from support.plans import plan, shell, star

clouds = arrays(np.float64, st.tuples(st.integers(2, 25), st.just(3)), elements=st.floats(-8e6, 8e6))


def apart_m(cloud: np.ndarray) -> np.ndarray:
    return np.linalg.norm(cloud[:, None] - cloud[None], axis=-1)


@pytest.mark.slow
@given(clouds, st.floats(1e3, 2e7))
def test_range_links_exactly_the_pairs_within_it(cloud: np.ndarray, max_range_m: float) -> None:
    rule = RangeRule(max_range_m=max_range_m)
    pairs = rule.pairs(EcefMetres(cloud))
    linked = {tuple(pair) for pair in pairs.tolist()}
    near = apart_m(cloud)
    # Pairs whose distance is within 1e-9 m of the limit are not compared, because rounding decides whether they are
    # within the limit.
    for a in range(len(cloud)):
        for b in range(a + 1, len(cloud)):
            if abs(near[a, b] - max_range_m) > 1e-6:
                assert ((a, b) in linked) == (near[a, b] < max_range_m)
    assert pairs.tolist() == sorted(pairs.tolist())
    assert lengths_m(EcefMetres(cloud), pairs) == pytest.approx(near[pairs[:, 0], pairs[:, 1]])


@given(clouds, st.integers(1, 4))
def test_terminals_go_to_the_nearest_first(cloud: np.ndarray, terminals: int) -> None:
    everything = RangeRule(max_range_m=6e6)
    pairs = everything.pairs(EcefMetres(cloud))
    # The expected links are found by the definition of the rule, one link after another.
    length_mm = np.rint(lengths_m(EcefMetres(cloud), pairs) * 1e3)
    free, expected = [terminals] * len(cloud), []
    for _, a, b in sorted(zip(length_mm.tolist(), *pairs.T.tolist(), strict=True)):
        if free[a] and free[b]:
            free[a], free[b] = free[a] - 1, free[b] - 1
            expected.append([a, b])
    few = FewTerminals(rule=everything, terminals=terminals)
    assert few.pairs(EcefMetres(cloud)).tolist() == sorted(expected)
    assert few.holds(EcefMetres(cloud), pairs).all()


def test_sight_is_blocked_by_the_earth_and_its_air() -> None:
    # Let a line between two satellites at 1200 km pass the Earth at height h. Half of the angle between the satellites
    # is then acos((R + h)/(R + 1200)).
    radius_m, earth_m = 7_578_137.0, 6_378_137.0
    for height_m, clear_m, expected in ((81e3, 80e3, True), (79e3, 80e3, False), (1e3, 0.0, True), (-1e3, 0.0, False)):
        half = np.arccos((earth_m + height_m) / radius_m)
        ends = radius_m * np.array([[np.cos(half), np.sin(half), 0], [np.cos(half), -np.sin(half), 0]])
        assert in_sight(EcefMetres(ends), np.array([[0, 1]]), earth_m + clear_m).tolist() == [expected]
    # One satellite is straight above the other one. On the line between them, the lower satellite is nearest to the
    # Earth's centre.
    column = EcefMetres(np.array([[7e6, 0, 0], [9e6, 0, 0]]))
    assert in_sight(column, np.array([[0, 1]]), 6.9e6).all()
    assert not in_sight(column, np.array([[0, 1]]), 7.1e6).any()


@pytest.mark.slow
@given(st.integers(0, 10**13))
def test_links_of_a_rule_hold_at_their_own_instant(t_ns: int) -> None:
    for isl in (
        Isl(),
        Isl(grazing_height_m=80e3, max_range_m=5000e3),
        Isl(rule="plus-grid", polar_cutoff_deg=60.0, grazing_height_m=500e3),
        Isl(terminals=3),
    ):
        resolved = plan(star(planes=6, satellites_per_plane=11), isl=isl)
        where = ephemeris_of(resolved)
        assert where is not None
        here_m = where.positions_ecef_m(t_ns)
        rule = isl_rule(resolved, where)
        pairs = rule.pairs(here_m)
        assert len(pairs) > 0
        assert rule.holds(here_m, pairs).all()


def test_no_links_at_all() -> None:
    resolved = plan(isl=Isl(rule="none"))
    where = ephemeris_of(resolved)
    assert where is not None
    rule = isl_rule(resolved, where)
    assert rule.pairs(where.positions_ecef_m(0)).shape == (0, 2)
    assert not rule.holds(where.positions_ecef_m(0), np.array([[0, 1]])).any()


def test_ground_rules_see_what_they_say() -> None:
    resolved = plan(shell())
    where = ephemeris_of(resolved)
    assert where is not None
    here_m = where.positions_ecef_m(0)
    by_range = in_view(Ground(max_ground_range_m=900e3), where.stations, 0, here_m)
    by_angle = in_view(Ground(rule="min-elevation", min_elevation_deg=30.0), where.stations, 0, here_m)
    assert (by_range == (where.stations.ground_distances_m(0, here_m) <= 900e3)).all()
    assert (by_angle == (where.stations.elevations_deg(0, here_m) >= 30.0)).all()
    assert by_range.any()
    assert by_angle.any()


def test_delays_are_exact_rounded_up_or_none_on_the_ground() -> None:
    length_m, is_ground = np.array([299_792.458, 299_792.459, 2_997_924.58]), np.array([False, False, True])
    assert delays_ns(plan(), length_m, is_ground).tolist() == [1_000_000, 1_000_000, 10_000_000]
    whole = plan(network=Network(delay_rounding="ceil-ms"))
    assert delays_ns(whole, length_m, is_ground).tolist() == [1_000_000, 2_000_000, 10_000_000]
    none = plan(ground=Ground(delay="zero"))
    assert delays_ns(none, length_m, is_ground).tolist() == [1_000_000, 1_000_000, 0]
    ideal = plan(network=Network(endpoints="satellites"))
    assert delays_ns(ideal, length_m, is_ground).tolist() == [1_000_000, 1_000_000, 0]
