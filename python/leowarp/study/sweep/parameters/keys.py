# SPDX-License-Identifier: Apache-2.0
"""Dotted keys of a scenario: the corresponding key of the plan, and the result columns that hold its values."""

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
    """A key that exists in a plan.

    parts: The dotted key, in parts: `("flows", "0", "size")`.
    attribute: Name of the attribute in the plan's dataclass: `size_bytes`.
    declared: Declared kind, unit and range.
    """

    parts: tuple[str, ...]
    attribute: str
    declared: Key

    def value(self, plan: Plan, attribute: str | None = None) -> Any:
        """The plan's value.

        attribute: Another attribute of the same section, such as `queue_bytes` of a queue.
        """
        owner: Any = plan
        for part in self.parts[:-1]:
            # A plan stores its medium under one name, whatever section of the scenario describes it.
            if owner is plan and part == plan.medium.NAME:
                owner = plan.medium
            elif isinstance(owner, tuple):
                # Flows and stations are addressed by place or name, hosts by name.
                owner = owner[int(part)] if part.isdecimal() else next(item for item in owner if item.name == part)
            else:
                owner = getattr(owner, part)
        return getattr(owner, attribute or self.attribute)


def plan_key(parts: Sequence[str]) -> PlanKey | None:
    """The plan key that consists of the given parts; None for sysctls, whole tables, and keys that no scenario has.

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
    """Columns of a parameter and a run's values in them: a quantity as a number in the plan's unit and as text.

    A count or a truth value has one column; a queue has three (`_pkts` and `_bytes`, one of them null, and the text).

    parts, label: Parts and label of the parameter.
    plan: Plan of the combination.
    value: Value as written in the study file.
    """
    name = column_name(parts, label)
    key = plan_key(parts)
    match key.declared.kind if key is not None else "text":
        # The number, in the unit of the column's name, is for computing; the text is for grouping, because 0.1 ms is
        # not an exact float.
        case "quantity":
            assert key is not None
            return {name + key.declared.suffix: key.value(plan), name: text_of(value)}
        case "queue":
            assert key is not None
            # A limit is either in packets or in bytes, so one of the two columns is null.
            limits = {f"{name}_{unit}": key.value(plan, f"queue_{unit}") for unit in ("pkts", "bytes")}
            return {**limits, name: text_of(value)}
        case "count" | "flag":
            assert key is not None
            return {name: key.value(plan)}
    return {name: text_of(value)}


def column_types(parts: Sequence[str], label: str | None) -> dict[str, pa.DataType]:
    """Types of the columns from `columns_of`.

    A quantity kept in whole units is int64, any other float64; its text has a separate column.
    """
    name = column_name(parts, label)
    key = plan_key(parts)
    match key.declared.kind if key is not None else "text":
        case "quantity":
            assert key is not None
            assert key.declared.quantity is not None
            number = pa.int64() if key.declared.quantity.whole else pa.float64()
            return {name + key.declared.suffix: number, name: pa.string()}
        case "queue":
            return {f"{name}_pkts": pa.int64(), f"{name}_bytes": pa.int64(), name: pa.string()}
        case "count":
            return {name: pa.int64()}
        case "flag":
            return {name: pa.bool_()}
    return {name: pa.string()}


def column_name(parts: Sequence[str], label: str | None) -> str:
    """The label, or the parts of the key joined by underscores: `flows_0_congestion_control`.

    >>> column_name(("flows", "0", "congestion_control"), None), column_name(("isl", "queue"), "queue")
    ('flows_0_congestion_control', 'queue')
    """
    return label or re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(parts))


def text_of(value: Any) -> str | None:
    """A value as written: a string unchanged, anything else as JSON.

    >>> text_of("25 pkts"), text_of({"net.ipv4.tcp_recovery": "0"})
    ('25 pkts', '{"net.ipv4.tcp_recovery": "0"}')
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        # Two tables with the same keys in different order are one value for grouping.
        value = dict(sorted(value.items()))
    return json.dumps(value, ensure_ascii=False, default=str)
