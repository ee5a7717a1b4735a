# SPDX-License-Identifier: Apache-2.0
"""The plane and slot of each satellite in a file of elements, from the file's header or from the elements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.neighbours import FoundShell, around, ordered_shell
from leowarp.ephemeris.planes import MOST_NODE_GAP_DEG, found_shells
from leowarp.ephemeris.sgp4_orbits import MeanElements, Sgp4Orbits

_NAMED = 5
"""The most satellites without a slot that a warning names. `leowarp ephemeris` prints all of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """The planes and slots of the satellites of a file.

    shells: The shells, sorted by inclination and altitude.
    shell, plane, slot: The shell, plane and slot of each satellite, from 0, as int arrays of shape (n,). -1 means that
        the satellite has no slot.
    sentences: The sentences that describe the found planes and the satellites without a slot.
    """

    shells: tuple[FoundShell, ...]
    shell: NDArray[np.intp]
    plane: NDArray[np.intp]
    slot: NDArray[np.intp]
    sentences: tuple[str, ...]

    def name(self, satellite: int) -> str | None:
        """Return the name ``K-PP-SS`` of a satellite's slot, or None if the satellite has no slot. The shell K counts
        from 1, as in a constellation of several Walker patterns."""
        if self.shell[satellite] < 0:
            return None
        return f"{self.shell[satellite] + 1}-{self.plane[satellite]:02d}-{self.slot[satellite]:02d}"


def places_of(orbits: Sgp4Orbits) -> Places:
    """Find planes and slots from the satellites' orbits at the run's time 0.

    Raises ScenarioError if too few satellites are evenly spaced, or if the satellites' order contradicts the file's
    header.
    """
    elements = orbits.mean_elements()
    if orbits.header is None:
        shells = found_shells(elements)
    else:
        _check_order(orbits.file, orbits.header, elements)
        shells = [ordered_shell(elements, *orbits.header)]
    if not shells:
        raise ScenarioError(
            f'{orbits.file}: isl.rule = "plus-grid" finds no planes: of {len(orbits.names)} satellites too few of one '
            "altitude and inclination are evenly spaced",
            'set isl.rule = "range", perhaps with isl.terminals = 4, or isl.rule = "none"',
        )
    places = np.full((3, len(orbits.names)), -1)
    for number, shell in enumerate(shells):
        for plane, satellites in enumerate(shell.slots):
            slots = np.flatnonzero(satellites >= 0)
            places[0, satellites[slots]], places[1, satellites[slots]] = number, plane
            places[2, satellites[slots]] = slots
    # The sentences below name the elements' file without its directory. These sentences are stored in a run's tables,
    # which must not depend on the file's directory.
    file = Path(orbits.file).name
    sentences = [f"{file}: {_sentence(shell, orbits.header)}" for shell in shells]
    left = [orbits.names[satellite] for satellite in np.flatnonzero(places[0] < 0)]
    if left:
        more = f" and {len(left) - _NAMED} more (leowarp ephemeris names them)" if len(left) > _NAMED else ""
        sentences.append(
            f"{file}: {len(left)} of {len(orbits.names)} satellites are in no slot and have no links to others: "
            f"{', '.join(left[:_NAMED])}{more}"
        )
    return Places(shells=tuple(shells), shell=places[0], plane=places[1], slot=places[2], sentences=tuple(sentences))


def _check_order(file: str, header: tuple[int, int], elements: MeanElements) -> None:
    """Check that the file lists the satellites plane by plane, as its header says."""
    for plane, members in enumerate(np.arange(header[0] * header[1]).reshape(header)):
        _, gaps_deg = around(elements.node_deg, members)
        apart_deg = 360.0 - gaps_deg[-1]
        if apart_deg > MOST_NODE_GAP_DEG:
            raise ScenarioError(
                f"{file}:1: the first line says {header[0]} x {header[1]} satellites, plane by plane, but the nodes of "
                f"satellites {members[0]} to {members[-1]} (plane {plane}) are {apart_deg:.1f} deg apart",
                "bring the satellites into the order of their planes, or take the first line out",
            )


def _sentence(shell: FoundShell, header: tuple[int, int] | None) -> str:
    counts = sorted({len(slots) for slots in shell.slots})
    slots = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    empty = sum(int(np.count_nonzero(slots < 0)) for slots in shell.slots)
    text = (
        f"{len(shell.slots)} {'plane' if len(shell.slots) == 1 else 'planes'} of {slots} slots at "
        f"{shell.inclination_deg:.1f} deg, {shell.altitude_m / 1e3:.0f} km"
    )
    if header is not None:
        return f"+Grid of {text}, as the first line says; links join equal slots"
    if shell.spacing_deg is not None:
        text += f", {shell.spacing_deg:.1f} deg apart {_KINDS[shell.kind]}"
        text += f", phasing F = {shell.phasing}" if shell.phasing is not None else ", no common phasing"
    return f"+Grid found in the elements: {text}; {len(shell.satellites)} satellites, {empty} empty slots"


_KINDS = {"delta": "all around", "star": "over half a turn", "part": "over a part of a turn"}
