# SPDX-License-Identifier: Apache-2.0
"""How flows share a path: each flow's part of what all of them got, and Jain's index of fairness.

Jain's index of n rates x is (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one flow has everything (Jain, Chiu and
Hawe, DEC TR-301, 1984). Goodput is what the receivers got in order, while all TCP flows ran: from the latest start to
the earliest end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.flows import counter, life
from leowarp.metrics.series import bin_edges
from leowarp.metrics.tables import Tables

SHARE_BIN_NS = 1_000_000_000
"""Bin of the series. Shorter than a few round trips, a share says how bursts alternate and not how flows share."""


def jain_index(rates: Sequence[float] | np.ndarray) -> float | None:
    """Jain's index; None of no rates, or if all are 0.

    Parameters
    ----------
    rates : sequence of float
        In any unit, not negative.

    Examples
    --------
    >>> jain_index([3.0, 3.0]), jain_index([1.0, 0.0, 0.0, 0.0])
    (1.0, 0.25)
    """
    # J = (sum x)^2 / (n sum x^2).
    values = np.asarray(rates, dtype="float64")
    squares = len(values) * float((values**2).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else None


@dataclass(frozen=True)
class Shares:
    """How the TCP flows of a run shared it.

    Attributes
    ----------
    from_ns, until_ns : int or None
        While all of them ran; None: they never did together, or it is not known.
    goodput_bps : dict of flow number to float or None
        In order at the receiver, in that time; a key for each TCP flow of the plan.
    """

    from_ns: int | None
    until_ns: int | None
    goodput_bps: dict[int, float | None]

    @property
    def jain_index(self) -> float | None:
        """Of these rates; None of fewer than two flows."""
        # Of all or of none: an index over those that are known would be another number under the same name.
        rates = [rate for rate in self.goodput_bps.values() if rate is not None]
        return jain_index(rates) if len(rates) == len(self.goodput_bps) > 1 else None

    def share_ratio(self, flow: int) -> float | None:
        """Part of the sum that one flow got, 0 to 1; None of fewer than two flows, if nothing came, or not known."""
        rates = [rate or 0.0 for rate in self.goodput_bps.values()]
        mine = self.goodput_bps.get(flow)
        return None if mine is None or len(rates) < 2 or sum(rates) == 0 else mine / sum(rates)

    def fairness(self) -> dict[str, Any]:
        """The summary's object `fairness`: `jain_index`, `from_s`, `until_s`, each None if it is not known."""
        return {
            "jain_index": self.jain_index,
            "from_s": None if self.from_ns is None else self.from_ns / 1e9,
            "until_s": None if self.until_ns is None else self.until_ns / 1e9,
        }


def shares(tables: Tables, flows: Sequence[Any], end_ns: int) -> Shares:
    """How the TCP flows of a plan shared the run; with fewer than two of them nothing is known.

    Parameters
    ----------
    flows : sequence
        `plan.flows`.
    end_ns : int
        End of the run.
    """
    numbers = [number for number, flow in enumerate(flows) if flow.kind == "tcp"]
    unknown = Shares(None, None, dict.fromkeys(numbers))
    if len(numbers) < 2:
        return unknown
    lives = {number: life(tables, number, flows[number], end_ns) for number in numbers}
    from_ns = max(start for start, _ in lives.values())
    until_ns = min(end for _, end in lives.values())
    if until_ns <= from_ns:
        return unknown
    rates: dict[int, float | None] = {}
    for number in numbers:
        t_ns, received = _received(tables, number, lives[number][0])
        # While all run and not over the whole run: a flow that runs alone for a while would look greedy.
        # One look at a socket, at its end, tells of its whole life alone.
        if len(t_ns) < 2 or (len(t_ns) == 2 and lives[number] != (from_ns, until_ns)):
            return unknown
        # Bytes are taken to have come evenly between two samples.
        low, high = np.interp([from_ns, until_ns], t_ns, received)
        rates[number] = float(high - low) * 8e9 / (until_ns - from_ns)
    return Shares(from_ns, until_ns, rates)


def share_series(tables: Tables, flows: Sequence[Any], end_ns: int, bin_ns: int = SHARE_BIN_NS) -> pd.DataFrame:
    """Goodput and share of each TCP flow in bins: `t_ns, flow, goodput_bps, share_ratio, jain_index`, flow by flow.

    A flow has rows for the bins that lie within its life. The index is over the flows that run through the bin, null of
    fewer than two (then the share is too).

    Parameters
    ----------
    flows : sequence
        `plan.flows`; those that are no TCP have no rows.
    end_ns : int
        End of the run.
    bin_ns : int
        Length of a bin.
    """
    pieces = []
    for number, flow in enumerate(flows):
        if flow.kind != "tcp":
            continue
        start_ns, stop_ns = life(tables, number, flow, end_ns)
        t_ns, received = _received(tables, number, start_ns)
        # Bins on whole multiples of their length on the run's clock: those of all flows coincide.
        first = -(-start_ns // bin_ns) * bin_ns
        edges = bin_edges(first, min(stop_ns, int(t_ns[-1])), bin_ns)
        # The start that `_received` adds and one sample at the end would be a straight line, no series.
        if len(t_ns) > 2 and len(edges) > 1:
            rate = np.diff(np.interp(edges, t_ns, received)) * 8e9 / bin_ns
            pieces.append(pd.DataFrame({"t_ns": edges[:-1], "flow": number, "goodput_bps": rate}))
    if not pieces:
        return pd.DataFrame({"t_ns": pd.Series(dtype="int64"), "flow": pd.Series(dtype="int64")}
                            | {name: pd.Series(dtype="float64") for name in SERIES_NUMBERS})  # fmt: skip
    frame = pd.concat(pieces, ignore_index=True)
    # Squares first, so that one grouping gives all three sums: a run of 90 flows over 1000 s has 90,000 rows.
    bins = frame.assign(square=frame["goodput_bps"] ** 2).groupby("t_ns")
    count, total, squares = (
        bins[name].transform(how) for name, how in (("flow", "count"), ("goodput_bps", "sum"), ("square", "sum"))
    )
    known = (count > 1) & (total > 0)
    return frame.assign(
        share_ratio=(frame["goodput_bps"] / total).where(known), jain_index=(total**2 / (count * squares)).where(known)
    )


def _received(tables: Tables, number: int, start_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes received in order at the samples, and none at the flow's start."""
    t_ns, received = counter(tables, number, "in_order")
    later = t_ns > start_ns
    return np.append(start_ns, t_ns[later]), np.append(0.0, received[later])


SERIES_NUMBERS = {
    "goodput_bps": "in order at the receiver, from t_ns on for 1 s",
    "share_ratio": "part of the goodput of all TCP flows that run through the second",
    "jain_index": "Jain's index over the TCP flows that run through the second",
}
"""Numbers of `share_series`, and what they mean."""
