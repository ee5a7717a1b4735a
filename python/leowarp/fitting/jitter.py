# SPDX-License-Identifier: Apache-2.0
"""Estimate the profile's jitter by the method of simulated moments. With the fitted values, simulated probes have the
statistics of the recording.

The statistics are the spread of delays within a slot, and the differences between successive delays. Each statistic is
a trimmed mean over slots. The jitter is simulated at the times of the recording's probes, so sampling affects both
statistics equally. Intervals are computed with McFadden's method of simulated moments (1989). The covariance of the
slots and the covariance of the simulation are added.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from leowarp.fitting.estimate import CUT_SPREAD, TAIL, Estimate, Found, Untold, number, resampled
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.delays import jitter_rows, up_step_frames
from leowarp.scenario.schema import Access

_MOST_PROBES = 60_000
_MOST_SLOTS = 200
_ROUNDS, _FAR_ROUNDS, _LAST_SEEDS = 9, 3, 24
_SHAPES = ("uniform", "exponential")
_CHANCE_SEEDS = range(1, 41)
"""Simulations with these seeds show by how much slots with equal jitter differ by chance. The noise of only a few
simulations would look like a spread over slots, with the same sign in every recording."""
_FITS = 30.0
"""Up to this distance, the shape of the distribution fits, and the other shape is not tried. The distance is a sum over
about nine statistics: their squared differences from the recording, in standard errors."""
_DAMPING, _FURTHEST = 0.02, 0.7
"""The damping of the search is a share of the normal equations' diagonal. One step of the search changes a logarithm by
at most `_FURTHEST`."""
_TRIMMED = 0.2
"""For sparse probes, this share of the sorted slots is removed at each end, because a few slots with a bad view of the
sky do not represent the jitter. For dense probes, removing slots would bias the fitted step."""
_STEP, _STEP_OF_STEPS = 0.15, 0.4
"""To compute the slopes of the statistics, the logarithm of a parameter is changed by one of these values. With smaller
changes, the simulation's noise would be larger than the effect. The second value is for `jitter_step_ns`, whose slopes
are noisier, because another length of steps changes every random draw after the first one."""

_NO_FINER_NS = 50_000.0
"""Half of the resolution of ping's output, in ns. Ping prints tenths of a millisecond."""

_TOLD = 0.1
_WIDEST = 0.7
"""A parameter gets an estimate only if the standard error of its logarithm is at most this value. The 95 % interval
then extends from a quarter of the estimate to 4 times the estimate."""

_LEAST_WIDTH_NS = 10_000.0
"""The smallest width of the delays of a slot. A slot with equal delays would have the logarithm of 0."""

_MOST_SPREAD = 1.0
"""The largest value that `[access]` takes for `jitter_spread`."""

_MEANS_NS = (50_000.0, 200_000_000.0)
_STEPS_NS = (1_400_000.0, 200_000_000.0)
"""The range of the length of a step. The minimum is a frame of 1/750 s."""


def simulated_ns(
    access: Access, t_ns: NDArray[np.int64], ways: tuple[str, ...], seed: int, until_ns: int,
    slots_ns: NDArray[np.int64],
) -> NDArray[np.float64]:  # fmt: skip
    """Return the part of each probe's delay that comes from jitter and frames, in ns. Base delay, handovers and losses
    are not included.

    t_ns: int64 array of shape (n,). Ascending.
    ways: "up", "down" or both, in the order of a probe's path.
    slots_ns: int64 array of shape (m,). The beginnings of slots, between which `jitter_spread` makes jitter differ.
    """
    at_ns = t_ns
    for way in ways:
        begins_ns, values_ns = jitter_rows(access, way, seed, until_ns + 1_000_000_000, slots_ns)
        delay_ns = values_ns[np.searchsorted(begins_ns, at_ns, side="right") - 1] + 500_000_000 // access.frames_per_s
        at_ns = np.maximum.accumulate(at_ns + delay_ns)
    return (at_ns - t_ns).astype(np.float64)


