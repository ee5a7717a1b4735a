# SPDX-License-Identifier: Apache-2.0
"""The tables of a run directory, or of a trace in memory. Each table is checked, and is read when a metric first needs
it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from leowarp.base import layout, recorded
from leowarp.base.errors import TraceError
from leowarp.base.tables import parquetfiles, runtables
from leowarp.base.tables.metadata import decode_metadata
from leowarp.metrics.inputs.channels import Channels, split_timeline
from leowarp.metrics.inputs.large import LargeTable
from leowarp.metrics.inputs.tables import (
    FLOW_BY_FLOW,
    MANY_ROWS,
    NEEDED,
    PLANNED,
    ROUTE_COLUMNS,
    TIMELINE_COLUMNS,
    Tables,
)
from leowarp.routes.path_numbers import with_change_ids
from leowarp.trace import TABLES, check_types
from leowarp.trace.frames import data_frame


def read_tables(run_dir: str | Path) -> Tables:
    """Return all tables of a run directory. Routes and timeline are empty if the directory lacks them.

    Raises TraceError if the directory is not a run, or if a table is damaged or lacks a needed column.
    """
    run_dir = Path(run_dir)
    recorded.refuse_strange(run_dir)
    if not (run_dir / layout.TRACE).is_dir():
        raise TraceError(
            f"cannot read {run_dir} as a run: it has no {layout.TRACE} folder",
            hint=f"make one: leowarp run SCENARIO.toml --out {run_dir}",
        )
    paths = {name: f"{layout.TRACE}/{name}.parquet" for name in TABLES}
    paths |= {"routes": layout.ROUTES, "timeline": layout.TIMELINE}
    there = {name: path for name, path in paths.items() if (run_dir / path).exists()}
    schemas = {name: runtables.read_schema(run_dir, path) for name, path in there.items()}

    def read(name: str, columns: list[str] | None = None) -> pa.Table:
        return runtables.read(run_dir, there[name], columns=columns)

    # `read_schema` has checked each file, so its footer can be trusted.
    return _Stored.of(schemas, read, run_dir, {name: parquetfiles.rows(run_dir / path) for name, path in there.items()})


def tables_of(
    trace: Mapping[str, pa.Table], *, routes: pa.Table | None = None, timeline: pa.Table | None = None,
    where: str | Path = "the trace",
) -> Tables:  # fmt: skip
    """Convert tables in memory to the form that metrics read.

    trace: The trace tables by name, from `leowarp.trace.read_output`. A missing table counts as not recorded.
    routes, timeline: The tables as in `10-routes.parquet` and `20-timeline.parquet`.
    where: The name of the source in error messages.
    Raises TraceError if a table lacks a column that the metrics need.
    """
    planned = {name: table for name, table in (("routes", routes), ("timeline", timeline)) if table is not None}
    given = {**trace, **planned}

    def read(name: str, columns: list[str] | None = None) -> pa.Table:
        return given[name] if columns is None else given[name].select(columns)

    tables = _Stored.of({name: table.schema for name, table in given.items()}, read, where, {})
    # All tables are read here, so that a later metric raises no error about a table.
    for each in fields(Tables):
        getattr(tables, each.name)
    return tables


class _Stored(Tables):
    """The tables of a run. Each table is read when it is first needed."""

    _read: Callable[..., pa.Table]
    _where: str | Path
    _schemas: Mapping[str, pa.Schema]
    _row_counts: Mapping[str, int]

    @staticmethod
    def of(
        schemas: Mapping[str, pa.Schema], read: Callable[..., pa.Table], where: str | Path, rows: Mapping[str, int]
    ) -> _Stored:
        """Return tables with the given schemas.

        read: A function that takes a table's name and optional column names, and returns the table.
        where: The name of the source in error messages.
        rows: The number of rows of each table that can be read again, by table name. A table that is already in memory
            has no entry.
        Raises TraceError if a table lacks a column that the metrics need, or if tables belong to different runs.
        """
        names: dict[str, Any] = {}
        first: dict[str, tuple[str, bytes]] = {}
        for name in (name for name in NEEDED if name in schemas):
            # Columns and types are checked before any table is read. A file with other columns or types, written by
            # another program, gives a clear error instead of a traceback.
            _check_columns(schemas[name].empty_table(), NEEDED[name], f"{where}, table {name}", TABLES[name].arrow())
            told = schemas[name].metadata or {}
            for key in _NAMES:
                text = told.get(key.encode())
                if text is None:
                    continue
                if first.setdefault(key, (name, text))[1] != text:
                    raise TraceError(
                        f"cannot read {where}: the tables {first[key][0]} and {name} have other {key}, so they are of "
                        "different runs",
                        hint=f"leowarp verify {where} --files names files that were changed; copy the whole run again",
                    )
                if key != "flows" and key not in names:
                    names[key] = decode_metadata(schemas[name], key)
        directions = names.get("directions")
        if directions is None and "links" in schemas and len(read("links")):
            raise TraceError(f"cannot read {where}: no table names the `directions`, so link numbers mean nothing")
        tables = _Stored.__new__(_Stored)
        # The constructor is not used, because it takes the data frames, which are not read yet.
        vars(tables).update(
            directions=tuple((a, b, kind) for a, b, kind in directions or ()),
            hosts=tuple(names.get("hosts") or ()),
            missing=frozenset({*TABLES, "routes", "timeline"} - schemas.keys()),
            virtual_ns=names.get("virtual_ns"),
            programs=tuple(names.get("programs") or ()),
            connections=tuple(names.get("connections") or ()),
            _read=read,
            _where=where,
            _schemas=schemas,
            _row_counts=rows,
        )
        return tables

    def __getattr__(self, name: str) -> Any:
        # Python calls `__getattr__` for attributes that do not exist yet.
        if name in NEEDED:
            vars(self)[name] = self._measured(name)
        elif name in ("timeline", "channels"):
            vars(self).update(zip(("timeline", "channels"), self._planned("timeline"), strict=True))
        elif name == "routes":
            vars(self)[name], _ = self._planned(name)
        else:
            raise AttributeError(name)
        return vars(self)[name]

    def _measured(self, name: str) -> pd.DataFrame:
        if name in self.missing:
            return _empty(name)
        rows = self._row_counts.get(name, 0)
        _make_room(self, name, rows)
        if rows > MANY_ROWS:
            # Callers use only those methods and attributes of a data frame that `LargeTable` also has.
            return cast(pd.DataFrame, self._large(name, rows))
        table = self._read(name)
        _check_columns(table, NEEDED[name], f"{self._where}, table {name}", TABLES[name].arrow())
        return data_frame(table)

    def _large(self, name: str, rows: int) -> LargeTable:
        def read(column: str) -> pa.Table:
            table = self._read(name, [column])
            _check_columns(table, (column,), f"{self._where}, table {name}", TABLES[name].arrow())
            return table

        order = None
        if name in FLOW_BY_FLOW:
            flows = read("flow").column("flow").to_numpy()
            if (flows[1:] < flows[:-1]).any():
                order = np.argsort(flows, kind="stable")
        return LargeTable.of(self._schemas[name].names, read, rows, order)

    def _planned(self, name: str) -> tuple[pd.DataFrame, Channels]:
        columns, channels = (ROUTE_COLUMNS if name == "routes" else TIMELINE_COLUMNS), Channels()
        if name in self.missing:
            return pd.DataFrame({column: pd.Series(dtype=object) for column in columns}), channels
        table = self._read(name)
        # Runs of older versions do not contain the numbers of route changes, so these numbers are computed here.
        if name == "routes":
            table = with_change_ids(table)
        _check_columns(table, columns, f"{self._where}, table {name}", PLANNED[name])
        if name == "timeline":
            table, channels = split_timeline(table)
        frame = data_frame(table)
        # Events that were planned for a time after the run's end did not happen. A run that ends with its flows ends
        # early, but its timeline covers the whole planned duration.
        happened = np.full(len(frame), True) if self.virtual_ns is None else frame["t_ns"].to_numpy() < self.virtual_ns
        return (frame if happened.all() else frame[happened]), channels


_NAMES = ("directions", "hosts", "virtual_ns", "programs", "connections", "flows")
"""The metadata entries of a trace table that must be equal in all tables of a run."""


FEW_ROWS = 1 << 16
"""The number of rows below which a table always stays in memory."""

MOST_ROWS = 1 << 22
"""In memory, the large tables of all runs together may have this number of rows (about 300 MB). The large tables of a
single run may have more rows than this."""

_held: list[tuple[weakref.ref[Tables], str, int]] = []


def _make_room(tables: Tables, name: str, rows: int) -> None:
    """Before a table of `rows` rows is read, release large tables of other runs, the oldest first. They are read again
    when they are needed.

    Without this limit, a page with two runs of 5.9 million packets each would take twice the memory of a page with one.
    """
    if rows < FEW_ROWS:
        return
    _held[:] = [entry for entry in _held if entry[0]() is not None]
    for entry in list(_held):
        other = entry[0]()
        if rows + sum(count for _, _, count in _held) <= MOST_ROWS:
            break
        if other is not None and other is not tables:
            other.release(entry[1])
            # `_held.remove` would compare the runs' values, so the entry is found by its identity.
            _held[:] = [each for each in _held if each is not entry]
    _held.append((weakref.ref(tables), name, rows))


@functools.cache
def _empty(name: str) -> pd.DataFrame:
    """Return a table without rows. All callers share the frame and must not modify it."""
    return data_frame(TABLES[name].arrow().empty_table())


def _check_columns(table: pa.Table, columns: tuple[str, ...], where: str, schema: pa.Schema) -> None:
    names = table.column_names
    lacking = [column for column in columns if column not in names]
    if lacking:
        raise TraceError(
            f"cannot read {where}: it has no column {', '.join(lacking)}; it has {', '.join(names)}",
            hint="another version of leowarp wrote it; make the run again",
        )
    check_types(table, schema, where)
