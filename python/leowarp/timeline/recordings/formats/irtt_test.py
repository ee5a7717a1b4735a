# SPDX-License-Identifier: Apache-2.0
"""Tests with JSON of irtt that occurs in practice. It has round trips below 0, different clocks, and damaged or missing
entries."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Measurement, read
from support.synthetic.dish import MS, S

BEGIN_NS = 1_700_000_000 * S


def trip(number: int, rtt_ns: int = 400_000, offset_ns: int = 0) -> dict[str, Any]:
    """Return a round trip with consistent time stamps. The server's clock is `offset_ns` ahead of the client's clock.
    The server needs 20 us per probe."""
    mono, at = 5 * S + number * 10 * MS, BEGIN_NS + number * 10 * MS
    client = {
        "send": {"wall": at, "monotonic": mono},
        "receive": {"wall": at + rtt_ns, "monotonic": mono + rtt_ns + 20_000},
    }
    server = {"receive": {"wall": at + offset_ns}, "send": {"wall": at + offset_ns + 20_000}}
    delay = {"rtt": rtt_ns, "send": rtt_ns // 2 + offset_ns, "receive": rtt_ns // 2 - offset_ns}
    return {"seqno": number, "lost": "false", "timestamps": {"client": client, "server": server}, "delay": delay}


def measured(folder: Path, trips: list[Any], stats: dict[str, Any] | None = None) -> Measurement:
    config = {"ip_version": "IPv4", "params": {"length": 60, "interval": 10 * MS}}
    path = folder / "trace.json"
    path.write_text(
        json.dumps({"version": {"irtt": "0.9.1"}, "config": config, "stats": stats or {}, "round_trips": trips})
    )
    return read(path)


def count_of(measurement: Measurement) -> tuple[int, int]:
    assert measurement.round_trip is not None
    return len(measurement.round_trip), int(measurement.round_trip.lost.sum())


def test_a_round_trip_below_0_is_left_out_and_said(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(200)]
    trips[57] = trip(57, -1200)
    trips[80] |= {"lost": "true_down", "delay": {}}
    found = measured(tmp_path, trips)
    assert count_of(found) == (199, 1)
    assert any("round_trips[57], -1.2 us" in note for note in found.notes)
    with pytest.raises(ScenarioError, match="is below 0"):
        measured(tmp_path, [trip(n, -5) for n in range(3)])


def test_clocks_that_are_hours_apart_are_named(tmp_path: Path) -> None:
    found = measured(tmp_path, [trip(n, offset_ns=-4835 * 3600 * S) for n in range(20)])
    assert any("4835 h apart" in note for note in found.notes)
    assert measured(tmp_path, [trip(n, offset_ns=100_000) for n in range(20)]).notes == ()


def test_an_entry_that_cannot_be_read_does_not_end_the_reading(tmp_path: Path) -> None:
    trips: list[Any] = [trip(n) for n in range(20)]
    trips[3], trips[5]["lost"], trips[7]["timestamps"] = 17, "maybe", {}
    del trips[9]["delay"]
    found = measured(tmp_path, trips)
    assert count_of(found) == (16, 0)
    assert sum(skip.count for skip in found.skipped) == 4


def test_a_round_trip_that_its_stamps_contradict_is_left_out(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(20)]
    trips[4]["delay"]["rtt"] = 4_000_000
    found = measured(tmp_path, trips)
    assert count_of(found) == (19, 0)
    assert "contradict" in found.skipped[0].why


def test_all_are_on_one_clock(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(20)]
    for number in (3, 4):
        del trips[number]["timestamps"]["client"]["send"]["wall"]
    found = measured(tmp_path, trips)
    assert found.round_trip is not None
    assert found.round_trip.t_ns[-1] == 19 * 10 * MS


def test_without_time_stamps_irtts_interval_is_taken_and_said(tmp_path: Path) -> None:
    trips = [{**trip(n), "timestamps": {}} for n in range(20)]
    found = measured(tmp_path, trips)
    assert found.round_trip is not None
    assert (found.round_trip.t_ns[-1], found.wall_ns) == (19 * 10 * MS, None)
    assert any("no round trip has a time stamp" in note for note in found.notes)


def test_irtts_own_counts_show_what_is_missing(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(20) if n not in (4, 5)]
    notes = measured(tmp_path, trips, {"packets_sent": 20, "packets_received": 20}).notes
    assert any("packets_sent is 20, and 18" in note for note in notes)
    assert any("2 numbers (seqno)" in note for note in notes)


change = st.tuples(st.sampled_from(["cut", "double", "swap", "drop"]), st.integers(0, 19))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(change, max_size=6))
def test_every_entry_is_counted_or_skipped_with_a_reason(tmp_path: Path, changes: list[tuple[str, int]]) -> None:
    trips: list[Any] = [trip(n) for n in range(20)]
    for kind, place in changes:
        place = min(place, len(trips) - 1)
        match kind:
            case "cut":
                trips[place] = {"seqno": place}
            case "double":
                trips.insert(place, trips[place])
            case "swap":
                trips[place], trips[place - 1] = trips[place - 1], trips[place]
            case "drop":
                del trips[place]
    found = measured(tmp_path, trips)
    assert count_of(found)[0] + sum(skip.count for skip in found.skipped) == len(trips)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    st.sampled_from([("delay", "rtt"), ("timestamps", "client", "send", "monotonic"),
                     ("timestamps", "client", "receive", "monotonic")]),
    st.integers(0, 19), st.integers(100_000, 10**9), st.booleans(),
)  # fmt: skip
def test_a_value_that_was_damaged_is_found_by_the_others_of_its_entry(
    tmp_path: Path, keys: tuple[str, ...], place: int, by_ns: int, is_more: bool
) -> None:
    trips: list[Any] = [trip(n) for n in range(20)]
    part = trips[place]
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] += by_ns if is_more else -by_ns
    found = measured(tmp_path, trips)
    assert count_of(found)[0] == 19
    assert [skip.count for skip in found.skipped] == [1]
    assert f"round_trips[{place}]" in str(found.skipped[0])


def test_a_lost_probe_with_a_round_trip_is_neither(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(20)]
    trips[4]["lost"] = "true"
    found = measured(tmp_path, trips)
    assert count_of(found) == (19, 0)
    assert "lost = 'true', and delay.rtt is there" in str(found.skipped[0])


def test_delays_that_all_contradict_their_stamps_are_named(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(20)]
    for one in trips:
        one["delay"]["rtt"] = 400
    assert any("delay.rtt of 20 of 20 round trips" in note for note in measured(tmp_path, trips).notes)


def test_a_wall_clock_that_was_set_gives_way_to_the_monotonic_one(tmp_path: Path) -> None:
    trips = [trip(n) for n in range(40)]
    for one in trips[20:]:
        one["timestamps"]["client"]["send"]["wall"] -= 5000 * S
    found = measured(tmp_path, trips)
    assert found.round_trip is not None
    assert found.round_trip.t_ns.tolist() == [n * 10 * MS for n in range(40)]
    assert any("set by -5000 s" in note for note in found.notes)
    for one in trips:
        one["timestamps"]["client"]["send"]["wall"] = 0
    assert count_of(measured(tmp_path, trips)) == (40, 0)


def test_another_json_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"version": {"json_format": 2}, "round_trips": [trip(n) for n in range(9)]}))
    assert any("json_format is 2" in note for note in read(path).notes)
