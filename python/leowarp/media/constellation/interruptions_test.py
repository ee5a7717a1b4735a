# SPDX-License-Identifier: Apache-2.0
"""Tests ground links with a gap after a handover. Also tests links whose lasers need time."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.media.registry import routes_of, timeline_of
from leowarp.routes.links import isl_rule
from leowarp.scenario import load, resolve
from leowarp.scenario.schema import Shell
from support.elements import orbits_of, written
from support.replay import Replay

MS, S = 1_000_000, 1_000_000_000
BASE = {"run.start": "0 s", "run.duration": "600 s"}
GAP = {"ground.handover_gap": "40 ms"}
LASER = {"isl.acquisition": "7 s"}


def plan_of(**keys: Any):
    return resolve(load("madrid-tokyo", BASE | keys))


def made(plan):
    sky = ephemeris_of(plan)
    routes = routes_of(plan, sky)
    return routes, timeline_of(plan, sky, routes).to_pylist()


@pytest.fixture(scope="module")
def plain():
    return made(plan_of())


def links(path):
    return {frozenset(link) for link in pairwise(path)}


def handovers(routes):
    """Return pairs (time of a route update, ground link). After this update, a path uses the ground link. Before the
    update, the path did not use it."""
    found = []
    paths = [[routes.nodes[node] for node in now[0]] for now in routes.paths]
    for (before, now), t_ns in zip(pairwise(paths), routes.t_ns.tolist()[1:], strict=True):
        found += [
            (t_ns, link) for link in ((now[1], now[0]), (now[-2], now[-1])) if frozenset(link) not in links(before)
        ]
    return found


def intervals(rows, event, column, value):
    """Return a dict with each interval in which `column` has this value. The key is (link with its satellite first,
    begin), and the dict's value is the end."""
    found, open_ = {}, {}
    for row in (row for row in rows if row["event"] == event):
        ends = row["a"], row["b"]
        if row[column] == value:
            open_[ends] = row["t_ns"]
        elif ends in open_:
            found[ends, open_.pop(ends)] = row["t_ns"]
    return found


def without(rows, *events):
    return [row for row in rows if row["event"] not in events]


def test_a_handover_leaves_a_gap_on_the_new_ground_link_both_ways(plain):
    routes, rows = made(plan_of(**GAP))
    expected = handovers(routes)
    assert len(expected) > 3
    lost = intervals(rows, "loss", "loss_ratio", 1.0)
    assert lost == {
        (ends, t_ns): t_ns + 40 * MS for t_ns, link in expected for ends in (link, link[::-1])
    }  # fmt: skip
    assert without(rows, "loss") == without(plain[1], "loss")


def test_the_loss_of_a_link_holds_again_after_its_gap():
    _, rows = made(plan_of(**GAP, **{"ground.loss": "1 %", "stations.1.shaped": False}))
    ends = {
        (row["loss_ratio"], "Tokyo" in (row["a"], row["b"]))
        for row in rows if row["event"] == "loss" and row["t_ns"] % S == 40 * MS
    }  # fmt: skip
    assert ends == {(0.01, False), (0.0, True)}


def test_packets_that_are_buffered_find_a_capacity_of_nothing_and_then_the_rate(plain):
    routes, rows = made(plan_of(**GAP, **{"ground.in_gap": "buffered"}))
    nothing = intervals(rows, "capacity", "rate_bps", 0)
    assert nothing == {(ends, t_ns): t_ns + 40 * MS for t_ns, link in handovers(routes) for ends in (link, link[::-1])}
    tables = {(row["a"], row["b"]) for row in rows if row["event"] == "capacity"}
    rated = {(row["a"], row["b"]) for row in rows if row["event"] == "rate"}
    assert not tables & rated
    assert {row["rate_bps"] for row in rows if row["event"] == "capacity"} == {0, plan_of().ground.rate_bps}
    assert without(rows, "rate", "capacity") == without(plain[1], "rate")


def test_make_before_break_takes_the_old_path_until_the_gap_is_over(plain):
    routes, rows = made(plan_of(**GAP, **{"ground.in_gap": "old"}))
    assert without(rows, "route") == without(plain[1], "route")
    late = {t_ns for t_ns, _ in handovers(routes)}
    moved = {
        row["t_ns"] + 40 * MS if row["t_ns"] in late else row["t_ns"] for row in plain[1] if row["event"] == "route"
    }
    assert {row["t_ns"] for row in rows if row["event"] == "route"} == moved
    state = Replay(by_path=False)
    for row in rows:
        state.apply(row)
    last = [routes.nodes[node] for node in routes.paths[-1][0]]
    assert state.walk("host:Madrid", "host:Tokyo") == ["host:Madrid", *last, "host:Tokyo"]


