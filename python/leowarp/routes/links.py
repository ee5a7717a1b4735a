# SPDX-License-Identifier: Apache-2.0
"""The visibility rules for links between satellites and for ground links, and the delays of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, Ephemeris, Stations
from leowarp.ephemeris.frames import SPEED_OF_LIGHT_M_PER_S
from leowarp.routes.grid import Grid, in_sight
from leowarp.scenario.schema import Ground, Isl, Plan

if TYPE_CHECKING:
    from leowarp.ephemeris.neighbours import FoundShell

Pairs = NDArray[np.intp]
"""The pairs of satellites, shape (m, 2). Each row has the smaller index first, and rows are sorted."""


INSTANTS_AT_ONCE = 32
"""The number of instants for which positions are computed at a time: 32 x 1584 satellites are 1.2 MB, which fits into
the processor's L2 cache."""


class IslRule(Protocol):
    """A rule for links between satellites."""

    def pairs(self, satellites_m: EcefMetres) -> Pairs:
        """Return all links at an instant.

        satellites_m: float64 array of shape (n, 3), m
        Returns: An int array of shape (m, 2). Each link is listed once, with the smaller index first. Rows are sorted,
            so equal positions give equal arrays.
        """

    def holds(self, satellites_m: EcefMetres, pairs: Pairs) -> NDArray[np.bool_]:
        """Return whether a path may continue to use each link. Range, line of sight and latitude are checked.

        satellites_m: float64 array of shape (n, 3), m
        pairs: An int array of shape (m, 2)
        Returns: A bool array of shape (m,)
        """


@dataclass(frozen=True, kw_only=True)
class RangeRule:
    """A rule that links any two satellites whose distance is at most `max_range_m`.

    The study's emulator (Frederiksen et al. 2024) uses 3000 km and does not limit a satellite's number of links.

    clear_radius_m: As in `in_sight`.
    """

    max_range_m: float
    clear_radius_m: float | None = None

    def pairs(self, satellites_m: EcefMetres) -> Pairs:
        """Return the pairs as in `IslRule.pairs`. A tree finds near pairs, because a check of all 1.25 million pairs of
        1584 satellites would be slow."""
        from scipy.spatial import KDTree

        pairs = KDTree(satellites_m).query_pairs(self.max_range_m, output_type="ndarray")
        # The tree returns pairs in an order that depends on how it was built, so they are sorted.
        pairs = pairs[np.argsort(pairs[:, 0] * len(satellites_m) + pairs[:, 1])]
        return pairs[in_sight(satellites_m, pairs, self.clear_radius_m)]

    def holds(self, satellites_m: EcefMetres, pairs: Pairs) -> NDArray[np.bool_]:
        near = lengths_m(satellites_m, pairs) <= self.max_range_m
        return near & in_sight(satellites_m, pairs, self.clear_radius_m)


@dataclass(frozen=True, kw_only=True)
class WithinShells:
    """A separate rule for each shell. No link connects satellites of different shells.

    rules: One rule per shell. Each rule numbers the satellites of its shell from 0.
    satellites: The number of satellites in each shell, in the order of the positions.
    """

    rules: tuple[IslRule, ...]
    satellites: tuple[int, ...]

    def pairs(self, satellites_m: EcefMetres) -> Pairs:
        # The result is already sorted, because all numbers of a shell are smaller than those of the next shell.
        return np.concatenate([
            first + rule.pairs(EcefMetres(satellites_m[first : first + count]))
            for rule, first, count in zip(self.rules, self._first, self.satellites, strict=True)
        ])  # fmt: skip

    def holds(self, satellites_m: EcefMetres, pairs: Pairs) -> NDArray[np.bool_]:
        held = np.zeros(len(pairs), dtype=bool)
        for rule, first, count in zip(self.rules, self._first, self.satellites, strict=True):
            own = ((pairs >= first) & (pairs < first + count)).all(axis=1)
            held[own] = rule.holds(EcefMetres(satellites_m[first : first + count]), pairs[own] - first)
        return held

    @property
    def _first(self) -> tuple[int, ...]:
        return tuple(accumulate(self.satellites, initial=0))[:-1]


