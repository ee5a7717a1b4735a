# SPDX-License-Identifier: Apache-2.0
"""The synthetic run with many flows, or over another medium. For each flow of the plan, the module copies the single
flow of `run.py`. It replaces the stations' names by those of the plan.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp import scenario
from leowarp.base import layout
from support.synthetic.run import STATIONS

WINDOW = 1
"""The bit of `stored_because` that means "near a change"."""

ALL_COUNTED = ("offered", "delivered", "dropped_queue", "dropped_loss", "dropped_down", "held")


def constellation_toml(count: int, pairs: list[tuple[str, str]], controls: tuple[str, ...] = ("cubic", "bbr")) -> str:
    """Return a scenario with `count` TCP flows. The flows use the pairs in turn. After the last pair, the next flow has
    the first pair and the next congestion control."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    stations = "".join(f'[[stations]]\nname = "{name}"\n' for name in names)
    flows = "".join(
        f'[[flows]]\nsource = "{pairs[k % len(pairs)][0]}"\ndestination = "{pairs[k % len(pairs)][1]}"\n'
        f'congestion_control = "{controls[k // len(pairs) % len(controls)]}"\n'
        for k in range(count)
    )
    return (
        f'name = "flows-{count}"\n[run]\nduration = "60 s"\n[constellation]\npreset = "starlink-shell1"\n'
        f'{stations}[routing]\ninterval = "10 s"\nlink_interval = "10 s"\n{flows}'
    )


def write_synthetic_flows(one: Path, path: Path, toml: str) -> Path:
    """Write a run of a scenario's TCP flows into a directory, and return the directory.

    one: The run of `write_synthetic_run`. The function copies its tables.
    toml: The scenario. Flow k transfers (k % 3 + 1) / 3 times the bytes of the original flow.
    """
    (path / layout.TRACE).mkdir(parents=True)
    text = path / "scenario.toml"
    text.write_text(toml, encoding="utf-8")
    plan = scenario.resolve(scenario.load(text))
    text.unlink()
    (path / layout.PLAN).write_text(plan.to_toml(), encoding="utf-8")
    for file in plan.inputs():
        (path / layout.INPUTS).mkdir(exist_ok=True)
        shutil.copy(file, path / layout.INPUTS / file.name)
    count = len(plan.flows)
    pairs = list(dict.fromkeys((flow.source, flow.destination) for flow in plan.flows))
    for name, columns in (
        (layout.ROUTES, ("source", "destination", "path")),
        (layout.TIMELINE, ("a", "b")),
    ):
        table = pq.read_table(one / name)
        rows = [_renamed(row, columns, pair) for pair in pairs for row in table.to_pylist()]
        rows.sort(key=lambda row: row["t_ns"])
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path / name)
    for file in sorted((one / layout.TRACE).iterdir()):
        table = pq.read_table(file)
        frame = table.to_pandas()
        metadata = dict(table.schema.metadata)
        if file.stem == "linktotals":
            frame[[f"{name}_{unit}" for name in ALL_COUNTED for unit in ("pkts", "bytes")]] *= count
        elif "flow" in table.column_names:
            frame = pd.concat([_of_flow(file.stem, frame, number) for number in range(count)], ignore_index=True)
        schema = table.schema.with_metadata(_stations(metadata, pairs))
        pq.write_table(
            pa.Table.from_pandas(frame, schema=schema, preserve_index=False), path / layout.TRACE / file.name
        )
    shutil.copy(one / layout.MANIFEST, path / layout.MANIFEST)
    return path


def _renamed(row: dict[str, Any], columns: tuple[str, ...], pair: tuple[str, str]) -> dict[str, Any]:
    names = dict(zip(STATIONS, pair, strict=True))
    names |= {f"host:{old}": f"host:{new}" for old, new in names.items()}
    changed = {}
    for column in columns:
        value = row[column]
        changed[column] = (
            [names.get(each, each) for each in value] if isinstance(value, list) else names.get(value, value)
        )
    return row | changed


def _of_flow(table: str, frame: pd.DataFrame, number: int) -> pd.DataFrame:
    mine = frame.assign(flow=number)
    if table == "packets" and number:
        mine = mine[(mine["stored_because"].astype("int64") & ~WINDOW) > 0]
    if table == "sockets":
        for column in ("bytes_acked", "bytes_received"):
            mine[column] = mine[column] * (number % 3 + 1) // 3
        mine["srtt_us"] += 1_000 * number
        mine["cwnd_pkts"] = mine["cwnd_pkts"] * (number % 3 + 1) // 3
    return mine


def _stations(metadata: dict[bytes, bytes], pairs: Sequence[tuple[str, str]]) -> dict[bytes, bytes]:
    """Return a table's metadata. In the names of links and hosts, the stations of the first pair replace the original
    stations."""
    names = dict(zip(STATIONS, pairs[0], strict=True))
    for key, value in metadata.items():
        if key in (b"directions", b"hosts"):
            told = _replaced(json.loads(value), names)
            if key == b"hosts":
                told = list(dict.fromkeys((*told, *(f"host:{end}" for pair in pairs for end in pair))))
            metadata[key] = json.dumps(told).encode()
    return metadata


def _replaced(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_replaced(each, names) for each in value]
    if isinstance(value, str):
        lead, mark, name = value.rpartition(":")
        return lead + mark + names.get(name, name)
    return value
