# SPDX-License-Identifier: Apache-2.0
"""What a measured path looks like, in numbers: `describe(measurement)`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leowarp.errors import ScenarioError
from leowarp.timeline.measured.measurement import UNSHAPED, Capacity, Measurement, Series, Times
from leowarp.timeline.measured.schedule import Schedule, Spike, find_schedule, find_spikes

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)

HANDOVER_NS = 1_000_000_000
"""A loss within this of a reconfiguration is one of the handover."""

PROBE_EVERY_NS = 10_000_000
_MOST_PROBES = 2_000_000

CAPACITY_WINDOW_NS = 100_000_000

GAP_INTERVALS = 10
"""More than so many median intervals without a sample is a gap."""


@dataclass(frozen=True)
class Gap:
    """Time of which nothing is known."""

    t_ns: int
    length_ns: int


@dataclass(frozen=True)
class Slot:
    """The time between two reconfigurations.

    Attributes
    ----------
    t_ns : int
        The reconfiguration at its beginning.
    base_ns : int
        The smallest delay in it, 1 s at either end left out.
    step_ns : int or None
        Against the slot before.
    spike_ns : int or None
        The largest delay within 1 s of its beginning, over `base_ns`.
    """

    t_ns: int
    base_ns: int
    step_ns: int | None
    spike_ns: int | None


@dataclass(frozen=True)
class Loss:
    """Probes that were lost.

    Attributes
    ----------
    sent, lost : int
    lost_down, lost_up : int or None
        Those known to be lost that way; None where the tool does not tell.
    in_handover : int or None
        Lost within 1 s of a reconfiguration; None without reconfigurations.
    sent_in_handover : int or None
    runs : tuple of int
        Lengths of the runs of lost probes, in order of time.
    """

    sent: int
    lost: int
    lost_down: int | None
    lost_up: int | None
    in_handover: int | None
    sent_in_handover: int | None
    runs: tuple[int, ...]

    @property
    def ratio(self) -> float | None:
        """Of all probes."""
        return self.lost / self.sent if self.sent else None

    @property
    def in_handover_ratio(self) -> float | None:
        """Of the lost ones, those within 1 s of a reconfiguration."""
        return None if self.in_handover is None or not self.lost else self.in_handover / self.lost

    @property
    def ratio_within(self) -> float | None:
        """Of the probes within 1 s of a reconfiguration, those lost."""
        if self.in_handover is None or not self.sent_in_handover:
            return None
        return self.in_handover / self.sent_in_handover

    @property
    def ratio_without(self) -> float | None:
        """Of the other probes, those lost."""
        if self.in_handover is None or self.sent_in_handover is None or self.sent == self.sent_in_handover:
            return None
        return (self.lost - self.in_handover) / (self.sent - self.sent_in_handover)


@dataclass(frozen=True)
class CapacityDescription:
    """What a direction could carry; means and quantiles are over time, unshaped time left out.

    Of rows shorter than 100 ms (opportunities of 1 ms, most of them none or many) these are means over 100 ms.

    Attributes
    ----------
    mean_bps : float or None
    quantiles_bps : dict of float to float
    rows : int
        As measured.
    interval_ns : int or None
        The median length of what is described: of a row, or 100 ms.
    zero_ns : int
        Time in which it carried nothing.
    steps_bps : dict of float to float
        Quantiles of the absolute change from a row to the next.
    """

    mean_bps: float | None
    quantiles_bps: dict[float, float]
    rows: int
    interval_ns: int | None
    zero_ns: int
    steps_bps: dict[float, float]


@dataclass(frozen=True)
class Description:
    """What one series of a measurement looks like, and the capacity beside it.

    Of a table whose rows hold for different times, delays, spikes, slots and losses are what probes 10 ms apart would
    meet.

    Attributes
    ----------
    source, format : str
    series : str
        round_trip, down or up: what the delays are of; none: capacity alone was measured.
    samples : int
    span_ns : int
        From the first sample to the last.
    interval_ns : int or None
        The median time between samples.
    gaps : tuple of Gap
        More than ten intervals without a sample; of a table, rows that say that there is no connection.
    mean_ns : float or None
    quantiles_ns : dict of float to float
        Of the delays.
    mean_abs_step_ns : float or None
        Mean absolute difference of two samples one after the other (lost ones between them are left out).
    schedule : Schedule or None
        Period and phase of the reconfigurations; None: there is no such period in it.
    schedule_given : bool
        The schedule was given, not found.
    seconds_of_minute : tuple of float or None
        Where the reconfigurations stand on the wall clock, if it is known and the period divides a minute.
    slots : tuple of Slot
        Whole ones, and with samples.
    spikes : tuple of Spike
    spikes_at_reconfigurations : int or None
        Those within 1 s of one.
    loss : Loss
    capacity_down, capacity_up : CapacityDescription or None
    """

    source: str
    format: str
    series: str
    samples: int
    span_ns: int
    interval_ns: int | None
    gaps: tuple[Gap, ...]
    mean_ns: float | None
    quantiles_ns: dict[float, float]
    mean_abs_step_ns: float | None
    schedule: Schedule | None
    schedule_given: bool
    seconds_of_minute: tuple[float, ...] | None
    slots: tuple[Slot, ...]
    spikes: tuple[Spike, ...]
    spikes_at_reconfigurations: int | None
    loss: Loss
    capacity_down: CapacityDescription | None
    capacity_up: CapacityDescription | None

    @property
    def steps_ns(self) -> tuple[int, ...]:
        """Changes of the smallest delay, from each slot to the next."""
        return tuple(slot.step_ns for slot in self.slots if slot.step_ns is not None)


def describe(
    measurement: Measurement,
    *,
    series: str | None = None,
    schedule: Schedule | None = None,
) -> Description:
    """What a measurement looks like.

    Parameters
    ----------
    measurement : Measurement
        From a file (`read`) or from arrays (`Measurement.of_round_trips`).
    series : str, optional
        Which of its series: round_trip, down or up; the first that it has if not given.
    schedule : Schedule, optional
        When the path is reconfigured, if that is known; found from the data if not given.

    Raises
    ------
    ScenarioError
        If the measurement has no such series, or no samples.
    """
    available = measurement.series
    capacity_alone = not available and (measurement.capacity_down or measurement.capacity_up) is not None
    name = series if series is not None else next(iter(available), "none")
    chosen = Series.of([], []) if capacity_alone and series is None else available.get(name)
    if chosen is None or (not len(chosen) and not capacity_alone):
        has = ", ".join(key for key, value in available.items() if len(value)) or "no samples at all"
        raise ScenarioError(f"{measurement.source}: there are no delays to describe ({name})", f"it has {has}")
    met = chosen if measurement.probes else _as_met(chosen, measurement.end_ns)
    spikes = find_spikes(met)
    known_schedule = schedule if schedule is not None else find_schedule(met, spikes)
    delay_ns, rows_ns = (some.delay_ns[~np.isnan(some.delay_ns)] for some in (met, chosen))
    at_reconfigurations = None
    if known_schedule is not None:
        begins = np.array([spike.t_ns for spike in spikes], dtype=np.int64)
        at_reconfigurations = int((known_schedule.distance_ns(begins) <= HANDOVER_NS).sum())
    return Description(
        source=measurement.source,
        format=measurement.format,
        series=name,
        samples=len(chosen),
        span_ns=int(chosen.t_ns[-1] - chosen.t_ns[0]) if len(chosen) else 0,
        interval_ns=chosen.interval_ns,
        gaps=gaps_of(chosen, probes=measurement.probes),
        mean_ns=float(delay_ns.mean()) if len(delay_ns) else None,
        quantiles_ns=_quantiles(delay_ns),
        mean_abs_step_ns=float(np.abs(np.diff(rows_ns)).mean()) if len(rows_ns) > 1 else None,
        schedule=known_schedule,
        schedule_given=schedule is not None,
        seconds_of_minute=_seconds_of_minute(known_schedule, measurement.wall_ns),
        slots=() if known_schedule is None else _slots(met, known_schedule),
        spikes=spikes,
        spikes_at_reconfigurations=at_reconfigurations,
        loss=_loss(measurement, name, met, known_schedule),
        capacity_down=_capacity(measurement.capacity_down),
        capacity_up=_capacity(measurement.capacity_up),
    )


def gaps_of(series: Series, *, probes: bool, after_ns: int | None = None) -> tuple[Gap, ...]:
    """Gaps between the samples of probes (longer than `after_ns`), or what a table says is one."""
    if not probes:
        ends = np.append(series.t_ns[1:], series.t_ns[-1:])
        begins = np.flatnonzero(series.cut & ~np.concatenate([[False], series.cut[:-1]]))
        gaps = []
        for begin in begins:
            open_again = np.flatnonzero(~series.cut[begin:])
            end_ns = series.t_ns[begin + open_again[0]] if len(open_again) else ends[-1]
            gaps.append(Gap(int(series.t_ns[begin]), int(end_ns - series.t_ns[begin])))
        return tuple(gaps)
    interval_ns = series.interval_ns
    if interval_ns is None:
        return ()
    apart_ns = np.diff(series.t_ns)
    limit_ns = GAP_INTERVALS * interval_ns if after_ns is None else after_ns
    places = np.flatnonzero(apart_ns > limit_ns)
    return tuple(Gap(int(series.t_ns[place]), int(apart_ns[place])) for place in places)


def _as_met(rows: Series, end_ns: int | None) -> Series:
    """What probes 10 ms apart meet of a table whose rows do not all hold for the same time."""
    apart_ns = np.diff(rows.t_ns)
    if len(apart_ns) < 2 or apart_ns.min() == apart_ns.max():
        return rows
    last_ns = int(rows.t_ns[-1]) + 1 if end_ns is None else end_ns
    step_ns = max(PROBE_EVERY_NS, (last_ns - int(rows.t_ns[0])) // _MOST_PROBES)
    t_ns = np.arange(int(rows.t_ns[0]), last_ns, step_ns, dtype=np.int64)
    return replace(rows.take(np.searchsorted(rows.t_ns, t_ns, side="right") - 1), t_ns=t_ns)


def _slots(series: Series, schedule: Schedule) -> tuple[Slot, ...]:
    answered = series.take(~np.isnan(series.delay_ns))
    if not len(answered):
        return ()
    t_ns, delay_ns = answered.t_ns, answered.delay_ns
    margin_ns = min(HANDOVER_NS, schedule.period_ns // 4)
    slots: list[Slot] = []
    # The first and the last slot are mostly cut off: still slots, as long as there is a sample between the margins.
    begin_ns = int(t_ns[0]) - schedule.period_ns + 1
    for instant in schedule.instants_ns(begin_ns, int(t_ns[-1]) + 1):
        low, high = np.searchsorted(t_ns, [instant + margin_ns, instant + schedule.period_ns - margin_ns])
        if low == high:
            continue
        base_ns = int(delay_ns[low:high].min())
        near = slice(*np.searchsorted(t_ns, [instant - HANDOVER_NS, instant + HANDOVER_NS + 1]))
        known = instant >= t_ns[0] and near.stop > near.start
        follows = bool(slots) and slots[-1].t_ns == instant - schedule.period_ns
        slots.append(
            Slot(
                int(instant),
                base_ns,
                base_ns - slots[-1].base_ns if follows else None,
                int(delay_ns[near].max()) - base_ns if known else None,
            )
        )
    return tuple(slots)


def _loss(measurement: Measurement, name: str, series: Series, schedule: Schedule | None) -> Loss:
    lost = series.lost
    sent = int((~series.cut).sum())
    down = up = within = near_sent = None
    if name == "round_trip" and measurement.lost_down is not None and measurement.lost_up is not None:
        down, up = int(measurement.lost_down.sum()), int(measurement.lost_up.sum())
    if schedule is not None:
        near = schedule.distance_ns(series.t_ns) <= HANDOVER_NS
        within, near_sent = int((lost & near).sum()), int((near & ~series.cut).sum())
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(np.int8), [0]])))
    runs = tuple(int(length) for length in edges[1::2] - edges[::2])
    return Loss(sent, int(lost.sum()), down, up, within, near_sent, runs)


def _seconds_of_minute(schedule: Schedule | None, wall_ns: int | None) -> tuple[float, ...] | None:
    if schedule is None or wall_ns is None:
        return None
    per_minute = round(60e9 / schedule.period_ns)
    # Half a second in an hour: a period that is a few ms off is still found as one of a part of a minute.
    if not per_minute or abs(60e9 / per_minute / schedule.period_ns - 1) > 2e-3:
        return None
    seconds = sorted(
        ((wall_ns + schedule.phase_ns + number * round(60e9 / per_minute)) / 1e9) % 60 for number in range(per_minute)
    )
    return tuple(seconds)


def _capacity(capacity: Capacity | None) -> CapacityDescription | None:
    if capacity is None:
        return None
    rows = len(capacity.t_ns)
    length_ns = np.diff(np.append(capacity.t_ns, max(capacity.end_ns, int(capacity.t_ns[-1]))))
    zero_ns = int(length_ns[capacity.rate_bps == 0].sum())
    if rows > 1 and np.median(length_ns[:-1]) < CAPACITY_WINDOW_NS and (capacity.rate_bps != UNSHAPED).all():
        capacity = _means(capacity, length_ns)
        length_ns = np.diff(np.append(capacity.t_ns, capacity.end_ns))
    if not length_ns.any():
        length_ns = np.ones_like(length_ns)  # one rate, for as long as you like
    shaped = capacity.rate_bps != UNSHAPED
    rate_bps, weight = capacity.rate_bps[shaped].astype(np.float64), length_ns[shaped].astype(np.float64)
    both = shaped[1:] & shaped[:-1]
    steps_bps = np.abs(np.diff(capacity.rate_bps))[both].astype(np.float64)
    return CapacityDescription(
        mean_bps=float(np.average(rate_bps, weights=weight)) if weight.sum() else None,
        quantiles_bps=_weighted_quantiles(rate_bps, weight),
        rows=rows,
        interval_ns=int(np.median(length_ns[:-1])) if len(length_ns) > 1 else None,
        zero_ns=zero_ns,
        steps_bps=_quantiles(steps_bps),
    )


def _means(capacity: Capacity, length_ns: Times) -> Capacity:
    """Means over `CAPACITY_WINDOW_NS`, from what was carried up to each border; the last window may be shorter."""
    begin_ns, end_ns = int(capacity.t_ns[0]), int(capacity.t_ns[-1] + length_ns[-1])
    borders_ns = np.append(np.arange(begin_ns, end_ns, CAPACITY_WINDOW_NS), end_ns)
    carried = np.concatenate([[0.0], np.cumsum(capacity.rate_bps * (length_ns / 1e9))])
    upto = np.interp(borders_ns, np.append(capacity.t_ns, end_ns), carried)
    rate_bps = np.round(np.diff(upto) / (np.diff(borders_ns) / 1e9)).astype(np.int64)
    return Capacity(t_ns=borders_ns[:-1], rate_bps=rate_bps, end_ns=end_ns)


def _quantiles(values: NDArray[np.float64]) -> dict[float, float]:
    return dict(zip(QUANTILES, np.quantile(values, QUANTILES).tolist(), strict=True)) if len(values) else {}


def _weighted_quantiles(values: NDArray[np.float64], weight: NDArray[np.float64]) -> dict[float, float]:
    if not weight.sum():
        return {}
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    places = np.minimum(np.searchsorted(reached, np.array(QUANTILES) - 1e-12), len(values) - 1)
    return dict(zip(QUANTILES, values[order][places].tolist(), strict=True))
