# SPDX-License-Identifier: Apache-2.0
"""The claims about packets that senders declare lost (6.1 to 6.5, 6.7, 6.10)."""

from __future__ import annotations

from collections.abc import Sequence

from leowarp.study import Claim, Outcome
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.evidence import Frames
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, STARLINK, STILL
from leowarp_studies.programs.senders import AIOQUIC, BY_NAME, FIXED, KERNEL, NGTCP2, QUIC, QUIC_GO

IN_VAIN_RATIO = 0.01
NINE_TENTHS = 0.9
UNHEARD_SPREAD = 0.2
"""The allowed relative difference between two numbers of packets: those that a receiver discarded, and those that
arrived beyond its window."""


# Implements claim 6.1 of programs (packets are conserved).
def still_paths_are_told_right(frames: Frames) -> Outcome:
    """Check how many packets each sender spuriously declares lost on paths that do not change. For each sender, the run
    with the largest share counts, over all groups.

    Returns: Numbers: `in_vain_max_ratio` by sender.
    """
    worst = _worst(frames, (CHANGES, STARLINK, MOBILE), STILL)
    return _few_in_vain(worst)


# Implements claim 6.2 of programs (RFC 9002, 6.1.1 and 6.1.2).
def fixed_thresholds_are_fooled(frames: Frames) -> Outcome:
    """Check how many of the late packets quinn, quic-go and aioquic declared lost, as a share over all route changes.

    Returns: Numbers: `declared_ratio` by sender, `late_pkts` by sender.
    """
    return _declared(frames, CHANGES)


# Implements claim 6.3 of programs (ngtcp2, lib/ngtcp2_rtb.c: its packet threshold is half of what is in flight).
def a_threshold_that_adapts_is_fooled_less(frames: Frames) -> Outcome:
    """Compare the four QUIC stacks by the share of late packets that they declared lost. ngtcp2 is compared with each
    of the others.

    Returns: Numbers: `declared_ratio` by sender.
    """
    shares = {name: ev.ratio(frames, CHANGES, name, "spurious_pkts", "late_pkts")
              for name in ev.present(frames, CHANGES, (NGTCP2, *FIXED))}  # fmt: skip
    others = {name: share for name, share in shares.items() if name != NGTCP2 and share == share}
    mine = shares.get(NGTCP2, float("nan"))
    parts = {name: mine < share for name, share in others.items()}
    return ev.outcome(
        parts,
        f"of late packets declared lost: {ev.listed(shares, 100, 1, ' %')}",
        {"declared_ratio": shares},
        is_known=mine == mine,
        because="; what its threshold of packets lets pass, its threshold of time does not: 9/8 of an RTT are over "
        "before what waits at the abandoned link arrives",
    )


# Implements claim 6.4 of programs (RFC 8985: RACK widens its window when it sees reordering).
def linux_is_fooled_less(frames: Frames) -> Outcome:
    """Compare the share of late packets that each sender treated as lost, over all changes. A TCP sender treats a late
    packet as lost if it retransmits the packet spuriously. A QUIC sender does so if it declares the packet lost.

    Returns: Numbers: `declared_ratio` by sender.
    """
    shares = {
        name: ev.ratio(frames, CHANGES, name, "spurious_pkts", "late_pkts") for name in ev.present(frames, CHANGES)
    }
    known = {name: share for name, share in shares.items() if share == share}
    quic = [known[name] for name in QUIC if name in known]
    parts = {name: known[name] < min(quic) for name in KERNEL if name in known and quic}
    return ev.outcome(
        parts,
        f"of late packets taken for lost: {ev.listed(shares, 100, 1, ' %')}",
        {"declared_ratio": shares},
    )


