# SPDX-License-Identifier: Apache-2.0
"""Trace -> metrics: `metrics(tables, plan)`, and how they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp import rundir
from leowarp.metrics.acknowledgements import acknowledgement_scalars
from leowarp.metrics.capacity import IP_BYTES, capacity_scalars
from leowarp.metrics.causes import cause_scalars, causes
from leowarp.metrics.changes import (
    ATTRIBUTION_NS,
    both_ways_ns,
    flow_pairs,
    path_changes,
    path_delay,
    route_changes,
)
from leowarp.metrics.conservation import Balance, check_conservation, late_outside_changes, uncounted_directions
from leowarp.metrics.delays import DELAY_SCALARS, delays
from leowarp.metrics.flows import GOODPUT_SERIES, flow_summary, goodput, life, received_ce_pkts, srtt
from leowarp.metrics.handovers import losses_near_changes, of_packets, of_probes, recovery_scalars
from leowarp.metrics.link_values import link_values
from leowarp.metrics.long_form import long_form, write_long_form
from leowarp.metrics.probes import probe_scalars, probes
from leowarp.metrics.queues import drops_by_cause, link_use
from leowarp.metrics.recovery import RecoveryRule, recoveries
from leowarp.metrics.reordering import densities, reordering, reordering_scalars
from leowarp.metrics.round_trips import round_trip_scalars
from leowarp.metrics.shares import share_series, shares
from leowarp.metrics.tables import DATA, Tables, floats, truths

LATE_WITHIN_NS = 2_000_000_000
"""A packet may be late only this long after a route change: 500 packets at 100 Mbit/s are 60 ms a hop."""

SYNS = 2
"""One SYN may still be on its way when the run ends."""

OPEN = 0
"""`ca_state` of a sender that knows of no loss."""

HELD_RATIO, HELD_US = 0.5, 5_000_000
"""A receiver's window that held a flow for more than both, of the time that it was sampled and in us, is a warning."""

FULL_RATIO = 0.9
"""It is none of a flow that uses so much of its path all the same: then the window only bounds the queue."""


@dataclass(frozen=True)
class Metrics:
    """Everything computed from one run: the summary at once, tables and series when they are asked for.

    Attributes
    ----------
    summary : dict
        Scalars of the run and, under `flows`, of each flow; `summary.json`.
    route_changes : DataFrame
        Columns in `CHANGE_COLUMNS`.
    causes : DataFrame
        What each change made late, lost or sent again; columns in `CAUSE_COLUMNS`.
    path_delay : dict of (source, destination) to DataFrame
        Propagation delay of the path in force over time.
    balances : list of Balance
        All of them add up, or there would be no Metrics.
    warnings : list of str
        What to check before trusting the result.
    end_ns : int
        Length of the run on its own clock.
    tables : Tables
        What all of it was computed from.
    pairs : dict of (source, destination) to list of int
        Numbers of the flows between two stations.
    tcp_flows : tuple of int
    recoveries : DataFrame
        One row a change and TCP flow; columns in `RECOVERY_COLUMNS`.
    flows : sequence
        `plan.flows`.
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

    @cached_property
    def links(self) -> pd.DataFrame:
        """One row a direction of a link that carried anything; columns in `LINK_COLUMNS`."""
        return link_use(self.tables, self.end_ns)

    @cached_property
    def goodput(self) -> dict[tuple[int, str], pd.DataFrame]:
        """Goodput of each TCP flow and series (`GOODPUT_SERIES`), in bins of the sampling interval."""
        return {(flow, series): goodput(self.tables, flow, series) for flow in self.tcp_flows
                for series in GOODPUT_SERIES}  # fmt: skip

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Goodput and share of each TCP flow by the second, and Jain's index; columns as `share_series` says."""
        return share_series(self.tables, self.flows, self.end_ns)

    @cached_property
    def srtt(self) -> dict[int, pd.DataFrame]:
        """Smoothed RTT of each TCP flow at its socket samples."""
        return {flow: srtt(self.tables, flow, self.end_ns) for flow in self.tcp_flows}

    @cached_property
    def reordering(self) -> pd.DataFrame:
        """One row a flow and scope (the run, a window, around a change); columns in `REORDERING_COLUMNS`."""
        return reordering(self.tables, self.pairs)

    @cached_property
    def densities(self) -> pd.DataFrame:
        """RD, RBD, n-reordering and extents of each of these; columns in `DENSITY_COLUMNS`."""
        return densities(self.tables, self.pairs)

    def with_cost(self, *, cpu_s: float | None, wall_s: float | None) -> Metrics:
        """The same with what the run cost, which no trace knows."""
        return replace(self, summary=self.summary | {"cpu_s": cpu_s, "wall_s": wall_s})

    def long_form(self) -> pd.DataFrame:
        """All numbers in one table, columns as in `LONG_COLUMNS`."""
        return long_form(self)

    def write(self, run_dir: str | Path) -> None:
        """Writes `40-metrics.parquet` and `summary.json` into a run directory."""
        run_dir = Path(run_dir)
        write_long_form(self.long_form(), run_dir / rundir.METRICS)
        rundir.write_json(run_dir / rundir.SUMMARY, self.summary)


