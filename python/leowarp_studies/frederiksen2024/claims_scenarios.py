# SPDX-License-Identifier: Apache-2.0
"""Claims about the three scenarios: RTT, goodput, long-term throughput (1.12 to 1.16, 1.23).

The functions have the form described in `claims_steady`. Claims about the variation of goodput use two measurements.
The first counts data in order at the receiver, as an application gets it. The second counts acknowledged data at the
sender. The study samples goodput at 20 Hz, and does not say at which end of the flow.
"""

from __future__ import annotations

from collections.abc import Mapping

from leowarp.study.claim import Claim, Outcome, Sample, Verdict, holds_if
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.runs import BBR_SCENARIOS, SCENARIOS, control_slug
from leowarp_studies.frederiksen2024.words import changes_text, dips_text, each, percent, sender_texts, yes

READINGS = {"in_order": "in order at the receiver", "acked": "acknowledged at the sender"}
"""The two places at which goodput is measured, receiver and sender, each with its text (`metrics.GOODPUT_SERIES`)."""
UNAFFECTED_RATIO = 0.98
"""A scenario counts as "almost unaffected" if its ratio is at least this value. The ratio is the mean goodput with
route changes, divided by the mean goodput without route changes."""


# Implements claim 1.12 of frederiksen2024 (figure 9a).
def baseline_lowest_rtt(sample: Sample) -> Outcome:
    """Compare the median smoothed RTT of the three scenarios. If the claim does not fully hold, the queueing delay (RTT
    minus propagation) is listed as an explanation.

    Returns: Numbers: `srtt_p50_ms` by run; `others_apart_ratio`, the RTT difference between nine planes and
        Aalborg-Cape Town, divided by the smaller RTT.
    """
    middle = {slug: ev.srtt_ms(sample[slug], 0.5) for slug in SCENARIOS}
    base, nine, cape = (middle[slug] for slug in SCENARIOS)
    # The difference is divided by the smaller RTT, so that the order of the two scenarios does not matter.
    apart = abs(nine - cape) / min(nine, cape)
    parts = {"baseline lowest": base < min(nine, cape), "others comparable": apart <= 0.10}
    cause = ""
    if not all(parts.values()):
        empty = {slug: 2 * sample[slug].numbers.summary["path_delay_mean_ns"] / 1e6 for slug in SCENARIOS}
        queued = {slug: middle[slug] - empty[slug] for slug in SCENARIOS}
        cause = f"propagation there and back is {each(empty, 'ms', 1)}, so {each(queued, 'ms', 1)} are queues"
    return Outcome(
        holds_if(parts),
        f"median smoothed RTT {each(middle, 'ms', 1)}; the other two differ by {apart:.1%} "
        f"(comparable at 10 %: {yes(apart <= 0.1)}, at 20 %: {yes(apart <= 0.2)})",
        {"srtt_p50_ms": middle, "others_apart_ratio": apart},
        cause,
    )


