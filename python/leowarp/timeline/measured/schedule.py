# SPDX-License-Identifier: Apache-2.0
"""A period in what happens to a path, found from the data alone.

Something happens: a probe is lost, a delay stands out, the level of the delays changes. Each is an event at an instant.
If events come at ``phase + k period`` (not necessarily at every k, and among others that come at any time), the mean
of ``exp(2 pi i t / period)`` over them is far from 0 (the Rayleigh test of circular statistics; Mardia and Jupp,
Directional Statistics, 2000, section 6.3.1). It is as far from 0 for every whole part of the period, and near 0 for its
multiples: the longest period among the strong ones is the one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leowarp.timeline.measured.measurement import Series

LEVEL_NS = 2_000_000_000
"""Width of the window whose median is the level of the delays, and of those before and after a change of level."""

SHORTEST_NS, LONGEST_NS = 4_000_000_000, 120_000_000_000
"""Periods that are looked for; the longest only if the measurement holds three of it."""

CERTAIN = 1e-2
"""A period is said to be found if noise gives one as strong less often than this."""

_SPIKE_SIGMAS, _STEP_SIGMAS = 6.0, 2.0
_TOGETHER_NS = 1_500_000_000
_NEAR_STRONGEST = 0.8
_FEWEST = 5


@dataclass(frozen=True)
class Schedule:
    """Instants ``phase_ns + k period_ns``.

    Attributes
    ----------
    period_ns : int
    phase_ns : int
        In [0, period_ns), on the measurement's clock.
    strength_ratio : float
        Of all events, weighted, the length of their mean direction: 1 = all at one phase, 0 = anywhere. nan of a
        schedule that was given and not found.
    """

    period_ns: int
    phase_ns: int
    strength_ratio: float = float("nan")

    def instants_ns(self, begin_ns: int, end_ns: int) -> NDArray[np.int64]:
        """Those in [begin, end)."""
        first = -(-(begin_ns - self.phase_ns) // self.period_ns)
        after = -(-(end_ns - self.phase_ns) // self.period_ns)
        return self.phase_ns + self.period_ns * np.arange(first, max(after, first), dtype=np.int64)

    def distance_ns(self, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far each instant is from the schedule's nearest."""
        into = (t_ns - self.phase_ns) % self.period_ns
        return np.minimum(into, self.period_ns - into)


@dataclass(frozen=True)
class Spike:
    """A run of delays that stand out of their level.

    Attributes
    ----------
    t_ns : int
        Sending time of its first probe.
    length_ns : int
        To its last probe, plus the interval between probes.
    peak_ns : int
        Its largest delay.
    height_ns : int
        That over the level: the median around it.
    """

    t_ns: int
    length_ns: int
    peak_ns: int
    height_ns: int


