# SPDX-License-Identifier: Apache-2.0
"""The statistics of lost probes: number, runs, and losses at reconfigurations, behind an obstacle, or in outages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leowarp.timeline.recordings.measurement import Delays, Flags, Measurement, Series, Times, stretches_of
from leowarp.timeline.recordings.period.schedule import Schedule

HANDOVER_NS = 1_000_000_000
"""A loss belongs to a handover if a reconfiguration is at most this far away in time."""

LONG_NS = 1_000_000_000
"""If successive probes are lost for at least this long, the loss is not part of a handover. Published handovers last
from tens to some hundreds of ms."""

_TOGETHER_NS = 500_000_000
_MOSTLY = 0.5
_NEAR_NS = 750_000_000
# Fewer than five long losses are counted as outages (`test_a_few_long_losses_are_outages`).
_FEWEST_OBSTRUCTIONS = 5


@dataclass(frozen=True)
class LongLoss:
    """A time in which most probes were lost.

    t_ns, length_ns: The time of the first lost probe, and the time from the first lost probe to the last.
    """

    t_ns: int
    length_ns: int
    lost: int


@dataclass(frozen=True)
class Loss:
    """The probes that were lost.

    lost_down, lost_up: The number of probes lost on the downlink and on the uplink. None means that the tool does not
        report the direction.
    in_handover: The number of probes lost within 1 s of a reconfiguration. None means that there is no schedule of
        reconfigurations.
    runs: The lengths of the runs of successive lost probes, in chronological order.
    obstructions: The losses of 1 s and more that recur and begin at any time between reconfigurations. They recur as if
        satellites passed behind an obstacle.
    outages: The losses of 1 s and more that are not obstructions.
    over_time_ratio, over_time_up_ratio: The mean loss ratio of a table over the time with a connection. If round trips
        have different loss ratios in the two directions, `over_time_up_ratio` is the ratio of the uplink. None means
        that the measurement has no loss ratios.
    certain: For a table with loss ratios, the times during which every packet is lost. `lost` is then 0.
    """

    sent: int
    lost: int
    lost_down: int | None
    lost_up: int | None
    in_handover: int | None
    sent_in_handover: int | None
    runs: tuple[int, ...]
    obstructions: tuple[LongLoss, ...] = ()
    outages: tuple[LongLoss, ...] = ()
    over_time_ratio: float | None = None
    over_time_up_ratio: float | None = None
    certain: tuple[LongLoss, ...] = ()

    @property
    def ratio(self) -> float | None:
        """The share of all probes that were lost."""
        return self.lost / self.sent if self.sent else None

    @property
    def in_handover_ratio(self) -> float | None:
        """The share of all lost probes that lie within 1 s of a reconfiguration."""
        return None if self.in_handover is None or not self.lost else self.in_handover / self.lost

    @property
    def ratio_within(self) -> float | None:
        """The loss ratio of the probes sent within 1 s of a reconfiguration."""
        if self.in_handover is None or not self.sent_in_handover:
            return None
        return self.in_handover / self.sent_in_handover

    @property
    def ratio_without(self) -> float | None:
        """The loss ratio of the probes sent more than 1 s away from any reconfiguration."""
        if self.in_handover is None or self.sent_in_handover is None or self.sent == self.sent_in_handover:
            return None
        return (self.lost - self.in_handover) / (self.sent - self.sent_in_handover)


def loss_of(measurement: Measurement, name: str, series: Series, schedule: Schedule | None, rows: Series) -> Loss:
    """Return the losses of a series.

    name: The name of the series. Some tools report in which direction a probe was lost, but only for round trips.
    schedule: The schedule of reconfigurations. None means that there is no schedule.
    rows: The table's rows, if the probes in `series` were computed from a table, and otherwise `series`.
    """
    lost = series.lost
    sent = int((~series.cut).sum())
    down = up = within = near_sent = None
    if name == "round_trip" and measurement.lost_down is not None and measurement.lost_up is not None:
        down, up = int(measurement.lost_down.sum()), int(measurement.lost_up.sum())
    if schedule is not None:
        # The distance of a loss from a reconfiguration is computed from the sending time, because a lost probe has no
        # reply.
        near = schedule.distance_ns(series.t_ns) <= HANDOVER_NS
        within, near_sent = int((lost & near).sum()), int((near & ~series.cut).sum())
    begins, ends = stretches_of(lost)
    runs = tuple((ends - begins).tolist())
    obstructions, outages = _by_cause(long_losses(series), schedule)
    of_table = () if rows.loss_ratio is None else _certain(rows, measurement.end_ns)
    up_ratio = measurement.loss_up_ratio if name == "round_trip" else None
    return Loss(
        sent, int(lost.sum()), down, up, within, near_sent, runs, obstructions, outages,
        over_time_ratio(rows, rows.loss_ratio, measurement.end_ns), over_time_ratio(rows, up_ratio, measurement.end_ns),
        of_table,
    )  # fmt: skip


def over_time_ratio(series: Series, loss_ratio: Delays | None, end_ns: int | None) -> float | None:
    """Return the mean loss ratio, weighted by the length of each row. None means that the table has no loss ratios.

    loss_ratio: float64 array, shape as `series`, or None
    end_ns: The end of the last row. If the end is None, the last row is left out.
    """
    if loss_ratio is None:
        return None
    known = ~series.cut & ~np.isnan(loss_ratio)
    # In a row whose probe was lost, the loss ratio is 1.
    share = np.where(series.lost, 1.0, loss_ratio)[known]
    length_ns = _lengths_ns(series, end_ns)[known]
    if not known.any():
        return None
    return float(np.average(share, weights=length_ns)) if length_ns.any() else float(share.mean())


def _lengths_ns(series: Series, end_ns: int | None) -> Times:
    last_ns = int(series.t_ns[-1])
    return np.diff(np.append(series.t_ns, last_ns if end_ns is None else max(end_ns, last_ns)))


def _certain(series: Series, end_ns: int | None) -> tuple[LongLoss, ...]:
    """Return the intervals in which every packet is lost, according to the rows."""
    assert series.loss_ratio is not None
    begins, ends = stretches_of((series.loss_ratio >= 1) & ~series.cut)
    begins_ns, ends_ns = series.t_ns[begins], (series.t_ns + _lengths_ns(series, end_ns))[ends - 1]
    return tuple(
        LongLoss(begin_ns, length_ns, 0)
        for begin_ns, length_ns in zip(begins_ns.tolist(), (ends_ns - begins_ns).tolist(), strict=True)
    )


def long_losses(series: Series) -> tuple[LongLoss, ...]:
    """Return the stretches in which most probes were lost. Each stretch lasts at least 1 s and has at least five
    probes."""
    interval_ns = series.interval_ns
    if interval_ns is None or not series.lost.any():
        return ()
    dense = _mostly_lost(series.lost, max(round(_TOGETHER_NS / interval_ns), 2))
    found = []
    for begin, end in zip(*stretches_of(dense), strict=True):
        places = begin + np.flatnonzero(series.lost[begin:end])
        # A stretch is shortened until it begins and ends with a lost probe. The share of lost probes is therefore
        # computed again.
        if len(places) < max(5, _MOSTLY * (places[-1] - places[0] + 1) if len(places) else 5):
            continue
        length_ns = int(series.t_ns[places[-1]] - series.t_ns[places[0]]) + interval_ns
        if length_ns >= LONG_NS:
            found.append(LongLoss(int(series.t_ns[places[0]]), length_ns, len(places)))
    return tuple(found)


def _mostly_lost(lost: Flags, width: int) -> Flags:
    """For each probe, return whether more than half of the `width` probes around it are lost. Gaps between losses are
    therefore closed if they are shorter than `width`."""
    sums = np.concatenate([[0], np.cumsum(lost)])
    low = np.maximum(np.arange(len(lost)) - width // 2, 0)
    high = np.minimum(low + width, len(lost))
    return np.asarray(sums[high] - sums[low] > _MOSTLY * (high - low))


def _by_cause(
    found: tuple[LongLoss, ...], schedule: Schedule | None
) -> tuple[tuple[LongLoss, ...], tuple[LongLoss, ...]]:
    """Divide long losses into obstructions and outages.

    While a satellite is behind an obstacle, packets are lost for seconds. Such a loss can begin at any time within a
    slot, and similar losses follow in other slots. All other long losses are outages. They are single losses, or losses
    that continue through a reconfiguration. A loss behind an obstacle usually ends by the next reconfiguration, because
    the next satellite is in a different direction.
    """
    if schedule is None:
        return (), found
    # A loss behind an obstacle ends at the next reconfiguration at the latest.
    within = [one for one in found if not _crosses(one, schedule)]
    # An obstacle may hide the satellite at any time of its slot. If all long losses begin at a reconfiguration, there
    # is no obstacle, and the handovers take long.
    between = [one for one in within if schedule.distance_ns(np.array([one.t_ns]))[0] > _NEAR_NS]
    if len(within) < _FEWEST_OBSTRUCTIONS or len(within) < len(found) / 2 or not between:
        return (), found
    return tuple(within), tuple(one for one in found if one not in within)


def _crosses(one: LongLoss, schedule: Schedule) -> bool:
    """Return whether a reconfiguration happens during the loss, but not near its beginning or end."""
    return bool(len(schedule.instants_ns(one.t_ns + _NEAR_NS, one.t_ns + one.length_ns - _NEAR_NS)))
