# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on plain arrays: rates, steps, quantiles and distributions."""

from __future__ import annotations

import numpy as np

from leowarp.base.errors import TraceError


def rate_in_bins(t_ns: np.ndarray, counter_bytes: np.ndarray, edges_ns: np.ndarray) -> np.ndarray:
    """Return the mean rate of a cumulative byte counter in each bin.

    The counter is assumed to grow evenly between two samples. The rate of a bin is exact if there are samples at both
    of its edges. All other rates are interpolated. The rates times their bins' lengths add up to the counter's growth
    from the first edge to the last.

    t_ns, counter_bytes: The sample instants (int64, strictly increasing), and the counter's values, of shape (n,).
    edges_ns: int64 array of shape (k + 1,). The bin edges, increasing, within [t_ns[0], t_ns[-1]].
    Raises TraceError if an edge is outside the samples. Rates are not extrapolated, because they would look like
    measurements.
    """
    t_ns = np.asarray(t_ns, dtype="int64")
    edges_ns = np.asarray(edges_ns, dtype="int64")
    if len(edges_ns) < 2:
        return np.zeros(0)
    if len(t_ns) == 0 or edges_ns[0] < t_ns[0] or edges_ns[-1] > t_ns[-1]:
        span = f"{t_ns[0]}..{t_ns[-1]} ns" if len(t_ns) else "no samples"
        raise TraceError(f"rate in bins: the bins span {edges_ns[0]}..{edges_ns[-1]} ns but the samples {span}")
    # Times are relative to the first sample, so that float64 is exact to a nanosecond for runs of up to 104 days.
    at_edges = np.interp(edges_ns - t_ns[0], t_ns - t_ns[0], np.asarray(counter_bytes, dtype="float64"))
    # The factor 8e9 is bits per byte times ns per second.
    return np.diff(at_edges) * 8e9 / np.diff(edges_ns)


def step_at(t_ns: np.ndarray, values: np.ndarray, at_ns: np.ndarray | int, before: float) -> np.ndarray:
    """Return the values of a step function at some instants. A value is valid from its instant until the next instant.
    Before the first instant, the result is `before`.

    t_ns: array of shape (n,), ascending. If several values have the same instant, the last of them is used.
    Returns: float64 array of the shape of `at_ns`

    >>> step_at(np.array([10, 20]), np.array([1.0, 2.0]), np.array([5, 10, 25]), before=0.0).tolist()
    [0.0, 1.0, 2.0]
    """
    index = np.searchsorted(np.asarray(t_ns), np.asarray(at_ns), side="right") - 1
    values = np.asarray(values, dtype="float64")
    if len(values) == 0:
        return np.full(np.shape(at_ns), before, dtype="float64")
    return np.where(index >= 0, values[np.maximum(index, 0)], before)


def holding_ns(t_ns: np.ndarray, end_ns: int) -> np.ndarray:
    """Return the time for which each sample of a step function applies: its weight in means and quantiles. The last
    sample applies until `end_ns`.

    >>> holding_ns(np.array([0, 10, 30]), end_ns=50).tolist()
    [10, 20, 20]
    """
    t_ns = np.asarray(t_ns, dtype="int64")
    return np.maximum(np.diff(np.append(t_ns, max(end_ns, t_ns[-1] if len(t_ns) else end_ns))), 0)


def weighted_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float | None:
    """Return the smallest value at which the cumulative weight reaches the share `q`. The result is None if the total
    weight is 0.

    Values are not interpolated, so the result is always a measured value.

    values, weights: arrays of shape (n,). Values that are nan and weights that are not positive are ignored.
    """
    values, weights = np.asarray(values, dtype="float64"), np.asarray(weights, dtype="float64")
    keep = ~np.isnan(values) & (weights > 0)
    if not keep.any():
        return None
    order = np.argsort(values[keep], kind="stable")
    cumulative = np.cumsum(weights[keep][order])
    # Rounding of the running sum could move the index past the value that reaches q. The factor prevents this.
    index = np.searchsorted(cumulative, q * cumulative[-1] * (1 - 1e-12), side="left")
    return float(values[keep][order][min(int(index), len(order) - 1)])


def cdf(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, and for each the share of the total weight that all values up to it have.

    values: array of shape (n,). nan values are ignored.
    weights: array of shape (n,), for example `holding_ns`. The default is equal weights.
    """
    values = np.asarray(values, dtype="float64")
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype="float64")
    keep = ~np.isnan(values) & (weights > 0)
    if not keep.any():
        return np.zeros(0), np.zeros(0)
    x, inverse = np.unique(values[keep], return_inverse=True)
    mass = np.bincount(inverse, weights=weights[keep])
    share = np.cumsum(mass) / mass.sum()
    # Rounding of the sum may give 0.9999999999999999 instead of 1. If the last share were below 1, `ccdf` of the
    # largest value would be above 0. No value is larger, however.
    share[-1] = 1.0
    return x, share


def ccdf(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, and the share of the total weight above each value (complementary CDF)."""
    x, share = cdf(values, weights)
    return x, 1.0 - share


def bin_edges(start_ns: int, end_ns: int, bin_ns: int) -> np.ndarray:
    """Return the edges at whole multiples of `bin_ns` from `start_ns`. An incomplete last bin is omitted.

    Raises TraceError if the length of a bin is not positive.

    >>> bin_edges(100, 350, 100).tolist()
    [100, 200, 300]
    """
    if bin_ns <= 0:
        raise TraceError(f"bins of {bin_ns} ns: a bin must be longer than 0", hint="e.g. 50 ms")
    count = max((int(end_ns) - int(start_ns)) // int(bin_ns), 0)
    return int(start_ns) + np.arange(count + 1, dtype="int64") * int(bin_ns)


def whole(value: float | None) -> int | None:
    """Return the nearest whole number. The result is None if the value is missing or infinite."""
    return round(float(value)) if value is not None and np.isfinite(value) else None
