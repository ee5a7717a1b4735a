# SPDX-License-Identifier: Apache-2.0
"""Claims about the path itself (3.1 to 3.6 and 3.16), tested with pings and capacity tests inside the guest.

The path is a synthetic profile with parameters from published numbers. The claims test whether the guest's path with
this profile behaves as Starlink did in the study. The results are not evidence about the real network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics import near
from leowarp.study.claim import Claim, Outcome, Verdict, holds_if
from leowarp.study.statistics import middle, share
from leowarp_studies.huston2024 import pings as pg
from leowarp_studies.huston2024.pings import MS, Pings
from leowarp_studies.huston2024.runs import ANSWERED, REGULAR

Frames = Mapping[str, Any]
"""The data sets of the study by name. A data set is missing if its runs failed or were not made."""

SLOT_S = 15
"""The time in s between two reconfigurations according to the study."""
STUDY_STEP_MS = 6.7
"""The mean difference in ms between an RTT and the next RTT of the same slot. The value is from the study's text about
figure 5."""


# Implements claim 3.1 of huston2024 (figure 3).
def minimum_changes(frames: Frames) -> Outcome:
    """Find the period of the flood ping's RTT from the pings alone. The claim says that the minimum RTT differs between
    slots and is constant within a slot.

    The plan's schedule of reconfigurations is not used. The first second of a slot is left out, because the
    reconfiguration still affects its delays.

    Returns: Numbers: `period_s` (a list; null if no period is found), `changed_over_1_ms_ratio`,
        `changed_over_500_us_ratio` (shares of adjacent slots), `step_p50_ms`, `spread_p50_ms`.
    """
    periods, steps, spreads = [], [], []
    for pings in frames["flood"][REGULAR]:
        schedule = pg.found_schedule(pings)
        periods.append(math.nan if schedule is None else schedule.period_ns / 1e9)
        if schedule is None:
            continue
        # The minimum is taken for each second of a slot, and not for the whole slot. A slot has about 1,400 probes (one
        # every 10 ms). The minimum of a whole slot would come from a single probe. It could not show whether the
        # minimum is constant.
        minima = [values for values in pg.slot_minima_ms(pings, pg.slots_of(pings, schedule)) if len(values)]
        steps.append(np.abs(np.diff([values.min() for values in minima])))
        spreads += [float(np.median(values) - values.min()) for values in minima]
    step = pg.pooled(steps)
    if len(step) == 0:
        cause = "steps of the minimum, spikes and losses of the pings repeat with no period"
        return Outcome("does not hold", f"no period in any of {len(periods)} pings", {"period_s": periods}, cause)
    changed = {limit_ms: share(step > limit_ms) for limit_ms in (1.0, 0.5)}
    parts = {
        # On paths whose period is known, the search finds the period with an accuracy of 1 %
        # (docs/guides/your-own-measured-path.md).
        "every 15 s": all(abs(period_s / SLOT_S - 1) <= 0.01 for period_s in periods),
        "in 90 % of slots": changed[1.0] >= 0.9,
        "stable within": float(np.median(spreads)) < float(np.median(step)) / 2,
    }
    shown = ", ".join("none" if math.isnan(period_s) else f"{period_s:.2f} s" for period_s in periods)
    text = (
        f"period found in the pings: {shown}; the minimum moves by more than 1 ms in "
        f"{changed[1.0]:.0%} of adjacent slots (0.5 ms: {changed[0.5]:.0%}), by {np.median(step):.1f} ms in the "
        f"median; within a slot the minimum of a second lies {np.median(spreads):.2f} ms above the slot's in the median"
    )
    numbers = {"period_s": periods, "changed_over_1_ms_ratio": changed[1.0],
               "changed_over_500_us_ratio": changed[0.5], "step_p50_ms": float(np.median(step)),
               "spread_p50_ms": float(np.median(spreads))}  # fmt: skip
    cause = "" if all(parts.values()) else f"steps of the minimum, quartiles: {_quartiles(step)} ms"
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 3.2 of huston2024 (figure 3).
def loss_gathers(frames: Frames) -> Outcome:
    """Compare the share of lost probes that were sent near a reconfiguration with the share of all probes that were
    sent near one.

    13 % of all probes are near a reconfiguration, because 2 s of each 15 s slot are within 1 s of one.

    Returns: Numbers by kind of ping: `lost_pkts`, `within_1_s_ratio`, `within_500_ms_ratio`.
    """
    texts, numbers = [], {}
    one_second: dict[str, float] = {}
    for name, runs in _ping_runs(frames).items():
        lost: dict[int, list[np.ndarray]] = {width_ns: [] for width_ns in (1_000_000_000, 500_000_000)}
        time_share = []
        for pings in runs:
            sent = pings.probes.sent_ns
            for width_ns, is_near in lost.items():
                is_near.append(near(sent[pings.probes.is_lost], pings.changes_ns, width_ns))
            # The share is computed over probes instead of over time, because a flood ping sends more probes while
            # replies are quick.
            time_share.append(near(sent, pings.changes_ns))
        shares = {width_ns: share(pg.pooled(is_near)) for width_ns, is_near in lost.items()}
        count = len(pg.pooled(lost[1_000_000_000]))
        one_second[name] = shares[1_000_000_000]
        texts.append(
            f"{name}: {one_second[name]:.1%} of {count} losses within 1 s of a reconfiguration (0.5 s: "
            f"{shares[500_000_000]:.1%}), where {share(pg.pooled(time_share)):.0%} of the probes are sent"
        )
        numbers[name] = {"lost_pkts": count, "within_1_s_ratio": one_second[name],
                         "within_500_ms_ratio": shares[500_000_000]}  # fmt: skip
    known = {name: value for name, value in one_second.items() if not np.isnan(value)}
    if not known:
        return Outcome("cannot be told", "no probe was lost", numbers)
    # In the data set LENS (clarkzjw/LEONetEM, latency/ping-example-isl.txt), 97 % of the losses are within 1 s of a
    # reconfiguration. At one ping per second, about 28 probes are lost in 30 minutes. If two of 28 lost probes are more
    # than 1 s from a reconfiguration, the share within 1 s is 93 % (design/starlink-profile.md).
    verdict: Verdict = holds_if({name: value >= 0.95 for name, value in known.items()})
    if verdict == "does not hold" and all(value >= 0.5 for value in known.values()):
        verdict = "partly"
    cause = "" if verdict == "holds" else "the rest is the link's isolated loss, and what was under way at the end"
    return Outcome(verdict, "; ".join(texts), numbers, cause)


# Implements claim 3.3 of huston2024 (figure 4).
def latency_rises(frames: Frames) -> Outcome:
    """Return the largest RTT in the second after a reconfiguration, minus the median RTT in the second before it.

    The largest RTT is used because the spike is much shorter than a second. If all probes in the spike are lost, the
    measured rise is small. `rise_p50_ms` includes these reconfigurations.

    Returns: Numbers: `rise_p50_ms`, `inside_ratio` (30 to 50 ms), `worst_before_ms`, `worst_highest_ms`.
    """
    seen = [handover for pings in frames["flood"][REGULAR] for handover in pg.handovers(pings)]
    narrow = [h for pings in frames["flood"][REGULAR] for h in pg.handovers(pings, around_ns=pg.AROUND_NS // 2)]
    if not seen:
        return Outcome("cannot be told", "no reconfiguration was seen whole")
    rises = np.array([handover.rise_ms for handover in seen])
    # The study's "from 30 to 80 ms" is a single event. The test therefore uses the reconfiguration with the largest
    # rise, not the one with the largest RTT.
    worst = max(seen, key=lambda handover: handover.rise_ms)
    parts = {
        # A probe that is sent when the hold begins waits for 35 to 50 ms. The published spike of the RTT is the wait of
        # a probe during the hold. If the spike were a delay in addition to the wait, the rise would be 70 to 90 ms
        # (design/starlink-profile.md, "Hold, not spike").
        "median 30 to 50 ms": 30 <= float(np.median(rises)) <= 50,
        "worst from about 30": 20 <= worst.before_ms <= 45,
        # In 30 minutes of the profile, the largest rise is 104 ms (median over seeds); the study's 80 ms are the
        # largest value in 380 s.
        "worst to about 80": 65 <= worst.highest_ms <= 95,
    }
    inside = share((rises >= 30) & (rises <= 50))
    whole = middle([handover.rise_ms for handover in seen if not np.isnan(handover.gap_ms)])
    text = (
        f"{len(seen)} reconfigurations; the largest RTT of the second after lies {np.median(rises):.1f} ms above the "
        f"median of the second before (within 0.5 s: {np.median([h.rise_ms for h in narrow]):.1f}), in {inside:.0%} of "
        f"them by 30 to 50 ms; {whole.text()} where no probe is lost within 0.2 s; "
        f"the worst from {worst.before_ms:.0f} to {worst.highest_ms:.0f} ms"
    )
    numbers = {"rise_p50_ms": float(np.median(rises)), "inside_ratio": inside, "worst_before_ms": worst.before_ms,
               "worst_highest_ms": worst.highest_ms}  # fmt: skip
    cause = ""
    if not all(parts.values()):
        before = np.array([handover.before_ms for handover in seen])
        cause = (
            f"quartiles of the rise {_quartiles(rises)} ms, of the RTT before {_quartiles(before)} ms; the rise is the "
            "profile's spike, less or more what jitter adds to both ends and the step to the next slot's base; where "
            f"the probes that would meet it are lost ({len(seen) - whole.count} of {len(seen)}), none shows"
        )
    return Outcome(holds_if(parts), text, numbers, cause)


# Implements claim 3.4 of huston2024 (figure 5).
def successive_differences(frames: Frames) -> Outcome:
    """Return the mean difference between successive RTTs within a slot, for two patterns of sending pings.

    The profile's jitter is a function of time instead of an independent random number per packet. Two successive RTTs
    therefore differ more if more time passes between their probes. With the first pattern, the ping waits for each
    reply, and sends one probe per round trip. With the second pattern, the ping sends a probe every 10 ms.

    Returns: Numbers in ms: `regular_ms`, `answered_ms`, `with_handovers_ms`.
    """
    means: dict[str, float] = {}
    for sends, runs in frames["flood"].items():
        # With both patterns of sending pings, the result is within 15 % of the published 6.7 ms. This holds for jitter
        # steps of 1.5 to 9 ms (design/starlink-profile.md, "Steps of the jitter").
        means[sends] = float(pg.pooled([pg.steps_ms(pings) for pings in runs]).mean())
    whole = float(pg.pooled([pg.steps_ms(pings, from_ns=0) for pings in frames["flood"][REGULAR]]).mean())
    mean = means[REGULAR]
    off = mean / STUDY_STEP_MS - 1
    # The tolerance is 15 %, because measurements of the real network differ by 12 %: LENS measured 5.9 ms, and the
    # study 6.7 ms.
    verdict: Verdict = "holds" if abs(off) <= 0.15 else "partly" if abs(off) <= 0.3 else "does not hold"
    text = (
        f"{mean:.2f} ms with a probe at least every {REGULAR} ({off:+.0%}; with the handovers: {whole:.2f} ms), "
        f"{means[ANSWERED]:.2f} ms if the reply alone sends the next"
    )
    cause = ""
    if verdict != "holds":
        gaps_ms = np.diff(frames["flood"][REGULAR][0].probes.sent_ns) / MS
        cause = (
            "jitter is a function of time, so the difference depends on how far apart probes are: here "
            f"{np.median(gaps_ms):.1f} ms in the median"
        )
    return Outcome(
        verdict, text, {"regular_ms": mean, "answered_ms": means[ANSWERED], "with_handovers_ms": whole}, cause
    )


# Implements claim 3.5 of huston2024 (text).
def long_term_loss(frames: Frames) -> Outcome:
    """Return the share of pings without a reply: one share for all runs together, and one for each run.

    If the loss ratio is 1 to 2 %, a run loses 18 to 36 of its 1,800 pings. By chance alone, the number of lost pings
    varies by a fifth between runs.

    Returns: Numbers: `loss_ratio` (all runs), `by_run_ratio` (a list).
    """
    runs: Sequence[Pings] = frames["paced"]
    ratios = [share(pings.probes.is_lost) for pings in runs]
    sent = sum(len(pings.probes.sent_ns) for pings in runs)
    pooled = sum(int(pings.probes.is_lost.sum()) for pings in runs) / sent
    inside = sum(0.01 <= ratio <= 0.02 for ratio in ratios)
    verdict: Verdict = "holds" if 0.01 <= pooled <= 0.02 else "partly" if 0.005 <= pooled <= 0.03 else "does not hold"
    text = (
        f"{pooled:.2%} of {sent} pings, one a second; by run of {runs[0].end_ns / 60e9:g} min "
        f"{', '.join(f'{ratio:.2%}' for ratio in ratios)}: {inside} of {len(runs)} within 1 to 2 %"
    )
    cause = ""
    if verdict != "holds":
        at = sum(int(near(p.probes.sent_ns[p.probes.is_lost], p.changes_ns).sum()) for p in runs)
        count = sum(len(p.changes_ns) for p in runs)
        cause = f"{at} of the losses lie at {count} reconfigurations, so one in {count / max(at, 1):.1f} met a ping"
    return Outcome(verdict, text, {"loss_ratio": pooled, "by_run_ratio": ratios}, cause)


# Implements claim 3.16 of huston2024 (comments).
def single_losses(frames: Frames) -> Outcome:
    """Count the pings that are lost at a reconfiguration. Also measure for how long no replies arrive.

    The number of lost pings depends on the sending rate. As in the study, the tested pings wait for each reply. The
    frequent pings measure the time without replies, with an error of up to the interval between two pings.

    Returns: Numbers: `single_ratio` by sending pattern, `took_ms`.
    """
    single: dict[str, float] = {}
    texts = []
    for sends, runs in frames["flood"].items():
        seen = [handover for pings in runs for handover in pg.handovers(pings)]
        losing = [handover.lost_pkts for handover in seen if handover.lost_pkts]
        # A third of the profile's reconfigurations have no outage. Only reconfigurations at which a ping is lost are
        # therefore counted.
        single[sends] = share(np.array(losing) == 1)
        how = "reply alone sends the next" if sends == ANSWERED else f"at least every {sends}"
        texts.append(
            f"{how}: {len(losing)} of {len(seen)} reconfigurations lose a ping, {single[sends]:.0%} of them just one"
            if losing
            else f"{how}: none of {len(seen)} reconfigurations loses a ping"
        )
    gaps = np.array([handover.gap_ms for pings in frames["flood"][REGULAR] for handover in pg.handovers(pings)])
    whole = gaps[~np.isnan(gaps)]
    took = float(np.median(whole)) if len(whole) else np.nan
    # The gap without replies begins and ends with a probe, so its accuracy is the time between probes.
    spacing_ms = float(np.median(np.diff(frames["flood"][REGULAR][0].probes.sent_ns))) / MS
    parts = {"usually one": single[ANSWERED] > 0.5, "35 to 50 ms": 35 <= took <= 50 + spacing_ms}
    text = (
        f"{'; '.join(texts)}; no reply comes for {took:.0f} ms in the median of the {len(whole)} reconfigurations that "
        f"lose no probe within 0.2 s (probes are {spacing_ms:.0f} ms apart)"
    )
    cause = "" if all(parts.values()) else (
        "the profile's outages last from some milliseconds to most of a second, and several probes are under way in a "
        f"long one; times without a reply, quartiles {_quartiles(whole) if len(whole) else 'unknown'} ms"
    )  # fmt: skip
    return Outcome(holds_if(parts), text, {"single_ratio": single, "took_ms": took}, cause)


STUDY_BPS = {"down": (120e6, 10e6, 370e6), "up": (15e6, 5e6, 50e6)}
"""The median, lowest and highest value in the study's figure 2, by direction."""


