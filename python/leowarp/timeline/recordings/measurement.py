# SPDX-License-Identifier: Apache-2.0
"""A measurement of a path, whatever tool made it: delays over time, losses, capacity over time.

*Down* is from the internet to the user, in a run from A to B; *up* is the direction back. Times are those at which a
probe was
sent, in ns since the measurement's zero (its first sample, or what its file counts from).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.base.skips import Skip

Times = NDArray[np.int64]
Delays = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """Delays over time: of one direction, or of round trips.

    t_ns: int64 array of shape (n,). Sending times, strictly increasing.
    delay_ns: float64 array of shape (n,). Whole ns (exact: below 2**53); nan where there is none, because the probe was
        lost or the link was away.
    lost: bool array of shape (n,). The probe that was sent then was lost.
    cut: bool array of shape (n,). There is no connection from then until the next row (a table can say so, a probe
        cannot).
    loss_ratio: float64 array of shape (n,) or None. Share of packets lost from then on (a table can say so).
    """

    t_ns: Times
    delay_ns: Delays
    lost: Flags
    cut: Flags
    loss_ratio: Delays | None = None

    @staticmethod
    def of(t_ns: Any, delay_ns: Any) -> Series:
        """Probes: nan in `delay_ns` is a lost one."""
        t_ns, delay_ns = np.asarray(t_ns, dtype=np.int64), np.asarray(delay_ns, dtype=np.float64)
        if t_ns.shape != delay_ns.shape or t_ns.ndim != 1:
            raise ValueError(f"times of shape {t_ns.shape} and delays of shape {delay_ns.shape}")
        # A fault of a reader, not of a file: readers have put their samples in order, or refused the file with its
        # line.
        if (np.diff(t_ns) <= 0).any():
            raise ValueError("sending times do not increase")
        return Series(t_ns=t_ns, delay_ns=delay_ns, lost=np.isnan(delay_ns), cut=np.zeros(len(t_ns), dtype=bool))

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, chosen: Any) -> Series:
        """The samples at these places."""
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
        """The median time between samples; None of fewer than two."""
        # The median: gaps would pull a mean, and the least is what a busy sender's probes happened to be apart.
        return int(np.median(np.diff(self.t_ns))) if len(self) > 1 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Capacity:
    """Capacity of a direction.

    t_ns: int64 array of shape (n,). Strictly increasing; each row holds until the next.
    rate_bps: int64 array of shape (n,). Bits of IP packets per second; -1: unshaped.
    end_ns: Where the last row ends.
    opportunities: Rows are of a trace of packets (Mahimahi): a row without any is the spacing between two, or a gap.
    notes: What the reader met and left out.
    """

    t_ns: Times
    rate_bps: NDArray[np.int64]
    end_ns: int
    opportunities: bool = False
    notes: tuple[str, ...] = ()


# Not None: rates are an array of int64, and 0 is a rate of its own, at which nothing is sent.
UNSHAPED = -1

PING_BYTES = 84
"""IP length of what ping sends unless an option says otherwise (56 bytes of data)."""


@dataclass(frozen=True)
class ClockStep:
    """The sender's clock was set.

    t_ns: When, on the measurement's clock.
    by_ns: By how much it was set forward; below 0: back.
    """

    t_ns: int
    by_ns: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Transfer:
    """Results of a transfer by TCP, interval by interval; nan where the tool has none.

    t_ns, length_ns: int64 arrays of shape (n,). Beginning and length of each interval.
    way: down or up.
    rate_bps: float64 array of shape (n,). Bits of payload per second, of all its streams together.
    retransmissions: float64 array of shape (n,). Segments.
    cwnd_bytes, rtt_ns: float64 arrays of shape (n,). At the end of each interval, of the streams' sum and mean; the
        round trip is TCP's smoothed one.
    all_retransmissions: Segments over the whole transfer, as its sender says at the end: the receiver's file has no
        others.
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

    source: The file, as messages name it.
    format: csv, irtt, ping, columns, leoreplayer, iperf3, mahimahi or arrays.
    round_trip, down, up: What was measured. A round trip's `lost` are probes that were lost either way.
    lost_down, lost_up: Of lost round trips, those of which it is known which way they were lost; shapes as
        `round_trip`.
    loss_up_ratio: float64 array or None. For a table of round trips: its loss on the way up (`round_trip.loss_ratio` is
        then of the way down); shape as `round_trip`.
    probe_bytes: IP length of the probes.
    probes: Samples of probes (a gap between two is time of which nothing is known), or rows of a table that hold until
        the next one.
    end_ns: Where a table's last row ends, if it says so.
    wall_ns: What the wall clock showed at the measurement's zero, ns since 1970 (UTC).
    transfer: What iperf3 got; no capacity, but what one flow made of it.
    duplicates: Replies that came once more; None where the tool does not tell.
    clock_steps: Settings of the sender's clock that sequence numbers give away.
    steady_ns: int64 array or None. Sending times on a clock that was not set back; shape as `round_trip`. None: the
        same as its times.
    transfer_back: Of a test in both directions, the way down; `transfer` is then the way up.
    skipped: What the reader could not read, how often and why; `notes` has a line of it.
    longest_step_ns: Of a table of which a part was read, the longest step of the whole; None: its rows say it.
    notes: What the reader met and left out: duplicates, lines that are no samples.
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
    notes: tuple[str, ...] = field(default=())

    @staticmethod
    def of_round_trips(t_ns: Any, rtt_ns: Any, *, wall_ns: int | None = None, source: str = "arrays") -> Measurement:
        """Round trips from plain arrays.

        t_ns: int64 array of shape (n,). Sending times, strictly increasing.
        rtt_ns: float64 array of shape (n,). nan: lost.
        wall_ns: What the wall clock showed at time 0.
        """
        return Measurement(source=source, format="arrays", round_trip=Series.of(t_ns, rtt_ns), wall_ns=wall_ns)

    @staticmethod
    def of_one_way(t_ns: Any, delay_ns: Any, *, wall_ns: int | None = None, source: str = "arrays") -> Measurement:
        """One-way delays, down, from plain arrays; as `of_round_trips`."""
        return Measurement(source=source, format="arrays", down=Series.of(t_ns, delay_ns), wall_ns=wall_ns)

    def as_sent(self) -> Measurement:
        """The same where the times are those of replies, as ``ping -D`` prints them: each less its round trip.

        Probes that were then sent no later than one before them (a few, of a clock read late) are left out.
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
        """The same with these capacities where they are given."""
        notes = tuple(note for one in (down, up) if one is not None for note in one.notes)
        return replace(
            self,
            capacity_down=down or self.capacity_down,
            capacity_up=up or self.capacity_up,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )

    @property
    def series(self) -> dict[str, Series]:
        """Measured series by name: round_trip, down, up."""
        by_name = {"round_trip": self.round_trip, "down": self.down, "up": self.up}
        return {name: series for name, series in by_name.items() if series is not None}
