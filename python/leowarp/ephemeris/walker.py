# SPDX-License-Identifier: Apache-2.0
"""The Walker patterns, alone or several together. They have circular Kepler orbits in P planes of S satellites. The
phases of the satellites follow from the parameter F.

Plane p has its ascending node at ``node_offset + p * 180/P`` deg (star) or ``p * 360/P`` deg (delta); satellite s of
plane p starts at argument of latitude ``360 s/S + 360 F p/(P S)`` deg. The second formula applies to stars and to
deltas.

J. G. Walker, Satellite constellations, J. British Interplanetary Society 37, 1984 (i: t/p/f).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris.frames import EcefMetres, EciMetres, turned_to_ecef_m


@dataclass(frozen=True, kw_only=True)
class Walker:
    """A Walker pattern and its clock. Satellites are numbered plane by plane, beginning with plane 0.

    planes, satellites_per_plane: The numbers P and S.
    radius_m: The radius of the orbits, from the Earth's centre.
    ascending_nodes_over_deg: The angle over which the ascending nodes are spread: 180 for a star, 360 for a delta.
    phasing: Walker's F. Published sources often do not give F. Each preset documents its value of F.
    node_offset_rad: The right ascension of plane 0's ascending node.
    mu_m3_per_s2, earth_rotation_rad_per_s: The gravitational parameter and rotation rate of the Earth. By default, the
        parameter is WGS84's.
    start_ns: The time on the constellation's clock when the run's clock is 0.
    greenwich_rad: The right ascension of Greenwich when the *constellation's* clock is 0.
    """

    planes: int
    satellites_per_plane: int
    radius_m: float
    inclination_rad: float
    ascending_nodes_over_deg: float
    phasing: int = 0
    node_offset_rad: float = 0.0
    mu_m3_per_s2: float = 398_600.4418e9
    earth_rotation_rad_per_s: float = 7.2921158553e-5
    greenwich_rad: float = 0.0
    start_ns: int = 0

    @property
    def names(self) -> list[str]:
        """The names ``s-PP-SS``, in the order of the positions."""
        return [f"s-{p:02d}-{s:02d}" for p in range(self.planes) for s in range(self.satellites_per_plane)]

    @property
    def period_s(self) -> float:
        """The duration of one revolution in the inertial frame, s."""
        # T = 2 pi sqrt(a^3 / mu)
        return 2.0 * math.pi * math.sqrt(self.radius_m**3 / self.mu_m3_per_s2)

    def positions_eci_m(self, t_ns: int | NDArray[np.int64]) -> EciMetres:
        """Return the positions in ECI, m, at instants of the run's clock. The shape is (n, 3), or (k, n, 3) for k
        instants."""
        # A formula gives each position from its time, without integration, so errors do not grow over a run.
        clock_s = self._clock_s(t_ns)
        plane = np.repeat(np.arange(self.planes), self.satellites_per_plane)
        slot = np.tile(np.arange(self.satellites_per_plane), self.planes)
        node_rad = self.node_offset_rad + np.radians(self.ascending_nodes_over_deg) * plane / self.planes
        # Argument of latitude at clock 0: u0 = 360 s/S + 360 F p/(P S) = 360 (s P + F p) / (P S) deg.
        total = self.planes * self.satellites_per_plane
        # The angle `start_rad` is reduced to one turn in integers, so that slots of equal phase in different planes
        # have exactly equal floats.
        start_rad = 2.0 * math.pi * ((slot * self.planes + self.phasing * plane) % total) / total
        latitude_argument_rad = start_rad + (2.0 * math.pi / self.period_s) * clock_s[..., None]
        # Position r = a (cos u P + sin u Q), with unit vector P towards the ascending node and Q a quarter turn ahead
        # of P.
        cos_u, sin_u = np.cos(latitude_argument_rad), np.sin(latitude_argument_rad)
        cos_node, sin_node = np.cos(node_rad), np.sin(node_rad)
        cos_i, sin_i = math.cos(self.inclination_rad), math.sin(self.inclination_rad)
        eci_m = np.empty((*cos_u.shape, 3))
        eci_m[..., 0] = cos_u * cos_node - sin_u * (cos_i * sin_node)
        eci_m[..., 1] = cos_u * sin_node + sin_u * (cos_i * cos_node)
        eci_m[..., 2] = sin_u * sin_i
        eci_m *= self.radius_m
        return EciMetres(eci_m)

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        greenwich_rad = self.greenwich_rad + self.earth_rotation_rad_per_s * self._clock_s(t_ns)
        return turned_to_ecef_m(self.positions_eci_m(t_ns), greenwich_rad)

    def _clock_s(self, t_ns: int | NDArray[np.int64]) -> NDArray[np.float64]:
        # Times are added as integers and then divided once, because a float of many seconds cannot represent
        # nanoseconds.
        return (np.asarray(t_ns, dtype=np.int64) + self.start_ns) / 1e9


@dataclass(frozen=True, kw_only=True)
class Shells:
    """Several Walker patterns that share the clock, the Earth's parameters and the angle of Greenwich, in the order of
    the plan. The satellites of the first shell come first."""

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
        return EciMetres(np.concatenate([shell.positions_eci_m(t_ns) for shell in self.shells], axis=-2))

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        return EcefMetres(np.concatenate([shell.positions_ecef_m(t_ns) for shell in self.shells], axis=-2))
