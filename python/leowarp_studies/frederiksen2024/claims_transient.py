# SPDX-License-Identifier: Apache-2.0
"""Claims about the time after a route change (1.6 to 1.11, 1.17, 1.22).

Each function takes a sample (runs by name) and returns an `Outcome`. `CLAIMS` describes each test with its thresholds.
The docstrings explain all other choices. Most functions use only the changes of `evidence.disturbed`, because only
these changes show the study's effect. The study shows figures, but does not say over which times it measures. leowarp
chose 1 s before a change, and 2 s or 5 s after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp import Run
from leowarp.study.claim import Claim, Outcome, Sample, holds_if
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.evidence import NAMES
from leowarp_studies.frederiksen2024.runs import ALGORITHMS, control_slug
from leowarp_studies.frederiksen2024.words import LATE, NONE_TO_TEST, plain, reordered_text, sender_texts

MS = 1_000_000


# Implements claim 1.6 of frederiksen2024 (figure 6).
def drops_after_changes(sample: Sample) -> Outcome:
    """Count the route changes after which at least one 50 ms bin has less than half of the earlier goodput. The earlier
    goodput is the mean in the second before the change.

    A missing packet stops in-order goodput, so in-order goodput falls even if the packet is only late. SACK-aware
    goodput does not fall if a packet is only late. Route changes without a dropped packet are also counted separately.
    After such a change, only reordering can make goodput fall. The run without route changes shows how often goodput
    falls for other reasons.

    Returns: Numbers by run: `changes`; `over_50`, `over_90`, `over_50_sack_aware`, `over_50_without_drop` (numbers of
        changes); `unchanging_ratio` (in the run without changes, share of instants, 5 s apart, after which goodput
        falls below half).
    """
    count: dict[str, dict[str, int]] = {"50 %": {}, "90 %": {}}
    series_count: dict[str, int] = {}
    without_loss: dict[str, int] = {}
    changes, still = {}, {}
    for slug in ALGORITHMS:
        run = sample[slug]
        depth = run.numbers.recoveries.loc[run.numbers.recoveries["flow"] == run.main_flow, "depth_ratio"].dropna()
        changes[slug] = len(depth)
        count["50 %"][slug] = int((depth > 0.5).sum())
        count["90 %"][slug] = int((depth > 0.9).sum())
        series_count[slug] = ev.falls_after(run, "sacked", run.changes["t_ns"])
        # In-order goodput stops both for lost and for late packets. At changes without lost packets, any fall is caused
        # by reordering.
        lossless = run.changes.loc[run.changes["lost_pkts"] == 0, "t_ns"]
        # `changes` and `recoveries` both contain the instant of each change. The two tables are joined by this instant.
        rows = run.numbers.recoveries[run.numbers.recoveries["t_ns"].isin(lossless)]
        without_loss[slug] = int((rows["depth_ratio"].fillna(0) > 0.5).sum())
        control = sample[control_slug(slug)]
        instants_ns = np.arange(ev.SKIP_NS, control.end_ns - 2000 * MS, 5000 * MS)
        # Even in a trial (`--duration 60 s`), the control run is much longer than 15 s. Changes can therefore be
        # compared with instants of the control run.
        still[slug] = ev.falls_after(control, "in_order", instants_ns) / max(len(instants_ns), 1)
    parts = {}
    for slug in ALGORITHMS:
        fell = count["50 %"][slug]
        # Some unrelated falls happen to follow changes. "Periodic" and "some" are therefore taken to mean repeatedly
        # and more often than by chance.
        parts[f"{slug} again and again"] = fell >= max(2, 0.1 * changes[slug])
        parts[f"{slug} by changes"] = fell > 2 * still[slug] * changes[slug]
        parts[f"{slug} without a drop"] = without_loss[slug] >= 1
    cause = "" if all(parts.values()) else reordered_text(sample, ALGORITHMS)
    return Outcome(
        holds_if(parts),
        "changes followed by a 50 ms bin that lost more than 50 % of the mean before: "
        + ", ".join(
            f"{NAMES[slug]} {count['50 %'][slug]} of {changes[slug]} (over 90 %: {count['90 %'][slug]}; no "
            f"packet dropped: {without_loss[slug]}; in SACK-aware delivery: {series_count[slug]}; without route "
            f"changes: {still[slug]:.0%} of all 2 s)"
            for slug in ALGORITHMS
        ),
        {
            "changes": changes,
            "over_50": count["50 %"],
            "over_90": count["90 %"],
            "over_50_sack_aware": series_count,
            "over_50_without_drop": without_loss,
            "unchanging_ratio": still,
        },
        cause,
    )


# Implements claim 1.7 of frederiksen2024 (figure 7).
def window_growth(sample: Sample) -> Outcome:
    """For each algorithm, return the median growth of the congestion window after route changes with late packets, in
    packets/s.

    Reno grows by one packet per round trip (RFC 5681, 3.1). CUBIC's window is a function of time (RFC 9438, 4.2), and
    BBR's window grows with its estimate of the bandwidth. The three windows grow in different ways, so their growth is
    compared over some seconds.

    Returns: Numbers: `growth_pkts_per_s` by run. If a part of the claim does not hold, `cause` gives the lowest window
        after these changes, as a median in packets.
    """
    growth = {slug: ev.median(ev.growth_pkts_per_s(sample[slug])) for slug in ALGORITHMS}
    # If one algorithm has no change with late packets, the algorithms cannot be compared.
    if any(np.isnan(value) for value in growth.values()):
        return NONE_TO_TEST
    parts = {slug: growth[slug] > growth["reno"] for slug in ("cubic", "bbr")}
    cause = ""
    if not all(parts.values()):
        cut = {slug: _median_of(sample[slug], "cwnd_min_pkts") for slug in ALGORITHMS}
        cause = f"median lowest window after those changes {plain(cut, 'packets')}; {sender_texts(sample, ALGORITHMS)}"
    return Outcome(holds_if(parts), f"median growth {plain(growth, 'packets/s')}", {"growth_pkts_per_s": growth}, cause)


# Implements claim 1.8 of frederiksen2024 (figure 7).
def spike_after_a_second(sample: Sample) -> Outcome:
    """Measure three values after changes with late packets: retransmissions, the fall of the window, and the time of
    the first retransmission.

    Ten retransmissions count as a spike, because any loss causes one or two. The verdict is "partly" if the spike or
    the fall occurs earlier or later than one second after the change. `_gap_text` explains why a sender would react in
    less than a second.

    Returns: Numbers by run: `changes`, `spike_ratio`, `fall_ratio` (shares of the changes), `first_retransmission_s`,
        `window_fell_s` (medians, seconds after the change).
    """
    rows: dict[str, dict[str, Any]] = {}
    parts: dict[str, bool] = {}
    some = False
    for slug in ALGORITHMS:
        changes = ev.disturbed(sample[slug])
        if len(changes) == 0:
            return NONE_TO_TEST
        # A missing value means that no retransmission followed the change within 5 s.
        spike = changes["retransmissions_pkts"].fillna(0) >= 10
        fall = changes["cwnd_fell_after_ns"].notna() & (changes["cwnd_fell_after_ns"].fillna(10**18) <= 2000 * MS)
        first_s = changes["first_retransmission_after_ns"].astype("Float64") / 1e9
        rows[slug] = {
            "changes": len(changes),
            "spike_ratio": ev.share(spike),
            "fall_ratio": ev.share(fall),
            "first_retransmission_s": ev.median(first_s),
            "window_fell_s": ev.median(changes["cwnd_fell_after_ns"].astype("Float64") / 1e9),
        }
        both = rows[slug]["spike_ratio"] > 0.5 and rows[slug]["fall_ratio"] > 0.5
        some |= rows[slug]["spike_ratio"] > 0.5 or rows[slug]["fall_ratio"] > 0.5
        parts[slug] = both and 0.5 <= rows[slug]["first_retransmission_s"] <= 1.5
    verdict = holds_if(parts)
    if verdict == "does not hold" and some:
        verdict = "partly"
    text = ", ".join(
        f"{NAMES[slug]}: spike in {row['spike_ratio']:.0%}, "
        f"window falls in {row['fall_ratio']:.0%} of {row['changes']}, "
        + (
            "no retransmission"
            if np.isnan(after_s := row["first_retransmission_s"])
            else f"first retransmission {after_s:.2f} s after"
        )
        for slug, row in rows.items()
    )
    return Outcome(
        verdict, text, rows, "" if verdict == "holds" else sender_texts(sample, ALGORITHMS) + "; " + _gap_text(sample)
    )


# Implements claim 1.9 of frederiksen2024 (figure 7).
def cubic_recovers_first(sample: Sample) -> Outcome:
    """Measure the time from the first to the last retransmission within 5 s after a change.

    The time in the kernel's recovery state is also listed (`recovery_state_ns`, from the socket's samples), because a
    sender in recovery need not retransmit.

    Returns: Numbers by run, in seconds, as medians over changes: `retransmitting_s`, `recovery_state_s`.
    """
    span, length = {}, {}
    for slug in ALGORITHMS:
        changes = ev.disturbed(sample[slug])
        # A change without retransmissions has no duration of retransmitting.
        changes = changes[changes["retransmissions_pkts"].fillna(0) > 0]
        # A time above 5 s is clipped and not left out, because a sender that still retransmits after 5 s is the claim's
        # slow case.
        last = changes["last_retransmission_after_ns"].clip(upper=5000 * MS)
        span[slug] = ev.median((last - changes["first_retransmission_after_ns"]) / 1e9)
        length[slug] = ev.median(changes["recovery_state_ns"] / 1e9)
    if all(np.isnan(value) for value in span.values()):
        return Outcome("cannot be told", "no change with late packets was followed by a retransmission")
    parts = {"cubic": span["cubic"] < 0.5, "reno": span["reno"] > 1.0, "bbr": span["bbr"] > 1.0}
    return Outcome(
        holds_if(parts),
        f"median time from the first to the last retransmission (at most 5 s after the change) {plain(span, 's', 2)}; "
        f"median time in recovery {plain(length, 's', 2)}",
        {"retransmitting_s": span, "recovery_state_s": length},
        "" if all(parts.values()) else sender_texts(sample, ALGORITHMS) + "; " + reordered_text(sample, ALGORITHMS),
    )


# Implements claim 1.10 of frederiksen2024 (figure 8).
def rtt_shapes(sample: Sample) -> Outcome:
    """Return, for each algorithm, the share of route changes after which the smoothed RTT develops as the paper
    describes.

    The claim gives no numbers, so leowarp chose the margins of 10 %, 5 % and 2 %. "Very low" means lower than the RTT
    that the other two algorithms have before route changes. "A massive number of retransmissions" means ten or more.

    Returns: Numbers for each run: `share_ratio`, and the median `before_ms`. The median of each value, in ms, explains
        the verdict.
    """
    courses = {slug: _rtt_around(sample[slug]) for slug in ALGORITHMS}
    if any(len(course) == 0 for course in courses.values()):
        return NONE_TO_TEST
    shares: dict[str, float] = {}
    for slug, course in courses.items():
        before, after = course["before"], course["after"]
        if slug == "reno":
            # For Reno the paper says "returns to slightly less", so after 5 s the RTT must not exceed the RTT before
            # the change.
            match = (course["max"] > 1.1 * before) & (after <= before) & (course["again_pkts"] >= 10)
        else:
            match = (course["min"] < 0.95 * before) & (after > 1.02 * course["min"])
        shares[slug] = ev.share(match)
    before_ms = {slug: ev.median(course["before"]) for slug, course in courses.items()}
    parts = {slug: value > 0.5 for slug, value in shares.items()}
    parts["Reno low before"] = before_ms["reno"] < min(before_ms["cubic"], before_ms["bbr"])
    cause = ""
    if not all(parts.values()):
        shape = {slug: course.median().to_dict() for slug, course in courses.items()}
        cause = "median smoothed RTT before, lowest and highest within 2 s, 5 s after: " + ", ".join(
            f"{NAMES[slug]} {row['before']:.0f}, {row['min']:.0f}, {row['max']:.0f}, {row['after']:.0f} ms"
            for slug, row in shape.items()
        )
    return Outcome(
        holds_if(parts),
        "changes with late packets that follow the described shape: "
        + plain({k: 100 * v for k, v in shares.items()}, "%")
        + f"; median before them {plain(before_ms, 'ms')}",
        {"share_ratio": shares, "before_ms": before_ms},
        cause,
    )


# Implements claim 1.11 of frederiksen2024 (figure 8).
def bbr_held_by_window(sample: Sample) -> Outcome:
    """Compare BBR's bandwidth estimate with the capacity, and its window with the BDP. Also measure two shares of time.
    In the first, the pacing rate is above the capacity. In the second, the window is full.

    The study says that the window is 3 BDP. In tcp_bbr.c, the window is `bbr_cwnd_gain` BDP, which is 2 BDP. In the
    mode STARTUP, the window is `bbr_high_gain` BDP, which is 2.885 BDP.

    Returns: Numbers: `paced_above_ratio`, `window_limited_ratio` (shares of the time after 10 s),
        `window_over_bdp_ratio` (median), `bw_over_capacity_ratio` (median of BBR's estimate over the payload rate).
    """
    run = sample["bbr"]
    samples, weights = ev.window_weights(run)
    capacity = ev.capacity_bps(run)
    pacing = ev.floats(samples["pacing_bps"])
    cwnd, flight = (
        ev.floats(samples["cwnd_pkts"]),
        ev.floats(samples["unacked_pkts"]) - ev.floats(samples["sacked_pkts"]),
    )
    # The pacing rate includes headers: of the 1514 bytes of a frame, only 1448 are payload.
    over = float(np.average(np.nan_to_num(pacing) > capacity * 1514 / 1448, weights=weights))
    # The tolerance is 95 %, because some packets of a full window may already be acknowledged when a sample is taken
    # between two ACKs.
    held = float(np.average(flight >= 0.95 * cwnd, weights=weights))
    bdp_pkts = (
        ev.floats(samples["bbr_bw_bps"])
        * ev.floats(samples["bbr_min_rtt_us"])
        / 8e6
        / ev.floats(samples["snd_mss_bytes"])
    )
    # Until BBR has measured the bandwidth, its estimate is 0, so the ratio of window to estimate is infinite.
    gain = ev.median(pd.Series(cwnd / bdp_pkts).replace([np.inf, -np.inf], np.nan))
    # If BBR's filter overshoots, the estimate exceeds the capacity, and the ratio is above 1. If the ratio of the
    # estimate to the capacity is about 1, only the window can limit the sender.
    bw = ev.median(samples["bbr_bw_bps"].astype("Float64") / capacity)
    parts = {
        # The tolerance is 1 %, because the estimate is computed from the rate of ACKs, which arrive in pairs.
        "estimate above the capacity": bw > 1.01,
        "paced above the capacity": over > 0.5,
        "window-limited": held > 0.5,
        # The gain may differ from 3 by up to 0.5. This range includes Linux's 2.89 (bbr_high_gain, in STARTUP), but not
        # Linux's 2 (bbr_cwnd_gain).
        "window is 3 x BDP": abs(gain - 3) <= 0.5,
    }
    return Outcome(
        holds_if(parts),
        f"paced above the links' rate {over:.0%} of the time; in flight 95 % of the window or more {held:.0%} of the "
        f"time; window = {gain:.2f} x estimated BDP (median); "
        f"bandwidth estimate = {bw:.3f} x payload capacity (median)",
        {
            "paced_above_ratio": over,
            "window_limited_ratio": held,
            "window_over_bdp_ratio": gain,
            "bw_over_capacity_ratio": bw,
        },
        ""
        if all(parts.values())
        else "Linux's BBR sets its window to cwnd_gain 2 times the estimated BDP (2.89 in STARTUP), not 3; "
        + f"its pacing is above the links' rate in the probing phase (gain 1.25) only, {over:.0%} of the time; "
        + f"median estimate of the smallest RTT {ev.median(samples['bbr_min_rtt_us']) / 1e3:.1f} ms, "
        + "propagation there and "
        + f"back {2 * run.numbers.summary['path_delay_min_ns'] / 1e6:.1f} ms at least",
    )


# Implements claim 1.17 of frederiksen2024 (section I).
def transient_length(sample: Sample) -> Outcome:
    """Measure the time for which goodput stays below 90 % of its earlier value. All changes with late packets in the
    three runs are used.

    The metrics give no duration for transients longer than 5 s. These transients are counted separately, because a
    median without them would be too small.

    Returns: Numbers: `duration_median_s`, `inside_ratio` (0.2 to 2.5 s), `inside_wider_ratio` (0.1 to 5 s),
        `not_over_within_5_s`.
    """
    lengths = []
    unfinished = 0
    for slug in ALGORITHMS:
        changes = ev.disturbed(sample[slug])
        fell = changes[changes["fell_after_ns"].notna()]
        unfinished += int(fell["duration_ns"].isna().sum())
        lengths += [value / 1e9 for value in fell["duration_ns"].dropna()]
    if not lengths:
        return Outcome("cannot be told", "no change with late packets lowered the goodput of a 50 ms bin by 10 %")
    inside = {
        limits: ev.share([limits[0] <= value <= limits[1] for value in lengths]) for limits in ((0.2, 2.5), (0.1, 5.0))
    }
    middle = ev.median(lengths)
    parts = {"median": 0.2 <= middle <= 2.5, "most": inside[0.2, 2.5] > 0.5}
    return Outcome(
        holds_if(parts),
        f"median {middle:.2f} s over {len(lengths)} transients, {inside[0.2, 2.5]:.0%} between 0.2 and 2.5 s, "
        f"{inside[0.1, 5.0]:.0%} between 0.1 and 5 s; {unfinished} not over within 5 s",
        {"duration_median_s": middle, "inside_ratio": inside[0.2, 2.5], "inside_wider_ratio": inside[0.1, 5.0],
         "not_over_within_5_s": unfinished},
        "" if all(parts.values()) else reordered_text(sample, ALGORITHMS) + "; " + sender_texts(sample, ALGORITHMS),
    )  # fmt: skip


# Implements claim 1.22 of frederiksen2024 (figure 8).
def filter_overshoots(sample: Sample) -> Outcome:
    """Compare BBR's bandwidth estimate in the 2 s after a route change with the capacity, and with the estimate before
    the change. Only changes with late packets are used.

    BBR's estimate is the maximum over ten round trips (`bbr_bw_rtts` in tcp_bbr.c), which take 1 to 2 s here.

    Returns: Numbers: `changes`. `highest_ratio` (median over changes, as a multiple of the payload rate).
        `above_capacity_ratio`, `above_before_ratio` (shares of the changes).
    """
    run = sample["bbr"]
    around = ev.estimates_around(run, 2000 * MS)
    if len(around) == 0:
        return NONE_TO_TEST
    highest = around["after_bps"] / ev.capacity_bps(run)
    # Both margins, 5 % and 2 %, are larger than the fluctuation of the estimate on a path without changes.
    above, rises = ev.share(highest >= 1.05), ev.share(around["after_bps"] > 1.02 * around["before_bps"])
    parts = {"above the capacity": above > 0.5, "above that before": rises > 0.5}
    return Outcome(
        holds_if(parts),
        f"highest estimate in the 2 s after {len(around)} changes: median {ev.median(highest):.3f} x payload capacity; "
        f"5 % above the capacity at {above:.0%}, 2 % above the highest of the 2 s before at {rises:.0%}",
        {"changes": len(around), "highest_ratio": ev.median(highest), "above_capacity_ratio": above,
         "above_before_ratio": rises},
        "" if all(parts.values()) else sender_texts(sample, ("bbr",)) + "; " + reordered_text(sample, ("bbr",)),
    )  # fmt: skip


def _rtt_around(run: Run) -> pd.DataFrame:
    """Return the smoothed RTT around each change with late packets.

    Returns: A row for each change that has samples before and after it: `before` (last sample), `min` and `max` (within
        2 s), `after` (last sample within 5 s), all in ms; `again_pkts` (retransmissions after the change).
    """
    frame = run.numbers.srtt[run.main_flow]
    t_ns, value = frame["t_ns"].to_numpy(), frame["srtt_us"].to_numpy() / 1e3
    rows = []
    changes = ev.disturbed(run)
    for change_ns, again in zip(changes["t_ns"], changes["retransmissions_pkts"].fillna(0), strict=True):
        near = value[(t_ns > change_ns) & (t_ns <= change_ns + 2000 * MS)]
        before, after = value[t_ns <= change_ns], value[t_ns <= change_ns + 5000 * MS]
        if len(near) and len(before):
            rows.append({"before": before[-1], "min": near.min(), "max": near.max(), "after": after[-1],
                         "again_pkts": int(again)})  # fmt: skip
    return pd.DataFrame(rows, columns=["before", "min", "max", "after", "again_pkts"])


def _median_of(run: Run, column: str) -> float:
    """Return the median of a column of the route changes with late packets."""
    return ev.median(ev.disturbed(run)[column])


def _gap_text(sample: Sample) -> str:
    """Return the smoothed RTT before changes as a text that explains a verdict."""
    srtt_ms = {slug: _median_of(sample[slug], "srtt_before_us") / 1e3 for slug in ALGORITHMS}
    return (
        f"smoothed RTT before those changes {plain(srtt_ms, 'ms')}: the sender hears of the first reordered packets "
        "within about one round trip; where all nodes switch at one instant nothing else takes time, and where they "
        "switch one by one that does"
    )


CLAIMS = (
    Claim("1.6", "All three show periodic and significant drops of goodput right after some route changes.", "6",
          "In-order goodput, for each of the three: (a) after 2 route changes at least, and after 10 % of them, some "
          "50 ms bin in the 2 s after is below 50 % of the mean of the second before (below 10 % is given too); (b) "
          "that is more than twice as frequent as in the same run without route changes; (c) it happens after a "
          "change within 5 s of which no packet was dropped. All: holds; some: partly. SACK-aware delivery is given "
          "beside it. (The 2 s were 10 s until a first look at 200 s of CUBIC: overflowing queues fell into them.)",
          (*ALGORITHMS, *map(control_slug, ALGORITHMS)), drops_after_changes),
    Claim("1.7", "The congestion window grows faster for CUBIC and BBR.", "7",
          f"Over {LATE}: growth of the window in the 5 s after its lowest sample of the 2 s after the change; the "
          "medians of CUBIC and of BBR are above Reno's. One of them: partly.", ALGORITHMS, window_growth),
    Claim("1.8", "About a second after the change all three show a spike of retransmissions and a fall of the window.",
          "7",
          f"Over {LATE}: in more than half, 10 or more retransmissions follow within 5 s, the window falls by 10 % "
          "within 2 s, and the median first retransmission is 0.5 to 1.5 s after the change, for each of the three. "
          "Partly: for some, or spike or fall without that delay.", ALGORITHMS, spike_after_a_second),
    Claim("1.9", "CUBIC recovers in under half a second; Reno and BBR go on retransmitting for more than one.", "7",
          f"Over {LATE} followed by a retransmission: median time from the first to the last retransmission within 5 "
          "s of the change, CUBIC < 0.5 s, Reno > 1 s, BBR > 1 s. Some of the three: partly.",
          ALGORITHMS, cubic_recovers_first),
    Claim("1.10", "Reno's RTT is low until recovery begins, rises with the retransmissions, returns to slightly less; "
          "CUBIC's and BBR's falls after the change and rises again fast.", "8",
          f"Over {LATE}, smoothed RTT: Reno's highest within 2 s is 10 % above that before, the one 5 s after not "
          "above it, and 10 packets or more are retransmitted; CUBIC's and BBR's lowest within 2 s is 5 % below that "
          "before and the one 5 s after 2 % above that low. In more than half of the changes, for each of the three; "
          "and Reno's median before is below both others'. Some: partly.", ALGORITHMS, rtt_shapes),
    Claim("1.11", "BBR overshoots the capacity and is held by its window (3 x BDP), not by pacing.", "8",
          "BBR's run after 10 s, by time: (a) its estimate of the bandwidth is 1 % above the payload rate (median); "
          "(b) paced above the links' rate more than half of the time; (c) packets in flight at 95 % of the window or "
          "more for more than half; (d) window over estimated BDP (its own bandwidth x smallest RTT) within 0.5 of 3. "
          "All: holds; some: partly.", ("bbr",), bbr_held_by_window),
    Claim("1.17", "A transient lasts between a few hundred milliseconds and a couple of seconds.", "I",
          f"Over {LATE} after which in-order goodput fell under 90 % of the second before: time until 3 bins of 50 ms "
          "in a row are back at 90 %. The median is within 0.2 to 2.5 s and so are more than half (0.1 to 5 s too is "
          "given).", ALGORITHMS, transient_length),
    Claim("1.22", "Route changes act on BBR's max filter as a fast-varying capacity would: its estimate overshoots.",
          "8",
          f"Over {LATE} of BBR's run: the highest estimate of the bandwidth in the 2 s after is, in more than half of "
          "them, (a) 5 % or more above the payload rate; (b) 2 % above the highest of the 2 s before. One: partly.",
          ("bbr",), filter_overshoots),
)  # fmt: skip
