# SPDX-License-Identifier: Apache-2.0
"""Claims about the effects of reordering, and the conditions that increase it (1.25 to 1.30).

The functions have the form described in `claims_transient`. If the paper gives words instead of numbers, leowarp chose
the thresholds. The docstrings explain each choice.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd

from leowarp.study.claim import Claim, Outcome, Sample, holds_if, not_so
from leowarp_studies.frederiksen2024 import effects
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.evidence import NAMES
from leowarp_studies.frederiksen2024.runs import (
    ALGORITHMS,
    CAPACITIES_MBPS,
    CAPACITY_SENDERS,
    SCENARIOS,
    capacity_slug,
    control_slug,
    ordered_slug,
)
from leowarp_studies.frederiksen2024.words import (
    NONE_TO_TEST,
    changes_text,
    dips_text,
    each,
    percent,
    reordered_text,
    sender_texts,
)

STEPS_MBPS = tuple(sorted((*CAPACITIES_MBPS, 100)))
"""The link capacities in Mbit/s that claim 1.28 compares: the study's own 100 Mbit/s, and further capacities."""


# Implements claim 1.25 of frederiksen2024 (sections III, IV).
def order_is_what_is_missed(sample: Sample) -> Outcome:
    """Return the share of the damage that remains if the network keeps packets in order at the same route changes.

    Two values measure the damage. The first value is the goodput that is missing relative to the run without route
    changes. The second value is the number of changes after which the sending rate falls. A shortfall under 1 % counts
    as no damage, because two runs of the same path may differ by this much (claim 1.2). A single fall counts as no
    damage, because it may be chance.

    Returns: Numbers by run: `shortfall_ratio`, `ordered_shortfall_ratio` (below 0 if goodput is higher than without
        route changes); `falls`, `ordered_falls`, `changes`.
    """
    short, short_ordered, falls, falls_ordered, changes = {}, {}, {}, {}, {}
    parts = {}
    for slug in ALGORITHMS:
        run, ordered, still = sample[slug], sample[ordered_slug(slug)], sample[control_slug(slug)]
        short[slug] = 1 - ev.mean_bps(run) / ev.mean_bps(still)
        short_ordered[slug] = 1 - ev.mean_bps(ordered) / ev.mean_bps(still)
        changes[slug] = len(run.changes)
        falls[slug] = effects.sending_falls_after(run, run.changes["t_ns"])
        falls_ordered[slug] = effects.sending_falls_after(ordered, ordered.changes["t_ns"])
        if short[slug] >= 0.01:
            parts[f"goodput, {slug}"] = short_ordered[slug] <= short[slug] / 2
        if falls[slug] >= 2:
            parts[f"sending rate, {slug}"] = falls_ordered[slug] <= falls[slug] / 2
    numbers = {"shortfall_ratio": short, "ordered_shortfall_ratio": short_ordered, "falls": falls,
               "ordered_falls": falls_ordered, "changes": changes}  # fmt: skip
    measured = (
        f"goodput missing against the runs without route changes {percent(short)}; with the order kept "
        f"{percent(short_ordered)}; changes after which the sending rate falls by half "
        + ", ".join(
            f"{NAMES[slug]} {falls[slug]} of {changes[slug]} ({falls_ordered[slug]} with the order kept)"
            for slug in ALGORITHMS
        )
    )
    if not parts:
        return Outcome("cannot be told", f"{measured}: too little to be halved", numbers)
    cause = ""
    if not all(parts.values()):
        left = {slug: float(sample[ordered_slug(slug)].changes["late_pkts"].fillna(0).sum()) for slug in ALGORITHMS}
        cause = (
            f"{not_so(parts)}; late packets after changes with "
            f"the order kept {each(left, '', 0)}; {dips_text(sample, ALGORITHMS, 0.5)}; without the cure "
            f"{sender_texts(sample, ALGORITHMS)}"
        )
    return Outcome(holds_if(parts), measured, numbers, cause)


