# SPDX-License-Identifier: Apache-2.0
"""The search for neighbouring planes of a shell, and for the phase between their slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.sgp4_orbits import MeanElements
from leowarp.ephemeris.slots import FIT_SLOTS, Slots, aside, in_slots

_NEIGHBOUR = 3.5
"""Neighbouring planes have nodes at most this far apart, in multiples of the usual distance. Planes are neighbours even
if two planes between them are missing."""
_SEAM = 0.4
"""The distance between the two planes at the seam of a star may differ from the usual distance by this share. For
Iridium, the distance across the seam is 22 deg, and all other distances are 31.6 deg."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundShell:
    """The planes of the same altitude and inclination, in the order of their ascending nodes.

    inclination_deg, altitude_m: The medians over the satellites.
    slots: One int array for each plane, with the satellite in each slot. -1 means that the slot is empty.
    beside: The pairs of neighbouring planes. A pair is (int, int, float), as in `routes.grid.Grid`. The float tells how
        far slot 0 of the second plane is ahead of slot 0 of the first plane, in slots.
    spacing_deg: The median distance between neighbouring nodes. None means that there is only one plane.
    kind: One of ``delta``, ``star`` and ``part``. In a ``delta``, the nodes are spread around the whole equator. In a
        ``star``, the nodes cover half of the equator, and the first and the last plane fly in opposite directions. All
        others are ``part``.
    phasing: Walker's F. None means that the planes do not form a Walker pattern.
    """

    inclination_deg: float
    altitude_m: float
    slots: tuple[NDArray[np.intp], ...]
    beside: tuple[tuple[int, int, float], ...]
    spacing_deg: float | None
    kind: str
    phasing: int | None

    @property
    def satellites(self) -> NDArray[np.intp]:
        """The satellites that have a slot, plane by plane."""
        every = np.concatenate(self.slots)
        return every[every >= 0]


def ordered_shell(orbits: MeanElements, planes: int, satellites_per_plane: int) -> FoundShell:
    """Return the shell of a file whose header gives the number of planes. As in Hypatia, links connect slots with the
    same number in neighbouring planes."""
    slots = np.arange(planes * satellites_per_plane).reshape(planes, satellites_per_plane)
    return FoundShell(
        inclination_deg=float(np.median(orbits.inclination_deg)),
        altitude_m=float(np.median(orbits.altitude_m)),
        slots=tuple(slots),
        beside=tuple((plane, (plane + 1) % planes, 0.0) for plane in range(planes) if planes > 1),
        spacing_deg=None,
        kind="delta",
        phasing=0,
    )


def linked(orbits: MeanElements, planes: list[NDArray[np.intp]], counts: list[int]) -> FoundShell:
    """Sort planes by ascending node and combine them into a shell.

    planes: The satellites of each plane, as int arrays, in any order.
    counts: The number of slots in each plane.
    """
    nodes_deg = np.array([mean_node_deg(orbits, plane) for plane in planes])
    order, gaps_deg = around(nodes_deg, np.arange(len(planes)))
    kind, spacing_deg = _kind(gaps_deg)
    if kind == "delta":
        # The planes of a delta form a ring, so any of them could be the first; we take the plane with the smallest
        # node.
        first = int(np.argmin(nodes_deg[order]))
        order, gaps_deg = np.roll(order, -first), np.roll(gaps_deg, -first)
    planes = [planes[plane] for plane in order]
    fits = [in_slots(orbits.phase_deg[plane], counts[at]) for plane, at in zip(planes, order, strict=True)]
    beside, phasing = ([], None) if spacing_deg is None else _beside(fits, gaps_deg, spacing_deg, kind)
    members = np.concatenate(planes)
    return FoundShell(
        inclination_deg=float(np.median(orbits.inclination_deg[members])),
        altitude_m=float(np.median(orbits.altitude_m[members])),
        slots=tuple(_filled(plane, fit) for plane, fit in zip(planes, fits, strict=True)),
        beside=tuple(beside),
        spacing_deg=spacing_deg,
        kind=kind,
        phasing=phasing,
    )


