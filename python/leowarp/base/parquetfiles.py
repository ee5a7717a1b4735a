# SPDX-License-Identifier: Apache-2.0
"""Parquet files that may be damaged or malicious: one kind of error for every fault."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import footers
from leowarp.base.errors import HostError, TraceError
from leowarp.base.plainfiles import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_VALUES = 1 << 32
"""Largest product of rows and columns of one file. A file of a few bytes can claim any number of equal rows; 32 GiB of
numbers are more than any run has."""

MOST_SMALL_BYTES = 256 << 20
"""Decoded size up to which a table may have any size on disk: equal values take almost no space there."""

MOST_TIMES_FILE = 100
"""Decoded bytes per byte on disk of a larger table. The packets of a run take 3 to 20 times the size of their file."""

TABLE_BYTES = "LEOWARP_TABLE_BYTES"
"""The environment variable that raises the limit of a table's size in memory."""

# Bytes of a value in memory, by Parquet's physical types; a text has an offset of 4 bytes in addition to its own.
_WIDTHS_BYTES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
_BATCH_ROWS = 1 << 16


def read_table(
    path: Path, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again"
) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    columns, filters
        As in `pyarrow.parquet.read_table`.
    hint : str
        What to do if it cannot be read.

    Raises
    ------
    TraceError
        If the file does not exist, is no plain file or no Parquet, is truncated, would hold more than `MOST_VALUES`, or
        would take more memory than `most_decoded_bytes`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _demand_plain(path)
        _demand_small_footer(path)
        # The footer is checked before any row is read, because it may state a false number of rows.
        facts = pq.read_metadata(path)
        values = facts.num_rows * facts.num_columns
        if values > MOST_VALUES:
            raise TraceError(f"cannot read {path}: it says that it holds {facts.num_rows} rows", hint=hint)
        _refuse_large(path, facts, columns if filters is None else None)
        # The table is not read as a data set, because a folder's name would then add a column.
        table = pq.read_table(path, columns=columns, filters=filters, partitioning=None)
        # Arrow trusts a file unless it is told to check it. Damage would then appear where values are used, not here.
        table.validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error, hint) from error
    return table


def read_schema(path: Path, *, hint: str = "make the run again") -> pa.Schema:
    """The schema of a table with its metadata, without reading a row.

    Raises
    ------
    TraceError
        As in `read_table`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _demand_plain(path)
        _demand_small_footer(path)
        return pq.read_schema(path)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error, hint) from error


def most_decoded_bytes(file_bytes: int) -> int:
    """Memory that a table with this number of bytes on disk may take.

    Raises
    ------
    HostError
        If the value of the environment variable `TABLE_BYTES` is not an integer.
    """
    raised = os.environ.get(TABLE_BYTES, "0")
    if not raised.isdecimal():
        raise HostError(f"{TABLE_BYTES} is {raised!r:.40}, and not a number of bytes", hint=f"unset {TABLE_BYTES}")
    return max(MOST_SMALL_BYTES, MOST_TIMES_FILE * file_bytes, int(raised))


def _refuse_large(path: Path, facts: pq.FileMetaData, columns: list[str] | None) -> None:
    """Raises TraceError if a table would take more memory than `most_decoded_bytes`; apart from texts, nothing is
    decoded for that.

    Texts are the exception. A dictionary may hold one long text, which rows repeat by its number. So if the footer does
    not exclude that, texts are measured as dictionaries, in batches.
    """
    limit = most_decoded_bytes(path.stat().st_size)
    fixed_bytes, longest_bytes, texts = 0, 0, set()
    for group in map(facts.row_group, range(facts.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if columns is not None and column.path_in_schema.split(".")[0] not in columns:
                continue
            count = max(column.num_values, group.num_rows)
            fixed_bytes += count * _WIDTHS_BYTES.get(column.physical_type, 16)
            if column.physical_type not in _WIDTHS_BYTES or column.physical_type == "BYTE_ARRAY":
                repeats = count if any("DICTIONARY" in encoding for encoding in column.encodings) else 1
                longest_bytes += repeats * column.total_uncompressed_size
                texts.add(column.path_in_schema)
    is_too_large = fixed_bytes > limit
    if not is_too_large and fixed_bytes + longest_bytes > limit:
        is_too_large = any(fixed_bytes + text_bytes > limit for text_bytes in _text_bytes(path, sorted(texts)))
    if is_too_large:
        raise TraceError(
            f"cannot read {path}: {path.stat().st_size:,} bytes would take more than {limit:,} bytes of memory",
            hint=f"a table that small holds less in a run of leowarp. If you trust it: {TABLE_BYTES}=NUMBER in the "
            "environment raises the limit",
        )


def _text_bytes(path: Path, texts: list[str]) -> Iterator[int]:
    """Bytes of all texts up to the end of each batch; every repetition counts."""
    import pyarrow.parquet as pq

    total_bytes = 0
    file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
    for batch in file.iter_batches(_BATCH_ROWS, columns=texts, use_threads=False):
        total_bytes += sum(map(_repeated_bytes, batch.columns))
        yield total_bytes


def _repeated_bytes(array: pa.Array) -> int:
    """Bytes of the texts in an array of dictionaries, or of lists of these; every repetition counts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_struct(array.type):
        return sum(map(_repeated_bytes, array.flatten()))
    if pa.types.is_nested(array.type):
        return _repeated_bytes(array.flatten())
    if pa.types.is_dictionary(array.type):
        lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
        return pc.sum(pc.take(lengths, array.indices)).as_py() or 0
    return int(array.nbytes)


def _demand_small_footer(path: Path) -> None:
    """Raises TraceError if decoding the footer alone would take much memory."""
    if (why := footers.why_too_large(path)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint="no leowarp wrote it so; make the run again")


def _demand_plain(path: Path) -> None:
    """Refuse any file that is not a plain file: opening a pipe would wait for a writer."""
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError(0, f"it is {kind_of(mode)}", str(path))


def _unreadable(path: Path, error: Exception, hint: str) -> TraceError:
    """All faults give one kind of error, with Arrow's own message."""
    if isinstance(error, FileNotFoundError):
        return TraceError(f"cannot read {path}: there is no such file", hint=hint)
    return TraceError(f"cannot read {path}: {error} (is it damaged?)", hint=hint)