def test_gaps_are_drawn_around_their_mean_and_again_the_same():
    keys = {"ground.handover_gap": "40 ms", "ground.handover_gap_spread": "15 ms"}
    _, rows = made(plan_of(**keys))
    lasts_ns = {end - begin for (_, begin), end in intervals(rows, "loss", "loss_ratio", 1.0).items()}
    assert len(lasts_ns) > 3
    assert 25 * MS <= min(lasts_ns) < max(lasts_ns) <= 55 * MS
    assert made(plan_of(**keys))[1] == rows
    assert made(plan_of(**keys, **{"run.seed": 2}))[1] != rows


def new_links(plan, routes):
    """Return (update, link) for each use of a satellite link that was out of range at the previous update."""
    sky = ephemeris_of(plan)
    assert sky is not None
    number = {name: i for i, name in enumerate(sky.names)}
    found = set()
    for before_ns, t_ns, now in zip(routes.t_ns.tolist(), routes.t_ns.tolist()[1:], routes.paths[1:], strict=False):
        was_m = sky.positions_ecef_m(before_ns)
        for a, b in pairwise(sorted_names(routes, now[0])):
            if np.linalg.norm(was_m[number[a]] - was_m[number[b]]) > plan.isl.max_range_m:
                found.add((t_ns, frozenset((a, b))))
    return found


def sorted_names(routes, path):
    return [routes.nodes[node] for node in path[1:-1]]


def test_lasers_that_the_rule_gives_anew_are_lost_on_until_they_are_there():
    plan = plan_of(**LASER, **{"isl.acquiring": "lost"})
    routes, rows = made(plan)
    lost = intervals(rows, "loss", "loss_ratio", 1.0)
    expected = new_links(plan, routes)
    assert expected
    assert {(begin, frozenset(ends)) for ends, begin in lost} == expected
    assert all(end - begin == 7 * S for (_, begin), end in lost.items())


def test_routes_that_wait_use_no_link_that_was_not_there_an_acquisition_ago():
    plain_routes, _ = made(plan_of())
    plan = plan_of(**LASER)
    routes, rows = made(plan)
    assert new_links(plan, plain_routes)
    assert not new_links(plan, routes)
    assert routes.paths != plain_routes.paths
    assert not any(row["event"] == "loss" for row in rows)


def test_an_acquisition_longer_than_an_interval_keeps_links_out_for_several():
    routes, _ = made(plan_of(**{"isl.acquisition": "61 s"}))
    again, _ = made(plan_of(**LASER))
    assert routes.paths[:2] == again.paths[:2], "one update after the start, both know the same links"
    assert routes.paths != again.paths


# The planes are the same as in tests/guest/gaps_test.py. Depending on latitude, the nearest three neighbours of a
# satellite are in its own plane or in other planes.
FEW_PLANES = {
    "constellation.planes": 6, "constellation.satellites_per_plane": 24, "isl.terminals": 3, "isl.max_range": "6000 km",
    "ground.max_ground_range": "2500 km", "run.duration": "1200 s", "isl.acquiring": "lost",
}  # fmt: skip
CLASSES = FEW_PLANES | {"isl.acquisition": "3 s", "isl.acquisition_between_planes": "7 s"}


def plane(name):
    """Return the number of the plane of a satellite ``s-PP-SS``."""
    return name.rsplit("-", 1)[0]


def test_each_new_laser_takes_the_time_of_its_class_from_the_update_that_gave_it():
    plan = plan_of(**CLASSES)
    sky = ephemeris_of(plan)
    routes, rows = made(plan)
    lost = intervals(rows, "loss", "loss_ratio", 1.0)
    number = {name: i for i, name in enumerate(sky.names)}
    rule = isl_rule(plan, sky)
    there = [set(map(tuple, rule.pairs(sky.positions_ecef_m(int(t_ns))).tolist())) for t_ns in routes.t_ns]
    used = set()
    for k, (t_ns, now) in enumerate(zip(routes.t_ns.tolist(), routes.paths, strict=True)):
        for a, b in pairwise(sorted_names(routes, now[0])):
            pair = tuple(sorted((number[a], number[b])))
            since = k
            while since and pair in there[since - 1]:
                since -= 1
            takes_ns = (3 if plane(a) == plane(b) else 7) * S
            if since and routes.t_ns[since] + takes_ns > t_ns:
                used |= {((ends, t_ns), int(routes.t_ns[since]) + takes_ns) for ends in ((a, b), (b, a))}
    assert lost == dict(used)
    assert {end - begin for (_, begin), end in lost.items()} == {3 * S, 7 * S}


