# SPDX-License-Identifier: Apache-2.0
"""The capacity over time. Each slot has a level. A slow variation and modulation steps change this level. The capacity
is 0 while packets are held.

    rate(t) = level of the slot * exp(wander(t)) * step(t)

Each of the three components has its own random stream (`access.capacity.<way>`, `access.wander.<way>`,
`access.modulation.<way>`). The variance of LeoCC's public trace is divided among the three components. This division is
an assumption (docs/guides/access-links.md).
"""

from __future__ import annotations

import math
from datetime import datetime
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.instants import distinct
from leowarp.base.streams import stream
from leowarp.media.access.outages import covered
from leowarp.scenario.schema import Access

_WANDER_STEP_NS = 100_000_000
"""The time between two steps of the slow variation (wander). The public capacity traces have the same resolution, 100
ms."""

_TESTS = 1460
"""The number of capacity tests in the study's figure 2: one every four hours, August 2023 to March 2024 (244 days)."""

_CUT = 2.0
"""The number of standard deviations at which the distribution of slot levels is truncated."""


def median_bps(access: Access, way: str, seed: int) -> int:
    """Return the median capacity of the run. If there is a schedule, the median is sampled. It is the result of a
    capacity test at the run's time of day.

    With a schedule, the run's median is drawn from a log-normal distribution. This distribution has different widths
    below and above its own median. Over all hours, half of the tests are above the schedule's median. The worst and the
    best result of `_TESTS` tests are the distribution's minimum and maximum. A cosine of the time of day shifts the
    normal deviate. Over a day, the shift and the random part together have variance 1.

    One of `_TESTS` deviates exceeds the value e. With the normal deviate x (random part plus shift), the result is:

        median * (end / median) ** min(|x| / e, 1),   end: the schedule's minimum if x < 0, else its maximum

    way: {"down", "up"}
    seed: The ``run.seed``. The stream `access.schedule.<way>` also depends on the instant of `clock`. Runs at different
        hours of this clock are therefore independent.
    Raises ScenarioError if `clock` is before 1970 and the capacity comes from a schedule.
    """
    given = access.capacity_bps if way == "down" else access.capacity_up_bps
    if given is not None:
        return given
    low, median, high = (
        (access.schedule_min_bps, access.schedule_median_bps, access.schedule_max_bps)
        if way == "down"
        else (access.schedule_up_min_bps, access.schedule_up_median_bps, access.schedule_up_max_bps)
    )
    # scipy is imported inside the functions, because the import takes 0.1 s, and few runs draw from a normal
    # distribution.
    from scipy.special import ndtri

    clock = datetime.fromisoformat(access.clock)
    # The seconds since 1970 are used as the number of a random stream. This number must not be negative.
    if clock.timestamp() < 0:
        raise ScenarioError(
            f'cannot draw a capacity by the hour of access.clock = "{access.clock}": draws are told apart by the '
            "seconds since 1970",
            hint='write an instant of 1970 or later, or rates in place of "schedule"',
        )
    draw = stream(seed, f"access.schedule.{way}", int(clock.timestamp())).random()
    hour = clock.hour + clock.minute / 60.0 + clock.second / 3600.0
    # The factor sqrt(2) gives the cosine a variance of 1. The cosine is 1 at `busy_hour` and is subtracted, so capacity
    # is smallest at `busy_hour` and largest twelve hours later.
    busy = math.sqrt(2.0) * math.cos(2.0 * math.pi * (hour - access.busy_hour_ns / 3.6e12) / 24.0)
    deviation = math.sqrt(1.0 - access.busy_ratio) * float(ndtri(draw)) - math.sqrt(access.busy_ratio) * busy
    # One of `_TESTS` normal random numbers is expected below -extreme, and one above +extreme.
    extreme = -float(ndtri(1.0 / _TESTS))
    end = low if deviation < 0 else high
    return round(median * (end / median) ** min(abs(deviation) / extreme, 1.0))


def slot_levels_bps(access: Access, way: str, slots: int, seed: int) -> NDArray[np.int64]:
    """Return the median capacity of each slot, bit/s, shape (n,). The medians follow a log-normal distribution around
    the run's median, truncated at two standard deviations.

    Before truncation, the standard deviation of the logarithm is `access.capacity_spread_ratio`. The default is 0.2,
    because the mean capacities of slots in LeoCC's trace have a standard deviation of 19 %.
    """
    deviations = cut_normal(stream(seed, f"access.capacity.{way}").random(slots))
    # With the default, each level is between 67 % and 149 % of the run's median: exp(+-2 x 0.2). Without truncation of
    # the normal distribution, a level would sometimes lie outside 67 % to 149 %.
    levels = median_bps(access, way, seed) * np.exp(access.capacity_spread_ratio * deviations)
    return np.rint(levels).astype(np.int64)


