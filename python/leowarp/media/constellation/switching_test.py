# SPDX-License-Identifier: Apache-2.0
"""Tests nodes that switch to new routes one after another. The tests check the order and the times of the switches, and
what happens to packets between them."""

import itertools
from typing import Any

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.media.constellation.switching import Switching
from leowarp.media.registry import routes_of, timeline_of
from leowarp.scenario import load, resolve
from leowarp.timeline.description import unsettled
from support.replay import Replay

MS, S = 1_000_000, 1_000_000_000
PATH = (10, 1, 2, 3, 11)


def plan_of(example: str = "madrid-tokyo", **routing: Any):
    keys = {f"routing.{key}": value for key, value in routing.items()}
    return resolve(load(example, {"run.start": "105 s", "run.duration": "65 s", **keys}))


def after_ms(*, update: int = 1, pair: int = 0, is_way_back: bool = False, **routing: Any) -> list[float]:
    switching = Switching(plan_of(update="staggered", **routing))
    if is_way_back:
        switching.after_ns(update, pair - 1, PATH, is_way_back=False)
    return [value / MS for value in switching.after_ns(update, pair, PATH, is_way_back=is_way_back)]


def test_all_nodes_switch_at_once_by_default_and_at_the_start():
    assert Switching(plan_of()).after_ns(1, 0, PATH, is_way_back=False) == [0, 0, 0, 0]
    assert after_ms(update=0) == [0, 0, 0, 0]


def test_nodes_switch_in_the_order_that_is_asked_for():
    assert after_ms(update_delay="10 ms") == [10, 20, 30, 40]
    assert after_ms(update_delay="10 ms", update_order="destination-first") == [40, 30, 20, 10]
    orders = {tuple(after_ms(update=k, update_delay="10 ms", update_order="random")) for k in range(1, 20)}
    assert all(sorted(order) == [10, 20, 30, 40] for order in orders)
    assert len(orders) > 5


def test_the_way_back_begins_when_the_way_there_is_done():
    assert after_ms(pair=1, is_way_back=True, update_delay="10 ms") == [50, 60, 70, 80]


@pytest.mark.parametrize("spread", ["uniform", "exponential"])
def test_a_time_that_is_drawn_has_the_mean_and_is_the_same_each_time(spread):
    steps: list[float] = []
    for update in range(1, 400):
        switches = after_ms(update=update, update_delay="10 ms", update_spread=spread)
        steps += [b - a for a, b in itertools.pairwise([0.0, *switches])]
    assert sum(steps) / len(steps) == pytest.approx(10, rel=0.1)
    assert min(steps) >= 0
    assert (max(steps) <= 20) == (spread == "uniform")
    assert after_ms(update_spread=spread) == after_ms(update_spread=spread)


def made(**routing: Any):
    plan = plan_of(**routing)
    sky = ephemeris_of(plan)
    assert sky is not None
    routes = routes_of(plan, sky)
    return routes, timeline_of(plan, sky, routes).to_pylist()


def test_entries_come_one_by_one_and_in_the_end_lead_over_the_new_path():
    routes, staggered = made(update="staggered", update_delay="100 ms")
    _, atomic = made()

    def entries(rows):
        return [(row["node"], row["destination"], row["next_hop"]) for row in rows if row["event"] == "route"]

    assert sorted(entries(staggered)) == sorted(entries(atomic))
    instants = {row["t_ns"] for row in staggered if row["event"] == "route" and row["t_ns"] > 0}
    assert {t_ns // (30 * S) for t_ns in instants} == {1, 2}
    assert len({t_ns % (30 * S) for t_ns in instants}) > 5
    assert max(t_ns % (30 * S) for t_ns in instants) <= 1300 * MS
    # Events other than `route` are the same as if all nodes switched at once.
    assert [row for row in staggered if row["event"] != "route"] == [row for row in atomic if row["event"] != "route"]
    state = Replay(by_path=False)
    for row in staggered:
        state.apply(row)
    path = routes.table.to_pylist()[-2]["path"]
    assert state.walk("host:Madrid", "host:Tokyo") == ["host:Madrid", *path, "host:Tokyo"]


def test_a_timeline_says_for_how_long_entries_contradict_each_other():
    def times(**routing):
        plan = plan_of(**routing)
        sky = ephemeris_of(plan)
        assert sky is not None
        return unsettled(timeline_of(plan, sky, routes_of(plan, sky)))

    assert times() == {"circle_ns": 0, "no_entry_ns": 0}
    # If nodes switch in order from the destination to the source, each node switches after the nodes to which it sends.
    last_first = times(update="staggered", update_order="destination-first")
    assert last_first == {"circle_ns": 0, "no_entry_ns": 0}
    first_first = times(update="staggered", update_order="source-first")
    assert sum(first_first.values()) > 0
    # A pair may lack a complete path, but at most for the time that its own nodes need to switch.
    assert sum(first_first.values()) <= 2 * 2 * 1400 * MS
    assert times(update="staggered", update_delay="10 ms")["no_entry_ns"] * 10 == first_first["no_entry_ns"]


def test_nodes_that_need_longer_than_the_links_live_are_refused():
    with pytest.raises(ScenarioError, match=r"nodes of the route update at 30 s need .* to switch") as caught:
        made(update="staggered", update_delay="5 s")
    assert "routing.update_delay" in str(caught.value.hint)
    # With ARP, links are removed 5 s after an update, so nodes have less time to switch.
    made(update="staggered", update_delay="500 ms")
    with pytest.raises(ScenarioError, match="comes 5 s after it"):
        made(update="staggered", update_delay="500 ms", example="madrid-tokyo-emulator")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"update_order": "random"}, 'update_order: has no effect without update = "staggered"'),
        ({"update_delay": "1 s"}, "update_delay: has no effect"),
        ({"update": "staggered", "in_flight": "source"}, 'in_flight: cannot be "source"'),
        ({"update": "staggered", "in_flight": "drop"}, 'in_flight: cannot be "drop"'),
        ({"update": "staggered", "leaving_links": "strict"}, 'leaving_links: cannot be "strict"'),
    ],
)
def test_what_cannot_be_with_it_is_refused(keys, told):
    with pytest.raises(ScenarioError, match=told):
        plan_of(**keys)
    with pytest.raises(ScenarioError, match="cures reckon with nodes that all switch at once"):
        resolve(load("madrid-tokyo", {"routing.update": "staggered", "cures.hold": True}))


def test_a_plan_gives_itself():
    for keys in ({}, {"update": "staggered", "update_spread": "exponential"}):
        plan = plan_of(**keys)
        assert ("update_order" in plan.to_toml()) == bool(keys)
