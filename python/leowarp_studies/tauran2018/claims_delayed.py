# SPDX-License-Identifier: Apache-2.0
"""Claims about the effects of delayed ACKs (4.4 to 4.11)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp.study.statistics import Middle, middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018 import window_growth as growth
from leowarp_studies.tauran2018.claims_link import SESSION
from leowarp_studies.tauran2018.evidence import Frames
from leowarp_studies.tauran2018.runs import OFF, ON

HIGH_SNR_DB = 11
"""The study's "high SNR" is taken to mean the three highest SNRs of its range from 7 to 13 dB: 11, 12 and 13 dB."""

GREATLY_RATIO = 0.1
"""The smallest relative decrease that counts as "greatly decreases"."""

WAIT_MS = 10.0
"""A pair is counted if its second packet comes at least this time, in ms, after its first packet. In the study, the
second packet arrives more than 10 ms after the first in 10 % of the pairs."""

STUDY_CHANGE = {"reno": 706 / 1068 - 1, "cubic": 789 / 1333 - 1, "hybla": 20688 / 6969 - 1}
"""The change of the number of retransmissions from 7 dB to 13 dB, as a share (the study's table 1)."""

SIGNS = {
    "timeouts_ratio": "timeouts",
    "duplicate_acks_ratio": "duplicate ACKs",
    "spurious_ratio": "spurious retransmissions",
}
"""The columns that show signs of loss at the sender. Each column is a count divided by the number of packets sent, so
that sessions of different speed can be compared."""

RISING = ("srtt_us", "timeout_retransmissions_ratio")
"""The columns that delayed ACKs increase according to claim 4.11. According to this claim, delayed ACKs decrease all
further columns of the test."""


# Implements claim 4.4 of tauran2018 (figures 3, 4).
def helps_newreno(frames: Frames) -> Outcome:
    """Measure the effect of delayed ACKs on NewReno without resequencing. The effect is a relative change, for goodput
    and for each sign of loss per packet sent.

    Returns: Numbers, each a median with its interval: `goodput_change` and the columns of `SIGNS`. A value of -0.1
        means 10 % less.
    """
    gain = ev.effect(frames, "goodput_bps", "reno", resequencing=False)
    signs = {column: ev.effect(frames, column, "reno", resequencing=False) for column in SIGNS}
    # The test uses the complete interval: with five seeds at seven SNRs, the sign of a median may be chance.
    parts = {"goodput": gain.above(0.0)} | {column: change.below(0.0) for column, change in signs.items()}
    text = (
        f"with delayed ACKs: goodput {ev.percent(gain)} (5 % or more: {'yes' if gain.median >= 0.05 else 'no'}); per "
        f"packet sent {', '.join(f'{SIGNS[column]} {ev.percent(change)}' for column, change in signs.items())}"
    )
    numbers = {"goodput_change": gain.numbers()} | {column: change.numbers() for column, change in signs.items()}
    return Outcome(holds_if(parts), text, numbers, _cause(frames, parts, "reno", resequencing=False))


