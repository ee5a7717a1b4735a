# SPDX-License-Identifier: Apache-2.0
"""Delays of all packets of a flow, whatever is stored of them: one-way delays there and back, and round trips.

The guest counts each packet in a narrow bin as it passes (table `delays`) and keeps the smallest, the largest and the
sum of all (one way in `bins`, round trips in `flows`): number, mean, smallest and largest are exact. A quantile is the
smallest delay that a share of the packets does not exceed. Its bin is known, and its rank there: it is put where it
would be if the delays of the bin were evenly spread. It is off by less than the bin's width, so by less than 1/128 of
the delay and less than 8.192 us; `error_ns` says by how much at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leowarp.metrics.tables import Tables, floats

ROUND_TRIP = 2
"""`quantity` of a round trip in the table `delays`; those of one-way delays are DATA (0) and ACK (1)."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
"""Quantiles of delays in the summary, by the word in their names."""

DELAY_SCALARS = ("min_ns", "mean_ns", *(f"{name}_ns" for name in QUANTILES), "max_ns", "error_ns")
"""Names of what `Delays.scalars` gives, without the prefix."""


@dataclass(frozen=True)
class Delays:
    """Delays of one quantity of one flow.

    Attributes
    ----------
    lower_ns, upper_ns, pkts : int64 arrays of shape (bins,)
        Smallest delay of each bin, end of it (not part of it), packets whose delay fell into it; ascending.
    min_ns, max_ns, sum_ns : int
        The smallest delay, the largest, the sum of all; 0 of no packets.
    unanswered_pkts : int
        Data packets that arrived and have no round trip: no packet back that left later arrived.
    """

    lower_ns: np.ndarray
    upper_ns: np.ndarray
    pkts: np.ndarray
    min_ns: int
    max_ns: int
    sum_ns: int
    unanswered_pkts: int = 0

    @property
    def total_pkts(self) -> int:
        """Packets whose delay is known."""
        return int(self.pkts.sum())

    def quantile_ns(self, q: float) -> int | None:
        """Smallest delay that a share `q` (0 to 1) of the packets does not exceed, ns; None of no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[0]

    def error_ns(self, q: float) -> int | None:
        """How far `quantile_ns(q)` is at most from that of the packets themselves, ns; None of no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[1]

    def scalars(self, prefix: str) -> dict[str, int | None]:
        """`<prefix>_<name>` for each name of `DELAY_SCALARS`, whole ns; all None of no packets.

        Parameters
        ----------
        prefix : {"rtt", "owd"}

        Examples
        --------
        >>> lower = np.array([1000, 2000])
        >>> two = Delays(lower, lower + 10, np.array([1, 1]), min_ns=1003, max_ns=2004, sum_ns=3007)
        >>> two.scalars("rtt")["rtt_mean_ns"], two.quantile_ns(0.5), two.error_ns(0.99)
        (1504, 1003, 0)
        """
        if len(self.pkts) == 0:
            return dict.fromkeys(f"{prefix}_{name}" for name in DELAY_SCALARS)
        quantiles = {name: self._place(q) for name, q in QUANTILES.items()}
        row = {
            "min_ns": self.min_ns,
            "mean_ns": round(self.sum_ns / self.total_pkts),
            **{f"{name}_ns": value for name, (value, _) in quantiles.items()},
            "max_ns": self.max_ns,
            # One error for all quantiles: the largest, so that nobody has to look which it was.
            "error_ns": max(error for _, error in quantiles.values()),
        }
        return {f"{prefix}_{name}": row[name] for name in DELAY_SCALARS}

    def _place(self, q: float) -> tuple[int, int]:
        """A quantile and how far it may be off, both in ns, by the rule at the top of the file."""
        below = np.cumsum(self.pkts)
        # Rounding must not push the rank past the packet that truly reaches q.
        rank = max(int(np.ceil(q * int(below[-1]) * (1 - 1e-12))), 1)
        # The smallest and the largest are known exactly, whatever their bins.
        if rank in (1, int(below[-1])):
            return (self.min_ns if rank == 1 else self.max_ns), 0
        place = int(np.searchsorted(below, rank, side="left"))
        # The outermost bins reach no further than what was met.
        low, high = max(int(self.lower_ns[place]), self.min_ns), min(int(self.upper_ns[place]) - 1, self.max_ns)
        count = int(self.pkts[place])
        number = rank - 1 - (int(below[place]) - count)
        # In integers, so that the same trace gives the same number everywhere.
        # The middle of its share of the bin: of n packets the k-th (from 0) stands at (2 k + 1) / 2 n.
        value = low + (high - low) * (2 * number + 1) // (2 * count)
        return value, max(value - low, high - value)


def delays(tables: Tables, flow: int, quantity: int) -> Delays | None:
    """Delays of all packets of a flow; None: the run did not count them (no packet truth, or an older version).

    Parameters
    ----------
    flow : int
        Flow number.
    quantity : int
        `DATA`, `ACK`: one-way delays of that direction; `ROUND_TRIP`: of TCP flows, as `metrics/round_trips.py` has it.

    Returns
    -------
    Delays or None
        Without a bin if nothing arrived, or a flow has no round trip (pings and UDP).
    """
    if not tables.has("delays"):
        return None
    mine = tables.of_flow("delays", flow)
    mine = mine[mine["quantity"].to_numpy() == quantity]
    counted = mine[mine["lower_ns"].notna()].sort_values("lower_ns")
    lower, upper, pkts = (counted[name].to_numpy(dtype="int64") for name in ("lower_ns", "upper_ns", "pkts"))
    of_all = _of_round_trips(tables, flow) if quantity == ROUND_TRIP else _of_one_way(tables, flow, quantity)
    # A row without edges counts what has no delay; it is one of round trips alone.
    return Delays(lower, upper, pkts, *of_all, unanswered_pkts=int(mine.loc[mine["lower_ns"].isna(), "pkts"].sum()))


def _of_round_trips(tables: Tables, flow: int) -> tuple[int, int, int]:
    """(smallest, largest, sum) of a flow's round trips, ns, as the guest stored them in `flows`; zeros of none."""
    ending = tables.of_flow("flows", flow)
    # A flow without a single round trip has none of the three.
    if len(ending) == 0 or ending["rtt_sum_ns"].isna().any():
        return 0, 0, 0
    least, most, total = (int(ending[f"rtt_{name}_ns"].iloc[0]) for name in ("min", "max", "sum"))
    return least, most, total


def _of_one_way(tables: Tables, flow: int, direction: int) -> tuple[int, int, int]:
    """(smallest, largest, sum) of the one-way delays of a direction, ns, over the bins of `bins`; zeros of none."""
    bins = tables.of_flow("bins", flow)
    bins = bins[(bins["direction"].to_numpy() == direction) & (floats(bins["delivered_pkts"]) > 0)]
    if len(bins) == 0:
        return 0, 0, 0
    return int(bins["owd_min_ns"].min()), int(bins["owd_max_ns"].max()), int(bins["owd_sum_ns"].sum())
