# SPDX-License-Identifier: Apache-2.0
"""Compares ping's own statistics with the replies that were read. A difference means that replies are missing or
damaged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from leowarp.timeline.recordings.formats.ping_lines import Reply
from leowarp.timeline.recordings.formats.ping_runs import Run

_MOST_PKTS = 65_000
"""With more probes than this, the sequence numbers wrap around. They then no longer show how many probes were sent."""


def tally_notes(run: Run) -> list[str]:
    """Return one sentence for each difference between the replies and ping's statistics. The list is empty if replies
    and statistics agree, or if the output has no statistics."""
    notes = []
    firsts = [reply for reply in run.replies if not reply.copy]
    # Replies with the same text are counted once, because a file may contain lines twice. Beyond 65,536 probes, two
    # different replies may have the same text, so all replies are counted.
    received = len(firsts) if len(firsts) > _MOST_PKTS else len({reply.text for reply in firsts})
    if run.tally is not None:
        if run.tally.received != received:
            notes.append(
                f"line {run.tally.line}: ping says that {run.tally.received} replies came, and {received} can be read"
            )
        notes += _ends(run)
    else:
        notes += _ends_without_tally(run)
    if run.spread is None or not firsts:
        return notes
    # iputils includes duplicates in its sums (ping_common.c, gather_statistics).
    rtt_ns = np.array([reply.rtt_ns for reply in run.replies], dtype=np.float64)
    resolution_ns = np.array([reply.resolution_ns for reply in run.replies], dtype=np.float64)
    spread = run.spread
    said_ns = (spread.least_ns, spread.mean_ns, spread.most_ns)
    read_ns = (rtt_ns.min(), rtt_ns.mean(), rtt_ns.max())
    off_ns = (resolution_ns[rtt_ns.argmin()], resolution_ns.mean(), resolution_ns[rtt_ns.argmax()])
    if any(abs(a - b) > off + spread.resolution_ns for a, b, off in zip(said_ns, read_ns, off_ns, strict=True)):
        said, read = ("/".join(f"{value / 1e6:.3f}" for value in values) for values in (said_ns, read_ns))
        notes.append(
            f"line {spread.line}: ping says that round trips were {said} ms (least, mean, largest), and those that can "
            f"be read are {read} ms: lines are missing, or damaged"
        )
    return notes


def _ends_without_tally(run: Run) -> list[str]:
    # If ping was killed, sequence numbers show which probes were sent before the first and after the last reply.
    numbers = [reply.seq for reply in run.replies]
    if run.header is None or not numbers or len(numbers) > _MOST_PKTS:
        return []
    # iputils counts from 1 and other pings from 0, so it is unknown whether a probe of number 0 was sent.
    first, last = min(numbers), max(numbers)
    before = max(first - 1, sum(seq < first for seq in run.silent))
    after = sum(seq > last for seq in run.silent)
    return [
        f"{count} probes {where} are not among the samples: no reply to them can be read"
        for count, where in ((before, "before the first reply"), (after, "after the last reply"))
        if count
    ]


def reply_notes(replies: list[Reply]) -> list[str]:
    """Return remarks for the user about the replies. For example, one remark is about replies that give only a
    bound."""
    notes = []
    bounds = [reply for reply in replies if reply.at_most]
    if bounds:
        assert bounds[0].rtt_ns is not None
        notes.append(
            f"{len(bounds)} replies give a bound alone (time<...; the first: line {bounds[0].line}), and count as the "
            f"bound: {bounds[0].rtt_ns / 1e6:g} ms"
        )
    stamps = [reply.printed_ns for reply in replies if reply.printed_ns is not None]
    same = sum(a == b for a, b in pairwise(stamps))
    if same * 2 > len(stamps) > 2:
        notes.append(
            f"{same} of {len(stamps)} replies have the time stamp of the one before: when each was sent is known "
            "only as well as that clock ticks"
        )
    return notes


def _ends(run: Run) -> list[str]:
    # These probes have no lines, so their number is computed from ping's statistics.
    assert run.tally is not None
    numbers = [reply.seq for reply in run.replies]
    if run.header is None or run.tally.sent > _MOST_PKTS or not numbers:
        return []
    span = max(numbers) - min(numbers) + 1
    if run.tally.sent < span:
        return [f"line {run.tally.line}: ping says that it sent {run.tally.sent}, and the numbers span {span}"]
    missing = run.tally.sent - span
    return (
        [f"ping sent {missing} more before its first reply or after its last, which are not among the samples"]
        if missing
        else []
    )
