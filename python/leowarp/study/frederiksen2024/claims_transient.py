# SPDX-License-Identifier: Apache-2.0
"""Claims on what happens after a route change, and on reordering itself (1.6 to 1.11, 1.17 to 1.19).

Each function takes a sample (runs by slug) and returns an `Outcome`. Its test stands in `CLAIMS`, with thresholds; the
function names what the thresholds leave open. "Changes with late packets" are those of `evidence.reordered`: only
there does the study's reordering issue appear. Windows of 1 s before and 2 or 5 s after a change are the tests' own;
the study has figures and no windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.report import RunView
from leowarp.study.claim import Claim, Outcome, Sample, Verdict, holds_if
from leowarp.study.frederiksen2024 import evidence as ev
from leowarp.study.frederiksen2024.evidence import NAMES
from leowarp.study.frederiksen2024.runs import ALGORITHMS

NONE_TO_TEST = Outcome("cannot be told", "no route change of these runs made a packet late")
"""Where reordering is the claim's subject and there was none, nothing was tested: no verdict against the study."""
MS = 1_000_000


# Implements claim 1.6 of frederiksen2024 (figure 6).
def drops_after_changes(sample: Sample) -> Outcome:
    """After how many route changes some 50 ms bin loses more than half of the mean of the second before.

    In-order goodput stops whenever one packet is missing, and so it falls for a packet that is merely late. SACK-aware
    delivery does not; changes without any drop are counted by themselves, to tell reordering from loss.

    Returns
    -------
    Outcome
        Numbers by slug: `changes`; `over_50`, `over_90`, `over_50_sack_aware`, `over_50_without_drop` (of these
        changes).
    """
    count: dict[str, dict[str, int]] = {"50 %": {}, "90 %": {}}
    series_count: dict[str, int] = {}
    without_loss: dict[str, int] = {}
    changes = {}
    for slug in ALGORITHMS:
        run = sample[slug]
        depth = run.metrics.recoveries.loc[run.metrics.recoveries["flow"] == run.main_flow, "depth_ratio"].dropna()
        changes[slug] = len(depth)
        count["50 %"][slug] = int((depth > 0.5).sum())
        count["90 %"][slug] = int((depth > 0.9).sum())
        series_count[slug] = _sack_aware_drops(run)
        # In-order goodput stops for a lost packet as for a late one; at these changes nothing was lost, so what falls
        # is reordering.
        lossless = run.changes.loc[run.changes["lost_pkts"] == 0, "t_ns"]
        # By the instant of the change, which both tables have.
        rows = run.metrics.recoveries[run.metrics.recoveries["t_ns"].isin(lossless)]
        without_loss[slug] = int((rows["depth_ratio"].fillna(0) > 0.5).sum())
    # "Some route changes": one is enough for the claim; how many there are is measured beside it.
    parts = {slug: count["50 %"][slug] >= 1 for slug in ALGORITHMS}
    cause = "" if all(parts.values()) else _reordered_text(sample, ALGORITHMS)
    return Outcome(
        holds_if(parts),
        "changes followed by a 50 ms bin that lost more than 50 % of the mean before: "
        + ", ".join(
            f"{NAMES[slug]} {count['50 %'][slug]} of {changes[slug]} (over 90 %: {count['90 %'][slug]}; no "
            f"packet dropped: {without_loss[slug]}; in SACK-aware delivery: {series_count[slug]})"
            for slug in ALGORITHMS
        ),
        {
            "changes": changes,
            "over_50": count["50 %"],
            "over_90": count["90 %"],
            "over_50_sack_aware": series_count,
            "over_50_without_drop": without_loss,
        },
        cause,
    )


