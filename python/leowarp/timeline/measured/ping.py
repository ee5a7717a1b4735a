# SPDX-License-Identifier: Apache-2.0
"""What ping prints: round trips, one line a reply; a missing sequence number is a lost probe.

iputils (``ping -D``: each line begins with the time at which it was printed, in s since 1970), and without ``-D`` the
same from it, BusyBox and the BSDs. A reply was sent its round trip before it was printed. Lost probes print nothing
(or, with ``-O``, "no answer yet"): they were sent between their neighbours, in step. Of those lost before the first
reply and after the last nothing is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.errors import ScenarioError
from leowarp.timeline.measured.lines import text_of
from leowarp.timeline.measured.measurement import Measurement
from leowarp.timeline.measured.numbered_probes import sent_in_order

SEQUENCE_NUMBERS = 65536
"""icmp_seq has 16 bits and begins anew after 65535."""

_REPLY = re.compile(
    r"^(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\]\s*)?(?P<bytes>\d{1,6}) bytes from (?P<from>.*?)[:,]?\s+"
    r"(?:icmp_)?seq=(?P<seq>\d{1,10})\b(?P<rest>.*)$"
)
_TIME = re.compile(r"\btime[=<]\s*(?P<time>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>ms|msec|us|s)\b")
_NO_REPLY = re.compile(r"^(?:\[\d+\.\d+\]\s*)?(?:no answer yet for|From .*) (?:icmp_)?seq=\d+")
_HEADER = re.compile(r"^PING .*?\b(?P<payload>\d+)\((?P<ip>\d+)\) (?:data )?bytes")
_HINT = "write it with: ping -D -i 0.01 HOST > trace.txt"
_UNIT_NS = {"ms": 1_000_000, "msec": 1_000_000, "us": 1_000, "s": 1_000_000_000}
_ICMP_HEADER_AND_IP = {4: 20, 6: 40}


def looks_like_ping(text: str) -> bool:
    """Whether some line among the first is a reply or ping's first line."""
    return any(_REPLY.match(line.strip()) or line.startswith("PING ") for line in text.splitlines()[:100])


@dataclass(frozen=True)
class _Reply:
    """A line that says that a reply came.

    Attributes
    ----------
    line : int
    seq : int
        As printed: of 16 bits.
    rtt_ns : int
    printed_ns : int or None
        When the line was printed, if `-D` said so.
    """

    line: int
    seq: int
    rtt_ns: int
    printed_ns: int | None


def read_ping(path: Path, interval_ns: int | None = None) -> Measurement:
    """Round trips of ping's output.

    Parameters
    ----------
    interval_ns : int, optional
        Time between probes, of an output without time stamps.

    Raises
    ------
    ScenarioError
        With file and line.
    """
    text = text_of(path)
    replies, notes = _replies(path, text)
    if not replies:
        raise ScenarioError(f"{path}: no line is a reply to a ping", _HINT)
    stamped = [reply.printed_ns is not None for reply in replies]
    if any(stamped) and not all(stamped):
        line = replies[stamped.index(not stamped[0])].line
        raise ScenarioError(
            f"{path}:{line}: some replies have a time stamp and some have none", "give one ping's output"
        )
    if all(stamped) and interval_ns is not None:
        raise ScenarioError(f"{path}: an interval has no effect: each reply has a time stamp", "take it out")
    if not all(stamped) and interval_ns is None:
        raise ScenarioError(
            f"{path}:{replies[0].line}: replies without time stamps, and nobody said how far apart the probes were",
            'write interval = "1 s" (what ping -i was given, 1 s if it was not), or measure with ping -D',
        )
    seqs = _unwrapped(replies, interval_ns)
    first: dict[int, _Reply] = {}
    # The first reply of a number is the probe's; what comes after it is a duplicate, made somewhere on the way.
    for seq, reply in zip(seqs, replies, strict=True):
        first.setdefault(seq, reply)
    if len(first) < len(replies):
        notes.append(f"{len(replies) - len(first)} duplicates were left out")
    if sorted(first) != list(first):
        notes.append("some replies came after a later probe's")
    sequence = np.array(sorted(first), dtype=np.int64)
    rtt_ns = np.array([first[int(seq)].rtt_ns for seq in sequence], dtype=np.int64)
    sent_ns = _sent_ns(sequence, [first[int(seq)] for seq in sequence], rtt_ns, interval_ns)
    sent = sent_in_order(str(path), sequence, sent_ns, rtt_ns.astype(np.float64))
    return Measurement(
        source=str(path),
        format="ping",
        round_trip=sent.series,
        probe_bytes=_probe_bytes(text),
        wall_ns=sent.zero_ns if all(stamped) else None,
        duplicates=len(replies) - len(first),
        clock_steps=sent.clock_steps,
        steady_ns=sent.steady_ns,
        notes=tuple(notes),
    )


