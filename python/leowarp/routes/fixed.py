# SPDX-License-Identifier: Apache-2.0
"""Routes of a medium whose one path never changes, each way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leowarp.routes.paths import Path
from leowarp.routes.table import Routes, routes_table


def fixed_routes(
    nodes: Sequence[str],
    stations: tuple[str, str],
    paths: tuple[Path, Path],
    delays_ns: tuple[int | None, int | None],
) -> Routes:
    """The path there and the path back.

    Parameters
    ----------
    nodes : sequence of str
        Their names.
    stations : (str, str)
        The source of the path there and its destination, as the rows name them.
    paths : (Path, Path)
        From the first station and back, as places in `nodes`.
    delays_ns : (int or None, int or None)
        One way; None: the timeline alone knows.
    """
    rows: list[dict[str, object]] = [
        {
            "t_ns": 0,
            "source": stations[way],
            "destination": stations[1 - way],
            "path_id": 0,
            "path": [nodes[node] for node in path],
            "delay_ns": delays_ns[way],
            "length_m": None,
            "hops": len(path) - 1,
            "is_change": False,
            "old_delay_ns": None,
        }
        for way, path in enumerate(paths)
    ]
    summary: dict[str, int | float] = {"route_updates": 1, "route_changes": 0, "route_changes_shorter": 0}
    if delays_ns[0] is not None:
        for which in ("min", "mean", "max"):
            summary[f"path_delay_{which}_ns"] = delays_ns[0]
    return Routes(
        table=routes_table(rows, summary, ()),
        nodes=list(nodes),
        t_ns=np.zeros(1, dtype=np.int64),
        pairs=[(path[0], path[-1]) for path in paths],
        paths=[[*paths]],
        summary=summary,
    )
