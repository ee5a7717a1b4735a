# SPDX-License-Identifier: Apache-2.0
"""Read columns of CSV and Parquet files in parts of limited size, with pyarrow's streaming readers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.reordering.arrivals import Part, Reading, Source, first_bytes, total_bytes
from leowarp.reordering.columns import length_column, sequence_column, time_column

SEQUENCE_NAMES = ("seq", "sequence", "sequence_number", "number", "seq_pkts")
"""The names by which the sequence column is recognised."""
# Files are read in parts of fixed size, so memory does not depend on the length of the file.
_BLOCK_BYTES = 1 << 20
_ROWS = 1 << 18
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Decimal type for seconds since 1970 with a resolution of 1 ns, and for differences between such times.
_DECIMAL = pa.decimal128(36, 18)
_CONVERSION = re.compile(r"Row #(\d+): CSV conversion error to (\w+)(?:\([^)]*\))?: (?:invalid value )?(.*)", re.S)
_NUMBER = re.compile(r"\s*[+-]?[0-9.]+(e[+-]?[0-9]+)?\s*", re.I)


def csv_parts(this: Reading, stream: BinaryIO, source: Source) -> Iterator[Part]:
    """Yield the arrivals of a CSV file, in parts of about 1 MiB each. The file's first line determines the delimiter
    (comma, semicolon, tab).

    Raises ScenarioError if a column or a unit of time must be selected. The error is also raised if the first line
        contains numbers although `source.header` is set.
    Raises TraceError if a row contains an invalid number. Rows are counted from 1. Row 1 is the header.
    """
    # The line may end in CR or LF, because Arrow accepts both.
    line = re.split(rb"[\r\n]", first_bytes(stream), maxsplit=1)[0].decode("utf-8-sig", errors="replace")
    # If the line has no delimiter, `max` returns the first of the candidates, the comma.
    delimiter = max(",;\t", key=line.count)
    try:
        fields = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise TraceError(
            f"cannot read {this.name} as csv: its first line: {error}", hint="is it a CSV file?"
        ) from error
    if not line.strip():
        if not first_bytes(stream):
            return
        raise TraceError(f"cannot read {this.name} as csv: its first line is empty")
    if source.header and all(_NUMBER.fullmatch(cell) for cell in fields):
        raise ScenarioError(
            f"the first line of {this.name} should name the columns, but holds numbers: {line[:60]}",
            hint="without such a line: --no-header, and columns by number, as in --sequence 1",
        )
    names = [cell.strip() for cell in fields] if source.header else [str(n + 1) for n in range(len(fields))]
    chosen = _chosen(this, source, names)
    unit = None if chosen[1] is None else _time_unit(source, names[chosen[1]], None)
    kinds = (pa.uint64(), pa.int64() if unit == "ns" else pa.string(), pa.uint32())
    # Columns are selected by position, because two columns may have the same name.
    unique = [f"{number}" for number in range(len(names))]
    types = {unique[at]: kind for at, kind in zip(chosen, kinds, strict=True) if at is not None}
    reader = _csv_errors(
        this,
        lambda: pacsv.open_csv(
            stream,
            # Parsing uses a single thread, because errors of several threads do not name their row.
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=_BLOCK_BYTES, column_names=unique, skip_rows=int(source.header)
            ),
            parse_options=pacsv.ParseOptions(delimiter=delimiter),
            # An empty cell is an invalid number and not null, so the error names its row.
            convert_options=pacsv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
            ),
        ),
        names,
    )
    if reader is None:
        return
    total, row = total_bytes(stream), 1 + int(source.header)
    while (batch := _csv_errors(this, lambda: next(reader, None), names)) is not None:
        yield _part(this, batch.columns, [at is not None for at in chosen], unit, row)
        row += batch.num_rows
        this.done_ratio = min(1.0, stream.tell() / total) if total else None


def parquet_parts(this: Reading, stream: BinaryIO, source: Source) -> Iterator[Part]:
    """Yield the arrivals of a Parquet file, in parts of at most 262,144 rows.

    Raises ScenarioError if the file is a pipe, or if a column or a unit must be selected.
    Raises TraceError if the file is damaged, or if a row contains an invalid number.
    """
    if not stream.seekable():
        raise ScenarioError("Parquet is read from its end, which a pipe does not have", hint="give it as a file")
    try:
        file = pq.ParquetFile(stream)
        names = file.schema_arrow.names
        chosen = _chosen(this, source, names)
        fields = [None if at is None else file.schema_arrow.field(at) for at in chosen]
        unit = None if fields[1] is None else _time_unit(source, fields[1].name, fields[1])
        for wanted in fields:
            if wanted is not None and names.count(wanted.name) > 1:
                raise ScenarioError(f"{this.name} has several columns called {wanted.name}")
        row = 1
        order = [wanted.name for wanted in fields if wanted is not None]
        for batch in file.iter_batches(batch_size=_ROWS, columns=order):
            columns = [batch.column(name) for name in order]
            yield _part(this, columns, [at is not None for at in chosen], unit, row)
            row += batch.num_rows
            this.done_ratio = (row - 1) / max(1, file.metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(f"cannot read {this.name} as parquet: {error}", hint="was it copied whole?") from error


def _part(this: Reading, columns: Sequence[pa.Array], present: list[bool], unit: str | None, row: int) -> Part:
    """Convert the columns of sequence numbers, times and lengths, as far as they are `present`. `row` is the number of
    the first row, for error messages."""
    left, place = iter(columns), ("row", row)
    seq, t, length = (next(left) if is_there else None for is_there in present)
    try:
        return Part(sequence_column(seq, place=place), _instants(t, unit, place), length_column(length, place=place))
    except TraceError as error:
        raise TraceError(f"cannot read {this.name} as {this.format}: {error.message}", hint=error.hint) from error


def _instants(column: pa.Array | None, unit: str | None, place: tuple[str, int]) -> np.ndarray | None:
    """Return the times in ns as int64, rounded. A time in s since 1970 with a resolution of 1 ns has 19 digits, but a
    float64 has only 16. Large times in text are therefore read as decimals, in two parts."""
    if column is None or unit is None or (unit == "ns" and pa.types.is_integer(column.type)) or column.null_count:
        return time_column(column, place)
    if pa.types.is_integer(column.type):
        return time_column(pc.multiply_checked(column.cast(pa.int64()), _NS[unit]), place)
    is_text = pa.types.is_string(column.type)
    if not is_text and not pa.types.is_floating(column.type) and not pa.types.is_decimal(column.type):
        raise TraceError(f"instants of arrival are of type {column.type}, which is no number and no time")
    values = _floats(column, place)
    # 2^63 - 1024 is the largest float64 below 2^63.
    if len(values) and np.abs(values).max() > (2**63 - 1024) / _NS[unit]:
        at = int(np.argmax(np.abs(values)))
        raise TraceError(f"the instant of arrival at {place[0]} {place[1] + at} is beyond the year 2262")
    # From 2^52 ns on, a float64 may be wrong by 1 ns; seconds since 1970 exceed this limit.
    if not pa.types.is_floating(column.type) and np.abs(values).max(initial=0.0) * _NS[unit] >= 2**52:
        try:
            exact = pc.utf8_trim_whitespace(column).cast(_DECIMAL) if is_text else column.cast(_DECIMAL)
        except pa.ArrowInvalid:
            pass  # A number with too many digits for a decimal was printed from a float. Floats are then used.
        else:
            whole = pc.floor(exact)
            rest = pc.subtract(exact, whole).cast(pa.float64()).to_numpy(zero_copy_only=False)
            return whole.cast(pa.int64()).to_numpy(zero_copy_only=False) * _NS[unit] + np.rint(rest * _NS[unit]).astype(
                np.int64
            )
    return np.rint(values * _NS[unit]).astype(np.int64)


def _floats(column: pa.Array, place: tuple[str, int]) -> np.ndarray:
    try:
        text = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        values = text.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        # Arrow's error does not name the wrong value, so the values are converted one by one to find it.
        values = np.array([_float(text) for text in column.to_pylist()])
    if not np.isfinite(values).all():
        at = int(np.argmax(~np.isfinite(values)))
        raise TraceError(f"the instant of arrival at {place[0]} {place[1] + at}, {column[at]}, is not a number")
    return values


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _chosen(this: Reading, source: Source, names: list[str]) -> tuple[int, int | None, int | None]:
    """Return the positions of sequence number, time and length, from 0. Time and length are None if not selected."""
    time = None if source.time is None else _position(this, "time", source.time, names)
    length = None if source.bytes is None else _position(this, "bytes", source.bytes, names)
    if source.sequence is not None:
        return _position(this, "sequence", source.sequence, names), time, length
    columns_of_numbers = [at for at, name in enumerate(names) if name.lower() in SEQUENCE_NAMES]
    if len(names) == 1 or len(columns_of_numbers) == 1:
        return (columns_of_numbers or [0])[0], time, length
    raise ScenarioError(
        f"which column of {this.name} holds the sequence numbers? It has: {', '.join(names[:30])}",
        hint="--sequence COLUMN, by name or by number counted from 1",
    )


def _position(this: Reading, option: str, text: str, names: list[str]) -> int:
    """Return the position (from 0) of a column that the user gave by its name, or by its number from 1."""
    # A name takes precedence over a number, because columns may be called 1, 2, 3, as in a file without a header.
    if names.count(text) == 1:
        return names.index(text)
    if names.count(text) == 0 and text.isdecimal() and 1 <= int(text) <= len(names):
        return int(text) - 1
    raise ScenarioError(
        f"{this.name} has no column {text!r}, or several; it has: {', '.join(names[:30])}",
        hint=f"--{option} COLUMN, by name or by number counted from 1",
    )


def _time_unit(source: Source, name: str, column: pa.Field | None) -> str | None:
    """Return the unit of a column of times. None means that the column's type already has a unit."""
    if column is not None and pa.types.is_temporal(column.type):
        return None
    # The user's setting takes precedence over the ending of the column's name: a column `rtt_s` may contain ms.
    if source.time_unit is not None:
        return source.time_unit
    said = name.rpartition("_")[2]
    if "_" in name and said in _NS:
        return said
    raise ScenarioError(
        f"in which unit is the column {name!r}?",
        hint="--time-unit s, ms, us or ns (or a name that ends in _s, ..., _ns)",
    )


