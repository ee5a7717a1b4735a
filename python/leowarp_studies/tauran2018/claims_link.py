# SPDX-License-Identifier: Apache-2.0
"""Claims about the effect of the link on TCP, for sessions with delayed ACKs and for sessions without (4.1 to 4.3,
4.12)."""

from __future__ import annotations

import itertools

import pandas as pd

from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp.study.statistics import Middle, middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.evidence import Frames
from leowarp_studies.tauran2018.runs import OFF, ON

LINK_BPS = 40e6
"""The goodput in bit/s over a link without errors, according to the study."""
PAYLOAD_RATIO = 1075 / 1115
"""The share of payload in a packet without timestamps: 20 bytes are the IP header and 20 the TCP header."""

OURS = tuple(itertools.product(("reno", "cubic"), (ON, OFF)))
"""Two algorithms of the study, each with and without delayed ACKs."""


# Implements claim 4.1 of tauran2018 (text).
def residual_loss(frames: Frames) -> Outcome:
    """Return, for each SNR, the share of packets that the link loses after all HARQ retransmissions.

    The share is computed over TCP's packets. The share of lost codewords is listed, but does not affect the verdict.
    The two shares differ, because TCP sends few packets while the channel is bad.

    Returns: Numbers: `lost_<snr>_db_ratio` (median with interval), and `codewords_ratio` for each SNR.
    """
    lost = packets_lost(frames)
    low, high = lost[min(lost)], lost[max(lost)]
    # The loss falls by about a third per dB. This fall is much larger than the spread over seeds, so medians can be
    # compared.
    falls = all(later.median < sooner.median for sooner, later in itertools.pairwise(lost.values()))
    parts = {
        # The tolerance is a factor of 2: with all defaults, the channel that leowarp rebuilt from published tables
        # loses 8.1 % of all codewords at 7 dB. The threshold, the bits of each transmission and the terminal's speed
        # are assumptions (design/lms-harq.md).
        "about 4 % at 7 dB": 0.02 <= low.median <= 0.08,
        "under 0.5 % at 13 dB": high.median < 0.005,
        "falls at each step": falls,
    }
    channel: pd.DataFrame = frames["codewords"]
    by_snr = channel.groupby("snr_db")["lost_ratio"].median()
    tight = 0.04 / 1.5 <= low.median <= 0.04 * 1.5
    text = (
        f"of the packets that the link got, lost after three retransmissions: {low.text(100, 2)} % at {min(lost):g} "
        f"dB (within half as much again of 4 %: {'yes' if tight else 'no'}), {high.text(100, 2)} % at {max(lost):g} "
        f"dB (under 1 %: {'yes' if high.median < 0.01 else 'no'}); by dB {ev.over_snr(list(lost.values()), 100, 2)} "
        f"%. Of all codewords: {', '.join(f'{100 * value:.2f}' for value in by_snr)} %"
    )
    cause = ""
    if not all(parts.values()):
        # The shares of codewords decoded after each transmission are means over the seeds. The shares of all
        # transmissions and the share of lost codewords add up to 100 %, as in the study's figure.
        shares = channel[channel["snr_db"] == min(lost)].mean(numeric_only=True)
        decoded = ", ".join(f"{100 * shares[f'decoded{again}_ratio']:.1f}" for again in range(4))
        cause = (
            f"at {min(lost):g} dB {decoded} % of the codewords of all seeds are decoded after 0, 1, 2, 3 "
            "retransmissions. TCP's packets are no random sample of them: a session sends few packets during and after "
            "a deep fade. What is left hangs on the threshold, on the bits of a transmission and on the terminal's "
            "speed, which the study does not give (figure on assumptions)"
        )
    numbers = {f"lost_{snr_db:g}_db_ratio": value.numbers() for snr_db, value in lost.items()}
    return Outcome(holds_if(parts), text, numbers | {"codewords_ratio": by_snr.to_dict()}, cause)


