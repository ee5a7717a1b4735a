# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.routes import Routes, constellation_routes, paths_of
from leowarp.routes.links import in_view, isl_rule
from leowarp.scenario.schema import Ground, Isl, Network, Plan, Routing
from support.plans import S, plan, shell, star, station

SCENARIOS = {
    "madrid-tokyo": plan(),
    "nine-planes": plan(star(planes=9)),
    "aalborg-cape-town": plan(stations=("Aalborg", "Cape Town")),
}


def made(resolved: Plan) -> Routes:
    where = ephemeris_of(resolved)
    assert where is not None
    return constellation_routes(resolved, where)


@pytest.fixture(scope="module")
def studies() -> dict[str, Routes]:
    return {name: made(resolved) for name, resolved in SCENARIOS.items()}


def test_the_three_scenarios_of_the_study(studies: dict[str, Routes]) -> None:
    """Some numbers were compared by hand with claims 1.1 and 1.18 of Frederiksen et al. 2024. Check that these numbers
    are unchanged. If one of them changes, results of runs change."""
    results = {
        name: {
            "changes": ways.summary["route_changes"],
            "shorter": ways.summary["route_changes_shorter"],
            "isl_hops": [ways.summary["isl_hops_min"], ways.summary["isl_hops_max"]],
            "delay_us": [round(ways.summary[f"path_delay_{which}_ns"] / 1e3) for which in ("min", "mean", "max")],
            "leaving_links": ways.summary["leaving_links"],
        }
        for name, ways in studies.items()
    }
    golden = Path(__file__).with_name("over_constellation_test.json")
    assert results == json.loads(golden.read_text())


def test_with_a_margin_fewer_changes_and_longer_paths(studies: dict[str, Routes]) -> None:
    def kept(margin_ratio: float | None) -> Routes:
        return made(dataclasses.replace(plan(), routing=Routing(margin_ratio=margin_ratio)))

    every, two_percent, broken = studies["madrid-tokyo"], kept(0.02), kept(None)
    changes = [ways.summary["route_changes"] for ways in (every, two_percent, broken)]
    # At 15 of the 24 changes, a link of the current path no longer exists.
    assert changes == [24, 15, 15]
    for ways in (two_percent, broken):
        assert ways.summary["path_delay_mean_ns"] > every.summary["path_delay_mean_ns"]
    assert two_percent.summary["path_delay_max_ns"] <= 1.02 * every.summary["path_delay_max_ns"]


def test_with_a_margin_two_pairs_may_not_share_a_destination() -> None:
    stations, flows = ("Madrid", "Tokyo", "Aalborg"), (("Madrid", "Tokyo"), ("Aalborg", "Tokyo"))
    shared = dataclasses.replace(plan(stations=stations, flows=flows), routing=Routing(margin_ratio=0.02))
    with pytest.raises(ScenarioError, match="more than one station talks with Tokyo"):
        made(shared)
    made(dataclasses.replace(shared, routing=Routing(margin_ratio=0.02, in_flight="source")))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_study_goes_over_four_to_six_satellite_links_and_varies_by_less_than_2500_us(
    studies: dict[str, Routes], name: str
) -> None:
    summary = studies[name].summary
    assert 4 <= summary["isl_hops_min"] <= summary["isl_hops_max"] <= 6
    assert summary["path_delay_max_ns"] - summary["path_delay_min_ns"] < 2_500_000
    assert not studies[name].warnings


def test_the_table_says_what_its_columns_promise(studies: dict[str, Routes]) -> None:
    ways = studies["madrid-tokyo"]
    table = ways.table
    assert table.num_rows == 2 * 34
    for field in table.schema:
        assert set(field.metadata) == {b"unit", b"doc"}
    assert json.loads(table.schema.metadata[b"summary"]) == ways.summary
    rows = table.to_pylist()
    before: dict[tuple[str, str], dict] = {}
    ids = paths_of(table)
    for row in rows:
        pair = row["source"], row["destination"]
        assert row["path"][0] == row["source"]
        assert row["path"][-1] == row["destination"]
        assert row["hops"] == len(row["path"]) - 1
        # Light takes 3.33564 ns for 1 m in vacuum; the delay of each of at most 8 links is rounded to whole ns
        assert row["delay_ns"] == pytest.approx(row["length_m"] / 0.299792458, abs=4)
        assert tuple(row["path"]) == ids[pair][row["path_id"]]
        last = before.get(pair)
        assert row["is_change"] == (last is not None and last["path"] != row["path"])
        assert (row["old_delay_ns"] is not None) == row["is_change"]
        if row["is_change"]:
            assert abs(row["old_delay_ns"] - row["delay_ns"]) < 2_500_000
        before[pair] = row
    for of_pair in ids.values():
        assert sorted(of_pair) == list(range(len(of_pair)))


