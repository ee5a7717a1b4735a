# SPDX-License-Identifier: Apache-2.0
"""Tests the conversion of lines of `measures.jsonl` to the table `measures`. An error message must contain the line
number."""

import json

import pytest

from leowarp.base.errors import TraceError
from leowarp.trace import convert, read
from leowarp.trace.measures import read_measures
from leowarp.trace.schema import RECORDED
from support.encode import encode_records

START_NS = 946_684_810_000_000_000
END = {"ok": True, "virtual_ns": 5_000_000_000, "start_realtime_ns": START_NS}


def leave(output, text: str, flow: int = 0, role: str = "client") -> None:
    """Write a file as a program would write it into its directory."""
    files = output / "programs" / str(flow) / role / "files"
    files.mkdir(parents=True)
    (files / "measures.jsonl").write_text(text)


def line(**given) -> str:
    return json.dumps({"kind": "transaction", "start_ns": START_NS + 7, **given}) + "\n"


def test_lines_become_rows_by_flow_role_and_line_on_the_runs_clock(tmp_path):
    leave(tmp_path, line(number=1, end_ns=START_NS + 9, bytes=5) + line(number=2, name="x", tries=3, by=None), flow=10)
    leave(tmp_path, line(kind="mine", start_ns=float(START_NS)), flow=2, role="server")
    rows = read_measures(tmp_path, END).to_pylist()
    seen = [(row["flow"], row["role"], row["kind"], row["number"], row["start_ns"], row["end_ns"]) for row in rows]
    assert seen == [(2, 1, "mine", None, 0, None), (10, 0, "transaction", 1, 7, 9), (10, 0, "transaction", 2, 7, None)]
    assert [row["bytes"] for row in rows] == [None, 5, None]
    assert [row["name"] for row in rows] == [None, None, "x"]
    assert rows[2]["other"] == '{"by": null, "tries": 3}', "what is no column is kept"
    assert rows[1]["other"] is None


def test_a_run_without_the_file_has_no_table(tmp_path):
    assert read_measures(tmp_path, END) is None
    (tmp_path / "programs/0/client/files").mkdir(parents=True)
    assert read_measures(tmp_path, END) is None


def test_an_empty_file_is_a_table_without_rows(tmp_path):
    leave(tmp_path, "")
    assert len(read_measures(tmp_path, END)) == 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("{", "line 2: it is not JSON"),
        ("[]", "line 2: it is not a JSON object"),
        ('{"start_ns": 1}', "line 2: it has no `kind`"),
        ('{"kind": "page"}', "line 2: a line of kind page needs `start_ns`"),
        (line(kind="frame").strip(), "a line of kind frame needs `number`"),
        (line(kind="segment", end_ns=START_NS + 8, media_ns=1).strip(), "a line of kind segment needs `bitrate_bps`"),
        (line(bytes="5").strip(), '`bytes` is "5", not a whole number'),
        (line(bytes=1.5).strip(), "`bytes` is 1.5, not a whole number"),
        (line(bytes=True).strip(), "`bytes` is true, not a whole number"),
        (line(bytes=-1).strip(), "`bytes` is -1, not from 0"),
        (line(name=5).strip(), "`name` is 5, not a text"),
        (line(end_ns=START_NS + 6).strip(), "its times go back: start_ns, end_ns"),
        (line(start_ns=12_000_000_000).strip(), "`start_ns` is 12000000000, not within the run, which began at 94668"),
        (line(end_ns=START_NS + 6_000_000_001).strip(), "`end_ns` is 946684816000000001, not within the run"),
    ],
)
def test_a_line_that_is_wrong_is_named_by_file_and_number(tmp_path, wrong, says):
    leave(tmp_path, line() + wrong + "\n")
    with pytest.raises(TraceError) as error:
        read_measures(tmp_path, END)
    assert "programs/0/client/files/measures.jsonl, line 2: " in str(error.value)
    assert says in str(error.value)


def test_a_link_in_its_place_is_not_followed(tmp_path):
    leave(tmp_path, line())
    (tmp_path / "elsewhere").write_text(line())
    path = tmp_path / "programs/0/client/files/measures.jsonl"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TraceError, match="it is a symbolic link"):
        read_measures(tmp_path, END)


def test_an_agent_that_does_not_say_when_the_run_began_is_refused(tmp_path):
    leave(tmp_path, line())
    with pytest.raises(TraceError, match="does not say when its run began"):
        read_measures(tmp_path, {"ok": True, "virtual_ns": 1})


def test_convert_writes_the_table_beside_the_others_with_their_metadata(tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    for table in RECORDED:
        (output / f"{table}.rec").write_bytes(encode_records(table, {}, names=[]))
    (output / "end.json").write_text(json.dumps(END))
    leave(output, line(bytes=3) * 2)
    assert convert(output, tmp_path / "a")["measures"] == 2
    table = read(tmp_path / "a", "measures")
    assert table["bytes"].to_pylist() == [3, 3]
    assert json.loads(table.schema.metadata[b"virtual_ns"]) == END["virtual_ns"]
    convert(output, tmp_path / "b")
    assert (tmp_path / "a/measures.parquet").read_bytes() == (tmp_path / "b/measures.parquet").read_bytes()
