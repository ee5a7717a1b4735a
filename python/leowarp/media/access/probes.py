# SPDX-License-Identifier: Apache-2.0
"""The simulation of probes over a profile, without a guest. Each probe is delayed and cannot overtake the previous
probe. A probe may wait for capacity, and it may be lost.

A fit compares simulated probes with a recording, because simulation is thousands of times faster than pings in the
guest. `leowarp validate` uses pings in the guest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.media.access.profile import Profile, Way


def departures_ns(way: Way, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the times at which the probes are sent. A probe waits until the capacity is above 0. The transmission time
    of a probe is neglected."""
    row = np.searchsorted(way.capacity_t_ns, t_ns, side="right") - 1
    sends = np.flatnonzero(way.rate_bps > 0)
    after = np.searchsorted(sends, row)
    begins_ns = np.append(way.capacity_t_ns[sends], np.iinfo(np.int64).max)
    return np.maximum(t_ns, begins_ns[after])


def passed(way: Way, t_ns: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the arrival time of each probe, and whether the probe was lost. For a lost probe, the arrival time is the
    time at which it would have arrived.

    t_ns: The sending times, ascending, int64 array of shape (n,). A probe never arrives before the previous probe. If
        the previous probe was lost, the time at which it would have arrived counts.
    rng: The random numbers for loss ratios below 1.
    Returns arrives_ns: An int64 array of shape (n,)
    Returns lost: A bool array of shape (n,)
    """
    start_ns = departures_ns(way, t_ns)
    row = np.searchsorted(way.channel_t_ns, start_ns, side="right") - 1
    lost = rng.random(len(t_ns)) < way.loss_ratio[row]
    return np.maximum.accumulate(start_ns + way.delay_ns[row]), lost


def pings(profile: Profile, t_ns: NDArray[np.int64], seed: int = 0) -> NDArray[np.float64]:
    """Return the RTTs in ns of pings that the terminal sends at the times `t_ns`. A lost ping has nan.

    t_ns: The sending times on the run's clock, ascending, int64 array of shape (n,).
    Returns rtt_ns: A float64 array of shape (n,)
    """
    rng = np.random.default_rng(seed)
    there_ns, lost_there = passed(profile.up, t_ns, rng)
    rtt_ns = np.full(len(t_ns), np.nan)
    back_ns, lost_back = passed(profile.down, there_ns[~lost_there], rng)
    rtt_ns[~lost_there] = np.where(lost_back, np.nan, back_ns - t_ns[~lost_there])
    return rtt_ns
