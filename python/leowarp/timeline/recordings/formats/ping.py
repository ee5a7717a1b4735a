# SPDX-License-Identifier: Apache-2.0
"""The output of ping: round trips, one line per reply. A missing sequence number is a lost probe.
docs/reference/formats.md lists what is used, skipped and refused.

With ``ping -D`` of iputils, each line begins with the time at which it was printed, in s since 1970. The sending time
of a probe is the time in its reply's line, minus the round trip. The sending time of a lost probe is interpolated
between the times of the neighbouring probes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.timeline.recordings.formats.lines import text_of
from leowarp.timeline.recordings.formats.numbered_probes import Sent, sent_in_order
from leowarp.timeline.recordings.formats.ping_lines import Header, Reply, lines_of
from leowarp.timeline.recordings.formats.ping_refused import (
    apart_hint,
    check_stamps,
    check_together,
    in_one_place,
    no_replies,
    numbers_begin_anew,
    two_without_stamps,
)
from leowarp.timeline.recordings.formats.ping_runs import SEQUENCE_NUMBERS, Run, runs_of, strange_numbers, unwrapped
from leowarp.timeline.recordings.formats.ping_tallies import reply_notes, tally_notes
from leowarp.timeline.recordings.measurement import ClockStep, Measurement, Series, Times

_ICMP_HEADER_AND_IP = {4: 20, 6: 40}
_DIFFERENT = "DIFFERENT ADDRESS"
_CUT = ("last line that was cut off", "last lines that were cut off")
_NO_WHOLE = ("line that is no whole reply", "lines that are no whole replies")
_NO_TIME = ("reply without a time", "replies without a time")
_STRANGE = (
    "reply whose number fits neither its neighbours nor the time",
    "replies whose number fits neither their neighbours nor the time",
)
_ORPHAN = (
    "copy (DUP!) of a reply that is not in the file",
    "copies (DUP!) of replies that are not in the file",
)
_MOST_PARTS = 100
"""The maximum number of parts of an output. A new part begins where the sequence numbers go back. If there are more
parts, the lines are not in order."""


def looks_like_ping(text: str) -> bool:
    """Return whether one of the first lines is a reply or ping's header line."""
    beginning = "\n".join(line for line in text[:100_000].splitlines()[:100] if not line.startswith("#"))
    return any(isinstance(line, Header | Reply) for _, line in lines_of(beginning))


@dataclass(frozen=True, eq=False)
class _Read:
    """One run of ping with its probes in order, and the number of duplicate replies."""

    run: Run
    sent: Sent
    copies: int
    notes: tuple[str, ...]


def read_ping(path: Path, interval_ns: int | None = None) -> Measurement:
    """Return the round trips of ping's output.

    interval_ns: The time between probes, for output without time stamps.
    Raises ScenarioError with file and line if there is no reply, or if the file has several runs that cannot be one
    measurement.
    """
    text = text_of(path)
    lines = lines_of(text)
    skips = Skips()
    runs = [run for run in runs_of(lines) if run.replies or run.damaged or run.without_time]
    if not any(run.replies for run in runs):
        raise no_replies(path, text, runs_of(lines))
    runs = _without_rare_stampless(runs)
    check_stamps(path, [reply for run in runs for reply in run.replies], interval_ns)
    cut = _cut_line(text, runs)
    for run in runs:
        in_one_place(path, run.replies)
        _count_unread(run, skips, cut)
    others = sum(line is None and not text.startswith(("---", "#")) for text, line in lines)
    notes = [f"{others} lines that are no replies were passed over"] if others else []
    read: list[_Read] = []
    for run in (run for run in runs if run.replies):
        read += _parts_of(path, run, interval_ns, skips)
    check_together(path, [one.run for one in read])
    stamped = read[0].run.replies[0].printed_ns is not None
    if len(read) > 1 and not stamped:
        raise two_without_stamps(path, [one.run for one in read])
    sent = _joined(path, read)
    for one in read:
        notes += one.notes
    prefixes = [reply.prefix for one in read for reply in one.run.replies if reply.prefix]
    if prefixes:
        notes.append(f"{len(prefixes)} lines have something in front of them ({prefixes[0]!r:.60}), passed over")
    notes += [note for one in read for note in tally_notes(one.run)]
    notes += reply_notes([reply for one in read for reply in one.run.replies])
    notes += _runs_note(read)
    return Measurement(
        source=str(path),
        format="ping",
        round_trip=sent.series,
        probe_bytes=_probe_bytes(read[0].run),
        wall_ns=sent.zero_ns if stamped else None,
        duplicates=sum(one.copies for one in read),
        clock_steps=sent.clock_steps,
        steady_ns=sent.steady_ns,
        skipped=skips.found,
        notes=(*dict.fromkeys(notes), *skips.lines),
    )


