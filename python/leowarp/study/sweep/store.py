# SPDX-License-Identifier: Apache-2.0
"""The results of a study on disk, as one partitioned Parquet data set.

The data set grows while the study runs. A row is safe when `add` returns, because the row is then in `journal.jsonl`.
Later, rows move from the journal into Parquet files in `results/`. Each file appears complete or not at all. If the
process is killed, a row may be both in the journal and in a file. Readers then use only one of these two copies of the
row. All files have the same columns and types. A row may have a new column. The data set is then written again, and
replaces the old data set in one step. A process may write to the data set only while it holds the study's lock.
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

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError
from leowarp.base.tables import parquetfiles
from leowarp.study.sweep import disk
from leowarp.study.sweep.rows import schema_of, table_of

RESULTS = "results"
JOURNAL = "journal.jsonl"
"""The file with the rows that are not yet in a Parquet file."""
FLUSH_ROWS = 1000
FLUSH_S = 30.0
"""The number of rows, or the time since the last move, after which rows move to a Parquet file, which needs a sync. If
rows moved less often, status commands would be slower, because each one reads the complete journal."""

MOST_FILES = 200
"""While the study runs, the files are merged if there are more than this number. At its end, they always are."""

LOOKS = 20
"""The maximum number of attempts to read the results, which fail if another process replaces the files."""

_HINT = "it is damaged, or no leowarp wrote it: take it out, and start the study again"
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The folder name for a missing value of the partition column, as in Hive, pyarrow, Spark and DuckDB."""


@dataclass(frozen=True)
class Layout:
    """The columns of the parameters, and the column by which the results are partitioned.

    parameters: The parameter columns, in order.
    partition: Its values are in folder names, such as `results/cc=bic/`, and not in the files.
    """

    parameters: Mapping[str, pa.DataType]
    partition: str


