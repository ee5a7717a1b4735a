# SPDX-License-Identifier: Apache-2.0
"""Invented results of the study, for tests of claims and figures."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics import Probes
from leowarp_studies.huston2024 import questions, runs, variants
from leowarp_studies.huston2024.groups import CLEAN_PEAK, OFF_PEAK, PEAK
from leowarp_studies.huston2024.pings import MS, Pings, S
from leowarp_studies.huston2024.traces import SlowStart, Trace, after_timeouts, cuts, losses

SEEDS = 7
PATH_BPS = 250e6
SLOTS_BPS = (250e6, 350e6, 200e6, 250e6, 250e6)
"""The rate of BBR in each slot."""

GOODPUT_BPS = {
    "reno": 30e6, "cubic": 45e6, "bbr": 220e6, "bbr_handover": 240e6, "cubic_handover": 90e6,
    "bbr_handover-defer": 240e6, "cubic_handover-marks": 200e6, "dctcp-ecn-fq_codel": 100e6,
    "cubic-ecn-fq_codel": 45e6, "cubic-nosack": 15e6, "cubic-fq_codel": 40e6, "bbr3": 215e6, "bbr3_handover": 225e6,
}  # fmt: skip
"""The goodput at peak hours, as the study reports or proposes it. An algorithm outside the study has CUBIC's
goodput."""

OFF_PEAK_BPS = {"reno": 120e6, "cubic": 165e6, "bbr": 225e6, "reno-fq": 121e6, "cubic-fq": 166e6}

CUBIC_BESIDE = {"bbr": 0.08, "reno": 0.6, "bbr3": 0.3, "bbr3_handover": 0.3}
"""CUBIC's share of the sum of both flows' goodput."""


def frames(**changed: Any) -> dict[str, Any]:
    """Return all data sets, as the study reports them. `changed` contains data sets that replace those with the same
    names."""
    made = {
        "flood": {runs.REGULAR: [pings(seed, 10 * MS) for seed in (1, 2)],
                  runs.ANSWERED: [pings(seed, 27 * MS) for seed in (1, 2)]},
        "paced": [pings(seed, S, seconds=1800, loses=range(2)) for seed in (1, 2, 3)],
        "capacity": capacity(),
        "sessions": sessions(),
        "traces": traces(),
        "beside": beside(),
        "losses": loss_rows(),
        "phases": phase_rows(),
        "hystart": [trace("cubic", PEAK, seed) for seed in range(1, SEEDS + 1)],
        "conditions": conditions(),
        "jitter": jitter_rows(),
        "shared": shared_rows(),
        "programs": program_rows(),
    }  # fmt: skip
    made |= parts_of(made["sessions"])
    made["shown"] = {key: found[0] for key, found in made["traces"].items()}
    return made | changed


def parts_of(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the data sets that contain only some of the sessions."""
    return {
        "off-peak": rows[rows["preset"] == OFF_PEAK],
        "clean": rows[rows["preset"] == CLEAN_PEAK],
        "aware": rows[rows["variant"].str.contains("_handover")],
        "bbr3": rows[rows["variant"].str.startswith("bbr3")],
    }


