# SPDX-License-Identifier: Apache-2.0
"""All results that are computed from one run, as an object.

This class is separate from `compute.py`, so that `long_form.py` can use the results without importing the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from leowarp.metrics.conservation import Balance
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.network.queues import link_use
from leowarp.metrics.per_flow.flows import srtt
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, goodput
from leowarp.metrics.per_flow.reordering import densities, reordering
from leowarp.metrics.sharing.shares import share_series


@dataclass(frozen=True)
class Numbers:
    """All results computed from one run. The summary is computed when the object is created; tables and series are
    computed on demand.

    summary: Scalars of the run and, in `flows`, of each flow; also stored as `summary.json`.
    route_changes: Columns in `CHANGE_COLUMNS`.
    causes: Late, lost and retransmitted packets by route change; columns in `CAUSE_COLUMNS`.
    path_delay: dict of (source, destination) to DataFrame. Propagation delay over time of the path in force.
    balances: The balances of conservation. Every balance in a result holds, because a balance that does not hold raises
        an error.
    warnings: Points to check before the result is trusted.
    end_ns: Length of the run on its own clock.
    pairs: dict of (source, destination) to list of int. Numbers of the flows between two stations.
    recoveries: One row per change and TCP flow; columns in `RECOVERY_COLUMNS`.
    """

    summary: dict[str, Any]
    route_changes: pd.DataFrame
    causes: pd.DataFrame
    path_delay: dict[tuple[str, str], pd.DataFrame]
    balances: list[Balance]
    warnings: list[str]
    end_ns: int
    tables: Tables
    pairs: dict[tuple[str, str], list[int]]
    tcp_flows: tuple[int, ...]
    recoveries: pd.DataFrame
    flows: Sequence[Any]

    # Series are computed on demand, because a study has thousands of runs and needs only their summaries.
    @cached_property
    def links(self) -> pd.DataFrame:
        """One row per direction of a link to which a packet was offered; columns in `LINK_COLUMNS`."""
        return link_use(self.tables, self.end_ns)

    @cached_property
    def goodput(self) -> dict[tuple[int, str], pd.DataFrame]:
        """Goodput of each TCP flow in bins of the sampling interval, for each series of `GOODPUT_SERIES`.

        The keys are (flow number, series), and each frame has `t_ns` and `goodput_bps`.
        """
        return {
            (flow, series): goodput(self.tables, flow, series) for flow in self.tcp_flows for series in GOODPUT_SERIES
        }

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Goodput and share of each TCP flow in each second, and Jain's index; columns as in `share_series`."""
        return share_series(self.tables, self.flows, self.end_ns)

    @cached_property
    def srtt(self) -> dict[int, pd.DataFrame]:
        """Smoothed RTT of each TCP flow at its socket samples, by flow number: `t_ns, srtt_us, held_ns`."""
        return {flow: srtt(self.tables, flow, self.end_ns) for flow in self.tcp_flows}

    @cached_property
    def reordering(self) -> pd.DataFrame:
        """One row per flow and scope (the run, a window, or the time around a change); columns in
        `REORDERING_COLUMNS`."""
        return reordering(self.tables, self.pairs)

    @cached_property
    def densities(self) -> pd.DataFrame:
        """RD, RBD, n-reordering and extents for each row of `reordering`; columns in `DENSITY_COLUMNS`."""
        return densities(self.tables, self.pairs)
