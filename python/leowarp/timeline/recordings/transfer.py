# SPDX-License-Identifier: Apache-2.0
"""The description of a TCP transfer in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leowarp.timeline.recordings.capacity_description import quantiles, weighted_quantiles
from leowarp.timeline.recordings.measurement import Transfer

_ALIKE_RATIO = 1.05


@dataclass(frozen=True)
class TransferDescription:
    """The throughput over time, retransmissions and windows of a transfer.

    way: down or up.
    interval_ns: The median length of the intervals.
    mean_bps: The mean payload rate over the whole transfer.
    quantiles_bps: The quantiles of the payload rate over time.
    zero_ns: The total length of the intervals in which nothing arrived.
    retransmissions: The number of retransmitted segments. None means that the file does not contain it.
    median_rtt_ns: The median of the smoothed round trips that TCP reports.
    """

    way: str
    intervals: int
    interval_ns: int
    span_ns: int
    mean_bps: float
    quantiles_bps: dict[float, float]
    zero_ns: int
    retransmissions: int | None
    median_cwnd_bytes: float | None
    median_rtt_ns: float | None


def described_transfer(transfer: Transfer | None) -> TransferDescription | None:
    """Return the description of a transfer, or None if `transfer` is None."""
    if transfer is None:
        return None
    again, cwnd_bytes, rtt_ns = (
        values[~np.isnan(values)] for values in (transfer.retransmissions, transfer.cwnd_bytes, transfer.rtt_ns)
    )
    # If all intervals have about the same length, unweighted quantiles are used, whose median may lie between two
    # values.
    alike = transfer.length_ns.max() <= _ALIKE_RATIO * transfer.length_ns.min()
    return TransferDescription(
        way=transfer.way,
        intervals=len(transfer.t_ns),
        interval_ns=int(np.median(transfer.length_ns)),
        span_ns=int(transfer.t_ns[-1] + transfer.length_ns[-1] - transfer.t_ns[0]),
        # Intervals are weighted by their length, because the last one is usually shorter.
        mean_bps=float(np.average(transfer.rate_bps, weights=transfer.length_ns)),
        quantiles_bps=(
            quantiles(transfer.rate_bps)
            if alike
            else weighted_quantiles(transfer.rate_bps, transfer.length_ns.astype(np.float64))
        ),
        zero_ns=int(transfer.length_ns[transfer.rate_bps == 0].sum()),
        retransmissions=int(again.sum()) if len(again) else transfer.all_retransmissions,
        median_cwnd_bytes=float(np.median(cwnd_bytes)) if len(cwnd_bytes) else None,
        median_rtt_ns=float(np.median(rtt_ns)) if len(rtt_ns) else None,
    )
