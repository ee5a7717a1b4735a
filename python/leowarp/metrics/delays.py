# SPDX-License-Identifier: Apache-2.0
"""Delays of all packets of a flow, whatever is stored of them: one-way delays there and back, and round trips.

The guest counts each packet in a narrow bin as it passes (table `delays`), and keeps of each bin the number, the sum,
the smallest and the largest of its delays. So number, mean, smallest and largest are exact. A quantile is the smallest
delay that a share of the packets does not exceed. Its bin is known, and its rank there: it is put between the smallest
and the largest of the bin as if the delays were evenly spread. It is off by no more than these two are apart, so by
less than 1/128 of the delay and less than 8.192 us; `error_ns` says by how much at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leowarp.metrics.tables import Tables

ROUND_TRIP = 2
"""`quantity` of a round trip in the table `delays`; those of one-way delays are DATA and ACK."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}

DELAY_SCALARS = ("min_ns", "mean_ns", *(f"{name}_ns" for name in QUANTILES), "max_ns", "error_ns")
"""Names of what `Delays.scalars` gives, without the prefix."""


@dataclass(frozen=True)
class Delays:
    """Delays of one quantity of one flow, by bin, ascending.

    Attributes
    ----------
    pkts, sum_ns, min_ns, max_ns : int64 arrays of shape (bins,)
        Packets of each bin, sum of their delays, the smallest, the largest.
    unanswered_pkts : int
        Data packets that arrived and have no round trip: no packet back that left later arrived.
    """

    pkts: np.ndarray
    sum_ns: np.ndarray
    min_ns: np.ndarray
    max_ns: np.ndarray
    unanswered_pkts: int = 0

    @property
    def total_pkts(self) -> int:
        """Packets whose delay is known."""
        return int(self.pkts.sum())

    def quantile_ns(self, q: float) -> int | None:
        """Smallest delay that a share `q` of the packets does not exceed; None of no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[0]

    def error_ns(self, q: float) -> int | None:
        """How far `quantile_ns(q)` is at most from that of the packets themselves; None of no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[1]

    def scalars(self, prefix: str) -> dict[str, int | None]:
        """`<prefix>_<name>` for each name of `DELAY_SCALARS`; all None of no packets."""
        if len(self.pkts) == 0:
            return dict.fromkeys(f"{prefix}_{name}" for name in DELAY_SCALARS)
        found = {name: self._place(q) for name, q in QUANTILES.items()}
        row = {
            "min_ns": int(self.min_ns[0]),
            "mean_ns": round(int(self.sum_ns.sum()) / self.total_pkts),
            **{f"{name}_ns": value for name, (value, _) in found.items()},
            "max_ns": int(self.max_ns[-1]),
            "error_ns": max(error for _, error in found.values()),
        }
        return {f"{prefix}_{name}": row[name] for name in DELAY_SCALARS}

    def _place(self, q: float) -> tuple[int, int]:
        below = np.cumsum(self.pkts)
        # Rounding must not push the rank past the packet that truly reaches q.
        rank = max(int(np.ceil(q * int(below[-1]) * (1 - 1e-12))), 1)
        place = int(np.searchsorted(below, rank, side="left"))
        count, low, high = int(self.pkts[place]), int(self.min_ns[place]), int(self.max_ns[place])
        number = rank - 1 - (int(below[place]) - count)
        # The first and the last of a bin are known.
        if number == 0 or number == count - 1:
            return (low if number == 0 else high), 0
        value = low + (high - low) * number // (count - 1)
        return value, max(value - low, high - value)


def delays(tables: Tables, flow: int, quantity: int) -> Delays | None:
    """Delays of all packets of a flow; None: the run did not count them (no packet truth, or an older version).

    Parameters
    ----------
    quantity : int
        `DATA`, `ACK`: one-way delays of that direction; `ROUND_TRIP`: of TCP flows, as `metrics/round_trips.py` has it.
    """
    if not tables.has("delays"):
        return None
    mine = tables.of_flow("delays", flow)
    mine = mine[mine["quantity"].to_numpy() == quantity]
    counted = mine[mine["lower_ns"].notna()].sort_values("lower_ns")
    names = ("pkts", "delay_sum_ns", "delay_min_ns", "delay_max_ns")
    columns = (counted[name].to_numpy(dtype="int64") for name in names)
    return Delays(*columns, unanswered_pkts=int(mine.loc[mine["lower_ns"].isna(), "pkts"].sum()))
