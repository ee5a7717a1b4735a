# SPDX-License-Identifier: Apache-2.0
"""Computes the utilisation, drops and longest queues of each satellite, over all its outgoing links together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.tables import Tables, floats, typed_frame
from leowarp.metrics.network.queues import DROP_STEMS, LINK_COLUMNS, joined, length_ns, on_path_spans


def satellite_use(tables: Tables, links: pd.DataFrame, satellites: Collection[str], end_ns: int) -> pd.DataFrame:
    """Return one row for each satellite to which a packet was offered, sorted by name, with the columns of
    `SATELLITE_COLUMNS`. `links` is the table from `link_use`."""
    spans = on_path_spans(tables, end_ns)
    rows = []
    for name, mine in links[links["a"].isin(set(satellites))].groupby("a", sort=True):
        # Spans are merged, not added: if two links of a satellite are on a path at the same time, this time is counted
        # once.
        mine_spans = joined([span for (a, _), of_link in spans.items() if a == name for span in of_link])
        rows.append({
            "satellite": name, "directions": len(mine),
            "offered_pkts": _sum(mine["offered_pkts"]), "delivered_pkts": _sum(mine["delivered_pkts"]),
            "delivered_bytes": _sum(mine["delivered_bytes"]),
            **{f"dropped_{stem}_pkts": _sum(mine[f"dropped_{stem}_pkts"]) for stem in DROP_STEMS},
            "on_path_ns": length_ns(mine_spans) if spans else None,
            **_longest(mine, "pkts"), **_longest(mine, "bytes"),
        })  # fmt: skip
    return typed_frame(rows, SATELLITE_COLUMNS)


def _sum(column: pd.Series) -> int | None:
    # If null values were skipped, the sum would look complete.
    return None if column.isna().any() else int(column.sum())


def _longest(links: pd.DataFrame, unit: str) -> dict[str, Any]:
    """Return the longest queue of all directions, with its instant and its link. If several queues are equally long,
    the queue with the earliest instant is returned."""
    stem = f"queue_max_{unit}"
    longest = floats(links[stem])
    at = np.flatnonzero(~np.isnan(longest))
    if len(at) == 0:
        return {}
    # Links are sorted by length and then by instant; a link of unknown length (nan) is last.
    order = np.lexsort((floats(links[f"{stem}_at_ns"])[at], -longest[at]))
    row = links.iloc[at[order[0]]]
    return {stem: row[stem], f"{stem}_at_ns": row[f"{stem}_at_ns"], f"{stem}_to": row["b"] if row[stem] else None}


SATELLITE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "satellite": ("object", None, "name of the satellite"),
    "directions": ("int64", None, "number of links over which the satellite sends, and that were offered a packet"),
    "offered_pkts": ("Int64", "pkts", "packets handed to these links; null: netem does not report them"),
    "delivered_pkts": ("Int64", "pkts", "packets that arrived at the other ends of these links"),
    "delivered_bytes": ("Int64", "bytes", "bytes of these packets, as the kernel counts them"),
    "dropped_queue_pkts": ("Int64", "pkts", "packets dropped because a queue was full"),
    "dropped_loss_pkts": ("Int64", "pkts", "packets dropped by the links' loss ratio"),
    "dropped_down_pkts": ("Int64", "pkts", "packets lost when a link went down"),
    "on_path_ns": (
        "Int64",
        "ns",
        "time during which a path between stations with a flow led over these links; null: the run has no routes",
    ),
    "queue_max_pkts": ("Int64", "pkts", "most packets that waited at once at one of these links, exact; null: netem"),
    "queue_max_pkts_at_ns": LINK_COLUMNS["queue_max_pkts_at_ns"],
    "queue_max_pkts_to": ("object", None, "other end of the link with `queue_max_pkts`; null: no packet ever waited"),
    "queue_max_bytes": (
        "Int64",
        "bytes",
        "most bytes that waited at once at one of these links; null: netem, or older run",
    ),
    "queue_max_bytes_at_ns": LINK_COLUMNS["queue_max_bytes_at_ns"],
    "queue_max_bytes_to": ("object", None, "other end of the link with `queue_max_bytes`; null: no packet ever waited"),
}
"""The columns of the table of satellites, each with its type, unit and meaning."""
