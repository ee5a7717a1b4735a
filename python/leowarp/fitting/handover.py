# SPDX-License-Identifier: Apache-2.0
"""How long a handover holds packets: by how far delays stand out at reconfigurations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Estimate, Untold, resampled
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.probes import pings
from leowarp.media.access.slots import Slots
from leowarp.media.access.starlink import starlink_profile
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.period.schedule import Schedule

_DENSE_NS = 20_000_000
_BEFORE_NS, _AFTER_NS = 60_000_000, 300_000_000
"""Around a reconfiguration as found: a phase is known to a tenth of a second or so."""

_MISSING = 2.5
"""Times between two probes, without an answer, that one lost probe cannot be."""
_CLEAR_NS = 1_000_000_000
_FEWEST = 12
_SEEDS = 1
_HALVES_NS = (0.0, 5e6, 10e6, 16e6, 25e6, 45e6, 100e6)
_SPACING_NS = 4_000_000_000


def fit_handover(probes: Slotted, access: Access) -> tuple[list[Estimate], list[Untold]]:
    """`handover_min` and `handover_max` of a hold, by matching median and deciles of the peaks with the profile's.

    Parameters
    ----------
    probes : Slotted
        Of round trips.
    access : Access
        With the jitter and the outages that were fitted: outages take probes away from the peaks.
    """
    both = ("handover_min", "handover_max")
    if probes.interval_ns > _DENSE_NS:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart seldom meet 50 ms"
        return [], [Untold(key, why) for key in both]
    peaks_ns = _peaks_ns(probes.series.t_ns, probes.schedule, probes.series.delay_ns)
    if len(peaks_ns) < _FEWEST:
        return [], [Untold(key, f"{len(peaks_ns)} reconfigurations are too few") for key in both]
    middle_ns = (access.handover_min_ns + access.handover_max_ns) / 2.0
    made = _made(probes, access, middle_ns)
    if len(made[0]) >= 2:
        # Holds move the peaks by as much as they are longer, so far as they stand out of the jitter: once more from
        # where that leads.
        middle_ns = _clipped(middle_ns + float(np.median(peaks_ns)) - float(np.interp(_width(peaks_ns), *made[:2])))
        made = _made(probes, access, middle_ns)
    if len(made[0]) < 2:
        return [], [Untold(key, "outages leave too few peaks") for key in both]
    widths_ns, medians_ns, halves_ns = made

    def ends(drawn_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        width_ns = _width(drawn_ns)
        middle = _clipped(middle_ns + float(np.median(drawn_ns)) - float(np.interp(width_ns, widths_ns, medians_ns)))
        half = float(np.interp(width_ns, widths_ns, halves_ns))
        return np.array([max(middle - half, 0.0), middle + half])

    values = ends(peaks_ns)
    low, high = resampled(peaks_ns, ends)
    note = (
        f"peaks within {_AFTER_NS / 1e6:g} ms of reconfigurations: median {np.median(peaks_ns) / 1e6:.3g} ms over the "
        f"slot's median, first and last decile {_width(peaks_ns) / 1e6:.3g} ms apart, matched by the profile's"
    )
    return [
        Estimate(key, float(value), max(float(least), 0.0), float(most), len(peaks_ns), "reconfigurations", note)
        for key, value, least, most in zip(both, values, low, high, strict=True)
    ], []


def _clipped(middle_ns: float) -> float:
    return min(max(middle_ns, 1e6), 900e6)


def _made(probes: Slotted, access: Access, middle_ns: float) -> tuple[NDArray[np.float64], ...]:
    """Widths and medians of the profile's peaks for holds of the same middle and ascending half widths.

    The jitter alone makes the peaks differ. Narrow holds therefore cannot be told from each other, and an interval that
    scaled widths would be too narrow.
    """
    rows = []
    for half_ns in _HALVES_NS:
        if half_ns > middle_ns:
            break
        seeds = range(1, _SEEDS + 1)
        peaks_ns = np.concatenate([_simulated_peaks_ns(probes, access, middle_ns, half_ns, seed) for seed in seeds])
        if len(peaks_ns) >= _FEWEST:
            rows.append((_width(peaks_ns), float(np.median(peaks_ns)), half_ns))
    if not rows:
        return (np.empty(0),) * 3
    widths_ns, medians_ns, halves_ns = np.array(rows).T
    # The simulation's noise must not make a width fall with a wider hold.
    return np.maximum.accumulate(widths_ns) + np.arange(len(widths_ns)), medians_ns, halves_ns


def _width(peaks_ns: NDArray[np.float64]) -> float:
    """From the first to the last decile: holds and jitter are bounded, so that their ends say more than quartiles."""
    low, high = np.quantile(peaks_ns, [0.1, 0.9])
    return float(high - low)


def _peaks_ns(t_ns: NDArray[np.int64], schedule: Schedule, delay_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest delay around each reconfiguration, over the median of the slot that it lies in.

    Where probes are missing an outage may have hidden it, and quantiles would be those of a mixture: left out.
    """
    longest_ns = _MISSING * float(np.median(np.diff(t_ns)))
    answered = ~np.isnan(delay_ns)
    t_ns, delay_ns = t_ns[answered], delay_ns[answered]
    instants_ns = schedule.instants_ns(int(t_ns[0]) + schedule.period_ns, int(t_ns[-1]) - schedule.period_ns)
    found = []
    # Before and after apart: the bases of two slots differ, and a high one is no peak over the low one.
    sides = (-_BEFORE_NS, 0, -schedule.period_ns), (0, _AFTER_NS, 0)
    for instant in instants_ns:
        near = slice(*np.searchsorted(t_ns, [instant - _BEFORE_NS, instant + _AFTER_NS]))
        around_ns = np.concatenate([[instant - _BEFORE_NS], t_ns[near], [instant + _AFTER_NS]])
        if np.diff(around_ns).max() > longest_ns:
            continue
        peaks_ns = []
        for begin_ns, end_ns, slot_ns in sides:
            clear_ns = (slot_ns + _CLEAR_NS, slot_ns + schedule.period_ns - _CLEAR_NS)
            edges = np.searchsorted(t_ns, instant + np.array([begin_ns, end_ns, *clear_ns])).tolist()
            if edges[1] > edges[0] and edges[3] - edges[2] >= 20:
                rest_ns = np.median(delay_ns[edges[2] : edges[3]])
                peaks_ns.append(float(delay_ns[edges[0] : edges[1]].max() - rest_ns))
        if peaks_ns:
            found.append(max(peaks_ns))
    return np.array(found)


