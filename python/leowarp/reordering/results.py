# SPDX-License-Identifier: Apache-2.0
"""The types of the results for a sequence. A mean or ratio is None instead of 0 if no packet was counted."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Density:
    """The reorder density, RD (RFC 5236, 3.6).

    Attributes
    ----------
    threshold_pkts : int
        The threshold D_T. A packet that is displaced by more than D_T counts as lost.
    displacement_pkts : int32 array of shape (n,)
        The receive index minus the sequence number: negative for early packets, positive for late packets. The values
            are in ascending order. Displacements that no packet has are left out.
    pkts : uint64 array of shape (n,)
        For each displacement, the number of packets that have it.
    counted_pkts : int
        The sum of `pkts`, called N' in RFC 5236.
    early_beyond_pkts, late_beyond_pkts : int
        The number of packets that are early by more than the threshold, and the number that are late by more than it.
    mean_displacement_pkts : float or None
        The mean displacement (MD): the sum of abs(i) RD[i].
    entropy_nats : float or None
        The reordering entropy (E_r): minus the sum of RD[i] ln RD[i].

    References
    ----------
    RFC 5236 (Informational, independent stream). The source of MD and E_r is Ye, Jayasumana, Piratla, ICNS 2006.
    """

    threshold_pkts: int
    displacement_pkts: np.ndarray
    pkts: np.ndarray
    counted_pkts: int
    early_beyond_pkts: int
    late_beyond_pkts: int
    mean_displacement_pkts: float | None
    entropy_nats: float | None

    # Implements RFC 5236, 3.6 (reorder density).
    @property
    def share(self) -> np.ndarray:
        """The reorder density RD: the share of the packets with each displacement, as a float64 array of shape (n,).
        The sum is 1."""
        # If no packet was counted, the array is empty, so the divisor has no effect.
        return self.pkts / np.float64(self.counted_pkts or 1)

    # Implements RFC 5236, 9 (late share).
    def overtaken_ratio(self, successors: int) -> float | None:
        """Return the share of overtaken packets (RFC 5236, 9). Here, a packet is overtaken if at least `successors`
        packets that were sent later arrive before it. None means that no packet was counted.

        Parameters
        ----------
        successors : int
            The number, at least 1. A value of 3 corresponds to TCP's three duplicate acknowledgements.
        """
        if not self.counted_pkts:
            return None
        return int(self.pkts[self.displacement_pkts >= successors].sum()) / self.counted_pkts

    def to_dict(self) -> dict[str, float]:
        """Return the share of packets by displacement (as text), for JSON."""
        return _shares(self.displacement_pkts, self.share)


@dataclass(frozen=True, eq=False)
class BufferDensity:
    """The reorder buffer-occupancy density, RBD (RFC 5236, 3.11).

    Attributes
    ----------
    threshold_pkts : int
        The threshold B_T, which is the size of the resequencing buffer.
    occupancy_pkts : int32 array of shape (n,)
        The number of packets in the buffer after an arrival. The values are ascending, and only occupancies that occur
        are included.
    pkts : uint64 array of shape (n,)
        The number of arrivals with each occupancy.
    counted_pkts : int
        The sum of `pkts`, called N' in RFC 5236.
    late_beyond_pkts : int
        The number of packets that arrived after the buffer had stopped waiting for them.
    buffer_mean_pkts : float or None
        The mean occupancy: the sum of i RBD[i].
    """

    threshold_pkts: int
    occupancy_pkts: np.ndarray
    pkts: np.ndarray
    counted_pkts: int
    late_beyond_pkts: int
    buffer_mean_pkts: float | None

    # Implements RFC 5236, 3.11 (reorder buffer-occupancy density).
    @property
    def share(self) -> np.ndarray:
        """For each buffer occupancy, its share of all arrivals (RBD), as a float64 array of shape (n,). The sum is
        1."""
        return self.pkts / np.float64(self.counted_pkts or 1)

    def to_dict(self) -> dict[str, float]:
        """Return the share of arrivals at each occupancy, keyed by the occupancy as text, for JSON."""
        return _shares(self.occupancy_pkts, self.share)


@dataclass(frozen=True, eq=False)
class NReordering:
    """The n-reordering (RFC 4737, 5.3). A packet is n-reordered if each of the n arrivals directly before it was sent
    later than the packet.

    Attributes
    ----------
    n : int32 array of shape (m,)
        The values of n, from 1.
    pkts : uint64 array of shape (m,)
        The number of packets that are n-reordered, for each n. A larger n never gives a larger number. The number for n
        = 3 corresponds to TCP's three duplicate acknowledgements.
    received_pkts : int
        The number of packets received.
    """

    n: np.ndarray
    pkts: np.ndarray
    received_pkts: int

    # Implements RFC 4737, 5.3 (degree of n-reordering).
    @property
    def share(self) -> np.ndarray:
        """The number of n-reordered packets for each n, divided by the number of received packets (definition 2 of
        5.3). A float64 array of shape (m,)."""
        return self.pkts / np.float64(self.received_pkts or 1)

    def to_dict(self) -> dict[str, float]:
        """Return a dict for JSON. Its keys are n as text, and its values are the shares of n-reordered packets. Shares
        of 0 are included, so that the dict shows the largest n."""
        return _shares(self.n, self.share)


@dataclass(frozen=True, eq=False)
class Extents:
    """The extents of reordered packets (RFC 4737, 4.2 to 4.4).

    Attributes
    ----------
    extent_pkts : int32 array of shape (n,)
        The number of arrivals after the first packet that overtook the reordered packet. The reordered packet itself is
        included. The values are ascending, and only extents that occur are included.
    pkts : uint64 array of shape (n,)
        The number of reordered packets with each extent.
    mean_pkts, max_pkts : float or None, int or None
        The mean and largest extent.
    late_time_mean_ns, late_time_max_ns : float or None, int or None
        The mean and largest time since the arrival of the first packet that overtook the reordered packet. None without
        times.
    byte_offset_mean_bytes, byte_offset_max_bytes : float or None, int or None
        Until the reordered packet came, a receiver had to store payload. These are the mean and the largest number of
        bytes. None without lengths.
    """

    extent_pkts: np.ndarray
    pkts: np.ndarray
    mean_pkts: float | None
    max_pkts: int | None
    late_time_mean_ns: float | None
    late_time_max_ns: int | None
    byte_offset_mean_bytes: float | None
    byte_offset_max_bytes: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict for JSON. `counts_pkts` is a dict from extent (as text) to number of
        packets."""
        # The extents are text, because keys of JSON objects must be text.
        counts = {str(extent): int(pkts) for extent, pkts in zip(self.extent_pkts, self.pkts, strict=True)}
        scalars = {key: value for key, value in _scalars(self).items() if key not in ("extent_pkts", "pkts")}
        return {**scalars, "counts_pkts": counts}


