# SPDX-License-Identifier: Apache-2.0
"""The routes of a medium with one path per direction that never changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Path
from leowarp.routes.table import PathValues, Routes


def fixed_routes(
    nodes: Sequence[str],
    stations: tuple[str, str],
    paths: tuple[Path, Path],
    delays_ns: tuple[int | None, int | None],
) -> Routes:
    """Return routes with one path in each direction, for the whole run.

    stations: The names of the source and destination of the forward path.
    paths: The forward path and the return path. Each path is a sequence of indexes into `nodes`.
    delays_ns: The one-way delay of each path, ns, or None if the delay is only in the timeline.
    Returns: The routes. They have one update at time 0, two rows, and no change. If a delay is None, the summary has no
        `path_delay_...`.
    """
    summary: dict[str, int | float] = {"route_updates": 1, "route_changes": 0, "route_changes_shorter": 0}
    if delays_ns[0] is not None:
        for which in ("min", "mean", "max"):
            summary[f"path_delay_{which}_ns"] = delays_ns[0]
    every: list[list[Path | None]] = [[*paths]]
    # The paths get numbers although there is only one path to each destination, so that readers of the routes need not
    # treat this medium differently.
    return Routes.of(
        ends=(stations, stations[::-1]),
        values=[[PathValues(delay_ns=delay_ns) for delay_ns in delays_ns]],
        nodes=list(nodes),
        t_ns=np.zeros(1, dtype=np.int64),
        pairs=[(path[0], path[-1]) for path in paths],
        paths=every,
        numbers=PathNumbers.of_paths(every),
        summary=summary,
    )
