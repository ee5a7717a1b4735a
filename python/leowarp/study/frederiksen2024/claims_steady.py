# SPDX-License-Identifier: Apache-2.0
"""Claims on distributions: path delay, goodput, RTT, queues (1.1 to 1.5, 1.12 to 1.16).

Each function takes a sample (runs by slug) and returns an `Outcome`; its test stands in `CLAIMS`. Distributions are of
time: a sample of a socket counts for as long as it holds (`metrics.weighted_quantile`). The first 10 s are left out
everywhere (`evidence.SKIP_NS`).
"""

from __future__ import annotations

import numpy as np

from leowarp.study.claim import Claim, Outcome, Sample, Verdict, holds_if
from leowarp.study.frederiksen2024 import evidence as ev
from leowarp.study.frederiksen2024.evidence import NAMES
from leowarp.study.frederiksen2024.runs import ALGORITHMS, SCENARIOS


# Implements claim 1.1 of frederiksen2024 (text).
def path_delay_span(sample: Sample) -> Outcome:
    """max - min of the propagation delay of the forward path over the run, ground links included, in each scenario.

    The span over inter-satellite links alone is given beside it.

    The claim is about the route, so the forward path alone is taken, whatever it carries.

    Returns
    -------
    Outcome
        Numbers by slug, in ms: `span_ms`, `span_isl_only_ms`.
    """
    span, isl_span = {}, {}
    for slug in SCENARIOS:
        summary = sample[slug].metrics.summary
        span[slug] = (summary["path_delay_max_ns"] - summary["path_delay_min_ns"]) / 1e6
        isl_span[slug] = ev.isl_delay_span_ns(sample[slug]) / 1e6
    # From the routes and links themselves: no packet is needed, so TCP has no part in this claim.
    verdict = holds_if({slug: value < 2.5 for slug, value in span.items()})
    cause = ""
    if verdict != "holds":
        steps = {slug: sample[slug].changes["delay_step_ns"].abs().max() / 1e6 for slug in SCENARIOS}
        cause = (
            "the paths' lengths themselves: without ground links the span is "
            + _each(isl_span, "ms", 2)
            + "; the largest single step at a route change is "
            + _each(steps, "ms", 2)
        )
    return Outcome(
        verdict,
        "max - min: " + _each(span, "ms", 2),
        {"span_ms": span, "span_isl_only_ms": isl_span},
        cause,
    )


