# SPDX-License-Identifier: Apache-2.0
"""Finds the plan key and the result columns that belong to a dotted scenario key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from leowarp.scenario import Plan, schema
from leowarp.scenario.loading import TABLES
from leowarp.scenario.text.key import Key, keys


@dataclass(frozen=True)
class PlanKey:
    """A scenario key of plans.

    parts: The parts of the dotted key, such as `("flows", "0", "size")`.
    attribute: The name of the attribute in the plan's dataclass, such as `size_bytes`.
    """

    parts: tuple[str, ...]
    attribute: str
    declared: Key

    def value(self, plan: Plan, attribute: str) -> Any:
        """Return an attribute of the key's section in a plan, such as `queue_bytes` of a queue."""
        owner: Any = plan
        for part in self.parts[:-1]:
            # A plan stores its medium in `medium`, whichever section of the scenario describes it.
            if owner is plan and part == plan.medium.NAME:
                owner = plan.medium
            elif isinstance(owner, tuple):
                # Flows and stations are addressed by position or name, and hosts by name.
                owner = owner[int(part)] if part.isdecimal() else next(item for item in owner if item.name == part)
            else:
                owner = getattr(owner, part)
        return getattr(owner, attribute)


def plan_key(parts: Sequence[str]) -> PlanKey | None:
    """Return the plan's key with these parts. None means a sysctl, a complete table, or an unknown key.

    >>> plan_key(("flows", "0", "size")).attribute
    'size_bytes'
    >>> plan_key(("tcp", "sysctl")) is None
    True
    """
    section: type | None = None
    if len(parts) == 2:
        section = TABLES.get(parts[0])
    elif len(parts) == 3:
        section = {"flows": schema.Flow, "stations": schema.Station}.get(parts[0])
    elif len(parts) == 4 and (parts[0], parts[2]) == ("hosts", "tcp"):
        section = schema.Tcp
    known = keys(section).get(parts[-1]) if section is not None else None
    return None if known is None or known[1].kind == "sysctl" else PlanKey(tuple(parts), *known)


def columns_of(parts: Sequence[str], label: str | None, plan: Plan, value: Any) -> dict[str, Any]:
    """Return the columns of a parameter, with their values in one run.

    plan: The plan of the combination.
    value: The value as written in the study file.
    """
    key = plan_key(parts)
    return {
        name: text_of(value) if key is None or attribute is None else key.value(plan, attribute)
        for name, (_, attribute) in _columns(parts, label).items()
    }


def column_types(parts: Sequence[str], label: str | None) -> dict[str, pa.DataType]:
    """Return the types of the columns that `columns_of` returns."""
    return {name: kind for name, (kind, _) in _columns(parts, label).items()}


def _columns(parts: Sequence[str], label: str | None) -> dict[str, tuple[pa.DataType, str | None]]:
    """Return the type of each column of a parameter, and the plan's attribute that fills it. None means that the column
    has the value as written."""
    name = column_name(parts, label)
    key = plan_key(parts)
    written: dict[str, tuple[pa.DataType, str | None]] = {name: (pa.string(), None)}
    if key is None:
        return written
    match key.declared.kind:
        # The column of numbers is for computations, and its name contains the unit. The column of texts is for
        # grouping, because no float is exactly equal to a value such as 0.1 ms.
        case "quantity":
            assert key.declared.quantity is not None
            number = pa.int64() if key.declared.quantity.whole else pa.float64()
            return {name + key.declared.suffix: (number, key.attribute), **written}
        case "queue":
            # A queue limit is either in packets or in bytes, so one of the two columns is null.
            return {f"{name}_pkts": (pa.int64(), "queue_pkts"), f"{name}_bytes": (pa.int64(), "queue_bytes"), **written}
        case "count":
            return {name: (pa.int64(), key.attribute)}
        case "flag":
            return {name: (pa.bool_(), key.attribute)}
    return written


def column_name(parts: Sequence[str], label: str | None) -> str:
    """Return the label. Without a label, return the parts of the key, joined by underscores, such as
    `flows_0_congestion_control`.

    >>> column_name(("flows", "0", "congestion_control"), None), column_name(("isl", "queue"), "queue")
    ('flows_0_congestion_control', 'queue')
    """
    return label or re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(parts))


def text_of(value: Any) -> str | None:
    """Return a value as text: a string as it is, and anything else as JSON.

    >>> text_of("25 pkts"), text_of({"net.ipv4.tcp_recovery": "0"})
    ('25 pkts', '{"net.ipv4.tcp_recovery": "0"}')
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        # Two tables that differ only in the order of their keys belong to the same group.
        value = dict(sorted(value.items()))
    return json.dumps(value, ensure_ascii=False, default=str)
