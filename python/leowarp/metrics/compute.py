# SPDX-License-Identifier: Apache-2.0
"""Compute the metrics of a run from its trace, `metrics(tables, plan)`, and store them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from leowarp.base import layout, recorded
from leowarp.metrics.conservation import check_conservation
from leowarp.metrics.inputs.changes import ATTRIBUTION_NS, flow_pairs, path_delay, route_changes
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.long_form import long_form, write_long_form
from leowarp.metrics.numbers import Numbers
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.route_changes.causes import causes
from leowarp.metrics.route_changes.recovery import RecoveryRule, recoveries
from leowarp.metrics.sharing.carried import check_carried
from leowarp.metrics.summary import Evidence, summary_of
from leowarp.metrics.warnings import late_away_from_changes, warnings_of

if TYPE_CHECKING:
    from leowarp.scenario import Plan


class Metrics(Numbers):
    """The numbers of a run, and the functions that write them."""

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
