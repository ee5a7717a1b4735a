# SPDX-License-Identifier: Apache-2.0
"""Computes the numbers that are used for more than one claim: in tests, explanations, figures and tables. Most numbers
are counts that explain a session's result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.study.statistics import Middle, middle, paired, paired_ratio, share
from leowarp_studies.huston2024.groups import PEAK
from leowarp_studies.huston2024.traces import KINDS, NO_LOSS, Trace
from leowarp_studies.huston2024.variants import BY_NAME

Frames = Mapping[str, Any]
"""A dict from name to data set of the study. A data set is missing if its runs failed or were not made."""

KIND_TEXT = {
    "queue": "full queue or AQM", "handover": "link, at a handover", "isolated": "link, elsewhere", "other": "other",
    NO_LOSS: "no loss (mark, or end of slow start)",
}  # fmt: skip
"""The name of each kind of loss in texts and legends."""


def at_peak(frames: Frames) -> pd.DataFrame:
    """Return the sessions at peak hours."""
    rows: pd.DataFrame = frames["sessions"]
    return rows[rows["preset"] == PEAK]


def over_seeds(rows: pd.DataFrame, variant: str, column: str) -> Middle:
    """Return the median over seeds of a variant's column, with its interval. If the variant has no rows, the median is
    unknown.

    rows: One row per seed and variant, for one preset.
    column: The name of a column of numbers. Missing values are left out.
    """
    return middle(rows.loc[rows["variant"] == variant, column])


def goodput_bps(frames: Frames, variant: str, preset: str = PEAK) -> Middle:
    """Return a variant's goodput in bit/s, as the median over seeds. Goodput counts the bytes that the receiver gets in
    order during the whole session."""
    rows: pd.DataFrame = frames["sessions"]
    return over_seeds(rows[rows["preset"] == preset], variant, "goodput_bps")


def capacity_bps(frames: Frames, preset: str = PEAK) -> Middle:
    """Return the mean payload rate that the downlink could have carried during a session, as a median over seeds."""
    return middle([trace.mean_capacity_bps for trace in _any_traces(frames, preset)])


def used_ratio(frames: Frames, variant: str, preset: str = PEAK) -> Middle:
    """Return the median of the goodput over seeds. The goodput is a share of the capacity in the same session."""
    # The share is computed for each seed, because capacity differs more between seeds than between variants.
    capacity = {trace.seed: trace.mean_capacity_bps for trace in _any_traces(frames, preset)}
    rows: pd.DataFrame = frames["sessions"]
    mine = rows[(rows["variant"] == variant) & (rows["preset"] == preset) & rows["seed"].isin(list(capacity))]
    return middle(mine["goodput_bps"] / mine["seed"].map(capacity))


def _any_traces(frames: Frames, preset: str) -> Sequence[Trace]:
    """Return the traces of one variant at a preset. Path capacity and reconfigurations are the same for all
    variants."""
    for (_, hour), traces in frames["traces"].items():
        if hour == preset and traces:
            return list(traces)
    return []


def loss_counts(traces: Sequence[Trace]) -> dict[str, float]:
    """Return the number of lost packets per session by kind of loss, as a mean over seeds.

    Returns: Packets per session, for each of `KINDS`.
    """
    return {kind: float(np.mean([int((trace.losses["kind"] == kind).sum()) for trace in traces])) for kind in KINDS}


def cut_counts(traces: Sequence[Trace]) -> dict[str, float]:
    """Return a dict from each kind of loss to the number of window cuts per session that it caused, as a mean over
    seeds."""
    return {
        kind: float(np.mean([int((trace.cuts["kind"] == kind).sum()) for trace in traces]))
        for kind in (*KINDS, NO_LOSS)
    }


def regrowth(traces: Sequence[Trace]) -> dict[str, float]:
    """Return a dict of numbers about the recovery of windows after cuts. `cuts` is the number of cuts per session.
    `grown_ratio` is the share of cuts after which the window recovered before the next cut or the end. `grown_p50_s` is
    the median time until these windows recovered. `apart_p50_s` is the median time between cuts, and `after_p50_pkts`
    the median window after a cut.

    `needed_p50_s` is the time after which CUBIC returns to the window before a cut. It is computed for the median
    window before cuts, as K = cbrt(W_max (1 - beta) / C) with beta 0.7 and C 0.4 (RFC 9438, 4.2).

    traces: The sessions of one variant at one preset.
    """
    # The cuts of all sessions are pooled, because one session has too few cuts for medians.
    every = pd.concat([trace.cuts for trace in traces], ignore_index=True)
    if not len(every):
        return dict.fromkeys(
            ("cuts", "grown_ratio", "grown_p50_s", "apart_p50_s", "after_p50_pkts", "needed_p50_s"), math.nan
        ) | {"cuts": 0.0}
    # Times between cuts are computed only within a session.
    apart = np.concatenate([np.diff(trace.cuts["t_s"].to_numpy()) for trace in traces])
    grown = every["grown_after_s"].dropna()
    return {
        "cuts": len(every) / len(traces),
        "grown_ratio": len(grown) / len(every),
        "grown_p50_s": float(grown.median()),
        "apart_p50_s": float(np.median(apart)) if len(apart) else math.nan,
        "after_p50_pkts": float(every["after_pkts"].median()),
        # The formula is K = cbrt(W_max (1 - beta) / C) with 1 - beta = 0.3 and C = 0.4 (RFC 9438, 4.2 and 4.6); the
        # window is in segments.
        "needed_p50_s": float((every["before_pkts"].median() * 0.3 / 0.4) ** (1 / 3)),
    }


def why_cut(frames: Frames, variant: str, preset: str = PEAK) -> str:
    """Return a sentence with counts, which explains the result of a loss-based session."""
    traces = frames["traces"].get((variant, preset), [])
    if not traces:
        return f"{label(variant)}: no trace is kept"
    lost, cut, back = loss_counts(traces), cut_counts(traces), regrowth(traces)
    if not back["cuts"]:
        return f"{label(variant)}, {preset}: {_counted(lost)} packets lost a session, and the window was never cut"
    grown = "none" if not back["grown_ratio"] else f"{back['grown_ratio']:.0%}, after {back['grown_p50_s']:.1f} s"
    return (
        f"{label(variant)}, {preset}: {back['cuts']:.1f} cuts a session ({_counted(cut)}), {back['apart_p50_s']:.1f} s "
        f"apart in the median, to {back['after_p50_pkts']:.0f} packets; grown back before the next: {grown}; lost "
        f"packets a session: {_counted(lost)}"
    )


def why_bbr(frames: Frames, variant: str = "bbr", preset: str = PEAK) -> str:
    """Return a text that explains the result of BBR sessions. These sessions have no cuts of the window. The text
    compares BBR's bandwidth estimate with the link's capacity.

    `bbr_bw` (tcp_bbr.c) is the maximum of ten round trips, so it remains high for some time after the capacity falls.
    """
    traces = frames["traces"].get((variant, preset), [])
    if not traces:
        return f"{label(variant)}: no trace is kept"
    # The median is taken over the bins of all sessions together, because the text does not compare sessions.
    over = middle(pd.concat([pd.Series(estimate_ratio(trace)) for trace in traces]))
    return (
        f"{label(variant)}, {preset}: lost packets a session: {_counted(loss_counts(traces))}; its estimate of the "
        f"bottleneck is {over.median:.2f} of the link's capacity in the median, and no loss lowers it"
    )


def estimate_ratio(trace: Trace) -> np.ndarray:
    """Divide BBR's estimate by the capacity at the middle of each bin, and return the ratios. Bins without an estimate
    are left out.

    Returns: float64 array, in which 1 means that the estimate equals the capacity. The array is empty for congestion
        controls without an estimate.
    """
    # The estimate is 0 before the first round trip is measured.
    known = np.isfinite(trace.bbr_bps) & (trace.bbr_bps > 0)
    if not known.any():
        return np.zeros(0)
    width_s = float(np.diff(trace.t_s).min()) if len(trace.t_s) > 1 else 0.0
    # At the middle of a bin, the sender uses the estimate of the last sample.
    place = np.searchsorted(trace.cwnd_t_s[known], trace.t_s + width_s / 2, side="right") - 1
    inside = (place >= 0) & (trace.capacity_bps > 0)
    return trace.bbr_bps[known][place[inside]] / trace.capacity_bps[inside]


def what_it_did(frames: Frames, variant: str, preset: str = PEAK) -> str:
    """Return a text with the values of the kernel counters in a variant's sessions. Each value is a median over
    seeds."""
    rows: pd.DataFrame = frames["sessions"]
    mine = rows[rows["preset"] == preset]

    def count(column: str) -> str:
        of_seeds = over_seeds(mine, variant, column)
        return f"{of_seeds.median:,.0f}" if of_seeds.known else "unknown"

    return (
        f"{label(variant)}: {count('recoveries')} recoveries ({count('undos')} taken back), "
        f"{count('timeouts')} timeouts, {count('retransmissions_pkts')} retransmissions "
        f"({count('spurious_pkts')} spurious), {count('marked_pkts')} packets marked, "
        f"{count('dropped_queue_pkts')} packets dropped by queues and {count('dropped_loss_pkts')} by the link"
    )


def single_loss_ratio(frames: Frames, variant: str, preset: str = PEAK) -> float:
    """Return the share of window cuts that follow the loss of exactly one packet. Only cuts caused by losses count.
    NewReno repairs the loss of a single packet as fast as SACK does."""
    every = pd.concat([trace.cuts for trace in frames["traces"].get((variant, preset), [])], ignore_index=True)
    return share(every.loc[every["lost_pkts"] > 0, "lost_pkts"] == 1)


def gain(frames: Frames, one: str, other: str, column: str = "goodput_bps", preset: str = PEAK) -> Middle:
    """Return the median over the seeds of the ratio of `one` to `other`.

    one, other: The names of the variants.
    column: The column to compare. Rows in which `other` has 0 are left out.
    Returns: The ratio of `one` to `other`.
    """
    rows: pd.DataFrame = frames["sessions"]
    return paired_ratio(rows[rows["preset"] == preset], column, one, other)


def slow_start_ends(traces: Sequence[Trace]) -> str:
    """Return a text about how slow start ended in these sessions: the causes, the times, and the windows."""
    # The study's first peak (claim 3.7) depends on whether jitter or a loss ends slow start. Sessions are therefore
    # counted separately for each cause.
    ends = pd.DataFrame([vars(trace.slow_start) for trace in traces])
    texts = []
    for by, mine in ends.groupby("by", sort=True):
        name = f"HyStart by {by}" if by in ("delay", "ACK train") else f"a loss ({KIND_TEXT.get(str(by), by)})"
        texts.append(
            f"{name} in {len(mine)} of {len(ends)} sessions, after {mine['end_s'].median():.2f} s in the median, with "
            f"{mine['window_pkts'].min():.0f} to {mine['window_pkts'].max():.0f} packets"
        )
    return ", ".join(texts)


def after_timeouts(frames: Frames, variant: str, preset: str = PEAK) -> str:
    """Return a text about the growth of windows after timeouts, and about the share of time in which sessions repaired
    losses."""
    traces = frames["traces"].get((variant, preset), [])
    if not traces:
        return f"{label(variant)}, {preset}: no trace is kept"
    every = pd.concat([trace.timeouts for trace in traces], ignore_index=True)
    spent = middle([trace.repairing_ratio for trace in traces])
    grown = (
        f"the window grew by {100 * every['growth_ratio'].median():.1f} % a round trip from the repair of a timeout to "
        f"the next cut, to {every['to_pkts'].median():.0f} packets (medians of {len(every)})"
        if len(every)
        else "no repair of a timeout was followed by five round trips without a cut"
    )
    return f"{label(variant)}, {preset}: {grown}; repairing for {spent.text(100, 1)} % of the time"


def label(variant: str) -> str:
    """Return the name of a variant for figures and tables."""
    return BY_NAME[variant].label


def slot_means_bps(
    trace: Trace, settle_s: float = 2.0, between: Callable[[float, float], float] | None = None
) -> list[tuple[float, float]]:
    """For each slot, return the mean of the values in its first half and the mean in its second half. The settling time
    at the beginning of the slot is left out. The first slot begins at 0.

    A slot is left out if less than 6 s remain after its settling time.

    settle_s: The length of the settling time in seconds.
    between: A function that returns the mean of a series between two times. The default returns the mean goodput.
    Returns: list of (float, float), one pair per slot. The values are the means in bit/s over the first and the second
        half.
    """
    mean = between or trace.between
    borders = [0.0, *trace.reconfigurations_s.tolist(), trace.end_s]
    halves = []
    for start_s, end_s in itertools.pairwise(borders):
        from_s = start_s + settle_s
        if end_s - from_s >= 6.0:
            half_s = (from_s + end_s) / 2
            halves.append((mean(from_s, half_s), mean(half_s, end_s)))
    return halves


@dataclass(frozen=True)
class Moves:
    """Relative changes of BBR's bandwidth estimate.

    across, within: float64 arrays. `across` has the changes from one slot to the next. `within` has the changes from
        the first to the second half of a slot. A value of 0.1 means 10 %.
    """

    across: np.ndarray
    within: np.ndarray

    @property
    def known(self) -> bool:
        """Return true if `across` and `within` both contain at least one change."""
        return len(self.across) > 0 and len(self.within) > 0

    def revised(self, limit_ratio: float) -> float:
        """Return the share of reconfigurations at which the estimate changes by at least `limit_ratio`."""
        return share(self.across >= limit_ratio)

    def text(self) -> str:
        """Return a text with two medians: the change across a reconfiguration, and the change within a slot."""
        if not self.known:
            return "unknown"
        return f"{np.median(self.across):.0%} across a reconfiguration, {np.median(self.within):.0%} within a slot"


def estimate_moves(traces: Sequence[Trace]) -> Moves:
    """Return the relative changes of BBR's bandwidth estimate in all sessions: at reconfigurations, and within
    slots."""
    across, within = [], []
    for trace in traces:
        slots = slot_means_bps(trace, between=trace.estimate_between)
        within += [abs(late / early - 1) for early, late in slots if early > 0 and late > 0]
        across += [abs(after[0] / before[1] - 1) for before, after in itertools.pairwise(slots)
                   if before[1] > 0 and after[0] > 0]  # fmt: skip
    return Moves(np.array(across), np.array(within))


def difference(frames: Frames, one: str, other: str, column: str, preset: str = PEAK) -> Middle:
    """Return the median difference between two variants. The difference is computed for each seed.

    The variants are compared by differences, because a count may be 0, and a ratio to 0 is undefined.
    """
    rows: pd.DataFrame = frames["sessions"]
    both = paired(rows[rows["preset"] == preset], column, one, other)
    return middle(both["one"] - both["other"])


def _counted(counts: Mapping[str, float]) -> str:
    """Return a text with the number of losses of each kind. Kinds with a count of 0 are left out."""
    shown = [f"{KIND_TEXT[kind]} {count:.1f}" for kind, count in counts.items() if count]
    return ", ".join(shown) or "none"
