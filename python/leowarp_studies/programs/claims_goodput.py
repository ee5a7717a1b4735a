# SPDX-License-Identifier: Apache-2.0
"""The claims about senders' goodput (6.6, 6.8, 6.9, 6.11, 6.12)."""

from __future__ import annotations

from leowarp.study import Claim, Outcome
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.evidence import Frames
from leowarp_studies.programs.runs import CHANGES, MOBILE, SHARE, STARLINK, STILL
from leowarp_studies.programs.senders import AIOQUIC, BBR, CUBIC, FIXED, NGTCP2, QUIC, QUIC_GO, QUINN

MISSING_RATIO = 0.05
QUARTER = 0.25
TWICE = 2.0
EVEN = (0.35, 0.65)
HALF = 0.5


# Implements claim 6.6 of programs (a queue of one bandwidth-delay product covers a halved window).
def a_change_costs_little(frames: Frames) -> Outcome:
    """Check how much payload is missing in the 3 s after a path change, as a share of the link's capacity. The goodput
    without a path change is the reference. The verdict depends on the change with the largest missing share.

    Returns: Numbers: `missing_max_ratio` by sender.
    """
    worst = {name: float(ev.rows(frames, CHANGES, sender=name)["missing_ratio"].max())
             for name in ev.present(frames, CHANGES)}  # fmt: skip
    known = {name: value for name, value in worst.items() if value == value}
    parts = {name: value <= MISSING_RATIO for name, value in known.items()}
    return ev.outcome(
        parts,
        f"missing at most, of what the link carries in 3 s: {ev.listed(known, 100, 1, ' %')}",
        {"missing_max_ratio": known},
    )


# Implements claim 6.8 of programs (losses around reconfigurations do not indicate congestion).
def bbr_gets_most_over_starlink(frames: Frames) -> Outcome:
    """Compare BBR's goodput with the goodput of every other sender, as medians over the seeds.

    Returns: Numbers: `goodput_bps` by sender.
    """
    goodput = {name: ev.median(frames, STARLINK, name, "goodput_bps").median for name in ev.present(frames, STARLINK)}
    parts = {name: goodput[BBR] > value for name, value in goodput.items() if name != BBR} if BBR in goodput else {}
    return _goodputs(goodput, parts)


# Implements claim 6.9 of programs (RFC 9438 in three implementations).
def cubic_is_cubic(frames: Frames) -> Outcome:
    """Compare the median goodput of ngtcp2 and quinn with the kernel's CUBIC.

    Returns: Numbers: `goodput_bps` by sender.
    """
    goodput = {name: ev.median(frames, STARLINK, name, "goodput_bps").median
               for name in ev.present(frames, STARLINK, (CUBIC, NGTCP2, QUINN))}  # fmt: skip
    reference = goodput.get(CUBIC)
    parts = {
        name: abs(value / reference - 1) <= QUARTER
        for name, value in goodput.items()
        if reference is not None and name != CUBIC
    }
    return _goodputs(goodput, parts)


# Implements claim 6.11 of programs (RFC 8985, 6.2: Linux adapts, and takes reductions back).
def adapting_pays_over_the_mobile_channel(frames: Frames) -> Outcome:
    """Compare the median goodput of the kernel's CUBIC with that of quinn, quic-go and aioquic. The path has no
    resequencing.

    Returns: Numbers: `goodput_bps` by sender.
    """
    goodput = {name: ev.median(frames, MOBILE, name, "goodput_bps").median
               for name in ev.present(frames, MOBILE, (CUBIC, *FIXED))}  # fmt: skip
    reference = goodput.get(CUBIC)
    parts = {
        name: reference >= TWICE * value for name, value in goodput.items() if reference is not None and name != CUBIC
    }
    return _goodputs(goodput, parts)


# Implements claim 6.12 of programs (RFC 9438; quic-go and aioquic use Reno by default).
def shares_follow_congestion_control(frames: Frames) -> Outcome:
    """Check which share of the data a sender gets beside a CUBIC flow of the kernel. The share is averaged over the
    paths.

    Returns: Numbers: `share_ratio` by sender.
    """
    shares = {name: float(ev.rows(frames, SHARE, condition=STILL, sender=name)["share_ratio"].mean())
              for name in ev.present(frames, SHARE)}  # fmt: skip
    parts = {}
    for name, share in shares.items():
        if name in (NGTCP2, QUINN):
            parts[name] = EVEN[0] <= share <= EVEN[1]
        elif name in (QUIC_GO, AIOQUIC):
            parts[name] = share < HALF
    return ev.outcome(
        parts,
        f"share beside CUBIC: {ev.listed(shares, 100, 0, ' %')}",
        {"share_ratio": shares},
    )


def _goodputs(goodput: dict[str, float], parts: dict[str, bool]) -> Outcome:
    return ev.outcome(
        parts,
        f"median goodput, Mbit/s: {ev.listed(goodput, 1e-6, 2)}",
        {"goodput_bps": goodput},
        is_known=any(name in QUIC for name in parts),
    )


CLAIMS = (
    Claim(
        "6.6",
        "A change costs no sender more than 5 % of what the path carries in the three seconds after it.",
        "a queue of one bandwidth-delay product covers a halved window",
        "Payload that arrived in the 3 s after the change, retransmissions included, against the same sender on the "
        "frozen path, over 20 Mbit/s x 3 s; the worst change of each sender, which is a part.",
        ("runs",),
        a_change_costs_little,
    ),
    Claim(
        "6.8",
        "Over the profile starlink BBR gets more than CUBIC and than each of the QUIC stacks, all of which have CUBIC "
        "or Reno.",
        "losses around reconfigurations do not indicate congestion",
        "Medians over seeds of payload over completion time; each other sender is a part.",
        ("runs",),
        bbr_gets_most_over_starlink,
    ),
    Claim(
        "6.9",
        "Over the profile starlink the QUIC stacks that have CUBIC (ngtcp2, quinn) get what the kernel's CUBIC gets, "
        "within a quarter.",
        "RFC 9438 in three implementations",
        "As 6.8: between 75 % and 125 %; each stack is a part.",
        ("runs",),
        cubic_is_cubic,
    ),
    Claim(
        "6.11",
        "Over the mobile channel without resequencing the kernel's CUBIC gets at least twice what quinn, quic-go and "
        "aioquic get each.",
        "RFC 8985, 6.2: Linux adapts, and takes reductions back",
        "As 6.8, over the mobile channel; each stack is a part.",
        ("runs",),
        adapting_pays_over_the_mobile_channel,
    ),
    Claim(
        "6.12",
        "Beside a flow of the kernel's CUBIC, ngtcp2 and quinn (CUBIC) get 35 % to 65 %, quic-go and aioquic (Reno) "
        "less than half.",
        "RFC 9438; quic-go and aioquic use Reno by default",
        "Both start at once over the frozen path. Share of the payload that arrived of both, retransmissions included, "
        "from 5 s after the start until one has ended; means over two paths; each stack is a part.",
        ("runs",),
        shares_follow_congestion_control,
    ),
)
