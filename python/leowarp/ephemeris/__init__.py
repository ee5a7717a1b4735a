# SPDX-License-Identifier: Apache-2.0
"""Where every node is: `ephemeris(plan)` gives satellites and stations, in named frames."""

from leowarp.ephemeris.frames import EcefMetres, EciMetres, TemeMetres
from leowarp.ephemeris.of_plan import Ephemeris, Orbits, ephemeris
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
    "ephemeris",
]
