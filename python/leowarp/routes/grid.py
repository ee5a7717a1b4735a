# SPDX-License-Identifier: Apache-2.0
"""The +Grid: each satellite has two links in its own plane and one link to each adjacent plane. Also contains the
condition for the line of sight, which applies to the links of any rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres
from leowarp.scenario.schema import Isl, Shell

# Prevents a division by 0 if two satellites are at the same place (polar stars with F = 0, at the poles).
_TINY_M2 = 1e-30


def in_sight(satellites_m: EcefMetres, pairs: NDArray[np.intp], clear_radius_m: float | None) -> NDArray[np.bool_]:
    """For each pair of satellites, return whether they see each other, as bool of shape (m,).

    clear_radius_m: The minimum distance of the line of sight from the Earth's centre, which is the Earth's radius plus
        `isl.grazing_height`. A beam below this height would graze the atmosphere. None means no minimum.
    """
    if clear_radius_m is None:
        return np.ones(len(pairs), dtype=bool)
    start_m, along_m = satellites_m[pairs[:, 0]], satellites_m[pairs[:, 1]] - satellites_m[pairs[:, 0]]
    # The point of the line that is nearest to the centre is a + t (b - a), with t = -a.(b - a) / |b - a|^2 limited
    # to [0, 1].
    squared = np.maximum(np.einsum("ij,ij->i", along_m, along_m), _TINY_M2)  # the two positions may be equal
    t = np.clip(-np.einsum("ij,ij->i", start_m, along_m) / squared, 0.0, 1.0)
    return np.linalg.norm(start_m + t[:, None] * along_m, axis=1) >= clear_radius_m


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """A rule that links each satellite to its four neighbours in a grid of planes and slots.

    In its plane, each satellite has links to the satellites in the next slot and in the previous slot. A satellite also
    has one link to the next plane. This link leads to the slot with the nearest phase. If two slots are equally near,
    the slot ahead is used. A link exists only if both of its slots contain a satellite. If two planes have different
    numbers of slots, each slot of the plane with fewer slots has one partner.

    On the two sides of a star's seam, planes fly in opposite directions. Across the seam, slot s of the last plane has
    a link to slot (k - s) mod S of the first plane. At each instant, the grid uses the k for which the mean distance of
    these links is smallest. If several k give the same mean distance, the smallest is used.

    slots: The satellite in each slot, with one int array per plane, in the order of flight. -1 means an empty slot. The
        slots of a plane are evenly spaced.
    beside: The pairs of planes with links between them, as (int, int, float): a plane, the next plane, and a phase.
        Compared with slot 0 of the plane, slot 0 of the next plane is ahead by the phase. The phase is measured in
        slots of the next plane.
    seams: The last and the first plane of each star that has links across its seam.
    polar_cutoff_deg: A link between two planes exists only while both satellites are below this geocentric latitude.
    clear_radius_m: As in `in_sight`.
    """

    slots: Sequence[NDArray[np.intp]]
    beside: Sequence[tuple[int, int, float]]
    seams: Sequence[tuple[int, int]]
    polar_cutoff_deg: float | None
    clear_radius_m: float | None

    @classmethod
    def walker(cls, shell: Shell, isl: Isl, clear_radius_m: float | None) -> Grid:
        """Return the grid of a Walker pattern, in which slot s of plane p is satellite p S + s.

        From one plane to the next, slot s moves ahead by F / P of a slot (`ephemeris.walker`). The plane after the last
        plane of a *delta* is plane 0, shifted by F slots, so that the phase continues evenly. For a *star*, plane 0
        also follows the last plane. However, the seam is between these two planes.
        """
        planes, phasing = shell.planes, shell.phasing
        ahead = [(p, p + 1, phasing / planes) for p in range(planes - 1)]
        # A plane P after the last one would be plane 0, shifted by F slots: u(P, s) = 360 (s + F)/S.
        around = [(planes - 1, 0, phasing / planes - phasing)] if shell.pattern != "star" and planes > 1 else []
        return cls(
            slots=list(np.arange(shell.satellites).reshape(planes, shell.satellites_per_plane)),
            beside=ahead + around,
            seams=[(planes - 1, 0)] if shell.pattern == "star" and isl.seam and planes > 1 else [],
            polar_cutoff_deg=isl.polar_cutoff_deg,
            clear_radius_m=clear_radius_m,
        )

    def pairs(self, satellites_m: EcefMetres) -> NDArray[np.intp]:
        """Return the links of the grid whose line of sight is free, as in `IslRule.pairs`."""
        across = [self._across_seam(satellites_m, last, first) for last, first in self.seams]
        between = np.concatenate([self._between_planes, *across])
        # Links across seams are links between planes, so the polar cut-off applies to them as well.
        links = np.concatenate([self._in_planes, between[self._below_cutoff(satellites_m, between)]])
        # Each link is encoded as one number, so that duplicates can be removed. In a delta of two planes, or in a plane
        # of two slots, a link occurs twice: once from each end.
        once = np.unique(links.min(axis=1) * len(satellites_m) + links.max(axis=1))
        pairs = np.column_stack(np.divmod(once, len(satellites_m)))
        return pairs[in_sight(satellites_m, pairs, self.clear_radius_m)]

    def holds(self, satellites_m: EcefMetres, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """See `IslRule.holds`. A link across the seam may stay even if its satellites now have different partners in
        `pairs`."""
        return self._below_cutoff(satellites_m, pairs) & in_sight(satellites_m, pairs, self.clear_radius_m)

    def _below_cutoff(self, satellites_m: EcefMetres, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """For each link, return whether the polar cut-off allows it. The cut-off always allows links within a plane."""
        if self.polar_cutoff_deg is None:
            return np.ones(len(pairs), dtype=bool)
        plane = np.full(len(satellites_m), -1)
        for number, satellites in enumerate(self.slots):
            plane[satellites[satellites >= 0]] = number
        latitude_deg = np.degrees(np.arcsin(np.abs(satellites_m[:, 2]) / np.linalg.norm(satellites_m, axis=1)))
        # The cut-off is Iridium's rule, as in ns-2: near the poles, where planes cross, satellites of different planes
        # have no links.
        within = plane[pairs[:, 0]] == plane[pairs[:, 1]]
        return within | (latitude_deg[pairs] <= self.polar_cutoff_deg).all(axis=1)

    @cached_property
    def _in_planes(self) -> NDArray[np.intp]:
        """Each satellite, paired with the satellite in the next slot of its plane, shape (m, 2). A plane of two slots
        gives the same pair twice. A plane of one slot gives no pair."""
        rings = [_of_both(satellites, np.roll(satellites, -1)) for satellites in self.slots if len(satellites) > 1]
        return np.concatenate([np.empty((0, 2), dtype=np.intp), *rings])

    @cached_property
    def _between_planes(self) -> NDArray[np.intp]:
        """The pairs of satellites that are partners in neighbouring planes, shape (m, 2). Pairs across seams are left
        out."""
        links = [np.empty((0, 2), dtype=np.intp)]
        for plane, following, ahead in self.beside:
            a, b = self.slots[plane], self.slots[following]
            # In the plane with fewer slots, each slot gets a partner. Neighbouring slots of the plane with fewer slots
            # are at least one slot of the other plane apart, so no satellite gets two partners.
            if len(a) <= len(b):
                s = np.arange(len(a))
                t = np.floor(s * len(b) / len(a) - ahead + 0.5).astype(np.intp)
            else:
                t = np.arange(len(b))
                s = np.floor((t + ahead) * len(a) / len(b) + 0.5).astype(np.intp)
            links.append(_of_both(a[s % len(a)], b[t % len(b)]))
        return np.concatenate(links)

    def _across_seam(self, satellites_m: EcefMetres, last: int, first: int) -> NDArray[np.intp]:
        """Return the links between the last and the first plane of a star, shape (m, 2).

        The two planes fly in opposite directions, so k changes by one whenever the satellites have moved by half a
        slot.
        """
        # The plane with fewer slots is `a`, because each slot of `a` gets one partner.
        a, b = sorted((self.slots[last], self.slots[first]), key=len)
        s, k = np.arange(len(a)), np.arange(len(b))
        partner = np.floor(k[:, None] - s * len(b) / len(a) + 0.5).astype(np.intp) % len(b)  # one row per k
        both = (a >= 0) & (b[partner] >= 0)
        distance_m = np.linalg.norm(satellites_m[a][:, None, :] - satellites_m[b][None, :, :], axis=-1)
        some = np.maximum(both.sum(axis=1), 1)
        mean_m = np.where(both, distance_m[s, partner], 0.0).sum(axis=1) / some
        # Mean distances are rounded to the millimetre, so that for equal distances the choice of k does not depend on
        # rounding errors.
        best = int(np.argmin(np.where(both.any(axis=1), np.rint(mean_m * 1e3), np.inf)))
        return _of_both(a, b[partner[best]])


def _of_both(a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.intp]:
    """Pair the satellites at equal positions of `a` and `b`. Positions with an empty slot are left out, and the shape
    is (m, 2)."""
    return np.column_stack([a, b])[(a >= 0) & (b >= 0)]