# Implements claim 6.5 of programs (aioquic, quic/recovery.py: a window of 128 packet numbers).
def a_receiver_forgets(frames: Frames) -> Outcome:
    """Compare two counts: packets that were spuriously declared lost and never acknowledged, and packets that arrived
    outside of the receiver's window.

    Returns: Numbers by sender, as sums over all changes: `unheard_pkts`, `beyond_pkts`, `in_vain_pkts`.
    """
    tells = {name: ev.rows(frames, CHANGES, sender=name)["found_spurious_pkts"].notna().all() for name in QUIC}
    names = [name for name in ev.present(frames, CHANGES, (AIOQUIC, QUIC_GO, NGTCP2)) if tells[name]]
    unheard, beyond, in_vain = {}, {}, {}
    for name in names:
        mine = ev.rows(frames, CHANGES, sender=name)
        in_vain[name] = float(mine["spurious_pkts"].sum())
        unheard[name] = in_vain[name] - float(mine["found_spurious_pkts"].sum())
        beyond[name] = float(mine["beyond_pkts"].sum())
    parts = {}
    for name in names:
        if name == AIOQUIC:
            parts[name] = beyond[name] > 0 and abs(unheard[name] - beyond[name]) <= UNHEARD_SPREAD * beyond[name]
        else:
            parts[name] = unheard[name] <= (1 - NINE_TENTHS) * in_vain[name]
    # The number 64 comes from quic-go v0.59.1, internal/ackhandler/sent_packet_handler.go: newLostPacketTracker(64)
    remembers = "" if parts.get(QUIC_GO, True) else "; quic-go remembers the last 64 packets that it declared lost"
    return ev.outcome(
        parts,
        f"declared lost in vain {ev.listed(in_vain)}; of these its sender never heard: {ev.listed(unheard)}; later "
        f"than 128 packet numbers were: {ev.listed(beyond)}",
        {"unheard_pkts": unheard, "beyond_pkts": beyond, "in_vain_pkts": in_vain},
        is_known=AIOQUIC in names and any(in_vain.values()),
        because=remembers,
    )


# Implements claim 6.7 of programs (the profile keeps the order).
def starlink_keeps_the_order(frames: Frames) -> Outcome:
    """Check the number of late packets in all runs over the profile, and the share of packets that were spuriously
    declared lost.

    Returns: Numbers: `late_pkts` by sender, `in_vain_max_ratio` by sender.
    """
    late = {
        name: float(ev.rows(frames, STARLINK, sender=name)["late_pkts"].sum()) for name in ev.present(frames, STARLINK)
    }
    found = _few_in_vain(_worst(frames, (STARLINK,), MOVING))
    if found.verdict == "cannot be told":
        return found
    in_order = not any(late.values())
    verdict = found.verdict if in_order else ("partly" if found.verdict != "does not hold" else "does not hold")
    cause = [] if in_order else [f"late: {ev.listed(late)}"]
    return Outcome(
        verdict,
        f"late packets {sum(late.values()):.0f}; {found.measured}",
        {"late_pkts": late} | found.numbers,
        "; ".join([*cause, *([found.cause] if found.cause else [])]),
    )


# Implements claim 6.10 of programs (RFC 9002, 6.1.1: 20 ms are 17 packets).
def repairs_out_of_order_are_losses(frames: Frames) -> Outcome:
    """Repeat the test of claim 6.2 over the mobile channel without resequencing.

    Returns: Numbers: `declared_ratio` by sender, `late_pkts` by sender.
    """
    return _declared(frames, MOBILE)


def _worst(frames: Frames, groups: Sequence[str], condition: str) -> dict[str, float]:
    """Return, for each sender, the largest share of packets that it spuriously declared lost in any run of the
    groups."""
    worst: dict[str, float] = {}
    for group in groups:
        for name in ev.present(frames, group):
            mine = ev.rows(frames, group, condition=condition, sender=name)
            if len(mine):
                found = float((mine["spurious_pkts"] / mine["sent_pkts"]).max())
                worst[name] = max(found, worst.get(name, found))
    return {name: worst[name] for name in BY_NAME if name in worst}


