# SPDX-License-Identifier: Apache-2.0
"""A measurement of a path by any tool. It has delays and capacity over time, and losses.

*Down* is the direction from the internet to the user. In a run, it is the direction from A to B. *Up* is the opposite
direction. The times are sending times of probes, in ns since time 0 of the measurement. Time 0 is the first sample, or
the origin of the times in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.base.skips import Skip

Times = NDArray[np.int64]
Delays = NDArray[np.float64]
Flags = NDArray[np.bool_]


def stretches_of(flags: Flags) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index at which each stretch of True begins, and the index after its end.

    >>> stretches_of(np.array([True, False, True, True]))
    (array([0, 2]), array([1, 4]))
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return edges[::2], edges[1::2]


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """The delays of one direction, or of round trips, over time.

    t_ns: int64 array of shape (n,). The sending times, which strictly increase.
    delay_ns: float64 array of shape (n,). The delays in whole ns. The delays are exact because they are below 2**53. A
        delay is nan if the probe was lost or the link was down.
    lost: bool array of shape (n,). Whether the probe sent at `t_ns` was lost.
    cut: bool array of shape (n,). True if there is no connection from this time until the next row (only in tables).
    loss_ratio: float64 array of shape (n,) or None. For each row, the share of packets that are lost from its time
        until the next row (only in tables).
    """

    t_ns: Times
    delay_ns: Delays
    lost: Flags
    cut: Flags
    loss_ratio: Delays | None = None

    @staticmethod
    def of(t_ns: Any, delay_ns: Any) -> Series:
        """Return a series of probes. nan in `delay_ns` means that the probe was lost."""
        t_ns, delay_ns = np.asarray(t_ns, dtype=np.int64), np.asarray(delay_ns, dtype=np.float64)
        if t_ns.shape != delay_ns.shape or t_ns.ndim != 1:
            raise ValueError(f"times of shape {t_ns.shape} and delays of shape {delay_ns.shape}")
        # An error here is a bug in leowarp and not a mistake in a file: the functions that read files sort their
        # samples, or reject the file and name the line.
        if (np.diff(t_ns) <= 0).any():
            raise ValueError("sending times do not increase")
        return Series(t_ns=t_ns, delay_ns=delay_ns, lost=np.isnan(delay_ns), cut=np.zeros(len(t_ns), dtype=bool))

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, chosen: Any) -> Series:
        """Return the samples at these indexes."""
        ratio = None if self.loss_ratio is None else self.loss_ratio[chosen]
        return Series(
            t_ns=self.t_ns[chosen],
            delay_ns=self.delay_ns[chosen],
            lost=self.lost[chosen],
            cut=self.cut[chosen],
            loss_ratio=ratio,
        )

    @property
    def interval_ns(self) -> int | None:
        """The median time between samples. None means that there are fewer than two samples."""
        # The median is used, because gaps would distort a mean, and the irregular spacing of a busy sender would
        # determine the minimum.
        return int(np.median(np.diff(self.t_ns))) if len(self) > 1 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Capacity:
    """The capacity of a direction.

    t_ns: int64 array of shape (n,). The times strictly increase. Each row is valid until the next row.
    rate_bps: int64 array of shape (n,). The bits of IP packets per second. -1 means no rate limit.
    end_ns: The end of the last row.
    opportunities: Whether the rows were computed from a packet trace (Mahimahi). In a packet trace, a row with rate 0
        is either the spacing between two packets or a gap.
    notes: Remarks about the data that the reader of the file left out.
    """

    t_ns: Times
    rate_bps: NDArray[np.int64]
    end_ns: int
    opportunities: bool = False
    notes: tuple[str, ...] = ()


# None cannot be used, because rates are an int64 array; 0 cannot be used, because it is a rate at which nothing is
# sent.
UNSHAPED = -1

PING_BYTES = 84
"""The default IP length of ping's packets (56 bytes of data)."""


