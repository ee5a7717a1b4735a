# SPDX-License-Identifier: Apache-2.0
"""Reads Parquet files that may be damaged or malicious. All faults of a file raise a TraceError."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import plainfiles
from leowarp.base.errors import HostError, TraceError
from leowarp.base.machine.memory import usable_memory_bytes
from leowarp.base.plainfiles import kind_of
from leowarp.base.tables import footers

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_SMALL_BYTES = 128 << 20
"""Tables that are read together are always accepted if their decoded size in bytes is at most this value. The size of
tables on disk hardly limits their decoded size, because equal values take almost no space on disk."""

MOST_TIMES_FILE = 256
"""For tables above `MOST_SMALL_BYTES`, the decoded size may be at most this number of times the size on disk.

The limit was set after measuring 2,078 run directories of tests, studies and exams. Directories that need more than 64
MiB need up to 90 times their size on disk. Assume that a UDP flow of constant rate loses nearly all its packets. The
run directory then needs 130 times its size on disk. Other runs need fewer decoded bytes per byte on disk: for example
39 with a recording of a dish, 26 with 2,000 flows, and 15 with 5.9 million TCP packets.
"""

MOST_BYTES = 3 << 29
"""The limit on the decoded size of all tables of a run together: 1.5 GiB. Each value is counted with the size that it
would have in a data frame. A column of a large table is read only when it is needed. The column gets the smallest type
that fits its values. A report of 2,000 flows over 60 s, whose tables have 1.4 GiB, takes less than 1 GiB."""

TABLE_BYTES = "LEOWARP_TABLE_BYTES"
"""The environment variable with which a user raises the limit on the memory of tables."""

# Bytes per value in a data frame, by Parquet's physical type. A column of integers that allows missing values becomes a
# column of floats. Each text takes the bytes of an offset in addition to its own bytes.
_BOOLEAN_BYTES, _NUMBER_BYTES, _TEXT_BYTES = 2, 8, 16
_WIDTHS_BYTES = {"BOOLEAN": _BOOLEAN_BYTES, "BYTE_ARRAY": _TEXT_BYTES, "FIXED_LEN_BYTE_ARRAY": _TEXT_BYTES}
_LIST_BYTES = 128
"""The number of bytes per row in a column of lists. In such a column, the list of each row is a separate array."""

_BATCH_ROWS = 1 << 16


def read_table(
    path: Path, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again",
    is_bounded: bool = False,
) -> pa.Table:  # fmt: skip
    """Read a table.

    columns, filters: The arguments of `pyarrow.parquet.read_table`.
    hint: The advice to the user if the table cannot be read.
    is_bounded: Whether `refuse_large` has already checked the size of the table.
    Raises TraceError if the file is missing, not a regular file, not Parquet, truncated, or too large (`refuse_large`).
    """
    import pyarrow.parquet as pq

    if not is_bounded:
        refuse_large([path], columns=columns if filters is None else None, hint=hint)
    with _damage_refused(path, hint):
        refuse_strange(path, hint=hint)
        table = _selected(pq.ParquetFile(path, metadata=_footer(path).metadata), columns, filters)
        # Arrow checks the values only on request. Without this check, damage would be noticed only when a value is
        # used.
        table.validate(full=True)
    return table


def _selected(file: pq.ParquetFile, columns: list[str] | None, filters: Any) -> pa.Table:
    """Read columns, and the rows for which the filters hold.

    The file is not opened as a data set: for some damaged files, Arrow would then wait without end. Arrow's threads are
    not used, because a lack of memory in one of them would end the process.
    """
    import pyarrow.parquet as pq

    if filters is None:
        table = file.read(columns, use_threads=False)
        return table if columns is None else table.select(columns)
    import pyarrow as pa
    from pyarrow import acero

    condition = acero.FilterNodeOptions(pq.filters_to_expression(filters))
    # The columns of an expression are unknown, so all columns are then read.
    needed = None
    if columns is not None and isinstance(filters, list):
        needed = [*columns, *{column for column, *_ in conditions(filters)}]
    parts = []
    for place in range(file.num_row_groups):
        source = acero.TableSourceNodeOptions(file.read_row_group(place, needed, use_threads=False))
        steps = [acero.Declaration("table_source", source), acero.Declaration("filter", condition)]
        part = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
        parts.append(part.replace_schema_metadata(file.schema_arrow.metadata))
    table = pa.concat_tables(parts) if parts else file.schema_arrow.empty_table()
    return table if columns is None else table.select(columns)


def conditions(filters: Sequence[Any]) -> list[tuple[str, str, Any]]:
    """Return the column, operator and value of each condition in a list of conditions, or in a list of such lists."""
    return [one for each in filters for one in (each if isinstance(each, list) else [each])]


def read_schema(path: Path, *, hint: str = "make the run again") -> pa.Schema:
    """Read the schema and the metadata of a table, without reading a row.

    Raises TraceError for the same reasons as `read_table`.
    """
    with _damage_refused(path, hint):
        return _footer(path).metadata.schema.to_arrow_schema()


def rows(path: Path) -> int:
    """Read the number of rows of a table from its footer.

    Raises TraceError for the same reasons as `read_table`.
    """
    with _damage_refused(path, "make the run again"):
        return int(_footer(path).metadata.num_rows)


def refuse_large(paths: Sequence[Path], *, columns: list[str] | None = None, hint: str = "make the run again") -> None:
    """Raise TraceError if tables that are read together would take more memory than allowed once decoded.

    The footers give the number of values, which is enough for numeric columns. This number is not enough for texts,
    because many rows may refer to one long text in a dictionary. If the footers give no upper limit on the size of
    texts, the texts are read in batches, as dictionaries. Their sizes are added.

    columns: The names of the columns that will be read. By default, all columns are read.
    hint: The advice to the user if a table cannot be read.
    Raises TraceError if the tables are too large, and for the same reasons as `read_table`.
    Raises HostError if the value of the environment variable `TABLE_BYTES` is not an integer.
    """
    sizes = []
    for path in paths:
        with _damage_refused(path, hint):
            sizes.append(_Size.of(path, _footer(path), columns))
    disk_bytes = sum(size.disk_bytes for size in sizes)
    limit = memory_limit_bytes(disk_bytes)
    fixed_bytes = sum(size.fixed_bytes for size in sizes)
    largest = max(sizes, key=lambda size: size.fixed_bytes + size.most_text_bytes, default=None)
    if largest is None or fixed_bytes + sum(size.most_text_bytes for size in sizes) <= limit:
        return
    needed_bytes = fixed_bytes
    for size in sizes:
        if needed_bytes <= limit and size.texts:
            with _damage_refused(size.path, hint):
                needed_bytes += _text_bytes(size.path, size.texts, limit - needed_bytes)
    if needed_bytes <= limit:
        return
    together = "" if len(sizes) == 1 else f" with the other tables of {largest.path.parent.name}"
    raise TraceError(
        f"cannot read {largest.path}{together}: {disk_bytes:,} bytes would take more than {limit:,} bytes of memory",
        hint=how_to_raise(max(needed_bytes, 2 * limit)),
    )


def how_to_raise(limit_bytes: int) -> str:
    """Return the hint for an error message: how to raise the limit so that the tables fit."""
    return (
        "a run of 2,000 flows over a minute takes less. If you trust it: "
        f"{TABLE_BYTES}={limit_bytes} in the environment raises the limit"
    )


def memory_limit_bytes(disk_bytes: int) -> int:
    """Return the memory in bytes that decoded tables may take together. `disk_bytes` is their total size on disk.

    Raises HostError if the value of the environment variable `TABLE_BYTES` is not an integer.
    """
    most_bytes = min(MOST_TIMES_FILE * disk_bytes, MOST_BYTES)
    if most_bytes > MOST_SMALL_BYTES:
        # The check of the usable memory is skipped for small tables, because it reads files of the kernel.
        most_bytes = min(most_bytes, usable_memory_bytes())
    return max(MOST_SMALL_BYTES, most_bytes, raised_limit_bytes())


def raised_limit_bytes() -> int:
    """Return the value of the environment variable `TABLE_BYTES`, or 0 if it is not set.

    Raises HostError if the value is not an integer.
    """
    raised = os.environ.get(TABLE_BYTES, "0")
    if not (raised.isascii() and raised.isdecimal() and len(raised) < 20):
        raise HostError(f"{TABLE_BYTES} is {raised!r:.40}, and not a number of bytes", hint=f"unset {TABLE_BYTES}")
    return int(raised)


@dataclass(frozen=True)
class _Size:
    """The memory that a decoded table takes, estimated from its footer.

    fixed_bytes: The bytes of all values. Null values are included. The characters of texts are not included.
    most_text_bytes: The upper limit on the bytes of all texts.
    texts: The paths of the columns that contain texts, alone or in lists.
    """

    path: Path
    disk_bytes: int
    fixed_bytes: int
    most_text_bytes: int
    texts: list[str]

    @staticmethod
    def of(path: Path, footer: _Footer, columns: list[str] | None) -> _Size:
        fixed_bytes = most_text_bytes = 0
        texts = set()
        schema = footer.metadata.schema
        lists = {
            column.path for place in range(len(schema)) if (column := schema.column(place)).max_repetition_level > 0
        }
        for chunk in footer.chunks:
            if columns is not None and chunk.path[0] not in columns:
                continue
            path_in_schema = ".".join(chunk.path)
            # In a damaged footer, the number of values or the number of rows may be too small, so the larger number is
            # used.
            count = max(chunk.values, chunk.rows)
            fixed_bytes += count * _WIDTHS_BYTES.get(chunk.physical_type, _NUMBER_BYTES)
            fixed_bytes += chunk.rows * _LIST_BYTES * (path_in_schema in lists)
            if chunk.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
                most_text_bytes += (count if chunk.has_dictionary else 1) * chunk.size_bytes
                texts.add(path_in_schema)
        return _Size(path, path.stat().st_size, fixed_bytes, most_text_bytes, sorted(texts))


@dataclass(frozen=True)
class _Footer:
    """A file's footer, as Arrow and as `footers` decode it."""

    metadata: pq.FileMetaData
    chunks: tuple[footers.Chunk, ...]


