# SPDX-License-Identifier: Apache-2.0
"""The signs of events on a path. They have one value for each bin of a time grid. The value says how rare the sign is.

A reconfiguration may show as a step of the minimum delay, as a spike, or as losses. Steps, spikes and losses also occur
at other times. In some minutes, they are more frequent than in others. Therefore, a score expresses how strong a sign
is in a bin. The result compares each score with the scores within one minute before and after it. The result is the
share of these scores that are at least as high as the score. At the instants of a schedule, this share is uniform in
(0, 1] if no events follow the schedule. This is true for any kind of noise.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import Series

BIN_S = 0.2
"""The width of a bin, in s. Bins are wider if probes are further apart, or if the recording is longer than 20
minutes."""

RANKED_WITHIN_S = 60.0
"""The score of a bin is compared with the scores of earlier and later bins, up to this distance."""

_MOST_BINS = 6_000
# Short windows are better on paths whose level changes often, and long windows detect smaller steps in noise. It is
# unknown which window length suits a path, so all three lengths are evaluated.
_STEP_WINDOWS_S = (2.0, 6.0, 12.0)
_CLIPPED_OVER_S = 3.0
_EDGE_WINDOW_S = 1.0
_CALM_S = 5.0
_DRIFT_S = 15.0

Scores = NDArray[np.float64]

STEPS, SPIKES, LOSSES, TOGETHER = "steps", "spikes", "losses", "together"
SIGNS = (STEPS, SPIKES, LOSSES)


@dataclass(frozen=True, eq=False)
class Signs:
    """The shares of each sign over time. A small share in a bin means that a sign as strong as in this bin is rare
    nearby.

    names: Each row is for one sign: steps, spikes, losses, or all of them together.
    shares: float64 array of shape (rows, bins). The share of the surrounding bins with at least the same score as the
        bin, in (0, 1]. nan means that the bin's score is unknown.
    """

    bin_s: float
    names: tuple[str, ...]
    shares: Scores

    def rows(self, name: str) -> NDArray[np.int64]:
        """Return the indexes of the rows that belong to the sign `name`."""
        return np.flatnonzero(np.array(self.names) == name)


def signs(series: Series) -> Signs | None:
    """Return the signs of a series of probes. None means that the series has fewer than two probes, or no reply.

    Returns: Ten rows of signs. Six are for steps (three windows, each at every bin and at its peaks), one for spikes,
        two for losses, one for all signs together.
    """
    interval_ns = series.interval_ns
    if interval_ns is None or np.isnan(series.delay_ns).all():
        return None
    span_s = float(series.t_ns[-1] - series.t_ns[0]) / 1e9
    # 6,000 bins of 0.2 s are 20 minutes; the number of bins is limited, because the search's cost grows with the number
    # of bins times the number of periods.
    bin_s = max(BIN_S, interval_ns / 1e9, span_s / _MOST_BINS)
    bins = _Bins.of(series, bin_s)
    scores = [(STEPS, score) for score in _steps(bins)]
    scores.append((SPIKES, _widened(_spikes(bins), bin_s)))
    scores += [(LOSSES, _widened(score, bin_s)) for score in _losses(bins)]
    within = max(round(RANKED_WITHIN_S / bin_s), 10)
    shares = [_shares(score, within) for _, score in scores]
    # The rows of each sign are averaged first. All signs thus have equal weight in the row `together`.
    rarity = [-np.log(share) for share in shares]
    witnesses = [_mean([rarity[place] for place, (name, _) in enumerate(scores) if name == sign]) for sign in SIGNS]
    together = _shares(np.where(np.isnan(witnesses).all(axis=0), np.nan, np.nansum(witnesses, axis=0)), within)
    return Signs(bin_s, (*(name for name, _ in scores), TOGETHER), np.array([*shares, together]))


@dataclass(frozen=True, eq=False)
class _Bins:
    """Statistics of each bin: the number of probes, the number of losses, and the smallest and largest delay. Every
    array has shape (bins,). The delays are nan if a bin has no reply."""

    bin_s: float
    sent: Scores
    lost: Scores
    least_ns: Scores
    most_ns: Scores

    @staticmethod
    def of(series: Series, bin_s: float) -> _Bins:
        """Return the values of the bins of length `bin_s`, from the first probe on."""
        place = ((series.t_ns - series.t_ns[0]) / (bin_s * 1e9)).astype(np.int64)
        count = int(place[-1]) + 1
        answered = ~np.isnan(series.delay_ns)
        least_ns, most_ns = np.full(count, np.inf), np.full(count, -np.inf)
        # `minimum.at` is used because several probes may be in a bin, and an assignment would store only the last one.
        np.minimum.at(least_ns, place[answered], series.delay_ns[answered])
        np.maximum.at(most_ns, place[answered], series.delay_ns[answered])
        return _Bins(
            bin_s=bin_s,
            sent=np.bincount(place, minlength=count).astype(np.float64),
            lost=np.bincount(place, weights=series.lost | series.cut, minlength=count).astype(np.float64),
            least_ns=np.where(np.isinf(least_ns), np.nan, least_ns),
            most_ns=np.where(np.isinf(most_ns), np.nan, most_ns),
        )


def _steps(bins: _Bins) -> list[Scores]:
    """Return the change of the delay's level at each bin. The change is measured with windows of several lengths around
    the bin. Each length of window gives two scores. One score has a value for all bins. The other score is 0 except at
    peaks."""
    level_ns = clipped(bins.least_ns, max(2 * round(_CLIPPED_OVER_S / bins.bin_s) + 1, 5))
    found = []
    for window_s in _STEP_WINDOWS_S:
        width = max(round(window_s / bins.bin_s), 2)
        # Neither the window before a bin nor the window after it contains the bin itself.
        change_ns = changes(level_ns, width, apart=1)[: len(level_ns)]
        # The median change is subtracted, because a steady drift of the level gives every bin the same change.
        score = np.abs(change_ns - _moving_median(change_ns, 2 * round(_DRIFT_S / bins.bin_s) + 1))
        found += [score, _peaks(score, width // 2)]
    return found


def clipped(of: Scores, width: int) -> Scores:
    """Return the values with outliers clipped, so that a mean can be computed. Outliers are values far above the median
    of their surroundings.

    A median would ignore outliers even without clipping. For the same precision in normal noise, however, a median
    needs 1.57 times as many samples as a mean.

    of: float64 array of shape (n,). nan: unknown.
    width: The width of the moving median's window.
    """
    above = of - _moving_median(of, width)
    spread = float(np.nanquantile(np.abs(above), 0.75)) if not np.isnan(above).all() else 0.0
    return np.asarray(of - np.maximum(above - 1.5 * spread, 0))


def changes(of: Scores, width: int, apart: int = 0) -> Scores:
    """For each place in the series, return the mean of the values after it minus the mean of the values before it. A
    place gets nan if more than half of the values before it, or after it, are unknown.

    of: float64 array of shape (n,). nan: unknown.
    width: The number of values in each mean.
    apart: Directly after the place, this many values are left out of both means.
    Returns: float64 array of shape (n + 1,). Element k is for the place before value k, and element n is for the place
        after the last value.
    """
    known = ~np.isnan(of)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, of, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    last = len(of)
    at = np.arange(last + 1)
    low, begin, end = np.maximum(at - width, 0), np.minimum(at + apart, last), np.minimum(at + apart + width, last)
    before, after = counts[at] - counts[low], counts[end] - counts[begin]
    # Next to an outage only a few values are known, and their mean could look like a step.
    enough = (before * 2 >= width) & (after * 2 >= width)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (sums[end] - sums[begin]) / after - (sums[at] - sums[low]) / before
    return np.asarray(np.where(enough, found, np.nan))


def _spikes(bins: _Bins) -> Scores:
    """Return each bin's highest delay minus the median of the surrounding bins, in ns."""
    return np.asarray(bins.most_ns - _moving_median(bins.most_ns, 2 * round(_CALM_S / bins.bin_s) + 1))