@dataclass(frozen=True)
class ClockStep:
    """An adjustment of the sender's clock.

    t_ns: The time of the adjustment, on the measurement's clock.
    by_ns: The amount by which the clock was set forward. If the clock was set back, the amount is negative.
    """

    t_ns: int
    by_ns: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Transfer:
    """The results of a TCP transfer, one value per interval of the tool. nan means that the tool does not report a
    value.

    t_ns, length_ns: int64 arrays of shape (n,). The beginning and length of each interval.
    way: down or up.
    rate_bps: float64 array of shape (n,). The payload in bits per second, summed over the transfer's streams.
    retransmissions: float64 array of shape (n,). The number of retransmitted segments.
    cwnd_bytes, rtt_ns: float64 arrays of shape (n,). The sum of the streams' windows and the mean of their smoothed
        round trips, both at the end of each interval.
    all_retransmissions: The number of retransmitted segments in the whole transfer, as its sender reports at the end.
        In a file that the receiver wrote, this is the only number of retransmissions.
    """

    t_ns: Times
    length_ns: Times
    way: str
    rate_bps: Delays
    retransmissions: Delays
    cwnd_bytes: Delays
    rtt_ns: Delays
    all_retransmissions: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Measurement:
    """A measured path.

    source: The name of the file in messages.
    format: csv, irtt, ping, columns, leoreplayer, iperf3, mahimahi or arrays.
    round_trip, down, up: The measured series of round trips, and of delays in each direction. In a series of round
        trips, `lost` is true if a probe or its reply was lost.
    lost_down, lost_up: Whether each probe is known to be lost in this direction. The arrays have the shape of
        `round_trip`.
    loss_up_ratio: float64 array or None. The loss ratio of the uplink in a table of round trips. The array has the
        shape of `round_trip`. If this array is given, `round_trip.loss_ratio` is the loss ratio of the downlink.
    probe_bytes: The IP length of the probes.
    probes: True means that each sample is a probe, so nothing is known between two samples. False means that the
        samples are rows of a table. Each row is valid until the next row.
    end_ns: The end of a table's last row, if known.
    wall_ns: The wall-clock time at time 0 of the measurement, in ns since 1970 (UTC).
    transfer: iperf3's results. They show the throughput of one flow, and not the capacity of the path.
    duplicates: The number of duplicate replies. None means that the tool does not report it.
    clock_steps: The adjustments of the sender's clock, detected from sequence numbers.
    steady_ns: int64 array or None. The sending times without the backward adjustments of the clock, in the shape of
        `round_trip`. None means that the clock of the series itself was never set back.
    transfer_back: The downlink part, if the transfer runs in both directions. `transfer` is then the uplink part.
    skipped: The parts of the file that could not be read, with counts and reasons.
    longest_step_ns: The longest time between two successive rows of the whole table, if only a part of the table was
        read. None means that this time is computed from the rows.
    notes: The remarks about data that were left out when the file was read: duplicates, and lines that are no samples.
    """

    source: str
    format: str
    round_trip: Series | None = None
    down: Series | None = None
    up: Series | None = None
    lost_down: Flags | None = None
    lost_up: Flags | None = None
    loss_up_ratio: Delays | None = None
    capacity_down: Capacity | None = None
    capacity_up: Capacity | None = None
    probe_bytes: int | None = None
    probes: bool = True
    end_ns: int | None = None
    wall_ns: int | None = None
    transfer: Transfer | None = None
    duplicates: int | None = None
    clock_steps: tuple[ClockStep, ...] = ()
    steady_ns: Times | None = None
    transfer_back: Transfer | None = None
    skipped: tuple[Skip, ...] = ()
    longest_step_ns: int | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def of_round_trips(t_ns: Any, rtt_ns: Any, *, wall_ns: int | None = None, source: str = "arrays") -> Measurement:
        """Return a measurement of round trips from plain arrays.

        t_ns: int64 array of shape (n,). The sending times, which strictly increase.
        rtt_ns: float64 array of shape (n,). nan means lost.
        wall_ns: The wall-clock time at time 0.
        """
        return Measurement(source=source, format="arrays", round_trip=Series.of(t_ns, rtt_ns), wall_ns=wall_ns)

    @staticmethod
    def of_one_way(t_ns: Any, delay_ns: Any, *, wall_ns: int | None = None, source: str = "arrays") -> Measurement:
        """Return a measurement of one-way downlink delays from plain arrays. The parameters are as for
        `of_round_trips`."""
        return Measurement(source=source, format="arrays", down=Series.of(t_ns, delay_ns), wall_ns=wall_ns)

    def as_sent(self) -> Measurement:
        """Return a copy in which each probe has its sending time instead of the arrival time of its reply. ``ping -D``
        prints the time of the reply. The sending time is the time of the reply minus the round trip.

        A computed sending time must be later than all earlier ones. Otherwise, the probe is left out. A few probes may
        be left out for this reason if the clock was read late.
        """
        if self.round_trip is None or self.round_trip.lost.any():
            return self
        sent_ns = self.round_trip.t_ns - np.rint(self.round_trip.delay_ns).astype(np.int64)
        kept = np.append(True, sent_ns[1:] > np.maximum.accumulate(sent_ns)[:-1])
        series = replace(self.round_trip.take(kept), t_ns=sent_ns[kept] - sent_ns[0])
        wall_ns = None if self.wall_ns is None else self.wall_ns + int(sent_ns[0])
        left_out = int((~kept).sum())
        note = f"times taken as those of replies; {left_out} probes out of order left out"
        return replace(self, round_trip=series, wall_ns=wall_ns, notes=(*self.notes, note))

    def with_capacity(self, down: Capacity | None, up: Capacity | None) -> Measurement:
        """Return the measurement with the capacities `down` and `up`. If `down` or `up` is None, the measurement keeps
        its capacity in this direction."""
        notes = tuple(note for one in (down, up) if one is not None for note in one.notes)
        return replace(
            self,
            capacity_down=down or self.capacity_down,
            capacity_up=up or self.capacity_up,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )

    @property
    def series(self) -> dict[str, Series]:
        """The measured series, as a dict. The possible keys are round_trip, down and up."""
        by_name = {"round_trip": self.round_trip, "down": self.down, "up": self.up}
        return {name: series for name, series in by_name.items() if series is not None}
