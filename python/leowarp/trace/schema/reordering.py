# SPDX-License-Identifier: Apache-2.0
"""The tables about the reordering of the first transmissions of each flow."""

from leowarp.trace.schema.columns import (
    BYTES,
    F64,
    FLOW,
    I32,
    I64,
    NS,
    PKTS,
    U8,
    U31,
    U32,
    U64,
    Column,
    TableSchema,
    key,
)

SCOPES = {0: "run", 1: "window", 2: "change"}
"""The parts of a flow over which reordering is measured."""

DENSITY_KINDS = {0: "density", 1: "buffer_density", 2: "n_reordering", 3: "extent"}
"""The kinds of histogram of reordering."""

_SCOPE = key(
    "scope",
    U8,
    "",
    "0 the whole run, 1 a window of sending time, 2 the time around a change of the flow's path",
    SCOPES,
)
_SCOPE_NUMBER = key("number", U31, "", "number of the window or of the change, from 0; 0 for the whole run")

REORDERING = TableSchema(
    "reordering",
    "ReorderingRow",
    "Reordering of each flow's first transmissions (RFC 4737, RFC 5236): in the run, in windows, around path changes.",
    (
        FLOW,
        _SCOPE,
        _SCOPE_NUMBER,
        key("t_ns", I64, NS, "first sending time of the scope"),
        key("end_ns", I64, NS, "end of the scope (exclusive)"),
        Column("sent_pkts", U64, PKTS, "first transmissions sent"),
        Column("received_pkts", U64, PKTS, "of these, arrived, each counted once"),
        Column("lost_pkts", U64, PKTS, "first transmissions that never arrived"),
        Column("reordered_pkts", U64, PKTS, "received packets that arrived after one sent later (RFC 4737, 3.3)"),
        Column("extent_mean_pkts", F64, PKTS, "mean reordering extent (RFC 4737, 4.2); null: no packet was reordered"),
        Column("extent_max_pkts", U32, PKTS, "largest reordering extent; null: no packet was reordered"),
        Column("late_time_mean_ns", F64, NS, "mean late time (RFC 4737, 4.3); null: no packet was reordered"),
        Column("late_time_max_ns", I64, NS, "largest late time; null: no packet was reordered"),
        Column("byte_offset_mean_bytes", F64, BYTES, "mean byte offset (RFC 4737, 4.4); null: no packet was reordered"),
        Column("byte_offset_max_bytes", U64, BYTES, "largest byte offset; null: no packet was reordered"),
        Column("discontinuities", U64, "", "reordering discontinuities (RFC 4737, 4.5)"),
        Column("gap_mean_pkts", F64, PKTS, "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"),
        Column("gap_mean_ns", F64, NS, "mean gap between discontinuities, in arrival time; null: fewer than two"),
        Column("runs", U64, "", "reordering-free runs (RFC 4737, 4.6)"),
        Column("run_mean_pkts", F64, PKTS, "mean length of a reordering-free run (a/x); null: no run"),
        Column("run_variability_ratio", F64, "", "variability of the lengths of these runs, (q/a)/(a/x); null: no run"),
        Column("density_pkts", U64, PKTS, "packets that the reorder density counts (N' of RFC 5236)"),
        Column("density_beyond_pkts", U64, PKTS, "arrivals beyond the density's threshold, which it counts as lost"),
        Column("mean_displacement_pkts", F64, PKTS, "mean abs(displacement) of the density; null: no packet counted"),
        Column("entropy_nats", F64, "nat", "entropy of the reorder density; null: no packet counted"),
        Column("buffer_mean_pkts", F64, PKTS, "mean buffer occupancy (RFC 5236, 5); null: no packet counted"),
        Column("reordered3_pkts", U64, PKTS, "received packets that came right after three sent later (RFC 4737, 5.3)"),
    ),
)

DENSITIES = TableSchema(
    "densities",
    "Density",
    "Histograms for each scope of `reordering`, one row per bar, without empty bars.",
    (
        FLOW,
        _SCOPE,
        _SCOPE_NUMBER,
        key(
            "kind",
            U8,
            "",
            "0 reorder density, 1 reorder buffer-occupancy density, 2 n-reordering, 3 extent",
            DENSITY_KINDS,
        ),
        key("index", I32, "", "place of the bar: displacement (positive if late), occupancy, n, or extent, in packets"),
        key("pkts", U64, PKTS, "packets of this index; for n-reordering (cumulative), all n-reordered packets"),
    ),
)
