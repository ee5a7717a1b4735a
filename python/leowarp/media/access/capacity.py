# SPDX-License-Identifier: Apache-2.0
"""Capacity over time: one level per slot, which wanders slowly and moves in steps of the modulation; 0 while packets
are held.

    rate(t) = level of the slot * exp(wander(t)) * step(t)

The three factors use streams of their own (`access.capacity.<way>`, `access.wander.<way>`, `access.modulation.<way>`).
How they share the variance found in LeoCC's public trace is an assumption (docs/guides/access-links.md).
"""

from __future__ import annotations

import math
from datetime import datetime
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.scenario.schema import Access

_WANDER_STEP_NS = 100_000_000
"""Interval at which the slow wander changes; 100 ms is the resolution of the public capacity traces."""

_TESTS = 1460
"""Number of tests in the study's figure 2: one every four hours, August 2023 to March 2024 (244 days)."""

_CUT = 2.0
"""Number of standard deviations at which the spread over slots is cut."""


def median_bps(access: Access, way: str, seed: int) -> int:
    """The run's median capacity; for a schedule, the result of a capacity test at this hour.

    It is a draw from a two-piece log-normal distribution: half of the tests at all hours reach the median, and the
    worst and best of `_TESTS` reach the ends of the schedule. The hour shifts the normal deviate by a cosine; over a
    day, shift and draw together have variance 1.

    With x as the normal deviate (of draw and hour) and e as the deviate that one of `_TESTS` exceeds:

        median * (end / median) ** min(|x| / e, 1), end: the schedule's minimum if x < 0, otherwise its maximum

    way: {"down", "up"}
    seed: ``run.seed``. The stream `access.schedule.<way>` also depends on the instant of `clock`, so tests at other
        hours are other draws.
    Raises ScenarioError if `clock` is before 1970 and the capacity follows a schedule.
    """
    given = access.capacity_bps if way == "down" else access.capacity_up_bps
    if given is not None:
        return given
    low, median, high = (
        (access.schedule_min_bps, access.schedule_median_bps, access.schedule_max_bps)
        if way == "down"
        else (access.schedule_up_min_bps, access.schedule_up_median_bps, access.schedule_up_max_bps)
    )
    clock = datetime.fromisoformat(access.clock)
    # Numbers of streams must not be negative.
    if clock.timestamp() < 0:
        raise ScenarioError(
            f'cannot draw a capacity by the hour of access.clock = "{access.clock}": draws are told apart by the '
            "seconds since 1970",
            hint='write an instant of 1970 or later, or rates in place of "schedule"',
        )
    draw = stream(seed, f"access.schedule.{way}", int(clock.timestamp())).random()
    hour = clock.hour + clock.minute / 60.0 + clock.second / 3600.0
    # sqrt(2) cos has variance 1. The busiest hour is where the cosine is 1; it is subtracted, so capacity is smallest
    # at `busy_hour` and largest twelve hours later.
    busy = math.sqrt(2.0) * math.cos(2.0 * math.pi * (hour - access.busy_hour_ns / 3.6e12) / 24.0)
    deviation = math.sqrt(1.0 - access.busy_ratio) * float(ndtri(draw)) - math.sqrt(access.busy_ratio) * busy
    # One of the tests lies below -extreme, and one above +extreme.
    extreme = -float(ndtri(1.0 / _TESTS))
    end = low if deviation < 0 else high
    return round(median * (end / median) ** min(abs(deviation) / extreme, 1.0))


def slot_levels_bps(access: Access, way: str, slots: int, seed: int) -> NDArray[np.int64]:
    """Median capacity of each slot: log-normal around the run's median, cut at two standard deviations; shape (n,).

    `access.capacity_spread_ratio` is the standard deviation of the logarithm before the cut; 0.2 matches the
    differences between the means of slots in LeoCC's trace (19 %).
    """
    draws = stream(seed, f"access.capacity.{way}").random(slots)
    # The inverse of the distribution function is applied to the part within the cut: one draw per slot and no
    # rejections, so the draws of later slots do not shift.
    deviations = ndtri(ndtr(-_CUT) + draws * (ndtr(_CUT) - ndtr(-_CUT)))
    # The factor is at most exp(+-2 x 0.2): no slot is below 67 % or above 149 % of the run's median, whereas a tail
    # would sometimes be.
    levels = median_bps(access, way, seed) * np.exp(access.capacity_spread_ratio * deviations)
    return np.rint(levels).astype(np.int64)


