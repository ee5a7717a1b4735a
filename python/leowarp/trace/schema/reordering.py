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
    "scope", U8, "", "0 the whole run, 1 a window of sending time, 2 around a change of the flow's path", SCOPES
)
_SCOPE_NUMBER = key("number", U31, "", "of the window or of the change, from 0; 0 for the whole run")

REORDERING = TableSchema(
    "reordering",
    "ReorderingRow",
    "Reordering of each flow's first transmissions (RFC 4737, RFC 5236): in the run, in windows, around path changes.",
    (
        FLOW,
        _SCOPE,
        _SCOPE_NUMBER,
        key("t_ns", I64, NS, "first sending time of the scope"),
        key("end_ns", I64, NS, "end of the scope, which is not part of it"),
        Column("sent_pkts", U64, PKTS, "first transmissions sent"),
        Column("received_pkts", U64, PKTS, "of those, arrived, each counted once"),
        Column("lost_pkts", U64, PKTS, "of those, never arrived"),
        Column("reordered_pkts", U64, PKTS, "arrived after one sent later (RFC 4737, 3.3)"),
        Column("extent_mean_pkts", F64, PKTS, "mean reordering extent (RFC 4737, 4.2); null: none reordered"),
        Column("extent_max_pkts", U32, PKTS, "largest reordering extent; null: none reordered"),
        Column("late_time_mean_ns", F64, NS, "mean late time (RFC 4737, 4.3); null: none reordered"),
        Column("late_time_max_ns", I64, NS, "largest late time; null: none reordered"),
        Column("byte_offset_mean_bytes", F64, BYTES, "mean byte offset (RFC 4737, 4.4); null: none reordered"),
        Column("byte_offset_max_bytes", U64, BYTES, "largest byte offset; null: none reordered"),
        Column("discontinuities", U64, "", "reordering discontinuities (RFC 4737, 4.5)"),
        Column("gap_mean_pkts", F64, PKTS, "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"),
        Column("gap_mean_ns", F64, NS, "the same in time of arrival; null: fewer than two"),
        Column("runs", U64, "", "reordering-free runs (RFC 4737, 4.6)"),
        Column("run_mean_pkts", F64, PKTS, "mean length of a run (a/x); null: none"),
        Column("run_variability_ratio", F64, "", "variability of their lengths, (q/a)/(a/x); null: none"),
        Column("density_pkts", U64, PKTS, "packets that the reorder density counts (N' of RFC 5236)"),
        Column("density_beyond_pkts", U64, PKTS, "arrivals that its threshold turned into losses"),
        Column(
            "mean_displacement_pkts", F64, PKTS, "mean of abs(displacement) over the density; null: nothing counted"
        ),
        Column("entropy_nats", F64, "nat", "entropy of the reorder density; null: nothing counted"),
        Column("buffer_mean_pkts", F64, PKTS, "mean buffer occupancy (RFC 5236, 5); null: nothing counted"),
        Column("reordered3_pkts", U64, PKTS, "3-reordered: came right after three sent later (RFC 4737, 5.3)"),
    ),
)

DENSITIES = TableSchema(
    "densities",
    "Density",
    "Histograms of the scopes of `reordering`: each bar that is not 0.",
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
        key("index", I32, "", "displacement in packets (late positive), occupancy in packets, n, extent in packets"),
        key("pkts", U64, PKTS, "packets of that index; of n-reordering all that are n-reordered, so cumulative"),
    ),
)
