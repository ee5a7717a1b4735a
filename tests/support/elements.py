# SPDX-License-Identifier: Apache-2.0
"""Invented orbital elements for Walker patterns, with different epochs and with errors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sgp4.api import WGS72, Satrec
from sgp4.exporter import export_tle

from leowarp.ephemeris.sgp4_orbits import MeanElements
from leowarp.scenario.schema import Constellation, Shell
from leowarp.scenario.text.key import InputFile

EPOCH = datetime(2025, 6, 1, tzinfo=UTC)
"""The instant at which the orbits have the requested positions."""


@dataclasses.dataclass(frozen=True)
class Orbit:
    """The mean orbital elements that put a satellite at the requested position at `EPOCH`. The epoch of the elements is
    `age_d` days before `EPOCH`."""

    inclination_deg: float
    node_deg: float
    phase_deg: float
    altitude_m: float
    age_d: float = 0.0
    eccentricity: float = 1e-4
    perigee_deg: float = 0.0


def orbits_of(shell: Shell) -> list[Orbit]:
    """Return the orbits of a Walker pattern, in the order of the pattern."""
    nodes_over_deg = 180.0 if shell.pattern == "star" else 360.0
    return [
        Orbit(
            inclination_deg=shell.inclination_deg,
            node_deg=shell.node_offset_deg + nodes_over_deg * plane / shell.planes,
            phase_deg=360.0 * slot / shell.satellites_per_plane + 360.0 * shell.phasing * plane / shell.satellites,
            altitude_m=shell.altitude_m,
        )
        for plane in range(shell.planes)
        for slot in range(shell.satellites_per_plane)
    ]


def disturbed(orbits: Sequence[Orbit], draw: np.random.Generator) -> list[Orbit]:
    """Return copies of the orbits with random errors, and with epochs up to five days earlier."""
    n = len(orbits)
    node_deg, phase_deg, inclination_deg = (draw.normal(0, sigma, n) for sigma in (0.03, 0.15, 0.005))
    return [
        dataclasses.replace(
            orbit,
            inclination_deg=min(max(orbit.inclination_deg + inclination_deg[i], 0.0), 180.0),
            node_deg=orbit.node_deg + node_deg[i],
            phase_deg=orbit.phase_deg + phase_deg[i],
            altitude_m=orbit.altitude_m + draw.normal(0, 30.0),
            age_d=draw.uniform(0, 5),
            eccentricity=draw.uniform(0, 1e-3),
            perigee_deg=draw.uniform(0, 360),
        )
        for i, orbit in enumerate(orbits)
    ]


def mean_elements(orbits: Sequence[Orbit]) -> MeanElements:
    """Return the exact values that `Sgp4Orbits.mean_elements` should return at `EPOCH`."""
    rows = [(one.inclination_deg, one.altitude_m, one.node_deg % 360, one.phase_deg % 360) for one in orbits]
    return MeanElements(*np.array(rows).T)


def satrec(orbit: Orbit, number: int = 1) -> Satrec:
    """Return an SGP4 satellite of the package `sgp4`. The satellite's epoch is `orbit.age_d` days before `EPOCH`."""
    axis_m = 6_378_135.0 + orbit.altitude_m
    motion_rad_per_min = 60 * math.sqrt(398_600.8e9 / axis_m**3)
    since = EPOCH - timedelta(days=orbit.age_d) - datetime(1949, 12, 31, tzinfo=UTC)

    def made(node_deg: float, perigee_deg: float, anomaly_deg: float) -> Satrec:
        angles = [math.radians(each % 360.0) for each in (perigee_deg, orbit.inclination_deg, anomaly_deg, node_deg)]
        made = Satrec()
        made.sgp4init(
            WGS72, "i", number, since / timedelta(days=1), 0.0, 0.0, 0.0, orbit.eccentricity, *angles[:3],
            motion_rad_per_min, angles[3],
        )  # fmt: skip
        return made

    # The elements are computed back by SGP4's own rates of change. At `EPOCH`, they therefore reach the requested plane
    # and position.
    rates = made(orbit.node_deg, orbit.perigee_deg, orbit.phase_deg - orbit.perigee_deg)
    back_min = orbit.age_d * 1440.0
    node_deg = orbit.node_deg - math.degrees(rates.nodedot) * back_min
    anomaly_deg = orbit.phase_deg - orbit.perigee_deg - math.degrees(rates.mdot + rates.argpdot) * back_min
    return made(node_deg, orbit.perigee_deg, anomaly_deg)


def written(
    path: Path, orbits: Sequence[Orbit], order: NDArray[np.intp] | None = None, header: str | None = None
) -> Constellation:
    """Write the orbits to a file with three lines per satellite, and return the constellation of this file. The i-th
    satellite of `orbits` has the name ``S-i``, independent of `order`."""
    lines = [] if header is None else [header]
    for i in range(len(orbits)) if order is None else order.tolist():
        lines += [f"S-{i}", *export_tle(satrec(orbits[i], i + 1))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    file = InputFile(name=path.name, sha256="0" * 64, path=path)
    return Constellation(tle=file, epoch=EPOCH.isoformat().replace("+00:00", "Z"), earth="wgs84")
