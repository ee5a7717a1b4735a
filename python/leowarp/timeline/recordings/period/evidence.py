# SPDX-License-Identifier: Apache-2.0
"""The Bayes factor of the signs. The factor compares two hypotheses. In the first, events recur with this period and
phase. In the second, no events follow a schedule.

If no events follow a schedule, the shares of `signs` at the schedule's instants are uniform in (0, 1]. If events follow
the schedule, a fraction q of the shares has the density ``a s^(a - 1)``, where a is below 1. Small shares are then more
frequent than large ones. The likelihood ratio of the two hypotheses is averaged over a grid of q and a. The mean is the
Bayes factor of one evaluation of a sign. The Bayes factor of a period and a phase is the mean over all evaluations,
because it is unknown which sign a path shows. It can compare candidates with different periods and phases
(docs/guides/your-own-measured-path.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from leowarp.timeline.recordings.period.signs import SIGNS, TOGETHER, Signs

# A coarse grid is enough, because neighbouring models have almost the same likelihood. A finer grid would cost more,
# because every model is evaluated for every bin.
_PARTS = (0.3, 0.6, 0.9)
_EXPONENTS = (0.15, 0.4)
_GRID = tuple((part, exponent) for part in _PARTS for exponent in _EXPONENTS)
MIDDLE = 3
"""The model in the middle of the grid: q = 0.6, a = 0.4."""

_MOST_SUMMED = 1 << 20
"""The largest number of values that are summed at once. They take 8 MB."""


@dataclass(frozen=True, eq=False)
class Ratios:
    """The log likelihood ratios. There is a value for each evaluation of a sign, each model of the grid, and each bin.

    of: float64 array of shape (rows, models, bins). 0 if nothing is known of the sign in this bin.
    """

    signs: Signs
    of: NDArray[np.float64]

    @staticmethod
    def from_signs(signs: Signs) -> Ratios:
        """Return the log likelihood ratios of all evaluations of the signs, for every model of the grid.

        Shares have the density ``a s^(a - 1)``. This is the density of a beta distribution whose second parameter is 1.
        Sellke, Bayarri and Berger use the same alternative to convert p-values to Bayes factors ("Calibration of p
        Values for Testing Precise Null Hypotheses", The American Statistician 55, 2001, section 3).
        """
        log_share = np.log(signs.shares)
        models = [np.log1p(q * (a * np.exp((a - 1) * log_share) - 1)) for q, a in _GRID]
        # If nothing is known of a sign in a bin, its log ratio is 0, which is neutral.
        return Ratios(signs, np.nan_to_num(np.stack(models, axis=1)))

    @property
    def bins(self) -> int:
        return int(self.of.shape[2])

    @property
    def span_s(self) -> float:
        return self.bins * self.signs.bin_s

    def phases(self, period_s: float) -> NDArray[np.float64]:
        """Return the phases to try, in s. The phases are the middles of the bins in one period."""
        return np.asarray((np.arange(self.width(period_s)) + 0.5) * self.signs.bin_s, dtype=np.float64)

    def width(self, period_s: float) -> int:
        """Return the number of bins of a period."""
        return int(np.ceil(period_s / self.signs.bin_s))

    def starts(self, period_s: float) -> NDArray[np.int64]:
        """Return the index of the bin in which each period of the series begins."""
        count = int(np.ceil(self.span_s / period_s))
        return (np.arange(count) * (period_s / self.signs.bin_s) + 0.5).astype(np.int64)

    def folded(self, period_s: float) -> NDArray[np.float64]:
        """Return the log likelihood ratio, summed over the instants of a period, for each of `phases`.

        Returns: float64 array of shape (rows, models, phases). An instant after the end of the series adds 0.
        """
        width = self.width(period_s)
        found = np.zeros((*self.of.shape[:2], width))
        for start in self.starts(period_s).tolist():
            part = self.of[:, :, start : start + width]
            found[:, :, : part.shape[2]] += part
        return found

    def strongest(self, row: int, periods_s: Sequence[float]) -> float:
        """Return the period with the largest log likelihood ratio at its best phase. Only the evaluation `row` and the
        middle model of the grid are used.

        row: The row of `Signs.shares`, which is one evaluation of a sign.
        periods_s: The candidate periods. If several periods are equally strong, the first of these periods is returned.
        """
        of_s = np.asarray(periods_s)
        count = int(np.ceil(self.span_s / of_s.min()))
        starts = (np.arange(count) * (of_s[:, None] / self.signs.bin_s) + 0.5).astype(np.int64)
        # A start after the end of the series selects the last window, which contains only added zeros.
        starts = np.minimum(starts, self.bins)
        widths = np.array([self.width(period_s) for period_s in periods_s])
        found = np.empty(len(of_s))
        # Hundreds of similar periods share only a few widths. Periods of one width are summed together, because a call
        # of numpy takes longer than the sum of a period.
        for width in np.unique(widths).tolist():
            windows = sliding_window_view(np.concatenate([self.of[row, MIDDLE], np.zeros(width)]), width)
            same = np.flatnonzero(widths == width)
            for some in np.array_split(same, -(-len(same) * count * width // _MOST_SUMMED)):
                found[some] = windows[starts[some]].sum(axis=1).max(axis=1)
        return float(of_s[np.argmax(found)])

    def sums(self, period_s: float, phases_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the log likelihood ratios over the instants ``phase + k period``. Return the sums, shape (rows,
        models, phases)."""
        count = int(np.ceil(self.span_s / period_s))
        places = (np.add.outer(np.arange(count) * period_s, phases_s) / self.signs.bin_s).astype(np.int64)
        # An instant after the end of the series selects the last column, which contains the added zeros.
        padded = np.concatenate([self.of, np.zeros((*self.of.shape[:2], 1))], axis=2)
        return np.asarray(padded[:, :, np.minimum(places, self.bins)].sum(axis=2))

    def by_sign(self, factors: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """For each sign, average the Bayes factors over all its evaluations. Return the log of the mean.

        factors: float64 array of shape (rows, phases). The log Bayes factors.
        Returns: dict of str to float64 array of shape (phases,)
        """
        # The mean is used and not the maximum: with six evaluations of a sign, the maximum would more often be high by
        # chance.
        return {name: log_mean(factors[self.signs.rows(name)], axis=0) for name in (*SIGNS, TOGETHER)}

    def whole(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the mean of several Bayes factors, shape (phases,). Each sign contributes one factor.
        All signs together contribute one more factor."""
        return log_mean(np.array(list(self.by_sign(factors).values())), axis=0)


def log_mean(of: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the logarithm of a mean. `of` contains the logarithms of the values."""
    # The largest value is factored out first, because the exponential of a log factor above 709 overflows.
    most = of.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(of - most).mean(axis=axis)) + most.squeeze(axis))