@dataclass(frozen=True)
class Gaps:
    """The discontinuities, and the gaps between reordering discontinuities (RFC 4737, 3.4 and 4.5).

    Attributes
    ----------
    sequence_discontinuities : int
        The number of arrivals at which the sequence number jumps ahead. A jump also occurs where packets were lost.
    reordering_discontinuities : int
        The number of arrivals that were the first to overtake some reordered packet.
    gaps : int
        The number of pairs of successive reordering discontinuities.
    mean_pkts, max_pkts : float or None, int or None
        The mean and largest distance from one reordering discontinuity to the next, in arrivals.
    mean_ns, max_ns : float or None, int or None
        The mean and largest time from one reordering discontinuity to the next. None without times.
    """

    sequence_discontinuities: int
    reordering_discontinuities: int
    gaps: int
    mean_pkts: float | None
    max_pkts: int | None
    mean_ns: float | None
    max_ns: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict for JSON."""
        return _scalars(self)


@dataclass(frozen=True)
class Runs:
    """The reordering-free runs (RFC 4737, 4.6).

    Attributes
    ----------
    in_order_pkts : int
        The number of packets in order, a.
    in_order_ratio : float or None
        The ratio a / p, where p is the number of received packets.
    runs : int
        The number of runs that ended with a reordered packet (x in the RFC). The last run is not included, because no
        reordered packet ended it.
    mean_pkts : float or None
        The ratio a / x.
    weighted_mean_pkts : float or None
        The ratio q / a, where q is the sum of the squared lengths of the runs. This is the mean length of the run that
        contains a random packet.
    variability_ratio : float or None
        The ratio (q / a) / (a / x).
    last_pkts, max_pkts : int
        The length of the sequence's last run, and the length of its longest run.
    """

    in_order_pkts: int
    in_order_ratio: float | None
    runs: int
    mean_pkts: float | None
    weighted_mean_pkts: float | None
    variability_ratio: float | None
    last_pkts: int
    max_pkts: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict for JSON."""
        return _scalars(self)


