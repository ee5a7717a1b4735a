# SPDX-License-Identifier: Apache-2.0
"""Measures of several flows: how they share a path, and how much one flow harms other traffic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leowarp.exam.measures.reading import Measured, at, mbps, rates_bps
from leowarp.results.run import Run


def least_share(run: Run, *, flows: Sequence[int], from_ns: int, until_ns: int) -> Measured:
    """The smallest goodput of the flows, divided by their mean goodput. The flow with the smallest goodput decided."""
    each_bps = np.array([rates_bps(run, flow, np.array([from_ns, until_ns]))[0] for flow in flows])
    if each_bps.sum() == 0:
        return Measured(None, f"none of {len(flows)} flows got a byte")
    least = int(np.argmin(each_bps))
    decided = f"flow {flows[least]} got {mbps(each_bps[least])}; the mean of {len(flows)} is {mbps(each_bps.mean())}"
    return Measured(float(each_bps[least] / each_bps.mean()), decided, from_ns)


def kept(run: Run, *, control: Run, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The goodput of a flow beside the algorithm, divided by its goodput beside the control. 1 means no harm.

    The criterion follows R. Ware et al., "Beyond Jain's Fairness Index: Setting the Bar For The Deployment of
    Congestion Control Algorithms" (HotNets 2019): a new algorithm should do no more harm to other flows than a deployed
    algorithm does.
    """
    here_bps, there_bps = (float(rates_bps(each, flow, np.array([from_ns, until_ns]))[0]) for each in (run, control))
    name, beside = run.plan.flows[flow].congestion_control, control.plan.flows[0].congestion_control
    decided = f"flow {flow} ({name}) got {mbps(here_bps)}, and {mbps(there_bps)} beside {beside}"
    return Measured(here_bps / there_bps if there_bps else None, decided, from_ns)


def completion(run: Run, *, flows: Sequence[int]) -> Measured:
    """The longest completion time in ns of given flows, each with a size. None means that a flow did not complete."""
    frame = run.flows().set_index("flow").loc[list(flows)]
    open_flows = frame[frame["completion_ns"].isna()]
    if len(open_flows):
        first = open_flows.iloc[0]
        text = f"flow {open_flows.index[0]} did not complete; {int(first['bytes']):,} bytes arrived"
        return Measured(None, f"{text} ({len(open_flows)} of {len(frame)} did not)", run.end_ns)
    slowest = frame["completion_ns"].astype("int64").idxmax()
    took_ns = int(frame.loc[slowest, "completion_ns"])
    end_ns = run.plan.flows[slowest].start_ns + took_ns
    return Measured(float(took_ns), f"flow {slowest}, the slowest of {len(frame)}, was done at {at(end_ns)}", end_ns)


def completion_beside(run: Run, *, control: Run, flows: Sequence[int]) -> Measured:
    """The mean completion time of `flows`, divided by the same mean in the control run. Above 1, they took longer."""
    here, there = (each.flows().set_index("flow").loc[list(flows)]["completion_ns"] for each in (run, control))
    if here.isna().any() or there.isna().any():
        beside = here if here.isna().any() else there
        return Measured(None, f"{int(beside.isna().sum())} of {len(flows)} flows did not complete", run.end_ns)
    ratios = here.astype("float64") / there.astype("float64")
    worst = ratios.idxmax()
    beside_cc = control.plan.flows[0].congestion_control
    decided = (
        f"mean {here.mean() / 1e9:.3f} s, and {there.mean() / 1e9:.3f} s beside {beside_cc}; the most for flow "
        f"{worst}: {here[worst] / 1e9:.3f} s in place of {there[worst] / 1e9:.3f} s"
    )
    return Measured(float(here.mean() / there.mean()), decided, run.plan.flows[worst].start_ns)


def delay_beside(run: Run, *, probe: int, percentile: float, from_ns: int, until_ns: int) -> Measured:
    """A percentile of a ping flow's round trips minus the smallest of the run, in ns. A single ping decides the value.

    The smallest round trip is taken from the complete run. If the delay of the path changes during the run, the
    measured value includes this change.
    """
    rows = run.echoes(probe)
    answered = rows[rows["reply_ns"].notna()]
    if len(answered) == 0:
        return Measured(None, "no probe was answered")
    sent_ns = answered["sent_ns"].to_numpy(dtype="int64")
    trip_ns = answered["reply_ns"].to_numpy(dtype="int64") - sent_ns
    inside = np.flatnonzero((sent_ns >= from_ns) & (sent_ns < until_ns))
    if len(inside) == 0:
        return Measured(None, f"no probe that was sent from {at(from_ns)} to {at(until_ns)} was answered")
    order = inside[np.argsort(trip_ns[inside], kind="stable")]
    place = order[min(len(order) - 1, int(np.ceil(percentile / 100 * len(order))) - 1)]
    least_ns = int(trip_ns.min())
    decided = (
        f"probe {int(answered['index'].iloc[place])}, sent at {at(int(sent_ns[place]))}: "
        f"{trip_ns[place] / 1e6:.1f} ms, and {least_ns / 1e6:.1f} ms at the least"
    )
    return Measured(float(trip_ns[place] - least_ns), decided, int(sent_ns[place]))
