# SPDX-License-Identifier: Apache-2.0
"""Results of a study on disk: one partitioned Parquet data set that grows while the study runs.

A row is safe as soon as `add` returns, because it is then in `journal.jsonl`. Rows move from there into Parquet files
under `results/`, each of which appears whole. A row that a kill left in both the journal and a Parquet file counts
once. All files have the same columns and types. If a row adds a column, a new data set is written beside the old one
and replaces it in one step. Only the process that holds the study's lock writes.
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
"""File of rows that are not yet in a Parquet file, one JSON object per line."""
FLUSH_ROWS = 1000
FLUSH_S = 30.0
"""Rows move into a Parquet file at this number of rows, or this time after the last move. Each Parquet file needs a
sync, and status commands read the whole journal each time."""

MOST_FILES = 200
"""If the data set has more files, they are merged while the study runs; at its end they are always merged."""

LOOKS = 20
"""Number of tries of a read-only process if files change under it."""

_HINT = "it is damaged, or no leowarp wrote it: take it out, and start the study again"
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""Folder name for a missing value in Hive, pyarrow, Spark and DuckDB."""


@dataclass(frozen=True)
class Layout:
    """Layout of the results on disk.

    parameters: Columns of the parameters, in order.
    partition: Column that is stored as folder names, `results/cc=bic/`, and not in the files.

    >>> Layout({"cc": pa.string(), "isl_rate_bps": pa.int64()}, partition="cc").partition
    'cc'
    """

    parameters: Mapping[str, pa.DataType]
    partition: str


