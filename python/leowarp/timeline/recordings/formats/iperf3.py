# SPDX-License-Identifier: Apache-2.0
"""iperf3's JSON (``iperf3 -J -i 0.1 -c SERVER``): the result of a TCP transfer in each interval.
docs/reference/formats.md lists what is used, skipped and refused.

The source is iperf_api.c of iperf 3.9 to 3.17, function print_interval_results. The client is at the user's end. The
client sends *up*. With ``--reverse`` the server sends *down*, and ``--bidir`` makes one transfer in each direction.
Only the sender knows retransmissions, congestion window and round trip. The throughput is the rate of one flow, and not
the capacity of the path. The round trip is TCP's smoothed round trip, which includes the delay in the queue that the
flow itself fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.timeline.recordings.formats.documents import IPERF3_HINT as _HINT
from leowarp.timeline.recordings.formats.documents import document_of, documents_of, part_of
from leowarp.timeline.recordings.formats.iperf3_intervals import VALUES, Interval, Roles, interval_of
from leowarp.timeline.recordings.formats.lines import text_of
from leowarp.timeline.recordings.measurement import Measurement, Series, Transfer

_NOT_CAPACITY = "throughput is what the flow got, payload alone; it is not the capacity"
_APART_RATIO = 0.02
"""A sum of iperf3 may differ from the value that it should have by at most this ratio. Small differences are normal,
because iperf3 rounds rates and ends each interval with a complete segment."""


def looks_like_iperf3(text: str) -> bool:
    """Return whether a JSON text has iperf3's intervals, or the events of ``--json-stream``. The result is False if it
    has irtt's round trips."""
    return '"round_trips"' not in text and ('"intervals"' in text or ('"event"' in text and '"interval"' in text))


def read_iperf3(path: Path) -> Measurement:
    """Return the transfer, or one transfer per direction. If the sender wrote the file, the measurement also has a
    series of the sender's smoothed round trips.

    Raises ScenarioError, with the file and the faulty interval or line.
    """
    skips = Skips()
    document, notes = _document(path, skips)
    start, test = _object(document, "start"), _object(document, "start", "test_start")
    if test.get("protocol", "TCP") != "TCP":
        raise ScenarioError(
            f"{path}: start.test_start.protocol = {test['protocol']!r:.40}: only TCP's can be read", _HINT
        )
    # In a server's file, accepted_connection replaces the client's connecting_to (iperf_api.c, iperf_on_connect).
    roles = Roles(
        server="accepted_connection" in start and "connecting_to" not in start,
        reverse=test.get("reverse") in (1, True),
        both=test.get("bidir") in (1, True),
    )
    intervals = _in_order(path, _read(path, document["intervals"], roles, skips))
    notes += _notes(document, test, intervals)
    ways = [way for way in ("up", "down") if any(way in one.ways for one in intervals)]
    transfers = [_transfer(intervals, way) for way in ways]
    # In a test of both directions, the sums at the end cover both directions together.
    if len(transfers) == 1:
        total = part_of(document, "end", "sum_sent", "retransmits")
        if type(total) is int and 0 <= total < 2**40:
            transfers = [replace(transfers[0], all_retransmissions=total)]
    senders = [one for one in transfers if (one.rtt_ns > 0).any()]
    round_trip = None
    if senders:
        measured = senders[0].rtt_ns > 0
        notes.append("round trips are TCP's smoothed ones, with the flow's own queue in them")
        # iperf3 queries the socket at the end of the interval (iperf_api.c, iperf_stats_callback). This end is
        # therefore the time of the round trip.
        end_ns = senders[0].t_ns + senders[0].length_ns
        round_trip = Series.of(end_ns[measured], np.round(senders[0].rtt_ns[measured]))
    return Measurement(
        source=str(path),
        format="iperf3",
        round_trip=round_trip,
        transfer=transfers[0],
        transfer_back=transfers[1] if len(transfers) > 1 else None,
        wall_ns=_wall_ns(start, test),
        skipped=skips.found,
        notes=(_NOT_CAPACITY, *notes, *skips.lines),
    )


def _document(path: Path, skips: Skips) -> tuple[dict[str, Any], list[str]]:
    text = text_of(path)
    if len(text) > plainfiles.MOST_JSON_BYTES:
        raise ScenarioError(
            f"{path}: iperf3's JSON of more than {plainfiles.MOST_JSON_BYTES >> 20} MiB",
            "measure with longer intervals (iperf3 -i 1), or for a shorter time",
        )
    if '"event"' in text and '"intervals"' not in text:
        return _of_events(path, text, skips)
    document, notes = document_of(path, text, "intervals", "iperf3", _HINT, skips, _with_both_sums)
    if isinstance(document.get("error"), str):
        notes.append(f"iperf3 broke off and says: {document['error'][:200]}")
    return document, notes


def _of_events(path: Path, text: str, skips: Skips) -> tuple[dict[str, Any], list[str]]:
    """Return the document that iperf3 would have written without ``--json-stream``, from the events of the stream."""
    whole: dict[str, Any] = {"intervals": []}
    notes = []
    for one in documents_of(path, text, "iperf3", _HINT, skips, _with_both_sums):
        event = one.value.get("event") if isinstance(one.value, dict) else None
        data = one.value.get("data") if event is not None else None
        if event in ("start", "end"):
            if event in whole:
                raise ScenarioError(
                    f"{path}:{one.line}: a second {event} of iperf3: two streams of events in one file",
                    f"read them apart: head -n {one.line - 1} {path} > first.json; "
                    f"tail -n +{one.line} {path} > second.json",
                )
            whole[event] = data
        elif event == "interval":
            whole["intervals"].append(data)
        elif event == "error":
            notes.append(f"iperf3 broke off and says: {str(data)[:200]}")
        else:
            skips.add(
                "line that is no event of an interval", "lines that are no event of an interval", f"line {one.line}"
            )
    if not whole["intervals"]:
        raise ScenarioError(f"{path}: no event is an interval: nothing was measured", _HINT)
    if "end" not in whole:
        notes.append("the stream of events has no end: it was broken off")
    if "start" not in whole:
        notes.append("the stream of events has no start: what sent, and when, is not known; it is taken to be up")
    return whole, notes


