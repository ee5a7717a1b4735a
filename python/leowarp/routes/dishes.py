# SPDX-License-Identifier: Apache-2.0
"""Stations that reach one satellite at a time, on their own schedule: dishes of an access network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Dish:
    """A station's satellites during a run.

    station: Index of the station among all stations.
    begin_ns: int64 array of shape (k,). Reconfigurations of the dish on the run's clock, ascending; the first is at or
        before 0.
    satellites: int array of shape (k,). The satellite from each of these instants on.
    fixed_ns: One-way delay of the ground link in addition to propagation.
    """

    station: int
    begin_ns: NDArray[np.int64]
    satellites: NDArray[np.intp]
    fixed_ns: int

    def seen(self, t_ns: NDArray[np.int64], satellites: int) -> NDArray[np.bool_]:
        """The satellite in use at each instant, as a mask of shape (len(t_ns), satellites)."""
        now = self.satellites[np.searchsorted(self.begin_ns, t_ns, side="right") - 1]
        return np.asarray(now[:, None] == np.arange(satellites))

    def is_reconfigured(self, t_ns: int) -> bool:
        """Whether another slot begins at this instant."""
        return bool((self.begin_ns == t_ns).any())
