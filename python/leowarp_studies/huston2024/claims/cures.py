# SPDX-License-Identifier: Apache-2.0
"""Claims about cures (3.12 to 3.15, 3.17, 3.21, 3.29, 3.30): the study's proposals, and their effect on flows that
share the link."""

from __future__ import annotations

import math

import pandas as pd

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if
from leowarp.study.statistics import Middle, middle, paired, paired_ratio
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.evidence import Frames
from leowarp_studies.huston2024.groups import OFF_PEAK, PEAK
from leowarp_studies.huston2024.words import FEWER, GOODPUT, PAIRED, SESSION, counts, elsewhere, recovery_text, with_why


# Implements claim 3.12 of huston2024 (text).
def deferring_bbr(frames: Frames) -> Outcome:
    """Compare unmodified BBR with a modified BBR, in runs with the same seed. The only modification delays rate
    increases across reconfigurations. Goodput, retransmissions and the 99th percentile of the RTT are compared. The
    results of the complete `bbr_handover` are listed, but do not decide the verdict.

    Returns: Numbers: `goodput_ratio`, `retransmissions_ratio`, `rtt_p99_ratio`, `goodput_with_all_ratio`.
    """
    name = "bbr_handover-defer"
    goodput = ev.gain(frames, name, "bbr")
    # "Does better" is tested by two conditions, because a sender could reach more goodput by retransmitting more.
    again = ev.gain(frames, name, "bbr", "retransmissions_pkts")
    rtt = ev.gain(frames, name, "bbr", "rtt_p99_ns")
    beyond = ev.gain(frames, "bbr_handover", "bbr")
    parts = {"more goodput": goodput.above(1.0), "fewer retransmissions": again.below(1.0)}
    text = (
        f"goodput {goodput.text(1, 3)} of BBR's (5 % more: {'yes' if goodput.median >= 1.05 else 'no'}), "
        f"retransmissions {again.text(1, 2)}, 99 % of RTT {rtt.text(1, 2)}; {elsewhere(frames, name, 'bbr')}; "
        f"`bbr_handover`, which also holds its filters and forces PROBE_RTT, {beyond.text(1, 3)}"
    )
    cause = ""
    if not all(parts.values()):
        back = recovery_text(frames, name, "bbr")
        cause = f"{ev.why_bbr(frames, name)}. {ev.why_bbr(frames)}. {back}"
    numbers = {
        "goodput_ratio": goodput.numbers(),
        "retransmissions_ratio": again.numbers(),
        "rtt_p99_ratio": rtt.numbers(),
        "goodput_with_all_ratio": beyond.numbers(),
    }
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 3.13 of huston2024 (text).
def handover_aware_cubic(frames: Frames) -> Outcome:
    """Compare three TCPs over the same seeds: a modified CUBIC, unmodified CUBIC, and BBR. The modified CUBIC repairs
    handover losses, but does not reduce its window for them.

    Returns: Numbers: `goodput_ratio` (relative to CUBIC), `of_bbr_ratio`.
    """
    goodput, of_bbr = ev.gain(frames, "cubic_handover", "cubic"), ev.gain(frames, "cubic_handover", "bbr")
    # The study expects a goodput that is higher than CUBIC's, but lower than BBR's.
    parts = {"gains": goodput.above(1.0), "less than BBR": of_bbr.below(1.0)}
    text = (
        f"goodput {goodput.text(1, 2)} of CUBIC's (10 % more: {'yes' if goodput.median >= 1.1 else 'no'}), "
        f"{of_bbr.text(1, 2)} of BBR's; {elsewhere(frames, 'cubic_handover', 'cubic')}"
    )
    both = f"{ev.why_cut(frames, 'cubic_handover')}. {ev.why_cut(frames, 'cubic')}"
    cause = "" if all(parts.values()) else both
    numbers = {"goodput_ratio": goodput.numbers(), "of_bbr_ratio": of_bbr.numbers()}
    return with_why(parts, text, numbers | counts(frames, "cubic_handover", PEAK), both, cause)


AQMS = ("fq_codel", "cake", "pie", "red", "codel")
"""The queue disciplines over which CUBIC is run with marks as in RFC 3168."""
MARKS_ONLY = "cubic_handover-marks"
"""The name of the CUBIC variant that reacts to marks and timeouts, but ignores losses that fast recovery can repair."""


