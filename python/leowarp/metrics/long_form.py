# SPDX-License-Identifier: Apache-2.0
"""All metrics of a run in one table, one number per row: `40-metrics.parquet`.

Each row has a number with its name, flow, time and unit. docs/reference/tables.md lists the names in the column
`metric`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp import scalars
from leowarp.base import plainfiles
from leowarp.metrics.inputs.changes import CHANGE_COLUMNS
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import floats
from leowarp.metrics.over_time import SERIES
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, goodput
from leowarp.metrics.per_flow.reordering import DENSITY_COLUMNS, REORDERING_COLUMNS, densities_of_scope
from leowarp.metrics.route_changes.causes import CAUSE_COLUMNS
from leowarp.metrics.route_changes.recovery import RECOVERY_COLUMNS
from leowarp.metrics.sharing.shares import LEAST_INDEX, SERIES_NUMBERS, least_index

if TYPE_CHECKING:
    from leowarp.metrics.numbers import Numbers

MOST_STEPS = 50_000
"""A path delay is stored completely if it has at most this number of steps. Only the delay of a channel has more steps,
because it has one step per millisecond. For a path delay with more steps, only the minimum of each second is stored. It
is the base delay of the path. The jitter of the channel is still in the stored delays of the packets."""

REORDERING_METRICS = {
    "run": ("reordering", None),
    "window": ("reordering_window", "t_ns"),
    "change": ("reordering_change", "change_ns"),
}
"""A dict from reordering scope to the prefix of its metrics and the column that becomes `t_ns`."""


def long_form(result: Numbers) -> pd.DataFrame:
    """Return all numbers of a run, one per row, with the columns of `LONG_COLUMNS`.

    The row order is: scalars, route changes, recoveries, causes, reordering and its histograms, goodput, RTT, shares,
    path delays. Each part is sorted by flow, then by time.
    """
    nullable = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
    return _table(list(_pieces(result))).to_pandas(types_mapper=nullable.get)


def _pieces(result: Numbers) -> Iterator[_Piece]:
    """Yield all numbers of a run in the order of their rows. Most are computed only when the caller asks for them."""
    yield _scalars(result.summary)
    yield from _columns("route_change", result.route_changes, CHANGE_COLUMNS, "t_ns")
    yield from _columns("recovery", result.recoveries, RECOVERY_COLUMNS, "t_ns")
    is_caused = result.causes["change"].notna()
    yield from _columns("cause", result.causes[is_caused], CAUSE_COLUMNS, "t_ns")
    # Packets without a cause have the prefix `no_cause`, and their rows have no instant. With the prefix `cause`, a
    # missing instant would look like a change at an unknown time.
    yield from _columns("no_cause", result.causes[~is_caused], CAUSE_COLUMNS, None)
    for scope, (prefix, when) in REORDERING_METRICS.items():
        yield from _columns(prefix, result.reordering[result.reordering["scope"] == scope], REORDERING_COLUMNS, when)
        words = DENSITY_COLUMNS["share_ratio"][2]
        for kind, bars in densities_of_scope(result.tables, result.pairs, scope):
            t_ns = None if when is None else bars[when]
            yield _piece(f"{prefix}.{kind}", bars["flow"], t_ns, bars["share_ratio"], None, words, bars["index"])
    result.tables.release_large("densities")
    for flow in result.tcp_flows:
        for series in GOODPUT_SERIES:
            # The series of all flows together would take as much memory as the samples of their sockets.
            frame, name = goodput(result.tables, flow, series), f"goodput_{series}_bps"
            yield _piece(name, flow, frame["t_ns"], frame["goodput_bps"], "bit/s", SERIES[name].definition)
    for flow, frame in result.srtt.items():
        words = "the sender's smoothed RTT at t_ns"
        yield _piece("srtt_us", flow, frame["t_ns"], frame["srtt_us"], "us", words)
    shares, words = result.shares, SERIES_NUMBERS["share_ratio"]
    yield _piece("share_ratio", shares["flow"], shares["t_ns"], shares["share_ratio"], None, words)
    index = least_index(shares)
    yield _piece("jain_index", None, index["t_ns"], index["jain_index"], None, LEAST_INDEX)
    for (source, destination), frame in result.path_delay.items():
        words = f"propagation delay of the path {source} to {destination} from t_ns on"
        if len(frame) > MOST_STEPS:
            frame = _seconds(frame, result.end_ns)
            words = f"smallest propagation delay of the path {source} to {destination} in the second from t_ns on"
        yield _piece("path_delay_ns", None, frame["t_ns"], frame["delay_ns"], "ns", words)


@dataclass(frozen=True)
class _Piece:
    """The rows of one or several metrics, as plain arrays. All pieces are joined only once, because one data frame per
    metric is slow.

    metric, unit, definition: One text for all rows, or a list with one text per row.
    flow, t_ns, index: float64 array of shape (rows,), or one number for all rows. nan means that a row has no value.
        All integers are small enough to be exact in float64 (`tables.floats`).
    value: float64 array of shape (rows,)
    """

    metric: str | list[str]
    flow: np.ndarray | float
    t_ns: np.ndarray | float
    index: np.ndarray | float
    value: np.ndarray
    unit: str | list[str]
    definition: str | list[str]

    def rows(self, begin: int, end: int) -> _Piece:
        if (begin, end) == (0, len(self.value)):
            return self
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, list | np.ndarray)}
        shorter: dict[str, Any] = {name: value[begin:end] for name, value in arrays.items()}
        return replace(self, **shorter)


def _table(pieces: Sequence[_Piece]) -> pa.Table:
    """Join all pieces. The field metadata has the unit and meaning of each column. A data frame would need memory for
    two more copies of each text."""
    columns = {name: _texts(pieces, name) for name in ("metric", "unit", "definition")}
    for name in ("flow", "t_ns", "index"):
        values, missing = _integers(pieces, name)
        columns[name] = pa.array(values, mask=missing)
    columns["value"] = pa.array(np.concatenate([piece.value for piece in pieces]), from_pandas=True)
    return pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)


def _texts(pieces: Sequence[_Piece], column: str) -> pa.Array:
    # Many rows share a few words, so each distinct word is created only once.
    words: list[str] = []
    repeats: list[int] = []
    for piece in pieces:
        given, length = getattr(piece, column), len(piece.value)
        words += [given] if isinstance(given, str) else given
        repeats += [length] if isinstance(given, str) else [1] * length
    return pa.array(words, pa.string()).take(pa.array(np.repeat(np.arange(len(words), dtype="int32"), repeats)))


def _integers(pieces: Sequence[_Piece], column: str) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.concatenate([np.broadcast_to(getattr(piece, column), len(piece.value)) for piece in pieces])
    missing = np.isnan(numbers)
    numbers[missing] = 0
    return numbers.astype(LONG_COLUMNS[column][0].to_pandas_dtype()), missing


def _seconds(delay: pd.DataFrame, end_ns: int) -> pd.DataFrame:
    """Return the smallest delay in each second of a step function with too many steps. It is nan if no path exists
    during the whole second."""
    grid_ns = np.arange(0, end_ns, 1_000_000_000, dtype="int64")
    # Each second begins with the delay that is valid at its start. A delay of nan means that there is no path. If a
    # second has a path for only some of the time, fmin ignores the nan.
    at_start = step_at(delay["t_ns"].to_numpy(), floats(delay["delay_ns"]), grid_ns, np.nan)
    place = np.minimum(delay["t_ns"].to_numpy() // 1_000_000_000, len(grid_ns) - 1)
    np.fmin.at(at_start, place, floats(delay["delay_ns"]))
    return pd.DataFrame({"t_ns": grid_ns, "delay_ns": at_start})


def write_long_form(result: Numbers, path: Path) -> None:
    """Write the long form as Parquet.

    Each series is computed only when it is written. All rows of 2,000 flows would take 5 GB. An existing file is
    replaced. A symbolic link is rejected.
    """
    plainfiles.refuse_link(path)
    # The series in long form need neither the table `bins` nor the table `packets`.
    result.tables.release_large("bins", "packets")
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for rows in _row_groups(_pieces(result)):
            writer.write_table(_table(rows))


_GROUP_ROWS = 1 << 20
"""The number of rows of a row group, as in pyarrow's `write_table`."""


