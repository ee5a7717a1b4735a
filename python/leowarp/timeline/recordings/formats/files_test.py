# SPDX-License-Identifier: Apache-2.0
"""Tests that small files with the output of each tool are read. Also tests that leowarp recognises which tool wrote a
file."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Measurement, Series, read, read_capacity
from leowarp.timeline.recordings.formats.files import format_of
from leowarp.timeline.recordings.formats.mahimahi import capacity_of
from support.synthetic.dish import MS, S

NOON_NS = 1_715_947_200 * S  # 2024-05-17T12:00:00Z


def written(folder: Path, text: str, name: str = "trace") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def round_trip_of(measurement: Measurement) -> Series:
    assert measurement.round_trip is not None
    return measurement.round_trip


def trip(number: int, sent_ns: int, rtt_ns: int | None, lost: str | bool = "false", **delays: int) -> dict:
    delay = {} if rtt_ns is None else {"rtt": rtt_ns, **delays}
    stamps = {"client": {"send": {"wall": sent_ns, "monotonic": sent_ns - NOON_NS}, "receive": {}}, "server": {}}
    return {"seqno": number, "lost": lost, "timestamps": stamps, "delay": delay, "ipdv": {}}


def irtt_text(trips: list[dict]) -> str:
    config = {"ip_version": "IPv4", "params": {"length": 60, "interval": 10 * MS}}
    return json.dumps({"version": {"irtt": "0.9.1"}, "config": config, "stats": {}, "round_trips": trips})


def ping_line(t_ns: int, seq: int, rtt_ms: float, more: str = "") -> str:
    printed_s = (t_ns + round(rtt_ms * MS)) / 1e9
    return f"[{printed_s:.6f}] 64 bytes from 192.0.2.1: icmp_seq={seq} ttl=54 time={rtt_ms} ms{more}\n"


def test_irtt_gives_round_trips_ways_of_loss_and_one_way_delays(tmp_path: Path) -> None:
    trips = [
        trip(0, NOON_NS, 30_123_456, send=12_000_000, receive=18_123_456),
        trip(1, NOON_NS + 10 * MS, None, "true_up"),
        trip(2, NOON_NS + 20 * MS, None, "true_down"),
        trip(3, NOON_NS + 30 * MS, None, True),
        trip(4, NOON_NS + 41 * MS, 29_000_000, False, send=11_000_000, receive=18_000_000),
    ]
    measurement = read(written(tmp_path, irtt_text(trips), "a.json"))
    assert (measurement.format, measurement.wall_ns, measurement.probe_bytes, measurement.probes) == (
        "irtt",
        NOON_NS,
        88,
        True,
    )
    series = round_trip_of(measurement)
    assert series.t_ns.tolist() == [0, 10 * MS, 20 * MS, 30 * MS, 41 * MS]
    assert series.delay_ns[[0, 4]].tolist() == [30_123_456, 29_000_000]
    assert series.lost.tolist() == [False, True, True, True, False]
    assert measurement.lost_up is not None
    assert measurement.lost_down is not None
    assert (measurement.lost_up.tolist().index(True), measurement.lost_down.tolist().index(True)) == (1, 2)
    assert measurement.up is not None
    assert measurement.down is not None
    # If a probe was lost in one direction, its delay in the other direction is unknown.
    assert measurement.up.t_ns.tolist() == [0, 10 * MS, 41 * MS]
    assert measurement.down.delay_ns[[0, 2]].tolist() == [18_123_456, 18_000_000]


def test_irtt_packed_and_without_clocks_of_the_server(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(irtt_text([trip(0, NOON_NS, 5), trip(1, NOON_NS + 7, 6)]).encode()))
    measurement = read(path)
    assert (measurement.format, measurement.down, measurement.up, len(round_trip_of(measurement))) == (
        "irtt",
        None,
        None,
        2,
    )


PING = (
    "PING example.net (192.0.2.1) 56(84) bytes of data.\n"
    + ping_line(NOON_NS, 1, 30.1)
    + ping_line(NOON_NS + 100 * MS, 2, 30.25)
    + f"[{NOON_NS / 1e9 + 0.4:.6f}] no answer yet for icmp_seq=3\n"
    + "From 192.0.2.9 icmp_seq=4 Destination Host Unreachable\n"
    + ping_line(NOON_NS + 400 * MS, 5, 31.0)
    + ping_line(NOON_NS + 400 * MS, 5, 39.0, " (DUP!)")
    + "\n--- example.net ping statistics ---\n"
    + "5 packets transmitted, 3 received, +1 duplicates, 40% packet loss, time 401ms\n"
    + "rtt min/avg/max/mdev = 30.100/30.450/31.000/0.395 ms\n"
)


def test_ping_with_time_stamps(tmp_path: Path) -> None:
    measurement = read(written(tmp_path, PING))
    assert (measurement.format, measurement.wall_ns, measurement.probe_bytes) == ("ping", NOON_NS, 84)
    series = round_trip_of(measurement)
    assert series.t_ns.tolist() == [0, 100 * MS, 200 * MS, 300 * MS, 400 * MS]
    assert series.lost.tolist() == [False, False, True, True, False]
    assert series.delay_ns[[0, 1, 4]].tolist() == [30_100_000, 30_250_000, 31_000_000]
    assert any("1 duplicates" in note for note in measurement.notes)
    # The path may also be a str, as in notebooks.
    assert read(str(written(tmp_path, PING))).notes == measurement.notes


def test_ping_without_time_stamps_needs_an_interval(tmp_path: Path) -> None:
    text = "".join(f"64 bytes from 2001:db8::1: icmp_seq={seq} ttl=54 time=2{seq} ms\n" for seq in (1, 2, 4))
    path = written(tmp_path, text)
    with pytest.raises(ScenarioError, match="trace:1: replies without time stamps") as raised:
        read(path)
    assert 'interval = "1 s"' in str(raised.value.hint)
    measurement = read(path, interval_ns=200 * MS)
    assert round_trip_of(measurement).t_ns.tolist() == [0, 200 * MS, 400 * MS, 600 * MS]
    assert round_trip_of(measurement).lost.tolist() == [False, False, True, False]
    assert (measurement.probe_bytes, measurement.wall_ns) == (104, None)


@pytest.mark.parametrize("first", [1, 60_000, 65_535])
def test_sequence_numbers_begin_anew(tmp_path: Path, first: int) -> None:
    seqs = [number for number in range(first, first + 8_000) if number % 100]
    text = "".join(ping_line(NOON_NS + (n - first) * 10 * MS, n % 65_536, 25.0) for n in seqs)
    series = round_trip_of(read(written(tmp_path, text)))
    assert (np.diff(series.t_ns) == 10 * MS).all()
    assert len(series) - series.lost.sum() == len(seqs)


def test_an_outage_longer_than_half_of_all_sequence_numbers_is_told_by_the_clock(tmp_path: Path) -> None:
    numbers = [*range(1, 100), *range(50_000, 50_100), *range(150_000, 150_100)]
    text = "".join(ping_line(NOON_NS + n * 10 * MS, n % 65_536, 25.0) for n in numbers)
    series = round_trip_of(read(written(tmp_path, text)))
    assert len(series) == 150_099
    assert series.t_ns[-1] == 150_098 * 10 * MS


def test_replies_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    text = ping_line(NOON_NS, 1, 30.0) + ping_line(NOON_NS + 20 * MS, 3, 20.0) + ping_line(NOON_NS + 10 * MS, 2, 40.0)
    measurement = read(written(tmp_path, text))
    assert round_trip_of(measurement).delay_ns.tolist() == [30 * MS, 40 * MS, 20 * MS]
    assert any("after a later" in note for note in measurement.notes)


def test_a_last_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    text = ping_line(NOON_NS, 1, 30.0) + ping_line(NOON_NS + 10 * MS, 2, 30.0)[:40]
    assert len(round_trip_of(read(written(tmp_path, text)))) == 1


def test_leoreplayer_is_one_delay_for_each_10_ms(tmp_path: Path) -> None:
    measurement = read(written(tmp_path, "12\n12\n16\n"))
    assert measurement.down is not None
    assert (measurement.format, measurement.probes, measurement.end_ns) == ("leoreplayer", False, 30 * MS)
    assert measurement.down.t_ns.tolist() == [0, 10 * MS, 20 * MS]
    assert measurement.down.delay_ns.tolist() == [12 * MS, 12 * MS, 16 * MS]
    assert measurement.notes == ()
    assert "line 3 has no end" in read(written(tmp_path, "12\n12\n1")).notes[0]


def test_a_table_may_hold_round_trips_losses_and_times_of_the_wall_clock(tmp_path: Path) -> None:
    text = "t_s,rtt_ms,rate_mbps\n1715947200.5,30,10\n1715947201,lost,0\n1715947202,down,\n1715947203,31,unshaped\n"
    measurement = read(written(tmp_path, text))
    series = round_trip_of(measurement)
    assert (measurement.format, measurement.wall_ns, measurement.probes) == ("csv", NOON_NS + S // 2, False)
    assert series.t_ns.tolist() == [0, S // 2, 3 * S // 2, 5 * S // 2]
    assert (series.lost.tolist(), series.cut.tolist()) == ([False, True, False, False], [False, False, True, False])
    assert measurement.capacity_down is not None
    assert measurement.capacity_down.rate_bps.tolist() == [10_000_000, 0, -1]  # no connection: rate stays
    assert measurement.capacity_down.t_ns.tolist() == [0, S // 2, 5 * S // 2]


def test_a_table_of_capacity(tmp_path: Path) -> None:
    down, up, _ = read_capacity(written(tmp_path, "# mean of 100 ms\nt_s,mbps\n0.0,24.36\n0.1,42.48\n"))
    assert up is None
    assert (down.t_ns.tolist(), down.rate_bps.tolist()) == ([0, 100 * MS], [24_360_000, 42_480_000])
    down, up, _ = read_capacity(written(tmp_path, "t_s,rate_mbps,rate_up_mbps\n0,1,2\n"))
    assert up is not None
    assert (down.rate_bps.tolist(), up.rate_bps.tolist()) == ([1_000_000], [2_000_000])


def test_mahimahi_opportunities_are_the_capacity_of_the_millisecond_before(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n1\n2\n2\n5\n")
    down, _, _ = read_capacity(path)
    assert down.t_ns.tolist() == [0, 2 * MS, 4 * MS]
    assert down.rate_bps.tolist() == [24_000_000, 0, 12_000_000]
    assert down.end_ns == 5 * MS
    again, _, _ = read_capacity(path, until_ns=8 * MS)
    assert again.t_ns.tolist() == [0, 2 * MS, 4 * MS, 5 * MS, 7 * MS, 9 * MS]
    assert (again.rate_bps[3], again.end_ns) == (24_000_000, 10 * MS)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=300), st.integers(1, 4), st.sampled_from([1500, 1514]))
def test_the_integral_of_the_capacity_is_the_opportunities(times: list[int], rounds: int, packet: int) -> None:
    times_ms = np.sort(np.array([*times, 401]))
    repeated = np.add.outer(np.arange(rounds) * 401, times_ms).ravel()
    measurement = capacity_of(repeated, packet)
    ends = np.append(measurement.t_ns[1:], measurement.end_ns)
    for at_ms in (1, 17, 100, 400, 401, 401 * rounds):
        at_ns = at_ms * MS
        sent_bits = (measurement.rate_bps * np.clip(np.minimum(ends, at_ns) - measurement.t_ns, 0, None)).sum() / S
        assert sent_bits == (repeated <= at_ms).sum() * packet * 8


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(
    st.lists(st.one_of(st.none(), st.integers(1, 9_000)), min_size=1, max_size=40),
    st.integers(1, 70_000),
    st.sampled_from([10, 200, 1000]),
)
def test_what_was_measured_is_read_whatever_wrote_it(
    tmp_path: Path, rtts: list[int | None], first: int, every_ms: int
) -> None:
    """Each element of `rtts` is a round trip in tenths of a ms. None means a lost probe. The first and the last probe
    are never lost, because the output of ping cannot show that they were sent."""
    rtts = [100, *rtts, 100]
    sent = [NOON_NS + place * every_ms * MS for place in range(len(rtts))]
    want = np.array([np.nan if rtt is None else rtt * 100_000.0 for rtt in rtts])
    texts = {
        "irtt": irtt_text(
            [
                trip(place, t_ns, None if rtt is None else rtt * 100_000, "true" if rtt is None else "false")
                for place, (t_ns, rtt) in enumerate(zip(sent, rtts, strict=True))
            ]
        ),
        "ping": "".join(
            ping_line(t_ns, (first + place) % 65_536, rtt / 10)
            for place, (t_ns, rtt) in enumerate(zip(sent, rtts, strict=True))
            if rtt is not None
        ),
        "csv": "t_s,rtt_ms\n"
        + "".join(
            f"{t_ns / 1e9:.3f},{'lost' if rtt is None else rtt / 10}\n" for t_ns, rtt in zip(sent, rtts, strict=True)
        ),
    }
    for kind, text in texts.items():
        measurement = read(written(tmp_path, text))
        series = round_trip_of(measurement)
        assert (measurement.format, measurement.wall_ns) == (kind, NOON_NS)
        assert np.array_equal(series.t_ns, np.array(sent) - NOON_NS)
        assert np.array_equal(series.delay_ns, want, equal_nan=True)


WRONG = {
    "{}": "neither iperf3's intervals nor irtt's round_trips",
    '{"round_trips": []}': "round_trips is empty",
    '{"round_trips": [\n{]}': r"trace:2: not JSON",
    '{"round_trips": [3]}': r"round_trips\[0\]: lost is missing",
    irtt_text([trip(0, NOON_NS, -5)]): r"round_trips\[0\]: delay.rtt = -5 is below 0",
    irtt_text([trip(0, NOON_NS, None)]): r"round_trips\[0\]: delay.rtt is missing",
    irtt_text([trip(0, NOON_NS, 5, "maybe")]): "none of false, true",
    "12\n13.5\n": r"trace:2: '13\.5' is not a delay in ms",
    "12\n-3\n": r"trace:2: '-3' is not",
    "hello\n": "trace:1: neither a table",
    "": "trace is empty",
    "# nothing": "trace is empty",
    "t,delay_ms\n0,1\n": r"trace:1: unknown columns: 't'",
    "t_s,delay_ms,rtt_ms\n0,1,2\n": "both delay_ms and rtt_ms",
    "t_s,rtt_ms,delay_up_ms\n0,1,2\n": "delay_up_ms beside rtt_ms",
    ping_line(NOON_NS, 1, 30.0) + "64 bytes from 192.0.2.1: icmp_seq=2 ttl=54 time=30 ms\n": "trace:2: some replies",
    "PING a (192.0.2.1) 56(84) bytes of data.\n64 bytes from 192.0.2.1: garbled\n": "trace:2: not a whole reply",
    "8 bytes from 192.0.2.1: icmp_seq=1 ttl=54\n" * 2: "trace:1: a reply without a time, as all 2",
    "PING example.net (192.0.2.1) 56(84) bytes of data.\n": "no line is a reply",
    "PING example.net (192.0.2.1) 56(84) bytes of data.\nno answer yet for icmp_seq=1\n\n"
    "--- example.net ping statistics ---\n5 packets transmitted, 0 received, 100% packet loss, time 4154ms\n": (
        "none of its 5 probes was answered"
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_files_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        read(written(tmp_path, text))
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    {"3\n2\n": "trace:2: 2 ms is before the 3 ms", "0\n0\n": "lasts 0 ms", "1.5\n": "trace:1", "": "is empty",
     "t_s\n1\n": "missing columns: 'rate_mbps'", "t_s,mbps\n0,-1\n": "must be from 0"}.items(),
)  # fmt: skip
def test_wrong_capacities_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        read_capacity(written(tmp_path, text))
    assert raised.value.hint


@pytest.mark.parametrize("text", [PING, "t_s,rtt_ms\n0,1\n", irtt_text([trip(0, NOON_NS, 5)])])
def test_an_interval_is_refused_where_it_has_no_effect(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError, match="an interval has no effect"):
        read(written(tmp_path, text), interval_ns=S)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"12\n" * 1000)[:20])
    for name, message in (("none", "No such file"), ("picture", "not a text file"), ("cut.gz", "damaged gzip")):
        with pytest.raises(ScenarioError, match=message):
            read(tmp_path / name)


A_LINE = """12|[1.5] 64 bytes from a: icmp_seq=1 ttl=1 time=3 ms|t_s,delay_ms|0,1|{|PING a|64 bytes from
{"round_trips":[{}]}||#|1,down|[1.5] 64 bytes from a: seq=1"""
lines = st.sampled_from(A_LINE.replace("\n", "|").split("|"))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=100)
@given(st.lists(lines, max_size=5), st.booleans())
def test_any_text_is_read_or_refused(tmp_path: Path, text: list[str], interval: bool) -> None:
    path = written(tmp_path, "\n".join(text))
    try:
        measurement = read(path, interval_ns=S if interval else None)
    except ScenarioError:
        return
    assert measurement.format == format_of(path)
    assert all(len(series) and (np.diff(series.t_ns) > 0).all() for series in measurement.series.values())
