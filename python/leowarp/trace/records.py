# SPDX-License-Identifier: Apache-2.0
"""Read the guest's record files (`out/*.rec`), check them, and write them as Parquet.

A file has four parts: the bytes `LEOWARP1`, the length of the header as a u32, the header, and the records, packed and
little-endian. The header is JSON, padded with blanks so that the records start at a multiple of 8. See
design/interfaces.md, section 5.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError
from leowarp.trace.schema import RECORDED
from leowarp.trace.schema.columns import Column, Kind, TableSchema


@dataclass(frozen=True)
class RecordFile:
    """The checked header of a record file.

    dtype: structured dtype. The type of a record, with the fields in the order of the file.
    offset: The byte at which the first record begins.
    rows: The number of complete records.
    extra: All other keys of the header, such as `names`.
    unknown: The columns that a newer agent writes and that the schema does not contain. The table includes unknown
        columns.
    """

    path: Path
    table: TableSchema
    dtype: np.dtype
    offset: int
    rows: int
    extra: dict[str, Any] = field(default_factory=dict)
    unknown: tuple[Column, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the table. The schema's columns come first, and columns that only the file has come
        last."""
        return self.table.columns + self.unknown


def open_records(path: Path) -> RecordFile:
    """Read the header of a `.rec` file.

    Raises TraceError if the file is not a record file, is cut off, or contradicts the schema. The message names the
    file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            preamble = stream.read(_PREAMBLE.size)
            if len(preamble) < _PREAMBLE.size or preamble[:8] != MAGIC:
                raise _malformed(path, f"it does not begin with {MAGIC.decode()} (first bytes: {preamble[:8]!r})")
            header_bytes = _PREAMBLE.unpack(preamble)[1]
            # If the stated length of the header exceeds the limit, the field with this length is damaged.
            if header_bytes > _HEADER_MAX_BYTES:
                raise _malformed(
                    path, f"its header claims {header_bytes} bytes, at most {_HEADER_MAX_BYTES} are allowed"
                )
            text = stream.read(header_bytes)
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(text) < header_bytes:
        raise _malformed(path, f"it ends inside its header ({len(text)} of {header_bytes} bytes)")
    offset = _PREAMBLE.size + header_bytes
    if offset % 8:
        raise _malformed(path, f"its records start at byte {offset}, which is no multiple of 8")
    try:
        header = json.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise _malformed(path, f"its header is not JSON: {error}") from error
    table, dtype, unknown = _checked(path, header)
    rows, rest = divmod(size - offset, dtype.itemsize)
    # If the disk is full, a file usually ends within a record. The complete records before the truncated record must
    # not be mistaken for the whole file.
    if rest:
        raise _malformed(
            path, f"{rest} bytes follow its {rows} whole records of {dtype.itemsize} bytes: it was cut short"
        )
    extra = {key: header[key] for key in header if key not in ("table", "record_bytes", "fields")}
    return RecordFile(path, table, dtype, offset, rows, extra, unknown)


def batches(records: RecordFile, *, rows: int = 1 << 18) -> Iterator[pa.RecordBatch]:
    """Yield the records of the file as Arrow batches of at most `rows` rows. A value that means "missing" in a record
    becomes null.

    Raises TraceError if the file became shorter, or if a value is wrong: it is missing although it is required, is no
    boolean, or does not fit.
    rows: The maximum length of a batch. The default, 2^18, is the size of a row group in the written file.
    Yields: The batches. Columns that the schema does not contain come last.
    """
    schema = _arrow_schema(records, None)
    names = records.extra.get("names")
    try:
        with records.path.open("rb") as stream:
            stream.seek(records.offset)
            done = 0
            while done < records.rows:
                count = min(rows, records.rows - done)
                # The file is not mapped into memory: if a mapped file becomes shorter, SIGBUS ends the process without
                # an error message.
                chunk = np.fromfile(stream, dtype=records.dtype, count=count)
                if len(chunk) < count:
                    raise _malformed(
                        records.path, f"it lost records while it was read ({done + len(chunk)} of {records.rows})"
                    )
                arrays = [_arrow_array(records.path, chunk, column, names, done) for column in records.columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                done += count
    except OSError as error:
        raise TraceError(f"cannot read {records.path}: {error.strerror or error}") from error


def read_records(records: RecordFile, metadata: dict[str, object] | None = None) -> pa.Table:
    """Read a whole record file as an Arrow table.

    Raises TraceError: The errors of `batches`.
    metadata: The entries of the table's metadata, in addition to its name, version and description. Values are written
        as JSON.
    """
    # The batches have no metadata, so that their schemas are equal and they can be joined. The metadata of the run are
    # added to the whole table.
    table = pa.Table.from_batches(batches(records), schema=_arrow_schema(records, None))
    return table.replace_schema_metadata(_arrow_schema(records, metadata).metadata)


def write_parquet(records: RecordFile, target: Path, metadata: dict[str, object] | None = None) -> int:
    """Write a record file as Parquet, and return the number of rows.

    If the records and metadata are equal, the files are identical, because the writer's options are fixed and no time
    is written. Only one row group is in memory at a time.

    target: The file, which is written atomically.
    metadata: As in `read_records`.
    Raises TraceError: The errors of `batches`.
    """
    schema = _arrow_schema(records, metadata)
    partial = target.with_name(target.name + plainfiles.PARTIAL)
    with pq.ParquetWriter(partial, schema, **writer_options(records.columns)) as writer:
        for batch in batches(records, rows=ROW_GROUP_ROWS):
            writer.write_batch(batch.replace_schema_metadata(schema.metadata), row_group_size=ROW_GROUP_ROWS)
    os.replace(partial, target)
    return records.rows


def _checked(path: Path, header: Any) -> tuple[TableSchema, np.dtype, tuple[Column, ...]]:
    """Return the table that a header names, the dtype of its records, and its columns that the schema does not have.

    Columns may have any order and integer width. The units must be those of the schema, because readers would misread
    the numbers otherwise (design/interfaces.md, section 5).

    Raises TraceError if a field has no name, occurs twice or is missing. Also raised if a field's type or unit differs
    from the schema's. The fields must add up to the length of a record.
    """
    if not isinstance(header, dict) or not isinstance(header.get("fields"), list):
        raise _malformed(path, "its header has no list `fields`")
    table = RECORDED.get(header["table"]) if isinstance(header.get("table"), str) else None
    if table is None:
        raise _malformed(path, f"its table {header.get('table')!r} is none of {', '.join(RECORDED)}")
    names: list[str] = []
    types: list[str] = []
    unknown = []
    known = {column.name: column for column in table.columns}
    for entry in header["fields"]:
        named = isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"]
        # The name and the type are keys of a dict below, so they must be text and not a list or an object.
        if not named or not isinstance(entry.get("type"), str) or entry["type"] not in WIRE_TYPES:
            raise _malformed(
                path, f"its field {entry!r} lacks a name or has a type that is none of {', '.join(WIRE_TYPES)}"
            )
        name = entry["name"]
        # If a column has no unit, the agent writes "1".
        unit = "" if entry.get("unit") in (None, "1") else entry["unit"]
        if name in names:
            raise _malformed(path, f"its field {name} appears twice")
        names.append(name)
        types.append(WIRE_TYPES[entry["type"]])
        if name not in known:
            kind = Kind(pa.from_numpy_dtype(np.dtype(types[-1])), entry["type"])
            unknown.append(Column(name, kind, str(unit), str(entry.get("doc") or "")))
        elif unit != known[name].unit:
            raise _malformed(
                path, f"its field {name} has the unit {unit!r}, the table's schema says {known[name].unit!r}"
            )
    # A newer agent may add columns, but a column that is missing is an error.
    missing = [name for name in known if name not in names]
    if missing:
        raise _malformed(path, f"it lacks the columns {', '.join(missing)} of the table {table.name}")
    dtype = np.dtype(list(zip(names, types, strict=True)))
    if header.get("record_bytes") != dtype.itemsize:
        raise _malformed(
            path,
            f"its header says {header.get('record_bytes')!r} bytes a record, its fields add up to {dtype.itemsize}",
        )
    return table, dtype, tuple(unknown)


def _arrow_array(path: Path, chunk: np.ndarray, column: Column, names: Any, first_row: int) -> pa.Array:
    """Return a column of a chunk of records as an Arrow array with the schema's type. `first_row` is the number of the
    chunk's first record, for messages.

    Raises TraceError if a required value is missing, is no boolean, does not fit, or is an index beyond `names`.
    """
    # In packed records, the values of a column are not contiguous, and may be unaligned. Arrow accepts only contiguous
    # and aligned values, so the values are copied.
    values = np.ascontiguousarray(chunk[column.name])
    sentinels = np.isnan(values) if values.dtype.kind == "f" else values == missing_value(values.dtype)
    missing = sentinels if sentinels.any() else None
    if missing is not None and not column.nullable:
        raise _malformed(path, f"column {column.name} misses its value in record {first_row + int(missing.argmax())}")
    if pa.types.is_boolean(column.type):
        wrong = values > 1 if missing is None else (values > 1) & ~missing
        if wrong.any():
            at = int(wrong.argmax())
            raise _malformed(path, f"column {column.name} is {values[at]} in record {first_row + at}, not 0 or 1")
        return pa.array(values.astype(bool), mask=missing)
    if pa.types.is_dictionary(column.type):
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise _malformed(path, f"its header has no list `names` for the column {column.name}")
        if len(values) and (int(values.max()) >= len(names) or int(values.min()) < 0):
            raise _malformed(path, f"column {column.name} goes up to {values.max()}, the header names {len(names)}")
        # Each name is stored once, and each row has an index of 4 bytes. Without an index, each row of `counters` would
        # contain the counter's name.
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), pa.array(names, pa.string()))
    target = column.type.to_pandas_dtype()
    if values.dtype != target:
        kept = values if missing is None else values[~missing]
        if not np.can_cast(values.dtype, target) and len(kept) and np.dtype(target).kind in "iu":
            low, high = np.iinfo(target).min, np.iinfo(target).max
            if int(kept.max()) > high or int(kept.min()) < low:
                raise _malformed(
                    path, f"column {column.name} goes up to {kept.max()}, which does not fit {column.type}"
                )
        if missing is not None:
            # The value that means "missing" may not fit into the table's narrower type. It is therefore replaced by 0,
            # and the mask makes it null.
            values = np.where(missing, values.dtype.type(0), values)
        values = values.astype(target)
    return pa.array(values, type=column.type, mask=missing)


def _arrow_schema(records: RecordFile, metadata: dict[str, object] | None) -> pa.Schema:
    known = records.table.arrow(metadata)
    return pa.schema([*known, *(column.field() for column in records.unknown)], metadata=known.metadata)


def writer_options(columns: tuple[Column, ...]) -> dict[str, Any]:
    """Return the options of the Parquet writer. All options that affect the bytes are fixed, so equal records give
    identical files."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        # The format version is given explicitly. If Arrow changed its default version, the bytes of the files would
        # change.
        "version": "2.6",
        "data_page_version": "1.0",
        # Times and byte positions differ in nearly every row. A dictionary of such values would take time, and would
        # not make the file smaller.
        "use_dictionary": [
            column.name for column in columns if column.unit not in ("ns", "bytes") or column.type != pa.int64()
        ],
        "write_statistics": True,
        "store_schema": True,
    }


