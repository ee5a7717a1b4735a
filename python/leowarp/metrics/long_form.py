# SPDX-License-Identifier: Apache-2.0
"""All metrics of a run in one table, one number per row: `40-metrics.parquet`.

A row has the name, flow, time and unit of its number. Runs with different tables can therefore be combined in one data
frame and compared. docs/reference/tables.md lists the names in the column `metric`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp import scalars
from leowarp.base import plainfiles
from leowarp.metrics.inputs.changes import CHANGE_COLUMNS
from leowarp.metrics.inputs.series import optional, step_at
from leowarp.metrics.inputs.tables import floats
from leowarp.metrics.numbers import Numbers
from leowarp.metrics.over_time import SERIES
from leowarp.metrics.per_flow.reordering import DENSITY_COLUMNS, REORDERING_COLUMNS
from leowarp.metrics.route_changes.causes import CAUSE_COLUMNS
from leowarp.metrics.route_changes.recovery import RECOVERY_COLUMNS
from leowarp.metrics.sharing.shares import LEAST_INDEX, SERIES_NUMBERS, least_index

MOST_STEPS = 50_000
"""Largest number of steps of a path delay that is stored completely. A path delay with more steps comes from a channel,
which has one step per millisecond. For more steps, only the minimum of each second is stored, which is the path's base
delay. The jitter of the channel is contained in the packets' own delays."""

REORDERING_METRICS = {
    "run": ("reordering", None),
    "window": ("reordering_window", "t_ns"),
    "change": ("reordering_change", "change_ns"),
}
"""Scopes of reordering, each with the prefix of its metrics and the column that becomes `t_ns`."""


def long_form(result: Numbers) -> pd.DataFrame:
    """All numbers of a run, one per row.

    result: The metrics of a run; their series are computed here if they are not computed yet.
    Returns: DataFrame with the columns of `LONG_COLUMNS`. The order is: scalars, route changes, recoveries, causes,
        reordering and its histograms, goodput, RTT, shares, path delays. Each part is sorted by flow, and within a flow
        by time.
    """
    pieces = [_scalars(result.summary)]
    pieces += _columns("route_change", result.route_changes, CHANGE_COLUMNS, "t_ns")
    pieces += _columns("recovery", result.recoveries, RECOVERY_COLUMNS, "t_ns")
    is_caused = result.causes["change"].notna()
    pieces += _columns("cause", result.causes[is_caused], CAUSE_COLUMNS, "t_ns")
    # Packets without a cause have the prefix `no_cause`. Their rows have no instant: an instant that is missing would
    # look like a change at an unknown time.
    pieces += _columns("no_cause", result.causes[~is_caused], CAUSE_COLUMNS, None)
    for scope, (prefix, when) in REORDERING_METRICS.items():
        pieces += _columns(prefix, result.reordering[result.reordering["scope"] == scope], REORDERING_COLUMNS, when)
        bars = result.densities[result.densities["scope"] == scope]
        for kind, each in bars.groupby("kind", sort=False):
            t_ns, words = None if when is None else each[when], DENSITY_COLUMNS["share_ratio"][2]
            pieces.append(
                _piece(f"{prefix}.{kind}", each["flow"], t_ns, each["share_ratio"], None, words, each["index"])
            )
    for (flow, series), frame in result.goodput.items():
        name = f"goodput_{series}_bps"
        pieces.append(_piece(name, flow, frame["t_ns"], frame["goodput_bps"], "bit/s", SERIES[name].definition))
    for flow, frame in result.srtt.items():
        words = "the sender's smoothed RTT at t_ns"
        pieces.append(_piece("srtt_us", flow, frame["t_ns"], frame["srtt_us"], "us", words))
    pieces += _shares(result.shares)
    for (source, destination), frame in result.path_delay.items():
        words = f"propagation along the path {source} to {destination} from t_ns on"
        if len(frame) > MOST_STEPS:
            frame = _seconds(frame, result.end_ns)
            words = f"smallest propagation along the path {source} to {destination} in the second from t_ns on"
        pieces.append(_piece("path_delay_ns", None, frame["t_ns"], frame["delay_ns"], "ns", words))
    return _joined(pieces)


@dataclass(frozen=True)
class _Piece:
    """Rows of one metric, or of several metrics, as plain arrays. All pieces are joined only once, at the end. With one
    data frame per metric, creating the table took a fifth of the host's time for a short run.

    metric, unit, definition: One text for all rows, or a list with one text per row.
    flow, t_ns, index: float64 array of shape (rows,), or one number for all rows; nan if a row has no such value.
        Integers in these arrays are small enough to be exact in float64 (`tables.floats`).
    value: float64 array of shape (rows,)
    """

    metric: str | list[str]
    flow: np.ndarray | float
    t_ns: np.ndarray | float
    index: np.ndarray | float
    value: np.ndarray
    unit: str | list[str]
    definition: str | list[str]


