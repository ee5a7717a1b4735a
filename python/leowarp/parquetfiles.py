# SPDX-License-Identifier: Apache-2.0
"""Parquet files that may be damaged, or made to do harm: one error for whatever is wrong with them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.errors import TraceError
from leowarp.plainfiles import kind_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 1 << 32
"""Rows times columns of one file. A file of a few bytes can say that it holds any number of equal rows; 32 GiB of
numbers are more than any run has."""


def read_table(
    path: Path, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again"
) -> pa.Table:
    """A table.

    Parameters
    ----------
    columns, filters
        As for `pyarrow.parquet.read_table`.
    hint : str
        What to do if it cannot be read.

    Raises
    ------
    TraceError
        If it is not there, no plain file, no Parquet, cut short, or would hold more than `MOST_VALUES`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _demand_plain(path)
        # Asked before any row is read: a lie about the number of rows stands in the footer.
        facts = pq.read_metadata(path)
        values = facts.num_rows * facts.num_columns
        if values > MOST_VALUES:
            raise TraceError(f"cannot read {path}: it says that it holds {facts.num_rows} rows", hint=hint)
        # Not as a data set: a folder's name would add a column.
        table = pq.read_table(path, columns=columns, filters=filters, partitioning=None)
        # Arrow takes a file's word until it is asked to check: damage would show where values are used, not here.
        table.validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error, hint) from error
    return table


def read_schema(path: Path, *, hint: str = "make the run again") -> pa.Schema:
    """The schema of a table with its metadata, without reading a row.

    Raises
    ------
    TraceError
        As `read_table`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _demand_plain(path)
        return pq.read_schema(path)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error, hint) from error


def _demand_plain(path: Path) -> None:
    """Refuses what is no plain file: opening a pipe would wait for a writer."""
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError(0, f"it is {kind_of(mode)}", str(path))


def _unreadable(path: Path, error: Exception, hint: str) -> TraceError:
    """One error for all that can be wrong, with Arrow's own words."""
    if isinstance(error, FileNotFoundError):
        return TraceError(f"cannot read {path}: there is no such file", hint=hint)
    return TraceError(f"cannot read {path}: {error} (is it damaged?)", hint=hint)
