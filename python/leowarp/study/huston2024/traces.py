# SPDX-License-Identifier: Apache-2.0
"""What the claims and figures take of a TCP session's trace: rates over time, losses by where they fell, and each time
the sender cut its window: after which loss, and how long it took to grow back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp.metrics import DATA, NEAR_NS, goodput, near
from leowarp.metrics.tables import Tables, floats
from leowarp.report import RunView

HANDOVER_NS = NEAR_NS
"""A loss that a link inflicts within this (1 s) before or after a reconfiguration is the handover's."""

CUT_WITHIN_NS = 500_000_000
"""A window is cut by a loss at most this long before: one round trip with a full queue and its recovery's start."""

CUT_RATIO = 0.9
"""A fall of the slow-start threshold to less than this share of the window before is a cut."""

BIN_NS = 500_000_000

QUEUE, LOSS = 1, 2
"""Drop causes (design/interfaces.md, section 6)."""

KINDS = ("queue", "handover", "isolated", "other")
"""Where a loss fell: a full queue (or the AQM), the link at a reconfiguration, the link at any other time; links that
were down, or unknown."""

NO_LOSS = "none"
"""A cut that no loss preceded: an ECN mark, or HyStart's end of slow start."""


@dataclass(frozen=True)
class Trace:
    """One flow of one session.

    Attributes
    ----------
    seed : int
    end_s : float
    reconfigurations_s : float64 array
        When the path changed.
    t_s, goodput_bps, capacity_bps : float64 arrays of shape (bins,)
        Start of each bin, bytes in order at the receiver (or another reading), and what the link could have carried as
        payload.
    cwnd_t_s, cwnd_pkts : float64 arrays of shape (samples,)
    bbr_bps : float64 array of shape (samples,)
        BBR's estimate of the bottleneck; nan for others.
    losses : DataFrame
        `t_s`, `kind`: one row a lost data packet.
    cuts : DataFrame
        `t_s`, `kind` (of the first loss before it, or `NO_LOSS`), `lost_pkts` (lost before it), `before_pkts`,
        `after_pkts`, `grown_after_s` (nan: not before the next cut).
    """

    seed: int
    end_s: float
    reconfigurations_s: np.ndarray
    t_s: np.ndarray
    goodput_bps: np.ndarray
    capacity_bps: np.ndarray
    cwnd_t_s: np.ndarray
    cwnd_pkts: np.ndarray
    bbr_bps: np.ndarray
    losses: pd.DataFrame
    cuts: pd.DataFrame

    @property
    def mean_capacity_bps(self) -> float:
        """Over the whole session."""
        return float(self.capacity_bps.mean())

    @property
    def mean_bps(self) -> float:
        """Over the whole session."""
        return float(self.goodput_bps.mean())

    def between(self, start_s: float, end_s: float) -> float:
        """Mean goodput of the bins that begin in [start, end); nan if there are none."""
        inside = (self.t_s >= start_s) & (self.t_s < end_s)
        return float(self.goodput_bps[inside].mean()) if inside.any() else math.nan


def trace_of(run: RunView, bin_ns: int = BIN_NS, series: str = "in_order") -> Trace:
    """The main flow of a kept run, with one of the readings of goodput."""
    flow, plan = run.main_flow, run.plan
    samples = run.tables.of_flow("sockets", flow)
    frame = goodput(run.tables, flow, series, bin_ns)
    edges = np.append(frame["t_ns"].to_numpy(dtype="int64"), int(frame["t_ns"].iloc[-1]) + bin_ns)
    changes_ns = run.changes["t_ns"].to_numpy(dtype="int64")
    drops = run.tables.drops
    lost = losses(drops[(drops["flow"] == flow) & (drops["flow_direction"] == DATA)], changes_ns)
    when_ns = samples["t_ns"].to_numpy(dtype="int64")
    return Trace(
        seed=int(plan.run.seed),
        end_s=run.metrics.end_ns / 1e9,
        reconfigurations_s=changes_ns / 1e9,
        t_s=edges[:-1] / 1e9,
        goodput_bps=frame["goodput_bps"].to_numpy(),
        capacity_bps=payload_ratio(samples) * capacity_in_bins(run.tables, "gateway", "terminal", edges),
        cwnd_t_s=when_ns / 1e9,
        cwnd_pkts=floats(samples["cwnd_pkts"]),
        bbr_bps=floats(samples["bbr_bw_bps"]),
        losses=lost,
        cuts=cuts(when_ns, floats(samples["cwnd_pkts"]), floats(samples["ssthresh_pkts"]), lost),
    )


