# SPDX-License-Identifier: Apache-2.0
"""The reason why delayed ACKs slow the growth of only some windows. Some windows grow with each ACK, others with each
acknowledged segment."""

from __future__ import annotations

import numpy as np

from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.evidence import Frames
from leowarp_studies.tauran2018.runs import BY_ACKS, OFF, ON

GROWN_PKTS = (100, 500)
"""The window sizes in packets that claim 4.8 uses. The bandwidth-delay product of this path is 807 packets."""


HELD_MS = 10
"""The shortest time in ms for which a limit by the receiver's window is reported."""


TRIED = "Tried: Linux's own with windows that grow by ACKs ({}), everything else the same".format(
    ", ".join(f"{name}.c" for name in BY_ACKS.values())
)


def reaches_text(frames: Frames, name: str) -> str:
    """Return a sentence that says when the window reached each size in `GROWN_PKTS`, with and without delayed ACKs."""
    least, most = GROWN_PKTS
    on, off = ([frames["growth"][name, delayed].reaches_s(pkts) for pkts in GROWN_PKTS] for delayed in (ON, OFF))
    return (
        f"{ev.label(name)}: {least} packets after {on[0]:.2f} s with delayed ACKs and {off[0]:.2f} s without, {most} "
        f"after {on[1]:.2f} and {off[1]:.2f}"
    )


def by_acks_growth_text(frames: Frames) -> str:
    """Return a text that says when windows reached the sizes in `GROWN_PKTS`, if windows grow with each ACK. The runs
    use modified Linux algorithms. The text is empty without runs."""
    there = [name for name in BY_ACKS.values() if all((name, delayed) in frames["growth"] for delayed in (ON, OFF))]
    if not there:
        return ""
    return f". {TRIED}: {'; '.join(reaches_text(frames, name) for name in there)}"


def by_acks_goodput_text(frames: Frames, control: str, *, resequencing: bool) -> str:
    """Return a text that states how delayed ACKs change the goodput if the window grows per ACK. The text is empty
    without runs."""
    if "by_acks" not in frames:
        return ""
    # The module differs from Linux's algorithm only in how its window grows. The comparison therefore tests the cause.
    theirs = ev.effect(ev.by_acks(frames), "goodput_bps", BY_ACKS[control], resequencing=resequencing)
    same = ev.effect(ev.like_by_acks(frames), "goodput_bps", control, resequencing=resequencing)
    return (
        f". {TRIED}: delayed ACKs change the goodput of {ev.label(BY_ACKS[control])} by {ev.percent(theirs)}, that of "
        f"{ev.label(control)} at the same SNRs and seeds by {ev.percent(same)}"
    )


def growth_text(frames: Frames) -> str:
    """Return a text about how much the window grows per ACK, and per acknowledged segment."""
    texts = []
    for name in ("reno", "cubic"):
        on, off = (_growth_an_ack(frames, name, delayed) for delayed in (ON, OFF))
        texts.append(
            f"{ev.label(name)} {on[0]:.2f} and {off[0]:.2f} packets an ACK, {on[1]:.2f} and {off[1]:.2f} a segment"
        )
    return (
        "Linux grows the window by the segments that an ACK acknowledges, not by ACKs (tcp_slow_start, "
        "tcp_cong_avoid_ai; RFC 3465 without its limit): in slow start without loss, delayed ACKs on and off, "
        f"{'; '.join(texts)}"
    )


def held_text(frames: Frames) -> str:
    """Return a text that says how long the receiver's window limited the sender. Only the time until the sender's
    window reaches the larger size of `GROWN_PKTS` is used. The text is empty if the time is too short to matter.

    The kernel counts this time (`tcpi_rwnd_limited`). While the receiver limits the window, the window does not show
    the effect of delayed ACKs.
    """
    texts, held = [], False
    for name in ("reno", "cubic"):
        traces = [frames["growth"][name, delayed] for delayed in (ON, OFF)]
        held_ms = [trace.rwnd_limited_us[trace.t_s <= trace.reaches_s(GROWN_PKTS[1])].max() / 1e3 for trace in traces]
        # If either of the two sessions was limited, the sessions with and without delayed ACKs cannot be compared.
        held |= max(held_ms) >= HELD_MS
        texts.append(f"{ev.label(name)} for {held_ms[0]:.0f} ms and {held_ms[1]:.0f} ms")
    # If no time reaches `HELD_MS`, nothing is reported.
    if not held:
        return ""
    return f". Until then the receiver's window held the sender, delayed ACKs on and off, {', '.join(texts)}"


def _growth_an_ack(frames: Frames, name: str, delayed: str) -> tuple[float, float]:
    """Return the growth of the window from 20 to `GROWN_PKTS[1]` packets: per ACK, and per acknowledged segment."""
    trace = frames["growth"][name, delayed]
    # In slow start, every packet in flight is acknowledged once per round trip. `delivered_pkts` is the socket's own
    # count of acknowledged packets.
    grows = (trace.cwnd_pkts >= 20) & (trace.t_s <= trace.reaches_s(GROWN_PKTS[1]))
    if grows.sum() < 2:
        return float("nan"), float("nan")
    grown = np.ptp(trace.cwnd_pkts[grows])
    segments = np.ptp(trace.delivered_pkts[grows])
    # ACKs are counted only for the whole session, so `acks_a_segment` is a number for the whole session. In the group
    # `growth` no packet is lost, so every ACK acknowledges data in order.
    acks_a_segment = trace.acks_per_segment_ratio
    return float(grown / (segments * acks_a_segment)), float(grown / segments)