def fit_jitter(probes: Slotted, access: Access, ways: tuple[str, ...]) -> list[Found]:
    """Estimate the means, the spread over slots and the shape of the jitter in the measured directions. If probes are
    dense, the length of the jitter's steps is also estimated.

    access: The initial values of the search.
    ways: The directions as in `simulated_ns`, both for round trips.
    """
    chosen = _chosen(probes)
    taken = dataclasses.replace(
        probes, series=probes.series.take(chosen), slot=probes.slot[chosen], clear=probes.clear[chosen]
    )
    widths_ns = _widths_ns(taken, taken.series.delay_ns)
    tried = []
    for shape in _SHAPES if "up" in ways else (access.jitter_up_shape,):
        shaped = dataclasses.replace(access, jitter_up_shape=shape)
        spread = _fit_spread(widths_ns, _chance_widths_ns(taken, shaped, ways))
        assert isinstance(spread.value, float)
        found, distance = _fitted(taken, dataclasses.replace(shaped, jitter_spread_ratio=spread.value), ways)
        # A part of the spread is due to chance. This part depends on the jitter and its steps, so it is simulated again
        # with the fitted values.
        means: dict[str, Any] = {f"{one.key}_ns": round(number(one)) for one in found if isinstance(one, Estimate)}
        own = dataclasses.replace(shaped, **means)
        spread = _fit_spread(widths_ns, _chance_widths_ns(taken, own, ways))
        tried.append((distance, shape, spread, found))
        if distance <= _FITS:
            break
    distance, shape, spread, found = min(tried, key=lambda one: one[0])
    found.append(spread)
    if "up" in ways:
        rest = "".join(f"; those of the other shape {one[0]:.3g}" for one in tried if one[1] != shape)
        note = f"its statistics are {distance:.3g} squared standard errors from the recording's{rest}"
        found.append(Estimate("jitter_up_shape", shape, None, None, spread.count, "slots", note))
    return found


def _fitted(taken: Slotted, access: Access, ways: tuple[str, ...]) -> tuple[list[Found], float]:
    """Fit the jitter's parameters for one shape. Return them, and the distance between the simulated and the recorded
    statistics, in squared standard errors."""
    probes = taken
    dense = probes.is_dense
    names = [f"jitter_{way}_ns" if way == "up" else "jitter_ns" for way in ways]
    steps = [f"jitter_{way}_step_ns" if way == "up" else "jitter_step_ns" for way in ways]
    parameters = names + (steps if dense else [])
    lags = _lags(taken, dense)
    trimmed = 0.0 if dense else _TRIMMED
    measured = _by_slot(taken, taken.series.delay_ns, lags)
    slots = len(measured)
    target = _middle(measured, trimmed)
    # The covariances of the recording's statistics, and of the mean over `_LAST_SEEDS` simulations, are added.
    covariance = (1.0 + 1.0 / _LAST_SEEDS) * _covariance(measured, trimmed)
    weights = 1.0 / (np.diag(covariance) + _NO_FINER_NS**2 / slots)

    def moments(logs: NDArray[np.float64], seed: int = 1) -> NDArray[np.float64]:
        keys: dict[str, Any] = {name: round(float(np.exp(value))) for name, value in zip(parameters, logs, strict=True)}
        drawn = dataclasses.replace(access, **keys)
        simulated = simulated_ns(drawn, taken.series.t_ns, ways, seed, taken.until_ns, taken.begins_ns)
        return _middle(_by_slot(taken, simulated, lags), trimmed)

    bounds = np.log([_STEPS_NS if name in steps else _MEANS_NS for name in parameters])
    logs = np.log([float(getattr(access, name)) for name in parameters])
    slopes = np.zeros((len(target), len(logs)))
    settled: list[NDArray[np.float64]] = []
    every: list[NDArray[np.float64]] = []
    for trial in range(_ROUNDS):
        seed = trial + 1
        here = moments(logs, seed)
        slope = np.zeros_like(slopes)
        for place, name in enumerate(parameters):
            step = np.zeros(len(logs))
            step[place] = apart = _STEP_OF_STEPS if name == "jitter_step_ns" else _STEP
            slope[:, place] = (moments(logs + step, seed) - moments(logs - step, seed)) / (2 * apart)
        # The slopes of the first rounds are computed far from the solution. The slopes of later rounds are averaged,
        # because random draws make them differ.
        fresh = max(trial - _FAR_ROUNDS + 1, 1)
        slopes = slopes + (slope - slopes) / fresh
        logs = np.clip(logs + _step(slopes, weights, target - here), bounds[:, 0], bounds[:, 1])
        if trial >= _FAR_ROUNDS:
            settled.append(logs)
            every.append(slope)
    logs = np.mean(settled, axis=0)
    normal = slopes.T @ (weights[:, None] * slopes)
    inverse = np.linalg.pinv(normal)
    # All fits use the same few simulations, so all of them would have the same error. The last step uses more.
    apart = target - np.mean([moments(logs, seed) for seed in range(1, _LAST_SEEDS + 1)], axis=0)
    logs = np.clip(logs + _step(slopes, weights, apart), bounds[:, 0], bounds[:, 1])
    spread = inverse @ slopes.T @ (weights[:, None] * covariance * weights[None, :]) @ slopes @ inverse
    errors = np.sqrt(np.maximum(np.diag(spread), _without_noise(every, weights, covariance)))
    wide = float(student.ppf(1.0 - TAIL, slots - 1))
    found: list[Found] = []
    free = bounds[:, 0].tolist(), bounds[:, 1].tolist()
    for name, log, error, least, most in zip(parameters, logs.tolist(), errors.tolist(), *free, strict=True):
        key, note = name.removesuffix("_ns"), "simulated moments of delays within slots and of their differences"
        if not least < log < most:
            note = f"as far as the search may go, so that there is no interval; {note}"
            found.append(Estimate(key, float(np.exp(log)), None, None, slots, "slots", note))
            continue
        if error > _WIDEST:
            note = f"hardly told; {note}"
        low, high = np.exp(np.clip([log - wide * error, log + wide * error], least, most)).tolist()
        if not dense:
            # The delays of sparse probes depend on the squares of the two directions' means, whose error is nearly the
            # same for small and for large means. If an estimate is too large by chance, an interval from the error of
            # its logarithm is too narrow.
            low = min(low, float(np.exp(log) * np.sqrt(max(1.0 - 2.0 * wide * error, 0.0))))
            low = max(low, float(np.exp(least)))
        if name == "jitter_up_step_ns":
            low, high = _alike_ns(low, access)[0], _alike_ns(high, access)[1]
        found.append(Estimate(key, float(np.exp(log)), low, high, slots, "slots", note))
    if not dense:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart do not see steps of some ms"
        found += [Untold(name.removesuffix("_ns"), why) for name in steps]
    for way in ("up", "down"):
        if way not in ways:
            only = "jitter_up" if way == "up" else "jitter"
            found.append(Untold(only, f"the series is of the way {ways[0]} alone"))
    apart = target - np.mean([moments(logs, seed) for seed in range(1, _ROUNDS + 1)], axis=0)
    return found, float((weights * apart**2).sum())


