# SPDX-License-Identifier: Apache-2.0
"""Refines period and phase to a fraction of a bin. For each schedule, the module adds the strengths of the events'
signs at the schedule's instants. The best schedule has the largest sum.

Noise hides the exact time of a single step, but not the common offset of twenty steps. Every sign has a curve around
each instant. The curve is a function of the offset from the instant. The curve of steps shows how the level of the
delay changes. For losses, the curve shows how losses increase. For spikes, it shows how delays increase. The curves are
added over all instants. If the period is right, the sum of the curves is largest at the right offset.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.signs import LOSSES, SPIKES, STEPS, changes, clipped
from leowarp.timeline.recordings.period.spikes import find_spikes

_SAMPLE_NS = 50_000_000
"""The minimum length of a sample. If probes are denser, all probes within one sample are combined into their minimum,
their maximum and their loss ratio."""

# The search finds the schedule with an error of a few bins of 0.2 s (`signs.BIN_S`), so offsets of about 1 s are
# enough. With larger offsets, a curve would include the next event.
_REACH_NS = 1_000_000_000
_EDGE_NS = 300_000_000
# Length of the time before and after an instant over which the level is averaged; for a period of 15 s, it is about a
# quarter of the period. A mean over a longer time would include the previous or the next step.
_LEVEL_NS = 4_000_000_000
_CALM_NS = 3_000_000_000
# Events are fitted in three rounds. The maximum distance of an event from its instant becomes smaller in each round.
# Fewer unrelated events are thus included.
_NEAR_NS = (400_000_000, 200_000_000, 150_000_000)
_TELLING = 3.0
"""The smallest log Bayes factor of a sign that is used to locate the instants."""

_ALMOST = 0.7
"""If the log Bayes factor of a sign is below this share of the strongest sign's factor, the sign is not used."""


