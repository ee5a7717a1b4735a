# SPDX-License-Identifier: Apache-2.0
"""The results of probes: round-trip times, their differences, losses, runs of losses, and round-trip times per slot.

A probe counts as lost if no reply came. In a flow without replies, a probe counts as lost if it did not arrive. A probe
without a result is excluded if the time from the probe to the run's end is too short. This time is too short if it is
less than the longest round trip. Such a probe may still be in flight at the run's end.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.instants import distinct
from leowarp.metrics.inputs.series import whole
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.scalars import names
from leowarp.scalars.of_flows import REPLIES

NEAR_NS = 1_000_000_000
"""A probe counts as near a route change if the time between them is at most this value. In `huston2024`, losses happen
at the handovers."""


@dataclass(frozen=True)
class Probes:
    """The probes of a flow in the order of sending.

    sent_ns: int64 array of shape (n,), ascending. The sending times on the run's clock.
    delay_ns: float64 array of shape (n,). The round-trip time, or the one-way delay if the flow has no replies. nan
        means lost.
    """

    sent_ns: np.ndarray
    delay_ns: np.ndarray

    @property
    def is_lost(self) -> np.ndarray:
        return np.isnan(self.delay_ns)

    def between(self, start_ns: int, end_ns: int) -> Probes:
        """Return the probes sent from `start_ns` on and before `end_ns`. The arrays are views, not copies."""
        low, high = np.searchsorted(self.sent_ns, [start_ns, end_ns], side="left")
        return Probes(self.sent_ns[low:high], self.delay_ns[low:high])

    def without(self, instants_ns: np.ndarray, within_ns: int) -> Probes:
        """Return the probes that were sent more than `within_ns` away from each of the sorted instants."""
        keep = ~near(self.sent_ns, instants_ns, within_ns)
        return Probes(self.sent_ns[keep], self.delay_ns[keep])


def probes(tables: Tables, flow: int, end_ns: int, *, one_way: bool = False) -> Probes:
    """Return the probes of a ping or UDP flow, except those that may still be in flight at the end of the run.

    one_way: If True, the delay is the one-way delay to the destination, as for flows without replies.
    """
    echoes = tables.of_flow("echoes", flow)
    sent = echoes["sent_ns"].to_numpy(dtype="int64")
    delay = floats(echoes["received_ns" if one_way else "reply_ns"]) - sent
    order = np.argsort(sent, kind="stable")
    # The agent writes a UDP probe when its outcome is known (crates/agent/src/packets/ledger.rs, `echo`). Rows are
    # therefore sorted by sending time here: if a probe is late, its row comes after the rows of probes that were sent
    # later.
    sent, delay = sent[order], delay[order]
    arrived = delay[~np.isnan(delay)]
    longest_ns = float(arrived.max()) if len(arrived) else 0.0
    known = ~np.isnan(delay) | (sent <= end_ns - longest_ns)
    return Probes(sent[known], delay[known])


def near(t_ns: np.ndarray, instants_ns: np.ndarray, within_ns: int = NEAR_NS) -> np.ndarray:
    """For each time, return whether one of the sorted instants is at most `within_ns` away.

    >>> near(np.array([0, 5, 9]), np.array([4]), within_ns=2).tolist()
    [False, True, False]
    """
    t_ns, instants_ns = np.asarray(t_ns), np.asarray(instants_ns)
    if len(instants_ns) == 0:
        return np.zeros(len(t_ns), dtype=bool)
    after = np.searchsorted(instants_ns, t_ns, side="left")
    # For a time before the first instant or after the last instant, both distances refer to the same instant.
    ahead = np.abs(instants_ns[np.minimum(after, len(instants_ns) - 1)] - t_ns)
    behind = np.abs(t_ns - instants_ns[np.maximum(after - 1, 0)])
    return np.minimum(ahead, behind) <= within_ns


def quantile(values: np.ndarray, q: float) -> float | None:
    """Return the smallest value for which at least a share `q` of the values is equal or smaller. None means no values.

    values: float64 array of shape (n,). nan is not allowed. Infinite values are treated as larger than all others.

    >>> quantile(np.array([3.0, 1.0, 2.0]), 0.5)
    2.0
    """
    if len(values) == 0:
        return None
    # The factor allows for rounding: 0.1 * 30 is 3.0000000000000004, for which ceil would give 4.
    place = max(int(np.ceil(q * len(values) * (1 - 1e-12))) - 1, 0)
    return float(np.partition(values, place)[place])


def loss_runs(is_lost: np.ndarray) -> np.ndarray:
    """Return how many probes were lost in each sequence of consecutive lost probes, in chronological order.

    >>> loss_runs(np.array([True, False, True, True])).tolist()
    [1, 2]
    """
    edges = np.diff(np.concatenate([[0], np.asarray(is_lost, dtype="int8"), [0]]))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def probe_scalars(probed: Probes | None, changes_ns: np.ndarray, *, replies: bool = True) -> dict[str, Any]:
    """Return the scalars of a flow's probes (`scalars.of_flows.REPLIES`), with times in whole ns.

    probed: The probes. None means that they were not recorded.
    changes_ns: int64 array, sorted. The route changes in either direction.
    replies: True if the destination answers the probes. If the destination does not answer, only the scalars of
        consecutive losses are computed.
    """
    row: dict[str, Any] = dict.fromkeys(names(REPLIES))
    if probed is None:
        return row
    runs = loss_runs(probed.is_lost)
    row |= {
        "loss_runs": len(runs),
        "loss_run_mean_pkts": float(runs.mean()) if len(runs) else None,
        "loss_run_max_pkts": int(runs.max()) if len(runs) else None,
    }
    if not replies:
        return row
    delay = probed.delay_ns[~probed.is_lost]
    # Each reply is compared with the previous reply that came, even if probes between the two were lost. The mean
    # difference is the jitter that an application experiences.
    steps = np.abs(np.diff(delay))
    return row | {
        "replies_pkts": len(delay),
        "replies_lost_pkts": int(probed.is_lost.sum()),
        "replies_lost_near_changes_pkts": int(near(probed.sent_ns[probed.is_lost], changes_ns).sum()),
        **{f"rtt_{name}_ns": whole(quantile(delay, q)) for name, q in _QUANTILES.items()},
        "rtt_mean_ns": whole(delay.mean() if len(delay) else None),
        "rtt_step_mean_ns": whole(steps.mean() if len(steps) else None),
    }


def slots(probed: Probes, changes_ns: np.ndarray, end_ns: int, guard_ns: int = NEAR_NS) -> pd.DataFrame:
    """Return the results of the probes in each slot between two route changes. The columns are `SLOT_COLUMNS`.

    probed: The probes with round-trip times.
    changes_ns: int64 array, sorted. The instants of the changes. The time before the first change is a slot, and so is
        the time after the last change.
    guard_ns: The length of the guard times of a slot: after the change that begins the slot, and before the change that
        ends it. Probes in a guard time are counted, but all results except the counts ignore them.
    Returns: DataFrame in chronological order, with one row per slot in which something was sent. If no probe outside of
        the guard times was answered, the round-trip times of the slot are nan.
    """
    borders = distinct([[0], np.asarray(changes_ns, dtype="int64"), [end_ns]])
    rows: list[dict[str, Any]] = []
    for t_ns, until_ns in itertools.pairwise(borders.tolist()):
        # A probe belongs to the slot in which it was sent. Even if the reply came after the change, the probe itself
        # used the old path.
        whole = probed.between(t_ns, until_ns)
        if len(whole.sent_ns) == 0:
            continue
        # The start and the end of the run are not changes, so the first slot needs no guard time at its start, and the
        # last slot none at its end. A guard time is needed at a change. The additional delay of a handover must not
        # affect a slot's minimum and deviation.
        inner = whole.between(t_ns + guard_ns * (t_ns > 0), until_ns - guard_ns * (until_ns < end_ns))
        delay = inner.delay_ns[~inner.is_lost]
        steps = np.abs(np.diff(delay))
        rows.append({
            "t_ns": t_ns, "until_ns": until_ns, "probes_pkts": len(whole.sent_ns),
            "lost_pkts": int(whole.is_lost.sum()),
            "rtt_min_ns": delay.min() if len(delay) else np.nan,
            "rtt_p50_ns": quantile(delay, 0.5) if len(delay) else np.nan,
            "rtt_deviation_ns": delay.std() if len(delay) else np.nan,
            "rtt_step_mean_ns": steps.mean() if len(steps) else np.nan,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=list(SLOT_COLUMNS))


_QUANTILES = {"min": 0.0, "p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}

SLOT_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "t_ns": ("int64", "ns", "change that begins the slot, or the run's start"),
    "until_ns": ("int64", "ns", "change that ends it, or the run's end"),
    "probes_pkts": ("int64", "pkts", "probes sent in it"),
    "lost_pkts": ("int64", "pkts", "of those, lost"),
    "rtt_min_ns": ("float64", "ns", "smallest round-trip time away from the changes"),
    "rtt_p50_ns": ("float64", "ns", "its median"),
    "rtt_deviation_ns": ("float64", "ns", "its standard deviation"),
    "rtt_step_mean_ns": ("float64", "ns", "mean of |RTT - RTT of the reply before|"),
}
"""The columns of the table of slots, each with its type, unit and meaning."""
