# SPDX-License-Identifier: Apache-2.0
"""A constellation of several Walker patterns, with the satellites of the first shell first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.frames import EcefMetres, EciMetres
from leowarp.ephemeris.walker import Walker


@dataclass(frozen=True, kw_only=True)
class Shells:
    """Several Walker patterns that share the clock, the Earth's parameters and the angle of Greenwich.

    shells: The shells in the order of the plan.
    """

    shells: tuple[Walker, ...]

    @property
    def names(self) -> list[str]:
        """The names ``s-K-PP-SS`` in the order of the positions. K is the number of the shell from 1, as in filings."""
        return [
            f"s-{number}-{name.removeprefix('s-')}"
            for number, shell in enumerate(self.shells, 1)
            for name in shell.names
        ]

    def positions_eci_m(self, t_ns: int | NDArray[np.int64]) -> EciMetres:
        """Return the positions in ECI, m, at instants of the run's clock. The shape is (n, 3), or (k, n, 3) for k
        instants."""
        return EciMetres(np.concatenate([shell.positions_eci_m(t_ns) for shell in self.shells], axis=-2))

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        """Return the positions in ECEF, m, at instants of the run's clock. The shape is (n, 3), or (k, n, 3) for k
        instants."""
        return EcefMetres(np.concatenate([shell.positions_ecef_m(t_ns) for shell in self.shells], axis=-2))
