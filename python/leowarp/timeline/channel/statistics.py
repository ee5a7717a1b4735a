# SPDX-License-Identifier: Apache-2.0
"""The statistics of a power series as a table, next to the values that the model predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.timeline.channel.lms import LandMobile, PowerSeries
from leowarp.timeline.channel.loo import mixture_quantile_db

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
LEVELS_DB = tuple(range(-30, 4))
LAGS_PER_DECADE = 8

COLUMNS = {
    "statistic": "state_share, dwell, visits, quantile, mean_power, crossing_rate, fade_duration or autocorrelation",
    "state": "the state that it is of; null: all",
    "at": "where it is taken: share of time (quantile), dB (crossings), s (autocorrelation); else null",
    "value": "measured on the series; null where it is not defined",
    "closed_form": "what the model gives, where that is known; slopes between states are left out of it",
    "unit": "of value and closed_form; empty: a ratio or a number",
}


def statistics(power: PowerSeries, channel: LandMobile | None = None) -> pa.Table:
    """Return a table with one row per statistic. Each of the columns `COLUMNS` is explained in the metadata of its
    field. Only with `channel` are there predicted values."""
    rows = [*state_rows(power, channel), *_levels(power, channel), *_crossings(power), *_autocorrelation(power)]
    types = {"statistic": pa.string(), "state": pa.string(), "unit": pa.string()}
    fields = [pa.field(name, types.get(name, pa.float64()), metadata={"doc": doc}) for name, doc in COLUMNS.items()]
    return pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows], schema=pa.schema(fields))


Row = tuple[str, str | None, float | None, float | None, float | None, str]


def state_rows(power: PowerSeries, channel: LandMobile | None) -> list[Row]:
    """Return the rows about the states of the channel: `state_share`, `dwell`, `visits`."""
    names = power.state_names
    shares = np.bincount(power.states, minlength=len(names)) / len(power.states)
    borders = np.concatenate(([0], np.flatnonzero(np.diff(power.states)) + 1, [len(power.states)]))
    stays = power.states[borders[:-1]]
    lengths_s = np.diff(borders) * power.spacing_ns * 1e-9
    # The series begins and ends within a stay, so the lengths of the first and the last stay are unknown.
    whole = slice(1, -1)
    model = channel.model() if channel is not None else None
    rows: list[Row] = []
    for index, name in enumerate(names):
        own = lengths_s[whole][stays[whole] == index]
        share = float(model.way_shares[index]) if model is not None else None
        dwell_s = None
        if channel is not None and model is not None and channel.speed_m_per_s > 0:
            dwell_m = float(model.dwells_m[index])
            dwell_s = dwell_m / channel.speed_m_per_s if math.isfinite(dwell_m) else None
        rows.append(("state_share", name, None, float(shares[index]), share, ""))
        rows.append(("dwell", name, None, float(own.mean()) if len(own) else None, dwell_s, "s"))
        rows.append(("visits", name, None, float(len(own)), None, ""))
    return rows


def _levels(power: PowerSeries, channel: LandMobile | None) -> list[Row]:
    levels_db = np.quantile(power.level_db, SHARES)
    model = channel.model() if channel is not None else None
    # Powers are averaged, not levels in dB, because the mean of levels corresponds to a geometric mean of powers.
    mean_db = 10 * math.log10(float(np.mean(10 ** (power.level_db.astype(np.float64) / 10))))
    if model is None:
        expected: list[float | None] = [None] * (len(SHARES) + 1)
    else:
        states, shares = model.environment.states, model.way_shares
        mean = sum(share * state.mean_power for share, state in zip(shares.tolist(), states, strict=True))
        expected = [*(mixture_quantile_db(states, shares, share) for share in SHARES), 10 * math.log10(mean)]
    rows: list[Row] = [
        ("quantile", None, share, float(level), closed, "dB")
        # `expected` has one value for each quantile, and one more value for the mean power. The row of the mean power
        # is added below.
        for share, level, closed in zip(SHARES, levels_db, expected, strict=False)
    ]
    return [*rows, ("mean_power", None, None, mean_db, expected[-1], "dB")]


def _crossings(power: PowerSeries) -> list[Row]:
    rows: list[Row] = []
    for level in LEVELS_DB:
        rate, duration = crossings(power, float(level))
        rows.append(("crossing_rate", None, float(level), None if power.frozen else rate, None, "1/s"))
        rows.append(("fade_duration", None, float(level), duration, None, "s"))
    return rows


def crossings(power: PowerSeries, level_db: float) -> tuple[float, float | None]:
    """Return the downward crossings of a level per second, and the mean duration of a fade in s. The duration is None
    if the power never falls below the level."""
    below = power.level_db < level_db
    # A fade that is under way at the start is not counted, because it began before the series.
    falls = int(np.count_nonzero(below[1:] & ~below[:-1]))
    duration_s = power.duration_ns * 1e-9
    if not falls:
        return 0.0, None
    return falls / duration_s, float(below.mean()) * duration_s / falls


def _autocorrelation(power: PowerSeries) -> list[Row]:
    # The lags, in samples, are from 1 to a tenth of the series. A decade contains about `LAGS_PER_DECADE` lags.
    decades = math.log10(max(1, len(power.level_db) // 10))
    lags = np.unique(np.round(np.logspace(0, decades, 1 + int(LAGS_PER_DECADE * decades + 1))).astype(int)).tolist()
    values = autocorrelation(power.level_db, lags)
    return [
        ("autocorrelation", None, float(lag * power.spacing_ns * 1e-9), value, None, "")
        for lag, value in zip(lags, values, strict=True)
    ]


def autocorrelation(values: NDArray[np.floating], lags: Sequence[int]) -> list[float | None]:
    """Return the autocovariance of the values at each lag, divided by the variance. The results are None if the values
    are constant."""
    centred = values.astype(np.float64) - values.mean(dtype=np.float64)
    variance = float(np.mean(centred * centred))
    if variance == 0:
        return [None] * len(lags)
    return [float(np.mean(centred[: len(centred) - lag] * centred[lag:])) / variance for lag in lags]
