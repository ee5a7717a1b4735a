# SPDX-License-Identifier: Apache-2.0
"""Convert the guest's output directory to the tables in `30-trace/`, and read these tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from leowarp.base.errors import TraceError
from leowarp.base.spelling import one_of
from leowarp.base.tables import runtables
from leowarp.base.tables.metadata import DAMAGED
from leowarp.trace.measures import read_measures, write_measures
from leowarp.trace.records import RecordFile, open_records, read_records, write_parquet
from leowarp.trace.schema import RECORDED, TABLES
from leowarp.trace.schema.measures import MEASURES

CAPTURES = ("source.pcapng", "destination.pcapng")
TRUTH_TABLES = ("packets", "bins", "delays", "acks", "echoes", "reordering", "densities")
"""The tables that need packet capture at the guest's hosts. If `observe.truth` is false, these tables do not exist."""


def convert(output: Path | str, target: Path | str, setup: Path | str | None = None) -> dict[str, int]:
    """Write the guest's output as Parquet into `target`, and return the number of rows of each table.

    output: The guest's `out/` with record files, `end.json`, packet captures and files of programs.
    target: The directory `30-trace/` of a run, which is created if it does not exist.
    setup: The guest's `in/setup.json`. The file names the hosts, flows and link directions for the tables' metadata.
        The file's key `observe` says what the guest records. If a table was not observed, it is not written, because an
        empty table would mean that nothing happened.
    Raises TraceError if `end.json` is missing or says that the run failed, or a table is missing, cut short or
        malformed, or a line of a program's `measures.jsonl` is malformed.
    """
    target = Path(target)
    recorded = _recorded(Path(output), setup)
    target.mkdir(parents=True, exist_ok=True)
    rows = {}
    for source, promised in recorded.files:
        name = source.path.stem
        rows[name] = write_parquet(source, target / f"{name}.parquet", recorded.metadata_of(source))
        # The number of records is checked after the table has been written. If the number of records is wrong, the run
        # remains marked as INCOMPLETE, and contains the tables that were written so far.
        _keep_promise(source, rows[name], promised)
    if recorded.measures is not None:
        write_measures(recorded.measures, target / f"{MEASURES.name}.parquet")
        rows[MEASURES.name] = len(recorded.measures)
    for name in CAPTURES:
        if (Path(output) / name).exists():
            # Captures are copied unchanged, because other tools read pcapng. Captures exist only if they were
            # requested.
            shutil.copyfile(Path(output) / name, target / name)
    return rows


def read_output(output: Path | str, setup: Path | str | None = None) -> dict[str, pa.Table]:
    """Return a dict from table name to table, for a guest's output directory. The tables are those that `convert` would
    write, but no file is written. Arguments and errors are those of `convert`.

    Use this function for many small runs if only their summaries are needed:
    `metrics.metrics(metrics.tables_of(trace.read_output(out, setup), timeline=events), plan).summary`.
    """
    recorded = _recorded(Path(output), setup)
    tables = {}
    for source, promised in recorded.files:
        # The number of records is checked before the records are read, so that a truncated file is rejected without
        # decoding it.
        _keep_promise(source, source.rows, promised)
        tables[source.path.stem] = read_records(source, recorded.metadata_of(source))
    return tables if recorded.measures is None else tables | {MEASURES.name: recorded.measures}


@dataclass(frozen=True)
class _Recorded:
    """The record files of an output directory with their announced rows, the tables' metadata, and the programs'
    measurements."""

    files: list[tuple[RecordFile, int | None]]
    metadata: dict[str, object]
    measures: pa.Table | None

    def metadata_of(self, source: RecordFile) -> dict[str, object]:
        own: dict[str, object] = {key: source.extra[key] for key in _OF_A_TABLE if key in source.extra}
        return {**self.metadata, **own}


