# SPDX-License-Identifier: Apache-2.0
"""Evidence from a TCP session's trace: rates over time, losses by kind, and each cut of the sender's window. Each cut
has the loss before it, and the time until the window recovered."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp import Run
from leowarp.metrics import DATA, NEAR_NS, goodput, near
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.metrics.route_changes.recovery import RECOVERY_STATES
from leowarp.trace.schema.hosts import CA_CWR, CA_LOSS

HANDOVER_NS = NEAR_NS
"""A loss on the link counts as a handover loss if it is at most this time (1 s) from a reconfiguration."""

CUT_WITHIN_NS = 500_000_000
"""The longest time in ns between a loss and the cut that it causes. This time covers one round trip with a full queue,
and then the time until recovery begins."""

CUT_RATIO = 0.9
"""A window reduction is a cut if the new slow-start threshold is below this share of the previous window."""

BIN_NS = 500_000_000
"""The bin width, in ns, for the goodput that claims use. A bin lasts about ten round trips."""

QUEUE, LOSS = 1, 2
"""The numbers of two causes of drops (design/interfaces.md, section 6)."""

KINDS = ("queue", "handover", "isolated", "other")
"""The kinds of loss. The kind "queue" is a loss at a full queue or by the AQM. A loss on the link is of the kind
"handover" near a reconfiguration, and otherwise "isolated". The kind "other" is a loss on a link that was down, or at
an unknown place."""

NO_LOSS = "none"
"""The kind of a window cut without a loss before it. The cause is an ECN mark, or HyStart ended slow start."""


OPEN_ENDED = "not at all"
"""The value of `SlowStart.by` for a session that never left slow start."""

_NO_THRESHOLD = 2**30
"""A slow-start threshold of at least this value counts as not set. The kernel's `TCP_INFINITE_SSTHRESH` is the largest
int."""

_FEWEST_TRIPS = 5
"""The growth of the window is measured only over at least this number of round trips."""


@dataclass(frozen=True)
class SlowStart:
    """The end of a session's first slow start.

    by: What ended slow start. The value is "delay" or "ACK train" for HyStart, or the kind of the first loss before the
        end. It is `OPEN_ENDED` if slow start did not end.
    end_s, window_pkts: The time of the end, and the slow-start threshold that was set at this time.
    """

    by: str
    end_s: float
    window_pkts: float


@dataclass(frozen=True)
class Trace:
    """The rates, losses and window of one flow of a session.

    reconfigurations_s: float64 array. The times at which the path changed.
    t_s, goodput_bps, capacity_bps: float64 arrays of shape (bins,). The start of each bin, the goodput in it, and the
        payload rate that the link could carry. Goodput counts bytes in order at the receiver, unless `trace_of` was
        called with another series.
    cwnd_t_s, cwnd_pkts: float64 arrays of shape (samples,)
    bbr_bps: float64 array of shape (samples,). BBR's bandwidth estimate, or nan for other algorithms.
    losses: `t_s`, `kind`; one row per lost data packet.
    cuts: `t_s`, `kind` (the kind of the first loss before the cut, or `NO_LOSS`), `lost_pkts` (the number of packets
        lost before the cut), `before_pkts`, `after_pkts`, `grown_after_s` (nan if the window did not recover before the
        next cut).
    timeouts: `t_s`, `until_s`, `to_pkts`, `growth_ratio`. Each row describes the growth of the window from the end of a
        repair after a timeout to the next cut. `to_pkts` is the window at `until_s`. `growth_ratio` is the growth of
        the window per round trip (0.05 means 5 %).
    repairing_ratio: The share of the samples in which the sender was repairing losses.
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
    slow_start: SlowStart
    timeouts: pd.DataFrame
    repairing_ratio: float

    @property
    def mean_capacity_bps(self) -> float:
        """Return the mean capacity over the whole session."""
        return float(self.capacity_bps.mean())

    @property
    def mean_bps(self) -> float:
        """Return the mean goodput over the whole session."""
        return float(self.goodput_bps.mean())

    def between(self, start_s: float, end_s: float) -> float:
        """Return the mean goodput of the bins that begin in [start, end), or nan without bins."""
        inside = (self.t_s >= start_s) & (self.t_s < end_s)
        return float(self.goodput_bps[inside].mean()) if inside.any() else math.nan

    def estimate_between(self, start_s: float, end_s: float) -> float:
        """Return the mean of BBR's bandwidth estimate over the samples in [start, end). The result is nan if there are
        no samples, or if the algorithm is not BBR."""
        # BBR's estimate is 0 before the first round trip is measured.
        inside = (self.cwnd_t_s >= start_s) & (self.cwnd_t_s < end_s) & (self.bbr_bps > 0)
        return float(self.bbr_bps[inside].mean()) if inside.any() else math.nan


