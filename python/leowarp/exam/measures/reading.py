# SPDX-License-Identifier: Apache-2.0
"""Reads a run's tables for the measures. A measured value also has the packet or sample that decided it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp import metrics
from leowarp.metrics.sharing.capacity import mean_in_bins
from leowarp.results.run import Run

SECOND_NS = 1_000_000_000
BIN_NS = 50_000_000
"""The length in ns of a bin. A bin is a row of the table `bins`."""


@dataclass(frozen=True)
class Measured:
    """A measured value, and the packet or sample on which it is based.

    value: The value in the base unit of the measure. None means that the run never reached the value, or that there was
        nothing to measure.
    decided: The packet or sample that determined `value`, as text, with its time `at_ns` on the run's clock.
    """

    value: float | None
    decided: str
    at_ns: int | None = None


def received_bytes(run: Run, flow: int, t_ns: np.ndarray) -> np.ndarray:
    """Return the bytes that a flow has received until each time in `t_ns`, as a float64 array of the same shape. For a
    TCP flow, these are in-order bytes. For any other flow, all payload bytes that arrived are counted.

    Values between samples are interpolated, as in `metrics.goodput`.
    """
    if run.plan.flows[flow].kind == "tcp":
        at_ns, received = metrics.counter(run.tables, flow, "in_order")
    else:
        rows = data_bins(run, flow)
        at_ns = rows["t_ns"].to_numpy(dtype="int64") + BIN_NS
        received = np.cumsum(rows["delivered_bytes"].to_numpy(dtype="float64"))
    start_ns = run.plan.flows[flow].start_ns
    later = at_ns > start_ns
    return np.interp(t_ns, np.append(start_ns, at_ns[later]), np.append(0.0, received[later]))


def rates_bps(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    """Return the in-order goodput of a flow between successive edges, in bit/s. The float64 array has shape (n,) for n
    + 1 edges."""
    return np.diff(received_bytes(run, flow, edges_ns)) * 8e9 / np.diff(edges_ns)


def capacities_bps(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    """Return the mean payload rate, in bit/s, that the flow's path allows between two successive edges. Segments are
    full. The rate is nan where there is no limit."""
    ends = run.plan.flows[flow]
    pair = (ends.source, ends.destination)
    overhead = metrics.overhead_bytes(run.tables, pair)
    network = run.plan.network
    share = metrics.payload_ratio(run.tables, flow, overhead, network.mtu_bytes, network.ip_header_bytes)
    return mean_in_bins(run.tables, pair, edges_ns) * share


def capacity_bps(run: Run, flow: int, from_ns: int, until_ns: int) -> float:
    """Return the mean capacity of the flow's path in an interval, as payload of full segments in bit/s."""
    return float(capacities_bps(run, flow, np.array([from_ns, until_ns]))[0])


def data_bins(run: Run, flow: int) -> pd.DataFrame:
    """Return the rows of `bins` with data packets of a flow, sorted by time."""
    rows = run.bins(flow)
    return rows[rows["direction"] == "data"].reset_index(drop=True)


def whole_seconds(from_ns: int, until_ns: int) -> np.ndarray:
    """Return the edges of the whole seconds within an interval, in ns. If there is no whole second, the result contains
    `from_ns` and `until_ns`."""
    edges = np.arange(-(-from_ns // SECOND_NS), until_ns // SECOND_NS + 1) * SECOND_NS
    return edges if len(edges) > 1 else np.array([from_ns, until_ns])


def mbps(rate_bps: float) -> str:
    """Return a rate in Mbit/s as text.

    >>> mbps(19_128_137.4), mbps(93_000.0)
    ('19.1 Mbit/s', '0.093 Mbit/s')
    """
    return f"{rate_bps / 1e6:.3g} Mbit/s"


def at(t_ns: int) -> str:
    """Return a time in s as text.

    >>> at(12_345_678_901)
    '12.346 s'
    """
    return f"{t_ns / 1e9:.3f} s"
