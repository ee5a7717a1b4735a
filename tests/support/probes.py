# SPDX-License-Identifier: Apache-2.0
"""Simulates probes over the profile of an access link, without a guest."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.media.access.probes import departures_ns, passed, pings
from leowarp.media.access.profile import Profile, Way
from leowarp.media.access.slots import slots_of
from leowarp.media.access.starlink import starlink_profile
from leowarp.scenario.schema import Access, Plan
from support.plans import chain

__all__ = [
    "BEYOND", "SECOND_NS", "departures_ns", "passed", "pings", "pings_by_reply", "plan_of", "profile_for", "profile_of",
    "walked_ns",
]  # fmt: skip

SECOND_NS = 1_000_000_000
BEYOND = 1 << 62
"""A number that is larger than any time in ns and any rate."""


def plan_of(minutes: float, seed: int = 1, **keys: Any) -> Plan:
    """Return a plan with an access link at peak hours. `keys` are attributes of `Access`."""
    access = Access(**({"residual_loss_ratio": 1e-4, "residual_loss_up_ratio": 1e-4} | keys))
    plan = dataclasses.replace(chain(), medium=access)
    run = dataclasses.replace(plan.run, duration_ns=int(minutes * 60) * SECOND_NS, seed=seed)
    return dataclasses.replace(plan, run=run)


def profile_for(minutes: float, seed: int = 1, **keys: Any) -> Profile:
    """Return the profile of the access link of `plan_of(minutes, seed, **keys)`."""
    return profile_of(plan_of(minutes, seed, **keys))


def profile_of(plan: Plan) -> Profile:
    """Return the profile of a plan's access link."""
    access = plan.medium
    assert isinstance(access, Access)
    return starlink_profile(access, slots_of(plan, access), seed=plan.run.seed, duration_ns=plan.run.duration_ns)


def walked_ns(way: Way, t_ns: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the arrival times of packets of equal length. The link sends one packet after another, at the capacity
    that it has at the time."""
    rates = list(zip(way.capacity_t_ns.tolist(), way.rate_bps.tolist(), strict=True))
    channel_t_ns, delays_ns = way.channel_t_ns.tolist(), way.delay_ns.tolist()
    arrives_ns, busy_ns, last_ns = [], 0, 0
    for at_ns in t_ns.tolist():
        row = bisect_right(rates, (max(at_ns, busy_ns), BEYOND)) - 1
        while rates[row][1] == 0:
            row += 1
        start_ns = max(at_ns, busy_ns, rates[row][0])
        delay_ns = delays_ns[bisect_right(channel_t_ns, start_ns) - 1]
        busy_ns, left = start_ns, bits * 1_000_000_000
        while left > 0:
            after_ns = rates[row + 1][0] if row + 1 < len(rates) else BEYOND
            ends_ns = busy_ns + -(-left // rates[row][1]) if rates[row][1] else after_ns
            left -= (min(ends_ns, after_ns) - busy_ns) * rates[row][1]
            busy_ns, row = min(ends_ns, after_ns), row + 1
        last_ns = max(last_ns, busy_ns + delay_ns)
        arrives_ns.append(last_ns)
    return np.array(arrives_ns)


def pings_by_reply(profile: Profile, until_ns: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the sending times and RTTs of pings. A ping is sent as soon as the previous ping is answered, or after 1 s
    without a reply."""
    rng = np.random.default_rng(seed)
    sent_ns, rtts_ns = [], []
    t_ns = 0
    while t_ns < until_ns:
        sent_ns.append(t_ns)
        rtt_ns = float("nan")
        there_ns, lost = _one(profile.up, t_ns, rng)
        if not lost:
            back_ns, lost = _one(profile.down, there_ns, rng)
            rtt_ns = float("nan") if lost else float(back_ns - t_ns)
        rtts_ns.append(rtt_ns)
        t_ns += 1_000_000_000 if lost else round(rtt_ns)
    return np.array(sent_ns), np.array(rtts_ns)


def _one(way: Way, t_ns: int, rng: np.random.Generator) -> tuple[int, bool]:
    arrives_ns, lost = passed(way, np.array([t_ns]), rng)
    return int(arrives_ns[0]), bool(lost[0])
