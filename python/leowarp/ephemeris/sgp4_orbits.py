# SPDX-License-Identifier: Apache-2.0
"""Satellites with orbital elements for SGP4 (package `sgp4`, constants WGS72). One call propagates all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sgp4.api import SGP4_ERRORS, Satrec, SatrecArray

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.drag import fall_of, most_radius_km
from leowarp.ephemeris.frames import EcefMetres, TemeMetres, gmst_rad, julian_date, turned_to_ecef_m

OLDEST_ELEMENTS_D = 366.0
"""The epoch of the elements may be at most this many days before or after the run. An epoch further away is an error.
SGP4's error along the track grows by 1 to 3 km per day (Vallado and Crawford, AIAA 2008-6770). After a year, positions
are meaningless."""
OLD_ELEMENTS_D = 14.0
"""leowarp warns about elements that are older than this, in days. At this age, SGP4's error has reached tens of
kilometres, because it grows by 1 to 3 km per day."""
FAR = 255
"""leowarp's error code for a position that no orbit with these elements can reach. For such a position, SGP4 itself
reports no error."""
SAMPLES_OF_RUN = 5
"""Before a run begins, all positions are checked at this number of instants of the run. The run's start and end are
among these instants."""
WGS72_RADIUS_M = 6_378_135.0
"""The Earth radius of WGS72, which SGP4 uses as its unit of length (Vallado and others, AIAA 2006-6753, table 1)."""


@dataclass(frozen=True)
class Element:
    """The elements of one satellite, and their place in the file.

    name: The name in the file, or "" if it has none.
    catalogue_number: NORAD's number of the satellite.
    line: The line of the elements in the file, from 1, for messages.
    satrec: The object of `sgp4`. It has the constants of WGS72, with which the published elements are fitted (Vallado,
        Crawford, Hujsak, Kelso, AIAA 2006-6753).
    designator: The international designator, or "" if the file has none.
    note: A remark on an unusual epoch, or "".
    decayed: The day (UTC) on which the satellite decayed, if the file gives it.
    """

    name: str
    catalogue_number: int
    line: int
    satrec: Satrec
    designator: str = ""
    note: str = ""
    decayed: datetime | None = None


@dataclass(frozen=True, eq=False)
class MeanElements:
    """The mean orbits at one instant, which do not contain SGP4's periodic terms.

    inclination_deg: A float64 array of shape (n,), deg
    altitude_m: The semi-major axis minus the Earth's equatorial radius, float64 array of shape (n,), m.
    node_deg: The right ascension of the ascending node, 0 to 360, float64 array of shape (n,), deg.
    phase_deg: The mean argument of latitude, 0 to 360, float64 array of shape (n,), deg. It is the argument of perigee
        plus the mean anomaly.
    """

    inclination_deg: NDArray[np.float64]
    altitude_m: NDArray[np.float64]
    node_deg: NDArray[np.float64]
    phase_deg: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Sgp4Orbits:
    """The satellites that SGP4 propagates, in the order of their file.

    epoch: The instant (UTC) at which the constellation's clock is 0.
    start_ns: The time on the constellation's clock when the run's clock is 0.
    header: The number of planes and the number of satellites per plane. Both come from the first line of a file that
        lists its satellites plane by plane. None means that the file has no header.
    """

    file: str
    names: list[str]
    elements: list[Element]
    epoch: datetime
    start_ns: int = 0
    header: tuple[int, int] | None = None
    _satellites: SatrecArray = field(init=False, repr=False, compare=False)
    _most_radius_km: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        orbits = [element.satrec for element in self.elements]
        object.__setattr__(self, "_satellites", SatrecArray(orbits))
        object.__setattr__(self, "_most_radius_km", np.array([most_radius_km(orbit) for orbit in orbits]))

    def positions_eci_m(self, t_ns: int | NDArray[np.int64]) -> TemeMetres:
        """Return the positions in SGP4's inertial frame, which is TEME, in m, at instants of the run's clock. The shape
        is (n, 3) or (k, n, 3).

        Raises ScenarioError if SGP4 fails for a satellite. The message names the satellite, its line, SGP4's reason and
        the instant.
        """
        day, fraction = self._julian_date(t_ns)
        # One call of the package's C++ computes all satellites and instants; shape (satellites, instants, 3).
        error, position_km, _ = self._satellites.sgp4(np.atleast_1d(day), np.atleast_1d(fraction))
        # The error code alone is not enough: SGP4 sometimes returns millions of kilometres, or NaN, with code 0.
        error = np.where((error == 0) & ~self._near(position_km), FAR, error)
        if error.any():
            self._raise_for(error, np.atleast_1d(np.asarray(t_ns)))
        teme_m = np.ascontiguousarray(position_km.transpose(1, 0, 2)) * 1e3
        return TemeMetres(teme_m[0] if np.ndim(t_ns) == 0 else teme_m)

    def positions_ecef_m(self, t_ns: int | NDArray[np.int64]) -> EcefMetres:
        return turned_to_ecef_m(self.positions_eci_m(t_ns), gmst_rad(*self._julian_date(t_ns)))

    def mean_elements(self) -> MeanElements:
        """Return the mean orbits at the run's time 0. If SGP4 fails for a satellite, its values are NaN.

        SGP4 propagates the elements to this instant with its secular rates. The rates include the effects of J2, J4 and
        drag, and for high orbits also the Sun and the Moon.
        """
        day, fraction = (float(part) for part in self._julian_date(0))
        rows = np.full((len(self.elements), 4), np.nan)
        for row, element in zip(rows, self.elements, strict=True):
            orbit = element.satrec
            error, _, _ = orbit.sgp4(day, fraction)
            if error == 0:
                # After a call of `sgp4`, `im`, `am`, `Om`, `om` and `mm` are the mean elements at that instant.
                row[:] = orbit.im, orbit.am, orbit.Om, orbit.om + orbit.mm
        inclination, axis, node, phase = rows.T
        return MeanElements(
            np.degrees(inclination),
            (axis - 1.0) * WGS72_RADIUS_M,
            np.degrees(node) % 360.0,
            np.degrees(phase) % 360.0,
        )

    def lost(self, duration_ns: int) -> dict[int, str]:
        """Return the satellites without an orbit during the run, each with a reason. A satellite has no orbit in three
        cases: it has decayed, SGP4 fails, or SGP4 returns a position on no possible orbit.

        SGP4 models drag by a polynomial in the time since the epoch. Too long after the epoch, a satellite may fall
        into the Earth and reappear at any radius, although SGP4's error code is 0. The mean orbit is checked from the
        epoch to the end of the run, not only during the run.

        Returns: A dict from a satellite's index to the reason, in the order of the file.
        """
        t_ns = np.linspace(0, duration_ns, SAMPLES_OF_RUN).astype(np.int64)
        error, position_km, _ = self._satellites.sgp4(*self._julian_date(t_ns))
        error = np.where((error == 0) & ~self._near(position_km), FAR, error)
        day, fraction = self._julian_date(np.array([0, duration_ns]))
        ends_d = day + fraction
        reasons: dict[int, str] = {}
        for number, element in enumerate(self.elements):
            if element.decayed is not None and sum(julian_date(element.decayed)) <= ends_d[1]:
                reasons[number] = f"it came down on {element.decayed:%Y-%m-%d}, as the file says"
            elif (fallen := fall_of(element.satrec, ends_d)) is not None:
                reasons[number] = fallen
            elif error[number].any():
                at = int(np.flatnonzero(error[number])[0])
                radius_km = float(np.linalg.norm(position_km[number, at]))
                reasons[number] = _reason(int(error[number, at]), radius_km)
        return reasons

    def _near(self, position_km: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each position (n, k, 3) is within its largest possible orbit. NaN gives False."""
        return np.asarray(np.linalg.norm(position_km, axis=-1) <= self._most_radius_km[:, None])

    def age_warnings(self, duration_ns: int) -> list[str]:
        """Return warnings about elements whose epoch is far from the run.

        Raises ScenarioError if some elements are more than a year from the run.
        """
        first, first_fraction = julian_date(self.epoch)
        run_d = first + first_fraction + (self.start_ns + np.array([0, duration_ns])) / 86_400e9
        ages_d = [
            # The larger of two distances in time: between epoch and start of the run, and between epoch and end of the
            # run.
            float(np.abs(run_d - element.satrec.jdsatepoch - element.satrec.jdsatepochF).max())
            for element in self.elements
        ]
        oldest = int(np.argmax(ages_d))
        element = self.elements[oldest]
        written = epoch_of(element.satrec)
        too_old = [name for name, age_d in zip(self.names, ages_d, strict=True) if age_d > OLDEST_ELEMENTS_D]
        if too_old:
            hint = f'set constellation.epoch = "{written:%Y-%m-%dT%H:%M:%SZ}", or take elements of the run\'s date'
            others = [name for name in too_old if name != self.names[oldest]]
            if len(too_old) < len(ages_d):
                # The message names all satellites with too old elements, so that a user can leave all of them out at
                # once.
                listed = ", ".join(f'"{name}"' for name in too_old)
                hint = f"leave them out: constellation.leave_out = [{listed}], or {hint}"
            raise ScenarioError(
                f"{self.file}:{element.line}: the elements of {self.names[oldest]} are of {written:%Y-%m-%d}, "
                f"{ages_d[oldest]:.0f} days from the run (constellation.epoch {self.epoch:%Y-%m-%dT%H:%M:%SZ} "
                f"plus run.start {self.start_ns / 1e9:g} s); SGP4 is meaningless beyond {OLDEST_ELEMENTS_D:.0f} days"
                + (f"; so are those of {len(others)} more" if others else ""),
                hint,
            )
        old = sum(age > OLD_ELEMENTS_D for age in ages_d)
        if not old:
            return []
        return [
            f"{self.file}: {old} of {len(ages_d)} satellites have elements more than {OLD_ELEMENTS_D:.0f} days "
            f"from the run (at most {ages_d[oldest]:.1f}); SGP4 errs by 1 to 3 km for each day"
        ]

    def _julian_date(self, t_ns: int | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the Julian date of each instant, in two parts for `sgp4` and `gmst_rad`. The first part is a day that
        ends in .5, and the second is a fraction of a day. Both parts have the shape of `t_ns`."""
        day, fraction = julian_date(self.epoch)
        # Leap seconds after `epoch` are neglected: the clock runs in SI seconds.
        fractions = fraction + (np.asarray(t_ns, dtype=np.int64) + self.start_ns) / 86_400e9
        return np.full(np.shape(fractions), day), fractions

    def _raise_for(self, error: NDArray[np.uint8], t_ns: NDArray[np.int64]) -> None:
        """Raise ScenarioError for the first satellite that has an error. The message gives the time of this satellite's
        first error. The array `error` of shape (n, k) contains SGP4's codes or `FAR`."""
        satellite, instant = (int(i) for i in np.argwhere(error)[0])
        element, code = self.elements[satellite], int(error[satellite, instant])
        when = self.epoch + timedelta(microseconds=(int(t_ns[instant]) + self.start_ns) / 1e3)
        failed = int(np.count_nonzero(error.any(axis=1)))
        raise ScenarioError(
            f"{self.file}:{element.line}: SGP4 cannot propagate {self.names[satellite]} (catalogue number "
            f"{element.catalogue_number}) from {epoch_of(element.satrec):%Y-%m-%dT%H:%M:%SZ} to "
            f"{when:%Y-%m-%dT%H:%M:%SZ}: {_reason(code)}" + (f" ({failed} satellites fail)" if failed > 1 else ""),
            f'leave it out: constellation.leave_out = ["{self.names[satellite]}"], or bring constellation.epoch nearer '
            "to the epoch of its elements",
        )


def _reason(code: int, radius_km: float | None = None) -> str:
    """Return the reason for a missing position. `code` is SGP4's error code, or `FAR`."""
    if code == FAR:
        where = "" if radius_km is None or not np.isfinite(radius_km) else f" ({radius_km:,.0f} km from its centre)"
        return f"SGP4 flings it away from the Earth{where}, without an error"
    return f"SGP4's error {code}, {SGP4_ERRORS.get(code, 'unknown')}"


def check_started(path: Path, element: Element) -> None:
    """Reject elements that SGP4 could not initialise, or that contain NaN.

    Raises ScenarioError with file, line and satellite.
    """
    orbit = element.satrec
    if orbit.error or not np.isfinite(orbit.bstar) or not np.isfinite(orbit.no_kozai) or orbit.no_kozai <= 0:
        raise ScenarioError(
            f"{path}:{element.line}: SGP4 refuses the elements of catalogue number {element.catalogue_number}"
            f"{f' ({element.name})' if element.name else ''}: mean motion "
            # 720 / pi converts rad/min to revolutions per day (1440 / 2 pi).
            f"{orbit.no_kozai * 720 / np.pi:.6f} rev/day, eccentricity {orbit.ecco:.7f}, B* {orbit.bstar:g}",
            "remove the satellite, or fetch its elements again",
        )


def epoch_of(satrec: Satrec) -> datetime:
    """Return the epoch of the elements in UTC, rounded to 1 us. This epoch is used only in messages."""
    # The Julian date of 1970-01-01T00:00Z is 2440587.5.
    days = satrec.jdsatepoch - 2_440_587.5 + satrec.jdsatepochF
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
