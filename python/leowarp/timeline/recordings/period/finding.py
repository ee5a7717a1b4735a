# SPDX-License-Identifier: Apache-2.0
"""Finds a path's schedule of reconfigurations from a recording alone. The result has a confidence and the
alternatives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leowarp.timeline.recordings.measurement import ClockStep, Series
from leowarp.timeline.recordings.period.alignment import aligned
from leowarp.timeline.recordings.period.confidence import BELIEVED, believed, confidence, shared
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.search import EXACT_WITHIN, USUAL, Candidate, Search, search, weight
from leowarp.timeline.recordings.period.signs import SIGNS, Signs

_MOST_RUNNERS_UP = 3
_MOST_PAUSES = 3
_TELLING = np.log(20.0)
_PAUSE_INTERVALS = 2.5
_ALLOWED = 10.0


@dataclass(frozen=True)
class Finding:
    """The answer, its confidence, and alternatives.

    schedule: The schedule that was found. None means that no period was found.
    confidence_ratio: The share of answers of this kind that are right on synthetic recordings (see `confidence`). "No
        period" also counts as an answer.
    runners_up: tuple of (Schedule or None, float). The next best answers, each with its confidence. None means no
        period.
    by_sign: dict of str to (Schedule or None). For each kind of sign (steps, spikes or losses), the schedule that
        follows if only this kind is used.
    parts: If further events divide the period, this is the number of equal parts. 1 means no further events.
    """

    schedule: Schedule | None
    confidence_ratio: float
    runners_up: tuple[tuple[Schedule | None, float], ...]
    by_sign: dict[str, Schedule | None]
    parts: int = 1


def find(series: Series) -> Finding:
    """Return the period and phase of the events in a series of probes.

    series: The probes. Their times must come from a clock that was not adjusted (`numbered_probes`, `undone`).
    Returns: A finding. If the series is too short for a search, the confidence is one half.
    """
    found = search(series)
    sure = confidence(found)
    if found is None:
        return Finding(None, sure, (), dict.fromkeys(SIGNS))
    best, *others = found.candidates
    refined = _refined(series, found)
    late_ns = _late_ns(series, found.signs)
    rest = [(_schedule(series, one, late_ns), one.log_odds) for one in others[:_MOST_RUNNERS_UP]]
    # If the best candidate is not believed, the answer is "none". If the answer is "none", the candidate is the first
    # of the runners-up.
    answer = refined if believed(found) else None
    first: tuple[Schedule | None, float] = (None, BELIEVED) if answer is not None else (refined, best.log_odds)
    return Finding(
        schedule=answer,
        confidence_ratio=sure,
        runners_up=shared(1 - sure, [first, *rest]),
        by_sign={sign: None if one is None else _schedule(series, one, late_ns) for sign, one in found.of_sign.items()},
        parts=found.multiple if answer is not None else 1,
    )


def set_forward(series: Series) -> tuple[ClockStep, ...]:
    """Return the forward adjustments of the clock that look like pauses of the recording. Events follow their schedule
    again if such an adjustment is subtracted from all later times.

    A pause of the recorder and a clock that was set forward look alike in sequence numbers and times. Only the times of
    reconfigurations show whether the recorder paused or the clock was set forward. If the recorder only paused,
    reconfigurations stay on the same schedule and clock. The result is empty if there are more than three pauses,
    because recorders often pause, but a host's clock is seldom set.
    """
    interval_ns = series.interval_ns
    if interval_ns is None:
        return ()
    apart_ns = np.diff(series.t_ns)
    places = np.flatnonzero(apart_ns > max(_PAUSE_INTERVALS * interval_ns, 400_000_000))
    # A clock is set once or twice in a recording. If there are more jumps, they are pauses of a busy machine.
    if not 0 < len(places) <= _MOST_PAUSES:
        return ()
    steps = []
    odds = _odds(series)
    for place in places:
        by_ns = int(apart_ns[place]) - interval_ns
        without = undone(series, (ClockStep(int(series.t_ns[place]), by_ns),))
        other = _odds(without)
        # A jump is taken for an adjustment of the clock only under two conditions. The series with the jump undone must
        # have a schedule that is believed. This schedule must also be at least twenty times as likely as the schedule
        # with the jump. Without a schedule, jumps are not treated as adjustments
        # (`test_a_clock_set_forward_is_told_from_a_pause`).
        if other - odds > _TELLING and other > BELIEVED:
            steps.append(ClockStep(int(series.t_ns[place]), by_ns))
    return tuple(steps)


def undone(series: Series, steps: tuple[ClockStep, ...]) -> Series:
    """Return the series with the times that it would have without the adjustments of the clock.

    steps: The adjustments. Their times are on the clock of `series`.
    """
    t_ns = series.t_ns.copy()
    for step in steps:
        t_ns[series.t_ns > step.t_ns] -= step.by_ns
    return replace(series, t_ns=t_ns)


def _odds(series: Series) -> float:
    """Return the log odds of the best schedule, or minus infinity if the series is too short."""
    found = search(series)
    return -np.inf if found is None else found.candidates[0].log_odds


def _refined(series: Series, found: Search) -> Schedule:
    """Return the best candidate, refined to a fraction of a bin. If the signs do not support this refined schedule, the
    candidate itself is returned."""
    best, zero_ns, late_ns = found.candidates[0], int(series.t_ns[0]), _late_ns(series, found.signs)
    exact = any(abs(best.period_s / usual_s - 1) <= EXACT_WITHIN for usual_s in USUAL)
    period_ns, phase_ns = aligned(
        series, best.period_s * 1e9, best.phase_s * 1e9 + zero_ns - late_ns, best.by_sign,
        loose_ratio=EXACT_WITHIN if exact else np.inf,
    )  # fmt: skip
    # The refined phase may be near the border between two bins. The search finds a peak in only one of these bins. The
    # bin of the phase and the two bins next to it are therefore tried.
    phase_s, bin_s = (phase_ns + late_ns - zero_ns) / 1e9, found.signs.bin_s
    weights = [weight(found, period_ns / 1e9, phase_s + bins * bin_s) for bins in (-1, 0, 1)]
    # The refinement fails if a sign has a peak that the search did not find. If the refinement fails, the candidate of
    # the search is used without refinement. The candidate's error is at most one bin.
    if max(weights) < best.log_factor - _ALLOWED:
        return _schedule(series, best, late_ns)
    return Schedule(round(period_ns), round(phase_ns) % round(period_ns))


def _late_ns(series: Series, signs: Signs) -> float:
    """Return the mean time in ns from an event to the middle of the bin that shows the event. If a bin may have several
    probes, the result is 0. Otherwise, a bin has at most one probe, and begins at the probe's time. The event happened
    between this probe and the previous probe. On average, this is half an interval before the probe."""
    interval_ns, bin_ns = series.interval_ns or 0, signs.bin_s * 1e9
    return (bin_ns + interval_ns) / 2 if 1.5 * interval_ns > bin_ns else 0.0


def _schedule(series: Series, one: Candidate, late_ns: float) -> Schedule:
    period_ns, phase_ns = one.period_s * 1e9, one.phase_s * 1e9 + int(series.t_ns[0]) - late_ns
    return Schedule(round(period_ns), round(phase_ns) % round(period_ns))
