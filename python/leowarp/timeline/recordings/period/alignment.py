# SPDX-License-Identifier: Apache-2.0
"""Period and phase to a fraction of a bin: where the signs around all instants of a schedule, laid over each other, are
strongest.

One step among noise cannot be placed; twenty can together. Around each instant every sign is a curve over the offset
from it: how much the level differs before and after, how many more probes are lost after than before, how much higher
the delays are. The sum of the curves is largest at the offset that is right, and only if the period is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.signs import LOSSES, SPIKES, STEPS, changes, clipped
from leowarp.timeline.recordings.period.spikes import find_spikes

_SAMPLE_NS = 50_000_000
"""Of denser probes the least and the most in so long, and the share lost."""

# The search is right to some bins of 0.2 s (`signs.BIN_S`); beyond this a curve would be drawn to the next event.
_REACH_NS = 1_000_000_000
_EDGE_NS = 300_000_000
# Of a period of 15 s about a quarter on either side: longer, and the step before or after the one looked at would be in
# the mean as well.
_LEVEL_NS = 4_000_000_000
_CALM_NS = 3_000_000_000
# From coarse to fine: the first line is only as good as a bin of the search, and with each fit fewer events of other
# causes are near.
_NEAR_NS = (400_000_000, 200_000_000, 150_000_000)
_TELLING = 3.0
"""Log Bayes factor from which on a sign says where an instant is..."""

_ALMOST = 0.7
"""... if it is not much below that of the strongest sign."""


def aligned(
    series: Series, period_ns: float, phase_ns: float, by_sign: dict[str, float], *, loose_ratio: float = np.inf
) -> tuple[float, float]:
    """Period and phase, near those given; the phase on the series' clock.

    period_ns, phase_ns: Right to a bin of `signs`, at either end of the series.
    by_sign: Log Bayes factors; what signs say little about it are not asked.
    loose_ratio: By how much the period may change.
    """
    of = _Samples(series)
    reach_ns = max(_REACH_NS, 1.5 * of.apart_ns)
    step_ns = of.apart_ns / 4
    offsets_ns = np.arange(-round(2 * reach_ns / step_ns), round(2 * reach_ns / step_ns) + 1) * step_ns
    first = int(np.ceil((of.t_ns[0] - phase_ns) / period_ns))
    numbers = np.arange(first, int((of.t_ns[-1] - phase_ns) // period_ns) + 1)
    # A weak sign would blur the place that a strong one shows: a step is known to seconds, a loss to one probe.
    least = max(_TELLING, _ALMOST * max(by_sign.get(sign, 0.0) for sign in _CURVES))
    telling = {sign: weight for sign, weight in by_sign.items() if sign in _CURVES and weight >= least}
    if len(numbers) < 3 or not telling:
        return period_ns, phase_ns
    at = np.searchsorted(of.t_ns, np.add.outer(numbers * period_ns + phase_ns, offsets_ns))
    curves = np.zeros(at.shape)
    for sign, weight in telling.items():
        curve = _CURVES[sign](of, at, period_ns)
        # Curves are ns, shares and deviations: each in units of its own spread, before they are added up.
        scale = np.abs(curve - np.median(curve)).mean()
        if scale > 0:
            # Bounded twice, or one event that towers over all others would place the schedule by itself.
            curves += min(weight, 30.0) * np.clip(curve / scale, -10, 10)
    # The middle instants stay; the outermost move by up to half of what is searched.
    middle = (numbers[0] + numbers[-1]) / 2
    far = max((numbers[-1] - numbers[0]) / 2, 1)
    kept = np.flatnonzero(np.abs(offsets_ns) <= reach_ns)
    outermost_ns = np.arange(-12, 13) * (reach_ns / 24)
    # A period that is known by name (15 s) is only off by as much as the recorder's clock is.
    outermost_ns = outermost_ns[np.abs(outermost_ns) <= loose_ratio * period_ns * far]
    totals = []
    for outermost in outermost_ns:
        moved = np.rint(outermost * (numbers - middle) / far / step_ns).astype(np.int64)
        totals.append(curves[np.arange(len(numbers))[:, None], kept[None, :] + moved[:, None]].sum(axis=0))
    total = np.array(totals)
    # Between two probes all offsets are the same one, and so are periods that differ by less: their middle.
    top = total >= total.max() - 0.02 * (total.max() - np.median(total))
    slope, place = np.nonzero(top)
    outermost, offset_ns = float(outermost_ns[slope].mean()), float(offsets_ns[kept][place].mean())
    period_ns, phase_ns = period_ns + outermost / far, phase_ns + offset_ns - outermost * middle / far
    # Losses and spikes begin at one probe, and say where even if steps say more surely that there is a period.
    sharp = {sign for sign in (LOSSES, SPIKES) if by_sign.get(sign, 0.0) >= _TELLING}
    return _through_beginnings(series, period_ns, phase_ns, sharp, loose_ratio)


def _through_beginnings(
    series: Series, period_ns: float, phase_ns: float, sharp: set[str], loose_ratio: float
) -> tuple[float, float]:
    """A line through what begins near the instants, if something does near enough of them: losses, and tall spikes.

    What begins is known to one probe, a step of the level only to some seconds. So the line is drawn again and again
    through what is near, each time nearer, until too few are.
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
        # As many as that are there by chance, if they come at any time.
        chance = len(t_ns) * min(2 * near_ns / period_ns, 1.0)
        # Counted by instant, not by event: one long outage breaks into many runs of losses at the same instant.
        if len(np.unique(number[near])) < max(4, 0.3 * instants, 2 * chance):
            break
        fitted_ns, at_zero_ns = np.polyfit(number[near], t_ns[near], 1)
        if abs(fitted_ns / period_ns - 1) > loose_ratio:
            # The period is certain and only the phase is fitted: among few events a slope follows those of other
            # causes.
            fitted_ns, at_zero_ns = period_ns, float((t_ns[near] - number[near] * period_ns).mean())
        period_ns, phase_ns = fitted_ns, at_zero_ns
    return float(period_ns), float(phase_ns)