# Implements claim 4.5 of tauran2018 (figures 3, 4).
def leaves_cubic(frames: Frames) -> Outcome:
    """Measure the effect of delayed ACKs on CUBIC without resequencing. CUBIC's goodput must change by less than 10 %.

    The test uses the median, and not its interval. With few seeds, every interval contains 0, so such an interval does
    not show that goodput is unchanged.

    Returns: Numbers as for `helps_newreno`, without timeouts.
    """
    gain = ev.effect(frames, "goodput_bps", "cubic", resequencing=False)
    signs = {
        column: ev.effect(frames, column, "cubic", resequencing=False)
        for column in ("duplicate_acks_ratio", "spurious_ratio")
    }
    parts = {"goodput": abs(gain.median) < 0.1} | {column: change.below(0.0) for column, change in signs.items()}
    text = (
        f"with delayed ACKs: goodput {ev.percent(gain)} (less than 5 % either way: "
        f"{'yes' if abs(gain.median) < 0.05 else 'no'}); per packet sent "
        f"{', '.join(f'{SIGNS[column]} {ev.percent(change)}' for column, change in signs.items())}"
    )
    numbers = {"goodput_change": gain.numbers()} | {column: change.numbers() for column, change in signs.items()}
    cause = _cause(frames, parts, "cubic", resequencing=False)
    if not parts["goodput"] and "growth" in frames:
        cause += (
            ". The study puts what CUBIC does not gain down to a window that grows more slowly, which it does not do "
            f"here. {growth.growth_text(frames)}{growth.by_acks_goodput_text(frames, 'cubic', resequencing=False)}"
        )
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.6 of tauran2018 (figure 5).
def costs_with_resequencing(frames: Frames) -> Outcome:
    """With resequencing, measure how delayed ACKs change the goodput of NewReno and CUBIC. The result is for all SNRs,
    and for the SNRs from `HIGH_SNR_DB` on.

    Returns: Numbers: `<name>_change`, `<name>_high_snr_change`.
    """
    all_snrs = {name: ev.effect(frames, "goodput_bps", name, resequencing=True) for name in ("reno", "cubic")}
    high = {
        name: ev.effect(frames, "goodput_bps", name, resequencing=True, from_db=HIGH_SNR_DB)
        for name in ("reno", "cubic")
    }
    parts = {f"{ev.label(name)} loses": cost.below(0.0) for name, cost in all_snrs.items()}
    # "Greatly" is taken to mean that the median falls by a tenth.
    parts |= {
        f"{ev.label(name)} greatly": cost.known and cost.median <= -GREATLY_RATIO for name, cost in all_snrs.items()
    }
    # "Most" is taken to mean that CUBIC's median falls more than NewReno's, whatever the size of NewReno's fall.
    parts["CUBIC most, at high SNR"] = high["cubic"].below(0.0) and high["cubic"].median < high["reno"].median
    text = (
        "goodput with delayed ACKs, with resequencing: "
        f"{', '.join(f'{ev.label(name)} {ev.percent(cost)}' for name, cost in all_snrs.items())}; from {HIGH_SNR_DB} "
        f"dB on {', '.join(f'{ev.label(name)} {ev.percent(cost)}' for name, cost in high.items())} (CUBIC 20 % or "
        f"more: {'yes' if high['cubic'].median <= -0.2 else 'no'})"
    )
    numbers = {f"{name}_change": cost.numbers() for name, cost in all_snrs.items()}
    numbers |= {f"{name}_high_snr_change": cost.numbers() for name, cost in high.items()}
    cause = ""
    if not all(parts.values()):
        cause = (
            f"{ev.what_it_did(frames, 'reno', resequencing=True)}. "
            f"{ev.what_it_did(frames, 'cubic', resequencing=True)}. {growth.growth_text(frames)}"
            f"{growth.by_acks_goodput_text(frames, 'reno', resequencing=True)}"
            f"{growth.by_acks_goodput_text(frames, 'cubic', resequencing=True)}"
        )
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.7 of tauran2018 (text).
def hybla(frames: Frames) -> Outcome:
    """Compare Hybla's goodput with the study's numbers and with the goodput of NewReno and CUBIC. Each comparison is
    made with and without delayed ACKs.

    tcp_hybla.c increases the window per ACK. tcp_slow_start and tcp_cong_avoid_ai increase it per acknowledged segment.
    Delayed ACKs therefore slow the growth of the window only for Hybla.

    Returns: Numbers: `<name>_<on or off>_bps` (a median per SNR), `worst_change`.
    """
    curves = {
        (name, delayed): ev.curve(frames, "goodput_bps", name, resequencing=False, delayed_ack=delayed)
        for name in ("reno", "cubic", "hybla")
        for delayed in (ON, OFF)
    }
    changes = [on.median / off.median - 1 for on, off in zip(curves["hybla", ON], curves["hybla", OFF], strict=True)]
    worst = min(changes)
    others = [curves[name, ON] for name in ("reno", "cubic")]
    parts = {
        "loses by delayed ACKs": ev.effect(frames, "goodput_bps", "hybla", resequencing=False).below(0.0),
        # The tolerance is half of 40 %, because the study's number is the worst of seven points in a figure.
        "up to 40 %": -0.6 <= worst <= -0.2,
        # The claim is tested at each SNR, because the study's text means all SNRs.
        "above both": all(
            mine.median > other.median
            for curve in others
            for mine, other in zip(curves["hybla", ON], curve, strict=True)
        ),
        "above 850 kbit/s": min(value.median for value in curves["hybla", ON]) > 850e3,
        "the others under 650": max(value.median for curve in others for value in curve) < 650e3,
        # The tolerance is a factor of 1.5, because goodput depends on the losses that remain after HARQ. These losses
        # depend on assumptions (design/lms-harq.md).
        "1141 to 1764 kbit/s": _near_both(curves["hybla", OFF], 1.5),
    }
    twice = _near_both(curves["hybla", OFF], 2.0)
    text = (
        f"Hybla without resequencing, kbit/s by SNR: on {ev.over_snr(curves['hybla', ON], 1e-3)}, off "
        f"{ev.over_snr(curves['hybla', OFF], 1e-3)} (within a factor of 2 of 1141 and 1764: "
        f"{'yes' if twice else 'no'}); largest loss by delayed ACKs {-worst:.0%}; with delayed ACKs NewReno "
        f"{ev.over_snr(curves['reno', ON], 1e-3)}, CUBIC {ev.over_snr(curves['cubic', ON], 1e-3)}"
    )
    numbers = {
        f"{name}_{delayed}_bps": [value.numbers() for value in values] for (name, delayed), values in curves.items()
    }
    cause = _cause(frames, parts, "hybla", resequencing=False)
    if cause and "profiles" in frames:
        cause += f". {_hybla_elsewhere(frames)}"
    return Outcome(holds_if(parts), text, numbers | {"worst_change": worst}, cause)