ACCESS = ("gateway", "terminal")
"""The nodes at the ends of the downlink in the profile `starlink`."""


def trace_of(
    run: Run,
    bin_ns: int = BIN_NS,
    series: str = "in_order",
    *,
    link: tuple[str, str] = ACCESS,
    changes_ns: np.ndarray | None = None,
    seed: int | None = None,
) -> Trace:
    """Return the trace of the main flow of a stored run. `series` determines whether goodput is measured at the
    receiver or at the sender.

    bin_ns: The width of the bins of goodput and capacity.
    series: The definition of goodput. For claims, goodput is measured at the receiver ("in_order"), and for figures at
        the sender ("sacked").
    link: (str, str). The two nodes of a link. The capacity of this link in the flow's direction is used as the path's
        capacity.
    changes_ns: int64 array. The times of the reconfigurations. By default, these are the times at which the run's path
        changes. For a replay, the times must be given, because it has no schedule.
    seed: Sessions with equal `seed` are paired. The default is the run's seed.
    """
    flow, plan = run.main_flow, run.plan
    samples = run.tables.of_flow("sockets", flow)
    frame = goodput(run.tables, flow, series, bin_ns)
    # The last bin has the full width even if the run ends before the bin's end. The goodput of the last bin is a mean
    # over the bin's full width.
    edges = np.append(frame["t_ns"].to_numpy(dtype="int64"), int(frame["t_ns"].iloc[-1]) + bin_ns)
    if changes_ns is None:
        changes_ns = run.changes["t_ns"].to_numpy(dtype="int64")
    drops = run.tables.drops
    lost = losses(drops[(drops["flow"] == flow) & (drops["flow_direction"] == DATA)], changes_ns)
    when_ns = samples["t_ns"].to_numpy(dtype="int64")
    # Windows are float64, with nan for samples before the connection is established.
    window, threshold, state = (floats(samples[name]) for name in ("cwnd_pkts", "ssthresh_pkts", "ca_state"))
    window_cuts = cuts(when_ns, window, threshold, state, lost)
    known = state[~np.isnan(state)]
    return Trace(
        seed=int(plan.run.seed if seed is None else seed),
        end_s=run.end_ns / 1e9,
        reconfigurations_s=changes_ns / 1e9,
        t_s=edges[:-1] / 1e9,
        goodput_bps=frame["goodput_bps"].to_numpy(),
        capacity_bps=payload_ratio(samples) * capacity_in_bins(run.tables, *link, edges),
        cwnd_t_s=when_ns / 1e9,
        cwnd_pkts=window,
        bbr_bps=floats(samples["bbr_bw_bps"]),
        losses=lost,
        cuts=window_cuts,
        slow_start=slow_start(when_ns, threshold, _hystart(run.tables, plan.flows[flow].source), lost),
        timeouts=after_timeouts(when_ns, state, window, floats(samples["srtt_us"]), window_cuts["t_s"].to_numpy()),
        repairing_ratio=float(np.isin(known, RECOVERY_STATES).mean()) if len(known) else math.nan,
    )


def _hystart(tables: Tables, source: str) -> pd.DataFrame:
    """Return `t_ns` and `by`: the first time at which a host's counters show that HyStart ended slow start, and the
    cause."""
    # The guest records every counter at each reading, even if its value is 0.
    mine = tables.counters[(tables.counters["host"] == tables.host_number(source)) & (tables.counters["value"] > 0)]
    rows = []
    for by, counter in (("delay", "TcpExt.TCPHystartDelayDetect"), ("ACK train", "TcpExt.TCPHystartTrainDetect")):
        read_ns = mine.loc[mine["counter"] == counter, "t_ns"]
        if len(read_ns):
            rows.append({"t_ns": int(read_ns.min()), "by": by})
    return pd.DataFrame(rows, columns=["t_ns", "by"]).sort_values("t_ns", kind="stable")