def _step(slopes: NDArray[np.float64], weights: NDArray[np.float64], apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the change of each parameter's logarithm that compensates for the difference `apart` in the statistics. It
    is a least-squares solution with constant slopes. Slight damping keeps parameters from diverging if their effects
    are hard to distinguish."""
    normal = slopes.T @ (weights[:, None] * slopes)
    damped = normal + _DAMPING * np.diag(np.diag(normal) + 1e-9)
    return np.clip(np.linalg.solve(damped, slopes.T @ (weights * apart)), -_FURTHEST, _FURTHEST)


def _chance_widths_ns(taken: Slotted, access: Access, ways: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the `_widths_ns` of many simulations in which all slots have the same jitter."""
    alike = dataclasses.replace(access, jitter_spread_ratio=0.0)
    return np.concatenate(
        [
            _widths_ns(taken, simulated_ns(alike, taken.series.t_ns, ways, seed, taken.until_ns, taken.begins_ns))
            for seed in _CHANCE_SEEDS
        ]
    )


def _widths_ns(probes: Slotted, delay_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each slot with enough probes, the distance between the first and the ninth decile of its delays."""
    table = _by_slot(probes, delay_ns, (1,))
    return np.asarray(table[:, 0] + table[:, 2])


def _fit_spread(widths_ns: NDArray[np.float64], made_ns: NDArray[np.float64]) -> Estimate:
    """Estimate how much jitter differs between slots, the standard deviation of the logarithms of `_widths_ns`. Slots
    with equal jitter also differ by chance (`_chance_widths_ns`), and this part is subtracted.

    If the confidence interval of the difference includes 0, the estimate is 0.

    widths_ns: float64 array of shape (slots,). The widths of the recording.
    made_ns: float64 array of shape (m,). The widths of simulated slots that all have the same jitter.
    """
    logs, of_made = (np.log(np.maximum(each, _LEAST_WIDTH_NS)) for each in (widths_ns, made_ns))

    def variance(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(drawn.var(ddof=1))

    here, by_chance = float(variance(logs)), float(variance(of_made))
    least, most = (float(end) for end in resampled(logs, variance))
    fewest, largest = (float(end) for end in resampled(of_made, variance))
    # The squared error of the difference of two independent estimates is the sum of their squared errors.
    low = here - by_chance - float(np.hypot(here - least, largest - by_chance))
    high = here - by_chance + float(np.hypot(most - here, by_chance - fewest))
    value = here - by_chance if low > 0.0 else 0.0
    note = "widths of delays within slots, beyond their differences over the profile with one jitter for all slots"
    value, low, high = (min(float(np.sqrt(max(each, 0.0))) / CUT_SPREAD, _MOST_SPREAD) for each in (value, low, high))
    return Estimate("jitter_spread", value, low, high, len(logs), "slots", note)


def _without_noise(
    every: list[NDArray[np.float64]], weights: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variances of the parameters' logarithms, from products of slopes of two different simulations. If
    these products give no valid variances, the result is 0.

    If both slopes of a product came from the same simulation, noise would count as information. The confidence
    intervals would then be too narrow.
    """
    middle = np.mean(every, axis=0)
    own = np.mean([one.T @ (weights[:, None] * one) for one in every], axis=0)
    normal = (len(every) * middle.T @ (weights[:, None] * middle) - own) / (len(every) - 1)
    # If the data determine at least one combination of the parameters poorly, all variances are uncertain. The caller
    # then uses errors that it computes itself.
    if np.linalg.eigvalsh(normal / np.sqrt(np.outer(np.diag(own), np.diag(own)))).min() < _TOLD:
        return np.zeros(len(normal))
    inverse = np.linalg.inv(normal)
    told = (weights[:, None] * middle).T @ covariance @ (weights[:, None] * middle)
    return np.asarray(np.diag(inverse @ told @ inverse))


def _alike_ns(step_ns: float, access: Access) -> tuple[float, float]:
    """Return the shortest and the longest uplink step that no recording can distinguish from `step_ns`, because they
    give the same range of whole frames."""
    frame_ns = 1e9 / access.frames_per_s
    first, last = up_step_frames(step_ns / frame_ns)
    # up_step_frames(f) returns first = ceil(f / 2) and last = floor(1.5 f).
    return max(2.0 * (first - 1), last / 1.5) * frame_ns, min(2.0 * first, (last + 1) / 1.5) * frame_ns


def _chosen(probes: Slotted) -> NDArray[np.int64]:
    """Return the indices of the probes in the first slots, of which a simulation takes at most a second."""
    whole = probes.slot < probes.slot[0] + _MOST_SLOTS
    return np.flatnonzero(whole)[:_MOST_PROBES]


def _lags(probes: Slotted, dense: bool) -> tuple[int, ...]:
    """Return the distances between compared probes, in number of probes: neighbours, and dense probes at a distance of
    30 ms and of 100 ms."""
    if not dense:
        return (1,)
    return tuple(sorted({1, *(max(round(apart_ns / probes.interval_ns), 1) for apart_ns in (30e6, 100e6))}))


def _by_slot(probes: Slotted, delay_ns: NDArray[np.float64], lags: tuple[int, ...]) -> NDArray[np.float64]:
    """Return statistics of the delays within each slot that has enough probes, as an array of shape (slots, k)."""
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
    """Return the mean of each column, without a share `trimmed` of its values at each end."""
    cut = round(trimmed * len(table))
    return np.asarray(np.sort(table, axis=0)[cut : len(table) - cut].mean(axis=0))


def _covariance(table: NDArray[np.float64], trimmed: float) -> NDArray[np.float64]:
    """Return the covariance of `_middle`. The result is the covariance of the winsorised columns, divided by (1 - 2
    trimmed)^2 n (Tukey and McLaughlin 1963)."""
    cut = round(trimmed * len(table))
    ordered = np.sort(table, axis=0)
    winsorised = np.clip(table, ordered[cut], ordered[len(table) - 1 - cut])
    return np.asarray(np.cov(winsorised, rowvar=False) / ((1.0 - 2.0 * trimmed) ** 2 * len(table)))


def _quantiles(
    slot: NDArray[np.int64], values: NDArray[np.float64], at: tuple[float, ...], of: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the quantiles of `values` in each slot of `of`, as an array of shape (slots, len(at)). If a slot has fewer
    than eight values, its quantiles are nan."""
    of = slot if of is None else of
    known = of[np.flatnonzero(np.diff(of, prepend=-1))]
    found = np.full((len(known), len(at)), np.nan)
    # Probes are sorted by time, so the probes of a slot are adjacent.
    edges = np.searchsorted(slot, np.append(known, known[-1:] + 1)).tolist()
    for row, (begin, end) in enumerate(itertools.pairwise(edges)):
        if end - begin >= 8:
            places = np.rint(np.array(at) * (end - begin - 1)).astype(np.int64)
            found[row] = np.partition(values[begin:end], places)[places]
    return found
