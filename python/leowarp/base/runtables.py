# SPDX-License-Identifier: Apache-2.0
"""Tables of run directories: the one place where they are read, against their sha256 and within bounds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import layout, neighbours, parquetfiles, recorded

if TYPE_CHECKING:
    import pyarrow as pa

_OF_ANOTHER = "leowarp verify {run} --files names files that were changed; copy the whole run again"


def read(
    run: Path, name: str, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again"
) -> pa.Table:
    """A table of a run directory.

    Parameters
    ----------
    run : path
    name : str
        Of the file, below it.
    columns, filters
        As for `pyarrow.parquet.read_table`.
    hint : str
        What to do if it cannot be read.

    Raises
    ------
    TraceError
        If it is not the file that the manifest lists, cannot be read, or the tables of the directory would together
        take more memory than they may (`parquetfiles.refuse_large`).
    """
    parquetfiles.refuse_strange(run / name, hint=hint)
    # Before it is decoded: what the manifest does not list never reaches Arrow.
    _refuse_changed(run, name)
    _refuse_large(tuple((path, recorded.state(path)) for path in _tables_beside(run, name)))
    table = parquetfiles.read_table(run / name, columns=columns, filters=filters, is_bounded=True, hint=hint)
    neighbours.refuse_other_table(run, name, table.schema.metadata, _OF_ANOTHER.format(run=run))
    return table


def read_schema(run: Path, name: str) -> pa.Schema:
    """The schema of a table of a run directory with its metadata, without reading a row.

    Raises
    ------
    TraceError
        As `read`.
    """
    parquetfiles.refuse_strange(run / name)
    _refuse_changed(run, name)
    schema = parquetfiles.read_schema(run / name)
    neighbours.refuse_other_table(run, name, schema.metadata, _OF_ANOTHER.format(run=run))
    return schema


def rows(run: Path, name: str) -> int:
    """Number of rows of a table of a run directory, by its footer. The caller has read its schema."""
    return parquetfiles.rows(run / name)


def _refuse_changed(run: Path, name: str) -> None:
    # A table takes at least its size on disk once it is decoded.
    disk_bytes = recorded.state(run / name).size_bytes
    limit_bytes = parquetfiles.memory_limit_bytes(disk_bytes)
    recorded.refuse_changed(run, name, most_bytes=limit_bytes, if_longer=parquetfiles.how_to_raise(2 * disk_bytes))


def _tables_beside(run: Path, name: str) -> list[Path]:
    """Tables of a run directory that a verb may read together with this one: all but the table of metrics."""
    own = (run / layout.ROUTES, run / layout.TIMELINE)
    there = {path for path in own if path.exists()} | set((run / layout.TRACE).glob("*.parquet")) | {run / name}
    return sorted(there)


@functools.lru_cache(maxsize=64)
def _refuse_large(tables: tuple[tuple[Path, recorded.State], ...]) -> None:
    parquetfiles.refuse_large([path for path, _ in tables])
