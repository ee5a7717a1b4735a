# SPDX-License-Identifier: Apache-2.0
"""The window, the timers, and the waiting times of ACKs, read from a session's trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp import Run
from leowarp.metrics import goodput
from leowarp.metrics.inputs.tables import floats
from leowarp.metrics.per_flow.acknowledgements import ack_waits
from leowarp.metrics.route_changes.recovery import RECOVERY_STATES

RTO_MIN_US = 200_000
"""Linux's TCP_RTO_MIN in microseconds. The RTO is SRTT plus the larger of two values: four times the RTT's variation,
and TCP_RTO_MIN (tcp_rtt_estimator)."""

FLOOR_SLACK_US = 5_000
"""The tolerance in microseconds when an RTO is compared with its minimum. SRTT and RTO are rounded to ticks of the
kernel's clock."""

PAIR = 2
"""The number of segments in a pair. One delayed ACK acknowledges one pair."""


@dataclass(frozen=True)
class Trace:
    """The time series of one session, for claims and figures.

    t_s, cwnd_pkts, srtt_us, rttvar_us, rto_us: float64 arrays of shape (samples,). Values sampled at the sender's
        socket. Further arrays are `delivered_pkts` (packets acknowledged so far), `rwnd_limited_us` (total time in
        which the receiver's window limited the sender), `ssthresh_pkts` (nan as long as it is not set) and `ca_state`
        (the kernel's number).
    goodput_t_s, goodput_bps: float64 arrays of shape (seconds,). The goodput of bytes received in order, in each
        second.
    waits: `segments_pkts, wait_ns, acks_pkts`. `acks_pkts` is the number of ACKs for `segments_pkts` segments, of which
        the first waited for `wait_ns`.
    """

    seed: int
    t_s: np.ndarray
    cwnd_pkts: np.ndarray
    srtt_us: np.ndarray
    rttvar_us: np.ndarray
    rto_us: np.ndarray
    delivered_pkts: np.ndarray
    rwnd_limited_us: np.ndarray
    ssthresh_pkts: np.ndarray
    ca_state: np.ndarray
    goodput_t_s: np.ndarray
    goodput_bps: np.ndarray
    waits: pd.DataFrame

    @property
    def floor_ratio(self) -> float:
        """Return the share of the samples in which the RTO is at Linux's minimum (SRTT plus 200 ms)."""
        # Before the first round trip is measured, SRTT is 0 and the RTO is 1 s (RFC 6298, 2.1).
        known = (self.srtt_us > 0) & np.isfinite(self.rto_us)
        # The minimum of the RTO is 1 s in RFC 6298, 2.4, but SRTT plus 200 ms in Linux (tcp_rtt_estimator,
        # tcp_rto_min).
        at_floor = np.abs(self.rto_us - self.srtt_us - RTO_MIN_US)[known] <= FLOOR_SLACK_US
        return float(at_floor.mean()) if known.any() else float("nan")

    @property
    def growing_ratio(self) -> float:
        """Return the share of samples at which the sender was in slow start or in recovery (including recovery after a
        timeout)."""
        # A sender is in slow start if its window is below its threshold, or if it has no threshold.
        slow_start = ~(self.cwnd_pkts >= self.ssthresh_pkts)
        return float((slow_start | np.isin(self.ca_state, RECOVERY_STATES)).mean()) if len(self.t_s) else float("nan")

    @property
    def acks_per_segment_ratio(self) -> float:
        """Return the number of ACKs divided by the number of segments that they acknowledge."""
        # A row covers all ACKs with the same waiting time and number of segments. The row is therefore weighted by the
        # number of these ACKs.
        segments = floats(self.waits["segments_pkts"]) * floats(self.waits["acks_pkts"])
        return float(floats(self.waits["acks_pkts"]).sum() / segments.sum()) if segments.sum() else float("nan")

    def pair_waits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the waiting times, in ms, of ACKs that answer two segments, in ascending order. For each waiting time,
        also return the number of ACKs."""
        # The metrics have one row for all ACKs with the same waiting time. The result therefore contains the number of
        # ACKs of each row.
        pairs = self.waits[self.waits["segments_pkts"] == PAIR].sort_values("wait_ns")
        return floats(pairs["wait_ns"]) / 1e6, floats(pairs["acks_pkts"])

    def long_pairs_ratio(self, limit_ms: float) -> float:
        """Return the share of packet pairs in which the second packet came at least `limit_ms` after the first. nan
        means that there are no pairs."""
        wait_ms, count = self.pair_waits()
        return float(count[wait_ms >= limit_ms].sum() / count.sum()) if count.sum() else float("nan")

    def round_pairs_ratio(self, round_ms: float, within_ms: float, longest_ms: float) -> float:
        """Return the share of pairs that waited for a whole number of HARQ rounds. Only pairs that waited at least half
        a round, but less than `longest_ms`, are used.

        round_ms: The time from one HARQ transmission to the next.
        within_ms: A waiting time may differ from a whole number of rounds by at most this time.
        Returns: A share from 0 to 1, or nan if no pair counts.
        """
        wait_ms, count = self.pair_waits()
        long = (wait_ms >= round_ms / 2) & (wait_ms < longest_ms)
        near = np.abs(wait_ms - round_ms * np.rint(wait_ms / round_ms)) <= within_ms
        return float(count[long & near].sum() / count[long].sum()) if count[long].sum() else float("nan")

    def reaches_s(self, cwnd_pkts: float) -> float:
        """Return the time in s at which the window first reached this size, or infinity if it never did."""
        there = np.flatnonzero(self.cwnd_pkts >= cwnd_pkts)
        return float(self.t_s[there[0]]) if len(there) else float("inf")


def trace_of(run: Run) -> Trace:
    """Return the trace of the only flow of a stored run."""
    flow = run.main_flow
    samples = run.tables.of_flow("sockets", flow)
    carried = goodput(run.tables, flow, "in_order", 1_000_000_000)
    return Trace(
        seed=int(run.plan.run.seed),
        t_s=samples["t_ns"].to_numpy(dtype="int64") / 1e9,
        cwnd_pkts=floats(samples["cwnd_pkts"]),
        srtt_us=floats(samples["srtt_us"]),
        rttvar_us=floats(samples["rttvar_us"]),
        rto_us=floats(samples["rto_us"]),
        delivered_pkts=floats(samples["delivered_pkts"]),
        rwnd_limited_us=floats(samples["rwnd_limited_us"]),
        ssthresh_pkts=floats(samples["ssthresh_pkts"]),
        ca_state=samples["ca_state"].to_numpy(dtype="int64"),
        goodput_t_s=carried["t_ns"].to_numpy(dtype="int64") / 1e9,
        goodput_bps=carried["goodput_bps"].to_numpy(dtype="float64"),
        waits=ack_waits(run.tables, flow),
    )
