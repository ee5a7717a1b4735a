# SPDX-License-Identifier: Apache-2.0
"""Claims about why delayed ACKs help only some senders (4.16 to 4.19). The reasons: late packets are mistaken for
losses, losses occur without congestion, and gains are smaller than the counts suggest."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd

from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp.study.statistics import middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.claims_delayed import SIGNS
from leowarp_studies.tauran2018.claims_link import OURS, SESSION
from leowarp_studies.tauran2018.evidence import Frames
from leowarp_studies.tauran2018.runs import ALGORITHMS

AGGRESSIVE = ("cubic", "hybla")
"""The algorithms that the study calls aggressive, in contrast to NewReno."""


# Implements claim 4.16 of tauran2018 (text).
def newreno_gains_most(frames: Frames) -> Outcome:
    """Compare how delayed ACKs change the goodput of the algorithms, without resequencing. The change of every other
    algorithm is subtracted from NewReno's change at the same SNR and seed.

    Returns: Numbers: `<name>_change` (-0.1 means 10 % less), `<name>_behind` (NewReno's change minus the other
        algorithm's change).
    """
    changes = {
        name: ev.effects(frames, "goodput_bps", name, resequencing=False).set_index(ev.KEY)["change"]
        for name in ALGORITHMS
    }
    # Both sessions of a pair have the same SNR and seed, and therefore the same fading.
    behind = {name: middle((changes["reno"] - changes[name]).dropna()) for name in AGGRESSIVE}
    parts = {f"NewReno gains more than {ev.label(name)}": value.above(0.0) for name, value in behind.items()}
    text = (
        "goodput with delayed ACKs, without resequencing: "
        + ", ".join(f"{ev.label(name)} {ev.percent(middle(change))}" for name, change in changes.items())
        + "; NewReno's change less that of "
        + ", ".join(f"{ev.label(name)} {value.text(100, 1)} percentage points" for name, value in behind.items())
        + f" (5 or more, both: {'yes' if all(value.median >= 0.05 for value in behind.values()) else 'no'})"
    )
    numbers = {f"{name}_change": middle(change).numbers() for name, change in changes.items()}
    numbers |= {f"{name}_behind": value.numbers() for name, value in behind.items()}
    cause = ""
    if not all(parts.values()):
        failed = [name for name, value in behind.items() if not value.above(0.0)]
        cause = ". ".join(ev.what_it_did(frames, name, resequencing=False) for name in ("reno", *failed))
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.17 of tauran2018 (text).
def late_packets_are_taken_for_lost(frames: Frames) -> Outcome:
    """Return the share of spurious retransmissions among all retransmissions, in sessions without resequencing.

    A retransmission is spurious if the original packet arrived, either before or after the retransmission was sent.
    After a timeout, a sender without SACK retransmits its whole window, so retransmissions by timeout are listed
    separately.

    Returns: Numbers: `<name>_<on or off>_ratio`, 0 to 1.
    """
    parts, lines, numbers = {}, [], {}
    for control, delayed in OURS:
        rows = ev.sessions(frames, control, resequencing=False, delayed_ack=delayed)
        spurious = middle(rows["spurious_of_retransmitted_ratio"])
        by_timeout = middle(rows["timeout_retransmissions_ratio"] * rows["sent_pkts"] / rows["retransmitted_pkts"])
        parts[f"{ev.label(control)}, {delayed}"] = spurious.above(0.5)
        lines.append(
            f"{ev.label(control)}, {delayed}: {spurious.text(100, 0)} % (sent by a timeout {by_timeout.text(100, 0)} "
            f"%), {rows['recoveries'].mean():,.0f} recoveries and {rows['timeouts'].mean():,.0f} timeouts a session"
        )
        numbers[f"{control}_{delayed}_ratio"] = spurious.numbers()
    most = all(value["median"] >= 0.75 for value in numbers.values())
    text = (
        f"spurious of all retransmissions without resequencing, all SNRs and seeds: {'; '.join(lines)} (three quarters "
        f"or more, all: {'yes' if most else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = f"{not_so(parts)}. " + ". ".join(
            ev.what_it_did(frames, name, resequencing=False) for name in ("reno", "cubic")
        )
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.18 of tauran2018 (text).
def something_counteracts(frames: Frames) -> Outcome:
    """Compare CUBIC with and without delayed ACKs: its signs of loss, and its goodput. CUBIC's change of goodput is
    also compared with NewReno's change. No session uses resequencing.

    Claim 4.5 uses two of the three signs of loss, but not timeouts. From timeouts, the study infers a further
    mechanism.

    Returns: Numbers: the columns of `SIGNS` for CUBIC, and the changes of goodput `cubic_change` and `reno_change`.
    """
    signs = {column: ev.effect(frames, column, "cubic", resequencing=False) for column in SIGNS}
    gain = {name: ev.effect(frames, "goodput_bps", name, resequencing=False) for name in ("reno", "cubic")}
    parts = {f"fewer {SIGNS[column]}": change.below(0.0) for column, change in signs.items()}
    # "Especially when using CUBIC" is taken to mean that CUBIC's gain is less than half of NewReno's. NewReno, like
    # CUBIC, has fewer signs of loss if ACKs are delayed.
    parts["counteracted"] = gain["cubic"].known and gain["cubic"].median < gain["reno"].median / 2
    text = (
        "with delayed ACKs CUBIC has per packet sent "
        + ", ".join(f"{SIGNS[column]} {ev.percent(change)}" for column, change in signs.items())
        + f"; its goodput {ev.percent(gain['cubic'])}, NewReno's {ev.percent(gain['reno'])} (no gain of CUBIC's: "
        f"{'yes' if not gain['cubic'].above(0.0) else 'no'})"
    )
    numbers = {column: change.numbers() for column, change in signs.items()}
    numbers |= {f"{name}_change": change.numbers() for name, change in gain.items()}
    cause = ""
    if not all(parts.values()):
        cause = f"{not_so(parts)}. {ev.what_it_did(frames, 'cubic', resequencing=False)}"
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.19 of tauran2018 (text).
def losses_are_errors(frames: Frames) -> Outcome:
    """Return the share of packets lost on the link among all packets that the link or its queue lost.

    Returns: Numbers: `<name>_<with or without>_ratio`, the median share over sessions. `<name>_<with or
        without>_pooled_ratio`: the share among the lost packets of all sessions together.
    """
    parts, lines = {}, []
    numbers: dict[str, Any] = {}
    for name, ordered in itertools.product(ALGORITHMS, (False, True)):
        rows: pd.DataFrame = ev.sessions(frames, name, resequencing=ordered)
        by_link = middle(rows["link_of_lost_ratio"])
        lost_pkts, dropped_pkts = rows["lost_pkts"].sum(), rows["dropped_pkts"].sum()
        where = "with" if ordered else "without"
        parts[f"{ev.label(name)} {where}"] = by_link.above(0.5)
        pooled = float(lost_pkts / (lost_pkts + dropped_pkts))
        lines.append(f"{ev.label(name)} {where} {by_link.text(100, 0)} % (all lost packets together {pooled:.0%})")
        numbers[f"{name}_{where}_ratio"] = by_link.numbers()
        numbers[f"{name}_{where}_pooled_ratio"] = pooled
    text = f"lost by the link, of all lost packets, with resequencing or without: {'; '.join(lines)}"
    cause = ""
    if not all(parts.values()):
        failed = [what for what, held in parts.items() if not held]
        texts = (
            ev.what_it_did(frames, name, resequencing=ordered)
            for name, ordered in itertools.product(ALGORITHMS, (False, True))
            if f"{ev.label(name)} {'with' if ordered else 'without'}" in failed
        )
        cause = f"{not_so(parts)}. {'. '.join(texts)}"
    return Outcome(holds_if(parts), text, numbers, cause)


CLAIMS = (
    Claim("4.16", "The gain by delayed ACKs is lower with CUBIC than with NewReno; Hybla shows this trend too.", "text",
          f"{SESSION} {ev.EFFECT_TEXT}. Goodput without resequencing, at the same SNR and seed: NewReno's change less "
          "(a) CUBIC's, (b) Hybla's; over all such pairs the median's interval above 0 (5 percentage points are given "
          "too). Both: holds; one: partly.", ("sessions",), newreno_gains_most),
    Claim("4.17", "Packets that come out of order too late are taken for congestion: retransmissions are spurious, the "
          "window is cut.", "text",
          f"{SESSION} Without resequencing, NewReno and CUBIC, delayed ACKs on and off: spurious retransmissions over "
          "all retransmissions, over all SNRs and seeds the median's interval above one half (three quarters are given "
          "too). All four: holds; some: partly. How often windows were cut is given too.", ("sessions",),
          late_packets_are_taken_for_lost),
    Claim("4.18", "Another mechanism counteracts the fall of duplicate ACKs, timeouts and spurious retransmissions, "
          "especially with CUBIC.", "text",
          f"{SESSION} {ev.EFFECT_TEXT}. CUBIC without resequencing: (a) timeouts, (b) duplicate ACKs, (c) spurious "
          "retransmissions per packet sent: the interval below 0; (d) its median gain of goodput under half of "
          "NewReno's. All: holds; some: partly. Whether it gains nothing is given too.", ("sessions",),
          something_counteracts),
    Claim("4.19", "The network is mostly uncongested: losses are mainly due to transmission errors.", "text",
          f"{SESSION} Packets that the link lost over those that the link or its queue lost, over all SNRs and seeds, "
          "delayed ACKs on and off: the median's interval above one half. NewReno, CUBIC and Hybla, with resequencing "
          "and without. All six: holds; some: partly. The share of all lost packets together is given too.",
          ("sessions",), losses_are_errors),
)  # fmt: skip
