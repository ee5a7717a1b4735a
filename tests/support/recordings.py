# SPDX-License-Identifier: Apache-2.0
"""Invented recordings of paths. Every property of a recording is known. The recordings have the same faults as real
recordings.

`recording(seed)` returns a random recording. Most recordings are of a dish that is reconfigured every 15 s or with
another period, over a bent pipe or laser links. The other recordings have no period. The ranges of all properties
include those of published recordings: probes every 10 ms to 1 s, durations of 2 minutes to 1 hour, and up to a fifth of
the probes lost.

Every dish has at least eight reconfigurations, because a schedule with fewer may occur by chance. If the period is
longer than 16 s, the dish has at least twelve reconfigurations. If probes are at least half a second apart, the dish
has at least twenty reconfigurations. Each reconfiguration has at least one visible sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MS, S = 1_000_000, 1_000_000_000

INTERVALS_NS = tuple(ms * MS for ms in (10, 12, 20, 50, 100, 200, 500, 1000))
DISHES_RATIO = 0.7
FEWEST_PERIODS, FEWEST_PERIODS_LONG, FEWEST_PERIODS_SPARSE = 8, 12, 20
SPARSE_NS = 500 * MS


@dataclass(frozen=True)
class Truth:
    """The properties of an invented recording.

    kind: bent pipe, laser, fibre, cellular, drift, wander, obstructed.
    period_ns: None if the recording has no period.
    phase_ns: The time of a reconfiguration, on the clock of the first probe.
    trap: none, alternating, half spikes, second step or thirds.
    obstructed_probes: The number of probes that were lost behind an obstacle.
    step_ns, noise_ns: The typical size of a step in the delay, and of the noise on the delay.
    clock_steps: tuple of (int, int). The instant and size of each step by which the clock was set forward.
    pauses, outages: tuple of (int, int). The start and length of each pause and of each outage. Nothing is sent in a
        pause, and everything is lost in an outage.
    """

    kind: str
    period_ns: float | None
    phase_ns: float | None
    trap: str
    obstructed_probes: int
    random_loss_ratio: float
    interval_ns: int
    span_ns: int
    step_ns: float
    noise_ns: float
    clock_steps: tuple[tuple[int, int], ...]
    duplicates: int
    pauses: tuple[tuple[int, int], ...]
    outages: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Recording:
    """The probes in the order in which they were sent.

    sequence: int64 array of shape (n,)
    t_ns: int64 array of shape (n,). The sending time on the sender's clock. Times decrease where this clock was set
        back.
    rtt_ns: float64 array of shape (n,). nan if the probe was lost.
    duplicated: bool array of shape (n,). True if the reply arrived twice.
    """

    sequence: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    rtt_ns: NDArray[np.float64]
    duplicated: NDArray[np.bool_]
    truth: Truth

    def text(self) -> str:
        """Return the recording as lines of `time sequence rtt` in s and ms. A lost probe has no line, and a duplicated
        reply has two."""
        lines = []
        for number, t_ns, rtt_ns, twice in zip(
            self.sequence.tolist(), self.t_ns.tolist(), self.rtt_ns.tolist(), self.duplicated.tolist(), strict=True
        ):
            if rtt_ns == rtt_ns:
                line = f"{_BEGIN_S + t_ns // S}.{t_ns % S:09d} {number} {rtt_ns / MS:.3f}"
                lines += [line] * (2 if twice else 1)
        return "\n".join(lines) + "\n"


_BEGIN_S = 1_715_947_200  # 2024-05-17T12:00:00Z, the time of the first probe.


def recording(seed: int) -> Recording:
    """Return a random recording that is made from `seed`. The same seed always gives the same recording."""
    dice = np.random.default_rng([seed, 20_260_712])
    interval_ns = int(dice.choice(INTERVALS_NS))
    if dice.random() < DISHES_RATIO:
        return _finished(dice, *_dish(dice, interval_ns))
    return _finished(dice, *_without_period(dice, interval_ns))


def _span_ns(dice: np.random.Generator, least_ns: float) -> int:
    return int(max(np.exp(dice.uniform(np.log(120), np.log(3600))) * S, least_ns))


def _log_uniform(dice: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(dice.uniform(np.log(low), np.log(high))))


def _sent(dice: np.random.Generator, span_ns: int, interval_ns: int) -> NDArray[np.int64]:
    """Return sending times at a regular interval, each with a small delay."""
    t_ns = np.arange(0, span_ns, interval_ns, dtype=np.int64)
    return t_ns + dice.integers(0, max(interval_ns // 20, 2), len(t_ns))


def _noise(dice: np.random.Generator, count: int, scale_ns: float, interval_ns: int) -> NDArray[np.float64]:
    """Return the waiting time of each probe, never below 0. One part is independent for each probe. Some recordings
    have a second part, which lasts for several probes."""
    fresh = dice.gamma(dice.uniform(0.8, 3.0), 1.0, count)
    noise = scale_ns * fresh / fresh.mean()
    if dice.random() < 0.5:
        lasting_ns = _log_uniform(dice, 0.1, 3.0) * S
        noise = noise + scale_ns * dice.uniform(0.2, 1.0) * np.maximum(
            _wander(dice, count, interval_ns / lasting_ns), 0
        )
    if dice.random() < 0.4:  # packets are sent at multiples of an interval, as a dish does on its uplink
        noise = noise + dice.uniform(0, min(_log_uniform(dice, 0.3, 6) * MS, 2 * scale_ns + 0.5 * MS), count)
    return noise


def _wander(dice: np.random.Generator, count: int, forgetting: float) -> NDArray[np.float64]:
    """Return samples of an autoregressive process of order 1 with variance 1."""
    from scipy.signal import lfilter

    keep = float(np.exp(-forgetting))
    return np.asarray(lfilter([1.0], [1.0, -keep], dice.normal(size=count)) * np.sqrt(1 - keep**2))


def _dish(dice: np.random.Generator, interval_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[str, Any]]:
    laser = bool(dice.random() < 0.25)
    draw = dice.random()
    if draw < 0.7:
        period_ns = 15.0 * S
    elif draw < 0.8:
        period_ns = 15.0 * S * (1 + dice.uniform(-4e-3, 4e-3))
    elif draw < 0.87:
        period_ns = 10.0 * S
    elif draw < 0.94:
        period_ns = 30.0 * S
    else:
        period_ns = dice.uniform(6, 45) * S
    phase_ns = dice.uniform(0, 1) * period_ns
    trap = str(
        dice.choice(["none", "alternating", "half spikes", "second step", "thirds"], p=[0.6, 0.1, 0.1, 0.1, 0.1])
    )
    sparse = interval_ns >= SPARSE_NS
    fewest = FEWEST_PERIODS_SPARSE if sparse else FEWEST_PERIODS if period_ns < 16 * S else FEWEST_PERIODS_LONG
    span_ns = _span_ns(dice, fewest * period_ns)
    t_ns = _sent(dice, span_ns, interval_ns)
    slot = np.floor((t_ns - phase_ns) / period_ns).astype(np.int64)
    slot -= slot[0]
    into_ns = np.asarray((t_ns - phase_ns) % period_ns, dtype=np.float64)
    slots = int(slot[-1]) + 1
    noise_ns = _log_uniform(dice, 0.15, 5) * MS
    step_ns = _log_uniform(dice, 0.5, 12) * MS
    signs = dice.random(3) < (0.8, 0.7, 0.7)
    # If a slot contains few probes, a small step is not visible. The variable `within` is twice the standard error of a
    # slot's mean.
    within = noise_ns / np.sqrt(period_ns / interval_ns / 2)
    if signs[0]:
        step_ns = min(max(step_ns, 3 * within), 15 * MS)
    elif not signs[1:].any():
        signs[dice.integers(1, 3)] = True

    if trap in ("half spikes", "thirds") and not (signs[0] or signs[2]):
        trap = "none"  # without other signs, all spikes are equal, and the true period is a fraction of period_ns

    base_ns = np.full(slots, (dice.uniform(60, 180) if laser else dice.uniform(20, 45)) * MS)
    if signs[0]:
        base_ns = base_ns + _levels(dice, slots, step_ns, trap)
    rtt_ns = base_ns[slot] + into_ns / S * dice.normal(0, 0.04 * MS, slots)[slot]
    if signs[0] and trap == "second step":
        at_ns = dice.uniform(0.2, 0.8) * period_ns
        rtt_ns += (into_ns > at_ns) * dice.normal(0, 0.35 * step_ns, slots)[slot]
    rtt_ns = rtt_ns + _noise(dice, len(t_ns), noise_ns, interval_ns)

    lost = np.zeros(len(t_ns), dtype=bool)
    if signs[1]:
        likely, height_ns = dice.uniform(0.4, 1), _log_uniform(dice, 8, 80) * MS
        rtt_ns += _spikes(dice, into_ns, slot, slots, likely, max(height_ns, 4 * noise_ns), interval_ns)
        if trap in ("half spikes", "thirds"):
            parts = 2 if trap == "half spikes" else 3
            part = np.floor(into_ns / (period_ns / parts)).astype(np.int64)
            into_part_ns = np.asarray(into_ns % (period_ns / parts), dtype=np.float64)
            rtt_ns += _spikes(dice, into_part_ns, slot * parts + part, slots * parts, likely,
                              max(height_ns, 4 * noise_ns), interval_ns)  # fmt: skip
    if signs[2]:
        likely, length_ns = dice.uniform(0.4, 0.95), max(_log_uniform(dice, 20, 400) * MS, 1.2 * interval_ns)
        hit = dice.random(slots) < likely
        begin_ns, end_ns = dice.uniform(0, 0.1 * S, slots), length_ns * dice.uniform(0.6, 1.4, slots)
        lost |= hit[slot] & (into_ns >= begin_ns[slot]) & (into_ns < begin_ns[slot] + end_ns[slot])
    obstructed = np.zeros(len(t_ns), dtype=bool)
    if dice.random() < 0.2:
        obstructed = _behind_obstacles(dice, into_ns, slot, slots)
        lost |= obstructed
    about = {
        "kind": "laser" if laser else "bent pipe", "period_ns": period_ns, "phase_ns": phase_ns, "trap": trap,
        "obstructed_probes": int(obstructed.sum()), "interval_ns": interval_ns, "span_ns": span_ns,
        "step_ns": step_ns if signs[0] else 0.0, "noise_ns": noise_ns,
    }  # fmt: skip
    return t_ns, np.asarray(np.where(lost, np.nan, rtt_ns), dtype=np.float64), about


def _levels(dice: np.random.Generator, slots: int, step_ns: float, trap: str) -> NDArray[np.float64]:
    if trap == "alternating":  # the slots use two satellites in turn, so the same level returns every second period
        return step_ns * (np.arange(slots) % 2) + dice.normal(0, 0.05 * step_ns, slots)
    levels = dice.normal(0, step_ns, slots)
    kept = dice.random(slots) < dice.uniform(0, 0.35)  # slots that use the same satellite as before
    for number in range(1, slots):
        if kept[number]:
            levels[number] = levels[number - 1]
    return np.asarray(levels - levels.min())


def _spikes(
    dice: np.random.Generator, into_ns: NDArray[np.float64], slot: NDArray[np.int64], slots: int, likely: float,
    height_ns: float, interval_ns: int,
) -> NDArray[np.float64]:  # fmt: skip
    heights_ns = height_ns * dice.lognormal(0, 0.4, slots) * (dice.random(slots) < likely)
    length_ns = np.maximum(dice.uniform(20, 200, slots) * MS, 1.1 * interval_ns)
    begin_ns = dice.uniform(0, 0.1 * S, slots)
    since_ns = into_ns - begin_ns[slot]
    inside = (since_ns >= 0) & (since_ns < length_ns[slot])
    return np.asarray(np.where(inside, heights_ns[slot] * (1 - 0.6 * since_ns / length_ns[slot]), 0.0))


def _behind_obstacles(
    dice: np.random.Generator, into_ns: NDArray[np.float64], slot: NDArray[np.int64], slots: int
) -> NDArray[np.bool_]:
    """Return a mask of the probes that are lost because the slot's satellite is behind an obstacle. An obstacle is a
    sector of azimuth."""
    sectors = [(dice.uniform(0, 360), dice.uniform(15, 45)) for _ in range(dice.integers(1, 4))]
    azimuth_deg, rate = dice.uniform(0, 360, slots), dice.choice([-1, 1], slots) * dice.uniform(0.6, 2.5, slots)
    at_deg = (azimuth_deg[slot] + rate[slot] * into_ns / S) % 360
    behind = np.zeros(len(into_ns), dtype=bool)
    for centre, width in sectors:
        behind |= np.abs((at_deg - centre + 180) % 360 - 180) < width / 2
    return behind & (dice.random(len(into_ns)) < dice.uniform(0.6, 1.0))


def _without_period(
    dice: np.random.Generator, interval_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[str, Any]]:
    kind = str(dice.choice(["fibre", "cellular", "drift", "wander", "obstructed"]))
    span_ns = _span_ns(dice, 120 * S)
    t_ns = _sent(dice, span_ns, interval_ns)
    noise_ns = _log_uniform(dice, 0.05 if kind == "fibre" else 0.3, 5) * MS
    rtt_ns = dice.uniform(10, 80) * MS + _noise(dice, len(t_ns), noise_ns, interval_ns)
    lost = np.zeros(len(t_ns), dtype=bool)
    obstructed = 0
    if kind == "fibre":
        rtt_ns += _at_random_steps(dice, t_ns, _log_uniform(dice, 100, 2000) * S, _log_uniform(dice, 0.2, 5) * MS)
    elif kind == "cellular":
        slow_ns = _log_uniform(dice, 1, 30) * S
        rtt_ns += dice.uniform(1, 10) * MS * np.maximum(_wander(dice, len(t_ns), interval_ns / slow_ns), 0)
        rtt_ns += _at_random_steps(dice, t_ns, _log_uniform(dice, 10, 120) * S, _log_uniform(dice, 1, 10) * MS)
    elif kind == "drift":  # a satellite rises and sets, then another takes over; passes differ in length
        ends_ns = np.cumsum(dice.uniform(100, 220, 60)) * S - dice.uniform(0, 150) * S
        place = np.searchsorted(ends_ns, t_ns)
        begins_ns = np.concatenate([[-150 * S], ends_ns])
        into = (t_ns - begins_ns[place]) / (begins_ns[place + 1] - begins_ns[place])
        rtt_ns += dice.uniform(3, 15) * MS * (2 * into - 1) ** 2 + dice.normal(0, 2 * MS, 62)[place]
    elif kind == "wander":  # steps, spikes and losses occur together, at random times
        rtt_ns += _at_random_steps(dice, t_ns, _log_uniform(dice, 5, 40) * S, _log_uniform(dice, 1, 10) * MS, lost)
    else:
        mean_ns = _log_uniform(dice, 5, 60) * S
        begins_ns = np.cumsum(dice.exponential(mean_ns, int(3 * span_ns / mean_ns) + 10))
        place = np.searchsorted(begins_ns, t_ns, side="right") - 1
        since_ns = t_ns - begins_ns[np.maximum(place, 0)]
        lengths_ns = dice.exponential(_log_uniform(dice, 0.3, 5) * S, len(begins_ns))
        behind = (place >= 0) & (since_ns < lengths_ns[np.maximum(place, 0)])
        lost |= behind
        obstructed = int(behind.sum())
    about = {
        "kind": kind, "period_ns": None, "phase_ns": None, "trap": "none", "obstructed_probes": obstructed,
        "interval_ns": interval_ns, "span_ns": span_ns, "step_ns": 0.0, "noise_ns": noise_ns,
    }  # fmt: skip
    return t_ns, np.asarray(np.where(lost, np.nan, rtt_ns), dtype=np.float64), about


def _at_random_steps(
    dice: np.random.Generator, t_ns: NDArray[np.int64], mean_ns: float, step_ns: float,
    lost: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Return a delay level that changes at random times, the instants of a Poisson process. If `lost` is given, each
    change of the level has a spike and losses."""
    at_ns = np.cumsum(dice.exponential(mean_ns, int(3 * t_ns[-1] / mean_ns) + 10))
    place = np.searchsorted(at_ns, t_ns)
    levels = dice.normal(0, step_ns, len(at_ns) + 1)
    found = levels[place] - levels.min()
    if lost is not None:
        since_ns = t_ns - at_ns[np.maximum(place - 1, 0)]
        found = found + np.where((since_ns >= 0) & (since_ns < dice.uniform(20, 200) * MS), 30.0 * MS, 0.0)
        lost |= (since_ns >= 0) & (since_ns < dice.uniform(0, 200) * MS)
    return np.asarray(found)


