# SPDX-License-Identifier: Apache-2.0
"""The results of a study on disk: one partitioned Parquet data set that grows while the study runs.

A row is safe as soon as `add` returns: it is in `journal.jsonl`. Rows move from there into Parquet files under
`results/`, each of which appears whole; a row that a kill left in both places counts once. All files have the same
columns and types: where a row brings a new column, the data set is written anew beside the old one and put in its place
in one step. Only one process writes, the one that holds the study's lock.
"""

from __future__ import annotations

import io
import json
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leowarp.base import parquetfiles, plainfiles
from leowarp.base.errors import TraceError
from leowarp.study.sweep import disk
from leowarp.study.sweep.rows import schema_of, table_of

RESULTS = "results"
"""Folder of the data set in the study's directory."""
JOURNAL = "journal.jsonl"
"""File of rows that are in no Parquet file yet, one JSON object per line."""
FLUSH_ROWS = 1000
FLUSH_S = 30.0
"""Rows move into a Parquet file at this number, or this time after the last move. Each file is a sync, and a growing
journal is read anew at every look at the study."""

MOST_FILES = 200
"""More files than this in the data set are put together while the study runs; at its end they always are."""

LOOKS = 20
"""How often whoever only looks begins anew."""

_HINT = "it is damaged, or no leowarp wrote it: take it out, and start the study again"
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""Name of the folder of a missing value in Hive, and with it in pyarrow, Spark and DuckDB."""


@dataclass(frozen=True)
class Layout:
    """How the results lie on disk.

    parameters: The columns of the parameters, in their order.
    partition: The column that is a level of folders, `results/cc=bic/`, and is in no file.

    >>> Layout({"cc": pa.string(), "isl_rate_bps": pa.int64()}, partition="cc").partition
    'cc'
    """

    parameters: Mapping[str, pa.DataType]
    partition: str


class Store:
    """The rows of a study, to be written.

    folder: The study's directory, whose lock the caller holds.
    layout: Columns and partition of the present study file, which may differ from what lies on disk (see `align`).
    status: Run id -> "ok" or "failed", of every row that is stored, whether its run is still in the study or not.
    Raises HostError if the directory cannot be written.
    Raises TraceError if what lies there is damaged.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        """Opens what is there and repairs what a kill has left: a replacement not finished, partial files, a torn
        journal.
        """
        self._folder, self._layout = folder, layout
        self._results = folder / RESULTS
        # Rows that are in the journal and in no Parquet file yet, in the order in which they came.
        self._waiting: list[dict[str, Any]] = []
        self._is_flushing = False
        self._flushed_at = time.monotonic()
        with disk.writing(folder):
            # First of all: an exchange that a kill interrupted may have left no `results/` at all.
            disk.recover(self._results)
            plainfiles.remove(self._beside())
            self._results.mkdir(exist_ok=True)
            disk.remove_partial(folder)
            disk.remove_partial(self._results)
            stored, schema, self._files = _read(self._results)
            # With the parameters of the present study file: one that was added since then has a column of nulls in the
            # old rows.
            self._schema = None if schema is None else schema_of((), schema, layout.parameters)
            self.status: dict[str, str] = {} if stored is None else _statuses(stored)
            journal = _read_journal(folder / JOURNAL)
            self._journal = disk.AppendedFile(folder / JOURNAL)
            for row in journal:
                # A kill between the writing of a Parquet file and the emptying of the journal leaves a row in both; the
                # file's counts.
                if row["run_id"] not in self.status:
                    self._waiting.append(row)
                    self.status[row["run_id"]] = row["status"]
            # `flush` also empties the journal, which must be done before the first append:
            # A line that a power cut tore stands before what is appended next.
            self.flush()

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds rows; when it returns, no kill and no power cut takes them away.

        rows: As `rows.row_of` gives them; each run once, and none that `status` has.
        Raises HostError if they cannot be written. Everything added earlier stays.
        """
        if not rows:
            return
        twice = [row["run_id"] for row in rows if row["run_id"] in self.status]
        # Two rows of a run would both be counted by every reader; this is a fault of ours, not of the data.
        assert not twice, f"a second row of {twice[0]}"
        # One line a row, so that a torn write spoils the last line alone (`_read_journal`).
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with disk.writing(self._folder):
            # On the disk before anything in memory says so: a lost run is repeated; one that is counted twice would not
            # be noticed.
            self._journal.append(lines.encode())
        self._waiting += rows
        self.status |= {row["run_id"]: row["status"] for row in rows}
        is_due = len(self._waiting) >= FLUSH_ROWS or time.monotonic() - self._flushed_at > FLUSH_S
        # After a Ctrl-C in the middle of `flush` some of its rows may be in files: the next start finds out which.
        if is_due and not self._is_flushing:
            self.flush()

    def flush(self) -> None:
        """Moves the rows of the journal into Parquet files.

        The usual case adds a file to each partition concerned. All files are written anew where columns or types have
        changed, or where there are more than `MOST_FILES`.

        Raises HostError if they cannot be written; the rows are still in the journal.
        """
        self._is_flushing = True
        with disk.writing(self._folder):
            if self._waiting:
                schema = schema_of(self._waiting, self._schema, self._layout.parameters)
                new = table_of(self._waiting, schema)
                alike = self._schema is not None and schema.equals(self._schema, check_metadata=True)
                # A new column or type: files of two shapes would be read as two tables by most readers of data sets.
                # Without any file there is nothing to agree with, and the first rows simply begin the data set.
                if (self._files and not alike) or self._files > MOST_FILES:
                    old, _, _ = _read(self._results)
                    self._write_anew(new if old is None else _joined([old, new], schema))
                else:
                    # The usual case touches no file that a reader may have open.
                    self._files += self._write_parts(new, self._results, "part")
                self._schema = schema
                self._waiting = []
            # Last: a row that a kill left both here and in a file counts once, by its run id.
            self._journal.empty()
        self._flushed_at = time.monotonic()
        self._is_flushing = False

    def compact(self) -> None:
        """Puts the files of each partition together, if any partition has more than one.

        Readers open every file of a data set, so a study that has ended should leave few.
        """
        self.flush()
        with disk.writing(self._folder):
            table, _, files = _read(self._results)
            # As many files as partitions: nothing can be put together, and the data set is left as it is.
            if table is not None and files > len(set(_partitions(table, self._layout.partition))):
                self._write_anew(table)

    def align(self, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> None:
        """Gives the rows the study's present numbers and parameters; those of no run in it get `in_study` false.

        The study file may have been changed since the rows were written: a value more shifts all numbers after it,
        another label renames a column.

        runs: Run id -> its number and the columns of its parameters.
        """
        with disk.writing(self._folder):
            table, schema, _ = _read(self._results)
            if table is None or schema is None:
                return
            aligned = _aligned(table, schema_of((), schema, self._layout.parameters), runs)
            # A study that goes on unchanged is not written anew at each start.
            if not aligned.equals(table) or _written_partition(self._results) != self._layout.partition:
                self._write_anew(aligned)
            self._schema = aligned.schema

    def drop(self, run_ids: Collection[str]) -> None:
        """Takes rows out, so that their runs are repeated (`retry_failed`).

        run_ids: Each of them is in `status`.
        """
        with disk.writing(self._folder):
            table, _, _ = _read(self._results)
            if table is None or not run_ids:
                return
            # Rows go before their runs are repeated: a kill in between leaves them missing, which the next start sees.
            self._write_anew(table.filter(pc.invert(pc.is_in(table["run_id"], pa.array(run_ids, pa.string())))))
            for run_id in run_ids:
                del self.status[run_id]

    def table(self) -> pa.Table:
        """All rows, sorted by `number`, those of no run in the study last.

        Returns: Columns as `rows.schema_of` orders them: identity, parameters, scalars, costs, and what made the run.
            Without any row it has the columns that are known beforehand.
        """
        self.flush()
        table, _, _ = _read(self._results)
        if table is None:
            table = table_of((), schema_of((), None, self._layout.parameters))
        return _sorted(table.select(schema_of((), table.schema, self._layout.parameters).names))

    def close(self) -> None:
        """Ends writing; rows that are in the journal alone stay there."""
        self._journal.close()

    def _beside(self) -> Path:
        """Where a data set is written that is to replace the present one: hidden, so that no reader looks into it."""
        return self._folder / f".{RESULTS}.new"

    def _write_anew(self, table: pa.Table) -> None:
        """Replaces the whole data set, in one step: a reader sees the old files or the new ones."""
        beside = self._beside()
        plainfiles.remove(beside)
        beside.mkdir()
        try:
            files = self._write_parts(_sorted(table), beside, "data")
            disk.exchange(beside, self._results)
        except OSError:
            plainfiles.remove(beside)
            raise
        plainfiles.remove(beside)
        self._files = files

    def _write_parts(self, table: pa.Table, target: Path, kind: str) -> int:
        """Writes a table as one file per partition and returns how many; the partition's column is in the folders'
        names.

        Names of files are random: two starts of a study must not write the same one. Column and type of the partition
        go into the files' metadata, since a folder's name is text whatever the column was.
        """
        key = self._layout.partition
        values = _partitions(table, key)
        distinct = sorted(set(values))
        for value in distinct:
            # As text, as the folders are named: null and nan have to be equal to themselves.
            part = table.filter(pa.array([mine == value for mine in values], pa.bool_()))
            folder = target / f"{key}={quote(value, safe='')}"
            folder.mkdir(exist_ok=True)
            # The folder's own name must last through a power cut before the journal's rows may go.
            disk.sync_directory(target)
            content = io.BytesIO()
            inner = part.drop_columns([key]).replace_schema_metadata(
                {"leowarp.partition": key, "leowarp.partition_type": str(table.schema.field(key).type)}
            )
            # Into memory first: `write_file` lets a file appear whole or not at all.
            pq.write_table(inner, content, compression="zstd")
            disk.write_file(folder / f"{kind}-{secrets.token_hex(8)}.parquet", content.getvalue())
        return len(distinct)


def read_results(folder: Path) -> tuple[pa.Table | None, list[dict[str, Any]]]:
    """The rows in Parquet files, and those that are in the journal alone; for a reader, without the lock.

    folder: The study's directory, in which another process may be writing.
    Returns table: None if no file has been written yet.
    Returns journal: Rows that are in no file. Each run is in one of the two, once.
    Raises TraceError if a file is damaged, or the data set was replaced at each of `LOOKS` looks.
    """
    for _ in range(LOOKS):
        # The journal first: a row leaves it after it has come into a file.
        journal = _read_journal(folder / JOURNAL)
        try:
            table, _, _ = _read(folder / RESULTS)
        except FileNotFoundError:
            # The data set was put in the place of an older one since its files were listed.
            continue
        known = set() if table is None else set(table["run_id"].to_pylist())
        return table, [row for row in journal if row["run_id"] not in known]
    raise TraceError(f"cannot read {folder / RESULTS}: its files change all the time", hint="try again in a moment")


def _read(results: Path) -> tuple[pa.Table | None, pa.Schema | None, int]:
    """All rows once, their schema (with the partition's column), and the number of their files.

    Returns (None, None, 0) of an empty folder. The partition's value is read from the name of the folder, its type from
    the files' metadata: `cc=1` may be a number or a word.
    """
    tables = []
    # Sorted: the order of a directory is the file system's, and rows must not depend on it.
    for path in sorted(results.glob("*/*.parquet")):
        table = _whole(path)
        key, _, text = path.parent.name.partition("=")
        metadata = table.schema.metadata or {}
        if metadata.get(b"leowarp.partition", b"").decode() != key:
            raise TraceError(
                f"cannot read {path}: no study wrote it there", hint="take it out of the study's directory"
            )
        try:
            kind = pa.type_for_alias(metadata[b"leowarp.partition_type"].decode())
            # `_write_parts` quotes what a folder's name cannot hold; Hive's readers undo it in the same way.
            value = pa.scalar(None, pa.string()) if text == _NULL else pa.scalar(unquote(text))
            column = pa.repeat(value, len(table)).cast(kind)
        except (KeyError, ValueError) as error:
            raise _damaged(path, error) from error
        tables.append(table.replace_schema_metadata(None).append_column(pa.field(key, kind), column))
    if not tables:
        return None, None, 0
    try:
        # Files of one data set are alike; should they not be, the widest type holds for all.
        schema = schema_of((), pa.unify_schemas([table.schema for table in tables], promote_options="permissive"), {})
        joined = _joined(tables, schema)
    except (pa.ArrowException, KeyError) as error:
        raise _damaged(results, error) from error
    for name in ("run_id", "status"):
        # These two decide which runs are repeated, so they are checked before anything rests on them.
        if name not in joined.column_names or not pa.types.is_string(joined[name].type) or joined[name].null_count:
            raise _damaged(results, f"not every row has a {name}")
    return joined, schema, len(tables)


def _whole(path: Path) -> pa.Table:
    """A file of results; FileNotFoundError if it has gone."""
    try:
        return parquetfiles.read_table(path, hint=_HINT)
    except TraceError as error:
        # A mere reader begins anew (`read_results`).
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        raise


def _damaged(path: Path, why: object) -> TraceError:
    """The error for a file or data set that no study could have written."""
    return TraceError(f"cannot read {path}: {why}", hint=_HINT)


def _read_journal(path: Path) -> list[dict[str, Any]]:
    """The rows of the journal that are whole."""
    rows = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            # A power cut or a full disk tore it: `add` had not returned, so its run counts as not made.
            continue
        # A line may be valid JSON and no row: the rest of a number that was torn, for instance.
        if isinstance(row, dict) and isinstance(row.get("run_id"), str) and isinstance(row.get("status"), str):
            rows.append(row)
    return rows


def _joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Tables below each other, with the columns and types of a schema."""
    whole = [pa.table([_cast(table, field) for field in schema], schema=schema) for table in tables]
    return pa.concat_tables(whole).combine_chunks()


def _cast(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """A column in a field's type; nulls if the table has none, or nulls of whatever type."""
    column = table[field.name] if field.name in table.schema.names else None
    if column is None or column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(table), field.type)])
    return column.cast(field.type)


