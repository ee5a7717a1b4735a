# SPDX-License-Identifier: Apache-2.0
"""Jitter of the profile by the method of simulated moments: values for which probes have the recording's statistics.

The statistics are trimmed means over slots: the spread of delays within a slot, and differences of successive delays.
The profile's own jitter is sampled at the times of the recording, so that sampling affects both statistics equally.
Intervals follow McFadden (1989), simulated moments: the covariance of the statistics over slots, plus that of the
simulation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.fitting.estimate import Z_95, Estimate, Untold
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.delays import jitter_rows
from leowarp.scenario.schema import Access

_DENSE_NS = 30_000_000
"""Probes further apart than this contain no information about steps of 6 and 28 ms."""

_MOST_PROBES = 60_000
_MOST_SLOTS = 200
_ROUNDS, _FAR_ROUNDS = 8, 3
_DAMPING = 0.02
_TRIMMED = 0.2
"""Trimmed share at either end, for sparse probes: it removes a few slots with disturbances. With dense probes the steps
are fitted too, and they drift if slots are left out (seed 1 of design/fit-coverage.py: 12 ms instead of 28)."""
_STEP = 0.15
"""Step of the logarithm of a parameter for slopes: smaller steps vanish in the simulation's noise."""

_NO_FINER_NS = 50_000.0
"""Resolution of ping: tenths of a millisecond."""

_WIDEST = 0.7
"""Limit for the standard error of a logarithm: it corresponds to a factor of 4 in either direction."""

_MEANS_NS = (50_000.0, 200_000_000.0)
_STEPS_NS = (1_400_000.0, 200_000_000.0)
"""Minimum length of a step: a frame of 1/750 s."""


@dataclass(frozen=True)
class Jitter:
    """Statistics of the recording that determine the jitter."""

    estimates: tuple[Estimate, ...]
    untold: tuple[Untold, ...]


def simulated_ns(
    access: Access, t_ns: NDArray[np.int64], ways: tuple[str, ...], seed: int, until_ns: int
) -> NDArray[np.float64]:
    """Delays of probes with only the profile's jitter and frames: no base, handovers or losses.

    Parameters
    ----------
    t_ns : int64 array of shape (n,)
        Ascending.
    ways : tuple of str
        "up", "down" or both, in the order in which a probe passes the directions.
    """
    at_ns = t_ns
    for way in ways:
        begins_ns, values_ns = jitter_rows(access, way, seed, until_ns + 1_000_000_000)
        delay_ns = values_ns[np.searchsorted(begins_ns, at_ns, side="right") - 1] + 500_000_000 // access.frames_per_s
        at_ns = np.maximum.accumulate(at_ns + delay_ns)
    return (at_ns - t_ns).astype(np.float64)


def fit_jitter(probes: Slotted, access: Access, ways: tuple[str, ...]) -> Jitter:
    """Means, and with dense probes steps, of the jitter in the directions of the series.

    Parameters
    ----------
    probes : Slotted
    access : Access
        Initial values of the search.
    ways : tuple of str
        Directions as in `simulated_ns`: both for round trips.
    """
    dense = probes.interval_ns <= _DENSE_NS
    names = [f"jitter_{way}_ns" if way == "up" else "jitter_ns" for way in ways]
    steps = [f"jitter_{way}_step_ns" if way == "up" else "jitter_step_ns" for way in ways]
    parameters = names + (steps if dense else [])
    chosen = _chosen(probes)
    taken = dataclasses.replace(
        probes, series=probes.series.take(chosen), slot=probes.slot[chosen], clear=probes.clear[chosen]
    )
    lags = _lags(taken, dense)
    trimmed = 0.0 if dense else _TRIMMED
    measured = _by_slot(taken, taken.series.delay_ns, lags)
    slots = len(measured)
    target = _middle(measured, trimmed)
    # Covariance of the recording plus that of the mean of equally long simulations.
    covariance = (1.0 + 1.0 / (_ROUNDS - _FAR_ROUNDS)) * _covariance(measured, trimmed)
    weights = 1.0 / (np.diag(covariance) + _NO_FINER_NS**2 / slots)

    def moments(logs: NDArray[np.float64], seed: int = 1) -> NDArray[np.float64]:
        keys: dict[str, Any] = {name: round(float(np.exp(value))) for name, value in zip(parameters, logs, strict=True)}
        simulated = simulated_ns(dataclasses.replace(access, **keys), taken.series.t_ns, ways, seed, taken.until_ns)
        return _middle(_by_slot(taken, simulated, lags), trimmed)

    bounds = np.log([_STEPS_NS if name in steps else _MEANS_NS for name in parameters])
    logs = np.log([float(getattr(access, name)) for name in parameters])
    slopes = np.zeros((len(target), len(logs)))
    settled: list[NDArray[np.float64]] = []
    for number in range(_ROUNDS):
        seed = number + 1
        here = moments(logs, seed)
        slope = np.zeros_like(slopes)
        for place in range(len(logs)):
            step = np.zeros(len(logs))
            step[place] = _STEP
            slope[:, place] = (moments(logs + step, seed) - moments(logs - step, seed)) / (2 * _STEP)
        # The first rounds are far from the solution. Later rounds differ only by the simulation's random numbers, and
        # their mean varies less.
        fresh = max(number - _FAR_ROUNDS + 1, 1)
        slopes = slopes + (slope - slopes) / fresh
        normal = slopes.T @ (weights[:, None] * slopes)
        # Least squares with slight damping: if two directions are hard to distinguish, neither diverges.
        damped = normal + _DAMPING * np.diag(np.diag(normal) + 1e-9)
        gain = np.linalg.solve(damped, slopes.T @ (weights * (target - here)))
        logs = np.clip(logs + np.clip(gain, -0.7, 0.7), bounds[:, 0], bounds[:, 1])
        if number >= _FAR_ROUNDS:
            settled.append(logs)
    logs = np.mean(settled, axis=0)
    normal = slopes.T @ (weights[:, None] * slopes)
    inverse = np.linalg.pinv(normal)
    spread = inverse @ slopes.T @ (weights[:, None] * covariance * weights[None, :]) @ slopes @ inverse
    errors = np.sqrt(np.maximum(np.diag(spread), 0.0))
    estimates: list[Estimate] = []
    untold: list[Untold] = []
    free = bounds[:, 0].tolist(), bounds[:, 1].tolist()
    for name, log, error, least, most in zip(parameters, logs.tolist(), errors.tolist(), *free, strict=True):
        key, note = name.removesuffix("_ns"), "simulated moments of delays within slots and of their differences"
        if not least < log < most:
            note = f"as far as the search may go, so that there is no interval; {note}"
            estimates.append(Estimate(key, float(np.exp(log)), None, None, slots, "slots", note))
            continue
        if error > _WIDEST:
            note = f"hardly told; {note}"
        low, high = np.exp(np.clip([log - Z_95 * error, log + Z_95 * error], least, most)).tolist()
        estimates.append(Estimate(key, float(np.exp(log)), low, high, slots, "slots", note))
    if not dense:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart do not see steps of some ms"
        untold += [Untold(name.removesuffix("_ns"), why) for name in steps]
    for way in ("up", "down"):
        if way not in ways:
            only = "jitter_up" if way == "up" else "jitter"
            untold.append(Untold(only, f"the series is of the way {ways[0]} alone"))
    return Jitter(tuple(estimates), tuple(untold))