def _finished(
    dice: np.random.Generator, t_ns: NDArray[np.int64], rtt_ns: NDArray[np.float64], about: dict[str, Any]
) -> Recording:
    """Add the faults that are independent of reconfigurations: other losses and spikes, and faults of the recorder."""
    count, interval_ns = len(t_ns), int(about["interval_ns"])
    lost = np.isnan(rtt_ns)
    ratio = 0.0 if dice.random() < 0.3 else _log_uniform(dice, 1e-4, 0.2)
    if dice.random() < 0.6:
        lost |= dice.random(count) < ratio
    else:  # losses occur in bursts, with the same mean loss ratio as without bursts
        length = dice.uniform(2, 20)
        bursts = dice.random(count) < ratio / length
        for place in np.flatnonzero(bursts):
            lost[place : place + dice.geometric(1 / length)] = True
    if dice.random() < 0.7:
        rate_hz = _log_uniform(dice, 1e-3, 0.2)
        for place in np.flatnonzero(dice.random(count) < rate_hz * interval_ns / S):
            last = place + max(int(dice.uniform(20, 300) * MS / interval_ns), 1)
            rtt_ns[place:last] += _log_uniform(dice, 5, 80) * MS
    outages = []
    if dice.random() < 0.15:
        for _ in range(dice.integers(1, 4)):
            begin, length_ns = int(dice.integers(0, count)), int(dice.uniform(2, 20) * S)
            lost[begin : begin + length_ns // interval_ns] = True
            outages.append((int(t_ns[begin]), length_ns))
    duplicated = np.zeros(count, dtype=bool)
    if dice.random() < 0.2:
        duplicated = (dice.random(count) < _log_uniform(dice, 1e-4, 1e-2)) & ~lost
    kept = np.ones(count, dtype=bool)
    pauses = []
    if dice.random() < 0.15:
        for _ in range(dice.integers(1, 4)):
            begin, length_ns = int(dice.integers(count // 10, count)), int(dice.uniform(3, 60) * S)
            kept[begin : begin + length_ns // interval_ns] = False
            pauses.append((int(t_ns[begin]), length_ns))
    steps = []
    if dice.random() < 0.1:
        at = int(dice.uniform(0.2, 0.8) * count)
        by_ns = int(dice.choice([-1, 1]) * dice.uniform(0.5, 6) * S)
        steps.append((int(t_ns[at]), by_ns))
        t_ns = t_ns + by_ns * (np.arange(count) >= at)
    resolution_ns = int(dice.choice([1_000, 10_000, 100_000, 1_000_000], p=[0.35, 0.2, 0.3, 0.15]))
    rtt_ns = np.where(lost, np.nan, np.round(np.maximum(rtt_ns, 0) / resolution_ns) * resolution_ns)
    zero_ns = int(t_ns[0])
    phase_ns = about["phase_ns"]
    truth = Truth(
        **{**about, "phase_ns": None if phase_ns is None else phase_ns - zero_ns},
        random_loss_ratio=ratio, clock_steps=tuple(steps), duplicates=int((duplicated & kept).sum()),
        pauses=tuple(pauses), outages=tuple(outages),
    )  # fmt: skip
    # During a pause, sequence numbers do not advance, so the first probe after the pause has the next number.
    sequence = np.arange(int(kept.sum()), dtype=np.int64)
    return Recording(sequence, (t_ns - zero_ns)[kept], rtt_ns[kept], duplicated[kept], truth)
