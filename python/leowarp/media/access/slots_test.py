# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import FIBRE_INDEX, EcefMetres, Ephemeris, ephemeris_of
from leowarp.media import routes_of
from leowarp.media.access.slots import GATEWAY, TERMINAL, Slots, first_reconfiguration_ns, slots_of
from leowarp.scenario.schema import Access, Constellation, Plan
from support.plans import chain

SECOND_NS = 1_000_000_000
MS = 1_000_000


def access_plan(duration_s: float = 60, seed: int = 1, **keys) -> Plan:
    plan = dataclasses.replace(chain(duration_s=duration_s), medium=Access(**keys))
    return dataclasses.replace(plan, run=dataclasses.replace(plan.run, seed=seed))


def driven_plan(duration_s: float = 60, **keys) -> Plan:
    """Return a plan with an access link over the satellites of Starlink's first shell."""
    sky = Constellation(
        pattern="delta", planes=72, satellites_per_plane=22, altitude_m=550e3, inclination_deg=53.0, phasing=39
    )
    return access_plan(duration_s, geometry="constellation", constellation=sky, **keys)


def slots_in(plan: Plan, sky: Ephemeris | None = None) -> Slots:
    assert isinstance(plan.medium, Access)
    return slots_of(plan, plan.medium, sky)


def test_reconfigurations_are_on_seconds_12_27_42_and_57_of_the_wall_clock():
    assert slots_in(access_plan(60)).begin_ns.tolist() == [t * SECOND_NS for t in (-3, 12, 27, 42, 57)]
    later = slots_in(access_plan(60, clock="2024-05-17T12:00:20.5Z")).begin_ns
    assert later.tolist() == [round(t * SECOND_NS) for t in (-8.5, 6.5, 21.5, 36.5, 51.5)]


def test_a_run_that_begins_at_one_begins_with_its_slot():
    assert slots_in(access_plan(20, clock="2024-05-17T12:00:12Z")).begin_ns.tolist() == [0, 15 * SECOND_NS]


@settings(max_examples=60)
@given(second=st.integers(0, 86_399), period_s=st.integers(1, 100), phase_s=st.integers(0, 200))
def test_the_first_reconfiguration_is_a_period_away_at_most_and_has_the_phase(second, period_s, phase_s):
    clock = f"2024-05-17T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    first_ns = first_reconfiguration_ns(
        Access(clock=clock, period_ns=period_s * SECOND_NS, phase_ns=phase_s * SECOND_NS)
    )
    assert 0 <= first_ns < period_s * SECOND_NS
    assert (second * SECOND_NS + first_ns - phase_s * SECOND_NS) % (period_s * SECOND_NS) == 0


def test_rtts_are_drawn_within_their_range_and_step_every_time():
    rtts_ns = 2 * slots_in(access_plan(36_000)).base_ns
    assert len(rtts_ns) == 2401
    assert 20 * MS <= rtts_ns.min() < 20.1 * MS
    assert 34.9 * MS < rtts_ns.max() <= 35 * MS
    assert np.abs(np.diff(rtts_ns)).min() >= 3 * MS - 2
    assert 6 * MS < np.abs(np.diff(rtts_ns)).mean() < 8 * MS


def test_equal_seeds_draw_alike_whatever_the_runs_length():
    one, longer = slots_in(access_plan(60)), slots_in(access_plan(600))
    assert np.array_equal(one.base_ns, longer.base_ns[: len(one.base_ns)])
    assert not np.array_equal(one.base_ns, slots_in(access_plan(60, seed=2)).base_ns)


def test_the_servers_delay_is_added_to_each_way():
    near, far = slots_in(access_plan()), slots_in(access_plan(server_delay_ns=7 * MS))
    assert (far.base_ns - near.base_ns == 7 * MS).all()


def test_routes_are_a_path_for_each_slot_there_and_back():
    routes = routes_of(access_plan(60))
    rows = routes.table.to_pylist()
    assert [row["t_ns"] // SECOND_NS for row in rows[::2]] == [0, 12, 27, 42, 57]
    assert [row["path_id"] for row in rows] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [row["is_change"] for row in rows] == [False] * 2 + [True] * 8
    assert rows[4]["path"] == ["dish", "s-2", "server"]
    assert rows[5]["path"] == ["server", "s-2", "dish"]
    assert rows[0]["old_delay_ns"] is None
    assert [row["old_delay_ns"] for row in rows[2::2]] == [row["delay_ns"] for row in rows[:-2:2]]
    assert routes.summary["route_changes"] == 4
    assert routes.summary["path_delay_min_ns"] == min(row["delay_ns"] for row in rows)
    assert routes.pairs == [(0, 1), (1, 0)]
    assert [routes.nodes[node] for node in routes.paths[1][0]] == ["dish", "s-1", "server"]


def test_by_geometry_the_delay_is_slant_ranges_fibre_and_processing():
    plan = driven_plan(60)
    sky = ephemeris_of(plan)
    slots = slots_in(plan, sky)
    assert sky.stations.names == ["terminal", "gateway", "pop"]
    pop_m = EcefMetres(sky.stations.positions_ecef_m[2])
    fibre_s = sky.stations.ground_distances_m(GATEWAY, pop_m) * FIBRE_INDEX / 299_792_458
    for slot, (begin_ns, name) in enumerate(zip(slots.begin_ns.tolist(), slots.names, strict=True)):
        satellite = sky.names.index(name)
        for at_ns in (begin_ns, begin_ns + 7_300 * MS, begin_ns + 14_900 * MS):
            here_m = EcefMetres(sky.positions_ecef_m(at_ns)[satellite])
            range_m = sum(sky.stations.slant_ranges_m(station, here_m) for station in (TERMINAL, GATEWAY))
            expected_ns = 1e9 * (range_m / 299_792_458 + fibre_s) + 5_500_000
            # `slots` interpolates ranges linearly, with an error of up to 0.25 us.
            assert slots.base_at_ns(np.array([at_ns]))[0] == pytest.approx(expected_ns, abs=300)
        assert slots.elevation_deg[slot] >= 25
    assert slots.length_m.min() > 1_100_000


def test_a_satellite_is_seen_by_both_through_its_slot_and_the_highest_is_the_highest():
    plan = driven_plan(300, scheduler="highest")
    sky = ephemeris_of(plan)
    slots = slots_in(plan, sky)
    weighted = slots_in(driven_plan(300), sky)
    assert weighted.names != slots.names
    for begin_ns, name, other in zip(slots.begin_ns, slots.names, weighted.names, strict=True):
        ends_m = sky.positions_ecef_m(np.array([begin_ns, begin_ns + 15 * SECOND_NS - 1]))
        elevations_deg = np.array([sky.stations.elevations_deg(s, ends_m) for s in (TERMINAL, GATEWAY)])
        seen = (elevations_deg >= 25).all(axis=(0, 1))
        assert seen[sky.names.index(other)]
        assert sky.names.index(name) == np.flatnonzero(seen)[elevations_deg[0, 0, seen].argmax()]


def test_of_a_terminal_that_sees_nothing_it_is_said_how_high_something_comes():
    plan = driven_plan(60, terminal_latitude_deg=80.0)
    with pytest.raises(ScenarioError, match="no satellite in common") as error:
        slots_in(plan, ephemeris_of(plan))
    assert "access.min_elevation" in error.value.hint
