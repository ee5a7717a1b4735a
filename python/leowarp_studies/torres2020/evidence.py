# SPDX-License-Identifier: Apache-2.0
"""Computes numbers that the tests, explanations and figures of several claims use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leowarp import TraceError
from leowarp_studies.torres2020 import simulation
from leowarp_studies.torres2020.runs import PROFILES

NAMES = {"bic": "BIC", "highspeed": "HighSpeed", "westwood": "Westwood", "yeah": "YeAH"}
"""The names of congestion controls in texts."""

Frames = Mapping[str, Any]
"""The data sets of the study by name (`material._frames`). A data set is missing if its runs failed or were not made.

If both exist, `path` and `probes` have the same content. Samples of other TCPs have no `probes`, and do not test claims
about the path. Claims about TCP therefore use `path`."""


def curve(
    transfers: pd.DataFrame, probes: pd.DataFrame, distribution: str, congestion_control: str, profile: str = "linux"
) -> pd.DataFrame:
    """Return one curve of figures 6 to 8, with one row per jitter.

    Columns: `jitter_ms, runs, unfinished, mean_bps, median_bps, q1_bps, q3_bps`. `ratio` is `mean_bps`, divided by the
    mean without jitter. `q1_ratio, median_ratio, q3_ratio` have this divisor too. `mean_displacement_pkts,
    entropy_nats` are from the probe with the row's jitter.

    transfers, probes: The tables from `results.transfers` and `results.probes`.
    distribution, congestion_control, profile: The values by which the curve's transfers are selected.
    Returns: The rows sorted by jitter, which is 0 in the first row. Rates are in bit/s, displacement in packets, and
        entropy in nats.
    Raises TraceError if no transfer without jitter exists for comparison.
    """
    mine = transfers[
        (transfers["distribution"] == distribution)
        & (transfers["congestion_control"] == congestion_control)
        & (transfers["profile"] == profile)
    ]
    # The rows of `grouped` are sorted by jitter. The first row has no jitter. The throughput of every row is divided by
    # the throughput of the first row.
    grouped = mine.groupby("jitter_ns", sort=True)
    rate = grouped["throughput_bps"]
    frame = pd.DataFrame(
        {
            "runs": grouped.size(),
            "unfinished": grouped["finished"].agg(lambda finished: int((~finished).sum())),
            "mean_bps": rate.mean(),
            "median_bps": rate.median(),
            "q1_bps": rate.quantile(0.25),
            "q3_bps": rate.quantile(0.75),
        }
    ).reset_index()
    if not len(frame) or frame["jitter_ns"].iloc[0] != 0:
        what = f"{NAMES[congestion_control]}, {distribution}, {profile}"
        raise TraceError(f"there is no transfer without jitter to compare with ({what})", "make the study's runs anew")
    # As in the study, an algorithm's throughput is relative to the throughput of the same algorithm without jitter.
    undisturbed_bps = float(frame["mean_bps"].iloc[0])
    frame["ratio"] = frame["mean_bps"] / undisturbed_bps
    for name in ("q1", "median", "q3"):
        frame[f"{name}_ratio"] = frame[f"{name}_bps"] / undisturbed_bps
    measured = probes[probes["distribution"] == distribution][["jitter_ns", "mean_displacement_pkts", "entropy_nats"]]
    # Transfers are paired with the probe at the same jitter, as in the study's figures 6 to 8. The reason is that MD
    # and E_r describe the path, not the transfer.
    frame = frame.merge(measured, on="jitter_ns", how="inner")
    frame.insert(0, "jitter_ms", frame["jitter_ns"] / 1e6)
    return frame


def first_below(line: pd.DataFrame, ratio: float) -> pd.Series | None:
    """Return the first point at which a curve is below the share `ratio` of the undisturbed throughput. None means that
    there is no such point.

    line: A result of `curve`.
    ratio: The share, from 0 to 1.
    """
    below = line[line["ratio"] < ratio]
    return None if below.empty else below.iloc[0]


def last_at_or_above(line: pd.DataFrame, ratio: float) -> pd.Series:
    """Return the last point before the curve first falls below `ratio`. If the curve never falls below `ratio`, return
    its last point.

    The curve may rise again later, but its useful range ends at the first fall.
    """
    first = first_below(line, ratio)
    return line.iloc[-1] if first is None else line[line["jitter_ns"] < first["jitter_ns"]].iloc[-1]


def ratios_at(line: pd.DataFrame, column: str, values: np.ndarray) -> np.ndarray:
    """Return the throughput at given values of `column`, as shares of the undisturbed throughput. Values between two
    points are interpolated linearly. The shares are nan outside the curve.

    line: A result of `curve`.
    column: `mean_displacement_pkts` or `entropy_nats`, which both grow with the jitter.
    values: array of shape (n,)
    Returns: float64 array of shape (n,)
    """
    ordered = line.sort_values(column, kind="stable")
    x, y = ordered[column].to_numpy(), ordered["ratio"].to_numpy()
    # Outside the curve the result is nan, because nothing is known about larger or smaller displacements.
    return np.interp(values, x, y, left=np.nan, right=np.nan)


def ratio_at(line: pd.DataFrame, column: str, value: float) -> float:
    """Return the throughput at one value of `column`, as a share of the undisturbed throughput. The result is nan
    outside the curve."""
    return float(ratios_at(line, column, np.array([value]))[0])


def spread_between(lines: Mapping[str, pd.DataFrame], column: str, points: int = 200) -> tuple[float, float]:
    """Return the largest difference between the ratios of the curves, and the value of `column` at which it occurs.
    Only values that all curves cover are compared.

    lines: A dict from name to curve.
    column: The curves are compared at equal values of this column.
    points: The number of values of `column` at which the curves are compared.
    """
    low = max(float(line[column].min()) for line in lines.values())
    high = min(float(line[column].max()) for line in lines.values())
    # Outside the common range of all curves, some curves have no value.
    at = np.linspace(low, high, points)
    ratios = np.array([ratios_at(line, column, at) for line in lines.values()])
    apart = ratios.max(axis=0) - ratios.min(axis=0)
    place = int(np.argmax(apart))
    return float(apart[place]), float(at[place])


def pivot(probes: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table of one metric of the probes, with one row per jitter (the index, in ms) and one column per
    distribution.

    A jitter is left out if any distribution lacks a probe at this jitter.
    """
    table = probes.pivot(index="jitter_ns", columns="distribution", values=column).sort_index().dropna()
    table.index = table.index / 1e6
    return table


