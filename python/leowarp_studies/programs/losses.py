# SPDX-License-Identifier: Apache-2.0
"""The decisions of a sender's loss detection, read from the logs that its programs wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp import TraceError
from leowarp.base import layout

LOST, RECEIVED = "recovery:packet_lost", "transport:packet_received"
"""The events of qlog (draft-ietf-quic-qlog-quic-events), with the names that ngtcp2 uses."""


@dataclass(frozen=True)
class Losses:
    """The packet counts of a sender.

    declared_pkts: The number of packets declared lost.
    found_spurious_pkts: The number of packets declared lost that were acknowledged later. None means that the stack
        does not report it.
    """

    declared_pkts: int
    found_spurious_pkts: int | None


def client_lines(run: Path) -> list[tuple[int, str]]:
    """Return the lines that flow 0's client printed, as pairs (virtual time in ns, line).

    run: The run directory.
    """
    found = []
    for line in (run / layout.PROGRAMS / "0" / "client" / "output.txt").read_text(encoding="utf-8").splitlines():
        at_s, stream, text = line.split(" ", 2)
        if stream == "stdout":
            seconds, _, nanoseconds = at_s.partition(".")
            found.append((int(seconds) * 1_000_000_000 + int(nanoseconds.ljust(9, "0")), text))
    return found


def done_ns(run: Path, size_bytes: int) -> int:
    """Return the time in ns, on the run's clock, at which flow 0's client had received all bytes.

    Raises TraceError if the client did not report that it received all bytes.
    """
    for at_ns, text in client_lines(run):
        if text.startswith(f"{size_bytes} bytes"):
            return at_ns
    raise TraceError(f"the client of {run} did not say that it had {size_bytes} bytes", "make the runs anew: --force")


def of_run(run: Path) -> Losses:
    """Return the packet counts of flow 0's server. The counts come from the statistics that the client printed, or else
    from the qlog.

    Raises TraceError if neither the statistics nor a qlog exists.
    """
    for _, text in client_lines(run):
        if text.startswith("{"):
            counts = json.loads(text)
            return Losses(counts["declared_lost_pkts"], counts["found_spurious_pkts"])
    logs = sorted((run / layout.PROGRAMS / "0" / "server" / "files").glob("qlog/*.sqlog"))
    if len(logs) != 1:
        raise TraceError(f"the server of {run} left {len(logs)} qlogs, not 1", "make the runs anew: --force")
    with logs[0].open(encoding="utf-8") as opened:
        return from_qlog(opened)


def from_qlog(lines: Iterable[str]) -> Losses:
    """Return counts of 1RTT packets from a qlog with one JSON text per line (application/qlog+json-seq).

    >>> lost = '{"name": "recovery:packet_lost", "data": {"header": {"packet_type": "1RTT", "packet_number": 7}}}'
    >>> heard = ('{"name": "transport:packet_received", "data": {"header": {"packet_type": "1RTT"}, "frames": ['
    ...          '{"frame_type": "ack", "acked_ranges": [[6, 8]]}]}}')
    >>> from_qlog([lost, heard])
    Losses(declared_pkts=1, found_spurious_pkts=1)
    """
    declared, spurious, waiting = 0, 0, set[int]()
    for name, data in _events(lines):
        if data.get("header", {}).get("packet_type") != "1RTT":
            continue
        if name == LOST:
            declared += 1
            waiting.add(data["header"]["packet_number"])
        else:
            for first, last in _acknowledged(data):
                heard = {number for number in waiting if first <= number <= last}
                spurious += len(heard)
                waiting -= heard
    return Losses(declared, spurious)


def _events(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in lines:
        # Nine of ten lines have other events, and a qlog has megabytes. Lines with other events are therefore skipped
        # before they are parsed.
        if LOST in line or (RECEIVED in line and '"ack"' in line):
            event = json.loads(line.lstrip("\x1e"))
            yield event["name"], event["data"]


def _acknowledged(data: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for frame in data.get("frames", []):
        for numbers in frame.get("acked_ranges", []):
            # A range of one packet is written as a single number.
            yield int(numbers[0]), int(numbers[-1])