# Implements claim 3.6 of huston2024 (figure 2).
def capacity_range(frames: Frames) -> Outcome:
    """Compare the goodput of the capacity tests with figure 2: median, lowest and highest value in each direction.

    A test uses TCP, so its result is below the capacity of the link. The capacity of the link during each test is
    therefore also listed. This capacity shows whether the profile is wrong, or whether losses slowed the test. The
    lowest and the highest value are single tests out of 1,464, so their tolerances are wider than those of the medians.

    Returns: Numbers by direction, in bit/s: median with interval, `lowest`, `highest`; `link` (the same for the link's
        capacity) and `used_ratio`.
    """
    rows: pd.DataFrame = frames["capacity"]
    parts, texts, numbers = {}, [], {}
    for name, (median_bps, low_bps, high_bps) in STUDY_BPS.items():
        # A failed test has no result and is listed at the top of the page.
        values = rows[f"{name}_bps"].dropna().to_numpy()
        if len(values) == 0:
            return Outcome("cannot be told", f"no capacity test {name} has a result")
        test = middle(values)
        low, high = float(values.min()), float(values.max())
        # For "about 120" and "about 15", the result may differ by a fifth in either direction.
        parts[f"{name}: median"] = abs(test.median / median_bps - 1) <= 0.2
        parts[f"{name}: lowest"] = 0.5 <= low / low_bps <= 2
        parts[f"{name}: highest"] = 0.75 <= high / high_bps <= 1.25
        texts.append(
            f"{name}: median {test.text(1e-6)} Mbit/s of {len(values)} tests ({test.median / median_bps - 1:+.0%}), "
            f"{low / 1e6:.1f} to {high / 1e6:.0f} Mbit/s; 1 to 99 %: {np.quantile(values, 0.01) / 1e6:.1f} to "
            f"{np.quantile(values, 0.99) / 1e6:.0f}"
        )
        link = rows[f"{name}_link_bps"].dropna().to_numpy()
        of_link, used = middle(link), middle(rows[f"{name}_bps"] / rows[f"{name}_link_bps"])
        texts.append(
            f"its links could have carried {of_link.text(1e-6)} Mbit/s ({of_link.median / median_bps - 1:+.0%}), "
            f"{link.min() / 1e6:.1f} to {link.max() / 1e6:.0f}, of which a test got {used.text(100, 0)} %"
        )
        numbers[name] = test.numbers() | {
            "lowest": low, "highest": high, "used_ratio": used.numbers(),
            "link": of_link.numbers() | {"lowest": float(link.min()), "highest": float(link.max())},
        }  # fmt: skip
    cause = "" if all(parts.values()) else _by_hour(rows)
    return Outcome(holds_if(parts), "; ".join(texts), numbers, cause)


