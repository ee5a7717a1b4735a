# SPDX-License-Identifier: Apache-2.0
"""A network cut in two: equal work on both sides, little that crosses, and only links that are long enough."""

from __future__ import annotations

import numpy as np


def halves(work: np.ndarray, edges: np.ndarray, traffic: np.ndarray, tolerance_ratio: float = 0.02) -> np.ndarray:
    """The side, 0 or 1, of each node.

    First by the Fiedler vector (the second eigenvector of the graph's Laplacian): its order, cut where the work is
    halved. Then nodes change sides, one at a time, as long as less crosses (Fiduccia and Mattheyses 1982, without its
    uphill moves) and the sides stay within the tolerance; nodes that only make the sides more equal last.

    Parameters
    ----------
    work : ndarray, shape (nodes,)
        Of each node, in any unit.
    edges : ndarray of int, shape (links, 2)
        The nodes at both ends.
    traffic : ndarray, shape (links,)
        What crosses if the ends are on different sides. A link that must not be cut has an infinite one.
    tolerance_ratio : float
        How much more than half the larger side may have, as a share of all work.
    """
    merged = _merged(len(work), edges[np.isinf(traffic)])
    count = merged.max() + 1
    group_work = np.bincount(merged, weights=work, minlength=count)
    between = np.zeros((count, count))
    free = np.isfinite(traffic)
    np.add.at(between, (merged[edges[free, 0]], merged[edges[free, 1]]), traffic[free])
    between += between.T
    np.fill_diagonal(between, 0.0)
    side = _by_fiedler(group_work, between)
    return _refined(side, group_work, between, tolerance_ratio)[merged]


def _merged(count: int, together: np.ndarray) -> np.ndarray:
    """The number of each node's group: nodes that have to be on one side are one group."""
    group = np.arange(count)
    for a, b in together:
        group[group == group[b]] = group[a]
    return np.unique(group, return_inverse=True)[1]


def _by_fiedler(work: np.ndarray, between: np.ndarray) -> np.ndarray:
    laplacian = np.diag(between.sum(axis=1)) - between
    order = np.argsort(np.linalg.eigh(laplacian)[1][:, min(1, len(work) - 1)], kind="stable")
    before = np.cumsum(work[order]) - work[order] / 2
    side = np.zeros(len(work), dtype=int)
    side[order[before > work.sum() / 2]] = 1
    return side


def _refined(side: np.ndarray, work: np.ndarray, between: np.ndarray, tolerance_ratio: float) -> np.ndarray:
    side = side.copy()
    total, slack = work.sum(), tolerance_ratio * work.sum()
    for _ in range(20 * len(work)):
        sign = 1.0 - 2.0 * side
        excess = (work * sign).sum()  # of side 0 over side 1
        crossing_less = -(between @ sign) * sign
        excess_after = np.abs(excess - 2 * work * sign)
        if abs(excess) > 2 * slack:
            # What brings the sides together, at the least price for each unit of work
            useful = excess_after < abs(excess)
            price = np.where(useful, -crossing_less / np.maximum(work, total * 1e-9), np.inf)
            if not useful.any():
                break
            best = int(np.argmin(price))
        else:
            gain = np.where(excess_after <= 2 * slack, crossing_less, -np.inf)
            best = int(np.argmax(gain))
            if gain[best] <= 0:
                break
        side[best] = 1 - side[best]
    return side
