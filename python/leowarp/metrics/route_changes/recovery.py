# SPDX-License-Identifier: Apache-2.0
"""Computes how far each flow's goodput falls after each route change, and how long the goodput takes to recover.

An effect is attributed to a change for only one reason: it follows the change. The true cause of such an effect may be
different. In contrast, `metrics/route_changes/causes.py` finds proven effects of a change, packet by packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import bin_edges, rate_in_bins, step_at, whole
from leowarp.metrics.inputs.tables import DATA, Tables, floats, truths, typed_frame
from leowarp.metrics.per_flow.probes import NEAR_NS
from leowarp.metrics.per_flow.round_trips import BIN_NS
from leowarp.trace.schema.hosts import CA_LOSS, CA_RECOVERY
from leowarp.trace.schema.packets import QUEUE

RECOVERY_STATES = (CA_RECOVERY, CA_LOSS)
"""While a sender repairs losses, `ca_state` has one of these values."""


@dataclass(frozen=True)
class RecoveryRule:
    """The thresholds and times that define when a flow has recovered from a route change. The descriptions of the
    recovery table's columns contain the defaults of this class.

    Bins of 50 ms are used because `frederiksen2024` samples at 20 Hz. The figures of `frederiksen2024` show transients
    from some hundred milliseconds to about two seconds. When `within_ns` was 10 s, queue overflows in a CUBIC run of
    200 s were counted as effects of route changes.

    before_ns: The mean rate is measured over this time just before a change.
    share_ratio: A flow has recovered if `bins` successive bins reach this share of the flow's mean rate before the
        change.
    bins: The number of successive bins for a recovery.
    bin_ns: The length of a bin.
    within_ns: If goodput falls within this time after a change, the fall counts as an effect of the change. A fall
        after this time probably has another cause, for example an overflowing queue.
    window_ns: The time after the change for which the rate is examined. If the next change comes earlier, this time
        ends at that change.
    """

    before_ns: int = 1_000_000_000
    share_ratio: float = 0.9
    bins: int = 3
    bin_ns: int = 50_000_000
    within_ns: int = 2_000_000_000
    window_ns: int = 5_000_000_000


def dip(rate_bps: np.ndarray, before_bps: float, share_ratio: float, bins: int) -> tuple[int | None, int | None]:
    """Return two bins: the first bin below the threshold, and the first bin of the recovery that follows.

    rate_bps: array of shape (n,). The rate in each bin, beginning at the change.
    share_ratio: The threshold divided by the mean rate before the change, `before_bps`.
    bins: The number of successive bins at or above the threshold that make a recovery.
    Returns: The indexes of the two bins. None means that the rate never fell, or did not recover.

    >>> dip(np.array([10., 2., 9., 9., 9.]), 10., 0.9, 3)
    (1, 2)
    """
    # Several bins in a row are required: when a missing packet arrives, all data that waited for it are delivered as a
    # burst, which raises the rate in one bin only.
    good = np.asarray(rate_bps) >= share_ratio * before_bps
    below = np.flatnonzero(~good)
    if len(below) == 0:
        return None, None
    fell = int(below[0])
    run = 0
    for index in range(fell + 1, len(good)):
        run = run + 1 if good[index] else 0
        if run == bins:
            return fell, index - bins + 1
    return fell, None


def recoveries(
    tables: Tables, changes: pd.DataFrame, flows: dict[tuple[str, str], list[int]], rule: RecoveryRule, end_ns: int
) -> pd.DataFrame:
    """Return one row per route change and affected flow, with the columns of `RECOVERY_COLUMNS`.

    A number is null if its samples do not exist. The samples do not exist if the flow was not alive, or if its samples
    begin less than `before_ns` before the change.

    changes: The result of `route_changes(...)`. Only `t_ns, source, destination` are used.
    flows: The result of `flow_pairs(plan.flows)`. Flows without socket samples (pings, UDP) have no rows.
    Returns: DataFrame, sorted by time, then by flow, like the report and the long form.
    """
    rows = []
    for pair, numbers in flows.items():
        mine = changes[(changes["source"] == pair[0]) & (changes["destination"] == pair[1])]
        instants = [int(t) for t in mine["t_ns"]]
        # In a large network, most flows experience no change, so the arrays of such flows are not built.
        if not instants:
            continue
        for flow in numbers:
            if len(tables.of_flow("sockets", flow)) == 0:
                continue
            life = _Life(tables, flow)
            # The window ends at the next change, so that later effects are attributed to the next change.
            for index, t_ns in enumerate(instants):
                until_ns = min([t_ns + rule.window_ns, end_ns, *instants[index + 1 : index + 2]])
                rows.append({"t_ns": t_ns, "flow": flow, "until_ns": until_ns} | life.dip(t_ns, until_ns, rule)
                            | life.sender(t_ns, until_ns) | life.resent(t_ns, until_ns)
                            | life.lost(t_ns, until_ns) | life.delay(t_ns, until_ns, rule))  # fmt: skip
    rows.sort(key=lambda row: (row["t_ns"], row["flow"]))
    return typed_frame(rows, RECOVERY_COLUMNS)


class _Life:
    """The arrays over time of one flow, which are built once for all changes of the run (up to about a hundred)."""

    def __init__(self, tables: Tables, flow: int) -> None:
        samples = tables.of_flow("sockets", flow)
        self._t_ns = samples["t_ns"].to_numpy(dtype="int64")
        self._samples = {name: floats(samples[name]) for name in ("cwnd_pkts", "srtt_us")}
        self._in_recovery = samples["ca_state"].isin(RECOVERY_STATES).to_numpy(dtype=bool)
        # The counter is read at the receiving host, so it is missing in samples after the receiver's socket was closed.
        received = floats(samples["bytes_received"])
        known = ~np.isnan(received)
        self._when, self._received = self._t_ns[known], received[known]
        packets = tables.of_flow("packets", flow)
        again = (packets["direction"].to_numpy() == DATA) & truths(packets["is_retransmission"])
        again = packets[["sent_ns", "is_spurious"]][again]
        again = again.sort_values("sent_ns", kind="stable")
        self._again, self._spurious = again["sent_ns"].to_numpy(dtype="int64"), truths(again["is_spurious"])
        drops = tables.of_flow("drops", flow)
        drops = drops[floats(drops["flow_direction"]) == DATA].sort_values("t_ns", kind="stable")
        self._lost, self._of_queue = drops["t_ns"].to_numpy(dtype="int64"), floats(drops["cause"]) == QUEUE
        bins = tables.of_flow("bins", flow)
        bins = bins[(bins["direction"].to_numpy() == DATA) & (floats(bins["delivered_pkts"]) > 0)]
        self._bin_ns = bins["t_ns"].to_numpy(dtype="int64")
        self._arrived, self._owd_sum = floats(bins["delivered_pkts"]), floats(bins["owd_sum_ns"])
        self._owd_max = floats(bins["owd_max_ns"])
        self._has_packets, self._knows_drops = tables.has("packets"), tables.knows_drops

    def dip(self, t_ns: int, until_ns: int, rule: RecoveryRule) -> dict[str, Any]:
        """Return the depth of the fall of goodput, and the time until the recovery. The dict is empty if the samples do
        not cover the time from `before_ns` before the change to one bin after it."""
        when, received = self._when, self._received
        if len(when) < 2 or when[0] > t_ns - rule.before_ns or when[-1] < t_ns + rule.bin_ns:
            return {}
        # The interpolation needs one more sample on either side of the window.
        low = max(int(np.searchsorted(when, t_ns - rule.before_ns, side="right")) - 1, 0)
        high = int(np.searchsorted(when, until_ns, side="left")) + 1
        last_ns = min(until_ns, int(when[-1]))
        when, received = when[low:high], received[low:high]
        before_bps = float(rate_in_bins(when, received, np.array([t_ns - rule.before_ns, t_ns]))[0])
        rate = rate_in_bins(when, received, bin_edges(t_ns, last_ns, rule.bin_ns))
        if before_bps <= 0 or len(rate) == 0:
            return {"goodput_before_bps": before_bps}
        fell, back = dip(rate, before_bps, rule.share_ratio, rule.bins)
        # The beginning and the depth of a fall are searched only within `within_ns` after the change. The recovery from
        # this fall, however, is searched in the whole window after the change.
        soon = rate[: max(rule.within_ns // rule.bin_ns, 1)]
        if fell is not None and fell >= len(soon):
            fell = back = None
        return {
            "goodput_before_bps": before_bps,
            "goodput_min_bps": float(soon.min()),
            "depth_ratio": max(0.0, 1.0 - float(soon.min()) / before_bps),
            "fell_after_ns": None if fell is None else fell * rule.bin_ns,
            # If goodput did not fall, the duration is 0. If goodput fell but did not recover in the window, the
            # duration is unknown. It is not the length of the window.
            "duration_ns": 0 if fell is None else (None if back is None else back * rule.bin_ns),
            "recovered": fell is None or back is not None,
        }

    def sender(self, t_ns: int, until_ns: int) -> dict[str, Any]:
        """Return the window, smoothed RTT and state of the sender in the samples after `t_ns`, up to `until_ns`."""
        inside = slice(*np.searchsorted(self._t_ns, [t_ns, until_ns], side="right"))
        row: dict[str, Any] = {}
        for column, name, unit in (("cwnd_pkts", "cwnd", "pkts"), ("srtt_us", "srtt", "us")):
            values = self._samples[column][inside]
            row[f"{name}_before_{unit}"] = whole(float(step_at(self._t_ns, self._samples[column], t_ns, np.nan)))
            row[f"{name}_min_{unit}"] = whole(np.nanmin(values)) if np.isfinite(values).any() else None
            row[f"{name}_max_{unit}"] = whole(np.nanmax(values)) if np.isfinite(values).any() else None
            row[f"{name}_after_{unit}"] = whole(values[-1]) if len(values) else None
        before, after, when = row["cwnd_before_pkts"], self._samples["cwnd_pkts"][inside], self._t_ns[inside]
        # CUBIC reduces its window by 30 % (RFC 9438, 4.6), so a threshold of 10 % detects this.
        cut = np.flatnonzero(after < 0.9 * before) if before else np.zeros(0, dtype=int)
        row["cwnd_fell_after_ns"] = int(when[cut[0]]) - t_ns if len(cut) else None
        # The state of a sample is assumed to last until the next sample. The last sample before the change is not
        # counted.
        row["recovery_state_ns"] = int(np.diff(np.append(when, until_ns))[self._in_recovery[inside]].sum())
        return row

    def resent(self, t_ns: int, until_ns: int) -> dict[str, Any]:
        """Return the number of retransmissions, and the times of the first and the last one."""
        if not self._has_packets:
            return {}
        inside = slice(*np.searchsorted(self._again, [t_ns, until_ns], side="left"))
        again, spurious = self._again[inside], int(self._spurious[inside].sum())
        return {
            "retransmissions_pkts": len(again),
            "spurious_retransmissions_pkts": spurious,
            # A share of 0 would mean that there were retransmissions, and all of them were needed.
            "spurious_ratio": spurious / len(again) if len(again) else None,
            "first_retransmission_after_ns": int(again[0]) - t_ns if len(again) else None,
            "last_retransmission_after_ns": int(again[-1]) - t_ns if len(again) else None,
        }

    def lost(self, t_ns: int, until_ns: int) -> dict[str, Any]:
        """Return how many data packets were dropped within the time window, and how many near the change."""
        if not self._knows_drops:
            return {}
        inside = np.searchsorted(self._lost, [t_ns, until_ns], side="left")
        close = slice(*np.searchsorted(self._lost, [t_ns - NEAR_NS, t_ns + NEAR_NS + 1], side="left"))
        of_queue = self._of_queue[close]
        return {"lost_pkts": int(inside[1] - inside[0]), "lost_near_pkts": len(of_queue),
                "lost_near_queue_pkts": int(of_queue.sum())}  # fmt: skip

    def delay(self, t_ns: int, until_ns: int, rule: RecoveryRule) -> dict[str, Any]:
        """Return two one-way delays in ns. The first is the mean before the route change. The second is the largest
        delay of data that was sent within 1 s after the change.

        The delays come from packet truth, in bins of 50 ms. A packet is in the bin of its sending time. A bin is
        included in the mean only if it ended before the change.
        """
        # The bin that contains the change is counted as after the change.
        first_ns = t_ns - BIN_NS + 1
        before = slice(*np.searchsorted(self._bin_ns, [t_ns - rule.before_ns, first_ns], side="left"))
        after = slice(*np.searchsorted(self._bin_ns, [first_ns, min(t_ns + NEAR_NS, until_ns)]))
        arrived = float(self._arrived[before].sum())
        mean_ns = float(self._owd_sum[before].sum()) / arrived if arrived else None
        highest_ns = float(self._owd_max[after].max()) if len(self._owd_max[after]) else None
        known = mean_ns is not None and highest_ns is not None
        return {
            "delay_mean_before_ns": whole(mean_ns),
            "delay_max_after_ns": whole(highest_ns),
            "spike_ns": round(highest_ns - mean_ns) if known else None,  # type: ignore[operator]
        }


RECOVERY_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "t_ns": ("int64", "ns", "instant of the route change"),
    "flow": ("int64", None, "flow number"),
    "until_ns": ("int64", "ns", "end of the window: next change or end of the run, at most 5 s after the change"),
    "goodput_before_bps": ("Float64", "bit/s", "mean in-order goodput in the second before the change"),
    "goodput_min_bps": ("Float64", "bit/s", "lowest in-order goodput of a 50 ms bin in the 2 s after the change"),
    "depth_ratio": ("Float64", None, "1 - `goodput_min_bps` / `goodput_before_bps`; 0: no dip, 1: a bin with nothing"),
    "fell_after_ns": (
        "Int64",
        "ns",
        "time from the change to the first bin below 90 % of `goodput_before_bps`; null: no such bin within 2 s",
    ),
    "duration_ns": (
        "Int64",
        "ns",
        "time from the change to the first of 3 successive bins at 90 % of `goodput_before_bps` or more; 0: no fall; "
        "null: not within the window",
    ),
    "recovered": ("boolean", None, "whether goodput came back to 90 % within the window, or never fell"),
    "cwnd_before_pkts": ("Int64", "pkts", "congestion window at the last sample before the change"),
    "cwnd_min_pkts": ("Int64", "pkts", "smallest congestion window from the change to `until_ns`"),
    "cwnd_max_pkts": ("Int64", "pkts", "largest congestion window from the change to `until_ns`"),
    "cwnd_after_pkts": ("Int64", "pkts", "congestion window at the last sample until `until_ns`"),
    "cwnd_fell_after_ns": (
        "Int64",
        "ns",
        "time from the change to the first sample below 90 % of `cwnd_before_pkts`; null: no such sample",
    ),
    "srtt_before_us": ("Int64", "us", "smoothed RTT at the last sample before the change"),
    "srtt_min_us": ("Int64", "us", "smallest smoothed RTT from the change to `until_ns`"),
    "srtt_max_us": ("Int64", "us", "largest smoothed RTT from the change to `until_ns`"),
    "srtt_after_us": ("Int64", "us", "smoothed RTT at the last sample until `until_ns`"),
    "recovery_state_ns": (
        "Int64",
        "ns",
        "time in TCP_CA_Recovery or TCP_CA_Loss within the window, from the first sample after the change",
    ),
    "retransmissions_pkts": ("Int64", "pkts", "retransmissions sent within the window"),
    "spurious_retransmissions_pkts": ("Int64", "pkts", "of these, spurious (all bytes arrived in earlier packets)"),
    "spurious_ratio": ("Float64", None, "share of the retransmissions that were spurious; null: no retransmissions"),
    "first_retransmission_after_ns": (
        "Int64",
        "ns",
        "time from the change to the first retransmission within the window",
    ),
    "last_retransmission_after_ns": (
        "Int64",
        "ns",
        "time from the change to the last retransmission within the window",
    ),
    "lost_pkts": ("Int64", "pkts", "data packets that were dropped within the window"),
    "lost_near_pkts": ("Int64", "pkts", "data packets lost within 1 s before or after the change"),
    "lost_near_queue_pkts": ("Int64", "pkts", "of these, lost at a full queue"),
    "delay_mean_before_ns": ("Int64", "ns", "mean one-way delay of the data sent in the second before the change"),
    "delay_max_after_ns": ("Int64", "ns", "largest one-way delay of the data sent in the second after the change"),
    "spike_ns": (
        "Int64",
        "ns",
        "`delay_max_after_ns` minus `delay_mean_before_ns`; includes the step of the path's delay, and queues",
    ),
}
"""The columns of the recovery table, each with its type, unit and meaning. The descriptions quote the numbers of the
default `RecoveryRule`."""
