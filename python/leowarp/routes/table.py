# SPDX-License-Identifier: Apache-2.0
"""Routes as a value: the table, and the same as node ids for the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Path
from leowarp.routes.schema import ROUTES, ROUTES_DOC, table_schema


@dataclass(frozen=True)
class Leaving:
    """A link in use that is out of its rule's range at an L2 instant, for the first time since the route update.

    t_ns: The L2 instant, on the run's clock.
    a, b: Its nodes, a < b.
    """

    t_ns: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class Routes:
    """Which way packets go, from one route update to the next.

    table: `10-routes.parquet`; its metadata has `summary` and `warnings` (JSON).
    nodes: Names of the nodes: satellites by index, then stations (a chain: its routers).
    t_ns: int64 array of shape (k,). Route updates.
    pairs: list of (int, int). Ordered pairs of nodes that talk.
    paths: list of k lists of (Path or None). For each update and pair.
    numbers: Of the same paths and of their changes.
    isl: list of k int arrays of shape (m, 2), or None. All links between satellites that the rule gives at each update;
        only with ``network.instantiate = "all"``.
    leavings: Sorted by time.
    summary: Scalars with their unit in the name.
    """

    table: pa.Table
    nodes: list[str]
    t_ns: NDArray[np.int64]
    pairs: list[tuple[int, int]]
    paths: list[list[Path | None]]
    numbers: PathNumbers
    isl: list[NDArray[np.intp]] | None = None
    leavings: tuple[Leaving, ...] = ()
    summary: dict[str, int | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def paths_of(table: pa.Table) -> dict[tuple[str, str], dict[int, tuple[str, ...]]]:
    """Node names of each path: ``paths_of(table)[source, destination][path_id]``.

    A pair that never has a path has an empty dict.

    table: Of routes.
    """
    paths: dict[tuple[str, str], dict[int, tuple[str, ...]]] = {}
    for row in table.select(["source", "destination", "path_id", "path"]).to_pylist():
        of_pair = paths.setdefault((row["source"], row["destination"]), {})
        # A pair that has no path at all is an entry without paths, not a missing one: readers ask by pair.
        if row["path_id"] is not None:
            of_pair[row["path_id"]] = tuple(row["path"])
    return paths


@dataclass(frozen=True, kw_only=True)
class PathValues:
    """What a medium knows of a path at a route update; columns of the routes table. No path: all None.

    delay_ns: One way, of the path in force from this update on.
    length_m: None also of media without a geometry.
    old_delay_ns: At a change: delay of the path that was in force, with the satellites where they are now.
    """

    delay_ns: int | None = None
    length_m: float | None = None
    old_delay_ns: int | None = None


def routes_table(
    *,
    nodes: Sequence[str],
    ends: Sequence[tuple[str, str]],
    t_ns: NDArray[np.int64],
    paths: Sequence[Sequence[Path | None]],
    numbers: PathNumbers,
    values: Sequence[Sequence[PathValues]],
    summary: dict[str, int | float],
    warnings: Sequence[str],
) -> pa.Table:
    """The table of k updates and their pairs, a row each.

    nodes: Names of the nodes that paths are made of.
    ends: sequence of (str, str). Source and destination of each pair, as the rows name them.
    t_ns: int64 array of shape (k,)
    paths: k sequences of (Path or None). For each update, of each pair.
    numbers: Of these paths.
    values: k sequences of PathValues
    summary, warnings: Of the metadata.
    Returns: Columns `schema.ROUTES`, sorted by time, pairs within an update in the order of `ends`.
    """
    rows = [
        {
            "t_ns": at_ns,
            "source": source,
            "destination": destination,
            "path_id": numbers.path_ids[k][pair],
            "path": None if path is None else [nodes[node] for node in path],
            "delay_ns": values[k][pair].delay_ns,
            "length_m": values[k][pair].length_m,
            "hops": None if path is None else len(path) - 1,
            "is_change": numbers.change_ids[k][pair] is not None,
            "old_delay_ns": values[k][pair].old_delay_ns,
            "change_id": numbers.change_ids[k][pair],
        }
        for k, at_ns in enumerate(t_ns.tolist())
        for pair, ((source, destination), path) in enumerate(zip(ends, paths[k], strict=True))
    ]
    schema = table_schema("routes", ROUTES_DOC, ROUTES, {"summary": summary, "warnings": list(warnings)})
    return pa.Table.from_pylist(rows, schema=schema)
