# SPDX-License-Identifier: Apache-2.0
"""The actions and costs of `[cures]` (docs/concepts/cures.md)."""

from __future__ import annotations

import pandas as pd

from leowarp import scalars
from leowarp.metrics.inputs.tables import Tables
from leowarp.scalars.of_run import CURES


def cure_scalars(tables: Tables) -> dict[str, int | None]:
    """Return the scalars `CURES` of a run. All scalars are None if the run's network has no cures."""
    return dict.fromkeys(scalars.names(CURES)) | _of_switches(tables) | _of_nodes(tables) | _of_waits(tables)


def _of_nodes(tables: Tables) -> dict[str, int | None]:
    if not tables.has("nodetotals"):
        return {}
    nodes = tables.nodetotals
    return {
        "node_held_max_bytes": int(nodes["held_max_bytes"].max()) if len(nodes) else 0,
        "signals_pkts": int(nodes["signals_pkts"].sum()),
        "signals_bytes": int(nodes["signals_bytes"].sum()),
    }


def _of_waits(tables: Tables) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for table, name in (("merges", "merge_longest_ns"), ("orders", "order_longest_ns")):
        if tables.has(table):
            longest_ns = getattr(tables, table)["longest_ns"].max()
            found[name] = None if pd.isna(longest_ns) else int(longest_ns)
    if tables.has("orders"):
        waiting = tables.orders["waiting_max_bytes"].dropna()
        found["order_waiting_max_bytes"] = int(waiting.max()) if len(waiting) else 0
    return found


def _of_switches(tables: Tables) -> dict[str, int | None]:
    if not tables.has("switches"):
        return {}
    switches = tables.switches
    longest_ns = switches["held_back_longest_ns"].max()
    # Tables from versions without copies lack the column `copied_bytes`.
    copied = switches["copied_bytes"].dropna() if "copied_bytes" in switches else ()
    return {
        "moved_pkts": int(switches["moved_pkts"].sum()),
        "held_back_pkts": int(switches["held_back_pkts"].sum()),
        "held_back_max_bytes": int(switches["held_back_max_bytes"].max()) if len(switches) else 0,
        "held_back_longest_ns": None if pd.isna(longest_ns) else int(longest_ns),
        "hold_full_pkts": int(switches["full_pkts"].sum()),
        "copied_bytes": int(sum(copied)) if len(copied) else None,
    }
