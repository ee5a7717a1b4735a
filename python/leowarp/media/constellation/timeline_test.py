# SPDX-License-Identifier: Apache-2.0
import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.media import routes_of, timeline_of
from leowarp.routes import Routes, paths_of
from leowarp.scenario.schema import Constellation, Ground, Isl, Network, Plan, Routing
from support.plans import S, plan, shell, star
from support.replay import Replay, replayed

NARROW = Ground(max_ground_range_m=700e3)
"""With this ground range, Madrid or Tokyo sometimes sees no satellite."""

RANK = {"node": 0, "link": 1, "rate": 2, "delay": 3, "loss": 4, "route": 5, "path": 6}

FOUR = ("Madrid", "Tokyo", "Aalborg", "Cape Town")
MESH = (("Madrid", "Tokyo"), ("Aalborg", "Tokyo"), ("Tokyo", "Cape Town"), ("Cape Town", "Aalborg"))


def made(resolved: Plan) -> tuple[Routes, pa.Table]:
    where = ephemeris_of(resolved)
    assert where is not None
    ways = routes_of(resolved, where)
    return ways, timeline_of(resolved, where, ways)


def rows(table: pa.Table, event: str, **where: object) -> list[dict]:
    return [
        row
        for row in table.to_pylist()
        if row["event"] == event and all(row[name] == value for name, value in where.items())
    ]


def check_everything(resolved: Plan, ways: Routes, table: pa.Table) -> None:
    """Check the conditions that every constellation timeline must satisfy, at each instant with an event."""
    events = table.to_pylist()
    order = [(e["t_ns"], 7 if e["event"] == "link" and not e["up"] else RANK[e["event"]]) for e in events]
    assert order == sorted(order)
    assert table.schema.field("t_ns").type == table.schema.field("delay_ns").type == pa.int64()
    by_path = resolved.routing.in_flight == "source"
    expected = {(r["t_ns"], r["source"], r["destination"]): r for r in ways.table.to_pylist()}
    updates = ways.t_ns.tolist()
    names = paths_of(ways.table)
    state = Replay(by_path=by_path)
    last_path: dict[tuple[str, str], int] = {}
    at = 0
    while at < len(events):
        t_ns = events[at]["t_ns"]
        while at < len(events) and events[at]["t_ns"] == t_ns:
            state.apply(events[at])
            at += 1
        for (node, _, _), after in state.next_hop.items():
            assert state.is_up(node, after), f"{node} routes over a link that is down, {t_ns} ns"
        for (a, b), up in state.links.items():
            if up and not a.startswith("host:"):
                assert state.delay_ns[a, b] == state.delay_ns[b, a]
                assert (a, b) in state.rate_bps
                assert (b, a) in state.rate_bps
        update = updates[int(np.searchsorted(updates, t_ns, side="right")) - 1]
        for (source, destination), of_pair in names.items():
            row = expected[update, source, destination]
            walked = state.walk(f"host:{source}", f"host:{destination}")
            assert state.path_id[f"host:{source}", f"host:{destination}"] == row["path_id"]
            if row["path"] is None:
                assert walked is None
                last = last_path.get((source, destination)) if by_path else None
                assert (source, f"host:{destination}", last) not in state.next_hop
            if row["path"] is not None:
                last_path[source, destination] = row["path_id"]
            if row["path"] is not None and (resolved.routing.leaving_links == "keep" or t_ns == update):
                assert walked == [f"host:{source}", *row["path"], f"host:{destination}"]
                assert tuple(row["path"]) == of_pair[row["path_id"]]
            # A route update may be no delay update. The delays then belong to the last delay update, not to the current
            # positions.
            refreshed = t_ns % resolved.routing.link_interval_ns == 0
            if walked is not None and t_ns == update and row["path"] is not None and refreshed:
                hops = list(pairwise(row["path"]))
                assert sum(state.delay_ns[hop] for hop in hops) == row["delay_ns"]