@dataclass(frozen=True, kw_only=True)
class NoIsl:
    """A rule without links between satellites. Each path contains exactly one satellite."""

    def pairs(self, satellites_m: EcefMetres) -> Pairs:
        return np.empty((0, 2), dtype=np.intp)

    def holds(self, satellites_m: EcefMetres, pairs: Pairs) -> NDArray[np.bool_]:
        return np.zeros(len(pairs), dtype=bool)


@dataclass(frozen=True, kw_only=True)
class FewTerminals:
    """A rule that limits each satellite to the `terminals` nearest links of another rule.

    Links are considered in order of length, the shortest first. Links whose lengths are equal to the millimetre are
    ordered by satellite index. A link is accepted if both of its satellites still have a free terminal.
    """

    rule: IslRule
    terminals: int

    def pairs(self, satellites_m: EcefMetres) -> Pairs:
        """Return the pairs as in `IslRule.pairs`. The result is the same as if links were considered one after
        another."""
        pairs = self.rule.pairs(satellites_m)
        # Walker patterns have many links of equal length. Lengths are rounded to the millimetre, so that rounding
        # errors do not determine the order of links with equal lengths.
        length_mm = np.rint(lengths_m(satellites_m, pairs) * 1e3)
        left = pairs[np.argsort(length_mm, kind="stable")]
        free = np.full(len(satellites_m), self.terminals)
        kept = [np.empty((0, 2), dtype=np.intp)]
        # Links are considered in blocks of 8 per satellite, the shortest links first. After the first block of links,
        # most terminals are in use, and few candidate links remain. For comparison: a range rule of 3000 km gives
        # 65,000 links for 1584 satellites, or 40 per satellite (design/routes-and-timeline.md).
        at_once = 8 * len(satellites_m)
        while len(left):
            kept += _given_out(left[:at_once], free)
            left = left[at_once:]
            left = left[(free[left] > 0).all(axis=1)]
        made_pairs = np.concatenate(kept)
        return made_pairs[np.lexsort((made_pairs[:, 1], made_pairs[:, 0]))]

    def holds(self, satellites_m: EcefMetres, pairs: Pairs) -> NDArray[np.bool_]:
        """Return for each link whether the underlying rule allows it. A link that is in use remains, even if a nearer
        satellite appears."""
        return self.rule.holds(satellites_m, pairs)


def _given_out(left: Pairs, free: NDArray[np.intp]) -> list[Pairs]:
    """Return the links of `left` that are accepted. `left` is sorted by length. `free` contains the number of each
    satellite's free terminals. Each accepted link reduces this number at its satellites.

    A plain loop over the links, the shortest first, would give the same result. The function needs only a few numpy
    operations.
    """
    kept = []
    while len(left):
        # Let a satellite have f free terminals. If a link is among the first f remaining links of both its satellites,
        # it is accepted. The other links cannot change this. All links that meet this condition are accepted in one
        # step.
        made = (_rank_at_end(left[:, 0], left[:, 1]) < free[left]).all(axis=1)
        kept.append(left[made])
        np.subtract.at(free, left[made], 1)
        left = left[~made]
        left = left[(free[left] > 0).all(axis=1)]
    return kept


