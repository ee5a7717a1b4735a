# SPDX-License-Identifier: Apache-2.0
"""The actions and costs of `[cures]` (docs/concepts/cures.md)."""

from __future__ import annotations

from leowarp import scalars
from leowarp.metrics.inputs.tables import Tables
from leowarp.scalars.of_run import CURES

_COLUMNS = {
    "moved_pkts": ("switches", "moved_pkts", "sum", 0),
    "held_back_pkts": ("switches", "held_back_pkts", "sum", 0),
    "held_back_max_bytes": ("switches", "held_back_max_bytes", "max", 0),
    "held_back_longest_ns": ("switches", "held_back_longest_ns", "max", None),
    "hold_full_pkts": ("switches", "full_pkts", "sum", 0),
    # Tables from versions without copies lack this column.
    "copied_bytes": ("switches", "copied_bytes", "sum", None),
    "node_held_max_bytes": ("nodetotals", "held_max_bytes", "max", 0),
    "signals_pkts": ("nodetotals", "signals_pkts", "sum", 0),
    "signals_bytes": ("nodetotals", "signals_bytes", "sum", 0),
    "merge_longest_ns": ("merges", "longest_ns", "max", None),
    "order_longest_ns": ("orders", "longest_ns", "max", None),
    "order_waiting_max_bytes": ("orders", "waiting_max_bytes", "max", 0),
}
"""For each scalar, the table and the column, the function of the column's values, and the result without values."""


def cure_scalars(tables: Tables) -> dict[str, int | None]:
    """Return the scalars `CURES` of a run. All scalars are None if the run's network has no cures."""
    found: dict[str, int | None] = dict.fromkeys(scalars.names(CURES))
    for name, (table, column, function, nothing) in _COLUMNS.items():
        frame = getattr(tables, table)
        if tables.has(table) and column in frame:
            values = frame[column].dropna()
            found[name] = int(values.agg(function)) if len(values) else nothing
    return found
