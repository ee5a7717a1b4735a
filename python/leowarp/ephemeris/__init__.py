# SPDX-License-Identifier: Apache-2.0
"""Where every node is: `ephemeris_of(plan)` gives satellites and stations, in named frames."""

from leowarp.ephemeris.frames import EcefMetres, EciMetres, TemeMetres
from leowarp.ephemeris.planned import Ephemeris, Orbits, ephemeris_of
from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits
from leowarp.ephemeris.stations import Stations
from leowarp.ephemeris.walker import Walker

__all__ = [
    "EcefMetres",
    "EciMetres",
    "Ephemeris",
    "Orbits",
    "Sgp4Orbits",
    "Stations",
    "TemeMetres",
    "Walker",
    "ephemeris_of",
]