def missing_value(dtype: np.dtype) -> float | int:
    """Return the value that means "missing" in a record (design/interfaces.md, section 5).

    The value is NaN for floats, the smallest value for signed integers, and the largest for unsigned ones:

    >>> missing_value(np.dtype("u1"))
    255
    """
    if dtype.kind == "f":
        return float("nan")
    limits = np.iinfo(dtype)
    return int(limits.min if dtype.kind == "i" else limits.max)


def _malformed(path: Path, what: str) -> TraceError:
    return TraceError(
        f"cannot read the trace file {path}: {what}",
        hint="the run that wrote it did not end well or another version wrote it; run the scenario again",
    )


MAGIC = b"LEOWARP1"
_PREAMBLE = struct.Struct("<8sI")
# Limit on the length of a header: 4 MiB is more than a header needs for its columns and some hundreds of counters.
# Without a limit, a damaged length could cause a large allocation.
_HEADER_MAX_BYTES = 1 << 22
WIRE_TYPES = {"i64": "<i8", "u64": "<u8", "i32": "<i4", "u32": "<u4", "u16": "<u2", "u8": "u1", "f64": "<f8"}
"""The numpy name of each type that a record may contain."""
# 2^18 rows take 81 MB in the widest table (sockets, 308 bytes per row in Arrow), and 15 MB in packets (58 bytes per
# row).
ROW_GROUP_ROWS = 1 << 18
