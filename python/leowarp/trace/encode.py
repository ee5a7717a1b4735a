# SPDX-License-Identifier: Apache-2.0
"""The inverse of the reader: record files from arrays, for tests and for other tools that want to hand in a trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from leowarp.trace.schema import TABLES, Column


def encode_records(table: str, columns: Mapping[str, Sequence[Any]], **extra: Any) -> bytes:
    """Bytes of a record file.

    Parameters
    ----------
    table : str
        One of the trace tables.
    columns : mapping of str to sequence
        Values by column, all of one length; None is written as the sentinel. A column of the table that is left out
        has no values at all. `counters.counter` holds indices into `names`.
    extra
        Further keys of the header, for instance `names`.
    """
    schema = TABLES[table]
    rows = max((len(values) for values in columns.values()), default=0)
    types = {column.name: wire_type(column) for column in schema.columns}
    fields = [
        {"name": column.name, "type": types[column.name], "unit": column.unit, "doc": column.doc}
        for column in schema.columns
    ]
    dtype = np.dtype([(name, _NUMPY[kind]) for name, kind in types.items()])
    records = np.empty(rows, dtype)
    for name, kind in types.items():
        missing = missing_value(kind)
        given = columns.get(name, [None] * rows)
        records[name] = [missing if value is None else value for value in given]
    header = {"table": table, "record_bytes": dtype.itemsize, "fields": fields, **extra}
    return frame(json.dumps(header).encode(), records.tobytes())


def frame(header: bytes, records: bytes) -> bytes:
    """A record file around a header and records that are already bytes."""
    padded = header + b" " * (-(12 + len(header)) % 8)
    return b"LEOWARP1" + len(padded).to_bytes(4, "little") + padded + records


def wire_type(column: Column) -> str:
    """Narrow wire type of a column."""
    if pa.types.is_boolean(column.type) or column.type == pa.uint8():
        return "u8"
    if pa.types.is_dictionary(column.type):
        return "u32"
    return {"int64": "i64", "int32": "i32", "double": "f64"}[str(column.type)]


def missing_value(kind: str) -> float | int:
    """The sentinel that says a value is missing."""
    if kind == "f64":
        return float("nan")
    limits = np.iinfo(np.dtype(_NUMPY[kind]))
    return int(limits.min if kind.startswith("i") else limits.max)


_NUMPY = {"i64": "<i8", "u64": "<u8", "i32": "<i4", "u32": "<u4", "u16": "<u2", "u8": "u1", "f64": "<f8"}
