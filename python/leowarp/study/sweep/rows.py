# SPDX-License-Identifier: Apache-2.0
"""A run as a row of the results: parameters, seed, the scalars of its summary, its cost, its warnings or its error."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

FIRST = {"run_id": pa.string(), "number": pa.int64(), "in_study": pa.bool_(), "status": pa.string(), "seed": pa.int64()}
"""Columns that every row has before those of its parameters."""
LAST = {
    "warnings": pa.list_(pa.string()), "error": pa.string(), "error_hint": pa.string(), "error_kind": pa.string(),
    "plan_sha256": pa.string(), "kernel_sha256": pa.string(), "agent_sha256": pa.string(),
    "leowarp_version": pa.string(),
}  # fmt: skip
"""Columns that every row has at its end: what went wrong, and what made it."""
COSTS = ("cpu_s", "wall_s", "guest_cpu_s", "host_cpu_s", "guest_peak_memory_bytes")
"""Columns of what a run cost, in seconds and bytes."""
RESERVED = frozenset({*FIRST, *LAST, *COSTS})
"""Names that no parameter may take."""

OK, FAILED = "ok", "failed"
"""The two values of the column `status`."""
_LEFT_OUT = ("name", "flow")
"""Keys of a summary that are no scalars: what the row is called by, and the flow's number, which the prefix says."""

_BY = re.compile(r"(?P<what>\w+)_by_[a-z]+(?P<unit>_[a-z]+)")
"""A count by something: `drops_by_cause_pkts` is `what` = drops and `unit` = _pkts; the causes are the keys below
it."""


@dataclass(frozen=True)
class Origin:
    """Makers of a run, besides its plan.

    kernel_sha256, agent_sha256: Of the guest's kernel image and of the agent in it, hexadecimal.
    leowarp_version: Of the package that computed the metrics.
    """

    kernel_sha256: str
    agent_sha256: str
    leowarp_version: str


