# SPDX-License-Identifier: Apache-2.0
"""Separates several outputs of ping in one file. Also finds the probe to which a 16-bit number belongs.

Another output begins at each further header line of ping. In a file that contains only replies, another output begins
where time advances but the probe numbers decrease.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from leowarp.timeline.recordings.formats.ping_lines import Damaged, Header, Line, Reply, Silence, Spread, Tally

SEQUENCE_NUMBERS = 65536
"""icmp_seq has 16 bits and wraps after 65535."""

_FIRST_NUMBERS = (0, 1)
"""The first sequence numbers. iputils counts from 1, and the BSDs, inetutils and BusyBox count from 0."""

_LONG_PKTS, _NEAR = 1000, 16
# The time between probes is seldom exactly the interval of ping -i: 10 ms become 10.1 or 10.2 ms, and a pause of some
# seconds may look like 64 missing probes.
_DRIFT_RATIO, _DRIFT_PKTS = 0.02, 64


@dataclass
class Run:
    """One output of ping, or a part of an output.

    header: The first line of the output. None means that it is missing.
    replies: The replies in the order of their lines. Each reply has a round trip.
    without_time: The replies without a readable round trip. For each of these replies, the list has the number of
        entries of `replies` that precede it in the file.
    damaged: The damaged reply lines. For each line, the number says how many `replies` are before it.
    tally, spread: The statistics that ping prints at the end.
    silent: The sequence numbers for which a line reports that no reply came.
    """

    header: Header | None = None
    replies: list[Reply] = field(default_factory=list)
    without_time: list[tuple[int, Reply]] = field(default_factory=list)
    damaged: list[tuple[int, Damaged]] = field(default_factory=list)
    tally: Tally | None = None
    spread: Spread | None = None
    silent: list[int] = field(default_factory=list)

    @property
    def line(self) -> int:
        """The number of the line on which the run begins."""
        if self.header is not None:
            return self.header.line
        unread = [*(line.line for _, line in self.without_time), *(line.line for _, line in self.damaged)]
        return min([*(reply.line for reply in self.replies), *unread])

    def without(self, places: set[int]) -> Run:
        """Return a copy of the run without the replies at the indexes `places`. The lines of these replies count as
        damaged. The copy does not say whether the probes of these replies were lost."""
        if not places:
            return self
        kept = [place not in places for place in range(len(self.replies))]
        before = [0, *np.cumsum(kept).tolist()]
        lines = [(place, Damaged(self.replies[place].line, self.replies[place].text)) for place in sorted(places)]
        return replace(
            self,
            replies=[reply for reply, is_kept in zip(self.replies, kept, strict=True) if is_kept],
            without_time=[(before[place], reply) for place, reply in self.without_time],
            damaged=[(before[place], line) for place, line in (*self.damaged, *lines)],
        )


def runs_of(lines: list[tuple[str, Line]]) -> list[Run]:
    """Divide the lines into outputs of ping. A new output begins at a header line. It also begins at a reply that
    follows the statistics of the previous output. Outputs without a reply are included."""
    runs = [Run()]
    for _, line in lines:
        now = runs[-1]
        # An output ends with the statistics. If a reply follows, it belongs to the next output.
        over = now.tally is not None and isinstance(line, Reply | Damaged)
        if isinstance(line, Header) or over:
            now = Run(header=line if isinstance(line, Header) else None)
            runs.append(now)
        match line:
            case Reply() if line.rtt_ns is None:
                now.without_time.append((len(now.replies), line))
            case Reply():
                now.replies.append(line)
            case Damaged():
                now.damaged.append((len(now.replies), line))
            case Tally():
                now.tally = line
            case Spread():
                now.spread = line
            case Silence() if line.seq is not None:
                now.silent.append(line.seq)
    return [run for run in runs if run.header or run.replies or run.damaged or run.without_time]


def strange_numbers(replies: list[Reply], interval_ns: int | None) -> set[int]:
    """Return the indexes of replies whose number is damaged. A number is damaged if it does not fit between the numbers
    before and after it. These two numbers differ by at most `_NEAR`."""
    step_ns = _step_ns(replies) if interval_ns is None else float(interval_ns)
    found: set[int] = set()
    for place in range(1, len(replies) - 1):
        before, reply, after = replies[place - 1 : place + 2]
        apart = (after.seq - before.seq) % SEQUENCE_NUMBERS
        into = (reply.seq - before.seq) % SEQUENCE_NUMBERS
        if not 0 < apart <= _NEAR or into <= apart or place - 1 in found:
            continue
        # A reply may have overtaken others, or been overtaken. If its times agree with this, its number is not damaged.
        off = into - SEQUENCE_NUMBERS * (into > SEQUENCE_NUMBERS // 2)
        if before.printed_ns is not None and reply.printed_ns is not None:
            strange = step_ns > 0 and abs((_sent_ns(reply) - _sent_ns(before)) / step_ns - off) > max(2, abs(off) / 2)
        elif off < 0:
            strange = not _overtaken(before, reply, -off, step_ns)
        else:
            strange = not _overtaken(reply, after, off - apart, step_ns)
        if strange and not reply.copy:
            found.add(place)
    return found


def _overtaken(before: Reply, reply: Reply, numbers: int, step_ns: float) -> bool:
    """Return whether a reply was overtaken. The round trip of an overtaken reply is longer than a later probe's. The
    difference exceeds the time between the two probes."""
    assert before.rtt_ns is not None
    assert reply.rtt_ns is not None
    # The limit is half of the time between the two probes, because the interval is only estimated.
    slower_ns = reply.rtt_ns - before.rtt_ns + reply.resolution_ns + before.resolution_ns
    return slower_ns >= numbers * step_ns / 2


def unwrapped(replies: list[Reply], interval_ns: int | None) -> tuple[list[int], int | None]:
    """Return the sequence numbers as if they did not restart after 65535, up to the reply with which another run of
    ping begins. Also return the index of this reply, or None if all replies belong to one run.

    interval_ns: The time between probes. This interval is used for replies without time stamps.
    """
    step_ns = _step_ns(replies) if interval_ns is None else float(interval_ns)
    seqs = [replies[0].seq]
    for place, (before, reply) in enumerate(pairwise(replies), 1):
        number = (
            _by_clock(seqs[-1], before, reply, step_ns)
            if before.printed_ns is not None and reply.printed_ns is not None and step_ns > 0
            else _in_turn(seqs[-1], before, reply, step_ns)
        )
        if number is None:
            return seqs, place
        seqs.append(number)
    return seqs, None


def _by_clock(last: int, before: Reply, reply: Reply, step_ns: float) -> int | None:
    """Use the time stamps to compute the reply's number without the 16-bit limit. The result is correct even after an
    outage of more than 32,768 probes. None means that the reply belongs to another run."""
    later_ns = _sent_ns(reply) - _sent_ns(before)
    expected = last + later_ns / step_ns
    number = reply.seq + SEQUENCE_NUMBERS * round((expected - reply.seq) / SEQUENCE_NUMBERS)
    off = abs(expected - number)
    ahead = (reply.seq - last) % SEQUENCE_NUMBERS
    assert reply.rtt_ns is not None
    if number < last - SEQUENCE_NUMBERS // 2 and reply.rtt_ns < (last - number) * step_ns / 2:
        # According to the time stamp, more than 32,768 probes overtook the reply. The reply's round trip is too short
        # for this. The clock was therefore set back, and time stamps do not show the reply's number.
        return last + ahead if ahead <= _LONG_PKTS else None
    if number < last:
        # If a reply was overtaken, its probe was sent before the probe of the reply that overtook it. If a reply has a
        # smaller number but its probe was sent later, the reply belongs to another run.
        return None if later_ns >= step_ns and off >= 2 and not reply.copy else number
    wraps = number // SEQUENCE_NUMBERS > last // SEQUENCE_NUMBERS
    drift_pkts = max(_DRIFT_PKTS, _DRIFT_RATIO * abs(expected - last))
    # The sequence number may continue although the times disagree. This seldom happens by chance, so the clock was set,
    # or the machine slept. After a very long pause, however, any 16-bit number could be the next one.
    says_nothing = ahead <= (_LONG_PKTS if drift_pkts > SEQUENCE_NUMBERS // 4 else _NEAR)
    if number - last <= _LONG_PKTS or (
        off <= drift_pkts and not (wraps and reply.seq in _FIRST_NUMBERS) and not says_nothing
    ):
        return number
    # Either ping was stopped or its machine slept. The time stamps thus do not show how many probes were sent between
    # the two replies.
    return last + ahead if reply.seq > before.seq or ahead <= _LONG_PKTS else None


def _in_turn(last: int, before: Reply, reply: Reply, step_ns: float) -> int | None:
    """Return the number as `_by_clock` does, for a reply without a time stamp."""
    expected = last + (reply.seq != before.seq)
    number = reply.seq + SEQUENCE_NUMBERS * round((expected - reply.seq) / SEQUENCE_NUMBERS)
    if number < last and not reply.copy:
        return number if _overtaken(before, reply, last - number, step_ns) else None
    if number - last > _LONG_PKTS and reply.seq in _FIRST_NUMBERS:
        return None
    return number


def _sent_ns(reply: Reply) -> int:
    assert reply.printed_ns is not None
    assert reply.rtt_ns is not None
    return reply.printed_ns - reply.rtt_ns


def _step_ns(replies: list[Reply]) -> float:
    """Return the median time between two probes with consecutive numbers, in ns, or 0."""
    steps = [
        _sent_ns(b) - _sent_ns(a)
        for a, b in pairwise(replies)
        if a.printed_ns is not None and b.printed_ns is not None and b.seq == a.seq + 1
    ]
    return float(np.median(steps)) if steps else 0.0
