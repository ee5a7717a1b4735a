# SPDX-License-Identifier: Apache-2.0
"""The dishes: stations that use one satellite at a time, according to the schedule of their access network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Dish:
    """The satellites that a dish uses during a run.

    station: The index of the station among all stations.
    begin_ns: The times of the dish's reconfigurations on the run's clock, ascending, int64 array of shape (k,). The
        first reconfiguration is at or before time 0.
    satellites: The satellite that the dish uses in each slot, int array of shape (k,). The slots begin at `begin_ns`.
    fixed_ns: The part of the ground link's one-way delay that is added to the propagation delay.
    """

    station: int
    begin_ns: NDArray[np.int64]
    satellites: NDArray[np.intp]
    fixed_ns: int

    def seen(self, t_ns: NDArray[np.int64], satellites: int) -> NDArray[np.bool_]:
        """Return a mask of shape (len(t_ns), satellites). At each instant, the mask is True only for the satellite that
        the dish uses."""
        now = self.satellites[np.searchsorted(self.begin_ns, t_ns, side="right") - 1]
        return np.asarray(now[:, None] == np.arange(satellites))
