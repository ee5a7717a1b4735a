# SPDX-License-Identifier: Apache-2.0
"""Tests fibres along great circles against published distances."""

import pytest

from leowarp.ephemeris import fibres
from leowarp.ephemeris.fibre import great_circle_m
from leowarp.scenario import load, resolve


@pytest.mark.parametrize(
    ("one_deg", "other_deg", "km"),
    [
        # Lengths of WGS84 geodesics (GeographicLib) from JFK to Heathrow and from Singapore to Newark. Lengths on the
        # sphere differ by at most 0.6 %.
        ((40.6413, -73.7781), (51.4700, -0.4543), 5555),
        ((1.3644, 103.9915), (40.6895, -74.1745), 15344),
        ((90.0, 0.0), (-90.0, 0.0), 20004),
        ((10.0, 20.0), (10.0, 20.0), 0),
    ],
)
def test_a_great_circle_is_as_long_as_the_geodesic(one_deg, other_deg, km):
    assert great_circle_m(one_deg, other_deg) / 1e3 == pytest.approx(km, rel=0.006, abs=1e-6)
    assert great_circle_m(other_deg, one_deg) == great_circle_m(one_deg, other_deg)


def test_each_pair_that_talks_has_a_fibre_and_light_is_slower_in_it():
    (fibre,) = fibres(resolve(load("madrid-tokyo")))
    assert (fibre.source, fibre.destination) == ("Madrid", "Tokyo")
    assert fibre.delay_ns == pytest.approx(fibre.length_m * 1.468 / 299_792_458 * 1e9, abs=1)
    # The study chose these stations because the fibre between them is longer than the path over satellites.
    assert fibre.delay_ns > 47e6
    assert fibres(resolve(load("chain"))) == []
