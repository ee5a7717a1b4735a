# SPDX-License-Identifier: Apache-2.0
"""Measures of the delay that a flow causes for other traffic."""

from __future__ import annotations

import numpy as np

from leowarp.exam.measures.reading import Measured, at
from leowarp.results.run import Run


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