# Implements claim 1.26 of frederiksen2024 (sections II, IV).
def unnecessary_recovery(sample: Sample) -> Outcome:
    """Return the share of route changes after which the sender enters recovery and retransmits spuriously. Route
    changes are evaluated only if packets were late and none was dropped.

    A change is left out if a packet is dropped within 5 s (the attribution window), because recovery is then necessary.

    Returns: Numbers by run: `changes`; `recovery_ratio` and `spurious_ratio`, shares of the changes. A change has
        spurious retransmissions if more than half of the retransmissions after it were spurious.
    """
    rows: dict[str, dict[str, Any]] = {}
    every = []
    for slug in ALGORITHMS:
        changes = ev.reordered(sample[slug])
        changes = changes[changes["lost_pkts"].fillna(0) == 0]
        again = changes["retransmissions_pkts"].fillna(0)
        found = pd.DataFrame(
            {
                "recovery": changes["recovery_state_ns"].fillna(0) > 0,
                "spurious": changes["spurious_retransmissions_pkts"].fillna(0) > again / 2,
            }
        )
        every.append(found)
        rows[slug] = {"changes": len(found), "recovery_ratio": ev.share(found["recovery"]),
                      "spurious_ratio": ev.share(found["spurious"])}  # fmt: skip
    together = pd.concat(every)
    if not len(together):
        return NONE_TO_TEST
    parts = {name: ev.share(together[name]) > 0.5 for name in ("recovery", "spurious")}
    return Outcome(
        holds_if(parts),
        f"{len(together)} changes with late packets and no drop: in recovery after "
        f"{ev.share(together['recovery']):.0%}, most retransmissions spurious after "
        f"{ev.share(together['spurious']):.0%} ("
        + "; ".join(
            f"{NAMES[slug]} "
            + (
                f"{row['recovery_ratio']:.0%}, {row['spurious_ratio']:.0%} of {row['changes']}"
                if row["changes"]
                else "0"
            )
            for slug, row in rows.items()
        )
        + ")",
        rows,
        "" if all(parts.values()) else sender_texts(sample, ALGORITHMS) + "; " + reordered_text(sample, ALGORITHMS),
    )


# Implements claim 1.27 of frederiksen2024 (section III).
def stable_within_planes(sample: Sample) -> Outcome:
    """Count the ISLs on the paths of the three scenarios, separately for links within a plane and between planes. The
    share of bins with low goodput and the late packets per change are also measured.

    The test compares Aalborg-Cape Town with the two other scenarios. The test also compares two constellations, one
    with nine planes and one with eighteen. In the constellation with nine planes, paths must have fewer ISLs that join
    different planes. The test does not compare low bins or late packets between nine and eighteen planes. According to
    the paper (claim 1.15), a constellation with nine planes has fewer links between planes, but more drops of goodput.

    Returns: Numbers by run: `within_planes`, `between_planes` (ISLs, means over time), `low_ratio` (bins below half of
        the median), `late_per_change_pkts`.
    """
    kinds = {slug: effects.isls_by_kind(sample[slug]) for slug in SCENARIOS}
    within, between = ({slug: kinds[slug][place] for slug in SCENARIOS} for place in (0, 1))
    low, late = {}, {}
    for slug in SCENARIOS:
        low[slug] = ev.dips_ratio(sample[slug], 0.5)
        late[slug] = float(sample[slug].changes["late_pkts"].astype("Float64").fillna(0).mean())
    base, nine, cape = SCENARIOS
    parts = {
        "nine planes: fewer between planes": between[nine] < between[base],
        "Cape Town: mostly within planes": within[cape] > between[cape],
        "Cape Town: fewest low bins": low[cape] < min(low[base], low[nine]),
        "Cape Town: fewest late packets": late[cape] < min(late[base], late[nine]),
    }
    return Outcome(
        holds_if(parts),
        "ISLs within a plane and between planes "
        + ", ".join(f"{NAMES[slug]} {within[slug]:.1f} and {between[slug]:.1f}" for slug in SCENARIOS)
        + f"; bins below 50 % of the median {percent(low)}; late packets per change {each(late, '', 0)}",
        {"within_planes": within, "between_planes": between, "low_ratio": low, "late_per_change_pkts": late},
        "" if all(parts.values()) else f"{not_so(parts)}; {dips_text(sample, SCENARIOS, 0.5)}; {changes_text(sample)}",
    )


