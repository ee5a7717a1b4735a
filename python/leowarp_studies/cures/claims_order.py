# SPDX-License-Identifier: Apache-2.0
"""Claims about order (5.1 to 5.6): late packets without a cure, and with each cure."""

from __future__ import annotations

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if, not_so
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures.changes import LONGER, SHORTER
from leowarp_studies.cures.evidence import Frames
from leowarp_studies.cures.runs import HALF, LOADS
from leowarp_studies.cures.variants import BY_NAME, KEEP_ORDER, NONE, TCP_LABELS, TCPS

HUNDREDS_PKTS = 100


# Implements claim 5.1 of cures (the queue left behind).
def queue_makes_late(frames: Frames) -> Outcome:
    """For each TCP, count the packets that are late at changes to a longer path without a cure. At saturation, the
    result is the median of the counts, and at 50 % load, it is their sum.

    The claim includes BBR, although BBR keeps its queue short.

    Returns
    -------
    Outcome
        Numbers for each TCP: `late_saturated_pkts` (a median with its interval) and `late_half_pkts` (a sum).
    """
    full = {tcp: ev.median(frames, NONE, "late_pkts", tcp=tcp, direction=LONGER) for tcp in TCPS}
    half = {tcp: ev.total(frames, NONE, "late_pkts", tcp=tcp, load=HALF, direction=LONGER) for tcp in TCPS}
    half = {tcp: value for tcp, value in half.items() if value == value}
    parts = {f"{tcp}, saturated": value.median >= HUNDREDS_PKTS for tcp, value in full.items() if value.known}
    parts |= {f"{tcp}, 50 %": value == 0 for tcp, value in half.items()}
    failed = not_so(parts)
    return Outcome(
        holds_if(parts),
        f"median late packets at saturation: "
        f"{_named({tcp: value.text(1, 0) for tcp, value in full.items() if value.known})}; "
        f"at 50 %, all changes together: {_named({tcp: f'{value:.0f}' for tcp, value in half.items()})}",
        {"late_saturated_pkts": {tcp: value.numbers() for tcp, value in full.items()}, "late_half_pkts": half},
        failed
        and f"{failed}; what is late waits at the node that switches, and the queue stands at the sender's own "
        f"station: where that takes another satellite the median is {_late(frames, at_sender=True)}, where the path "
        f"changes behind it {_late(frames, at_sender=False)}; a sender that keeps a short queue has few late packets",
    )


# Implements claim 5.2 of cures (propagation).
def propagation_bounds_late(frames: Frames) -> Outcome:
    """Count the late packets at changes to a shorter path, at 50 % load. Each count is compared with a bound.

    The bound is the number of packets that the link sends in a certain time, plus one packet. This time is the delay
    difference of the paths. One packet is added because the delay may change between two packets.

    Returns
    -------
    Outcome
        Numbers: `changes`, `above_bound`, `late_max_pkts`, `bound_max_pkts`.
    """
    mine = ev.rows(frames, NONE, load=HALF, direction=SHORTER)
    bound_pkts = (-mine["step_ns"]) * ev.LINK_BPS / ev.FRAME_BITS / 1e9 + 1
    above = int((mine["late_pkts"] > bound_pkts).sum())
    late = float(mine["late_pkts"].max())
    verdict: Verdict = "cannot be told" if not len(mine) else ("holds" if above == 0 else "does not hold")
    return Outcome(
        verdict,
        f"{above} of {len(mine)} runs are above the bound; at most {late:.0f} late, where the bound is at most "
        f"{float(bound_pkts.max()):.0f}",
        {"changes": len(mine), "above_bound": above, "late_max_pkts": late, "bound_max_pkts": float(bound_pkts.max())},
        ""
        if verdict != "does not hold"
        else f"the largest excess is {float((mine['late_pkts'] - bound_pkts).max()):.0f} packets",
    )


# Implements claim 5.3 of cures (the rule of move_queue).
def moving_leaves_none(frames: Frames) -> Outcome:
    """For each load and TCP, count the late packets with `move` at changes to a longer path."""
    return _none_late(frames, ("move",), direction=LONGER)


# Implements claim 5.4 of cures (the rules of hold and end_marker).
def holding_leaves_none(frames: Frames) -> Outcome:
    """Count the late packets at all changes, for each load and TCP. Three cures are tested: `hold` alone, `hold` with
    `move`, and the end marker."""
    return _none_late(frames, KEEP_ORDER, direction=None)


def _none_late(frames: Frames, variants: tuple[str, ...], direction: str | None) -> Outcome:
    """Test whether the given variants prevent all late packets, at every load and with every TCP.

    Returns
    -------
    Outcome
        Numbers: `late_pkts`, the late packets of each variant, load and TCP, summed over route changes.
            `late_without_pkts`: the late packets without a cure, summed over loads, TCPs and route changes.
    """
    counts: dict[str, float] = {}
    without = 0.0
    for load in LOADS:
        for tcp in TCPS:
            bare = ev.total(frames, NONE, "late_pkts", tcp=tcp, load=load, direction=direction)
            without += bare if bare == bare else 0.0
            for variant in variants:
                late = ev.total(frames, variant, "late_pkts", tcp=tcp, load=load, direction=direction)
                if late == late:
                    counts[f"{variant}, {TCP_LABELS[tcp]}, {load}"] = late
    parts = {name: value == 0 for name, value in counts.items()}
    left = {name: f"{value:.0f}" for name, value in counts.items() if value}
    verdict: Verdict = "cannot be told" if not counts else holds_if(parts)
    sums = {BY_NAME[variant].label: f"{sum(v for name, v in counts.items() if name.startswith(variant + ',')):.0f}"
            for variant in variants}  # fmt: skip
    return Outcome(
        verdict,
        f"late packets over all loads, TCPs and changes: {ev.listed(sums)}; without a cure {without:.0f}",
        {"late_pkts": counts, "late_without_pkts": without},
        "" if not left else f"late: {ev.listed(left)}",
    )


