# SPDX-License-Identifier: Apache-2.0
"""Evidence from a TCP session's trace: rates over time, losses by where they fell, and each time the sender cut its
window. Each cut has the loss before it and the time to grow back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp.metrics import DATA, NEAR_NS, goodput, near
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.metrics.route_changes.recovery import RECOVERY_STATES
from leowarp.report import RunView
from leowarp.trace.schema.hosts import CA_CWR, CA_LOSS

HANDOVER_NS = NEAR_NS
"""A loss that a link inflicts within this (1 s) before or after a reconfiguration is the handover's."""

CUT_WITHIN_NS = 500_000_000
"""A window is cut by a loss at most this long before: one round trip with a full queue and its recovery's start."""

CUT_RATIO = 0.9
"""A fall of the slow-start threshold to less than this share of the window before is a cut."""

BIN_NS = 500_000_000
"""Bins of the goodput that claims look at: half a second is some ten round trips."""

QUEUE, LOSS = 1, 2
"""Drop causes (design/interfaces.md, section 6)."""

KINDS = ("queue", "handover", "isolated", "other")
"""Where a loss fell: a full queue (or the AQM), the link at a reconfiguration, the link at any other time; links that
were down, or unknown."""

NO_LOSS = "none"
"""A cut that no loss preceded: an ECN mark, or HyStart's end of slow start."""


OPEN_ENDED = "not at all"
"""How slow start ended of a session that never left it."""

_NO_THRESHOLD = 2**30
"""The kernel's `TCP_INFINITE_SSTHRESH` is the largest int."""

_FEWEST_TRIPS = 5
"""Round trips over which a growth is measured."""


@dataclass(frozen=True)
class SlowStart:
    """How a session's first slow start ended.

    by: "delay" or "ACK train" (what HyStart counted by then), the kind of the first loss before, or `OPEN_ENDED`.
    end_s, window_pkts: When, and the threshold that it left.
    """

    by: str
    end_s: float
    window_pkts: float


@dataclass(frozen=True)
class Trace:
    """One flow of one session.

    reconfigurations_s: float64 array. When the path changed.
    t_s, goodput_bps, capacity_bps: float64 arrays of shape (bins,). Start of each bin, bytes in order at the receiver
        (or another reading), and what the link could have carried as payload.
    cwnd_t_s, cwnd_pkts: float64 arrays of shape (samples,)
    bbr_bps: float64 array of shape (samples,). BBR's estimate of the bottleneck; nan for others.
    losses: `t_s`, `kind`: one row a lost data packet.
    cuts: `t_s`, `kind` (of the first loss before it, or `NO_LOSS`), `lost_pkts` (lost before it), `before_pkts`,
        `after_pkts`, `grown_after_s` (nan: not before the next cut).
    timeouts: `t_s`, `until_s`, `to_pkts`, `growth_ratio`: from the end of each repair that a timeout began to the next
        cut, the window at that end, and by how much it grew a round trip (0.05: 5 %).
    repairing_ratio: Share of the samples at which the sender was repairing losses.
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

    def estimate_between(self, start_s: float, end_s: float) -> float:
        """Mean of BBR's estimate over the samples in [start, end); nan if there are none, or for others than BBR."""
        # 0 before the first round trip has been measured.
        inside = (self.cwnd_t_s >= start_s) & (self.cwnd_t_s < end_s) & (self.bbr_bps > 0)
        return float(self.bbr_bps[inside].mean()) if inside.any() else math.nan


ACCESS = ("gateway", "terminal")
"""Ends of the link down in the profile `starlink`."""


