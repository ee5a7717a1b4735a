# SPDX-License-Identifier: Apache-2.0
"""The quantities by which measurements are compared. Some are computed from probes, and others from a transfer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.slotted import slotted
from leowarp.timeline.recordings.measurement import Series, Transfer, stretches_of
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.spikes import find_spikes

Samples = Mapping[str, NDArray[np.float64]]

DIFFERENCES, STEPS = "|dRTT| of successive probes, ms", "RTT steps at reconfigurations, ms"
ABOVE, SPIKES = "RTT over the slot's least, ms", "spikes, ms over their level"
LOSSES = "lost probes in a row"
GOODPUT, RETRANSMISSIONS = "goodput in 1 s, Mbit/s", "retransmissions in 1 s"
TCP_RTT = "TCP's smoothed RTT, ms"

_SECOND_NS = 1_000_000_000


def of_probes(series: Series, schedule: Schedule | None) -> Samples:
    """Return the samples of a series of round trips. Without a schedule of reconfigurations, there are no samples of
    steps or of delays above a slot's minimum."""
    follows = ~np.isnan(series.delay_ns[1:]) & ~np.isnan(series.delay_ns[:-1])
    found = {DIFFERENCES: np.abs(np.diff(series.delay_ns))[follows] / 1e6}
    if schedule is not None and len(series) > 1:
        probes = slotted(series, schedule)
        numbers, floors_ns = probes.floors_ns(series.delay_ns)
        found[STEPS] = np.abs(np.diff(floors_ns))[np.diff(numbers) == 1] / 1e6
        floor_ns = np.full(int(probes.slot.max()) + 1, np.nan)
        floor_ns[numbers] = floors_ns
        above_ns = (series.delay_ns - floor_ns[probes.slot])[probes.clear]
        found[ABOVE] = above_ns[~np.isnan(above_ns)] / 1e6
    found[SPIKES] = np.array([spike.height_ns for spike in find_spikes(series)], dtype=np.float64) / 1e6
    begins, ends = stretches_of(series.lost)
    found[LOSSES] = (ends - begins).astype(np.float64)
    return found


def of_transfer(transfer: Transfer) -> Samples:
    """Return the samples of a transfer, one per whole second."""
    t_ns = transfer.t_ns - transfer.t_ns[0]
    # Intervals may begin some microseconds before or after a whole second, so their middles count.
    second = (t_ns + transfer.length_ns // 2) // _SECOND_NS
    whole = int((t_ns[-1] + transfer.length_ns[-1]) // _SECOND_NS)
    inside = second < whole

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(second[inside], weights=values[inside], minlength=whole)[:whole].astype(np.float64)

    # The goodput in a second is the sum of rate x length / 1 s, converted to Mbit/s.
    found = {GOODPUT: sums(transfer.rate_bps * transfer.length_ns / 1e15)}
    if not np.isnan(transfer.retransmissions).any():
        found[RETRANSMISSIONS] = sums(transfer.retransmissions)
    known = ~np.isnan(transfer.rtt_ns) & (transfer.rtt_ns > 0)
    if known.any():
        found[TCP_RTT] = transfer.rtt_ns[known] / 1e6
    return found