# Implements claim 1.13 of frederiksen2024 (figure 9a).
def cape_most_stable(sample: Sample) -> Outcome:
    """Return two ranges of the smoothed RTT for each scenario. The ranges are from the 5th to the 95th percentile, and
    from the 1st to the 99th percentile.

    A few overflows of queues change the 1st and 99th percentiles, but not the 5th and 95th.

    Returns: Numbers by run, in ms: `srtt_p5_p95_ms`, `srtt_p1_p99_ms`.
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
            summary = sample[slug].numbers.summary
            span[slug] = 2 * (summary["path_delay_max_ns"] - summary["path_delay_min_ns"]) / 1e6
        cause = (
            f"propagation there and back spans only {each(span, 'ms', 1)}: the rest is the queue that CUBIC fills "
            f"and, when it overflows, drains; {sender_texts(sample, SCENARIOS)}"
        )
    return Outcome(
        holds_if(parts),
        f"5th to 95th percentile {each(spread, 'ms', 1)}; 1st to 99th {each(wide, 'ms', 1)}",
        {"srtt_p5_p95_ms": spread, "srtt_p1_p99_ms": wide},
        cause,
    )


# Implements claim 1.14 of frederiksen2024 (figure 9b).
def cape_no_variation(sample: Sample) -> Outcome:
    """Return the share of 50 ms bins with low goodput on Aalborg - Cape Town. Two limits are used for low goodput: 90 %
    and 50 % of the median.

    A lost packet stops in-order delivery and acknowledgements for different times, so goodput is measured at both ends.

    Returns: Two numbers for each of the two ends: `below_90_ratio` and `below_50_ratio`. They are shares of the bins
        after 10 s.
    """
    low, half = ({name: _dips(sample, share, name)["aalborg-cape-town"] for name in READINGS} for share in (0.9, 0.5))
    verdicts: list[Verdict] = [
        "holds" if low[name] == 0 else "partly" if half[name] == 0 or low[name] < 0.001 else "does not hold"
        for name in READINGS
    ]
    verdict = _of_both(verdicts)
    return Outcome(
        verdict,
        "; ".join(
            f"{text}: {low[name]:.2%} of 50 ms bins are below 90 % of the median, {half[name]:.2%} below 50 %"
            for name, text in READINGS.items()
        ),
        {"below_90_ratio": low, "below_50_ratio": half},
        "" if verdict == "holds" else f"{dips_text(sample, ('aalborg-cape-town',), 0.9)}; {changes_text(sample)}",
    )


# Implements claim 1.15 of frederiksen2024 (figure 9b).
def significant_drops(sample: Sample) -> Outcome:
    """Return the share of the 50 ms bins below half the median, with 18 planes and with 9. Goodput is measured at both
    ends of the flow.

    The paper says "about" 0.5 % and 1 %, so the test allows a factor of 2. A drop is "significant" if the goodput of a
    bin is below half of the median. Two further shares are listed, but do not affect the verdict. The first is the
    share of bins below 90 % of the median. The second is the share of bins below half of the median if the path does
    not change.

    Returns: Numbers by end and run: `below_50_ratio`, `below_90_ratio`, `unchanging_below_50_ratio`.
    """
    half, most = ({name: _dips(sample, share, name) for name in READINGS} for share in (0.5, 0.9))
    # The study states the expected shares in its text, so they were not read from a figure.
    expected = {"cubic": 0.005, "nine-planes": 0.010}
    controls = {slug: sample[control_slug(slug)] for slug in expected}
    still = {name: _dips(controls, 0.5, name) for name in READINGS}
    verdicts = []
    for name in READINGS:
        parts = {slug: value / 2 <= half[name][slug] <= value * 2 for slug, value in expected.items()}
        parts["nine planes more often"] = half[name]["nine-planes"] > half[name]["cubic"]
        verdicts.append(holds_if(parts))
    verdict = _of_both(verdicts)

    def of_two(shares: Mapping[str, float]) -> str:
        return percent({slug: shares[slug] for slug in expected})

    return Outcome(
        verdict,
        "; ".join(
            f"{text}: 50 ms bins below 50 % of the median {of_two(half[name])} (without route changes "
            f"{of_two(still[name])}); below 90 % {of_two(most[name])}"
            for name, text in READINGS.items()
        ),
        {"below_50_ratio": half, "below_90_ratio": most, "unchanging_below_50_ratio": still},
        "" if verdict == "holds" else f"{dips_text(sample, tuple(expected), 0.5)}; {changes_text(sample)}",
    )


# Implements claim 1.16 of frederiksen2024 (figure 9b, section IV).
def comparable_means(sample: Sample) -> Outcome:
    """Compare CUBIC's mean goodput in the three scenarios. Each mean is also compared with the payload rate, and with
    the mean of a run without route changes.

    Returns: Numbers: `goodput_mean_mbps`, `capacity_ratio` and `unchanging_ratio` (relative to the mean without route
        changes) by run, `apart_ratio` (largest divided by smallest mean, minus 1).
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in SCENARIOS}
    ratio = {slug: ev.mean_bps(sample[slug]) / ev.capacity_bps(sample[slug]) for slug in SCENARIOS}
    still = _of_control(sample, SCENARIOS)
    apart = max(mean.values()) / min(mean.values()) - 1
    # The claim's words "comparable" and "almost unaffected" make two statements: the scenarios have similar means, and
    # changes hardly reduce the means.
    parts = {
        "within 5 %": apart <= 0.05,
        "over 95 % of capacity": min(ratio.values()) >= 0.95,
        "unaffected": min(still.values()) >= UNAFFECTED_RATIO,
    }
    return Outcome(
        holds_if(parts),
        f"mean goodput {each(mean, 'Mbit/s', 2)}, {apart:.1%} apart (within 5 %: {yes(apart <= 0.05)}, within 10 %: "
        f"{yes(apart <= 0.1)}); of capacity {percent(ratio)}; of the mean without route changes {percent(still)}",
        {"goodput_mean_mbps": mean, "capacity_ratio": ratio, "unchanging_ratio": still, "apart_ratio": apart},
        "" if all(parts.values()) else changes_text(sample) + "; " + sender_texts(sample, SCENARIOS),
    )