# Implements claim 1.7 of frederiksen2024 (figure 7).
def window_growth(sample: Sample) -> Outcome:
    """Median growth of the window after changes with late packets, packets/s, by algorithm.

    Reno grows by one packet a round trip (RFC 5681, 3.1), CUBIC by a function of time (RFC 9438, 4.2), BBR with its
    estimate of the bandwidth: so what is compared is a slope over seconds.

    Returns
    -------
    Outcome
        Numbers: `growth_pkts_per_s` by slug. The cause has the median lowest window after those changes, in packets.
    """
    growth = {slug: ev.median(ev.growth_pkts_per_s(sample[slug])) for slug in ALGORITHMS}
    # One algorithm without such a change is enough: a comparison of the three cannot be made of two.
    if any(np.isnan(value) for value in growth.values()):
        return NONE_TO_TEST
    parts = {slug: growth[slug] > growth["reno"] for slug in ("cubic", "bbr")}
    cause = ""
    if not all(parts.values()):
        cut = {slug: _median_of(sample[slug], "cwnd_min_pkts") for slug in ALGORITHMS}
        cause = f"median lowest window after those changes {_plain(cut, 'packets')}; {_sender_text(sample)}"
    return Outcome(
        holds_if(parts), f"median growth {_plain(growth, 'packets/s')}", {"growth_pkts_per_s": growth}, cause
    )


# Implements claim 1.8 of frederiksen2024 (figure 7).
def spike_after_a_second(sample: Sample) -> Outcome:
    """Retransmissions, fall of the window, and the time of the first retransmission after changes with late packets.

    Ten retransmissions are taken for a spike; one or two are what any loss costs. The verdict is "partly" if spike or
    fall are there without the second of delay (`_gap_text` says why a sender would not take that long).

    Returns
    -------
    Outcome
        Numbers by slug: `changes`, `spike_ratio`, `fall_ratio` (shares of these), `first_retransmission_s`,
        `window_fell_s` (medians, seconds after the change).
    """
    rows: dict[str, dict[str, Any]] = {}
    parts: dict[str, bool] = {}
    some = False
    for slug in ALGORITHMS:
        changes = ev.reordered(sample[slug])
        if len(changes) == 0:
            return NONE_TO_TEST
        # Null is none: the change was followed by no retransmission within 5 s.
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
    return Outcome(verdict, text, rows, "" if verdict == "holds" else _sender_text(sample) + "; " + _gap_text(sample))


# Implements claim 1.9 of frederiksen2024 (figure 7).
def cubic_recovers_first(sample: Sample) -> Outcome:
    """Time from the first to the last retransmission after a change, of those at most 5 s after it.

    The time in the kernel's recovery state is given beside it (`recovery_state_ns`, from the socket's samples): a
    sender may be in recovery without sending anything again.

    Returns
    -------
    Outcome
        Numbers by slug, in seconds: `retransmitting_s`, `recovery_state_s`; medians over changes.
    """
    span, length = {}, {}
    for slug in ALGORITHMS:
        changes = ev.reordered(sample[slug])
        # Without any retransmission there is no first and no last one to measure between.
        changes = changes[changes["retransmissions_pkts"].fillna(0) > 0]
        # Clipped, not left out: a sender that still retransmits after 5 s is the slow case that the claim is about.
        last = changes["last_retransmission_after_ns"].clip(upper=5000 * MS)
        span[slug] = ev.median((last - changes["first_retransmission_after_ns"]) / 1e9)
        length[slug] = ev.median(changes["recovery_state_ns"] / 1e9)
    if all(np.isnan(value) for value in span.values()):
        return Outcome("cannot be told", "no change with late packets was followed by a retransmission")
    parts = {"cubic": span["cubic"] < 0.5, "reno": span["reno"] > 1.0, "bbr": span["bbr"] > 1.0}
    return Outcome(
        holds_if(parts),
        f"median time from the first to the last retransmission (at most 5 s after the change) {_plain(span, 's', 2)}; "
        f"median time in recovery {_plain(length, 's', 2)}",
        {"retransmitting_s": span, "recovery_state_s": length},
        "" if all(parts.values()) else _sender_text(sample) + "; " + _reordered_text(sample, ALGORITHMS),
    )


