# SPDX-License-Identifier: Apache-2.0
"""Estimate how long a handover holds packets, from delay peaks at reconfigurations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import TAIL, Estimate, Found, Untold
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.probes import pings
from leowarp.media.access.slots import Slots
from leowarp.media.access.starlink import starlink_profile
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.period.schedule import Schedule

_DENSE_NS = 20_000_000
_BEFORE_NS, _AFTER_NS = 60_000_000, 300_000_000
"""The delay peak of a reconfiguration is searched within these times before and after it. The phase of reconfigurations
is known only to about a tenth of a second."""

_MISSING = 2.5
"""The maximum gap between answered probes, in intervals between probes. One lost probe makes a gap of two."""
_CLEAR_NS = 1_000_000_000
_FEWEST = 12
_ROUNDS, _SEEDS = 2, 5
_HALVES_NS = np.concatenate([np.arange(0.0, 20e6, 1e6), np.arange(20e6, 60e6, 4e6), np.arange(60e6, 201e6, 20e6)])
_SAMPLES = 2000
_TESTED = np.array([TAIL / 2.0, 1.0 - TAIL / 2.0])
_SPACING_NS = 4_000_000_000


def fit_handover(probes: Slotted, access: Access) -> list[Found]:
    """Estimate `handover_min` and `handover_max`. With the estimated values, simulated peaks have the same median and
    deciles as the recorded peaks.

    access: The profile with the fitted jitter and outages, so that simulated peaks lose probes, as in the recording.
    """
    both = ("handover_min", "handover_max")
    if probes.interval_ns > _DENSE_NS:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart seldom meet 50 ms"
        return [Untold(key, why) for key in both]
    peaks_ns = _peaks_ns(probes.series.t_ns, probes.schedule, probes.series.delay_ns)
    if len(peaks_ns) < _FEWEST:
        return [Untold(key, f"{len(peaks_ns)} reconfigurations are too few") for key in both]
    middle_ns = (access.handover_min_ns + access.handover_max_ns) / 2.0
    for _ in range(_ROUNDS):
        seeds = range(1, _SEEDS + 1)
        still_ns = np.concatenate([_simulated_peaks_ns(probes, access, middle_ns, seed) for seed in seeds])
        if len(still_ns) < _FEWEST:
            return [Untold(key, "outages leave too few peaks") for key in both]
        # If a hold is longer by some ms, the peak is higher by the same amount. Holds are spread evenly over the range,
        # in the same random order in each round.
        spread = np.random.default_rng(1).permutation(np.linspace(-1.0, 1.0, len(still_ns)))
        made_ns = still_ns[None, :] + _HALVES_NS[:, None] * spread[None, :]
        widths_ns, medians_ns = _width(made_ns), np.median(made_ns, axis=1)
        half_ns = float(np.interp(_width(peaks_ns), np.maximum.accumulate(widths_ns), _HALVES_NS))
        found_ns = middle_ns + float(np.median(peaks_ns) - np.interp(half_ns, _HALVES_NS, medians_ns))
        middle_ns, moved_ns = min(max(found_ns, 1e6), 900e6), middle_ns
    low, high = _ends_ns(peaks_ns, still_ns - moved_ns)
    values = (max(middle_ns - half_ns, 0.0), middle_ns + half_ns)
    note = (
        f"peaks within {_AFTER_NS / 1e6:g} ms of reconfigurations: median {np.median(peaks_ns) / 1e6:.3g} ms over the "
        f"slot's median, first and last decile {_width(peaks_ns) / 1e6:.3g} ms apart, matched by the profile's"
    )
    return [
        Estimate(key, value, float(low[place]), float(high[place]), len(peaks_ns), "reconfigurations", note)
        for place, (key, value) in enumerate(zip(both, values, strict=True))
    ]


def _ends_ns(peaks_ns: NDArray[np.float64], over_hold_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return two intervals, one for the shortest and one for the longest hold. They cover every pair that could cause
    the observed median and width of the peaks.

    One test compares the median, and another test compares the width, each with a level of 0.5 %. The true values
    pass both tests in 99 of 100 cases. Jitter alone makes peaks differ, so holds that differ only a little look like
    holds of equal length. If the peaks were resampled instead, the intervals would hide this ambiguity.

    over_hold_ns: The peaks of a simulation that gives every hold the same length. The length is subtracted.
    Returns: A float64 array of shape (2, 2), (lower and upper end, shortest and longest hold).
    """
    rng = np.random.default_rng(1)
    width_ns, median_ns = _width(peaks_ns), float(np.median(peaks_ns))
    ends = []
    for half_ns in _HALVES_NS:
        shape = (_SAMPLES, len(peaks_ns))
        drawn_ns = rng.choice(over_hold_ns, shape) + rng.uniform(-half_ns, half_ns, shape)
        narrow_ns, wide_ns = np.quantile(_width(drawn_ns), _TESTED)
        if narrow_ns <= width_ns <= wide_ns:
            middles_ns = median_ns - np.quantile(np.median(drawn_ns, axis=1), _TESTED[::-1])
            ends.append(middles_ns[:, None] + np.array([-half_ns, half_ns]))
    if not ends:
        # If no tried range of holds gives the recorded width of the peaks, the nearest range is used. Its halves are
        # the two intervals.
        half_ns = _HALVES_NS[-1] if width_ns > _width(over_hold_ns) else 0.0
        middle_ns = median_ns - float(np.median(over_hold_ns))
        ends.append(np.array([[middle_ns - half_ns, middle_ns], [middle_ns, middle_ns + half_ns]]))
    table = np.maximum(np.array(ends), 0.0)
    return np.array([table.min(axis=(0, 1)), table.max(axis=(0, 1))])