class Store:
    """A writer for the rows of a study.

    folder: The directory of the study. The caller holds the directory's lock.
    layout: The columns and the partition of the current study file. Those of the data on disk may differ (see `align`).
    status: The status of each stored row by run id, "ok" or "failed". Runs that are no longer in the study are
        included.
    Raises HostError if the directory cannot be written.
    Raises TraceError if the stored data are damaged.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        """Open existing results. If an earlier process was killed, repair three kinds of damage: a data set that is
        replaced only in part, partial files, and an incomplete last line of the journal."""
        self._folder, self._layout = folder, layout
        self._results = folder / RESULTS
        # These rows are in the journal but not in a Parquet file.
        self._waiting: list[dict[str, Any]] = []
        self._is_flushing = False
        self._flushed_at = time.monotonic()
        with disk.writing(folder):
            # An interrupted exchange may have left the study without `results/`.
            disk.recover(self._results)
            plainfiles.remove(self._beside())
            self._results.mkdir(exist_ok=True)
            disk.remove_partial(folder)
            disk.remove_partial(self._results)
            stored, self._files = _read(self._results)
            self._schema: pa.Schema | None = None
            self.status: dict[str, str] = {}
            if stored is not None:
                # If a parameter was added to the study later, it is null in older rows.
                self._schema = schema_of((), stored.schema, layout.parameters)
                self.status = dict(zip(stored["run_id"].to_pylist(), stored["status"].to_pylist(), strict=True))
            journal = _read_journal(folder / JOURNAL)
            self._journal = disk.AppendedFile(folder / JOURNAL)
            for row in journal:
                # A killed process may have left a row both in the journal and in a Parquet file.
                if row["run_id"] not in self.status:
                    self._waiting.append(row)
                    self.status[row["run_id"]] = row["status"]
            # The journal is emptied before a line is appended. After a power cut, its last line may be incomplete, and
            # the appended line would be joined to it.
            self.flush()

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows. When `add` returns, the rows are safe: they survive if the process is killed or the power fails.

        rows: The rows from `StudyRun.row`, of runs that are not yet in `status`.
        Raises HostError if the rows cannot be written. Rows that earlier calls added remain stored.
        """
        if not rows:
            return
        twice = [row["run_id"] for row in rows if row["run_id"] in self.status]
        # If a run had two rows, every reader would count the run twice.
        assert not twice, f"a second row of {twice[0]}"
        # The journal has one line per row, so that an interrupted write damages only the last line (`_read_journal`).
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with disk.writing(self._folder):
            # Rows are written to disk before `status` records them. If `status` changed first and the write then
            # failed, nobody would notice that the run's row is missing.
            self._journal.append(lines.encode())
        self._waiting += rows
        self.status |= {row["run_id"]: row["status"] for row in rows}
        is_due = len(self._waiting) >= FLUSH_ROWS or time.monotonic() - self._flushed_at > FLUSH_S
        # If Ctrl-C interrupted `flush`, some rows may already be in files. The next start of the study detects them.
        if is_due and not self._is_flushing:
            self.flush()

    def flush(self) -> None:
        """Move the rows of the journal into Parquet files.

        Normally, `flush` adds one file to each partition that has new rows. If columns or types have changed, or if
        there are more than `MOST_FILES` files, all files are written again.

        Raises HostError if the files cannot be written. After a HostError, the rows are still in the journal.
        """
        self._is_flushing = True
        with disk.writing(self._folder):
            if self._waiting:
                schema = schema_of(self._waiting, self._schema, self._layout.parameters)
                new = table_of(self._waiting, schema)
                alike = self._schema is not None and schema.equals(self._schema, check_metadata=True)
                # If a column or type is new, all files are written again: most readers would treat files with different
                # schemas as different tables. If there are no files yet, the new rows alone define the schema.
                if (self._files and not alike) or self._files > MOST_FILES:
                    old, _ = _read(self._results)
                    self._write_anew(new if old is None else _joined([old, new], schema))
                else:
                    # Existing files are not changed, because a reader may have opened them.
                    self._files += self._write_parts(new, self._results, "part")
                self._schema = schema
                self._waiting = []
            # If leowarp is killed in between, a row is both in the journal and in a file, with the same run id.
            self._journal.empty()
        self._flushed_at = time.monotonic()
        self._is_flushing = False

    def compact(self) -> None:
        """Merge the files of each partition into one, if any partition has several files.

        Readers open every file of a data set, so a completed study should have few files.
        """
        self.flush()
        with disk.writing(self._folder):
            table, files = _read(self._results)
            if table is not None and files > len(set(_partitions(table, self._layout.partition))):
                self._write_anew(table)

    def align(self, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> None:
        """Give the stored rows the numbers and parameters that the study has now. Rows whose run is no longer in the
        study get `in_study` false.

        The study file may have changed. If a value was added, all later runs get new numbers. If a label was added, a
        column gets a new name.

        runs: The number and the parameter columns of each run, by run id.
        """
        with disk.writing(self._folder):
            table, _ = _read(self._results)
            if table is None:
                return
            aligned = _aligned(table, schema_of((), table.schema, self._layout.parameters), runs)
            # If an unchanged study is continued, no file needs to be written again.
            if not aligned.equals(table) or _written_partition(self._results) != self._layout.partition:
                self._write_anew(aligned)
            self._schema = aligned.schema

    def drop(self, run_ids: Collection[str]) -> None:
        """Remove rows, for example to repeat their runs (`retry_failed`).

        run_ids: All of them are in `status`.
        """
        with disk.writing(self._folder):
            table, _ = _read(self._results)
            if table is None or not run_ids:
                return
            # Rows go before their runs are repeated, so that a killed study makes these runs at its next start.
            self._write_anew(table.filter(pc.invert(pc.is_in(table["run_id"], pa.array(run_ids, pa.string())))))
            for run_id in run_ids:
                del self.status[run_id]

    def table(self) -> pa.Table:
        """Return all rows, sorted by `number`. Rows of runs that are no longer in the study come last.

        Returns: The columns in the order of `rows.schema_of`. If there are no rows, the table has only the columns that
            do not depend on rows.
        """
        self.flush()
        table, _ = _read(self._results)
        if table is None:
            table = table_of((), schema_of((), None, self._layout.parameters))
        return _sorted(table.select(schema_of((), table.schema, self._layout.parameters).names))

    def close(self) -> None:
        """Close the journal. Rows that are only in the journal remain in it."""
        self._journal.close()

    def _beside(self) -> Path:
        # The name begins with a dot, so that readers ignore it.
        return self._folder / f".{RESULTS}.new"

    def _write_anew(self, table: pa.Table) -> None:
        """Replace the complete data set in one step. A reader never sees a mixture of old and new files."""
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
        """Write a table as one file per partition, and return the number of files. The values of the partition column
        are stored only in folder names.

        A study that is started again must not reuse the name of a file, so file names are random. A folder name is only
        text, so the metadata of each file contain the name and type of the partition column.
        """
        key = self._layout.partition
        values = _partitions(table, key)
        distinct = sorted(set(values))
        for value in distinct:
            # Values are compared as text, because null and nan are not equal to themselves.
            part = table.filter(pa.array([mine == value for mine in values], pa.bool_()))
            folder = target / f"{key}={quote(value, safe='')}"
            folder.mkdir(exist_ok=True)
            # The folder's name must survive a power cut before the folder's rows are removed from the journal.
            disk.sync_directory(target)
            content = io.BytesIO()
            inner = part.drop_columns([key]).replace_schema_metadata(
                {"leowarp.partition": key, "leowarp.partition_type": str(table.schema.field(key).type)}
            )
            pq.write_table(inner, content, compression="zstd")
            disk.write_file(folder / f"{kind}-{secrets.token_hex(8)}.parquet", content.getvalue())
        return len(distinct)


def read_results(folder: Path) -> tuple[pa.Table | None, list[dict[str, Any]]]:
    """Read the rows of the Parquet files, and the rows that are only in the journal. Each run is in one of the two.

    The study's lock is not needed. Another process may be writing into the folder.

    Returns table: The rows in files. None means that no file has been written yet.
    Raises TraceError if a file is damaged, or if the data set was replaced during each of `LOOKS` attempts.
    """
    for _ in range(LOOKS):
        # The journal is read first, because a row is removed from the journal only after it is in a file.
        journal = _read_journal(folder / JOURNAL)
        try:
            table, _ = _read(folder / RESULTS)
        except FileNotFoundError:
            # Another process replaced the data set.
            continue
        known = set() if table is None else set(table["run_id"].to_pylist())
        return table, [row for row in journal if row["run_id"] not in known]
    raise TraceError(f"cannot read {folder / RESULTS}: its files change all the time", hint="try again in a moment")


def _read(results: Path) -> tuple[pa.Table | None, int]:
    """Return all rows without duplicates, with the partition column, and the number of files. No files: (None, 0)."""
    tables = []
    # File names are sorted, so that the order of rows does not depend on the order of directory entries.
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
            # `_write_parts` quotes characters that folder names must not contain. Other readers of Hive partitions
            # decode the quotes in the same way.
            value = pa.scalar(None, pa.string()) if text == _NULL else pa.scalar(unquote(text))
            column = pa.repeat(value, len(table)).cast(kind)
        except (KeyError, ValueError) as error:
            raise _damaged(path, error) from error
        tables.append(table.replace_schema_metadata(None).append_column(pa.field(key, kind), column))
    if not tables:
        return None, 0
    try:
        # All files of a data set should have the same types. If types differ, the widest type is used.
        schema = schema_of((), pa.unify_schemas([table.schema for table in tables], promote_options="permissive"), {})
        joined = _joined(tables, schema)
    except (pa.ArrowException, KeyError) as error:
        raise _damaged(results, error) from error
    for name in ("run_id", "status"):
        # `run_id` and `status` decide which runs are repeated, so they are checked before they are used.
        if name not in joined.column_names or not pa.types.is_string(joined[name].type) or joined[name].null_count:
            raise _damaged(results, f"not every row has a {name}")
    return joined, len(tables)


def _whole(path: Path) -> pa.Table:
    """Read a file of results. Raises FileNotFoundError if it no longer exists, so that `read_results` tries again."""
    try:
        return parquetfiles.read_table(path, hint=_HINT)
    except TraceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        raise


def _damaged(path: Path, why: object) -> TraceError:
    return TraceError(f"cannot read {path}: {why}", hint=_HINT)


def _read_journal(path: Path) -> list[dict[str, Any]]:
    rows = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            # A power cut or a full disk interrupted the writing of the last line. Its run is repeated.
            continue
        # An incomplete line may be valid JSON without being a row: for instance, the first digits of a number.
        if isinstance(row, dict) and isinstance(row.get("run_id"), str) and isinstance(row.get("status"), str):
            rows.append(row)
    return rows


def _joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    whole = [pa.table([_cast(table, field) for field in schema], schema=schema) for table in tables]
    return pa.concat_tables(whole).combine_chunks()


def _cast(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """Return a column of the table, converted to the type of a field. A missing column is null."""
    column = table[field.name] if field.name in table.schema.names else None
    if column is None or column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(table), field.type)])
    return column.cast(field.type)


def _aligned(table: pa.Table, schema: pa.Schema, runs: Mapping[str, tuple[int, Mapping[str, Any]]]) -> pa.Table:
    """Return the table with the study's current numbers and parameters (see `Store.align`). The row of a run that is no
    longer in the study keeps its old number and parameters."""
    table = _joined([table], schema)
    ids = table["run_id"].to_pylist()
    present = [run_id in runs for run_id in ids]
    # Rows of runs that left the study are not deleted: the runs took time, and the study file may include them again.
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
    """Return each row's value in the partition column, as text for a folder name."""
    return [_NULL if value is None else str(value) for value in table[key].to_pylist()]


def _written_partition(results: Path) -> str | None:
    """Return the column by which the files on disk are partitioned, which the study file may have changed."""
    return next((path.name.partition("=")[0] for path in results.iterdir() if path.is_dir()), None)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([("in_study", "descending"), ("number", "ascending"), ("run_id", "ascending")])