def _with_both_sums(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Some releases write both sums of --bidir with the same key, `sum`. The second one is renamed.
    found: dict[str, Any] = {}
    for key, value in pairs:
        found["sum_bidir_reverse" if key == "sum" and key in found else key] = value
    return found


def _object(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    # Older iperf3 versions omit some objects.
    found = part_of(document, *keys)
    return found if isinstance(found, dict) else {}


def _read(path: Path, intervals: Sequence[Any], roles: Roles, skips: Skips) -> list[Interval]:
    found: list[Interval] = []
    failed: ScenarioError | None = None
    before = None
    for number, interval in enumerate(intervals):
        where = f"intervals[{number}]"
        if interval == before:
            skips.add("interval that stands twice", "intervals that stand twice", where)
            continue
        before = interval
        try:
            one = interval_of(f"{path}: {where}", interval, roles)
        except ScenarioError as error:
            failed = failed or error
            skips.add(
                "interval that cannot be read", "intervals that cannot be read", error.message.removeprefix(f"{path}: ")
            )
            continue
        if isinstance(one, tuple):
            skips.add(*one, where)
            failed = failed or ScenarioError(f"{path}: {where}: no interval is left: {one[1]}", _HINT)
        else:
            found.append(one)
    if not found and failed is not None:
        raise failed
    return found


def _in_order(path: Path, intervals: list[Interval]) -> list[Interval]:
    last_start_ns = last_end_ns = -1
    for one in intervals:
        # An interval begins where the previous interval ends, or a little earlier, because ends are rounded and a timer
        # may be late.
        overlap_ns = last_end_ns - one.t_ns
        overlaps = overlap_ns > _APART_RATIO * (one.end_ns - one.t_ns) and last_end_ns > 0
        if one.t_ns <= last_start_ns or one.end_ns <= last_end_ns or overlaps:
            raise ScenarioError(
                f"{one.where}.sum: from {one.t_ns / 1e9:g} s to {one.end_ns / 1e9:g} s, which is no interval after the "
                "one before",
                _HINT,
            )
        last_start_ns, last_end_ns = one.t_ns, one.end_ns
    both = {way for one in intervals for way in one.ways}
    if len(both) > 1:
        for one in intervals:
            if len(one.ways) < 2:
                raise ScenarioError(f"{one.where}: {' '.join(one.ways)} alone, of a transfer in both directions", _HINT)
    return intervals


def _transfer(intervals: list[Interval], way: str) -> Transfer:
    rows = {name: np.array([one.ways[way][name] for one in intervals], dtype=np.float64) for name in VALUES}
    t_ns = np.array([one.t_ns for one in intervals], dtype=np.int64)
    return Transfer(
        t_ns=t_ns, length_ns=np.array([one.end_ns for one in intervals], dtype=np.int64) - t_ns, way=way,
        rate_bps=rows["bits_per_second"], retransmissions=rows["retransmits"],
        cwnd_bytes=rows["snd_cwnd"], rtt_ns=rows["rtt"] * 1e3,
    )  # fmt: skip


def _wall_ns(start: dict[str, Any], test: dict[str, Any]) -> int | None:
    seconds, omitted_s = part_of(start, "timestamp", "timesecs"), test.get("omit", 0)
    # A time before 2001 is ignored. A machine without a battery-backed clock starts in 1970, so its time has no
    # meaning.
    if type(seconds) is not int or not 1_000_000_000 <= seconds < 2**33:
        return None
    # After the intervals that iperf3 omits, the times of intervals restart at 0 (iperf_api.c, iperf_reset_stats).
    known = type(omitted_s) is int and 0 <= omitted_s <= 600
    return (seconds + (omitted_s if known else 0)) * 1_000_000_000


def _notes(document: dict[str, Any], test: dict[str, Any], intervals: list[Interval]) -> list[str]:
    notes = []
    counts = {one.streams for one in intervals}
    if len(counts) > 1:
        notes.append(f"intervals have {min(counts)} to {max(counts)} streams: some ended, or are missing")
    apart_ns = [b.t_ns - a.end_ns for a, b in pairwise(intervals)]
    gaps_ns = [gap for gap in apart_ns if gap > _APART_RATIO * (intervals[0].end_ns - intervals[0].t_ns)]
    if gaps_ns:
        notes.append(f"{len(gaps_ns)} gaps between intervals, {sum(gaps_ns) / 1e9:g} s, of which nothing is known")
    duration_s, last_s = part_of(test, "duration"), intervals[-1].end_ns / 1e9
    if type(duration_s) in (int, float) and last_s < duration_s * 0.95 - 0.1:
        notes.append(f"the test was to take {duration_s:g} s, and its intervals end at {last_s:g} s")
    # Only the sum of the side that wrote the file is made of the file's intervals.
    name = "sum_sent" if intervals[0].sends else "sum_received"
    said, known = part_of(document, "end", name, "bytes"), [one.moved_bytes for one in intervals]
    if type(said) is int and None not in known and len(intervals[0].ways) == 1:
        moved_bytes = sum(value for value in known if value is not None)
        if abs(moved_bytes - said) > _APART_RATIO * max(said, 1):
            notes.append(
                f"end.{name} says {said} bytes, and the intervals hold {moved_bytes}: some are missing, or damaged"
            )
    return notes
