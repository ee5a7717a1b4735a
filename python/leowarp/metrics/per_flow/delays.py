# SPDX-License-Identifier: Apache-2.0
"""The delays of all packets of a flow, including packets that are not stored. The delays are one-way delays in both
directions, and round trips.

Each bin of the table `delays` covers a narrow range of delays. The guest counts each packet in the bin of its delay.
The guest also records the exact minimum, maximum and sum of all delays (one-way in `bins`, round trips in `flows`). The
number of delays and their mean, minimum and maximum are exact. The quantile for a share is the smallest delay that at
least this share of the packets does not exceed. The bin of a quantile, and the quantile's rank within the bin, are
exact. The value of a quantile is an estimate: the delays are assumed to be spread evenly over the bin. The error is
less than the bin's width. The width is at most 8.192 us, and at most 1/128 of the delay. `error_ns` is the upper bound
of this error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leowarp.metrics.inputs.tables import Tables, floats, kept, rows_by

ROUND_TRIP = 2
"""The value of `quantity` for round trips in the table `delays`. For one-way delays, `quantity` is DATA (0) or ACK
(1)."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
"""The quantiles of delays in the summary. The keys are the words in the names of scalars."""

DELAY_SCALARS = ("min_ns", "mean_ns", *(f"{name}_ns" for name in QUANTILES), "max_ns", "error_ns")
"""The names of the scalars that `Delays.scalars` returns, without the prefix `rtt_` or `owd_`."""


@dataclass(frozen=True)
class Delays:
    """The distribution of one kind of delay of one flow.

    lower_ns, upper_ns, pkts: int64 arrays of shape (bins,). The start, end (exclusive) and number of packets of each
        bin, in ascending order.
    min_ns, max_ns, sum_ns: The minimum, maximum and sum of all delays, or 0 without packets.
    unanswered_pkts: The number of arrived data packets without a round trip. After such a packet arrived, no packet
        left in the other direction, or none of these packets arrived.
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
        """The number of packets with a known delay."""
        return int(self.pkts.sum())

    def quantile_ns(self, q: float) -> int | None:
        """Return the quantile `q` (0 to 1) of the delays, in ns. None means no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[0]

    def error_ns(self, q: float) -> int | None:
        """Return the maximum error of `quantile_ns(q)`, in ns. None means no packets."""
        return None if len(self.pkts) == 0 else self._place(q)[1]

    def scalars(self, prefix: str) -> dict[str, int | None]:
        """Return `<prefix>_<name>` for each name in `DELAY_SCALARS`, in whole ns. If there are no packets, all values
        are None.

        prefix: {"rtt", "owd"}

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
            "error_ns": max(error for _, error in quantiles.values()),
        }
        return {f"{prefix}_{name}": row[name] for name in DELAY_SCALARS}

    def _place(self, q: float) -> tuple[int, int]:
        """Return the quantile `q` of the delays and its maximum error, in ns. The module's docstring describes the
        estimate."""
        below = np.cumsum(self.pkts)
        # Without this factor, rounding could increase the rank beyond the packet that reaches q.
        rank = max(int(np.ceil(q * int(below[-1]) * (1 - 1e-12))), 1)
        # The first rank gives the minimum and the last rank gives the maximum; both values are exact.
        if rank in (1, int(below[-1])):
            return (self.min_ns if rank == 1 else self.max_ns), 0
        place = int(np.searchsorted(below, rank, side="left"))
        # The first bin begins at the minimum, and the last bin ends at the maximum.
        low, high = max(int(self.lower_ns[place]), self.min_ns), min(int(self.upper_ns[place]) - 1, self.max_ns)
        count = int(self.pkts[place])
        number = rank - 1 - (int(below[place]) - count)
        # The value is computed with integers, so that the same trace gives the same number on every machine. A bin with
        # n packets is divided into n equal parts, and each packet's delay is the middle of its part: packet k (from 0)
        # is at (2 k + 1) / 2 n.
        value = low + (high - low) * (2 * number + 1) // (2 * count)
        return value, max(value - low, high - value)


def delays(tables: Tables, flow: int, quantity: int) -> Delays | None:
    """Return the delays of all packets of a flow. None means that the run has no counts of delays. Either it has no
    packet truth, or an older version made it.

    quantity: `DATA` or `ACK` for the one-way delays in this direction. `ROUND_TRIP` for the round trips of a TCP flow
        (see `metrics/per_flow/round_trips.py`).
    Returns: The distribution. It has no bins if nothing arrived, or if the flow has no round trips (pings and UDP).
    """
    if not tables.has("delays"):
        return None
    nothing = np.empty(0, dtype="int64")
    return _of_all_flows(tables).get((flow, quantity), Delays(nothing, nothing, nothing, 0, 0, 0))


@kept
def _of_all_flows(tables: Tables) -> dict[tuple[int, int], Delays]:
    """Return the delays by flow and quantity. All flows are selected together, because a thousand separate selections
    would take seconds."""
    # A row without edges has the number of packets without a delay. Such packets exist only for round trips.
    rows = tables.delays.sort_values("lower_ns")
    lower, upper, pkts = (floats(rows[name]) for name in ("lower_ns", "upper_ns", "pkts"))
    has_edges = ~np.isnan(lower)
    extremes = _of_one_way(tables) | {(flow, ROUND_TRIP): three for flow, three in _of_round_trips(tables).items()}
    # Flow and quantity (0 to 2) are combined into one number; `divmod` separates them again.
    keys = 3 * rows["flow"].to_numpy(dtype="int64") + rows["quantity"].to_numpy(dtype="int64")
    found = {}
    for key, at in rows_by(keys).items():
        quantity = divmod(key, 3)
        bins = [each[at[has_edges[at]]].astype("int64") for each in (lower, upper, pkts)]
        least, most, total = extremes.get(quantity, (0, 0, 0))
        unanswered = int(pkts[at[~has_edges[at]]].sum())
        found[quantity] = Delays(bins[0], bins[1], bins[2], least, most, total, unanswered)
    return found


def _of_round_trips(tables: Tables) -> dict[int, tuple[int, int, int]]:
    """Return (minimum, maximum, sum) of each flow's round trips in ns, from the table `flows`."""
    if not tables.has("flows"):
        return {}
    answered = tables.flows[tables.flows["rtt_sum_ns"].notna()]
    columns = (answered[f"rtt_{name}_ns"].to_numpy(dtype="int64").tolist() for name in ("min", "max", "sum"))
    return dict(zip(answered["flow"].to_numpy(dtype="int64").tolist(), zip(*columns, strict=True), strict=True))


def _of_one_way(tables: Tables) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return (minimum, maximum, sum) of the one-way delays of each flow and direction, in ns."""
    bins = tables.bins
    # Only the needed columns are selected, because a copy of millions of whole rows takes 300 MB.
    some = floats(bins["delivered_pkts"]) > 0
    flows, directions, least, most, total = (
        bins[name].to_numpy()[some].astype("int64", copy=False)
        for name in ("flow", "direction", "owd_min_ns", "owd_max_ns", "owd_sum_ns")
    )
    keys = 2 * flows + directions
    return {
        divmod(key, 2): (int(least[at].min()), int(most[at].max()), int(total[at].sum()))
        for key, at in rows_by(keys).items()
    }