def _chosen(probes: Slotted) -> NDArray[np.int64]:
    """Indices of probes in the first slots: enough of them, but no more than a second of simulation."""
    whole = probes.slot < probes.slot[0] + _MOST_SLOTS
    return np.flatnonzero(whole)[:_MOST_PROBES]


def _lags(probes: Slotted, dense: bool) -> tuple[int, ...]:
    """Distances between compared probes: neighbours, and with dense probes 30 and 100 ms."""
    if not dense:
        return (1,)
    return tuple(sorted({1, *(max(round(apart_ns / probes.interval_ns), 1) for apart_ns in (30e6, 100e6))}))


def _by_slot(probes: Slotted, delay_ns: NDArray[np.float64], lags: tuple[int, ...]) -> NDArray[np.float64]:
    """Statistics of each slot with enough probes; shape (slots, k)."""
    columns = _quantiles(probes.slot[probes.clear], delay_ns[probes.clear], (0.1, 0.5, 0.75, 0.9))
    found = [columns[:, 1] - columns[:, 0], columns[:, 2] - columns[:, 1], columns[:, 3] - columns[:, 1]]
    for lag in lags:
        pairs = probes.clear[lag:] & probes.clear[:-lag] & (probes.slot[lag:] == probes.slot[:-lag])
        apart_ns = np.abs(delay_ns[lag:] - delay_ns[:-lag])
        differences = _quantiles(probes.slot[lag:][pairs], apart_ns[pairs], (0.5, 0.8), of=probes.slot[probes.clear])
        found += [differences[:, 0], differences[:, 1]]
    table = np.column_stack(found)
    return table[~np.isnan(table).any(axis=1)]


def _middle(table: NDArray[np.float64], trimmed: float) -> NDArray[np.float64]:
    """Means of each column without a share of its smallest and largest values."""
    cut = round(trimmed * len(table))
    return np.asarray(np.sort(table, axis=0)[cut : len(table) - cut].mean(axis=0))


def _covariance(table: NDArray[np.float64], trimmed: float) -> NDArray[np.float64]:
    """Covariance of `_middle`: that of the winsorised columns divided by (1 - 2 trimmed)^2 n (Tukey and McLaughlin
    1963)."""
    cut = round(trimmed * len(table))
    ordered = np.sort(table, axis=0)
    winsorised = np.clip(table, ordered[cut], ordered[len(table) - 1 - cut])
    return np.asarray(np.cov(winsorised, rowvar=False) / ((1.0 - 2.0 * trimmed) ** 2 * len(table)))


def _quantiles(
    slot: NDArray[np.int64], values: NDArray[np.float64], at: tuple[float, ...], of: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Quantiles of the values of each slot of `of`; nan if there are fewer than eight. Shape (slots, len(at))."""
    order = np.lexsort((values, slot))
    slots, starts, counts = np.unique(slot[order], return_index=True, return_counts=True)
    known = np.unique(slot if of is None else of)
    found = np.full((len(known), len(at)), np.nan)
    rows = np.searchsorted(known, slots)
    enough = counts >= 8
    for column, share in enumerate(at):
        places = starts + np.rint(share * (counts - 1)).astype(np.int64)
        found[rows[enough], column] = values[order][places][enough]
    return found
