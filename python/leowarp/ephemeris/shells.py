# SPDX-License-Identifier: Apache-2.0
"""Several Walker patterns as one constellation: first the satellites of the first shell, then those of the second,
..."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.frames import EcefMetres, EciMetres
from leowarp.ephemeris.walker import Walker


@dataclass(frozen=True, kw_only=True)
class Shells:
    """Walker patterns that have the same clock, Earth and angle of Greenwich.

    shells: Shells in the order of the plan.
    """

    shells: tuple[Walker, ...]

    @property
    def names(self) -> list[str]:
        """Names ``s-K-PP-SS`` in the order of the positions; K is the number of the shell from 1, as in filings."""
        return [
            f"s-{number}-{name.removeprefix('s-')}"
            for number, shell in enumerate(self.shells, 1)
            for name in shell.names
        ]

    def positions_eci_m(self, t_ns: int | NDArray[np.int64]) -> EciMetres:
        """Satellite positions in ECI at instants of the run's clock: (n, 3), or (k, n, 3) for k instants; m."""
        return EciMetres(np.concatenate([shell.positions_eci_m(t_ns) for shell in self.shells], axis=-2))

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        """Satellite positions in ECEF at instants of the run's clock: (n, 3), or (k, n, 3) for k instants; m."""
        return EcefMetres(np.concatenate([shell.positions_ecef_m(t_ns) for shell in self.shells], axis=-2))
