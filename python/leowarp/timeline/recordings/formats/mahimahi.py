# SPDX-License-Identifier: Apache-2.0
"""The reader of Mahimahi's traces. Each line is an integer: the time in ms of an opportunity to deliver 1500 bytes.

The format is described in mm-link(1) of Mahimahi 0.98. Times do not decrease. A time that is on several lines means
several opportunities at this time. The last time in the file is the length of the trace. At this time, Mahimahi starts
the trace again (in leowarp: ``repeat``). The last time of a round is therefore time 0 of the next round.

leowarp converts the opportunities at k ms into a rate in the millisecond before k. At k ms, the link has then delivered
1500 bytes per opportunity, as in Mahimahi. In the first round, opportunities at time 0 are counted in the first
millisecond.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.timeline.recordings.formats.lines import numbered, text_of
from leowarp.timeline.recordings.measurement import Capacity

OPPORTUNITY_BYTES = 1500
_MS_NS = 1_000_000
_HINT = "each line is the time of one opportunity to send 1500 bytes, in whole ms, for instance 12"
_LONGEST_MS = 30 * 86_400_000


def _opportunities_ms(path: Path, skips: Skips) -> NDArray[np.int64]:
    text = text_of(path)
    lines = numbered(text)
    if not lines:
        raise ScenarioError(f"{path} is empty", _HINT)
    times, places = _times(path, lines, skips)
    back = np.flatnonzero(np.diff(times) < 0)
    # A file that was not copied completely usually ends within a number.
    if len(back) == 1 and back[0] == len(times) - 2 and not text.endswith("\n") and len(times) > 2:
        skips.add("last line that was cut off", "last lines that were cut off", f"line {places[-1]}")
        times, back = times[:-1], back[:0]
    if len(back):
        line, before, now = places[back[0] + 1], times[back[0]], times[back[0] + 1]
        anew = len(back) == 1 and now <= max(times[0], before // 10)
        raise ScenarioError(
            f"{path}:{line}: {now} ms is before the {before} ms above it"
            + (": a second trace begins here" if anew else ""),
            f"read them apart: head -n {line - 1} {path} > first.trace; tail -n +{line} {path} > second.trace"
            if anew
            else f"{len(back)} lines are not in order; if all of them are one trace: sort -n {path} > sorted.trace",
        )
    if times[-1] == 0:
        raise ScenarioError(f"{path}:{lines[-1][0]}: the trace lasts 0 ms", "its last time is its length")
    return times


def _times(path: Path, lines: list[tuple[int, str]], skips: Skips) -> tuple[NDArray[np.int64], list[int]]:
    # Invalid lines are skipped and counted, up to a tenth of the lines.
    times, places = [], []
    wrong: list[tuple[int, str]] = []
    for line, text in lines:
        # isascii is checked as well, because isdigit accepts superscripts and the digits of all scripts.
        if text.isascii() and text.isdigit() and len(text) <= 18 and int(text) <= _LONGEST_MS:
            times.append(int(text))
            places.append(line)
        else:
            wrong.append((line, text))
    if len(wrong) * 10 > len(lines):
        line, text = wrong[0]
        columns = [re.fullmatch(r"\d+(?:\.\d+)?[\s,;]+\d+(?:\.\d+)?", text) for _, text in wrong]
        if all(columns):
            raise ScenarioError(
                f"{path}:{line}: {text[:40]!r}: two columns, as of a trace of Mbit/s at times in s (Pensieve's), and "
                "no trace of Mahimahi",
                f"if that is what they are: (echo t_s,rate_mbps; tr -s ' \\t' , < {path}) > capacity.csv",
            )
        raise ScenarioError(
            f"{path}:{line}: {text[:40]!r} is not a time in ms (a whole number up to {_LONGEST_MS}), as are "
            f"{len(wrong)} of {len(lines)} lines",
            _HINT,
        )
    for line, text in wrong:
        skips.add("line that is no time in ms", "lines that are no time in ms", f"line {line}, {text[:40]!r}")
    return np.array(times, dtype=np.int64), places


def read_mahimahi(path: Path, packet_bytes: int = OPPORTUNITY_BYTES, until_ns: int | None = None) -> Capacity:
    """Return the link capacity that a Mahimahi trace describes.

    packet_bytes: The size of an opportunity, which carries one full packet. It is 1500 bytes plus the link's overhead
        per packet.
    until_ns: The time until which the trace is repeated. By default, the trace is not repeated.
    Raises ScenarioError with file and line if the file is malformed.
    """
    skips = Skips()
    times_ms = _opportunities_ms(path, skips)
    if until_ns is not None:
        # The trace is repeated before times are converted to rates. An opportunity at 0 of a later round thus becomes a
        # rate in the last millisecond of the previous round.
        rounds = np.arange(-(-until_ns // (int(times_ms[-1]) * _MS_NS)), dtype=np.int64)
        times_ms = np.add.outer(rounds * times_ms[-1], times_ms).ravel()
    return replace(capacity_of(times_ms, packet_bytes), notes=skips.lines)


def capacity_of(times_ms: NDArray[np.int64], packet_bytes: int = OPPORTUNITY_BYTES) -> Capacity:
    """Return the capacity as a rate per millisecond. Successive milliseconds with the same rate are combined into one
    row. The capacity ends at the last time in `times_ms`."""
    # The capacity is computed without a row for every ms, because a trace may last for weeks.
    place_ms, count = np.unique(np.maximum(times_ms - 1, 0), return_counts=True)
    end_ms = int(times_ms[-1])
    after_ms = place_ms + 1
    # If the next opportunity is more than a ms later, a row with rate 0 is inserted.
    quiet_ms = after_ms[after_ms != np.append(place_ms[1:], end_ms)]
    begins_ms = np.concatenate([[0] if place_ms[0] > 0 else [], place_ms, quiet_ms]).astype(np.int64)
    rate_bps = np.concatenate([[0] if place_ms[0] > 0 else [], count * (packet_bytes * 8 * 1000), 0 * quiet_ms])
    order = np.argsort(begins_ms, kind="stable")
    begins_ms, rate_bps = begins_ms[order], rate_bps[order].astype(np.int64)
    changes = np.flatnonzero(np.diff(rate_bps, prepend=-1))
    return Capacity(
        t_ns=begins_ms[changes] * _MS_NS, rate_bps=rate_bps[changes], end_ns=end_ms * _MS_NS, opportunities=True
    )
