# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest

from leowarp.base.errors import TraceError
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from support.replay import replayed

LINK = LinkKind(kind="gsl", discipline="leolink", on_down="drop", overhead_bytes=14, limit_pkts=500, has_own_rate=False)


def network(link_kind: LinkKind = LINK) -> Events:
    events = Events(["terminal", "gateway"])
    events.node(0, "router")
    events.node(1, "router")
    events.link_up(0, 0, 1, link_kind)
    return events


def test_rows_of_tables_are_events_between_loss_and_route() -> None:
    events = network()
    events.path(0, 0, 1, 0)
    events.channel(0, 1, np.array([0, 5]), np.array([20, 30]), np.array([0.0, 1.0]))
    events.capacity(0, 1, np.array([0, 5]), np.ma.masked_equal(np.array([7, -1]), -1))
    events.route(5, 0, 1, 1, 0)
    events.queue(1, 0, "fq_codel", ecn=True, parameters={"target_ns": 5_000_000}, limit_pkts=100)
    rows = events.table(TimelineMetadata(warnings=[])).to_pylist()
    assert [(row["t_ns"], row["event"]) for row in rows] == [
        (0, "node"), (0, "node"), (0, "link"), (0, "queue"), (0, "capacity"), (0, "channel"), (0, "path"),
        (5, "capacity"), (5, "channel"), (5, "route"),
    ]  # fmt: skip
    assert (rows[3]["queue"], rows[3]["ecn"], rows[3]["limit_pkts"]) == ("fq_codel", True, 100)
    assert json.loads(rows[3]["parameters"]) == {"target_ns": 5_000_000}
    assert [(row["a"], row["b"], row["rate_bps"]) for row in (rows[4], rows[7])] == [
        ("terminal", "gateway", 7),
        ("terminal", "gateway", None),
    ]
    assert [(row["delay_ns"], row["loss_ratio"]) for row in (rows[5], rows[8])] == [(20, 0.0), (30, 1.0)]


def test_a_link_says_only_what_is_not_as_usual() -> None:
    link = network().table(TimelineMetadata(warnings=[])).to_pylist()[2]
    assert (link["in_order"], link["probe_bytes"]) == (None, None)
    link_kind = dataclasses.replace(LINK, in_order=False, probe_bytes=84)
    link = network(link_kind).table(TimelineMetadata(warnings=[])).to_pylist()[2]
    assert (link["in_order"], link["probe_bytes"]) == (False, 84)


def test_a_links_queue_is_told_once_from_the_start_for_both_directions() -> None:
    link_kind = dataclasses.replace(LINK, queue="pie", ecn=True, queue_parameters={"target_ns": 15_000_000})
    events = Events(["one", "other"])
    for t_ns in (7, 20):
        events.link_up(t_ns, 0, 1, link_kind)
    queues = [row for row in events.table(TimelineMetadata(warnings=[])).to_pylist() if row["event"] == "queue"]
    assert [(row["t_ns"], row["a"], row["b"]) for row in queues] == [(0, "one", "other"), (0, "other", "one")]
    for row in queues:
        assert (row["queue"], row["ecn"], row["limit_pkts"], row["limit_bytes"]) == ("pie", True, 500, None)
        assert json.loads(row["parameters"]) == {"target_ns": 15_000_000}


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values of rate_bps at 2 instants"):
        network().capacity(0, 1, np.array([0, 1]), np.array([1]))


def test_replay_holds_the_last_rows_of_tables() -> None:
    events = network()
    instants = np.arange(0, 1_000_000, 10)
    events.channel(0, 1, instants, instants + 1, instants / 2e6)
    events.capacity(0, 1, instants, np.ma.masked_equal(instants, 500))
    events.channel(1, 0, np.array([0]), np.array([9]), np.array([0.5]))
    events.queue(1, 0, "red", parameters={"adaptive": 1}, limit_bytes=1000)
    table = events.table(TimelineMetadata(warnings=[]))
    state = replayed(table, 509)
    assert state.delay_ns == {("terminal", "gateway"): 501, ("gateway", "terminal"): 9}
    assert state.loss_ratio == {("terminal", "gateway"): 500 / 2e6, ("gateway", "terminal"): 0.5}
    assert state.rate_bps == {("terminal", "gateway"): None}
    assert replayed(table, 510).rate_bps == {("terminal", "gateway"): 510}
    assert state.queue == {
        ("gateway", "terminal"): {
            "queue": "red", "ecn": False, "parameters": {"adaptive": 1}, "limit_pkts": None, "limit_bytes": 1000,
        }
    }  # fmt: skip


def test_a_table_of_no_link_is_refused() -> None:
    events = Events(["terminal", "gateway"])
    events.node(0, "router")
    events.node(1, "router")
    events.capacity(0, 1, np.array([0]), pa.array([None], pa.int64()))
    with pytest.raises(TraceError, match=r"capacity at 0 ns .* no link"):
        replayed(events.table(TimelineMetadata(warnings=[])), 0)


@pytest.mark.parametrize(("full_packet_bytes", "flying_pkts"), [(1500, 83), (1115, 111)])
def test_a_delay_line_is_full_of_packets_of_the_plans_size(full_packet_bytes, flying_pkts) -> None:
    link_kind = dataclasses.replace(LINK, limit_counts_flying=True, full_packet_bytes=full_packet_bytes)
    # 10 ms at 100 Mbit/s are 1e6 bits: 82.6 packets of 1,514 bytes, 110.7 of 1,129
    assert link_kind.limit_with_flying_pkts(10_000_000, 100_000_000) == 500 + flying_pkts
