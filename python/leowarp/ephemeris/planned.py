# SPDX-License-Identifier: Apache-2.0
"""The ephemeris of a plan: the orbits of its satellites, its stations, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.frames import EcefMetres, EciMetres, TemeMetres, gmst_rad, julian_date
from leowarp.ephemeris.stations import Stations, stations_on
from leowarp.ephemeris.walker import Shells, Walker
from leowarp.scenario.schema import Constellation, Plan, Shell

if TYPE_CHECKING:
    from leowarp.ephemeris.places import Places
    from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits


@dataclass(frozen=True, kw_only=True)
class Ephemeris:
    """The position of every satellite and every station, on the run's clock.

    names: The names of the satellites, in the order of the positions: ``s-PP-SS`` for a single Walker pattern,
        ``s-K-PP-SS`` for the K-th of several patterns.
    warnings: Texts that say which planes were found, and what a user should check before trusting the positions.
    places: For a file of elements, the planes and slots that were found for its satellites. If no link of the plan
        depends on planes and slots, the value is None.
    """

    orbits: Walker | Shells | Sgp4Orbits
    names: list[str]
    stations: Stations
    warnings: tuple[str, ...] = ()
    places: Places | None = None

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        """Return the positions of satellites in ECEF, float64, m. For one instant (ns of the run's clock), the shape is
        (n, 3). For k instants, it is (k, n, 3)."""
        return self.orbits.positions_ecef_m(t_ns)

    def positions_eci_m(self, t_ns: int | NDArray[np.int64]) -> EciMetres | TemeMetres:
        """Return the positions of satellites in the inertial frame (ECI or TEME), float64, m. The shape is the same as
        for `positions_ecef_m`."""
        return self.orbits.positions_eci_m(t_ns)


def ephemeris_of(plan: Plan) -> Ephemeris | None:
    """Return the positions of all nodes of a plan, or None for a plan without a constellation.

    Raises ScenarioError if the file of elements cannot be read or is malformed, or if SGP4 cannot propagate one of its
    satellites. Also raised if the plan has a +Grid, but its planes and slots cannot be found.
    """
    constellation = plan.constellation
    if constellation is None:
        return None
    stations = stations_on(constellation.earth, constellation.earth_radius_m, plan.medium.places(plan.stations))
    epoch = datetime.fromisoformat(constellation.epoch).replace(tzinfo=UTC)
    if constellation.tle is None:
        patterns = tuple(_walker(shell, constellation, epoch, plan.run.start_ns) for shell in constellation.patterns)
        # If the constellation has only one pattern, the names contain no shell number.
        shells: Walker | Shells = Shells(shells=patterns) if constellation.shells else patterns[0]
        return Ephemeris(orbits=shells, names=shells.names, stations=stations)
    # SGP4 and the formats of elements are imported only here. For a short run that does not need them, the import would
    # take a fiftieth of the run's time.
    from leowarp.ephemeris.places import places_of
    from leowarp.ephemeris.selection import selected

    orbits, warnings = selected(constellation, plan.run)
    places = places_of(orbits) if plan.isl.rule == "plus-grid" else None
    if places is not None:
        warnings += places.sentences
    return Ephemeris(orbits=orbits, names=orbits.names, stations=stations, warnings=warnings, places=places)


def planned_places(plan: Plan) -> Places | None:
    """Return the planes and slots of a plan's file of elements. None means that there is no file, or that the links
    need no planes.

    Raises ScenarioError in the same cases as `ephemeris_of`.
    """
    if plan.constellation is None or plan.constellation.tle is None or plan.isl.rule != "plus-grid":
        return None
    sky = ephemeris_of(plan)
    return None if sky is None else sky.places


def _walker(shell: Shell, constellation: Constellation, epoch: datetime, start_ns: int) -> Walker:
    """Return the Walker pattern of a shell. If the plan's `greenwich` is "gmst", the epoch gives the angle of
    Greenwich."""
    if constellation.greenwich_deg is None:
        greenwich_rad = float(gmst_rad(*julian_date(epoch)))
    else:
        greenwich_rad = math.radians(constellation.greenwich_deg)
    return Walker(
        planes=shell.planes,
        satellites_per_plane=shell.satellites_per_plane,
        radius_m=constellation.earth_radius_m + shell.altitude_m,
        inclination_rad=math.radians(shell.inclination_deg),
        # In a star, the ascending nodes of all planes lie on one half of the equator. The descending nodes lie on the
        # other half.
        ascending_nodes_over_deg=180.0 if shell.pattern == "star" else 360.0,
        phasing=shell.phasing,
        node_offset_rad=math.radians(shell.node_offset_deg),
        mu_m3_per_s2=constellation.mu_m3_per_s2,
        earth_rotation_rad_per_s=constellation.earth_rotation_rad_per_s,
        greenwich_rad=greenwich_rad,
        start_ns=start_ns,
    )
