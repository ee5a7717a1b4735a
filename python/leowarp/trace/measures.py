# SPDX-License-Identifier: Apache-2.0
"""Read the measurements that programs in the guest report about themselves. The lines of `measures.jsonl` in the
programs' directory `{run_dir}` become the table `measures`.

Each line is a JSON object. The object must contain `kind` and `start_ns`. Values for which the table has no column go
into the column `other`. Times are on the guest's real-time clock in ns since 1970 (Python's `time.time_ns()`, `date
+%s%N`). Nothing in the guest sets or adjusts this clock. In the table, times are relative to the run's start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError
from leowarp.trace import iperf3
from leowarp.trace.records import ROW_GROUP_ROWS, writer_options
from leowarp.trace.schema.measures import MEASURES, ROLES

FILE = "measures.jsonl"
MOST_BYTES = 64 << 20
"""The largest accepted size of a file. A file of this size has some 400,000 lines. A larger file can occur only if the
flow's `storage` is above its default of 64 MiB."""

NEEDED: dict[str, tuple[str, ...]] = {
    "transaction": (),
    "object": ("name",),
    "page": (),
    "startup": (),
    "segment": ("end_ns", "bitrate_bps", "media_ns"),
    "stall": (),
    "frame": ("number",),
}
"""The kinds of lines that metrics use. For each kind, the dict has the required fields besides `kind` and
`start_ns`."""

_LATEST_NS = 1_000_000_000
"""Programs are ended some ms after the run's end. The times of a measurement may therefore be after the end, by at most
this time."""

_INTEGERS = tuple(column.name for column in MEASURES.columns if column.type == pa.int64())
_TIMES = ("start_ns", "request_ns", "first_byte_ns", "end_ns")
_KEYS = ("kind", "name", *_INTEGERS)
_HINT = 'a line is {"kind": "transaction", "start_ns": 946684810000000000, "end_ns": ...} (docs/guides/measures.md)'


def read_measures(output: Path, end: Mapping[str, Any]) -> pa.Table | None:
    """Return the table `measures` of a guest's output directory. The result is None if no program wrote
    `measures.jsonl` or iperf3's JSON.

    output: The guest's `out/`, with files `programs/<flow>/<role>/files/measures.jsonl`.
    end: The content of `end.json`: `start_realtime_ns` is the run's start on the programs' clock, and `virtual_ns` its
        duration.
    Returns: A table with the columns of `MEASURES`, sorted by flow, role and line. The table has no metadata of the
        run.
    Raises TraceError if a file cannot be read, or a line is no JSON object, lacks a field of its kind, or has an
    impossible value. The message has file and line.
    """
    files, tests = sorted(_files(output)), list(iperf3.tests_of(output))
    if not files and not tests:
        return None
    start_ns = end.get("start_realtime_ns")
    if start_ns is None:
        raise TraceError(
            f"cannot read {files[0][2] if files else tests[0][1]}: the guest does not say when its run began",
            hint="the guest's agent is of another version; rebuild it with `leowarp kernel build`",
        )
    began_ns, length_ns = int(start_ns), int(end["virtual_ns"])
    rows = [row for flow, role, path in files for row in _rows(path, flow, role, began_ns, length_ns)]
    for flow, path, text in tests:
        try:
            row = _row(json.dumps(iperf3.line_of(path, text)), began_ns, length_ns)
        except ValueError as error:
            raise TraceError(f"cannot read {path}: {error}") from error
        rows.append({"flow": flow, "role": iperf3.CLIENT, **row})
    rows.sort(key=lambda row: (row["flow"], row["role"]))
    schema = MEASURES.arrow()
    return pa.table({field.name: pa.array([row[field.name] for row in rows], field.type) for field in schema}, schema)


def write_measures(table: pa.Table, target: Path) -> None:
    """Write the table as Parquet. Equal tables and metadata give identical files, and the write is atomic.

    Raises OSError if the file cannot be written.
    """
    partial = target.with_name(target.name + plainfiles.PARTIAL)
    pq.write_table(table, partial, row_group_size=ROW_GROUP_ROWS, **writer_options(MEASURES.columns))
    os.replace(partial, target)


def _files(output: Path) -> Iterator[tuple[int, int, Path]]:
    for number, role in ROLES.items():
        for path in output.glob(f"programs/*/{role}/files/{FILE}"):
            yield int(path.parents[2].name), number, path


def _rows(path: Path, flow: int, role: int, start_ns: int, end_ns: int) -> Iterator[dict[str, Any]]:
    try:
        text = plainfiles.read(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror or error}", hint=_HINT) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"cannot read {path}: {error}", hint=_HINT) from error
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = _row(line, start_ns, end_ns)
        except ValueError as error:
            raise TraceError(f"cannot read {path}, line {number}: {error}", hint=_HINT) from error
        yield {"flow": flow, "role": role, **row}


def _row(line: str, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Return a line as a row of the table. Raises ValueError with a text that says what is wrong."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(given, dict):
        raise ValueError("it is not a JSON object")
    kind = given.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ValueError("it has no `kind`, the word that says what was measured")
    row: dict[str, Any] = dict.fromkeys(_KEYS)
    for key in _KEYS:
        row[key] = _value(key, given.pop(key, None))
    for key in ("start_ns", *NEEDED.get(kind, ())):
        if row[key] is None:
            raise ValueError(f"a line of kind {kind} needs `{key}`")
    for key in _TIMES:
        row[key] = None if row[key] is None else _in_run(key, row[key], start_ns, end_ns)
    known = [row[key] for key in _TIMES if row[key] is not None]
    if known != sorted(known):
        raise ValueError(f"its times go back: {', '.join(key for key in _TIMES if row[key] is not None)}")
    # Keys are sorted, so that the text does not depend on the order in which a program writes them.
    row["other"] = json.dumps(given, sort_keys=True, ensure_ascii=False) if given else None
    return row


def _value(key: str, value: Any) -> Any:
    if value is None:
        return None
    if key in ("kind", "name"):
        if not isinstance(value, str):
            raise ValueError(f"`{key}` is {json.dumps(value)}, not a text")
        return value
    # Some languages write an integer as 1.5e9, which is accepted.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"`{key}` is {json.dumps(value)}, not a whole number")
    if not 0 <= value < 1 << 63:
        raise ValueError(f"`{key}` is {value}, not from 0 to 2^63 - 1")
    return value


def _in_run(key: str, value_ns: int, start_ns: int, end_ns: int) -> int:
    """Convert an instant of the real-time clock to ns since the start of the run."""
    t_ns = value_ns - start_ns
    if not 0 <= t_ns <= end_ns + _LATEST_NS:
        raise ValueError(
            f"`{key}` is {value_ns}, not within the run, which began at {start_ns} and took {end_ns} ns; times are "
            "those of the real-time clock, in ns"
        )
    return t_ns
