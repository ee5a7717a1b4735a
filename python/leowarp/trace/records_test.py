# SPDX-License-Identifier: Apache-2.0
"""Tests the reading of record files: records are read back unchanged, wrong files are rejected, and the output depends
only on the input."""

import contextlib
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.trace.records import open_records, read_records, write_parquet
from leowarp.trace.schema import RECORDED, TABLES
from support.encode import encode_records, frame

# Values that both a record and the Parquet column can contain. The value that means "missing" is excluded.
_RANGES = {
    ("i64", "int64"): st.integers(-(2**63) + 1, 2**63 - 1),
    ("u64", "int64"): st.integers(0, 2**63 - 1),
    ("u32", "int64"): st.integers(0, 2**32 - 2),
    ("u32", "int32"): st.integers(0, 2**31 - 1),
    ("i32", "int32"): st.integers(-(2**31) + 1, 2**31 - 1),
    ("u16", "int32"): st.integers(0, 2**16 - 2),
    ("u8", "uint8"): st.integers(0, 2**8 - 2),
    ("f64", "double"): st.floats(allow_nan=False),
}
NAMES = ["TcpRetransSegs", "TcpExtTCPDSACKRecv", "TcpExtTCPFullUndo"]


def _values(column):
    if pa.types.is_boolean(column.type):
        values = st.booleans()
    elif pa.types.is_dictionary(column.type):
        values = st.integers(0, len(NAMES) - 1)
    else:
        values = _RANGES[column.kind.wire, str(column.type)]
    return st.none() | values if column.nullable else values


@st.composite
def _tables(draw):
    name = draw(st.sampled_from(sorted(RECORDED)))
    rows = draw(st.integers(0, 7))
    columns = {c.name: draw(st.lists(_values(c), min_size=rows, max_size=rows)) for c in RECORDED[name].columns}
    return name, columns


@pytest.mark.slow
@given(_tables())
@settings(max_examples=150)
def test_what_was_written_is_read_and_missing_stays_missing(tmp_path_factory, table):
    name, columns = table
    directory = tmp_path_factory.mktemp("rec")
    path = directory / f"{name}.rec"
    path.write_bytes(encode_records(name, columns, names=NAMES))
    write_parquet(open_records(path), directory / "t.parquet")
    expected = {
        c: [None if v is None else NAMES[v] if c == "counter" else v for v in values] for c, values in columns.items()
    }
    assert pq.read_table(directory / "t.parquet").to_pydict() == expected
    assert read_records(open_records(path)).to_pydict() == expected


def test_same_records_give_the_same_bytes_under_another_name_and_at_another_time(tmp_path):
    content = encode_records("links", {"t_ns": range(1000), "direction": [i % 7 for i in range(1000)]})
    digests = []
    for name in ("a", "another-name"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "links.rec").write_bytes(content)
        write_parquet(
            open_records(tmp_path / name / "links.rec"), tmp_path / name / "links.parquet", {"hosts": ["host:A"]}
        )
        digests.append((tmp_path / name / "links.parquet").read_bytes())
    assert digests[0] == digests[1]


@pytest.mark.parametrize("wrong", [{"type": ["i64"]}, {"type": {"i64": 8}}, {"name": ""}])
def test_a_field_without_a_name_or_with_a_type_that_is_no_word_is_refused(tmp_path, wrong):
    header = {"table": "links", "record_bytes": 8, "fields": [{"name": "more", "type": "i64", **wrong}]}
    (tmp_path / "links.rec").write_bytes(frame(json.dumps(header).encode(), b""))
    with pytest.raises(TraceError, match="lacks a name or has a type that is none of"):
        open_records(tmp_path / "links.rec")


def test_units_and_meaning_are_in_the_field_metadata(tmp_path):
    path = tmp_path / "sockets.rec"
    path.write_bytes(encode_records("sockets", {"t_ns": [0], "flow": [0]}))
    write_parquet(open_records(path), tmp_path / "sockets.parquet", {"hosts": ["host:A"]})
    schema = pq.read_schema(tmp_path / "sockets.parquet")
    for column in RECORDED["sockets"].columns:
        assert schema.field(column.name).metadata[b"unit"].decode() == column.unit
        assert schema.field(column.name).metadata[b"doc"].decode() == column.doc
    assert json.loads(schema.metadata[b"hosts"]) == ["host:A"]


def test_names_end_in_their_units():
    endings = {"ns": "_ns", "us": "_us", "bytes": "bytes", "pkts": "pkts", "bit/s": "_bps", "nat": "_nats", "ratio": ""}
    for table in TABLES.values():
        for column in table.columns:
            if column.unit and column.name not in ("seq", "ack", *_BYTE_COUNTERS_OF_TCP_INFO):
                assert column.name.endswith(endings[column.unit]), f"{table.name}.{column.name} is in {column.unit}"


# Columns whose name comes from the kernel's struct tcp_info. The name begins with "bytes" and does not end with it.
_BYTE_COUNTERS_OF_TCP_INFO = ("bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received")


