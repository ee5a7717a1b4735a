# SPDX-License-Identifier: Apache-2.0
"""Tests the reasons for which a cure does nothing at a route change. Each reason occurs in a run, and is recorded.

In an unmodified constellation, only one of the reasons occurs: the paths meet behind a link without delay and rate. To
cause the other reasons, the tests change a route or a link in the timeline.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from leowarp import media
from leowarp.crosscheck import crosscheck
from leowarp.trace.schema.cures import REFUSALS
from support.route_changes import AT_NS, AT_THE_STATION, late_pkts, made, received

pytestmark = pytest.mark.guest

OLD = "s-00-05"
"""The satellite of Madrid's old link."""


def the_old_way_ends(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an event: the satellite of Madrid's old link loses its route to Tokyo."""
    [route, *_] = [row for row in events if row["event"] == "route" and row["t_ns"] == AT_NS]
    return route | {"node": OLD, "destination": "host:Tokyo", "next_hop": None, "path_id": None}


def the_old_way_comes_back(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an event after which the satellite of Madrid's old link sends packets for Tokyo back to Madrid."""
    return the_old_way_ends(events) | {"next_hop": "Madrid"}


def the_old_link_is_down(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an event: Madrid's old link goes down at the change, but its packets still arrive."""
    [link] = [row for row in events if row["event"] == "link" and {row["a"], row["b"]} == {OLD, "Madrid"}]
    return link | {"t_ns": AT_NS, "up": False, "on_down": "drain"}


CHANGED = {
    "no entry": (the_old_way_ends, "no_old_path"),
    "down": (the_old_link_is_down, "no_old_path"),
    "back": (the_old_way_comes_back, "same_path"),
}


@pytest.fixture
def changed(monkeypatch):
    """A function that makes a run with one more event at the change."""

    def change(event):
        original = media.timeline_of

        def timeline_of(*given):
            table = original(*given)
            rows = table.to_pylist()
            added = event(rows)
            # within an instant, routes change first, then paths, and links go down last
            place = max(
                at
                for at, row in enumerate(rows)
                if row["t_ns"] < AT_NS or row["event"] == "route" or added["event"] == "link"
            )
            rows.insert(place + 1, added)
            return pa.Table.from_pylist(rows, schema=table.schema)

        monkeypatch.setattr(media, "timeline_of", timeline_of)

    return change


def at_madrid(run, frame):
    """Return the row for Madrid's change of route to Tokyo. Routes of other nodes change at this instant too."""
    directions = [number for number, (a, _, _) in enumerate(run.tables.directions) if a == "Madrid"]
    [row] = frame[(frame.host == "host:Tokyo") & frame.from_direction.isin(directions)].itertuples(index=False)
    return row


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("cure", ["duplicate", "end_marker"])
def test_the_reason_for_which_a_cure_does_nothing_is_in_its_table(tmp_path, changed, name, cure):
    event, reason = CHANGED[name]
    changed(event)
    run = made(tmp_path, AT_THE_STATION, {cure: "200 ms" if cure == "duplicate" else True})
    if cure == "duplicate":
        row = at_madrid(run, run.switches())
        assert (pd.isna(row.copied_pkts), pd.isna(row.copied_bytes)) == (True, True)
        # the satellite that sends packets back also changes its own route. It can send copies over its old link
        assert run.orders().eliminated_pkts.sum() == run.switches().copied_pkts.sum()
        assert (run.switches().copied_pkts.sum() > 0) == (name == "back")
    else:
        row = at_madrid(run, run.merges())
        assert pd.isna(row.marker)
        assert pd.isna(row.waited_pkts)
        assert run.nodetotals().signals_pkts.sum() == run.merges().marker.notna().sum()
    assert row.refused == reason
    assert {key: found.wrong for key, found in crosscheck(run).items() if found.wrong} == {}
    # new packets travel as they do without the cure; the second lost packet is a marker of the opposite direction
    assert len(received(run)) == 40 - run.drops().flow.notna().sum()


def test_ways_that_meet_behind_a_link_without_time_have_no_marker_and_packets_are_late(tmp_path):
    # towards Madrid, the old and the new path meet only at Madrid's station, and the ground links to the station take
    # no time
    run = made(tmp_path, AT_THE_STATION, {"end_marker": True}, **{"ground.rate": "unshaped", "ground.delay": "zero"})
    merges = run.merges()
    [row] = merges[merges.host == "host:Madrid"].itertuples(index=False)
    assert row.refused == "no_time"
    assert pd.isna(row.marker)
    # towards Tokyo, the two paths meet at a satellite, where packets wait
    assert pd.isna(at_madrid(run, merges).refused)
    assert late_pkts(received(run)) == 0
    assert {key: found.wrong for key, found in crosscheck(run).items() if found.wrong} == {}


def test_each_reason_is_made_to_happen_here():
    # packets in flight that are not moved are covered by cures_test.py
    assert set(REFUSALS.values()) <= {reason for _, reason in CHANGED.values()} | {"no_time", "in_flight"}
