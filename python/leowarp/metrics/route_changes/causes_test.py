# SPDX-License-Identifier: Apache-2.0
"""Tests the cause of each effect. Most tests use a few packets and check one rule each. In the synthetic run, the
counts of all causes must add up to the totals."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.metrics import metrics, read_tables
from leowarp.metrics.inputs.changes import path_changes
from leowarp.metrics.route_changes.causes import CAUSED, NONE, _earliest_from, _first_of, causes
from support.synthetic import run as syn

MS, S = syn.MS, syn.S
PAIR = syn.STATIONS
COUNTS = ["late_pkts", "lost_pkts", "needed_retransmissions_pkts", "spurious_retransmissions_pkts"]
# A link that is on the first path but not on the second.
LEFT = 2 * syn.LINKS.index(("s-00-00", "s-01-00"))


def with_packets(tables, packets, *, no_path_from=None, drops=()):
    """Return the synthetic run's tables, but with the packets in `packets`. `no_path_from` is the index of the first
    route without a path."""
    rows = [
        {"flow": 0, "direction": 0, "len_bytes": 1000, "is_retransmission": False, "is_late": False,
         "drop_direction": None, "drop_cause": None, "is_spurious": None} | packet
        for packet in packets
    ]  # fmt: skip
    frame = pd.DataFrame(rows).astype({name: "float64" for name in ("received_ns", "drop_direction", "drop_cause")})
    frame = frame.astype({"is_late": "boolean", "is_retransmission": "boolean", "is_spurious": "boolean"})
    dropped = pd.DataFrame(drops, columns=["t_ns", "direction", "seq"]).assign(flow=0, flow_direction=0, cause=3)
    routes = tables.routes
    if no_path_from is not None:
        routes = routes.assign(path=routes["path"].where(routes["path_id"] < no_path_from, None))
    return dataclasses.replace(tables, packets=frame, drops=dropped, routes=routes)


def counted(tables, **jitter):
    """Return a dict of all counts that are not 0. A key contains the number of the route change. If no route change is
    the cause, this number is -1."""
    frame = causes(tables, {PAIR: [0]}).set_index("change")[COUNTS]
    frame.index = frame.index.fillna(NONE).astype("int64")
    found = frame.stack()
    return {key: int(value) for key, value in found[found > 0].items()}


def packet(seq, sent_ns, received_ns=None, **more):
    return {"seq": seq, "sent_ns": sent_ns, "received_ns": received_ns, **more}


@pytest.mark.slow
def test_the_changes_are_those_that_the_routes_number(tables):
    first, second = path_changes(tables, PAIR)
    assert (first.number, second.number) == (0, 1)
    assert (first.t_ns, first.before, first.after) == (20 * S, *syn.PATHS[:2])
    assert (second.t_ns, second.before, second.after) == (40 * S, *syn.PATHS[1:])
    gone = path_changes(with_packets(tables, [packet(0, 0, 1)], no_path_from=2), PAIR)
    assert gone[1].after is None
    # A return to an earlier path is a change like any other.
    assert len(path_changes(tables, tuple(reversed(PAIR)))) == 2


@pytest.mark.parametrize(
    ("sent_ns", "received_ns", "change"),
    [
        (20 * S - 1, 20 * S, 0),
        (40 * S - MS, 40 * S + 90 * MS, 1),
        # The packet is sent at the instant of the change. The packet takes the new path, and no change happens while it
        # is in flight.
        (20 * S, 20 * S + 80 * MS, NONE),
        (30 * S, 30 * S + 80 * MS, NONE),
    ],
)
def test_a_late_packet_belongs_to_the_one_change_that_came_while_it_was_under_way(tables, sent_ns, received_ns, change):
    found = counted(with_packets(tables, [packet(0, sent_ns, received_ns, is_late=True)]))
    assert found == {(change, "late_pkts"): 1}


@pytest.mark.parametrize(
    ("overtaker_ns", "change"),
    [(20 * S + MS, 0), (40 * S + MS, NONE), (20 * S - MS, NONE), (None, NONE)],
)
def test_of_several_changes_the_one_between_its_path_and_its_overtakers_counts(tables, overtaker_ns, change):
    slow = packet(0, 20 * S - 2 * MS, 41 * S, is_late=True)
    overtaker = [] if overtaker_ns is None else [packet(1000, overtaker_ns, 40 * S + 500 * MS)]
    # `after` arrives later than the slow packet, so `after` did not overtake it.
    after = packet(2000, 20 * S + 5 * MS, 42 * S)
    assert counted(with_packets(tables, [slow, *overtaker, after])) == {(change, "late_pkts"): 1}


def test_the_first_that_overtook_it_decides(tables):
    slow = packet(0, 20 * S - 2 * MS, 41 * S, is_late=True)
    first, later = packet(1000, 40 * S + MS, 40 * S + 50 * MS), packet(2000, 20 * S + MS, 40 * S + 60 * MS)
    assert counted(with_packets(tables, [slow, first, later])) == {(NONE, "late_pkts"): 1}


def test_on_a_path_that_jitters_a_change_under_way_is_no_cause(tables):
    jitter = pd.DataFrame([{"t_ns": 0, "event": "jitter", "a": "s-00-00", "b": "s-01-00"}])
    slow = packet(0, 20 * S - 2 * MS, 20 * S + 50 * MS, is_late=True)
    for sent_ns, change in ((20 * S - MS, NONE), (20 * S + MS, 0)):
        found = with_packets(tables, [slow, packet(1000, sent_ns, 20 * S + 40 * MS)])
        found = dataclasses.replace(found, timeline=pd.concat([found.timeline, jitter]))
        assert counted(found) == {(change, "late_pkts"): 1}


@pytest.mark.parametrize(
    ("cause", "direction", "dropped_ns", "change"),
    [
        (3, LEFT, 20 * S, 0),
        (3, LEFT, 20 * S + 30 * MS, 0),
        # The link went down before any route change, so no route change caused the drop.
        (3, LEFT, 19 * S, NONE),
        # Direction 0 belongs to a link that is on the path before and after the change.
        (3, 0, 20 * S, NONE),
        (1, LEFT, 20 * S, NONE),
        (2, LEFT, 20 * S, NONE),
        (5, None, 20 * S, NONE),
    ],
)
def test_a_link_that_went_down_counts_if_the_path_left_it(tables, cause, direction, dropped_ns, change):
    lost = packet(7000, dropped_ns - 5 * MS, drop_cause=cause, drop_direction=direction)
    found = counted(with_packets(tables, [lost], drops=[(dropped_ns, direction, 7000)]))
    assert found == {(change, "lost_pkts"): 1}


def test_a_packet_and_its_retransmission_that_both_went_down_are_told_apart(tables):
    lost = [
        packet(7000, 10 * S, drop_cause=3, drop_direction=LEFT),
        packet(7000, 20 * S - MS, drop_cause=3, drop_direction=LEFT, is_retransmission=True, is_spurious=False),
    ]
    found = counted(with_packets(tables, lost, drops=[(20 * S, LEFT, 7000), (10 * S + MS, LEFT, 7000)]))
    # The first of the two losses made the retransmission necessary. No route change caused this loss.
    assert found == {(NONE, "lost_pkts"): 1, (0, "lost_pkts"): 1, (NONE, "needed_retransmissions_pkts"): 1}


@pytest.mark.parametrize(
    ("sent_ns", "change"), [(45 * S, 1), (40 * S, 1), (40 * S - 10 * MS, 1), (30 * S, NONE), (19 * S, 0)]
)
def test_a_packet_without_a_route_belongs_to_the_change_that_took_it(tables, sent_ns, change):
    lost = packet(0, sent_ns, drop_cause=4)
    assert counted(with_packets(tables, [lost], no_path_from=2)) == {(change, "lost_pkts"): 1}


@pytest.mark.slow
def test_retransmissions_inherit_the_cause_of_what_they_repeat(tables):
    first = [
        packet(0, 20 * S - 4 * MS, 20 * S + 60 * MS, is_late=True),
        packet(1000, 20 * S - 3 * MS, 20 * S + 61 * MS, is_late=True),
        packet(2000, 20 * S - 2 * MS, drop_cause=3, drop_direction=LEFT),
        packet(3000, 30 * S, drop_cause=1, drop_direction=0),
        packet(4000, 40 * S - MS, 40 * S + 90 * MS, is_late=True),
        packet(5000, 41 * S, 41 * S + 90 * MS),
    ]

    def again(seq, spurious, length=1000):
        return packet(seq, 45 * S, 45 * S + 50 * MS, len_bytes=length, is_retransmission=True, is_spurious=spurious)

    drops = [(20 * S, LEFT, 2000), (30 * S, 0, 3000)]

    def only(*resent):
        found = counted(with_packets(tables, [*first, *resent], drops=drops))
        return {key: value for key, value in found.items() if "retransmissions" in key[1]}

    vain, need = "spurious_retransmissions_pkts", "needed_retransmissions_pkts"
    assert only(again(0, True), again(1000, True)) == {(0, vain): 2}
    assert only(again(500, True, 1000)) == {(0, vain): 1}
    assert only(again(2000, False)) == {(0, need): 1}
    assert only(again(3000, False)) == {(NONE, need): 1}
    assert only(again(4000, True)) == {(1, vain): 1}
    # The original packet was not late, so the sender had another reason to retransmit.
    assert only(again(5000, True)) == {(NONE, vain): 1}
    # Some bytes of the retransmission were late because of one change, and other bytes because of another change.
    assert only(again(0, True, 5000)) == {(NONE, vain): 1}


def test_causes_of_the_synthetic_run_add_up_to_its_totals(result):
    frame = result.causes
    assert frame["change"].isna().tolist() == [False, False, True]
    assert frame["t_ns"].tolist()[:2] == [20 * S, 40 * S]
    assert frame["late_pkts"].tolist() == [syn.LATE_PKTS, 0, 0]
    assert frame["spurious_retransmissions_pkts"].tolist() == [syn.SPURIOUS_PKTS, 0, 0]
    assert frame["lost_pkts"].tolist() == frame["lost_queue_pkts"].tolist() == [0, 0, syn.DROPPED_PKTS]
    assert frame["needed_retransmissions_pkts"].tolist() == [0, 0, syn.DROPPED_PKTS]
    (flow,) = result.summary["flows"]
    for column in ("late_pkts", "lost_pkts", "spurious_retransmissions_pkts", "needed_retransmissions_pkts"):
        assert frame[column].sum() == flow[column]
    assert [flow[name] for name in CAUSED.values()] == [syn.LATE_PKTS, 0, 0, syn.SPURIOUS_PKTS]
    assert flow["lost_queue_pkts"] == syn.DROPPED_PKTS
    assert flow["lost_link_down_pkts"] == 0


def test_without_packets_no_cause_is_known(run_dir, plan):
    tables = read_tables(run_dir)
    found = metrics(dataclasses.replace(tables, missing=frozenset({"packets"})), plan)
    assert len(found.causes) == 0
    (flow,) = found.summary["flows"]
    assert flow["late_by_changes_pkts"] is None
    assert flow["needed_retransmissions_pkts"] is None
    assert flow["lost_queue_pkts"] is None
    assert not found.long_form()["metric"].str.startswith(("cause.", "no_cause.")).any()


@given(st.lists(st.one_of(st.integers(0, 9).map(float), st.just(np.nan))), st.data())
def test_the_earliest_later_arrival_is_found_without_a_sorted_copy(arrivals, data):
    arrival = np.array(arrivals, dtype="float64")
    places = np.array(sorted(data.draw(st.lists(st.integers(0, len(arrivals))))), dtype="int64")
    earliest = _earliest_from(arrival, places)
    assert earliest.tolist() == [min([t for t in arrivals[place:] if t == t], default=np.inf) for place in places]
    first = _first_of(arrival, earliest)
    assert first.tolist() == [0 if np.isinf(t) else arrivals.index(t) for t in earliest]