def row_of(
    run_id: str, number: int, seed: int, plan_sha256: str, columns: Mapping[str, Any], origin: Origin,
    result: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The row of a run.

    run_id, number, seed, plan_sha256: As of `StudyRun`.
    columns: Of its parameters (`keys.columns_of`).
    origin: What made it.
    result: `summary` (as `summary.json`, or None), `costs`, `warnings`, `error` (None, or kind, message and hint).
    Returns: Column -> value, in the order `FIRST`, parameters, scalars, `COSTS`, `LAST`; None where there is nothing.
    """
    error = result.get("error") or {}
    row: dict[str, Any] = {
        "run_id": run_id, "number": number, "in_study": True, "status": FAILED if error else OK, "seed": seed, **columns
    }  # fmt: skip
    costs = result.get("costs") or {}
    # Costs are taken from the worker, not from the summary, which has two of them.
    scalars = flat(result.get("summary") or {}) | {name: costs.get(name) for name in COSTS}
    # A parameter that is called like a scalar keeps its name; the scalar gives way.
    row |= {name if name not in row else f"summary_{name}": value for name, value in scalars.items()}
    return row | {
        "warnings": list(result.get("warnings") or []),
        "error": error.get("message"),
        "error_hint": error.get("hint"),
        "error_kind": error.get("kind"),
        "plan_sha256": plan_sha256,
        **vars(origin),
    }


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a summary, flow 0's as `flow0_...`.

    `drops_by_cause_pkts` becomes `drops_queue_pkts` and so on; lists are left out; nan is None.

    >>> flat({"route_changes": 3, "drops_by_cause_pkts": {"queue": 7}, "flows": [{"flow": 0, "lost_pkts": 7}]})
    {'route_changes': 3, 'drops_queue_pkts': 7, 'flow0_lost_pkts': 7}
    """
    row = _scalars(summary, "")
    for flow in summary.get("flows") or []:
        row |= _scalars(flow, f"flow{flow['flow']}_")
    return row


def _scalars(section: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The scalars of a section, objects within flattened: `{"fairness": {"jain_index": 1}}` is
    `fairness_jain_index`.
    """
    columns: dict[str, Any] = {}
    for key, value in section.items():
        if key in _LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            by = _BY.fullmatch(key)
            for inner, scalar in value.items():
                name = f"{by['what']}_{inner}{by['unit']}" if by else f"{key}_{inner}"
                if not isinstance(scalar, Mapping | list | tuple):
                    columns[prefix + name] = _scalar(scalar)
        elif not isinstance(value, list | tuple):
            columns[prefix + key] = _scalar(value)
    return columns


def _scalar(value: Any) -> Any:
    """A scalar as a row has it; nan is None, because a missing value is null everywhere."""
    return None if isinstance(value, float) and math.isnan(value) else value


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table.

    rows: As `row_of` gives them; a column that a row does not have is null there.
    schema: As `schema_of` gives it; a whole number in a column of floats becomes a float, and anything in a column of
        text its text.
    """
    arrays = []
    rows = list(rows)
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_float64(field.type):
            # pa.array refuses integers above 2^53 in a column of float64; float() rounds them.
            values = [None if value is None else float(value) for value in values]
        elif pa.types.is_string(field.type):
            values = [None if value is None else str(value) for value in values]
        arrays.append(pa.array(values, field.type))
    return pa.table(arrays, schema=schema)


def schema_of(
    rows: Iterable[Mapping[str, Any]], known: pa.Schema | None, parameters: Mapping[str, pa.DataType]
) -> pa.Schema:
    """The columns of `known` and of further rows, in one order and with one type each, so that all files are alike.

    A number is int64 if it is whole in every run, else float64; so is what is null in every run so far. Types do not
    depend on which runs are in which file.

    rows: Rows to come; may be empty.
    known: Of the data set so far. A column of it never becomes narrower.
    parameters: Columns of the parameters, whose types the study file settles (`keys.column_types`).
    Returns: `FIRST`, parameters, scalars in order of first appearance, `COSTS` that any row has, `LAST`; units in the
        metadata.
    """
    types: dict[str, pa.DataType | None] = {name: None for name in (known.names if known is not None else ())}
    if known is not None:
        types |= {field.name: field.type for field in known if not _is_open(field)}
    for row in rows:
        for name, value in row.items():
            types[name] = _wider(types.get(name), _type_of(value))
    # A parameter's type is the schema's: whole numbers in all runs so far do not make a rate a count.
    fixed = {**FIRST, **parameters, **LAST}
    inner = [name for name in types if name not in fixed]
    names = [*FIRST, *parameters, *(n for n in inner if n not in COSTS), *(n for n in COSTS if n in types), *LAST]
    return pa.schema([_field(name, fixed.get(name, types.get(name))) for name in names])


def _type_of(value: Any) -> pa.DataType | None:
    """The narrowest type of a value; None of None, which fits any. Whole numbers beyond 64 bits are floats."""
    match value:
        case None:
            return None
        case bool():
            return pa.bool_()
        case int():
            # An integer of JSON has no size; pyarrow would raise OverflowError for the whole file.
            return pa.int64() if -(2**63) <= value < 2**63 else pa.float64()
        case float():
            return pa.float64()
        case list():
            return pa.list_(pa.string())
    return pa.string()


def _wider(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """The type that holds both: of an integer and a float the float, of anything else that differs text.

    >>> _wider(pa.int64(), pa.float64()), _wider(None, pa.bool_())
    (DataType(double), DataType(bool))
    """
    if one is None or other is None or one == other:
        return one if other is None else other
    numbers = {pa.int64(), pa.float64()}
    return pa.float64() if {one, other} == numbers else pa.string()


def _field(name: str, kind: pa.DataType | None) -> pa.Field:
    """A column with its unit, by the end of its name, in the metadata."""
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    metadata = {"unit": unit} if unit else {}
    # Null so far in every run: a number until a run says something else.
    return pa.field(name, kind or pa.float64(), metadata=metadata | ({"open": "yes"} if kind is None else {}))


def _is_open(field: pa.Field) -> bool:
    """Whether a column has been null in every run so far, so that its type is not settled."""
    return (field.metadata or {}).get(b"open") == b"yes"


_UNITS = {
    "_pkts": "pkts", "_bps": "bit/s", "_ns": "ns", "_us": "us", "_bytes": "bytes", "_ratio": "1", "_deg": "deg",
    "_m": "m", "_nats": "nats", "_s": "s",
}  # fmt: skip
"""Unit of a column by the end of its name."""
