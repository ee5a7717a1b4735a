# SPDX-License-Identifier: Apache-2.0
"""Tests damaged pcap and pcapng files. A file must give metrics that account for every packet, or a single error."""

import contextlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from leowarp import reordering
from leowarp.base.errors import LeowarpError
from leowarp.reordering import Source
from support.frames import CAN, COOKED, SYN, Frame, echo, ethernet, ip, pcap_file, pcapng_file, pppoe, tcp

SEEDS = [
    ethernet(echo(1)),
    ethernet(echo(1, is_reply=True)),
    pppoe(echo(2)),
    ethernet(tcp(1000, 100, stamp=7)),
    ethernet(tcp(1, 0, is_answer=True, ack=1100)),
    ethernet(tcp(999, 50, flags=SYN)),
    ethernet(ip(17, b"\x12\xb5\x12\xb5\0\x50\0\0\x08\0\0\0\0\0\5\0" + ethernet(echo(3)))),
    ethernet(ip(47, b"\x30\0\x65\x58" + bytes(8) + ethernet(echo(4)))),
    ethernet(b"\0\1\1\x40" + echo(5), 0x8847),
    ethernet(bytes(46), 0x0806),
    bytes(14) + b"\x08\0" + echo(6),
]
frames = st.lists(
    st.builds(
        Frame,
        st.integers(0, 2**40),
        st.sampled_from(SEEDS),
        st.sampled_from([1, 1, 1, COOKED, CAN]),
        st.one_of(st.none(), st.integers(0, 120)),
    ),
    min_size=1,
    max_size=12,
)
damages = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=8)
sources = st.builds(
    lambda protocol, flow: Source(
        format="pcap", protocol=protocol, flow=flow, field_offset=0 if protocol == "udp" else None
    ),
    st.sampled_from([None, "icmp", "icmp-reply", "tcp", "rtp", "udp"]),
    st.sampled_from([None, 0, 1]),
)


def damaged(content: bytes, damage: list[tuple[int, int]], length: int) -> bytes:
    """Return the content with some bytes replaced, and without its last `length` bytes."""
    file = bytearray(content)
    for at, byte in damage:
        file[at % len(file)] = byte
    return bytes(file[: len(file) - length])


def check(file: Path, source: Source) -> None:
    """Read the file in both ways in which `leowarp reorder` can read it: without metrics (`--flows`), and with
    metrics."""
    read = ("numbered_pkts", "answer_pkts", "udp_pkts", "without_field_pkts", "foreign_pkts", "skipped_pkts")
    with contextlib.suppress(LeowarpError):
        counts = reordering.survey(file, source=source).counts
        assert sum(counts[name] for name in read) == counts["packets_pkts"]
    with contextlib.suppress(LeowarpError):
        found = reordering.measure_file(file, source=source)
        measured = found.counts
        left_out = measured["repeated_pkts"] + measured["in_need_pkts"]
        assert found.reordering.arrived_pkts + left_out == found.flow.packets_pkts


@given(frames, damages, st.integers(0, 60), sources)
def test_pcap(tmp_path_factory, frames, damage, length, source):
    file = pcap_file(tmp_path_factory.mktemp("fuzz") / "a.pcap", frames)
    file.write_bytes(damaged(file.read_bytes(), damage, length))
    check(file, source)


@given(frames, damages, st.integers(0, 60), sources)
def test_pcapng(tmp_path_factory, frames, damage, length, source):
    file = pcapng_file(tmp_path_factory.mktemp("fuzz") / "a.pcapng", frames)
    file.write_bytes(damaged(file.read_bytes(), damage, length))
    check(file, source)


@given(st.binary(max_size=400), st.sampled_from([pcap_file, pcapng_file]), sources)
def test_any_bytes_behind_a_whole_file(tmp_path_factory, rest, write, source):
    file = write(tmp_path_factory.mktemp("fuzz") / "a", [Frame(0, SEEDS[0])])
    file.write_bytes(file.read_bytes() + rest)
    check(file, source)
