# SPDX-License-Identifier: Apache-2.0
"""The outages around reconfigurations. In either direction, a packet is lost if its transmission begins during an
outage.

If probes are sent once per second, all are sent at the same phase of the second. If outages began exactly at the
reconfiguration, pings on the whole second would hit either all outages or none. The middle of an outage has a
triangular distribution from `outage_reach` before the reconfiguration to `outage_reach` after it. With an
`outage_reach` of 1 s, outages are equally probable at every phase of the second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.base.streams import stream
from leowarp.media.access.slots import Slots
from leowarp.scenario.media.access_rules import quantiles_ns
from leowarp.scenario.schema import Access


def outages_ns(
    access: Access, slots: Slots, *, seed: int, duration_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the beginnings and ends of the outages of a run, ascending and disjoint.

    The four parameters of outages were calibrated together. With the calibrated values, 1.5 % of the pings are lost at
    one ping per second. A flood ping loses 15 pings in a row on average. This happens 1.5 times per slot
    (docs/guides/access-links.md).

    slots: The slots. Only the start of the first slot is used, because outages do not depend on the satellites.
    seed: The ``run.seed``. The stream is `access.outages`.
    Returns: The times on the run's clock, int64 arrays of shape (k,). The first outage may begin before 0, and the last
        may end after the run.
    """
    rng = stream(seed, "access.outages")
    first_ns = int(slots.begin_ns[0])
    # Outages are generated for all reconfigurations up to `outage_reach` after the run's end, because an outage may
    # begin before its reconfiguration.
    around_ns = np.arange(first_ns, duration_ns + access.outage_reach_ns, access.period_ns, dtype=np.int64)
    some = rng.random(len(around_ns)) < access.outage_share_ratio
    # If a reconfiguration has outages, their number is n with the probability P(n) = (1 - again) again^(n - 1). Random
    # numbers are generated for every reconfiguration, including reconfigurations without outages. A change of
    # `outage_share` therefore does not change the other random numbers.
    count = np.where(some, rng.geometric(1.0 - access.outage_again_ratio, len(around_ns)), 0)
    around_ns = np.repeat(around_ns, count)
    # The logarithm of an outage's length is uniformly distributed. With 5 to 800 ms, half of the outages are shorter
    # than 63 ms, and a tenth is longer than half a second.
    low, high = np.log(access.outage_min_ns), np.log(access.outage_max_ns)
    length_ns = np.exp(rng.uniform(low, high, len(around_ns)))
    triangle = rng.random(len(around_ns)) + rng.random(len(around_ns)) - 1.0
    # The whole outage must lie within `outage_reach` of the reconfiguration. The longer an outage is, the closer its
    # middle must be to the reconfiguration.
    middle_ns = around_ns + triangle * (access.outage_reach_ns - length_ns / 2.0)
    begin_ns = np.rint(middle_ns - length_ns / 2.0).astype(np.int64)
    end_ns = np.rint(middle_ns + length_ns / 2.0).astype(np.int64)
    meets_run = (end_ns > 0) & (begin_ns < duration_ns)
    return merged(begin_ns[meets_run], end_ns[meets_run])


def bursts_ns(
    access: Access, way: str, loss_ratio: float, *, seed: int, duration_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the times at which bursts of residual loss begin and end in one direction. The arrays of shape (k,) are
    ascending and disjoint.

    Bursts begin at random times (Poisson) and together cover a share `loss_ratio` of the time. Without bursts
    (`access.loss_burst_ns` is 0), the arrays are empty.

    loss_ratio: The share of the time, 0 to 1.
    seed: The ``run.seed``. The random numbers come from the stream `access.bursts.<way>`.
    """
    nothing = np.empty(0, dtype=np.int64)
    if not access.loss_burst_ns or not loss_ratio:
        return nothing, nothing
    if loss_ratio >= 1.0:
        return np.zeros(1, dtype=np.int64), np.array([duration_ns], dtype=np.int64)
    rng = stream(seed, f"access.bursts.{way}")
    # Bursts may overlap: if n bursts begin per burst length on average, they cover a share 1 - exp(-n) of the time.
    count = rng.poisson(-np.log1p(-loss_ratio) * (duration_ns + access.loss_burst_ns) / access.loss_burst_ns)
    begin_ns = np.sort(rng.integers(-access.loss_burst_ns, duration_ns, count, dtype=np.int64))
    return merged(begin_ns, begin_ns + access.loss_burst_ns)


def stalls_ns(access: Access, *, seed: int, duration_ns: int) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the beginnings and ends of the stalls of each direction, unsorted, shape (k,).

    A stall holds packets in only one direction, which is random. A recording of round trips does not show the
    direction.

    seed: The ``run.seed``. The stream is `access.stalls`.
    """
    if not access.stall_every_ns:
        nothing = np.empty(0, dtype=np.int64)
        return {"up": (nothing, nothing), "down": (nothing, nothing)}
    rng = stream(seed, "access.stalls")
    lengths_ns = quantiles_ns(access.stalls)
    count = rng.poisson(duration_ns / access.stall_every_ns)
    begin_ns = rng.integers(0, duration_ns, count, dtype=np.int64)
    length_ns = np.interp(rng.random(count), np.linspace(0.0, 1.0, len(lengths_ns)), lengths_ns)
    end_ns = begin_ns + np.rint(length_ns).astype(np.int64)
    up = rng.random(count) < 0.5
    return {"up": (begin_ns[up], end_ns[up]), "down": (begin_ns[~up], end_ns[~up])}


def merged(begin_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Merge intervals that overlap or touch. Return the resulting intervals in ascending order."""
    order = np.argsort(begin_ns, kind="stable")
    begin_ns, end_ns = begin_ns[order], np.maximum.accumulate(end_ns[order])
    if not len(begin_ns):
        return begin_ns, end_ns
    apart = begin_ns[1:] > end_ns[:-1]
    return begin_ns[np.append(True, apart)], end_ns[np.append(apart, True)]


def covered(t_ns: NDArray[np.int64], begin_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which times are within an interval. The intervals must be the result of `merged`."""
    # At most one interval is open at a time. Within it, one interval more has begun than has ended.
    return np.searchsorted(begin_ns, t_ns, side="right") > np.searchsorted(end_ns, t_ns, side="right")
