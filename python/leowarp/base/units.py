# SPDX-License-Identifier: Apache-2.0
"""Quantities with units, and their conversion from and to text. Only this module reads and writes texts with units.

Times are integer nanoseconds, rates integer bits per second, sizes integer bytes. A text with a fraction of one of
these units is an error. Lengths, angles, ratios and the two gravitational constants are floats. The float nearest to
the decimal number in the text is used. For every quantity ``parse(format(x)) == x``.

``"m"`` means metres, never minutes. Rates in bytes per second are refused, because ``kbps`` means kilobits in some
tools and kilobytes in others (tc).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of


@dataclass(frozen=True, eq=False)
class Quantity:
    """A kind of quantity, with its units and the way in which its numbers are stored.

    name: The name of the quantity in messages, with the article ("a time").
    suffix: The suffix of the attributes and columns that hold this quantity.
    units: A dict from each unit to its exact size. The size is in the unit in which numbers are stored.
    written: The units that `format` uses, largest first.
    example: A correct text that messages show as an example.
    mistakes: A dict of a wrong unit that users often write -> hint.
    whole: Whether the number is stored as an int, which is exact, or as a float.
    """

    name: str
    suffix: str
    units: Mapping[str, Fraction | int]
    written: tuple[str, ...]
    example: str
    mistakes: Mapping[str, str] = field(default_factory=dict)
    whole: bool = field(default=False, kw_only=True)

    def parse(self, text: object, *, like: object = None) -> int | float:
        """Parse a text (example: ``"30 ms"``).

        Raises ScenarioError if the text is a bare number, has no unit or a wrong one, or is not a whole number in the
        stored unit (if `whole` is set).
        text: The value from TOML. Only a str is valid. For any other type, the error shows how to write the value.
        like: A valid text, for instance a default. If a value has no unit, the error's hint proposes the unit of
            `like`.
        Returns: The value in the stored unit, as an int if `whole` is set.

        >>> TIME.parse("30 ms"), RATE.parse("37.5 Mbit/s"), RATIO.parse("0.1 %")
        (30000000, 37500000, 0.001)
        """
        number, unit = self._split(text, like)
        size = self.units.get(unit)
        if size is None:
            raise ScenarioError(f'"{text}": "{unit}" is not a unit of {self.name}', self._unit_hint(unit))
        # The product of `number` and `size` is an exact fraction: 0.1 ms is exactly 100,000 ns, which a product of
        # floats might not be.
        value = number * size
        if self.whole:
            if value.denominator != 1:
                kept = next(u for u, s in self.units.items() if s == 1)
                raise ScenarioError(f"{text!r} is not a whole number of {kept}, and {self.name} is kept exactly so")
            return value.numerator
        try:
            return float(value)
        except OverflowError:
            raise ScenarioError(f"{text!r} is too large for {self.name}") from None

    def format(self, value: int | float) -> str:
        """Write a number as a text with a unit. For this text, `parse` returns the same number.

        If the quantity is an integer, it is written in the largest unit of which it is an integer multiple. For a
        float, it is the largest unit in which the number is 1 or more.

        Raises ValueError if the value is infinite or nan.

        >>> TIME.format(30_000_000_000), TIME.format(1_500), LENGTH.format(1_200_000.0)
        ('30 s', '1500 ns', '1200 km')
        """
        return _format(self, value)

    def format_in(self, value: int | float, unit: str) -> str:
        """Write a number as a text in the given unit. If the number is not an exact decimal in this unit, `format`
        chooses another unit.

        Raises KeyError if `unit` is no unit of this quantity.

        >>> TIME.format_in(90_000_000_000, "min"), TIME.format_in(1, "min")
        ('1.5 min', '1 ns')
        """
        exact = Fraction(value) if self.whole else Fraction(Decimal(repr(float(value))))
        number = _decimal(exact / self.units[unit])
        return self.format(value) if number is None else f"{number} {unit}"

    def _split(self, text: object, like: object) -> tuple[Fraction, str]:
        """Return the number, as an exact fraction, and the unit of a text.

        Raises ScenarioError if the value is not a text, is longer than `_LONGEST_TEXT`, or is not a number followed by
        a unit.
        """
        # TOML's true and false are ints in Python.
        if isinstance(text, bool) or not isinstance(text, int | float | str):
            raise ScenarioError(f"{self.name} is a string with a unit", f'write it like "{self.example}"')
        if not isinstance(text, str):
            shown = f"{text} is" if abs(text) < 10**18 else "this is"
            raise ScenarioError(
                f"{shown} a bare number; {self.name} is a string with a unit",
                f'write it like "{self._with_unit(text, like)}"',
            )
        match = _NUMBER.fullmatch(text.strip())
        if match is None or len(text) > _LONGEST_TEXT:
            shown = repr(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}...")
            raise ScenarioError(f"{shown} is not a number with a unit", f'{self.name} looks like "{self.example}"')
        if match["unit"] == "":
            shown = self._with_unit(match["number"], like)
            raise ScenarioError(f"{text!r} has no unit", f'{self.name} looks like "{shown}"')
        return Fraction(match["number"].replace("_", "")), match["unit"]

    def _with_unit(self, number: object, like: object) -> str:
        """Return a text with a number that lacked a unit, and with the unit of `like`. If the unit of `like` is not
        suitable, the unit of the example is used."""
        for sample in (like, self.example):
            known = _NUMBER.fullmatch(sample) if isinstance(sample, str) else None
            if known is not None and known["unit"] in self.units:
                return f"{number} {known['unit']}" if known["unit"] else self.example
        return self.example

    def _unit_hint(self, unit: str) -> str:
        """Return the hint for an unknown unit: a common mistake or the nearest unit, and all units."""
        if unit in self.mistakes:
            return f"{self.mistakes[unit]}; {self.name} is in one of: {', '.join(self.units)}"
        # If one letter of a two-letter unit is wrong, the similarity is 0.5. difflib's default cutoff is 0.6, so a
        # lower cutoff is needed.
        return one_of(unit, self.units, f"{self.name} is in one of:", cutoff=0.4)


@lru_cache(maxsize=8192, typed=True)
def _format(quantity: Quantity, value: int | float) -> str:
    # The results are cached, because a study's plans contain the same few values thousands of times.
    if not quantity.whole and not math.isfinite(value):
        raise ValueError(f"{quantity.name} must be finite, not {value}")
    # repr gives the shortest decimal that Python reads as the same float. The product of this decimal and a power of
    # ten is exact.
    exact = Fraction(value) if quantity.whole else Fraction(Decimal(repr(float(value))))
    # Zero is always written in the same unit, so that equal plans have equal texts: a time in seconds, any other
    # quantity in its smallest unit.
    if exact == 0:
        return f"0 {'s' if 's' in quantity.written else quantity.written[-1]}"
    exacts = [(unit, exact / quantity.units[unit]) for unit in quantity.written]
    written = [(unit, number) for unit, number in exacts if _decimal(number)]
    # The chosen unit is the largest in which the number is at least 1 and, for integer quantities, an integer.
    readable = [(unit, number) for unit, number in written if abs(number) >= 1]
    whole = [(unit, number) for unit, number in readable if number.denominator == 1]
    unit, number = ((whole if quantity.whole else []) or readable or written[-1:])[0]
    return f"{_decimal(number)} {unit}"


def _decimal(value: Fraction) -> str | None:
    """Return the exact decimal text of a fraction, or None if there is no short one.

    A fraction has an exact decimal if its denominator has no prime factors except 2 and 5. Otherwise it has none. If
    the decimal is long or the value is tiny, the result has an exponent.
    """
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator != 1:
        return None
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    text = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
    if len(text) > _LONGEST_PLAIN or 0 < abs(value) < _SMALLEST_PLAIN:
        stripped = digits.lstrip("0")
        mantissa = stripped.rstrip("0")
        exponent = len(stripped) - 1 - places
        # An exponent replaces many zeros. The number is still exact.
        text = f"{mantissa[0]}.{mantissa[1:]}".rstrip(".") + f"e{exponent}"
    return sign + text


# Exponents have at most three digits, which is enough for every float; the integer 1e999999999 would fill the memory.
_NUMBER = re.compile(
    r"(?P<number>[+-]?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]{1,3})?)"
    r"\s*(?P<unit>[^0-9\s.+-]\S*|)"
)
# No sensible number with a unit is longer than 80 characters. The limit also keeps messages short, and bounds the time
# that matching the pattern above takes.
_LONGEST_TEXT = 80
_LONGEST_PLAIN = 24
_SMALLEST_PLAIN = Fraction(1, 1000)

_MINUTES = '"m" is metres; minutes are "min"'
_BITS = "rates are in bits per second (1 byte = 8 bits)"
_BPS = '"bps" means bits to some tools and bytes to others, so it is spelt out: bit/s'

TIME = Quantity(
    "a time",
    "_ns",
    {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
    | {"d": 86400 * 10**9},
    ("s", "ms", "us", "ns"),
    "30 s",
    {"m": _MINUTES, "sec": 'seconds are "s"', "seconds": 'seconds are "s"', "minutes": 'minutes are "min"'},
    whole=True,
)
LENGTH = Quantity("a length", "_m", {"m": 1, "km": 1000}, ("km", "m"), "1200 km", {"ms": '"ms" is milliseconds'})
RATE = Quantity(
    "a rate",
    "_bps",
    {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9},
    ("Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
    "100 Mbit/s",
    {unit: _BITS for unit in ("B/s", "kB/s", "KB/s", "MB/s", "GB/s", "kiB/s", "MiB/s", "GiB/s")}
    | {unit: _BPS for unit in ("bps", "kbps", "Kbps", "Mbps", "mbps", "Gbps", "gbps")}
    | {"Mbit": 'a rate is per second: "Mbit/s"', "mbit": 'a rate is per second: "Mbit/s"'},
    whole=True,
)
# "KB" is an error because it means 1000 bytes to some users and 1024 to others.
BYTES = Quantity(
    "a size",
    "_bytes",
    {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "kiB": 2**10, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    ("GiB", "GB", "MiB", "MB", "KiB", "kB", "B"),
    "64 kB",
    {
        "KB": '"kB" is 1000 bytes, "KiB" is 1024',
        "K": '"kB" is 1000 bytes, "KiB" is 1024',
        "M": '"MB" is a million bytes, "MiB" is 1048576',
        "G": '"GB" is a billion bytes, "GiB" is 1073741824',
        "pkts": "this one is counted in bytes",
        "bytes": 'bytes are "B"',
    },
    whole=True,
)
PACKETS = Quantity(
    "a number of packets", "_pkts", {"pkts": 1, "pkt": 1}, ("pkts",), "500 pkts",
    {"packets": 'packets are "pkts"', "p": 'packets are "pkts"'}, whole=True,
)  # fmt: skip
PACKET_RATE = Quantity(
    "a rate of packets", "_pkts_per_s", {"pkts/s": 1, "pkt/s": 1}, ("pkts/s",), "8235 pkts/s",
    {"packets/s": 'packets are "pkts": "pkts/s"', "pps": 'spelt out: "pkts/s"'}
    | {"pkts": 'a rate is per second: "pkts/s"'},
)  # fmt: skip
FLOW_RATE = Quantity(
    "a rate of flows", "_flows_per_s", {"flows/s": 1, "flow/s": 1}, ("flows/s",), "100 flows/s",
    {"flows": 'a rate is per second: "flows/s"'},
)  # fmt: skip
ANGLE = Quantity(
    "an angle", "_deg", {"deg": 1, "°": 1, "rad": Fraction(180 / math.pi)}, ("deg",), "53 deg",
    {"degrees": 'degrees are "deg"', "degree": 'degrees are "deg"'},
)  # fmt: skip
RATIO = Quantity(
    "a ratio", "_ratio", {"%": Fraction(1, 100), "‰": Fraction(1, 1000), "ppm": Fraction(1, 10**6)}, ("%",), "0.1 %"
)
# Probabilities are stored as integer millionths, the form in which the guest receives the largest probability of RED
# (design/interfaces.md, section 13).
PROBABILITY = Quantity("a probability", "_ppm", {"%": 10**4, "ppm": 1}, ("%", "ppm"), "10 %", whole=True)
GRAVITY = Quantity(
    "a gravitational parameter", "_m3_per_s2", {"km3/s2": 10**9, "m3/s2": 1}, ("km3/s2", "m3/s2"), "398600.4418 km3/s2"
)
ANGULAR_RATE = Quantity(
    "an angular rate", "_rad_per_s", {"rad/s": 1, "deg/s": Fraction(math.pi / 180)}, ("rad/s",), "7.2921158553e-5 rad/s"
)
SPEED = Quantity(
    "a speed", "_m_per_s", {"m/s": 1, "km/h": Fraction(5, 18)}, ("m/s",), "60 km/h",
    {"kmh": 'kilometres an hour are "km/h"', "kph": 'kilometres an hour are "km/h"'},
)  # fmt: skip
FREQUENCY = Quantity(
    "a frequency", "_hz", {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}, ("GHz", "MHz", "kHz", "Hz"), "2.2 GHz"
)
LEVEL = Quantity(
    "a power ratio in decibels",
    "_db",
    {"dB": 1},
    ("dB",),
    "7 dB",
    {"db": 'decibels are "dB"', "DB": 'decibels are "dB"'},
)

QUANTITIES = (TIME, LENGTH, RATE, BYTES, PACKETS, PACKET_RATE, FLOW_RATE, ANGLE, RATIO, PROBABILITY, GRAVITY,
              ANGULAR_RATE, SPEED, FREQUENCY, LEVEL)  # fmt: skip
"""All kinds of quantities that a scenario can contain."""
