# SPDX-License-Identifier: Apache-2.0
"""A row of the results: the parameters, seed, scalars, cost, and warnings or error of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from leowarp import scalars

FIRST = {"run_id": pa.string(), "number": pa.int64(), "in_study": pa.bool_(), "status": pa.string(), "seed": pa.int64()}
"""The columns that every row has, before the parameters' columns."""
LAST = {
    "warnings": pa.list_(pa.string()), "error": pa.string(), "error_hint": pa.string(), "error_kind": pa.string(),
    "plan_sha256": pa.string(), "kernel_sha256": pa.string(), "agent_sha256": pa.string(),
    "leowarp_version": pa.string(),
}  # fmt: skip
"""The last columns of every row. They contain the error and the origin of the run."""
COSTS = ("cpu_s", "wall_s", "guest_cpu_s", "host_cpu_s", "guest_peak_memory_bytes")
"""The columns with the cost of a run, in seconds and bytes."""
RESERVED = frozenset({*FIRST, *LAST, *COSTS})
"""The column of a parameter must not have one of these names."""

OK, FAILED = "ok", "failed"
"""The two values of the column `status`."""
_LEFT_OUT = ("name", "flow")
"""The keys of a summary that become no columns. The number of a flow is the prefix of its columns."""

_BY = re.compile(r"(?P<what>\w+)_by_[a-z]+(?P<unit>_[a-z]+)")
"""The names of scalars with one count per category, such as `drops_by_cause_pkts`, a dict from cause to count."""


@dataclass(frozen=True)
class Origin:
    """The result of a run depends on its plan and on these values.

    kernel_sha256, agent_sha256: The hashes of the guest's kernel image and of the agent in it, in hexadecimal.
    leowarp_version: The version of the package that computed the metrics.
    """

    kernel_sha256: str
    agent_sha256: str
    leowarp_version: str


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scalars of a summary as one flat dict. The names of flow 0's scalars begin with `flow0_`.

    `drops_by_cause_pkts` becomes one scalar per cause, such as `drops_queue_pkts`. Lists are left out, and nan is
    replaced by None.

    >>> flat({"route_changes": 3, "drops_by_cause_pkts": {"queue": 7}, "flows": [{"flow": 0, "lost_pkts": 7}]})
    {'route_changes': 3, 'drops_queue_pkts': 7, 'flow0_lost_pkts': 7}
    """
    sections = [("", summary)] + [(f"flow{flow['flow']}_", flow) for flow in summary.get("flows") or []]
    return {
        prefix + _column(name): None if isinstance(value, float) and math.isnan(value) else value
        for prefix, section in sections
        for name, value in scalars.flat(section).items()
        if name not in _LEFT_OUT and not isinstance(value, Mapping | list | tuple)
    }


def _column(name: str) -> str:
    """Return the column of a declared scalar: for `fairness.jain_index`, it is `fairness_jain_index`."""
    key, _, inner = name.partition(".")
    if inner and (by := _BY.fullmatch(key)):
        return f"{by['what']}_{inner}{by['unit']}"
    return f"{key}_{inner}" if inner else key


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return the rows of runs as a table with the schema from `schema_of`. A column that a row lacks is null."""
    arrays = []
    rows = list(rows)
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_float64(field.type):
            # pa.array rejects integers above 2^53 in a float64 column.
            values = [None if value is None else float(value) for value in values]
        elif pa.types.is_string(field.type):
            values = [None if value is None else str(value) for value in values]
        arrays.append(pa.array(values, field.type))
    return pa.table(arrays, schema=schema)


def schema_of(
    rows: Iterable[Mapping[str, Any]], known: pa.Schema | None, parameters: Mapping[str, pa.DataType]
) -> pa.Schema:
    """Return a schema with the columns of `known` and of new rows. Fixed rules determine the order and the types of
    columns, so that all files have the same schema.

    A column of numbers is int64 if all runs have whole values. Otherwise it is float64. A column that is null in every
    run so far is float64.

    known: The schema of the existing data set. An existing column keeps its type, or gets a wider type.
    parameters: The columns of the parameters, with the types from the study file (`keys.column_types`).
    Returns: A schema with these columns in this order: `FIRST`, the parameters, the scalars, the occurring columns of
        `COSTS`, and `LAST`. Scalars are in the order in which they first occur. Units are in the metadata.
    """
    types: dict[str, pa.DataType | None] = {name: None for name in (known.names if known is not None else ())}
    if known is not None:
        types |= {field.name: field.type for field in known if not _is_open(field)}
    for row in rows:
        for name, value in row.items():
            types[name] = _wider(types.get(name), _type_of(value))
    # A rate is a float even if all of its values so far are whole numbers.
    fixed = {**FIRST, **parameters, **LAST}
    inner = [name for name in types if name not in fixed]
    names = [*FIRST, *parameters, *(n for n in inner if n not in COSTS), *(n for n in COSTS if n in types), *LAST]
    return pa.schema([_field(name, fixed.get(name, types.get(name))) for name in names])


def _type_of(value: Any) -> pa.DataType | None:
    """Return the narrowest type of a value. The type of a missing value, which fits into any column, is None."""
    match value:
        case None:
            return None
        case bool():
            return pa.bool_()
        case int():
            # JSON does not limit integers, and pyarrow would raise OverflowError for the complete file.
            return pa.int64() if -(2**63) <= value < 2**63 else pa.float64()
        case float():
            return pa.float64()
        case list():
            return pa.list_(pa.string())
    return pa.string()


def _wider(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """Return a type for values of both given types.

    >>> _wider(pa.int64(), pa.float64()), _wider(None, pa.bool_())
    (DataType(double), DataType(bool))
    """
    if one is None or other is None or one == other:
        return one if other is None else other
    numbers = {pa.int64(), pa.float64()}
    return pa.float64() if {one, other} == numbers else pa.string()


def _field(name: str, kind: pa.DataType | None) -> pa.Field:
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    metadata = {"unit": unit} if unit else {}
    # The metadata entry "open" allows a later run to change the type of a column that is null in all runs so far.
    return pa.field(name, kind or pa.float64(), metadata=metadata | ({"open": "yes"} if kind is None else {}))


def _is_open(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"open") == b"yes"


_UNITS = {
    "_pkts": "pkts", "_bps": "bit/s", "_ns": "ns", "_us": "us", "_bytes": "bytes", "_ratio": "1", "_deg": "deg",
    "_m": "m", "_nats": "nats", "_s": "s",
}  # fmt: skip
