# SPDX-License-Identifier: Apache-2.0
"""Invented results of the study, in the form of the study engine, for tests of claims and figures.

The measures of reordering are smooth functions of the jitter, down to a jitter of 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from leowarp_studies.torres2020 import results, runs, simulation
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS

UNDISTURBED_BPS = 90e6

Ratio = Callable[[str, str, str, float], float]
"""A function that takes (distribution, algorithm, profile, jitter in ms). It returns the throughput, divided by the
throughput without jitter."""

_DIFFERENTIAL_ENTROPY = {
    "uniform": np.log(2 * np.sqrt(3)),
    "normal": np.log(2 * np.pi * math.e) / 2,
    "exponential": 1.0,
}


def entropy_nats(distribution: str, jitter_ms: float) -> float:
    """Return E_r, which grows with the logarithm of the jitter. It is 0 without jitter. For the normal distribution, it
    is 0.75 and 3.3 at the study's two jitters.

    The formula is ln(1 + f (jitter / 0.8585 ms)^p). For the normal distribution, p and f follow from the values 0.75
    and 3.3. For another distribution, f is multiplied by exp(d), where d is the difference of the differential
    entropies.
    """
    at_two = [math.expm1(nats) for nats in (0.75, 3.3)]
    power = math.log(at_two[1] / at_two[0]) / math.log(0.8585 / 0.075)
    apart = math.exp(_DIFFERENTIAL_ENTROPY[distribution] - _DIFFERENTIAL_ENTROPY["normal"])
    return math.log1p(at_two[1] * apart * (jitter_ms / 0.8585) ** power)


def collapse_at(at_ms: float, steepness: float = 8.0) -> Callable[[float], float]:
    """Return a throughput as a function of jitter. At the jitter `at_ms`, it is half of its value without jitter."""
    return lambda jitter_ms: 1 / (1 + (jitter_ms / at_ms) ** steepness)


def as_the_study_says(distribution: str, algorithm: str, profile: str, jitter_ms: float) -> float:
    """Return the relative throughput for one jitter. The curves are those that the study describes for its figures 6 to
    8."""
    at_ms = {"uniform": 2.2, "normal": 1.15, "exponential": 1.9}[distribution]
    return collapse_at(0.06 if algorithm == "westwood" else at_ms)(jitter_ms)


def undisturbed(distribution: str, algorithm: str, profile: str, jitter_ms: float) -> float:
    """Return the curves of a TCP that reordering does not affect."""
    return 1.0


def only_old_tcp_falls(distribution: str, algorithm: str, profile: str, jitter_ms: float) -> float:
    """Return the relative throughput for one jitter. Reordering has no effect on Linux, and affects the other profiles
    as the study describes."""
    return 1.0 if profile == "linux" else as_the_study_says(distribution, algorithm, profile, jitter_ms)


def probe_rows(
    jitters_us: Iterable[float] = runs.JITTERS_US, md_per_ms: dict[str, float] | None = None
) -> pd.DataFrame:
    """Return rows of the group `probes`."""
    rows = []
    for distribution in DISTRIBUTIONS:
        for jitter_us in jitters_us:
            per_ms = md_per_ms[distribution] if md_per_ms else simulation.closed_form_pkts(distribution, 1e-3)
            rows.append(_row(distribution, jitter_us, 1) | {
                "flow0_mean_displacement_pkts": per_ms * jitter_us / 1e3,
                "flow0_entropy_nats": entropy_nats(distribution, jitter_us / 1e3),
                "flow0_density_beyond_pkts": 0, "virtual_s": 8.96,
            })  # fmt: skip
    return pd.DataFrame(rows)


def shape_rows() -> pd.DataFrame:
    """Return synthetic rows of the group `shapes`, without run directories."""
    rates = (runs.SHAPED, runs.UNSHAPED)
    return pd.concat([probe_rows((runs.SHAPE_US,)).assign(rate=rate) for rate in rates], ignore_index=True)


def transfer_rows(
    ratio: Ratio, algorithms: Iterable[str], *, distributions: Iterable[str] = DISTRIBUTIONS,
    jitters_us: Iterable[float] = runs.JITTERS_US, seeds: int = 3, profiles: Iterable[str] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return rows of a group of transfers. If `profiles` is given, the group tests single mechanisms. Each profile is a
    TCP of `runs.PROFILE_TCP`."""
    rows = []
    for distribution in distributions:
        for algorithm in algorithms:
            for profile in profiles or ("linux",):
                for jitter_us in jitters_us:
                    for seed in range(1, seeds + 1):
                        share = ratio(distribution, algorithm, profile, jitter_us / 1e3)
                        rate_bps = UNDISTURBED_BPS * share * (1 + 0.002 * (seed - 2) * (jitter_us > 0))
                        row = _row(distribution, jitter_us, seed) | _transfer(rate_bps)
                        row["congestion_control"] = algorithm
                        if profiles is not None:
                            row |= _mechanism(profile)
                        rows.append(row)
    return pd.DataFrame(rows)


