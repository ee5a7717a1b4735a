# SPDX-License-Identifier: Apache-2.0
"""Tests the reading of captures from other tools. The metrics must be correct. leowarp must report skipped, missing and
merged packets, and where the packets were captured."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp import reordering
from leowarp.base.errors import LeowarpError, TraceError
from leowarp.reordering import Skip, Source, measure_file
from support.frames import CAN, COOKED, SYN, Frame, apart, echo, ethernet, ip, pcap_file, pcapng_file, pppoe, tcp

REORDERED = [1, 2, 4, 3, 5]


def counted(found):
    return {key: value for key, value in found.counts.items() if value}


def test_packets_inside_a_tunnel_are_measured_and_the_flow_says_so(tmp_path):
    frames = [Frame(number, pppoe(echo(number))) for number in REORDERED]
    found = measure_file(pcap_file(tmp_path / "a.pcap", frames))
    assert (found.reordering.received_pkts, found.reordering.reordered_pkts) == (5, 1)
    assert found.flow.inside == "PPPoE"
    assert found.skipped == []
    frames = apart([ip(47, b"\0\0\x08\0" + ip(47, b"\0\0\x08\0" + echo(number))) for number in REORDERED])
    assert measure_file(pcap_file(tmp_path / "b.pcap", frames)).flow.inside == "GRE"


def test_frames_of_a_link_type_that_is_not_known_are_skipped_and_named(tmp_path):
    frames = [Frame(number, ethernet(echo(number))) for number in REORDERED]
    can = [Frame(number, bytes(16), CAN) for number in range(3)]
    found = measure_file(pcapng_file(tmp_path / "a.pcapng", [*can, *frames, *can]))
    assert (found.reordering.received_pkts, found.reordering.reordered_pkts) == (5, 1)
    assert found.skipped == [Skip(6, "packets of CAN (link type 227)")]
    cooked = [Frame(number, bytes(14) + b"\x08\0" + echo(number), COOKED) for number in REORDERED]
    assert measure_file(pcapng_file(tmp_path / "b.pcapng", [*can, *cooked])).reordering.reordered_pkts == 1
    with pytest.raises(TraceError, match="no arrival") as caught:
        measure_file(pcapng_file(tmp_path / "c.pcapng", can))
    assert "skipped 3 packets of CAN (link type 227)" in caught.value.hint
    assert "Ethernet (1)" in caught.value.hint


def test_a_packet_that_was_cut_ends_nothing(tmp_path):
    frames = apart([echo(number) for number in REORDERED])
    foreign = Frame(9, ethernet(ip(6, bytes(40), is_answer=True)), captured_bytes=34)
    found = measure_file(pcap_file(tmp_path / "a.pcap", [*frames, foreign, foreign]))
    assert (found.reordering.received_pkts, found.reordering.lost_pkts) == (5, 0)
    assert (found.skipped, found.notes) == ([Skip(2, "packets cut to 34 bytes")], [])
    # The truncated packet was sent between the ends of the flow, so it may belong to the flow.
    mine = Frame(9, ethernet(echo(6)), captured_bytes=34)
    found = measure_file(pcap_file(tmp_path / "b.pcap", [*frames, mine]))
    assert "1 packets between the flow's ends were cut" in found.notes[0]
    with pytest.raises(TraceError, match="no arrival") as caught:
        measure_file(pcap_file(tmp_path / "c.pcap", [mine]))
    assert "tcpdump -s 0" in caught.value.hint
    assert reordering.survey(tmp_path / "b.pcap").skipped == [Skip(1, "packet cut to 34 bytes")]


@pytest.mark.parametrize(
    ("ids", "reordered", "lost", "undecided"),
    [
        # The IP identification shows when a packet was sent. A retransmission was sent after the packets with larger
        # numbers, and an overtaken packet before them.
        ([105, 106, 107, 108, 109], 0, 1, 0),
        ([105, 106, 107, 108, 104], 1, 0, 0),
        ([0, 0, 0, 0, 0], 1, 0, 1),
    ],
)
def test_a_segment_of_the_same_tick_as_those_above_its_hole(tmp_path, ids, reordered, lost, undecided):
    first = [tcp(1000 * k, 1000, stamp=5000, ip_id=100 + k if ids[0] else 0) for k in range(4)]
    order = [5, 6, 7, 8, 4]
    rest = [tcp(1000 * k, 1000, stamp=5000, ip_id=ip_id) for k, ip_id in zip(order, ids, strict=True)]
    found = measure_file(pcap_file(tmp_path / "a.pcap", apart([*first, *rest])))
    assert (found.reordering.reordered_pkts, found.reordering.lost_pkts) == (reordered, lost)
    assert (found.counts["undecided_pkts"], found.counts["in_need_pkts"]) == (undecided, lost)
    assert len(found.notes) == undecided


def test_what_the_capture_missed_is_not_lost(tmp_path):
    frames = apart([tcp(1000 * k, 1000) for k in range(20) if k not in (5, 6, 11)])
    lost = measure_file(pcap_file(tmp_path / "a.pcap", frames))
    assert (lost.reordering.lost_pkts, lost.notes) == (3, [])
    frames.append(Frame(30_000_000, ethernet(tcp(1, 0, ack=20_000, is_answer=True))))
    missed = measure_file(pcap_file(tmp_path / "b.pcap", frames))
    assert (missed.reordering.received_pkts, missed.reordering.lost_pkts) == (17, 0)
    assert "3,000 bytes that are not in the capture (about 3 segments)" in missed.notes[0]


def test_merged_segments_are_told(tmp_path):
    sizes = [1368, 1368, 2736, 1368, 5472, 21_888]
    frames = apart([tcp(sum(sizes[:k]), size) for k, size in enumerate(sizes)])
    found = measure_file(pcap_file(tmp_path / "a.pcap", frames))
    assert found.notes == [
        "3 segments are several in one (up to 21,888 bytes, a full one has 1,368): each counts as one packet, and "
        "reordering inside it is not seen (ethtool -K DEVICE gro off lro off, at a sender tso off gso off)"
    ]


def test_data_in_a_syn_are_no_hole(tmp_path):
    syn = tcp(999, 500, flags=SYN)
    frames = apart([syn, *(tcp(1500 + 1000 * k, 1000) for k in range(20))])
    for settings_ in ({}, {"first_seq": 0}):
        found = measure_file(pcap_file(tmp_path / "a.pcap", frames), **settings_)
        assert (found.reordering.received_pkts, found.reordering.lost_pkts) == (20, 0)


def pinged(tmp_path, late_ns, reply_ns, hops=(64, 64)):
    """Write twenty echo requests 10 ms apart, with their replies. Two of the replies are late."""
    asked = [Frame(10_000_000 * k, ethernet(echo(k, hops=hops[0]))) for k in range(20)]
    late = {4: late_ns, 10: late_ns}
    answered = [
        Frame(frame.t_ns + reply_ns + late.get(k, 0), ethernet(echo(k, is_reply=True, hops=hops[1])))
        for k, frame in enumerate(asked)
    ]
    return pcap_file(tmp_path / "a.pcap", sorted([*asked, *answered], key=lambda frame: frame.t_ns))


def test_a_ping_at_its_sender_says_that_requests_tell_nothing_and_measures_its_replies(tmp_path):
    file = pinged(tmp_path, 25_000_000, 45_000_000)
    found = measure_file(file)
    assert found.reordering.reordered_pkts == 0
    assert found.captured_at.text() == "sender or middle"
    assert "--protocol icmp-reply measures the replies" in found.notes[0]
    replies = measure_file(file, source=Source(protocol="icmp-reply"))
    assert (replies.reordering.received_pkts, replies.reordering.reordered_pkts) == (20, 2)
    assert replies.flow.source == "10.0.0.2"
    assert replies.notes == []


@pytest.mark.parametrize(
    ("hops", "place"), [((64, 55), "sender"), ((55, 64), "receiver"), ((60, 59), "middle"), ((64, 64), None)]
)
def test_times_to_live_tell_where_a_capture_was_made(tmp_path, hops, place):
    found = measure_file(pinged(tmp_path, 0, 20_000, hops))
    assert found.captured_at.text() == place
    assert [note.startswith("captured ") for note in found.notes] == [True] * (place in ("sender", "middle"))


@st.composite
def any_frames(draw):
    """Return random frames of a capture. They contain echo requests and other packets. They may be truncated,
    duplicated, and in any order."""
    numbers = draw(st.lists(st.integers(0, 30), min_size=1, max_size=30))
    frames = [
        Frame(1000 * k, draw(st.sampled_from([ethernet, pppoe]))(echo(number)), captured_bytes=draw(cuts))
        for k, number in enumerate(numbers)
    ]
    others = [ethernet(bytes(46), 0x0806), ethernet(ip(17, bytes(20))), ethernet(tcp(1, 0)), bytes(9)]
    return frames + [Frame(0, other) for other in draw(st.lists(st.sampled_from(others), max_size=5))]


cuts = st.one_of(st.none(), st.integers(0, 80))


@settings(max_examples=100)
@given(any_frames(), st.sampled_from([pcap_file, pcapng_file]))
def test_every_packet_is_numbered_counted_or_skipped_with_a_reason(tmp_path_factory, frames, write):
    found = reordering.survey(write(tmp_path_factory.mktemp("any") / "a.pcap", frames))
    counts = found.counts
    assert counts["packets_pkts"] == len(frames)
    read = ("numbered_pkts", "answer_pkts", "udp_pkts", "without_field_pkts", "foreign_pkts", "skipped_pkts")
    assert sum(counts[name] for name in read) == len(frames)
    assert sum(skip.count for skip in found.skipped) == counts["skipped_pkts"]
    assert sum(flow.packets_pkts for flow in found.flows) == counts["numbered_pkts"]
    # The headers of Ethernet, IP and ICMP have 42 bytes in total, or 50 with PPPoE.
    whole = [frame for frame in frames if frame.captured_bytes is None or frame.captured_bytes >= 50]
    assert counts["skipped_pkts"] <= len(frames) - len([frame for frame in whole if len(frame.data) > 66])


@settings(max_examples=25)
@given(st.data())
def test_a_damaged_length_of_a_block_is_found_by_the_other_one(tmp_path_factory, data):
    frames = [Frame(1000 * k, ethernet(echo(k))) for k in range(6)]
    file = pcapng_file(tmp_path_factory.mktemp("length") / "a.pcapng", frames)
    content = bytearray(file.read_bytes())
    places, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at + 4 : at + 8], "little")
        places += [at + 4, at + length - 4]
        at += length
    at = data.draw(st.sampled_from(places))
    content[at + data.draw(st.integers(0, 3))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    try:
        found = reordering.survey(file)
    except LeowarpError as error:
        hint = error.hint
    else:
        # The changed length makes the packet end beyond the end of the file.
        hint = found.skipped[-1].why
        assert "cut off by the end of the file" in hint
    assert hint


@settings(max_examples=25)
@given(st.integers(0, 5), st.integers(1, 2**31))
def test_a_record_that_holds_more_than_the_packet_had_is_found(tmp_path_factory, number, more):
    frames = [Frame(1000 * k, ethernet(echo(k))) for k in range(6)]
    file = pcap_file(tmp_path_factory.mktemp("length") / "a.pcap", frames)
    content = bytearray(file.read_bytes())
    at = 24 + number * (16 + len(frames[0].data)) + 8
    content[at : at + 4] = min(2**32 - 1, len(frames[0].data) + more).to_bytes(4, "little")
    file.write_bytes(content)
    try:
        found = reordering.survey(file)
    except LeowarpError:
        return
    # The changed length makes the damaged packet include the bytes of later packets, and `skipped` reports these
    # packets.
    assert found.skipped


@pytest.mark.parametrize("write", [pcap_file, pcapng_file])
def test_a_capture_that_ends_inside_a_packet_is_read_up_to_it(tmp_path, write):
    file = write(tmp_path / "a", apart([echo(number) for number in REORDERED]))
    file.write_bytes(file.read_bytes()[:-30])
    found = measure_file(file)
    assert (found.reordering.received_pkts, found.reordering.reordered_pkts) == (4, 1)
    assert found.skipped == [Skip(1, "packet cut off by the end of the file, and whatever came after it")]
    assert counted(found) == {"packets_pkts": 5, "numbered_pkts": 4, "skipped_pkts": 1}
    assert "the file ends inside a packet" in found.notes[0]


def test_captures_of_other_formats_are_named(tmp_path):
    (tmp_path / "a").write_bytes(b"snoop\0\0\0" + bytes(64))
    with pytest.raises(LeowarpError, match=r"another format \(snoop\)") as caught:
        measure_file(tmp_path / "a")
    assert "editcap" in caught.value.hint
    file = pcapng_file(tmp_path / "b", apart([echo(1)]))
    content = bytearray(file.read_bytes())
    content[12] = 2
    file.write_bytes(content)
    with pytest.raises(LeowarpError, match="another major version of pcapng"):
        measure_file(file)


def test_packets_that_mostly_stand_twice_are_named(tmp_path):
    twice = [echo(number) for number in REORDERED for _ in range(2)]
    found = measure_file(pcap_file(tmp_path / "a", apart(twice)))
    assert any("5 of 10 packets repeat the number of an earlier one" in note for note in found.notes)
    once = measure_file(pcap_file(tmp_path / "b", apart([*twice[::2], twice[0]])))
    assert not any("repeat the number" in note for note in once.notes)
