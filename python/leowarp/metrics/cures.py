# SPDX-License-Identifier: Apache-2.0
"""What `[cures]` did and what it cost (docs/concepts/cures.md)."""

from __future__ import annotations

import pandas as pd

from leowarp import scalars
from leowarp.metrics.tables import Tables
from leowarp.scalars.of_run import CURES


def cure_scalars(tables: Tables) -> dict[str, int | None]:
    """The scalars `CURES` of a run; all None if its network does nothing about route changes."""
    if not tables.has("switches"):
        return dict.fromkeys(scalars.names(CURES))
    switches = tables.switches
    longest_ns = switches["held_back_longest_ns"].max()
    return {
        "moved_pkts": int(switches["moved_pkts"].sum()),
        "held_back_pkts": int(switches["held_back_pkts"].sum()),
        "held_back_max_bytes": int(switches["held_back_max_bytes"].max()) if len(switches) else 0,
        "held_back_longest_ns": None if pd.isna(longest_ns) else int(longest_ns),
        "hold_full_pkts": int(switches["full_pkts"].sum()),
    }