@pytest.mark.parametrize("cut", [0, 5, 11, 12, 40, -1, -9])
def test_a_file_that_was_cut_short_is_refused_by_name(tmp_path, cut):
    whole = encode_records("echoes", {"flow": [0, 0], "index": [0, 1], "sent_ns": [5, 6]})
    path = tmp_path / "echoes.rec"
    path.write_bytes(whole[:cut])
    with pytest.raises(TraceError, match=r"echoes\.rec"):
        read_records(open_records(path))


def test_a_unit_that_the_schema_does_not_have_is_refused(tmp_path):
    content = encode_records("sockets", {"t_ns": [0], "flow": [0]})
    path = tmp_path / "sockets.rec"
    path.write_bytes(
        content.replace(b'"srtt_us", "type": "u32", "unit": "us"', b'"srtt_us", "type": "u32", "unit": "ns"')
    )
    with pytest.raises(TraceError, match=r"srtt_us has the unit 'ns'.*'us'"):
        read_records(open_records(path))


def test_a_key_column_without_value_is_refused_with_its_record(tmp_path):
    path = tmp_path / "links.rec"
    path.write_bytes(encode_records("links", {"t_ns": [1, None], "direction": [0, 0]}))
    with pytest.raises(TraceError, match=r"t_ns misses its value in record 1"):
        read_records(open_records(path))


def test_a_truth_value_that_is_neither_is_refused(tmp_path):
    path = tmp_path / "packets.rec"
    path.write_bytes(encode_records("packets", {"flow": [0], "direction": [0], "sent_ns": [1], "is_late": [7]}))
    with pytest.raises(TraceError, match=r"is_late is 7 in record 0"):
        read_records(open_records(path))


def test_a_wider_integer_that_does_not_fit_is_refused(tmp_path):
    column = RECORDED["links"].columns[1]
    fields = [{"name": c.name, "type": "i64", "unit": c.unit} for c in RECORDED["links"].columns]
    header = json.dumps({"table": "links", "record_bytes": 40, "fields": fields}).encode()
    values = [0, 2**31, 0, 0, 0]
    path = tmp_path / "links.rec"
    path.write_bytes(frame(header, b"".join(value.to_bytes(8, "little") for value in values)))
    with pytest.raises(TraceError, match=rf"{column.name} goes up to {2**31}, which does not fit int32"):
        read_records(open_records(path))


def test_a_column_that_the_schema_does_not_know_is_kept(tmp_path):
    fields = [{"name": c.name, "type": "i64", "unit": c.unit} for c in RECORDED["links"].columns]
    fields.append({"name": "sojourn_ns", "type": "u32", "unit": "ns", "doc": "how long"})
    header = json.dumps({"table": "links", "record_bytes": 44, "fields": fields}).encode()
    record = b"".join(value.to_bytes(8, "little") for value in [1, 2, 3, 4, 5]) + (0xFFFFFFFF).to_bytes(4, "little")
    path = tmp_path / "links.rec"
    path.write_bytes(frame(header, record))
    table = read_records(open_records(path))
    assert table.to_pylist() == [
        {"t_ns": 1, "direction": 2, "queue_pkts": 3, "queue_bytes": 4, "queue_max_pkts": 5, "sojourn_ns": None}
    ]
    assert table.field("sojourn_ns").metadata == {b"unit": b"ns", b"doc": b"how long"}


@pytest.mark.slow
@given(st.binary(max_size=400), st.integers(0, 400), st.booleans())
@settings(max_examples=300)
def test_any_damage_is_read_or_refused_and_never_anything_else(tmp_path_factory, noise, place, appended):
    content = bytearray(encode_records("flows", {"flow": [0, 1], "bytes": [1, None]}))
    place %= len(content)
    content[place : place if appended else place + len(noise)] = noise
    path = tmp_path_factory.mktemp("fuzz") / "flows.rec"
    path.write_bytes(bytes(content))
    refused = pytest.raises(TraceError, match=r"flows\.rec")
    try:
        rows = open_records(path).rows
    except TraceError:
        with refused:
            read_records(open_records(path))
    else:
        # If `open_records` accepts the damaged file, `read_records` either rejects the file, or returns as many rows as
        # the file has records.
        with contextlib.suppress(TraceError):
            assert read_records(open_records(path)).num_rows == rows


@pytest.mark.slow
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["table", "fields", "record_bytes", "name", "type", "unit"]) | st.text(), inner
    ),
))  # fmt: skip
@settings(max_examples=200)
def test_any_json_as_header_is_refused(tmp_path_factory, header):
    path = tmp_path_factory.mktemp("fuzz") / "x.rec"
    path.write_bytes(frame(json.dumps(header).encode(), b""))
    with pytest.raises(TraceError, match=r"x\.rec"):
        read_records(open_records(path))


def test_infinities_are_values_and_not_missing(tmp_path):
    path = tmp_path / "sockets.rec"
    path.write_bytes(encode_records("sockets", {"t_ns": [0], "flow": [0], "bbr_cwnd_gain": [math.inf]}))
    assert read_records(open_records(path)).column("bbr_cwnd_gain").to_pylist() == [math.inf]
