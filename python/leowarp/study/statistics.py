# SPDX-License-Identifier: Apache-2.0
"""Medians over seeds, with confidence intervals that assume no distribution.

An interval lies between two order statistics. The coverage of an interval is a sum of binomial probabilities for any
distribution (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1). Goodput over seeds is
neither normal nor even symmetric: it has a ceiling at the capacity.
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
"""Explanation of the intervals, for tables and captions."""


@dataclass(frozen=True)
class Middle:
    """A median with its confidence interval.

    median, low, high: Values in the unit of the data; nan if there were none.
    count: Number of values.
    confidence_ratio: Probability that an interval built this way contains the true median.
    """

    median: float
    low: float
    high: float
    count: int
    confidence_ratio: float

    @property
    def known(self) -> bool:
        """Whether there was at least one value."""
        return self.count > 0

    def above(self, value: float) -> bool:
        """Whether the whole interval is above `limit`.

        >>> middle([4.0, 5.0, 6.0]).above(3.9)
        True
        """
        return self.known and self.low > value

    def below(self, value: float) -> bool:
        """Whether the whole interval is below `limit`."""
        return self.known and self.high < value

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """The median and its interval as text, such as `12.3 (11.0 to 14.1)`.

        scale: Factor for the values: 1e-6 converts bit/s to Mbit/s.
        digits: Digits after the decimal point. An infinite value means that an event did not happen, and reads "never".

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
        """Keys for `claims.json`: `median`, `low`, `high`, `count`."""
        return {"median": self.median, "low": self.low, "high": self.high, "count": self.count}


def middle(values: Any) -> Middle:
    """Median and confidence interval; missing values are left out.

    The interval is computed by `leowarp.scalars.medians.median_interval`.

    values: array-like. Numbers; null and nan are missing values.
    Raises ValueError if a value is not a number.

    >>> wide = middle(range(1, 21))
    >>> wide.median, wide.low, wide.high, round(wide.confidence_ratio, 3)
    (10.5, 6.0, 15.0, 0.959)
    """
    # A missing value is not 0: a failed run has no goodput.
    ordered = np.sort(pd.to_numeric(pd.Series(values), errors="raise").dropna().to_numpy(dtype="float64"))
    count = len(ordered)
    if count == 0:
        return Middle(math.nan, math.nan, math.nan, 0, 0.0)
    # Order statistics replace mean and standard deviation, because an infinite value (an event that never happened)
    # still has a rank.
    found = median_interval(ordered.tolist())
    _, confidence_ratio = order_interval(count)
    return Middle(found.median, found.low, found.high, count, confidence_ratio)


def paired(rows: pd.DataFrame, column: str, one: str, other: str, key: str = "variant") -> pd.DataFrame:
    """Values of two variants paired by seed, so that both use the same path.

    rows: With the columns `seed`, `column` and `key`.
    column: Column to compare.
    one, other: Values of `key` that select the two variants.
    Returns: Columns `seed, one, other`, by seed; seeds that only one variant has are left out.
    """
    # Rows are joined by seed: with independent samples, the spread between paths would add to the spread of the
    # difference.
    mine = rows[rows[key] == one][["seed", column]].rename(columns={column: "one"})
    theirs = rows[rows[key] == other][["seed", column]].rename(columns={column: "other"})
    return mine.merge(theirs, on="seed").dropna().sort_values("seed").reset_index(drop=True)


def paired_ratio(rows: pd.DataFrame, column: str, one: str, other: str) -> Middle:
    """Median over seeds of the ratio of one variant to the other at the same seed, so that both use the same path.

    >>> rows = pd.DataFrame({"variant": ["a", "b"] * 2, "seed": [1, 1, 2, 2], "bps": [2.0, 1.0, 9.0, 3.0]})
    >>> paired_ratio(rows, "bps", "a", "b").median
    2.5
    """
    both = paired(rows, column, one, other)
    # A ratio to 0 is undefined, so seeds at which the other variant got 0 are left out.
    both = both[both["other"] > 0]
    return middle(both["one"] / both["other"])


def share(values: Sequence[bool] | np.ndarray | pd.Series) -> float:
    """Share of true values, 0 to 1; nan if there are no values."""
    array = np.asarray(values, dtype="float64")
    # The share of no values is nan, not 0. The check avoids numpy's warning.
    return float(array.mean()) if len(array) else math.nan