def _row_groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each row group. Each group has `_GROUP_ROWS` rows, except the last one."""
    mine: list[_Piece] = []
    free = _GROUP_ROWS
    for piece in pieces:
        begin, length = 0, len(piece.value)
        while length - begin >= free:
            mine.append(piece.rows(begin, begin + free))
            yield mine
            begin, mine, free = begin + free, [], _GROUP_ROWS
        if begin < length:
            mine.append(piece.rows(begin, length))
            free -= length - begin
    if mine:
        yield mine


def _columns(
    prefix: str, frame: pd.DataFrame, columns: Mapping[str, tuple[str, str | None, str]], when: str | None
) -> list[_Piece]:
    """Return one piece per column with numbers, with the name `prefix.column`. The column `when` becomes `t_ns`. None
    means that the numbers describe the whole run."""
    if frame.empty:
        return []
    # In a short run, converting these columns for each metric would take a tenth of the time that the host needs.
    flow, t_ns = (None if name not in frame else floats(frame[name]) for name in ("flow", when))
    return [
        _piece(f"{prefix}.{name}", flow, t_ns, frame[name], unit, words)
        for name, (_, unit, words) in numbers_of(columns).items()
    ]


def numbers_of(columns: Mapping[str, tuple[str, str | None, str]]) -> dict[str, tuple[str, str | None, str]]:
    """Return the columns of a table that are metrics. Text columns and key columns are left out.

    >>> list(numbers_of({"flow": ("int64", None, ""), "kind": ("object", None, ""), "pkts": ("int64", "pkts", "")}))
    ['pkts']
    """
    return {name: declared for name, declared in columns.items() if declared[0] != "object" and name not in _KEYS}


def _piece(
    metric: str, flow: pd.Series | np.ndarray | int | None, t_ns: pd.Series | np.ndarray | None, value: pd.Series,
    unit: str | None, definition: str, index: pd.Series | None = None,
) -> _Piece:  # fmt: skip
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
            rows.append((f"run.{scalar.name}", None, value, scalar.unit.symbol, scalar.definition))
    for owner, metric in _OBJECTS.items():
        for scalar, value in _numbers(summary, scalars.RUN):
            whole, _, part = scalar.name.partition(".")
            if whole == owner and part:
                rows.append((metric.format(part), None, value, scalar.unit.symbol, scalar.definition))
    for flow in summary["flows"]:
        for scalar, value in _numbers(flow, scalars.of_kind(flow["kind"])):
            if scalar.name != "flow":
                number, unit = flow["flow"], scalar.unit.symbol
                rows.append((f"flow.{scalar.name}", number, value, unit, scalar.definition))
    metrics, flows, values, units, definitions = (list(column) for column in zip(*rows, strict=True))
    return _Piece(
        metrics, np.array(flows, dtype="float64"), np.nan, np.nan, np.array(values, dtype="float64"), units, definitions
    )


def _numbers(summary: dict[str, Any], declared: scalars.Section) -> list[tuple[scalars.Scalar, Any]]:
    """Return the numeric scalars of a summary or of one of its flows, in the order of `scalars`."""
    flat = scalars.flat(summary)
    return [(each, flat[each.name]) for each in declared if each.name in flat and not each.unit.is_text]


_OBJECTS = {"fairness": "run.fairness_{}", "drops_by_cause_pkts": "run.drops_{}_pkts"}
"""The nested objects of the summary. Each value is a pattern, from which the names of the object's scalars are made.
The rows have this order."""

_KEYS = ("t_ns", "end_ns", "change_ns", "flow", "number", "change")
"""These columns together identify a row of a table."""

LONG_COLUMNS: dict[str, tuple[pa.DataType, str, str]] = {
    "metric": (
        pa.string(), "", "name of the value. Names of series have no prefix; the others begin with run., flow., "
        "route_change., recovery., cause., no_cause., reordering., reordering_window. or reordering_change."
    ),
    "flow": (pa.int32(), "", "flow number; null: a value of the run or of a pair of stations"),
    "t_ns": (
        pa.int64(), "ns",
        "instant of the sample or route change, or start of the bin or window; null: a value of the whole run",
    ),
    "index": (pa.int32(), "", "for histograms: displacement, occupancy or extent in packets, or n; null: no histogram"),
    "value": (pa.float64(), "", "the number, in `unit` (false and true are 0 and 1); null: unknown"),
    "unit": (pa.string(), "", "unit of `value`; empty: a count or a ratio"),
    "definition": (pa.string(), "", "exact definition of the value"),
}  # fmt: skip
"""The columns of `40-metrics.parquet`."""

_SCHEMA = pa.schema(
    [pa.field(name, kind, metadata={"unit": unit, "doc": doc}) for name, (kind, unit, doc) in LONG_COLUMNS.items()],
    metadata={"leowarp.table": "metrics"},
)