def _recorded(output: Path, setup: Path | str | None) -> _Recorded:
    """Read the headers of all record files of an output directory, and the metadata of their tables.

    Raises TraceError: For the same reasons as `convert`.
    """
    end = _end(output)
    given = _setup(Path(setup)) if setup is not None else {}
    metadata = _names(Path(setup), given) if setup is not None else {}
    # A run may end before its planned duration (`ends = "flows"`). The metadata of the tables contain the end of the
    # run, because a table's last row does not show it.
    if end.get("virtual_ns") is not None:
        metadata["virtual_ns"] = int(end["virtual_ns"])
    if end.get("programs"):
        metadata |= _of_programs(end, metadata.get("flows"))
    promised = end.get("records") or {}
    unknown = not_observed(given.get("observe") or {})
    # A feature that the network does not use has no table; an empty table would mean that the feature did nothing.
    cures = given.get("cures") or {}
    unknown |= set() if {"move_queue", "hold", "duplicate_ns"} & cures.keys() else {"switches"}
    unknown |= set() if "end_marker" in cures else {"merges"}
    unknown |= set() if {"resequence", "duplicate_ns"} & cures.keys() else {"orders"}
    unknown |= set() if "notify" in cures else {"notices"}
    unknown |= set() if cures else {"nodetotals"}
    files, absent = [], []
    for name in RECORDED:
        path = output / f"{name}.rec"
        if name in unknown:
            continue
        if path.exists():
            files.append((open_records(path), promised.get(name)))
        else:
            absent.append(path.name)
    # One message lists all missing tables, because an agent of another version lacks several at once.
    if absent:
        raise TraceError(
            f"cannot read the trace in {output}: the guest left no {', '.join(absent)}",
            hint="the guest's agent is of another version; rebuild it with `leowarp kernel build`",
        )
    measures = read_measures(output, end)
    if measures is not None:
        measures = measures.replace_schema_metadata(MEASURES.arrow(metadata).metadata)
    return _Recorded(files, metadata, measures)


def not_observed(observe: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tables that a run lacks, according to `observe` in its `setup.json`.

    observe: The values `truth` (bool) and `queues_ns` (int or None) from the guest's input.

    >>> sorted(not_observed({"truth": True, "queues_ns": None}))
    ['links']
    """
    unknown = set(TRUTH_TABLES) if observe.get("truth") is False else set()
    # Sockets are always observed: even without an interval, they are sampled once, at the end.
    if "queues_ns" in observe and observe["queues_ns"] is None:
        unknown.add("links")
    return frozenset(unknown)


def _keep_promise(source: RecordFile, rows: int, promised: int | None) -> None:
    if promised is not None and promised != rows:
        raise TraceError(
            f"cannot read the trace file {source.path}: it holds {rows} records of {promised} in end.json",
            hint="the disk may have been full; run the scenario again",
        )


def read(trace: Path | str, table: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Read one table of a run's `30-trace/` directory.

    trace: The directory `30-trace`.
    table: A name in `TABLES`.
    columns, filters: The columns to read and the conditions on rows, as in `pyarrow.parquet.read_table`.
    Raises TraceError if the table does not exist or was not observed, or if its file is damaged or has columns of other
    types.
    """
    if table not in TABLES:
        raise TraceError(f"there is no trace table {table!r}", hint=one_of(table, TABLES))
    path = Path(trace) / f"{table}.parquet"
    if not path.exists():
        raise TraceError(
            f"cannot read the table {table}: there is no {path}",
            hint="the run did not observe it ([observe] in its plan), or an older version made it: run it again",
        )
    run, name = path.parent.parent, f"{path.parent.name}/{path.name}"
    content = runtables.read(run, name, columns=columns, filters=filters, hint="run the scenario again")
    check_types(content, TABLES[table].arrow(), path)
    return content


def check_types(table: pa.Table, schema: pa.Schema, where: Path | str) -> None:
    """Check the types of a table's columns. Raises TraceError if a column's kind of values differs from the schema, or
    if a required value is missing.

    An older version may have written integers of another width. Columns that the schema does not contain are not
    checked.
    """
    # The types in the file's own schema are checked, and not the values, because readers rely on the file's schema.
    for field in table.schema:
        wanted = schema.field(field.name) if schema.get_field_index(field.name) >= 0 else None
        if wanted is None:
            continue
        if _kind(field.type) != _kind(wanted.type):
            raise TraceError(
                f"cannot read {where}: its column {field.name} is of type {field.type}, not {wanted.type}",
                hint=DAMAGED,
            )
        if not wanted.nullable and (missing := table[field.name].null_count):
            raise TraceError(
                f"cannot read {where}: its column {field.name} misses {missing} values, and none may be missing",
                hint=DAMAGED,
            )


def _kind(arrow_type: pa.DataType) -> str:
    """Return the kind of a column's values. It is number, text, or a list of numbers or texts. For any other type, the
    kind is Arrow's name of the type."""
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    # An older version may have written numbers with a different width. Integers and floats of all widths are therefore
    # one kind.
    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type):
        return "number"
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        return "text"
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return f"list of {_kind(arrow_type.value_type)}"
    return str(arrow_type)