def aligned(
    series: Series, period_ns: float, phase_ns: float, by_sign: dict[str, float], *, loose_ratio: float = np.inf
) -> tuple[float, float]:
    """Return refined values of the period and the phase. The phase is on the series' clock.

    period_ns, phase_ns: The initial values. At both ends of the series, they must predict the instants to within about
        one bin (module `signs`).
    by_sign: The log Bayes factor of each sign. If the evidence of a sign is weak, the sign is not used.
    loose_ratio: The refined period may differ from `period_ns` by at most this share.
    """
    of = _Samples(series)
    reach_ns = max(_REACH_NS, 1.5 * of.apart_ns)
    step_ns = of.apart_ns / 4
    offsets_ns = np.arange(-round(2 * reach_ns / step_ns), round(2 * reach_ns / step_ns) + 1) * step_ns
    first = int(np.ceil((of.t_ns[0] - phase_ns) / period_ns))
    numbers = np.arange(first, int((of.t_ns[-1] - phase_ns) // period_ns) + 1)
    # Weak signs are not used. The time of a step is known only to seconds, the time of a loss to one probe. Steps would
    # therefore blur the times of losses.
    least = max(_TELLING, _ALMOST * max(by_sign.get(sign, 0.0) for sign in _CURVES))
    telling = {sign: weight for sign, weight in by_sign.items() if sign in _CURVES and weight >= least}
    if len(numbers) < 3 or not telling:
        return period_ns, phase_ns
    at = np.searchsorted(of.t_ns, np.add.outer(numbers * period_ns + phase_ns, offsets_ns))
    curves = np.zeros(at.shape)
    for sign, weight in telling.items():
        curve = _CURVES[sign](of, at, period_ns)
        # The curves have different units (ns, shares, deviations), so each is divided by its own spread before they are
        # added.
        scale = np.abs(curve - np.median(curve)).mean()
        if scale > 0:
            # The weight and the height of a curve are both limited, so that a single very strong event cannot determine
            # the schedule.
            curves += min(weight, 30.0) * np.clip(curve / scale, -10, 10)
    # The fit may stretch or compress the schedule around its middle instant. The first and the last instant then move
    # by up to half of the search range.
    middle = (numbers[0] + numbers[-1]) / 2
    far = max((numbers[-1] - numbers[0]) / 2, 1)
    kept = np.flatnonzero(np.abs(offsets_ns) <= reach_ns)
    outermost_ns = np.arange(-12, 13) * (reach_ns / 24)
    # A known period (15 s) can be wrong only by the error of the recorder's clock.
    outermost_ns = outermost_ns[np.abs(outermost_ns) <= loose_ratio * period_ns * far]
    totals = []
    for outermost in outermost_ns:
        moved = np.rint(outermost * (numbers - middle) / far / step_ns).astype(np.int64)
        totals.append(curves[np.arange(len(numbers))[:, None], kept[None, :] + moved[:, None]].sum(axis=0))
    total = np.array(totals)
    # All offsets between two probes give the same sum. The sum is also the same for all periods that leave each instant
    # between the same two probes. Among equivalent offsets and periods, the middle one is used.
    top = total >= total.max() - 0.02 * (total.max() - np.median(total))
    slope, place = np.nonzero(top)
    outermost, offset_ns = float(outermost_ns[slope].mean()), float(offsets_ns[kept][place].mean())
    period_ns, phase_ns = period_ns + outermost / far, phase_ns + offset_ns - outermost * middle / far
    # A loss or a spike begins at one probe, while the time of a step is known only to seconds. Losses and spikes are
    # therefore used to locate the instants of reconfigurations, even if steps are stronger evidence for the period.
    sharp = {sign for sign in (LOSSES, SPIKES) if by_sign.get(sign, 0.0) >= _TELLING}
    return _through_beginnings(series, period_ns, phase_ns, sharp, loose_ratio)


def _through_beginnings(
    series: Series, period_ns: float, phase_ns: float, sharp: set[str], loose_ratio: float
) -> tuple[float, float]:
    """Fit a line through the times at which events begin, for all events near the instants. Return the period and the
    phase of the line. If there are too few events, return the given period and phase. The events are losses and tall
    spikes.

    The beginning of a loss or of a tall spike is known to within one probe. The line is fitted up to three times. Each
    further fit uses only events within a smaller distance of the line. The fit stops when too few events remain.
    """
    lost = np.flatnonzero(series.lost | series.cut)
    begins_ns = [series.t_ns[lost[np.flatnonzero(np.diff(lost, prepend=-2) > 1)]]] if LOSSES in sharp else []
    if SPIKES in sharp:
        spikes = find_spikes(series)
        tall_ns = np.quantile([spike.height_ns for spike in spikes], 0.75) / 3 if spikes else 0.0
        begins_ns.append(np.array([spike.t_ns for spike in spikes if spike.height_ns >= tall_ns], dtype=np.int64))
    t_ns = np.sort(np.concatenate(begins_ns)).astype(np.float64) if begins_ns else np.empty(0)
    instants = (series.t_ns[-1] - series.t_ns[0]) / period_ns
    for near_ns in _NEAR_NS:
        number = np.round((t_ns - phase_ns) / period_ns)
        near = np.abs(t_ns - phase_ns - number * period_ns) < near_ns
        # If events came at random times, this number of events would be expected near the line.
        chance = len(t_ns) * min(2 * near_ns / period_ns, 1.0)
        # One long outage consists of many runs of losses at the same instant. Instants are therefore counted instead of
        # events.
        if len(np.unique(number[near])) < max(4, 0.3 * instants, 2 * chance):
            break
        fitted_ns, at_zero_ns = np.polyfit(number[near], t_ns[near], 1)
        if abs(fitted_ns / period_ns - 1) > loose_ratio:
            # If the fitted period deviates too much, the period is unchanged, and only the phase is fitted. With few
            # events, a fitted period would follow unrelated events.
            fitted_ns, at_zero_ns = period_ns, float((t_ns[near] - number[near] * period_ns).mean())
        period_ns, phase_ns = fitted_ns, at_zero_ns
    return float(period_ns), float(phase_ns)


class _Samples:
    """The probes, or groups of probes within 50 ms. ``apart_ns`` is the time in ns between two probes, or between two
    groups."""

    def __init__(self, series: Series) -> None:
        interval_ns = series.interval_ns or _SAMPLE_NS
        lost = (series.lost | series.cut).astype(np.float64)
        if interval_ns >= _SAMPLE_NS:
            self.t_ns, self.lost, self.apart_ns = series.t_ns, lost, float(interval_ns)
            self.least_ns = self.most_ns = series.delay_ns
            return
        place = (series.t_ns - series.t_ns[0]) // _SAMPLE_NS
        begins = np.flatnonzero(np.diff(place, prepend=-1))
        self.apart_ns = float(_SAMPLE_NS)
        self.t_ns = series.t_ns[0] + place[begins] * _SAMPLE_NS
        self.lost = np.add.reduceat(lost, begins) / np.diff(np.append(begins, len(place)))
        # Infinity marks probes without a reply, because the minimum of a number and nan would be nan. After the minima
        # are computed, infinity becomes nan again.
        least_ns = np.minimum.reduceat(np.where(np.isnan(series.delay_ns), np.inf, series.delay_ns), begins)
        most_ns = np.maximum.reduceat(np.where(np.isnan(series.delay_ns), -np.inf, series.delay_ns), begins)
        self.least_ns = np.where(np.isinf(least_ns), np.nan, least_ns)
        self.most_ns = np.where(np.isinf(most_ns), np.nan, most_ns)


def _levels(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """Return by how much the level of the delay changes at each place, in ns.

    at: int64 array of shape (instants, offsets). The indexes of the places among the samples.
    Returns: float64 array of the same shape
    """
    width = max(int(min(_LEVEL_NS, period_ns / 3) / of.apart_ns), 3)
    # The level is computed from the smallest delays, because queues only add to the base delay.
    level_ns = clipped(of.least_ns, max(int(_CALM_NS / of.apart_ns) | 1, 5))
    return np.asarray(np.nan_to_num(np.abs(changes(level_ns, width)))[at])


def _edges(values: NDArray[np.float64], at: NDArray[np.int64], apart_ns: float) -> NDArray[np.float64]:
    """Return the mean of the values in the 0.3 s after each instant, minus the mean in the 0.3 s before it.

    values: float64 array of shape (n,)
    at: int64 array of shape (instants, offsets). The places to evaluate, as indexes into `values` from 0 to n.
    """
    width = max(int(_EDGE_NS / apart_ns), 1)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    last = len(values)
    after = sums[np.minimum(at + width, last)] - sums[at]
    before = sums[at] - sums[np.maximum(at - width, 0)]
    return np.asarray((after - before) / width)


def _loss_edges(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    return _edges(of.lost, at, of.apart_ns)


def _spike_edges(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """Return the edges of the delays' excess. The excess is the difference from the median, divided by the median
    deviation, and at most 20."""
    most_ns = pd.Series(of.most_ns)
    width = max(int(_CALM_NS / of.apart_ns), 5)
    above_ns = (most_ns - most_ns.rolling(width, center=True, min_periods=1).median()).to_numpy()
    spread_ns = max(float(np.nanmedian(np.abs(above_ns))), 1.0)
    return _edges(np.nan_to_num(np.clip(above_ns / spread_ns, 0, 20)), at, of.apart_ns)


_CURVES = {STEPS: _levels, LOSSES: _loss_edges, SPIKES: _spike_edges}
