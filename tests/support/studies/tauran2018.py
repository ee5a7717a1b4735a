# SPDX-License-Identifier: Apache-2.0
"""Invented results of the study, for tests of claims and figures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from leowarp_studies.tauran2018 import runs
from leowarp_studies.tauran2018.runs import ALGORITHMS, OFF, ON, SNRS_DB
from leowarp_studies.tauran2018.traces import Trace

SEEDS = 5

GOODPUT_BPS = {
    ("reno", False): (400e3, 500e3), ("cubic", False): (500e3, 600e3), ("hybla", False): (1141e3, 1764e3),
    ("reno", True): (1500e3, 2500e3), ("cubic", True): (1600e3, 2800e3), ("hybla", True): (2000e3, 3000e3),
}  # fmt: skip
"""The goodput without delayed ACKs at 7 dB and at 13 dB, by congestion control and resequencing."""

KEPT = {
    ("reno", False): (1.2, 1.2), ("cubic", False): (1.0, 1.0), ("hybla", False): (0.9, 0.6),
    ("reno", True): (0.9, 0.8), ("cubic", True): (0.85, 0.6), ("hybla", True): (0.9, 0.8),
}  # fmt: skip
"""The goodput with delayed ACKs, divided by the goodput without them."""

RETRANSMISSIONS = {"reno": (1100, 700), "cubic": (1300, 800), "hybla": (7000, 20000)}


def frames(**changed: Any) -> dict[str, Any]:
    """Return all data sets, as the study reports them. `changed` contains data sets that replace those with the same
    names."""
    mine = sessions()
    made = {
        "sessions": mine,
        "timers": mine,
        "rto_floor": mine[mine["resequencing"] & mine["congestion_control"].isin(ALGORITHMS[:2])],
        "capacity": mine[mine["snr_db"].isin(runs.FEW_SNRS_DB)],
        "codewords": codewords(),
        "traces": {
            key: trace(
                1,
                waits_over_10_ms=0.1 if key[2] else 0.02,
                acks_a_segment=0.6,
                growing=0.2 if key[0] == "reno" else 0.3,
            )
            for key in itertools.product(ALGORITHMS, (ON, OFF), (False, True), map(float, SNRS_DB))
        },
        "growth": growth(1.5),
        "profiles": profiles(mine),
        "assumptions": assumptions(mine),
        "by_acks": by_acks(mine),
    }
    return made | changed


def sessions() -> pd.DataFrame:
    """Return rows in the form of `results.sessions`. Most values depend on the seed: the seed n makes them n %
    larger."""
    rows = []
    for control, ordered, delayed, snr_db, seed in itertools.product(
        ALGORITHMS, (False, True), (ON, OFF), SNRS_DB, range(1, SEEDS + 1)
    ):
        on, more = delayed == ON, 1 + 0.01 * seed
        signs = (0.8 if on else 1.0) * more
        goodput_bps = _between(GOODPUT_BPS[control, ordered], snr_db)
        goodput_bps *= _between(KEPT[control, ordered], snr_db) if on else 1.0
        rows.append({
            "congestion_control": control, "delayed_ack": delayed, "resequencing": ordered,
            "profile": runs.STUDY_PROFILE, "snr_db": float(snr_db), "seed": seed, "setting": runs.BASE,
            "goodput_bps": goodput_bps * more, "sent_pkts": 40_000.0, "lost_pkts": 900.0, "dropped_pkts": 0.0,
            "late_pkts": 0.0 if ordered else 20_000.0,
            "retransmissions_pkts": _between(RETRANSMISSIONS[control], snr_db) * more, "timeouts": 40.0 * signs,
            "retransmitted_pkts": 2000.0 * signs, "spurious_pkts": 1600.0 * signs,
            "spurious_of_retransmitted_ratio": 0.8, "link_of_lost_ratio": 1.0,
            "recoveries": 300.0, "undos": 0.0, "duplicate_acks_ratio": (0.1 if ordered else 0.4) * signs,
            "spurious_ratio": 0.04 * signs,
            "timeout_retransmissions_ratio": (0.02 if on else 0.01) * more,
            "acks_per_segment_ratio": 0.6 if on else 1.0, "long_waits_ratio": 0.1,
            "srtt_us": (230e3 if on else 220e3) * more,
            "rttvar_us": (15e3 if on else 20e3) * more, "rto_us": (380e3 if on else 420e3) * more, "cwnd_pkts": 20.0,
            "timeouts_ratio": 0.001 * signs, "late_ratio": 0.0 if ordered else 0.5,
            "lost_ratio": 0.04 * (0.1 ** ((snr_db - 7) / 6)) * (1 + 0.001 * seed), "cpu_s": 3.0,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _between(ends: tuple[float, float], snr_db: float) -> float:
    """Return a value at `snr_db` by linear interpolation. `ends` are the values at 7 dB and at 13 dB."""
    return ends[0] + (ends[1] - ends[0]) * (snr_db - SNRS_DB[0]) / (SNRS_DB[-1] - SNRS_DB[0])


def codewords() -> pd.DataFrame:
    """Return decoded codewords: 50 %, 25 %, 15 % and 10 % of them need zero, one, two and three retransmissions."""
    rows = []
    for snr_db, seed in itertools.product(SNRS_DB, range(1, SEEDS + 1)):
        lost_ratio = 0.06 * (0.1 ** ((snr_db - 7) / 6))
        decoded = np.array([0.5, 0.25, 0.15, 0.1]) * (1 - lost_ratio)
        rows.append({"snr_db": float(snr_db), "seed": seed, "lost_ratio": lost_ratio}
                    | {f"decoded{again}_ratio": share for again, share in enumerate(decoded)})  # fmt: skip
    return pd.DataFrame(rows)


def trace(
    seed: int, *, waits_over_10_ms: float = 0.1, doubles_s: float = 0.18, goodput_bps: float = 38e6,
    acks_a_segment: float = 0.5, growing: float = 0.2, late_ms: float = 20.0,
) -> Trace:  # fmt: skip
    """Return a trace whose window doubles every `doubles_s`, up to 4,000 packets. In samples with an odd index, the RTO
    is Linux's minimum.

    The trace has 1,000 ACKs, each for two segments. `waits_over_10_ms` is the share of these ACKs that have waited for
    `late_ms`. The rest of the 1,000 ACKs have waited for 1 ms. In the share `growing` of the samples, the sender
    recovers from a loss.
    """
    t_s = np.arange(0, 60, 0.05)
    cwnd_pkts = np.minimum(10 * 2 ** (t_s / doubles_s), 4000)
    late = round(1000 * waits_over_10_ms)
    single = round(1000 * (2 * acks_a_segment - 1) / (1 - acks_a_segment)) if acks_a_segment < 1 else 10**6
    waits = pd.DataFrame(
        {"segments_pkts": [1, 2, 2], "wait_ns": [40_000_000, 1_000_000, round(late_ms * 1e6)],
         "acks_pkts": [single, 1000 - late, late]}
    )  # fmt: skip
    return Trace(
        seed=seed,
        t_s=t_s,
        cwnd_pkts=cwnd_pkts,
        srtt_us=np.full(len(t_s), 220e3),
        rttvar_us=np.full(len(t_s), 15e3),
        rto_us=np.where(np.arange(len(t_s)) % 2, 420e3, 600e3),
        delivered_pkts=cwnd_pkts - 10,
        rwnd_limited_us=np.minimum(0.5e6 * t_s, 0.5e6),
        ssthresh_pkts=np.full(len(t_s), 2.0),
        ca_state=np.where(np.arange(len(t_s)) % 100 < 100 * growing, 3, 0),
        goodput_t_s=np.arange(0.0, 59.0),
        goodput_bps=np.full(59, goodput_bps),
        waits=waits,
    )


def growth(slower: float, goodput_bps: float = 38e6) -> dict[tuple[str, str], Trace]:
    """Return traces with and without delayed ACKs. With delayed ACKs, the window needs `slower` times as long to
    double."""
    return {
        (control, delayed): trace(
            1, doubles_s=0.18 * (slower if delayed == ON else 1.0), goodput_bps=goodput_bps,
            acks_a_segment=0.5 if delayed == ON else 0.99,
        )
        for control in ("reno", "cubic", *runs.BY_ACKS.values())
        for delayed in (ON, OFF)
    }  # fmt: skip


def by_acks(mine: pd.DataFrame) -> pd.DataFrame:
    """Return sessions of the algorithms in `runs.BY_ACKS`. With delayed ACKs, their goodput is 10 % lower than that of
    NewReno and CUBIC."""
    few = mine[mine["snr_db"].isin(runs.FEW_SNRS_DB) & mine["congestion_control"].isin(runs.BY_ACKS)]
    left = few["delayed_ack"].map({ON: 0.9, OFF: 1.0})
    named = few["congestion_control"].map(runs.BY_ACKS)
    return few.assign(congestion_control=named, goodput_bps=few["goodput_bps"] * left)


def profiles(mine: pd.DataFrame) -> pd.DataFrame:
    """Return sessions with the study's own TCP, and sessions with other TCPs, which have twice the goodput."""
    few = mine[mine["snr_db"].isin(runs.FEW_SNRS_DB) & (mine["seed"] <= runs.PROFILE_SEEDS)]
    others = [
        few[few["delayed_ack"] == OFF].assign(profile=profile, delayed_ack=delayed, goodput_bps=2 * few["goodput_bps"])
        for profile, delayed in runs.OTHER_TCPS
    ]
    return pd.concat([few, *others], ignore_index=True)


def assumptions(mine: pd.DataFrame) -> pd.DataFrame:
    """Return sessions for the default, and for each other value of each assumption. An assumption's first value after
    the default lowers the goodput by a tenth. The second does not change the goodput. If there is a third value, it
    raises the goodput by a tenth."""
    base = mine[(mine["snr_db"] == runs.ASSUMPTION_SNR_DB) & (mine["seed"] <= runs.ASSUMPTION_SEEDS)
                & (mine["congestion_control"] != "hybla")]  # fmt: skip
    changed = [
        base.assign(setting=runs.setting(each, value), goodput_bps=base["goodput_bps"] * (0.9 + 0.1 * place))
        for each in runs.ASSUMPTIONS
        for place, value in enumerate(each.others)
    ]
    return pd.concat([base, *changed], ignore_index=True)