# Implements claim 1.2 of frederiksen2024 (figure 4).
def reno_suffers_most(sample: Sample) -> Outcome:
    """Mean goodput of the three algorithms, and what each misses in the 5 s after route changes.

    The mean alone does not tell route changes from overflowing queues. So what is missing is counted near changes only,
    against what the second before each would have given.

    Returns
    -------
    Outcome
        Numbers by slug: `goodput_mean_mbps`, `shortfall_ratio` (see `evidence.shortfall_ratio`).
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in ALGORITHMS}
    missing = {slug: ev.shortfall_ratio(sample[slug]) for slug in ALGORITHMS}
    parts = {
        "lowest mean": mean["reno"] == min(mean.values()),
        "largest shortfall": missing["reno"] == max(missing.values()),
    }
    cause = ""
    if not all(parts.values()):
        cause = _dips_text(sample, ALGORITHMS, 0.9) + "; what the senders did: " + _texts(sample, ALGORITHMS)
    return Outcome(
        holds_if(parts),
        f"mean goodput {_each(mean, 'Mbit/s', 2)}; missing in the 5 s after changes {_percent(missing)}",
        {"goodput_mean_mbps": mean, "shortfall_ratio": missing},
        cause,
    )


# Implements claim 1.3 of frederiksen2024 (figure 4).
def close_to_capacity(sample: Sample) -> Outcome:
    """Mean goodput of CUBIC and BBR over the payload rate of the links (1448 of 1514 bytes of a frame).

    "Close" is taken as 95 %; 90 % is the softer reading.

    Returns
    -------
    Outcome
        Numbers: `capacity_ratio` by slug.
    """
    ratio = {slug: ev.mean_bps(sample[slug]) / ev.capacity_bps(sample[slug]) for slug in ("cubic", "bbr")}
    both = {name: [value >= limit for value in ratio.values()] for name, limit in (("95 %", 0.95), ("90 %", 0.90))}
    verdict: Verdict = (
        "holds" if all(both["95 %"]) else ("partly" if any(both["95 %"]) or all(both["90 %"]) else "does not hold")
    )
    lost = {slug: ev.shortfall_ratio(sample[slug]) for slug in ratio}
    return Outcome(
        verdict,
        f"mean goodput over capacity {_percent(ratio)}; over 95 %: {sum(both['95 %'])} of 2, over 90 %: "
        f"{sum(both['90 %'])} of 2",
        {"capacity_ratio": ratio},
        ""
        if verdict == "holds"
        else f"missing in the 5 s after changes {_percent(lost)}; {_texts(sample, tuple(ratio))}",
    )


# Implements claim 1.4 of frederiksen2024 (figure 5).
def reno_rtt_lower(sample: Sample) -> Outcome:
    """Nine deciles of the smoothed RTT, weighted by time: "generally lower" is taken as lower at eight of them.

    Returns
    -------
    Outcome
        Numbers: `deciles_lower` (0 to 9), `srtt_deciles_ms` (nine values a slug).
    """
    deciles = [q / 10 for q in range(1, 10)]
    value = {slug: [ev.srtt_ms(sample[slug], q) for q in deciles] for slug in ALGORITHMS}
    # `ALGORITHMS` is Reno, CUBIC, BBR.
    lower = sum(r < min(c, b) for r, c, b in zip(*(value[slug] for slug in ALGORITHMS), strict=True))
    # "Generally": at all deciles but one. At more than half of them it is lower, but not generally.
    verdict: Verdict = "holds" if lower >= 8 else ("partly" if lower >= 5 else "does not hold")
    middle = {slug: value[slug][4] for slug in ALGORITHMS}
    cause = ""
    if verdict != "holds":
        queue = {slug: ev.full_queue_ratio(sample[slug], 0.5) for slug in ALGORITHMS}
        cause = f"share of time with a queue of half its limit or more: {_percent(queue)}; {_texts(sample, ALGORITHMS)}"
    return Outcome(
        verdict,
        f"Reno is below both at {lower} of 9 deciles; medians {_each(middle, 'ms', 1)}",
        {"deciles_lower": lower, "srtt_deciles_ms": value},
        cause,
    )


# Implements claim 1.5 of frederiksen2024 (figure 5).
def queues_full(sample: Sample) -> Outcome:
    """For how much of the time some queue of the path in force is at 90 % of its limit, for CUBIC and BBR.

    Some queue, not a given one: which link is the bottleneck changes with the route. The cause compares the window with
    what the empty path holds, because a window that is smaller cannot fill any queue.

    Returns
    -------
    Outcome
        Numbers by slug: `full_90_ratio`, `full_50_ratio`, shares of the time after 10 s.
    """
    at = {limit: {slug: ev.full_queue_ratio(sample[slug], limit) for slug in ALGORITHMS} for limit in (0.9, 0.5)}
    parts = {slug: at[0.9][slug] > 0.5 for slug in ("cubic", "bbr")}
    # Half of the limit is no full queue, but it is a standing one: "partly".
    softer = [at[0.5][slug] > 0.5 for slug in ("cubic", "bbr")]
    verdict = holds_if(parts)
    if verdict == "does not hold" and any(softer):
        verdict = "partly"
    cause = ""
    if verdict != "holds":
        rows = []
        for slug in ("cubic", "bbr"):
            samples, weights = ev.window_weights(sample[slug])
            cwnd = float(np.average(ev.floats(samples["cwnd_pkts"]), weights=weights))
            # There and back over the empty path: twice the one-way delay of the routes.
            rtt_ms = 2 * sample[slug].metrics.summary["path_delay_mean_ns"] / 1e6
            # Bandwidth-delay product of the empty path in segments of 1448 bytes of payload.
            room = ev.capacity_bps(sample[slug]) * rtt_ms / 1e3 / 8 / 1448
            rows.append(
                f"{NAMES[slug]}'s window is {cwnd:.0f} packets on average, of which the empty path holds {room:.0f}"
            )
        cause = "; ".join(rows) + "; " + _texts(sample, ("cubic", "bbr"))
    return Outcome(
        verdict,
        f"share of time with some queue of the path at 90 % of its limit {_percent(at[0.9])}; "
        f"at 50 %: {_percent(at[0.5])}",
        {"full_90_ratio": at[0.9], "full_50_ratio": at[0.5]},
        cause,
    )


# Implements claim 1.12 of frederiksen2024 (figure 9a).
def baseline_lowest_rtt(sample: Sample) -> Outcome:
    """Median smoothed RTT of the three scenarios; propagation is taken off in the cause, which leaves the queues.

    Returns
    -------
    Outcome
        Numbers: `srtt_p50_ms` by slug, `others_apart_ratio` (difference of the other two over the smaller).
    """
    middle = {slug: ev.srtt_ms(sample[slug], 0.5) for slug in SCENARIOS}
    base, nine, cape = (middle[slug] for slug in SCENARIOS)
    # Over the smaller, so that the order of the two does not matter.
    apart = abs(nine - cape) / min(nine, cape)
    parts = {"baseline lowest": base < min(nine, cape), "others comparable": apart <= 0.10}
    cause = ""
    if not all(parts.values()):
        empty = {slug: 2 * sample[slug].metrics.summary["path_delay_mean_ns"] / 1e6 for slug in SCENARIOS}
        queued = {slug: middle[slug] - empty[slug] for slug in SCENARIOS}
        cause = f"propagation there and back is {_each(empty, 'ms', 1)}, so {_each(queued, 'ms', 1)} are queues"
    return Outcome(
        holds_if(parts),
        f"median smoothed RTT {_each(middle, 'ms', 1)}; the other two differ by {apart:.1%} "
        f"(comparable at 10 %: {_yes(apart <= 0.1)}, at 20 %: {_yes(apart <= 0.2)})",
        {"srtt_p50_ms": middle, "others_apart_ratio": apart},
        cause,
    )


# Implements claim 1.13 of frederiksen2024 (figure 9a).
def cape_most_stable(sample: Sample) -> Outcome:
    """Range of the smoothed RTT between the 5th and 95th percentile, and between the 1st and 99th, for
    each scenario.

    Two ranges, as the 1st and 99th percentile hang on a few overflows, and the 5th and 95th do not see them.

    Returns
    -------
    Outcome
        Numbers by slug, in ms: `srtt_p5_p95_ms`, `srtt_p1_p99_ms`.
    """
    spread = {slug: ev.srtt_ms(sample[slug], 0.95) - ev.srtt_ms(sample[slug], 0.05) for slug in SCENARIOS}
    wide = {slug: ev.srtt_ms(sample[slug], 0.99) - ev.srtt_ms(sample[slug], 0.01) for slug in SCENARIOS}
    parts = {
        "5 to 95 %": spread["aalborg-cape-town"] == min(spread.values()),
        "1 to 99 %": wide["aalborg-cape-town"] == min(wide.values()),
    }
    cause = ""
    if not all(parts.values()):
        span = {}
        for slug in SCENARIOS:
            summary = sample[slug].metrics.summary
            span[slug] = 2 * (summary["path_delay_max_ns"] - summary["path_delay_min_ns"]) / 1e6
        cause = (
            f"propagation there and back spans only {_each(span, 'ms', 1)}: the rest is the queue that CUBIC fills "
            f"and, when it overflows, drains; {_texts(sample, SCENARIOS)}"
        )
    return Outcome(
        holds_if(parts),
        f"5th to 95th percentile {_each(spread, 'ms', 1)}; 1st to 99th {_each(wide, 'ms', 1)}",
        {"srtt_p5_p95_ms": spread, "srtt_p1_p99_ms": wide},
        cause,
    )


# Implements claim 1.14 of frederiksen2024 (figure 9b).
def cape_no_variation(sample: Sample) -> Outcome:
    """Share of the 50 ms bins of goodput below 90 % and below 50 % of the median, on Aalborg - Cape Town.

    Returns
    -------
    Outcome
        Numbers: `below_90_ratio`, `below_50_ratio`, shares of the bins after 10 s.
    """
    low = _dips(sample, 0.9)["aalborg-cape-town"]
    half = _dips(sample, 0.5)["aalborg-cape-town"]
    verdict: Verdict = "holds" if low == 0 else ("partly" if half == 0 or low < 0.001 else "does not hold")
    return Outcome(
        verdict,
        f"{low:.2%} of 50 ms bins are below 90 % of the median, {half:.2%} below 50 %",
        {"below_90_ratio": low, "below_50_ratio": half},
        "" if verdict == "holds" else f"{_dips_text(sample, ('aalborg-cape-town',), 0.9)}; {_changes_text(sample)}",
    )


# Implements claim 1.15 of frederiksen2024 (figure 9b).
def significant_drops(sample: Sample) -> Outcome:
    """Share of the 50 ms bins below half the median with 18 and with 9 planes.

    The paper says "about" 0.5 % and 1 %, hence a factor of 2. Half the median is our reading of "significantly"; below
    90 % is given as well.

    Returns
    -------
    Outcome
        Numbers by slug: `below_50_ratio`, `below_90_ratio`.
    """
    half, most = _dips(sample, 0.5), _dips(sample, 0.9)
    # The study's numbers, read as text and not off the figure.
    expected = {"cubic": 0.005, "nine-planes": 0.010}
    parts = {slug: value / 2 <= half[slug] <= value * 2 for slug, value in expected.items()}
    parts["nine planes more often"] = half["nine-planes"] > half["cubic"]
    cause = "" if all(parts.values()) else f"{_dips_text(sample, tuple(expected), 0.5)}; {_changes_text(sample)}"
    return Outcome(
        holds_if(parts),
        f"50 ms bins below 50 % of the median: {_percent({slug: half[slug] for slug in expected})}; below 90 %: "
        f"{_percent({slug: most[slug] for slug in expected})}",
        {"below_50_ratio": half, "below_90_ratio": most},
        cause,
    )


# Implements claim 1.16 of frederiksen2024 (figure 9b).
def comparable_means(sample: Sample) -> Outcome:
    """Mean goodput of the three scenarios against each other and against the payload rate.

    Returns
    -------
    Outcome
        Numbers: `goodput_mean_mbps` and `capacity_ratio` by slug, `apart_ratio` (largest over smallest mean, less 1).
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in SCENARIOS}
    ratio = {slug: ev.mean_bps(sample[slug]) / ev.capacity_bps(sample[slug]) for slug in SCENARIOS}
    apart = max(mean.values()) / min(mean.values()) - 1
    # "Comparable" and "almost unaffected" are two statements: alike among each other, and near what the links carry.
    parts = {"within 5 %": apart <= 0.05, "over 95 % of capacity": min(ratio.values()) >= 0.95}
    return Outcome(
        holds_if(parts),
        f"mean goodput {_each(mean, 'Mbit/s', 2)}, {apart:.1%} apart (within 5 %: {_yes(apart <= 0.05)}, within 10 %: "
        f"{_yes(apart <= 0.1)}); of capacity {_percent(ratio)}",
        {"goodput_mean_mbps": mean, "capacity_ratio": ratio, "apart_ratio": apart},
        "" if all(parts.values()) else _changes_text(sample) + "; " + _texts(sample, SCENARIOS),
    )