def _replies(path: Path, text: str) -> tuple[list[_Reply], list[str]]:
    """Replies in the order of the lines, and what there is to say of other lines.

    Raises
    ------
    ScenarioError
        With file and line: of half a reply that is not the last line, or of one without a time.
    """
    replies, others = [], 0
    lines = text.splitlines()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line:
            continue
        reply = _REPLY.match(line)
        if reply is None:
            # A reply that cannot be read is an error and not a lost probe; the last line may be cut off, as ping was
            # killed.
            if "bytes from" in line and number < len(lines):
                raise ScenarioError(f"{path}:{number}: not a whole reply: {line[:80]!r}", "take the line out")
            others += not (_NO_REPLY.match(line) or line.startswith(("PING ", "---", "rtt ", "round-trip ")))
            continue
        time = _TIME.search(reply["rest"])
        if time is None and number == len(lines):
            others += 1  # ping was killed while it wrote
            continue
        if time is None:
            raise ScenarioError(
                f"{path}:{number}: a reply without a time: {line[:80]!r}",
                "ping tells no time with fewer than 16 bytes of data: ping -s 56",
            )
        replies.append(
            _Reply(
                number,
                int(reply["seq"]),
                # Decimal, as a time in ms with three digits is a whole number of us, and a product of floats is seldom.
                int(Decimal(time["time"]) * _UNIT_NS[time["unit"]]),
                None if reply["stamp"] is None else int(Decimal(reply["stamp"]) * 1_000_000_000),
            )
        )
    return replies, [f"{others} lines that are no replies were passed over"] if others else []


def _unwrapped(replies: list[_Reply], interval_ns: int | None) -> list[int]:
    """Sequence numbers that go on after 65535: of all that it could be, the nearest to what the time stamps say."""
    step_ns = _step_ns(replies) if interval_ns is None else interval_ns
    seqs = [replies[0].seq]
    for before, reply in pairwise(replies):
        expected = float(seqs[-1])
        if before.printed_ns is not None and reply.printed_ns is not None and step_ns:
            # The clock tells how many probes were sent meanwhile, also of an outage of more than 32,768 of them, half
            # of all numbers (`test_an_outage_longer_than_half_of_all_sequence_numbers_is_told_by_the_clock`).
            expected += (reply.printed_ns - reply.rtt_ns - before.printed_ns + before.rtt_ns) / step_ns
        elif reply.seq != before.seq:
            expected += 1
        wraps = round((expected - reply.seq) / SEQUENCE_NUMBERS)
        seqs.append(reply.seq + SEQUENCE_NUMBERS * wraps)
    return seqs


def _step_ns(replies: list[_Reply]) -> float:
    """Time between probes, from those whose numbers follow each other."""
    steps = [
        b.printed_ns - b.rtt_ns - a.printed_ns + a.rtt_ns
        for a, b in pairwise(replies)
        if a.printed_ns is not None and b.printed_ns is not None and b.seq == a.seq + 1
    ]
    return float(np.median(steps)) if steps else 0.0


def _sent_ns(
    sequence: NDArray[np.int64], replies: list[_Reply], rtt_ns: NDArray[np.int64], interval_ns: int | None
) -> NDArray[np.int64]:
    """When each was sent: when its reply was printed, less its round trip; else in step."""
    printed = [reply.printed_ns for reply in replies if reply.printed_ns is not None]
    if len(printed) == len(replies):
        return np.array(printed, dtype=np.int64) - rtt_ns
    assert interval_ns is not None, "checked before"
    return (sequence - sequence[0]) * interval_ns


def _probe_bytes(text: str) -> int | None:
    """The IP length, from ping's first line or from what the first reply says it had."""
    for line in text.splitlines():
        header = _HEADER.match(line.strip())
        if header is not None:
            return int(header["ip"])
        reply = _REPLY.match(line.strip())
        if reply is not None:
            address = reply["from"].split("(")[-1]
            return int(reply["bytes"]) + _ICMP_HEADER_AND_IP[6 if ":" in address else 4]
    return None
