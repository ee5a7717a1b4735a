# SPDX-License-Identifier: Apache-2.0
"""Evaluates probes with sequence numbers. A missing number is a lost probe, and a repeated number is a duplicate.
Backward steps of the sender's clock are detected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.measurement import ClockStep, Series, Times

_MOST_PROBES = 100_000_000
# If replies are printed out of order, times go back by some ms. If the clock was set back, times go back by much more
# than some ms.
_SET_BACK_NS = 100_000_000
_NEIGHBOURS = 8


@dataclass(frozen=True, eq=False)
class Sent:
    """The probes in the order of their numbers. `clock_steps` and `steady_ns` are those of `Measurement`.

    series: The probes, with times from 0 on.
    zero_ns: The value of the sender's clock at time 0.
    """

    series: Series
    zero_ns: int
    clock_steps: tuple[ClockStep, ...]
    steady_ns: Times | None


def sent_in_order(
    source: str,
    sequence: NDArray[np.int64],
    sent_ns: NDArray[np.int64],
    delay_ns: NDArray[np.float64],
    unknown: NDArray[np.int64] | None = None,
) -> Sent:
    """Return all probes of a measurement, in the order of their numbers. The sending times of probes without replies
    are spread evenly between the neighbours' times.

    sequence: int64 array of shape (n,). The numbers strictly increase.
    sent_ns, delay_ns: arrays of shape (n,). The sending time on the sender's clock, and the round trip. nan means lost.
    unknown: int64 array of shape (m,). The numbers of probes about which nothing is known. The series does not have
        them, because they are neither lost nor answered.
    Raises ScenarioError if the probes' numbers span too large a range.
    """
    count = int(sequence[-1] - sequence[0]) + 1
    if count > _MOST_PROBES:
        raise ScenarioError(
            f"{source}: its sequence numbers span {count} probes", "give the output of one tool, from its beginning"
        )
    back = _set_back(sent_ns)
    whole = _interpolated(sequence, sent_ns)
    delays = np.full(count, np.nan)
    delays[sequence - sequence[0]] = delay_ns
    # A series has at most one sample per instant. Interpolated times are rounded to whole ns and may be equal; only the
    # first of such samples is kept.
    distinct = np.concatenate([[True], np.diff(np.maximum.accumulate(whole)) > 0])
    if unknown is not None:
        places = unknown - sequence[0]
        distinct[places[(places >= 0) & (places < count)]] = False
    t_ns = whole[distinct] - whole[0]
    steps, steady_ns = [], None
    if back:
        straight_ns = sent_ns.copy()
        for place, by_ns in back:
            straight_ns[place:] -= by_ns
            steps.append(ClockStep(int(sent_ns[place - 1] - sent_ns[0]), by_ns))
        straight = _interpolated(sequence, straight_ns)[distinct]
        straight = np.maximum.accumulate(straight - straight[0])
        steady_ns = straight + _place_in_run(straight)
    return Sent(Series.of(t_ns, delays[distinct]), int(whole[0]), tuple(steps), steady_ns)


def _interpolated(sequence: NDArray[np.int64], sent_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sending times of all probes from the first to the last number. The times of lost probes are
    interpolated. Times never decrease."""
    # On a busy machine, a reply may be printed late. Its probe then seems to have been sent after the next probe.
    sent_ns = np.maximum.accumulate(sent_ns)
    sent_ns = sent_ns + np.maximum(_place_in_run(sent_ns), 0)
    every = np.arange(int(sequence[-1] - sequence[0]) + 1)
    # Interpolation needs floats, so times are relative to the first time. Up to 104 days, relative times need at most
    # 53 bits, but ns since 1970 need more.
    offset_ns = np.interp(every, sequence - sequence[0], (sent_ns - sent_ns[0]).astype(np.float64))
    return np.asarray(np.round(offset_ns).astype(np.int64) + sent_ns[0])


def _set_back(sent_ns: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the steps by which the clock was set back. A step is given as the index of the probe at which it occurs,
    and a negative size."""
    found = []
    for place in (1 + np.flatnonzero(np.diff(sent_ns) < -_SET_BACK_NS)).tolist():
        # A single line that was printed late does not change a median. The medians of eight probes on either side of
        # the step are therefore compared.
        before, after = sent_ns[max(place - _NEIGHBOURS, 0) : place], sent_ns[place : place + _NEIGHBOURS]
        if np.median(after) < np.median(before) + (after[-1] - after[0]) - _SET_BACK_NS // 2:
            step_ns = int(np.median(np.diff(sent_ns[max(place - 50, 0) : place]))) if place > 1 else 0
            found.append((place, int(sent_ns[place] - sent_ns[place - 1]) - step_ns))
    return found


def _place_in_run(t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each time, return how many equal times come directly before it. Time stamps in us may be equal. By adding 0,
    1, 2 ns, they become different."""
    begins = np.concatenate([[True], np.diff(t_ns) > 0])
    places = np.arange(len(t_ns))
    return places - np.maximum.accumulate(np.where(begins, places, 0))
