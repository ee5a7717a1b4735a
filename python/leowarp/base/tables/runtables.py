# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of run directories. No other module reads them. The module checks the sha256 and limits the size of
each table."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import layout, neighbours, plainfiles, recorded
from leowarp.base.tables import parquetfiles
from leowarp.base.tables.metadata import decode_metadata

if TYPE_CHECKING:
    import pyarrow as pa

_OF_ANOTHER = "leowarp verify {run} --files names files that were changed; copy the whole run again"


_made: set[Path] = set()


def made_here(run: Path) -> None:
    """Remove the memory limit on reading the tables of this run, because this process made the run."""
    _made.add(run.resolve())


def read(
    run: Path, name: str, *, columns: list[str] | None = None, filters: Any = None, hint: str = "make the run again"
) -> pa.Table:
    """Read a table of a run directory.

    name: The name of the file, relative to the run directory.
    columns, filters: The arguments of `pyarrow.parquet.read_table`.
    hint: The advice to the user if the table cannot be read.
    Raises TraceError if the file does not have the manifest's sha256, or cannot be read. The same error is raised if
    the tables of the directory together would take more memory than allowed (`parquetfiles.refuse_large`).
    """
    parquetfiles.refuse_strange(run / name, hint=hint)
    # The sha256 is checked before decoding, so that Arrow never decodes a file that the manifest does not list.
    _refuse_changed(run, name)
    if run.resolve() not in _made:
        _refuse_large(tuple((path, plainfiles.state(path)) for path in _tables_beside(run, name)))
    table = parquetfiles.read_table(run / name, columns=columns, filters=filters, is_bounded=True, hint=hint)
    hint = _OF_ANOTHER.format(run=run)
    neighbours.refuse_other_table(run, name, table.schema.metadata, hint)
    if name in (layout.ROUTES, layout.TIMELINE) and filters is None:
        _refuse_other_plan(run, name, table, hint)
    return table


def _refuse_other_plan(run: Path, name: str, table: pa.Table, hint: str) -> None:
    """Raise TraceError if routes or a timeline belong to another run. A table without the needed columns is not
    checked, because its readers report the missing columns."""
    import pyarrow as pa

    needed = {"source", "destination"} if name == layout.ROUTES else {"event", "a", "b"}
    if not needed <= {field.name for field in table.schema if pa.types.is_string(field.type)}:
        return
    neighbours.refuse_other_network(run, name, table, hint)
    totals = f"{layout.TRACE}/linktotals.parquet"
    if name == layout.TIMELINE and (run / totals).exists():
        directions = decode_metadata(read_schema(run, totals), "directions")
        neighbours.refuse_other_links(run, name, table, directions or [], hint)


def read_schema(run: Path, name: str) -> pa.Schema:
    """Read the schema and the metadata of a table of a run directory, without reading a row.

    Raises TraceError for the same reasons as `read`.
    """
    parquetfiles.refuse_strange(run / name)
    _refuse_changed(run, name)
    schema = parquetfiles.read_schema(run / name)
    neighbours.refuse_other_table(run, name, schema.metadata, _OF_ANOTHER.format(run=run))
    return schema


def _refuse_changed(run: Path, name: str) -> None:
    # A decoded table takes at least as many bytes in memory as its file takes on disk.
    disk_bytes = plainfiles.state(run / name).size_bytes
    limit_bytes = disk_bytes if run.resolve() in _made else parquetfiles.memory_limit_bytes(disk_bytes)
    recorded.refuse_changed(run, name, most_bytes=limit_bytes, if_longer=parquetfiles.how_to_raise(2 * disk_bytes))


def _tables_beside(run: Path, name: str) -> list[Path]:
    """Return the tables that a command which reads `name` may read: `name`, and all of the run except the metrics."""
    own = (run / layout.ROUTES, run / layout.TIMELINE)
    there = {path for path in own if path.exists()} | set((run / layout.TRACE).glob("*.parquet")) | {run / name}
    return sorted(there)


@functools.lru_cache(maxsize=64)
def _refuse_large(tables: tuple[tuple[Path, plainfiles.State], ...]) -> None:
    parquetfiles.refuse_large([path for path, _ in tables])
