# SPDX-License-Identifier: Apache-2.0
"""Claims about cures that act before the change (5.18 to 5.24): early notices, senders that know the schedule, and
short queues.
"""

from __future__ import annotations

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if, not_so
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures.evidence import Frames
from leowarp_studies.cures.variants import (
    BOTH,
    BY_NAME,
    FROZEN,
    LEAD_MS,
    MANAGED,
    NONE,
    QUEUES,
    SHORT,
    TCP_LABELS,
    TCPS,
)

AS_MANY = 0.1
"""Two shares count as equal if their difference is at most this value."""
HOLDS_WINDOW = ("cubic", "classic")
"""The names of TCPs whose congestion control becomes `cubic_handover` if the sender knows the schedule."""
BY_LOSS = ("reno", "cubic")
"""The names of TCPs that reduce their window only after losses, and fill a queue until it drops packets."""


# Implements claim 5.18 of cures (the first acknowledgement of a late packet).
def ahead_is_no_better(frames: Frames) -> Outcome:
    """Return the share of spurious retransmissions that a notice avoids at saturation. The notice comes before the
    change, at the change, or 200 ms after it.

    Returns
    -------
    Outcome
        Numbers: `removed_ratio` by variant.
    """
    without = ev.total(frames, NONE, "spurious_pkts")
    removed = {
        name: 1 - ev.total(frames, name, "spurious_pkts") / without
        for name in ("notify", "notify-ahead", "notify-late")
    }
    more = removed["notify-ahead"] - removed["notify"]
    parts = {"as many": abs(more) <= AS_MANY}
    return Outcome(
        "cannot be told" if more != more else holds_if(parts),
        f"removed: {LEAD_MS} ms ahead {removed['notify-ahead']:.1%}, at the change {removed['notify']:.1%}, "
        f"200 ms late {removed['notify-late']:.1%}, of {without:.0f} spurious retransmissions",
        {"removed_ratio": removed, "spurious_without_pkts": without},
        ""
        if all(parts.values())
        else "notice ahead leaves " + ev.listed(ev.sums_by_tcp(frames, "notify-ahead", "spurious_pkts"), "{:.0f}"),
    )


# Implements claim 5.19 of cures (cubic_handover).
def schedule_keeps_the_window(frames: Frames) -> Outcome:
    """Compare two variants: CUBIC that knows the schedule, and the oracle (`hold` with `move`). Return the payload that
    is missing compared with the oracle, and CUBIC's spurious retransmissions.

    The results of BBR with the schedule are listed, but they do not affect the verdict.

    Returns
    -------
    Outcome
        Numbers: `lost_ratio` for each TCP (a median with its interval), and `spurious_ratio`, relative to runs without
            a cure.
    """
    lost = {tcp: ev.lost_ratio(frames, "scheduled", BOTH, tcp=tcp) for tcp in TCPS if tcp != "reno"}
    lost = {tcp: value for tcp, value in lost.items() if value.known}
    without, left = (
        sum(ev.total(frames, name, "spurious_pkts", tcp=tcp) for tcp in HOLDS_WINDOW) for name in (NONE, "scheduled")
    )
    parts = {f"lost, {TCP_LABELS[tcp]}": lost[tcp].high < 0.01 for tcp in HOLDS_WINDOW if tcp in lost}
    parts["as many spurious"] = abs(left / without - 1) <= AS_MANY
    return Outcome(
        "cannot be told" if left != left else holds_if(parts),
        "lost: "
        + ev.listed({TCP_LABELS[tcp]: value.text(100, 2) + " %" for tcp, value in lost.items()})
        + f"; spurious retransmissions of both CUBICs {left:.0f}, without the schedule {without:.0f}",
        {"lost_ratio": {tcp: value.numbers() for tcp, value in lost.items()}, "spurious_ratio": left / without},
        not_so(parts),
    )