VARIANTS: dict[str, dict[str, Any]] = {
    "the study": {},
    "nine planes": {"constellation": star(planes=9)},
    "every satellite": {"network": Network(instantiate="all"), "isl": Isl(max_range_m=2200e3)},
    "drop": {"routing": Routing(in_flight="drop")},
    "drop, every satellite": {
        "routing": Routing(in_flight="drop"),
        "network": Network(instantiate="all"),
        "isl": Isl(rule="plus-grid"),
    },
    "source": {"routing": Routing(in_flight="source")},
    "strict": {"routing": Routing(leaving_links="strict", link_interval_ns=5 * S)},
    "strict, drop": {"routing": Routing(leaving_links="strict", link_interval_ns=5 * S, in_flight="drop")},
    "strict, source": {"routing": Routing(leaving_links="strict", link_interval_ns=5 * S, in_flight="source")},
    "way back of its own": {"routing": Routing(reverse="own")},
    "the study's emulator": {
        "network": Network(
            link_model="netem", delay_rounding="ceil-ms", queue_counts="waiting-and-flying", neighbours="arp"
        ),
        "ground": Ground(delay="zero"),
    },
    "arp, routes every 2 s": {
        "network": Network(neighbours="arp"),
        "routing": Routing(interval_ns=2 * S, link_interval_ns=3 * S),
    },
    "arp, source, strict": {
        "network": Network(neighbours="arp"),
        "routing": Routing(interval_ns=20 * S, link_interval_ns=4 * S, in_flight="source", leaving_links="strict"),
    },
    "satellites as endpoints": {"network": Network(endpoints="satellites")},
    "clocks out of step": {"routing": Routing(interval_ns=20 * S, link_interval_ns=7 * S)},
    "hops": {"routing": Routing(metric="hops")},
    "delay in ms": {"routing": Routing(metric="delay"), "network": Network(delay_rounding="ceil-ms")},
    "ground distance": {"routing": Routing(ground_cost="ground-distance")},
    "a mesh": {"stations": FOUR, "flows": MESH},
    "a mesh by hops": {"stations": FOUR, "flows": MESH, "routing": Routing(metric="hops", in_flight="drop")},
    "a mesh by path": {"stations": FOUR, "flows": MESH, "routing": Routing(metric="hops", in_flight="source")},
    "gaps": {"ground": NARROW},
    "gaps, drop": {"ground": NARROW, "routing": Routing(in_flight="drop")},
    "gaps, source": {"ground": NARROW, "routing": Routing(in_flight="source")},
    "gaps, arp": {"ground": NARROW, "network": Network(neighbours="arp")},
    "a gap at the start": {
        "constellation": shell(),
        "stations": ("Aalborg", "Cape Town"),
        "ground": Ground(rule="min-elevation", min_elevation_deg=44.0),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_packets_follow_the_routes_table_at_every_instant(variant: dict) -> None:
    resolved = plan(**{"duration_s": 300, **variant})
    check_everything(resolved, *made(resolved))


@pytest.mark.parametrize("variant", ["gaps", "a gap at the start"])
def test_the_variants_with_gaps_have_gaps(variant: str) -> None:
    ways, table = made(plan(duration_s=300, **VARIANTS[variant]))
    assert 0 < ways.summary["no_path_s"] < 300
    assert len(ways.warnings) == 1
    assert len([row for row in rows(table, "path") if row["path_id"] is None]) > 0


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    pattern = draw(st.sampled_from(["star", "delta"]))
    planes, slots = draw(st.integers(6, 12)), draw(st.integers(12, 20))
    constellation = Constellation(
        pattern=pattern,
        planes=planes,
        satellites_per_plane=slots,
        altitude_m=draw(st.sampled_from([1200e3, 2000e3])),
        inclination_deg=draw(st.sampled_from([60.0, 86.4])),
        phasing=draw(st.integers(0, planes - 1)),
    )
    return plan(
        constellation,
        FOUR,
        MESH[: draw(st.integers(1, 4))],
        duration_s=draw(st.sampled_from([61, 120])),
        start_s=draw(st.integers(0, 10_000)),
        isl=Isl(
            rule=draw(st.sampled_from(["range", "plus-grid"])),
            max_range_m=draw(st.sampled_from([3000e3, 5000e3])),
            terminals=draw(st.sampled_from([None, 6])),
            grazing_height_m=draw(st.sampled_from([None, 80e3])),
        ),
        ground=Ground(max_ground_range_m=3000e3),
        routing=Routing(
            metric=draw(st.sampled_from(["distance", "hops"])),
            interval_ns=draw(st.sampled_from([10, 15])) * S,
            link_interval_ns=draw(st.sampled_from([4, 5])) * S,
            in_flight=draw(st.sampled_from(["drain", "source", "drop"])),
            leaving_links=draw(st.sampled_from(["keep", "strict"])),
            reverse=draw(st.sampled_from(["mirror", "own"])),
        ),
        network=Network(
            instantiate=draw(st.sampled_from(["used", "all"])), neighbours=draw(st.sampled_from(["static", "arp"]))
        ),
    )


@pytest.mark.slow
@settings(max_examples=25)
@given(plans())
def test_any_constellation_gives_a_consistent_timeline(resolved: Plan) -> None:
    try:
        ways, table = made(resolved)
    except ScenarioError as error:
        # Only one error is allowed: in a sparse pattern, two stations may have no path.
        if "no path" in str(error) or "sees no satellite" in str(error):
            return
        raise
    check_everything(resolved, ways, table)


def test_drain_keeps_links_and_the_entries_of_nodes_that_the_new_path_leaves() -> None:
    resolved = plan(duration_s=100)
    ways, table = made(resolved)
    assert not rows(table, "link", up=False)
    first, second = ways.table["path"][0].as_py(), ways.table["path"][2].as_py()
    assert first != second
    after = replayed(table, 30 * S)
    for node, following in pairwise(first):
        assert after.is_up(node, following)
        if node not in second:
            assert after.next_hop[node, "host:Tokyo", None] == following


def test_drop_takes_unused_links_down_at_the_update_and_loses_what_they_hold() -> None:
    ways, table = made(plan(duration_s=100, routing=Routing(in_flight="drop")))
    first, second = (list(pairwise(p or ())) for p in (ways.paths[0][0], ways.paths[1][0]))
    assert first
    gone = {frozenset(link) for link in first} - {frozenset(link) for link in second}
    down = rows(table, "link", up=False, t_ns=30 * S)
    index = {name: i for i, name in enumerate(ways.nodes)}
    assert {frozenset((index[row["a"]], index[row["b"]])) for row in down} == gone
    assert {row["on_down"] for row in down} == {"drop"}


def test_source_keeps_an_entry_for_each_path() -> None:
    ways, table = made(plan(duration_s=100, routing=Routing(in_flight="source")))
    after = replayed(table, 30 * S, by_path=True)
    for path_id, path in paths_of(ways.table)["Madrid", "Tokyo"].items():
        if path_id < 2:
            for node, following in pairwise(path):
                assert after.next_hop[node, "host:Tokyo", path_id] == following


def test_strict_takes_a_leaving_link_down_at_the_link_instant_that_finds_it() -> None:
    resolved = plan(routing=Routing(leaving_links="strict"))
    ways, table = made(resolved)
    assert len(ways.leavings) == ways.summary["leaving_links"] > 0
    down = {(row["t_ns"], row["a"], row["b"]) for row in rows(table, "link", up=False)}
    assert down == {(left.t_ns, ways.nodes[left.a], ways.nodes[left.b]) for left in ways.leavings}
    assert all(t_ns % (30 * S) == 15 * S for t_ns, _, _ in down)


def test_keep_lets_a_leaving_link_live() -> None:
    resolved = plan()
    ways, table = made(resolved)
    assert ways.leavings
    assert not rows(table, "link", up=False)


def test_arp_makes_links_anew_five_seconds_after_their_last_use() -> None:
    resolved = plan(network=Network(neighbours="arp", link_model="netem"))
    _, table = made(resolved)
    down = rows(table, "link", up=False)
    assert down
    assert {row["t_ns"] % (30 * S) for row in down} == {5 * S}
    assert {row["on_down"] for row in down} == {"drop"}


def test_delays_follow_the_satellites_at_the_link_clock_only() -> None:
    _, table = made(plan(duration_s=120, routing=Routing(interval_ns=60 * S, link_interval_ns=25 * S)))
    instants = {row["t_ns"] // S for row in rows(table, "delay")}
    assert instants == {0, 25, 50, 60, 75, 100}


def test_a_delay_that_stays_the_same_is_no_event() -> None:
    _, table = made(plan(network=Network(delay_rounding="ceil-ms")))
    last: dict[tuple[str, str], int] = {}
    for row in rows(table, "delay"):
        assert last.get((row["a"], row["b"])) != row["delay_ns"]
        assert row["delay_ns"] % 1_000_000 == 0
        last[row["a"], row["b"]] = row["delay_ns"]


def test_delay_is_length_over_the_speed_of_light_to_the_nearest_ns() -> None:
    resolved = plan(duration_s=50)
    where = ephemeris_of(resolved)
    assert where is not None
    table = timeline_of(resolved, where, routes_of(resolved, where))
    name = {n: i for i, n in enumerate(where.names)}
    for row in rows(table, "delay", t_ns=15 * S):
        if row["a"] in name and row["b"] in name:
            here = where.positions_ecef_m(15 * S)
            length_m = float(np.linalg.norm(here[name[row["a"]]] - here[name[row["b"]]]))
            assert row["delay_ns"] == round(length_m / 299_792_458 * 1e9)


def test_satellites_as_endpoints_make_ground_links_ideal() -> None:
    _, table = made(plan(duration_s=60, network=Network(endpoints="satellites")))
    ground = {frozenset((row["a"], row["b"])) for row in rows(table, "link", kind="gsl")}
    assert ground
    for event, column, value in (("rate", "rate_bps", None), ("delay", "delay_ns", 0)):
        of_ground = [r for r in rows(table, event) if frozenset((r["a"], r["b"])) in ground]
        assert of_ground
        assert {row[column] for row in of_ground} == {value}
    assert {row["limit_pkts"] for row in rows(table, "link", kind="gsl")} == {None}
    assert {row["limit_pkts"] for row in rows(table, "link", kind="isl")} == {500}


def test_netem_gets_room_for_the_packets_in_its_delay_line() -> None:
    resolved = plan(duration_s=60, network=Network(link_model="netem"))
    _, table = made(resolved)
    longest: dict[frozenset, int] = {}
    for row in rows(table, "delay"):
        ends = frozenset((row["a"], row["b"]))
        longest[ends] = max(longest.get(ends, 0), row["delay_ns"])
    for row in rows(table, "link", kind="isl"):
        flying = -(-longest[frozenset((row["a"], row["b"]))] * 100_000_000 // (8 * 1514 * 10**9))
        assert row["limit_pkts"] == 500 + flying
    own = dataclasses.replace(resolved.network, queue_counts="waiting-and-flying")
    _, table = made(dataclasses.replace(resolved, network=own))
    assert {row["limit_pkts"] for row in rows(table, "link", kind="isl")} == {500}


@pytest.mark.slow
def test_all_makes_every_satellite_and_every_link_of_the_rule() -> None:
    _, table = made(plan(shell(), duration_s=60, isl=Isl(rule="plus-grid"), network=Network(instantiate="all")))
    assert len(rows(table, "node", kind="satellite")) == 1584
    assert len(rows(table, "link", kind="isl", t_ns=0)) == 2 * 1584
    # Links within a plane have a constant length. Links between planes get a new delay at each of 4 delay updates, in
    # each direction.
    isl = [row for row in rows(table, "delay") if row["a"].startswith("s-") and row["b"].startswith("s-")]
    assert len(isl) == 2 * 1584 + 4 * 2 * 1584


def test_loss_is_an_event_of_each_direction_when_there_is_some() -> None:
    _, table = made(plan(duration_s=20, isl=Isl(loss_ratio=0.01)))
    links = rows(table, "link", kind="isl")
    losses = rows(table, "loss")
    assert len(losses) == 2 * len(links)
    assert {row["loss_ratio"] for row in losses} == {0.01}
