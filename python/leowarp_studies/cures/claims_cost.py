# SPDX-License-Identifier: Apache-2.0
"""Claims about the cost of cures (5.9 to 5.12, 5.16). The costs are holding times, memory, additional bytes, a larger
delay of calls, and the larger delay of routes that are kept."""

from __future__ import annotations

from typing import Any

from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures.changes import DIRECTIONS, LONGER
from leowarp_studies.cures.evidence import Frames
from leowarp_studies.cures.variants import BOTH, NONE, SHOWN, TCP_LABELS, TCPS


# Implements claim 5.9 of cures (the formulas of hold).
def hold_lasts_as_the_queue(frames: Frames) -> Outcome:
    """Measure the longest time for which a packet is held. Only runs at saturation are used, and only changes to a
    longer path. The cures are `hold` alone, and `hold` with `move`.

    The claim says "as long as the queue". Two conditions test these words, both for `hold` alone. First, the median
    holding time must be at least 10 ms, because all senders except BBR keep a standing queue. Second, no packet may be
    held longer than a full queue takes to drain.

    Returns
    -------
    Outcome
        Numbers: `hold_ns`, `both_ns` (medians with intervals), `hold_max_ns`, `both_max_ns`.
    """
    which: dict[str, Any] = {"direction": LONGER}
    hold, both = (ev.median(frames, name, "held_ns", **which) for name in ("hold", BOTH))
    most = {name: float(ev.rows(frames, name, **which)["held_ns"].max()) for name in ("hold", BOTH)}
    parts = {
        "hold alone is long": hold.median >= 10e6,
        "hold alone is no longer than a full queue": most["hold"] <= ev.QUEUE_LIMIT_NS,
        "both are short": most[BOTH] < 3e6,
    }
    return Outcome(
        holds_if(parts),
        f"hold alone {hold.text(1e-6)} ms, at most {most['hold'] / 1e6:.1f}; both {both.text(1e-6, 2)} ms, at most "
        f"{most[BOTH] / 1e6:.2f}; a full queue is {ev.QUEUE_LIMIT_NS / 1e6:.1f} ms",
        {"hold_ns": hold.numbers(), "both_ns": both.numbers(), "hold_max_ns": most["hold"], "both_max_ns": most[BOTH]},
        not_so(parts),
    )


# Implements claim 5.10 of cures (buffers are rate times delay).
def hold_needs_memory(frames: Frames) -> Outcome:
    """Measure the largest number of bytes that one node holds, over all changes and TCPs at saturation. The cures are
    `hold` alone, and `hold` with `move`.

    Returns
    -------
    Outcome
        Numbers: `held_max_bytes` by variant; `full_pkts`, the number of packets that arrived at a full buffer.
    """
    most = {name: float(ev.rows(frames, name)["held_bytes"].max()) for name in ("hold", BOTH)}
    full = {name: ev.total(frames, name, "hold_full_pkts") for name in ("hold", BOTH)}
    parts = {"hold": most["hold"] > 100e3, "both": most[BOTH] < 50e3}
    return Outcome(
        holds_if(parts),
        f"hold alone {most['hold'] / 1e3:.0f} kB, both {most[BOTH] / 1e3:.0f} kB; packets that met a full buffer "
        f"of 2 MB: {sum(full.values()):.0f}",
        {"held_max_bytes": most, "full_pkts": full},
        "" if all(parts.values()) else f"medians: {_medians(frames, 'held_bytes', 1e-3, 'kB')}",
    )


# Implements claim 5.11 of cures (a call shares the queue).
def calls_are_not_delayed(frames: Frames) -> Outcome:
    """Measure, for each TCP, how much the call's 99th percentile of one-way delay increases at saturation. The cures
    are `move` alone, and `move` with `hold`.

    Returns
    -------
    Outcome
        Numbers for each variant and TCP: `added_ns`, a median with its interval.
    """
    added = {f"{variant}, {TCP_LABELS[tcp]}": ev.added(frames, variant, NONE, "call_p99_ns", tcp=tcp)
             for variant in ("move", BOTH) for tcp in TCPS}  # fmt: skip
    added = {name: value for name, value in added.items() if value.known}
    return Outcome(
        holds_if({name: value.high < 2e6 for name, value in added.items()}),
        "added, ms: " + ev.listed({name: value.text(1e-6, 2) for name, value in added.items()}),
        {"added_ns": {name: value.numbers() for name, value in added.items()}},
        ""
        if all(value.high < 2e6 for value in added.values())
        else f"hold alone adds {ev.added(frames, 'hold', NONE, 'call_p99_ns').text(1e-6, 2)} ms",
    )


