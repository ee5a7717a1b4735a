# SPDX-License-Identifier: Apache-2.0
"""Converts a measurement to rows of delay and loss for both directions of a link. The scenario keys are in
``[measured]``.

First, round trips are divided, lost probes are assigned to a direction, the trace is repeated, and gaps are treated, in
this order. After these steps, the rows are resampled and interpolated. The rows of the return direction are also
shifted by the forward delay. No step adds values to the measurement, unless a key requests it.

The forward part of a round trip is placed at t, the sending time of the probe. The return part is placed at t plus the
forward delay. A ping in the guest therefore gets the delay of one measured round trip, and not a mixture of two.

Both parts are placed exactly if no reply overtook another. Without overtaking, t + rtt never decreases, so t + rtt/2,
the mean of t and t + rtt, strictly increases. Therefore, no probe waits at the far end for an earlier probe. If replies
overtook each other, a FIFO link cannot deliver them in the recorded order. Each reply then arrives at its recorded
time, or together with the previous reply if that arrives later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.scenario.schema import Measured
from leowarp.timeline.recordings.description import GAP_INTERVALS
from leowarp.timeline.recordings.measurement import Delays, Flags, Measurement, Series, Times
from leowarp.timeline.recordings.repetition import MOST_ROWS, repeated


@dataclass(frozen=True, eq=False)
class Rows:
    """The delay and loss of a direction. Row i is valid from `t_ns[i]` until the next row. The last row has no end.

    t_ns: int64 array of shape (n,). The times strictly increase.
    delay_ns: int64 array of shape (n,)
    loss_ratio: float64 array of shape (n,). 1 means that every packet is lost.
    """

    t_ns: Times
    delay_ns: NDArray[np.int64]
    loss_ratio: Delays


@dataclass(frozen=True, eq=False)
class _Way:
    """The delays of one direction over time. A delay is nan where it is unknown."""

    source: str
    t_ns: Times
    delay_ns: Delays
    loss_ratio: Delays
    cut: Flags
    probes: bool
    period_ns: int
    """The time after which a repeated trace starts again."""
    interval_ns: int | None = None
    """The median time between the direction's probes. Each probe is valid for the time around its sending time. None
    means that the values come from a table. Each row of a table is valid from its time on."""


def channel_rows(
    measurement: Measurement, keys: Measured, begin_ns: int, end_ns: int, *, down_first: bool
) -> tuple[Rows, Rows]:
    """Return the rows of downlink and uplink for the stretch [begin, end) on the measurement's clock.

    down_first: Whether the probes of round trips travel over the downlink first. irtt's probes travel over the uplink
        first.
    Raises ScenarioError if the stretch contains a gap and the keys make gaps an error, if a direction has no data, or
        if clocks disagree.
    """
    down, up = (_treated(way, keys, begin_ns, end_ns) for way in _ways(measurement, keys))
    # The time of a one-way delay is the time at which the packet enters the direction. It therefore needs no shift.
    if measurement.round_trip is None:
        return _rows(down), _rows(up)
    if down_first and keys.rtt != "one-way":
        return _rows(down), _rows(up, forward=down)
    return _rows(down, forward=up), _rows(up)


def _ways(measurement: Measurement, keys: Measured) -> tuple[_Way, _Way]:
    trips = measurement.round_trip
    if trips is None:
        down = measurement.down
        if down is None or not len(down):
            raise ScenarioError(f"{measurement.source}: it holds no delays", "measured.file is a file of delays")
        up = measurement.up if measurement.up is not None else down
        return _one_way("down", measurement, down, keys), _one_way("up", measurement, up, keys)
    trips = replace(trips, delay_ns=_filled(measurement.source, trips.t_ns, trips.delay_ns))
    loss_up_ratio = trips.loss_ratio if measurement.loss_up_ratio is None else measurement.loss_up_ratio
    unknown = trips.lost & ~_or_none(measurement.lost_down, trips) & ~_or_none(measurement.lost_up, trips)
    ways = []
    for name, lost, loss_ratio in (
        ("down", measurement.lost_down, trips.loss_ratio),
        ("up", measurement.lost_up, loss_up_ratio),
    ):
        # With `lost_probes = "none"`, all losses are ignored. The other values apply only to losses of unknown
        # direction. For instance, a probe that irtt marks `true_up` was lost in the uplink, whichever of these values
        # the key has.
        blamed = unknown if keys.lost_probes in (name, "both") else np.zeros_like(unknown)
        lost_here = _or_none(lost, trips) | blamed if keys.lost_probes != "none" else np.zeros_like(unknown)
        series = replace(trips, delay_ns=_share(measurement, trips, name, keys), lost=lost_here, loss_ratio=loss_ratio)
        ways.append(_way(measurement, series))
    return ways[0], ways[1]


def _share(measurement: Measurement, trips: Series, name: str, keys: Measured) -> Delays:
    if keys.rtt == "one-way":
        return _measured_one_way(measurement, trips, name)
    if keys.rtt == "halves":
        # If a round trip has an odd number of ns, the two halves still add up to this number.
        return np.floor(trips.delay_ns / 2) if name == "down" else np.ceil(trips.delay_ns / 2)
    return trips.delay_ns if keys.rtt == name else trips.delay_ns * 0.0


def _measured_one_way(measurement: Measurement, trips: Series, name: str) -> Delays:
    # A negative delay is an error, because the two clocks disagree.
    series = measurement.down if name == "down" else measurement.up
    if series is None:
        raise ScenarioError(
            f'{measurement.source}: rtt = "one-way", and it holds no one-way delays',
            'write rtt = "halves", or measure with irtt and a server that stamps its clock',
        )
    if (series.delay_ns < 0).any():
        first = int(np.flatnonzero(series.delay_ns < 0)[0])
        raise ScenarioError(
            f"{measurement.source}: the delay of the way {name} at {series.t_ns[first] / 1e9:g} s is "
            f"{series.delay_ns[first] / 1e6:g} ms: the two clocks disagree",
            'write rtt = "halves"',
        )
    delay_ns = np.full(len(trips), np.nan)
    delay_ns[np.searchsorted(trips.t_ns, series.t_ns)] = series.delay_ns
    enters_ns = trips.t_ns
    if name == "down":
        # irtt's probes enter the downlink when they leave the uplink.
        enters_ns = enters_ns + _measured_one_way(measurement, trips, "up").astype(np.int64)
    return _filled(f"{measurement.source}: the way {name}", enters_ns, delay_ns)


def _one_way(name: str, measurement: Measurement, series: Series, keys: Measured) -> _Way:
    # In a one-way measurement, a lost probe was lost in the measured direction.
    lost = series.lost if keys.lost_probes != "none" else np.zeros_like(series.lost)
    delay_ns = _filled(f"{measurement.source}: the way {name}", series.t_ns, series.delay_ns)
    return _way(measurement, replace(series, lost=lost, delay_ns=delay_ns))


def _way(measurement: Measurement, series: Series) -> _Way:
    ratio = np.zeros(len(series)) if series.loss_ratio is None else np.nan_to_num(series.loss_ratio)
    ratio = np.where(series.lost | series.cut, 1.0, ratio)
    if measurement.end_ns is not None:
        period_ns = measurement.end_ns
    else:
        # The last probe's values are valid for one interval between probes. If the trace ended at its last sample, a
        # repetition would begin at the same time as this sample.
        period_ns = int(series.t_ns[-1]) + (series.interval_ns or 1)
    return _Way(
        source=measurement.source,
        t_ns=series.t_ns,
        delay_ns=series.delay_ns,
        loss_ratio=ratio,
        cut=series.cut,
        probes=measurement.probes,
        period_ns=period_ns,
    )


def _treated(way: _Way, keys: Measured, begin_ns: int, end_ns: int) -> _Way:
    """Repeat, treat gaps, resample and interpolate, as the keys request. Times remain the probes' sending times."""
    if keys.repeat:
        t_ns, place = repeated(way.t_ns, way.period_ns, end_ns)
        way = replace(
            way, t_ns=t_ns, delay_ns=way.delay_ns[place], loss_ratio=way.loss_ratio[place], cut=way.cut[place]
        )
    interval_ns = int(np.median(np.diff(way.t_ns))) if len(way.t_ns) > 1 else None
    # In a table, a row holds until the next row, so only rows that are marked as a gap are gaps.
    gaps = _gaps(way, keys, interval_ns, begin_ns, end_ns) if way.probes else np.empty(0, dtype=np.int64)
    straight = np.full(len(way.t_ns), keys.interpolation == "linear")
    # Across a gap, the key `gaps` decides whether delays are interpolated; this overrides the key `interpolation`.
    straight[gaps] = keys.gaps == "linear"
    if keys.gaps == "down" and len(gaps) and interval_ns is not None:
        way, straight = _with_cuts(way, straight, gaps, interval_ns)
    if keys.resample_ns is not None:
        way = _resampled(way, keys.resample_ns, keys.resample_rule, end_ns)
        straight = np.full(len(way.t_ns), keys.interpolation == "linear")
    if straight.any():
        way = _with_lines(way, straight, keys.interpolation_step_ns)
    return replace(way, interval_ns=interval_ns if way.probes and keys.resample_ns is None else None)


