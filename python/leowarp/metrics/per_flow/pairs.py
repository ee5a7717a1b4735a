# SPDX-License-Identifier: Apache-2.0
"""The TCP flows of a run, summed by ordered pair of stations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from leowarp.metrics.inputs.tables import typed_frame
from leowarp.scalars.overview import total_goodput_bps


def pairs(flows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return one row for each ordered pair of stations that has TCP flows. Pairs are in the order of their first flows.

    flows: The list `flows` of a run's summary.
    Returns: DataFrame with the columns of `PAIR_COLUMNS`. A sum is null if any of its values is unknown.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for flow in flows:
        if flow["kind"] == "tcp":
            groups.setdefault((flow["source"], flow["destination"]), []).append(flow)
    rows = []
    for (source, destination), mine in groups.items():
        sent, lost = sum_of(mine, "sent_pkts"), sum_of(mine, "lost_pkts")
        trips = [flow["rtt_p50_ns"] for flow in mine if flow["rtt_p50_ns"] is not None]
        rows.append({
            "source": source, "destination": destination, "flows": len(mine),
            "goodput_mean_bps": total_goodput_bps(mine),
            "rtt_p50_ns": median(trips) if len(trips) == len(mine) else None,
            "sent_pkts": sent, "lost_pkts": lost,
            "lost_ratio": lost / sent if sent and lost is not None else None,
            "retransmissions_pkts": sum_of(mine, "retransmissions_pkts"),
        })  # fmt: skip
    return typed_frame(rows, PAIR_COLUMNS)


def sum_of(flows: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return the sum of a scalar over flows. None means that a flow lacks the value, or that there is no flow."""
    values = [flow[name] for flow in flows]
    return None if not values or None in values else sum(values)


PAIR_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "source": ("object", None, "station that sends"),
    "destination": ("object", None, "station that receives"),
    "flows": ("int64", None, "number of TCP flows from source to destination"),
    "goodput_mean_bps": ("Float64", "bit/s", "payload of the flows, divided by the time in which at least one lived"),
    "rtt_p50_ns": ("Float64", "ns", "median of the flows' scalars `rtt_p50_ns`; null: not measured for every flow"),
    "sent_pkts": ("Int64", "pkts", "data packets sent, retransmissions included; null: packets were not counted"),
    "lost_pkts": ("Int64", "pkts", "of these, lost"),
    "lost_ratio": ("Float64", "", "`lost_pkts` divided by `sent_pkts`; null: no packet was sent, or not counted"),
    "retransmissions_pkts": ("Int64", "pkts", "retransmissions among the sent packets"),
}
"""The columns of the table of pairs, each with its type, unit and meaning."""