# Implements claim 1.10 of frederiksen2024 (figure 8).
def rtt_shapes(sample: Sample) -> Outcome:
    """For how many changes the smoothed RTT has the course that the paper describes, for each algorithm.

    The margins (10 %, 5 %, 2 %) are ours; the claim has the course in words.

    Returns
    -------
    Outcome
        Numbers: `share_ratio` by slug; the cause has the median course in ms.
    """
    shares: dict[str, float] = {}
    for slug in ALGORITHMS:
        rtt_us = _rtt_around(sample[slug])
        if len(rtt_us) == 0:
            return NONE_TO_TEST
        if slug == "reno":
            # Reno: "returns to slightly less", so after 5 s it must not be above where it was.
            match = (rtt_us["max"] > 1.1 * rtt_us["before"]) & (rtt_us["after"] <= rtt_us["before"])
        else:
            match = (rtt_us["min"] < 0.95 * rtt_us["before"]) & (rtt_us["after"] > 1.02 * rtt_us["min"])
        shares[slug] = ev.share(match)
    parts = {slug: value > 0.5 for slug, value in shares.items()}
    cause = ""
    if not all(parts.values()):
        shape = {slug: _rtt_around(sample[slug]).median().to_dict() for slug in ALGORITHMS}
        cause = "median smoothed RTT before, lowest and highest within 2 s, 5 s after: " + ", ".join(
            f"{NAMES[slug]} {row['before']:.0f}, {row['min']:.0f}, {row['max']:.0f}, {row['after']:.0f} ms"
            for slug, row in shape.items()
        )
    return Outcome(
        holds_if(parts),
        "changes with late packets that follow the described shape: "
        + _plain({k: 100 * v for k, v in shares.items()}, "%"),
        {"share_ratio": shares},
        cause,
    )


# Implements claim 1.11 of frederiksen2024 (figure 8).
def bbr_held_by_window(sample: Sample) -> Outcome:
    """For how much of the time BBR is paced above the links' rate, and is held by its window; the window over its BDP.

    The study has 3 BDP. In tcp_bbr.c it is `bbr_cwnd_gain`, 2, and in STARTUP `bbr_high_gain`, 2.885.

    Returns
    -------
    Outcome
        Numbers: `paced_above_ratio`, `window_limited_ratio` (shares of the time after 10 s), `window_over_bdp_ratio`
        (median), `bw_over_capacity_ratio` (median of BBR's estimate over the payload rate).
    """
    run = sample["bbr"]
    samples, weights = ev.window_weights(run)
    capacity = ev.capacity_bps(run)
    pacing = ev.floats(samples["pacing_bps"])
    cwnd, flight = (
        ev.floats(samples["cwnd_pkts"]),
        ev.floats(samples["unacked_pkts"]) - ev.floats(samples["sacked_pkts"]),
    )
    # The pacing rate counts payload and headers; 1448 of 1514 bytes are payload.
    over = float(np.average(np.nan_to_num(pacing) > capacity * 1514 / 1448, weights=weights))
    # 95 %: a sample between two ACKs finds some packets of a full window just acknowledged.
    held = float(np.average(flight >= 0.95 * cwnd, weights=weights))
    bdp_pkts = (
        ev.floats(samples["bbr_bw_bps"])
        * ev.floats(samples["bbr_min_rtt_us"])
        / 8e6
        / ev.floats(samples["snd_mss_bytes"])
    )
    # Infinite before the first estimate of the bandwidth, which is 0 then.
    gain = ev.median(pd.Series(cwnd / bdp_pkts).replace([np.inf, -np.inf], np.nan))
    # An estimate above 1 would be an overshoot of the filter; one of about 1 says that only the window can hold more.
    bw = ev.median(samples["bbr_bw_bps"].astype("Float64") / capacity)
    parts = {
        "paced above the capacity": over > 0.5,
        "window-limited": held > 0.5,
        # 0.5 on either side: Linux's 2 (bbr_cwnd_gain) and 2.89 (bbr_high_gain, STARTUP) are told apart from each other
        # by it.
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
        + f"back {2 * run.metrics.summary['path_delay_min_ns'] / 1e6:.1f} ms at least",
    )