def _rows(way: _Way, forward: _Way | None = None) -> Rows:
    """Return the direction as rows. Probes travel through `forward` before they enter `way`. None means that probes
    enter `way` when they are sent."""
    enters_ns, delay_ns, loss_ratio = way.t_ns, np.round(way.delay_ns).astype(np.int64), way.loss_ratio
    if forward is not None:
        before = np.maximum(np.searchsorted(forward.t_ns, way.t_ns, side="right") - 1, 0)
        enters_ns = way.t_ns + np.round(forward.delay_ns[before]).astype(np.int64)
        # The probes are sorted by `enters_ns`, the time at which they enter this direction. If several probes enter at
        # the same instant, only the probe that was sent first is used. On a FIFO link, all other probes wait for this
        # probe.
        enters_ns, place = np.unique(enters_ns, return_index=True)
        delay_ns, loss_ratio = delay_ns[place], loss_ratio[place]
    begins_ns = enters_ns.copy()
    if way.interval_ns is not None:
        # Each row begins half-way between its probe and the previous probe, because sending times are inexact. For
        # example, iputils prints a round trip of 10 ms or more only to 0.1 ms. Suppose that rows began at the sending
        # times. A ping at the same times as the recording would then get some delays twice, and other delays never.
        begins_ns -= np.minimum(np.diff(enters_ns, prepend=enters_ns[0]) // 2, way.interval_ns // 2)
    # A packet that enters the return direction before the first reply gets the first reply's values.
    begins_ns[0] = way.t_ns[0]
    # A row is left out if its values equal those of the previous row: a repeated trace has up to 50 million rows, and
    # each takes 24 bytes in the guest's kernel.
    changed = np.diff(delay_ns, prepend=-1) != 0
    changed |= np.diff(loss_ratio, prepend=-1) != 0
    return Rows(begins_ns[changed], delay_ns[changed], loss_ratio[changed])


def _gaps(way: _Way, keys: Measured, interval_ns: int | None, begin_ns: int, end_ns: int) -> NDArray[np.int64]:
    """Return the indexes of samples that are followed by a gap. The last sample is included if the run continues for
    long after it. Raises an error if there is a gap within the run and the key `gaps` is "error"."""
    limit_ns = keys.gap_after_ns
    if limit_ns is None:
        if interval_ns is None:
            return np.empty(0, dtype=np.int64)
        limit_ns = GAP_INTERVALS * interval_ns
    # If the run continues after the last sample, the time from this sample to the end is checked for a gap as well.
    until_ns = np.append(way.t_ns[1:], max(end_ns, int(way.t_ns[-1])))
    gaps = np.flatnonzero(until_ns - way.t_ns > limit_ns)
    if keys.gaps != "error":
        return gaps
    # A gap is no error if the run does not use this part of the recording.
    in_run = gaps[(until_ns[gaps] > begin_ns) & (way.t_ns[gaps] < end_ns)]
    if len(in_run):
        first = int(in_run[0])
        length_s = (int(until_ns[first]) - int(way.t_ns[first])) / 1e9
        more = f", the first of {len(in_run)} gaps" if len(in_run) > 1 else ""
        after = "the run goes on for" if first == len(way.t_ns) - 1 else "the next is"
        raise ScenarioError(
            f"{way.source}: a sample at {way.t_ns[first] / 1e9:g} s, and {after} {length_s:g} s"
            f"{' later' if after.startswith('the next') else ' after it'}{more} (longer than {limit_ns / 1e9:g} s)",
            'write measured.gaps = "hold", "down" or "linear", a longer measured.gap_after, or choose another stretch '
            "with run.start and run.duration",
        )
    return gaps


def _filled(source: str, enters_ns: Times, delay_ns: Delays) -> Delays:
    """Replace each unknown delay (nan) by the previous known delay. If a packet with this delay would arrive after the
    next packet whose delay is known, the delay is reduced."""
    # On a FIFO link, a packet may follow a lost packet. It then waits until the lost packet would have arrived.
    known = np.flatnonzero(~np.isnan(delay_ns))
    if not len(known):
        raise ScenarioError(f"{source}: no delay is known: every probe was lost", "measure again")
    every = np.arange(len(delay_ns))
    before = known[np.maximum(np.searchsorted(known, every, side="right") - 1, 0)]
    after = known[np.minimum(np.searchsorted(known, every), len(known) - 1)]
    # The packet arrives 1 ns before the next packet. If both arrived at the same instant, they would be one row of the
    # return direction.
    in_time_ns = np.where(after > every, enters_ns[after] + delay_ns[after] - 1 - enters_ns, np.inf)
    return np.asarray(np.minimum(delay_ns[before], np.maximum(in_time_ns, 0)), dtype=np.float64)


def _with_cuts(way: _Way, straight: Flags, gaps: NDArray[np.int64], interval_ns: int) -> tuple[_Way, Flags]:
    """Insert a row at the beginning of each gap: one interval after the last sample before the gap. From the time of
    this row until the next row, every packet is lost."""
    # The sample before the gap remains valid for one more interval, because the first missing probe would have been
    # sent at the end of this interval.
    at = gaps + 1
    return (
        replace(
            way,
            t_ns=np.insert(way.t_ns, at, way.t_ns[gaps] + interval_ns),
            delay_ns=np.insert(way.delay_ns, at, way.delay_ns[gaps]),
            loss_ratio=np.insert(way.loss_ratio, at, 1.0),
            cut=np.insert(way.cut, at, True),
        ),
        np.insert(straight, at, False),
    )


def _resampled(way: _Way, width_ns: int, rule: str, end_ns: int) -> _Way:
    """Return rows at multiples of `width_ns`. Each new row is a mean in which all probes have equal weight. If the rows
    come from a table, the weight of each row is its length."""
    t_ns, place = way.t_ns, np.arange(len(way.t_ns))
    if way.probes:
        weight = np.ones(len(t_ns))
    else:
        last_ns = max(end_ns, int(t_ns[-1]) + 1)
        # If a table's row crosses the border of two new rows, it is divided between them.
        edges = np.arange(int(t_ns[0]) // width_ns + 1, -(-last_ns // width_ns), dtype=np.int64) * width_ns
        t_ns = np.union1d(t_ns, edges)
        place = np.searchsorted(way.t_ns, t_ns, side="right") - 1
        weight = np.diff(np.append(t_ns, last_ns)).astype(np.float64)
    bins, begins = np.unique(t_ns // width_ns, return_index=True)
    delay_ns, loss, cut = way.delay_ns[place], way.loss_ratio[place], way.cut[place]
    # A lost probe has no delay. A lost probe therefore only contributes to the loss ratio of its row, unless the row
    # has no other probe.
    of_delay = np.where(loss < 1, weight, 0.0)
    sums = np.add.reduceat(of_delay, begins)
    mean_ns = np.add.reduceat(of_delay * delay_ns, begins) / np.where(sums > 0, sums, 1)
    least_ns = np.minimum.reduceat(np.where(of_delay > 0, delay_ns, np.inf), begins)
    delays = np.where(sums > 0, mean_ns if rule == "mean" else least_ns, delay_ns[begins])
    return replace(
        way,
        t_ns=np.maximum(bins * width_ns, t_ns[0]),
        delay_ns=np.round(delays).astype(np.float64),
        loss_ratio=np.minimum(np.add.reduceat(weight * loss, begins) / np.add.reduceat(weight, begins), 1.0),
        cut=np.logical_and.reduceat(cut, begins),
    )


def _with_lines(way: _Way, straight: Flags, step_ns: int) -> _Way:
    """Insert rows every `step_ns` after each sample where `straight` is true. Their delays lie on a straight line to
    the next sample. After a lost sample, the delay stays constant until the next sample. The same is true after a
    sample at which the connection ends."""
    length_ns = np.diff(way.t_ns)
    # The delay of a lost probe was not measured, so no line starts or ends there.
    drawn = straight[:-1] & (way.loss_ratio[:-1] < 1) & (way.loss_ratio[1:] < 1)
    pieces = np.append(np.where(drawn, -(-length_ns // step_ns), 1), 1)
    if pieces.sum() > MOST_ROWS:
        raise ScenarioError(
            f"{way.source}: {pieces.sum()} rows of {step_ns / 1e6:g} ms are too many for a guest",
            'write a longer measured.interpolation_step, for instance "10 ms"',
        )
    place = np.repeat(np.arange(len(way.t_ns)), pieces)
    number = np.arange(len(place)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    t_ns = way.t_ns[place] + number * step_ns
    on_line_ns = np.round(np.interp(t_ns, way.t_ns, way.delay_ns)).astype(np.float64)
    delay_ns = np.where(np.append(drawn, False)[place], on_line_ns, way.delay_ns[place])
    return replace(way, t_ns=t_ns, delay_ns=delay_ns, loss_ratio=way.loss_ratio[place], cut=way.cut[place])


def _or_none(flags: Flags | None, like: Series) -> Flags:
    return np.zeros(len(like), dtype=bool) if flags is None else flags
