# SPDX-License-Identifier: Apache-2.0
"""A measurement of a path, by any tool: delays over time, losses, capacity over time.

*Down* is from the internet to the user, in a run from A to B; *up* is the opposite direction. Times are sending times
of probes, in ns since the measurement's zero (its first sample, or the origin in its file).
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
    delay_ns: float64 array of shape (n,). Whole ns (exact: below 2**53); nan without a delay, because the probe was
        lost or the link was down.
    lost: bool array of shape (n,). Whether the probe sent at that time was lost.
    cut: bool array of shape (n,). There is no connection from that time until the next row (only in tables).
    loss_ratio: float64 array of shape (n,) or None. Share of packets lost from then on (only in tables).
    """

    t_ns: Times
    delay_ns: Delays
    lost: Flags
    cut: Flags
    loss_ratio: Delays | None = None

    @staticmethod
    def of(t_ns: Any, delay_ns: Any) -> Series:
        """Probes: nan in `delay_ns` means lost."""
        t_ns, delay_ns = np.asarray(t_ns, dtype=np.int64), np.asarray(delay_ns, dtype=np.float64)
        if t_ns.shape != delay_ns.shape or t_ns.ndim != 1:
            raise ValueError(f"times of shape {t_ns.shape} and delays of shape {delay_ns.shape}")
        # An error here is a mistake in a reader, not in a file: readers sort their samples, or reject the file and name
        # the line.
        if (np.diff(t_ns) <= 0).any():
            raise ValueError("sending times do not increase")
        return Series(t_ns=t_ns, delay_ns=delay_ns, lost=np.isnan(delay_ns), cut=np.zeros(len(t_ns), dtype=bool))

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, chosen: Any) -> Series:
        """The samples at these indexes."""
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
        """The median time between samples; None if there are fewer than two."""
        # The median, because gaps would distort a mean, and a busy sender's irregular spacing would determine the
        # minimum.
        return int(np.median(np.diff(self.t_ns))) if len(self) > 1 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Capacity:
    """Capacity of a direction.

    t_ns: int64 array of shape (n,). Strictly increasing; each row holds until the next.
    rate_bps: int64 array of shape (n,). Bits of IP packets per second; -1: unshaped.
    end_ns: End of the last row.
    opportunities: Whether the rows come from a packet trace (Mahimahi). A row without packets is then either the
        spacing between two packets or a gap.
    notes: Remarks about data that the reader left out.
    """

    t_ns: Times
    rate_bps: NDArray[np.int64]
    end_ns: int
    opportunities: bool = False
    notes: tuple[str, ...] = ()


# The value is not None, because rates are an int64 array, and not 0, because 0 is a rate at which nothing is sent.
UNSHAPED = -1

PING_BYTES = 84
"""IP length of ping's packets by default (56 bytes of data)."""


@dataclass(frozen=True)
class ClockStep:
    """An adjustment of the sender's clock.

    t_ns: Time of the adjustment, on the measurement's clock.
    by_ns: Amount by which the clock was set forward; negative: back.
    """

    t_ns: int
    by_ns: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Transfer:
    """Results of a TCP transfer per interval; nan where the tool has none.

    t_ns, length_ns: int64 arrays of shape (n,). Beginning and length of each interval.
    way: down or up.
    rate_bps: float64 array of shape (n,). Bits of payload per second, over all its streams.
    retransmissions: float64 array of shape (n,). Segments.
    cwnd_bytes, rtt_ns: float64 arrays of shape (n,). At the end of each interval: sum of the windows and mean of the
        round trips of its streams; the round trip is TCP's smoothed one.
    all_retransmissions: Segments in the whole transfer, as reported by its sender at the end. The receiver's file
        contains no other count.
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

    source: Name of the file in messages.
    format: csv, irtt, ping, columns, leoreplayer, iperf3, mahimahi or arrays.
    round_trip, down, up: The measured series. In round trips, `lost` includes probes lost in either direction.
    lost_down, lost_up: The lost round trips with a known direction of the loss; shapes as `round_trip`.
    loss_up_ratio: float64 array or None. For a table of round trips: loss ratio of the uplink (`round_trip.loss_ratio`
        is then that of the downlink); shape as `round_trip`.
    probe_bytes: IP length of the probes.
    probes: True if the samples are of probes (nothing is known between two of them). False if they are rows of a table;
        each row holds until the next one.
    end_ns: End of a table's last row, if given.
    wall_ns: Wall-clock time at the measurement's zero, ns since 1970 (UTC).
    transfer: iperf3's results. The values show the throughput of one flow, not the capacity.
    duplicates: Number of duplicate replies; None if the tool does not report it.
    clock_steps: Adjustments of the sender's clock, detected from sequence numbers.
    steady_ns: int64 array or None. Sending times on a clock that was never set back; shape as `round_trip`. None if the
        series' own times are on such a clock.
    transfer_back: The downlink of a test in both directions; `transfer` is then the uplink.
    skipped: Parts that the reader could not read, with counts and reasons; `notes` has a line about them.
    longest_step_ns: If only a part of a table was read, the longest step of the whole table; None: computed from the
        rows.
    notes: Remarks about data that the reader left out: duplicates, lines that are no samples.
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
        wall_ns: Wall-clock time at time 0.
        """
        return Measurement(source=source, format="arrays", round_trip=Series.of(t_ns, rtt_ns), wall_ns=wall_ns)

    @staticmethod
    def of_one_way(t_ns: Any, delay_ns: Any, *, wall_ns: int | None = None, source: str = "arrays") -> Measurement:
        """One-way delays, down, from plain arrays; parameters as for `of_round_trips`."""
        return Measurement(source=source, format="arrays", down=Series.of(t_ns, delay_ns), wall_ns=wall_ns)

    def as_sent(self) -> Measurement:
        """The measurement with its times converted to times of sending. The times of this measurement are those of
        replies, as printed by ``ping -D``. Each round trip is subtracted from its time.

        Probes whose computed time is not later than that of the previous probe are left out (a few, if the clock was
        read late).
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
        """The measurement with `down` and `up` as its capacities; a capacity that is None is not replaced."""
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