# Implements claim 3.14 of huston2024 (text).
def ecn_approaches_bbr(frames: Frames) -> Outcome:
    """Compare three senders: a CUBIC over fq_codel that reacts to marks but not to losses, plain CUBIC, and BBR.

    Two further combinations are listed, but do not affect the verdict. The first is DCTCP over a queue that marks
    packets above 5 ms of delay. The second is CUBIC with the reaction to marks of RFC 3168, over five queues. Both
    DCTCP and CUBIC reduce the window at losses and at marks.

    Returns: Numbers: `cuts_at_losses_ratio` (per session, relative to plain CUBIC), `of_cubic_ratio`, `of_bbr_ratio`,
        `dctcp_of_bbr_ratio`, `rfc3168_of_bbr_ratio`, `ecn_alone_ratio` (goodput with RFC 3168 divided by goodput
        without ECN, over the same queue).
    """
    gained, of_bbr = ev.gain(frames, MARKS_ONLY, "cubic"), ev.gain(frames, MARKS_ONLY, "bbr")
    cuts = {name: ev.cut_counts(frames["traces"].get((name, PEAK), [])) for name in (MARKS_ONLY, "cubic")}
    at_losses = {name: found["handover"] + found["isolated"] for name, found in cuts.items()}
    told_apart = at_losses[MARKS_ONLY] / at_losses["cubic"] if at_losses["cubic"] else math.nan
    # The complete interval must be above 1, because with 10 seeds a median gain of one per cent may be chance.
    parts = {
        # Up to a tenth of the cuts at losses may remain, because timeouts still reduce the window.
        "tells the link's losses from a queue": told_apart <= 0.1,
        "gains": gained.above(1.0),
        "approaches BBR": of_bbr.median >= 0.8,
    }
    dctcp, classic = ev.gain(frames, "dctcp-ecn-fq_codel", "bbr"), ev.gain(frames, "cubic-ecn-fq_codel", "bbr")
    # The ratio with and without ECN compares sessions with the same kind of queue. With different queues, the gain by
    # fq_codel itself would be attributed to ECN.
    without = ev.gain(frames, "cubic-ecn-fq_codel", "cubic-fq_codel")
    others = ", ".join(
        f"{aqm} {ev.gain(frames, f'cubic-ecn-{aqm}', 'bbr').text(1, 2)}" for aqm in AQMS if aqm != "fq_codel"
    )
    text = (
        f"a CUBIC that answers marks alone: {told_apart:.0%} of plain CUBIC's cuts at the link's losses, "
        f"{gained.text(1, 2)} of its goodput, {of_bbr.text(1, 2)} of BBR's (half: "
        f"{'yes' if of_bbr.median >= 0.5 else 'no'}); {elsewhere(frames, MARKS_ONLY, 'cubic')}; of BBR's goodput DCTCP "
        f"{dctcp.text(1, 2)}, CUBIC by RFC 3168 over fq_codel {classic.text(1, 2)}, over {others}; ECN on or off under "
        f"fq_codel by RFC 3168: {without.text(1, 2)}"
    )
    cause = ""
    if not all(parts.values()):
        cause = f"{ev.what_it_did(frames, MARKS_ONLY)}. {ev.why_cut(frames, MARKS_ONLY)}. {ev.why_cut(frames, 'cubic')}"
    numbers = {
        "cuts_at_losses_ratio": told_apart,
        "of_cubic_ratio": gained.numbers(),
        "of_bbr_ratio": of_bbr.numbers(),
        "dctcp_of_bbr_ratio": dctcp.numbers(),
        "rfc3168_of_bbr_ratio": classic.numbers(),
        "ecn_alone_ratio": without.numbers(),
    }
    return Outcome(holds_if(parts), text, numbers | counts(frames, MARKS_ONLY, PEAK), cause)


