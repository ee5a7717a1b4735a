# SPDX-License-Identifier: Apache-2.0
"""Searches for the planes and slots of satellites, if the file of elements does not give them. The search uses gaps
between the mean elements.

Satellites are sorted by inclination and by altitude. A family is a set of satellites in which no gap exceeds 0.1 deg of
inclination or 5 km of altitude. A plane is a part of a family. In a plane, no gap exceeds 1 km of altitude, and no gap
between ascending nodes is large. A gap between nodes is large if it exceeds the family's limit, which is 0.5 to 5 deg.
Gaps within planes are below the limit, and gaps between planes are above it. In the sorted list of gaps, the limit lies
between the two successive gaps with the largest ratio. A plane must have at least half as many satellites as the plane
of the family's median satellite. Slots are fitted to each plane (`ephemeris.slots`). Satellites that rise, sink or
drift belong to no plane, and spare satellites have no slot. Both are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.neighbours import FoundShell, around, linked, mean_node_deg
from leowarp.ephemeris.sgp4_orbits import MeanElements
from leowarp.ephemeris.slots import FIT_SLOTS, NEAR_DEG, Slots, in_slots, number_of_slots

INCLINATION_GAP_DEG = 0.1
"""The gap in inclination that separates shells. Starlink's first two shells are 0.15 deg apart, and satellites of the
same shell are within 0.01 deg (September 2022)."""
SHELL_GAP_M = 5_000.0
"""The gap in altitude that separates shells. OneWeb's planes differ by 4 km, so that satellites do not meet at the
poles. Starlink's shells are 10 km apart."""
PLANE_GAP_M = 1_000.0
"""The gap in altitude that separates planes. At 550 km, satellites that differ by 1 km in altitude drift apart by 1.2
deg per day. Satellites that keep their slots drift less."""
LEAST_NODE_GAP_DEG, MOST_NODE_GAP_DEG = 0.5, 5.0
"""A gap between two nodes that is below the first value never separates planes. A gap above the second value always
does."""
MOST_CHANCE = 0.01
"""Slots are accepted only if an equally good fit by random phases has at most this probability. At 0.01, three evenly
spaced satellites in one plane are enough for slots to be accepted, but two are not."""


def found_shells(orbits: MeanElements) -> list[FoundShell]:
    """Find the shells whose planes have evenly spaced satellites. The shells are sorted by inclination and altitude."""
    shells: list[FoundShell] = []
    inclination, altitude = orbits.inclination_deg, orbits.altitude_m
    for family in _split(
        np.flatnonzero(np.isfinite(altitude)), (inclination, INCLINATION_GAP_DEG), (altitude, SHELL_GAP_M)
    ):
        layers = _split(family, (inclination, INCLINATION_GAP_DEG), (altitude, PLANE_GAP_M))
        bundles = [bundle for layer in layers for bundle in _by_node(orbits.node_deg, layer)]
        # A single rising or sinking satellite looks like a plane of one satellite, and would divide a full plane in
        # two.
        least = _usual([len(bundle) for bundle in bundles]) / 2
        bundles = [bundle for bundle in bundles if len(bundle) >= least]
        middle = np.array([(np.median(inclination[bundle]), np.median(altitude[bundle])) for bundle in bundles])
        for part in _split(np.arange(len(bundles)), (middle[:, 0], INCLINATION_GAP_DEG), (middle[:, 1], SHELL_GAP_M)):
            shell = _shell(orbits, [bundles[number] for number in part])
            shells += [] if shell is None else [shell]
    return shells


def _split(members: NDArray[np.intp], *dimensions: tuple[NDArray[np.float64], float]) -> list[NDArray[np.intp]]:
    """Split members wherever a quantity has a gap, until no part has a gap. Each quantity is (values, gap). The parts
    are in the order of the quantities' values."""
    for values, gap in dimensions:
        order = members[np.argsort(values[members], kind="stable")]
        cuts = np.flatnonzero(np.diff(values[order]) > gap) + 1
        if len(cuts):
            return [part for each in np.split(order, cuts) for part in _split(each, *dimensions)]
    return [members] if len(members) else []