def _losses(bins: _Bins) -> list[Scores]:
    """Return two scores of each bin. The first is the bin's loss ratio. The second is the change of the loss ratio from
    before the bin to after it. The change is set to 0 except at its local maxima. A long loss begins or ends at these
    maxima."""
    width = max(round(_EDGE_WINDOW_S / bins.bin_s), 2)
    lost, sent = (_windows(of, width).sum(axis=1) for of in (bins.lost, bins.sent))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(sent > 0, lost / sent, np.nan)
        here = np.where(bins.sent > 0, bins.lost / bins.sent, np.nan)
    return [here, _peaks(np.abs(ratio[width + 1 :] - ratio[: -width - 1]), width)]


def _windows(of: Scores, width: int, *, centred: bool = False) -> NDArray[np.float64]:
    """Return windows over an array that is padded with nan at both ends. If `centred` is false, each end has one
    additional window. Window i then ends before index i, and window i + width + 1 begins after index i."""
    before = width // 2 if centred else width
    after = width - 1 - before if centred else width
    return sliding_window_view(np.concatenate([np.full(before, np.nan), of, np.full(after, np.nan)]), width)


def _moving_median(of: Scores, width: int) -> Scores:
    """For each place in the series, return the median of the known values around the place. If two values are in the
    middle, it is the lower one. The result is nan if no value is known.

    For wide windows, the median is computed only 20 times per width, because it changes slowly.
    """
    every = max(width // 20, 1)
    ordered = np.sort(_windows(of, width, centred=True)[::every], axis=1)  # nan are sorted last
    known = (~np.isnan(ordered)).sum(axis=1)
    found = np.where(known > 0, ordered[np.arange(len(ordered)), np.maximum(known - 1, 0) // 2], np.nan)
    return np.asarray(np.repeat(found, every)[: len(of)])


def _peaks(score: Scores, reach: int) -> Scores:
    """Return each score that is the maximum of all scores within `reach` bins. All other scores become 0."""
    highest = _moving_max(score, reach)
    return np.where(np.isnan(score), np.nan, np.where(score >= highest, score, 0.0))


def _widened(score: Scores, bin_s: float) -> Scores:
    """Replace each bin's score by the largest score of this bin and the neighbouring bins. The neighbours are included
    because an event at the edge of a bin may be visible in the next bin."""
    reach = round(0.15 / bin_s)
    return score if not reach else np.where(np.isnan(score), np.nan, _moving_max(score, reach))


def _moving_max(score: Scores, reach: int) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a window of only nan has no maximum
        return np.asarray(np.nanmax(_windows(score, 2 * reach + 1, centred=True), axis=1))


def _mean(of: list[Scores]) -> Scores:
    """Return the mean score of each bin over the rows of `of`. If all rows are nan in a bin, the mean is nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of a bin that has only nan values
        return np.asarray(np.nanmean(of, axis=0))


def _shares(score: Scores, within: int) -> Scores:
    """For each bin, consider the known scores around it. Return the share of these scores that are equal to the bin's
    score or higher.

    This share is the p-value of a permutation test, which compares a bin with its surroundings. For noise of any
    distribution, the share is uniform, if all surrounding bins have the same distribution.

    score: float64 array of shape (bins,). nan: unknown.
    within: Each bin is compared with this number of bins on each side.
    Returns: float64 array of shape (bins,). The values are in (0, 1], or nan where the score is nan.
    """
    found = np.full(len(score), np.nan)
    windows = _windows(score, 2 * within + 1, centred=True)
    # The bins are processed in pieces to limit the memory. All windows together have 6,000 rows of 601 values, which
    # take 29 MB per comparison.
    for begin in range(0, len(score), 1024):
        rows = windows[begin : begin + 1024]
        known = (~np.isnan(rows)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            # The share includes the bin itself, so the share is never 0 and its logarithm is finite.
            higher = (rows >= score[begin : begin + 1024, None]).sum(axis=1)
        found[begin : begin + 1024] = np.where(higher > 0, higher / np.maximum(known, 1), np.nan)
    return found