# Implements claim 1.17 of frederiksen2024 (figure 7).
def transient_length(sample: Sample) -> Outcome:
    """For how long goodput is below 90 % of what it was, over all changes with late packets of the three runs.

    Transients that are not over after 5 s have no length and are counted apart: without them the median is too small.

    Returns
    -------
    Outcome
        Numbers: `duration_median_s`, `inside_ratio` (0.2 to 2.5 s), `inside_wider_ratio` (0.1 to 5 s),
        `not_over_within_5_s`.
    """
    lengths = []
    unfinished = 0
    for slug in ALGORITHMS:
        changes = ev.reordered(sample[slug])
        fell = changes[changes["fell_after_ns"].notna()]
        # A recovery that takes longer than 5 s has no length in the metrics; it is counted, not dropped silently.
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
        "" if all(parts.values()) else _reordered_text(sample, ALGORITHMS) + "; " + _sender_text(sample),
    )  # fmt: skip


# Implements claim 1.18 of frederiksen2024 (section II).
def reordering_by_shorter_routes(sample: Sample) -> Outcome:
    """How many changes with late packets go to a shorter path, and how many packets are late.

    A packet is overtaken when the wait that the abandoned link's queue imposes is longer than what the new path costs
    more, so the new path need not be shorter. The cause counts those for which the queue decides.

    A packet of the old path arrives later than the next one on the new path if

        queue wait left behind - queue wait met  >  propagation of the new path - propagation of the old

    so with `delay_step_ns` the right side, a change to a longer path makes packets late where the queue outweighs it.

    Returns
    -------
    Outcome
        Numbers: `changes`, `shorter_ratio`, `late_median_pkts`, `late_max_pkts`, `hundred_or_more_ratio`,
        `by_queue_alone_ratio`, `queue_outweighs_ratio`.
    """
    changes = pd.concat([ev.reordered(sample[slug]) for slug in ALGORITHMS])
    if len(changes) == 0:
        return NONE_TO_TEST
    # A change from or to no path at all has no length to compare: not shorter.
    shorter = ev.share(changes["is_shorter"].fillna(False).astype(bool))
    late = changes["late_pkts"].astype("int64")
    hundreds = {limit: ev.share(late >= limit) for limit in (100, 30)}
    parts = {"shorter": shorter >= 0.9, "hundreds": hundreds[100] > 0.5}
    step = changes["delay_step_ns"].astype("Float64") / 1e6
    queue = (changes["queue_left_wait_ns"] - changes["queue_met_wait_ns"]).astype("Float64") / 1e6
    # The new path is as long or longer: propagation alone would make no packet late there.
    by_queue = ev.share(((step >= 0) & (queue > 0)).fillna(False))
    more = ev.share((queue > -step).fillna(False))
    cause = ""
    if not all(parts.values()):
        cause = (
            f"{by_queue:.0%} of these changes went to a path that is not shorter, past a queue left behind on an "
            f"abandoned link; at {more:.0%} the queue weighs more than the difference in propagation (medians: queue "
            f"{ev.median(queue):.2f} ms, propagation {ev.median(-step):.2f} ms)"
        )
    return Outcome(
        holds_if(parts),
        f"{len(changes)} changes with late packets in the three runs; the new path is shorter at {shorter:.0%}; late "
        f"packets: median {late.median():.0f}, largest {late.max()}, 100 or more at {hundreds[100]:.0%}, 30 or more at "
        f"{hundreds[30]:.0%}",
        {"changes": len(changes), "shorter_ratio": shorter, "late_median_pkts": float(late.median()),
         "late_max_pkts": int(late.max()), "hundred_or_more_ratio": hundreds[100], "by_queue_alone_ratio": by_queue,
         "queue_outweighs_ratio": more},
        cause,
    )  # fmt: skip