def _dips(sample: Sample, share: float) -> dict[str, float]:
    """Share of 50 ms bins of goodput below a share of their median, by scenario.

    Returns
    -------
    dict of str to float
        Of the median of the same run: a run that is slow throughout has no dips.
    """
    shares = {}
    for slug in SCENARIOS:
        rate = ev.rates_bps(sample[slug])
        shares[slug] = ev.share(rate < share * np.median(rate))
    return shares


def _dips_text(sample: Sample, slugs: tuple[str, ...], share: float) -> str:
    """For causes: low bins of goodput by what came before them."""
    return "; ".join(f"{NAMES[slug]}: {ev.dips_text(sample[slug], share)}" for slug in slugs)


def _changes_text(sample: Sample) -> str:
    """For causes: route changes by scenario, and what they made late, sent again and lost."""
    parts = []
    for slug in SCENARIOS:
        changes = sample[slug].changes
        late = changes[changes["late_pkts"].fillna(0) > 0]
        parts.append(
            f"{NAMES[slug]}: {len(changes)} route changes, {len(late)} with late packets "
            f"({int(late['late_pkts'].sum())} late, {int(changes['spurious_retransmissions_pkts'].sum())} of "
            f"{int(changes['retransmissions_pkts'].sum())} spurious retransmissions, "
            f"{int(changes['lost_pkts'].sum())} lost)"
        )
    return "; ".join(parts)