def metrics(
    tables: Tables, plan: Any, *, rule: RecoveryRule | None = None, attribution_ns: int = ATTRIBUTION_NS
) -> Metrics:
    """Metrics of a run.

    Parameters
    ----------
    tables : Tables
        `read_tables(run_dir)`, or `tables_of(...)` of tables in memory.
    plan : Plan
        `flows` and, if the trace does not say when the run was over, `run.duration_ns` are used.
    rule : RecoveryRule, optional
        What counts as recovered.
    attribution_ns : int
        Retransmissions and losses are put down to a route change for this long, or until the next one.

    Raises
    ------
    TraceError
        If packets or bytes of a link or a flow do not add up.
    """
    rule = rule or RecoveryRule()
    end_ns = int(plan.run.duration_ns) if tables.virtual_ns is None else tables.virtual_ns
    balances = check_conservation(tables)
    pairs = flow_pairs(plan.flows)
    links = link_values(tables)
    changes = route_changes(tables, pairs, end_ns, attribution_ns, links)
    found = causes(tables, pairs)
    delays = {pair: path_delay(tables, pair, end_ns, links) for pair in pairs}
    late = _late_outside(tables, pairs)
    recovered = recoveries(tables, changes, pairs, rule, end_ns)
    shared = shares(tables, plan.flows, end_ns)
    at_ns = {pair: both_ways_ns(tables, pair) for pair in pairs}
    ends = [(flow.source, flow.destination) for flow in plan.flows if flow.kind == "tcp"]
    summary: dict[str, Any] = {
        "name": getattr(plan, "name", None),
        **_change_scalars(changes, known=tables.has("packets")),
        **_delay_scalars(delays, end_ns),
        "no_path_s": _no_path_ns(delays, end_ns) / 1e9,
        "drops_pkts": len(tables.drops) if tables.knows_drops else None,
        "drops_by_cause_pkts": drops_by_cause(tables) if tables.knows_drops else None,
        "received_ce_pkts": received_ce_pkts(tables),
        "late_outside_changes_pkts": len(late) if tables.has("packets") else None,
        "virtual_s": end_ns / 1e9,
        "cpu_s": None,
        "wall_s": None,
        "fairness": shared.fairness(),
        "flows": [
            flow_summary(tables, number, flow, end_ns, is_only_sender=[a for a, _ in ends].count(flow.source) == 1,
                         is_only_receiver=[b for _, b in ends].count(flow.destination) == 1)
            | reordering_scalars(tables, number)
            | cause_scalars(found, number)
            | _way_scalars(tables, number, flow, at_ns[flow.source, flow.destination], end_ns)
            | (recovery_scalars(recovered, number) if flow.kind == "tcp" else {})
            | (acknowledgement_scalars(tables, number, plan.flows) if flow.kind == "tcp" else {})
            | ({"share_ratio": shared.share_ratio(number)} if flow.kind == "tcp" else {})
            for number, flow in enumerate(plan.flows)
        ],
    }  # fmt: skip
    ip_bytes = int(getattr(getattr(plan, "network", None), "mtu_bytes", IP_BYTES))
    for number, flow in enumerate(plan.flows):
        if flow.kind == "tcp":
            row = summary["flows"][number]
            lived_ns = life(tables, number, flow, end_ns)
            row |= capacity_scalars(tables, number, (flow.source, flow.destination), lived_ns, row["goodput_mean_bps"],
                                    links, ip_bytes)  # fmt: skip
    return Metrics(
        summary=summary,
        route_changes=changes,
        causes=found,
        path_delay=delays,
        balances=balances,
        warnings=_warnings(tables, summary, late),
        end_ns=end_ns,
        tables=tables,
        pairs=pairs,
        tcp_flows=tuple(number for number, flow in enumerate(plan.flows) if flow.kind == "tcp"),
        recoveries=recovered,
        flows=plan.flows,
    )


