# SPDX-License-Identifier: Apache-2.0
"""Computes which power levels a receiver expects from its channel. Some results are for the case that the present level
is unknown. The others are for one delay after a level was received."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series, spacing_ns
from leowarp.timeline.channel.loo import mixture_quantile_db

LEARNING_WAY_M, LEARNING_SAMPLES = 10_000.0, 2_000_000
"""A receiver that knows the model has learned which levels follow each other. It learned them by observing the channel
over a distance of 10 km. Within 10 km, the channel enters each of its states some hundreds of times. For short waves,
10 km would need more samples than `LEARNING_SAMPLES`. The distance is then shorter."""

LEARNING_SEED = 0
"""The seed of the observed channel differs from the run's seed, because a receiver does not know the run's future
fading. The seed is the same in every run, so that the receiver requests equal numbers of bits in equal situations."""

GROUPS = 64
"""Samples are sorted by received level into this number of groups. All groups have the same number of samples."""


@dataclass(frozen=True)
class Levels:
    """The power levels, in dB relative to line of sight. Each level belongs to a target probability: the channel is
    above the level with this probability.

    first_db, again_db: The levels that are expected if the present level is unknown. `first_db` is for the target
        probability of first transmissions. `again_db` is for the target probability of later transmissions.
    seen_db, next_db: float64 arrays of shape (k,), with `seen_db` ascending. Assume that the level is `seen_db` now.
        After one delay, it exceeds `next_db` with the target probability of later transmissions.
    """

    first_db: float
    again_db: float
    seen_db: NDArray[np.float64]
    next_db: NDArray[np.float64]


def levels_of_series(power: PowerSeries, first_target_ratio: float, target_ratio: float, delay_ns: int) -> Levels:
    """Return the levels that a receiver expects if it knows a whole power series.

    first_target_ratio, target_ratio: The probability that the channel exceeds the level. The first value is for first
        transmissions, and the second value for later ones.
    delay_ns: The time between two transmissions.
    """
    first_db, again_db = np.quantile(power.level_db, (1 - first_target_ratio, 1 - target_ratio))
    return Levels(float(first_db), float(again_db), *_followers(power, target_ratio, delay_ns))


@lru_cache(maxsize=16)
def levels_of_model(channel: LandMobile, first_target_ratio: float, target_ratio: float, delay_ns: int) -> Levels:
    """Return the power levels that a receiver expects if it knows the model of the channel. `Levels` contains two kinds
    of levels. The levels at any time come from the closed form of the model, which has no slopes between states. The
    levels after a received level come from a separate series of received power."""
    model = channel.model()
    first_db, again_db = (
        mixture_quantile_db(model.environment.states, model.way_shares, 1 - target)
        for target in (first_target_ratio, target_ratio)
    )
    # A terminal at rest has a constant power series, from which nothing can be learned.
    if channel.speed_m_per_s == 0:
        # The receiver expects an unchanged level, so the expected level always equals the received level.
        same = np.array([-100.0, 100.0])
        return Levels(first_db, again_db, same, same)
    # The observed distance is limited, not the observed time, so that the number of states and fades does not depend on
    # speed.
    way_ns = math.ceil(1e9 * LEARNING_WAY_M / channel.speed_m_per_s)
    step_ns = spacing_ns(channel, model.correlation_m, way_ns)
    power = power_series(channel, min(way_ns, LEARNING_SAMPLES * step_ns), LEARNING_SEED)
    return Levels(first_db, again_db, *_followers(power, target_ratio, delay_ns))


def _followers(
    power: PowerSeries, target_ratio: float, delay_ns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divide the received levels into groups. Return the mean of each group (seen_db), and the level expected
    `delay_ns` later (next_db)."""
    level = power.level_db.astype(np.float64)
    later = np.arange(len(level)) + delay_ns / power.spacing_ns
    count = int(np.searchsorted(later, len(level) - 1, side="right"))
    if count < GROUPS or power.frozen:
        # If the series is constant or too short to learn from, the expected level equals the received level.
        ends = np.array([level.min() - 1, level.max() + 1])
        return ends, ends
    now, then = level[:count], np.interp(later[:count], np.arange(len(level)), level)
    # Groups have equal numbers of samples and not equal widths in dB, because deep fades are rare and each group needs
    # enough samples.
    groups = np.array_split(np.argsort(now, kind="stable"), GROUPS)
    seen_db = np.array([now[group].mean() for group in groups])
    # The expected level of a group is chosen so that the target share of its later samples is above it. Transmissions
    # that are sized for the expected level succeed with the target probability.
    next_db = np.array([np.quantile(then[group], 1 - target_ratio) for group in groups])
    # Neighbouring groups with equal levels are merged.
    kept = np.concatenate(([True], np.diff(seen_db) > 0))
    return seen_db[kept], next_db[kept]
