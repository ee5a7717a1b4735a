# SPDX-License-Identifier: Apache-2.0
"""The declaration of a scalar: its name, unit, group and definition, and where it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from leowarp.base import units


@dataclass(frozen=True)
class Unit:
    """A unit of scalars.

    symbol: The symbol in `40-metrics.parquet`. Counts, ratios and text have no symbol.
    suffix: The ending of the name of every scalar with this unit, and of no other scalar.
    shown: The unit in which pages display scalars of this unit.
    size: The number by which a value is divided for display, for example 1e6 for ns in ms.
    is_text: True if the value is not a number.

    >>> 42_100_000 / NS.size, NS.shown
    (42.1, 'ms')
    """

    symbol: str
    suffix: str
    shown: str
    size: float = 1
    is_text: bool = False


# The sizes are taken from `units`, so that each unit is defined only once.
_TIME = {name: float(size) for name, size in units.TIME.units.items()}

PKTS = Unit("pkts", "_pkts", "packets")
BYTES = Unit("bytes", "bytes", "bytes")
BPS = Unit("bit/s", "_bps", "Mbit/s", float(units.RATE.units["Mbit/s"]))
NS = Unit("ns", "_ns", "ms", _TIME["ms"])
NS_AS_US = replace(NS, shown="us", size=_TIME["us"])
"""Units for times that pages do not show in ms. Short times are shown in us, and long times in s. In ms, for example, 2
us would be 0.002, and a minute would be 60,000."""
NS_AS_S = replace(NS, shown="s", size=_TIME["s"])
US = Unit("us", "_us", "ms", _TIME["ms"] / _TIME["us"])
S = Unit("s", "_s", "s")
NATS = Unit("nat", "_nats", "nats")
RATIO = Unit("", "_ratio", "%", float(units.RATIO.units["%"]))
COUNT = Unit("", "", "")
TEXT = Unit("", "", "", is_text=True)


# The values of the members are headings that users see.
class Group(StrEnum):
    """The groups of scalars, in the order in which `leowarp show --metrics` prints them."""

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
    """A number (or text) that every run, or every flow of a kind, has in `summary.json`. An unknown value is null.

    name: The key in `summary.json`. A dot separates a nested object from its key (`fairness.jain_index`).
    unit: The unit of the scalar, whose suffix is the ending of the name.
    group: The group in `leowarp show --metrics`.
    definition: The exact definition, which is copied into `40-metrics.parquet` and the reference.
    page: The label on a run's page, which may continue the label of the row above. None means that no page shows the
        scalar.
    overview: The label in the table that `leowarp run` and `leowarp compare` print at the end. None means that the
        commands do not print the scalar.
    """

    name: str
    unit: Unit
    group: Group
    definition: str
    page: str | None = None
    overview: str | None = None


Section = tuple[Scalar, ...]
"""The scalars that are computed together, in the order of `summary.json`."""


def names(section: Iterable[Scalar]) -> tuple[str, ...]:
    """Return the names of scalars in order. In a name, a dot stands between an object and its key."""
    return tuple(scalar.name for scalar in section)


def by_name(*sections: Section) -> dict[str, Scalar]:
    """Return a dict from name to scalar, in the order of the sections. Probes and TCP may define the same name
    differently, but always with the same unit. The first definition is returned."""
    scalars_by_name: dict[str, Scalar] = {}
    for scalar in chain(*sections):
        scalars_by_name.setdefault(scalar.name, scalar)
    return scalars_by_name


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict from declared name to value for the scalars of a run or a flow. Lists are left out.

    summary: The object `summary.json`, or an entry of its `flows`. Objects may be nested only one level deep. A dot
        separates the name of an object from its key.

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
    """Return the computed values of a run or a flow, in the order of their declaration.

    values: The values for `summary.json` in any order. A nested object is a mapping, or None if it is unknown.
    declared: The scalars that `values` must contain. It must not contain other values.
    Raises AssertionError if a computed value is not declared, or if a declared value is not computed.
    """
    declared_names = names(declared)
    # A nested object has one entry in the result, at the position of its first scalar.
    tops = tuple(dict.fromkeys(name.partition(".")[0] for name in declared_names))
    # If an object is unknown, the result has a single null under the object's name.
    unknown = {name for name in tops if values.get(name, "") is None}
    computed = flat(values).keys()
    undeclared = computed - set(declared_names) - unknown
    missing = {name for name in declared_names if name not in computed and name.partition(".")[0] not in unknown}
    assert not undeclared, f"these scalars are computed, and not declared: {sorted(undeclared)}"
    assert not missing, f"these scalars are declared, and not computed: {sorted(missing)}"
    return {name: values[name] for name in tops}
