# SPDX-License-Identifier: Apache-2.0
"""Parquet files that may be damaged or malicious: one kind of error for every fault."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import footers
from leowarp.base.errors import HostError, TraceError
from leowarp.base.machine.memory import usable_memory_bytes
from leowarp.base.plainfiles import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_SMALL_BYTES = 128 << 20
"""Decoded, of tables that are read together, whatever their size on disk: equal values take next to nothing there.

A report takes 250 MiB, and three times as much as its tables: 1.5 GiB of a run with 2,000 flows, whose tables take 0.5.
"""

MOST_TIMES_FILE = 256
"""Decoded bytes per byte on disk of larger tables.

2,078 run directories of tests, studies and exams need up to 90 times their size beyond 64 MiB. UDP at a constant rate
that loses nearly all packets needs most: 130 times, with 8.5 million packets (copies of 0.6 million). A recording
of a dish in a timeline needs 39 times, 2,000 flows 26 times, and TCP with 5.9 million packets 15 times.
"""

MOST_OF_MEMORY = 4
"""Usable memory per decoded byte that larger tables need: a report holds them as Arrow and as data frames."""

TABLE_BYTES = "LEOWARP_TABLE_BYTES"
"""The environment's variable that raises what tables may take in memory."""

# Bytes of a value as a data frame holds it, by Parquet's physical types: whole numbers that may be missing become
# floats. A text has an offset beside its bytes.
_BOOLEAN_BYTES, _NUMBER_BYTES, _TEXT_BYTES = 2, 8, 16
_WIDTHS_BYTES = {"BOOLEAN": _BOOLEAN_BYTES, "BYTE_ARRAY": _TEXT_BYTES, "FIXED_LEN_BYTE_ARRAY": _TEXT_BYTES}
_LIST_BYTES = 128
"""Of each row of a column of lists: an array of its own."""

_BATCH_ROWS = 1 << 16


def read_table(
    path: Path, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again",
    is_bounded: bool = False,
) -> pa.Table:  # fmt: skip
    """A table.

    Parameters
    ----------
    columns, filters
        As in `pyarrow.parquet.read_table`.
    hint : str
        What to do if it cannot be read.
    is_bounded : bool
        Whether `refuse_large` was asked about it already.

    Raises
    ------
    TraceError
        If it is not there, no plain file, no Parquet, cut short, or too large (`refuse_large`).
    """
    import pyarrow.parquet as pq

    if not is_bounded:
        refuse_large([path], columns=columns if filters is None else None, hint=hint)
    try:
        refuse_strange(path, hint=hint)
        footer = _footer(path)
        if filters is None and {*(columns or ())} <= {*footer.schema.to_arrow_schema().names}:
            # With the footer that is known, and without a data set: both cost more than decoding a small table.
            table = pq.ParquetFile(path, metadata=footer).read(columns)
            table = table if columns is None else table.select(columns)
        else:
            # Not partitioned: a folder's name would add a column.
            table = pq.read_table(path, columns=columns, filters=filters, partitioning=None)
        # Arrow takes a file's word until it is asked to check: damage would show where values are used, not here.
        table.validate(full=True)
    except _damages() as error:
        raise _unreadable(path, error, hint) from error
    return table


def read_schema(path: Path, *, hint: str = "make the run again") -> pa.Schema:
    """The schema of a table with its metadata, without reading a row.

    Raises
    ------
    TraceError
        As in `read_table`.
    """
    try:
        return _footer(path).schema.to_arrow_schema()
    except _damages() as error:
        raise _unreadable(path, error, hint) from error


def rows(path: Path) -> int:
    """Number of rows of a table, by its footer.

    Raises
    ------
    TraceError
        As in `read_table`.
    """
    try:
        return int(_footer(path).num_rows)
    except _damages() as error:
        raise _unreadable(path, error, "make the run again") from error


def refuse_large(paths: Sequence[Path], *, columns: list[str] | None = None, hint: str = "make the run again") -> None:
    """Raises TraceError if tables that are read together would take more memory than they may.

    Footers say how many values there are; no number is decoded for that. Texts are the exception: a dictionary may hold
    one long text, and rows repeat it by its number. So where footers leave that open, texts are measured as
    dictionaries, in batches.

    Parameters
    ----------
    paths : sequence of path
    columns : list of str, optional
        Those that are read; all if not given.
    hint : str
        What to do if one cannot be read.

    Raises
    ------
    TraceError
        Also as `read_table`.
    HostError
        If the value of the environment variable `TABLE_BYTES` is not an integer.
    """
    sizes = []
    for path in paths:
        try:
            sizes.append(_Size.of(path, _footer(path), columns))
        except _damages() as error:
            raise _unreadable(path, error, hint) from error
    disk_bytes = sum(size.disk_bytes for size in sizes)
    limit = memory_limit_bytes(disk_bytes)
    fixed_bytes = sum(size.fixed_bytes for size in sizes)
    largest = max(sizes, key=lambda size: size.fixed_bytes + size.most_text_bytes, default=None)
    if largest is None or fixed_bytes + sum(size.most_text_bytes for size in sizes) <= limit:
        return
    needed_bytes = fixed_bytes
    for size in sizes:
        if needed_bytes <= limit and size.texts:
            try:
                needed_bytes += _text_bytes(size.path, size.texts, limit - needed_bytes)
            except _damages() as error:
                raise _unreadable(size.path, error, hint) from error
    if needed_bytes <= limit:
        return
    together = "" if len(sizes) == 1 else f" with the other tables of {largest.path.parent.name}"
    raise TraceError(
        f"cannot read {largest.path}{together}: {disk_bytes:,} bytes would take more than {limit:,} bytes of memory",
        hint=how_to_raise(max(needed_bytes, 2 * limit)),
    )