def _footer(path: Path) -> _Footer:
    """Return a file's footer, if its size is within the limit. It is decoded again only if the file has changed."""
    refuse_strange(path)
    return _footer_of(path, plainfiles.state(path))


# Footers are cached, because each footer is needed three times: for the schema, for the size, and for reading the
# table.
@lru_cache(maxsize=32)
def _footer_of(path: Path, state: plainfiles.State) -> _Footer:
    import pyarrow.parquet as pq

    content = footers.footer_of(path)
    chunks = tuple(footers.chunks(content)) if content else ()
    return _Footer(pq.read_metadata(path), chunks)


def _text_bytes(path: Path, texts: list[str], most_bytes: int) -> int:
    """Return the total length of all texts in bytes. A repeated text is counted each time. Counting stops when the sum
    exceeds `most_bytes`."""
    import pyarrow.parquet as pq

    total_bytes = 0
    file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
    for batch in file.iter_batches(_BATCH_ROWS, columns=texts, use_threads=False):
        total_bytes += sum(map(_repeated_bytes, batch.columns))
        if total_bytes > most_bytes:
            break
    return total_bytes


def _repeated_bytes(array: pa.Array) -> int:
    """Return the bytes of the texts in an array of dictionaries, or of lists of them. Each repetition of a text
    counts."""
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


def refuse_strange(path: Path, *, hint: str = "make the run again") -> None:
    """Raise TraceError if a table is missing or not a regular file. Opening a pipe would wait for a writer."""
    with _damage_refused(path, hint):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, f"it is {kind_of(mode)}", str(path))


@contextmanager
def _damage_refused(path: Path, hint: str) -> Iterator[None]:
    """Raise TraceError instead of the exceptions that Arrow raises for damaged files. For example, Arrow raises
    KeyError for an unknown encoding, and UnicodeDecodeError for a damaged text."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, ValueError, LookupError) as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"{error} (is it damaged?)"
        raise TraceError(f"cannot read {path}: {what}", hint=hint) from error