def packets_lost(frames: Frames) -> dict[float, Middle]:
    """Return a dict from SNR to the share of packets that the link loses in spite of all retransmissions. Each share is
    the median over all NewReno and CUBIC sessions at this SNR."""
    rows: pd.DataFrame = frames["sessions"]
    rows = rows[rows["congestion_control"].isin(["reno", "cubic"])]
    return {snr_db: middle(rows.loc[rows["snr_db"] == snr_db, "lost_ratio"]) for snr_db in ev.snrs_db(frames)}


# Implements claim 4.2 of tauran2018 (figure 3).
def goodput_is_low(frames: Frames) -> Outcome:
    """Compare the goodput at each SNR with the goodput on the same path without fading. No session uses resequencing.

    The comparison shows whether the channel limits goodput. Runs without fading last 60 s, of which only the last 40 s
    are evaluated.

    Returns: Numbers: `<name>_<on or off>_bps` (a median per SNR), `without_errors_bps`.
    """
    curves = {
        (control, delayed): ev.curve(frames, "goodput_bps", control, resequencing=False, delayed_ack=delayed)
        for control, delayed in OURS
    }
    highest = max(value.median for values in curves.values() for value in values)
    # Without fading, the limit is the capacity of the path, so it is enough that one congestion control reaches it.
    free_bps = max(_settled_bps(frames, control) for control in ("reno", "cubic"))
    parts = {
        f"{ev.label(control)}, {delayed}": all(value.median < LINK_BPS / 10 for value in values)
        for (control, delayed), values in curves.items()
    } | {"fast without errors": free_bps >= 0.9 * LINK_BPS * PAYLOAD_RATIO}
    lines = "; ".join(
        f"{ev.label(control)}, {delayed}: {ev.over_snr(values, 1e-3)}" for (control, delayed), values in curves.items()
    )
    text = (
        f"goodput without resequencing, kbit/s by SNR: {lines}; the highest is {highest / LINK_BPS:.1%} of 40 Mbit/s "
        f"(under 1 Mbit/s everywhere: {'yes' if highest < 1e6 else 'no'}); without errors {free_bps / 1e6:.1f} Mbit/s"
    )
    cause = "" if all(parts.values()) else ev.what_it_did(frames, "reno", resequencing=False)
    lows = {
        f"{control}_{delayed}_bps": [value.numbers() for value in values]
        for (control, delayed), values in curves.items()
    }
    return Outcome(holds_if(parts), text, lows | {"without_errors_bps": free_bps}, cause)


def _settled_bps(frames: Frames, control: str) -> float:
    """Return the mean goodput without fading and without delayed ACKs, in the last 40 s of a run of 60 s."""
    trace = frames["growth"][control, OFF]
    late = trace.goodput_t_s >= 20
    return float(trace.goodput_bps[late].mean())