def _csv_errors(this: Reading, step, names: list[str]):
    try:
        return step()
    except pa.ArrowInvalid as error:
        text = str(error)
        if text.startswith("Empty CSV file"):
            return None
        # Arrow reports "straddling" if a row is longer than a block, because the reader has only two blocks in memory.
        if "straddling" in text:
            raise TraceError(
                f"cannot read {this.name} as csv: a row is longer than {_BLOCK_BYTES >> 10} KiB, which no arrival is",
                hint="write one arrival a line; is it a text at all? (head -c 100 shows its beginning)",
            ) from error
        raise TraceError(f"cannot read {this.name} as csv: {_told(text, names)}") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read {this.name} as csv: {error}") from error


def _told(text: str, names: list[str]) -> str:
    # Each of the three columns has a different type (`kinds` in `csv_parts`), so the type in the message identifies the
    # column. Errors of pyarrow have no codes: row, type and value are only in the message.
    match = _CONVERSION.search(text)
    if match is None:
        return text
    row, kind, value = match.groups()
    value = value.strip("'")
    if kind == "uint64":
        return f"the sequence number {value!r} at row {row} {_why(value)}"
    if kind == "uint32":
        return f"the length in bytes {value!r} at row {row} {_why(value)}"
    return f"the instant of arrival at row {row}: {value!r} is no number that can be kept exactly"


def _why(value: str) -> str:
    if not value:
        return "is missing"
    if re.fullmatch(r"-[0-9]+", value):
        return "is negative"
    return "is too large" if re.fullmatch(r"[0-9]+", value) else "is not a whole number"