def slow_start(t_ns: np.ndarray, ssthresh_pkts: np.ndarray, hystart: pd.DataFrame, lost: pd.DataFrame) -> SlowStart:
    """Return the end of the first slow start, which is the time at which the threshold is first set.

    Counters are read only once per second. Therefore, HyStart counts as the cause only if no packet was lost before
    slow start ended.

    t_ns, ssthresh_pkts: arrays of shape (samples,)
    hystart: The result of `_hystart`.
    lost: The result of `losses`.
    """
    places = np.flatnonzero(~np.isnan(ssthresh_pkts) & (ssthresh_pkts < _NO_THRESHOLD))
    if not len(places):
        return SlowStart(OPEN_ENDED, math.nan, math.nan)
    at_ns = int(t_ns[places[0]])
    # Counters are read only once per second, so a count of HyStart may belong to a later slow start. Losses therefore
    # come first.
    causes = [*lost.loc[lost["t_s"] <= at_ns / 1e9, "kind"], *hystart["by"], NO_LOSS]
    return SlowStart(str(causes[0]), at_ns / 1e9, float(ssthresh_pkts[places[0]]))


def after_timeouts(
    t_ns: np.ndarray, ca_state: np.ndarray, cwnd_pkts: np.ndarray, srtt_us: np.ndarray, cut_s: np.ndarray
) -> pd.DataFrame:
    """Return how the window grew after each repair that began with a timeout (see `Trace.timeouts`).

    t_ns, ca_state, cwnd_pkts, srtt_us: arrays of shape (samples,)
    cut_s: The times in seconds, ascending, at which the window was cut (see `cuts`).
    """
    # A sender enters TCP_CA_Loss only after a timeout (tcp_enter_loss).
    in_loss = ca_state == CA_LOSS
    ends = np.flatnonzero(in_loss[:-1] & ~in_loss[1:]) + 1
    rows = []
    for place in ends.tolist():
        later = cut_s[cut_s > t_ns[place] / 1e9]
        until = int(np.searchsorted(t_ns, round(float(later[0]) * 1e9))) if len(later) else len(t_ns)
        # The growth of a window also ends at a new timeout.
        again = np.flatnonzero(in_loss[place:until])
        last = (place + int(again[0]) if len(again) else until) - 1
        # The number of round trips is computed with the mean RTT during the growth, because windows grow per round trip
        # (RFC 5681, RFC 9438).
        trips = (t_ns[last] - t_ns[place]) / 1e3 / float(np.nanmean(srtt_us[place : last + 1])) if last > place else 0.0
        if trips >= _FEWEST_TRIPS and cwnd_pkts[place] > 0:
            # The growth per round trip is assumed to be constant: to_pkts = from_pkts (1 + growth)^trips.
            growth = (cwnd_pkts[last] / cwnd_pkts[place]) ** (1 / trips) - 1
            rows.append({"t_s": t_ns[place] / 1e9, "until_s": t_ns[last] / 1e9, "to_pkts": float(cwnd_pkts[last]),
                         "growth_ratio": float(growth)})  # fmt: skip
    return pd.DataFrame(rows, columns=["t_s", "until_s", "to_pkts", "growth_ratio"], dtype="float64")


def payload_ratio(samples: pd.DataFrame) -> float:
    """Return the payload of a full segment, divided by the bytes that a link transmits for the segment. The link also
    transmits IP and TCP headers with timestamps, and 14 bytes of Ethernet."""
    payload_bytes = float(samples["snd_mss_bytes"].max())
    # 52 bytes are 20 of IP, 20 of TCP, and 12 of timestamps including padding (RFC 7323, 3.2).
    return payload_bytes / (payload_bytes + 52 + 14)


def capacity_in_bins(tables: Tables, a: str, b: str, edges_ns: np.ndarray) -> np.ndarray:
    """Return the mean rate of one direction of a link in each bin, from the timeline. The rate is nan if the link has
    no rate limit.

    a, b: The nodes. The direction is from a to b.
    edges_ns: int64 array of shape (bins + 1,)
    Returns: float64 array of shape (bins,), in bit/s on the link, including headers.
    """
    t_ns, rate_bps = tables.channels.capacity_bps[a, b]
    # Between the instants of the rows, the integral of the rate is linear, so its differences over the bins are exact.
    carried = np.concatenate([[0.0], np.cumsum(rate_bps[:-1] * np.diff(t_ns))])
    # A row is valid from its instant on.
    row = np.searchsorted(t_ns, edges_ns, side="right") - 1
    return np.diff(carried[row] + rate_bps[row] * (edges_ns - t_ns[row])) / np.diff(edges_ns)