# Implements claim 5.12 of cures (duplicates add load).
def duplicates_cost(frames: Frames) -> Outcome:
    """Count the bytes of signalling and of copied packets for each cure at saturation. Also count how many more packets
    queues drop with `duplicate` than without a cure.

    Returns
    -------
    Outcome
        Numbers: `signalling_bytes` (a dict from cure to the sum over all changes and TCPs), `drops_more_pkts` (a median
        with its interval).
    """
    spent = {name: ev.total(frames, name, "signalling_bytes") for name in ev.present(frames, SHOWN)}
    others = sum(value for name, value in spent.items() if name != "duplicate")
    drops = ev.added(frames, "duplicate", NONE, "drops_pkts")
    parts = {"more bytes": spent["duplicate"] > others, "more drops": drops.median > 0}
    runs = len(ev.rows(frames, "duplicate"))
    return Outcome(
        holds_if(parts),
        f"bytes a change: {spent['duplicate'] / runs:.0f} with duplicates, {others / runs:.0f} with all others "
        f"together; packets dropped more than without a cure: {drops.text(1, 0)}",
        {"signalling_bytes": spent, "drops_more_pkts": drops.numbers()},
        not_so(parts),
    )


# Implements claim 5.16 of cures (the constellation's geometry).
def staying_is_cheap(frames: Frames) -> Outcome:
    """Compare two routing rules by the number of route changes in the first hour, and by the mean delay. The first rule
    always uses the shortest path. The second rule uses a path until the path breaks.

    Both numbers are computed from the routes of all four pairs of stations. No packets are needed.

    Returns
    -------
    Outcome
        Numbers by pair: `avoided_ratio`, `delay_more_ms`.
    """
    often, seldom = (route_changes.per_hour(margin).set_index("pair") for margin in ("0 %", "unlimited"))
    count, kept = (
        {pair: int(table.loc[pair, list(DIRECTIONS)].sum()) for pair in table.index} for table in (often, seldom)
    )
    avoided = {pair: 1 - kept[pair] / count[pair] for pair in count}
    more = {pair: float(seldom.loc[pair, "delay_ms"] - often.loc[pair, "delay_ms"]) for pair in count}
    parts = {f"{pair}, changes": value >= 1 / 3 for pair, value in avoided.items()}
    parts |= {f"{pair}, delay": value < 1.0 for pair, value in more.items()}
    texts = {pair: f"{kept[pair]} of {count[pair]} changes, {more[pair]:+.2f} ms" for pair in count}
    return Outcome(
        holds_if(parts),
        "in an hour: " + "; ".join(f"{pair} {text}" for pair, text in texts.items()),
        {"avoided_ratio": avoided, "delay_more_ms": more},
        not_so(parts),
    )


def _medians(frames: Frames, column: str, scale: float, unit: str) -> str:
    """Return a text that explains a verdict: the medians of a column with `hold` alone, and with `hold` and `move`
    together."""
    return ev.listed({name: f"{ev.median(frames, name, column).text(scale)} {unit}" for name in ("hold", BOTH)})


CLAIMS = (
    Claim(
        "5.9",
        "A hold alone lasts as long as the queue left behind; together with moving the queue it lasts less than 3 ms "
        "at changes to a longer path.",
        "the formulas of hold",
        "Longest time that a packet is held back, changes to a longer path at saturation, all TCPs: hold alone 10 ms "
        "or more in the median and never more than a full queue takes; both never 3 ms.",
        ("around",),
        hold_lasts_as_the_queue,
    ),
    Claim(
        "5.10",
        "A hold alone needs more than 100 kB at one node at saturation; together with moving the queue, less than 50 "
        "kB.",
        "buffers are rate times delay",
        "Most bytes held back at one node over all changes and TCPs at saturation.",
        ("around",),
        hold_needs_memory,
    ),
    Claim(
        "5.11",
        "Moving the queue, with a hold or without, adds less than 2 ms to the 99th percentile of a call's one-way "
        "delay around a change.",
        "a call shares the queue",
        "99th percentile of the call's one-way delay from 1 s before to 4 s after each change, at saturation, less "
        "that without a cure around the same change: the interval of the median below 2 ms; each cure and TCP is a "
        "part.",
        ("around",),
        calls_are_not_delayed,
    ),
    Claim(
        "5.12",
        "Sending everything over both paths for a while costs more bytes than all other cures together, and at "
        "saturation it makes queues drop more.",
        "duplicates add load",
        "Bytes of markers, notices and copies over all changes and TCPs at saturation; packets dropped less those "
        "without a cure around the same change, median above 0.",
        ("around",),
        duplicates_cost,
    ),
    Claim(
        "5.16",
        "Keeping a path until it breaks avoids at least a third of the changes, and costs less than 1 ms of mean "
        "one-way delay.",
        "the constellation's geometry",
        "Changes and mean delay of the first hour, all four pairs: routing.margin = unlimited against 0 %; each pair "
        "has two parts.",
        ("around",),
        staying_is_cheap,
    ),
)