def how_to_raise(limit_bytes: int) -> str:
    """The hint for a table that would take more memory than the limit, with the limit that it needs."""
    return (
        "tables of an honest run take less, or this machine has too little memory. If you trust it: "
        f"{TABLE_BYTES}={limit_bytes} in the environment raises the limit"
    )


def memory_limit_bytes(disk_bytes: int) -> int:
    """Memory that tables with this number of bytes on disk may take together.

    Raises HostError if the value of the environment variable `TABLE_BYTES` is not an integer.
    """
    raised = os.environ.get(TABLE_BYTES, "0")
    if not (raised.isascii() and raised.isdecimal() and len(raised) < 20):
        raise HostError(f"{TABLE_BYTES} is {raised!r:.40}, and not a number of bytes", hint=f"unset {TABLE_BYTES}")
    most_bytes = MOST_TIMES_FILE * disk_bytes
    if most_bytes > MOST_SMALL_BYTES:
        # Not for small ones: it reads files of the kernel.
        most_bytes = min(most_bytes, usable_memory_bytes() // MOST_OF_MEMORY)
    return max(MOST_SMALL_BYTES, most_bytes, int(raised))


@dataclass(frozen=True)
class _Size:
    """What a table takes in memory, by its footer.

    fixed_bytes: Of all values but the bytes of texts; of one that is null, too.
    most_text_bytes: Texts take no more.
    texts: Paths of columns of texts, with those within lists.
    """

    path: Path
    disk_bytes: int
    fixed_bytes: int
    most_text_bytes: int
    texts: list[str]

    @staticmethod
    def of(path: Path, footer: pq.FileMetaData, columns: list[str] | None) -> _Size:
        fixed_bytes = most_text_bytes = 0
        texts = set()
        is_list = [footer.schema.column(place).max_repetition_level > 0 for place in range(footer.num_columns)]
        for group in map(footer.row_group, range(footer.num_row_groups)):
            for place, column in enumerate(map(group.column, range(group.num_columns))):
                if columns is not None and column.path_in_schema.split(".")[0] not in columns:
                    continue
                # Neither number is believed alone.
                count = max(column.num_values, group.num_rows)
                fixed_bytes += count * _WIDTHS_BYTES.get(column.physical_type, _NUMBER_BYTES)
                fixed_bytes += group.num_rows * _LIST_BYTES * is_list[place]
                if column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
                    repeats = count if any("DICTIONARY" in encoding for encoding in column.encodings) else 1
                    most_text_bytes += repeats * column.total_uncompressed_size
                    texts.add(column.path_in_schema)
        return _Size(path, path.stat().st_size, fixed_bytes, most_text_bytes, sorted(texts))


def _footer(path: Path) -> pq.FileMetaData:
    """A file's footer, if it is of a bearable size; decoded once per state of the file."""
    refuse_strange(path)
    status = path.stat()
    return _footer_of(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


# For the tables of one run: each footer is asked for its schema, for its size, and when the table is read.
@lru_cache(maxsize=32)
def _footer_of(path: Path, state: tuple[int, int, int, int]) -> pq.FileMetaData:
    import pyarrow.parquet as pq

    if (why := footers.why_too_large(path)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint="no leowarp wrote it so; make the run again")
    return pq.read_metadata(path)


def _text_bytes(path: Path, texts: list[str], most_bytes: int) -> int:
    """Bytes of all texts, every repetition counted; or of the first that are more than `most_bytes` together."""
    import pyarrow.parquet as pq

    total_bytes = 0
    file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
    for batch in file.iter_batches(_BATCH_ROWS, columns=texts, use_threads=False):
        total_bytes += sum(map(_repeated_bytes, batch.columns))
        if total_bytes > most_bytes:
            break
    return total_bytes


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


def _damages() -> tuple[type[Exception], ...]:
    """What Arrow raises of a damaged file: of an encoding without a name a KeyError, of a text UnicodeDecodeError."""
    import pyarrow as pa

    return OSError, pa.ArrowException, ValueError, LookupError


def refuse_strange(path: Path, *, hint: str = "make the run again") -> None:
    """Raises TraceError if a table is not there, or is no plain file: opening a pipe would wait for a writer."""
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, f"it is {kind_of(mode)}", str(path))
    except OSError as error:
        raise _unreadable(path, error, hint) from error


def _unreadable(path: Path, error: Exception, hint: str) -> Exception:
    """One error for all that can be wrong, with Arrow's own words; too little memory stays what it is."""
    if isinstance(error, MemoryError):
        return error
    if isinstance(error, FileNotFoundError):
        return TraceError(f"cannot read {path}: there is no such file", hint=hint)
    return TraceError(f"cannot read {path}: {error} (is it damaged?)", hint=hint)
