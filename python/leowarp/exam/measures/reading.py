# SPDX-License-Identifier: Apache-2.0
"""A measured number with the packet or sample that decided it, and functions that read the tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp import metrics
from leowarp.metrics.sharing.capacity import mean_in_bins
from leowarp.results.run import Run

SECOND_NS = 1_000_000_000
BIN_NS = 50_000_000
"""Length of a bin, which is a row of `bins`."""


@dataclass(frozen=True)
class Measured:
    """A number, and the packet or sample that decided it.

    value: Value in the unit of its measure. None if it was never reached, or if there was nothing to measure.
    decided: The deciding packet or sample, as text.
    at_ns: Time of that packet or sample, on the run's clock.
    """

    value: float | None
    decided: str
    at_ns: int | None = None


def received_bytes(run: Run, flow: int, t_ns: np.ndarray) -> np.ndarray:
    """Bytes received by time `t_ns`, as a float64 array of the shape of `t_ns`: in-order bytes of a TCP flow, or
    arrived payload of another flow.

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
    # A flow has received nothing when it starts.
    return np.interp(t_ns, np.append(start_ns, at_ns[later]), np.append(0.0, received[later]))


def rates_bps(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    """In-order goodput of a flow between edges, bit/s; float64 array of shape (n,) for n + 1 edges."""
    return np.diff(received_bytes(run, flow, edges_ns)) * 8e9 / np.diff(edges_ns)


def capacities_bps(run: Run, flow: int, edges_ns: np.ndarray) -> np.ndarray:
    """Payload rate between edges that the flow's path allows with full segments, in bit/s; nan where it is
    unlimited."""
    ends = run.plan.flows[flow]
    pair = (ends.source, ends.destination)
    overhead = metrics.overhead_bytes(run.tables, pair)
    network = run.plan.network
    share = metrics.payload_ratio(run.tables, flow, overhead, network.mtu_bytes, network.ip_header_bytes)
    return mean_in_bins(run.tables, pair, edges_ns) * share


def capacity_bps(run: Run, flow: int, from_ns: int, until_ns: int) -> float:
    """Mean payload rate that the flow's path allows over one interval, in bit/s."""
    return float(capacities_bps(run, flow, np.array([from_ns, until_ns]))[0])


def data_bins(run: Run, flow: int) -> pd.DataFrame:
    """Rows of `bins` that contain data of a flow, in chronological order."""
    rows = run.bins(flow)
    return rows[rows["direction"] == "data"].reset_index(drop=True)


def whole_seconds(from_ns: int, until_ns: int) -> np.ndarray:
    """Edges of the whole seconds in an interval. If the interval contains no whole second, the edges are its ends."""
    edges = np.arange(-(-from_ns // SECOND_NS), until_ns // SECOND_NS + 1) * SECOND_NS
    return edges if len(edges) > 1 else np.array([from_ns, until_ns])


def mbps(rate_bps: float) -> str:
    """A rate as text.

    >>> mbps(19_128_137.4), mbps(93_000.0)
    ('19.1 Mbit/s', '0.093 Mbit/s')
    """
    return f"{rate_bps / 1e6:.3g} Mbit/s"


def at(t_ns: int) -> str:
    """A time as text.

    >>> at(12_345_678_901)
    '12.346 s'
    """
    return f"{t_ns / 1e9:.3f} s"
