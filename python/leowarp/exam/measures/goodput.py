# SPDX-License-Identifier: Apache-2.0
"""Measures of goodput: share of the path's capacity, time until a share is reached, and time without new data."""

from __future__ import annotations

import numpy as np

from leowarp import metrics
from leowarp.exam.measures.reading import (
    Measured,
    at,
    capacities_bps,
    capacity_bps,
    mbps,
    rates_bps,
    received_bytes,
    whole_seconds,
)
from leowarp.results.run import Run

WINDOW_NS = 200_000_000
"""The time in ns over which goodput is averaged to decide whether it has reached a rate. In this time, there are four
socket samples and usually several round trips."""
STEP_NS = 50_000_000


def used(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The mean goodput of a flow in an interval, divided by the path's capacity, with the worst whole second."""
    mean_bps = float(rates_bps(run, flow, np.array([from_ns, until_ns]))[0])
    carries_bps = capacity_bps(run, flow, from_ns, until_ns)
    _, start_ns, rates = _least_used(run, flow, from_ns, until_ns)
    decided = f"{mbps(mean_bps)} of {mbps(carries_bps)}; the worst second began at {at(start_ns)}: {rates}"
    return Measured(mean_bps / carries_bps, decided, start_ns)


def worst_second(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The goodput of a whole second, divided by the path's capacity: the smallest value of all seconds."""
    share, start_ns, rates = _least_used(run, flow, from_ns, until_ns)
    return Measured(share, f"the second from {at(start_ns)}: {rates}", start_ns)


def _least_used(run: Run, flow: int, from_ns: int, until_ns: int) -> tuple[float, int, str]:
    """Return the smallest ratio of goodput to capacity in a whole second, its start, and both rates as text."""
    edges_ns = whole_seconds(from_ns, until_ns)
    each_bps = rates_bps(run, flow, edges_ns)
    could_bps = capacities_bps(run, flow, edges_ns)
    shares = each_bps / np.maximum(could_bps, 1.0)
    worst = int(np.argmin(shares))
    return float(shares[worst]), int(edges_ns[worst]), f"{mbps(each_bps[worst])} of {mbps(could_bps[worst])}"


def offered(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The share of the offered data (`rate`) that arrived. The worst whole second is also reported."""
    rate_bps = run.plan.flows[flow].rate_bps
    assert rate_bps is not None, "a case that measures `offered` has a flow with a rate"
    mean_bps = float(rates_bps(run, flow, np.array([from_ns, until_ns]))[0])
    edges_ns = whole_seconds(from_ns, until_ns)
    each_bps = rates_bps(run, flow, edges_ns)
    worst = int(np.argmin(each_bps))
    start_ns = int(edges_ns[worst])
    decided = (
        f"{mbps(mean_bps)} of the {mbps(rate_bps)} that the application wrote; the worst second began at "
        f"{at(start_ns)}: {mbps(each_bps[worst])}"
    )
    return Measured(mean_bps / rate_bps, decided, start_ns)


def time_to(run: Run, *, flow: int, after_ns: int, level_ratio: float) -> Measured:
    """The time in ns from an instant until goodput over 200 ms reaches a share of the capacity. None means never."""
    first_ns = max(after_ns, run.plan.flows[flow].start_ns)
    ends_ns = np.arange(first_ns + WINDOW_NS, run.end_ns + 1, STEP_NS)
    got = received_bytes(run, flow, ends_ns) - received_bytes(run, flow, ends_ns - WINDOW_NS)
    rate_bps = got * 8e9 / WINDOW_NS
    # The capacity is averaged from `first_ns` to the end of the run. A case has only one step of the capacity, so this
    # mean is the capacity after the step.
    carries_bps = capacity_bps(run, flow, first_ns, run.end_ns)
    reached = np.flatnonzero(rate_bps >= level_ratio * carries_bps)
    if len(reached) == 0:
        best = int(np.argmax(rate_bps))
        most = f"{mbps(rate_bps[best])} of {mbps(carries_bps)} over 200 ms until {at(int(ends_ns[best]))}"
        return Measured(None, f"never; the most was {most}", int(ends_ns[best]))
    end_ns = int(ends_ns[reached[0]])
    decided = f"the 200 ms until {at(end_ns)}: {mbps(rate_bps[reached[0]])} of {mbps(carries_bps)}"
    return Measured(float(end_ns - first_ns), decided, end_ns)


def silence(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The longest time in ns without a new in-order byte at the receiver, from socket samples."""
    at_ns, received = metrics.counter(run.tables, flow, "in_order")
    inside = (at_ns > from_ns) & (at_ns < until_ns)
    grew = np.diff(received, prepend=0.0) > 0
    instants_ns = np.concatenate([[from_ns], at_ns[inside & grew], [until_ns]])
    gaps_ns = np.diff(instants_ns)
    longest = int(np.argmax(gaps_ns))
    start_ns, end_ns = int(instants_ns[longest]), int(instants_ns[longest + 1])
    return Measured(float(end_ns - start_ns), f"no new byte in order from {at(start_ns)} to {at(end_ns)}", start_ns)
