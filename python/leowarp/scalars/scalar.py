# SPDX-License-Identifier: Apache-2.0
"""Declaration of a scalar: its name, unit, group and definition, and where it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from leowarp.base import units


@dataclass(frozen=True)
class Unit:
    """A unit of scalars.

    symbol: Symbol in `40-metrics.parquet`; empty for counts, ratios and text.
    suffix: End of the name of every scalar with this unit; no other scalar's name ends so.
    shown: Unit in which pages show scalars of this unit.
    size: How many of this unit make one shown unit: 1e6 for ns that are shown in ms.
    is_text: True if the value is not a number.

    >>> 42_100_000 / NS.size, NS.shown
    (42.1, 'ms')
    """

    symbol: str
    suffix: str
    shown: str
    size: float = 1
    is_text: bool = False

    def in_(self, shown: str, size: float) -> Unit:
        """The same unit, but displayed on pages in the unit `shown`.

        shown: Symbol of the displayed unit.
        size: How many of this unit make one displayed unit.
        Returns: A unit with the same name and the same symbol in tables.
        """
        return replace(self, shown=shown, size=size)


# Sizes come from `units`, so that a unit has the same size everywhere.
_TIME = {name: float(size) for name, size in units.TIME.units.items()}

PKTS = Unit("pkts", "_pkts", "packets")
BYTES = Unit("bytes", "bytes", "bytes")
BPS = Unit("bit/s", "_bps", "Mbit/s", float(units.RATE.units["Mbit/s"]))
NS = Unit("ns", "_ns", "ms", _TIME["ms"])
NS_AS_US = NS.in_("us", _TIME["us"])
"""Pages show most times in ms. In ms, a few microseconds would be 0.002, and many seconds 61000, so these times use us
and s."""
NS_AS_S = NS.in_("s", _TIME["s"])
US = Unit("us", "_us", "ms", _TIME["ms"] / _TIME["us"])
S = Unit("s", "_s", "s")
NATS = Unit("nat", "_nats", "nats")
RATIO = Unit("", "_ratio", "%", float(units.RATIO.units["%"]))
COUNT = Unit("", "", "")
TEXT = Unit("", "", "", is_text=True)

UNITS = (PKTS, BYTES, BPS, NS, US, S, NATS, RATIO)
"""Units whose suffixes end the names of scalars."""


# The members' values are headings that users see.
class Group(StrEnum):
    """Groups of scalars, in the order in which `leowarp show --metrics` prints them."""

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
    """A number (or text) that every run, or every flow of a kind, has in `summary.json`. The scalar's value is null if
    unknown.

    name: Key in `summary.json`. A dot precedes the key of a nested object (`fairness.jain_index`).
    unit: Unit; the name ends in its suffix.
    group: Group in `leowarp show --metrics`.
    definition: Exact definition, which `40-metrics.parquet` and the reference contain.
    page: Label on a run's page, which may continue the label of the row above. None if no page shows the scalar.
    overview: Label in the table that `leowarp run` and `leowarp compare` print at the end. None if that table does not
        show the scalar.
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
    """Names of scalars in order.

    Returns: The names, including the dots of objects.
    """
    return tuple(scalar.name for scalar in section)


def by_name(*sections: Section) -> dict[str, Scalar]:
    """Scalars by name. If probes and TCP define a scalar differently, the first definition counts.

    The mapping gives the unit of a column of results, or of an axis, by its name. Scalars with the same name have the
    same unit.

    *sections: Sections of scalars. If two sections contain the same name, the definition of the earlier section counts.
    Returns: Scalars in the order of the sections.
    """
    scalars_by_name: dict[str, Scalar] = {}
    for scalar in (scalar for section in sections for scalar in section):
        scalars_by_name.setdefault(scalar.name, scalar)
    return scalars_by_name


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Scalars of a run or a flow by their declared names; lists are left out.

    summary: `summary.json`, or an entry of its `flows`. The objects in it contain no further objects.
    Returns: Values by names with dots.

    >>> flat({"name": "x", "fairness": {"jain_index": 1.0}, "flows": [1]})
    {'name': 'x', 'fairness.jain_index': 1.0}
    """
    by_dotted_name: dict[str, Any] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping):
            # One level of nesting is enough: `fairness` and `drops_by_cause_pkts` are the only objects of a summary,
            # and contain only numbers.
            by_dotted_name |= {f"{name}.{key}": item for key, item in value.items()}
        elif not isinstance(value, list):
            by_dotted_name[name] = value
    return by_dotted_name


def ordered(values: Mapping[str, Any], declared: Section) -> dict[str, Any]:
    """Computed values of a run or a flow, in the order of their declaration.

    values: Values for `summary.json` in any order. An object is a mapping, or None if unknown.
    declared: Scalars that must all be present; no other values are allowed.
    Returns: `values` with their keys, which have no dots.
    Raises AssertionError if a computed value is not declared, or vice versa: a scalar's declaration and function belong
        together.
    """
    declared_names = names(declared)
    # An object has one entry in the result, at the position of the object's first scalar.
    tops = tuple(dict.fromkeys(name.partition(".")[0] for name in declared_names))
    # An unknown object is a single null with the name of the object.
    unknown = {name for name in tops if values.get(name, "") is None}
    computed = flat(values).keys()
    undeclared = computed - set(declared_names) - unknown
    missing = {name for name in declared_names if name not in computed and name.partition(".")[0] not in unknown}
    assert not undeclared, f"these scalars are computed, and not declared: {sorted(undeclared)}"
    assert not missing, f"these scalars are declared, and not computed: {sorted(missing)}"
    return {name: values[name] for name in tops}