def _cut_line(text: str, runs: list[Run]) -> int | None:
    """Return the number of the last line if ping was killed while it wrote this line of a reply."""
    last = text.rstrip().count("\n") + 1
    unread = [line.line for run in runs for _, line in run.damaged]
    unread += [reply.line for run in runs for _, reply in run.without_time]
    return last if last in unread else None


def _count_unread(run: Run, skips: Skips, cut: int | None) -> None:
    for _, line in run.damaged:
        skips.add(*(_CUT if line.line == cut else _NO_WHOLE), f"line {line.line}, {line.text[:60]!r}")
    for _, reply in run.without_time:
        skips.add(*(_CUT if reply.line == cut else _NO_TIME), f"line {reply.line}, {reply.text[:60]!r}")
    bad = [reply for reply in run.replies if reply.mark is not None and _DIFFERENT not in reply.mark]
    for reply in bad:
        skips.add(f"reply marked {reply.mark}", f"replies marked {reply.mark}", f"line {reply.line}")
    # ping does not count damaged replies as received (iputils, gather_statistics), and a damaged reply may have a wrong
    # sequence number.
    run.replies = [reply for reply in run.replies if reply.mark is None or _DIFFERENT in reply.mark]
    strange = Counter(reply.mark for reply in run.replies if reply.mark is not None)
    for mark, count in strange.items():
        skips.add(
            f"mark {mark} of a reply that was read", f"marks {mark} of replies that were read",
            f"line {run.replies[0].line} or later", count,
        )  # fmt: skip


def _parts_of(path: Path, run: Run, interval_ns: int | None, skips: Skips) -> list[_Read]:
    """Return the parts of the run. Without a new header line, another part begins where the numbers restart."""
    found: list[_Read] = []
    # Nothing is known of the probes of replies whose sequence number is damaged.
    strange = strange_numbers(run.replies, interval_ns)
    for number in sorted(strange):
        skips.add(*_STRANGE, f"line {run.replies[number].line}")
    rest = run.without(strange)
    while rest.replies:
        seqs, place = unwrapped(rest.replies, interval_ns)
        if place is None:
            return [*found, _in_order(path, rest, seqs, interval_ns, skips)]
        if rest.replies[place].printed_ns is None or len(found) == _MOST_PARTS:
            raise numbers_begin_anew(path, rest.replies[place - 1], rest.replies[place])
        first = Run(rest.header, rest.replies[:place])
        # ping's summary at the end of the output covers both parts of the recording, so it is assigned to neither part.
        after = Run(None, rest.replies[place:])
        first.without_time = [(n, reply) for n, reply in rest.without_time if n <= place]
        first.damaged = [(n, line) for n, line in rest.damaged if n <= place]
        after.without_time = [(n - place, reply) for n, reply in rest.without_time if n > place]
        after.damaged = [(n - place, line) for n, line in rest.damaged if n > place]
        found.append(_in_order(path, first, seqs, interval_ns, skips))
        rest = after
    return found


def _without_rare_stampless(runs: list[Run]) -> list[Run]:
    """Return the runs. Replies without a time stamp are removed if they are rare. Rare replies of this kind are damaged
    lines whose beginning is missing."""
    replies = [reply for run in runs for reply in run.replies]
    rare = [reply for reply in replies if reply.printed_ns is None]
    if len(rare) * 10 > len(replies):
        return runs
    return [run.without({place for place, reply in enumerate(run.replies) if reply.printed_ns is None}) for run in runs]


def _in_order(path: Path, run: Run, seqs: list[int], interval_ns: int | None, skips: Skips) -> _Read:
    first: dict[int, Reply] = {}
    marked = twice = unmarked = 0
    notes = []
    # Only the first of several replies with the same number counts. The later replies are duplicates that were made on
    # the path.
    for seq, reply in zip(seqs, run.replies, strict=True):
        if seq in first:
            same = first[seq].text == reply.text
            twice += same
            unmarked += not (same or reply.copy)
            marked += not same
        first.setdefault(seq, reply)
    orphans = [seq for seq, reply in first.items() if reply.copy]
    for seq in orphans:
        skips.add(*_ORPHAN, f"line {first[seq].line}")
    if unmarked * 4 > len(first):
        raise ScenarioError(
            f"{path}:{run.line}: {unmarked} numbers stand twice with other times, and ping marks none of them (DUP!): "
            "two outputs of ping line by line in one file",
            "give each its own file: ping -D HOST > first.txt, ping -D HOST > second.txt",
        )
    if marked:
        notes.append(f"{marked} duplicates were left out")
    if twice:
        skips.add("line that stands twice", "lines that stand twice", "the same text", twice)
    if sorted(first) != list(first):
        notes.append("some replies came after a later probe's")
    sequence = np.array(sorted(first), dtype=np.int64)
    replies = [first[seq] for seq in sorted(first)]
    rtt_ns = np.array([reply.rtt_ns for reply in replies], dtype=np.int64)
    printed = [reply.printed_ns for reply in replies if reply.printed_ns is not None]
    if len(printed) == len(replies):
        sent_ns = np.array(printed, dtype=np.int64) - rtt_ns
    else:
        assert interval_ns is not None, "checked before"
        sent_ns = (sequence - sequence[0]) * interval_ns
    unknown, either = _unknown(run, seqs)
    if either:
        notes.append(f"up to {either} probes that count as lost may have been answered, on lines that are skipped")
    sent = sent_in_order(
        str(path), sequence, sent_ns, rtt_ns.astype(np.float64), unknown=np.array([*unknown, *orphans], dtype=np.int64)
    )
    return _Read(run, sent, marked + twice, tuple(notes))


