# SPDX-License-Identifier: Apache-2.0
"""Tests that nodes treat every packet at route changes as a model of the links predicts."""

import pytest

from support.route_changes import (
    AT_A_SATELLITE,
    AT_THE_STATION,
    HEADERS_BYTES,
    PAYLOAD_BYTES,
    expected,
    late_pkts,
    made,
    received,
)

pytestmark = pytest.mark.guest

CURES = {
    "move": {"move_queue": "kept"},
    "hold": {"hold": True},
    "both": {"move_queue": "kept", "hold": True},
}


@pytest.mark.parametrize(
    ("change", "cure"),
    [(AT_THE_STATION, "move"), (AT_THE_STATION, "hold"), (AT_THE_STATION, "both"), (AT_A_SATELLITE, "hold")],
)
def test_each_packet_arrives_when_the_model_says_and_the_node_did_what_it_says(tmp_path, change, cure):
    run = made(tmp_path, change, CURES[cure])
    moves, holds = "move_queue" in CURES[cure], "hold" in CURES[cure]
    arrival_ns, did = expected(run, change, moves=moves, holds=holds)
    row = run.switches().iloc[0]
    assert row[list(did)].fillna(0).astype(int).to_dict() == did
    assert received(run) == arrival_ns
    assert did["moved_pkts"] >= (15 if moves else 0)
    assert did["held_back_pkts"] >= (5 if holds else 0)
    assert late_pkts(arrival_ns) == 0


def test_where_nothing_waits_there_is_nothing_to_move_and_why_packets_are_late_is_said(tmp_path):
    plain, moved = (made(tmp_path / name, AT_A_SATELLITE, CURES.get(name, {})) for name in ("plain", "move"))
    assert moved.echoes().equals(plain.echoes())
    assert late_pkts(received(moved)) > 0
    [row] = moved.table("switches").to_pylist()
    assert (row["host"], row["moved_pkts"], row["hold_ns"], row["refused"]) == ("host:Tokyo", 0, None, "in_flight")


def test_a_hold_leaves_nothing_in_flight_to_be_late_and_so_no_reason(tmp_path):
    run = made(tmp_path, AT_A_SATELLITE, CURES["both"])
    [row] = run.table("switches").to_pylist()
    assert row["hold_ns"] > 0
    assert row["refused"] is None
    assert late_pkts(received(run)) == 0


@pytest.mark.parametrize("change", [AT_A_SATELLITE, AT_THE_STATION])
def test_without_a_cure_packets_are_overtaken(tmp_path, change):
    run = made(tmp_path, change, {})
    assert late_pkts(received(run)) >= 1
    assert not (tmp_path / "run" / "30-trace" / "switches.parquet").exists()


def test_a_full_hold_buffer_refuses_what_comes(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"hold": True, "hold_buffer": "3200 B"})
    row = run.switches().iloc[0]
    frame_bytes = PAYLOAD_BYTES + HEADERS_BYTES
    assert (row.held_back_pkts, row.held_back_max_bytes) == (3, 3 * frame_bytes)
    drops = run.drops()
    assert row.full_pkts == len(drops) >= 5
    assert set(drops.cause) == {"queue"}
    # the first packets after the change, which were held
    arrival_ns = received(run)
    assert late_pkts(arrival_ns) == 0
    assert sorted(arrival_ns) == list(range(40 - len(drops)))


def test_a_full_hold_buffer_may_send_its_oldest_instead(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"hold": True, "hold_buffer": "3200 B", "hold_full": "send"})
    row = run.switches().iloc[0]
    assert row.full_pkts == row.held_back_pkts - 3 >= 5
    assert len(run.drops()) == 0
    arrival_ns = received(run)
    new = range(40 - row.held_back_pkts, 40)
    assert late_pkts({number: arrival_ns[number] for number in new}) == 0
    assert late_pkts(arrival_ns) > 0


@pytest.mark.parametrize(("move_queue", "moved"), [("kept", True), ("lost", False)])
def test_what_waits_at_a_link_that_goes_down_is_in_the_node_s_memory_or_lost(tmp_path, move_queue, moved):
    run = made(tmp_path, AT_THE_STATION, {"move_queue": move_queue}, **{"routing.in_flight": "drop"})
    moved_pkts = int(run.switches().moved_pkts.sum())
    totals = run.linktotals()
    at_madrid = totals[(totals["from"] == "Madrid") & (totals.dropped_down_pkts > 0)]
    # packets in transmission and in flight are dropped; if the queue is lost with the link, waiting packets are dropped
    # as well
    assert (moved_pkts >= 15) == moved
    assert (at_madrid.dropped_down_pkts.sum() >= 15 + 2) == (not moved)
    assert len(received(run)) == 40 - len(run.drops())