def find_schedule(series: Series, spikes: tuple[Spike, ...] | None = None) -> Schedule | None:
    """The period of what happens in a series, and its phase; None if noise could have made the strongest one."""
    if spikes is None:
        spikes = find_spikes(series)
    span_ns = int(series.t_ns[-1] - series.t_ns[0]) if len(series) else 0
    longest_ns = min(LONGEST_NS, span_ns // 3)
    if longest_ns <= SHORTEST_NS:
        return None
    # Frequencies a tenth of the resolution apart, so that no peak is missed.
    step_hz = 0.1e9 / span_ns
    frequency_hz = np.arange(1e9 / longest_ns, 1e9 / SHORTEST_NS, step_hz)
    kinds = [events for events in _kinds_of_events(series, spikes) if len(events.t_ns) >= _FEWEST]
    peaks = [peak for events in kinds if (peak := _strongest(events, frequency_hz)) is not None]
    if not peaks:
        return None
    best = min(peaks, key=lambda peak: peak.chance)
    if best.chance * len(peaks) * len(frequency_hz) / 10 > CERTAIN:
        return None
    fine_hz = best.frequency_hz + step_hz * np.linspace(-1, 1, 401)
    direction = _mean_direction(best.events, fine_hz)
    at = int(np.argmax(np.abs(direction)))
    return _fitted(best.events, 1e9 / fine_hz[at], float(np.angle(direction[at])), float(np.abs(direction[at])))


def find_spikes(series: Series) -> tuple[Spike, ...]:
    """Runs of delays more than six standard deviations (of a normal with their median deviation) above their level."""
    answered = series.take(~np.isnan(series.delay_ns))
    interval_ns = series.interval_ns
    if len(answered) < 8 or interval_ns is None:
        return ()
    above_ns = answered.delay_ns - level_ns(answered)
    # A delay that is given in whole ms has a median deviation of 0 as easily as not: at least a resolution.
    threshold_ns = _SPIKE_SIGMAS * max(_sigma_ns(above_ns), _resolution_ns(answered.delay_ns))
    places = np.flatnonzero(above_ns > threshold_ns)
    # Lost probes inside a spike do not end it; ten intervals without a high delay do.
    cuts = np.flatnonzero(np.diff(answered.t_ns[places]) > 10 * interval_ns) + 1
    spikes = []
    for run in np.split(places, cuts) if len(places) else ():
        top = run[np.argmax(above_ns[run])]
        length_ns = int(answered.t_ns[run[-1]] - answered.t_ns[run[0]]) + interval_ns
        spikes.append(
            Spike(int(answered.t_ns[run[0]]), length_ns, int(answered.delay_ns[run].max()), int(above_ns[top]))
        )
    return tuple(spikes)


def level_ns(answered: Series) -> NDArray[np.float64]:
    """The median of the delays around each, within `LEVEL_NS` or nine probes, whichever is longer."""
    interval_ns = answered.interval_ns or LEVEL_NS
    window_ns = max(LEVEL_NS, 9 * interval_ns)
    frame = pd.Series(answered.delay_ns, index=pd.to_datetime(answered.t_ns, unit="ns"))
    return frame.rolling(pd.Timedelta(window_ns, "ns"), center=True).median().to_numpy()


@dataclass(frozen=True)
class _Events:
    t_ns: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class _Peak:
    events: _Events
    frequency_hz: float
    chance: float


def _kinds_of_events(series: Series, spikes: tuple[Spike, ...]) -> list[_Events]:
    """Losses, spikes, changes of level, each by itself (on a noisy path only one of them may tell), and together."""
    lost = np.flatnonzero(series.lost | series.cut)
    runs = lost[np.flatnonzero(np.diff(lost, prepend=-2) > 1)]
    heights = np.array([spike.height_ns for spike in spikes], dtype=np.float64)
    # The tallest count most: on a path with jitter the low ones come at any time.
    tall = np.minimum(heights / np.quantile(heights, 0.75), 1.0) if len(heights) else heights
    kinds = [
        _gathered(series.t_ns[runs], np.ones(len(runs))),
        _gathered(np.array([spike.t_ns for spike in spikes], dtype=np.int64), tall),
        _gathered(*_steps(series)),
    ]
    together = _gathered(*(np.concatenate([getattr(kind, name) for kind in kinds]) for name in ("t_ns", "weight")))
    return [*kinds, together]


def _gathered(t_ns: NDArray[np.number], weight: NDArray[np.float64]) -> _Events:
    """Of events close together the heaviest, so that one handover counts once."""
    kept: list[int] = []
    for place in np.argsort(-weight, kind="stable").tolist():
        if all(abs(t_ns[place] - t_ns[other]) > _TOGETHER_NS for other in kept):
            kept.append(place)
    return _Events(t_ns[kept].astype(np.float64), weight[kept])


def _strongest(events: _Events, frequency_hz: NDArray[np.float64]) -> _Peak | None:
    strength = np.abs(_mean_direction(events, frequency_hz))
    inner = strength[1:-1]
    peaks = 1 + np.flatnonzero((inner >= strength[:-2]) & (inner >= strength[2:]))
    if not len(peaks):
        return None
    strongest = strength[peaks].max()
    longest = peaks[strength[peaks] >= _NEAR_STRONGEST * strongest][0]
    independent = float(events.weight.sum() ** 2 / (events.weight**2).sum())
    return _Peak(events, float(frequency_hz[longest]), _chance(independent, float(strongest)))


def _chance(events: float, strength: float) -> float:
    """How often so many events at random have so strong a mean direction, at one frequency.

    Zar, Biostatistical Analysis, section 27.1: good from five events on.
    """
    return float(np.exp(np.sqrt(1 + 4 * events + 4 * events**2 * (1 - strength**2)) - (1 + 2 * events)))


def _steps(series: Series) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Instants at which the level of the delays changes, and how much each counts (the large ones more)."""
    answered = series.take(~np.isnan(series.delay_ns))
    if len(answered) < 8:
        return np.empty(0, dtype=np.int64), np.empty(0)
    window_ns = max(LEVEL_NS, 4 * (answered.interval_ns or 0))
    window = pd.Timedelta(window_ns, "ns")
    before = _rolling_median(answered.t_ns, answered.delay_ns, window)
    after = _rolling_median(-answered.t_ns[::-1], answered.delay_ns[::-1], window)[::-1]
    # The level up to the probe before, against that from this probe on.
    change_ns = np.abs(after[1:] - before[:-1])
    sigma_ns = max(_sigma_ns(answered.delay_ns - level_ns(answered)), _resolution_ns(answered.delay_ns))
    t_ns = answered.t_ns[1:]
    index = pd.to_datetime(t_ns, unit="ns")
    largest_ns = pd.Series(change_ns, index=index).rolling(2 * window, center=True).max().to_numpy()
    steps = np.flatnonzero((change_ns >= largest_ns) & (change_ns > _STEP_SIGMAS * sigma_ns))
    # Of a plateau of equal changes its middle.
    plateaus = np.split(steps, np.flatnonzero(np.diff(t_ns[steps]) > window_ns) + 1) if len(steps) else []
    middles = np.array([plateau[len(plateau) // 2] for plateau in plateaus], dtype=np.int64)
    weight = change_ns[middles] / max(float(change_ns[middles].max(initial=0)), 1.0)
    return t_ns[middles], np.maximum(weight, 0.1)


def _rolling_median(t_ns: NDArray[np.int64], values: NDArray[np.float64], window: pd.Timedelta) -> NDArray[np.float64]:
    return pd.Series(values, index=pd.to_datetime(t_ns - t_ns[0], unit="ns")).rolling(window).median().to_numpy()


def _sigma_ns(deviation_ns: NDArray[np.float64]) -> float:
    # 1.4826 median deviations are a standard deviation of a normal distribution.
    return 1.4826 * float(np.median(np.abs(deviation_ns - np.median(deviation_ns))))


def _resolution_ns(delay_ns: NDArray[np.float64]) -> float:
    """The smallest difference between two delays that are not equal."""
    distinct = np.unique(delay_ns)
    return float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0


def _mean_direction(events: _Events, frequency_hz: NDArray[np.float64]) -> NDArray[np.complex128]:
    # In blocks: an hour of events by its frequencies would be a matrix of gigabytes.
    t_s = events.t_ns * 1e-9
    blocks = np.array_split(frequency_hz, 1 + len(frequency_hz) * len(t_s) // 4_000_000)
    sums = [np.exp(2j * np.pi * np.outer(block, t_s)) @ events.weight for block in blocks]
    return np.concatenate(sums) / events.weight.sum()


def _fitted(events: _Events, period_ns: float, angle_rad: float, strength: float) -> Schedule:
    """Least squares of ``t = phase + k period`` over the events near the schedule, twice, the second time nearer."""
    t_ns = events.t_ns
    phase_ns = angle_rad / (2 * np.pi) * period_ns
    for near_ns in (1_000_000_000, 300_000_000):
        number = np.round((t_ns - phase_ns) / period_ns)
        near = np.abs(t_ns - phase_ns - number * period_ns) < near_ns
        if len(np.unique(number[near])) < 3:
            break
        period_ns, phase_ns = np.polyfit(number[near], t_ns[near], 1, w=np.sqrt(events.weight[near]))
    return Schedule(round(period_ns), round(phase_ns) % round(period_ns), strength)
