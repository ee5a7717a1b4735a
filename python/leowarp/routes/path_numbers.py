# SPDX-License-Identifier: Apache-2.0
"""The numbers of paths and of path changes. Only this module assigns the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from leowarp.routes.paths import Path


@dataclass(frozen=True)
class PathNumbers:
    """The numbers for the paths and changes of each pair of stations, after each route update.

    path_ids: The number of each pair's path, as k lists of (int or None), one per update. None means that the pair has
        no path.
    change_ids: The number of each change, as k lists of (int or None). Each pair counts its changes from 0. None means
        that the path is the same as at the previous update. The path at the first update is not a change.
    """

    path_ids: list[list[int | None]]
    change_ids: list[list[int | None]]

    @classmethod
    def of_path_ids(cls, path_ids: Sequence[Sequence[int | None]]) -> PathNumbers:
        """Return the numbers for given path ids. On an access link, each slot has its own path. A new path id is
        therefore a change, even if the nodes stay the same.

        >>> PathNumbers.of_path_ids([[0], [0], [1], [None], [1]]).change_ids
        [[None], [None], [0], [1], [2]]
        """
        counts = [0] * len(path_ids[0]) if path_ids else []
        change_ids: list[list[int | None]] = []
        before = path_ids[0] if path_ids else ()
        for now in path_ids:
            row: list[int | None] = [None] * len(now)
            for pair, (old, new) in enumerate(zip(before, now, strict=True)):
                if old != new:
                    row[pair], counts[pair] = counts[pair], counts[pair] + 1
            # Having no path is treated like a path of its own (None). The loss of a path is therefore one change. If
            # there is a path again, this is a second change.
            change_ids.append(row)
            before = now
        return cls([list(now) for now in path_ids], change_ids)

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[Path | None]]) -> PathNumbers:
        """Assign a number to each path. Each destination has its own numbers, from 0. They are in the order in which
        paths are first used.

        A path that is used again has the same number as before.
        """
        known: dict[int, dict[Path, int]] = {}

        def path_id(path: Path | None) -> int | None:
            if path is None:
                return None
            # With `source` routing, nodes have an entry for each destination and path id. All pairs with the same
            # destination must use the same number for the same path (design/routes-and-timeline.md, "Many flows").
            to_destination = known.setdefault(path[-1], {})
            return to_destination.setdefault(path, len(to_destination))

        return cls.of_path_ids([[path_id(path) for path in now] for now in paths])


def with_change_ids(table: pa.Table) -> pa.Table:
    """Return a routes table with the column `change_id`, which tables of older versions lack.

    table: A routes table. Its rows may be in any order of time.
    Returns: The same rows in the same order.
    """
    columns = set(table.column_names)
    if (
        "change_id" in columns
        or not {"t_ns", "source", "destination", "path_id"} <= columns
        or table["t_ns"].null_count
    ):
        # A damaged table is returned unchanged; the caller checks the columns and rejects it.
        return table
    ends = list(zip(table["source"].to_pylist(), table["destination"].to_pylist(), strict=True))
    change_ids: list[int | None] = [None] * len(table)
    t_ns, path_ids = table["t_ns"].to_pylist(), table["path_id"].to_pylist()
    for pair in dict.fromkeys(ends):
        rows = sorted((row for row, own in enumerate(ends) if own == pair), key=lambda row: t_ns[row])
        numbers = PathNumbers.of_path_ids([[path_ids[row]] for row in rows])
        for row, (change_id,) in zip(rows, numbers.change_ids, strict=True):
            change_ids[row] = change_id
    return table.append_column("change_id", pa.array(change_ids, pa.int32()))
