# SPDX-License-Identifier: Apache-2.0
"""The columns of `10-routes.parquet`: name, type, unit, meaning."""

from __future__ import annotations

import pyarrow as pa

from leowarp.base.tables.metadata import column

ROUTES_DOC = "One row for each route update and ordered pair of stations with traffic."
ROUTES = (
    column("t_ns", pa.int64(), "ns", "time of the route update since the run's start", nullable=False),
    column("source", pa.string(), "", "station that sends", nullable=False),
    column("destination", pa.string(), "", "station that receives", nullable=False),
    column(
        "path_id",
        pa.int32(),
        "",
        "number of the node sequence, from 0 in order of first use, for each destination; null: no path",
    ),
    column("path", pa.list_(pa.string()), "", "nodes of the path: station, satellites, station; null: no path"),
    column(
        "delay_ns",
        pa.int64(),
        "ns",
        "one-way delay of the path for the positions of the satellites at this instant: the sum of its links' delays "
        "as the timeline rounds them; null: no path, or a measured one (see the timeline)",
    ),
    column("length_m", pa.float64(), "m", "length of the path at this instant, with ground links as slant ranges"),
    column("hops", pa.int32(), "", "number of links of the path, including the two ground links"),
    column(
        "is_change",
        pa.bool_(),
        "",
        "whether the path differs from the one before this update (loss and return of the path are also changes); "
        "false for the first update",
        nullable=False,
    ),
    column(
        "old_delay_ns",
        pa.int64(),
        "ns",
        "for a change: one-way delay of the previous path at this instant; null: no change, or no previous path",
    ),
    column(
        "change_id", pa.int32(), "", "number of the change, from 0 for each source and destination; null: no change"
    ),
)
