# SPDX-License-Identifier: Apache-2.0
"""Medians over seeds with confidence intervals that assume no distribution."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

CONFIDENCE = 0.95
"""Least probability that an interval holds the true median, where the number of values allows it."""

HOW = (
    "medians over seeds; intervals between two order statistics, by the binomial distribution, of at least 95 % "
    "confidence (20 seeds: the 6th and the 15th value, 95.9 %); of fewer than 6 seeds, the smallest and the largest "
    "(5: 93.8 %)"
)
"""For tables and captions."""


@dataclass(frozen=True)
class Middle:
    """A median with its interval.

    Attributes
    ----------
    median, low, high : float
        nan of no values.
    count : int
        How many values there were.
    confidence_ratio : float
        Probability that such an interval holds the true median.
    """

    median: float
    low: float
    high: float
    count: int
    confidence_ratio: float

    @property
    def known(self) -> bool:
        """Whether there was any value."""
        return self.count > 0

    def above(self, value: float) -> bool:
        """Whether the whole interval is."""
        return self.known and self.low > value

    def below(self, value: float) -> bool:
        """Whether the whole interval is."""
        return self.known and self.high < value

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """`12.3 (11.0 to 14.1)`."""
        if not self.known:
            return "unknown"
        median, low, high = (
            f"{value * scale:.{digits}f}" if math.isfinite(value) else "never"
            for value in (self.median, self.low, self.high)
        )
        return f"{median} ({low} to {high})"

    def numbers(self) -> dict[str, Any]:
        """For `claims.json`."""
        return {"median": self.median, "low": self.low, "high": self.high, "count": self.count}


def middle(values: Any) -> Middle:
    """Median and interval; missing values are left out.

    The interval [x(k), x(n+1-k)] holds the true median with probability 1 - 2 P(B <= k - 1), B binomial (n, 1/2); k is
    the largest that keeps this at 95 % or more, or 1.
    """
    ordered = np.sort(pd.to_numeric(pd.Series(values), errors="raise").dropna().to_numpy(dtype="float64"))
    count = len(ordered)
    if count == 0:
        return Middle(math.nan, math.nan, math.nan, 0, 0.0)
    rank = _rank(count)
    return Middle(
        float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[count - rank]), count,
        coverage_ratio(count, rank),
    )  # fmt: skip


@functools.cache
def _rank(count: int) -> int:
    """k of `middle`: coverage falls as the interval narrows, so the last rank that keeps it is found by halving."""
    low, high = 1, max(count // 2, 1)
    while low < high:
        middle_rank = (low + high + 1) // 2
        low, high = (middle_rank, high) if coverage_ratio(count, middle_rank) >= CONFIDENCE else (low, middle_rank - 1)
    return low


def coverage_ratio(count: int, rank: int) -> float:
    """Probability that the interval from the `rank`-th smallest to the `rank`-th largest value holds the median."""
    below = sum(math.comb(count, successes) for successes in range(rank))
    # Whole numbers, divided once: 2 to the power of some thousands is no float.
    return max(0.0, 1.0 - (2 * below) / (1 << count))


def paired(rows: pd.DataFrame, column: str, one: str, other: str, key: str = "variant") -> pd.DataFrame:
    """Values of two variants at equal seeds: columns `seed, one, other`, without seeds that only one has."""
    mine = rows[rows[key] == one][["seed", column]].rename(columns={column: "one"})
    theirs = rows[rows[key] == other][["seed", column]].rename(columns={column: "other"})
    return mine.merge(theirs, on="seed").dropna().sort_values("seed").reset_index(drop=True)


def paired_ratio(rows: pd.DataFrame, column: str, one: str, other: str) -> Middle:
    """Median over seeds of one variant's value over the other's at the same seed: the same path for both."""
    both = paired(rows, column, one, other)
    # Of nothing there is no multiple: a seed at which the other one got 0 says nothing of how many times as much.
    both = both[both["other"] > 0]
    return middle(both["one"] / both["other"])


def share(values: Sequence[bool] | np.ndarray | pd.Series) -> float:
    """Share of true values, 0 to 1; nan of none."""
    array = np.asarray(values, dtype="float64")
    return float(array.mean()) if len(array) else math.nan
