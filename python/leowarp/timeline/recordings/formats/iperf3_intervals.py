# SPDX-License-Identifier: Apache-2.0
"""One interval of iperf3's JSON: its streams with their directions, and a check that its sums match its streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.documents import IPERF3_HINT as _HINT

VALUES = {"bits_per_second": 1e13, "retransmits": 1e9, "snd_cwnd": 1e12, "rtt": 6e7}
"""The fields that are read from each interval, with the largest plausible value of each field."""

_MOST_S = 30 * 86_400
_APART_RATIO = 0.02
_SEGMENT_BYTES = 1500

OMITTED = ("interval that iperf3 omitted (--omit)", "intervals that iperf3 omitted (--omit)")
EMPTY = ("interval of no length", "intervals of no length")


@dataclass(frozen=True)
class Roles:
    """Says which side of a test wrote the file, and which side sends. Both are the same in all intervals.

    server: Whether the server wrote the file.
    reverse: Whether the server sends.
    both: Whether both sides send (``--bidir``).
    """

    server: bool
    reverse: bool
    both: bool


@dataclass(frozen=True)
class Interval:
    """One interval of a transfer.

    ways: For ``up``, ``down`` or both, the values of the fields in `VALUES`, in the file's units. nan means that the
        file lacks the value.
    moved_bytes: The payload in both directions. None means that at least one stream does not report its bytes.
    sends: Whether the side that wrote the file is the sender.
    """

    where: str
    t_ns: int
    end_ns: int
    ways: dict[str, dict[str, float]]
    streams: int
    moved_bytes: int | None
    sends: bool


def interval_of(where: str, interval: Any, roles: Roles) -> Interval | tuple[str, str]:
    """Return the interval. If the interval is left out, the result is the reason for this, in the singular and in the
    plural.

    Raises ScenarioError if the interval cannot be read, or contradicts itself.
    """
    if not isinstance(interval, dict) or not isinstance(interval.get("streams"), list):
        raise ScenarioError(f"{where}: no streams in it", _HINT)
    streams = interval["streams"]
    for place, stream in enumerate(streams):
        if not isinstance(stream, dict):
            raise ScenarioError(f"{where}.streams[{place}] is no stream", _HINT)
    sums = [interval[name] for name in ("sum", "sum_bidir_reverse") if isinstance(interval.get(name), dict)]
    if any(one.get("omitted") is True for one in (*sums, *streams)):
        return OMITTED
    whole = sums[0] if sums else streams[0] if streams else {}
    start_s, end_s = (_number(f"{where}.sum", whole, name, _MOST_S) for name in ("start", "end"))
    # If the test ends exactly at the end of an interval, iperf3 writes one more interval. The additional interval is
    # empty, and its rate is null, 0 or not a number (esnet/iperf 278, 388).
    t_ns, end_ns = round(start_s * 1e9), round(end_s * 1e9)
    if t_ns == end_ns:
        return EMPTY
    if not streams:
        raise ScenarioError(f"{where}: no streams in it", _HINT)
    if end_s < start_s:
        raise ScenarioError(f"{where}.sum: from {start_s:g} s to {end_s:g} s, which is no interval", _HINT)
    for one in sums:
        _check_rate(f"{where}.sum", one)
    by_way: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, stream in enumerate(streams):
        by_way.setdefault(_way(where, place, stream, roles), []).append((place, stream))
    ways = {}
    for way, mine in by_way.items():
        ways[way] = _values(where, mine)
        _check_sum(where, ways[way], mine, _sum_of(sums, mine, alone=len(by_way) == 1))
    if (roles.both or len(sums) > 1) and len(ways) < 2:
        raise ScenarioError(f"{where}: one direction alone, of a transfer in both", _HINT)
    known = [stream["bytes"] for stream in streams if type(stream.get("bytes")) is int]
    sends = ("up" in ways) != roles.server
    return Interval(where, t_ns, end_ns, ways, len(streams), sum(known) if len(known) == len(streams) else None, sends)


def _way(where: str, place: int, stream: dict[str, Any], roles: Roles) -> str:
    # Data from the client to the server go up, because the client is at the user's end of the path.
    sender = stream.get("sender")
    if not isinstance(sender, bool):
        if roles.both:
            raise ScenarioError(
                f"{where}.streams[{place}]: a transfer in both directions (--bidir), and its streams do not say "
                "which is which",
                "measure with a newer iperf3, or each direction by itself: iperf3 -J -c SERVER; iperf3 -J -R -c SERVER",
            )
        return "down" if roles.reverse else "up"
    return "up" if sender != roles.server else "down"


def _values(where: str, streams: list[tuple[int, dict[str, Any]]]) -> dict[str, float]:
    for place, stream in streams:
        _number(f"{where}.streams[{place}]", stream, "bits_per_second", VALUES["bits_per_second"])
        _check_rate(f"{where}.streams[{place}]", stream)
    found = {}
    for name, most in VALUES.items():
        values = [
            _number(f"{where}.streams[{place}]", stream, name, most) if name in stream else float("nan")
            for place, stream in streams
        ]
        # If one stream has no value, the sum is nan, because a sum over the other streams would look complete.
        total = sum(values)
        found[name] = total / len(values) if name == "rtt" else total
    return found


def _sum_of(
    sums: list[dict[str, Any]], streams: list[tuple[int, dict[str, Any]]], *, alone: bool
) -> dict[str, Any] | None:
    """Return the sum that iperf3 printed for the streams of one direction."""
    if alone and len(sums) == 1:
        return sums[0]
    sender = streams[0][1].get("sender")
    return next((one for one in sums if one.get("sender") is sender), None) if sender is not None else None


def _check_rate(where: str, stream: dict[str, Any]) -> None:
    values: list[Any] = [stream.get(name) for name in ("start", "end", "bytes", "bits_per_second")]
    if any(type(value) not in (int, float) for value in values):
        return
    start, end, moved, bps = values
    if abs(bps * (end - start) / 8 - moved) > _APART_RATIO * abs(moved) + _SEGMENT_BYTES:
        raise ScenarioError(f"{where}: {moved:g} bytes in {end - start:g} s are not {bps:g} bit/s: damaged", _HINT)


def _check_sum(
    where: str, values: dict[str, float], streams: list[tuple[int, dict[str, Any]]], whole: dict[str, Any] | None
) -> None:
    if whole is None:
        return
    # The sums are compared by bytes if possible, because each stream measures its rate with its own clock.
    name, total = "bits_per_second", values["bits_per_second"]
    if all(type(stream.get("bytes")) is int for _, stream in streams):
        name, total = "bytes", sum(stream["bytes"] for _, stream in streams)
    said: Any = whole.get(name)
    if type(said) not in (int, float):
        return
    if abs(said - total) > _APART_RATIO * abs(total) + _SEGMENT_BYTES * (name == "bytes"):
        raise ScenarioError(f"{where}: its sum says {name} = {said:g}, and its streams add up to {total:g}", _HINT)


def _number(where: str, of: dict[str, Any], name: str, most: float) -> float:
    value: Any = of.get(name)
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise ScenarioError(f"{where}.{name} = {value!r:.40} is not a number from 0 to {most:g}", _HINT)
    return float(value)
