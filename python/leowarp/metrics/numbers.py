# SPDX-License-Identifier: Apache-2.0
"""The results that are computed from one run, as an object.

The class is not in `compute.py`, so that `long_form.py` need not import the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from leowarp.metrics.conservation import Balance
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.network.queues import link_use
from leowarp.metrics.per_flow.flows import srtt
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, goodput
from leowarp.metrics.per_flow.reordering import densities, reordering
from leowarp.metrics.sharing.shares import share_series


@dataclass(frozen=True)
class Numbers:
    """The results that are computed from one run. The summary is computed immediately. Tables and series are computed
    on demand.

    summary: The scalars of the run. Its entry `flows` has the scalars of each flow. `summary.json` stores them too.
    route_changes: The route changes, with the columns of `CHANGE_COLUMNS`.
    causes: The late, lost and retransmitted packets by route change, with the columns of `CAUSE_COLUMNS`.
    path_delay: For each pair of stations, the propagation delay of the path in use over time.
    balances: The balances of conservation. All balances hold, because a broken balance raises an error.
    warnings: The points to check before the result is trusted.
    end_ns: The length of the run on its own clock.
    pairs: For each pair of stations, the numbers of the flows between them.
    recoveries: One row per change and TCP flow, with the columns of `RECOVERY_COLUMNS`.
    """

    summary: dict[str, Any]
    route_changes: pd.DataFrame
    causes: pd.DataFrame
    path_delay: dict[Pair, pd.DataFrame]
    balances: list[Balance]
    warnings: list[str]
    end_ns: int
    tables: Tables
    pairs: dict[Pair, list[int]]
    recoveries: pd.DataFrame
    flows: Sequence[Any]

    @property
    def tcp_flows(self) -> tuple[int, ...]:
        return tuple(number for number, flow in enumerate(self.flows) if flow.kind == "tcp")

    # Series are computed on demand, because a study has thousands of runs and needs only their summaries.
    @cached_property
    def links(self) -> pd.DataFrame:
        """The link directions to which a packet was offered, with the columns of `LINK_COLUMNS`."""
        return link_use(self.tables, self.end_ns)

    @cached_property
    def goodput(self) -> dict[tuple[int, str], pd.DataFrame]:
        """The goodput of each TCP flow, by (flow number, series of `GOODPUT_SERIES`). One bin is one sampling
        interval."""
        return {
            (flow, series): goodput(self.tables, flow, series) for flow in self.tcp_flows for series in GOODPUT_SERIES
        }

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The goodput and share of each TCP flow in each second, and Jain's index. `share_series` has the columns."""
        return share_series(self.tables, self.flows, self.end_ns)

    @cached_property
    def srtt(self) -> dict[int, pd.DataFrame]:
        """The smoothed RTT of each TCP flow at its socket samples: `t_ns, srtt_us, held_ns`."""
        return {flow: srtt(self.tables, flow, self.end_ns) for flow in self.tcp_flows}

    @cached_property
    def reordering(self) -> pd.DataFrame:
        """One row per flow and scope (run, window or change), with the columns of `REORDERING_COLUMNS`."""
        return reordering(self.tables, self.pairs)

    @cached_property
    def densities(self) -> pd.DataFrame:
        """The histograms for each row of `reordering`, with the columns of `DENSITY_COLUMNS`."""
        return densities(self.tables, self.pairs)
