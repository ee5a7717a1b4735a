# SPDX-License-Identifier: Apache-2.0
"""The positions of all nodes: `ephemeris_of(plan)` gives the positions of satellites and stations, in named frames.

Instants are int64 ns of the run's clock. Positions are float64 in m, in ECEF unless a name says otherwise:

    sky = ephemeris_of(plan)
    sky.positions_ecef_m(np.array([0, 1_000_000_000])).shape      # (instants, satellites, 3)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leowarp.ephemeris.fibre import FIBRE_INDEX, fibres
from leowarp.ephemeris.frames import EcefMetres
from leowarp.ephemeris.planned import Ephemeris, ephemeris_of, planned_places
from leowarp.ephemeris.stations import Stations
from leowarp.ephemeris.walker import Walker

if TYPE_CHECKING:
    from leowarp.ephemeris.neighbours import FoundShell
    from leowarp.ephemeris.places import Places
    from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits

_OF_ELEMENTS = {"FoundShell": "neighbours", "Places": "places", "Sgp4Orbits": "sgp4_orbits"}


def __getattr__(name: str) -> Any:
    # The module is imported only when it is used, because few constellations come from files of elements.
    if name not in _OF_ELEMENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OF_ELEMENTS[name]}"), name)
