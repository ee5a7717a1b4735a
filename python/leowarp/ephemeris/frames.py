# SPDX-License-Identifier: Apache-2.0
"""The reference frames as types, and the only conversions between them.

All three frames have their origin at the Earth's centre and z along its axis:

- *ECI*: inertial, x towards the vernal equinox. Walker patterns are defined in it.
- *TEME*: true equator, mean equinox of date. SGP4 gives positions in this frame.
- *ECEF*: rotates with the Earth, x through Greenwich. All packages that use `ephemeris` get positions in ECEF.

TEME is converted to ECEF by a rotation through Greenwich mean sidereal time (IAU 1982). Polar motion is neglected (at
most 0.6 arc seconds, 15 m on the ground). UT1 - UTC, which is below 0.9 s, is also neglected. In 0.9 s, a point on the
equator moves 420 m. Such an error turns satellites and stations by the same angle, so distances stay the same. The mean
sidereal time is the correct angle, because TEME uses the mean equinox.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NewType

import numpy as np
from numpy.typing import NDArray

EciMetres = NewType("EciMetres", NDArray[np.float64])
"""The positions in ECI, shape (..., 3), m."""
TemeMetres = NewType("TemeMetres", NDArray[np.float64])
"""The positions in TEME, shape (..., 3), m."""
EcefMetres = NewType("EcefMetres", NDArray[np.float64])
"""The positions in ECEF, shape (..., 3), m."""


def turned_to_ecef_m(inertial_m: NDArray[np.float64], greenwich_rad: NDArray[np.float64] | float) -> EcefMetres:
    """Rotate points from an inertial frame to ECEF.

    inertial_m: The positions in ECI or TEME, as a float64 array of shape (k, n, 3) or (n, 3), m
    greenwich_rad: The angle from the inertial x axis to Greenwich, as a float64 array of shape (k,) or a float, rad
    Returns: A float64 array of the shape of `inertial_m`, m
    """
    # The rotation is x_ecef = R3(theta) x_inertial.
    cos, sin = np.cos(greenwich_rad), np.sin(greenwich_rad)
    if np.ndim(greenwich_rad) == 1:
        cos, sin = np.asarray(cos)[:, None], np.asarray(sin)[:, None]
    x, y = inertial_m[..., 0], inertial_m[..., 1]
    ecef_m = np.empty_like(inertial_m)
    ecef_m[..., 0] = cos * x + sin * y
    ecef_m[..., 1] = cos * y - sin * x
    ecef_m[..., 2] = inertial_m[..., 2]
    return EcefMetres(ecef_m)


def julian_date(instant: datetime) -> tuple[float, float]:
    """Return the Julian date of an instant (UTC) as two numbers. The first number is the Julian date of the last
    midnight, which ends in .5. The second number is the time since that midnight, as a fraction of a day.

    With one float, the resolution would be only 40 us. The library `sgp4` takes the two numbers as two arguments.

    Raises ValueError if the instant has no time zone, because Python would take it as the machine's local time.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant} has no time zone")
    instant = instant.astimezone(UTC)
    midnight = datetime(instant.year, instant.month, instant.day, tzinfo=UTC)
    since = instant - midnight
    # Day 1 of Python's ordinals, 0001-01-01 of the proleptic Gregorian calendar, began at JD 1721425.5. A `datetime`
    # cannot represent a leap second (23:59:60), so we treat every UTC day as 86,400 s.
    fraction = (since.seconds * 1_000_000 + since.microseconds) / 86_400e6
    return instant.toordinal() + 1_721_424.5, fraction


def gmst_rad(day: NDArray[np.float64] | float, fraction: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
    """Return the Greenwich mean sidereal time at a Julian date, rad in [0, 2 pi). UT1 is taken as equal to UTC.

    Aoki et al. 1982 (IAU 1982), as in Vallado, Fundamentals of Astrodynamics and Applications, eq. 3-47:
    GMST = 67310.54841 s + (876600 h + 8640184.812866 s) T + 0.093104 s T^2 - 6.2e-6 s T^3.
    """
    days = (np.asarray(day) - _J2000_JD) + fraction
    centuries = days / 36_525.0
    # In the formula, the term of 876600 h per century is one turn per day. The daily turns are computed from the
    # fraction of the day, because a float's 15 digits would not suffice for all turns since 2000.
    turns_s = 86_400.0 * (np.mod(np.asarray(day) - _J2000_JD, 1.0) + fraction)
    seconds = 67_310.54841 + turns_s + centuries * (8_640_184.812866 + centuries * (0.093104 - 6.2e-6 * centuries))
    return np.mod(seconds * (2.0 * math.pi / 86_400.0), 2.0 * math.pi)


def geodetic_to_ecef_m(
    latitude_deg: float, longitude_deg: float, height_m: float, *, equatorial_radius_m: float, flattening: float
) -> EcefMetres:
    """Return the ECEF position, shape (3,), of geodetic coordinates on an ellipsoid of revolution.

    latitude_deg, longitude_deg: The geodetic coordinates, north and east positive.
    height_m: The height above the ellipsoid, along its normal.
    equatorial_radius_m, flattening: The semi-major axis a, and f = 1 - b/a with the semi-minor axis b.

    >>> geodetic_to_ecef_m(0, 90, 100, equatorial_radius_m=6_378_137, flattening=0).round().tolist()
    [0.0, 6378237.0, 0.0]
    """
    latitude_rad, longitude_rad = math.radians(latitude_deg), math.radians(longitude_deg)
    squared_eccentricity = flattening * (2.0 - flattening)
    # N(phi) = a / sqrt(1 - e^2 sin^2 phi): radius of curvature in the prime vertical
    curvature_m = equatorial_radius_m / math.sqrt(1.0 - squared_eccentricity * math.sin(latitude_rad) ** 2)
    equatorial_m = (curvature_m + height_m) * math.cos(latitude_rad)
    return EcefMetres(
        np.array(
            [
                equatorial_m * math.cos(longitude_rad),
                equatorial_m * math.sin(longitude_rad),
                (curvature_m * (1.0 - squared_eccentricity) + height_m) * math.sin(latitude_rad),
            ]
        )
    )


def vertical(latitude_deg: float, longitude_deg: float) -> NDArray[np.float64]:
    """Return the unit vector (ECEF) in the upward direction at a geodetic latitude and longitude, shape (3,).

    By definition, geodetic latitude and longitude give the direction of the ellipsoid's normal, for any flattening.
    """
    latitude_rad, longitude_rad = math.radians(latitude_deg), math.radians(longitude_deg)
    return np.array(
        [
            math.cos(latitude_rad) * math.cos(longitude_rad),
            math.cos(latitude_rad) * math.sin(longitude_rad),
            math.sin(latitude_rad),
        ]
    )


# 2000-01-01T12:00, from which the formula of `gmst_rad` counts centuries.
_J2000_JD = 2_451_545.0

SPEED_OF_LIGHT_M_PER_S = 299_792_458
"""The speed of light, which is exact by the definition of the metre."""

WGS84_EQUATORIAL_RADIUS_M = 6_378_137.0
WGS84_FLATTENING = 1.0 / 298.257223563
"""The semi-major axis and flattening of WGS84: NIMA TR8350.2, third edition, table 3.1."""
