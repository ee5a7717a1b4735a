# SPDX-License-Identifier: Apache-2.0
"""Divide a measurement in the middle of its time. The profile is fitted to the first half and compared with the
second."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np

from leowarp.timeline.recordings.measurement import Measurement, Series, Transfer

_PER_PROBE = ("lost_down", "lost_up", "loss_up_ratio", "steady_ns")
"""In a measurement, these columns have one row per round trip."""


def halves(measurement: Measurement) -> tuple[Measurement, Measurement]:
    """Return the two halves of the measurement, divided at the middle of its time. The clock of each half begins at 0.

    If a file has only the total number of retransmissions, it is divided in proportion to the data of the halves.
    """
    if measurement.transfer is not None:
        first, second = (_transfer(measurement.transfer, late=late) for late in (False, True))
        return replace(measurement, transfer=first), replace(measurement, transfer=second)
    series = measurement.round_trip
    assert series is not None, "probes or a transfer"
    middle_ns = (int(series.t_ns[0]) + int(series.t_ns[-1])) // 2
    cut = int(np.searchsorted(series.t_ns, middle_ns))
    if cut == 0:
        return measurement, measurement
    return _from(measurement, slice(None, cut), 0), _from(measurement, slice(cut, None), int(series.t_ns[cut]))


def _from(measurement: Measurement, chosen: slice, zero_ns: int) -> Measurement:
    """Return some of the measurement's round trips, with `zero_ns` as time 0."""
    series = measurement.round_trip
    assert series is not None
    kept: dict[str, Any] = {}
    for name in _PER_PROBE:
        column = getattr(measurement, name)
        kept[name] = None if column is None else column[chosen]
    ends_ns = int(series.t_ns[chosen][-1])
    for name in ("down", "up"):
        one_way: Series | None = getattr(measurement, name)
        if one_way is not None:
            inside = (one_way.t_ns >= zero_ns) & (one_way.t_ns - zero_ns <= ends_ns)
            kept[name] = _shifted(one_way.take(inside), zero_ns)
    return replace(
        measurement,
        round_trip=_shifted(series.take(chosen), zero_ns),
        wall_ns=None if measurement.wall_ns is None else measurement.wall_ns + zero_ns,
        end_ns=None,
        clock_steps=(),
        **kept,
    )


def _shifted(series: Series, zero_ns: int) -> Series:
    return replace(series, t_ns=series.t_ns - zero_ns)


def _transfer(transfer: Transfer, *, late: bool) -> Transfer:
    middle = len(transfer.t_ns) // 2
    chosen = slice(middle, None) if late else slice(None, middle)
    columns: dict[str, Any] = {
        field.name: getattr(transfer, field.name)[chosen]
        for field in dataclasses.fields(transfer)
        if isinstance(getattr(transfer, field.name), np.ndarray)
    }
    total = transfer.all_retransmissions
    if total is not None:
        bits = transfer.rate_bps * transfer.length_ns
        total = round(total * float(bits[chosen].sum() / max(bits.sum(), 1.0)))
    columns["t_ns"] = columns["t_ns"] - (columns["t_ns"][0] if late and len(columns["t_ns"]) else 0)
    return replace(transfer, all_retransmissions=total, **columns)