class Store:
    """Writer for the rows of a study.

    folder: Directory of the study; the caller holds its lock.
    layout: Columns and partition of the present study file, which may differ from those on disk (see `align`).
    status: Run id -> "ok" or "failed" for every stored row, even if its run left the study.
    Raises HostError if the directory cannot be written.
    Raises TraceError if the stored data are damaged.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        """Open existing results and repair the effects of a kill: an unfinished replacement, partial files, a torn
        journal.
        """
        self._folder, self._layout = folder, layout
        self._results = folder / RESULTS
        # `_waiting` has the rows of the journal that are not in a Parquet file, in order of arrival.
        self._waiting: list[dict[str, Any]] = []
        self._is_flushing = False
        self._flushed_at = time.monotonic()
        with disk.writing(folder):
            # Recovery comes first: an interrupted exchange may have left no `results/`.
            disk.recover(self._results)
            plainfiles.remove(self._beside())
            self._results.mkdir(exist_ok=True)
            disk.remove_partial(folder)
            disk.remove_partial(self._results)
            stored, schema, self._files = _read(self._results)
            # The parameters are those of the present study file: a parameter added since is a column of nulls in old
            # rows.
            self._schema = None if schema is None else schema_of((), schema, layout.parameters)
            self.status: dict[str, str] = {} if stored is None else _statuses(stored)
            journal = _read_journal(folder / JOURNAL)
            self._journal = disk.AppendedFile(folder / JOURNAL)
            for row in journal:
                # A kill between writing a Parquet file and emptying the journal leaves a row in both. Then the row in
                # the file counts.
                if row["run_id"] not in self.status:
                    self._waiting.append(row)
                    self.status[row["run_id"]] = row["status"]
            # `flush` also empties the journal. The flush must precede the first append, because a line torn by a power
            # cut would corrupt the next one.
            self.flush()

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows; when this returns, they survive a kill and a power cut.

        rows: Rows from `rows.row_of`; each run once, and none that is in `status`.
        Raises HostError if the rows cannot be written. Rows added earlier stay.
        """
        if not rows:
            return
        twice = [row["run_id"] for row in rows if row["run_id"] in self.status]
        # Every reader would count a duplicated run twice; a duplicate is a bug in leowarp, not in the data.
        assert not twice, f"a second row of {twice[0]}"
        # The journal has one line per row, so that a torn write damages only the last line (`_read_journal`).
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with disk.writing(self._folder):
            # Rows are on disk before memory records them, because a lost run is repeated, but a duplicate would not be
            # noticed.
            self._journal.append(lines.encode())
        self._waiting += rows
        self.status |= {row["run_id"]: row["status"] for row in rows}
        is_due = len(self._waiting) >= FLUSH_ROWS or time.monotonic() - self._flushed_at > FLUSH_S
        # After a Ctrl-C inside `flush`, some rows may already be in files: the next start detects this.
        if is_due and not self._is_flushing:
            self.flush()

    def flush(self) -> None:
        """Move the rows of the journal into Parquet files.

        Normally a flush adds a file to each affected partition. All files are rewritten if columns or types have
        changed, or if there are more than `MOST_FILES`.

        Raises HostError if they cannot be written; the rows are then still in the journal.
        """
        self._is_flushing = True
        with disk.writing(self._folder):
            if self._waiting:
                schema = schema_of(self._waiting, self._schema, self._layout.parameters)
                new = table_of(self._waiting, schema)
                alike = self._schema is not None and schema.equals(self._schema, check_metadata=True)
                # All files are rewritten for a new column or type: most readers would treat files of different schemas
                # as different tables. Without existing files, the first rows define the data set.
                if (self._files and not alike) or self._files > MOST_FILES:
                    old, _, _ = _read(self._results)
                    self._write_anew(new if old is None else _joined([old, new], schema))
                else:
                    # Normally, existing files that a reader may have open are not touched.
                    self._files += self._write_parts(new, self._results, "part")
                self._schema = schema
                self._waiting = []
            # The journal is emptied last. If a kill leaves a row in journal and file, it counts once, by its run id.
            self._journal.empty()
        self._flushed_at = time.monotonic()
        self._is_flushing = False

    def compact(self) -> None:
        """Merge the files of each partition if any partition has more than one.

        Readers open every file of a data set, so a completed study should have few.
        """
        self.flush()
        with disk.writing(self._folder):
            table, _, files = _read(self._results)
            # With one file per partition, nothing can be merged, and the data set is left as it is.
            if table is not None and files > len(set(_partitions(table, self._layout.partition))):
                self._write_anew(table)

    def align(self, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> None:
        """Update the rows to the study's present numbers and parameters; rows of runs that left the study get
        `in_study` false.

        The study file may have changed since: an additional value shifts all later numbers, and a new label renames a
        column.

        runs: Run id -> its number and the columns of its parameters.
        """
        with disk.writing(self._folder):
            table, schema, _ = _read(self._results)
            if table is None or schema is None:
                return
            aligned = _aligned(table, schema_of((), schema, self._layout.parameters), runs)
            # Continuing an unchanged study rewrites nothing.
            if not aligned.equals(table) or _written_partition(self._results) != self._layout.partition:
                self._write_anew(aligned)
            self._schema = aligned.schema

    def drop(self, run_ids: Collection[str]) -> None:
        """Remove rows, so that their runs are repeated (`retry_failed`).

        run_ids: Run ids; each is in `status`.
        """
        with disk.writing(self._folder):
            table, _, _ = _read(self._results)
            if table is None or not run_ids:
                return
            # Rows are removed before their runs are repeated, so that after a kill in between, the next start sees them
            # as missing.
            self._write_anew(table.filter(pc.invert(pc.is_in(table["run_id"], pa.array(run_ids, pa.string())))))
            for run_id in run_ids:
                del self.status[run_id]

    def table(self) -> pa.Table:
        """All rows sorted by `number`; rows of runs that left the study come last.

        Returns: Columns in the order of `rows.schema_of`: identity, parameters, scalars, costs, origin of the run.
            Without rows, the table has the columns known in advance.
        """
        self.flush()
        table, _, _ = _read(self._results)
        if table is None:
            table = table_of((), schema_of((), None, self._layout.parameters))
        return _sorted(table.select(schema_of((), table.schema, self._layout.parameters).names))

    def close(self) -> None:
        """Stop writing; rows that are only in the journal stay there."""
        self._journal.close()

    def _beside(self) -> Path:
        """Hidden path where a replacement data set is written, so that readers ignore it."""
        return self._folder / f".{RESULTS}.new"

    def _write_anew(self, table: pa.Table) -> None:
        """Replace the whole data set in one step: a reader sees the old or the new files."""
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
        """Write a table as one file per partition and return the number of files; the partition column is in the folder
        names only.

        File names are random, because two starts of a study must not write the same name. The files' metadata hold the
        partition's column and type, because a folder name is always text.
        """
        key = self._layout.partition
        values = _partitions(table, key)
        distinct = sorted(set(values))
        for value in distinct:
            # Values are compared as text, like the folder names: null and nan must equal themselves.
            part = table.filter(pa.array([mine == value for mine in values], pa.bool_()))
            folder = target / f"{key}={quote(value, safe='')}"
            folder.mkdir(exist_ok=True)
            # The folder's name must survive a power cut before its rows leave the journal.
            disk.sync_directory(target)
            content = io.BytesIO()
            inner = part.drop_columns([key]).replace_schema_metadata(
                {"leowarp.partition": key, "leowarp.partition_type": str(table.schema.field(key).type)}
            )
            # The table is first serialised into memory, because `write_file` writes a file whole or not at all.
            pq.write_table(inner, content, compression="zstd")
            disk.write_file(folder / f"{kind}-{secrets.token_hex(8)}.parquet", content.getvalue())
        return len(distinct)


def read_results(folder: Path) -> tuple[pa.Table | None, list[dict[str, Any]]]:
    """Rows in Parquet files, and rows that are only in the journal; for readers, without the lock.

    folder: Directory of the study; another process may be writing in it.
    Returns table: None if no file has been written yet.
    Returns journal: Rows that are in no file. Each run is either in the table or in the journal.
    Raises TraceError if a file is damaged, or the data set was replaced during each of `LOOKS` tries.
    """
    for _ in range(LOOKS):
        # The journal is read first: a row leaves it only after it is in a file.
        journal = _read_journal(folder / JOURNAL)
        try:
            table, _, _ = _read(folder / RESULTS)
        except FileNotFoundError:
            # The data set was replaced after its files were listed.
            continue
        known = set() if table is None else set(table["run_id"].to_pylist())
        return table, [row for row in journal if row["run_id"] not in known]
    raise TraceError(f"cannot read {folder / RESULTS}: its files change all the time", hint="try again in a moment")


def _read(results: Path) -> tuple[pa.Table | None, pa.Schema | None, int]:
    """All rows without duplicates, their schema (with the partition's column), and the number of files.

    Returns (None, None, 0) for an empty folder. The partition's value comes from the folder name, its type from the
    files' metadata: `cc=1` may be a number or a word.
    """
    tables = []
    # Names are sorted, because the order of directory entries varies and rows must not depend on it.
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
            # `_write_parts` quotes characters that are not allowed in folder names; Hive readers unquote them in the
            # same way.
            value = pa.scalar(None, pa.string()) if text == _NULL else pa.scalar(unquote(text))
            column = pa.repeat(value, len(table)).cast(kind)
        except (KeyError, ValueError) as error:
            raise _damaged(path, error) from error
        tables.append(table.replace_schema_metadata(None).append_column(pa.field(key, kind), column))
    if not tables:
        return None, None, 0
    try:
        # Files of one data set have the same types; if not, the widest type applies.
        schema = schema_of((), pa.unify_schemas([table.schema for table in tables], promote_options="permissive"), {})
        joined = _joined(tables, schema)
    except (pa.ArrowException, KeyError) as error:
        raise _damaged(results, error) from error
    for name in ("run_id", "status"):
        # `run_id` and `status` decide which runs are repeated, so they are checked before use.
        if name not in joined.column_names or not pa.types.is_string(joined[name].type) or joined[name].null_count:
            raise _damaged(results, f"not every row has a {name}")
    return joined, schema, len(tables)


def _whole(path: Path) -> pa.Table:
    """Read a file of results; FileNotFoundError if it has gone."""
    try:
        return parquetfiles.read_table(path, hint=_HINT)
    except TraceError as error:
        # `read_results` retries after this error.
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        raise


def _damaged(path: Path, why: object) -> TraceError:
    """The error for a file or data set that no study could have written."""
    return TraceError(f"cannot read {path}: {why}", hint=_HINT)


def _read_journal(path: Path) -> list[dict[str, Any]]:
    """The complete rows of the journal."""
    rows = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            # The last line was torn by a power cut or a full disk: `add` had not returned, so its run counts as not
            # made.
            continue
        # A line may be valid JSON without being a row, for instance the remainder of a torn number.
        if isinstance(row, dict) and isinstance(row.get("run_id"), str) and isinstance(row.get("status"), str):
            rows.append(row)
    return rows


def _joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Concatenate tables with the columns and types of a schema."""
    whole = [pa.table([_cast(table, field) for field in schema], schema=schema) for table in tables]
    return pa.concat_tables(whole).combine_chunks()


def _cast(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """A column cast to a field's type; nulls if the table lacks the column."""
    column = table[field.name] if field.name in table.schema.names else None
    if column is None or column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(table), field.type)])
    return column.cast(field.type)


def _aligned(table: pa.Table, schema: pa.Schema, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> pa.Table:
    """See `Store.align`; a row whose run left the study keeps its number and parameters."""
    table = _joined([table], schema)
    ids = table["run_id"].to_pylist()
    present = [run_id in runs for run_id in ids]
    # Rows of runs that left the study stay: they took time to make, and the study file may include them again.
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
    """The partition's value of each row, as text for a folder name."""
    return [_NULL if value is None else str(value) for value in table[key].to_pylist()]


def _written_partition(results: Path) -> str | None:
    """The partition column of the files on disk, which the study file may have changed since."""
    return next((path.name.partition("=")[0] for path in results.iterdir() if path.is_dir()), None)


def _statuses(table: pa.Table) -> dict[str, str]:
    """Run id -> status, for the rows of a table."""
    return dict(zip(table["run_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def _sorted(table: pa.Table) -> pa.Table:
    """Rows of the study by number, then rows of runs that left it."""
    return table.sort_by([("in_study", "descending"), ("number", "ascending"), ("run_id", "ascending")])