def _aligned(table: pa.Table, schema: pa.Schema, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> pa.Table:
    """See `Store.align`; a row of no run in the study keeps the numbers and parameters that it had."""
    table = _joined([table], schema)
    ids = table["run_id"].to_pylist()
    present = [run_id in runs for run_id in ids]
    # Rows whose run is no longer in the study stay: they have cost time, and the study file may come back to them.
    columns: dict[str, list[Any]] = {"in_study": present}
    for name in {name for _, parameters in runs.values() for name in parameters}:
        old = table[name].to_pylist()
        columns[name] = [runs[i][1].get(name) if here else was for i, here, was in zip(ids, present, old, strict=True)]
    numbers = table["number"].to_pylist()
    columns["number"] = [runs[i][0] if here else was for i, here, was in zip(ids, present, numbers, strict=True)]
    for name, values in columns.items():
        place = schema.get_field_index(name)
        table = table.set_column(place, schema.field(place), pa.array(values, schema.field(place).type))
    return table


def _partitions(table: pa.Table, key: str) -> list[str]:
    """The partition's value of each row, as text of a folder's name."""
    return [_NULL if value is None else str(value) for value in table[key].to_pylist()]


def _written_partition(results: Path) -> str | None:
    """The column that the files on disk are partitioned by, which another version of the study file may
    have changed.
    """
    return next((path.name.partition("=")[0] for path in results.iterdir() if path.is_dir()), None)


def _statuses(table: pa.Table) -> dict[str, str]:
    """Run id -> status of a table's rows."""
    return dict(zip(table["run_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def _sorted(table: pa.Table) -> pa.Table:
    """Rows of the study by number, then those that are no longer in it."""
    return table.sort_by([("in_study", "descending"), ("number", "ascending"), ("run_id", "ascending")])