def _joined(pieces: Sequence[_Piece]) -> pd.DataFrame:
    """All pieces joined, with pandas' types that allow null integers."""
    lengths = [len(piece.value) for piece in pieces]

    def texts(each: Iterable[str | list[str]]) -> pd.Series:
        # Many rows share a few words, so each distinct word is created only once.
        words: list[str] = []
        repeats: list[int] = []
        for given, length in zip(each, lengths, strict=True):
            words += [given] if isinstance(given, str) else given
            repeats += [length] if isinstance(given, str) else [1] * length
        return pd.Series(pa.array(words, pa.string()).take(np.repeat(np.arange(len(words)), repeats)), dtype="str")

    def integers(each: Iterable[np.ndarray | float], kind: str) -> pd.api.extensions.ExtensionArray:
        whole = [np.broadcast_to(values, length) for values, length in zip(each, lengths, strict=True)]
        numbers = np.concatenate(whole)
        missing = np.isnan(numbers)
        return pd.arrays.IntegerArray(np.where(missing, 0, numbers).astype(kind), missing)

    return pd.DataFrame({
        "metric": texts(piece.metric for piece in pieces),
        "flow": integers((piece.flow for piece in pieces), "int32"),
        "t_ns": integers((piece.t_ns for piece in pieces), "int64"),
        "index": integers((piece.index for piece in pieces), "int32"),
        "value": np.concatenate([piece.value for piece in pieces]),
        "unit": texts(piece.unit for piece in pieces),
        "definition": texts(piece.definition for piece in pieces),
    })  # fmt: skip


def _shares(frame: pd.DataFrame) -> list[_Piece]:
    """Rows of the series of shares. Jain's index has one row per second, while a share has one row per second and
    flow."""
    index = least_index(frame)
    return [
        _piece("share_ratio", frame["flow"], frame["t_ns"], frame["share_ratio"], None, SERIES_NUMBERS["share_ratio"]),
        _piece("jain_index", None, index["t_ns"], index["jain_index"], None, LEAST_INDEX),
    ]