def _hybla_elsewhere(frames: Frames) -> str:
    """Return a text with the cost of delayed ACKs for Hybla. The text covers the profiles `classic` and `linux`, in
    which fewer losses make Hybla reduce its window."""
    rows = frames["profiles"]
    rows = rows[(rows["congestion_control"] == "hybla") & ~rows["resequencing"]]
    texts = []
    for profile in ("classic", "linux"):
        on, off = (
            middle(rows.loc[(rows["profile"] == profile) & (rows["delayed_ack"] == delayed), "goodput_bps"])
            for delayed in (ON, OFF)
        )
        texts.append(f"profile {profile} {ev.kbps(on)} kbit/s with and {ev.kbps(off)} without")
    return (
        "Linux's Hybla grows its window by ACKs and not by segments (tcp_hybla.c), so that delayed ACKs slow it; how "
        f"much that costs hangs on how long a window grows before it is cut: {'; '.join(texts)}"
    )


# Implements claim 4.8 of tauran2018 (figure 6).
def slows_growth(frames: Frames) -> Outcome:
    """Measure the time until the window reaches 500 packets. Return the time with delayed ACKs, divided by the time
    without. The runs have one flow over a path without loss.

    Returns: Numbers: `<name>_ratio`. For example, 1.2 means that the window needs 20 % more time with delayed ACKs. The
        ratio is infinite if the window never reaches 500 packets.
    """
    # The path can carry 807 packets in flight. At a window of 500 packets, slow start has not filled the path, so no
    # queue slows the growth.
    most = growth.GROWN_PKTS[1]
    slower = {
        name: frames["growth"][name, ON].reaches_s(most) / frames["growth"][name, OFF].reaches_s(most)
        for name in ("reno", "cubic")
    }
    parts = {name: ratio >= 1.2 for name, ratio in slower.items()}
    text = "; ".join(growth.reaches_text(frames, name) for name in slower)
    tenth = all(ratio >= 1.1 for ratio in slower.values())
    numbers = {f"{name}_ratio": ratio for name, ratio in slower.items()}
    cause = ""
    if not all(parts.values()):
        cause = f"{growth.growth_text(frames)}{growth.held_text(frames)}{growth.by_acks_growth_text(frames)}"
    return Outcome(holds_if(parts), f"{text} (10 % slower, both: {'yes' if tenth else 'no'})", numbers, cause)


