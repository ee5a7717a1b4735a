# SPDX-License-Identifier: Apache-2.0
"""Claims about single losses (3.23 to 3.25, 3.28): SACK, BBR's rate, the cost of a loss, and CUBIC's growth between
losses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from leowarp.study.claim import Claim, Outcome, holds_if
from leowarp.study.statistics import Middle, middle, paired_ratio, share
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.evidence import Frames
from leowarp_studies.huston2024.groups import CLEAN_PEAK, PEAK
from leowarp_studies.huston2024.traces import CUT_WITHIN_NS, Trace
from leowarp_studies.huston2024.words import GOODPUT, PAIRED, SESSION

WITHIN_S = CUT_WITHIN_NS / 1e9
"""A cut is attributed to a loss if it follows within this time, in s."""

LOSS_BASED = ("cubic", "reno")
KEEPS_RATIO = 0.9
"""A sender "keeps its rate" if it keeps at least this share of its goodput under loss."""

STUDY_SLOPE_BPS_PER_S = (70e6 - 50e6) / 5
"""The slope in the study's figure 6: from 50 to 70 Mbit/s in five seconds."""
STUDY_DROP_RATIO = 40 / 70
"""The goodput after a single loss divided by the goodput before it, in the study's figure 6."""
SHORTEST_S = 2.0
"""The minimum length in s of an interval between two cuts. A slope fit needs four bins of half a second, which is 2
s."""


def followed_by_a_cut(traces: Sequence[Trace]) -> list[bool]:
    """Return, for each isolated loss in `traces`, whether the sender cut its window within `WITHIN_S` after it.

    A loss is isolated if it occurs on the link, not near a reconfiguration, and no other loss occurs within `WITHIN_S`.
    A timeout is counted as a cut, because it also sets the slow-start threshold.
    """
    found = []
    for trace in traces:
        t_s = trace.losses["t_s"].to_numpy()
        cut_s = trace.cuts["t_s"].to_numpy()
        # A loss is isolated if no other loss is within `WITHIN_S`. The first and the last loss have only one neighbour.
        apart_s = np.concatenate([[math.inf], np.diff(t_s), [math.inf]])
        alone = np.minimum(apart_s[:-1], apart_s[1:])[: len(t_s)] > WITHIN_S
        for at_s in t_s[alone & (trace.losses["kind"].to_numpy() == "isolated")].tolist():
            found.append(bool(((cut_s >= at_s) & (cut_s <= at_s + WITHIN_S)).any()))
    return found


# Implements claim 3.23 of huston2024 (text).
def sack_distinguishes(frames: Frames) -> Outcome:
    """Compare CUBIC with and without SACK. The numbers are the share of isolated losses after which CUBIC cuts its
    window, and the number of timeouts.

    Returns: Numbers: `cut_ratio` and `cut_without_ratio` (shares of isolated losses, with and without SACK), `losses`
        and `losses_without`, `timeouts_difference` (timeouts with SACK minus timeouts without, per session).
    """
    with_sack, without = (
        followed_by_a_cut(frames["traces"].get((name, PEAK), [])) for name in ("cubic", "cubic-nosack")
    )
    if not with_sack or not without:
        return Outcome("cannot be told", "there is no isolated loss in the traces of CUBIC with SACK or without")
    cut, cut_without = share(with_sack), share(without)
    fewer = ev.difference(frames, "cubic", "cubic-nosack", "timeouts")
    parts = {
        "most isolated losses cost no cut": cut < 0.5,
        "fewer of them than without SACK": cut < cut_without,
        "fewer timeouts than without SACK": fewer.below(0.0),
    }
    text = (
        f"with SACK {cut:.0%} of {len(with_sack)} isolated losses are followed by a cut of the window, without SACK "
        f"{cut_without:.0%} of {len(without)} (a quarter or fewer with SACK: {'yes' if cut <= 0.25 else 'no'}); "
        f"timeouts a session {fewer.text(1, 1)} more with SACK"
    )
    cause = "" if all(parts.values()) else (
        "SACK tells a sender which packets are missing, and not why. Linux repairs an isolated loss by fast recovery, "
        "with SACK or without, and sets the threshold at its start (tcp_enter_recovery). "
        f"{ev.what_it_did(frames, 'cubic')}. {ev.what_it_did(frames, 'cubic-nosack')}"
    )  # fmt: skip
    numbers = {"cut_ratio": cut, "cut_without_ratio": cut_without, "losses": len(with_sack),
               "losses_without": len(without), "timeouts_difference": fewer.numbers()}  # fmt: skip
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 3.24 of huston2024 (text).
def bbr_keeps_its_rate(frames: Frames) -> Outcome:
    """Compare runs of the group `losses` with the same seed. Divide the goodput at the largest isolated loss by the
    goodput without loss.

    Returns: Numbers: `<name>_kept_ratio`; and `loss_ratio`, the probability of loss in each direction.
    """
    rows: pd.DataFrame = frames["losses"]
    most = float(rows["loss_ratio"].max())
    kept = {name: _kept(rows[rows["variant"] == name], most) for name in ("bbr", *LOSS_BASED)}
    parts = {"BBR keeps its rate": kept["bbr"].known and kept["bbr"].median >= KEEPS_RATIO}
    # BBR is preferable under loss only if the goodput of the other congestion controls falls.
    parts |= {f"{ev.label(name)} does not": kept[name].known and kept[name].median < KEEPS_RATIO for name in LOSS_BASED}
    text = (
        f"at {100 * most:g} % of isolated loss in each direction, of the goodput without any: "
        f"{', '.join(f'{ev.label(name)} {value.text(100, 0)} %' for name, value in kept.items())} (BBR 95 % or more: "
        f"{'yes' if kept['bbr'].median >= 0.95 else 'no'})"
    )
    cause = "" if all(parts.values()) else (
        "BBR's bandwidth is the largest delivery rate of ten round trips (bbr_update_bw); in recovery it holds its "
        "window to what is delivered for one round trip (bbr_set_cwnd_to_recover_or_restore)"
    )  # fmt: skip
    numbers = {f"{name}_kept_ratio": value.numbers() for name, value in kept.items()}
    return Outcome(holds_if(parts), text, numbers | {"loss_ratio": most}, cause)