# Implements claim 1.19 of frederiksen2024 (section II).
def raised_threshold(sample: Sample) -> Outcome:
    """Pairs of runs with a duplicate-ACK threshold of 3 and of 300: what it absorbs, and what it breaks.

    Linux 6.12's own TCP finds losses by time (RACK, RFC 8985) and heeds the threshold only until it has seen
    reordering, so absorbing is judged on classic TCP, without RACK. Breaking needs losses: a full-rate flow has more
    than 300 packets in flight, which find a loss by themselves; hence a thin flow too.

    Returns
    -------
    Outcome
        Numbers: `runs` (by slug: spurious retransmissions and drops in packets, timeouts, median repair in ms, goodput
        in Mbit/s), `left_ratio` (spurious retransmissions at 300 over those at 3), `repair_slower_ratio` (300 over 3).
    """
    rows: dict[str, dict[str, Any]] = {}
    for slug in THRESHOLD_SLUGS:
        run = sample[slug]
        flow = run.metrics.summary["flows"][run.main_flow]
        delays = ev.repair_delays_ns(run) / 1e6
        rows[slug] = {
            "spurious_retransmissions_pkts": flow["spurious_retransmissions_pkts"],
            "data_drops_pkts": flow["data_drops_pkts"],
            "timeouts": ev.counters(run)["TCPTimeouts"],
            "repair_median_ms": ev.median(delays),
            "goodput_mean_mbps": flow["goodput_mean_bps"] / 1e6,
        }
    # Before and after, each pair on one TCP and one path without loss.
    pairs = (("classic-cubic", "threshold-300-classic"), ("cubic", "threshold-300-linux"))
    left = {
        after: rows[after]["spurious_retransmissions_pkts"] / max(rows[before]["spurious_retransmissions_pkts"], 1)
        for before, after in pairs
    }
    # `max(..., 1)` above: without any spurious retransmission at 3 there is nothing to absorb, and nothing is divided
    # by 0.
    # On classic TCP alone: RACK (tcp_recovery.c, tcp_rack_reo_wnd) heeds no duplicate ACKs once it has seen reordering.
    absorbed = left["threshold-300-classic"] <= 0.1
    slower, broken, nearly = {}, {}, {}
    for name in ("lossy", "thin"):
        low, high = rows[f"threshold-3-{name}"], rows[f"threshold-300-{name}"]
        slower[name] = high["repair_median_ms"] / low["repair_median_ms"] if low["repair_median_ms"] else float("nan")
        broken[name] = high["timeouts"] > low["timeouts"] or slower[name] >= 2
        # No ratio is not a small one: without a loss that was repaired nothing could have broken.
        if np.isnan(slower[name]) and not broken[name]:
            return Outcome("cannot be told", f"{name}: no loss was repaired that could be compared", {"runs": rows})
        # The softer threshold is for the text alone; the verdict is on 2.
        nearly[name] = slower[name] >= 1.5
    # The claim: it cannot be absorbed without breaking. It falls if the threshold absorbs and nothing breaks.
    verdict: Verdict = "holds" if all(broken.values()) else "partly"
    if absorbed and not any(broken.values()):
        verdict = "does not hold"
    text = "; ".join(
        f"{slug}: {row['spurious_retransmissions_pkts']} spurious retransmissions, {row['timeouts']} timeouts, a loss "
        f"repaired after {row['repair_median_ms']:.0f} ms (median of {row['data_drops_pkts']} drops), "
        f"{row['goodput_mean_mbps']:.2f} Mbit/s"
        for slug, row in rows.items()
    )
    text += "; a loss takes " + ", ".join(
        f"{value:.2f} times as long ({name}; broken at 2: {_yes(broken[name])}, at 1.5: {_yes(nearly[name])})"
        for name, value in slower.items()
    )
    cause = ""
    if verdict != "holds":
        flight = {slug: ev.median(sample[slug].tables.sockets["unacked_pkts"]) for slug in THRESHOLD_SLUGS[-4:]}
        cause = (
            f"with classic TCP {left['threshold-300-classic']:.0%} of the spurious retransmissions are left at "
            f"threshold 300, with Linux 6.12 {left['threshold-300-linux']:.0%} (RACK finds losses by time and heeds no "
            f"threshold once it has seen reordering); median packets in flight "
            + ", ".join(f"{slug} {value:.0f}" for slug, value in flight.items())
            + ": where more than 300 are, as many duplicate ACKs come within a round trip and find the loss"
        )
    return Outcome(verdict, text, {"runs": rows, "left_ratio": left, "repair_slower_ratio": slower}, cause)


def _yes(value: bool) -> str:
    """A truth value for a text."""
    return "yes" if value else "no"


