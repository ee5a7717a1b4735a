# SPDX-License-Identifier: Apache-2.0
"""The reordering of a flow's first transmissions. The guest measures it during the run. The reordering is measured over
the whole run, over windows of sending time, and around each change of the path.

A scope is the run, a window or a change. Each scope has its own sequence, which starts with the first packet sent in
the scope. All windows together may have fewer late packets than the run. For example, packet B of the next window
overtakes packet A. Packet A is then late in neither window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.metrics.inputs.changes import path_changes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import Tables, floats, integers, typed_frame
from leowarp.trace.schema import reordering as schema

SCOPES = tuple(schema.SCOPES.values())
"""The scopes of a sequence. The index of a scope is its number in the tables `reordering` and `densities`."""

DENSITIES = tuple(schema.DENSITY_KINDS.values())
"""The kinds of histogram. The index of a kind is its number in the table `densities`."""

SCALARS = {
    "reordered_ratio": "reordered_ratio",
    "reordered3_ratio": "reordered3_ratio",
    "mean_displacement_pkts": "mean_displacement_pkts",
    "entropy_nats": "entropy_nats",
    "buffer_mean_pkts": "buffer_mean_pkts",
    "reordering_extent_mean_pkts": "extent_mean_pkts",
    "reordering_extent_max_pkts": "extent_max_pkts",
    "late_time_mean_ns": "late_time_mean_ns",
    "late_time_max_ns": "late_time_max_ns",
    "byte_offset_max_bytes": "byte_offset_max_bytes",
    "reordering_discontinuities": "discontinuities",
    "reordering_free_run_mean_pkts": "run_mean_pkts",
    "density_beyond_pkts": "density_beyond_pkts",
}
"""The reordering scalars of a flow in the summary, for the whole run. For each scalar, the value is the name of its
column in `REORDERING_COLUMNS`."""


def reordering(tables: Tables, pairs: Mapping[Pair, Sequence[int]]) -> pd.DataFrame:
    """Return one row per flow and scope, with the columns of `REORDERING_COLUMNS`. The frame is empty if the run did
    not measure reordering.

    pairs: The result of `flow_pairs(plan.flows)`.
    Returns: DataFrame sorted as in the trace: by flow, then by scope (run, windows, changes), then by number.
    """
    frame = tables.reordering
    if len(frame) == 0:
        return typed_frame([], REORDERING_COLUMNS)
    received = floats(frame["received_pkts"])
    made = frame.assign(
        scope=[SCOPES[number] for number in frame["scope"]],
        change_ns=_change_instants(tables, pairs, frame),
        # Implements RFC 4737, 4.1.3 (reordered ratio).
        reordered_ratio=_share(floats(frame["reordered_pkts"]), received),
        # Implements RFC 4737, 5.3 (degree of n-reordering).
        reordered3_ratio=_share(floats(frame["reordered3_pkts"]), received),
    )
    return _typed(made, REORDERING_COLUMNS)


def densities(tables: Tables, pairs: Mapping[Pair, Sequence[int]]) -> pd.DataFrame:
    """Return one row per bar of a histogram, with the columns of `DENSITY_COLUMNS`. The frame is empty if the run did
    not measure reordering.

    Only non-empty bars have rows. The shares of RD add up to 1 in each scope, as do the shares of RBD (RFC 5236, 3.6
    and 3.11).
    """
    if len(tables.densities) == 0:
        return typed_frame([], DENSITY_COLUMNS)
    return _bars(tables, pairs, tables.densities)


def densities_of_scope(
    tables: Tables, pairs: Mapping[Pair, Sequence[int]], scope: str
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the kinds of histograms of a scope, each with its rows of the table `densities`. The kinds are in the order
    of their first rows. The rows come in parts, because a run of 2,000 flows has 6 million rows."""
    frame = tables.densities
    # As int32, the indexes of six million rows take half the memory.
    of_scope = np.flatnonzero(frame["scope"].to_numpy() == SCOPES.index(scope)).astype("int32")
    kinds, firsts = np.unique(frame["kind"].to_numpy()[of_scope], return_index=True)
    for kind in kinds[np.argsort(firsts)]:
        mine = frame.iloc[of_scope[frame["kind"].to_numpy()[of_scope] == kind]]
        for begin, end in _parts([mine[key].to_numpy() for key in ("flow", "number")]):
            yield DENSITIES[kind], _bars(tables, pairs, mine.iloc[begin:end])


_ROWS_AT_ONCE = 1 << 18


