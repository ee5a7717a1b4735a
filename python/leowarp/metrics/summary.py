# SPDX-License-Identifier: Apache-2.0
"""The scalars of a run and of each of its flows: `summary.json`.

`leowarp.scalars` declares the scalars with their units and definitions. The functions in this module compute the values
of these scalars, and combine them. A scalar that the run did not record is None.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from leowarp import scalars
from leowarp.metrics.inputs.changes import both_ways_ns
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import DATA, Tables, floats, integers, truths
from leowarp.metrics.network.cures import cure_scalars
from leowarp.metrics.network.queues import drops_by_cause
from leowarp.metrics.per_flow.acknowledgements import acknowledgement_scalars
from leowarp.metrics.per_flow.connections import datagram_scalars, program_scalars
from leowarp.metrics.per_flow.delays import delays
from leowarp.metrics.per_flow.flows import flow_summary, identity, received_ce_pkts
from leowarp.metrics.per_flow.goodput import Life, life
from leowarp.metrics.per_flow.iperf3 import iperf3_scalars
from leowarp.metrics.per_flow.measures import measure_scalars
from leowarp.metrics.per_flow.probes import probe_scalars, probes
from leowarp.metrics.per_flow.reordering import reordering_scalars
from leowarp.metrics.per_flow.round_trips import round_trip_scalars
from leowarp.metrics.route_changes.causes import NO_CAUSE_SCALARS, cause_scalars
from leowarp.metrics.route_changes.handovers import losses_near_changes, of_packets, of_probes, recovery_scalars
from leowarp.metrics.sharing.capacity import capacity_scalars
from leowarp.metrics.sharing.shares import Shares, shares
from leowarp.scalars.of_flows import ONE_WAY
from leowarp.scalars.of_run import COSTS, PATH_DELAY
from leowarp.scenario import Plan
from leowarp.scenario.workload.mptcp import further_interfaces


@dataclass(frozen=True)
class Evidence:
    """The inputs of scalars: the tables of a run, and values that are computed once for all flows.

    changes, causes, recoveries: The tables with `CHANGE_COLUMNS`, `CAUSE_COLUMNS` and `RECOVERY_COLUMNS`.
    path_delay: The propagation delay of each pair's current path over time.
    late: The late packets that arrived when no route change was near.
    """

    tables: Tables
    plan: Plan
    changes: pd.DataFrame
    causes: pd.DataFrame
    path_delay: dict[Pair, pd.DataFrame]
    recoveries: pd.DataFrame
    late: pd.DataFrame
    end_ns: int

    @cached_property
    def shares(self) -> Shares:
        """The goodputs and shares of the TCP flows."""
        return shares(self.tables, self.plan.flows, self.end_ns)

    @cached_property
    def cause_scalars(self) -> dict[int, dict[str, int]]:
        """The result of `causes.cause_scalars` for the run."""
        return cause_scalars(self.causes)

    @cached_property
    def tcp_senders(self) -> Counter[str]:
        """A dict from the station of each host to the number of TCP flows that start there."""
        return self._tcp_ends("source")

    @cached_property
    def tcp_receivers(self) -> Counter[str]:
        """A dict from the station of each host to the number of TCP flows to this host."""
        return self._tcp_ends("destination")

    def _tcp_ends(self, end: str) -> Counter[str]:
        homes = further_interfaces(self.plan.flows)
        # Only TCP flows are counted, because pings and UDP do not change TCP's counters (TcpExt.*).
        ends = (getattr(flow, end) for flow in self.plan.flows if flow.kind == "tcp")
        return Counter(homes.get(station, station) for station in ends)


def summary_of(run: Evidence) -> dict[str, Any]:
    """Return the content of `summary.json`. The scalars are in the order of their declaration. The costs of the run are
    None, because the trace lacks them.

    Returns: The scalars and objects of the run, and the list `flows` with a dict of scalars per flow of the plan.
    """
    flows = []
    for number, flow in enumerate(run.plan.flows):
        # `ordered` checks that the declared and the computed scalars are the same, so no scalar can be forgotten.
        values = _OF_KIND.get(flow.kind, _of_probes)(run, number)
        flows.append(scalars.ordered(values, scalars.of_kind(flow.kind)))
    return scalars.ordered(_of_run(run), scalars.RUN) | {"flows": flows}


def _of_run(run: Evidence) -> dict[str, Any]:
    tables = run.tables
    return {
        "name": run.plan.name,
        **_change_scalars(run.changes, known=tables.has("packets")),
        **_delay_scalars(run.path_delay, run.end_ns),
        "drops_pkts": len(tables.drops) if tables.knows_drops else None,
        "drops_by_cause_pkts": drops_by_cause(tables) if tables.knows_drops else None,
        **cure_scalars(tables),
        "received_ce_pkts": received_ce_pkts(tables),
        "late_outside_changes_pkts": len(run.late) if tables.has("packets") else None,
        "virtual_s": run.end_ns / 1e9,
        # The trace does not contain the costs; `Metrics.with_cost` fills them in.
        **dict.fromkeys(scalars.names(COSTS)),
        "fairness": run.shares.fairness,
    }


def _of_tcp(run: Evidence, number: int) -> dict[str, Any]:
    tables, flow = run.tables, run.plan.flows[number]
    lived = life(tables, number, flow, run.end_ns)
    changes_ns = _changes_in(run, flow, lived)
    row = _of_flow(run, number, lived, changes_ns)
    goodput_bps = row["goodput_mean_bps"]
    return (
        row
        | round_trip_scalars(tables, number)
        | _one_way_scalars(tables, number)
        | of_packets(tables, number, changes_ns)
        | recovery_scalars(run.recoveries, number)
        | acknowledgement_scalars(tables, number, flow.source, is_only_sender=run.tcp_senders[flow.source] == 1)
        | {"share_ratio": run.shares.ratio[number], "share_reason": run.shares.reason[number]}
        | capacity_scalars(tables, number, (flow.source, flow.destination), lived, goodput_bps, run.plan.network)
    )


def _of_probes(run: Evidence, number: int) -> dict[str, Any]:
    tables, flow = run.tables, run.plan.flows[number]
    lived = life(tables, number, flow, run.end_ns)
    changes_ns = _changes_in(run, flow, lived)
    replies = flow.kind == "ping" and bool(flow.replies)
    # If the table is missing, probes were not recorded. If it is empty, no probe was sent.
    probed = probes(tables, number, run.end_ns, one_way=not replies) if tables.has("echoes") else None
    return (
        _of_flow(run, number, lived, changes_ns)
        | probe_scalars(probed, changes_ns, replies=replies)
        | datagram_scalars(tables, number, lived)
        | of_probes(probed, changes_ns)
    )


def _of_programs(run: Evidence, number: int) -> dict[str, Any]:
    ends = identity(number, run.plan.flows[number]) | program_scalars(run.tables, number)
    return ends | iperf3_scalars(run.tables, number) | measure_scalars(run.tables, number, run.end_ns)


_OF_KIND = {"tcp": _of_tcp, "program": _of_programs}


def _of_flow(run: Evidence, number: int, lived: Life, changes_ns: np.ndarray) -> dict[str, Any]:
    flow = run.plan.flows[number]
    return (
        flow_summary(
            run.tables,
            number,
            flow,
            lived,
            run.end_ns,
            is_only_sender=run.tcp_senders[flow.source] == 1,
            is_only_receiver=run.tcp_receivers[flow.destination] == 1,
        )
        | reordering_scalars(run.tables, number)
        | run.cause_scalars.get(number, NO_CAUSE_SCALARS)
        | losses_near_changes(run.tables, number, changes_ns)
    )


def _changes_in(run: Evidence, flow: Any, lived: Life) -> np.ndarray:
    changes_ns = both_ways_ns(run.tables, (flow.source, flow.destination))
    # A change before or after a flow's life cannot affect the flow's packets. If changes outside of the flow's life
    # were included, the share of changes with losses would be too low.
    return changes_ns[(changes_ns >= lived.start_ns) & (changes_ns < lived.stop_ns)]


def _one_way_scalars(tables: Tables, number: int) -> dict[str, int | None]:
    counted = delays(tables, number, DATA)
    return dict.fromkeys(scalars.names(ONE_WAY)) if counted is None else counted.scalars("owd")


def _change_scalars(changes: pd.DataFrame, *, known: bool) -> dict[str, int | None]:
    """Return the scalars that count route changes. With `routing.reverse = "mirror"`, both directions change at once,
    which counts as one change."""
    if len(changes) == 0:
        return {"route_changes": 0, "route_changes_shorter": 0, "route_changes_with_late_pkts": 0 if known else None}
    ends = [frozenset(pair) for pair in zip(changes["source"], changes["destination"], strict=True)]
    each = pd.DataFrame({
        "change": list(zip(changes["t_ns"], ends, strict=True)),
        "shorter": truths(changes["is_shorter"]),
        "late": floats(changes["late_pkts"]) > 0,
    })  # fmt: skip
    each = each.groupby("change", sort=False).max()
    return {
        "route_changes": len(each),
        "route_changes_shorter": int(each["shorter"].sum()),
        "route_changes_with_late_pkts": int(each["late"].sum()) if known else None,
    }


def _delay_scalars(delays: dict[Pair, pd.DataFrame], end_ns: int) -> dict[str, Any]:
    """Return the smallest, mean (over time) and largest propagation delay, in whole ns, over the data paths of all
    flows. Times without a path do not count. `no_path_s` is the longest time that a pair had no path."""
    values, weights, gaps_ns = [np.zeros(0)], [np.zeros(0)], [0]
    for frame in delays.values():
        held_ns, delay_ns = np.diff(np.append(integers(frame["t_ns"]), end_ns)), floats(frame["delay_ns"])
        # A row of length 0 exists if a route and a delay change at the run's end, so rows of length 0 are left out.
        known = ~np.isnan(delay_ns) & (held_ns > 0)
        values.append(delay_ns[known])
        weights.append(held_ns[known])
        gaps_ns.append(int(held_ns[np.isnan(delay_ns)].sum()))
    row: dict[str, Any] = dict.fromkeys(scalars.names(PATH_DELAY)) | {"no_path_s": max(gaps_ns) / 1e9}
    value, weight = np.concatenate(values), np.concatenate(weights)
    if len(value):
        row["path_delay_min_ns"], row["path_delay_max_ns"] = int(value.min()), int(value.max())
        row["path_delay_mean_ns"] = round(float(np.average(value, weights=weight)))
    return row
