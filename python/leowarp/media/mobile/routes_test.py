# SPDX-License-Identifier: Apache-2.0
"""Tests the routes to a mobile terminal. The tests check which satellite each rule selects as the last one. They also
check the delays if the channel is the last hop."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.media import routes_of
from leowarp.routes import Routes
from leowarp.routes.last_hop import TERMINAL
from leowarp.routes.links import SPEED_OF_LIGHT_M_PER_S
from leowarp.routes.observed import node_positions_m
from leowarp.scenario.schema import Constellation, Flow, Ground, Isl, Mobile, Plan, Routing, Station
from support.plans import chain

SECOND_NS = 1_000_000_000
MS = 1_000_000
STAR = Constellation(
    pattern="star", planes=6, satellites_per_plane=11, altitude_m=800e3, inclination_deg=86.4, phasing=3
)


def driven(duration_s: float = 600, *, ground: Ground | None = None, isl: Isl | None = None, **mobile) -> Plan:
    """Return the plan of the preset tauran-study with `delays = "constellation"`."""
    nowhere: dict[str, Any] = {"latitude_deg": None, "longitude_deg": None, "height_m": None}
    return dataclasses.replace(
        chain(duration_s=duration_s),
        medium=Mobile(delays="constellation", constellation=STAR, **mobile),
        stations=tuple(Station(name=name, **nowhere) for name in ("mobile", "server")),
        flows=(Flow(source="server", destination="mobile"),),
        isl=isl or Isl(rule="plus-grid", seam=False, polar_cutoff_deg=60.0),
        ground=ground or Ground(rule="min-elevation", min_elevation_deg=8.2),
        routing=Routing(interval_ns=10 * SECOND_NS, link_interval_ns=SECOND_NS),
    )


def made(plan: Plan) -> tuple[Ephemeris, Routes]:
    sky = ephemeris_of(plan)
    assert sky is not None
    return sky, routes_of(plan, sky)


def last_satellites(routes: Routes) -> list[int]:
    return [now[0][-2] for now in routes.paths if now[0] is not None]


def seen_deg(sky: Ephemeris, t_ns: int) -> np.ndarray:
    return sky.stations.elevations_deg(TERMINAL, sky.positions_ecef_m(t_ns))


def test_the_pair_of_the_defaults_has_the_studys_70_to_90_ms_over_600_s():
    _, routes = made(driven())
    assert 70 * MS <= routes.summary["forward_delay_min_ns"] < 71 * MS
    assert 88 * MS < routes.summary["forward_delay_max_ns"] <= 90 * MS
    assert routes.summary["forward_delay_mean_ns"] == pytest.approx(80 * MS, abs=MS)
    assert routes.summary["route_changes"] >= 4
    assert routes.summary["no_path_s"] == 0


def test_a_delay_is_slant_range_and_links_up_to_the_last_satellite_and_then_the_channels():
    plan = driven(60, first_delay_ns=11 * MS, return_delay_ns=7 * MS)
    sky, routes = made(plan)
    for row in routes.table.to_pylist():
        index = {name: i for i, name in enumerate(routes.nodes)}
        path = [index[name] for name in row["path"]]
        there = path if row["source"] == "server" else path[::-1]
        nodes_m = node_positions_m(sky, row["t_ns"])[there]
        links_m = [float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(nodes_m)]
        channel_ns = 11 * MS if row["source"] == "server" else 7 * MS
        expected_ns = sum(links_m[:-1]) / SPEED_OF_LIGHT_M_PER_S * 1e9 + channel_ns
        assert row["delay_ns"] == pytest.approx(expected_ns, abs=len(path))
        assert row["length_m"] == pytest.approx(sum(links_m))


def test_a_satellite_is_kept_until_it_is_below_the_mask_and_then_the_highest_follows():
    sky, routes = made(driven())
    last = last_satellites(routes)
    for t_ns, before, now in zip(routes.t_ns.tolist()[1:], last[:-1], last[1:], strict=True):
        elevations_deg = seen_deg(sky, t_ns)
        if elevations_deg[before] >= 8.2:
            assert now == before
        else:
            assert now == int(np.argmax(elevations_deg))
    assert len(set(last)) > 1


def test_the_highest_is_the_last_at_every_update():
    sky, routes = made(driven(last_satellite="highest"))
    assert last_satellites(routes) == [int(np.argmax(seen_deg(sky, t_ns))) for t_ns in routes.t_ns.tolist()]


def test_the_shortest_route_is_no_longer_than_that_of_any_rule():
    lengths_m = {
        rule: [row["length_m"] for row in made(driven(200, last_satellite=rule))[1].table.to_pylist()]
        for rule in ("kept", "highest", "shortest")
    }
    for rule in ("kept", "highest"):
        assert all(
            free <= bound + 0.3 for free, bound in zip(lengths_m["shortest"], lengths_m[rule], strict=True)
        )  # A range of 0.3 m is 1 ns of delay. By the tie rule, the current path stays if it is longer by up to 1 ns.


def test_links_by_range_find_the_route_to_another_last_satellite():
    """If the last satellite changes, the path may become longer."""
    keys = {"last_satellite": "highest", "terminal_longitude_deg": 60.0}
    plan = driven(isl=Isl(rule="range", max_range_m=4_500e3), **keys)
    _, routes = made(plan)
    routing = Routing(interval_ns=10 * SECOND_NS, metric="delay")  # uses all links
    _, by_delay = made(dataclasses.replace(plan, routing=routing))
    assert len(set(last_satellites(routes))) > 1
    assert [now[0] for now in routes.paths] == [now[0] for now in by_delay.paths]


def test_a_terminal_that_never_sees_a_satellite_is_refused():
    with pytest.raises(ScenarioError, match="station mobile sees no satellite"):
        made(driven(20, ground=Ground(rule="min-elevation", min_elevation_deg=89.9)))


def test_who_sees_nothing_for_a_while_has_no_path_for_that_time():
    ground = Ground(rule="min-elevation", min_elevation_deg=20.0)
    sky, routes = made(driven(600, ground=ground))
    blind = [bool(seen_deg(sky, t_ns).max() < 20.0) for t_ns in routes.t_ns.tolist()]
    assert any(blind)
    for now, none_seen in zip(routes.paths, blind, strict=True):
        assert now[0] is None or not none_seen