def _by_node(node_deg: NDArray[np.float64], members: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split satellites at gaps between their ascending nodes, by the rule in the module's docstring."""
    order, gaps_deg = around(node_deg, members)
    bounded_deg = np.clip(gaps_deg[:-1], LEAST_NODE_GAP_DEG, MOST_NODE_GAP_DEG)
    steps_deg = np.sort(np.append(bounded_deg, LEAST_NODE_GAP_DEG))
    ratio = steps_deg[1:] / steps_deg[:-1]
    if not (ratio > 1.0).any():
        return [order]
    return np.split(order, np.flatnonzero(bounded_deg >= steps_deg[int(np.argmax(ratio)) + 1]) + 1)


def _usual(sizes: Sequence[int] | NDArray[np.intp]) -> float:
    """For each satellite, take the number of satellites in its plane. Return the median of these numbers. A median over
    planes would become smaller with many small planes, but this result does not."""
    return float(np.median(np.repeat(sizes, sizes))) if np.any(sizes) else 0.0


def _shell(orbits: MeanElements, bundles: list[NDArray[np.intp]]) -> FoundShell | None:
    """Return the shell that these planes form. They have one inclination and similar altitudes. None means that its
    satellites are not evenly spaced."""
    bundles = _one_per_node(orbits, bundles)
    sizes = np.array([len(bundle) for bundle in bundles])
    common = number_of_slots(orbits.phase_deg[np.concatenate(bundles)], np.repeat(np.arange(len(bundles)), sizes))
    fits = [_of_plane(orbits.phase_deg[bundle], common) for bundle in bundles]
    filled, counts = np.array([fit.filled for fit in fits]), np.array([fit.count for fit in fits])
    kept = np.flatnonzero((2 * filled >= sizes) & (2 * filled >= _usual(filled)))
    if 2 * filled[kept].sum() <= sizes.sum() or 2 * filled[kept].sum() < counts[kept].sum():
        return None
    shell = linked(orbits, [bundles[plane] for plane in kept], counts[kept].tolist())
    if counts[kept].max() == 1:
        # A single satellite in a plane is always evenly spaced. A shell with one satellite per plane is accepted only
        # if its planes form a Walker pattern to which all satellites belong.
        return shell if shell.phasing is not None and len(shell.satellites) == len(orbits.node_deg) else None
    return shell if _chance(sizes[kept], filled[kept], counts[kept], common) <= MOST_CHANCE else None


def _chance(sizes: NDArray[np.intp], filled: NDArray[np.intp], counts: NDArray[np.intp], common: int) -> float:
    """Return an upper bound of the probability that satellites with random phases would fill as many slots.

    sizes, filled, counts: Three int arrays of shape (planes,): each plane's number of satellites, of filled slots, and
        of all slots.
    common: The number of slots in most planes.
    """
    # The first satellite of a plane determines where the plane's slots are. It is therefore no evidence that satellites
    # are on slots. If a plane's number of slots differs from `common`, the plane's second satellite determines this
    # number. The second satellite is then no evidence either.
    own = counts[counts != common]
    free = len(sizes) + len(own)
    number, hits = int(sizes.sum()) - free, int(filled.sum()) - free
    near = 2 * min(FIT_SLOTS, NEAR_DEG * int(counts.max()) / 360.0)
    if hits <= near * number:
        return 1.0
    # The result is Chernoff's bound for the tail of a binomial distribution, exp(-n D(h/n || p)) with the relative
    # entropy D, times the number of candidates.
    entropy = hits * math.log(hits / number / near)
    if hits < number:
        entropy += (number - hits) * math.log((1 - hits / number) / (1 - near))
    return math.exp(min(math.log(common) + float(np.log(own).sum()) - entropy, 0.0))


def _one_per_node(orbits: MeanElements, bundles: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """If several planes have the same node, keep the plane with the most satellites."""
    chosen: list[NDArray[np.intp]] = []
    nodes_deg: list[float] = []
    for bundle in sorted(bundles, key=len, reverse=True):
        node_deg = mean_node_deg(orbits, bundle)
        if all(abs((node_deg - other_deg + 180.0) % 360.0 - 180.0) > LEAST_NODE_GAP_DEG for other_deg in nodes_deg):
            chosen.append(bundle)
            nodes_deg.append(node_deg)
    return chosen


def _of_plane(phase_deg: NDArray[np.float64], count: int) -> Slots:
    """Fit slots to a plane. The number of slots is the shell's, or a number that fits this plane better.

    The plane gets its own number of slots only if that number fits more than half of its satellites. The shell's number
    must also fit less than half of them.
    """
    fit = in_slots(phase_deg, count, FIT_SLOTS)
    if 2 * fit.filled < len(phase_deg):
        own = in_slots(phase_deg, number_of_slots(phase_deg, np.zeros(len(phase_deg), dtype=np.intp)), FIT_SLOTS)
        if 2 * own.filled > len(phase_deg):
            return own
    return fit