class _Samples:
    """Probes, or what those of 50 ms are together; ``apart_ns`` the time from one to the next."""

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
        # Infinite where nothing came back, since a least of nan and a number would be nan; below it is nan again.
        least_ns = np.minimum.reduceat(np.where(np.isnan(series.delay_ns), np.inf, series.delay_ns), begins)
        most_ns = np.maximum.reduceat(np.where(np.isnan(series.delay_ns), -np.inf, series.delay_ns), begins)
        self.least_ns = np.where(np.isinf(least_ns), np.nan, least_ns)
        self.most_ns = np.where(np.isinf(most_ns), np.nan, most_ns)


def _levels(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """How much the level of the samples from each place on differs from that of those before it, ns.

    at: int64 array of shape (instants, offsets). Places among the samples.
    Returns: float64 array of the same shape
    """
    width = max(int(min(_LEVEL_NS, period_ns / 3) / of.apart_ns), 3)
    # The least and not the mean of the probes: queues only ever add to the base delay.
    level_ns = clipped(of.least_ns, max(int(_CALM_NS / of.apart_ns) | 1, 5))
    return np.asarray(np.nan_to_num(np.abs(changes(level_ns, width)))[at])


def _edges(values: NDArray[np.float64], at: NDArray[np.int64], apart_ns: float) -> NDArray[np.float64]:
    """How much larger the values from each place on are than those before it.

    Parameters
    ----------
    values : float64 array of shape (n,)
    at : int64 array of shape (instants, offsets)
        Places from 0 to n.

    Returns
    -------
    float64 array of the shape of `at`
        Differences of means over 0.3 s.
    """
    width = max(int(_EDGE_NS / apart_ns), 1)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    last = len(values)
    after = sums[np.minimum(at + width, last)] - sums[at]
    before = sums[at] - sums[np.maximum(at - width, 0)]
    return np.asarray((after - before) / width)


def _loss_edges(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """How many more are lost after each place than before it, as a share."""
    return _edges(of.lost, at, of.apart_ns)


def _spike_edges(of: _Samples, at: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """How much higher above their median delays are after each place, in median deviations, at most 20."""
    most_ns = pd.Series(of.most_ns)
    width = max(int(_CALM_NS / of.apart_ns), 5)
    above_ns = (most_ns - most_ns.rolling(width, center=True, min_periods=1).median()).to_numpy()
    spread_ns = max(float(np.nanmedian(np.abs(above_ns))), 1.0)
    return _edges(np.nan_to_num(np.clip(above_ns / spread_ns, 0, 20)), at, of.apart_ns)


_CURVES = {STEPS: _levels, LOSSES: _loss_edges, SPIKES: _spike_edges}