def _way_scalars(tables: Tables, number: int, flow: Any, changes_ns: np.ndarray, end_ns: int) -> dict[str, Any]:
    """Round trips of a flow, and what it lost near the changes of its path, of those in its life."""
    start_ns, stop_ns = life(tables, number, flow, end_ns)
    changes_ns = changes_ns[(changes_ns >= start_ns) & (changes_ns < stop_ns)]
    near_changes = losses_near_changes(tables, number, changes_ns)
    if flow.kind == "tcp":
        return (
            round_trip_scalars(tables, number)
            | _one_way_scalars(tables, number)
            | near_changes
            | of_packets(tables, number, changes_ns)
        )
    replies = flow.kind == "ping" and flow.replies
    found = probes(tables, number, end_ns, one_way=not replies) if tables.has("echoes") else None
    return probe_scalars(found, changes_ns, replies=replies) | near_changes | of_probes(found, changes_ns)


def _one_way_scalars(tables: Tables, number: int) -> dict[str, int | None]:
    """One-way delay of all data packets of a TCP flow, `owd_<name of DELAY_SCALARS>`; None: not counted."""
    counted = delays(tables, number, DATA)
    return dict.fromkeys(f"owd_{name}" for name in DELAY_SCALARS) if counted is None else counted.scalars("owd")


def _late_outside(tables: Tables, pairs: dict[tuple[str, str], list[int]]) -> pd.DataFrame:
    """Late packets away from every change of the way there or the way back."""
    both = [*pairs, *((b, a) for a, b in pairs)]
    instants = sorted({change.t_ns for pair in both for change in path_changes(tables, pair)})
    return late_outside_changes(tables, np.array(instants, dtype="int64"), LATE_WITHIN_NS)


def _change_scalars(changes: pd.DataFrame, *, known: bool) -> dict[str, int | None]:
    """Route changes; those of the same instant between the same two stations are one, whichever way data goes."""
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


def _delay_scalars(delays: dict[tuple[str, str], pd.DataFrame], end_ns: int) -> dict[str, Any]:
    """Smallest, time-weighted mean and largest propagation delay, over the paths of all flows' data."""
    values, weights = [], []
    for frame in delays.values():
        held = np.diff(np.append(frame["t_ns"].to_numpy(dtype="int64"), end_ns))
        known = frame["delay_ns"].notna().to_numpy()
        values.append(frame["delay_ns"].to_numpy(dtype="float64")[known])
        weights.append(held[known])
    value, weight = np.concatenate(values or [np.zeros(0)]), np.concatenate(weights or [np.zeros(0)])
    inside = weight > 0
    if not inside.any():
        return dict.fromkeys(("path_delay_min_ns", "path_delay_mean_ns", "path_delay_max_ns"))
    return {
        "path_delay_min_ns": int(value[inside].min()),
        "path_delay_mean_ns": round(float(np.average(value[inside], weights=weight[inside]))),
        "path_delay_max_ns": int(value[inside].max()),
    }