def test_classes_of_equal_times_are_no_classes():
    plan = plan_of(**LASER)
    same = plan_of(**LASER, **{"isl.acquisition_between_planes": "7 s"})
    assert same == plan
    assert same.to_toml() == plan.to_toml()
    assert plan_of(**{"isl.acquisition_between_planes": "0 s"}).to_toml() == plan_of().to_toml()


def test_only_links_between_planes_are_new_over_18_planes_of_36():
    """If `terminals` is not set, check that no link within a plane is ever new. The distances within a plane do not
    change, so an acquisition time for these links has no effect."""
    lost = {"isl.acquiring": "lost"}
    both, one = plan_of(**LASER, **lost), plan_of(**lost, **{"isl.acquisition_between_planes": "7 s"})
    assert 'acquisition = "0 s"' in one.to_toml()
    assert made(one)[1] == made(both)[1]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 40), st.one_of(st.none(), st.integers(0, 40)), st.sampled_from(["wait", "lost", "buffered"]))
def test_any_two_times_give_a_plan_that_gives_itself_or_a_sentence(tmp_path_factory, within_s, between_s, acquiring):
    keys = {"isl.acquisition": f"{within_s} s"}
    if between_s is not None:
        keys["isl.acquisition_between_planes"] = f"{between_s} s"
    longest_s = max(within_s, between_s or 0)
    if longest_s:
        keys["isl.acquiring"] = acquiring
    if longest_s >= 30 and acquiring != "wait":
        key = "acquisition" if within_s == longest_s else "acquisition_between_planes"
        with pytest.raises(ScenarioError, match=f"isl.{key}: lasts {longest_s} s, and the next route update"):
            plan_of(**keys)
        return
    path = tmp_path_factory.getbasetemp() / "classes.toml"
    path.write_text(plan_of(**keys).to_toml())
    assert resolve(load(path)) == plan_of(**keys)


def test_planes_of_elements_are_found_for_a_grid_alone(tmp_path):
    few = Shell(planes=8, satellites_per_plane=12, altitude_m=1200e3, inclination_deg=86.4, pattern="star")
    written(tmp_path / "few.tle", orbits_of(few))
    sky = {"tle": str(tmp_path / "few.tle"), "epoch": "2025-06-01T00:00:00Z"}
    with pytest.raises(ScenarioError, match=r'needs planes, and isl.rule = "range" does not look for any'):
        plan_of(constellation=sky, **{"isl.acquisition_between_planes": "7 s"})


def test_off_is_not_there_at_all(plain):
    off = made(plan_of(**{"ground.handover_gap": "0 s", "isl.acquisition": "0 s"}))
    assert off[1] == plain[1]
    text = plan_of().to_toml()
    assert "gap" not in text.replace("gaps", "")
    assert "acqui" not in text


@pytest.mark.parametrize("keys", [GAP, LASER, GAP | LASER | {"isl.acquiring": "buffered", "ground.in_gap": "old"}])
def test_a_plan_gives_itself(keys, tmp_path):
    plan = plan_of(**keys)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    assert resolve(load(tmp_path / "plan.toml")) == plan


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"ground.in_gap": "old"}, "in_gap: has no effect without handover_gap"),
        ({"isl.acquiring": "lost"}, "acquiring: has no effect without acquisition"),
        (LASER | {"isl.acquisition_between_planes": "-1 s"}, 'acquisition_between_planes: "-1 s" is out of range'),
        (LASER | {"isl.acquisition_between_shells": "1 s"}, "acquisition_between_shells: there is no such key"),
        (LASER | {"isl.acquisition_between_planes": "30 s", "isl.acquiring": "lost"}, "between_planes: lasts 30 s"),
        ({"isl.rule": "none", "isl.acquisition_between_planes": "1 s"}, "between_planes: has no effect: isl.rule"),
        ({"ground.handover_gap": "30 s"}, "handover_gap: lasts 30 s, and the next route update comes after 30 s"),
        (LASER | {"isl.acquisition": "31 s", "isl.acquiring": "lost"}, "acquisition: lasts 31 s"),
        (GAP | {"ground.handover_gap_spread": "41 ms"}, "handover_gap_spread: is more than handover_gap"),
        (GAP | {"routing.in_flight": "drop"}, 'in_flight: cannot be "drop" with ground.handover_gap'),
        (GAP | {"routing.in_flight": "source", "ground.in_gap": "old"}, 'in_flight: cannot be "source"'),
        (GAP | {"network.link_model": "netem"}, 'link_model: cannot be "netem"'),
        (GAP | {"cures.hold": True}, "cures: cannot be with ground.handover_gap"),
    ],
)
def test_what_cannot_be_is_refused(keys, told):
    with pytest.raises(ScenarioError, match=told):
        plan_of(**keys)
