# SPDX-License-Identifier: Apache-2.0
"""The capacity of a direction, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Times

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)

# A Mahimahi trace has opportunities of 1500 bytes, with times in ms. At 50 Mbit/s each ms has four or five
# opportunities, so quantiles per ms would be whole multiples of 12 Mbit/s.
CAPACITY_WINDOW_NS = 100_000_000

GAP_SPACINGS = 10
"""A packet trace has a gap if it has no opportunity for a long time: this number of typical spacings."""

_AROUND = 10
_MS_NS = 1_000_000


@dataclass(frozen=True)
class CapacityDescription:
    """The capacity of a direction. Means and quantiles are weighted by time, and exclude times without a rate limit.

    If rows are shorter than 100 ms, the quantiles are computed from means over 100 ms. A row of a packet trace lasts 1
    ms. It allows 0, 1 or several packets.

    rows: The number of measured rows.
    interval_ns: The median time that a row covers, or 100 ms if the quantiles are computed from means over 100 ms.
    zero_ns: The time in which the direction carried nothing. In a packet trace, only gaps longer than `GAP_SPACINGS`
        times the spacing of nearby opportunities are included. For example, at a steady rate of 3 Mbit/s, one packet is
        carried every 4 ms. The pauses between these packets do not count as gaps.
    steps_bps: The quantiles of the absolute difference between the rates of successive rows.
    """

    mean_bps: float | None
    quantiles_bps: dict[float, float]
    rows: int
    interval_ns: int | None
    zero_ns: int
    steps_bps: dict[float, float]


def described_capacity(capacity: Capacity | None) -> CapacityDescription | None:
    """Return the description of a capacity, or None if `capacity` is None."""
    if capacity is None:
        return None
    rows = len(capacity.t_ns)
    length_ns = np.diff(np.append(capacity.t_ns, max(capacity.end_ns, int(capacity.t_ns[-1]))))
    zero_ns = _gaps_ns(capacity) if capacity.opportunities else int(length_ns[capacity.rate_bps == 0].sum())
    if rows > 1 and np.median(length_ns[:-1]) < CAPACITY_WINDOW_NS and (capacity.rate_bps != UNSHAPED).all():
        capacity = _means(capacity, length_ns)
        length_ns = np.diff(np.append(capacity.t_ns, capacity.end_ns))
    if not length_ns.any():
        length_ns = np.ones_like(length_ns)  # A single constant rate has no length, so it gets the weight 1.
    shaped = capacity.rate_bps != UNSHAPED
    rate_bps, weight = capacity.rate_bps[shaped].astype(np.float64), length_ns[shaped].astype(np.float64)
    both = shaped[1:] & shaped[:-1]
    # A change to or from "no rate limit" has no size.
    steps_bps = np.abs(np.diff(capacity.rate_bps))[both].astype(np.float64)
    return CapacityDescription(
        mean_bps=float(np.average(rate_bps, weights=weight)) if weight.sum() else None,
        quantiles_bps=weighted_quantiles(rate_bps, weight),
        rows=rows,
        interval_ns=int(np.median(length_ns[:-1])) if len(length_ns) > 1 else None,
        zero_ns=zero_ns,
        steps_bps=quantiles(steps_bps),
    )


def _gaps_ns(capacity: Capacity) -> int:
    """Return the total time in gaps: pauses between opportunities that are much longer than the pauses around them."""
    ends_ns = np.append(capacity.t_ns[1:], capacity.end_ns)
    busy = capacity.rate_bps > 0
    begins_ms, lengths_ms = capacity.t_ns[busy] // _MS_NS, (ends_ns - capacity.t_ns)[busy] // _MS_NS
    # `instants_ms` contains each millisecond with an opportunity, and has at most as many values as the file has lines.
    first = np.cumsum(lengths_ms) - lengths_ms
    instants_ms = np.repeat(begins_ms - first, lengths_ms) + np.arange(int(lengths_ms.sum()))
    end_ms = capacity.end_ns // _MS_NS
    apart_ms = np.diff(np.concatenate([[-1], instants_ms, [end_ms]]))
    long = np.flatnonzero(apart_ms > GAP_SPACINGS)
    gaps_ms = 0
    for place in long.tolist():
        before, after = apart_ms[max(place - _AROUND, 1) : place], apart_ms[place + 1 : place + 1 + _AROUND]
        # A gap must be long compared with the spacings before it, and also compared with the spacings after it. Without
        # this rule, the first long spacing after a fall of the rate would count as a gap.
        spacing_ms = max((float(np.median(side)) for side in (before, after) if len(side)), default=np.inf)
        if apart_ms[place] > GAP_SPACINGS * spacing_ms:
            gaps_ms += int(apart_ms[place]) - 1
    return gaps_ms * _MS_NS


def _means(capacity: Capacity, length_ns: Times) -> Capacity:
    """Return the mean rates over windows of `CAPACITY_WINDOW_NS`. The last window may be shorter."""
    begin_ns, end_ns = int(capacity.t_ns[0]), int(capacity.t_ns[-1] + length_ns[-1])
    borders_ns = np.append(np.arange(begin_ns, end_ns, CAPACITY_WINDOW_NS), end_ns)
    carried = np.concatenate([[0.0], np.cumsum(capacity.rate_bps * (length_ns / 1e9))])
    upto = np.interp(borders_ns, np.append(capacity.t_ns, end_ns), carried)
    rate_bps = np.round(np.diff(upto) / (np.diff(borders_ns) / 1e9)).astype(np.int64)
    return Capacity(t_ns=borders_ns[:-1], rate_bps=rate_bps, end_ns=end_ns)


def quantiles(of: NDArray[np.float64]) -> dict[float, float]:
    """Return the quantiles of the values, keyed by the shares in `QUANTILES`. The dict is empty without values."""
    return dict(zip(QUANTILES, np.quantile(of, QUANTILES).tolist(), strict=True)) if len(of) else {}


def weighted_quantiles(of: NDArray[np.float64], weight: NDArray[np.float64]) -> dict[float, float]:
    """Return quantiles of values with weights, as `quantiles`. The dict is empty if the total weight is 0."""
    if not weight.sum():
        return {}
    order = np.argsort(of, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    # A sum of floats may reach only 0.4999999999 instead of one half. The median would then be the value of the next
    # row. Each share is therefore reduced slightly.
    places = np.minimum(np.searchsorted(reached, np.array(QUANTILES) - 1e-12), len(of) - 1)
    return dict(zip(QUANTILES, of[order][places].tolist(), strict=True))
