# SPDX-License-Identifier: Apache-2.0
"""Tests leowarp's use of SGP4 against the verification vectors of D. Vallado, P. Crawford, R. Hujsak, T. S. Kelso,
Revisiting Spacetrack Report #3, AIAA 2006-6753: SGP4-VER.TLE and tcppver.out, both as the package `sgp4` ships them
(2.27, MIT).
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import sgp4

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits
from support.element_sets import elements_of

SHIPPED = Path(sgp4.__file__).parent
# The epoch of a position is stored in whole microseconds. The fastest perigee has 11 km/s, so half a microsecond is 5.5
# mm. The printed vectors have a resolution of 1e-8 km.
TOLERANCE_M = 0.01


def satellites() -> Iterator[tuple[int, str, str]]:
    lines = [line for line in (SHIPPED / "SGP4-VER.TLE").read_text().splitlines() if line[:2] in ("1 ", "2 ")]
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        yield int(first[2:7]), first.ljust(69)[:69], second[:69]


def vectors() -> dict[int, list[tuple[float, list[float]]]]:
    found: dict[int, list[tuple[float, list[float]]]] = {}
    for line in (SHIPPED / "tcppver.out").read_text().splitlines():
        cells = line.split()
        if cells[-1] == "xx":
            current = found.setdefault(int(cells[0]), [])
        else:
            current.append((float(cells[0]), [float(c) for c in cells[1:4]]))
    return found


# Satellites 33333 to 33335 have wrong checksums, and line 1 of satellite 11801 is too short; this is deliberate.
DAMAGED = {33333, 33334, 33335}


@pytest.mark.parametrize(
    ("number", "first", "second"), [s for s in satellites() if s[0] not in DAMAGED], ids=lambda v: str(v)[:7]
)
def test_positions_are_the_verification_vectors(number: int, first: str, second: str, tmp_path: Path) -> None:
    path = tmp_path / "one.tle"
    # Some lines of the file have checksums of an older convention. The test replaces the checksums of the old
    # convention, and does not change the orbital elements.
    path.write_text("\n".join(body[:68] + str(_checksum(body)) for body in (first, second)))
    names, elements = elements_of(path)
    satrec = elements[0].satrec
    since_1970 = timedelta(days=satrec.jdsatepoch - 2_440_587.5) + timedelta(days=satrec.jdsatepochF)
    # timedelta rounds the epoch to 1 us.
    epoch = datetime(1970, 1, 1, tzinfo=UTC) + since_1970
    orbits = Sgp4Orbits(file=str(path), names=names, elements=elements, epoch=epoch)
    expected = vectors()[number]
    assert expected
    for minutes, position_km in expected:
        here_m = orbits.positions_eci_m(round(minutes * 60e9))
        assert np.abs(here_m[0] - np.array(position_km) * 1e3).max() < TOLERANCE_M


@pytest.mark.parametrize(("number", "first", "second"), [s for s in satellites() if s[0] in DAMAGED])
def test_the_damaged_ones_are_refused(number: int, first: str, second: str, tmp_path: Path) -> None:
    path = tmp_path / "one.tle"
    path.write_text(f"{first}\n{second}")
    with pytest.raises(ScenarioError, match=r"one\.tle:[12]: the checksum"):
        elements_of(path)


def test_a_decayed_satellite_ends_with_sgp4s_error(tmp_path: Path) -> None:
    # Satellite 28350 of the set re-enters; tcppver.out ends at 1440 min, at which the code returns error 6.
    first, second = next((a, b) for n, a, b in satellites() if n == 28350)
    path = tmp_path / "one.tle"
    path.write_text(f"{first}\n{second}")
    names, elements = elements_of(path)
    orbits = Sgp4Orbits(file=str(path), names=names, elements=elements, epoch=datetime(2006, 7, 14, tzinfo=UTC))
    with pytest.raises(ScenarioError, match=r"one\.tle:1: SGP4 cannot propagate sat-28350 .*error [1-6], "):
        orbits.positions_eci_m(np.arange(0, 10) * 86_400_000_000_000)


def _checksum(line: str) -> int:
    return sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10
