# SPDX-License-Identifier: Apache-2.0
"""The errors that are raised if ping's output cannot be read. Each error suggests a command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.other_tools import refused_tool
from leowarp.timeline.recordings.formats.ping_lines import Reply
from leowarp.timeline.recordings.formats.ping_runs import Run

PING_HINT = "write it with: LC_ALL=C ping -D -i 0.01 HOST > trace.txt"

_ANSWER = "look whether the host answers at all (ping HOST); a recording needs one reply at least"


def apart_hint(path: Path, line: int) -> str:
    """Return commands that split the file in two. The second file begins with the line `line`."""
    return f"read them apart: head -n {line - 1} {path} > first.txt; tail -n +{line} {path} > second.txt"


def no_replies(path: Path, text: str, runs: list[Run]) -> ScenarioError:
    """Return the error for a file in which no round trip is readable."""
    if (other := refused_tool(path, text)) is not None:
        return other
    without_time = [reply for run in runs for _, reply in run.without_time]
    damaged = [line for run in runs for _, line in run.damaged]
    if without_time:
        first = without_time[0]
        if "time" in first.text or "=-" in first.text:
            return ScenarioError(
                f"{path}:{first.line}: a time that cannot be read, and no other: {first.text[:80]!r}", PING_HINT
            )
        return ScenarioError(
            f"{path}:{first.line}: a reply without a time, as all {len(without_time)}: {first.text[:80]!r}",
            "ping tells no time with fewer than 16 bytes of data: ping -s 56",
        )
    silent = [run.tally for run in runs if run.tally is not None and run.tally.received == 0]
    if silent:
        return ScenarioError(
            f"{path}:{silent[0].line}: ping says that none of its {sum(tally.sent for tally in silent)} probes was "
            "answered, so there is no round trip to read",
            _ANSWER,
        )
    # For each unanswered probe, ping -O prints a line. A ping that was killed prints no statistics.
    unanswered = sum(text.count(f"{words} for icmp_seq") for words in ("no answer yet", "Request timeout"))
    if unanswered:
        return ScenarioError(f"{path}: none of {unanswered} probes was answered, so there is no round trip", _ANSWER)
    if damaged:
        return ScenarioError(
            f"{path}:{damaged[0].line}: not a whole reply, and no other: {damaged[0].text[:80]!r}", PING_HINT
        )
    return ScenarioError(f"{path}: no line is a reply to a ping", PING_HINT)


def check_stamps(path: Path, replies: list[Reply], interval_ns: int | None) -> None:
    """Raise ScenarioError if a reply has no time stamp and no interval is given, or if replies have time stamps
    although an interval is given."""
    stamped = [reply.printed_ns is not None for reply in replies]
    if any(stamped) and not all(stamped):
        line = replies[stamped.index(not stamped[0])].line
        raise ScenarioError(
            f"{path}:{line}: some replies have a time stamp and some have none", "give one ping's output"
        )
    if all(stamped) and interval_ns is not None:
        raise ScenarioError(f"{path}: an interval has no effect: each reply has a time stamp", "take it out")
    if all(stamped) or interval_ns is not None:
        return
    first = replies[0]
    said = (
        'write interval = "1 s" (--interval "1 s": what ping -i was given, 1 s if it was not), or measure with ping -D'
    )
    if first.prefix:
        raise ScenarioError(
            f"{path}:{first.line}: {first.prefix[:40]!r} in front of the reply is no time stamp of ping -D (seconds "
            "since 1970, with a fraction), and nobody said how far apart the probes were",
            f"{said}; or stamp the lines with: ping HOST | ts %.s",
        )
    raise ScenarioError(
        f"{path}:{first.line}: replies without time stamps, and nobody said how far apart the probes were", said
    )


def in_one_place(path: Path, replies: list[Reply]) -> None:
    """Raise ScenarioError if the replies of a run come from several addresses, except for replies that ping marks. Such
    a file was written by two pings at the same time."""
    sources = Counter(reply.source for reply in replies if reply.source and not (reply.copy or reply.mark))
    if len(sources) > 1:
        (first, _), (second, count) = sources.most_common(2)
        line = next(reply.line for reply in replies if reply.source == second)
        raise ScenarioError(
            f"{path}:{line}: replies of two hosts in one output: {first}, and {count} of {second}",
            f"read them apart: grep -F '{second}' {path} > second.txt",
        )


def check_together(path: Path, runs: list[Run]) -> None:
    """Raise ScenarioError if the runs have different destinations or probe lengths."""
    first = runs[0]
    for run in runs[1:]:
        for what, before, here in (
            ("to another host", _target(first), _target(run)),
            ("with probes of another length", _length(first), _length(run)),
        ):
            if before is not None and here is not None and before != here:
                raise ScenarioError(
                    f"{path}:{run.line}: a second output of ping, {what} ({here}; that of line {first.line}: {before})",
                    apart_hint(path, run.line),
                )


def _target(run: Run) -> str | None:
    return next((reply.source for reply in run.replies if reply.source), run.header.target if run.header else None)


def _length(run: Run) -> int | None:
    lengths = Counter(reply.length_bytes for reply in run.replies if reply.length_bytes is not None)
    return lengths.most_common(1)[0][0] if lengths else None


def numbers_begin_anew(path: Path, before: Reply, reply: Reply) -> ScenarioError:
    """Return the error for an output of ping without time stamps in which sequence numbers decrease."""
    return ScenarioError(
        f"{path}:{reply.line}: number {reply.seq} after number {before.seq}, and not overtaken: two outputs of ping in "
        "one file (or lines in disorder), and without time stamps nothing says what was between them",
        apart_hint(path, reply.line),
    )


def two_without_stamps(path: Path, runs: list[Run]) -> ScenarioError:
    """Return the error for a file that contains several outputs of ping, but no time stamps. The time between these
    outputs is unknown."""
    return ScenarioError(
        f"{path}:{runs[1].line}: a second output of ping begins (of {len(runs)}), and without time stamps nothing says "
        "how long after the first",
        apart_hint(path, runs[1].line),
    )
