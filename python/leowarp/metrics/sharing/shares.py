# SPDX-License-Identifier: Apache-2.0
"""Each competing flow's share of the total goodput, and Jain's index of fairness.

`metrics/sharing/competition.py` defines which flows compete, and when. The share of a flow is its in-order goodput,
divided by the sum of its own and its competitors' goodput. The share covers only the times at which the flow competes
with all its competitors. Jain's index of n rates x is (sum x)^2 / (n sum x^2). The index is 1 if all rates are equal,
and 1/n if one flow has all of the goodput (Jain, Chiu and Hawe, DEC TR-301, 1984). A run has an index if every
competing flow competes with all other competing flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import bin_edges
from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.per_flow.goodput import Life, payload_bytes, received_since
from leowarp.metrics.sharing.competition import LEAST_NS, LEAST_RATIO, Competition, Spans, both, competition

SHARE_BIN_NS = 1_000_000_000
"""The length of the bins of the series. In bins shorter than a few round trips, the series would show alternating
bursts of the flows."""


def jain_index(rates: Sequence[float] | np.ndarray) -> float | None:
    """Return Jain's index. None means that there are no rates, or that all rates are 0.

    rates: The rates in any unit, not negative.

    >>> jain_index([3.0, 3.0]), jain_index([1.0, 0.0, 0.0, 0.0])
    (1.0, 0.25)
    """
    # J = (sum x)^2 / (n sum x^2). Because of rounding, J may exceed 1 by one unit in the last place, for example with
    # three equal rates.
    values = np.asarray(rates, dtype="float64")
    squares = len(values) * float((values**2).sum())
    return min(1.0, float(values.sum()) ** 2 / squares) if squares > 0 else None


NO_RIVAL = (
    "no other TCP flow sends the same way over a common link of limited rate for 1 s and a tenth of the longer life"
)
CONTROL = "a connection with less than 1 % of the payload of its program's largest, either way, or the first of iperf3"
NOT_TOGETHER = "its competitors never all ran for 1 s and a tenth of the longest life"
NOT_SAMPLED = "sockets were not sampled while it competed"
NOTHING = "neither it nor its competitors got anything"
SEVERAL = "the TCP flows compete in several groups, or not each with each: see their shares"
"""The reasons for a missing share or index, as text for the summary."""


@dataclass(frozen=True)
class Shares:
    """The goodput shares of the TCP flows of a run.

    ratio: The share of each TCP flow, 0 to 1.
    reason: The reason why a flow has no share. The reason is None if the flow has a share, or if the run has at most
        one TCP flow.
    fairness: The object `fairness` of the summary: `jain_index`, `reason`, and the time from `from_s` to `until_s` in
        which the flows competed.
    """

    ratio: dict[int, float | None]
    reason: dict[int, str | None]
    fairness: dict[str, Any]


def shares(tables: Tables, flows: Sequence[Any], end_ns: int) -> Shares:
    """Return the shares of the TCP flows of a plan."""
    numbers = [number for number, flow in enumerate(flows) if flow.kind == "tcp"]
    ratio: dict[int, float | None] = dict.fromkeys(numbers)
    reason: dict[int, str | None] = dict.fromkeys(numbers)
    fairness: dict[str, Any] = dict.fromkeys(("jain_index", "from_s", "until_s", "reason"))
    if len(numbers) < 2:
        return Shares(ratio, reason, fairness)
    found = competition(tables, flows, end_ns)
    rates = _Rates(tables, found)
    for number in numbers:
        ratio[number], reason[number] = _share(found, rates, number)
    return Shares(ratio, reason, fairness | _fairness(found, rates))


def _share(found: Competition, rates: _Rates, number: int) -> tuple[float | None, str | None]:
    if number in found.controls:
        return None, CONTROL
    if not found.rivals[number]:
        return None, NO_RIVAL
    group = found.group(number)
    if not _is_long(found, group, found.together[number]):
        return None, NOT_TOGETHER
    of_group = rates.within(group, found.together[number])
    if of_group is None:
        return None, NOT_SAMPLED
    total = sum(of_group)
    return (of_group[group.index(number)] / total, None) if total > 0 else (None, NOTHING)


def _fairness(found: Competition, rates: _Rates) -> dict[str, Any]:
    """Return Jain's index of the run's competing flows, or the reason why there is none."""
    groups = {found.group(number) for number, rivals in found.rivals.items() if rivals}
    if not groups:
        return {"reason": NO_RIVAL}
    # If flows compete in several groups, no single index describes them.
    (group, *others) = groups
    if others or any(found.group(number) != group for number in group):
        return {"reason": SEVERAL}
    spans = found.together[group[0]]
    for number in group[1:]:
        spans = both(spans, found.together[number])
    if not _is_long(found, group, spans):
        return {"reason": NOT_TOGETHER}
    of_group = rates.within(group, spans)
    if of_group is None:
        return {"reason": NOT_SAMPLED}
    index = jain_index(of_group)
    if index is None:
        return {"reason": NOTHING}
    return {"jain_index": index, "from_s": float(spans[0, 0]) / 1e9, "until_s": float(spans[-1, 1]) / 1e9}


def _is_long(found: Competition, group: Sequence[int], spans: Spans) -> bool:
    """Return whether flows compete for long enough to give meaningful shares."""
    longest_ns = max(found.lives[number].stop_ns - found.lives[number].start_ns for number in group)
    return int(np.diff(spans).sum()) >= max(LEAST_NS, LEAST_RATIO * longest_ns)


class _Rates:
    """The in-order goodput that flows have while they compete."""

    def __init__(self, tables: Tables, found: Competition) -> None:
        self._tables, self._lives = tables, found.lives
        self._known: dict[tuple[int, bytes], float | None] = {}
        self._curves: dict[int, tuple[np.ndarray, np.ndarray] | None] = {}

    def within(self, group: Sequence[int], spans: Spans) -> list[float] | None:
        """Return the goodput of each flow of a group within `spans`. None means that one of them is unknown."""
        rates = []
        times = spans.tobytes()
        for number in group:
            key = (number, times)
            if key not in self._known:
                self._known[key] = self._rate(number, spans)
            rate = self._known[key]
            if rate is None:
                # A share of only the flows with known goodput would be a different quantity with the same name.
                return None
            rates.append(rate)
        return rates

    def _rate(self, number: int, spans: Spans) -> float | None:
        lived = self._lives[number]
        if number not in self._curves:
            self._curves[number] = _in_life(self._tables, number, lived)
        curve = self._curves[number]
        # If the only sample was taken when the socket closed, only the goodput over the flow's whole life is known.
        if curve is None or (len(curve[0]) == 2 and spans.tolist() != [[lived.start_ns, lived.stop_ns]]):
            return None
        # Bytes are assumed to have arrived evenly between two samples.
        return float(np.diff(np.interp(spans, *curve)).sum()) * 8e9 / float(np.diff(spans).sum())


def _in_life(tables: Tables, number: int, lived: Life) -> tuple[np.ndarray, np.ndarray] | None:
    """Return instants from a flow's start to its end, and how many bytes were received in order up to each. None means
    that the bytes are unknown."""
    carried = payload_bytes(tables, number, lived)
    if carried is None:
        return None
    t_ns, received = received_since(tables, number, lived.start_ns)
    inside = t_ns < lived.stop_ns
    return np.append(t_ns[inside], lived.stop_ns), np.append(received[inside], carried)


def share_series(tables: Tables, flows: Sequence[Any], end_ns: int, bin_ns: int = SHARE_BIN_NS) -> pd.DataFrame:
    """Return each TCP flow's goodput and share in bins, one flow after another. The columns are `t_ns, flow,
    goodput_bps, share_ratio, jain_index`.

    A flow has a row for each bin that lies within its life. The share and the index are computed over the flow itself,
    and the competitors that live during the whole bin. If there is no such competitor, both values are null.
    """
    found = competition(tables, flows, end_ns)
    pieces = []
    for number, lived in found.lives.items():
        t_ns, received = received_since(tables, number, lived.start_ns)
        # Bins start at whole multiples of their length on the run's clock, so the bins of all flows are the same.
        first = -(-lived.start_ns // bin_ns) * bin_ns
        edges = bin_edges(first, min(lived.stop_ns, int(t_ns[-1])), bin_ns)
        # A flow with a single sample at its end is left out, because its series would be a straight line from the
        # flow's start.
        if len(t_ns) > 2 and len(edges) > 1:
            rate = np.diff(np.interp(edges, t_ns, received)) * 8e9 / bin_ns
            pieces.append(pd.DataFrame({"t_ns": edges[:-1], "flow": number, "goodput_bps": rate}))
    if not pieces:
        return pd.DataFrame({"t_ns": pd.Series(dtype="int64"), "flow": pd.Series(dtype="int64")}
                            | {name: pd.Series(dtype="float64") for name in SERIES_NUMBERS})  # fmt: skip
    frame = pd.concat(pieces, ignore_index=True)
    rates = frame.pivot(index="flow", columns="t_ns", values="goodput_bps")
    # Sums over the group of each flow are computed as matrix products, because a run of 90 flows over 1000 s has 90,000
    # rows.
    groups = np.eye(len(rates))
    for row, number in enumerate(rates.index):
        columns = rates.index.get_indexer(pd.Index(found.rivals[number]))
        groups[row, columns[columns >= 0]] = 1.0
    values = rates.to_numpy()
    running, got = np.isfinite(values), np.nan_to_num(values)
    count, total, squares = (groups @ each for each in (running.astype("float64"), got, got**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        share, index = got / total, total**2 / (count * squares)
    known = running & (count > 1) & (total > 0)
    places = (rates.index.get_indexer(frame["flow"]), rates.columns.get_indexer(frame["t_ns"]))
    return frame.assign(
        share_ratio=np.where(known, share, np.nan)[places], jain_index=np.where(known, index, np.nan)[places]
    )


def least_index(series: pd.DataFrame) -> pd.DataFrame:
    """Return `t_ns, jain_index` of each bin of `share_series`. If several groups of flows compete in a bin, the
    smallest index is returned. nan means that no flows compete."""
    return series.groupby("t_ns", as_index=False)["jain_index"].min()


LEAST_INDEX = "Jain's index over the TCP flows that compete in the second from t_ns on; of several groups, the smallest"

SERIES_NUMBERS = {
    "goodput_bps": "goodput in order at the receiver, in the second from t_ns on",
    "share_ratio": "the flow's share of the goodput of itself and its competitors, in the second from t_ns on; only "
    "competitors that live for the whole second count",
    "jain_index": "Jain's index over the flow and its competitors, in the second from t_ns on; only competitors that "
    "live for the whole second count",
}
"""The columns of `share_series` with their meaning."""