# Implements claim 5.20 of cures (PROBE_RTT).
def emptied_queue_is_not_overtaken(frames: Frames) -> Outcome:
    """Count BBR's late packets and measure its lost throughput at saturation. In the variant `emptied`, PROBE_RTT
    empties the queue before the route change.

    Returns
    -------
    Outcome
        Numbers: `late_pkts` is the sum over all changes, by variant. `lost_ratio` is a median with its interval.
    """
    late = {name: ev.total(frames, name, "late_pkts", tcp="bbr") for name in (NONE, "emptied")}
    lost = ev.lost_ratio(frames, "emptied", BOTH, tcp="bbr")
    parts = {"late": late["emptied"] <= late[NONE] / 10, "cost": lost.median <= 0.1}
    return Outcome(
        "cannot be told" if not lost.known else holds_if(parts),
        f"late packets of BBR over all changes {late['emptied']:.0f}, of plain BBR {late[NONE]:.0f}; it brings "
        f"{lost.text(100, 1)} % of 5 s less",
        {"late_pkts": late, "lost_ratio": lost.numbers()},
        not_so(parts),
    )


# Implements claim 5.21 of cures (the queue left behind).
def short_queue_bounds_late(frames: Frames) -> Outcome:
    """Count the late packets with short queues, at changes at which the sender's station switches satellites. Each
    count is compared with a bound: a full queue, plus the packets that the link sends in a certain time. This time is
    the delay by which the new path is shorter.

    The bound includes two further packets. One is in transmission at the change, and one is sent while the delay
        changes.

    Returns
    -------
    Outcome
        Numbers by variant: `runs`, `above_bound`, `late_max_pkts`.
    """
    numbers, parts = {}, {}
    for name, queue_pkts in SHORT.items():
        mine = ev.rows(frames, name, at_sender=True)
        if not len(mine):
            continue
        bound_pkts = queue_pkts + 2 + (-mine["step_ns"]).clip(lower=0) * ev.LINK_BPS / ev.FRAME_BITS / 1e9
        above = int((mine["late_pkts"] > bound_pkts).sum())
        numbers[name] = {"runs": len(mine), "above_bound": above, "late_max_pkts": float(mine["late_pkts"].max())}
        parts[BY_NAME[name].label] = above == 0
    verdict: Verdict = "cannot be told" if not parts else holds_if(parts)
    without = ev.median(frames, NONE, "late_pkts", at_sender=True)
    texts = {BY_NAME[name].label: f"{each['above_bound']} of {each['runs']} runs above, at most "
             f"{each['late_max_pkts']:.0f} late" for name, each in numbers.items()}  # fmt: skip
    return Outcome(
        verdict,
        ev.listed(texts) + f"; queue of 500: median {without.text(1, 0)}",
        numbers,
        not_so(parts),
    )


# Implements claim 5.22 of cures (queues that drop before they are full).
def managed_queues_leave_little(frames: Frames) -> Outcome:
    """Divide the number of late packets with each queue management by the number without a cure. Both numbers are sums
    over all changes and TCPs at saturation.

    Returns
    -------
    Outcome
        Numbers for each variant: `late_ratio` and `spurious_ratio`, relative to runs without a cure.
    """
    names = ev.present(frames, MANAGED)
    ratios = {
        column: {name: ev.total(frames, name, column) / ev.total(frames, NONE, column) for name in names}
        for column in ("late_pkts", "spurious_pkts")
    }
    parts = {BY_NAME[name].label: value <= 0.25 for name, value in ratios["late_pkts"].items()}
    texts = {BY_NAME[name].label: f"{ratios['late_pkts'][name]:.1%} late, {ratios['spurious_pkts'][name]:.1%} spurious"
             for name in names}  # fmt: skip
    return Outcome(
        "cannot be told" if not parts else holds_if(parts),
        "of a queue of 500 packets: " + ev.listed(texts),
        {"late_ratio": ratios["late_pkts"], "spurious_ratio": ratios["spurious_pkts"]},
        not_so(parts),
    )


# Implements claim 5.23 of cures (a queue shorter than the bandwidth-delay product).
def short_queues_cost(frames: Frames) -> Outcome:
    """Compare, for each TCP, the goodput with each short or managed queue and with a queue of 500 packets. The path is
    frozen.

    Returns
    -------
    Outcome
        Numbers: `kept_ratio` for each variant and TCP, as medians with intervals.
    """
    kept, parts = {}, {}
    for name in QUEUES:
        for tcp in TCPS:
            both = ev.against(frames, f"{FROZEN}-{name}", FROZEN, "goodput_bps", tcp=tcp)
            if not len(both):
                continue
            value = ev.middle(both["one"] / both["other"])
            label = f"{BY_NAME[name].label}, {TCP_LABELS[tcp]}"
            kept[label] = value
            if tcp in BY_LOSS:
                parts[label] = value.median < 0.95
            elif tcp == "bbr":
                parts[label] = value.median >= 0.95
    return Outcome(
        "cannot be told" if not parts else holds_if(parts),
        "kept: " + ev.listed({name: f"{value.text(100, 1)} %" for name, value in kept.items()}),
        {"kept_ratio": {name: value.numbers() for name, value in kept.items()}},
        not_so(parts),
    )


