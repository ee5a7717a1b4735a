# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json

import numpy as np
import pytest

from leowarp.media import routes_of, timeline_of
from leowarp.routes import paths_of
from leowarp.scenario.schema import Network
from leowarp.timeline import describe, warnings_of
from leowarp.timeline.metadata import TimelineMetadata
from support.probes import plan_of, profile_for
from support.replay import replayed


def of_kind(plan, event):
    rows = [row for row in timeline_of(plan).to_pylist() if row["event"] == event]
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def test_packets_cross_terminal_and_gateway_both_ways():
    table = timeline_of(plan_of(0.2))
    state = replayed(table, 0)
    there = ["host:dish", "terminal", "gateway", "host:server"]
    assert state.walk("host:dish", "host:server") == there
    assert state.walk("host:server", "host:dish") == there[::-1]
    assert warnings_of(table) == []


def test_the_link_has_tables_and_wires_have_nothing():
    wires, link = of_kind(plan_of(0.2), "link")[:2], of_kind(plan_of(0.2), "link")[2]
    links = {(row["a"], row["b"]): row for row in [*wires, link]}
    assert links["terminal", "gateway"]["kind"] == "gsl"
    assert (links["terminal", "gateway"]["limit_pkts"], links["terminal", "gateway"]["overhead_bytes"]) == (5000, 14)
    assert links["host:dish", "terminal"]["kind"] == links["host:server", "gateway"]["kind"] == "wire"
    assert of_kind(plan_of(0.2), "rate") == of_kind(plan_of(0.2), "delay") == of_kind(plan_of(0.2), "loss") == []


@pytest.mark.parametrize(("way", "a", "b"), [("up", "terminal", "gateway"), ("down", "gateway", "terminal")])
def test_each_direction_has_the_profiles_rows(way, a, b):
    mine = getattr(profile_for(0.5), way)
    capacity = [row for row in of_kind(plan_of(0.5), "capacity") if (row["a"], row["b"]) == (a, b)]
    channel = [row for row in of_kind(plan_of(0.5), "channel") if (row["a"], row["b"]) == (a, b)]
    assert [row["t_ns"] for row in capacity] == mine.capacity_t_ns.tolist()
    assert [row["rate_bps"] for row in capacity] == mine.rate_bps.tolist()
    assert [row["t_ns"] for row in channel] == mine.channel_t_ns.tolist()
    assert [row["delay_ns"] for row in channel] == mine.delay_ns.tolist()
    assert [row["loss_ratio"] for row in channel] == mine.loss_ratio.tolist()


def test_each_slot_is_a_path_of_its_own_in_routes_and_timeline():
    plan = plan_of(1)
    paths = of_kind(plan, "path")
    instants = [0, *(t * 1_000_000_000 for t in (12, 27, 42, 57))]
    for a, b in (("host:dish", "host:server"), ("host:server", "host:dish")):
        mine = [(row["t_ns"], row["path_id"]) for row in paths if (row["a"], row["b"]) == (a, b)]
        assert mine == [(t_ns, slot) for slot, t_ns in enumerate(instants)]
    of_table = paths_of(routes_of(plan).table)
    assert of_table["dish", "server"][3] == ("dish", "s-3", "server")
    assert set(of_table["server", "dish"]) == {0, 1, 2, 3, 4}


def test_a_plain_queue_up_has_its_own_limit():
    assert of_kind(plan_of(0.2), "queue") == [
        {"t_ns": 0, "event": "queue", "a": "terminal", "b": "gateway", "queue": "fifo", "ecn": False,
         "parameters": "{}", "limit_pkts": 500}
    ]  # fmt: skip
    assert of_kind(plan_of(0.2, queue_up_pkts=5000), "queue") == []


def test_a_managed_queue_stands_at_both_ends():
    keys = {"queue_discipline": "fq_codel", "ecn": True, "queue_parameters": {"target_ns": 5_000_000}}
    up, down = sorted(of_kind(plan_of(0.2, **keys), "queue"), key=lambda row: row["limit_pkts"])
    assert (up["a"], up["limit_pkts"], down["a"], down["limit_pkts"]) == ("terminal", 500, "gateway", 5000)
    assert up["queue"] == down["queue"] == "fq_codel"
    assert up["ecn"] is down["ecn"] is True
    assert json.loads(down["parameters"]) == {"target_ns": 5_000_000}


def test_what_was_drawn_goes_with_the_timeline():
    table = timeline_of(plan_of(2))
    profile = profile_for(2)
    assert TimelineMetadata.of(table.schema).slots == profile.slot_table().to_pylist()
    assert json.loads(table.schema.metadata[b"outages"]) == profile.outage_table().to_pylist()
    described = describe(table)
    assert described["route_changes"] == 8
    assert described["delay_min_ns"] == min(profile.up.delay_ns.min(), profile.down.delay_ns.min())


def test_delays_are_rounded_if_that_is_asked_for():
    plan = dataclasses.replace(plan_of(0.2), network=Network(delay_rounding="ceil-ms"))
    delay_ns = np.array([row["delay_ns"] for row in of_kind(plan, "channel")])
    exact_ns = np.array([row["delay_ns"] for row in of_kind(plan_of(0.2), "channel")])
    assert np.array_equal(delay_ns, -(-exact_ns // 1_000_000) * 1_000_000)