# Implements claim 3.15 of huston2024 (text).
def bbr_starves_others(frames: Frames) -> Outcome:
    """Measure which share of the goodput a CUBIC flow gets. The flow beside it uses BBR, CUBIC or Reno. The shares
    beside CUBIC and beside Reno show what a fair share is.

    Returns: Numbers: `beside_<variant>_ratio` (0 to 1), `jain_index`, `of_beside_cubic_ratio`.
    """
    rows = frames["beside"]
    rest: dict[str, Middle] = {}
    for variant in ("bbr", "cubic", "reno"):
        # The rows contain the share of the variant's own flow, but the claim is about the other flow's share.
        rest[variant] = middle(1 - rows.loc[rows["variant"] == variant, "share_ratio"])
    # Jain's index of two flows is 1 if their goodputs are equal, and 0.5 if one flow gets all goodput.
    jain = middle(rows.loc[rows["variant"] == "bbr", "jain_index"])
    alone = paired_ratio(
        rows.assign(variant=rows["variant"]).rename(columns={"beside_goodput_bps": "value"}), "value", "bbr", "cubic"
    )
    left = rest["bbr"].median
    verdict: Verdict = "holds" if left < 0.25 else "partly" if rest["bbr"].below(0.5) else "does not hold"
    text = (
        f"a CUBIC flow beside BBR gets {rest['bbr'].text(100, 0)} % of what the two have (under 10 %: "
        f"{'yes' if left < 0.1 else 'no'}), beside another CUBIC {rest['cubic'].text(100, 0)} %, beside Reno "
        f"{rest['reno'].text(100, 0)} %; Jain's index {jain.text(1, 2)}; in bit/s {alone.text(1, 2)} of what it gets "
        "beside CUBIC"
    )
    cause = "" if verdict == "holds" else f"alone: {ev.why_cut(frames, 'cubic')}. {ev.why_bbr(frames)}"
    numbers = {f"beside_{name}_ratio": value.numbers() for name, value in rest.items()}
    return Outcome(
        verdict, text, numbers | {"jain_index": jain.numbers(), "of_beside_cubic_ratio": alone.numbers()}, cause
    )


# Implements claim 3.17 of huston2024 (text).
def bbr3_defers(frames: Frames) -> Outcome:
    """Compare three variants of BBR: version 1, version 3, and a version 3 that defers rate increases across
    reconfigurations. The deferring variant runs alone, and beside a CUBIC flow.

    Returns: Numbers: `left_ratio` (goodput of a CUBIC flow beside the deferring BBR, divided by its goodput beside
        version 1), `of_bbr_ratio`, `of_bbr3_ratio`, and `left_by_plain_ratio`.
    """
    rows: pd.DataFrame = frames["beside"]
    left, by_plain = (paired_ratio(rows, "beside_goodput_bps", name, "bbr") for name in ("bbr3_handover", "bbr3"))
    of_bbr, of_plain = ev.gain(frames, "bbr3_handover", "bbr"), ev.gain(frames, "bbr3_handover", "bbr3")
    share = {name: middle(1 - rows.loc[rows["variant"] == name, "share_ratio"]) for name in ("bbr3_handover", "bbr3")}
    parts = {
        "leaves more to others": left.above(1.0),
        "as fast": of_bbr.median >= 0.9,
        "the timer helps": of_plain.above(1.0),
    }
    text = (
        f"beside version 3 that defers a CUBIC flow gets {left.text(1, 2)} of what it gets beside version 1 "
        f"({share['bbr3_handover'].text(100, 0)} % of what the two have), beside version 3 as it is "
        f"{by_plain.text(1, 2)} ({share['bbr3'].text(100, 0)} %); alone version 3 that defers gets "
        f"{of_bbr.text(1, 2)} of version 1's goodput and {of_plain.text(1, 3)} of version 3's; off-peak "
        f"{ev.gain(frames, 'bbr3_handover', 'bbr3', preset=OFF_PEAK).text(1, 3)}"
    )
    cause = ""
    if not all(parts.values()):
        cause = ". ".join(ev.why_bbr(frames, name) for name in ("bbr3_handover", "bbr3", "bbr"))
    numbers = {"left_ratio": left.numbers(), "left_by_plain_ratio": by_plain.numbers(),
               "of_bbr_ratio": of_bbr.numbers(), "of_bbr3_ratio": of_plain.numbers()}  # fmt: skip
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 3.29 of huston2024 (text).
def cubic_is_fairer(frames: Frames) -> Outcome:
    """Compare Jain's index of two CUBIC flows with Jain's index of a BBR flow beside a CUBIC flow. Runs with the same
    seed are compared.

    Returns: Numbers: `jain_difference` (CUBIC's minus BBR's), `cubic_jain_index`, `bbr_jain_index`, `reno_jain_index`.
    """
    rows: pd.DataFrame = frames["beside"]
    both = paired(rows, "jain_index", "cubic", "bbr")
    fairer = middle(both["one"] - both["other"])
    index = {name: middle(rows.loc[rows["variant"] == name, "jain_index"]) for name in ("cubic", "bbr", "reno")}
    verdict: Verdict = "holds" if fairer.above(0.0) else "does not hold"
    text = (
        f"Jain's index beside a CUBIC flow: "
        f"{', '.join(f'{ev.label(name)} {value.text(1, 2)}' for name, value in index.items())}; CUBIC's less BBR's "
        f"{fairer.text(1, 2)} (0.1 or more: {'yes' if fairer.median >= 0.1 else 'no'})"
    )
    cause = "" if verdict == "holds" else f"alone: {ev.why_cut(frames, 'cubic')}. {ev.why_bbr(frames)}"
    numbers = {"jain_difference": fairer.numbers()} | {
        f"{name}_jain_index": value.numbers() for name, value in index.items()
    }
    return Outcome(verdict, text, numbers, cause)


