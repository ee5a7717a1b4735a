# SPDX-License-Identifier: Apache-2.0
"""Tests packet truth from captures at both ends: packets with known outcomes, RFC 4737's own examples, and damaged
files."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.trace.captures import packets_from_captures
from leowarp.trace.pcap import segments

A, B = (bytes([10, 0, 0, 1]), 1000), (bytes([10, 0, 0, 2]), 2000)
ISN = 2**32 - 1000  # With this initial number, sequence numbers wrap around within the first packets.
MSS = 1000
MS = 10**6


def _frame(source, destination, seq, ack, flags, length, ip_id):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + length, ip_id, 0, 64, 6, 0, source[0], destination[0])
    tcp = struct.pack("!HHIIBBHHH", source[1], destination[1], seq % 2**32, ack % 2**32, 5 << 4, flags, 0, 0, 0)
    return b"\0" * 12 + b"\x08\x00" + ip + tcp + b"\0" * length


def _pcap(packets, *, order="<", nanoseconds=True):
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for t_ns, frame in packets:
        fraction = t_ns % 10**9 if nanoseconds else t_ns % 10**9 // 1000
        out += struct.pack(order + "IIII", t_ns // 10**9, fraction, len(frame), len(frame)) + frame
    return out


def _pcapng(packets, *, order="<"):
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        length = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + length + body + length

    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(order + "HHI", 1, 0, 65535) + struct.pack(order + "HHBxxxHH", 9, 1, 9, 0, 0))
    for t_ns, frame in packets:
        head = struct.pack(order + "IIIII", 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(frame), len(frame))
        out += block(6, head + frame)
    return out


def _data(number, *, ip_id=None):
    return _frame(A, B, ISN + 1 + number * MSS, 1, 0x10, MSS, number if ip_id is None else ip_id)


SYN = _frame(A, B, ISN, 0, 2, 0, 900)


@pytest.fixture
def truth(tmp_path):
    def judge(sent, arrived, write=_pcap, **named):
        (tmp_path / "a.pcap").write_bytes(write([(0, SYN), *sent]))
        (tmp_path / "b.pcap").write_bytes(write([(1, SYN), *arrived]))
        table = packets_from_captures(tmp_path / "a.pcap", tmp_path / "b.pcap", **named)
        return [row for row in table.to_pylist() if row["len_bytes"]]

    return judge


@pytest.mark.parametrize("write", [
    _pcap, lambda p: _pcap(p, order=">"), lambda p: _pcap(p, nanoseconds=False), _pcapng,
    lambda p: _pcapng(p, order=">"),
])  # fmt: skip
def test_each_format_gives_the_same_truth(truth, write):
    sent = [(i * MS, _data(i)) for i in range(3)]
    arrived = [(i * MS + 5 * MS, _data(i)) for i in (0, 2)]
    rows = truth(sent, arrived, write)
    assert [row["received_ns"] for row in rows] == [5 * MS, None, 7 * MS]
    assert [row["seq"] for row in rows] == [0, MSS, 2 * MSS]
    assert [row["is_late"] for row in rows] == [False, None, False]


@pytest.mark.parametrize(("order", "extents"), [
    ([1, 2, 3, 5, 6, 7, 8, 4, 9, 10], {4: 4}),
    ([1, 2, 3, 4, 7, 5, 6, 8, 9, 10], {5: 1, 6: 2}),
    ([1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11], {4: 4, 5: 5, 6: 6}),
    ([1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 12, 13, 11, 14, 15, 16], {4: 2, 5: 3, 11: 2}),
])  # fmt: skip
# Tests RFC 4737, 4.2.3 (extent).
# Tests RFC 4737, 7.1 (table 1).
# Tests RFC 4737, 7.2 (table 2).
# Tests RFC 4737, 7.3 (table 3).
# Tests RFC 4737, 7.4 (table 4).
def test_extents_are_those_of_tables_1_to_4_of_rfc_4737(truth, order, extents):
    sent = [(i * MS, _data(i)) for i in sorted(order)]
    rows = truth(sent, [((100 + at) * MS, _data(i)) for at, i in enumerate(order)])
    assert {row["seq"] // MSS: row["extent_pkts"] for row in rows if row["is_late"]} == extents


def test_a_retransmission_is_spurious_only_if_its_original_arrived(truth):
    sent = [(0, _data(0)), (MS, _data(1)), (2 * MS, _data(0, ip_id=50)), (3 * MS, _data(1, ip_id=51))]
    arrived = [(9 * MS, _data(0)), (10 * MS, _data(0, ip_id=50)), (11 * MS, _data(1, ip_id=51))]
    rows = truth(sent, arrived)
    assert [row["is_retransmission"] for row in rows] == [False, False, True, True]
    assert [row["is_spurious"] for row in rows] == [None, None, True, False]


def test_a_clock_that_is_off_is_told_and_mended(truth):
    sent, arrived = [(50 * MS, _data(0))], [(10 * MS, _data(0))]
    with pytest.raises(TraceError, match="before they were sent"):
        truth(sent, arrived)
    assert truth(sent, arrived, clock_offset_ns=60 * MS)[0]["received_ns"] == 70 * MS


def test_captures_of_segments_that_were_split_on_the_way_are_refused(truth):
    with pytest.raises(TraceError, match="are not in the other capture"):
        truth([(i * MS, _data(i)) for i in range(30)], [])


def test_captures_without_a_common_connection_are_refused(tmp_path):
    (tmp_path / "a.pcap").write_bytes(_pcap([(0, SYN)]))
    (tmp_path / "b.pcap").write_bytes(_pcap([]))
    with pytest.raises(TraceError, match="no TCP connection"):
        packets_from_captures(tmp_path / "a.pcap", tmp_path / "b.pcap")


def test_a_packet_too_long_for_its_header_is_refused(tmp_path):
    content = _pcap([(0, SYN)])
    # The total length is in bytes 2 and 3 of the IPv4 header (RFC 791, 3.1), which begins with 0x45.
    at = content.index(b"\x45", 24)
    (tmp_path / "a.pcap").write_bytes(content[: at + 2] + bytes(2) + content[at + 4 :])
    with pytest.raises(TraceError, match="longer than its header can say"):
        list(segments(tmp_path / "a.pcap"))


@pytest.mark.slow
@given(st.data(), st.sampled_from([_pcap, _pcapng]))
@settings(max_examples=200)
def test_a_damaged_capture_is_read_or_refused_and_never_anything_else(tmp_path_factory, data, write):
    content = bytearray(write([(i * MS, _data(i)) for i in range(3)]))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)
    ):
        content[place] = value
    del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path_factory.mktemp("pcap") / "x.pcap"
    path.write_bytes(bytes(content))
    try:
        read_segments = list(segments(path))
    except TraceError as error:
        told = str(error)
    else:
        told = f"x.pcap: {len(read_segments)}"
        assert len(read_segments) <= 3
    assert "x.pcap" in told
