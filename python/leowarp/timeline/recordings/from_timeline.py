# SPDX-License-Identifier: Apache-2.0
"""Converts the tables of a link in a timeline into a measurement, as if periodic probes had measured the link."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.description import PROBE_EVERY_NS
from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Measurement, Series


def measurement_of_timeline(
    table: pa.Table, source: str, duration_ns: int, *, down: tuple[str, str], wall_ns: int | None = None
) -> Measurement:
    """Return the measurement of a link that has tables in the timeline. Both directions are included.

    down: (str, str). The two nodes of the downlink, the sender first.
    Raises ScenarioError if the link has no tables.
    """
    t_ns = np.arange(0, duration_ns, PROBE_EVERY_NS, dtype=np.int64)
    ways = {name: _series(table, ends, t_ns) for name, ends in (("down", down), ("up", down[::-1]))}
    if all(way is None for way in ways.values()):
        raise ScenarioError(f"{source}: no link of it follows a table", "its events: leowarp timeline " + source)
    return Measurement(
        source=source,
        format="timeline",
        down=ways["down"],
        up=ways["up"],
        capacity_down=_capacity(table, down, duration_ns),
        capacity_up=_capacity(table, down[::-1], duration_ns),
        probes=False,
        end_ns=duration_ns,
        wall_ns=wall_ns,
    )


def _series(table: pa.Table, ends: tuple[str, str], t_ns: np.ndarray) -> Series | None:
    rows = _rows(table, "channel", ends)
    if not len(rows):
        return None
    place = np.searchsorted(rows["t_ns"].to_numpy(), t_ns, side="right") - 1
    loss_ratio = rows["loss_ratio"].to_numpy()[place]
    lost = loss_ratio >= 1
    # A loss ratio between 0 and 1 is a probability, so it is unknown which packets are lost. A loss ratio between 0 and
    # 1 therefore stays a ratio; only a ratio of 1 becomes a lost probe.
    delay_ns = np.where(lost, np.nan, rows["delay_ns"].to_numpy()[place].astype(np.float64))
    return Series(t_ns=t_ns, delay_ns=delay_ns, lost=lost, cut=np.zeros_like(lost), loss_ratio=loss_ratio)


def _capacity(table: pa.Table, ends: tuple[str, str], end_ns: int) -> Capacity | None:
    rows = _rows(table, "capacity", ends)
    if not len(rows):
        return None
    rate_bps = pc.fill_null(rows["rate_bps"], UNSHAPED).to_numpy()
    return Capacity(t_ns=rows["t_ns"].to_numpy(), rate_bps=rate_bps, end_ns=end_ns)


def _rows(table: pa.Table, event: str, ends: tuple[str, str]) -> pa.Table:
    return table.filter((pc.field("event") == event) & (pc.field("a") == ends[0]) & (pc.field("b") == ends[1]))