def _seconds(delay: pd.DataFrame, end_ns: int) -> pd.DataFrame:
    """Smallest delay in each second of a step function that has too many steps for a table.

    Returns: DataFrame with `t_ns` (start of each second of the run) and `delay_ns` (nan: no path during the whole
        second).
    """
    grid_ns = np.arange(0, end_ns, 1_000_000_000, dtype="int64")
    # A second begins with the value that is valid at its start. fmin ignores nan (no path) if there is a path in
    # another part of the second.
    at_start = step_at(delay["t_ns"].to_numpy(), floats(delay["delay_ns"]), grid_ns, np.nan)
    place = np.minimum(delay["t_ns"].to_numpy() // 1_000_000_000, len(grid_ns) - 1)
    np.fmin.at(at_start, place, floats(delay["delay_ns"]))
    return pd.DataFrame({"t_ns": grid_ns, "delay_ns": at_start})


def write_long_form(frame: pd.DataFrame, path: Path) -> None:
    """Write the long form as Parquet, with the unit and meaning of each column in the field metadata.

    frame: The result of `long_form(...)`.
    path: `40-metrics.parquet`. An existing file is replaced; a symbolic link is rejected.
    """
    fields = [
        pa.field(name, kind, metadata={"unit": unit, "doc": doc}) for name, (kind, unit, doc) in LONG_COLUMNS.items()
    ]
    # One thread is used: a few thousand rows do not need pyarrow's thread pool, which would compete with the guest of
    # another run.
    table = pa.Table.from_pandas(
        frame, preserve_index=False, schema=pa.schema([(f.name, f.type) for f in fields]), nthreads=1
    )
    plainfiles.refuse_link(path)
    pq.write_table(table.cast(pa.schema(fields, metadata={"leowarp.table": "metrics"})), path, compression="zstd")


def _columns(
    prefix: str, frame: pd.DataFrame, columns: Mapping[str, tuple[str, str | None, str]], when: str | None
) -> list[_Piece]:
    """The numbers of a table, as one piece per column, named `prefix.column`.

    columns: mapping of str to (type, unit, meaning). As in `CHANGE_COLUMNS`. Text columns and key columns are left out
        (`numbers_of`).
    when: The column whose value becomes `t_ns`. None: the numbers describe the whole run.
    """
    if frame.empty:
        return []
    # The columns `flow` and `when` are converted only once, and not once per metric: a few hundred conversions of short
    # series take a tenth of the host's time for a short run.
    flow, t_ns = (None if name not in frame else floats(frame[name]) for name in ("flow", when))
    return [
        _piece(f"{prefix}.{name}", flow, t_ns, frame[name], unit, words)
        for name, (_, unit, words) in numbers_of(columns).items()
    ]


def numbers_of(columns: Mapping[str, tuple[str, str | None, str]]) -> dict[str, tuple[str, str | None, str]]:
    """The columns of a table that are metrics. Text columns, and key columns that identify a row, are left out.

    >>> list(numbers_of({"flow": ("int64", None, ""), "kind": ("object", None, ""), "pkts": ("int64", "pkts", "")}))
    ['pkts']
    """
    return {name: declared for name, declared in columns.items() if declared[0] != "object" and name not in _KEYS}


def _piece(
    metric: str, flow: pd.Series | np.ndarray | int | None, t_ns: pd.Series | np.ndarray | None, value: pd.Series,
    unit: str | None, definition: str, index: pd.Series | None = None,
) -> _Piece:  # fmt: skip
    """Rows of one metric. If `flow` is a single number, this number applies to all rows."""

    def numbers(given: pd.Series | np.ndarray | int | None) -> np.ndarray | float:
        if isinstance(given, pd.Series):
            return floats(given)
        return np.nan if given is None else given

    return _Piece(metric, numbers(flow), numbers(t_ns), numbers(index), floats(value), unit or "", definition)


def _scalars(summary: dict[str, Any]) -> _Piece:
    rows: list[tuple[str, int | None, float | int | None, str, str]] = []
    # The cost of a run is left out, because it differs when the run is repeated.
    left_out = scalars.names(scalars.COSTS)
    for scalar, value in _numbers(summary, scalars.RUN):
        if "." not in scalar.name and scalar.name not in left_out:
            rows.append((f"run.{scalar.name}", None, optional(value), scalar.unit.symbol, scalar.definition))
    for owner, metric in _OBJECTS.items():
        for scalar, value in _numbers(summary, scalars.RUN):
            whole, _, part = scalar.name.partition(".")
            if whole == owner and part:
                rows.append((metric.format(part), None, optional(value), scalar.unit.symbol, scalar.definition))
    for flow in summary["flows"]:
        for scalar, value in _numbers(flow, scalars.of_kind(flow["kind"])):
            if scalar.name != "flow":
                number, unit = flow["flow"], scalar.unit.symbol
                rows.append((f"flow.{scalar.name}", number, optional(value), unit, scalar.definition))
    metrics, flows, values, units, definitions = (list(column) for column in zip(*rows, strict=True))
    return _Piece(
        metrics, np.array(flows, dtype="float64"), np.nan, np.nan, np.array(values, dtype="float64"), units, definitions
    )


def _numbers(summary: dict[str, Any], declared: scalars.Section) -> list[tuple[scalars.Scalar, Any]]:
    """The scalars of a summary, or of one of its flows, that are numbers, in the order in which `scalars` declares
    them."""
    flat = scalars.flat(summary)
    return [(each, flat[each.name]) for each in declared if each.name in flat and not each.unit.is_text]


_OBJECTS = {"fairness": "run.fairness_{}", "drops_by_cause_pkts": "run.drops_{}_pkts"}
"""Nested objects of the summary, each with the pattern for the names of its scalars; rows are in this order."""

_KEYS = ("t_ns", "end_ns", "change_ns", "flow", "number", "change")
"""Columns that identify a row of a table."""

LONG_COLUMNS: dict[str, tuple[pa.DataType, str, str]] = {
    "metric": (
        pa.string(), "", "name; prefixes run., flow., route_change., recovery., cause., no_cause., reordering., "
        "reordering_window., reordering_change. for scalars of those"
    ),
    "flow": (pa.int32(), "", "flow number; null: of the run or of a pair of stations"),
    "t_ns": (
        pa.int64(), "ns", "instant, start of the bin or window, or instant of the route change; null: of the whole run"
    ),
    "index": (pa.int32(), "", "of a density: displacement, occupancy, n or extent in packets; null: of no density"),
    "value": (pa.float64(), "", "the number, in `unit`; null: unknown; truth values are 0 and 1"),
    "unit": (pa.string(), "", "unit of `value`; empty: a count or a ratio"),
    "definition": (pa.string(), "", "what exactly is counted"),
}  # fmt: skip
"""Columns of `40-metrics.parquet`."""
