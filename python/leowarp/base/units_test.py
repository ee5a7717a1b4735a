# SPDX-License-Identifier: Apache-2.0
"""Tests that quantities are exact and that wrong texts are errors. Also, a quantity must not change when it is written
and read again."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base import units
from leowarp.base.errors import ScenarioError

WHOLE = [quantity for quantity in units.QUANTITIES if quantity.whole]
REAL = [quantity for quantity in units.QUANTITIES if not quantity.whole]


@pytest.mark.parametrize("quantity", WHOLE, ids=lambda q: q.suffix)
@given(value=st.integers(-(2**63), 2**63))
def test_whole_numbers_survive_writing_and_reading(quantity, value):
    assert quantity.parse(quantity.format(value)) == value


@pytest.mark.parametrize("quantity", REAL, ids=lambda q: q.suffix)
@given(value=st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or 1e-250 < abs(x) < 1e250))
def test_real_numbers_survive_writing_and_reading_to_the_last_bit(quantity, value):
    assert quantity.parse(quantity.format(value)) == value


@pytest.mark.parametrize("quantity", units.QUANTITIES, ids=lambda q: q.suffix)
def test_every_example_and_every_unit_reads(quantity):
    quantity.parse(quantity.example)
    for unit, size in quantity.units.items():
        value = quantity.parse(f"3 {unit}")
        assert value == (3 * size if quantity.whole else float(3 * size))


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (units.TIME, "30 ms", 30_000_000),
        (units.TIME, "30ms", 30_000_000),
        (units.TIME, "1.5 us", 1500),
        (units.TIME, "2 min", 120 * 10**9),
        (units.TIME, "1e3 s", 10**12),
        (units.TIME, "0.1 s", 100_000_000),
        (units.LENGTH, "5 m", 5.0),
        (units.LENGTH, "6378.137 km", 6378137.0),
        (units.RATE, "100 Mbit/s", 100_000_000),
        (units.RATE, "1_000 kbit/s", 1_000_000),
        (units.BYTES, "64 kB", 64_000),
        (units.BYTES, "64 KiB", 65_536),
        (units.BYTES, "16 MiB", 16 * 2**20),
        (units.RATIO, "0.1 %", 0.001),
        (units.ANGLE, "-4.010844 deg", -4.010844),
        (units.GRAVITY, "398600.4418 km3/s2", 3.986004418e14),
        (units.ANGULAR_RATE, "7.2921158553e-5 rad/s", 7.2921158553e-5),
        (units.SPEED, "60 km/h", float(Fraction(50, 3))),
        (units.FREQUENCY, "2.2 GHz", 2.2e9),
        (units.LEVEL, "-3.5 dB", -3.5),
        (units.PACKETS, "1 pkt", 1),
    ],
)
def test_reads(quantity, text, value):
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (units.TIME, 10**12, "1000 s"),
        (units.TIME, 0, "0 s"),
        (units.TIME, 15 * 10**8, "1500 ms"),
        (units.RATE, 10**8, "100 Mbit/s"),
        (units.BYTES, 2**24, "16 MiB"),
        (units.BYTES, 64_000, "64 kB"),
        (units.LENGTH, 6378137.0, "6378.137 km"),
        (units.RATIO, 0.001, "0.1 %"),
        (units.ANGULAR_RATE, 7.2921158553e-5, "7.2921158553e-5 rad/s"),
        (units.SPEED, 27.5, "27.5 m/s"),
        (units.FREQUENCY, 2.2e9, "2.2 GHz"),
        (units.LEVEL, 7.0, "7 dB"),
    ],
)
def test_writes_in_the_unit_a_reader_expects(quantity, value, text):
    assert quantity.format(value) == text


@pytest.mark.parametrize(
    ("quantity", "text", "said"),
    [
        (units.TIME, 30, "bare number"),
        (units.TIME, 30.5, "bare number"),
        (units.TIME, True, "string with a unit"),
        (units.TIME, ["30 s"], "string with a unit"),
        (units.TIME, "30", "no unit"),
        (units.TIME, "ms", "not a number"),
        (units.TIME, "", "not a number"),
        (units.TIME, "1 2 s", "not a number"),
        (units.TIME, "nan s", "not a number"),
        (units.TIME, "٣ s", "not a number"),
        (units.TIME, "5 m", '"m" is metres; minutes are "min"'),
        (units.TIME, "1.5 ns", "not a whole number of ns"),
        (units.TIME, "1e9999 s", "not a number"),
        (units.LENGTH, "3 kms", 'did you mean "km"'),
        (units.LENGTH, "1e999 km", "too large"),
        (units.RATE, "100 Mbps", "spelt out"),
        (units.RATE, "12 MB/s", "1 byte = 8 bits"),
        (units.RATE, "0.5 bit/s", "not a whole number of bit/s"),
        (units.BYTES, "64 KB", '"kB" is 1000 bytes, "KiB" is 1024'),
        (units.BYTES, "64 kbit", "a size is in one of"),
        (units.BYTES, "0.5 B", "not a whole number of B"),
        (units.PACKETS, "500 packets", 'packets are "pkts"'),
        (units.RATIO, "0.1", "no unit"),
        (units.ANGLE, "25 degrees", 'degrees are "deg"'),
    ],
)
def test_refuses_and_says_why(quantity, text, said):
    with pytest.raises(ScenarioError) as caught:
        quantity.parse(text)
    assert said in str(caught.value)


def test_metres_are_never_a_time_and_minutes_never_a_length():
    assert "m" not in units.TIME.units
    assert "min" not in units.LENGTH.units


def test_an_angle_in_radians_is_the_nearest_number_of_degrees():
    assert units.ANGLE.parse("1 rad") == math.degrees(1)


@given(st.text(max_size=40))
def test_no_text_ends_in_anything_but_a_number_or_a_scenario_error(text):
    for quantity in units.QUANTITIES:
        try:
            value = quantity.parse(text)
        except ScenarioError:
            continue
        assert quantity.parse(quantity.format(value)) == value
        assert all(quantity.parse(quantity.format_in(value, unit)) == value for unit in quantity.written)


def test_a_number_is_written_in_the_unit_asked_for_if_it_can_be():
    assert units.TIME.format_in(163_934, "ms") == "0.163934 ms"
    assert units.BYTES.format_in(128_000, "kB") == "128 kB"
    assert units.ANGLE.format_in(90.0, "rad") == "90 deg"


@pytest.mark.parametrize(
    ("text", "like", "proposed"),
    [(120, None, "120 s"), ("120", None, "120 s"), (10, "5 ms", "10 ms"), ("1.5", "nonsense", "1.5 s")],
)
def test_a_time_without_a_unit_is_answered_with_the_number_that_was_typed(text, like, proposed):
    with pytest.raises(ScenarioError) as caught:
        units.TIME.parse(text, like=like)
    assert f'"{proposed}"' in str(caught.value.hint)