@dataclass(frozen=True, eq=False)
class Reordering:
    """The results of all metrics for a sequence.

    Attributes
    ----------
    arrived_pkts : int
        The number of all arrivals: the sum of `received_pkts`, `duplicate_pkts`, `too_late_pkts` and `outside_pkts`.
    received_pkts : int
        The number of packets received. Only the first copy of each packet counts, as in RFC 4737.
    duplicate_pkts : int
        The number of second and further copies of packets.
    too_late_pkts : int
        The number of arrivals whose sequence number is below the largest arrived number by more than the loss window.
        These packets arrived too late and count as lost.
    outside_pkts : int
        The number of arrivals whose sequence number is below the sequence's first number.
    expected_pkts : int
        The number of packets that were sent, if known. Otherwise, all sequence numbers from the first to the largest
        one are counted.
    lost_pkts : int
        The number of packets that were expected but not received.
    reordered_pkts : int
        The number of packets that arrived after a packet with a larger number (RFC 4737, 3.3).
    reordered_ratio : float or None
        The share of reordered packets among the received packets (RFC 4737, 4.1).
    density, buffer_density, n_reordering, extents, gaps, runs
        Each field is the result of one metric. The class of each field names the RFC and the section.
    """

    arrived_pkts: int
    received_pkts: int
    duplicate_pkts: int
    too_late_pkts: int
    outside_pkts: int
    expected_pkts: int
    lost_pkts: int
    reordered_pkts: int
    reordered_ratio: float | None
    density: Density
    buffer_density: BufferDensity
    n_reordering: NReordering
    extents: Extents
    gaps: Gaps
    runs: Runs

    @property
    def mean_displacement_pkts(self) -> float | None:
        """The mean displacement of `density`."""
        return self.density.mean_displacement_pkts

    @property
    def entropy_nats(self) -> float | None:
        """The reordering entropy of `density`."""
        return self.density.entropy_nats

    @property
    def buffer_mean_pkts(self) -> float | None:
        """The mean occupancy of `buffer_density`."""
        return self.buffer_density.buffer_mean_pkts

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `leowarp reorder FILE --json` prints."""
        density, buffer = self.density, self.buffer_density
        # Scalars are at the top level, so that a program such as jq or pandas finds each by a single name.
        scalars = {key: value for key, value in _scalars(self).items() if isinstance(value, int | float | None)}
        return {
            **scalars,
            "mean_displacement_pkts": density.mean_displacement_pkts,
            "entropy_nats": density.entropy_nats,
            "buffer_mean_pkts": buffer.buffer_mean_pkts,
            "threshold_pkts": density.threshold_pkts,
            "density_pkts": density.counted_pkts,
            "density_early_beyond_pkts": density.early_beyond_pkts,
            "density_late_beyond_pkts": density.late_beyond_pkts,
            "density": density.to_dict(),
            "overtaken_ratio": {str(n): density.overtaken_ratio(int(n)) for n in self.n_reordering.n},
            "buffer_threshold_pkts": buffer.threshold_pkts,
            "buffer_density_pkts": buffer.counted_pkts,
            "buffer_late_beyond_pkts": buffer.late_beyond_pkts,
            "buffer_density": buffer.to_dict(),
            "n_reordering": self.n_reordering.to_dict(),
            "extent": self.extents.to_dict(),
            "gaps": self.gaps.to_dict(),
            "runs": self.runs.to_dict(),
        }

    def __repr__(self) -> str:
        ratio = "none" if self.reordered_ratio is None else f"{self.reordered_ratio:.6g}"
        return (
            f"Reordering(received_pkts={self.received_pkts}, lost_pkts={self.lost_pkts}, reordered_ratio={ratio}, "
            f"mean_displacement_pkts={self.mean_displacement_pkts}, entropy_nats={self.entropy_nats})"
        )


def of_native(native: dict[str, Any], *, is_timed: bool, has_lengths: bool) -> Reordering:
    """Return the result of `_native.Meter.measured()` (crates/py/src/meter.rs) as typed values.

    is_timed, has_lengths: Whether every arrival had a time, or a length. Otherwise, values that need them are None. The
        meter treats missing lengths as 0.
    """
    extent, gaps, density, buffer = native["extent"], native["gaps"], native["density"], native["buffer_density"]
    received = native["received_pkts"]
    n, n_pkts = _columns(native["n_reordering"])
    displacement, displaced = _columns(density["counts"])
    occupancy, occupied = _columns(buffer["counts"])
    extents, behind = _columns(extent["counts"])
    # Nested objects and ratios are computed below. An attribute with a whole number has the same name in the crate's
    # result as in `Reordering`.
    scalars = {item.name: native[item.name] for item in fields(Reordering) if isinstance(native.get(item.name), int)}
    return Reordering(
        **scalars,
        # Implements RFC 4737, 4.1.3 (reordered ratio).
        reordered_ratio=native["reordered_pkts"] / received if received else None,
        density=Density(
            density["threshold_pkts"], displacement, displaced, density["pkts"], density["early_beyond_pkts"],
            density["late_beyond_pkts"], density["mean_displacement_pkts"], density["entropy_nats"],
        ),
        buffer_density=BufferDensity(
            buffer["threshold_pkts"], occupancy, occupied, buffer["pkts"], buffer["late_beyond_pkts"],
            buffer["buffer_mean_pkts"],
        ),
        n_reordering=NReordering(n, n_pkts, received),
        extents=Extents(
            extents, behind, extent["mean_pkts"], extent["max_pkts"],
            # If only some arrivals had a time or a length, the crate's means would include only those arrivals.
            *(extent[key] if is_timed else None for key in ("late_time_mean_ns", "late_time_max_ns")),
            *(extent[key] if has_lengths else None for key in ("byte_offset_mean_bytes", "byte_offset_max_bytes")),
        ),
        gaps=Gaps(**gaps),
        runs=Runs(**native["runs"]),
    )  # fmt: skip


def _columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Split pairs (value, number of packets) into two arrays."""
    values, counts = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(values, dtype=np.int32), np.array(counts, dtype=np.uint64)


def _scalars(result: Any) -> dict[str, Any]:
    return {item.name: getattr(result, item.name) for item in fields(result)}


def _shares(values: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    return {str(value): float(share) for value, share in zip(values, shares, strict=True)}
