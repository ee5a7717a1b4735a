# SPDX-License-Identifier: Apache-2.0
"""Tests stations with an access link: their satellites, their reconfigurations, and the parts of the timeline that must
not change."""

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.base.nodes import dish_node
from leowarp.ephemeris import ephemeris_of
from leowarp.media.constellation.dishes import dishes_of
from leowarp.media.registry import planned, routes_of, timeline_of
from leowarp.routes import Routes
from leowarp.scenario import load, resolve
from leowarp.scenario.schema import Access, Isl, Plan, Routing
from support.plans import S, plan, star
from support.replay import Replay

FOUR = ("Madrid", "Tokyo", "Aalborg", "Cape Town")
MESH = (("Madrid", "Tokyo"), ("Aalborg", "Tokyo"), ("Tokyo", "Cape Town"), ("Cape Town", "Aalborg"))
DISH = Access(residual_loss_ratio=0.0, residual_loss_up_ratio=0.0, geometry="constellation", min_elevation_deg=35.0)


def plan_of(*dishes: str, access: Access = DISH, **given: Any) -> Plan:
    parts: dict[str, Any] = {"duration_s": 65, "isl": Isl(rule="plus-grid")} | given
    return dataclasses.replace(plan(star(), **parts), dishes=dict.fromkeys(dishes, access))


def made(resolved: Plan) -> tuple[Routes, pa.Table]:
    sky = ephemeris_of(resolved)
    routes = routes_of(resolved, sky)
    return routes, timeline_of(resolved, sky, routes)