def _kept(rows: pd.DataFrame, most: float) -> Middle:
    """For each seed, divide a variant's goodput at the loss `most` by its goodput without loss. Return the median."""
    named = rows.assign(variant=rows["loss_ratio"].map({0.0: "none", most: "most"}))
    return paired_ratio(named, "goodput_bps", "most", "none")


# Implements claim 3.25 of huston2024 (text).
def loss_detracts(frames: Frames) -> Outcome:
    """Return how much isolated loss costs CUBIC and Reno at peak. The goodput is divided by the goodput without
    isolated loss, for the same seed and path.

    Returns: Numbers: `<name>_ratio` for CUBIC and Reno, and for comparison also for BBR.
    """
    rows: pd.DataFrame = frames["sessions"]
    ratios = {
        name: paired_ratio(
            rows[rows["variant"] == name].assign(variant=rows["preset"]), "goodput_bps", PEAK, CLEAN_PEAK
        )
        for name in (*LOSS_BASED, "bbr")
    }
    parts = {ev.label(name): ratios[name].below(1.0) for name in LOSS_BASED}
    halved = all(ratios[name].median <= 0.5 for name in LOSS_BASED)
    text = (
        f"at peak, of the goodput without isolated loss: "
        f"{', '.join(f'{ev.label(name)} {value.text(1, 2)}' for name, value in ratios.items())} (half or less, CUBIC "
        f"and Reno: {'yes' if halved else 'no'})"
    )
    cause = "" if all(parts.values()) else ". ".join(ev.why_cut(frames, name) for name in LOSS_BASED)
    return Outcome(holds_if(parts), text, {f"{name}_ratio": value.numbers() for name, value in ratios.items()}, cause)


def _stretches(trace: Trace) -> Iterator[tuple[float, float]]:
    """Yield the intervals between cuts. An interval begins half a second after a cut, and ends at the next cut or at
    the end of the session. Intervals shorter than `SHORTEST_S` are left out."""
    borders = [*trace.cuts["t_s"].tolist(), trace.end_s]
    for cut_s, until_s in itertools.pairwise(borders):
        if until_s - cut_s - WITHIN_S >= SHORTEST_S:
            yield cut_s + WITHIN_S, until_s


def _slopes_bps_per_s(trace: Trace) -> list[float]:
    """Return the slope of the goodput in each interval between two window cuts, in bit/s per second. A line is fitted
    to the bins by least squares."""
    found = []
    for from_s, until_s in _stretches(trace):
        inside = (trace.t_s >= from_s) & (trace.t_s < until_s - WITHIN_S)
        if inside.sum() >= 3:
            found.append(float(np.polyfit(trace.t_s[inside], trace.goodput_bps[inside], 1)[0]))
    return found


