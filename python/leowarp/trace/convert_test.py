# SPDX-License-Identifier: Apache-2.0
"""Tests the conversion of the guest's output directory to `30-trace/`: only a complete directory is accepted, and names
are kept."""

import json

import pytest

from leowarp.base.errors import TraceError
from leowarp.base.tables.metadata import decode_metadata
from leowarp.trace import convert, read, read_output
from leowarp.trace.schema import RECORDED
from support.encode import encode_records


@pytest.fixture
def output(tmp_path):
    """The output directory of a guest, with empty tables."""
    directory = tmp_path / "out"
    directory.mkdir()
    for table in RECORDED:
        (directory / f"{table}.rec").write_bytes(encode_records(table, {}, names=["TcpRetransSegs"]))
    (directory / "end.json").write_text('{"ok": true}')
    return directory


# The tables that are left out here exist only in a run with cures.
ALWAYS = [name for name in RECORDED if name not in ("switches", "merges", "notices", "orders", "nodetotals")]


def test_a_whole_output_gives_every_table(output, tmp_path):
    assert convert(output, tmp_path / "30-trace") == dict.fromkeys(ALWAYS, 0)
    (tmp_path / "setup.json").write_text(
        '{"cures": {"hold": {}, "end_marker": {}, "notify": {}, "resequence": {}}, "nodes": [], "hosts": [], '
        '"links": [], "flows": []}'
    )
    assert convert(output, tmp_path / "30-trace", tmp_path / "setup.json") == dict.fromkeys(RECORDED, 0)
    for table, schema in RECORDED.items():
        assert read(tmp_path / "30-trace", table).column_names == schema.names


def test_names_of_hosts_flows_and_directions_stand_in_each_table(output, tmp_path):
    setup = {
        "nodes": [{"name": "host:A", "kind": "host"}, {"name": "r0", "kind": "router"}],
        "hosts": [{"node": 0}],
        "links": [{"a": 0, "b": 1, "kind": "wire"}],
        "flows": [{"kind": "ping", "source": 0, "destination": 0}],
    }
    (tmp_path / "setup.json").write_text(json.dumps(setup))
    convert(output, tmp_path / "30-trace", tmp_path / "setup.json")
    table = read(tmp_path / "30-trace", "links")
    assert decode_metadata(table.schema, "hosts") == ["host:A"]
    assert decode_metadata(table.schema, "directions") == [["host:A", "r0", "wire"], ["r0", "host:A", "wire"]]
    assert decode_metadata(table.schema, "flows")[0]["destination"] == "host:A"


def test_tables_in_memory_are_those_that_would_be_written(output, tmp_path):
    rows = {"flow": [0, 0], "index": [0, 1], "sent_ns": [0, 5], "received_ns": [9, None]}
    (output / "echoes.rec").write_bytes(encode_records("echoes", rows, directions=[["a", "b", "wire"]]))
    (output / "end.json").write_text('{"ok": true, "virtual_ns": 7}')
    convert(output, tmp_path / "30-trace")
    tables = read_output(output)
    assert set(tables) == set(ALWAYS)
    for name, table in tables.items():
        assert table.equals(read(tmp_path / "30-trace", name), check_metadata=True)
        assert decode_metadata(table.schema, "virtual_ns") == 7
    assert tables["echoes"]["received_ns"].to_pylist() == [9, None]
    (output / "end.json").write_text('{"ok": true, "records": {"echoes": 3}}')
    with pytest.raises(TraceError, match="2 records of 3"):
        read_output(output)


def test_what_was_not_observed_has_no_table(output, tmp_path):
    setup = {"nodes": [], "hosts": [], "links": [], "flows": [],
             "observe": {"truth": False, "sockets_ns": None, "queues_ns": None, "counters_ns": None}}  # fmt: skip
    (tmp_path / "setup.json").write_text(json.dumps(setup))
    (output / "packets.rec").unlink()
    convert(output, tmp_path / "30-trace", tmp_path / "setup.json")
    assert {path.stem for path in (tmp_path / "30-trace").iterdir()} == {
        "sockets", "linktotals", "counters", "drops", "flows",
    }  # fmt: skip
    with pytest.raises(TraceError, match=r"there is no .*packets\.parquet") as caught:
        read(tmp_path / "30-trace", "packets")
    assert "[observe]" in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "telling"),
    [
        (lambda out: (out / "end.json").unlink(), "no end.json"),
        (lambda out: (out / "end.json").write_text('{"ok": false}'), "not complete"),
        (lambda out: (out / "end.json").write_text("{"), "end.json"),
        (lambda out: (out / "drops.rec").unlink(), r"left no drops\.rec"),
        (lambda out: (out / "end.json").write_text('{"ok": true, "records": {"bins": 3}}'), "0 records of 3"),
        (lambda out: (out / "links.rec").write_bytes(b""), r"links\.rec"),
    ],
)
def test_an_output_that_is_not_whole_is_refused(output, tmp_path, damage, telling):
    damage(output)
    with pytest.raises(TraceError, match=telling):
        convert(output, tmp_path / "30-trace")


def test_a_table_that_does_not_exist_is_named_with_those_that_do(tmp_path):
    with pytest.raises(TraceError, match="sockets"):
        read(tmp_path, "socket")