# Implements claim 4.9 of tauran2018 (table 1).
def retransmissions(frames: Frames) -> Outcome:
    """With delayed ACKs, compare the algorithms by their retransmissions per session. The verdict depends on the order
    of the algorithms, and on the decrease from the lowest to the highest SNR.

    Returns: Numbers: `<name>_pkts` (a median per SNR), `<name>_change` (from the lowest to the highest SNR).
        `<name>_steps_down` is the number of SNR steps at which retransmissions decrease, and `steps` is the number of
        all SNR steps.
    """
    curves = {
        name: ev.curve(frames, "retransmissions_pkts", name, resequencing=False, delayed_ack=ON)
        for name in ("reno", "cubic", "hybla")
    }
    below = {
        pair: [less.median < more.median for less, more in zip(curves[pair[0]], curves[pair[1]], strict=True)]
        for pair in (("reno", "cubic"), ("cubic", "hybla"))
    }
    parts = {f"{ev.label(less)} < {ev.label(more)}": all(is_less) for (less, more), is_less in below.items()}
    parts |= {f"{ev.label(name)} falls": curves[name][-1].median < curves[name][0].median for name in ("reno", "cubic")}
    change = {name: values[-1].median / values[0].median - 1 for name, values in curves.items()}
    down = {
        name: sum(later.median < sooner.median for sooner, later in itertools.pairwise(values))
        for name, values in curves.items()
    }
    steps = len(curves["reno"]) - 1
    for name in ("reno", "cubic"):
        # A test of the sign alone would accept a decrease smaller than the spread over seeds.
        parts[f"{ev.label(name)} by half of the study's or more"] = change[name] <= STUDY_CHANGE[name] / 2
        parts[f"{ev.label(name)} at two steps of three"] = 3 * down[name] >= 2 * steps
    # In the study's table 1, Hybla's retransmissions rise from 6,969 at 7 dB to 20,688 at 13 dB.
    parts["Hybla does not"] = curves["hybla"][-1].median >= curves["hybla"][0].median
    text = (
        "retransmissions a session by SNR: "
        f"{'; '.join(f'{ev.label(name)} {ev.over_snr(values)}' for name, values in curves.items())}; NewReno below "
        f"CUBIC at {sum(below['reno', 'cubic'])} of {len(below['reno', 'cubic'])} SNRs, CUBIC below Hybla at "
        f"{sum(below['cubic', 'hybla'])}; from the lowest SNR to the highest "
        + ", ".join(f"{ev.label(name)} {value:+.1%}" for name, value in change.items())
        + f" (the study: {', '.join(f'{value:+.0%}' for value in STUDY_CHANGE.values())}), with "
        + ", ".join(f"{count}" for count in down.values())
        + f" of {steps} steps down"
    )
    numbers: dict[str, Any] = {f"{name}_pkts": [each.numbers() for each in values] for name, values in curves.items()}
    numbers |= {f"{name}_change": value for name, value in change.items()}
    numbers |= {f"{name}_steps_down": count for name, count in down.items()} | {"steps": steps}
    cause = ""
    if not all(parts.values()):
        texts = (ev.what_it_did(frames, name, resequencing=False) for name in curves)
        cause = f"{not_so(parts)}. {'. '.join(texts)}"
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.10 of tauran2018 (text).
def pairs_wait(frames: Frames) -> Outcome:
    """Return the share of pairs in which the second segment came `WAIT_MS` or more after the first. Only sessions with
    resequencing count. A pair is two segments that one ACK acknowledges.

    The receiver does not wait longer than 40 ms for a second segment (TCP_DELACK_MIN).

    Returns: Numbers: `<name>_ratio`, the share of the pairs, as a median over SNRs.
    """
    shares = {
        name: middle([trace.long_pairs_ratio(WAIT_MS) for trace in _traces(frames, name, ON)])
        for name in ("reno", "cubic")
    }
    parts = {name: 0.05 <= value.median <= 0.2 for name, value in shares.items()}
    # In 10 % of the study's pairs, the second segment comes `WAIT_MS` or more after the first. The stricter limits of 7
    # and 13 % allow a deviation of a third.
    tight = all(0.07 <= value.median <= 0.13 for value in shares.values())
    text = (
        f"ACKs of two segments whose second came {WAIT_MS:g} ms or more after the first, of all such: "
        f"{', '.join(f'{ev.label(name)} {value.text(100, 1)} %' for name, value in shares.items())}, median over SNRs "
        f"(7 to 13 %: {'yes' if tight else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = "; ".join(_waits_text(frames, name) for name in shares)
    return Outcome(holds_if(parts), text, {f"{name}_ratio": value.numbers() for name, value in shares.items()}, cause)


# Implements claim 4.11 of tauran2018 (figure 7).
def timeouts_rise(frames: Frames) -> Outcome:
    """Measure the effect of delayed ACKs on the RTT, its variation, the RTO, and retransmissions after a timeout. The
    channel uses resequencing.

    The study says that more retransmissions come from timeouts, because the RTO is lower and ACKs are delayed.

    Linux's RTO is always at least SRTT plus 200 ms (TCP_RTO_MIN), so a lower variation need not lower the RTO. If the
    claim does not fully hold, the text gives the share of time in which the RTO is at this minimum. A separate sample
    has sessions without this minimum.

    Returns: Numbers: `<name>_<column>_change`.
    """
    columns = {
        "rttvar_us": "RTT variation",
        "rto_us": "RTO",
        "srtt_us": "smoothed RTT",
        "timeout_retransmissions_ratio": "retransmitted by timeout",
    }
    timed = {"sessions": frames["timers"]}
    changes = {
        (name, column): ev.effect(timed, column, name, resequencing=True)
        for name in ("reno", "cubic")
        for column in columns
    }
    parts = {
        f"{ev.label(name)}, {columns[column]}": value.above(0.0) if column in RISING else value.below(0.0)
        for (name, column), value in changes.items()
    }
    text = "; ".join(
        f"{ev.label(name)}: "
        f"{', '.join(f'{what} {ev.percent(changes[name, column])}' for column, what in columns.items())}"
        for name in ("reno", "cubic")
    )
    # The RTO is at least SRTT plus 200 ms, which hides changes of the RTT's variation. A decrease of the RTO by 5 % is
    # therefore large.
    strong = all(value.median <= -0.05 for (_, column), value in changes.items() if column == "rto_us")
    cause = ""
    if not all(parts.values()) and "traces" not in frames:
        cause = f"{not_so(parts)}. {ev.what_it_did(timed, 'cubic', resequencing=True)}"
    elif not all(parts.values()):
        names = ("reno", "cubic")
        cause = (
            f"{not_so(parts)}. Linux takes the RTT of the oldest segment that an ACK acknowledges "
            "(tcp_clean_rtx_queue), which includes the time for which the ACK was delayed: "
            f"{'; '.join(ev.held_back_text(frames, name) for name in names)}. Its RTO is SRTT and four times the "
            "variation, but never less than SRTT and 200 ms (tcp_rto_min): "
            f"{'; '.join(ev.floor_text(frames, name) for name in names)}. "
            f"{ev.what_it_did(timed, 'cubic', resequencing=True)}"
        )
    numbers = {f"{name}_{column}_change": value.numbers() for (name, column), value in changes.items()}
    return Outcome(holds_if(parts), f"with delayed ACKs, with resequencing: {text} (RTO 5 % or more lower, both: "
                   f"{'yes' if strong else 'no'})", numbers, cause)  # fmt: skip


def _near_both(curve: list[Middle], factor: float) -> bool:
    """Return whether a curve is near the study's values at both ends, 7 and 13 dB. A value is near if it differs by at
    most a factor of `factor`."""
    return all(
        value.known and expected_bps / factor <= value.median <= expected_bps * factor
        for value, expected_bps in ((curve[0], 1141e3), (curve[-1], 1764e3))
    )


def _cause(frames: Frames, parts: dict[str, bool], name: str, *, resequencing: bool) -> str:
    """Return a text that explains why a claim does not fully hold: the parts that do not hold, and counts from the
    sessions. If the claim holds, the text is empty."""
    if all(parts.values()):
        return ""
    named = not_so({SIGNS.get(what, what): held for what, held in parts.items()})
    return f"{named}. {ev.what_it_did(frames, name, resequencing=resequencing)}"


def _traces(frames: Frames, name: str, delayed: str) -> list[ev.Trace]:
    """Return the traces of seed 1 with resequencing, one per SNR."""
    return ev.traces(frames, name, resequencing=True, delayed_ack=delayed)


def _waits_text(frames: Frames, name: str) -> str:
    """Return a text that explains a verdict. The text gives the distribution of the waiting times of pairs over all
    SNRs."""
    waits = [trace.pair_waits() for trace in _traces(frames, name, ON)]
    wait_ms, count = (np.concatenate([each[part] for each in waits]) for part in (0, 1))
    shares = ", ".join(f"{limit} ms {count[wait_ms >= limit].sum() / count.sum():.1%}" for limit in (1, 5, 20, 35))
    return f"{ev.label(name)}: pairs that waited for at least {shares}; none waits for more than the timer's 40 ms"


CLAIMS = (
    Claim("4.4", "Without resequencing, delayed ACKs raise NewReno's goodput and lower its RTOs, duplicate ACKs and "
          "spurious retransmissions.", "3, 4",
          f"{SESSION} {ev.EFFECT_TEXT}. (a) Goodput: the interval above 0 (5 % is given too); (b) timeouts, (c) "
          "duplicate ACKs, (d) spurious retransmissions, each per packet sent: below 0. All: holds; some: partly.",
          ("sessions",), helps_newreno),
    Claim("4.5", "They leave CUBIC's goodput as it is, though duplicate ACKs and spurious retransmissions fall.",
          "3, 4",
          f"{SESSION} {ev.EFFECT_TEXT}. (a) Goodput: the median within 10 % either way (5 % is given too); (b) "
          "duplicate ACKs, (c) spurious retransmissions per packet sent: the interval below 0. All: holds; some: "
          "partly.", ("sessions",), leaves_cubic),
    Claim("4.6", "With resequencing, delayed ACKs cost both greatly in goodput, CUBIC most, at high SNR.", "5",
          f"{SESSION} {ev.EFFECT_TEXT}. With resequencing: (a) NewReno's, (b) CUBIC's goodput: the interval below 0; "
          "(c), (d) their medians at -10 % or below; (e) from 11 dB on CUBIC's below 0 and its median below NewReno's "
          "(20 % is given too). All: holds; some: partly.", ("sessions", "growth"), costs_with_resequencing),
    Claim("4.7", "Hybla loses up to 40 % by delayed ACKs, yet stays above 850 kbit/s where NewReno and CUBIC stay "
          "under 650; without them 1141 to 1764 kbit/s.", "text",
          f"{SESSION} Without resequencing: (a) the change of Hybla's goodput by delayed ACKs, its interval below 0; "
          "(b) its largest loss at an SNR is 20 to 60 %; with delayed ACKs (c) it is above both at every SNR, (d) "
          "above 850 kbit/s at every SNR, (e) the others under 650; (f) without them at 7 and 13 dB within a factor of "
          "1.5 of 1141 and 1764 kbit/s (2 is given too). All: holds; some: partly.", ("sessions",), hybla),
    Claim("4.8", "Delayed ACKs slow the growth of the window (one flow, no loss, no HARQ).", "6",
          "One flow of 60 s over the same path without fading, a queue that never overflows, profile newreno: the time "
          "until the window is 500 packets with delayed ACKs is 1.2 times that without, or more (1.1 is given too). "
          "NewReno and CUBIC: holds; one: partly.", ("growth",), slows_growth),
    Claim("4.9", "With delayed ACKs on, retransmissions NewReno < CUBIC < Hybla, falling with SNR except for Hybla.",
          "table 1",
          f"{SESSION} Without resequencing: (a) NewReno below CUBIC, (b) CUBIC below Hybla at every SNR (at how many "
          "is given too); (c) NewReno's, (d) CUBIC's fewer at 13 dB than at 7, (e), (f) by half of what they fall in "
          "the study (34 and 41 %) or more, (g), (h) and fewer than at the SNR before at two steps of three or more; "
          "(i) Hybla's not fewer at 13 dB. All: holds; some: partly.",
          ("sessions",), retransmissions),
    Claim("4.10", "The second packet of a delayed-ACK pair is over 10 ms behind in 10 % of cases (with resequencing).",
          "text",
          "ACKs of two segments, with resequencing, delayed ACKs on, seed 1: share of those whose first segment had "
          "waited for 10 ms or more; median over SNRs 5 to 20 % (7 to 13 % is given too). NewReno and CUBIC: holds; "
          "one: partly. Waits of short runs had been seen when this was written.", ("traces",), pairs_wait),
    Claim("4.11", "With resequencing, delayed ACKs lower the RTT variation and so the RTO, and add delay: more "
          "retransmissions come from timeouts.", "7",
          f"{SESSION} {ev.EFFECT_TEXT}. With resequencing, NewReno and CUBIC: (a) the socket's RTT variation, median "
          "by time: the interval below 0; (b) its RTO: below 0 (-5 % is given too); (c) its smoothed RTT: above 0; (d) "
          "retransmissions by timeout per packet sent: above 0. All: holds; some: partly. RTT variations of short runs "
          "had been seen when this was written. The second sample has no floor of 200 ms under four times the "
          "variation.", ("timers",),
          timeouts_rise),
)  # fmt: skip
