# SPDX-License-Identifier: Apache-2.0
"""Mahimahi's traces: one whole number a line, the time in ms of one opportunity to deliver 1500 bytes.

mm-link(1) of Mahimahi 0.98. Times do not decrease; the same time on several lines is as many opportunities. Mahimahi
begins anew after the last time, which is the length of the trace (here: ``repeat``): what stands at 0 then comes
together with what stands at the end.

A link that sends bits cannot deliver 1500 bytes in no time: the opportunities of millisecond k are the capacity of the
millisecond before it, so that what was sent by k ms is what was delivered by then. (Those at 0 of the first time round
are the first millisecond's.)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.errors import ScenarioError
from leowarp.timeline.measured.lines import whole_numbers
from leowarp.timeline.measured.measurement import Capacity

OPPORTUNITY_BYTES = 1500
_MS_NS = 1_000_000
_HINT = "each line is the time of one opportunity to send 1500 bytes, in whole ms, for instance 12"
_LONGEST_MS = 30 * 86_400_000


def opportunities_ms(path: Path) -> NDArray[np.int64]:
    """The times in a trace.

    Raises
    ------
    ScenarioError
        With file and line.
    """
    times, lines = whole_numbers(path, "a time in ms", _HINT, _LONGEST_MS)
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back):
        number, line = lines[back[0] + 1]
        raise ScenarioError(f"{path}:{number}: {line} ms is before the {times[back[0]]} ms above it", "sort the lines")
    if times[-1] == 0:
        raise ScenarioError(f"{path}:{lines[-1][0]}: the trace lasts 0 ms", "its last time is its length")
    return times


def read_mahimahi(path: Path, packet_bytes: int = OPPORTUNITY_BYTES, until_ns: int | None = None) -> Capacity:
    """The capacity that a trace is.

    Parameters
    ----------
    packet_bytes : int
        What an opportunity delivers: 1500 bytes and a link's overhead on them, so that it is one full packet.
    until_ns : int, optional
        The trace begins anew until then; it ends with its last time if not given.

    Raises
    ------
    ScenarioError
        With file and line.
    """
    times_ms = opportunities_ms(path)
    if until_ns is not None:
        # Repeated here and not as rates: what stands at 0 of a later round belongs to the ms before it, the end of the
        # round that is over.
        rounds = np.arange(-(-until_ns // (int(times_ms[-1]) * _MS_NS)), dtype=np.int64)
        times_ms = np.add.outer(rounds * times_ms[-1], times_ms).ravel()
    return capacity_of(times_ms, packet_bytes)


def capacity_of(times_ms: NDArray[np.int64], packet_bytes: int = OPPORTUNITY_BYTES) -> Capacity:
    """Opportunities as a rate in each millisecond, equal ones joined; as long as the last time."""
    per_ms = np.bincount(np.maximum(times_ms - 1, 0), minlength=int(times_ms[-1]))
    rate_bps = per_ms.astype(np.int64) * (packet_bytes * 8 * 1000)
    begins = np.flatnonzero(np.diff(rate_bps, prepend=-1))
    return Capacity(t_ns=begins * _MS_NS, rate_bps=rate_bps[begins], end_ns=int(times_ms[-1]) * _MS_NS)