def _few_in_vain(worst: dict[str, float]) -> Outcome:
    parts = {name: value <= IN_VAIN_RATIO for name, value in worst.items()}
    return ev.outcome(
        parts,
        f"in vain at most, of those sent: {ev.listed(worst, 100, 2, ' %')}",
        {"in_vain_max_ratio": worst},
    )


def _declared(frames: Frames, group: str) -> Outcome:
    names = ev.present(frames, group, FIXED)
    shares = {name: ev.ratio(frames, group, name, "spurious_pkts", "late_pkts") for name in names}
    late = {name: float(ev.rows(frames, group, sender=name)["late_pkts"].sum()) for name in names}
    parts = {name: share >= NINE_TENTHS for name, share in shares.items() if share == share}
    return ev.outcome(
        parts,
        f"of late packets declared lost: {ev.listed(shares, 100, 1, ' %')}; late were {ev.listed(late)}",
        {"declared_ratio": shares, "late_pkts": late},
    )


CLAIMS = (
    Claim(
        "6.1",
        "Where the path does not change and the link keeps the order, no sender takes more packets for lost than are: "
        "at most 1 % of what it sends.",
        "packets are conserved",
        "Runs with the path frozen, without reconfigurations, with resequencing. QUIC: packets declared lost less "
        "packets lost on the way, from the trace, over packets sent; TCP: spurious retransmissions over packets sent. "
        "The worst run of each sender, which is a part.",
        ("runs",),
        still_paths_are_told_right,
    ),
    Claim(
        "6.2",
        "At a route change quinn, quic-go and aioquic declare at least nine tenths of the late packets lost.",
        "RFC 9002, 6.1.1 and 6.1.2",
        "Packets declared lost less packets lost, over late packets (overtaken by one sent later, RFC 4737), sums over "
        "all changes; each stack is a part.",
        ("runs",),
        fixed_thresholds_are_fooled,
    ),
    Claim(
        "6.3",
        "At the same changes ngtcp2 declares a smaller share of the late packets lost than quinn, quic-go and aioquic "
        "do.",
        "ngtcp2, lib/ngtcp2_rtb.c: its packet threshold is half of what is in flight",
        "The share of 6.2, ngtcp2's against each of the three, which is a part.",
        ("runs",),
        a_threshold_that_adapts_is_fooled_less,
    ),
    Claim(
        "6.4",
        "Linux, with CUBIC and with BBR, sends a smaller share of the late packets again in vain than any of the four "
        "QUIC stacks does.",
        "RFC 8985: RACK widens its window when it sees reordering",
        "Spurious retransmissions over late packets, sums over all changes, against the least share of 6.2 and 6.3; "
        "each congestion control is a part.",
        ("runs",),
        linux_is_fooled_less,
    ),
    Claim(
        "6.5",
        "aioquic's receiver throws packets away that come more than 128 numbers late, so that its sender never hears "
        "of them; senders of quic-go and ngtcp2 hear of nine tenths of what they declared lost in vain.",
        "aioquic, quic/recovery.py: a window of 128 packet numbers",
        "Packets declared lost in vain (6.2) less those that the sender itself saw acknowledged later (quic-go's "
        "events, aioquic's and ngtcp2's qlog). aioquic: within 20 % of the late packets whose extent is above 128; the "
        "others: at most a tenth. quinn, which has such a window, does not tell. Each stack is a part.",
        ("runs",),
        a_receiver_forgets,
    ),
    Claim(
        "6.7",
        "Over the profile starlink nothing is late, and no sender takes more packets for lost than are: at most 1 % of "
        "what it sends.",
        "the profile keeps the order",
        "Late packets of all runs with reconfigurations: none; packets taken for lost in vain as in 6.1.",
        ("runs",),
        starlink_keeps_the_order,
    ),
    Claim(
        "6.10",
        "Over the mobile channel without resequencing quinn, quic-go and aioquic declare at least nine tenths of the "
        "late packets lost.",
        "RFC 9002, 6.1.1: 20 ms are 17 packets",
        "As 6.2, over the mobile channel.",
        ("runs",),
        repairs_out_of_order_are_losses,
    ),
)
