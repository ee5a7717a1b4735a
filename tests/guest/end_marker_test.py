# SPDX-License-Identifier: Apache-2.0
"""Tests `cures.end_marker`. At the node where the old and the new path meet, packets of the new path wait. They wait
until a marker has arrived on the old path."""

import pandas as pd
import pytest

from support.route_changes import (
    AT_A_SATELLITE,
    AT_THE_STATION,
    HEADERS_BYTES,
    MS,
    PAYLOAD_BYTES,
    Marked,
    expected,
    late_pkts,
    made,
    received,
)

pytestmark = pytest.mark.guest

# Length of a marker: the headers of Ethernet and IPv4, and ICMP with magic and number (design/cures.md).
MARKER_BYTES = 20 + 12 + 14
FRAME_BYTES = PAYLOAD_BYTES + HEADERS_BYTES


def merge_of(run):
    """Return the row of the table `merges` for packets to Tokyo. The reverse path changes too."""
    merges = run.merges()
    [row] = merges[merges.host == "host:Tokyo"].itertuples(index=False)
    return row


def data_drops(run):
    drops = run.drops()
    return drops[drops.flow.notna()]


@pytest.mark.parametrize(
    ("change", "cures", "waits"),
    [
        (AT_THE_STATION, {}, True),
        (AT_A_SATELLITE, {}, True),
        # waiting packets are moved, and the new path is longer, so no packet waits
        (AT_THE_STATION, {"move_queue": "kept"}, False),
        (AT_A_SATELLITE, {"move_queue": "kept"}, True),
        # a hold already takes the queue into account, so no packet has to wait for the marker
        (AT_THE_STATION, {"hold": True}, False),
    ],
)
def test_packets_wait_where_the_ways_meet_until_the_marker_comes(tmp_path, change, cures, waits):
    run = made(tmp_path, change, {"end_marker": True, **cures})
    marked = Marked(MARKER_BYTES, 100 * MS)
    moves, holds = "move_queue" in cures, "hold" in cures
    arrival_ns, did = expected(run, change, moves=moves, holds=holds, marked=marked)
    row = merge_of(run)
    counted = ["waited_pkts", "longest_ns", "marker_ns"]
    assert {name: 0 if pd.isna(getattr(row, name)) else getattr(row, name) for name in counted} == {
        name: did[name] for name in counted
    }
    assert pd.isna(row.refused)
    assert received(run) == arrival_ns
    assert late_pkts(arrival_ns) == 0
    assert row.waiting_max_bytes == row.waited_bytes == row.waited_pkts * FRAME_BYTES
    assert (row.waited_pkts > 0) == waits
    totals = run.nodetotals()
    assert totals.held_pkts.sum() == 0
    # there is one marker in each direction
    assert (totals.signals_pkts.sum(), totals.signals_bytes.sum()) == (2, 2 * MARKER_BYTES)
    assert totals.held_max_bytes.max() == max(row.waiting_max_bytes, max_held_bytes(run) if holds else 0)


def max_held_bytes(run):
    return int(run.switches().held_back_max_bytes.max())


def test_a_marker_that_a_full_queue_refuses_is_waited_for_and_then_given_up(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"end_marker": True, "end_marker_wait": "5 ms"}, **{"ground.queue": "10 pkts"})
    row = merge_of(run)
    drops = run.drops()
    markers = drops[drops.flow.isna()]
    assert len(markers) == 1
    assert set(markers.cause) == {"queue"}
    assert pd.isna(row.marker_ns)
    assert row.longest_ns == 5 * MS
    assert row.ended_ns > row.t_ns + 5 * MS
    assert row.waited_pkts > 0
    assert len(received(run)) == 40 - len(data_drops(run))


def test_a_marker_that_comes_after_the_wait_finds_packets_late_and_is_recorded(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"end_marker": True, "end_marker_wait": "5 ms"})
    arrival_ns, did = expected(run, AT_THE_STATION, moves=False, holds=False, marked=Marked(MARKER_BYTES, 5 * MS))
    row = merge_of(run)
    assert received(run) == arrival_ns
    assert late_pkts(arrival_ns) > 0
    assert (row.waited_pkts, row.longest_ns) == (did["waited_pkts"], 5 * MS)
    assert row.marker_ns == did["marker_ns"] > row.ended_ns


@pytest.mark.parametrize("full", ["drop", "send"])
def test_a_full_buffer_refuses_what_comes_or_sends_its_oldest(tmp_path, full):
    run = made(tmp_path, AT_THE_STATION, {"end_marker": True, "hold_buffer": "3200 B", "hold_full": full})
    row = merge_of(run)
    drops = data_drops(run)
    assert row.waiting_max_bytes == 3 * FRAME_BYTES
    assert row.full_pkts >= 5
    assert len(received(run)) == 40 - len(drops)
    if full == "drop":
        assert (row.waited_pkts, len(drops), set(drops.cause)) == (3, row.full_pkts, {"queue"})
        assert late_pkts(received(run)) == 0
    else:
        assert (row.waited_pkts, len(drops)) == (row.full_pkts + 3, 0)
        assert late_pkts(received(run)) > 0
