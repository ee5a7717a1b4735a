# SPDX-License-Identifier: Apache-2.0
"""The directions in which a station may not use a satellite. The satellite would be behind an obstruction, or too near
to the geostationary arc.

SpaceX told the FCC its rule (SAT-MOD-20200417-00037, technical attachment): satellites and terminals do not transmit
within 22 degrees of the direction of a geostationary satellite. STK can check the same constraint. As in STK, every
point of the geostationary arc above the horizon is included, even if no satellite is there. An obstruction map is like
STK's azimuth-elevation mask: for each azimuth, the lowest elevation with a free view.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError

COLUMNS = ("azimuth_deg", "elevation_deg")
"""The columns of an obstruction map. The azimuth is 0 in the north and 90 deg in the east."""
MOST_ROWS = 36_000
"""The maximum number of rows in an obstruction map. This number allows one row per hundredth of a degree."""
GEOSTATIONARY_RADIUS_M = 42_164_170.0
"""The radius of an orbit whose period is a sidereal day: (mu / omega^2)^(1/3), with mu and omega of WGS84."""
_STEP_DEG = 0.1
"""The angle in degrees between two neighbouring points. These points represent the geostationary arc. A direction's
angle to the nearest of these points is larger than its angle to the arc. The difference is at most 0.06 deg, or 0.001
deg if the angle is at least 1 deg."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sky:
    """The directions in which a station may use satellites.

    east, north, up: The unit vectors in these directions at the station, float64 arrays of shape (3,).
    arc: The unit vectors from the station to points of the geostationary arc above the horizon, float64 array of shape
        (k, 3).
    separation_deg: The minimum angle between a usable direction and every point of the arc.
    azimuths_deg, elevations_deg: The obstruction map for azimuths from -360 to 720, float64 arrays of shape (m,). They
        are empty if there is no map.
    """

    east: NDArray[np.float64]
    north: NDArray[np.float64]
    up: NDArray[np.float64]
    arc: NDArray[np.float64]
    separation_deg: float
    azimuths_deg: NDArray[np.float64]
    elevations_deg: NDArray[np.float64]

    def is_open(self, sight_m: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for each direction whether the station may use a satellite there.

        sight_m: The vectors from the station to satellites, float64 array of shape (m, 3).
        Returns: A bool array of shape (m,).
        """
        toward = sight_m / np.linalg.norm(sight_m, axis=-1, keepdims=True)
        free = np.ones(len(toward), dtype=bool)
        if len(self.arc) and len(toward):
            free &= (toward @ self.arc.T).max(axis=1) <= math.cos(math.radians(self.separation_deg))
        if len(self.azimuths_deg):
            azimuth_deg = np.degrees(np.arctan2(toward @ self.east, toward @ self.north)) % 360
            elevation_deg = np.degrees(np.arcsin(np.clip(toward @ self.up, -1.0, 1.0)))
            free &= elevation_deg >= np.interp(azimuth_deg, self.azimuths_deg, self.elevations_deg)
        return free


def sky_of(
    position_m: NDArray[np.float64], up: NDArray[np.float64], separation_deg: float | None, obstructions: Path | None
) -> Sky | None:
    """Return the sky of a station at rest, or None if nothing limits the view.

    position_m, up: The position and vertical of the station, ECEF, float64 arrays of shape (3,).
    separation_deg: The smallest allowed angle to the geostationary arc. None means no limit.
    obstructions: A file with an obstruction map (see `read_obstructions`). None means no map.
    Raises ScenarioError if the file is not a valid map.
    """
    if separation_deg is None and obstructions is None:
        return None
    # At a pole, north and east are undefined; we choose the east of the meridian of 0 degrees.
    east = np.cross([0.0, 0.0, 1.0], up) if np.hypot(*up[:2]) > 0 else np.array([0.0, 1.0, 0.0])
    east = east / np.linalg.norm(east)
    arc = np.empty((0, 3))
    if separation_deg is not None:
        longitude_rad = np.radians(np.arange(0.0, 360.0, _STEP_DEG))
        circle = np.column_stack([np.cos(longitude_rad), np.sin(longitude_rad), np.zeros(len(longitude_rad))])
        sight_m = circle * GEOSTATIONARY_RADIUS_M - position_m
        arc = sight_m[sight_m @ up >= 0] / np.linalg.norm(sight_m[sight_m @ up >= 0], axis=-1, keepdims=True)
    azimuths_deg = elevations_deg = np.empty(0)
    if obstructions is not None:
        azimuths_deg, elevations_deg = read_obstructions(obstructions)
        # The map is repeated one turn before and one turn after, so that it can be interpolated across north.
        azimuths_deg = np.concatenate([azimuths_deg - 360, azimuths_deg, azimuths_deg + 360])
        elevations_deg = np.tile(elevations_deg, 3)
    return Sky(
        east=east, north=np.cross(up, east), up=up, arc=arc, separation_deg=separation_deg or 0.0,
        azimuths_deg=azimuths_deg, elevations_deg=elevations_deg,
    )  # fmt: skip


def read_obstructions(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the azimuths and the lowest free elevations of an obstruction map, deg. The azimuths ascend from 0 to below
    360.

    path: A CSV table with the columns `COLUMNS`, in any order of rows. A row with azimuth 360 is read as one with
        azimuth 0. Lines that are empty or begin with # are ignored.
    Raises ScenarioError, with the line, if the file is not a valid map.
    """
    found: dict[float, float] = {}
    lines = (
        (number, line) for number, line in enumerate(_text(path).splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    )  # fmt: skip
    header: list[str] | None = None
    for number, line in lines:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if header is None:
            header = cells
            if sorted(header) != sorted(COLUMNS):
                raise _refused(path, number, f"has the columns {', '.join(header)!r:.80}")
            continue
        if len(cells) != len(header):
            raise _refused(path, number, f"has {len(cells)} values")
        row = dict(zip(header, cells, strict=True))
        azimuth_deg = _number(path, number, row["azimuth_deg"], 0, 360) % 360
        elevation_deg = _number(path, number, row["elevation_deg"], -90, 90)
        if found.setdefault(azimuth_deg, elevation_deg) != elevation_deg:
            raise _refused(path, number, f"says again what is free at an azimuth of {azimuth_deg:g}, and otherwise")
        if len(found) > MOST_ROWS:
            raise _refused(path, number, f"is one of more than {MOST_ROWS} rows")
    if not found:
        raise ScenarioError(f"{path.name} has no row of an obstruction map", _HINT)
    azimuths_deg = np.array(sorted(found))
    return azimuths_deg, np.array([found[azimuth_deg] for azimuth_deg in azimuths_deg.tolist()])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"cannot read {path.name} as an obstruction map: {error}", _HINT) from error


def _number(path: Path, line: int, text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise _refused(path, line, f'has "{text:.40}", which is no angle from {low:g} to {high:g}')
    return value


def _refused(path: Path, line: int, what: str) -> ScenarioError:
    return ScenarioError(f"{path.name}, line {line}: {what}", _HINT)


_HINT = "an obstruction map is a CSV table with the columns azimuth_deg,elevation_deg, such as a row 90,35"
