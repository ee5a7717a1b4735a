# SPDX-License-Identifier: Apache-2.0
"""Estimate the length of loss bursts from the times of a TCP transfer's retransmissions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, Found, Untold, resampled
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.measurement import Transfer

KEY = "loss_burst"
SEGMENT_BYTES, WIRE_BYTES = 1448, 1514
_FEWEST = 20
_BLOCK_NS = 5_000_000_000
_LONGEST_INTERVAL_NS = 500_000_000
_USUAL_RTT_NS = 60e6
_OF_ROW = 0.1
"""At least this share of the segments in each row is assumed to survive the bursts. If bursts took more than nine
tenths of each row, all longer bursts would explain the losses equally well. In this case, the estimate is the shortest
length that explains the losses."""
_APART_RTTS = 2.0
"""Two retransmissions belong to the same burst if the time between them is less than this many round trips. TCP detects
a loss after one round trip, and may retransmit the segment twice."""


def fit_bursts(transfer: Transfer, access: Access) -> list[Found]:
    """Estimate `loss_burst`. It is the number of segments retransmitted after a burst, multiplied by the spacing of
    segments at the link's rate.

    ACK clocking sends the segments of a window in rows at the link's rate, with pauses between the rows. A loss burst
    in such a pause loses no segment, so it is not observed. If segments were sent evenly, longer bursts would be needed
    to explain the losses. The note of the estimate states their length.

    access: The profile with the link's rate, of which the transfer alone gives only a lower bound.
    """
    told = ~np.isnan(transfer.retransmissions)
    if not transfer.rate_bps.any():
        return [Untold(KEY, "nothing was carried")]
    if not told.all():
        return [Untold(KEY, "the transfer's file does not say when segments were sent again")]
    interval_ns = float(np.median(transfer.length_ns))
    if interval_ns > _LONGEST_INTERVAL_NS:
        return [Untold(KEY, f"intervals of {interval_ns / 1e9:.3g} s do not tell one burst from the next")]
    known_ns = transfer.rtt_ns[transfer.rtt_ns > 0]
    rtt_ns = float(np.median(known_ns)) if len(known_ns) else _USUAL_RTT_NS
    # Two bursts cannot be distinguished if they are closer than this: two round trips, plus half a reporting interval
    # at the end of the first burst and half at the start of the second.
    dead_ns = _APART_RTTS * rtt_ns + interval_ns
    again = np.flatnonzero(transfer.retransmissions > 0)
    ends_ns = transfer.t_ns[again] + transfer.length_ns[again]
    apart = transfer.t_ns[again][1:] - ends_ns[:-1] > _APART_RTTS * rtt_ns
    first = again[np.append(True, apart)[: len(again)]]
    if len(first) < _FEWEST:
        return [Untold(KEY, f"segments were sent again at {len(first)} times, which are too few")]
    begins = np.zeros(len(transfer.t_ns))
    begins[first] = 1.0
    segments = transfer.rate_bps * transfer.length_ns / 8e9 / SEGMENT_BYTES
    table = np.column_stack([transfer.retransmissions, segments, transfer.length_ns, begins])
    # A burst and its retransmissions may span a few successive intervals, so blocks of intervals are resampled.
    block = max(round(_BLOCK_NS / interval_ns), 1)
    blocks = np.add.reduceat(table, np.arange(0, len(table), block), axis=0)

    capacity_bps = access.capacity_bps if transfer.way == "down" else access.capacity_up_bps
    if capacity_bps is None:
        return [Untold(KEY, "the link's rate, at which rows of segments leave, is not known")]
    spacing_ns = 8e9 * WIRE_BYTES / capacity_bps

    def length_ns(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        lost, sent, lasts_ns, times = drawn.sum(axis=0)
        # A resample without a burst has no burst length, so its number of bursts is set to one.
        seen_ns = lost / _bursts(max(times, 1.0), lasts_ns / dead_ns) * spacing_ns
        row_ns = sent / lasts_ns * rtt_ns * spacing_ns
        # A burst of length L that meets a row of length R covers L R / (R + L) of the row on average, because either
        # may extend beyond the other.
        return np.asarray(seen_ns / max(1.0 - seen_ns / max(row_ns, 1.0), _OF_ROW))

    low, high = resampled(blocks, length_ns)
    value_ns = float(length_ns(blocks))
    lost, sent, lasts_ns, _ = table.sum(axis=0)
    even_ns = lost / _bursts(float(len(first)), lasts_ns / dead_ns) * lasts_ns / sent
    note = (
        f"{int(lost)} segments were sent again at {len(first)} times more than {_APART_RTTS:g} round trips of "
        f"{rtt_ns / 1e6:.3g} ms apart; in rows at {capacity_bps / 1e6:.4g} Mbit/s, while segments that are sent evenly "
        f"would make it {even_ns / 1e6:.3g} ms; losses of queues are among them"
    )
    return [Estimate(KEY, value_ns, max(float(low), 0.0), float(high), len(first), "bursts", note)]


def _bursts(seen: float, spans: float) -> float:
    """Estimate how many bursts there were, from the number of observed bursts.

    The observed time is `spans` times as long as the dead time, and contains n bursts. A burst is observed only if no
    other burst began in the dead time before it. For a Poisson process: seen = n exp(-n / spans), solved by iteration.
    The largest possible `seen` is spans / e, at n = spans.
    """
    count = seen
    for _ in range(50):
        count = min(seen * float(np.exp(count / spans)), spans)
    return count
