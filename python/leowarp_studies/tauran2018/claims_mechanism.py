# SPDX-License-Identifier: Apache-2.0
"""Claims of the study's section about causes (4.13 to 4.15, 4.20). These claims are about waiting times of ACKs, phases
of window growth, and duplicate ACKs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if
from leowarp.study.statistics import Middle, middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.claims_link import OURS, SESSION
from leowarp_studies.tauran2018.evidence import Frames
from leowarp_studies.tauran2018.runs import LABELS, ON

ROUND_MS = 20.0
"""The time in ms from one HARQ transmission to the next. According to the study, a packet takes 10 ms without
retransmissions and 70 ms with three. leowarp assumes equal times between transmissions."""
WAIT_MS = 10.0
"""In the study, a waiting time is long if it lasts at least this time in ms (claim 4.10)."""
NEAR_MS = 2.5
"""A waiting time is near one HARQ round if it differs from the round by at most this time in ms. The times may differ
because the packets of a burst start some tenths of a ms apart."""
TIMER_MS = 38.0
"""The smallest waiting time in ms that may come from the delayed-ACK timer. This timer lasts as long as two HARQ
rounds."""
BY_CHANCE_RATIO = 2 * NEAR_MS / (TIMER_MS - ROUND_MS / 2)
"""The share of waiting times that would be near one round if waiting times were uniform between half a round and
`TIMER_MS`."""


# Implements claim 4.13 of tauran2018 (text).
def waits_follow_rounds(frames: Frames) -> Outcome:
    """Among the pairs whose second packet is late, return the share in which this packet is late by one HARQ round. All
    sessions have resequencing.

    Returns: Numbers: `<name>_ratio`, the median over the SNRs, and `by_chance_ratio`.
    """
    shares = {
        name: middle(
            [
                trace.round_pairs_ratio(ROUND_MS, NEAR_MS, TIMER_MS)
                for trace in ev.traces(frames, name, resequencing=True, delayed_ack=ON)
            ]
        )
        for name in ("reno", "cubic")
    }
    parts = {name: value.known and value.median >= 0.5 for name, value in shares.items()}
    most = all(value.known and value.median >= 0.75 for value in shares.values())
    text = (
        f"of pairs whose second packet came {ROUND_MS / 2:g} to {TIMER_MS:g} ms after the first, within {NEAR_MS:g} ms "
        f"of {ROUND_MS:g} ms: {', '.join(f'{ev.label(name)} {value.text(100, 0)} %' for name, value in shares.items())}"
        f", median over SNRs (spread evenly: {BY_CHANCE_RATIO:.0%}; 75 % or more: {'yes' if most else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = "; ".join(ev.held_back_text(frames, name) for name in shares)
    numbers = {f"{name}_ratio": value.numbers() for name, value in shares.items()}
    return Outcome(holds_if(parts), text, numbers | {"by_chance_ratio": BY_CHANCE_RATIO}, cause)


# Implements claim 4.14 of tauran2018 (text).
def cubic_grows_more_often(frames: Frames) -> Outcome:
    """Return CUBIC's share of time in slow start or recovery minus NewReno's share. All sessions have delayed ACKs and
    no resequencing.

    The study estimates this share from the retransmissions in its table 1. leowarp reads the share from the sender's
    socket.

    Returns: Numbers: `<name>_ratio` has one value per SNR. `difference` is the median over the SNRs, with its interval.
    """
    shares = {
        name: [trace.growing_ratio for trace in ev.traces(frames, name, resequencing=False, delayed_ack=ON)]
        for name in ("reno", "cubic", "hybla")
    }
    # Each algorithm has one trace per SNR, and traces are sorted by SNR. The two traces of a pair therefore have the
    # same SNR and the same fading.
    difference = middle([more - less for less, more in zip(shares["reno"], shares["cubic"], strict=True)])
    verdict: Verdict = "holds" if difference.above(0.0) else "does not hold"
    each = "; ".join(
        f"{LABELS[name]} {', '.join(f'{100 * value:.0f}' for value in values)} %" for name, values in shares.items()
    )
    text = (
        f"share of time in slow start or recovery, by SNR: {each}; CUBIC's less NewReno's "
        f"{difference.text(100, 1)} percentage points (5 or more: {'yes' if difference.median >= 0.05 else 'no'})"
    )
    numbers = {f"{name}_ratio": values for name, values in shares.items()} | {"difference": difference.numbers()}
    cause = ""
    if verdict != "holds":
        cause = ". ".join(ev.what_it_did(frames, name, resequencing=False) for name in ("reno", "cubic"))
    return Outcome(verdict, text, numbers, cause)


# Implements claim 4.15 of tauran2018 (figures 4, 5).
def fewer_duplicate_acks(frames: Frames) -> Outcome:
    """Return the duplicate ACKs per sent packet with resequencing, minus those without it. Sessions are paired by SNR
    and seed.

    Returns: Numbers: `<name>_<on or off>_difference`; 0.1 means 10 more duplicate ACKs per 100 packets.
    """
    parts, lines, numbers = {}, [], {}
    halved = True
    for control, delayed in OURS:
        ordered, shuffled = (
            ev.sessions(frames, control, resequencing=order, delayed_ack=delayed).set_index(ev.KEY)[
                "duplicate_acks_ratio"
            ]
            for order in (True, False)
        )
        both = pd.DataFrame({"ordered": ordered, "shuffled": shuffled}).dropna()
        difference: Middle = middle(both["ordered"] - both["shuffled"])
        parts[f"{control}, {delayed}"] = difference.below(0.0)
        halved &= bool(both["ordered"].median() <= both["shuffled"].median() / 2)
        lines.append(
            f"{ev.label(control)}, {delayed}: {100 * both['ordered'].median():.1f} instead of "
            f"{100 * both['shuffled'].median():.1f}, by pairs {difference.text(100, 1)}"
        )
        numbers[f"{control}_{delayed}_difference"] = difference.numbers()
    text = (
        f"duplicate ACKs per 100 packets sent, with resequencing and without: {'; '.join(lines)} (half as many or "
        f"fewer, all: {'yes' if halved else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = ". ".join(ev.what_it_did(frames, "reno", resequencing=order) for order in (True, False))
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.20 of tauran2018 (text).
def resequencing_makes_pairs_wait(frames: Frames) -> Outcome:
    """Measure in which share of the pairs the second packet came `WAIT_MS` or more after the first packet. The share
    without resequencing is subtracted from the share with resequencing.

    Returns: Numbers: `<name>_difference`, the median over the SNRs with its interval (0.1 means 10 more per 100 pairs).
        `<name>_ordered_ratio` and `<name>_shuffled_ratio` have one value per SNR.
    """
    parts, lines = {}, []
    numbers: dict[str, Any] = {}
    doubled = True
    for name in ("reno", "cubic"):
        ordered, shuffled = (
            [trace.long_pairs_ratio(WAIT_MS) for trace in ev.traces(frames, name, resequencing=order, delayed_ack=ON)]
            for order in (True, False)
        )
        # As in claim 4.14, sessions are paired by SNR.
        difference = middle([more - less for more, less in zip(ordered, shuffled, strict=True)])
        parts[name] = difference.above(0.0)
        doubled &= middle(ordered).median >= 2 * middle(shuffled).median
        lines.append(
            f"{ev.label(name)} {middle(ordered).text(100, 1)} and {middle(shuffled).text(100, 1)} %, by SNR "
            f"{difference.text(100, 1)}"
        )
        numbers |= {
            f"{name}_difference": difference.numbers(),
            f"{name}_ordered_ratio": ordered,
            f"{name}_shuffled_ratio": shuffled,
        }
    text = (
        f"pairs whose second packet came {WAIT_MS:g} ms or more after the first, with resequencing and without: "
        f"{'; '.join(lines)} percentage points more (twice as many, both: {'yes' if doubled else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = "; ".join(ev.held_back_text(frames, name) for name in ("reno", "cubic"))
    return Outcome(holds_if(parts), text, numbers, cause)


CLAIMS = (
    Claim("4.13", "The wait between two packets of a delayed ACK is often proportional to the time of an additional "
          "HARQ transmission.", "text",
          f"ACKs of two segments, with resequencing, delayed ACKs on, seed 1. Of those whose second segment came "
          f"{ROUND_MS / 2:g} to {TIMER_MS:g} ms after the first: the share within {NEAR_MS:g} ms of {ROUND_MS:g} ms, "
          "median over SNRs, is half or more (three quarters is given too). NewReno and CUBIC: holds; one: partly.",
          ("traces",), waits_follow_rounds),
    Claim("4.14", "CUBIC is more often in slow start or fast recovery than NewReno.", "text",
          "Without resequencing, delayed ACKs on, seed 1: share of the samples in which the window is below its "
          "threshold or the sender is in recovery (after a timeout or without one). CUBIC's less NewReno's, over SNRs: "
          "the interval above 0 (5 percentage points is given too): holds.", ("traces", "sessions"),
          cubic_grows_more_often),
    Claim("4.15", "With resequencing the proportion of duplicate ACKs is lower.", "4, 5",
          f"{SESSION} Duplicate ACKs per packet sent, with resequencing less without, same SNR and seed; of all such "
          "pairs the median's interval below 0 (half as many is given too), for NewReno and CUBIC, delayed ACKs on and "
          "off. All four: holds; some: partly.", ("sessions",), fewer_duplicate_acks),
    Claim("4.20", "The reordering mechanism is why the wait between the two packets of a delayed ACK is significant.",
          "text",
          f"ACKs of two segments, delayed ACKs on, seed 1: share of those whose first segment had waited for "
          f"{WAIT_MS:g} ms or more, with resequencing less without, at the same SNR. Over SNRs the interval of the "
          "difference above 0 (twice as many is given too). NewReno and CUBIC: holds; one: partly.", ("traces",),
          resequencing_makes_pairs_wait),
)  # fmt: skip