def _parts(keys: Sequence[np.ndarray]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of a table. A part has about `_ROWS_AT_ONCE` rows, and all rows with equal
    keys are in the same part. If equal keys are not consecutive, the whole table is one part."""
    rows = len(keys[0])
    is_start = np.zeros(rows, dtype=bool)
    is_start[:1] = True
    for key in keys:
        is_start[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(is_start)
    if pd.DataFrame({place: key[starts] for place, key in enumerate(keys)}).duplicated().any():
        starts = starts[:1]
    begin = 0
    for start in starts.tolist():
        if start - begin >= _ROWS_AT_ONCE:
            yield begin, start
            begin = start
    if rows:
        yield begin, rows


def _bars(tables: Tables, pairs: Mapping[Pair, Sequence[int]], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the result of `densities` for the rows `frame`. For each group of equal flow, scope, number and kind,
    `frame` must contain all rows."""
    keys = ["flow", "scope", "number"]
    whole = frame.groupby([*keys, "kind"])["pkts"].transform("sum").to_numpy(dtype="float64")
    of_scopes = tables.reordering.set_index(keys)[["t_ns", "received_pkts"]]
    of_scope = of_scopes.reindex(pd.MultiIndex.from_frame(frame[keys]))
    # n-reordering is cumulative (a 3-reordered packet is also 2-reordered), so the sum of its bars exceeds the number
    # of packets. The counts of n-reordering are divided by the number of received packets (RFC 4737, 5.3).
    is_n = frame["kind"].to_numpy() == DENSITIES.index("n_reordering")
    made = frame.assign(
        scope=[SCOPES[number] for number in frame["scope"]],
        kind=[DENSITIES[number] for number in frame["kind"]],
        t_ns=integers(of_scope["t_ns"]),
        change_ns=_change_instants(tables, pairs, frame),
        share_ratio=_share(floats(frame["pkts"]), np.where(is_n, floats(of_scope["received_pkts"]), whole)),
    )
    return _typed(made, DENSITY_COLUMNS)


def histogram(bars: pd.DataFrame, flow: int, kind: str, scope: str = "run", number: int = 0) -> pd.DataFrame:
    """Return one histogram from the result of `densities(...)`. The columns are `index, pkts, share_ratio`. Rows are
    sorted by index, and empty bars are left out.

    kind: {"density", "buffer_density", "n_reordering", "extent"}
    scope: {"run", "window", "change"}
    number: The number of the window or of the change, from 0.
    Raises ScenarioError if the kind or scope does not exist.
    """
    refuse_unknown(scope, kind)
    mine = bars[(bars["flow"] == flow) & (bars["kind"] == kind) & (bars["scope"] == scope) & (bars["number"] == number)]
    return mine[["index", "pkts", "share_ratio"]].reset_index(drop=True)


def refuse_unknown(scope: str | None = None, kind: str | None = None) -> None:
    """Check that a scope and a kind of histogram exist. With an unknown name, the result would be empty, as if nothing
    had been measured.

    Raises ScenarioError if one does not exist. The message lists the existing names.
    """
    for name, given, known in (("density", kind, DENSITIES), ("scope of reordering", scope, SCOPES)):
        if given is not None and given not in known:
            raise ScenarioError(f"there is no {name} {given!r:.60}", hint=one_of(given, known))


def reordering_scalars(tables: Tables, flow: int) -> dict[str, Any]:
    """Return the summary's scalars of a flow over the whole run (`SCALARS`). All scalars are None if the run did not
    measure reordering."""
    mine = tables.of_flow("reordering", flow)
    mine = mine[mine["scope"].to_numpy() == SCOPES.index("run")]
    if len(mine) == 0:
        return dict.fromkeys(SCALARS)
    row: dict[str, Any] = {
        name: None if pd.isna(value) else value for name, value in mine.iloc[:1].to_dict("records")[0].items()
    }
    # Implements RFC 4737, 4.1.3 (reordered ratio).
    # Implements RFC 4737, 5.3 (degree of n-reordering).
    for name in ("reordered", "reordered3"):
        row[f"{name}_ratio"] = row[f"{name}_pkts"] / row["received_pkts"] if row["received_pkts"] else None
    scalars = {name: row.get(column) for name, column in SCALARS.items()}
    # pandas converts a column of counts to float64 if a count is missing. The counts are converted back to integers
    # before they are written as JSON.
    return {
        name: int(value) if value is not None and REORDERING_COLUMNS[SCALARS[name]][0] == "Int64" else value
        for name, value in scalars.items()
    }


def _change_instants(
    tables: Tables, pairs: Mapping[Pair, Sequence[int]], frame: pd.DataFrame
) -> pd.arrays.IntegerArray:
    instants = {
        (flow, change.number): change.t_ns
        for pair, flows in pairs.items()
        for change in path_changes(tables, pair)
        for flow in flows
    }
    # The guest records a change only by its number.
    is_change = frame["scope"].to_numpy() == SCOPES.index("change")
    values = [
        instants.get((flow, number)) if of_change else None
        for flow, number, of_change in zip(frame["flow"], frame["number"], is_change, strict=True)
    ]
    return pd.array(values, dtype="Int64")


def _typed(frame: pd.DataFrame, columns: Mapping[str, tuple[str, str | None, str]]) -> pd.DataFrame:
    return frame[list(columns)].astype({name: kind for name, (kind, _, _) in columns.items()}).reset_index(drop=True)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


_SCOPE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "flow": ("int64", None, "flow number"),
    "scope": ("object", None, "run, window (of sending time), or change (the time around a change of the path)"),
    "number": ("int64", None, "number of the window or the change, from 0; 0 for the run"),
}