def test_the_way_back_mirrors_the_way_there(studies: dict[str, Routes]) -> None:
    for name, ways in studies.items():
        for there, back in ways.paths:
            assert there is not None, name
            assert back == there[::-1]
    rows = studies["madrid-tokyo"].table.to_pylist()
    assert all(a["path_id"] == b["path_id"] for a, b in zip(rows[::2], rows[1::2], strict=True))


def test_no_other_path_is_shorter() -> None:
    resolved = plan(duration_s=300)
    where = ephemeris_of(resolved)
    assert where is not None
    for t_ns, (there, _) in zip(np.arange(0, 300, 30) * S, made(resolved).paths, strict=True):
        here_m = where.positions_ecef_m(int(t_ns))
        # The expected costs are computed with Bellman-Ford on dense matrices, which is slow but shares no code with the
        # tested search.
        apart_m = np.linalg.norm(here_m[:, None] - here_m[None], axis=-1)
        apart_m[apart_m > 3000e3] = np.inf
        ground_m = []
        for s in range(2):
            slant_m = where.stations.slant_ranges_m(s, here_m)
            slant_m[where.stations.ground_distances_m(s, here_m) > 1500e3] = np.inf
            ground_m.append(slant_m)
        cost_m = ground_m[1]
        for _ in range(8):
            cost_m = np.minimum(cost_m, (apart_m + cost_m[None]).min(axis=1))
        assert there is not None
        length_m = ground_m[0][there[1]] + ground_m[1][there[-2]]
        length_m += sum(apart_m[a, b] for a, b in pairwise(there[1:-1]))
        assert length_m <= (ground_m[0] + cost_m).min() + 0.3


@pytest.mark.slow
@pytest.mark.parametrize("start_s", [0, 4000])
@pytest.mark.parametrize("reverse", ["mirror", "own"])
def test_leaving_far_satellites_out_of_the_search_changes_no_path(start_s: int, reverse: str) -> None:
    resolved = plan(
        stations=("Madrid", "Tokyo", "Aalborg", "Cape Town"),
        flows=(("Madrid", "Tokyo"), ("Aalborg", "Cape Town"), ("Cape Town", "Tokyo")),
        start_s=start_s,
        duration_s=600,
        routing=Routing(interval_ns=5 * S, reverse=reverse),
    )
    # With `instantiate = "all"`, the search uses all links of the rule, not only those inside the ellipsoids.
    whole = made(dataclasses.replace(resolved, network=Network(instantiate="all")))
    assert made(resolved).paths == whole.paths


def test_own_way_back_is_as_short_as_the_way_there() -> None:
    ways = made(plan(duration_s=300, routing=Routing(reverse="own")))
    rows = ways.table.to_pylist()
    for there, back in zip(rows[::2], rows[1::2], strict=True):
        assert there["length_m"] == pytest.approx(back["length_m"], abs=0.7)


def test_start_shifts_the_constellation_under_the_run() -> None:
    whole = made(plan(duration_s=300)).table.to_pylist()
    later = made(plan(duration_s=240, start_s=60)).table.to_pylist()
    for a, b in zip(whole[4:], later, strict=True):
        assert (a["path"], a["delay_ns"]) == (b["path"], b["delay_ns"])


def test_the_clocks_are_independent() -> None:
    coarse = made(plan(duration_s=100, routing=Routing(interval_ns=50 * S, link_interval_ns=1 * S)))
    assert coarse.t_ns.tolist() == [0, 50 * S]
    fine = made(plan(duration_s=100, routing=Routing(interval_ns=50 * S, link_interval_ns=50 * S)))
    assert coarse.paths == fine.paths
    assert coarse.summary["path_delay_min_ns"] <= fine.summary["path_delay_min_ns"]
    assert coarse.summary["path_delay_max_ns"] >= fine.summary["path_delay_max_ns"]


def test_the_last_update_is_before_the_end() -> None:
    assert made(plan(duration_s=60)).t_ns.tolist() == [0, 30 * S]
    assert made(plan(duration_s=60.001)).t_ns.tolist() == [0, 30 * S, 60 * S]
    assert made(plan(duration_s=0.001)).t_ns.tolist() == [0]


