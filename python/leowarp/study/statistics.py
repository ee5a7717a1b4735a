# SPDX-License-Identifier: Apache-2.0
"""Compute medians over seeds, with confidence intervals that do not assume a distribution.

The ends of an interval are two of the sorted values. For any distribution, a sum of binomial probabilities gives the
probability that the interval contains the true median (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition,
section 7.1). A normal distribution cannot be assumed. The capacity limits goodput, so the distribution of goodput is
asymmetric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.scalars.medians import median_interval, order_interval

HOW = (
    "medians over seeds; intervals between two order statistics, by the binomial distribution, of at least 95 % "
    "confidence (20 seeds: the 6th and the 15th value, 95.9 %); of fewer than 6 seeds, the smallest and the largest "
    "(5: 93.8 %)"
)
"""The sentence that explains the confidence intervals in tables and captions."""


@dataclass(frozen=True)
class Middle:
    """A median with its confidence interval.

    median, low, high: The values in the unit of the data. nan means that there are no values.
    count: The number of values.
    confidence_ratio: The probability that an interval computed in this way contains the true median.
    """

    median: float
    low: float
    high: float
    count: int
    confidence_ratio: float

    @property
    def known(self) -> bool:
        return self.count > 0

    def above(self, value: float) -> bool:
        """Return whether the whole interval is above `value`.

        >>> middle([4.0, 5.0, 6.0]).above(3.9)
        True
        """
        return self.known and self.low > value

    def below(self, value: float) -> bool:
        return self.known and self.high < value

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """Return the median and its interval as text, such as `12.3 (11.0 to 14.1)`.

        scale: The factor by which the values are multiplied. For example, 1e-6 converts bit/s to Mbit/s.
        digits: The number of digits after the decimal point. An infinite value, an event that did not happen, is
            "never".

        >>> middle([11e6, 12e6, 15e6]).text(1e-6)
        '12.0 (11.0 to 15.0)'
        """
        if not self.known:
            return "unknown"
        median, low, high = (
            f"{value * scale:.{digits}f}" if math.isfinite(value) else "never"
            for value in (self.median, self.low, self.high)
        )
        return f"{median} ({low} to {high})"

    def numbers(self) -> dict[str, Any]:
        """Return the values for `claims.json`."""
        return {"median": self.median, "low": self.low, "high": self.high, "count": self.count}


def middle(values: Any) -> Middle:
    """Return the median of values, with its confidence interval. null and nan are ignored.

    Raises ValueError if a value is not a number.

    >>> wide = middle(range(1, 21))
    >>> wide.median, wide.low, wide.high, round(wide.confidence_ratio, 3)
    (10.5, 6.0, 15.0, 0.959)
    """
    # A missing value is dropped instead of becoming 0: a failed run has no goodput.
    ordered = np.sort(pd.to_numeric(pd.Series(values), errors="raise").dropna().to_numpy(dtype="float64"))
    count = len(ordered)
    if count == 0:
        return Middle(math.nan, math.nan, math.nan, 0, 0.0)
    # In order statistics, an infinite value (an event that never happened) has a rank like any other value.
    found = median_interval(ordered.tolist())
    _, confidence_ratio = order_interval(count)
    return Middle(found.median, found.low, found.high, count, confidence_ratio)


def paired(rows: pd.DataFrame, column: str, one: str, other: str) -> pd.DataFrame:
    """Return the values of two variants, paired by seed. Two runs with the same seed have the same path.

    rows: A frame with the columns `seed`, `column` and `variant`.
    one, other: The two variants, as values in the column `variant`.
    Returns: The columns `seed, one, other`, sorted by seed. A seed is dropped if only one of the variants has it.
    """
    # With independent samples, the spread between paths would widen the interval of the variants' difference.
    mine = rows[rows["variant"] == one][["seed", column]].rename(columns={column: "one"})
    theirs = rows[rows["variant"] == other][["seed", column]].rename(columns={column: "other"})
    return mine.merge(theirs, on="seed").dropna().sort_values("seed").reset_index(drop=True)


def paired_ratio(rows: pd.DataFrame, column: str, one: str, other: str) -> Middle:
    """Return the median over seeds of the ratio between two variants, paired by seed.

    >>> rows = pd.DataFrame({"variant": ["a", "b"] * 2, "seed": [1, 1, 2, 2], "bps": [2.0, 1.0, 9.0, 3.0]})
    >>> paired_ratio(rows, "bps", "a", "b").median
    2.5
    """
    both = paired(rows, column, one, other)
    # Seeds with a value of 0 for the second variant are left out, because their ratio is undefined.
    both = both[both["other"] > 0]
    return middle(both["one"] / both["other"])


def share(values: Sequence[bool] | np.ndarray | pd.Series) -> float:
    """Return the share of true values, from 0 to 1, or nan if there are no values."""
    array = np.asarray(values, dtype="float64")
    # Without values, `mean` would return nan with a numpy warning.
    return float(array.mean()) if len(array) else math.nan
