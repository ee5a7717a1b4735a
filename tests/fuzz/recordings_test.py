# SPDX-License-Identifier: Apache-2.0
"""Tests that each reader of a damaged recording returns a consistent measurement, or refuses it with a hint."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Capacity, Measurement, describe, read, read_capacity

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

S, MS = 1_000_000_000, 1_000_000
BEGIN_S = 1_700_000_000
NUMBERS = range(1, 30)

PING = [
    "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.",
    *(f"[{BEGIN_S + n / 10:.6f}] 64 bytes from 192.0.2.1: icmp_seq={n} ttl=58 time=3{n % 10}.5 ms" for n in NUMBERS),
    "no answer yet for icmp_seq=30", "From 192.0.2.9 icmp_seq=31 Destination Host Unreachable", "",
    "--- 192.0.2.1 ping statistics ---", "31 packets transmitted, 29 received, 6% packet loss, time 3000ms",
    "rtt min/avg/max/mdev = 30.500/34.983/39.500/2.900 ms",
]  # fmt: skip
STREAM = {
    "start": 0.0, "end": 1.0, "seconds": 1.0, "bytes": 5_000_000, "bits_per_second": 4e7, "retransmits": 3,
    "rtt": 34_000, "snd_cwnd": 80_000, "omitted": False, "sender": True,
}  # fmt: skip


def _interval(number: int) -> dict:
    stream = STREAM | {"start": float(number), "end": number + 1.0}
    return {"streams": [stream], "sum": stream}


def _trip(number: int) -> dict:
    sent = {"wall": BEGIN_S * S + number * 10 * MS, "monotonic": number * 10 * MS}
    return {"seqno": number, "lost": "false", "timestamps": {"client": {"send": sent}}, "delay": {"rtt": 400_000}}


IPERF3 = json.dumps(
    {
        "start": {"test_start": {"protocol": "TCP", "duration": 8}},
        "intervals": [_interval(n) for n in range(8)],
        "end": {},
    },
    indent=1,
).split("\n")
EVENTS = [
    json.dumps({"event": "start", "data": {}}),
    *(json.dumps({"event": "interval", "data": _interval(n)}) for n in range(8)),
    json.dumps({"event": "end", "data": {}}),
]
IRTT = json.dumps(
    {"config": {"params": {"length": 60, "interval": 10 * MS}}, "round_trips": [_trip(n) for n in range(10)]}, indent=1
).split("\n")
MAHIMAHI = [str(4 * n) for n in range(1, 40)]
TABLE = ["t_s,delay_ms,rate_mbps,loss_ratio", *(f"{n},2{n % 10}.5,{n},0.{n % 10}" for n in range(1, 30))]
COLUMNS = [f"{BEGIN_S + n / 10} {n} 3{n % 10}.5" for n in range(1, 30)]

LINES = {"ping": PING, "iperf3": IPERF3, "events": EVENTS, "irtt": IRTT, "csv": TABLE, "columns": COLUMNS}

pieces = st.sampled_from(
    ["", "\n", " ", "-1", "nan", "null", "1e999", "9" * 30, "{", "}", "[", ",", '"', "PING a (", "\x00", "é"]
)
change = st.tuples(
    st.sampled_from(["cut", "double", "swap", "drop", "insert", "replace", "join", "again"]),
    st.integers(0, 400), st.integers(0, 200), st.one_of(pieces, st.text(max_size=8)),
)  # fmt: skip
changes = st.lists(change, max_size=8)


def damaged(lines: list[str], changes: list[tuple[str, int, int, str]]) -> str:
    """Apply the changes to the lines, and return them as one string."""
    lines = list(lines)
    for kind, place, size, piece in changes:
        place = place % len(lines)
        line = lines[place]
        match kind:
            case "cut":
                lines[place] = line[:size]
            case "double":
                lines.insert(place, line)
            case "swap":
                lines[place], lines[place - 1] = lines[place - 1], line
            case "drop" if len(lines) > 1:
                del lines[place]
            case "insert":
                lines[place] = line[:size] + piece + line[size:]
            case "replace":
                lines[place] = line[: size % (len(line) + 1)] + piece + line[size % (len(line) + 1) + 1 :]
            case "join" if place:
                lines[place - 1 : place + 1] = [lines[place - 1] + line]
            case "again" if len(lines) < 200:
                lines += lines
    return "\n".join(lines)


def written(folder: Path, text: str) -> Path:
    path = folder / "recording"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def holds(found: Measurement) -> None:
    """Check rules that every measurement must satisfy."""
    for series in found.series.values():
        assert (np.diff(series.t_ns) > 0).all()
        known = series.delay_ns[~np.isnan(series.delay_ns)]
        assert found.round_trip is not series or (known >= 0).all()
    assert all(skip.count > 0 and skip.why and skip.first for skip in found.skipped)
    assert not found.skipped or any(note.startswith("skipped ") for note in found.notes)
    for transfer in (found.transfer, found.transfer_back):
        assert transfer is None or ((transfer.length_ns > 0).all() and (transfer.rate_bps >= 0).all())
    if any(len(series) for series in found.series.values()) or not found.series:
        describe(found)


@pytest.mark.parametrize("kind", LINES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=changes)
def test_a_damaged_recording_is_read_or_refused(
    tmp_path: Path, kind: str, changes: list[tuple[str, int, int, str]]
) -> None:
    path = written(tmp_path, damaged(LINES[kind], changes))
    for format in ("auto", "iperf3" if kind == "events" else kind):
        try:
            found = read(path, format)
        except ScenarioError:
            continue
        holds(found)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=changes)
def test_a_damaged_capacity_is_read_or_refused(tmp_path: Path, changes: list[tuple[str, int, int, str]]) -> None:
    try:
        found: Capacity = read_capacity(written(tmp_path, damaged(MAHIMAHI, changes)))[0]
    except ScenarioError:
        return
    assert (np.diff(found.t_ns) > 0).all()
    assert found.end_ns >= found.t_ns[-1]
    describe(Measurement(source="a", format="mahimahi").with_capacity(found, None))
