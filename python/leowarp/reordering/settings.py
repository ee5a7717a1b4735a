# SPDX-License-Identifier: Apache-2.0
"""Settings of a measurement: thresholds, window, and number of bits of the numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import index
from typing import Any

from leowarp.base.errors import ScenarioError

THRESHOLD_PKTS = 1000
"""The threshold is the same value as in runs (`observe.reordering_threshold`). A route change may displace packets by
the length of a queue or more."""
THRESHOLD_MAX_PKTS = 2**31 - 1
"""Displacements are signed 32-bit numbers."""
LOSS_WINDOW_MAX_PKTS = 2**24
"""This value limits the memory of the meter (80 to 160 MB). A larger window is rejected here, because the meter would
silently reduce it."""
N_MAX = 2**16
"""The meter counts no larger n (`crates/reorder`). Larger values are rejected here instead of being reduced."""
SEQ_MAX = 2**63 - 1
"""Largest sequence number. The next one would not fit into signed 64-bit integers, which Parquet usually has."""


@dataclass(frozen=True)
class Settings:
    """Settings of a measurement.

    Attributes
    ----------
    threshold_pkts : int
        D_T of RFC 5236: in RD, a packet with a larger displacement counts as lost.
    buffer_threshold_pkts : int, optional
        B_T of RFC 5236: size of the assumed buffer; default: `threshold_pkts`.
    loss_window_pkts : int
        This window replaces RFC 4737's waiting time: a packet whose number is this far below the largest counts as
        lost.
    n_max : int
        n-reordering is counted for n = 1 to n_max.
    first_seq : int, optional
        Number of the first packet that was sent; default: the smallest number that arrives.
    bits : int, optional
        Number of bits of numbers that wrap around (8 to 63), for instance 16 or 32. None: they do not wrap around.

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
            # The dataclass is frozen, but defaults are filled in before the object is visible.
            object.__setattr__(self, "buffer_threshold_pkts", self.threshold_pkts)
        for name, (low, high, why) in _RANGES.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _within(name, value, low, high, why))
        if self.bits is not None and self.first_seq is not None and self.first_seq >> self.bits:
            raise ScenarioError(f"first_seq = {self.first_seq} does not fit into {self.bits} bits")

    def to_dict(self) -> dict[str, Any]:
        """Values by name, which are the parameters of the native `Meter`.

        Examples
        --------
        >>> Settings(threshold_pkts=4).to_dict()["buffer_threshold_pkts"]
        4
        """
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _within(name: str, value: Any, low: int, high: int, why: str) -> int:
    """The value as a Python int, from any type of whole number. Other types are a ScenarioError."""
    # `index` is used instead of `int`, which would silently make 2.5 a 2, and accept "3".
    try:
        number = index(value)
    except TypeError:
        raise ScenarioError(f"{name} = {value!r} is not a whole number") from None
    # `True` would otherwise be accepted as 1.
    if isinstance(value, bool) or not low <= number <= high:
        raise ScenarioError(f"{name} = {value} is not within {low} and {high}", hint=why)
    return number


_PLACES = "with no place to wait in, every packet out of order would count as lost; torres2020 takes 200"
_RANGES = {
    "threshold_pkts": (1, THRESHOLD_MAX_PKTS, _PLACES),
    "buffer_threshold_pkts": (1, THRESHOLD_MAX_PKTS, _PLACES),
    "loss_window_pkts": (1, LOSS_WINDOW_MAX_PKTS, "65536 packets are 8 s at 100 Mbit/s in full frames"),
    "n_max": (1, N_MAX, "TCP's three duplicate acknowledgements are n = 3"),
    "first_seq": (0, SEQ_MAX, "the number of the first packet that was sent"),
    "bits": (8, 63, "16 for ICMP and RTP, 32 for most other counters"),
}