def _rank_at_end(a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each link, in order, return two counts of earlier links: those at its end a, and those at its end b. The
    shape is (m, 2)."""
    ends = np.column_stack([a, b]).ravel()
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(ends.max() + 1))
    rank = np.empty(len(ends), dtype=np.intp)
    rank[order] = np.arange(len(ends)) - first[ends[order]]
    return rank.reshape(-1, 2)


def isl_rule(plan: Plan, ephemeris: Ephemeris) -> IslRule:
    """Return the rule of a plan's ``[isl]``.

    ephemeris: The ephemeris of the same plan, with the planes and slots of orbital elements.
    """
    isl, constellation = plan.isl, plan.constellation
    # Without links between satellites, both stations of a path must see the same satellite.
    if isl.rule == "none" or constellation is None:
        return NoIsl()
    clear_radius_m = None if isl.grazing_height_m is None else constellation.earth_radius_m + isl.grazing_height_m
    ranged = RangeRule(max_range_m=isl.max_range_m, clear_radius_m=clear_radius_m)
    rule: IslRule
    if isl.rule == "range" and (isl.across_shells or not constellation.shells):
        rule = ranged
    elif ephemeris.places is not None:
        rule = _grid_of(isl, ephemeris.places.shells, clear_radius_m)
    else:
        patterns = constellation.patterns
        rules: tuple[IslRule, ...] = (ranged,) * len(patterns)
        if isl.rule != "range":
            rules = tuple(Grid.walker(shell, isl, clear_radius_m) for shell in patterns)
        if len(rules) == 1:
            rule = rules[0]
        else:
            rule = WithinShells(rules=rules, satellites=tuple(shell.satellites for shell in patterns))
    return rule if isl.terminals is None else FewTerminals(rule=rule, terminals=isl.terminals)


def _grid_of(isl: Isl, shells: Sequence[FoundShell], clear_radius_m: float | None) -> Grid:
    """Return the +Grid of a file of elements. Each link connects satellites of the same shell."""
    first = list(accumulate((len(shell.slots) for shell in shells), initial=0))
    numbered = list(zip(shells, first, strict=False))
    return Grid(
        slots=[slots for shell in shells for slots in shell.slots],
        beside=[(at + a, at + b, ahead) for shell, at in numbered for a, b, ahead in shell.beside],
        seams=[(at + len(shell.slots) - 1, at) for shell, at in numbered if isl.seam and shell.kind == "star"],
        polar_cutoff_deg=isl.polar_cutoff_deg,
        clear_radius_m=clear_radius_m,
    )


def in_view(ground: Ground, stations: Stations, station: int, satellites_m: EcefMetres) -> NDArray[np.bool_]:
    """Return the satellites that a station reaches by the rule of ``[ground]`` in an allowed direction.

    station: The index of the station.
    satellites_m: float64 array of shape (..., 3), m
    Returns: A bool array of shape (...). With ``ground-range``, the sub-satellite point is within a great-circle
        distance, as in the study's emulator. With ``min-elevation``, the satellite is at least a certain angle above
        the horizon.
    """
    return stations.is_free(station, satellites_m, within_rule(ground, stations, station, satellites_m))


def within_rule(ground: Ground, stations: Stations, station: int, satellites_m: EcefMetres) -> NDArray[np.bool_]:
    """Return the satellites that a station reaches by the rule of ``[ground]``, in any direction."""
    if ground.rule == "ground-range":
        return np.asarray(stations.ground_distances_m(station, satellites_m) <= ground.max_ground_range_m)
    return np.asarray(stations.elevations_deg(station, satellites_m) >= ground.min_elevation_deg)


def lengths_m(positions_m: EcefMetres, pairs: Pairs) -> NDArray[np.float64]:
    """Return the straight distances between pairs of nodes, m. Positions of shape (n, 3) give shape (m,), and positions
    of shape (k, n, 3) give (k, m)."""
    along_m = positions_m[..., pairs[:, 1], :] - positions_m[..., pairs[:, 0], :]
    return np.sqrt(np.einsum("...i,...i->...", along_m, along_m))


def delays_ns(plan: Plan, length_m: NDArray[np.float64], is_ground: NDArray[np.bool_] | bool) -> NDArray[np.int64]:
    """Return the one-way delays of links in ns, as int64 in the shape of `length_m`. The guest uses exactly these
    delays.

    A delay is the length divided by the speed of light, rounded to the nearest ns. With ``network.delay_rounding =
    "ceil-ms"``, it is rounded up to whole ms. Ground links have the delay 0 with ``ground.delay = "zero"`` or
    ``network.endpoints = "satellites"``.

    The speed of light is the one in vacuum, which is right for laser links. For radio, the refraction in the atmosphere
    is neglected (about 2.3 m at the zenith, 8 ns).

    length_m: A float64 array of any shape, m
    is_ground: Whether a link is a ground link: one bool, or a bool array that broadcasts to the shape of `length_m`.
    """
    if plan.network.delay_rounding == "ceil-ms":
        # The emulator of Frederiksen et al. also rounds up: each hop has a `tc ... netem delay` in whole ms.
        delay_ns = np.ceil(length_m / SPEED_OF_LIGHT_M_PER_S * 1e3).astype(np.int64) * 1_000_000
    else:
        delay_ns = np.rint(length_m / SPEED_OF_LIGHT_M_PER_S * 1e9).astype(np.int64)
    # The delay 0 is set last, so that it applies with either rounding: an ideal ground link must not be rounded up to 1
    # ms.
    if plan.ground.delay == "zero" or plan.network.endpoints == "satellites":
        delay_ns = np.where(is_ground, 0, delay_ns)
    return delay_ns
