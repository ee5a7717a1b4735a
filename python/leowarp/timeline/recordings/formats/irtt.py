# SPDX-License-Identifier: Apache-2.0
"""Reads irtt's JSON (``irtt client -o FILE``). The JSON has round trips, and also one-way delays if the server sent
time stamps. docs/reference/formats.md lists what is used, skipped and refused.

The format is described in irtt-client(1), section OUTPUT, json_format 1. `delay.rtt` excludes the time that the server
needs to process a probe. `send` is the direction from client to server. It is called *up* here, because the client is
at the user. `receive` is *down*. A one-way delay is measured with the clocks of two machines, so it may be negative.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.timeline.recordings.formats.documents import IRTT_HINT as _HINT
from leowarp.timeline.recordings.formats.documents import document_of, part_of
from leowarp.timeline.recordings.formats.irtt_trips import Trip, clock_of, clocks_note, format_notes, stats_notes
from leowarp.timeline.recordings.formats.lines import text_of
from leowarp.timeline.recordings.measurement import Measurement, Series

_UDP_BYTES = {"IPv4": 28, "IPv6": 48}
"""The length of the IP and UDP headers before irtt's own packet, which has the length `config.params.length`."""


def looks_like_irtt(text: str) -> bool:
    """Return whether a JSON text contains irtt's round trips. If the text was cut off before the round trips, it only
    needs to contain irtt's version."""
    return '"round_trips"' in text or '"irtt"' in text


def read_irtt(path: Path) -> Measurement:
    """Return the round trips. For each lost probe, also return the direction in which it was lost. One-way delays are
    included if the server sent time stamps.

    Raises ScenarioError, with the file and the faulty round trip or line.
    """
    skips = Skips()
    document, notes = document_of(path, text_of(path), "round_trips", "irtt", _HINT, skips)
    clock, interval_ns, clock_notes = clock_of(document)
    trips = _trips(path, document, clock, interval_ns, skips)
    notes += clock_notes
    # Round trips are sorted by sending time here, because irtt sorts them by sequence number. After a clock adjustment,
    # a later probe may have an earlier time.
    by_time = {trip.sent_ns: trip for trip in sorted(trips, key=lambda trip: trip.sent_ns)}
    kept = list(by_time.values())
    zero_ns = kept[0].sent_ns
    t_ns = np.array([trip.sent_ns - zero_ns for trip in kept], dtype=np.int64)
    lost = [trip.lost for trip in kept]
    if len(kept) < len(trips):
        notes.append(f"{len(trips) - len(kept)} round trips with the sending time of another")
    if late := sum(trip.late for trip in kept):
        notes.append(f"{late} replies came after a later one's")
    if kept[0].clock == "number":
        notes.append("no round trip has a time stamp: they are taken to be as far apart as irtt was told to send them")
    notes += [*stats_notes(document, trips), *format_notes(document, trips)]
    notes += clocks_note([trip.delay_ns("send") for trip in kept], [trip.delay_ns("receive") for trip in kept])
    return Measurement(
        source=str(path),
        format="irtt",
        round_trip=Series.of(t_ns, [trip.delay_ns("rtt") for trip in kept]),
        down=_one_way(t_ns, [trip.delay_ns("receive") for trip in kept], lost, "true_down"),
        up=_one_way(t_ns, [trip.delay_ns("send") for trip in kept], lost, "true_up"),
        lost_down=np.array([way == "true_down" for way in lost]),
        lost_up=np.array([way == "true_up" for way in lost]),
        probe_bytes=_probe_bytes(document),
        wall_ns=zero_ns if kept[0].clock == "wall" else None,
        skipped=skips.found,
        notes=(*notes, *skips.lines),
    )


def _trips(path: Path, document: dict[str, Any], clock: str, interval_ns: int, skips: Skips) -> list[Trip]:
    read: list[Trip] = []
    failed: ScenarioError | None = None
    seen: dict[int, list[Any]] = {}
    for number, value in enumerate(document["round_trips"]):
        where = f"round_trips[{number}]"
        seqno = value.get("seqno") if isinstance(value, dict) else None
        if isinstance(seqno, int):
            alike = seen.setdefault(seqno, [])
            if value in alike:
                skips.add("round trip that stands twice", "round trips that stand twice", where)
                continue
            # A damaged file may contain thousands of round trips with the same number, so only the first few are
            # compared.
            alike += [value] if len(alike) < 4 else []
        try:
            trip = Trip(f"{path}: {where}", value, clock, interval_ns)
            below_ns = trip.delay_ns("rtt")
        except ScenarioError as error:
            failed = failed or error
            skips.add(
                "round trip that cannot be read",
                "round trips that cannot be read",
                error.message.removeprefix(f"{path}: "),
            )
            continue
        # A round trip is negative if the timer is coarse, or if the server reports a processing time longer than the
        # packet's round trip (heistp/irtt 13).
        if below_ns < 0:
            skips.add("round trip below 0", "round trips below 0", f"{where}, {below_ns / 1e3:g} us")
            failed = failed or ScenarioError(f"{path}: {where}: delay.rtt = {below_ns:g} is below 0", _HINT)
            continue
        read.append(trip)
    if not read:
        assert failed is not None, "there is one at least"
        raise failed
    damaged = [trip for trip in read if trip.contradicts]
    # If a minority of round trips contradicts its time stamps, these round trips are damaged, and are left out. If most
    # round trips contradict their time stamps, the file belongs to another version of irtt, whose fields have another
    # meaning.
    if damaged and len(damaged) * 2 < len(read):
        skips.add(
            "round trip that its time stamps contradict",
            "round trips that their time stamps contradict",
            damaged[0].where.removeprefix(f"{path}: "),
            len(damaged),
        )
        read = [trip for trip in read if not trip.contradicts]
    return read


def _one_way(t_ns: Any, delay_ns: list[float], lost: list[str], way: str) -> Series | None:
    """Return the delays in one direction. A probe counts as lost only if it was certainly lost in this direction. If
    the direction of a loss is unknown, the probe is left out."""
    if np.isnan(delay_ns).all():
        return None
    known = np.array([not np.isnan(d) or w == way for d, w in zip(delay_ns, lost, strict=True)])
    return Series.of(t_ns[known], np.array(delay_ns)[known])


def _probe_bytes(document: dict[str, Any]) -> int | None:
    length_bytes = part_of(document, "config", "params", "length")
    header_bytes = _UDP_BYTES.get(str(part_of(document, "config", "ip_version")))
    if header_bytes is None or type(length_bytes) is not int or not 0 < length_bytes < 65536:
        return None
    return length_bytes + header_bytes
