# SPDX-License-Identifier: Apache-2.0
"""All metrics of a run in one table, one number a row: `40-metrics.parquet`.

A row says what its number is, of which flow, when, and in which unit, so that runs of any kind can be put into one data
frame and compared without knowing which tables they have. docs/reference/tables.md lists the names of `metric`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp import plainfiles, scalars
from leowarp.metrics.causes import CAUSE_COLUMNS
from leowarp.metrics.changes import CHANGE_COLUMNS
from leowarp.metrics.numbers import Numbers
from leowarp.metrics.over_time import SERIES
from leowarp.metrics.recovery import RECOVERY_COLUMNS
from leowarp.metrics.reordering import DENSITY_COLUMNS, REORDERING_COLUMNS
from leowarp.metrics.series import optional, step_at
from leowarp.metrics.shares import SERIES_NUMBERS
from leowarp.metrics.tables import floats

MOST_STEPS = 50_000
"""A path delay with more steps is a channel's, one a millisecond: of it the smallest of each second is kept,
the path's base; what packets met on top of it is in their own delays."""

REORDERING_METRICS = {
    "run": ("reordering", None),
    "window": ("reordering_window", "t_ns"),
    "change": ("reordering_change", "change_ns"),
}
"""Scopes of reordering: the prefix of their metrics, and the column that becomes `t_ns`."""


def long_form(result: Numbers) -> pd.DataFrame:
    """All numbers of a run, one a row.

    Parameters
    ----------
    result : Numbers
        Its series are computed here, if nobody has asked for them yet.

    Returns
    -------
    DataFrame with the columns of `LONG_COLUMNS`: scalars, route changes, recoveries, causes, reordering and its
    histograms, goodput, RTT, shares, path delays, in this order; each of them by flow, and within a flow by time.
    """
    frames = [_scalars(result.summary)]
    frames += _columns("route_change", result.route_changes, CHANGE_COLUMNS, "t_ns")
    frames += _columns("recovery", result.recoveries, RECOVERY_COLUMNS, "t_ns")
    is_caused = result.causes["change"].notna()
    frames += _columns("cause", result.causes[is_caused], CAUSE_COLUMNS, "t_ns")
    # A prefix of its own: these have no instant, and must not be taken for a change whose time is unknown.
    frames += _columns("no_cause", result.causes[~is_caused], CAUSE_COLUMNS, None)
    for scope, (prefix, when) in REORDERING_METRICS.items():
        frames += _columns(prefix, result.reordering[result.reordering["scope"] == scope], REORDERING_COLUMNS, when)
        bars = result.densities[result.densities["scope"] == scope]
        for kind, each in bars.groupby("kind", sort=False):
            t_ns, words = None if when is None else each[when], DENSITY_COLUMNS["share_ratio"][2]
            frames.append(
                _piece(f"{prefix}.{kind}", each["flow"], t_ns, each["share_ratio"], None, words, each["index"])
            )
    goodput = [(f"goodput_{series}_bps", flow, frame) for (flow, series), frame in result.goodput.items()]
    definitions = {name: SERIES[name].definition for name, _, _ in goodput}
    frames.append(_series(goodput, "goodput_bps", "bit/s", definitions))
    srtt = [("srtt_us", flow, frame) for flow, frame in result.srtt.items()]
    frames.append(_series(srtt, "srtt_us", "us", {"srtt_us": "the sender's smoothed RTT at t_ns"}))
    frames += _shares(result.shares)
    for (source, destination), frame in result.path_delay.items():
        words = f"propagation along the path {source} to {destination} from t_ns on"
        if len(frame) > MOST_STEPS:
            frame = _seconds(frame, result.end_ns)
            words = f"smallest propagation along the path {source} to {destination} in the second from t_ns on"
        frames.append(_piece("path_delay_ns", None, frame["t_ns"], frame["delay_ns"], "ns", words))
    # Types of pandas that hold null beside integers; pieces without rows would make columns of type object.
    kinds = {"metric": "str", "flow": "Int32", "t_ns": "Int64", "index": "Int32", "value": "float64", "unit": "str",
             "definition": "str"}  # fmt: skip
    # Empty pieces are left out: pandas would let them decide on the types of the whole (FutureWarning, an error in our
    # tests).
    return pd.concat([frame.astype(kinds) for frame in frames if len(frame)], ignore_index=True)