# Implements claim 5.24 of cures (each flow has its own queue).
def flow_queues_spare_the_call(frames: Frames) -> Outcome:
    """Measure by how much the 99th percentile of the call's one-way delay rises with fq_codel and with cake. A TCP flow
    that fills queues shares the call's path.

    Returns
    -------
    Outcome
        Numbers: `added_ns` (a dict from variant and TCP to a median with its interval).
    """
    added = {f"{BY_NAME[name].label}, {TCP_LABELS[tcp]}": ev.added(frames, name, NONE, "call_p99_ns", tcp=tcp)
             for name in ("fq-codel", "cake") for tcp in (*BY_LOSS, "classic")}  # fmt: skip
    added = {name: value for name, value in added.items() if value.known}
    parts = {name: value.median <= -20e6 for name, value in added.items()}
    return Outcome(
        "cannot be told" if not parts else holds_if(parts),
        "added, ms: " + ev.listed({name: value.text(1e-6, 1) for name, value in added.items()}),
        {"added_ns": {name: value.numbers() for name, value in added.items()}},
        not_so(parts),
    )


CLAIMS = (
    Claim(
        "5.18",
        "A notice 200 ms before the change removes as many spurious retransmissions as one at the change.",
        "the first acknowledgement of a late packet",
        "As 5.13, notice ahead and notice at the change: the shares that they remove differ by 10 points at most.",
        ("around",),
        ahead_is_no_better,
    ),
    Claim(
        "5.19",
        "A CUBIC that holds its window around scheduled changes loses less than 1 % of what the path carries in five "
        "seconds, as classic TCP too, although it makes as many spurious retransmissions.",
        "cubic_handover",
        "As 5.7, all changes, CUBIC and classic with the schedule against the oracle: the interval of the median below "
        "1 %; spurious retransmissions of both within 10 % of those without the schedule.",
        ("around",),
        schedule_keeps_the_window,
    ),
    Claim(
        "5.20",
        "A BBR that empties the queue before the change has a tenth of plain BBR's late packets at most, and it costs "
        "at most 10 % of what the path carries in five seconds.",
        "PROBE_RTT",
        "Sum of late packets over all changes at saturation, BBR whose PROBE_RTT is scheduled just before them, over "
        "that of BBR; payload against the oracle as in 5.7, the median.",
        ("around",),
        emptied_queue_is_not_overtaken,
    ),
    Claim(
        "5.21",
        "Where the sender's satellite changes, no more packets are late than a short queue holds and the link sends in "
        "the difference of the paths.",
        "the queue left behind",
        "Late packets at saturation, queues of 50 and of 100 packets, each change of the sender's satellite under each "
        "TCP, against the queue + max(0, -step) x 100 Mbit/s / 1514 bytes + 2: none above; each queue is a part.",
        ("around",),
        short_queue_bounds_late,
    ),
    Claim(
        "5.22",
        "fq_codel, cake and RED leave at most a quarter of the late packets that a queue of 500 packets leaves.",
        "queues that drop before they are full",
        "Sum of late packets over all changes and TCPs at saturation, over that of no cure; each discipline is a part.",
        ("around",),
        managed_queues_leave_little,
    ),
    Claim(
        "5.23",
        "On a path that does not change, queues of 50 and 100 packets, fq_codel, cake and RED cost Reno and CUBIC more "
        "than 5 % of goodput, and BBR less.",
        "a queue shorter than the bandwidth-delay product",
        "As 5.15: goodput with the path frozen over that behind 500 packets, the median; below 95 % with Reno and "
        "CUBIC, 95 % or more with BBR; each queue and TCP is a part.",
        ("around",),
        short_queues_cost,
    ),
    Claim(
        "5.24",
        "fq_codel and cake take 20 ms or more from the 99th percentile of a call's one-way delay around a change, "
        "beside Reno, CUBIC or classic TCP.",
        "each flow has its own queue",
        "As 5.11, against no cure: the median -20 ms or less; each discipline and TCP is a part.",
        ("around",),
        flow_queues_spare_the_call,
    ),
)