def test_a_dish_uses_one_satellite_above_its_mask_from_one_reconfiguration_to_the_next():
    resolved = plan_of("Madrid")
    sky = ephemeris_of(resolved)
    assert sky is not None
    (dish,) = dishes_of(resolved, sky)
    assert (dish.begin_ns // S).tolist() == [-3, 12, 27, 42, 57]
    for begin_ns, satellite in zip(dish.begin_ns.tolist(), dish.satellites.tolist(), strict=True):
        for at_ns in range(begin_ns, begin_ns + 15 * S, S):
            elevation_deg = sky.stations.elevations_deg(0, sky.positions_ecef_m(at_ns))[satellite]
            assert elevation_deg >= DISH.min_elevation_deg
    routes, _ = made(resolved)
    assert (routes.t_ns // S).tolist() == [0, 12, 27, 30, 42, 57, 60]
    for t_ns, (there, back) in zip(routes.t_ns, routes.paths, strict=True):
        assert there is not None
        assert there[1] == np.flatnonzero(dish.seen(np.array([t_ns]), len(sky.names))[0])
        assert back == there[::-1]


def test_two_dishes_draw_apart_and_a_seed_draws_the_same_again():
    resolved = plan_of("Madrid", "Aalborg", stations=FOUR, flows=MESH)
    _, table = made(resolved)
    ways = [
        [(row["t_ns"], row["rate_bps"]) for row in table.to_pylist() if row["event"] == "capacity" and row["a"] == name]
        for name in (dish_node("Madrid"), dish_node("Aalborg"))
    ]
    assert ways[0] != ways[1]
    assert made(resolved)[1].equals(table)


VARIANTS: dict[str, dict[str, Any]] = {
    "one end": {"dishes": ("Madrid",)},
    "the other end": {"dishes": ("Tokyo",)},
    "both ends": {"dishes": ("Madrid", "Tokyo")},
    "source": {"dishes": ("Madrid",), "routing": Routing(in_flight="source")},
    "drop": {"dishes": ("Madrid",), "routing": Routing(in_flight="drop")},
    "strict": {"dishes": ("Madrid",), "routing": Routing(leaving_links="strict", link_interval_ns=5 * S)},
    "way back of its own": {"dishes": ("Tokyo",), "routing": Routing(reverse="own")},
    "any within range": {"dishes": ("Madrid",), "isl": Isl(max_range_m=3000e3)},
    "a mesh": {"dishes": ("Madrid",), "stations": FOUR, "flows": MESH},
    "a mesh, two dishes": {"dishes": ("Tokyo", "Aalborg"), "stations": FOUR, "flows": MESH},
    "a mesh by hops": {"dishes": ("Tokyo",), "stations": FOUR, "flows": MESH, "routing": Routing(metric="hops")},
    "a mesh by path": {
        "dishes": ("Tokyo",), "stations": FOUR, "flows": MESH, "routing": Routing(metric="hops", in_flight="source"),
    },
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_packets_pass_the_dish_and_follow_the_routes_at_every_instant(variant: dict[str, Any]) -> None:
    settings = dict(variant)
    resolved = plan_of(*settings.pop("dishes"), **settings)
    routes, table = made(resolved)
    by_path = resolved.routing.in_flight == "source"
    state = Replay(by_path=by_path)
    events = table.to_pylist()
    at = 0
    for k, t_ns in enumerate(routes.t_ns.tolist()):
        while at < len(events) and events[at]["t_ns"] <= t_ns:
            state.apply(events[at])
            at += 1
        for (source, destination), path in zip(routes.pairs, routes.paths[k], strict=True):
            assert path is not None
            names = [routes.nodes[node] for node in path]
            ends = [names[0], names[-1]]
            before, after = ([dish_node(end)] if end in resolved.dishes else [] for end in ends)
            assert source == path[0]
            assert destination == path[-1]
            walked = state.walk(f"host:{ends[0]}", f"host:{ends[1]}")
            assert walked == [f"host:{ends[0]}", *before, *names, *after, f"host:{ends[1]}"]
            row = next(
                row for row in routes.table.to_pylist()
                if (row["t_ns"], row["source"], row["destination"]) == (t_ns, *ends)
            )  # fmt: skip
            # A reconfiguration may be between two delay updates. Links that do not change then have the delay of the
            # last delay update.
            if t_ns % resolved.routing.link_interval_ns == 0:
                assert sum(state.delay_ns[hop] for hop in pairwise(names)) == row["delay_ns"]


def test_a_reconfiguration_leaves_the_paths_of_other_pairs_alone():
    resolved = plan_of("Madrid", stations=FOUR, flows=MESH, routing=Routing(interval_ns=20 * S))
    routes, _ = made(resolved)
    without, _ = made(dataclasses.replace(resolved, dishes={}))
    others = [i for i, pair in enumerate(routes.pairs) if routes.nodes.index("Madrid") not in pair]
    moved = 0
    for k, t_ns in enumerate(routes.t_ns.tolist()):
        if t_ns % (20 * S):
            assert [routes.paths[k][i] for i in others] == [routes.paths[k - 1][i] for i in others]
            moved += routes.paths[k] != routes.paths[k - 1]
        else:
            k_without = without.t_ns.tolist().index(t_ns)
            assert [routes.paths[k][i] for i in others] == [without.paths[k_without][i] for i in others]
    assert moved > 0


def test_a_dish_that_sees_nothing_is_told_before_anything_is_built():
    with pytest.raises(ScenarioError, match=r"the dish of Madrid sees no satellite .* begins at -3 s") as caught:
        made(plan_of("Madrid", access=dataclasses.replace(DISH, min_elevation_deg=89.5)))
    assert "min_elevation" in str(caught.value.hint)


TEXT = """
name = "dish"
[constellation]
preset = "oneweb-study"
[[stations]]
name = "Madrid"
[stations.access]
{access}
[[stations]]
name = "Tokyo"
[[flows]]
source = "Madrid"
destination = "Tokyo"
{rest}
"""


def loaded(tmp_path, access="", rest="", text=TEXT):
    (tmp_path / "dish.toml").write_text(text.format(access=access, rest=rest))
    return resolve(load(tmp_path / "dish.toml"))


def test_a_plan_with_a_dish_gives_itself(tmp_path):
    resolved = loaded(tmp_path, 'preset = "off-peak"\ncapacity = "schedule"\nqueue = "100 pkts"')
    assert list(resolved.dishes) == ["Madrid"]
    assert resolved.dishes["Madrid"].residual_loss_ratio == 1e-5
    (tmp_path / "plan.toml").write_text(resolved.to_toml())
    assert resolve(load(tmp_path / "plan.toml")) == resolved


@pytest.mark.parametrize(
    ("access", "rest", "told"),
    [
        ('preset = "noon"', "", r'stations.0.access.preset: "noon" is not allowed here'),
        ('geometry = "profile"', "", "stations.0.access.geometry: has no effect"),
        ('terminal_latitude = "1 deg"', "", "terminal_latitude: has no effect"),
        ('base_rtt_min = "10 ms"', "", "base_rtt_min: has no effect"),
        ('handover_max = "15 s"', "", "handover_max: .*out of range"),
        ('handover_max = "1 s"\nperiod = "1 s"', "", "handover_max: is not below period"),
        ('elevation = "1 deg"', "", "elevation: there is no such key"),
        ("", '[network]\nlink_model = "netem"', r'network.link_model: cannot be "netem" with \[stations.access\]'),
        ("", '[network]\nendpoints = "satellites"', 'endpoints: cannot be "satellites"'),
        ("", '[routing]\nupdate = "staggered"', 'update: cannot be "staggered"'),
        ("", "[cures]\nhold = true", r"cures: cannot be with \[stations.access\]"),
    ],
)
def test_what_a_dish_cannot_be_is_refused(tmp_path, access, rest, told):
    with pytest.raises(ScenarioError, match=told):
        loaded(tmp_path, access, rest)


@pytest.mark.parametrize(
    ("stations", "told"),
    [
        ('[3, {name = "Madrid", access = {}}, {name = "Tokyo"}]', "stations.0: 3 is not a table"),
        ('[{name = "Madrid", access = [{preset = "peak"}]}, {name = "Tokyo"}]', "access: a list is not a table"),
        ('[{name = "Madrid", access = 3}, {name = "Tokyo"}]', "stations.0.access: 3 is not a table"),
        ('{name = "Madrid", access = {}}', "stations: is not a list of tables"),
    ],
)
def test_lists_of_stations_that_are_none_are_refused(tmp_path, stations, told):
    flow = '[[flows]]\nsource = "Madrid"\ndestination = "Tokyo"\n'
    text = f'name = "dish"\nstations = {stations}\n[constellation]\npreset = "oneweb-study"\n{flow}'
    (tmp_path / "dish.toml").write_text(text)
    with pytest.raises(ScenarioError, match=told):
        load(tmp_path / "dish.toml")


def test_a_dish_without_a_constellation_is_refused(tmp_path):
    text = TEXT.replace("[constellation]\npreset", "[chain]\nhops").replace('"oneweb-study"', "2")
    with pytest.raises(ScenarioError, match=r"stations.0.access: has no effect: only stations of a \[constellation\]"):
        loaded(tmp_path, text=text)


def test_another_preset_takes_what_the_one_before_gave(tmp_path):
    (tmp_path / "plan.toml").write_text(loaded(tmp_path, 'preset = "off-peak"').to_toml())
    again = resolve(load(tmp_path / "plan.toml", ['stations.0.access.preset="peak"']))
    assert again.dishes["Madrid"].residual_loss_ratio == 1e-4


def test_what_a_run_carries_is_foreseen_from_its_narrowest_link(tmp_path):
    assert planned(loaded(tmp_path)).likely_rate_bps() == 100e6
    assert planned(loaded(tmp_path, 'capacity = "20 Mbit/s"')).likely_rate_bps() == 20e6


SKY = """
name = "sky"
[run]
duration = "65 s"
[constellation]
preset = "starlink-shell1"
[[stations]]
name = "New York"
{first}
[[stations]]
name = "London"
{second}
[isl]
rule = "plus-grid"
[ground]
rule = "min-elevation"
[[flows]]
source = "New York"
destination = "London"
"""
HALF_DEG = "azimuth_deg,elevation_deg\n0,90\n180,90\n181,0\n359,0\n"


def sky_plan(folder, first="", second="", **files):
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "sky.toml").write_text(SKY.format(first=first, second=second))
    return resolve(load(folder / "sky.toml"))


@pytest.mark.parametrize("access", ["", '[stations.access]\nscheduler = "highest"'])
def test_a_station_with_a_map_takes_satellites_where_it_is_free(tmp_path, access):
    resolved = sky_plan(tmp_path, f'obstructions = "west.csv"\n{access}', west=HALF_DEG)
    sky = ephemeris_of(resolved)
    assert sky is not None
    routes, _ = made(resolved)
    unlimited, _ = made(sky_plan(tmp_path, access))
    assert routes.paths != unlimited.paths
    here_m, up = sky.stations.positions_ecef_m[0], sky.stations.verticals[0]
    east = np.cross([0, 0, 1], up)
    eastward = {True: 0, False: 0}
    for t_ns, (there, _) in zip(routes.t_ns.tolist(), routes.paths, strict=True):
        assert there is not None
        eastward[bool((sky.positions_ecef_m(t_ns)[there[1]] - here_m) @ east > 0)] += 1
    assert eastward[True] == 0
    assert eastward[False] > 0


def test_two_stations_have_maps_and_a_plan_and_its_run_directory_give_them_again(tmp_path):
    resolved = sky_plan(
        tmp_path, 'obstructions = "one.csv"', 'obstructions = "two.csv"\ngeostationary_separation = "22 deg"',
        one=HALF_DEG, two=HALF_DEG.replace("181", "182"),
    )  # fmt: skip
    assert [path.name for path in resolved.inputs()] == ["one.csv", "two.csv"]
    (tmp_path / "plan.toml").write_text(resolved.to_toml())
    assert resolve(load(tmp_path / "plan.toml")) == resolved
    (tmp_path / "one.csv").write_text(HALF_DEG.replace("90", "80"))
    with pytest.raises(ScenarioError, match=r"one.csv.* has sha256"):
        resolve(load(tmp_path / "plan.toml"))


def test_two_maps_of_one_name_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "west.csv").write_text(HALF_DEG.replace("90", "80"))
    with pytest.raises(ScenarioError, match=r'another file of the scenario is called "west.csv" too'):
        sky_plan(tmp_path, 'obstructions = "west.csv"', 'obstructions = "other/west.csv"', west=HALF_DEG)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ('obstructions = "all.csv"', "station New York sees no satellite .* hidden by its obstructions"),
        ('obstructions = "all.csv"\n[stations.access]', "the dish of New York sees no satellite .* obstructions"),
        ('obstructions = "none.csv"', r'there is no file "none.csv"'),
        ('geostationary_separation = "91 deg"', "geostationary_separation: .*out of range"),
    ],
)
def test_a_sky_that_leaves_no_satellite_is_told_before_anything_is_built(tmp_path, first, told):
    with pytest.raises(ScenarioError, match=told):
        made(sky_plan(tmp_path, first, all="azimuth_deg,elevation_deg\n0,90\n"))


def test_a_plan_without_limits_does_not_name_them(tmp_path):
    text = sky_plan(tmp_path).to_toml()
    assert "obstructions" not in text
    assert "geostationary" not in text