def capacity_rows(
    access: Access,
    way: str,
    begin_ns: NDArray[np.int64],
    levels_bps: NDArray[np.int64],
    held_ns: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    seed: int,
    duration_ns: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Instants and rates of one direction's table of capacity.

    The instants of all components are merged, and each component is evaluated at every one of them.

    begin_ns, levels_bps: arrays of shape (n,). Values of the slots.
    held_ns: two arrays of shape (k,). Beginnings and ends of the times in which nothing is sent, ascending and
        disjoint.
    Returns: int64 arrays of shape (m,). The first instant is 0; successive rows differ; the rate is 0 while packets are
        held.
    """
    wander_t_ns, wander = _wander(access, way, seed, duration_ns)
    step_t_ns, step = _modulation(access, way, seed, duration_ns)
    t_ns = np.unique(np.concatenate([[0], wander_t_ns, step_t_ns, begin_ns, *held_ns]))
    t_ns = t_ns[(t_ns >= 0) & (t_ns < duration_ns)]
    level = levels_bps[np.searchsorted(begin_ns, t_ns, side="right") - 1]
    wandering = wander[np.searchsorted(wander_t_ns, t_ns, side="right") - 1]
    stepping = step[np.searchsorted(step_t_ns, t_ns, side="right") - 1]
    # The components are factors and not summands: capacity cannot fall below 0, and a wander of 10 % is 10 % of any
    # slot, fast or slow.
    rate_bps = np.rint(level * np.exp(wandering) * stepping).astype(np.int64)
    # More holds have begun than ended, so the instant is within one. Holds do not touch each other (`outages.merged`),
    # so the difference is 0 or 1.
    held = np.searchsorted(held_ns[0], t_ns, side="right") > np.searchsorted(held_ns[1], t_ns, side="right")
    rate_bps[held] = 0
    # The guest keeps whole tables in memory, 24 bytes per row.
    changes = np.append(True, np.diff(rate_bps) != 0)
    return t_ns[changes], rate_bps[changes]


def _wander(access: Access, way: str, seed: int, duration_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A Gauss-Markov process (the logarithm of a factor): correlation exp(-t / wander_time).

    It is exact at its steps, whatever their length: the first-order autoregression with kept = exp(-step / wander_time)
    has that correlation. In LeoCC's trace about half of the variance within a slot is uncorrelated after 100 ms; that
    half is due to scheduling, is modelled as jitter, and is left out here.
    """
    t_ns = np.arange(0, duration_ns, _WANDER_STEP_NS, dtype=np.int64)
    noise = stream(seed, f"access.wander.{way}").standard_normal(len(t_ns))
    kept = math.exp(-_WANDER_STEP_NS / access.wander_time_ns)
    # x[i] = kept x[i-1] + sqrt(1 - kept^2) n[i], x[0] = n[0]: the spread is the same from the start
    noise[1:] *= math.sqrt(1.0 - kept * kept)
    # The bits are the same as with scipy.signal.lfilter, whose import takes 0.4 to 0.9 CPU s, as long as the guest of a
    # run of a minute; the 36,000 steps of an hour take 3 ms here.
    steps = accumulate(noise.tolist(), lambda before, drawn: kept * before + drawn)
    return t_ns, access.wander_ratio * np.fromiter(steps, dtype=np.float64, count=len(noise))


def _modulation(access: Access, way: str, seed: int, duration_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Steps between three factors, each to a factor other than the current one.

    The factors are 1 - r, 1 and 1 + r with r = `access.modulation_ratio`; the duration of each is exponential with mean
    `modulation_time_ns`.

    Returns t_ns: int64 array of shape (n,). The first instant is 0.
    Returns factor: float64 array of shape (n,)
    """
    rng = stream(seed, f"access.modulation.{way}")
    # Five standard deviations more than the mean number are enough; the extra 16 cover the shortest runs.
    mean = duration_ns / access.modulation_time_ns
    count = int(mean + 5.0 * math.sqrt(mean)) + 16
    lasts_ns = np.maximum(rng.exponential(access.modulation_time_ns, count), 1.0).astype(np.int64)
    t_ns = np.append(0, np.cumsum(lasts_ns))
    # A move by one or two positions modulo 3 never gives the same factor, and both others are equally likely.
    place = (rng.integers(0, 3) + np.append(0, np.cumsum(rng.integers(1, 3, count)))) % 3
    return t_ns, 1.0 + access.modulation_ratio * (place.astype(np.float64) - 1.0)