def _drops_ratio(trace: Trace) -> list[float]:
    """Return, for each cut after a single lost packet, the goodput after the cut divided by the goodput before it. The
    earlier goodput is over one second, which ends half a second before the cut. The later goodput is also over one
    second, which begins half a second after the cut.

    The bin of the cut is in neither of these seconds.
    """
    singles = trace.cuts[trace.cuts["lost_pkts"] == 1]
    found = [
        trace.between(at_s + WITHIN_S, at_s + WITHIN_S + 1.0) / before
        for at_s in singles["t_s"].tolist()
        # Cuts before the end of slow start are left out, because the first fall of goodput belongs to claim 3.7.
        if at_s >= 4.0 and (before := trace.between(at_s - WITHIN_S - 1.0, at_s - WITHIN_S)) > 0
    ]
    return [ratio for ratio in found if math.isfinite(ratio)]


# Implements claim 3.28 of huston2024 (figure 6).
def cubic_climbs_and_drops(frames: Frames) -> Outcome:
    """Measure how fast CUBIC's goodput grows between window cuts at peak, and how much it falls after a single loss.

    Returns: Numbers: `slope_bps_per_s`, and `drop_ratio` (goodput after a loss divided by goodput before). Each session
        gives a median, and both numbers are medians over the sessions.
    """
    traces: list[Trace] = frames["traces"]["cubic", PEAK]
    slope = middle([np.median(found) for trace in traces if (found := _slopes_bps_per_s(trace))])
    drop = middle([np.median(found) for trace in traces if (found := _drops_ratio(trace))])
    parts = {
        # The tolerance is a factor of 2, because the study shows only five seconds of one session.
        "climbs as in the figure": slope.known
        and STUDY_SLOPE_BPS_PER_S / 2 <= slope.median <= 2 * STUDY_SLOPE_BPS_PER_S,
        # In the study, the rate falls to 0.57 of its earlier value; 0.4 to 0.8 is accepted. CUBIC itself reduces its
        # window to 0.7 (RFC 9438, 4.6).
        "a single loss takes it down": drop.known and 0.4 <= drop.median <= 0.8,
    }
    text = (
        f"between cuts goodput rises by {slope.text(1e-6, 1)} Mbit/s a second (the study: "
        f"{STUDY_SLOPE_BPS_PER_S / 1e6:g}; it rises at all: {'yes' if slope.above(0.0) else 'no'}); after a cut for "
        f"one lost packet it is {drop.text(1, 2)} of what it was (the study: {STUDY_DROP_RATIO:.2f})"
    )
    cause = "" if all(parts.values()) else ev.why_cut(frames, "cubic")
    return Outcome(holds_if(parts), text, {"slope_bps_per_s": slope.numbers(), "drop_ratio": drop.numbers()}, cause)


CLAIMS = (
    Claim("3.23", "SACK lets TCP's control distinguish isolated packet loss from loss by congestion.", "text",
          f"{SESSION} CUBIC at peak with SACK and without. Isolated losses: one packet that the link lost 1 s or more "
          f"from reconfigurations, with no other loss within {WITHIN_S:g} s. The share of them that a cut of the "
          f"window (a timeout is one) follows within {WITHIN_S:g} s: (a) with SACK under one half (a quarter is given "
          "too), (b) and less than without; (c) timeouts a session, seed by seed, with SACK less without: the interval "
          "below 0 (the comments: \"without stopping the flow and reverting to slow start\"). All: holds; some: "
          "partly.", ("sessions", "traces"), sack_distinguishes),
    Claim("3.24", "BBR maintains its sending rate in the face of individual packet losses.", "text",
          f"One flow of 60 s at peak, 5 seeds. {GOODPUT} {PAIRED} At 0.4 % of isolated loss in each direction over "
          "none: (a) BBR 0.9 or more (0.95 is given too), (b) CUBIC and (c) Reno less. All: holds; some: partly.",
          ("losses",), bbr_keeps_its_rate),
    Claim("3.25", "Packet loss that is not congestion's can detract from TCP's performance.", "text",
          f"{SESSION} {GOODPUT} At peak with isolated loss over without. {PAIRED} CUBIC and Reno: the interval below 1 "
          "(0.5 is given too). Both: holds; one: partly. BBR's is given too.", ("sessions", "traces", "clean"),
          loss_detracts),
    Claim("3.28", "CUBIC at peak climbs from 50 to 70 Mbit/s in five seconds, and a single loss event drops it to 40.",
          "6",
          f"{SESSION} Goodput in bins of 0.5 s; of each session the median, of these the median. (a) The slope between "
          "two cuts of the window 2.5 s or more apart is 4 Mbit/s a second within a factor of 2; (b) after a cut for "
          "one lost packet, from 4 s on, goodput is 0.4 to 0.8 of what it was (the study: 0.57). Both: holds; one: "
          "partly.", ("sessions", "traces"), cubic_climbs_and_drops),
)  # fmt: skip
