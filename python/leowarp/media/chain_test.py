# SPDX-License-Identifier: Apache-2.0
import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest

from leowarp.base.errors import TraceError
from leowarp.base.tables.parquetfiles import read_table
from leowarp.ephemeris import ephemeris_of
from leowarp.media import routes_of, timeline_of
from leowarp.scenario.schema import Network, Routing
from leowarp.timeline import describe, write_table
from leowarp.timeline.schema import EVENTS, TIMELINE
from support.plans import chain, plan, star
from support.replay import replayed


def test_a_chain_of_two_links_reads_like_this() -> None:
    rows = [
        " ".join(f"{name}={value}" for name, value in row.items() if value is not None)
        for row in timeline_of(chain(hops=2, loss_ratio=0.5)).to_pylist()
        if row["event"] != "route"
    ]
    golden = Path(__file__).with_name("chain_test.txt")
    assert rows == golden.read_text().splitlines()


@pytest.mark.parametrize("in_flight", ["drain", "source"])
def test_packets_cross_a_chain_both_ways(in_flight: str) -> None:
    resolved = dataclasses.replace(chain(hops=4), routing=Routing(in_flight=in_flight))
    state = replayed(timeline_of(resolved), 0, by_path=in_flight == "source")
    there = ["host:A", "r0", "r1", "r2", "r3", "r4", "host:B"]
    assert state.walk("host:A", "host:B") == there
    assert state.walk("host:B", "host:A") == there[::-1]


def test_netem_gets_room_for_its_delay_line() -> None:
    resolved = dataclasses.replace(chain(hops=1), network=Network(link_model="netem"))
    (link,) = [row for row in timeline_of(resolved).to_pylist() if row["event"] == "link" and row["kind"] == "isl"]
    # 10 ms at 100 Mbit/s are 125,000 bytes in flight, or 82.56 packets of 1514 bytes.
    assert link["limit_pkts"] == 583


def test_an_unshaped_chain_has_no_rate() -> None:
    rows = timeline_of(chain(hops=1, rate_bps=None)).to_pylist()
    assert [row["rate_bps"] for row in rows if row["event"] == "rate"] == [None, None]


def test_every_source_gives_the_same_schema() -> None:
    of_chain, of_routes = timeline_of(chain()), timeline_of(plan(star(planes=9), duration_s=1))
    assert of_chain.schema.equals(of_routes.schema, check_metadata=True)
    assert of_chain.schema.names == [field.name for field in TIMELINE]
    assert set(of_routes["event"].to_pylist()) | {"loss", "jitter", "queue", "capacity", "channel"} == set(EVENTS)


def test_what_is_there_already_is_not_computed_again() -> None:
    resolved = plan(star(planes=9), duration_s=100)
    where = ephemeris_of(resolved)
    assert timeline_of(resolved).equals(timeline_of(resolved, where, routes_of(resolved, where)), check_metadata=True)


def test_equal_tables_are_equal_bytes_and_come_back_whole(tmp_path: Path) -> None:
    table = timeline_of(plan(star(planes=9), duration_s=100))
    half = table.num_rows // 2
    pieces = pa.concat_tables([table.slice(0, half), table.slice(half)])
    write_table(table, tmp_path / "a.parquet")
    write_table(pieces, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert read_table(tmp_path / "a.parquet").equals(table, check_metadata=True)
    assert read_table(tmp_path / "a.parquet").schema.field("delay_ns").metadata[b"unit"] == b"ns"


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        read_table(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_text("hello")
    with pytest.raises(TraceError, match="is it damaged"):
        read_table(tmp_path / "bad.parquet")


def test_describe_counts_what_is_there() -> None:
    description = describe(timeline_of(chain(hops=2)))
    assert description["nodes"] == {"host": 2, "router": 3}
    assert description["links"] == {"isl": 2, "wire": 2}
    assert description["delay_min_ns"] == description["delay_max_ns"] == 10_000_000
    assert (description["route_changes"], description["routing_entries_changed"], description["links_taken_down"]) == (
        0,
        0,
        0,
    )
    assert description["last_event_ns"] == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"event": "delay", "a": "r0", "b": "r2", "delay_ns": 1}, "no link"),
        ({"event": "link", "a": "r0", "b": "moon", "up": True}, "no nodes"),
        ({"event": "route", "node": "moon", "destination": "host:A", "next_hop": None, "path_id": 0}, "no node"),
    ],
)
def test_replay_refuses_what_does_not_exist(row: dict, message: str) -> None:
    state = replayed(timeline_of(chain(hops=2)), 0)
    with pytest.raises(TraceError, match=message):
        state.apply({"t_ns": 1, **row})


def test_replay_sees_loops() -> None:
    state = replayed(timeline_of(chain(hops=2)), 0)
    state.next_hop["r1", "host:B", None] = "r0"
    with pytest.raises(TraceError, match="loop: host:A > r0 > r1 > r0"):
        state.walk("host:A", "host:B")


def test_a_chain_has_one_path() -> None:
    ways = routes_of(chain(hops=3))
    rows = ways.table.to_pylist()
    assert [row["path"] for row in rows] == [["r0", "r1", "r2", "r3"], ["r3", "r2", "r1", "r0"]]
    assert {row["delay_ns"] for row in rows} == {30_000_000}
    assert {(row["hops"], row["is_change"], row["path_id"]) for row in rows} == {(3, False, 0)}
    over = plan(duration_s=1)
    assert ways.table.schema.equals(routes_of(over, ephemeris_of(over)).table.schema)