def payload_ratio(samples: pd.DataFrame) -> float:
    """Payload of a full segment over what the link counts of it: IP and TCP headers with timestamps, and 14 B."""
    payload_bytes = float(samples["snd_mss_bytes"].max())
    return payload_bytes / (payload_bytes + 52 + 14)


def capacity_in_bins(tables: Tables, a: str, b: str, edges_ns: np.ndarray) -> np.ndarray:
    """Mean rate of a direction in bins, from the timeline's table; nan where it is unshaped."""
    t_ns, rate_bps = tables.channels.capacity_bps[a, b]
    # The integral is a broken line through the rows' instants; its differences over the bins are exact.
    carried = np.concatenate([[0.0], np.cumsum(rate_bps[:-1] * np.diff(t_ns))])
    row = np.searchsorted(t_ns, edges_ns, side="right") - 1
    return np.diff(carried[row] + rate_bps[row] * (edges_ns - t_ns[row])) / np.diff(edges_ns)


def losses(drops: pd.DataFrame, changes_ns: np.ndarray) -> pd.DataFrame:
    """`t_s`, `kind` of each lost packet of a flow, by `KINDS`."""
    t_ns, cause = drops["t_ns"].to_numpy(dtype="int64"), drops["cause"].to_numpy(dtype="int64")
    at_handover = near(t_ns, changes_ns, HANDOVER_NS)
    kind = np.select([cause == QUEUE, (cause == LOSS) & at_handover, cause == LOSS], KINDS[:3], KINDS[3])
    frame = pd.DataFrame({"t_s": t_ns / 1e9, "kind": kind})
    return frame.sort_values("t_s", kind="stable").reset_index(drop=True)


def cuts(t_ns: np.ndarray, cwnd_pkts: np.ndarray, ssthresh_pkts: np.ndarray, lost: pd.DataFrame) -> pd.DataFrame:
    """Each time the sender cut its window, see `Trace.cuts`.

    A cut is a sample at which the slow-start threshold differs from the one before and is below `CUT_RATIO` of the
    largest window of the last two samples: every loss-based algorithm sets it when it takes a packet for lost, and at
    no other time but the end of slow start. Cuts closer together than two samples count as one.
    """
    rows = []
    lost_ns = np.round(lost["t_s"].to_numpy() * 1e9).astype("int64")
    kinds = lost["kind"].to_numpy()
    previous_ns = -CUT_WITHIN_NS
    for place in range(1, len(t_ns)):
        before = float(np.nanmax(cwnd_pkts[max(place - 2, 0) : place]))
        now, was = ssthresh_pkts[place], ssthresh_pkts[place - 1]
        if np.isnan(now) or now == was or now >= CUT_RATIO * before:
            continue
        since_ns = max(previous_ns, int(t_ns[place]) - CUT_WITHIN_NS)
        inside = np.flatnonzero((lost_ns > since_ns) & (lost_ns <= t_ns[place]))
        kind = str(kinds[inside[0]]) if len(inside) else NO_LOSS
        rows.append({"place": place, "t_s": t_ns[place] / 1e9, "kind": kind, "lost_pkts": len(inside),
                     "before_pkts": before, "after_pkts": float(now)})  # fmt: skip
        previous_ns = int(t_ns[place])
    frame = pd.DataFrame(rows, columns=["place", "t_s", "kind", "lost_pkts", "before_pkts", "after_pkts"])
    next_places = np.append(frame["place"].to_numpy(dtype="int64"), len(t_ns))[1:]
    frame["grown_after_s"] = [
        _grown_after_s(t_ns, cwnd_pkts, int(row.place), row.before_pkts, int(until))
        for row, until in zip(frame.itertuples(), next_places, strict=True)
    ]
    return frame.drop(columns="place")


def _grown_after_s(t_ns: np.ndarray, cwnd_pkts: np.ndarray, place: int, before_pkts: float, until: int) -> float:
    """From a cut to the first sample, before the next cut, at which the window is what it was before.

    The window may still stand where it was at the sample of the cut: growth counts from its lowest on.
    """
    later = cwnd_pkts[place:until]
    if len(later) == 0 or np.isnan(later).all():
        return math.nan
    lowest = int(np.nanargmin(later))
    back = np.flatnonzero(later[lowest:] >= before_pkts)
    return float(t_ns[place + lowest + back[0]] - t_ns[place]) / 1e9 if len(back) else math.nan
