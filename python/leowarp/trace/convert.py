# SPDX-License-Identifier: Apache-2.0
"""The guest's output directory -> `30-trace/`, and reading it back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.errors import TraceError
from leowarp.trace.records import open_records, write_parquet
from leowarp.trace.schema import TABLES

TRACE_TABLES = tuple(TABLES)
CAPTURES = ("source.pcapng", "destination.pcapng")


def convert(output: Path | str, target: Path | str, setup: Path | str | None = None) -> dict[str, int]:
    """Rows of each table, after writing the guest's output as Parquet into `target`.

    Parameters
    ----------
    output : path
        The guest's `out/`: record files, `end.json`, packet captures.
    target : path
        `30-trace/` of a run directory; made if it is not there.
    setup : path, optional
        The guest's `in/setup.json`: it names hosts, flows and link directions in the tables' metadata.

    Raises
    ------
    TraceError
        If `end.json` is missing or says that the run failed, or a table is missing, cut short or malformed.
    """
    output, target = Path(output), Path(target)
    end = _end(output)
    metadata = _names(Path(setup)) if setup is not None else {}
    absent = [name for name in TABLES if not (output / f"{name}.rec").exists()]
    if absent:
        raise TraceError(
            f"cannot read the trace in {output}: the guest left no {', '.join(f'{name}.rec' for name in absent)}",
            hint="the guest's agent is of another version; rebuild it with `leowarp kernel build`",
        )
    target.mkdir(parents=True, exist_ok=True)
    rows = {}
    for name in TABLES:
        source = output / f"{name}.rec"
        header = open_records(source).extra
        own: dict[str, object] = {key: header[key] for key in ("directions", "hosts", "flows") if key in header}
        rows[name] = write_parquet(source, target / f"{name}.parquet", {**metadata, **own})
        promised = (end.get("records") or {}).get(name)
        if promised is not None and promised != rows[name]:
            raise TraceError(
                f"cannot read the trace file {source}: it holds {rows[name]} records of {promised} in end.json",
                hint="the disk may have been full; run the scenario again",
            )
    for name in CAPTURES:
        if (output / name).exists():
            shutil.copyfile(output / name, target / name)
    return rows


def read(trace: Path | str, table: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """One table of a run's `30-trace/` directory.

    Parameters
    ----------
    trace : path
        The directory `30-trace`.
    table : str
        sockets, packets, bins, links, linktotals, counters, drops, flows or echoes.
    columns, filters
        As for `pyarrow.parquet.read_table`: only these columns, only these rows.
    """
    if table not in TABLES:
        raise TraceError(f"there is no trace table {table!r}", hint=f"the tables are {', '.join(TABLES)}")
    path = Path(trace) / f"{table}.parquet"
    if not path.exists():
        raise TraceError(f"cannot read the table {table}: there is no {path}", hint="is this a complete run directory?")
    try:
        return pq.read_table(path, columns=columns, filters=filters)
    except (OSError, pa.ArrowInvalid) as error:
        raise TraceError(f"cannot read {path}: {error}", hint="run the scenario again") from error


def metadata_of(table: pa.Table | pa.Schema, key: str) -> Any:
    """A value from a table's metadata (`directions`, `hosts`, `flows`), or None if the table has none."""
    raw = (table.schema if isinstance(table, pa.Table) else table).metadata or {}
    value = raw.get(key.encode())
    return None if value is None else json.loads(value)


def _end(output: Path) -> dict[str, Any]:
    path = output / "end.json"
    try:
        end = json.loads(path.read_text())
    except FileNotFoundError:
        raise TraceError(
            f"cannot read the trace in {output}: there is no end.json, so the guest did not finish",
            hint="see the guest's console log beside it, then run the scenario again",
        ) from None
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read {path}: {error}", hint="run the scenario again") from error
    if not isinstance(end, dict) or not end.get("ok"):
        raise TraceError(f"the guest says in {path} that its run is not complete: {end}", hint="run the scenario again")
    return end


def _names(setup: Path) -> dict[str, object]:
    """Names of directions, hosts and flows, out of the guest's input."""
    try:
        given = json.loads(setup.read_text())
        nodes = [node["name"] for node in given["nodes"]]
        hosts = [nodes[host["node"]] for host in given["hosts"]]
        directions = []
        for link in given["links"]:
            a, b = nodes[link["a"]], nodes[link["b"]]
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
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise TraceError(f"cannot read the names of hosts and links from {setup}: {error!r}") from error
    return {"directions": directions, "hosts": hosts, "flows": flows}
