# SPDX-License-Identifier: Apache-2.0
"""Make the values of a range of numbers, such as `{ from = "0 ms", to = "10 ms", count = 5 }`.

The values are evenly spaced on a linear or a logarithmic scale. Some values are stored in whole units: times in ns,
rates in bit/s, sizes in bytes, and counts. They are rounded to the nearest integer, with ties to even. The first and
the last value are exactly `from` and `to`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.base.units import BYTES, PACKETS, Quantity
from leowarp.study.sweep.parameters.keys import PlanKey

MOST_SHOWN = 12
"""The maximum number of seeds that a table lists one by one."""
RANGE_KEYS = ("from", "to", "count", "step", "scale")
SCALES = ("linear", "log")
MOST_VALUES = 100_000
"""The maximum number of values of a range. A step with a wrong unit ("1 us" for "1 ms") could fill the memory."""


def values_of_range(given: Mapping[str, Any], key: PlanKey) -> list[Any]:
    """Return the values of a range as a scenario contains them: strings with a unit, or integers for a count.

    given: The keys `from`, `to`, either `count` or `step`, and optionally `scale`, in plain TOML types.
    Raises ScenarioError if the range is wrong.

    >>> from leowarp.study.sweep.parameters.keys import plan_key
    >>> values_of_range({"from": "0 ms", "to": "10 ms", "count": 3}, plan_key(("chain", "delay")))
    ['0 ms', '5 ms', '10 ms']
    >>> values_of_range({"from": 1, "to": 9, "step": 4}, plan_key(("chain", "hops")))
    [1, 5, 9]
    """
    for needed in ("from", "to"):
        if needed not in given:
            raise ScenarioError(
                f"the range has no `{needed}`", f"write {{ from = {_example(key)}, to = ..., count = 5 }}"
            )
    if ("count" in given) == ("step" in given):
        raise ScenarioError("a range has either `count` or `step`", "count = 5 gives five values, both ends included")
    scale = given.get("scale", "linear")
    if scale not in SCALES:
        raise ScenarioError(f"{scale!r} is no scale", one_of(scale, SCALES, "allowed:"))
    kind = _Kind(key, given["from"])
    first, last = kind.number(given["from"]), kind.number(given["to"])
    if "step" in given:
        if scale != "linear":
            raise ScenarioError("a logarithmic range has no `step`", "write count = 5")
        # Steps are exact fractions of the stored unit, so that ten steps of 0.1 ms end exactly at 1 ms.
        numbers = _steps(first, last, kind.number(given["step"]))
    else:
        numbers = _evenly(first, last, given["count"], scale)
    values = [kind.text(number) for number in numbers]
    twice = next((value for value, count in Counter(values).items() if count > 1), None)
    if twice is not None:
        raise ScenarioError(f"{twice!r} comes more than once: the values are closer than they are kept", "take fewer")
    return values


def is_in_order(values: Sequence[Any], key: PlanKey | None) -> bool:
    """Return whether a parameter's values are numbers in rising or falling order. If they are, a figure may connect
    them by a line.

    key: None means that the parameter does not correspond to exactly one key of a plan. Its values are unordered.

    >>> from leowarp.study.sweep.parameters.keys import plan_key
    >>> is_in_order(["500 us", "1 ms"], plan_key(("chain", "delay")))
    True
    >>> is_in_order(["reno", "cubic"], plan_key(("flows", "0", "congestion_control")))
    False
    """
    if key is None or not values:
        return False
    try:
        kind = _Kind(key, values[0])
        numbers = [kind.number(value) for value in values]
    except ScenarioError:
        # A word such as "none" cannot be ordered among numbers, nor packets among bytes.
        return False
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


class _Kind:
    """Converts the values of a key from text to numbers, and back.

    sample: The value of `from`. All values are written in the unit of `sample`. For a queue, `sample` also determines
        whether values are in packets or in bytes.
    Raises ScenarioError if the values of the key are not numbers.
    """

    def __init__(self, key: PlanKey, sample: Any) -> None:
        self._quantity: Quantity | None = key.declared.quantity
        # The values are written in the unit of the range: "1 ms" to "10 ms" remains in ms, although the plan stores ns.
        self._unit = str(sample).lstrip("+-0123456789._eE ").strip()
        if key.declared.kind == "queue":
            self._quantity = BYTES if self._unit in BYTES.units else PACKETS
        elif key.declared.kind not in ("quantity", "count"):
            raise ScenarioError(f"a {key.declared.kind} has no range", "write a list of values")

    def number(self, given: Any) -> Fraction:
        """Return a value as an exact number in the stored unit."""
        if self._quantity is not None:
            return Fraction(self._quantity.parse(given))
        if isinstance(given, bool) or not isinstance(given, int):
            raise ScenarioError(f"{given!r} is not a bare integer", "a count is an integer without quotes")
        return Fraction(given)

    def text(self, number: Fraction) -> Any:
        """Return a number in the form of a scenario."""
        if self._quantity is None:
            return round(number)
        return self._quantity.format_in(round(number) if self._quantity.whole else float(number), self._unit)


def _evenly(first: Fraction, last: Fraction, count: Any, scale: str) -> list[Fraction]:
    """Return `count` numbers from first to last, including both.

    Fractions are exact, so 0 to 1 in steps of a tenth contains 0.3 instead of 0.30000000000000004. On the logarithmic
    scale, the ratio between neighbours is constant.

    >>> [str(number) for number in _evenly(Fraction(1), Fraction(100), 3, "linear")]
    ['1', '101/2', '100']
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise ScenarioError(f"count = {count!r}: must be an integer of 2 to {MOST_VALUES}", "both ends count")
    if scale == "linear":
        return [first + (last - first) * place / (count - 1) for place in range(count)]
    if first <= 0 or last <= 0:
        raise ScenarioError("a logarithmic range begins and ends above 0", 'write scale = "linear", or other ends')
    # The two ends are used unchanged, because exp(log(x)) may differ from x.
    low, high = math.log(first), math.log(last)
    inner = [Fraction(math.exp(low + (high - low) * place / (count - 1))) for place in range(1, count - 1)]
    return [first, *inner, last]


def _steps(first: Fraction, last: Fraction, step: Fraction) -> list[Fraction]:
    """Return the numbers first, first + step, and so on. `last` is included only if its distance from `first` is a
    whole number of steps."""
    # A step of 0 is rejected first, because it would lead to a division by zero.
    if step == 0 or (last - first) / step < 0:
        raise ScenarioError("the step does not lead from `from` to `to`", "write a step towards `to`")
    count = int((last - first) / step) + 1
    if count > MOST_VALUES:
        raise ScenarioError(f"the range has {count} values, and more than {MOST_VALUES} are refused", "a larger step")
    return [first + step * place for place in range(count)]


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Return seeds as text for a table, such as "1 to 30". At most `MOST_SHOWN` seeds are listed."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    shown = seeds if len(seeds) <= MOST_SHOWN else [*seeds[: MOST_SHOWN - 2], "...", seeds[-1]]
    return ", ".join(map(str, shown))


def _example(key: PlanKey) -> str:
    quantity = key.declared.quantity
    return f'"{quantity.example}"' if quantity is not None else "1"
