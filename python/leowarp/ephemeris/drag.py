# SPDX-License-Identifier: Apache-2.0
"""Checks on SGP4's drag: limits beyond which a mean orbit has decayed or grown implausibly.

SGP4 multiplies the semi-major axis by the square of a polynomial in the time since the epoch (Spacetrack Report 3,
section 6; `tempa` in Vallado's code). Far from the epoch, the value of the polynomial is negative, but its square is
positive. In SGP4, a satellite that has fallen into the Earth rises again to any height. The error code is then 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sgp4.api import Satrec

LEAST_HEIGHT_KM = 100.0
"""The minimum height of a mean orbit, in km. This height is the Karman line, below which nothing orbits. A satellite
with a lower mean orbit has decayed."""
MOST_GROWTH = 1.1
"""The maximum factor by which the semi-major axis may have grown since the epoch. If the factor is larger, SGP4 has
extrapolated drag too far, and the orbit is not real. In a low orbit, the factor 1.1 means an increase of 690 km. No
real orbit changes so fast: ion engines raise an orbit by 100 km per month. Drag takes weeks to lower a transfer orbit
with a period of 10 h by 10 %, and the orbit decays only afterwards."""
_STEADY = 0.02
"""If the semi-major axis changes by at most this share, a check of a few instants is enough. SGP4 models drag by a
polynomial of degree four, whose value falls faster and faster. Before the polynomial reaches 0, at least one of four
evenly spaced instants shows a larger change than this share."""
_FEW, _MANY = 4, 64
"""The number of instants to check between the epoch and each end of the run. The first number is for a steady orbit,
the second for any other orbit."""
_SHORT_PERIOD = 0.01
"""A satellite's largest distance is computed with the eccentricity plus this number. The number is a fraction of the
radius. J2's periodic terms change the radius by up to 20 km in low orbits, which is less than a hundredth of the
radius."""
_MINUTES_PER_DAY = 1440.0


def fall_of(orbit: Satrec, ends_d: NDArray[np.float64]) -> str | None:
    """If a mean orbit ends before the end of the run, return the reason. None means that the orbit lasts to the end of
    the run.

    orbit: The satellite's SGP4 object. SGP4 propagates this object to other instants, so the object is modified.
    ends_d: The Julian dates of start and end of the run, UTC, as a float64 array of shape (2,).
    """
    since_min = (ends_d - orbit.jdsatepoch - orbit.jdsatepochF) * _MINUTES_PER_DAY
    spans_min = [float(span) for span in (min(since_min[0], 0.0), max(since_min[1], 0.0)) if span]
    first_km = _axes_km(orbit, [0.0])[0]
    few_km = [axis for span in spans_min for axis in _axes_km(orbit, _instants(span, _FEW))]
    # If the height is implausible at the epoch already, SGP4 itself reports an error.
    least_km = min(orbit.radiusearthkm + LEAST_HEIGHT_KM, first_km)
    if all(abs(axis / first_km - 1.0) <= _STEADY and axis >= least_km for axis in few_km):
        return None
    # Instants are checked from the epoch outwards, because the polynomial has no meaning beyond the end of the orbit.
    for span in spans_min:
        instants_min = _instants(span, _MANY)
        for instant_min, axis_km in zip(instants_min, _axes_km(orbit, instants_min), strict=True):
            side = "after" if span > 0 else "before"
            when = f"{abs(instant_min) / _MINUTES_PER_DAY:.1f} days {side} the epoch of its elements"
            if axis_km < least_km:
                return f"decayed: SGP4 has it below {LEAST_HEIGHT_KM:.0f} km {when}"
            if not axis_km <= MOST_GROWTH * first_km:
                return f"SGP4's drag makes its orbit larger by more than {MOST_GROWTH - 1:.0%} {when}"
    return None


def most_radius_km(orbit: Satrec) -> float:
    """Return the largest distance from the Earth's centre, in km, that a satellite with these elements can reach.

    Among the orbits that `MOST_GROWTH` allows, one has the largest semi-major axis. The result is the apogee of this
    orbit. In orbits with periods above 225 min (SGP4's deep space), Sun and Moon can raise the eccentricity up to 1. In
    lower orbits, drag alone changes the eccentricity, and reduces it.
    """
    eccentricity = 1.0 if orbit.method == "d" else float(orbit.ecco) + _SHORT_PERIOD
    return float(orbit.radiusearthkm * orbit.a * MOST_GROWTH * (1.0 + eccentricity))


def _instants(span_min: float, count: int) -> list[float]:
    """Return `count` evenly spaced times in minutes since the epoch. The last time is `span_min`."""
    return [span_min * (number + 1) / count for number in range(count)]


def _axes_km(orbit: Satrec, instants_min: Sequence[float]) -> list[float]:
    """Return the mean semi-major axis at each instant, km, or NaN where SGP4 has no value."""
    axes_km = []
    for instant_min in instants_min:
        error, _, _ = orbit.sgp4_tsince(instant_min)
        # With error 6 (below the surface), SGP4 has already computed the mean axis `am`; after any other error, `am` is
        # an old value.
        axes_km.append(orbit.am * orbit.radiusearthkm if error in (0, 6) else float("nan"))
    return axes_km