def pings(
    seed: int, spacing_ns: int, *, seconds: int = 380, loses: range = range(0, 5), rise_ms: float = 40.0,
    jitter_ms: float = 10.05,
) -> Pings:  # fmt: skip
    """Return echoes every `spacing_ns`. Reconfigurations occur every 15 s from 12 s on. For `rise_ms` after each
    reconfiguration, no packets pass.

    The first probe after a reconfiguration is lost if `loses` contains the reconfiguration's index modulo seven. Within
    a slot, the round-trip time is the slot's base plus one of three values up to `jitter_ms`. Successive values differ
    by two thirds of `jitter_ms` on average.
    """
    random = np.random.default_rng(seed)
    # The base RTT is about 30 ms, and changes by at least 3 ms at each reconfiguration.
    changes_ns = np.arange(12 * S, seconds * S, 15 * S)
    base_ms = np.resize([28.0, 32.0, 25.0, 30.0], len(changes_ns) + 1)
    sent_ns = np.arange(0, seconds * S, spacing_ns, dtype="int64")
    slot = np.searchsorted(changes_ns, sent_ns, side="right")
    phase = np.arange(len(sent_ns)) + int(random.integers(3))
    rtt_ms = base_ms[slot] + np.array([0.0, 0.5, 1.0])[phase % 3] * jitter_ms
    since_ns = np.where(slot > 0, sent_ns - np.append(0, changes_ns)[slot], 10**15)
    rtt_ms = np.maximum(rtt_ms, base_ms[slot] + rise_ms - since_ns / MS)
    lost = np.zeros(len(sent_ns), dtype=bool)
    for number, t_ns in enumerate(changes_ns.tolist()):
        if number % 7 in loses:
            lost[np.searchsorted(sent_ns, t_ns + spacing_ns * (spacing_ns < S // 2))] = True
    # One reconfiguration has an RTT of 80 ms, the worst value in the study.
    worst = (slot == 5) & (since_ns < spacing_ns)
    rtt_ms = np.where(worst, 80.0, rtt_ms)
    return Pings(seed, Probes(sent_ns, np.where(lost, np.nan, rtt_ms * MS)), changes_ns, seconds * S)


def capacity(down_bps: float = 120e6, up_bps: float = 15e6) -> pd.DataFrame:
    """Return every tenth test of capacity. `down_bps` and `up_bps` are the medians of the tests. The values range from
    10 to 370 Mbit/s (down) and from 5 to 50 Mbit/s (up)."""
    at = pd.to_datetime(runs.capacity_instants()[::10], utc=True)
    half = len(at) // 2
    frame = pd.DataFrame({"test": np.arange(len(at)) + 1, "at": at})
    for name, median, low, high in (("down", down_bps, 10e6, 370e6), ("up", up_bps, 5e6, 50e6)):
        below, above = np.linspace(low, median, half + 1)[:-1], np.linspace(median, high, len(at) - half)
        frame[f"{name}_link_bps"] = 1.25 * median
        frame[f"{name}_bps"] = np.random.default_rng(1).permutation(np.concatenate([below, above]))
    frame["hour"] = frame["at"].dt.hour
    return frame


def sessions(goodput_bps: dict[str, float] | None = None) -> pd.DataFrame:
    """Return rows in the form of `results.sessions`. Each seed raises the goodput of every variant by 1 %."""
    peak = GOODPUT_BPS | (goodput_bps or {})
    rows = []
    cells = [(variant.name, PEAK, peak.get(variant.name, peak["cubic"])) for variant in variants.VARIANTS]
    cells += [(name, OFF_PEAK, rate_bps) for name, rate_bps in OFF_PEAK_BPS.items()]
    cells += [(variant.name, CLEAN_PEAK, 200e6) for variant in variants.CLEAN]
    for variant, preset, rate_bps in cells:
        aware = "_handover" in variant
        for seed in range(1, SEEDS + 1):
            rows.append({
                "variant": variant, "preset": preset, "seed": seed, "goodput_bps": rate_bps * (1 + 0.01 * seed),
                "rtt_p99_ns": 90e6 + seed * 1e6, "rtt_p50_ns": 40e6, "recovery_p50_ns": 0.4e9 + seed * 1e7,
                "recovered_ratio": 1.0, "retransmissions_pkts": 80.0 if aware else 100.0, "spurious_pkts": 1.0,
                "sent_pkts": 100_000.0, "lost_pkts": 99.0, "recoveries": 12.0, "undos": 0.0,
                "timeouts": 4.0 if variant.endswith("-nosack") else 1.0,
                "marked_pkts": 0.0, "cwnd_p50_pkts": 300.0, "dropped_loss_pkts": 94.0,
                "dropped_queue_pkts": 1.0 if variant.endswith("-fq") else 5.0,
                "retransmitted_ratio": 0.001, "cpu_s": 3.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def traces() -> dict[tuple[str, str], list[Trace]]:
    """Return the traces of the main variants, the cures, the proposals, BBR version 3, and CUBIC without SACK."""
    keys = [(variant.name, preset) for variant in variants.MAIN for preset in (PEAK, OFF_PEAK)]
    keys += [("cubic-nosack", PEAK)]
    keys += [(variant.name, PEAK) for variant in (*variants.CURES, *variants.PROPOSALS, *variants.BBR3)]
    return {key: [trace(*key, seed) for seed in range(1, SEEDS + 1)] for key in keys}


@cache
def trace(variant: str, preset: str, seed: int, *, slots_bps: tuple[float, ...] = SLOTS_BPS) -> Trace:
    """Return a synthetic trace. BBR's rate changes from slot to slot: 250, then 350, then 200 Mbit/s. BBR's estimate of
    the bandwidth is 4 % above its rate.

    Other congestion controls begin with 240 Mbit/s, and fall to 50 Mbit/s within a second. The window is reduced at 2 s
    by a drop at the queue, at 8 s by an isolated loss, and at 27 and 42 s by losses at reconfigurations.

    Off-peak sessions have neither the fall at the beginning nor a loss. In the peak session of CUBIC with SACK, two
    more packets are lost. CUBIC does not reduce its window for them. The rate of this session rises after each
    reduction.
    """
    t_s = np.arange(0, 60, 0.5)
    changes_ns = np.array([12, 27, 42, 57]) * S
    if variant.startswith("bbr"):
        goodput_bps = np.array(slots_bps)[np.searchsorted(changes_ns / S, t_s, side="right")]
    else:
        rate_bps = (GOODPUT_BPS if preset == PEAK else OFF_PEAK_BPS)[variant]
        goodput_bps = np.full(len(t_s), 200e6 if preset == OFF_PEAK else rate_bps)
        if preset == PEAK:
            goodput_bps[(t_s >= 1.5) & (t_s < 2)] = 240e6
            goodput_bps[(t_s >= 2) & (t_s < 3)] = 50e6
        if (variant, preset) == ("cubic", PEAK):
            goodput_bps[t_s >= 3] = climbing_bps(t_s[t_s >= 3])
    sampled_ns = np.arange(0, 60 * S, 50 * MS)
    estimate_bps = 1.04 * np.array(slots_bps)[np.searchsorted(changes_ns, sampled_ns, side="right")]
    uncut = variant.startswith("bbr") or preset == OFF_PEAK
    # A sender that responds only to marks reduces its window after a drop at the queue, but not after a loss on the
    # link.
    cut_s = [] if uncut else [2.0] if variant == "cubic_handover-marks" else [2.0, 8.0, 27.05, 42.05]
    cause = {2.0: 1, 8.0: 2, 27.05: 2, 42.05: 2}
    drops = pd.DataFrame(
        {"t_ns": [int(at_s * S) - 20 * MS for at_s in cut_s], "cause": [cause[at] for at in cut_s]}, dtype="int64"
    )
    if (variant, preset) == ("cubic", PEAK):
        alone = pd.DataFrame({"t_ns": [20 * S, 35 * S], "cause": [2, 2]}, dtype="int64")
        drops = pd.concat([drops, alone]).sort_values("t_ns", ignore_index=True)
    cwnd, ssthresh = window_pkts(sampled_ns / S, cut_s)
    lost = losses(drops, changes_ns)
    calm = np.zeros(len(sampled_ns))
    found = cuts(sampled_ns, cwnd, ssthresh, calm, lost)
    return Trace(
        seed=seed, end_s=60.0, reconfigurations_s=changes_ns / S, t_s=t_s, goodput_bps=goodput_bps,
        capacity_bps=np.full(len(t_s), PATH_BPS), cwnd_t_s=sampled_ns / S, cwnd_pkts=cwnd,
        bbr_bps=estimate_bps if variant.startswith("bbr") else np.full(len(sampled_ns), np.nan), losses=lost,
        cuts=found, slow_start=SlowStart("delay", 0.4, 1000.0),
        timeouts=after_timeouts(sampled_ns, calm, cwnd, np.full(len(cwnd), 4e4), found["t_s"].to_numpy()),
        repairing_ratio=0.05,
    )  # fmt: skip


def climbing_bps(t_s: np.ndarray) -> np.ndarray:
    """Return a goodput of 50 Mbit/s at 3 s that rises by 4 Mbit/s per second. At 8, 27 and 42 s, the goodput is
    multiplied by 0.6."""
    rate_bps, found = 50e6, []
    for at_s in t_s.tolist():
        if at_s in (8.0, 27.0, 42.0):
            rate_bps *= 0.6
        found.append(rate_bps)
        rate_bps += 0.5 * 4e6
    return np.array(found)


def window_pkts(t_s: np.ndarray, cut_s: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the congestion window and the slow-start threshold. The window begins at 1000 packets, and is multiplied
    by 0.7 at each instant of `cut_s`. After a reduction, the window grows by 100 packets per second, up to 10 packets
    above its last maximum."""
    top = 1000.0
    cwnd, ssthresh = np.full(len(t_s), 1000.0), np.full(len(t_s), 2.0**31 - 1)
    for place in range(1, len(t_s)):
        cwnd[place] = min(top, cwnd[place - 1] + 100 * (t_s[place] - t_s[place - 1]))
        ssthresh[place] = ssthresh[place - 1]
        if any(t_s[place - 1] < at_s <= t_s[place] for at_s in cut_s):
            cwnd[place] = ssthresh[place] = np.floor(0.7 * cwnd[place])
            top += 10
    return cwnd, ssthresh


def beside(cubic: dict[str, float] | None = None) -> pd.DataFrame:
    """Return rows for each variant that competes with CUBIC. `cubic` is a dict from variant to the share of the goodput
    that CUBIC gets beside the variant. It need not have all variants."""
    left = CUBIC_BESIDE | (cubic or {})
    rows = []
    for variant in variants.VARIANTS:
        share = 1 - left.get(variant.name, 0.5)
        for seed in range(1, SEEDS + 1):
            total_bps = 200e6 * (1 + 0.01 * seed)
            rows.append({
                "variant": variant.name, "seed": seed, "share_ratio": share, "goodput_bps": share * total_bps,
                "jain_index": 1 / (2 * (share**2 + (1 - share) ** 2)), "beside_goodput_bps": (1 - share) * total_bps,
                "cpu_s": 4.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def loss_rows() -> pd.DataFrame:
    """Return rows with several loss ratios. The goodput of CUBIC and Reno falls with the square root of the loss ratio.
    BBR's goodput stays."""
    rows = []
    for variant in variants.MAIN:
        for text in runs.LOSSES:
            loss = float(text.split()[0]) / 100
            fallen = 1.0 if variant.name == "bbr" else 1 / (1 + 300 * loss**0.5)
            for seed in range(1, 4):
                rows.append({"variant": variant.name, "loss_ratio": loss, "seed": seed,
                             "goodput_bps": 220e6 * fallen * (1 + 0.02 * seed)})  # fmt: skip
    return pd.DataFrame(rows)


def phase_rows() -> pd.DataFrame:
    """Return rows for sessions. Each value of `PHASE_ERRORS_S` is the delay of the handover schedule in some sessions.
    If the schedule is less than 4 s late, the handover-aware variant keeps its whole gain. Otherwise it has no gain."""
    rows = []
    for name, base in (("bbr_handover", "bbr"), ("cubic_handover", "cubic")):
        for late_s in runs.PHASE_ERRORS_S:
            at_bps = GOODPUT_BPS[name if late_s < 4 else base]
            for seed in range(1, 4):
                rows.append({"variant": name, "late_s": late_s, "seed": seed, "goodput_bps": at_bps * (1 + 0.01 * seed),
                             "retransmissions_pkts": 80.0, "rtt_p99_ns": 9e7})  # fmt: skip
    return pd.DataFrame(rows)


def conditions(
    moving: tuple[str, ...] = ("base", "jitter"), used_without_jitter: float = 1.0
) -> dict[str, list[Trace]]:
    """Return a dict from each condition to the traces of BBR. BBR's estimate of the rate is constant if the condition
    keeps all quantities in `moving` constant. Otherwise the estimate changes.

    `used_without_jitter`: The goodput without jitter, divided by the goodput with jitter.
    """
    found = {}
    for name, still in questions.conditions().items():
        rate_bps = [240e6] * 5 if set(moving) <= set(still) else [240e6, 280e6, 220e6, 240e6, 240e6]
        factor = used_without_jitter if "jitter" in still else 1.0
        slots_bps = tuple(rate * factor for rate in rate_bps)
        found[name] = [trace("bbr", PEAK, seed, slots_bps=slots_bps) for seed in range(1, SEEDS + 1)]
    return found


def jitter_rows(no_jitter_bps: float = 90e6, mean_kept_bps: float = 60e6) -> pd.DataFrame:
    """Return rows in which CUBIC is faster without jitter, even if the mean delay stays the same. With jitter, it has
    45 Mbit/s."""
    rows = []
    for preset in (PEAK, CLEAN_PEAK):
        for name, rate_bps in ((questions.NO_JITTER, no_jitter_bps), (questions.MEAN_KEPT, mean_kept_bps)):
            rows += [{"variant": name, "preset": preset, "seed": seed, "goodput_bps": rate_bps * (1 + 0.01 * seed)}
                     for seed in range(1, SEEDS + 1)]  # fmt: skip
    return pd.DataFrame(rows)


def shared_rows(bbr_bps: float = 200e6) -> pd.DataFrame:
    """Return rows of runs in which customers share the rate. CUBIC gets only its share, but BBR gets its full rate."""
    rows = []
    for customers in questions.CUSTOMERS:
        for name, rate_bps in (("cubic", 220e6 / (customers + 1)), ("bbr", bbr_bps)):
            rows += [{"variant": name, "customers": customers, "seed": seed, "goodput_bps": rate_bps,
                      "rtt_p99_ns": 200e6} for seed in range(1, SEEDS + 1)]  # fmt: skip
    return pd.DataFrame(rows)


def program_rows(ngtcp2_bps: float = 40e6) -> pd.DataFrame:
    """Return rows of the study `programs` over the profile. The rows are transfers by three stacks with CUBIC."""
    rates_bps = {"cubic": 40e6, "ngtcp2": ngtcp2_bps, "quinn": 42e6}
    return pd.DataFrame(
        [{"group": "starlink", "sender": name, "goodput_bps": rate} for name, rate in rates_bps.items()]
    )
