# SPDX-License-Identifier: Apache-2.0
"""Claims about the path delay, goodput, RTT and queues of the baseline (1.1 to 1.5), and about its route changes per
minute (1.21).

Each function takes a sample, which is a dict from name to run, and returns an `Outcome`. `CLAIMS` describes the test of
each claim. Distributions are weighted by time. The value of a socket sample applies until the next sample
(`metrics.weighted_quantile`). The first 10 s of a run are never evaluated (`evidence.SKIP_NS`).
"""

from __future__ import annotations

import numpy as np

from leowarp.study.claim import Claim, Outcome, Sample, Verdict, holds_if
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.evidence import NAMES
from leowarp_studies.frederiksen2024.runs import ALGORITHMS, SCENARIOS, control_slug
from leowarp_studies.frederiksen2024.words import changes_text, dips_text, each, percent, sender_texts, yes


# Implements claim 1.1 of frederiksen2024 (section III).
def path_delay_span(sample: Sample) -> Outcome:
    """Return how much the propagation delay of the forward path varies in each scenario, as maximum minus minimum. The
    delay includes ground links.

    The span without ground links is also listed, but does not affect the verdict.

    The return path is not used, because the claim is about one route.

    Returns: Numbers by run, in ms: `span_ms`, `span_isl_only_ms`.
    """
    span, isl_span = {}, {}
    for slug in SCENARIOS:
        summary = sample[slug].numbers.summary
        span[slug] = (summary["path_delay_max_ns"] - summary["path_delay_min_ns"]) / 1e6
        isl_span[slug] = ev.isl_delay_span_ns(sample[slug]) / 1e6
    # The delay is computed from routes and links. No packets are involved, so TCP has no influence on this claim.
    verdict = holds_if({slug: value < 2.5 for slug, value in span.items()})
    cause = ""
    if verdict != "holds":
        steps = {slug: sample[slug].changes["delay_step_ns"].abs().max() / 1e6 for slug in SCENARIOS}
        cause = (
            "the paths' lengths themselves: without ground links the span is "
            + each(isl_span, "ms", 2)
            + "; the largest single step at a route change is "
            + each(steps, "ms", 2)
        )
    return Outcome(
        verdict,
        "max - min: " + each(span, "ms", 2),
        {"span_ms": span, "span_isl_only_ms": isl_span},
        cause,
    )


# Implements claim 1.2 of frederiksen2024 (figure 4).
def reno_suffers_most(sample: Sample) -> Outcome:
    """Compare the mean goodput of the three algorithms with and without route changes. Also compare how much goodput
    each algorithm loses after changes.

    The mean alone does not show whether route changes or overflowing queues reduce goodput. Two comparisons show the
    effect of route changes. The first comparison uses the control run, which has no changes. The second comparison uses
    the last 1 s before each change.

    Returns: Numbers by run: `goodput_mean_mbps`, `unchanging_mean_mbps`, `lost_ratio` (1 - `goodput_mean_mbps` /
        `unchanging_mean_mbps`), `shortfall_ratio` (see `evidence.shortfall_ratio`).
    """
    mean = {slug: ev.mean_bps(sample[slug]) / 1e6 for slug in ALGORITHMS}
    still = {slug: ev.mean_bps(sample[control_slug(slug)]) / 1e6 for slug in ALGORITHMS}
    lost = {slug: 1 - mean[slug] / still[slug] for slug in ALGORITHMS}
    missing = {slug: ev.shortfall_ratio(sample[slug]) for slug in ALGORITHMS}
    parts = {
        "lowest mean": mean["reno"] == min(mean.values()),
        # The tolerance is 1 %, because two runs of the same path differ by up to 1 %.
        "loses most to changes": lost["reno"] == max(lost.values()) and lost["reno"] >= 0.01,
        "largest shortfall": missing["reno"] == max(missing.values()),
    }
    cause = ""
    if not all(parts.values()):
        cause = dips_text(sample, ALGORITHMS, 0.9) + "; what the senders did: " + sender_texts(sample, ALGORITHMS)
    return Outcome(
        holds_if(parts),
        f"mean goodput {each(mean, 'Mbit/s', 2)}; without route changes {each(still, 'Mbit/s', 2)}, so that changes "
        f"cost {percent(lost)}; missing in the 5 s after changes {percent(missing)}",
        {"goodput_mean_mbps": mean, "unchanging_mean_mbps": still, "lost_ratio": lost, "shortfall_ratio": missing},
        cause,
    )


