# SPDX-License-Identifier: Apache-2.0
"""Claims about reordering itself: its causes, and a raised duplicate-ACK threshold (1.18 to 1.20, 1.24).

The functions have the form described in `claims_transient`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.study.claim import Claim, Outcome, Sample, Verdict, holds_if
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.runs import ALGORITHMS, SCENARIOS
from leowarp_studies.frederiksen2024.words import NONE_TO_TEST, changes_text, each, reordered_text, yes


# Implements claim 1.18 of frederiksen2024 (section II).
def reordering_by_shorter_routes(sample: Sample) -> Outcome:
    """Return the share of changes with late packets that lead to a shorter path, and the late packets per change.

    As a second cause, the paper names "a lower load, and thus shorter buffers", in networks with load-balancing
    routing. Claim 1.24 tests the shorter buffers.

    Returns: Numbers: `changes`, `shorter_ratio`, `late_median_pkts`, `late_max_pkts`, `hundred_or_more_ratio`.
    """
    changes = pd.concat([ev.reordered(sample[slug]) for slug in ALGORITHMS])
    if len(changes) == 0:
        return NONE_TO_TEST
    # If there is no path before or after a change, the lengths cannot be compared, and the new path does not count as
    # shorter.
    shorter = ev.share(changes["is_shorter"].fillna(False).astype(bool))
    late = changes["late_pkts"].astype("int64")
    hundreds = {limit: ev.share(late >= limit) for limit in (100, 30)}
    parts = {"shorter": shorter >= 0.9, "hundreds": hundreds[100] > 0.5}
    cause = "" if all(parts.values()) else _shorter_queues(changes)[0]
    return Outcome(
        holds_if(parts),
        f"{len(changes)} changes with late packets in the three runs; the new path is shorter at {shorter:.0%}; late "
        f"packets: median {late.median():.0f}, largest {late.max()}, 100 or more at {hundreds[100]:.0%}, 30 or more at "
        f"{hundreds[30]:.0%}",
        {"changes": len(changes), "shorter_ratio": shorter, "late_median_pkts": float(late.median()),
         "late_max_pkts": int(late.max()), "hundred_or_more_ratio": hundreds[100]},
        cause,
    )  # fmt: skip


# Implements claim 1.24 of frederiksen2024 (section II).
def reordering_by_shorter_queues(sample: Sample) -> Outcome:
    """Count the route changes with late packets at which the queueing delays differ more than the paths' propagation
    delays do.

    The last packet of the old path arrives later than the next packet of the new path if

        queue wait left behind - queue wait met  >  propagation of the new path - propagation of the old

    The column `delay_step_ns` is the right side of this inequality. If the new path is longer, packets are late only if
    the difference of the queue waits exceeds `delay_step_ns`.

    Returns: Numbers: `changes`, `by_queue_alone_ratio` (changes whose new path is not shorter),
        `queue_outweighs_ratio`.
    """
    changes = pd.concat([ev.reordered(sample[slug]) for slug in ALGORITHMS])
    if len(changes) == 0:
        return NONE_TO_TEST
    text, by_queue, more = _shorter_queues(changes)
    verdict: Verdict = "holds" if more > 0.5 else "partly" if more > 0 else "does not hold"
    return Outcome(
        verdict,
        f"{len(changes)} changes with late packets in the three runs; {text}",
        {"changes": len(changes), "by_queue_alone_ratio": by_queue, "queue_outweighs_ratio": more},
        "" if verdict == "holds" else reordered_text(sample, ALGORITHMS),
    )


def _shorter_queues(changes: pd.DataFrame) -> tuple[str, float, float]:
    """Return a text and two shares, which say how often queues on abandoned links explain late packets.

    Returns
    -------
    text : str
    by_queue_alone, outweighs : float
        The share of changes whose new path is not shorter, and the share at which the difference of the queues exceeds
            the delay difference.
    """
    step = changes["delay_step_ns"].astype("Float64") / 1e6
    queue = (changes["queue_left_wait_ns"] - changes["queue_met_wait_ns"]).astype("Float64") / 1e6
    # If the new path is equally long or longer, the propagation delays alone make no packet late.
    by_queue = ev.share(((step >= 0) & (queue > step)).fillna(False))
    # The propagation difference may have either sign, so the queue is compared with the absolute value of the
    # difference.
    more = ev.share((queue > step.abs()).fillna(False))
    text = (
        f"{by_queue:.0%} of these changes went to a path that is not shorter, past a queue left behind on an abandoned "
        f"link; at {more:.0%} the queue weighs more than the difference in propagation (medians: queue "
        f"{ev.median(queue):.2f} ms, propagation {ev.median(-step):.2f} ms)"
    )
    return text, by_queue, more


# Implements claim 1.20 of frederiksen2024 (section III).
def delay_steps_reorder_nothing(sample: Sample) -> Outcome:
    """Count the late packets that no route change explains. The delays of the current path change in steps every 15 s.

    Returns: Numbers by run: `late_pkts`, `late_elsewhere_pkts` (late packets not explained by a change), `delay_steps`
        (on current paths).
    """
    late, elsewhere, steps = {}, {}, {}
    for slug in SCENARIOS:
        flow = sample[slug].numbers.summary["flows"][sample[slug].main_flow]
        late[slug] = int(flow["late_pkts"])
        elsewhere[slug] = int(flow["late_pkts"]) - int(flow["late_by_changes_pkts"])
        steps[slug] = ev.delay_steps(sample[slug])
    if not any(steps.values()):
        return Outcome("cannot be told", "no delay of a path in force changed")
    parts = {slug: elsewhere[slug] == 0 for slug in SCENARIOS}
    return Outcome(
        holds_if(parts),
        f"late packets that no route change explains: {each(elsewhere, 'packets', 0)}, of {each(late, '', 0)}, while "
        f"the path's delay steps {each(steps, 'times', 0)}",
        {"late_pkts": late, "late_elsewhere_pkts": elsewhere, "delay_steps": steps},
        "" if all(parts.values()) else changes_text(sample),
    )


# Implements claim 1.19 of frederiksen2024 (section II).
def raised_threshold(sample: Sample) -> Outcome:
    """Compare runs with duplicate-ACK thresholds of 3 and of 300. One result is the share of spurious retransmissions
    that the threshold of 300 avoids. A second result is how much longer repairs take with this threshold.

    The TCP of Linux 6.12 detects losses by time (RACK, RFC 8985). After this TCP has seen reordering, it no longer uses
    the duplicate-ACK threshold. Classic TCP has no RACK, so it shows whether the threshold absorbs reordering. Only
    runs with losses show whether the threshold harms recovery. A flow at full rate has more than 300 packets in flight,
    and detects a loss in spite of the threshold. For this reason, a flow with few packets in flight is also tested.

    Returns: Numbers: `runs` (by run), `left_ratio` (spurious retransmissions with the threshold 300 divided by those
        with 3), `repair_slower_ratio` (repair time with 300 divided by that with 3). `runs` has spurious
        retransmissions and drops in packets, timeouts, median repair in ms, and goodput in Mbit/s.
    """
    rows: dict[str, dict[str, Any]] = {}
    for slug in THRESHOLD_SLUGS:
        run = sample[slug]
        flow = run.numbers.summary["flows"][run.main_flow]
        delays = ev.repair_delays_ns(run) / 1e6
        rows[slug] = {
            "spurious_retransmissions_pkts": flow["spurious_retransmissions_pkts"],
            "data_drops_pkts": flow["data_drops_pkts"],
            "timeouts": ev.counters(run)["TCPTimeouts"],
            "repair_median_ms": ev.median(delays),
            "goodput_mean_mbps": flow["goodput_mean_bps"] / 1e6,
        }
    # Each pair has a run with threshold 3 and a run with threshold 300. Both runs use the same TCP and the same path
    # without loss.
    pairs = (("classic-cubic", "threshold-300-classic"), ("cubic", "threshold-300-linux"))
    left = {
        after: rows[after]["spurious_retransmissions_pkts"] / max(rows[before]["spurious_retransmissions_pkts"], 1)
        for before, after in pairs
    }
    # `max(..., 1)` above avoids a division by 0: if threshold 3 causes no spurious retransmissions, there is nothing to
    # absorb. Only classic TCP is tested, because RACK (tcp_recovery.c, tcp_rack_reo_wnd) ignores duplicate ACKs once it
    # has seen reordering.
    absorbed = left["threshold-300-classic"] <= 0.1
    slower, broken, nearly = {}, {}, {}
    for name in ("lossy", "thin"):
        low, high = rows[f"threshold-3-{name}"], rows[f"threshold-300-{name}"]
        slower[name] = high["repair_median_ms"] / low["repair_median_ms"] if low["repair_median_ms"] else float("nan")
        broken[name] = high["timeouts"] > low["timeouts"] or slower[name] >= 2
        # If no loss was repaired, the ratio is missing, and it cannot be told whether recovery is harmed.
        if np.isnan(slower[name]) and not broken[name]:
            return Outcome("cannot be told", f"{name}: no loss was repaired that could be compared", {"runs": rows})
        # The limit of 1.5 is used only in the text of the outcome; the verdict uses a limit of 2.
        nearly[name] = slower[name] >= 1.5
    # The claim says that the threshold cannot absorb reordering without harming loss recovery. The verdict is therefore
    # "does not hold" if the threshold absorbs reordering and leaves loss recovery unharmed.
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
        f"{value:.2f} times as long ({name}; broken at 2: {yes(broken[name])}, at 1.5: {yes(nearly[name])})"
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


THRESHOLD_SLUGS = (
    "cubic", "threshold-300-linux", "classic-cubic", "threshold-300-classic", "threshold-3-lossy",
    "threshold-300-lossy",
    "threshold-3-thin", "threshold-300-thin",
)  # fmt: skip


CLAIMS = (
    Claim("1.18", "Reordering happens because the new route has a lower propagation time, and concerns hundreds of "
          "packets.", "II",
          "Over changes with late packets of the three runs: the new path's propagation is shorter in 90 % or more; "
          "more than half of them have 100 late packets or more (30 is given too). One of them: partly. Shorter "
          "buffers are claim 1.24.", ALGORITHMS, reordering_by_shorter_routes),
    Claim("1.19", "Raising the duplicate-ACK threshold cannot absorb it without completely breaking congestion control "
          "and loss detection.", "II",
          "CUBIC with net.ipv4.tcp_reordering and tcp_max_reordering = 300. Absorbed: classic TCP keeps at most 10 % "
          "of its spurious retransmissions. Broken: classic TCP has more timeouts at 300 than at 3, or takes twice as "
          "long (median; 1.5 times is given too) to repair a loss, with a full-rate flow over ISLs that lose 0.001 %, "
          "and with a thin flow of 5 Mbit/s over ISLs that lose 0.01 %. Holds: both broken; does not hold: absorbed "
          "and none broken; else partly. Linux 6.12's own TCP at 300 is given beside it. (The thin flow was added "
          "after a first look at 200 s of the full-rate pair.)", THRESHOLD_SLUGS, raised_threshold),
    Claim("1.20", "The variation of the delay along a route affects all packets equally, and reorders nothing.", "III",
          "The three scenarios with CUBIC: no packet is late but those that a route change explains "
          "(metrics/route_changes/causes.py), though the path's delay steps. In some scenarios: partly.",
          SCENARIOS, delay_steps_reorder_nothing),
    Claim("1.24", "In load-balanced networks a lower load, thus shorter buffers, also causes reordering; here too.",
          "II",
          "Over changes with late packets of the three runs: the wait in the queue left behind, less that in the "
          "queue met, is more than what the paths differ by in propagation. In more than half: holds; in some: partly.",
          ALGORITHMS, reordering_by_shorter_queues),
)  # fmt: skip
