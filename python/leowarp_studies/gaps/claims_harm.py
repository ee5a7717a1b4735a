# SPDX-License-Identifier: Apache-2.0
"""The claims of the study. An arm is a condition at the route change. A claim limits how much more harm an arm does
than its control, on both routes (design/clauses/gaps.toml)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from leowarp.study.claim import Claim, Outcome, Sample, holds_if, not_so
from leowarp.study.statistics import Middle
from leowarp_studies.gaps.arms import (
    ACQUISITION_S,
    BBR,
    BUFFERED,
    BY_ROUTE,
    CALL,
    CUBIC,
    DISH_HOLD,
    DISH_PROFILE,
    FROZEN,
    GAP_MS,
    LASER_BUFFERED,
    LASER_LOST,
    LASER_WAIT,
    LOADS,
    LOST,
    MOVED,
    OLD,
    ORDERED,
    PAGE,
    PLAIN,
    RENO,
    TCPS,
)
from leowarp_studies.gaps.results import extra, values

FRAME = "runs"
"""The name of the data set that claims use."""
NOTHING_MS = 20
"""A harm of at most this many ms counts as no harm. A single lost packet changes the harm by about this value."""

Extras = dict[str, Middle]


def _extras(
    sample: Sample, arm: str, loads: Sequence[str], measure: str | None = None, control: str | None = None
) -> Extras:
    """For each route and load with runs, return how much more harm an arm has than its control."""
    frame: pd.DataFrame = sample[FRAME]
    found = {
        f"{BY_ROUTE[route].label}, {LOADS[load]}": extra(frame, route, arm, load, measure, control=control)
        for route in BY_ROUTE for load in loads
    }  # fmt: skip
    return {name: one for name, one in found.items() if one.known}


def _outcome(parts: dict[str, bool], measured: Sequence[tuple[str, Extras]], unit: str = "ms") -> Outcome:
    """Return the verdict on a claim, with the medians and intervals that decided it."""
    if not parts:
        return Outcome("cannot be told", "no run of it was made")
    said = "; ".join(
        f"{what}: " + ", ".join(f"{name} {one.text()} {unit}" for name, one in extras.items())
        for what, extras in measured
    )  # fmt: skip
    numbers = {what: {name: one.numbers() for name, one in extras.items()} for what, extras in measured}
    return Outcome(holds_if(parts), said, numbers, not_so(parts))


def _at_most(sample: Sample, arm: str, loads: Sequence[str], most_ms: float, *, within: bool = False) -> Outcome:
    """Test whether the median extra harm is at most `most_ms` for each route and load. If `within` is true, the median
    must also be at least `-most_ms`."""
    found = _extras(sample, arm, loads)
    parts = {name: one.median <= most_ms and (not within or one.median >= -most_ms) for name, one in found.items()}
    return _outcome(parts, [("extra", found)])


def _less(one: Extras, other: Extras) -> Iterator[tuple[str, bool]]:
    return ((name, one[name].median < other[name].median) for name in one if name in other)


# Implements claim 7.1 of gaps (in order and without loss, a step in delay is no signal).
def step_alone(sample: Sample) -> Outcome:
    """Check the extra harm of a route change, compared with no route change. Only the delay changes: the network keeps
    the order of packets and moves the queue."""
    return _at_most(sample, ORDERED, TCPS, NOTHING_MS)


# Implements claim 7.2 of gaps (RFC 8985: RACK waits a part of the round trip).
def reordering_alone(sample: Sample) -> Outcome:
    """Check the extra harm of a change at which packets may overtake each other. A change at which packets keep their
    order is the reference."""
    return _at_most(sample, MOVED, TCPS, NOTHING_MS)


# Implements claim 7.3 of gaps (claims 5.1 and 5.2 of cures).
def queue_makes_late(sample: Sample) -> Outcome:
    """Count the late packets if the old link's queue is left behind, and if this queue is moved. The numbers are sums
    over all samples."""
    frame = sample[FRAME]
    late = {
        f"{BY_ROUTE[route].label}, {LOADS[load]}": [
            float(values(frame, route, arm, load, "late_pkts").sum()) for arm in (PLAIN, MOVED)
        ]
        for route in BY_ROUTE for load in (RENO, CUBIC) if len(values(frame, route, PLAIN, load))
    }  # fmt: skip
    parts = {name: left > 0 and left >= 10 * moved for name, (left, moved) in late.items()}
    said = ", ".join(f"{name} {left:.0f} and {moved:.0f}" for name, (left, moved) in late.items())
    verdict: Any = holds_if(parts) if parts else "cannot be told"
    return Outcome(verdict, f"late packets, queue left behind and queue moved: {said}", {"late_pkts": late},
                   not_so(parts))  # fmt: skip


# Implements claim 7.4 of gaps (RFC 8985; DSACK undoes reductions).
def queue_left_behind(sample: Sample) -> Outcome:
    """Check the extra harm of a change that leaves the queue behind. A change that moves the queue is the reference."""
    return _at_most(sample, PLAIN, TCPS, 40)


# Implements claim 7.5 of gaps (a loss in a gap is real).
def gap_outweighs(sample: Sample) -> Outcome:
    """Compare two kinds of extra harm: the harm of a gap at a change, and the harm of a change without a gap. For the
    first kind, changes with a gap are compared with changes without a gap. For the second kind, changes without a gap
    are compared with runs without a change."""
    gap = _extras(sample, LOST, (RENO, CUBIC))
    rest = _extras(sample, PLAIN, (RENO, CUBIC), control=FROZEN)
    return _outcome(dict(_less(rest, gap)), [("gap", gap), ("all else", rest)])


# Implements claim 7.6 of gaps (BBR takes no single loss for congestion).
def bbr_suffers_less(sample: Sample) -> Outcome:
    """Compare the extra harm that the gap does to BBR with the extra harm that it does to CUBIC."""
    return _bbr_below_cubic(sample, LOST)


def _bbr_below_cubic(sample: Sample, arm: str) -> Outcome:
    bbr, cubic = _extras(sample, arm, (BBR,)), _extras(sample, arm, (CUBIC,))
    pairs = {
        route.label: (bbr.get(f"{route.label}, {LOADS[BBR]}"), cubic.get(f"{route.label}, {LOADS[CUBIC]}"))
        for route in BY_ROUTE.values()
    }
    parts = {label: one.median < other.median for label, (one, other) in pairs.items() if one and other}
    return _outcome(parts, [("extra", bbr | cubic)])


# Implements claim 7.7 of gaps (nothing is lost while the queue has room).
def buffering_costs_its_length(sample: Sample) -> Outcome:
    """Check the extra harm of a gap in which packets are buffered."""
    return _at_most(sample, BUFFERED, TCPS, 2 * GAP_MS)


# Implements claim 7.8 of gaps (the old link carries meanwhile).
def make_before_break(sample: Sample) -> Outcome:
    """Check the extra harm of a gap if the old link still carries packets during the gap."""
    return _at_most(sample, OLD, TCPS, NOTHING_MS, within=True)


# Implements claim 7.9 of gaps (30 frames a second: 40 ms meet one or two).
def call_loses_frames(sample: Sample) -> Outcome:
    """Check how many more frames fail to arrive completely if there is a gap."""
    lost, buffered = (_extras(sample, arm, (CALL,), "lost_frames") for arm in (LOST, BUFFERED))
    parts = {f"{name}, lost": one.median >= 1 for name, one in lost.items()}
    parts |= {f"{name}, buffered": one.median <= 0 for name, one in buffered.items()}
    return _outcome(parts, [("lost", lost), ("buffered", buffered)], "frames")


# Implements claim 7.10 of gaps (a frame waits no longer than the gap lasts).
def slowest_frame(sample: Sample) -> Outcome:
    """Check by how much a gap delays the slowest frame of a call."""
    return _at_most(sample, BUFFERED, (CALL,), GAP_MS)


# Implements claim 7.11 of gaps (a loss costs a round trip, a hold its length).
def page_waits(sample: Sample) -> Outcome:
    """Check the additional load time of a page if there is a gap, compared with a route change without a gap."""
    lost, buffered = (_extras(sample, arm, (PAGE,)) for arm in (LOST, BUFFERED))
    parts = {f"{name}, lost": one.median > GAP_MS for name, one in lost.items()}
    parts |= {f"{name}, buffered": one.median <= GAP_MS for name, one in buffered.items()}
    return _outcome(parts, [("lost", lost), ("buffered", buffered)])


# Implements claim 7.12 of gaps (another path is there meanwhile).
def waiting_costs_nothing(sample: Sample) -> Outcome:
    """Check the extra harm of routes that use a new laser only after it is pointed."""
    return _at_most(sample, LASER_WAIT, (*TCPS, PAGE), NOTHING_MS, within=True)


# Implements claim 7.13 of gaps (a second without a path, and slow start).
def laser_costs_more(sample: Sample) -> Outcome:
    """Check the extra harm of using a laser before it is pointed. Until then, one arm loses packets, and the other arm
    buffers them."""
    lost, buffered = (_extras(sample, arm, (RENO, CUBIC)) for arm in (LASER_LOST, LASER_BUFFERED))
    parts = {f"{name}, lost": one.median > 1000 * ACQUISITION_S for name, one in lost.items()}
    parts |= {f"{name}, buffered": less for name, less in _less(buffered, lost)}
    return _outcome(parts, [("lost", lost), ("buffered", buffered)])


# Implements claim 7.14 of gaps (the queue of a dish does not move).
def hold_of_a_dish(sample: Sample) -> Outcome:
    """Check the extra harm of a reconfiguration at which the dish holds packets."""
    return _at_most(sample, DISH_HOLD, TCPS, 2 * GAP_MS)


# Implements claim 7.15 of gaps (claim 6.8 of programs: such losses are no congestion).
def whole_profile(sample: Sample) -> Outcome:
    """Check how much more harm the complete off-peak profile does than a dish without reconfiguration."""
    found = _extras(sample, DISH_PROFILE, (RENO, CUBIC))
    below = _bbr_below_cubic(sample, DISH_PROFILE)
    parts = {name: one.median > 1000 for name, one in found.items()}
    parts |= {"BBR below CUBIC": below.verdict == "holds"} if found else {}
    return _outcome(parts, [("extra", found | _extras(sample, DISH_PROFILE, (BBR,)))])


CLAIMS = (
    Claim(
        "7.1",
        (
            "The step in delay alone, with order kept and the queue moved, costs a bulk transfer at "
            "most 20 ms of its link."
        ),
        "in order and without loss, a step in delay is no signal",
        f"{ORDERED} over {FROZEN}: each median at most 20 ms",
        (FRAME,),
        step_alone,
    ),
    Claim(
        "7.2",
        ("Reordering by the difference of the two delays alone costs a bulk transfer at most 20 ms of its link."),
        "RFC 8985: RACK waits a part of the round trip",
        f"{MOVED} over {ORDERED}: each median at most 20 ms",
        (FRAME,),
        reordering_alone,
    ),
    Claim(
        "7.3",
        (
            "Most reordering comes from the queue left behind: with it, Reno and CUBIC have at least "
            "ten times the late packets that they have when the queue is moved."
        ),
        "claims 5.1 and 5.2 of cures",
        f"late packets of all samples, {PLAIN} at least ten times {MOVED}",
        (FRAME,),
        queue_makes_late,
    ),
    Claim(
        "7.4",
        ("The queue left behind costs a bulk transfer at most 40 ms of its link, reordering included."),
        "RFC 8985; DSACK undoes reductions",
        f"{PLAIN} over {MOVED}: each median at most 40 ms",
        (FRAME,),
        queue_left_behind,
    ),
    Claim(
        "7.5",
        ("A gap of 40 ms that loses costs Reno and CUBIC more than all else of the change together."),
        "a loss in a gap is real",
        f"median of {LOST} over {PLAIN} above that of {PLAIN} over {FROZEN}",
        (FRAME,),
        gap_outweighs,
    ),
    Claim(
        "7.6",
        "The same gap costs BBR less than it costs CUBIC.",
        "BBR takes no single loss for congestion",
        f"median of {LOST} over {PLAIN}, BBR's below CUBIC's",
        (FRAME,),
        bbr_suffers_less,
    ),
    Claim(
        "7.7",
        "A gap of 40 ms that buffers costs a bulk transfer at most twice its length.",
        "nothing is lost while the queue has room",
        f"{BUFFERED} over {PLAIN}: each median at most 80 ms",
        (FRAME,),
        buffering_costs_its_length,
    ),
    Claim(
        "7.8",
        "With make before break the gap costs a bulk transfer nothing, within 20 ms of its link.",
        "the old link carries meanwhile",
        f"{OLD} over {PLAIN}: each median from -20 to 20 ms",
        (FRAME,),
        make_before_break,
    ),
    Claim(
        "7.9",
        "A call loses one frame or more to a gap that loses, and none to one that buffers.",
        "30 frames a second: 40 ms meet one or two",
        f"frames never whole, {LOST} over {PLAIN}: median at least 1; {BUFFERED}: at most 0",
        (FRAME,),
        call_loses_frames,
    ),
    Claim(
        "7.10",
        "A gap that buffers makes the call's slowest frame later by at most its length.",
        "a frame waits no longer than the gap lasts",
        f"slowest frame, {BUFFERED} over {PLAIN}: median at most 40 ms",
        (FRAME,),
        slowest_frame,
    ),
    Claim(
        "7.11",
        (
            "A gap that loses makes a page load end later by more than its length; one that buffers "
            "by at most its length."
        ),
        "a loss costs a round trip, a hold its length",
        f"load time, {LOST} over {PLAIN}: median above 40 ms; {BUFFERED}: at most",
        (FRAME,),
        page_waits,
    ),
    Claim(
        "7.12",
        "Routes that wait for a laser cost a bulk transfer and a page load nothing, within 20 ms.",
        "another path is there meanwhile",
        f"{LASER_WAIT} over a laser that is there at once: each median from -20 to 20 ms",
        (FRAME,),
        waiting_costs_nothing,
    ),
    Claim(
        "7.13",
        (
            "A laser that is used a second before it is there, and loses, costs Reno and CUBIC more "
            "than that second; one that buffers costs them less than one that loses."
        ),
        "a second without a path, and slow start",
        f"{LASER_LOST}: median above 1000 ms; {LASER_BUFFERED}: below it",
        (FRAME,),
        laser_costs_more,
    ),
    Claim(
        "7.14",
        ("A reconfiguration of a dish with a hold of 40 ms costs a bulk transfer at most twice its length."),
        "the queue of a dish does not move",
        f"{DISH_HOLD} over a dish without: each median at most 80 ms",
        (FRAME,),
        hold_of_a_dish,
    ),
    Claim(
        "7.15",
        (
            "The whole profile of a dish costs Reno and CUBIC more than a second of the 18 s of a "
            "run, and BBR less than it costs CUBIC."
        ),
        "claim 6.8 of programs: such losses are no congestion",
        f"{DISH_PROFILE} over a dish without: medians above 1000 ms; BBR's below CUBIC's",
        (FRAME,),
        whole_profile,
    ),
)