def shapes(sigma_s: float = runs.SHAPE_US / 1e6) -> dict[str, results.Shape]:
    """Simulate the probes of the study's figures 2 and 3, and return their results."""
    found = {}
    for name in DISTRIBUTIONS:
        delays_s = 0.1 + sigma_s * simulation.deviations(name, 20_000, np.random.default_rng(1))
        rd = simulation.density(simulation.arrival_order(delays_s))
        index = np.array(sorted(rd))
        share = np.array([rd[place] for place in index.tolist()])
        delay_ns = np.rint(delays_s * 1e9).astype(np.int64)
        found[name] = results.Shape(index, share, delay_ns + 200_000, delay_ns)
    return found


def counted() -> dict[tuple[str, float], results.Counted]:
    """Return RD of short probes, as numbers of packets. The threshold is so high that every packet counts, as in the
    study's equation (4)."""
    found = {}
    for name in DISTRIBUTIONS:
        for jitter_us in (runs.SHAPE_US, runs.BEYOND_US):
            order = simulation.probe(name, jitter_us / 1e6, 1, 5_000)
            rd = simulation.density(order, threshold_pkts=len(order))
            index = np.array(sorted(rd))
            pkts = np.rint([rd[place] * len(order) for place in index.tolist()]).astype(np.int64)
            found[name, jitter_us / 1e3] = results.Counted(index, pkts, len(order), 0)
    return found


def frames(ratio: Ratio, jitters_us: Iterable[float] = runs.JITTERS_US, **probes: Any) -> dict[str, Any]:
    """Return all data sets, in the form that claims and figures expect."""
    mechanism: dict[str, Any] = {"jitters_us": runs.EARLY_RACK_US, "seeds": 1, "profiles": runs.PROFILES}
    measured = results.probes(probe_rows(jitters_us, **probes))
    return {
        "transfers": results.transfers(transfer_rows(ratio, runs.ALGORITHMS, jitters_us=jitters_us)),
        "yeah": results.transfers(
            transfer_rows(ratio, (runs.FOURTH,), distributions=("normal",), jitters_us=jitters_us)
        ),
        "probes": measured,
        "path": measured,
        "mechanisms": results.joined(
            {
                "normal": results.transfers(
                    transfer_rows(ratio, (*runs.ALGORITHMS, runs.FOURTH), distributions=("normal",), **mechanism)
                ),
                "bic": results.transfers(
                    transfer_rows(ratio, ("bic",), distributions=("uniform", "exponential"), **mechanism)
                ),
            }
        ),
        "shapes": shapes(),
        "counted": counted(),
    }


def _row(distribution: str, jitter_us: float, seed: int) -> dict[str, Any]:
    return {
        "run_id": f"{distribution}-{jitter_us:g}-{seed}", "status": "ok", "seed": seed, "distribution": distribution,
        "jitter_ns": round(jitter_us * 1000), "jitter": f"{jitter_us:g} us", "cpu_s": 0.5, "guest_cpu_s": 0.4,
        "wall_s": 0.5, "warnings": [],
    }  # fmt: skip


def _transfer(rate_bps: float) -> dict[str, Any]:
    """Return a transfer with a given rate. If it takes longer than 1000 s, it is cut off."""
    took_s = 120e6 * 8 / rate_bps
    if took_s > 1000:
        return {"flow0_bytes": round(rate_bps * 1000 / 8), "flow0_completion_ns": None, "virtual_s": 1000.0}
    return {"flow0_bytes": 120_000_000, "flow0_completion_ns": took_s * 1e9, "virtual_s": took_s + 1}


def _mechanism(profile: str) -> dict[str, Any]:
    keys = runs.PROFILE_TCP[profile]
    return {
        "tcp_profile": keys["profile"], "tcp_sysctl": json.dumps({**runs.BUFFERS, **keys.get("sysctl", {})}),
        "tcp_loss_detection": keys.get("loss_detection", "kernel"),
        "flow0_retransmissions_pkts": 400, "flow0_spurious_retransmissions_pkts": 390, "flow0_lost_pkts": 10,
        "flow0_dsacks_pkts": 390, "flow0_sender_recoveries": 70, "flow0_sender_undos": 60, "flow0_sender_timeouts": 1,
        "flow0_sender_reordering_events": 3000, "flow0_sender_reordering_pkts": 300, "flow0_entropy_nats": 4.4,
        "flow0_reordering_extent_max_pkts": 900,
    }  # fmt: skip
