# SPDX-License-Identifier: Apache-2.0
"""The medians over replicates (runs that differ only in their seeds), each with a confidence interval.

The interval goes from the j-th smallest to the j-th largest of the n values, x(j) to x(n + 1 - j). The interval is
valid for independent runs whose values have any continuous distribution. The interval contains the distribution's
median with the probability 1 - 2 P(B < j), where B is binomial with n trials of 1/2 (H. A. David and H. N. Nagaraja,
Order Statistics, 3rd edition, 2003, section 7.1). j is the largest number for which this probability is at least 95 %.
With five or fewer runs, the interval goes from the smallest to the largest value. The probability of this interval is
below 95 %, because no j gives 95 % for so few values. The interval is computed without random numbers, so it is exact
and needs no seed.

>>> median_interval([3, 1, 2, 5, 4, 6])
MedianInterval(median=3.5, low=1, high=6)
>>> order_interval(6)
(1, 0.96875)
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leowarp.scalars.overview import Quantity, Section, quantities

CONFIDENCE = 0.95


@dataclass(frozen=True)
class MedianInterval:
    """The median of a sample, and a confidence interval for the distribution's median."""

    median: float
    low: float
    high: float


@functools.cache
def order_interval(count: int) -> tuple[int, float]:
    """Return the pair (j, probability). The j-th smallest and the j-th largest of `count` values enclose the median
    with this probability. It is the largest j that gives at least `CONFIDENCE`, or 1 if none does.

    count: The number of values, at least 1. For a `count` of 1, the probability is 0.
    """
    # A binary search works, because wider intervals have a higher probability.
    low, high = 1, max(count // 2, 1)
    while low < high:
        j = (low + high + 1) // 2
        low, high = (j, high) if coverage_ratio(count, j) >= CONFIDENCE else (low, j - 1)
    return low, coverage_ratio(count, low)


def coverage_ratio(count: int, j: int) -> float:
    """Return the probability that x(j) and x(n + 1 - j) of `count` values enclose the median, 1 - 2 P(B < j).

    >>> coverage_ratio(5, 1), round(coverage_ratio(20, 6), 4)
    (0.9375, 0.9586)
    """
    below = sum(math.comb(count, successes) for successes in range(j))
    # The only division comes last, because 2 to the power of some thousands does not fit into a float.
    return max(0.0, 1.0 - (2 * below) / (1 << count))


def median_interval(values: Sequence[float]) -> MedianInterval:
    """Return the median of at least one value, with the interval of `order_interval`."""
    ordered, count = sorted(values), len(values)
    j, _ = order_interval(count)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return MedianInterval(middle, ordered[j - 1], ordered[count - j])


def compared_groups(names: Sequence[str], groups: Sequence[Sequence[dict[str, Any]]]) -> list[Section]:
    """Return the tables of several groups of summaries, one column per group. A cell has the median and, in brackets,
    its interval."""
    every = [summary for group in groups for summary in group]
    ends = [sum(len(group) for group in groups[: place + 1]) for place in range(len(groups))]
    # `[0, *ends]` has one entry more than `ends`; `zip` ignores this last entry.
    bounds = list(zip([0, *ends], ends, strict=False))
    return [
        Section(
            f"{title}: median [interval]",
            tuple(names),
            tuple((each.label, tuple(_said(each, each.values[a:b]) for a, b in bounds)) for each in rows),
        )
        for title, rows in quantities(every)
    ]


def sentence(counts: Sequence[int]) -> str:
    """Return the sentence that explains the intervals in brackets, for the numbers of runs of the groups."""
    parts = []
    for count in dict.fromkeys(counts):
        j, probability = order_interval(count)
        parts.append(
            f"of {count} runs from the {_place(j)}smallest to the {_place(j)}largest value, "
            f"which holds the median over all seeds with {100 * probability:.3g} %"
        )
    return (
        f"In brackets: {'; '.join(parts)} (order statistics, David and Nagaraja 2003, 7.1; quantities are judged "
        "one by one)."
    )


def _place(j: int) -> str:
    if j == 1:
        return ""
    # 11 to 13 and 111 to 113 end in "th", whatever their last digit.
    ending = "th" if j % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(j % 10, "th")
    return f"{j}{ending} "


def _said(quantity: Quantity, values: Sequence[Any]) -> str | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if any(isinstance(value, str) for value in known):
        counts = Counter(known)
        return str(known[0]) if len(counts) == 1 else ", ".join(f"{count} {name}" for name, count in counts.items())
    found = median_interval(known)
    # If some runs lack a quantity, such as a completion time, the text says how many runs have it.
    of = f" (of {len(known)})" if len(known) < len(values) else ""
    are_counts = all(isinstance(value, int) for value in known)
    says = _said_count if are_counts and quantity.text(1) == "1" else quantity.text
    median, low, high = (says(value) for value in (found.median, found.low, found.high))
    if found.low == found.high:
        return median + of
    # The unit is written only once if all three values have the same unit: in "3 [900 to 4] ms", the value 900 would
    # seem to be in ms as well.
    units = {text.partition(" ")[2] for text in (median, low, high)}
    if len(units) == 1 and (unit := units.pop()):
        return f"{median.partition(' ')[0]} [{low.partition(' ')[0]} to {high.partition(' ')[0]}] {unit}{of}"
    return f"{median} [{low} to {high}]{of}"


def _said_count(value: float) -> str:
    """Return a median of counts as text: 5 (without decimals) for the median of 4 and 6, and 4.5 for 4 and 5."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.1f}"
