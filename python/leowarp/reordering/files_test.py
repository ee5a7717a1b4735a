# SPDX-License-Identifier: Apache-2.0
"""Tests reading sequences from files of every format. The same sequence must give the same metrics in each format. Each
error message must name the position of the error in the file."""

import contextlib
import io
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leowarp import reordering
from leowarp.base.errors import LeowarpError, ScenarioError, TraceError
from leowarp.reordering import Source, measure_file
from support.captures import datagrams, echoes, write_pcap

SEQUENCE = [1, 2, 3, 5, 6, 7, 8, 4, 9, 10]
APART_NS = 1_500_000
TIMES_NS = [number * APART_NS for number in range(10)]
EXPECTED = reordering.measure(SEQUENCE, t_ns=TIMES_NS, len_bytes=[32] * 10).to_dict()


def write(path, content):
    path.write_text(content)
    return path


def csv_text(header, times, separator=","):
    rows = [separator.join(map(str, row)) for row in zip(SEQUENCE, times, [32] * 10, strict=True)]
    return "\n".join(([header] if header else []) + rows) + "\n"


def test_text_is_a_number_a_line(tmp_path):
    file = write(tmp_path / "arrivals", "# captured today\n" + "\n".join(map(str, SEQUENCE)))
    found = measure_file(file)
    assert (found.format, found.flow, found.notes) == ("text", None, [])
    assert found.reordering.density.to_dict() == EXPECTED["density"]
    assert found.reordering.extents.late_time_max_ns is None