def test_fewest_hops_is_fewer_or_equal() -> None:
    by_length = made(plan(duration_s=300))
    by_hops = made(plan(duration_s=300, routing=Routing(metric="hops")))
    for long, few in zip(by_length.paths, by_hops.paths, strict=True):
        assert long[0] is not None
        assert few[0] is not None
        assert len(few[0]) <= len(long[0])
    assert by_hops.summary["path_delay_mean_ns"] >= by_length.summary["path_delay_mean_ns"]


def test_delay_as_metric_counts_what_the_guest_is_given() -> None:
    # Delays are rounded up to whole milliseconds, and ground links have no delay. A path of few long links then has
    # less delay than a path of many short links.
    own: dict[str, Any] = {"network": Network(delay_rounding="ceil-ms"), "ground": Ground(delay="zero")}
    by_delay = made(plan(duration_s=300, routing=Routing(metric="delay"), **own))
    by_length = made(plan(duration_s=300, **own))
    for a, b in zip(by_delay.table.to_pylist(), by_length.table.to_pylist(), strict=True):
        assert a["delay_ns"] <= b["delay_ns"]
        assert a["delay_ns"] % 1_000_000 == 0


def test_every_flow_has_its_pair_once_and_its_way_back() -> None:
    resolved = plan(
        stations=("Madrid", "Tokyo", "Aalborg"),
        flows=(("Madrid", "Tokyo"), ("Tokyo", "Madrid"), ("Madrid", "Tokyo"), ("Aalborg", "Tokyo")),
        duration_s=30,
    )
    rows = made(resolved).table.to_pylist()
    assert [(row["source"], row["destination"]) for row in rows] == [
        ("Madrid", "Tokyo"),
        ("Tokyo", "Madrid"),
        ("Aalborg", "Tokyo"),
        ("Tokyo", "Aalborg"),
    ]
    silent = made(dataclasses.replace(resolved, flows=()))
    assert len(silent.pairs) == 6


def test_path_numbers_are_distinct_for_each_destination() -> None:
    resolved = plan(
        stations=("Madrid", "Tokyo", "Aalborg"),
        flows=(("Madrid", "Tokyo"), ("Aalborg", "Tokyo")),
        duration_s=300,
        routing=Routing(in_flight="source"),
    )
    named: dict[tuple[str, int], list[str]] = {}
    for row in made(resolved).table.to_pylist():
        assert named.setdefault((row["destination"], row["path_id"]), row["path"]) == row["path"]


def test_a_station_that_sees_nothing_is_an_error_with_the_nearest_miss() -> None:
    north = station("Longyearbyen", 78.22, 15.65)
    with pytest.raises(ScenarioError, match=r"Longyearbyen sees no satellite at any of 10 .* nearest was \d+ km") as a:
        made(plan(shell(), stations=("Madrid", north), duration_s=300))
    assert "ground.max_ground_range" in str(a.value.hint)
    by_angle = Ground(rule="min-elevation")
    with pytest.raises(ScenarioError, match=r"asks for 25 deg, the highest satellite stood at -?\d") as b:
        made(plan(shell(), stations=("Madrid", north), duration_s=300, ground=by_angle))
    assert b.value.hint


@pytest.mark.slow
def test_the_hint_for_a_blind_station_is_true() -> None:
    north = station("Longyearbyen", 78.22, 15.65)
    with pytest.raises(ScenarioError) as raised:
        made(plan(shell(), stations=("Madrid", north), duration_s=300))
    reach_km = float(str(raised.value.hint).split('"')[1].removesuffix(" km"))
    wide = Ground(max_ground_range_m=reach_km * 1e3)
    assert made(plan(shell(), stations=("Madrid", north), duration_s=300, ground=wide)).summary


def test_a_silent_station_may_see_nothing() -> None:
    north = station("Longyearbyen", 78.22, 15.65)
    assert made(plan(shell(), ("Madrid", "Tokyo", north), (("Madrid", "Tokyo"),), duration_s=30)).summary


def test_stations_that_never_have_a_path_are_an_error() -> None:
    with pytest.raises(ScenarioError, match="no path from Madrid to Tokyo at any of 2 route updates") as raised:
        made(plan(duration_s=60, isl=Isl(rule="none")))
    assert "isl.rule" in str(raised.value.hint)
    with pytest.raises(ScenarioError, match="no path from Madrid to Tokyo") as raised:
        made(plan(duration_s=60, isl=Isl(max_range_m=500e3)))
    assert "isl.max_range above 500 km" in str(raised.value.hint)