# Implements claim 5.5 of cures (RFC 9550; queues in sequence at a full link).
def resequencing_needs_time(frames: Frames) -> Outcome:
    """Count the late packets at saturation, over all changes and TCPs. Packets are resequenced for 50 ms or for 150 ms.

    Returns
    -------
    Outcome
        Numbers: `late_pkts` by variant.
    """
    late = {name: ev.total(frames, name, "late_pkts") for name in ("resequence-50", "resequence-150")}
    parts = {"50 ms leaves some": late["resequence-50"] > 0, "150 ms leaves none": late["resequence-150"] == 0}
    longest = float(ev.rows(frames, "resequence-150")["waiting_longest_ns"].max()) / 1e6
    return Outcome(
        holds_if(parts),
        f"late with 50 ms {late['resequence-50']:.0f}, with 150 ms {late['resequence-150']:.0f}; with 150 ms a packet "
        f"waits {longest:.1f} ms at most",
        {"late_pkts": late, "waiting_longest_ms": longest},
        ""
        if all(parts.values())
        else f"{BY_NAME['resequence-150'].label}: "
        + ev.listed(ev.sums_by_tcp(frames, "resequence-150", "late_pkts"), "{:.0f}"),
    )


# Implements claim 5.6 of cures (RFC 8985; RFC 5681).
def order_is_enough(frames: Frames) -> Outcome:
    """For each TCP, count the spurious retransmissions that route changes cause at saturation although a cure keeps
    packets in order.

    Returns
    -------
    Outcome
        Numbers: `spurious_pkts` for each variant and TCP, summed over route changes. `spurious_without_pkts`: the sum
            without a cure, for each TCP.
    """
    counts = {f"{variant}, {TCP_LABELS[tcp]}": ev.total(frames, variant, "spurious_pkts", tcp=tcp)
              for variant in KEEP_ORDER for tcp in TCPS}  # fmt: skip
    counts = {name: value for name, value in counts.items() if value == value}
    without = ev.sums_by_tcp(frames, NONE, "spurious_pkts")
    left = {name: f"{value:.0f}" for name, value in counts.items() if value}
    return Outcome(
        holds_if({name: value == 0 for name, value in counts.items()}),
        f"spurious retransmissions because of changes, all three cures: {sum(counts.values()):.0f}; without a cure: "
        + ev.listed(without, "{:.0f}"),
        {"spurious_pkts": counts, "spurious_without_pkts": without},
        "" if not left else f"spurious: {ev.listed(left)}",
    )


def _late(frames: Frames, *, at_sender: bool) -> str:
    """Return the median number of late packets at saturation for the variant without a cure, over all TCPs and both
    directions."""
    return ev.median(frames, NONE, "late_pkts", at_sender=at_sender).text(1, 0)


def _named(values: dict[str, str]) -> str:
    return ev.listed({TCP_LABELS[tcp]: value for tcp, value in values.items()})


CLAIMS = (
    Claim(
        "5.1",
        "At saturation a change to a longer path makes hundreds of packets late; at 50 % load, where no queue stands, "
        "it makes none late.",
        "the queue left behind",
        "Late packets because of the change, no cure, changes to a longer path: median over changes at saturation 100 "
        "or more, sum at 50 % load 0; each TCP is a part.",
        ("around",),
        queue_makes_late,
    ),
    Claim(
        "5.2",
        "At 50 % load a change to a shorter path makes no more packets late than the link sends in the difference of "
        "the two ways' delays.",
        "propagation",
        "Late packets at 50 % load, no cure, each change to a shorter path under each TCP, against step x 100 Mbit/s / "
        "1514 bytes + 1: none above.",
        ("around",),
        propagation_bounds_late,
    ),
    Claim(
        "5.3",
        "Moving the queue leaves no packet late at changes to a longer path, at any load.",
        "the rule of move_queue",
        "Sum of late packets over the changes to a longer path: 0; each load and TCP is a part.",
        ("around",),
        moving_leaves_none,
    ),
    Claim(
        "5.4",
        "Holding new packets back, and waiting for an end marker, leave no packet late at any change, at any load.",
        "the rules of hold and end_marker",
        "Sum of late packets over all changes: 0; each cure (hold; both; end marker), load and TCP is a part.",
        ("around",),
        holding_leaves_none,
    ),
    Claim(
        "5.5",
        "Resequencing with 50 ms leaves packets late at saturation, with 150 ms none.",
        "RFC 9550; queues in sequence at a full link",
        "Sum of late packets at saturation over all changes and TCPs: above 0 with 50 ms, 0 with 150 ms.",
        ("around",),
        resequencing_needs_time,
    ),
    Claim(
        "5.6",
        "Where the network keeps the order, no sender retransmits in vain because of a change, whichever TCP it is.",
        "RFC 8985; RFC 5681",
        "Sum over all changes at saturation of spurious retransmissions of what a change made late: 0; each cure that "
        "keeps the order and TCP is a part.",
        ("around",),
        order_is_enough,
    ),
)