REORDERING_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    **_SCOPE_COLUMNS,
    "t_ns": ("int64", "ns", "first sending time of the scope"),
    "end_ns": ("int64", "ns", "end of the scope (exclusive)"),
    "change_ns": ("Int64", "ns", "instant of the change; null: the scope is a run or window"),
    "sent_pkts": ("Int64", "pkts", "first transmissions sent"),
    "received_pkts": ("Int64", "pkts", "of these, arrived, each counted once"),
    "lost_pkts": ("Int64", "pkts", "first transmissions that never arrived"),
    "reordered_pkts": ("Int64", "pkts", "received packets that arrived after one sent later (RFC 4737, 3.3)"),
    "reordered_ratio": ("Float64", None, "share of the received packets that were reordered (RFC 4737, 4.1)"),
    "extent_mean_pkts": ("Float64", "pkts", "mean reordering extent (RFC 4737, 4.2); null: no packet was reordered"),
    "extent_max_pkts": ("Int64", "pkts", "largest reordering extent; null: no packet was reordered"),
    "late_time_mean_ns": ("Float64", "ns", "mean late time (RFC 4737, 4.3); null: no packet was reordered"),
    "late_time_max_ns": ("Int64", "ns", "largest late time; null: no packet was reordered"),
    "byte_offset_mean_bytes": ("Float64", "bytes", "mean byte offset (RFC 4737, 4.4); null: no packet was reordered"),
    "byte_offset_max_bytes": ("Int64", "bytes", "largest byte offset; null: no packet was reordered"),
    "discontinuities": ("Int64", None, "reordering discontinuities (RFC 4737, 4.5)"),
    "gap_mean_pkts": ("Float64", "pkts", "mean gap between discontinuities (RFC 4737, 4.5); null: fewer than two"),
    "gap_mean_ns": ("Float64", "ns", "mean gap between discontinuities, in arrival time; null: fewer than two"),
    "runs": ("Int64", None, "reordering-free runs (RFC 4737, 4.6)"),
    "run_mean_pkts": ("Float64", "pkts", "mean length of a reordering-free run (a/x); null: no run"),
    "run_variability_ratio": ("Float64", None, "variability of the lengths of these runs, (q/a)/(a/x); null: no run"),
    "reordered3_pkts": ("Int64", "pkts", "received packets that came right after three sent later (RFC 4737, 5.3)"),
    "reordered3_ratio": ("Float64", None, "share of the received packets that were 3-reordered"),
    "density_pkts": ("Int64", "pkts", "packets that the reorder density counts (N' of RFC 5236)"),
    "density_beyond_pkts": ("Int64", "pkts", "arrivals beyond the density's threshold, which it counts as lost"),
    "mean_displacement_pkts": ("Float64", "pkts", "mean abs(displacement) of the density; null: no packet was counted"),
    "entropy_nats": ("Float64", "nat", "entropy of the reorder density, -sum RD ln RD; null: no packet was counted"),
    "buffer_mean_pkts": ("Float64", "pkts", "mean buffer occupancy (RFC 5236, 5); null: no packet was counted"),
}
"""The columns of the reordering table, each with its type, unit and meaning."""

DENSITY_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    **_SCOPE_COLUMNS,
    "t_ns": REORDERING_COLUMNS["t_ns"],
    "change_ns": REORDERING_COLUMNS["change_ns"],
    "kind": ("object", None, "density (RD), buffer_density (RBD), n_reordering, or extent"),
    "index": ("int64", None, "place of the bar: displacement (positive if late), occupancy or extent in packets, or n"),
    "pkts": ("int64", "pkts", "packets of this index; for n_reordering (cumulative), all n-reordered packets"),
    "share_ratio": ("Float64", None,
        "share of the packets that the density counts (n_reordering: of the received packets; extent: of the reordered "
        "packets)"),
}  # fmt: skip
"""The columns of the histograms, each with its type, unit and meaning."""
