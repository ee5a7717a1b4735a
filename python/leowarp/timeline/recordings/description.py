# SPDX-License-Identifier: Apache-2.0
"""The description of a measured path in numbers: `describe(measurement)`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skip
from leowarp.timeline.recordings.capacity_description import CapacityDescription, described_capacity, quantiles
from leowarp.timeline.recordings.losses import HANDOVER_NS, Loss, loss_of
from leowarp.timeline.recordings.measurement import ClockStep, Measurement, Series, stretches_of
from leowarp.timeline.recordings.period.finding import Finding, find, set_forward, undone
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.spikes import Spike, find_spikes
from leowarp.timeline.recordings.transfer import TransferDescription, described_transfer

# Probes are 10 ms apart, as in published recordings (ping -i 0.01, irtt -i 10ms), so that results can be compared with
# published results.
PROBE_EVERY_NS = 10_000_000
_MOST_PROBES = 2_000_000

GAP_INTERVALS = 10
"""If no sample arrives for longer than this number of median intervals, the time counts as a gap."""


@dataclass(frozen=True)
class Gap:
    """A time without a sample, or without a connection."""

    t_ns: int
    length_ns: int


@dataclass(frozen=True)
class Slot:
    """The time from one reconfiguration to the next, and the delays in this time.

    t_ns: The time of the reconfiguration with which the slot begins.
    base_ns: The smallest delay in the slot, without the first and the last second of the slot.
    step_ns: `base_ns` minus the `base_ns` of the previous slot.
    spike_ns: The largest delay within 1 s of the slot's beginning, minus the slot's `base_ns`.
    """

    t_ns: int
    base_ns: int
    step_ns: int | None
    spike_ns: int | None


@dataclass(frozen=True)
class Description:
    """The numbers that describe one series of a measurement, and the measured capacity.

    The rows of a table may have different lengths. In this case, delays, spikes, slots and losses are computed as if
    probes were sent every 10 ms. Fields that are also those of a `Measurement` have the meaning that they have there.

    series: The kind of delays: round_trip, down or up. The value is none if only capacity was measured.
    span_ns: The time from the first sample to the last.
    interval_ns: The median time between samples.
    gaps: The times without a sample. Only times of more than ten intervals are listed. For a table, these are the rows
        that report no connection.
    mean_abs_step_ns: The mean absolute difference between the delays of successive samples that arrived.
    schedule: The period and phase of the reconfigurations. None means that no schedule was found.
    schedule_given: Whether the user gave the schedule. If so, no schedule was searched for in the data.
    finding: The confidence in the result (a schedule, or none), and alternatives. None means that the schedule was
        given.
    seconds_of_minute: The seconds within a minute of the wall clock at which reconfigurations happen. None means that
        the wall clock is unknown, or that the period does not divide a minute.
    slots: The slots that lie completely within the measurement and contain samples.
    spikes_at_reconfigurations: The number of spikes within 1 s of a reconfiguration.
    clock_steps: The adjustments of the sender's clock. All times in the description refer to the clock before its first
        adjustment.
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
    finding: Finding | None
    seconds_of_minute: tuple[float, ...] | None
    slots: tuple[Slot, ...]
    spikes: tuple[Spike, ...]
    spikes_at_reconfigurations: int | None
    loss: Loss
    capacity_down: CapacityDescription | None
    capacity_up: CapacityDescription | None
    transfer: TransferDescription | None = None
    duplicates: int | None = None
    clock_steps: tuple[ClockStep, ...] = ()
    transfer_back: TransferDescription | None = None
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def steps_ns(self) -> tuple[int, ...]:
        """The change of the smallest delay from each slot to the next."""
        return tuple(slot.step_ns for slot in self.slots if slot.step_ns is not None)


def describe(
    measurement: Measurement,
    *,
    series: str | None = None,
    schedule: Schedule | None = None,
) -> Description:
    """Return the summary of a measurement.

    measurement: A measurement from a file (`read`) or from arrays (`Measurement.of_round_trips`).
    series: The series to describe: round_trip, down or up. The default is the first of these three series that the
        measurement has.
    schedule: The schedule of reconfigurations, if known. By default, the schedule is searched for in the data.
    Raises ScenarioError if the measurement has no such series, or no samples.
    """
    available = measurement.series
    rates = (measurement.capacity_down, measurement.capacity_up, measurement.transfer)
    capacity_alone = not available and any(rate is not None for rate in rates)
    name = series if series is not None else next(iter(available), "none")
    of = Series.of([], []) if capacity_alone and series is None else available.get(name)
    if of is None or (not len(of) and not capacity_alone):
        has = ", ".join(key for key, value in available.items() if len(value)) or "no samples at all"
        raise ScenarioError(f"{measurement.source}: there are no delays to describe ({name})", f"it has {has}")
    # The rows of a table may cover times of different lengths. A row that covers an hour must have more weight than a
    # row that covers 10 ms.
    met = of if measurement.probes else _as_met(of, measurement.end_ns)
    met, clock_steps = _on_one_clock(measurement, name, met)
    spikes = find_spikes(met)
    # If the user gives a schedule, the search is skipped, even if the data suggest another schedule.
    finding = find(met) if schedule is None and len(met) else None
    found = schedule if finding is None else finding.schedule
    delay_ns, rows_ns = (some.delay_ns[~np.isnan(some.delay_ns)] for some in (met, of))
    at_reconfigurations = None
    if found is not None:
        begins = np.array([spike.t_ns for spike in spikes], dtype=np.int64)
        at_reconfigurations = int((found.distance_ns(begins) <= HANDOVER_NS).sum())
    return Description(
        source=measurement.source,
        format=measurement.format,
        series=name,
        samples=len(of),
        span_ns=int(of.t_ns[-1] - of.t_ns[0]) if len(of) else 0,
        interval_ns=of.interval_ns,
        gaps=gaps_of(of, probes=measurement.probes),
        mean_ns=float(delay_ns.mean()) if len(delay_ns) else None,
        quantiles_ns=quantiles(delay_ns),
        mean_abs_step_ns=float(np.abs(np.diff(rows_ns)).mean()) if len(rows_ns) > 1 else None,
        schedule=found,
        schedule_given=schedule is not None,
        finding=finding,
        seconds_of_minute=_seconds_of_minute(found, measurement.wall_ns),
        slots=() if found is None else _slots(met, found),
        spikes=spikes,
        spikes_at_reconfigurations=at_reconfigurations,
        loss=loss_of(measurement, name, met, found, of),
        capacity_down=described_capacity(measurement.capacity_down),
        capacity_up=described_capacity(measurement.capacity_up),
        transfer=described_transfer(measurement.transfer),
        transfer_back=described_transfer(measurement.transfer_back),
        duplicates=measurement.duplicates,
        clock_steps=clock_steps,
        skipped=measurement.skipped,
        notes=measurement.notes,
    )