# Implements claim 3.30 of huston2024 (comments).
def ecn_beats_sqm(frames: Frames) -> Outcome:
    """Compare CUBIC over two fq_codel queues, in runs with the same seed. The first queue marks packets (RFC 3168), and
    the second queue drops them.

    The second queue represents smart queue management (SQM) for flows without ECN.

    Returns: Numbers: `ecn_alone_ratio` (of goodput), `rtt_p99_ratio`, `recoveries_difference`. Each number compares the
        marking queue with the dropping queue.
    """
    marking, dropping = "cubic-ecn-fq_codel", "cubic-fq_codel"
    goodput, rtt = ev.gain(frames, marking, dropping), ev.gain(frames, marking, dropping, "rtt_p99_ns")
    fewer = ev.difference(frames, marking, dropping, "recoveries")
    verdict: Verdict = "holds" if goodput.above(1.0) else "does not hold"
    text = (
        f"with ECN CUBIC over fq_codel gets {goodput.text(1, 2)} of what it gets there without (5 % more: "
        f"{'yes' if goodput.median >= 1.05 else 'no'}); 99 % of RTT {rtt.text(1, 2)}; recoveries {fewer.text(1, 0)} "
        "more a session"
    )
    cause = "" if verdict == "holds" else (
        "RFC 3168 has a sender reduce for a mark as for a loss, and the link's own losses remain. "
        f"{ev.what_it_did(frames, marking)}. {ev.what_it_did(frames, dropping)}"
    )  # fmt: skip
    numbers = {"ecn_alone_ratio": goodput.numbers(), "rtt_p99_ratio": rtt.numbers(),
               "recoveries_difference": fewer.numbers()}  # fmt: skip
    return Outcome(verdict, text, numbers, cause)


# Implements claim 3.21 of huston2024 (comments).
def pacing_mitigates(frames: Frames) -> Outcome:
    """Test how pacing by fq changes the goodput of CUBIC and Reno off-peak, and the number of packets that queues drop.

    Off-peak sessions are used because queues hardly drop packets at peak. There, isolated loss keeps the windows small.

    Returns: Numbers by congestion control: `drops_difference_pkts`, `goodput_ratio`, and `drops_pkts` (without pacing).
    """
    parts, texts, numbers = {}, [], {}
    for name in ("cubic", "reno"):
        fewer = ev.difference(frames, f"{name}-fq", name, "dropped_queue_pkts", OFF_PEAK)
        goodput = ev.gain(frames, f"{name}-fq", name, preset=OFF_PEAK)
        rows: pd.DataFrame = frames["sessions"]
        plain = ev.over_seeds(rows[rows["preset"] == OFF_PEAK], name, "dropped_queue_pkts")
        parts[f"{name}: fewer drops"] = fewer.below(0.0)
        # Goodput is also tested, because a sender can reduce drops by sending less.
        parts[f"{name}: no less goodput"] = goodput.known and not goodput.below(1.0)
        texts.append(
            f"{ev.label(name)} off-peak: queues drop {plain.text(1, 0)} packets a session, {fewer.text(1, 0)} more if "
            f"paced; goodput {goodput.text(1, 2)}, at peak {ev.gain(frames, f'{name}-fq', name).text(1, 2)}"
        )
        numbers[name] = {"drops_difference_pkts": fewer.numbers(), "goodput_ratio": goodput.numbers(),
                         "drops_pkts": plain.numbers()}  # fmt: skip
    cause = "" if all(parts.values()) else (
        "the queue holds 5,000 packets, more than a window: what overflows it is a window that has outgrown it, or the "
        "hold of a handover, and a paced window of the same size does too. "
        + ". ".join(ev.what_it_did(frames, name, OFF_PEAK) for name in ("cubic", "cubic-fq", "reno", "reno-fq"))
    )  # fmt: skip
    return Outcome(holds_if(parts), "; ".join(texts), numbers, cause)


