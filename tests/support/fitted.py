# SPDX-License-Identifier: Apache-2.0
"""Synthetic recordings of the profile with known parameters, and the results of fitting them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from leowarp.fitting import Fit, fit
from leowarp.timeline.recordings import Measurement
from support.probes import pings, profile_for

WALL_NS = 1_715_947_200_000_000_000
"""The time 0 of the profile's runs: 2024-05-17T12:00:00Z."""


@dataclass(frozen=True)
class Kind:
    """A kind of recording: the interval of the probes, the duration, and keys of the profile (attributes of
    `Access`)."""

    interval_ns: int
    minutes: float
    keys: dict[str, Any] = field(default_factory=dict)


_SKEWED = ("18 ms", "21 ms", "22 ms", "24 ms", "28 ms", "35 ms", "60 ms")

KINDS = {
    "10 ms, 15 min": Kind(10_000_000, 15, {"base_rtts": _SKEWED, "base_kept_ratio": 0.25}),
    "150 ms, 60 min": Kind(
        150_000_000, 60,
        {"base_rtts": _SKEWED, "base_kept_ratio": 0.1, "outage_share_ratio": 0.0, "residual_loss_ratio": 0.005,
         "residual_loss_up_ratio": 0.005},
    ),
}  # fmt: skip


def recording(kind: Kind, seed: int) -> Measurement:
    """Return pings over a link. Tables of the profile contain the link's delays and losses."""
    profile = profile_for(kind.minutes, seed, **kind.keys)
    t_ns = np.arange(0, int(kind.minutes * 60e9), kind.interval_ns, dtype=np.int64)
    # ping prints times in tenths of a millisecond.
    rtt_ns = np.round(pings(profile, t_ns, seed) / 1e5) * 1e5
    return Measurement.of_round_trips(t_ns, rtt_ns, wall_ns=WALL_NS)


def truths(kind: Kind) -> dict[str, float]:
    """Return the true value of each key, from the profile with which the recording was made."""
    plain = {
        "jitter": 2.2e6, "jitter_up": 10.5e6, "jitter_step": 28e6, "jitter_up_step": 6e6, "handover_min": 35e6,
        "handover_max": 50e6, "outage_share": 0.7, "outage_again": 0.5, "outage_max": 800e6, "residual_loss": 1e-4,
        "residual_loss_up": 1e-4, "base_kept": 0.0, "jitter_spread": 0.0,
    }  # fmt: skip
    for name, value in kind.keys.items():
        key = name.removesuffix("_ratio").removesuffix("_ns")
        if key in plain:
            plain[key] = float(value)
    return plain | {"base_rtts, median": 24e6}


@cache
def fit_of(name: str, seed: int) -> Fit:
    """Return the fit to a recording of the kind `name`."""
    return fit([recording(KINDS[name], seed)])


def estimates_of(name: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return the fitted value and its interval for each key of the profile. For a key with several quantiles, the
    result has only the median."""
    found = {}
    for key, (estimate, _) in fit_of(name, seed).chosen.items():
        if key == "base_rtts":
            assert isinstance(estimate.value, tuple)
            assert isinstance(estimate.low, tuple)
            assert isinstance(estimate.high, tuple)
            middle = len(estimate.value) // 2
            found["base_rtts, median"] = (estimate.value[middle], estimate.low[middle], estimate.high[middle])
        elif estimate.low is not None and estimate.high is not None:
            assert not isinstance(estimate.value, tuple | str)
            assert not isinstance(estimate.low, tuple)
            assert not isinstance(estimate.high, tuple)
            found[key] = (estimate.value, estimate.low, estimate.high)
    return found