# Implements claim 1.3 of frederiksen2024 (figure 4).
def close_to_capacity(sample: Sample) -> Outcome:
    """Compare the mean and the distribution of CUBIC's and BBR's goodput with the payload rate of the links. A frame of
    1514 bytes contains 1448 bytes of payload.

    "Close" means that the mean is at least 95 % of the payload rate. If the mean is at least 90 %, the claim holds
    partly. Figure 4 shows the distribution of goodput. Therefore, nine of ten 50 ms bins must also be close to the
    capacity.

    Returns: Numbers by run: `capacity_ratio`, `close_bins_ratio` (share of the bins with at least 90 % of the
        capacity).
    """
    slugs = ("cubic", "bbr")
    ratio = {slug: ev.mean_bps(sample[slug]) / ev.capacity_bps(sample[slug]) for slug in slugs}
    bins = {slug: ev.share(ev.rates_bps(sample[slug]) >= 0.9 * ev.capacity_bps(sample[slug])) for slug in slugs}
    close = {slug: ratio[slug] >= 0.95 and bins[slug] >= 0.9 for slug in slugs}
    softer = all(value >= 0.9 for value in ratio.values())
    verdict: Verdict = (
        "holds" if all(close.values()) else "partly" if any(close.values()) or softer else "does not hold"
    )
    lost = {slug: ev.shortfall_ratio(sample[slug]) for slug in ratio}
    return Outcome(
        verdict,
        f"mean goodput over capacity {percent(ratio)} (over 90 %, both: {yes(softer)}); bins at 90 % of it or more "
        f"{percent(bins)}",
        {"capacity_ratio": ratio, "close_bins_ratio": bins},
        ""
        if verdict == "holds"
        else f"missing in the 5 s after changes {percent(lost)}; {sender_texts(sample, tuple(ratio))}",
    )


# Implements claim 1.4 of frederiksen2024 (figure 5).
def reno_rtt_lower(sample: Sample) -> Outcome:
    """Compare the nine deciles of the smoothed RTT. The deciles are weighted by time. "Generally lower" means lower at
    eight of the nine deciles.

    Returns: Numbers: `deciles_lower` (0 to 9), `srtt_deciles_ms` (nine values per run).
    """
    deciles = [q / 10 for q in range(1, 10)]
    value = {slug: [ev.srtt_ms(sample[slug], q) for q in deciles] for slug in ALGORITHMS}
    # `ALGORITHMS` is Reno, CUBIC, BBR.
    lower = sum(r < min(c, b) for r, c, b in zip(*(value[slug] for slug in ALGORITHMS), strict=True))
    # "Generally" means at all deciles except one. If the values were lower at just over half of the deciles, they would
    # not be "generally" lower.
    verdict: Verdict = "holds" if lower >= 8 else ("partly" if lower >= 5 else "does not hold")
    middle = {slug: value[slug][4] for slug in ALGORITHMS}
    cause = ""
    if verdict != "holds":
        queue = {slug: ev.full_queue_ratio(sample[slug], 0.5) for slug in ALGORITHMS}
        cause = f"share of time with a queue of half its limit or more: {percent(queue)}; "
        cause += sender_texts(sample, ALGORITHMS)
    return Outcome(
        verdict,
        f"Reno is below both at {lower} of 9 deciles; medians {each(middle, 'ms', 1)}",
        {"deciles_lower": lower, "srtt_deciles_ms": value},
        cause,
    )