@pytest.mark.parametrize(
    ("header", "times", "source"),
    [
        ("seq,received_ns,len", TIMES_NS, Source(time="received_ns", bytes="len")),
        ("n,t_ms,len", [f"{t / 1e6:g}" for t in TIMES_NS], Source(sequence="n", time="2", bytes="3")),
        ("seq,t,len", [f"{t / 1e9!r}" for t in TIMES_NS], Source(time="t", time_unit="s", bytes="len")),
        # Times are in seconds since 1970 with a resolution of 1 ns, which float64 cannot represent exactly.
        ("seq,t_s,len", [f" 1760000000.{t:09d}" for t in TIMES_NS], Source(time="t_s", bytes="len")),
        ("", TIMES_NS, Source(header=False, sequence="1", time="2", time_unit="ns", bytes="3")),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_columns_are_chosen_by_name_or_number_and_times_have_a_unit(tmp_path, header, times, source, separator):
    text = csv_text(header.replace(",", separator), times, separator)
    assert measure_file(write(tmp_path / "a.csv", text), source=source).reordering.to_dict() == EXPECTED


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (pa.array(TIMES_NS), "ns"),
        (pa.array(TIMES_NS, pa.timestamp("ns")), None),
        (pa.array([t // 1000 for t in TIMES_NS], pa.duration("us")), None),
        (pa.array([t // 1000 for t in TIMES_NS], pa.uint32()), "us"),
        (pa.array([t / 1e9 for t in TIMES_NS]), "s"),
        (pa.array([t / 1e6 for t in TIMES_NS], pa.float64()).cast(pa.decimal128(20, 3)), "ms"),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_parquet_takes_times_of_every_type(tmp_path, times, unit):
    file = parquet(tmp_path / "a.parquet", other=[0.5] * 10, seq=SEQUENCE, t=times, len=[32] * 10)
    found = measure_file(file, source=Source(time="t", time_unit=unit, bytes="len"))
    assert (found.format, found.reordering.to_dict()) == ("parquet", EXPECTED)


def test_a_capture_of_echo_requests_has_times_lengths_and_its_flow(tmp_path):
    found = measure_file(write_pcap(tmp_path / "a.dump", echoes(SEQUENCE), apart_ns=APART_NS))
    assert found.reordering.to_dict() == EXPECTED
    assert (found.flow.protocol, found.flow.source, found.flow.id, found.flow.packets_pkts) == (
        "icmp",
        "10.0.0.1",
        7,
        10,
    )
    around = write_pcap(tmp_path / "b.pcap", echoes([65534, 0, 65535, 1]))
    assert measure_file(around).reordering.to_dict()["density"] == {"-1": 0.25, "0": 0.5, "1": 0.25}


def test_udp_has_its_number_where_the_user_says(tmp_path):
    file = write_pcap(tmp_path / "a.pcap", datagrams(SEQUENCE))
    with pytest.raises(TraceError, match="no arrival") as caught:
        measure_file(file)
    assert "10 UDP packets" in caught.value.hint
    assert "--field-offset" in caught.value.hint
    found = measure_file(file, source=Source(protocol="udp", field_offset=4))
    assert found.reordering.density.to_dict() == EXPECTED["density"]
    assert (found.flow.source, found.flow.destination) == ("10.0.0.1:5000", "10.0.0.2:6000")
    little = write_pcap(tmp_path / "b.pcap", datagrams(SEQUENCE, "<2xQ"))
    source = Source(protocol="udp", field_offset=2, field_size=8, field_order="little")
    assert measure_file(little, source=source).reordering.density.to_dict() == EXPECTED["density"]


def test_several_flows_are_listed_and_one_is_chosen(tmp_path):
    file = write_pcap(tmp_path / "a.pcap", [*echoes([1, 2], 5), *echoes(SEQUENCE, 6), *echoes([3], 5)])
    with pytest.raises(ScenarioError, match=r"2 flows: 0: icmp .* id 5, 3 packets; 1: icmp .* id 6, 10 packets"):
        measure_file(file)
    assert measure_file(file, source=Source(flow=1)).reordering.density.to_dict() == EXPECTED["density"]
    assert measure_file(file, source=Source(flow=0)).reordering.received_pkts == 3
    assert [flow.packets_pkts for flow in reordering.flows(file)] == [3, 10]
    with pytest.raises(ScenarioError, match="no flow 2: it holds 2"):
        measure_file(file, source=Source(flow=2))
    with pytest.raises(ScenarioError, match="no flows"):
        reordering.flows(write(tmp_path / "a.txt", "1\n"))


def test_flows_are_listed_of_a_pipe_which_can_be_read_only_once(tmp_path):
    content = write_pcap(tmp_path / "a.pcap", [*echoes([1, 2], 5), *echoes(SEQUENCE, 6)]).read_bytes()
    ends = os.pipe()
    # The content is shorter than a pipe's capacity (pipe(7): 65,536 bytes), so it can be written before a reader is
    # started.
    os.write(ends[1], content)
    os.close(ends[1])
    try:
        assert [flow.packets_pkts for flow in reordering.flows(f"/dev/fd/{ends[0]}")] == [2, 10]
    finally:
        os.close(ends[0])


@pytest.mark.parametrize(
    ("name", "content", "source", "telling"),
    [
        ("a.txt", "", Source(), "holds no arrival"),
        ("a.txt", "# nothing\n\n", Source(), "holds no arrival"),
        ("a.txt", "1\n2\n-3\n", Source(), r'line 3: "-3" is negative'),
        ("a.txt", "1\n2.5\n", Source(), r'line 2: "2.5" is not written as a whole number'),
        ("a.txt", "99999999999999999999\n", Source(), "line 1: .* larger than the largest"),
        ("a.csv", "", Source(), "holds no arrival"),
        ("a.csv", "seq,t\n", Source(), "holds no arrival"),
        ("a.csv", "seq,t\n1,2\n-3,4\n", Source(), "the sequence number '-3' at row 3 is negative"),
        ("a.csv", "seq,t\n1,2\n1.5,4\n", Source(), "'1.5' at row 3 is not a whole number"),
        ("a.csv", "seq,t\n1,2\n,4\n", Source(), "'' at row 3 is missing"),
        ("a.csv", "seq,t\n99999999999999999999,2\n", Source(), "at row 2 is too large"),
        ("a.csv", "seq,t\n9999999999999999999,2\n", Source(), "at row 2 is larger than"),
        ("a.csv", "seq,t\n1,2\n3\n", Source(), "Row #3"),
        ("a.csv", "seq,t\n1,2\n3,x\n", Source(time="t", time_unit="s"), "at row 3, x, is not a number"),
        ("a.csv", "seq,t\n1,2\n3,-\n", Source(time="t", time_unit="ns"), "instant of arrival at row 3"),
        ("a.csv", "seq,t\n1,1e300\n", Source(time="t", time_unit="s"), "beyond the year 2262"),
        ("a.csv", "seq,len\n1,-2\n", Source(bytes="len"), "length in bytes '-2' at row 2 is negative"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(tmp_path, name, content, source, telling):
    with pytest.raises(TraceError, match=telling) as caught:
        measure_file(write(tmp_path / name, content), source=source)
    assert "a.txt" in caught.value.message or "a.csv" in caught.value.message


@pytest.mark.parametrize(
    ("content", "source", "telling"),
    [
        ("a,b\n1,2\n", Source(), "which column"),
        ("seq,seq\n1,2\n", Source(sequence="seq"), "several"),
        ("seq,t\n1,2\n", Source(sequence="3"), "no column '3'"),
        ("seq,t\n1,2\n", Source(time="t"), "in which unit"),
        ("1,2\n3,4\n", Source(), "should name the columns"),
    ],
)
def test_a_choice_that_is_missing_is_asked_for(tmp_path, content, source, telling):
    with pytest.raises(ScenarioError, match=telling) as caught:
        measure_file(write(tmp_path / "a.csv", content), source=source)
    assert "--" in caught.value.hint


def test_parquet_with_gaps_or_cut_short_or_of_another_type_is_refused(tmp_path):
    gap = parquet(tmp_path / "gap.parquet", seq=pa.array([1, None, 3]))
    with pytest.raises(TraceError, match=r"gap\.parquet as parquet: .* at row 2 is missing"):
        measure_file(gap)
    with pytest.raises(TraceError, match="type float64"):
        measure_file(parquet(tmp_path / "float.parquet", seq=[1.0, 2.5]))
    with pytest.raises(TraceError, match="no time"):
        measure_file(
            parquet(tmp_path / "text.parquet", seq=[1], t=pa.array([b"x"])), source=Source(time="t", time_unit="s")
        )
    whole = parquet(tmp_path / "whole.parquet", seq=SEQUENCE).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    with pytest.raises(TraceError, match=r"cannot read .*cut\.parquet as parquet"):
        measure_file(tmp_path / "cut.parquet")


def test_a_capture_cut_short_in_its_first_packet_is_told_with_packet_and_byte(tmp_path):
    file = write_pcap(tmp_path / "a.pcap", echoes(SEQUENCE[:1]))
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(TraceError, match=r"packet 1 begins at byte 24 and reaches to byte 100, .* at byte 90"):
        measure_file(file)


def test_widths_are_the_captures_own(tmp_path):
    with pytest.raises(ScenarioError, match="widths of their own"):
        measure_file(write_pcap(tmp_path / "a.pcap", echoes([1])), bits=16)
    assert measure_file(write(tmp_path / "a.txt", "65535\n0\n"), bits=16).reordering.expected_pkts == 2
    with pytest.raises(TraceError, match='line 1: "65536" does not fit into 16 bits'):
        measure_file(write(tmp_path / "a.txt", "65536\n"), bits=16)


def test_a_number_so_large_that_most_others_are_lost_is_warned_of(tmp_path):
    found = measure_file(write(tmp_path / "a.txt", "9000000\n1\n2\n3\n"))
    assert (found.reordering.received_pkts, found.reordering.too_late_pkts) == (1, 3)
    assert "3 of 4 arrivals" in found.notes[0]


def test_packets_beyond_the_threshold_are_warned_of(tmp_path):
    file = write(tmp_path / "a.txt", "20\n" + "".join(f"{number}\n" for number in range(20)))
    assert measure_file(file, threshold_pkts=20).notes == []
    assert "packets are displaced by more than 5" in measure_file(file, threshold_pkts=5).notes[0]


def test_a_compressed_file_or_none_says_what_to_type(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\0")
    with pytest.raises(ScenarioError) as caught:
        measure_file(tmp_path / "a.gz")
    assert "gzip -dc FILE | leowarp reorder -" in caught.value.hint
    with pytest.raises(ScenarioError, match="No such file"):
        measure_file(tmp_path / "nowhere")
    with pytest.raises(ScenarioError, match="Is a directory"):
        measure_file(tmp_path)


@pytest.mark.parametrize("wrong", [{"protocol": "udp"}, {"field_offset": 3}, {"field_size": 3}, {"flow": -1},
                                   {"format": "xml"}, {"time_unit": "min"}])  # fmt: skip
def test_a_source_that_cannot_be_is_refused(wrong):
    with pytest.raises(ScenarioError):
        Source(**wrong)


def test_a_long_file_is_read_in_parts_and_says_how_far_it_is(tmp_path):
    numbers = np.arange(400_000)
    file = write(tmp_path / "long.txt", "\n".join(map(str, numbers)))
    seen = []
    found = measure_file(file, on_progress=lambda ratio, packets: seen.append((ratio, packets)))
    assert found.reordering.received_pkts == 400_000
    assert len(seen) >= 3
    assert seen == sorted(seen)
    assert seen[-1] == (1.0, 400_000)
    csv = write(tmp_path / "long.csv", "seq\n" + file.read_text())
    assert measure_file(csv).reordering.to_dict() == found.reordering.to_dict()


@settings(max_examples=60)
@given(content=st.binary(max_size=300), kind=st.sampled_from(["text", "csv", "parquet", "pcap"]))
@example(content=b"\r\x00", kind="csv")
@example(content=b"a" * 140_000, kind="csv")
def test_any_bytes_end_with_metrics_or_one_error(content, kind, tmp_path_factory):
    file = tmp_path_factory.mktemp("any") / "file"
    file.write_bytes(content)
    with contextlib.suppress(LeowarpError):
        assert measure_file(file, source=Source(format=kind)).reordering.arrived_pkts > 0


def test_standard_input_is_read_as_it_comes(monkeypatch):
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"1\n2\n4\n3\n")))
    monkeypatch.setattr(sys, "stdin", stream)
    found = measure_file("-")
    assert found.reordering.reordered_pkts == 1
