# SPDX-License-Identifier: Apache-2.0
"""Fits evenly spaced slots to arguments of latitude. Finds the number of slots, and the satellite in each slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEAR_SLOTS, NEAR_DEG = 0.25, 2.0
"""The largest distance of a satellite from the middle of its slot. It is a quarter of a slot, but at most 2 deg. In
September 2022, the slots of Starlink's first shell were 20 deg apart. The satellites were at most 0.4 deg from the
middle of their slot, and spares were 5 deg away."""
FIT_SLOTS = 0.125
"""A satellite may be at most this far from the middle of a slot while the number of slots is unknown. It is half of
`NEAR_SLOTS`."""
MOST_SLOTS = 1000
"""The largest number of slots per plane, the same as for Walker patterns (`scenario.constellation`)."""


@dataclass(frozen=True, eq=False)
class Slots:
    """The evenly spaced slots of a plane.

    first_deg: The argument of latitude of slot 0, 0 to 360 / count, deg.
    slot: The slot of each satellite, int array of shape (n,). -1 means that no slot is near enough, or that another
        satellite is nearer to the middle of the same slot.
    """

    count: int
    first_deg: float
    slot: NDArray[np.intp]

    @property
    def filled(self) -> int:
        """The number of slots that have a satellite."""
        return int(np.count_nonzero(self.slot >= 0))


def number_of_slots(phase_deg: NDArray[np.float64], plane: NDArray[np.intp]) -> int:
    """Return the number of slots per plane that fits the satellites best. For each possible number, the satellites in
    slots are counted. This count is multiplied by the share of filled slots. The number with the largest product is the
    best.

    If several numbers give the same product, the result is the smallest of them. A multiple of the right number would
    leave slots empty. With a divisor of the right number, some satellites would have no slot.

    phase_deg: The satellites' arguments of latitude, all at the same instant, float64 array of shape (n,), deg.
    plane: The plane of each satellite, counted from 0, int array of shape (n,).
    """
    planes, most_in_plane = int(plane.max()) + 1, int(np.bincount(plane).max())
    best, best_count = 0.0, 1
    # For each number of slots, the complex exponential is the next power of `unit`, because a multiplication takes 1 %
    # of the time of an exponential.
    unit = np.exp(1j * np.radians(phase_deg))
    turn = np.ones_like(unit)
    # Larger numbers of slots would leave more than half of the slots empty in every plane.
    for count in range(1, min(2 * most_in_plane, MOST_SLOTS) + 1):
        # For `count` slots, the product in the docstring is at most the quotient below. It is equal to the quotient if
        # all satellites are in slots.
        if len(phase_deg) ** 2 / (planes * count) <= best:
            break
        turn *= unit
        _, slot, off = _nearest(phase_deg, plane, count, turn, FIT_SLOTS)
        inside = off <= _near(count, FIT_SLOTS)
        filled = np.count_nonzero(np.bincount(plane[inside] * count + slot[inside]))
        if filled**2 / (planes * count) > best:
            best, best_count = filled**2 / (planes * count), count
    return best_count


def in_slots(phase_deg: NDArray[np.float64], count: int, near_slots: float = NEAR_SLOTS) -> Slots:
    """Fit `count` slots to the satellites of one plane.

    phase_deg: The satellites' arguments of latitude, float64 array of shape (n,), deg
    near_slots: The largest distance of a satellite from the middle of its slot, in slots. `NEAR_DEG` limits this
        distance, too.
    """
    alone, turn = np.zeros(len(phase_deg), dtype=np.intp), np.exp(1j * count * np.radians(phase_deg))
    first, nearest, off = _nearest(phase_deg, alone, count, turn, near_slots)
    # Satellites are sorted by distance from the slot, then by place in the file. If several satellites are near the
    # same slot, the first of them gets the slot.
    order = np.argsort(off, kind="stable")
    order = order[off[order] <= _near(count, near_slots)]
    slots, at = np.unique(nearest[order], return_index=True)
    slot = np.full(len(phase_deg), -1)
    slot[order[at]] = slots
    return Slots(count, float(first[0]) * 360.0 / count, slot)


def aside(slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signed distance of a number from the nearest whole number, -0.5 to 0.5."""
    return slots - np.rint(slots)


def _near(count: int, near_slots: float) -> float:
    return min(near_slots, NEAR_DEG * count / 360.0)


def _nearest(
    phase_deg: NDArray[np.float64],
    plane: NDArray[np.intp],
    count: int,
    turn: NDArray[np.complex128],
    near_slots: float,
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Return the position of slot 0 in each plane. For each satellite, return the nearest slot and the distance from
    it. The unit of positions and distances is the distance between two slots.

    `turn` contains the complex number exp(i `count` phase) for each satellite. Satellites at the same place within
    their slots have equal values.
    """
    phase = phase_deg * (count / 360.0)
    planes = int(plane.max()) + 1
    # Slot 0 is at the circular mean of the satellites' positions within their slots. Satellites far from a slot distort
    # this circular mean, so the mean is computed again without these satellites.
    first = np.angle(_sums(turn.real, plane, planes) + 1j * _sums(turn.imag, plane, planes)) / (2 * np.pi)
    for _ in range(2):
        off = aside(phase - first[plane])
        inside = np.abs(off) <= _near(count, near_slots)
        number = np.bincount(plane[inside], minlength=planes)
        first = first + _sums(np.where(inside, off, 0.0), plane, planes) / np.maximum(number, 1)
    first %= 1.0
    slot = np.rint(phase - first[plane])
    return first, slot.astype(np.intp) % count, np.abs(phase - first[plane] - slot)


def _sums(values: NDArray[np.float64], plane: NDArray[np.intp], planes: int) -> NDArray[np.float64]:
    return np.bincount(plane, weights=values, minlength=planes).astype(np.float64)
