# SPDX-License-Identifier: Apache-2.0
"""The +Grid: each satellite links to the two neighbours in its plane and to one in each of the planes beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Planes and slots of a Walker pattern, linked.

    In its plane a satellite links to the slots before and behind it. In the next plane it links to the slot that is
    nearest in phase: its own, or the one behind when F/P is above one half. From the last plane of a *delta* the next
    one is plane 0, F slots on, so that the phase goes on evenly. From the last plane of a *star* the next one is plane
    0 too, but there satellites fly the other way: across this seam slot s links to slot (k - s) mod S, one to one, and
    k is that which makes the mean distance least at each instant (of equal ones the smallest).

    Attributes
    ----------
    seam : bool
        Of a star: whether the seam is crossed.
    polar_cutoff_deg : float or None
        A link between planes exists only while both ends are at or below this geocentric latitude.

    The satellites are numbered plane by plane: slot s of plane p is p S + s. The phase of slot s of plane p + 1 is F /
    P of a slot ahead of slot s of plane p (`ephemeris.walker`), which is what "nearest in phase" goes by.
    """

    planes: int
    satellites_per_plane: int
    phasing: int
    pattern: str
    seam: bool
    polar_cutoff_deg: float | None

    def pairs(self, satellites_m: EcefMetres) -> NDArray[np.intp]:
        """All links at an instant, shape (m, 2), the smaller index first, sorted."""
        between = self._between_planes
        if self.pattern == "star" and self.seam and self.planes > 1:
            between = np.concatenate([between, self._across_seam(satellites_m)])
        between = between[self.below_cutoff(satellites_m, between)]
        # The seam's links come with those between planes, so that the cut-off at the poles holds for them, too.
        links = np.concatenate([self._in_planes, between])
        # As single numbers: two planes of a delta, or two slots, link the same pair from both sides.
        satellites = self.planes * self.satellites_per_plane
        once = np.unique(links.min(axis=1) * satellites + links.max(axis=1))
        return np.column_stack(np.divmod(once, satellites))

    def below_cutoff(self, satellites_m: EcefMetres, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the polar cut-off lets links be; always for those within a plane."""
        within = pairs[:, 0] // self.satellites_per_plane == pairs[:, 1] // self.satellites_per_plane
        if self.polar_cutoff_deg is None:
            return np.ones(len(pairs), dtype=bool)
        latitude_deg = np.degrees(np.arcsin(np.abs(satellites_m[:, 2]) / np.linalg.norm(satellites_m, axis=1)))
        # Iridium's rule, as ns-2 has it: near the poles, where planes cross, links between them are off.
        return within | (latitude_deg[pairs] <= self.polar_cutoff_deg).all(axis=1)

    @cached_property
    def _in_planes(self) -> NDArray[np.intp]:
        """Each slot and the one before it, shape (P S, 2); of two slots the same link twice, of one none."""
        if self.satellites_per_plane < 2:
            return np.empty((0, 2), dtype=np.intp)
        plane, slot = np.divmod(np.arange(self.planes * self.satellites_per_plane), self.satellites_per_plane)
        return np.column_stack([self._index(plane, slot), self._index(plane, slot + 1)])

    @cached_property
    def _between_planes(self) -> NDArray[np.intp]:
        """Each slot and its partner in the next plane, shape (P S, 2); of a star without those from its last plane."""
        plane, slot = np.divmod(np.arange(self.planes * self.satellites_per_plane), self.satellites_per_plane)
        # Phase of slot s of plane p+1 against slot s of plane p: F/P slots ahead.
        behind = 1 if 2 * (self.phasing % self.planes) > self.planes else 0
        shift = np.full_like(slot, self.phasing // self.planes + behind)
        last = plane == self.planes - 1
        # Plane P would be plane 0 with its slots F further on: u(P, s) = 360 (s + F)/S.
        shift[last] -= self.phasing
        pairs = np.column_stack([self._index(plane, slot), self._index((plane + 1) % self.planes, slot - shift)])
        if self.pattern == "star" or self.planes == 1:
            return pairs[~last]
        return pairs

    def _across_seam(self, satellites_m: EcefMetres) -> NDArray[np.intp]:
        """Links between the last and the first plane of a star, shape (S, 2), as they are nearest now.

        They fly against each other there, so that no pairing lasts; k moves by one for each half slot that the
        satellites fly.
        """
        s = self.satellites_per_plane
        slot = np.arange(s)
        last_m, first_m = satellites_m[-s:], satellites_m[:s]
        distance_m = np.linalg.norm(last_m[:, None, :] - first_m[None, :, :], axis=-1)
        partner = (slot[:, None] - slot[None, :]) % s  # row k: partners (k - s) mod S
        mean_m = distance_m[slot[None, :], partner].mean(axis=1)
        # To the millimetre, so that rounding does not choose between equal k.
        k = int(np.argmin(np.rint(mean_m * 1e3)))
        return np.column_stack([self._index(self.planes - 1, slot), self._index(0, k - slot)])

    def _index(self, plane: NDArray[np.intp] | int, slot: NDArray[np.intp]) -> NDArray[np.intp]:
        """Number of the satellite in a slot of a plane; slots count modulo S."""
        return np.asarray(plane * self.satellites_per_plane + slot % self.satellites_per_plane)
