# SPDX-License-Identifier: Apache-2.0
"""The settings of a measurement: thresholds, loss window, and width of the sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import index
from typing import Any

from leowarp.base.errors import ScenarioError

THRESHOLD_PKTS = 1000
"""The default threshold, in packets. The key `observe.reordering_threshold` has the same default. The default is large,
because a route change may displace packets by the length of a queue or more."""
SEQ_MAX = 2**63 - 1
"""The largest sequence number. Larger numbers do not fit into signed 64-bit integers, the usual type in Parquet
files."""


@dataclass(frozen=True)
class Settings:
    """The settings of a measurement.

    Attributes
    ----------
    threshold_pkts : int
        The threshold D_T of RFC 5236. In RD, a packet with a larger displacement counts as lost.
    buffer_threshold_pkts : int, optional
        The threshold B_T of RFC 5236, which is the size of the assumed buffer. The default is `threshold_pkts`.
    loss_window_pkts : int
        A packet counts as lost if its number is below the largest arrived number by more than this distance. This
        distance replaces the waiting time of RFC 4737.
    n_max : int
        n-reordering is counted for each n from 1 to this number.
    first_seq : int, optional
        The number of the first packet that was sent. The default is the smallest number among the arrived packets.
    bits : int, optional
        The width in bits of sequence numbers that wrap around (8 to 63), for example 16 or 32. None means that the
        numbers do not wrap around.

    Raises
    ------
    ScenarioError
        If a setting is out of range.
    """

    threshold_pkts: int = THRESHOLD_PKTS
    buffer_threshold_pkts: int | None = None
    loss_window_pkts: int = 65_536
    n_max: int = 10
    first_seq: int | None = None
    bits: int | None = None

    def __post_init__(self) -> None:
        if self.buffer_threshold_pkts is None:
            # The dataclass is frozen, so the default must be set by `object.__setattr__`.
            object.__setattr__(self, "buffer_threshold_pkts", self.threshold_pkts)
        for name, (low, high, why) in _RANGES.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _within(name, value, low, high, why))
        if self.bits is not None and self.first_seq is not None and self.first_seq >> self.bits:
            raise ScenarioError(f"first_seq = {self.first_seq} does not fit into {self.bits} bits")

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, in the form of the parameters of the native `Meter`.

        Examples
        --------
        >>> Settings(threshold_pkts=4).to_dict()["buffer_threshold_pkts"]
        4
        """
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _within(name: str, value: Any, low: int, high: int, why: str) -> int:
    # `index` is used, because `int` would silently convert 2.5 to 2, and accept "3".
    try:
        number = index(value)
    except TypeError:
        raise ScenarioError(f"{name} = {value!r} is not a whole number") from None
    # Without this check, `True` would count as 1.
    if isinstance(value, bool) or not low <= number <= high:
        raise ScenarioError(f"{name} = {value} is not within {low} and {high}", hint=why)
    return number


_PLACES = "with no place to wait in, every packet out of order would count as lost; torres2020 takes 200"
_RANGES = {
    # Displacements are signed 32-bit numbers, so no packet could reach a larger threshold.
    "threshold_pkts": (1, 2**31 - 1, _PLACES),
    "buffer_threshold_pkts": (1, 2**31 - 1, _PLACES),
    # The meter (`crates/reorder`) silently reduces a larger loss window or n to these numbers. With this loss window,
    # it needs 80 to 160 MB of memory.
    "loss_window_pkts": (1, 2**24, "65536 packets are 8 s at 100 Mbit/s in full frames"),
    "n_max": (1, 2**16, "TCP's three duplicate acknowledgements are n = 3"),
    "first_seq": (0, SEQ_MAX, "the number of the first packet that was sent"),
    "bits": (8, 63, "16 for ICMP and RTP, 32 for most other counters"),
}
