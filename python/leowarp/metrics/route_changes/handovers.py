# SPDX-License-Identifier: Apache-2.0
"""Effects of all route changes on a flow together: losses near them and elsewhere, recovery, spikes.

Near a change is within 1 s before or after it (`probes.NEAR_NS`). Whether a change lost packets is asked of those that
were lost otherwise than at a full queue: what TCP drops at a queue is its own doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.tables import CAUSES, DATA, Tables, floats
from leowarp.metrics.per_flow.probes import NEAR_NS, Probes, near, quantile
from leowarp.scalars import names
from leowarp.scalars.of_flows import RECOVERY

LEAST_PROBES = 5
"""Sent in the second before a change and in the second after it: an interval of 200 ms at most."""

QUEUE = next(number for number, name in CAUSES.items() if name == "queue")


def losses_near_changes(tables: Tables, flow: int, changes_ns: np.ndarray) -> dict[str, int | None]:
    """Data packets of a flow that were lost near a route change, and of those by cause; None: not recorded.

    changes_ns: int64 array, sorted. Changes of its path there or back.
    Returns: `lost_near_changes_pkts` and `lost_<cause>_near_changes_pkts` for each of `CAUSES`.
    """
    names = [f"lost_{name}_near_changes_pkts" for name in CAUSES.values()]
    if not tables.knows_drops:
        return dict.fromkeys(["lost_near_changes_pkts", *names])
    t_ns, cause = _losses(tables, flow)
    # By when it was dropped: what waited in a queue left up to 60 ms earlier (500 packets at 100 Mbit/s).
    close = cause[near(t_ns, changes_ns)]
    counted: dict[str, int | None] = {"lost_near_changes_pkts": len(close)}
    return counted | {name: int((close == number).sum()) for name, number in zip(names, CAUSES, strict=True)}


def changes_with_loss(lost_ns: np.ndarray, changes_ns: Sequence[int] | np.ndarray) -> dict[str, Any]:
    """Share of changes near which packets were lost, and exactly one; None without changes.

    lost_ns: int64 array, sorted. When each packet was lost.

    >>> changes_with_loss(np.array([5_000_000_000]), [4_500_000_000, 20_000_000_000])
    {'changes_with_loss_ratio': 0.5, 'changes_with_one_loss_ratio': 0.5}
    """
    changes_ns = np.asarray(changes_ns, dtype="int64")
    if len(changes_ns) == 0:
        return {"changes_with_loss_ratio": None, "changes_with_one_loss_ratio": None}
    # A loss between two changes less than 2 s apart is near both, and counted at both.
    first = np.searchsorted(lost_ns, changes_ns - NEAR_NS, side="left")
    count = np.searchsorted(lost_ns, changes_ns + NEAR_NS, side="right") - first
    return {"changes_with_loss_ratio": float((count > 0).mean()), "changes_with_one_loss_ratio":
            float((count == 1).mean())}  # fmt: skip


def of_packets(tables: Tables, flow: int, changes_ns: np.ndarray) -> dict[str, Any]:
    """`changes_with_loss` of a flow's data packets that were lost otherwise than at a full queue."""
    if not tables.knows_drops:
        return changes_with_loss(np.zeros(0), ())
    t_ns, cause = _losses(tables, flow)
    return changes_with_loss(np.sort(t_ns[cause != QUEUE]), changes_ns)


def of_probes(probes: Probes | None, changes_ns: np.ndarray) -> dict[str, Any]:
    """`changes_with_loss` of probes, and quantiles of their spikes: `spike_p50_ns`, `spike_p90_ns`.

    All losses count, at a full queue as well: where a probe or its reply was lost is not looked for.
    """
    if probes is None:
        return changes_with_loss(np.zeros(0), ()) | {f"spike_{name}_ns": None for name, _ in _QUANTILES}
    spikes = probe_spikes(probes, changes_ns)
    return changes_with_loss(probes.sent_ns[probes.is_lost], changes_ns) | {
        f"spike_{name}_ns": _whole(quantile(spikes, q)) for name, q in _QUANTILES
    }


def probe_spikes(probes: Probes, changes_ns: np.ndarray) -> np.ndarray:
    """The largest delay within 1 s of each change, less the median of the second before it.

    A probe that is under way at the change meets the spike too, so the largest is looked for on both sides.

    Returns: float64 array, ns. One a change with replies in the second before it and `LEAST_PROBES` probes sent in the
        second before and in the second after, in the order of the changes. Fewer probes mostly miss a spike, which is
        much shorter than a second. With one a second, the result would be 0 wherever the delay fell: both sides count
        for the largest.
    """
    spikes = []
    for t_ns in changes_ns.tolist():
        # A median before, since a single probe may have met jitter; a maximum near, since the rise is much shorter than
        # a second.
        before = probes.between(t_ns - NEAR_NS, t_ns).delay_ns
        close = probes.between(t_ns - NEAR_NS, t_ns + NEAR_NS).delay_ns
        if min(len(before), len(close) - len(before)) < LEAST_PROBES:
            continue
        middle = quantile(before[~np.isnan(before)], 0.5)
        if middle is not None:
            spikes.append(float(np.nanmax(close)) - middle)
    return np.array(spikes)


def recovery_scalars(recoveries: pd.DataFrame, flow: int) -> dict[str, Any]:
    """Quantiles over the changes of a flow's path (`scalars.of_flows.RECOVERY`), of those whose number is known.

    A change after which goodput did not come back within the window counts as longer than any: a quantile that falls on
    one is None.
    """
    mine = recoveries[recoveries["flow"].to_numpy() == flow]
    judged = mine[mine["recovered"].notna()]
    row: dict[str, Any] = dict.fromkeys(names(RECOVERY))
    if len(judged):
        # Not back within the window: longer than any that is known. To leave these out would make recovery look quick.
        duration = np.nan_to_num(floats(judged["duration_ns"]), nan=np.inf)
        row |= {f"recovery_{name}_ns": _whole(quantile(duration, q)) for name, q in _QUANTILES}
        row["recovered_ratio"] = float(np.isfinite(duration).mean())
        row["goodput_dip_p50_ratio"] = quantile(floats(judged["depth_ratio"]), 0.5)
    spikes = floats(mine["spike_ns"])
    spikes = spikes[~np.isnan(spikes)]
    if len(spikes):
        row |= {f"spike_{name}_ns": _whole(quantile(spikes, q)) for name, q in _QUANTILES}
    return row


def _losses(tables: Tables, flow: int) -> tuple[np.ndarray, np.ndarray]:
    """(when, cause) of each data packet of a flow that was dropped, in the order of the table."""
    drops = tables.of_flow("drops", flow)
    data = floats(drops["flow_direction"]) == DATA
    return drops["t_ns"].to_numpy(dtype="int64")[data], floats(drops["cause"])[data]


def _whole(value: float | None) -> int | None:
    """The nearest whole number; None of what is not known or infinite ("not back within the window")."""
    return round(value) if value is not None and np.isfinite(value) else None


_QUANTILES = (("p50", 0.5), ("p90", 0.9))
