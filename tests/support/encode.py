# SPDX-License-Identifier: Apache-2.0
"""Write record files from arrays, for the package's reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leowarp.trace.records import MAGIC, WIRE_TYPES, missing_value
from leowarp.trace.schema import RECORDED


def encode_records(table: str, columns: Mapping[str, Sequence[Any]], **extra: Any) -> bytes:
    """Return the content of a record file.

    table: The name of a trace table.
    columns: The values of each column, all with the same length. None means a missing value. A column of the table that
        is not in `columns` has only missing values. `counters.counter` contains indices into `names`.
    extra: Further keys of the header, such as `names`.
    """
    schema = RECORDED[table]
    rows = max((len(values) for values in columns.values()), default=0)
    fields = [
        {"name": column.name, "type": column.kind.wire, "unit": column.unit, "doc": column.doc}
        for column in schema.columns
    ]
    # Records have no padding between fields, like the agent's structs.
    dtype = np.dtype([(column.name, WIRE_TYPES[column.kind.wire]) for column in schema.columns])
    records = np.empty(rows, dtype)
    for name in schema.names:
        # The value for "missing" is written even if the schema allows no null, because tests need files that the reader
        # must refuse.
        missing = missing_value(dtype[name])
        given = columns.get(name, [None] * rows)
        records[name] = [missing if value is None else value for value in given]
    header = {"table": table, "record_bytes": dtype.itemsize, "fields": fields, **extra}
    return frame(json.dumps(header).encode(), records.tobytes())


def frame(header: bytes, records: bytes) -> bytes:
    """Return a record file from a header and from encoded records."""
    padded = header + b" " * (-(12 + len(header)) % 8)
    return MAGIC + len(padded).to_bytes(4, "little") + padded + records