def _by_hour(rows: pd.DataFrame) -> str:
    """Return a text with the share of tests that measured less than 80 % of the link's capacity. The text also gives
    the median results for each hour of the day."""
    # The medians are computed by hour, because the profile's capacity depends on the hour. Tests are four hours apart,
    # so there are six different hours.
    by_hour = rows.groupby("hour")[["down_bps", "up_bps"]].median() / 1e6
    medians = ", ".join(f"{hour} h {row.down_bps:.0f} and {row.up_bps:.0f}" for hour, row in by_hour.iterrows())
    short = ", ".join(
        f"{name} {int((rows[f'{name}_bps'] < 0.8 * rows[f'{name}_link_bps']).sum())} of {len(rows)}"
        for name in STUDY_BPS
    )
    return (
        "a test counts slow start and what losses cost its connections: less than 80 % of what its own link could have "
        f"carried in that time came out of {short} tests; medians by the hour (UTC), down and up, Mbit/s: {medians}"
    )


def _ping_runs(frames: Frames) -> dict[str, Sequence[Pings]]:
    """Return a dict from a name to the pings that test claim 3.2."""
    return {"1 s pings": frames["paced"], "flood ping": frames["flood"][REGULAR]}


def _quartiles(values: np.ndarray) -> str:
    """Return a text with the three quartiles of the values, which explains a verdict."""
    return ", ".join(f"{value:.1f}" for value in np.quantile(values, [0.25, 0.5, 0.75]))