# Implements claim 4.3 of tauran2018 (figure 4).
def signs_of_loss_stay(frames: Frames) -> Outcome:
    """At each SNR, measure the number of duplicate ACKs and of spurious retransmissions per 100 packets.

    The counts are divided by the number of sent packets, because a faster session has higher counts.

    Returns: Numbers: `<name>_<on or off>_<column>`, with one median per SNR, from 0 to 1.
    """
    parts, lines, numbers = {}, [], {}
    stays_half = True
    for control, delayed in OURS:
        for column, least, name in (
            ("duplicate_acks_ratio", 0.1, "duplicate ACKs"),
            ("spurious_ratio", 0.01, "spurious retransmissions"),
        ):
            values = ev.curve(frames, column, control, resequencing=False, delayed_ack=delayed)
            first, last = values[0].median, values[-1].median
            what = f"{ev.label(control)}, {delayed}, {name}"
            parts[f"{what}: high"] = all(value.median >= least for value in values)
            # The factor is 0.8 instead of 1, because the shares at the lowest and the highest SNR vary by some per cent
            # with the seeds.
            parts[f"{what}: does not fall"] = last >= 0.8 * first
            stays_half &= last >= 0.5 * first
            lines.append(f"{what}: {ev.over_snr(values, 100, 1)}")
            numbers[f"{control}_{delayed}_{column}"] = [value.numbers() for value in values]
    text = (
        f"per 100 packets sent, by SNR: {'; '.join(lines)} (no fall by more than half: {'yes' if stays_half else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        cause = f"{not_so(parts)}. {ev.what_it_did(frames, 'reno', resequencing=False)}"
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 4.12 of tauran2018 (text).
def resequencing_helps(frames: Frames) -> Outcome:
    """Return the goodput with resequencing divided by the goodput without resequencing. The two sessions of a ratio
    have the same SNR and seed, so their fading is equal.

    The study claims this benefit only for sessions with delayed ACKs, so other sessions are only listed.

    Returns: Numbers: `<name>_<on or off>_ratio`; above 1 if resequencing helps.
    """
    parts, lines, numbers = {}, [], {}
    doubled = True
    for control, delayed in OURS:
        ordered, shuffled = (
            ev.sessions(frames, control, resequencing=order, delayed_ack=delayed).set_index(ev.KEY)["goodput_bps"]
            for order in (True, False)
        )
        # Both sessions of a pair have the same SNR and seed. A deep fade therefore affects both sessions of a pair.
        # Without pairs, the ratio would depend more on deep fades than on the order of packets.
        both = pd.DataFrame({"ordered": ordered, "shuffled": shuffled}).dropna()
        ratio = middle(both["ordered"] / both["shuffled"])
        if delayed == ON:
            parts[control] = ratio.above(1.0)
            doubled &= ratio.known and ratio.median >= 2
        lines.append(f"{ev.label(control)}, {delayed}: {ratio.text(1, 2)}")
        numbers[f"{control}_{delayed}_ratio"] = ratio.numbers()
    text = (
        f"goodput with resequencing over without, all SNRs and seeds: {'; '.join(lines)} (twice, both with delayed "
        f"ACKs: {'yes' if doubled else 'no'})"
    )
    cause = ""
    if not all(parts.values()):
        texts = (ev.what_it_did(frames, "reno", resequencing=order) for order in (True, False))
        cause = ". ".join(texts)
    return Outcome(holds_if(parts), text, numbers, cause)


SESSION = "Sessions of 600 s, profile newreno, SNR 7 to 13 dB, 5 seeds; medians over seeds."
"""A text that is part of the descriptions of several tests."""

CLAIMS = (
    Claim("4.1", "Residual loss after HARQ: 4 % at 7 dB to under 0.5 % at 13 dB.", "text",
          "Packets that the link lost over packets that it got, median over all sessions of NewReno and CUBIC: (a) 2 "
          "to 8 % at 7 dB (2.7 to 6 % is given too); (b) under 0.5 % at 13 dB (1 % is given too); (c) falls with each "
          "dB. The same of all codewords is given. All: holds; some: partly. What HARQ leaves of all codewords was "
          "known when this was written.", ("sessions", "codewords"), residual_loss),
    Claim("4.2", "Without resequencing goodput is low at every SNR, though an error-free link would give 40 Mbit/s.",
          "3", f"{SESSION} (a) NewReno and CUBIC, delayed ACKs on and off: under 4 Mbit/s, a tenth of the link, at "
               "every "
          "SNR (1 Mbit/s is given too); (b) without fading and HARQ 90 % of the payload that 40 Mbit/s hold. All: "
          "holds; some: partly.", ("sessions", "growth"), goodput_is_low),
    Claim("4.3", "Duplicate ACKs and spurious retransmissions stay high and do not fall as SNR improves.", "4",
          f"{SESSION} Without resequencing, NewReno and CUBIC, delayed ACKs on and off: (a) at every SNR 10 duplicate "
          "ACKs or more and 1 spurious retransmission or more per 100 packets sent; (b) each at 13 dB 80 % or more of "
          "that at 7 dB (50 % is given too). All: holds; some: partly.", ("sessions",), signs_of_loss_stay),
    Claim("4.12", "With resequencing TCP's performance stays above that without, even with delayed ACKs.", "text",
          f"{SESSION} Delayed ACKs on: goodput with over without, same SNR and seed; of all such pairs the median and "
          "its interval above 1 (2 is given too), for NewReno and CUBIC. Both: holds; one: partly. The same with "
          "delayed ACKs off is given too.",
          ("sessions",), resequencing_helps),
)  # fmt: skip