def losses(drops: pd.DataFrame, changes_ns: np.ndarray) -> pd.DataFrame:
    """Return `t_s` and `kind` (one of `KINDS`) of each lost packet of a flow.

    drops: The rows of the trace's table `drops` for one flow and direction.
    changes_ns: int64 array. The times of the reconfigurations.
    """
    t_ns, cause = drops["t_ns"].to_numpy(dtype="int64"), drops["cause"].to_numpy(dtype="int64")
    at_handover = near(t_ns, changes_ns, HANDOVER_NS)
    # If a loss matches several kinds, the first one is used. If a full queue drops a packet near a reconfiguration, the
    # packet's kind is "queue", not the kind for reconfigurations.
    kind = np.select([cause == QUEUE, (cause == LOSS) & at_handover, cause == LOSS], KINDS[:3], KINDS[3])
    frame = pd.DataFrame({"t_s": t_ns / 1e9, "kind": kind})
    return frame.sort_values("t_s", kind="stable").reset_index(drop=True)


def cuts(
    t_ns: np.ndarray, cwnd_pkts: np.ndarray, ssthresh_pkts: np.ndarray, state: np.ndarray, lost: pd.DataFrame
) -> pd.DataFrame:
    """Return the samples at which the sender cut its window (see `Trace.cuts`).

    A sample is a cut if two conditions hold. First, the slow-start threshold has changed, and is below `CUT_RATIO` of
    the previous window. The previous window is the larger window of the two samples before. Every loss-based algorithm
    sets the slow-start threshold when it declares a packet lost. Otherwise, the threshold changes only at the end of
    slow start. Second, the window falls below `CUT_RATIO` of its previous size within `CUT_WITHIN_NS`, before the
    threshold changes again. The second condition excludes repairs by `cubic_handover`, which does not reduce its
    window, and later restores the old threshold. Two cuts count as one if they are less than two samples apart. A cut
    in the state `CA_CWR` is a reaction to a mark instead of a loss.

    t_ns, cwnd_pkts, ssthresh_pkts, state: arrays of shape (samples,). `state` is the number of `ca_state`.
    lost: The result of `losses`.
    """
    rows = []
    lost_ns = np.round(lost["t_s"].to_numpy() * 1e9).astype("int64")
    kinds = lost["kind"].to_numpy()
    previous_ns = -CUT_WITHIN_NS
    for place in range(1, len(t_ns)):
        # The loss may precede the last sample, so the window may have begun to fall before this sample. The larger of
        # the windows of the last two samples is taken as the window before the cut.
        before = float(np.nanmax(cwnd_pkts[max(place - 2, 0) : place]))
        now, was = ssthresh_pkts[place], ssthresh_pkts[place - 1]
        # BBR does not change its threshold (bbr_ssthresh in tcp_bbr.c), so its sessions have no cuts.
        if np.isnan(now) or now == was or now >= CUT_RATIO * before:
            continue
        # The search ends when the threshold changes again, because a later fall of the window belongs to the next
        # threshold.
        soon = slice(place, int(np.searchsorted(t_ns, t_ns[place] + CUT_WITHIN_NS, side="right")))
        stands = np.logical_and.accumulate(ssthresh_pkts[soon] == now)
        if np.nanmin(cwnd_pkts[soon][stands]) >= CUT_RATIO * before:
            continue
        # Only losses after the previous cut are used, so that each loss belongs to the first cut after it.
        since_ns = max(previous_ns, int(t_ns[place]) - CUT_WITHIN_NS)
        inside = np.flatnonzero((lost_ns > since_ns) & (lost_ns <= t_ns[place]) & (state[place] != CA_CWR))
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
    """Return the time from a cut until the window has its previous size again, in s. The time is nan if another cut
    comes first.

    The search for the recovery begins at the window's minimum, because the window may fall only after the sample of the
    cut.
    """
    later = cwnd_pkts[place:until]
    if len(later) == 0 or np.isnan(later).all():
        return math.nan
    lowest = int(np.nanargmin(later))
    back = np.flatnonzero(later[lowest:] >= before_pkts)
    return float(t_ns[place + lowest + back[0]] - t_ns[place]) / 1e9 if len(back) else math.nan