def trace_of(
    run: RunView,
    bin_ns: int = BIN_NS,
    series: str = "in_order",
    *,
    link: tuple[str, str] = ACCESS,
    changes_ns: np.ndarray | None = None,
    seed: int | None = None,
) -> Trace:
    """The main flow of a kept run, with one of the readings of goodput.

    bin_ns: Width of the bins of goodput and capacity.
    series: "in_order" for claims, "sacked" for figures.
    link: (str, str). Nodes between which capacity is that of the path, in the flow's direction.
    changes_ns: int64 array. The reconfigurations; the path's own if not given. A replay has none of its own.
    seed: What sessions are paired by; the run's seed if not given.
    """
    flow, plan = run.main_flow, run.plan
    samples = run.tables.of_flow("sockets", flow)
    frame = goodput(run.tables, flow, series, bin_ns)
    # The last bin ends a whole width later, though the run may end before: its goodput is over the whole width as well.
    edges = np.append(frame["t_ns"].to_numpy(dtype="int64"), int(frame["t_ns"].iloc[-1]) + bin_ns)
    if changes_ns is None:
        changes_ns = run.changes["t_ns"].to_numpy(dtype="int64")
    drops = run.tables.drops
    lost = losses(drops[(drops["flow"] == flow) & (drops["flow_direction"] == DATA)], changes_ns)
    when_ns = samples["t_ns"].to_numpy(dtype="int64")
    # As float64 with nan: a sample before the connection is made has no window.
    window, threshold, state = (floats(samples[name]) for name in ("cwnd_pkts", "ssthresh_pkts", "ca_state"))
    window_cuts = cuts(when_ns, window, threshold, state, lost)
    known = state[~np.isnan(state)]
    return Trace(
        seed=int(plan.run.seed if seed is None else seed),
        end_s=run.metrics.end_ns / 1e9,
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
    """`t_ns`, `by`: when a host's counters were first read with an end of slow start that HyStart had found."""
    # Above 0 alone: all counters are read each time, and the first of interest is the one that counted.
    mine = tables.counters[(tables.counters["host"] == tables.host_number(source)) & (tables.counters["value"] > 0)]
    rows = []
    for by, counter in (("delay", "TcpExt.TCPHystartDelayDetect"), ("ACK train", "TcpExt.TCPHystartTrainDetect")):
        read_ns = mine.loc[mine["counter"] == counter, "t_ns"]
        if len(read_ns):
            rows.append({"t_ns": int(read_ns.min()), "by": by})
    return pd.DataFrame(rows, columns=["t_ns", "by"]).sort_values("t_ns", kind="stable")


def slow_start(t_ns: np.ndarray, ssthresh_pkts: np.ndarray, hystart: pd.DataFrame, lost: pd.DataFrame) -> SlowStart:
    """How the first slow start ended: the threshold is first set.

    Counters are read once a second: what HyStart counted first is taken for it if no packet was lost before.

    t_ns, ssthresh_pkts: arrays of shape (samples,)
    hystart: As `_hystart`.
    lost: As `losses`.
    """
    places = np.flatnonzero(~np.isnan(ssthresh_pkts) & (ssthresh_pkts < _NO_THRESHOLD))
    if not len(places):
        return SlowStart(OPEN_ENDED, math.nan, math.nan)
    at_ns = int(t_ns[places[0]])
    # Losses first: counters are read once a second, so that a count of HyStart may be of a later slow start.
    causes = [*lost.loc[lost["t_s"] <= at_ns / 1e9, "kind"], *hystart["by"], NO_LOSS]
    return SlowStart(str(causes[0]), at_ns / 1e9, float(ssthresh_pkts[places[0]]))


def after_timeouts(
    t_ns: np.ndarray, ca_state: np.ndarray, cwnd_pkts: np.ndarray, srtt_us: np.ndarray, cut_s: np.ndarray
) -> pd.DataFrame:
    """How the window grew after each repair that a timeout began, see `Trace.timeouts`.

    t_ns, ca_state, cwnd_pkts, srtt_us: arrays of shape (samples,)
    cut_s: Seconds of the cuts (`cuts`), ascending.
    """
    # TCP_CA_Loss is entered by a timeout alone (tcp_enter_loss).
    in_loss = ca_state == CA_LOSS
    ends = np.flatnonzero(in_loss[:-1] & ~in_loss[1:]) + 1
    rows = []
    for place in ends.tolist():
        later = cut_s[cut_s > t_ns[place] / 1e9]
        until = int(np.searchsorted(t_ns, round(float(later[0]) * 1e9))) if len(later) else len(t_ns)
        # A new timeout ends it too.
        again = np.flatnonzero(in_loss[place:until])
        last = (place + int(again[0]) if len(again) else until) - 1
        # Round trips by the mean RTT of that time, as the growth is one of round trips (RFC 5681, RFC 9438).
        trips = (t_ns[last] - t_ns[place]) / 1e3 / float(np.nanmean(srtt_us[place : last + 1])) if last > place else 0.0
        if trips >= _FEWEST_TRIPS and cwnd_pkts[place] > 0:
            # The same factor each round trip: to_pkts = from_pkts (1 + growth)^trips.
            growth = (cwnd_pkts[last] / cwnd_pkts[place]) ** (1 / trips) - 1
            rows.append({"t_s": t_ns[place] / 1e9, "until_s": t_ns[last] / 1e9, "to_pkts": float(cwnd_pkts[last]),
                         "growth_ratio": float(growth)})  # fmt: skip
    return pd.DataFrame(rows, columns=["t_s", "until_s", "to_pkts", "growth_ratio"], dtype="float64")


def payload_ratio(samples: pd.DataFrame) -> float:
    """Payload of a full segment over what the link counts of it: IP and TCP headers with timestamps, and 14 B."""
    payload_bytes = float(samples["snd_mss_bytes"].max())
    # 52: 20 bytes of IP, 20 of TCP, 12 of timestamps with their padding (RFC 7323, 3.2).
    return payload_bytes / (payload_bytes + 52 + 14)


def capacity_in_bins(tables: Tables, a: str, b: str, edges_ns: np.ndarray) -> np.ndarray:
    """Mean rate of a direction in bins, from the timeline's table; nan where it is unshaped.

    a, b: Nodes; the direction is from a to b.
    edges_ns: int64 array of shape (bins + 1,)
    Returns: float64 array of shape (bins,). bit/s of what the link counts, headers included.
    """
    t_ns, rate_bps = tables.channels.capacity_bps[a, b]
    # The integral is a broken line through the rows' instants; its differences over the bins are exact.
    carried = np.concatenate([[0.0], np.cumsum(rate_bps[:-1] * np.diff(t_ns))])
    # The row in force at each edge: a row holds from its instant on.
    row = np.searchsorted(t_ns, edges_ns, side="right") - 1
    return np.diff(carried[row] + rate_bps[row] * (edges_ns - t_ns[row])) / np.diff(edges_ns)


def losses(drops: pd.DataFrame, changes_ns: np.ndarray) -> pd.DataFrame:
    """`t_s`, `kind` of each lost packet of a flow, by `KINDS`.

    drops: Rows of the trace's `drops` of one flow and direction.
    changes_ns: int64 array. The reconfigurations.
    """
    t_ns, cause = drops["t_ns"].to_numpy(dtype="int64"), drops["cause"].to_numpy(dtype="int64")
    at_handover = near(t_ns, changes_ns, HANDOVER_NS)
    # The first that fits: a packet that a full queue drops near a reconfiguration is the queue's.
    kind = np.select([cause == QUEUE, (cause == LOSS) & at_handover, cause == LOSS], KINDS[:3], KINDS[3])
    frame = pd.DataFrame({"t_s": t_ns / 1e9, "kind": kind})
    return frame.sort_values("t_s", kind="stable").reset_index(drop=True)


def cuts(
    t_ns: np.ndarray, cwnd_pkts: np.ndarray, ssthresh_pkts: np.ndarray, state: np.ndarray, lost: pd.DataFrame
) -> pd.DataFrame:
    """Each time the sender cut its window, see `Trace.cuts`.

    A cut is a sample at which the slow-start threshold differs from the one before and is below `CUT_RATIO` of the
    largest window of the last two samples: every loss-based algorithm sets it when it takes a packet for lost, and at
    no other time but the end of slow start. The window must also fall below that within `CUT_WITHIN_NS`, while that
    threshold stands: `cubic_handover` keeps its window through a recovery and then puts an old threshold back. Cuts
    closer together than two samples count as one. One in the state `CA_CWR` answers a mark, and no loss.

    t_ns, cwnd_pkts, ssthresh_pkts, state: arrays of shape (samples,). `state` is `ca_state` by number.
    lost: As `losses`.
    """
    rows = []
    lost_ns = np.round(lost["t_s"].to_numpy() * 1e9).astype("int64")
    kinds = lost["kind"].to_numpy()
    previous_ns = -CUT_WITHIN_NS
    for place in range(1, len(t_ns)):
        # Largest of two samples: the window may have begun to fall between the loss and the last sample.
        before = float(np.nanmax(cwnd_pkts[max(place - 2, 0) : place]))
        now, was = ssthresh_pkts[place], ssthresh_pkts[place - 1]
        # BBR's threshold stays where it is (bbr_ssthresh in tcp_bbr.c), so its sessions have no cuts.
        if np.isnan(now) or now == was or now >= CUT_RATIO * before:
            continue
        # As long as this threshold stands: a window that falls by the next one was cut there.
        soon = slice(place, int(np.searchsorted(t_ns, t_ns[place] + CUT_WITHIN_NS, side="right")))
        stands = np.logical_and.accumulate(ssthresh_pkts[soon] == now)
        if np.nanmin(cwnd_pkts[soon][stands]) >= CUT_RATIO * before:
            continue
        # Since the cut before: a loss is counted for the first cut after it and for no other.
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
    """From a cut to the first sample, before the next cut, at which the window is what it was before.

    The window may still stand where it was at the sample of the cut: growth counts from its lowest on.
    """
    later = cwnd_pkts[place:until]
    if len(later) == 0 or np.isnan(later).all():
        return math.nan
    lowest = int(np.nanargmin(later))
    back = np.flatnonzero(later[lowest:] >= before_pkts)
    return float(t_ns[place + lowest + back[0]] - t_ns[place]) / 1e9 if len(back) else math.nan