# Implements claim 1.5 of frederiksen2024 (figure 5).
def queues_full(sample: Sample) -> Outcome:
    """For CUBIC and BBR, return the share of time with a queue filled to 90 % of its limit. It is enough if one queue
    of the current path is this full.

    The full queue may be at any link of the path, because the bottleneck link changes with the route. The text of the
    cause compares the congestion window with the capacity of the path with empty queues. A window below this capacity
    cannot fill any queue.

    Returns: Numbers by run: `full_90_ratio`, `full_50_ratio`, shares of the time after 10 s.
    """
    at = {limit: {slug: ev.full_queue_ratio(sample[slug], limit) for slug in ALGORITHMS} for limit in (0.9, 0.5)}
    parts = {slug: at[0.9][slug] > 0.5 for slug in ("cubic", "bbr")}
    # A queue at half of its limit is a standing queue, but not a full queue, so it gives the verdict "partly".
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
            # Round trip over the path with empty queues: twice the one-way delay of the routes.
            rtt_ms = 2 * sample[slug].numbers.summary["path_delay_mean_ns"] / 1e6
            # Bandwidth-delay product of the path with empty queues, in segments of 1448 bytes of payload.
            room = ev.capacity_bps(sample[slug]) * rtt_ms / 1e3 / 8 / 1448
            rows.append(
                f"{NAMES[slug]}'s window is {cwnd:.0f} packets on average, of which the empty path holds {room:.0f}"
            )
        cause = "; ".join(rows) + "; " + sender_texts(sample, ("cubic", "bbr"))
    return Outcome(
        verdict,
        f"share of time with some queue of the path at 90 % of its limit {percent(at[0.9])}; "
        f"at 50 %: {percent(at[0.5])}",
        {"full_90_ratio": at[0.9], "full_50_ratio": at[0.5]},
        cause,
    )


# Implements claim 1.21 of frederiksen2024 (section II).
def changes_a_minute(sample: Sample) -> Outcome:
    """Return, for each scenario, the largest number of route changes in a minute.

    "Up to a few" is taken to mean 2 to 5 changes. The study updates routes every 30 s, which gives at most two updates
    per minute.

    Returns: Numbers by run: `busiest_minute_changes`, `changes_per_minute`.
    """
    most = {slug: ev.busiest_minute(sample[slug].changes["t_ns"]) for slug in SCENARIOS}
    mean = {slug: len(sample[slug].changes) * 60e9 / sample[slug].numbers.end_ns for slug in SCENARIOS}
    parts = {slug: 2 <= count <= 5 for slug, count in most.items()}
    return Outcome(
        holds_if(parts),
        f"changes in the busiest minute {each(most, '', 0)}; a minute on average {each(mean, '', 2)}",
        {"busiest_minute_changes": most, "changes_per_minute": mean},
        "" if all(parts.values()) else changes_text(sample),
    )


CLAIMS = (
    Claim("1.1", "Propagation delay along the path varies by less than 2.5 ms (max - min) in each of the three "
          "scenarios.", "III",
          "Sum of the delays in force on the links of the forward path, ground links included, over the whole run; "
          "max - min < 2.5 ms in each scenario. Partly: in some. The ISLs alone are given beside it.",
          SCENARIOS, path_delay_span),
    Claim("1.2", "Reno's goodput suffers most from reordering events.", "4",
          "In-order goodput in 50 ms bins after 10 s. (a) Reno has the lowest mean; (b) against the same run without "
          "route changes Reno loses the largest share of its mean, and 1 % at least; (c) Reno misses the largest "
          "share, in the 5 s after route changes, of what the second before each would have given. All: holds; some: "
          "partly.", (*ALGORITHMS, *map(control_slug, ALGORITHMS)), reno_suffers_most),
    Claim("1.3", "CUBIC and BBR run close to the path's capacity.", "4",
          "In-order goodput after 10 s, over the payload rate of the links (95.64 Mbit/s): the mean is 95 %, and 90 % "
          "of the 50 ms bins are at 90 %. Holds: both algorithms; partly: one of them, or both means at 90 %.",
          ("cubic", "bbr"), close_to_capacity),
    Claim("1.4", "Reno's RTT is generally lower than CUBIC's and BBR's.", "5",
          "Smoothed RTT after 10 s, weighted by time: Reno's decile is below both others' at 8 of 9 deciles or more; "
          "partly at 5 or more.", ALGORITHMS, reno_rtt_lower),
    Claim("1.5", "CUBIC's and BBR's queues are full most of the time.", "5",
          "Queue samples every 50 ms after 10 s: some link of the path in force has 90 % of its limit (500 packets) "
          "waiting, for more than half of the time, for both. Partly: for one, or at 50 % of the limit.",
          ALGORITHMS, queues_full),
    Claim("1.21", "The satellites' motion results in up to a few route changes per minute.", "II",
          "Route changes in any 60 s of each scenario: the most are 2 to 5. In some scenarios: partly.",
          SCENARIOS, changes_a_minute),
)  # fmt: skip
