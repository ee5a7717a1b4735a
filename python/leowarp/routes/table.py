# SPDX-License-Identifier: Apache-2.0
"""The routes of a run, as the table of the run directory and as node numbers for the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.base.tables.metadata import table_schema
from leowarp.routes.acquisition import Acquisition
from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Path
from leowarp.routes.schema import ROUTES, ROUTES_DOC


@dataclass(frozen=True)
class Leaving:
    """A link that is in use at a delay update, but outside the range that its rule allows. If a link has several such
    delay updates in a route interval, only the first of them is listed.

    t_ns: The time of the delay update, on the run's clock.
    a, b: The nodes at the two ends of the link, where a < b.
    """

    t_ns: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class PathValues:
    """The values of a path at a route update. They are columns of the routes table. If there is no path, all values are
    None.

    delay_ns: The one-way delay of the path from this update on.
    length_m: The length of the path. It is None if the medium has no geometry.
    old_delay_ns: At a route change, the delay that the previous path would have now.
    """

    delay_ns: int | None = None
    length_m: float | None = None
    old_delay_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Routes:
    """The paths of packets, from one route update to the next.

    table: The content of `10-routes.parquet`. Its metadata has `summary` and `warnings` (JSON).
    nodes: The names of the nodes: satellites by index, then stations (for a chain: its routers).
    t_ns: The times of the route updates, int64 array of shape (k,).
    pairs: The ordered pairs (source, destination) of nodes that communicate.
    paths: The path of each pair, as k lists of (Path or None), one per update.
    numbers: The numbers of the paths and of their changes.
    isl: All links that the rule for satellite links includes, as k int arrays of shape (m, 2). There is one array per
        update. The value is None unless ``network.instantiate = "all"``.
    leavings: The links that left their range while they were in use, sorted by time.
    acquisitions: Paths may use satellite links before these links are available. This attribute lists such links.
    summary: The numbers that describe the routes. The name of each number ends in its unit.
    """

    table: pa.Table
    nodes: list[str]
    t_ns: NDArray[np.int64]
    pairs: list[tuple[int, int]]
    paths: list[list[Path | None]]
    numbers: PathNumbers
    isl: list[NDArray[np.intp]] | None = None
    leavings: tuple[Leaving, ...] = ()
    acquisitions: tuple[Acquisition, ...] = ()
    summary: dict[str, int | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        ends: Sequence[tuple[str, str]],
        values: Sequence[Sequence[PathValues]],
        nodes: list[str],
        t_ns: NDArray[np.int64],
        paths: list[list[Path | None]],
        numbers: PathNumbers,
        summary: dict[str, int | float],
        warnings: Sequence[str] = (),
        **others: Any,
    ) -> Self:
        """Return routes with their table, which has one row per update and pair. The table is sorted by time, and rows
        of the same update are in the order of `ends`.

        ends: The names of source and destination for each pair, as they appear in the rows.
        values: The values of each pair's path, as k sequences, one per update.
        others: The other attributes except `table`.
        """
        rows = [
            {
                "t_ns": at_ns,
                "source": source,
                "destination": destination,
                "path_id": numbers.path_ids[k][pair],
                "path": None if path is None else [nodes[node] for node in path],
                "hops": None if path is None else len(path) - 1,
                "is_change": numbers.change_ids[k][pair] is not None,
                "change_id": numbers.change_ids[k][pair],
                **vars(values[k][pair]),
            }
            for k, at_ns in enumerate(t_ns.tolist())
            for pair, ((source, destination), path) in enumerate(zip(ends, paths[k], strict=True))
        ]
        schema = table_schema("routes", ROUTES_DOC, ROUTES, {"summary": summary, "warnings": list(warnings)})
        table = pa.Table.from_pylist(rows, schema=schema)
        return cls(
            table=table, nodes=nodes, t_ns=t_ns, paths=paths, numbers=numbers, summary=summary,
            warnings=tuple(warnings), **others,
        )  # fmt: skip


def paths_of(table: pa.Table) -> dict[tuple[str, str], dict[int, tuple[str, ...]]]:
    """Return the names of the nodes on each path: ``paths_of(table)[source, destination][path_id]``.

    If a pair never has a path, its dict is empty.

    table: A routes table.
    """
    paths: dict[tuple[str, str], dict[int, tuple[str, ...]]] = {}
    for row in table.select(["source", "destination", "path_id", "path"]).to_pylist():
        of_pair = paths.setdefault((row["source"], row["destination"]), {})
        # Readers look up pairs, so a pair that never has a path needs an entry as well.
        if row["path_id"] is not None:
            of_pair[row["path_id"]] = tuple(row["path"])
    return paths