# Implements claim 1.28 of frederiksen2024 (section II).
def capacity_makes_more_late(sample: Sample) -> Outcome:
    """For each link capacity, return the packets in flight before changes to a shorter path, and the late packets per
    change.

    All capacities are compared at the same changes, namely the changes before the end of the shortest run. At each
    capacity, a queue holds 500 packets.

    Returns: Numbers by sender, then by capacity in Mbit/s: `in_flight_pkts` (median), `late_per_change_pkts` (mean),
        and `changes` (number of changes).
    """
    slugs = {sender: {mbps: capacity_slug(sender, mbps) for mbps in STEPS_MBPS} for sender in CAPACITY_SENDERS}
    end_ns = min(sample[slug].numbers.end_ns for by_mbps in slugs.values() for slug in by_mbps.values())
    flight: dict[str, dict[int, float]] = {}
    late: dict[str, dict[int, float]] = {}
    counts = []
    for sender, by_mbps in slugs.items():
        flight[sender], late[sender] = {}, {}
        for mbps, slug in by_mbps.items():
            changes = sample[slug].changes
            # A change is left out if its attribution window (5 s) ends after the end of the shortest run.
            near = changes["is_shorter"].fillna(False).astype(bool) & (changes["t_ns"] + 5_000_000_000 <= end_ns)
            shorter = changes[near]
            counts.append(len(shorter))
            flight[sender][mbps] = effects.in_flight_pkts(sample[slug], shorter["t_ns"])
            late[sender][mbps] = float(shorter["late_pkts"].astype("Float64").fillna(0).mean()) if len(shorter) else 0.0
    if not min(counts):
        return Outcome("cannot be told", "no route change of these runs led to a shorter path")
    parts = {}
    for sender in CAPACITY_SENDERS:
        parts[f"in flight, {sender}"] = _grows(flight[sender])
        parts[f"late, {sender}"] = _grows(late[sender])
    return Outcome(
        holds_if(parts),
        f"{min(counts)} changes to a shorter path, at {', '.join(map(str, STEPS_MBPS))} Mbit/s: "
        + "; ".join(
            f"{NAMES[sender]} {_listed(flight[sender])} packets in flight, {_listed(late[sender])} late per change"
            for sender in CAPACITY_SENDERS
        ),
        {"changes": min(counts), "in_flight_pkts": flight, "late_per_change_pkts": late},
        ""
        if all(parts.values())
        else "queues hold 500 packets at each capacity, so what an abandoned queue makes late does not grow; "
        + _left_text(sample, slugs),
    )


# Implements claim 1.29 of frederiksen2024 (section II).
def events_are_frequent(sample: Sample) -> Outcome:
    """For each scenario with CUBIC, count the route changes that make packets late. The counts are given per minute,
    and as a share of all changes.

    Two conditions define "frequent". At least once in two minutes (four updates of the routes), a route change must
    make packets late. At least a quarter of all changes must make packets late. leowarp chose these thresholds when the
    result for the baseline (README.md) was already known.

    Returns: Numbers by run: `events`, `events_per_minute`, `of_changes_ratio`.
    """
    events, rate, ratio = {}, {}, {}
    for slug in SCENARIOS:
        late = sample[slug].changes["late_pkts"].fillna(0) > 0
        events[slug] = int(late.sum())
        rate[slug] = events[slug] * 60e9 / sample[slug].numbers.end_ns
        ratio[slug] = ev.share(late)
    parts = {f"{slug} per minute": rate[slug] >= 0.5 for slug in SCENARIOS}
    parts |= {f"{slug} of changes": ratio[slug] >= 0.25 for slug in SCENARIOS}
    stricter = sum(rate[slug] >= 1 and ratio[slug] >= 0.5 for slug in SCENARIOS)
    return Outcome(
        holds_if(parts),
        f"changes with late packets {each(rate, 'per minute', 2)}; of all changes {percent(ratio)}; one a minute and "
        f"half of the changes: {stricter} of {len(SCENARIOS)} scenarios",
        {"events": events, "events_per_minute": rate, "of_changes_ratio": ratio},
        "" if all(parts.values()) else changes_text(sample),
    )