def cut_normal(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert uniform random numbers to a standard normal distribution, truncated at two standard deviations."""
    from scipy.special import ndtr, ndtri

    # The inverse of the distribution function uses one random number per slot. With rejection, the number of draws
    # would vary and later slots would get other values.
    return np.asarray(ndtri(ndtr(-_CUT) + draws * (ndtr(_CUT) - ndtr(-_CUT))))


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
    """Return the times and rates of one direction's capacity table.

    The table has a row at each time at which a component changes.

    begin_ns, levels_bps: The beginning and level of each slot, arrays of shape (n,).
    held_ns: Two arrays of shape (k,) with the beginnings and the ends of the intervals in which nothing is sent. The
        intervals are ascending and disjoint.
    Returns: The table as int64 arrays of shape (m,). The first time is 0, adjacent rows differ, and the rate is 0 while
        packets are held.
    """
    wander_t_ns, wander = _wander(access, way, seed, duration_ns)
    step_t_ns, step = _modulation(access, way, seed, duration_ns)
    t_ns = distinct([[0], wander_t_ns, step_t_ns, begin_ns, *held_ns])
    t_ns = t_ns[(t_ns >= 0) & (t_ns < duration_ns)]
    level = levels_bps[np.searchsorted(begin_ns, t_ns, side="right") - 1]
    wandering = wander[np.searchsorted(wander_t_ns, t_ns, side="right") - 1]
    stepping = step[np.searchsorted(step_t_ns, t_ns, side="right") - 1]
    # Components are multiplied instead of added, so that capacity cannot fall below 0. A variation of 10 % is then 10 %
    # in every slot.
    rate_bps = np.rint(level * np.exp(wandering) * stepping).astype(np.int64)
    rate_bps[covered(t_ns, *held_ns)] = 0
    # Rows that change nothing are left out, because the guest stores whole tables in memory, 24 bytes per row.
    changes = np.append(True, np.diff(rate_bps) != 0)
    return t_ns[changes], rate_bps[changes]


def _wander(access: Access, way: str, seed: int, duration_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a Gauss-Markov process over time. The values of the process are the logarithms of a factor. The
    correlation of the process is exp(-t / wander_time).

    For any step length, a first-order autoregression with kept = exp(-step / wander_time) has exactly this correlation
    at its steps. In LeoCC's trace, about half of the variance within a slot is uncorrelated after 100 ms. Scheduling
    causes this half, so it is modelled as jitter instead.
    """
    t_ns = np.arange(0, duration_ns, _WANDER_STEP_NS, dtype=np.int64)
    noise = stream(seed, f"access.wander.{way}").standard_normal(len(t_ns))
    kept = math.exp(-_WANDER_STEP_NS / access.wander_time_ns)
    # x[i] = kept x[i-1] + sqrt(1 - kept^2) n[i], x[0] = n[0]: the variance of the process is constant from the start
    noise[1:] *= math.sqrt(1.0 - kept * kept)
    # This loop gives the same bits as scipy.signal.lfilter. Importing scipy.signal takes 0.4 to 0.9 CPU s, as long as
    # the guest takes for a run of a minute. The loop takes 3 ms for the 36,000 steps of an hour.
    steps = accumulate(noise.tolist(), lambda before, drawn: kept * before + drawn)
    return t_ns, access.wander_ratio * np.fromiter(steps, dtype=np.float64, count=len(noise))


def _modulation(access: Access, way: str, seed: int, duration_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the times and the values of a factor that jumps between three values.

    The values are 1 - r, 1 and 1 + r with r = `access.modulation_ratio`. The time between two steps is exponentially
    distributed with mean `modulation_time_ns`.

    Returns t_ns: An int64 array of shape (n,). The first time is 0.
    Returns factor: A float64 array of shape (n,)
    """
    rng = stream(seed, f"access.modulation.{way}")
    # `count` is the mean number of steps plus five standard deviations. The number 16 is also added; it matters in the
    # shortest runs.
    mean = duration_ns / access.modulation_time_ns
    count = int(mean + 5.0 * math.sqrt(mean)) + 16
    lasts_ns = np.maximum(rng.exponential(access.modulation_time_ns, count), 1.0).astype(np.int64)
    t_ns = np.append(0, np.cumsum(lasts_ns))
    # The index moves by one or two places modulo 3. The factor therefore always changes, and the two other factors are
    # equally probable.
    place = (rng.integers(0, 3) + np.append(0, np.cumsum(rng.integers(1, 3, count)))) % 3
    return t_ns, 1.0 + access.modulation_ratio * (place.astype(np.float64) - 1.0)