def _shares(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The series of shares; the index once a second, not once a flow."""
    first = frame.drop_duplicates("t_ns").sort_values("t_ns")
    return [
        _piece("share_ratio", frame["flow"], frame["t_ns"], frame["share_ratio"], None, SERIES_NUMBERS["share_ratio"]),
        _piece("jain_index", None, first["t_ns"], first["jain_index"], None, SERIES_NUMBERS["jain_index"]),
    ]


def _seconds(delay: pd.DataFrame, end_ns: int) -> pd.DataFrame:
    """Smallest delay in each second, of a step function with more steps than a table should have.

    Returns
    -------
    DataFrame with `t_ns` (start of each second of the run) and `delay_ns` (nan: no path all the second long).
    """
    grid_ns = np.arange(0, end_ns, 1_000_000_000, dtype="int64")
    # What holds at a second's start belongs to it too. fmin leaves nan (no path) out where there is a path as well.
    at_start = step_at(delay["t_ns"].to_numpy(), floats(delay["delay_ns"]), grid_ns, np.nan)
    place = np.minimum(delay["t_ns"].to_numpy() // 1_000_000_000, len(grid_ns) - 1)
    np.fmin.at(at_start, place, floats(delay["delay_ns"]))
    return pd.DataFrame({"t_ns": grid_ns, "delay_ns": at_start})


def write_long_form(frame: pd.DataFrame, path: Path) -> None:
    """Writes the long form as Parquet; units and meaning of each column go into the field metadata.

    Parameters
    ----------
    frame : DataFrame
        `long_form(...)`.
    path : Path
        `40-metrics.parquet`; a file that is there is replaced, a link is refused.
    """
    fields = [
        pa.field(name, kind, metadata={"unit": unit, "doc": doc}) for name, (kind, unit, doc) in LONG_COLUMNS.items()
    ]
    # One thread: a few thousand rows are not worth pyarrow's pool of threads, which another run's guest competes with.
    table = pa.Table.from_pandas(
        frame, preserve_index=False, schema=pa.schema([(f.name, f.type) for f in fields]), nthreads=1
    )
    plainfiles.refuse_link(path)
    pq.write_table(table.cast(pa.schema(fields, metadata={"leowarp.table": "metrics"})), path, compression="zstd")


def _columns(
    prefix: str, frame: pd.DataFrame, columns: Mapping[str, tuple[str, str | None, str]], when: str | None
) -> list[pd.DataFrame]:
    """The numbers of a table, a piece a column, named `prefix.column`.

    Parameters
    ----------
    columns : mapping of str to (type, unit, meaning)
        As in `CHANGE_COLUMNS`; what is text or a key there is left out (`numbers_of`).
    when : str or None
        The column that becomes `t_ns`; None: the numbers are of the whole run.
    """
    return [
        _piece(f"{prefix}.{name}", frame.get("flow"), None if when is None else frame[when], frame[name], unit, words)
        for name, (_, unit, words) in numbers_of(columns).items()
    ]


def numbers_of(columns: Mapping[str, tuple[str, str | None, str]]) -> dict[str, tuple[str, str | None, str]]:
    """The columns of a table that are metrics of their own: neither words nor what says which row it is.

    Examples
    --------
    >>> list(numbers_of({"flow": ("int64", None, ""), "kind": ("object", None, ""), "pkts": ("int64", "pkts", "")}))
    ['pkts']
    """
    return {name: declared for name, declared in columns.items() if declared[0] != "object" and name not in _KEYS}


def _piece(
    metric: str, flow: Any, t_ns: Any, value: pd.Series, unit: str | None, definition: str, index: Any = None
) -> pd.DataFrame:
    """Rows of one metric; `flow`, `t_ns` and `index` are a series as long as `value`, one value for all, or None."""
    columns = {"metric": metric, "flow": flow, "t_ns": t_ns, "index": index, "value": floats(value),
               "unit": unit or "", "definition": definition}  # fmt: skip
    return pd.DataFrame(columns, index=value.index)


def _series(
    series: Sequence[tuple[str, int, pd.DataFrame]], column: str, unit: str, definitions: Mapping[str, str]
) -> pd.DataFrame:
    """Rows of many series, each given as its metric, its flow and a frame with `t_ns` and `column`.

    One frame for all of them: a run may have a thousand flows.
    """
    lengths = [len(frame) for _, _, frame in series]

    def repeated(values: list[Any]) -> np.ndarray:
        return np.repeat(np.array(values, dtype=object), lengths)

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays) if arrays else np.empty(0)

    return pd.DataFrame({
        "metric": repeated([metric for metric, _, _ in series]),
        "flow": repeated([flow for _, flow, _ in series]),
        "t_ns": joined([frame["t_ns"].to_numpy() for _, _, frame in series]),
        "index": None,
        "value": joined([floats(frame[column]) for _, _, frame in series]),
        "unit": unit,
        "definition": repeated([definitions[metric] for metric, _, _ in series]),
    })  # fmt: skip


def _scalars(summary: dict[str, Any]) -> pd.DataFrame:
    """The numbers of the summary, one a row."""
    rows: list[tuple[str, int | None, float | int | None, str, str]] = []
    # What a run cost is another number each time that it is made.
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
    frame = pd.DataFrame(rows, columns=["metric", "flow", "value", "unit", "definition"])
    return frame.assign(t_ns=np.nan, index=np.nan)[list(LONG_COLUMNS)]


def _numbers(summary: dict[str, Any], declared: scalars.Section) -> list[tuple[scalars.Scalar, Any]]:
    """The scalars of a summary, or of one of its flows, that are numbers, in the order in which they are declared."""
    flat = scalars.flat(summary)
    return [(each, flat[each.name]) for each in declared if each.name in flat and not each.unit.is_text]


_OBJECTS = {"fairness": "run.fairness_{}", "drops_by_cause_pkts": "run.drops_{}_pkts"}
"""Objects of the summary, in the order of their rows, and what each of their scalars is called there."""

_KEYS = ("t_ns", "end_ns", "change_ns", "flow", "number", "change")
"""Columns that say which row of a table it is."""

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
