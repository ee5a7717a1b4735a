# SPDX-License-Identifier: Apache-2.0
"""Fits the capacity. A trace gives the median and the variation of the capacity. A TCP transfer gives only a lower
bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.bursts import SEGMENT_BYTES, WIRE_BYTES
from leowarp.fitting.estimate import CUT_SPREAD, Estimate, Found, Untold, resampled
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Transfer
from leowarp.timeline.recordings.period.schedule import Schedule

_WINDOW_NS = 100_000_000
_SECOND_NS = 1_000_000_000
_FEWEST_SLOTS = 4

_WIRE = WIRE_BYTES / SEGMENT_BYTES
"""The number of bytes that a link carries per byte of payload, if segments are full."""


def fit_capacity(capacity: Capacity, way: str, schedule: Schedule) -> list[Found]:
    """Estimate the median capacity of the slots, and the spread between slots, from a capacity trace."""
    key = "capacity" if way == "down" else "capacity_up"
    end_ns = max(capacity.end_ns, int(capacity.t_ns[-1]) + 1)
    t_ns = np.arange(int(capacity.t_ns[0]), end_ns, _WINDOW_NS, dtype=np.int64)
    rate_bps = _means(capacity, t_ns, end_ns)
    if np.isnan(rate_bps).any():
        return [Untold(key, "the trace is unshaped, at least at times")]
    slot = (t_ns - schedule.phase_ns) // schedule.period_ns
    groups = [rate_bps[(slot == one) & (rate_bps > 0)] for one in np.unique(slot)]
    groups = [one for one in groups if len(one) >= 20]
    if len(groups) < _FEWEST_SLOTS:
        return [Untold(key, f"{len(groups)} slots are too few")]
    levels = np.array([np.median(one) for one in groups])
    low, high = resampled(levels, lambda drawn: np.asarray(np.median(drawn)))
    note = "median over slots of each slot's median over 100 ms"
    found: list[Found] = [Estimate(key, float(np.median(levels)), float(low), float(high), len(levels), "slots", note)]
    if way == "up":
        return found

    def spread(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(min(float(np.log(drawn).std(ddof=1)) / CUT_SPREAD, 1.0))

    low, high = resampled(levels, spread)
    note = "standard deviation of the logarithm of slots' medians"
    found.append(
        Estimate("capacity_spread", float(spread(levels)), float(low), float(high), len(levels), "slots", note)
    )
    why = "one trace shows their sum, and how it divides is not told"
    return found + [Untold(name, why) for name in ("wander", "wander_time", "modulation", "modulation_time")]


def carried(transfer: Transfer, access: Access, schedule: Schedule) -> list[Found]:
    """Estimate a lower bound of the capacity: the median over slots of the goodput in their best tenth of seconds."""
    key = "capacity" if transfer.way == "down" else "capacity_up"
    t_ns = transfer.t_ns - transfer.t_ns[0]
    second = t_ns // _SECOND_NS
    count = int(second[-1]) + 1
    rate_bps = np.bincount(second, weights=transfer.rate_bps * transfer.length_ns, minlength=count) / 1e9
    slot = (np.arange(count) * _SECOND_NS - schedule.phase_ns) // schedule.period_ns
    best = np.array([np.quantile(rate_bps[slot == one], 0.9) for one in np.unique(slot) if (slot == one).sum() >= 5])
    if len(best) < _FEWEST_SLOTS:
        return [Untold(key, f"{len(best)} slots are too few")]
    best = best * _WIRE
    queue = Untold("queue", "a flow shows that a queue filled only together with its round trips")
    low, high = resampled(best, lambda drawn: np.asarray(np.median(drawn)))
    own_bps = access.capacity_bps if transfer.way == "down" else access.capacity_up_bps
    if own_bps is not None and low <= own_bps:
        # A flow with losses may use less than the link's capacity. If the lower bound is not above the profile's
        # capacity, the flow gives no estimate.
        carried_text = f"{np.median(best) / 1e6:.4g} Mbit/s ({low / 1e6:.4g} to {high / 1e6:.4g})"
        why = f"one flow carried {carried_text} in its best seconds, which the profile's {own_bps / 1e6:.4g} allows"
        return [Untold(key, why), queue]
    note = "a lower bound: what one TCP flow carried in the best tenth of each slot's seconds, median over slots"
    estimate = Estimate(key, float(np.median(best)), float(low), float(high), len(best), "slots", note)
    return [estimate, queue]


def _means(capacity: Capacity, t_ns: NDArray[np.int64], end_ns: int) -> NDArray[np.float64]:
    """Return the mean rate in each window, in bit/s. It is nan if the capacity is unlimited."""
    rate_bps = np.where(capacity.rate_bps == UNSHAPED, np.nan, capacity.rate_bps.astype(np.float64))
    lengths_ns = np.diff(np.append(capacity.t_ns, end_ns)).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(rate_bps * lengths_ns)])
    edges = np.append(t_ns, end_ns)
    at = np.interp(edges, np.append(capacity.t_ns, end_ns), sums)
    return np.asarray(np.diff(at) / np.diff(edges))