def _unknown(run: Run, seqs: list[int]) -> tuple[set[int], int]:
    """Return the sequence numbers of probes about which nothing is known. The reason is a line that cannot be read. The
    second result is the number of unreadable replies that cannot be assigned to a probe."""
    known = set(seqs)
    unknown = set()
    for place, reply in run.without_time:
        near = seqs[max(place - 1, 0)]
        unknown.add(reply.seq + SEQUENCE_NUMBERS * round((near - reply.seq) / SEQUENCE_NUMBERS))
    unknown -= known
    either = 0
    # Damaged lines between the same two replies are counted together.
    counts: Counter[int] = Counter()
    for place, line in run.damaged:
        counts[place] += line.replies
    for place, count in counts.items():
        if not 0 < place < len(seqs):
            continue
        between = [number for number in range(seqs[place - 1] + 1, seqs[place]) if number not in known | unknown]
        if len(between) <= count:
            unknown |= set(between)
        else:
            either += count
    return unknown, either


def _joined(path: Path, read: list[_Read]) -> Sent:
    """Return the probes of all runs of ping, with times on the clock of the first run."""
    if len(read) == 1:
        return read[0].sent
    zero_ns, end_ns = read[0].sent.zero_ns, -1
    series: list[Series] = []
    steps: list[ClockStep] = []
    steady: list[Times] = []
    back_ns = 0
    for before, one in zip([read[0], *read], read, strict=False):
        later_ns = one.sent.zero_ns - zero_ns
        t_ns = one.sent.series.t_ns + later_ns
        if not len(t_ns):
            continue
        # The order of the probes of runs that overlap is unknown.
        if t_ns[0] <= end_ns:
            raise ScenarioError(
                f"{path}:{one.run.line}: a second output of ping, which begins {(end_ns - t_ns[0]) / 1e9:g} s before "
                f"that of line {before.run.line} ends: two at the same time, or a clock that was set back",
                apart_hint(path, one.run.line),
            )
        end_ns = int(t_ns[-1])
        series.append(Series.of(t_ns, one.sent.series.delay_ns))
        steady.append(t_ns - back_ns if one.sent.steady_ns is None else one.sent.steady_ns + later_ns - back_ns)
        steps += [ClockStep(step.t_ns + later_ns, step.by_ns) for step in one.sent.clock_steps]
        back_ns += sum(step.by_ns for step in one.sent.clock_steps)
    whole = Series.of(np.concatenate([s.t_ns for s in series]), np.concatenate([s.delay_ns for s in series]))
    return Sent(whole, zero_ns, tuple(steps), np.concatenate(steady) if steps else None)


def _runs_note(read: list[_Read]) -> list[str]:
    if len(read) == 1:
        return []
    begins = ", ".join(f"line {one.run.line} ({len(one.run.replies)} replies)" for one in read[:5])
    more = ", ..." if len(read) > 5 else ""
    pauses_s = [
        (after.sent.zero_ns - before.sent.zero_ns - int(before.sent.series.t_ns[-1])) / 1e9
        for before, after in pairwise(read)
        if len(before.sent.series)
    ]
    return [
        f"{len(read)} outputs of ping, from {begins}{more}: nothing is known of the time between them "
        f"({', '.join(f'{pause:.3g} s' for pause in pauses_s[:5])}{more})"
    ]


def _probe_bytes(run: Run) -> int | None:
    if run.header is not None and run.header.ip_bytes is not None:
        return run.header.ip_bytes
    reply = run.replies[0]
    if reply.length_bytes is None:
        return None
    return reply.length_bytes + _ICMP_HEADER_AND_IP[6 if reply.source and ":" in reply.source else 4]
