# SPDX-License-Identifier: Apache-2.0
"""Compute the metrics of a run from its trace, `metrics(tables, plan)`, and store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from leowarp.base import layout, recorded
from leowarp.metrics.conservation import Balance, check_conservation
from leowarp.metrics.inputs.changes import ATTRIBUTION_NS, flow_pairs, path_delay, route_changes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.long_form import long_form, write_long_form
from leowarp.metrics.network.queues import link_use
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.per_flow.flows import srtt
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, goodput
from leowarp.metrics.per_flow.reordering import densities, reordering
from leowarp.metrics.route_changes.causes import causes
from leowarp.metrics.route_changes.recovery import RecoveryRule, recoveries
from leowarp.metrics.sharing.carried import check_carried
from leowarp.metrics.sharing.shares import share_series
from leowarp.metrics.summary import Evidence, summary_of
from leowarp.metrics.warnings import late_away_from_changes, warnings_of

if TYPE_CHECKING:
    from leowarp.scenario import Plan


@dataclass(frozen=True)
class Metrics:
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

    def with_cost(self, *, cpu_s: float | None, wall_s: float | None) -> Metrics:
        """Return a copy of these metrics with the processor time and real time of the whole run, which a trace does not
        contain. None means unknown."""
        return replace(self, summary=self.summary | {"cpu_s": cpu_s, "wall_s": wall_s})

    def long_form(self) -> pd.DataFrame:
        """Return all numbers in one table, one per row (`metrics.long_form.long_form`)."""
        return long_form(self)

    def write(self, run_dir: str | Path) -> None:
        """Write `40-metrics.parquet` and `summary.json` into a run directory. Existing files are overwritten.

        Raises LeowarpError if one of the two files is a symbolic link.
        Raises OSError if a file cannot be written.
        """
        run_dir = Path(run_dir)
        write_long_form(self, run_dir / layout.METRICS)
        recorded.write_json(run_dir / layout.SUMMARY, self.summary)


def metrics(
    tables: Tables, plan: Plan, *, rule: RecoveryRule | None = None, attribution_ns: int = ATTRIBUTION_NS,
    summary: dict[str, Any] | None = None,
) -> Metrics:  # fmt: skip
    """Compute the metrics of a run.

    tables: The result of `read_tables(run_dir)`, or `tables_of(...)` for tables in memory.
    plan: The run's plan, for its `flows`. If the trace does not contain the end of the run, the plan's
        `run.duration_ns` is used.
    rule: The rule that says when a flow has recovered from a route change.
    attribution_ns: Retransmissions and losses are attributed to a route change for at most this time after the change.
        If the next route change comes earlier, the time ends at the next route change.
    summary: The scalars of the run, if already computed. With thousands of flows, the scalars take two thirds of the
        computing time.
    Returns: The summary, and tables with one row per event. Series (goodput, RTT, queues of links) are computed on
        demand.
    Raises TraceError if packets or bytes do not add up, or if a flow delivered more than its last link carried.
    """
    plan = with_connections(plan, tables.connections)
    # With `run.ends = "flows"`, a run may be shorter than planned, so the end that the guest reports is preferred.
    end_ns = plan.run.duration_ns if tables.virtual_ns is None else tables.virtual_ns
    # No number is computed for a run whose packets do not add up.
    balances = check_conservation(tables)
    check_carried(tables, plan.flows, end_ns, plan.network.mtu_bytes, plan.network.ip_header_bytes)
    pairs = flow_pairs(plan.flows)
    changes = route_changes(tables, pairs, end_ns, attribution_ns)
    evidence = Evidence(
        tables=tables,
        plan=plan,
        changes=changes,
        causes=causes(tables, pairs),
        path_delay={pair: path_delay(tables, pair, end_ns) for pair in pairs},
        recoveries=recoveries(tables, changes, pairs, rule or RecoveryRule(), end_ns),
        late=late_away_from_changes(tables, pairs),
        end_ns=end_ns,
    )
    summary = summary_of(evidence) if summary is None else summary
    return Metrics(
        summary=summary,
        route_changes=changes,
        causes=evidence.causes,
        path_delay=evidence.path_delay,
        balances=balances,
        warnings=warnings_of(tables, summary, evidence.late),
        end_ns=end_ns,
        tables=tables,
        pairs=pairs,
        recoveries=evidence.recoveries,
        flows=plan.flows,
    )
