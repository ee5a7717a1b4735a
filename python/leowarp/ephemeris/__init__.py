# SPDX-License-Identifier: Apache-2.0
"""The positions of all nodes: `ephemeris_of(plan)` gives the positions of satellites and stations, in named frames.

Instants are int64 ns of the run's clock. Positions are float64 in m, in ECEF unless a name says otherwise:

    sky = ephemeris_of(plan)
    sky.positions_ecef_m(np.array([0, 1_000_000_000])).shape      # (instants, satellites, 3)
"""

from leowarp.ephemeris.fibre import FIBRE_INDEX, fibres
from leowarp.ephemeris.frames import EcefMetres
from leowarp.ephemeris.planned import Ephemeris, ephemeris_of, planned_places
from leowarp.ephemeris.stations import Stations
from leowarp.ephemeris.walker import Walker