def test_stations_that_never_see_a_satellite_at_once_are_not_told_to_change_links_between_satellites() -> None:
    poles = station("north", 89.0, 0.0), station("south", -89.0, 0.0)
    with pytest.raises(ScenarioError, match="each sees satellites, but never both at the same update") as raised:
        made(plan(star(planes=1, satellites_per_plane=1, inclination_deg=90.0), stations=poles, duration_s=7000))
    assert "isl" not in str(raised.value.hint)
    assert "take more satellites" in str(raised.value.hint)


def test_time_without_a_path_is_null_and_warned_about() -> None:
    ways = made(plan(duration_s=300, ground=Ground(max_ground_range_m=700e3)))
    without = [row for row in ways.table.to_pylist() if row["path"] is None]
    assert without
    for row in without:
        assert [row[name] for name in ("path_id", "delay_ns", "length_m", "hops")] == [None] * 4
    assert len(ways.warnings) == 1
    assert f"after {len(without) // 2} of 10 route updates" in ways.warnings[0]
    assert ways.summary["no_path_s"] == len(without) // 2 * 30
    assert json.loads(ways.table.schema.metadata[b"warnings"]) == list(ways.warnings)


def test_one_satellite_is_a_path_without_satellite_links() -> None:
    near = (station("Here", 40.0, 0.0), station("There", 41.0, 3.0))
    ways = made(plan(stations=near, duration_s=60, isl=Isl(rule="none")))
    assert {len(path) for now in ways.paths for path in now if path is not None} == {3}
    assert ways.summary["isl_hops_max"] == 0


@pytest.mark.parametrize("in_flight", ["drain", "source"])
def test_satellites_that_meet_at_the_pole_do_not_send_packets_in_circles(in_flight: str) -> None:
    # At an inclination of exactly 90 deg and with F = 0, satellites of all planes meet at the poles, and their links
    # have length 0.
    poles = star(inclination_deg=90.0)
    where = ephemeris_of(plan(poles))
    assert where is not None
    quarter_s = where.orbits.period_s / 4  # type: ignore[union-attr]
    stations = (station("A", 80.0, 0.0), station("B", 80.0, 120.0), station("C", 75.0, 240.0))
    resolved = plan(
        poles,
        stations,
        (("A", "B"), ("C", "B"), ("B", "C")),
        start_s=quarter_s,
        duration_s=60,
        isl=Isl(grazing_height_m=0.0),
        routing=Routing(in_flight=in_flight),
    )
    for now in made(resolved).paths:
        for path in now:
            assert path is not None
            assert len(set(path)) == len(path)


def test_the_same_plan_gives_the_same_table() -> None:
    resolved = plan(star(planes=9), duration_s=200, isl=Isl(terminals=4))
    assert made(resolved).table.equals(made(resolved).table, check_metadata=True)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 100_000), st.sampled_from(["range", "plus-grid"]), st.sampled_from(["mirror", "own"]))
def test_a_path_changes_only_when_another_is_shorter_by_more_than_a_nanosecond(
    start_s: int, rule: str, reverse: str
) -> None:
    resolved = plan(
        star(planes=9), duration_s=120, start_s=start_s, isl=Isl(rule=rule), routing=Routing(reverse=reverse)
    )
    where = ephemeris_of(resolved)
    assert where is not None
    held = isl_rule(resolved, where)
    ways = constellation_routes(resolved, where)
    n = len(where.names)
    for row in ways.table.filter(pa.compute.field("is_change")).to_pylist():
        k = row["t_ns"] // (30 * S)
        pair = ways.pairs.index((ways.nodes.index(row["source"]), ways.nodes.index(row["destination"])))
        old = ways.paths[k - 1][pair]
        if old is None:
            continue
        here_m = where.positions_ecef_m(row["t_ns"])
        links = {tuple(link) for link in held.pairs(here_m).tolist()}
        there = all((min(link), max(link)) in links for link in pairwise(old[1:-1]))
        for end, satellite in ((old[0], old[1]), (old[-1], old[-2])):
            there = there and bool(in_view(resolved.ground, where.stations, end - n, here_m[satellite]))
        if there:
            assert row["old_delay_ns"] > row["delay_ns"]