def _simulated_peaks_ns(
    probes: Slotted, access: Access, middle_ns: float, half_ns: float, seed: int
) -> NDArray[np.float64]:
    """The same of the profile over the recording's floors, with holds of such lengths.

    A probe is on its way when the path changes: steps between floors are part of the peaks.
    """
    keys: dict[str, Any] = {
        "handover_min_ns": round(middle_ns - half_ns),
        "handover_max_ns": round(middle_ns + half_ns),
    }
    drawn = dataclasses.replace(access, **keys)
    # Reconfigurations are as frequent as leaves room to look at each: more of them in the same time.
    schedule = Schedule(_SPACING_NS, probes.schedule.phase_ns % _SPACING_NS)
    drawn = dataclasses.replace(drawn, period_ns=_SPACING_NS)
    begin_ns = np.arange(schedule.phase_ns - schedule.period_ns, probes.until_ns, schedule.period_ns, dtype=np.int64)
    slots = Slots(
        begin_ns=begin_ns,
        names=("",) * len(begin_ns),
        base_t_ns=begin_ns,
        base_ns=np.resize(probes.floors_ns(probes.series.delay_ns)[1], len(begin_ns)).astype(np.int64) // 2,
    )
    profile = starlink_profile(drawn, slots, seed=seed, duration_ns=probes.until_ns + 1_000_000_000)
    return _peaks_ns(probes.series.t_ns, schedule, pings(profile, probes.series.t_ns, seed))