# Implements claim 1.23 of frederiksen2024 (section IV).
def bbr_unaffected(sample: Sample) -> Outcome:
    """Compare the mean goodput of BBR in the three scenarios with its mean goodput on the same path without route
    changes.

    The goodput is not compared with the capacity, because BBR drains its queue every 10 s even without route changes,
    to measure the delay.

    Returns: Numbers by run: `goodput_mean_mbps`, `unchanging_ratio`.
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in BBR_SCENARIOS}
    still = _of_control(sample, BBR_SCENARIOS)
    parts = {slug: value >= UNAFFECTED_RATIO for slug, value in still.items()}
    return Outcome(
        holds_if(parts),
        f"mean goodput {each(mean, 'Mbit/s', 2)}: of the mean without route changes {percent(still)}",
        {"goodput_mean_mbps": mean, "unchanging_ratio": still},
        "" if all(parts.values()) else sender_texts(sample, BBR_SCENARIOS),
    )


def _of_control(sample: Sample, slugs: tuple[str, ...]) -> dict[str, float]:
    """Return, for each run, its mean goodput as a share of the mean goodput on the same path without route changes."""
    return {slug: ev.mean_bps(sample[slug]) / ev.mean_bps(sample[control_slug(slug)]) for slug in slugs}


def _of_both(verdicts: list[Verdict]) -> Verdict:
    """Combine the verdicts for receiver and sender. If both verdicts are equal, return this verdict, otherwise
    "partly"."""
    return verdicts[0] if len(set(verdicts)) == 1 else "partly"


def _dips(sample: Sample, share: float, reading: str) -> dict[str, float]:
    """Return a dict from the name of each CUBIC run to its share of low 50 ms bins. A bin is low if its goodput is
    below `share` times the median.

    Each run is compared with its own median, so a run that is always slow has no low bins.
    """
    return {slug: ev.dips_ratio(sample[slug], share, reading) for slug in SCENARIOS if slug in sample}


CLAIMS = (
    Claim("1.12", "With CUBIC the baseline has the lowest RTT of the three scenarios, the other two are comparable.",
          "9a",
          "Median by time of the smoothed RTT after 10 s: baseline below both, and the other two within 10 % of each "
          "other (20 % is given too). One of them: partly.", SCENARIOS, baseline_lowest_rtt),
    Claim("1.13", "Aalborg-Cape Town has the most stable RTT.", "9a",
          "Smoothed RTT after 10 s: its range from the 5th to the 95th percentile is the smallest of the three, and "
          "so is that from the 1st to the 99th. One of them: partly.", SCENARIOS, cape_most_stable),
    Claim("1.14", "Aalborg-Cape Town shows no variation of goodput.", "9b",
          "Goodput in 50 ms bins after 10 s, in order at the receiver and acknowledged at the sender: none below 90 % "
          "of the median. Partly: none below 50 %, or fewer than 0.1 % below 90 %; or the two readings differ.",
          SCENARIOS, cape_no_variation),
    Claim("1.15", "CUBIC's goodput drops significantly about 0.5 % of the time with 18 planes and 1 % with 9.", "9b",
          "Share of 50 ms bins of goodput, after 10 s, below 50 % of the median: within a factor of 2 of 0.5 % and of "
          "1 %, and more often with 9 planes. All three: holds; some: partly. In order at the receiver and "
          "acknowledged at the sender; if the two differ: partly. Below 90 % and runs without route changes are given "
          "too.", (*SCENARIOS, *map(control_slug, ("cubic", "nine-planes"))), significant_drops),
    Claim("1.16", "Mean goodput is comparable in the three; long-term throughput is almost unaffected.",
          "figure 9b, section IV",
          "CUBIC's mean in-order goodput after 10 s: largest over smallest within 5 % (10 % is given too), each at 95 "
          "% of the payload rate or more, each at 98 % of the mean without route changes or more. Some: partly. BBR: "
          "claim 1.23.", (*SCENARIOS, *map(control_slug, SCENARIOS)), comparable_means),
    Claim("1.23", "BBR's average throughput for long-term flows is almost unaffected, too.", "IV",
          "BBR's mean in-order goodput after 10 s is 98 % or more of the mean without route changes, in each of the "
          "three scenarios. In some: partly.", (*BBR_SCENARIOS, *map(control_slug, BBR_SCENARIOS)), bbr_unaffected),
)  # fmt: skip