def gaps_of(series: Series, *, probes: bool) -> tuple[Gap, ...]:
    """Return the gaps of the recording. A gap is a pause of more than `GAP_INTERVALS` between two probes, or a series
    of rows that a table marks as a gap."""
    if probes:
        begins = np.flatnonzero(np.diff(series.t_ns) > GAP_INTERVALS * (series.interval_ns or 0))
        ends = begins + 1
    else:
        begins, ends = stretches_of(series.cut)
        # If a table ends without a connection, the last gap ends where the last row begins. The length of the last row
        # is unknown.
        ends = np.minimum(ends, len(series) - 1)
    begins_ns, lengths_ns = series.t_ns[begins], series.t_ns[ends] - series.t_ns[begins]
    return tuple(Gap(*gap) for gap in zip(begins_ns.tolist(), lengths_ns.tolist(), strict=True))


def _as_met(rows: Series, end_ns: int | None) -> Series:
    """Return the values of a table as if probes every 10 ms had measured them, so that long rows have more weight."""
    apart_ns = np.diff(rows.t_ns)
    # If all rows have equal length, they already have equal weight. Each row is then used like a probe.
    if len(apart_ns) < 2 or apart_ns.min() == apart_ns.max():
        return rows
    last_ns = int(rows.t_ns[-1]) + 1 if end_ns is None else end_ns
    # A table may cover months, so the number of probes is limited to `_MOST_PROBES`.
    step_ns = max(PROBE_EVERY_NS, (last_ns - int(rows.t_ns[0])) // _MOST_PROBES)
    t_ns = np.arange(int(rows.t_ns[0]), last_ns, step_ns, dtype=np.int64)
    return replace(rows.take(np.searchsorted(rows.t_ns, t_ns, side="right") - 1), t_ns=t_ns)


def _on_one_clock(measurement: Measurement, name: str, series: Series) -> tuple[Series, tuple[ClockStep, ...]]:
    """Return the series as if the sender's clock had never been adjusted, and the adjustments."""
    steps = measurement.clock_steps
    # Sequence numbers show by how much the clock was set back. One-way series have no sequence numbers.
    if name == "round_trip" and measurement.steady_ns is not None:
        series = replace(series, t_ns=measurement.steady_ns)
    forward = set_forward(series) if measurement.probes else ()
    return undone(series, forward), tuple(sorted((*steps, *forward), key=lambda step: step.t_ns))


def _slots(series: Series, schedule: Schedule) -> tuple[Slot, ...]:
    answered = series.take(~np.isnan(series.delay_ns))
    if not len(answered):
        return ()
    t_ns, delay_ns = answered.t_ns, answered.delay_ns
    # The base of a slot is measured away from the slot's ends: the phase of the schedule may be wrong by some 100 ms,
    # and a neighbouring slot must not affect the base.
    margin_ns = min(HANDOVER_NS, schedule.period_ns // 4)
    slots: list[Slot] = []
    # The first and the last slot are usually incomplete. An incomplete slot is used if it has a sample between its two
    # margins.
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
                # After a slot without samples, no step is computed. The path has changed at least twice since the last
                # slot with a base delay.
                base_ns - slots[-1].base_ns if follows else None,
                int(delay_ns[near].max()) - base_ns if known else None,
            )
        )
    return tuple(slots)


def _seconds_of_minute(schedule: Schedule | None, wall_ns: int | None) -> tuple[float, ...] | None:
    if schedule is None or wall_ns is None:
        return None
    per_minute = round(60e9 / schedule.period_ns)
    # Measured periods may be wrong by a few ms, so the tolerance is 0.2 %.
    if not per_minute or abs(60e9 / per_minute / schedule.period_ns - 1) > 2e-3:
        return None
    instants_ns = (wall_ns + schedule.phase_ns + number * round(60e9 / per_minute) for number in range(per_minute))
    return tuple(sorted(t_ns / 1e9 % 60 for t_ns in instants_ns))
