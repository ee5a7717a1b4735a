# SPDX-License-Identifier: Apache-2.0
"""Trace -> metrics: `metrics(tables, plan)`, and how they are stored.

The order of its steps is that of what they need: conservation, route changes, what the changes caused, then the scalars
of run and flows, which are made of all of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from leowarp.base import layout, recorded
from leowarp.metrics.conservation import check_conservation
from leowarp.metrics.inputs.changes import ATTRIBUTION_NS, both_ways_ns, flow_pairs, path_delay, route_changes
from leowarp.metrics.inputs.link_values import link_values
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.long_form import long_form, write_long_form
from leowarp.metrics.numbers import Numbers
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.route_changes.causes import causes
from leowarp.metrics.route_changes.recovery import RecoveryRule, recoveries
from leowarp.metrics.sharing.carried import check_carried
from leowarp.metrics.sharing.shares import shares
from leowarp.metrics.summary import Evidence, summary_of
from leowarp.metrics.warnings import late_away_from_changes, warnings_of

if TYPE_CHECKING:
    from leowarp.scenario import Plan


@dataclass(frozen=True)
class Metrics(Numbers):
    """The numbers of a run (attributes: `Numbers`), and how they are stored."""

    def with_cost(self, *, cpu_s: float | None, wall_s: float | None) -> Metrics:
        """The same with what the run cost, which no trace knows.

        cpu_s, wall_s: Processor time and time on the wall of the whole run, in s; None: not known.
        Returns: A copy with these two in its summary; this one stays as it is.
        """
        return replace(self, summary=self.summary | {"cpu_s": cpu_s, "wall_s": wall_s})

    def long_form(self) -> pd.DataFrame:
        """All numbers in one table, one a row.

        Returns: DataFrame with the columns of `LONG_COLUMNS`, in the order of `metrics.long_form.long_form`.
        """
        return long_form(self)

    def write(self, run_dir: str | Path) -> None:
        """Writes `40-metrics.parquet` and `summary.json` into a run directory, over older ones.

        Raises LeowarpError if a link stands where one of the two is to be written.
        Raises OSError if they cannot be written.
        """
        run_dir = Path(run_dir)
        write_long_form(self.long_form(), run_dir / layout.METRICS)
        recorded.write_json(run_dir / layout.SUMMARY, self.summary)


def metrics(
    tables: Tables, plan: Plan, *, rule: RecoveryRule | None = None, attribution_ns: int = ATTRIBUTION_NS,
    summary: dict[str, Any] | None = None,
) -> Metrics:  # fmt: skip
    """Metrics of a run.

    tables: `read_tables(run_dir)`, or `tables_of(...)` of tables in memory.
    plan: `flows` and, if the trace does not say when the run was over, `run.duration_ns` are used.
    rule: What counts as recovered.
    attribution_ns: Retransmissions and losses are put down to a route change for this long, or until the next one.
    summary: Scalars of the run, if they are known: of thousands of flows they are two thirds of the work.
    Returns: Summary and tables of events; series (goodput, RTT, queues of links) are computed when they are asked for.
    Raises TraceError if packets or bytes of a link or a flow do not add up, or a flow delivered more than its last link
        carried.
    """
    plan = with_connections(plan, tables.connections)
    # With `run.ends = "flows"` a run is shorter than planned, so the guest's own word goes first.
    end_ns = plan.run.duration_ns if tables.virtual_ns is None else tables.virtual_ns
    # First: of a run that does not add up no number is computed.
    balances = check_conservation(tables)
    # Step functions of all links, built once: everything below asks them.
    links = link_values(tables)
    check_carried(tables, plan.flows, end_ns, links, plan.network.mtu_bytes, plan.network.ip_header_bytes)
    pairs = flow_pairs(plan.flows)
    changes = route_changes(tables, pairs, end_ns, attribution_ns, links)
    evidence = Evidence(
        tables=tables,
        plan=plan,
        links=links,
        changes=changes,
        causes=causes(tables, pairs),
        path_delay={pair: path_delay(tables, pair, end_ns, links) for pair in pairs},
        changes_ns={pair: both_ways_ns(tables, pair) for pair in pairs},
        # Before the scalars: they are quantiles over these rows.
        recoveries=recoveries(tables, changes, pairs, rule or RecoveryRule(), end_ns),
        shares=shares(tables, plan.flows, end_ns, links),
        late=late_away_from_changes(tables, pairs),
        end_ns=end_ns,
    )
    summary = summary_of(evidence) if summary is None else summary
    # Warnings come last: they are sentences about numbers of the summary, and about late packets that no change of the
    # path explains.
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
        tcp_flows=tuple(number for number, flow in enumerate(plan.flows) if flow.kind == "tcp"),
        recoveries=evidence.recoveries,
        flows=plan.flows,
    )