_FLOOD = (
    "Flood ping from the dish to the server for 380 s, at least one probe every 10 ms (`ping -f`), all seeds together."
)

CLAIMS = (
    Claim("3.1", "The minimum RTT changes every 15 s.", "3",
          f"{_FLOOD} (a) the period that the pings alone show, as `leowarp timeline describe` finds it, is 15 s "
          "within 1 %; (b) in 90 % of adjacent slots the smallest RTTs (without the "
          "first second of a slot) lie more than 1 ms apart (0.5 ms is given too); (c) within a slot the smallest RTT "
          "of a second lies above the slot's by less than half the median step between slots, in the median. All: "
          "holds; some: partly.", ("flood",), minimum_changes, True),
    Claim("3.2", "Loss gathers at the reconfigurations.", "3",
          "Probes without a reply: 95 % or more were sent within 1 s before or after a reconfiguration (0.5 s is given "
          "too), in the 1 s pings and in the flood ping. Both: holds; one, or half or more in both: partly.",
          ("flood", "paced"), loss_gathers, True),
    Claim("3.3", "Latency rises by 30 to 50 ms at a reconfiguration, at worst from 30 to 80 ms.", "4",
          f"{_FLOOD} Largest RTT of the second after a reconfiguration (0.5 s is given too) less the median RTT of the "
          "second before: (a) its median is 30 to 50 ms; the largest rise (b) begins at 20 to 45 ms and (c) ends at 65 "
          "to 95 ms. All: holds; some: partly.", ("flood",), latency_rises, True),
    Claim("3.4", "Within a slot successive RTTs differ by 6.7 ms on average.", "5",
          f"{_FLOOD} Mean |difference| of successive replies within a slot, without the first second of each: 6.7 ms "
          "within 15 %: holds; within 30 %: partly. With the handovers, and with probes that the reply alone sends, it "
          "is given too.", ("flood",), successive_differences, True),
    Claim("3.5", "Long-term loss is a little over 1 % (measured); 1 to 2 %, unrelated to congestion (tuning section).",
          "text",
          "Pings once a second for 30 minutes, all seeds together: share without a reply 1 to 2 %: holds; 0.5 to 3 %: "
          "partly. Each run's own is given too.", ("paced",), long_term_loss, True),
    Claim("3.6", "Capacity: median about 120 Mbit/s down (10 to 370), about 15 up (5 to 50).", "2",
          "A capacity test every four hours of August 2023 to March 2024, parallel CUBIC connections down, then up; "
          "bytes in order over the time that they were let send. A test has 10 s a direction; it had 5 at first, and "
          "was lengthened after results were seen; thresholds stayed. For each direction: median within "
          "20 %, lowest within a factor of 2, highest within 25 % (the 1 and 99 % quantiles are given too). All: "
          "holds; some: partly.",
          ("capacity",), capacity_range, True),
    Claim("3.16", "A reconfiguration that loses anything usually loses a single packet, and takes 35 to 50 ms.",
          "comments",
          "(a) Flood ping in which the reply alone sends the next, as the study has it: of the reconfigurations within "
          "1 s of which a probe is lost more than half lose exactly one (a probe every 10 ms is given too). (b) Probes "
          "every 10 ms: the longest time between two successive replies to probes sent from 50 ms before to 200 ms "
          "after a reconfiguration (where none of these is lost) is 35 to 50 ms in the median, up to one spacing of "
          "probes more. Both: holds; one: partly.", ("flood",), single_losses, True),
)  # fmt: skip
