# SPDX-License-Identifier: Apache-2.0
"""Computes the numbers for claims 1.25 to 1.30, about effects of reordering. Each number comes from one run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from leowarp import Run
from leowarp.metrics import DATA
from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.tables import floats
from leowarp_studies.frederiksen2024 import evidence as ev

BEFORE_NS, AFTER_NS = 1_000_000_000, 2_000_000_000
"""The length in ns of the windows before and after a change, as in claim 1.6."""


def sending_falls_after(run: Run, instants_ns: Any) -> int:
    """Count the instants after which the sending rate falls. The rate falls if any 50 ms bin of the next 2 s has less
    than half of the earlier rate. The earlier rate is the mean over the second before the instant.

    instants_ns: The times of the route changes. A change is left out unless the run covers 1 s before it and 2 s after
        it.
    """
    bins = run.tables.bins
    mine = bins[(bins["flow"] == run.main_flow) & (bins["direction"] == DATA)]
    # The table omits bins in which nothing was sent. Such bins are part of a fall, so they are added with a value of 0.
    sent_bytes = np.zeros(run.end_ns // ev.BIN_NS)
    place = mine["t_ns"].to_numpy(dtype="int64") // ev.BIN_NS
    inside = place < len(sent_bytes)
    sent_bytes[place[inside]] = mine["sent_bytes"].to_numpy(dtype="float64")[inside]
    falls = 0
    for at_ns in instants_ns:
        # Only complete bins are used: a bin that contains the change is neither before nor after the change.
        before = sent_bytes[max(-(-(at_ns - BEFORE_NS) // ev.BIN_NS), 0) : at_ns // ev.BIN_NS]
        after = sent_bytes[-(-at_ns // ev.BIN_NS) : (at_ns + AFTER_NS) // ev.BIN_NS]
        if at_ns >= BEFORE_NS and at_ns + AFTER_NS <= run.end_ns:
            falls += bool(after.min() < 0.5 * before.mean())
    return falls


def isls_by_kind(run: Run) -> tuple[float, float]:
    """Return the mean number of ISLs on the main flow's path over time: within a plane, and between planes.

    The name of a satellite in a Walker constellation contains its plane and slot: `s-03-12`.

    Returns: (float, float), or nan if the flow never had a path.
    """
    flow = run.observed_plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (flow.source, flow.destination))
    starts_ns = [int(t_ns) for t_ns in routes["t_ns"]]
    within, between, weights = [], [], []
    # A route is valid until the next route, and the last route until the end of the run.
    for t_ns, until_ns, path in zip(starts_ns, [*starts_ns[1:], run.end_ns], routes["path"], strict=True):
        if path is None:
            continue
        planes = [node.split("-")[1] for node in path[1:-1]]
        same = [a == b for a, b in pairwise(planes)]
        within.append(sum(same))
        between.append(len(same) - sum(same))
        weights.append(until_ns - t_ns)
    if not weights:
        return float("nan"), float("nan")
    return float(np.average(within, weights=weights)), float(np.average(between, weights=weights))


def in_flight_pkts(run: Run, instants_ns: Any) -> float:
    """Return the median number of packets in flight just before some instants, or nan without instants.

    A packet is in flight if it was sent but not acknowledged, neither cumulatively nor by SACK. The sender's last
    sample before each instant is used.
    """
    samples = run.tables.of_flow("sockets", run.main_flow)
    t_ns = samples["t_ns"].to_numpy(dtype="int64")
    flight = floats(samples["unacked_pkts"]) - floats(samples["sacked_pkts"])
    last = np.searchsorted(t_ns, np.asarray(instants_ns, dtype="int64"), side="left") - 1
    return ev.median(flight[last[last >= 0]])