CLAIMS = (
    Claim("3.12", "BBR that defers its probing across reconfigurations does better (proposed, unmeasured).", "text",
          f"{FEWER} {GOODPUT} `bbr_handover` with `only_defer`, which paces with gain 1 in the window and changes "
          f"nothing else, against BBR. {PAIRED} (a) goodput: the interval above 1 (5 % more is given too); (b) "
          "retransmissions: below 1. Both: holds; one: partly. `bbr_handover` with its defaults, which go further than "
          "the proposal, is given too.", ("sessions", "traces", "aware"), deferring_bbr),
    Claim("3.13", "CUBIC that repairs handover losses by SACK gains, yet stays less efficient (proposed, unmeasured).",
          "text",
          f"{SESSION} {GOODPUT} `cubic_handover`. {PAIRED} (a) against CUBIC: the interval above 1 (10 % more is "
          "given too); (b) against BBR: below 1. Both: holds; one: partly.", ("sessions", "traces", "aware"),
          handover_aware_cubic),
    Claim("3.14", "ECN lets TCP tell a reconfiguration from congestion and approaches BBR (proposed, unmeasured).",
          "text",
          f"{FEWER} {GOODPUT} `cubic_handover` with `marks_only`, which answers marks and timeouts alone, with ECN "
          f"over fq_codel on both directions. {PAIRED} (a) of plain CUBIC's cuts after losses that the link inflicted "
          "at most 10 % are left; (b) goodput against plain CUBIC: the interval above 1; (c) against BBR: 0.8 or more "
          "(0.5 is given too). All: holds; some: partly. DCTCP and CUBIC by RFC 3168 are given too.",
          ("sessions", "traces", "aware"), ecn_approaches_bbr),
    Claim("3.15", "BBR version 1 can starve concurrent flows that are not BBR.", "text",
          "Two flows of 60 s from the server to the dish that start together, one of them CUBIC, 20 seeds. Its share "
          "of what the two have beside BBR: under 25 % (10 % is given too): holds; the interval below 50 %: partly. "
          "Beside CUBIC and Reno it is given too.", ("beside", "sessions", "traces"), bbr_starves_others),
    Claim("3.17", "BBR version 3, intended to be less aggressive, with the same 15 s timer may answer version 1's "
          "starving of others (proposed, unmeasured).", "text",
          f"{FEWER} On a kernel whose BBR is version 3, `bbr_handover`, which there only defers. {PAIRED} (a) a CUBIC "
          "flow beside it gets more than beside version 1: the interval above 1; (b) alone it gets 90 % of version "
          "1's goodput or more; (c) against version 3 as it is: the interval above 1. All: holds; some: partly. "
          "(b) and (c) are our own tests, of which the study says nothing: whether the cure costs goodput, and whether "
          "its timer helps.",
          ("bbr3", "sessions", "beside", "traces", "aware"), bbr3_defers),
    Claim("3.21", "Pacing mitigates the tail drops that bursts of a sender induce.", "comments",
          f"{SESSION} Off-peak, CUBIC and Reno paced by fq against the same without. For each, seed by seed, (a) "
          "packets that queues drop: the interval of the difference below 0; (b) goodput: the interval not below 1. "
          "All: holds; some: partly. Goodput at peak is given too.", ("sessions", "off-peak"), pacing_mitigates),
    Claim("3.29", "CUBIC shares the path's capacity with concurrent TCP sessions more fairly than BBR.", "text",
          "Two flows of 60 s from the server to the dish that start together, one of them CUBIC, 20 seeds. Jain's "
          "index with CUBIC as the other less that with BBR, seed by seed: the interval above 0 (0.1 is given too): "
          "holds. Reno's is given too.", ("beside", "sessions", "traces"), cubic_is_fairer),
    Claim("3.30", "ECN seems a better approach than smart queue management (SQM).", "comments",
          f"{SESSION} {GOODPUT} CUBIC at peak over fq_codel with ECN of RFC 3168 against the same queue without. "
          f"{PAIRED} The interval above 1 (1.05 is given too): holds. 99 % of RTT and recoveries are given too.",
          ("sessions",), ecn_beats_sqm),
)  # fmt: skip