def _sack_aware_drops(run: RunView) -> int:
    """Changes after which SACK-aware delivery has, within 2 s, a 50 ms bin under half of the second before.

    Parameters
    ----------
    run : RunView

    Returns
    -------
    int
        Of all route changes of the run, those with late packets or not.
    """
    rate = run.metrics.goodput[run.main_flow, "sacked"]
    t_ns, value = rate["t_ns"].to_numpy(), rate["goodput_bps"].to_numpy()
    cuts = 0
    for change_ns in run.changes["t_ns"]:
        before = value[(t_ns >= change_ns - 1000 * MS) & (t_ns < change_ns)]
        after = value[(t_ns >= change_ns) & (t_ns < change_ns + 2000 * MS)]
        # A change in the first second, or at the end, has no bins on one side: it is no drop.
        cuts += bool(len(before) and len(after) and after.min() < 0.5 * before.mean())
    return cuts


def _rtt_around(run: RunView) -> pd.DataFrame:
    """Smoothed RTT around each change with late packets.

    Returns
    -------
    DataFrame
        A row a change that has samples on both sides: `before` (last sample), `min` and `max` (within 2 s), `after`
        (last sample within 5 s), all in ms.
    """
    frame = run.metrics.srtt[run.main_flow]
    t_ns, value = frame["t_ns"].to_numpy(), frame["srtt_us"].to_numpy() / 1e3
    rows = []
    for change_ns in ev.reordered(run)["t_ns"]:
        near = value[(t_ns > change_ns) & (t_ns <= change_ns + 2000 * MS)]
        before, after = value[t_ns <= change_ns], value[t_ns <= change_ns + 5000 * MS]
        if len(near) and len(before):
            rows.append({"before": before[-1], "min": near.min(), "max": near.max(), "after": after[-1]})
    return pd.DataFrame(rows, columns=["before", "min", "max", "after"])


def _median_of(run: RunView, column: str) -> float:
    """Median of a column over the changes with late packets."""
    return ev.median(ev.reordered(run)[column])


def _sender_text(sample: Sample) -> str:
    """For causes: what the senders' TCP counted, by algorithm."""
    return "; ".join(f"{NAMES[slug]}: {ev.counters_text(sample[slug])}" for slug in ALGORITHMS)


def _reordered_text(sample: Sample, slugs: tuple[str, ...]) -> str:
    """For causes: how many changes made packets late, and what was sent again after them, by algorithm."""
    parts = []
    for slug in slugs:
        changes = ev.reordered(sample[slug])
        again, spurious = changes["retransmissions_pkts"].sum(), changes["spurious_retransmissions_pkts"].sum()
        parts.append(
            f"{NAMES[slug]}: {len(changes)} of {len(sample[slug].changes)} changes made packets late, "
            f"followed by {int(again)} "
            f"retransmissions of which {int(spurious)} were spurious"
        )
    return "; ".join(parts)


def _gap_text(sample: Sample) -> str:
    """For causes: the smoothed RTT, after which a sender knows of late packets."""
    srtt_ms = {slug: _median_of(sample[slug], "srtt_before_us") / 1e3 for slug in ALGORITHMS}
    return (
        f"smoothed RTT before those changes {_plain(srtt_ms, 'ms')}: the first reordered packets are reported to the "
        "sender within about one round trip, so nothing in the trace would take a second"
    )


def _plain(values: dict[str, float], unit: str, digits: int = 0) -> str:
    """Numbers by algorithm, in words; nan, of which there was nothing to measure, is "unknown"."""
    return ", ".join(
        f"{NAMES[slug]} unknown" if np.isnan(value) else f"{NAMES[slug]} {value:.{digits}f} {unit}"
        for slug, value in values.items()
    )