# Implements claim 1.30 of frederiksen2024 (section III).
def cubic_performs_best(sample: Sample) -> Outcome:
    """Compare the mean goodput of the three algorithms, and their shares of bins with low goodput.

    Returns: Numbers by run: `goodput_mean_mbps`, `below_50_ratio`, `below_90_ratio`. `below_50_ratio` and
        `below_90_ratio` are the shares of bins below 50 % and 90 % of the median.
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in ALGORITHMS}
    below: dict[float, dict[str, float]] = {0.5: {}, 0.9: {}}
    for slug in ALGORITHMS:
        for limit, shares in below.items():
            shares[slug] = ev.dips_ratio(sample[slug], limit)
    parts = {
        "highest mean": mean["cubic"] == max(mean.values()),
        "fewest low bins": below[0.5]["cubic"] == min(below[0.5].values()),
    }
    return Outcome(
        holds_if(parts),
        f"mean goodput {each(mean, 'Mbit/s', 2)}; 50 ms bins below 50 % of the median {percent(below[0.5])}, below "
        f"90 % {percent(below[0.9])}",
        {"goodput_mean_mbps": mean, "below_50_ratio": below[0.5], "below_90_ratio": below[0.9]},
        "" if all(parts.values()) else dips_text(sample, ALGORITHMS, 0.5) + "; " + sender_texts(sample, ALGORITHMS),
    )


def _grows(values: dict[int, float]) -> bool:
    """Return true if the value increases from each capacity to the next larger one."""
    ordered = [values[mbps] for mbps in STEPS_MBPS]
    return all(one < other for one, other in pairwise(ordered))


def _listed(values: dict[int, float]) -> str:
    """Return the values as text, from the smallest capacity to the largest."""
    return ", ".join(f"{values[mbps]:.0f}" for mbps in STEPS_MBPS)


def _left_text(sample: Sample, slugs: dict[str, dict[int, str]]) -> str:
    """Return a text that explains a verdict. The text gives the number of packets in the queues that the path leaves
    behind."""
    texts = []
    for sender, by_mbps in slugs.items():
        left = {}
        for mbps, slug in by_mbps.items():
            changes = sample[slug].changes
            left[mbps] = ev.median(changes.loc[changes["is_shorter"].fillna(False).astype(bool), "queue_left_pkts"])
        texts.append(f"{NAMES[sender]} {_listed(left)}")
    return "packets in queues left behind (medians): " + "; ".join(texts)


_CAPACITY_SLUGS = tuple(capacity_slug(sender, mbps) for sender in CAPACITY_SENDERS for mbps in STEPS_MBPS)

CLAIMS = (
    Claim("1.25", "Most of the performance degradation is due to out-of-order delivery at changes of the path; massive "
          "reorderings cause significant short-term drops in the sending rate.", "sections III, IV",
          "Reno, CUBIC and BBR, and the same over a network that keeps the order at route changes (the cures "
          "`move_queue` and `hold`). For each: (a) mean in-order goodput after 10 s missing against the run without "
          "route changes, if it is 1 % or more, is half or less with the order kept; (b) changes after which some 50 "
          "ms bin of the sending rate, within 2 s, is below 50 % of the mean of the second before, if there are 2 or "
          "more, are half as many or fewer. All: holds; some: partly; nothing of either size: cannot be told.",
          (*ALGORITHMS, *map(control_slug, ALGORITHMS), *map(ordered_slug, ALGORITHMS)), order_is_what_is_missed),
    Claim("1.26", "Reordering is perceived as a packet loss event and triggers an expensive retransmission and loss "
          "recovery procedure; the sender enters loss recovery unnecessarily.", "sections II, IV",
          "Over changes of the three runs with late packets, and with no packet dropped within 5 s: in more than half "
          "(a) the sender is in recovery at some time within 5 s; (b) it retransmits, and more than half of that is "
          "spurious. One: partly.", ALGORITHMS, unnecessary_recovery),
    Claim("1.27", "Routes with fewer inter-plane ISLs give a more stable goodput: 9 planes have fewer than 18, Aalborg-"
          "Cape Town mostly has intra-plane ISLs.", "III",
          "ISLs of the path, means over time: (a) 9 planes have fewer between planes than the baseline; (b) "
          "Aalborg-Cape Town has more within planes than between. CUBIC: Aalborg-Cape Town has (c) fewer 50 ms bins of "
          "in-order goodput below 50 % of the median, and (d) fewer late packets per change, than either other "
          "scenario. All: holds; some: partly.", SCENARIOS, stable_within_planes),
    Claim("1.28", "A high capacity of the links worsens it by more packets in flight, and so more packets affected by "
          "reordering if the new route is faster.", "II",
          "CUBIC and BBR at 25, 100 and 400 Mbit/s, queues of 500 packets, the changes to a shorter path of the first "
          "300 s: (a) packets in flight just before (median) and (b) late packets per change (mean) grow at each step, "
          "for each. All four: holds; some: partly.", _CAPACITY_SLUGS, capacity_makes_more_late),
    Claim("1.29", "Reordering events are frequent.", "II",
          "The three scenarios with CUBIC: changes with late packets are (a) 0.5 per minute or more and (b) 25 % or "
          "more of all changes, in each (1 per minute with 50 % is given too). In some: partly.",
          SCENARIOS, events_are_frequent),
    Claim("1.30", "CUBIC is the best-performing algorithm.", "III",
          "In-order goodput in 50 ms bins after 10 s: of the three CUBIC has (a) the highest mean; (b) the smallest "
          "share of bins below 50 % of its own median (90 % is given too). One: partly.",
          ALGORITHMS, cubic_performs_best),
)  # fmt: skip
