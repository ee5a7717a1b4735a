# SPDX-License-Identifier: Apache-2.0
"""Declaration of a scalar: its name, unit, subject, definition, and the places that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from leowarp.base import units


@dataclass(frozen=True)
class Unit:
    """A unit of scalars.

    symbol: In `40-metrics.parquet`; empty for counts, ratios and text.
    suffix: The end of the name of every scalar in this unit, and of no other.
    shown: The unit in which pages show it.
    size: How much of the unit itself the shown one is: 1e6 for ns shown in ms.
    is_text: Whether the value is no number at all.

    >>> 42_100_000 / NS.size, NS.shown
    (42.1, 'ms')
    """

    symbol: str
    suffix: str
    shown: str
    size: float = 1
    is_text: bool = False

    def in_(self, shown: str, size: float) -> Unit:
        """The same unit, which pages show in another one.

        shown: The other unit's symbol.
        size: How much of this unit it is.
        Returns: Names and tables still have this one.
        """
        return replace(self, shown=shown, size=size)


# Sizes from `units`, so that a unit has one size everywhere.
_TIME = {name: float(size) for name, size in units.TIME.units.items()}

PKTS = Unit("pkts", "_pkts", "packets")
BYTES = Unit("bytes", "bytes", "bytes")
BPS = Unit("bit/s", "_bps", "Mbit/s", float(units.RATE.units["Mbit/s"]))
NS = Unit("ns", "_ns", "ms", _TIME["ms"])
NS_AS_US = NS.in_("us", _TIME["us"])
"""Few microseconds and many seconds would be 0.002 and 61000 in ms, the unit that pages show of most times."""
NS_AS_S = NS.in_("s", _TIME["s"])
US = Unit("us", "_us", "ms", _TIME["ms"] / _TIME["us"])
S = Unit("s", "_s", "s")
NATS = Unit("nat", "_nats", "nats")
RATIO = Unit("", "_ratio", "%", float(units.RATIO.units["%"]))
COUNT = Unit("", "", "")
TEXT = Unit("", "", "", is_text=True)

UNITS = (PKTS, BYTES, BPS, NS, US, S, NATS, RATIO)
"""Those that a name ends in."""


# The members' texts are headings that users see.
class Group(StrEnum):
    """Subjects of scalars, in the order in which `leowarp show --metrics` prints the groups."""

    WHAT = "what it was"
    COST = "cost"
    CHANGES = "route changes"
    MEASURED = "what programs measured"
    GOODPUT = "goodput"
    DELAYS = "round-trip times and delays"
    ORDER = "reordering"
    PACKETS = "packets sent, lost, sent again"
    SENDER = "the sender"
    ACKS = "acknowledgements"


@dataclass(frozen=True)
class Scalar:
    """A number (or a word) that every run, or every flow of a kind, has in `summary.json`; null where it is not known.

    name: Its key there; a dot stands before the key of an object within (`fairness.jain_index`).
    unit: Its suffix ends the name.
    group: Under which `leowarp show --metrics` prints it.
    definition: What exactly is counted, in `40-metrics.parquet` and in the reference.
    page: What a run's page calls it, read below the row before it; None: no page shows it.
    overview: What the table at the end of `leowarp run` and `leowarp compare` calls it; None: it is none of those few.
    """

    name: str
    unit: Unit
    group: Group
    definition: str
    page: str | None = None
    overview: str | None = None


Section = tuple[Scalar, ...]
"""Scalars that are computed together, in the order of `summary.json`."""


def names(section: Iterable[Scalar]) -> tuple[str, ...]:
    """The names of scalars, in their order.

    Returns: With the dots of objects.
    """
    return tuple(scalar.name for scalar in section)


def by_name(*sections: Section) -> dict[str, Scalar]:
    """Scalars by name; of those that probes and TCP define differently the first.

    A caller with a name alone (a column of results, an axis) finds its unit here, which the two share.

    *sections: Of names that two have, the earlier section's definition stays.
    Returns: In the order of the sections.
    """
    scalars_by_name: dict[str, Scalar] = {}
    for scalar in (scalar for section in sections for scalar in section):
        scalars_by_name.setdefault(scalar.name, scalar)
    return scalars_by_name


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a run or a flow under their declared names; lists are left out.

    summary: `summary.json`, or one of its `flows`; objects are one level deep.
    Returns: Name with dots to value.

    >>> flat({"name": "x", "fairness": {"jain_index": 1.0}, "flows": [1]})
    {'name': 'x', 'fairness.jain_index': 1.0}
    """
    by_dotted_name: dict[str, Any] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping):
            # One level: `fairness` and `drops_by_cause_pkts` are the objects of a summary, and hold numbers alone.
            by_dotted_name |= {f"{name}.{key}": item for key, item in value.items()}
        elif not isinstance(value, list):
            by_dotted_name[name] = value
    return by_dotted_name


def ordered(values: Mapping[str, Any], declared: Section) -> dict[str, Any]:
    """Computed values of a run or a flow, in the order in which they are declared.

    values: As `summary.json` will have it, in any order: objects as mappings, or None of which nothing is known.
    declared: All that must be there, and nothing else may.
    Returns: The values of `values` by their keys there (not by dotted names).
    Raises AssertionError if something was computed that is not declared, or the reverse: a metric's line and its
        function go together.
    """
    declared_names = names(declared)
    # One entry for an object, at the place of its first scalar.
    tops = tuple(dict.fromkeys(name.partition(".")[0] for name in declared_names))
    # An object of which nothing is known is one null under its own name.
    unknown = {name for name in tops if values.get(name, "") is None}
    computed = flat(values).keys()
    undeclared = computed - set(declared_names) - unknown
    missing = {name for name in declared_names if name not in computed and name.partition(".")[0] not in unknown}
    assert not undeclared, f"these scalars are computed, and not declared: {sorted(undeclared)}"
    assert not missing, f"these scalars are declared, and not computed: {sorted(missing)}"
    return {name: values[name] for name in tops}