def _no_path_ns(delays: dict[tuple[str, str], pd.DataFrame], end_ns: int) -> int:
    """Longest time that the pair of some flow had no path."""
    longest = 0
    for frame in delays.values():
        held = np.diff(np.append(frame["t_ns"].to_numpy(dtype="int64"), end_ns))
        longest = max(longest, int(held[frame["delay_ns"].isna().to_numpy()].sum()))
    return longest


def _warnings(tables: Tables, summary: dict[str, Any], late: pd.DataFrame) -> list[str]:
    found = []
    if len(late) and not tables.reorders:
        first = late.iloc[0]
        found.append(
            f"{len(late)} packets were late outside the {LATE_WITHIN_NS / 1e9:g} s after a route change "
            f"(the first: flow {first['flow']}, sent at {first['sent_ns'] / 1e9:.6f} s): "
            "check before you trust a number on reordering"
        )
    if summary["no_path_s"]:
        found.append(f"there was no path for {summary['no_path_s']:g} s of {summary['virtual_s']:g} s")
    for flow in summary["flows"]:
        if flow.get("error"):
            found.append(f"flow {flow['flow']} ended with error {flow['error']} (errno)")
        if (silent := nothing_arrived(flow)) is not None:
            found.append(silent)
        elif (alone := never_connected(flow)) is not None:
            found.append(alone)
        if (held := held_by_receiver(flow, tables.of_flow("sockets", flow["flow"]))) is not None:
            found.append(held)
    uncounted = uncounted_directions(tables)
    # If packets were followed and all arrived, or nobody asked what became of them, there is nothing to be told.
    if uncounted and tables.bins["lost_pkts"].sum():
        found.append(
            f"the queueing discipline of {uncounted} directions of links (netem) does not tell what it was offered and "
            "dropped: their packets are not known to add up, and causes and places of loss are unknown"
        )
    return found


def _named(flow: dict[str, Any]) -> str:
    return f"flow {flow['flow']}, {flow['source']} to {flow['destination']}"


def never_connected(flow: dict[str, Any]) -> str | None:
    """What to say of a TCP flow (of `summary["flows"]`) whose SYN was sent again and never answered; None of any other.

    What arrives there gets an answer, so the way back is what loses it. `nothing_arrived` says the other case.
    """
    if flow["kind"] != "tcp" or flow["connect_ns"] is not None or flow["bytes"] != 0:
        return None
    sent_pkts = flow["sent_pkts"]
    if sent_pkts is None or sent_pkts < SYNS:
        return None
    return f"{_named(flow)}, never connected: it sent {sent_pkts} packets, and no answer to any arrived"


def held_by_receiver(flow: dict[str, Any], samples: pd.DataFrame) -> str | None:
    """What to say of a flow (of `summary["flows"]`) that its receiver's window held most of its time; None of others.

    Such a goodput is the receiver's, not the path's: its buffer is too small.
    """
    if not len(samples) or (flow.get("capacity_used_ratio") or 0.0) >= FULL_RATIO:
        return None
    # In loss recovery the window is full of what has arrived behind a hole, and that is the path's doing.
    is_open = samples["ca_state"].to_numpy() == OPEN
    grown_us = np.diff(floats(samples["rwnd_limited_us"]))
    held_us = np.nansum(grown_us[is_open[1:] & is_open[:-1]])
    if held_us <= max(HELD_US, HELD_RATIO * np.ptp(samples["t_ns"].to_numpy(dtype="int64")) / 1e3):
        return None
    return (
        f"the receiver's window held {_named(flow)} for {held_us / 1e6:.1f} s, so its goodput is not what the path "
        "could carry: raise tcp.buffer_max"
    )


def nothing_arrived(flow: dict[str, Any]) -> str | None:
    """What to say of a flow (of `summary["flows"]`) that lost packets and of which none arrived; None of any other."""
    if flow["delivered_pkts"] != 0 or not flow["lost_pkts"]:
        return None
    return f"nothing arrived of {_named(flow)}: {flow['lost_pkts']} of its {flow['sent_pkts']} packets were lost"