def ordered_from_ms(table: pd.DataFrame, order: tuple[str, ...]) -> float | None:
    """Return the smallest jitter from which on the columns are always in strict order. None means that they are not in
    this order at the largest jitter.

    table: A table that `pivot` returned.
    order: The names of the columns, the largest first.

    >>> ordered_from_ms(pd.DataFrame({"a": [1, 3, 4], "b": [2, 2, 2]}, index=[0.5, 1.0, 2.0]), ("a", "b"))
    1.0
    """
    values = table[list(order)].to_numpy()
    # Without jitter, all values are 0. The comparison is strict, because equal values have no order.
    kept = (np.diff(values, axis=1) < 0).all(axis=1)
    broken = np.flatnonzero(~kept)
    if len(broken) == 0:
        return float(table.index[0])
    return None if broken[-1] + 1 == len(table) else float(table.index[broken[-1] + 1])


def simulated_entropy(distribution: str, jitter_ms: float) -> float:
    """Return the simulated E_r of a probe, for the explanation of verdicts."""
    return simulation.measured_pkts_nats(distribution, jitter_ms / 1e3)[1]


def straight_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Fit a line by least squares: (slope, intercept, R squared).

    >>> [round(value, 6) for value in straight_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))]
    [2.0, 1.0, 1.0]
    """
    slope, intercept = np.polyfit(x, y, 1)
    # R2 is 1 minus the residual sum of squares divided by the total sum of squares.
    residual = y - slope * x - intercept
    return float(slope), float(intercept), 1 - float((residual**2).sum() / ((y - y.mean()) ** 2).sum())


def median_of(mechanisms: pd.DataFrame, profile: str, congestion_control: str, jitter_ns: int, column: str) -> float:
    """Return the median of a column over all seeds, for normal jitter. The result is nan if the runs lack the column.

    mechanisms: The table from `results.transfers`, with the runs of several TCPs.
    column: A name in `results.MORE_COLUMNS`.
    """
    mine = mechanisms[
        (mechanisms["profile"] == profile)
        & (mechanisms["congestion_control"] == congestion_control)
        & (mechanisms["distribution"] == "normal")
        & (mechanisms["jitter_ns"] == jitter_ns)
    ]
    return float(mine[column].median()) if column in mine and len(mine) else float("nan")


def sender_did(mechanisms: pd.DataFrame, profile: str, congestion_control: str, jitter_ns: int) -> str:
    """Return a text about how the sender's loss detection reacted in a transfer with normal jitter. The numbers are
    medians over seeds."""

    def median(column: str) -> str:
        value = median_of(mechanisms, profile, congestion_control, jitter_ns, column)
        return "unknown" if np.isnan(value) else f"{value:,.0f}"

    return (
        f"{median('recoveries')} recoveries, {median('undos')} of them taken back, {median('spurious_pkts')} "
        f"spurious retransmissions, {median('lost_pkts')} packets lost"
    )


def profiles_of(mechanisms: pd.DataFrame) -> list[str]:
    """Return the TCPs that have runs, in the order of `PROFILES`."""
    found = set(mechanisms["profile"])
    return [profile for profile in PROFILES if profile in found]


def telling_jitter_ns(mechanisms: pd.DataFrame) -> int:
    """Return the jitter, in ns, at which the study's own transfers collapse. If no run has this jitter, return the
    nearest jitter with runs."""
    # At 0.8585 ms, the study's bic, highspeed and yeah collapse (figure 8).
    return int(min(mechanisms["jitter_ns"].unique(), key=lambda jitter_ns: abs(int(jitter_ns) - 858_500)))