def _texts(sample: Sample, slugs: tuple[str, ...]) -> str:
    """For causes: what the senders' TCP counted."""
    return "; ".join(f"{NAMES[slug]}: {ev.counters_text(sample[slug])}" for slug in slugs)


def _each(values: dict[str, float], unit: str, digits: int) -> str:
    """Numbers by run, in words."""
    return ", ".join(f"{NAMES[slug]} {value:.{digits}f} {unit}" for slug, value in values.items())


def _percent(values: dict[str, float]) -> str:
    """Ratios by run, in percent."""
    return ", ".join(f"{NAMES[slug]} {value:.2%}" for slug, value in values.items())


def _yes(value: bool) -> str:
    """A truth value for a text."""
    return "yes" if value else "no"


CLAIMS = (
    Claim("1.1",
          "Propagation delay along the path varies by less than 2.5 ms (max - min) in each of the three scenarios.",
          "text", "Sum of the delays in force on the links of the forward path, ground links included, over the whole "
          "run; max - min < 2.5 ms in each scenario. Partly: in some. The ISLs alone are given beside it.", SCENARIOS,
          path_delay_span),
    Claim("1.2", "Reno's goodput suffers most from route changes.", "4",
          "In-order goodput in 50 ms bins after 10 s. (a) Reno has the lowest mean; (b) Reno misses the largest share, "
          "in the 5 s after route changes, of what the second before each would have given. Both: holds; one: partly.",
          ALGORITHMS, reno_suffers_most),
    Claim("1.3", "CUBIC and BBR run close to the path's capacity.", "4",
          "Mean in-order goodput after 10 s, over the payload rate of the links (95.64 Mbit/s). Holds: both at 95 %; "
          "partly: one of them, or both at 90 %.", ("cubic", "bbr"), close_to_capacity),
    Claim("1.4", "Reno's RTT is generally lower than CUBIC's and BBR's.", "5",
          "Smoothed RTT after 10 s, weighted by time: Reno's decile is below both others' at 8 of 9 deciles or more; "
          "partly at 5 or more.", ALGORITHMS, reno_rtt_lower),
    Claim("1.5", "CUBIC's and BBR's queues are full most of the time.", "5",
          "Queue samples every 50 ms after 10 s: some link of the path in force has 90 % of its limit of 500 packets "
          "waiting, for more than half of the time, for both. Partly: for one, or at 50 % of the limit.",
          ALGORITHMS, queues_full),
    Claim("1.12", "With CUBIC the baseline has the lowest RTT of the three scenarios, the other two are comparable.",
          "9a",
          "Median by time of the smoothed RTT after 10 s: baseline below both, and the other two within 10 % of each "
          "other (20 % is given too). One of them: partly.", SCENARIOS, baseline_lowest_rtt),
    Claim("1.13", "Aalborg-Cape Town has the most stable RTT.", "9a",
          "Smoothed RTT after 10 s: its range from the 5th to the 95th percentile is the smallest of the three, and so "
          "is that from the 1st to the 99th. One of them: partly.", SCENARIOS, cape_most_stable),
    Claim("1.14", "Aalborg-Cape Town shows no variation of goodput.", "9b",
          "In-order goodput in 50 ms bins after 10 s: none below 90 % of the median. Partly: none below 50 %, or fewer "
          "than 0.1 % below 90 %.", SCENARIOS, cape_no_variation),
    Claim("1.15", "CUBIC's goodput drops significantly about 0.5 % of the time with 18 planes and 1 % with 9.", "9b",
          "Share of 50 ms bins of in-order goodput, after 10 s, below 50 % of the median: within a factor of 2 of 0.5 "
          "% and of 1 %, and more often with 9 planes. All three: holds; some: partly. Below 90 % is given too.",
          SCENARIOS,
          significant_drops),
    Claim("1.16", "Mean goodput is comparable in the three; long-term throughput is almost unaffected.", "9b",
          "Mean in-order goodput after 10 s: largest over smallest within 5 % (10 % is given too), and each at 95 % of "
          "the payload rate or more. One of them: partly.", SCENARIOS, comparable_means),
)  # fmt: skip
