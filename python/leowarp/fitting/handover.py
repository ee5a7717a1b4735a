# SPDX-License-Identifier: Apache-2.0
"""Duration for which a handover holds packets, from peaks of the delay at reconfigurations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, Untold
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.probes import pings
from leowarp.media.access.slots import Slots
from leowarp.media.access.starlink import starlink_profile
from leowarp.scenario.schema import Access

_DENSE_NS = 20_000_000
_BEFORE_NS, _AFTER_NS = 60_000_000, 300_000_000
"""Range around a reconfiguration: its phase is known to about a tenth of a second."""

_CLEAR_NS = 1_000_000_000
_FEWEST = 12
_RESAMPLES = 400
_ROUNDS = 5


def fit_handover(probes: Slotted, access: Access) -> tuple[list[Estimate], list[Untold]]:
    """`handover_min` and `handover_max` of a hold; median and quartiles of the peaks are matched with the profile's.

    Parameters
    ----------
    probes : Slotted
        Probes of round trips.
    access : Access
        Profile with the fitted jitter and outages: outages remove probes from the peaks.
    """
    both = ("handover_min", "handover_max")
    if probes.interval_ns > _DENSE_NS:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart seldom meet 50 ms"
        return [], [Untold(key, why) for key in both]
    peaks_ns = _peaks_ns(probes, probes.series.delay_ns)
    if len(peaks_ns) < _FEWEST:
        return [], [Untold(key, f"{len(peaks_ns)} reconfigurations are too few") for key in both]
    middle_ns, half_ns = (access.handover_min_ns + access.handover_max_ns) / 2.0, 7.5e6
    ratio = 1.0
    simulated_ns = np.empty(0)
    for seed in range(1, _ROUNDS + 1):
        simulated_ns = _simulated_peaks_ns(probes, access, middle_ns, half_ns, seed)
        if len(simulated_ns) < _FEWEST:
            return [], [Untold(key, "outages leave too few peaks") for key in both]
        ratio = _width(peaks_ns) / max(_width(simulated_ns), 1.0)
        middle_ns += float(np.median(peaks_ns) - np.median(simulated_ns))
        middle_ns = min(max(middle_ns, 1e6), 900e6)
        half_ns = min(max(half_ns * ratio, 1e6), middle_ns)
    rng = np.random.default_rng(1)
    ends = []
    for _ in range(_RESAMPLES):
        here, there = (rng.choice(values, len(peaks_ns)) for values in (peaks_ns, simulated_ns))
        middle = middle_ns + float(np.median(here) - np.median(peaks_ns) - np.median(there) + np.median(simulated_ns))
        half = half_ns * (_width(here) / _width(peaks_ns)) / max(_width(there) / max(_width(simulated_ns), 1.0), 1e-3)
        ends.append((max(middle - half, 0.0), middle + half))
    low, high = np.quantile(np.array(ends), [0.025, 0.975], axis=0)
    values = (max(middle_ns - half_ns, 0.0), middle_ns + half_ns)
    note = (
        f"peaks within {_AFTER_NS / 1e6:g} ms of reconfigurations: median {np.median(peaks_ns) / 1e6:.3g} ms over the "
        f"slot's median, quartiles {_width(peaks_ns) / 1e6:.3g} ms apart, matched by the profile's"
    )
    return [
        Estimate(key, value, float(low[place]), float(high[place]), len(peaks_ns), "reconfigurations", note)
        for place, (key, value) in enumerate(zip(both, values, strict=True))
    ], []


def _width(peaks_ns: NDArray[np.float64]) -> float:
    low, high = np.quantile(peaks_ns, [0.25, 0.75])
    return float(high - low)


def _peaks_ns(probes: Slotted, delay_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest delay around each reconfiguration minus the median of its slot."""
    t_ns, schedule = probes.series.t_ns, probes.schedule
    found = []
    for instant in schedule.instants_ns(int(t_ns[0]) + schedule.period_ns, int(t_ns[-1]) - schedule.period_ns):
        sides = []
        # The times before and after are handled separately, because the bases of two slots differ, and a high base is
        # not a peak above the low one.
        for begin_ns, end_ns, slot_ns in (
            (instant - _BEFORE_NS, instant, instant - schedule.period_ns), (instant, instant + _AFTER_NS, instant),
        ):  # fmt: skip
            near = delay_ns[slice(*np.searchsorted(t_ns, [begin_ns, end_ns]))]
            clear = [slot_ns + _CLEAR_NS, slot_ns + schedule.period_ns - _CLEAR_NS]
            rest = delay_ns[slice(*np.searchsorted(t_ns, clear))]
            if (~np.isnan(near)).any() and (~np.isnan(rest)).sum() >= 20:
                sides.append(float(np.nanmax(near) - np.nanmedian(rest)))
        if sides:
            found.append(max(sides))
    return np.array(found)


def _simulated_peaks_ns(
    probes: Slotted, access: Access, middle_ns: float, half_ns: float, seed: int
) -> NDArray[np.float64]:
    """Peaks of the profile over one base, with holds of the given lengths."""
    keys: dict[str, Any] = {
        "handover_min_ns": round(middle_ns - half_ns),
        "handover_max_ns": round(middle_ns + half_ns),
    }
    drawn = dataclasses.replace(access, **keys)
    schedule = probes.schedule
    begin_ns = np.arange(schedule.phase_ns - schedule.period_ns, probes.until_ns, schedule.period_ns, dtype=np.int64)
    slots = Slots(
        begin_ns=begin_ns,
        names=("",) * len(begin_ns),
        base_t_ns=begin_ns,
        base_ns=np.full(len(begin_ns), 10_000_000, dtype=np.int64),
    )
    profile = starlink_profile(drawn, slots, seed=seed, duration_ns=probes.until_ns + 1_000_000_000)
    return _peaks_ns(probes, pings(profile, probes.series.t_ns, seed))