def _beside(
    fits: list[Slots], gaps_deg: NDArray[np.float64], spacing_deg: float, kind: str
) -> tuple[list[tuple[int, int, float]], int | None]:
    """Return the pairs of neighbouring planes among sorted planes, in the form of `FoundShell.beside`. Also return
    Walker's F."""
    a = np.flatnonzero(gaps_deg <= _NEIGHBOUR * spacing_deg)
    a = a[(a < len(fits) - 1) | (kind == "delta")]
    b = (a + 1) % len(fits)
    count, first_deg = np.array([fit.count for fit in fits]), np.array([fit.first_deg for fit in fits])
    ahead = (first_deg[b] - first_deg[a]) * count[b] / 360.0
    # Walker's rule applies only if two planes have the same number of slots and the usual distance from each other.
    even = (count[a] == count[b]) & (np.abs(gaps_deg[a] - spacing_deg) <= spacing_deg / 4)
    whole = round((180.0 if kind == "star" else 360.0) / spacing_deg)
    phasing = _phasing(ahead[even], whole)
    if phasing is not None:
        # If two partners are both half a slot away, the exact F decides which of them is nearer. With the measured
        # phase instead of the exact F, noise would decide which partner is nearer.
        off = aside(ahead - phasing / whole)
        exact = np.round(ahead - phasing / whole) + phasing / whole
        ahead = np.where(even & (np.abs(off) <= FIT_SLOTS), exact, ahead)
    # If planes are missing, `phasing` is the F of a pattern with more planes. None is then returned instead of F.
    phasing = phasing if whole == len(fits) and kind != "part" else None
    return list(zip(a.tolist(), b.tolist(), ahead.tolist(), strict=True)), phasing


def _kind(gaps_deg: NDArray[np.float64]) -> tuple[str, float | None]:
    """Return the kind of a shell and the median distance between neighbouring planes, deg. The last element of
    `gaps_deg` is the largest gap."""
    if len(gaps_deg) == 1:
        return "part", None
    spacing_deg, widest_deg = float(np.median(gaps_deg[:-1])), float(gaps_deg[-1])
    # The planes of a star cover half a turn. The largest gap is therefore about 180 deg plus one usual gap.
    if (1 - _SEAM) * gaps_deg[:-1].min() <= widest_deg - 180.0 <= (1 + _SEAM) * spacing_deg:
        return "star", spacing_deg
    around = widest_deg <= min(_NEIGHBOUR * spacing_deg, 180.0 + spacing_deg / 4)
    return "delta" if around else "part", spacing_deg


def _phasing(ahead: NDArray[np.float64], planes: int) -> int | None:
    """Return Walker's F from the phases between neighbouring planes. None means that fewer than 75 % of the phases
    agree with one F.

    When all phases around a ring are added, errors in the phases of single planes cancel. Therefore, F is exact.

    ahead: For each plane, the number of slots by which it is ahead of the previous plane: float64 array of shape (m,).
    planes: The number of planes in the complete pattern.
    """
    if len(ahead) == 0:
        return None
    slots = float(np.angle(np.exp(2j * np.pi * ahead).sum())) / (2 * np.pi) * planes
    near = np.abs(aside(ahead - round(slots) / planes)) <= FIT_SLOTS
    return round(slots) % planes if abs(slots - round(slots)) <= 0.25 and near.mean() >= 0.75 else None


def _filled(plane: NDArray[np.intp], fit: Slots) -> NDArray[np.intp]:
    slots = np.full(fit.count, -1)
    slots[fit.slot[fit.slot >= 0]] = plane[fit.slot >= 0]
    return slots


def around(node_deg: NDArray[np.float64], members: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Sort `members` by ascending node, and return the gap in deg from each member to the next. The order begins with
    the member after the largest gap."""
    order = members[np.argsort(node_deg[members], kind="stable")]
    gaps_deg = np.diff(node_deg[order], append=node_deg[order[0]] + 360.0)
    after = int(np.argmax(gaps_deg)) + 1
    return np.roll(order, -after), np.roll(gaps_deg, -after)


def mean_node_deg(orbits: MeanElements, bundle: NDArray[np.intp]) -> float:
    """Return the circular mean of the ascending nodes of a plane's satellites, 0 to 360 deg."""
    return float(np.degrees(np.angle(np.exp(1j * np.radians(orbits.node_deg[bundle])).sum())) % 360.0)