def _end(output: Path) -> dict[str, Any]:
    """Return the content of `end.json`, which the agent writes last. If this file or its key `ok` is missing, the run
    is incomplete."""
    path = output / "end.json"
    try:
        end = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TraceError(
            f"cannot read the trace in {output}: there is no end.json, so the guest did not finish",
            hint="see the guest's console log beside it, then run the scenario again",
        ) from None
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read {path}: {error}", hint="run the scenario again") from error
    # If `ok` is false, packets or links do not add up (docs/concepts/truth.md, "What must add up").
    if not isinstance(end, dict) or not end.get("ok"):
        raise TraceError(f"the guest says in {path} that its run is not complete: {end}", hint="run the scenario again")
    return end


def _setup(path: Path) -> dict[str, Any]:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read the guest's input {path}: {error}") from error
    if not isinstance(given, dict):
        raise TraceError(f"cannot read the guest's input {path}: it holds no JSON object")
    return given


def _names(path: Path, given: dict[str, Any]) -> dict[str, object]:
    """Return the names of directions, hosts and flows, from the guest's input.

    Returns: A dict. `directions`: [sender, receiver, kind of link] for both directions of each link, in the order of
        the kernel's numbers. `hosts`: the names in the order of host numbers. `flows`: the kind, source, destination
        and congestion control of each flow.
    """
    try:
        nodes = [node["name"] for node in given["nodes"]]
        hosts = [nodes[host["node"]] for host in given["hosts"]]
        directions = []
        for link in given["links"]:
            a, b = nodes[link["a"]], nodes[link["b"]]
            # For link number n, index 2 n is the direction a>b, and index 2 n + 1 is the direction b>a. The tables use
            # the same numbers for directions (design/interfaces.md).
            directions += [[a, b, link["kind"]], [b, a, link["kind"]]]
        flows = [
            {
                "kind": flow["kind"],
                "source": hosts[flow["source"]],
                "destination": hosts[flow["destination"]],
                "congestion_control": flow.get("congestion_control"),
            }
            for flow in given["flows"]
        ]
    except (KeyError, IndexError, TypeError) as error:
        raise TraceError(f"cannot read the names of hosts and links from {path}: {error!r}") from error
    return {"directions": directions, "hosts": hosts, "flows": flows}


def _of_programs(end: dict[str, Any], planned: Any) -> dict[str, object]:
    """Return the agent's records about programs: how each program ended, and its connections. Each connection is a
    flow. Their flow numbers come after those of the planned flows."""
    connections, flows = end.get("connections") or [], list(planned or [])
    for connection in connections if planned is not None else []:
        of = flows[connection["program"]]
        flows.append({**of, "kind": connection["kind"], "congestion_control": connection["congestion_control"]})
    return {"programs": end["programs"], "connections": connections} | ({"flows": flows} if planned is not None else {})


# Metadata entries that a record file itself may contain. A value in a record file replaces the value from `setup.json`.
_OF_A_TABLE = ("directions", "hosts", "flows", "nodes")