def _width(peaks_ns: NDArray[np.float64]) -> Any:
    """Return the distance from the first to the ninth decile of the peaks. Holds and jitter are bounded, so these
    deciles say more about them than quartiles."""
    low, high = np.quantile(peaks_ns, [0.1, 0.9], axis=-1)
    return high - low


def _peaks_ns(t_ns: NDArray[np.int64], schedule: Schedule, delay_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest delay around each reconfiguration, minus the median delay of the slot in which it occurs.

    Reconfigurations near lost probes are left out, because an outage may hide the largest delay. The quantiles would
    mix true and hidden peaks.
    """
    longest_ns = _MISSING * float(np.median(np.diff(t_ns)))
    answered = ~np.isnan(delay_ns)
    t_ns, delay_ns = t_ns[answered], delay_ns[answered]
    instants_ns = schedule.instants_ns(int(t_ns[0]) + schedule.period_ns, int(t_ns[-1]) - schedule.period_ns)
    found = []
    # Both sides are examined separately, because their slots have different bases. The higher base could be mistaken
    # for a peak above the lower base.
    sides = (-_BEFORE_NS, 0, -schedule.period_ns), (0, _AFTER_NS, 0)
    for instant in instants_ns:
        near = slice(*np.searchsorted(t_ns, [instant - _BEFORE_NS, instant + _AFTER_NS]))
        around_ns = np.concatenate([[instant - _BEFORE_NS], t_ns[near], [instant + _AFTER_NS]])
        if np.diff(around_ns).max() > longest_ns:
            continue
        peaks_ns = []
        for begin_ns, end_ns, slot_ns in sides:
            clear_ns = (slot_ns + _CLEAR_NS, slot_ns + schedule.period_ns - _CLEAR_NS)
            edges = np.searchsorted(t_ns, instant + np.array([begin_ns, end_ns, *clear_ns])).tolist()
            if edges[1] > edges[0] and edges[3] - edges[2] >= 20:
                rest_ns = np.median(delay_ns[edges[2] : edges[3]])
                peaks_ns.append(float(delay_ns[edges[0] : edges[1]].max() - rest_ns))
        if peaks_ns:
            found.append(max(peaks_ns))
    return np.array(found)


def _simulated_peaks_ns(probes: Slotted, access: Access, hold_ns: float, seed: int) -> NDArray[np.float64]:
    """Simulate a profile in which each hold has the length `hold_ns`. Return its peaks (see `_peaks_ns`). The profile
    has the recording's minimum delay in each slot.

    These minimum delays matter, because a probe that is in flight during a path change contributes to the peak.
    """
    # The simulated reconfigurations are closer together than real ones, which gives more peaks.
    schedule = Schedule(_SPACING_NS, probes.schedule.phase_ns % _SPACING_NS)
    drawn = dataclasses.replace(
        access, handover_min_ns=round(hold_ns), handover_max_ns=round(hold_ns), period_ns=_SPACING_NS
    )
    begin_ns = np.arange(schedule.phase_ns - schedule.period_ns, probes.until_ns, schedule.period_ns, dtype=np.int64)
    slots = Slots(
        begin_ns=begin_ns,
        names=("",) * len(begin_ns),
        base_t_ns=begin_ns,
        base_ns=np.resize(probes.floors_ns(probes.series.delay_ns)[1], len(begin_ns)).astype(np.int64) // 2,
    )
    profile = starlink_profile(drawn, slots, seed=seed, duration_ns=probes.until_ns + 1_000_000_000)
    return _peaks_ns(probes.series.t_ns, schedule, pings(profile, probes.series.t_ns, seed))