THRESHOLD_SLUGS = (
    "cubic", "threshold-300-linux", "classic-cubic", "threshold-300-classic", "threshold-3-lossy",
    "threshold-300-lossy",
    "threshold-3-thin", "threshold-300-thin",
)  # fmt: skip
"""Runs that claim 1.19 looks at; the last four are the pairs in which links lose packets."""
LATE = "changes with late packets (those in which the reordering issue appears)"
"""For the texts of the tests."""
CLAIMS = (
    Claim("1.6", "All three show significant drops of goodput right after some route changes.", "6",
          "In-order goodput: after at least one route change, some 50 ms bin in the 2 s after it is "
          "below 50 % of the mean of the second before (below 10 % is given too), for each of the three. For some: "
          "partly. Given beside it: those changes within 5 s of which no packet was dropped, and SACK-aware "
          "delivery. (The 2 s were 10 s until a first look at 200 s of CUBIC: overflowing queues fell into them.)",
          ALGORITHMS, drops_after_changes),
    Claim("1.7", "The congestion window grows faster for CUBIC and BBR.", "7",
          f"Over {LATE}: growth of the window in the 5 s after its lowest sample of the 2 s after the change; the "
          "medians of CUBIC and of BBR are above Reno's. One of them: partly.", ALGORITHMS, window_growth),
    Claim("1.8", "About a second after the change all three show a spike of retransmissions and a fall of the window.",
          "7",
          f"Over {LATE}: in more than half, 10 or more retransmissions follow within 5 s, the window falls by 10 % "
          "within 2 s, and the median first retransmission is 0.5 to 1.5 s after the change, for each of the three. "
          "Partly: for some, or spike or fall without that delay.", ALGORITHMS, spike_after_a_second),
    Claim("1.9", "CUBIC recovers in under half a second; Reno and BBR go on retransmitting for more than one.", "7",
          f"Over {LATE} followed by a retransmission: median time from the first to the last retransmission within 5 s "
          "of the change, CUBIC < 0.5 s, Reno > 1 s, BBR > 1 s. Some of the three: partly.",
          ALGORITHMS, cubic_recovers_first),
    Claim("1.10", "Reno's RTT is low until recovery begins, rises with the retransmissions, returns to slightly less; "
          "CUBIC's and BBR's falls after the change and rises again fast.", "8",
          f"Over {LATE}, smoothed RTT: Reno's highest within 2 s is 10 % above that before and the one 5 s after not "
          "above it; CUBIC's and BBR's lowest within 2 s is 5 % below that before and the one 5 s after 2 % above that "
          "low. In more than half of the changes, for each of the three; for some: partly.", ALGORITHMS, rtt_shapes),
    Claim("1.11", "BBR overshoots the capacity and is held by its window (3 x BDP), not by pacing.", "8",
          "BBR's run after 10 s, by time: (a) paced above the links' rate more than half of the time; (b) packets in "
          "flight at 95 % of the window or more for more than half; (c) window over estimated BDP (its own bandwidth x "
          "smallest RTT) within 0.5 of 3. All: holds; some: partly.", ("bbr",), bbr_held_by_window),
    Claim("1.17", "A transient lasts between a few hundred milliseconds and a couple of seconds.", "7",
          f"Over {LATE} after which in-order goodput fell under 90 % of the second before: time until 3 bins of 50 ms "
          "in a row are back at 90 %. The median is within 0.2 to 2.5 s and so are more than half (0.1 to 5 s too "
          "is given).",
          ALGORITHMS, transient_length),
    Claim("1.18", "Reordering happens because the new route is shorter, and concerns hundreds of packets.", "II",
          f"Over {LATE} of the three runs: the new path's propagation is shorter in 90 % or more; more than half of "
          "them have 100 late packets or more (30 is given too). One of them: partly.",
          ALGORITHMS, reordering_by_shorter_routes),
    Claim("1.19", "Raising the duplicate-ACK threshold cannot absorb it without breaking loss detection.", "II",
          "CUBIC with net.ipv4.tcp_reordering and tcp_max_reordering = 300. Absorbed: classic TCP keeps at most 10 % "
          "of its spurious retransmissions. Broken: classic TCP has more timeouts at 300 than at 3, or takes twice as "
          "long (median; 1.5 times is given too) to repair a loss, with a full-rate flow over ISLs that lose 0.001 %, "
          "and with a thin flow of 5 Mbit/s over ISLs that lose 0.01 %. Holds: both broken; does not hold: absorbed "
          "and none broken; else partly. Linux 6.12's own TCP at 300 is given beside it. (The thin flow was added "
          "after a first look at 200 s of the full-rate pair.)", THRESHOLD_SLUGS, raised_threshold),
)  # fmt: skip
