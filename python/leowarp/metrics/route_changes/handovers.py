# SPDX-License-Identifier: Apache-2.0
"""The effects of all route changes on a flow: losses near changes, recovery and delay spikes.

"Near" a change means within 1 s before or after it (`probes.NEAR_NS`). The share of changes with losses ignores losses
at a full queue, because TCP itself causes these losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import whole
from leowarp.metrics.inputs.tables import DATA, Tables, floats
from leowarp.metrics.per_flow.probes import NEAR_NS, Probes, near, quantile
from leowarp.scalars import names
from leowarp.scalars.of_flows import RECOVERY
from leowarp.trace.schema.packets import CAUSES, QUEUE

LEAST_PROBES = 5
"""A change is evaluated only with enough probes. At least this many are needed both in the second before the change and
in the second after it. Five probes per second need an interval of at most 200 ms."""


def losses_near_changes(tables: Tables, flow: int, changes_ns: np.ndarray) -> dict[str, int | None]:
    """Return how many data packets of a flow were lost near one of the sorted route changes, in total and by cause.
    None means that losses were not recorded."""
    names = [f"lost_{name}_near_changes_pkts" for name in CAUSES.values()]
    if not tables.knows_drops:
        return dict.fromkeys(["lost_near_changes_pkts", *names])
    t_ns, cause = _losses(tables, flow)
    # A packet counts if it was dropped near the change; its sending time does not matter. The packet may have been sent
    # up to 60 ms before the drop: at 100 Mbit/s, sending a queue of 500 packets takes 60 ms.
    close = cause[near(t_ns, changes_ns)]
    counted: dict[str, int | None] = {"lost_near_changes_pkts": len(close)}
    return counted | {name: int((close == number).sum()) for name, number in zip(names, CAUSES, strict=True)}


def changes_with_loss(lost_ns: np.ndarray, changes_ns: Sequence[int] | np.ndarray) -> dict[str, Any]:
    """Return the shares of the route changes with losses near them, and with exactly one. None means no changes.

    lost_ns: int64 array, sorted. The time at which each packet was lost.

    >>> changes_with_loss(np.array([5_000_000_000]), [4_500_000_000, 20_000_000_000])
    {'changes_with_loss_ratio': 0.5, 'changes_with_one_loss_ratio': 0.5}
    """
    changes_ns = np.asarray(changes_ns, dtype="int64")
    if len(changes_ns) == 0:
        return {"changes_with_loss_ratio": None, "changes_with_one_loss_ratio": None}
    # If two changes are less than 2 s apart, a loss between them may be near both, and is then counted for both.
    first = np.searchsorted(lost_ns, changes_ns - NEAR_NS, side="left")
    count = np.searchsorted(lost_ns, changes_ns + NEAR_NS, side="right") - first
    return {"changes_with_loss_ratio": float((count > 0).mean()), "changes_with_one_loss_ratio":
            float((count == 1).mean())}  # fmt: skip


def of_packets(tables: Tables, flow: int, changes_ns: np.ndarray) -> dict[str, Any]:
    """Return `changes_with_loss` for the lost data packets of a flow. Packets that a full queue dropped are left
    out."""
    if not tables.knows_drops:
        return changes_with_loss(np.zeros(0), ())
    t_ns, cause = _losses(tables, flow)
    return changes_with_loss(np.sort(t_ns[cause != QUEUE]), changes_ns)


def of_probes(probes: Probes | None, changes_ns: np.ndarray) -> dict[str, Any]:
    """Return `changes_with_loss` for probes, and quantiles of their delay spikes. Losses at a full queue are included,
    because it is not known where a probe or its reply was lost."""
    if probes is None:
        return changes_with_loss(np.zeros(0), ()) | {f"spike_{name}_ns": None for name, _ in _QUANTILES}
    spikes = probe_spikes(probes, changes_ns)
    return changes_with_loss(probes.sent_ns[probes.is_lost], changes_ns) | {
        f"spike_{name}_ns": whole(quantile(spikes, q)) for name, q in _QUANTILES
    }


def probe_spikes(probes: Probes, changes_ns: np.ndarray) -> np.ndarray:
    """Return the spike at each change: the largest delay within 1 s before or after it, minus the median delay in the
    second before it.

    The time before the change is included, because the change also delays probes that are in flight.

    Returns: float64 array in ns. A change has a value only if at least one probe from the second before the change was
        answered. At least `LEAST_PROBES` probes must have been sent in this second, and as many in the second after the
        change. With fewer probes, most spikes would be missed, because a spike is much shorter than a second.
    """
    spikes = []
    for t_ns in changes_ns.tolist():
        # Before the change, the median is used, because the delay of a single probe may include jitter. Around the
        # change, the maximum is used, because the delay stays high for much less than a second.
        before = probes.between(t_ns - NEAR_NS, t_ns).delay_ns
        close = probes.between(t_ns - NEAR_NS, t_ns + NEAR_NS).delay_ns
        if min(len(before), len(close) - len(before)) < LEAST_PROBES:
            continue
        middle = quantile(before[~np.isnan(before)], 0.5)
        if middle is not None:
            spikes.append(float(np.nanmax(close)) - middle)
    return np.array(spikes)


def recovery_scalars(recoveries: pd.DataFrame, flow: int) -> dict[str, Any]:
    """Return quantiles over the changes of a flow's path (`scalars.of_flows.RECOVERY`). Changes for which a quantity is
    unknown are left out. If a quantile is the value of a change without recovery, the quantile is None."""
    mine = recoveries[recoveries["flow"].to_numpy() == flow]
    judged = mine[mine["recovered"].notna()]
    row: dict[str, Any] = dict.fromkeys(names(RECOVERY))
    if len(judged):
        # A change without recovery counts as the longest time. If it were left out, recovery would seem faster.
        duration = np.nan_to_num(floats(judged["duration_ns"]), nan=np.inf)
        row |= {f"recovery_{name}_ns": whole(quantile(duration, q)) for name, q in _QUANTILES}
        row["recovered_ratio"] = float(np.isfinite(duration).mean())
        row["goodput_dip_p50_ratio"] = quantile(floats(judged["depth_ratio"]), 0.5)
    spikes = floats(mine["spike_ns"])
    spikes = spikes[~np.isnan(spikes)]
    if len(spikes):
        row |= {f"spike_{name}_ns": whole(quantile(spikes, q)) for name, q in _QUANTILES}
    return row


def _losses(tables: Tables, flow: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the time and cause of each drop of a flow's data packets, in the order of the table `drops`."""
    drops = tables.of_flow("drops", flow)
    data = floats(drops["flow_direction"]) == DATA
    return drops["t_ns"].to_numpy(dtype="int64")[data], floats(drops["cause"])[data]


_QUANTILES = (("p50", 0.5), ("p90", 0.9))
