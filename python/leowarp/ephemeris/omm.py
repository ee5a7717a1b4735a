# SPDX-License-Identifier: Apache-2.0
"""The interpretation of one orbit mean-elements message (OMM, CCSDS 502.0-B-2 and B-3), in any encoding.

Each field is used or ignored, or is a reason to reject the message. A field that does not change a position is ignored.
A message for another theory, frame, time system or central body is rejected, because its positions would be plausible
but wrong.
"""

from __future__ import annotations

import math
import re
from calendar import isleap
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from sgp4 import omm
from sgp4.api import Satrec

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.sgp4_orbits import Element, check_started
from leowarp.ephemeris.tle import check_theory

Fields = Mapping[str, str]
"""A dict from the keywords of a message to their values. An empty value is treated as a missing one."""

FETCH = "fetch the elements from CelesTrak (FORMAT=json, xml, csv, kvn or tle) or Space-Track (class gp)"
NEEDED = ("NORAD_CAT_ID", "EPOCH", "MEAN_MOTION", "ECCENTRICITY", "INCLINATION", "RA_OF_ASC_NODE",
          "ARG_OF_PERICENTER", "MEAN_ANOMALY", "BSTAR")  # fmt: skip
"""The required fields of an orbit."""
DEFAULTS = {"MEAN_MOTION_DOT": "0", "MEAN_MOTION_DDOT": "0"}
"""The defaults of fields that SGP4 reads but does not use."""
ALLOWED: dict[str, tuple[str, ...]] = {
    "CCSDS_OMM_VERS": ("1.0", "2.0", "3.0"),
    "CENTER_NAME": ("EARTH",),
    "REF_FRAME": ("TEME", "TEMEOFDATE"),
    "TIME_SYSTEM": ("UTC",),
    "MEAN_ELEMENT_THEORY": ("SGP4", "SGP/SGP4", "SGP4/SDP4"),
}
"""The optional fields and their allowed values. Case and blanks are ignored."""
NO_USE = ("REF_FRAME_EPOCH", "BTERM", "AGOM")
"""A message for SGP4 has none of these fields. These fields are the date of a reference frame, and the drag terms of
SGP4-XP."""
UNITS = {
    "SEMI_MAJOR_AXIS": "km", "MEAN_MOTION": "rev/day", "INCLINATION": "deg", "RA_OF_ASC_NODE": "deg",
    "ARG_OF_PERICENTER": "deg", "MEAN_ANOMALY": "deg", "BSTAR": "1/er", "MEAN_MOTION_DOT": "rev/day**2",
    "MEAN_MOTION_DDOT": "rev/day**3", "GM": "km**3/s**2",
}  # fmt: skip
"""The unit of each field. Some encodings contain the unit beside the value."""
USED = {*NEEDED, *DEFAULTS, *ALLOWED, *NO_USE, "EPHEMERIS_TYPE", "GM", "OBJECT_NAME", "OBJECT_ID", "DECAY_DATE"}
"""The fields that are checked. All other fields are ignored."""
_BELOW_1 = math.nextafter(1.0, 0.0)
"""The largest eccentricity. With an eccentricity of exactly 1, SGP4 returns NaN as positions, without an error."""
_RANGES = {
    "MEAN_MOTION": (0.0, 20.0), "ECCENTRICITY": (0.0, _BELOW_1), "INCLINATION": (0.0, 180.0),
    "RA_OF_ASC_NODE": (-360.0, 360.0), "ARG_OF_PERICENTER": (-360.0, 360.0), "MEAN_ANOMALY": (-360.0, 360.0),
    "BSTAR": (-10.0, 10.0), "MEAN_MOTION_DOT": (-1e3, 1e3), "MEAN_MOTION_DDOT": (-1e3, 1e3),
}  # fmt: skip
"""The smallest and largest allowed value of each field. For comparison, a satellite at the Earth's surface would make
17.0 revolutions per day."""
_MOST_SGP4_NUMBER = 339_999
"""The largest catalogue number that `sgp4` accepts (Alpha-5). leowarp can give `sgp4` another number instead of a
larger one, because SGP4 computes nothing from the number."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_GM_KM3_PER_S2 = 398_600.4
_EPOCH = re.compile(
    r"([0-9]{4})-(?:([0-9]{2})-([0-9]{2})|([0-9]{3}))[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]*))?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_EPOCHS = "write it as 2025-10-27T12:00:00.000000 or 2025-300T12:00:00, in UTC"


def satellite_of(path: Path, line: int, message: Fields) -> Element:
    """Return the satellite of one message.

    line: The line on which the message begins, from 1.
    Raises ScenarioError if a field that SGP4 needs is missing, a value is invalid, or the elements are not SGP4's. The
    message has file, line, field, value and satellite.
    """
    fields = {key: value.strip() for key, value in message.items() if value.strip()}
    where = f"{path}:{line} ({_satellite(fields)})"
    _check_meaning(where, fields)
    missing = [key for key in NEEDED if key not in fields]
    if missing:
        hint = FETCH
        if missing == ["MEAN_MOTION"] and "SEMI_MAJOR_AXIS" in fields:
            hint = "SGP4 needs MEAN_MOTION, from which it has its own semi-major axis: write it in rev/day"
        raise ScenarioError(f"{where}: the OMM lacks {', '.join(missing)}", hint)
    values = {key: _number(where, key, fields.get(key, DEFAULTS.get(key, ""))) for key in _RANGES}
    number = _catalogue_number(where, fields["NORAD_CAT_ID"])
    try:
        epoch = instant_of(fields["EPOCH"])
    except ScenarioError as error:
        raise ScenarioError(f"{where}: EPOCH {error.message}", error.hint) from error
    identity = {
        "CLASSIFICATION_TYPE": "U", "OBJECT_ID": "", "EPHEMERIS_TYPE": "0", "ELEMENT_SET_NO": "0", "REV_AT_EPOCH": "0",
        "NORAD_CAT_ID": str(number if number <= _MOST_SGP4_NUMBER else 0),
        # `sgp4` reads the epoch only in the format below.
        "EPOCH": epoch.strftime("%Y-%m-%dT%H:%M:%S.%f"),
    }  # fmt: skip
    satrec = Satrec()
    try:
        omm.initialize(satrec, identity | values)
    except ValueError as error:
        raise ScenarioError(f"{where}: SGP4 cannot begin with the OMM: {error}", FETCH) from error
    element = Element(
        fields.get("OBJECT_NAME", ""), number, line, satrec,
        designator=fields.get("OBJECT_ID", ""), decayed=_decayed(where, fields.get("DECAY_DATE")),
    )  # fmt: skip
    check_started(path, element)
    return element


def unit_is_right(key: str, unit: str) -> bool:
    """Return whether `unit` is the unit that CCSDS prescribes for the field `key`. If a field is not in `UNITS`, the
    result is true for any unit.

    >>> unit_is_right("MEAN_MOTION", "REV/DAY"), unit_is_right("INCLINATION", "rad")
    (True, False)
    """
    return key not in UNITS or unit.strip().lower().replace("^", "**").replace(" ", "") == UNITS[key]


def _satellite(fields: Fields) -> str:
    name, number = fields.get("OBJECT_NAME"), fields.get("NORAD_CAT_ID")
    return " ".join(part for part in (name, number and f"catalogue number {number}") if part) or "a satellite unnamed"


def _check_meaning(where: str, fields: Fields) -> None:
    """Reject a message unless its elements are meant for SGP4 and for an orbit of the Earth."""
    for key, allowed in ALLOWED.items():
        value = re.sub(r"\s+", "", fields.get(key, allowed[0])).upper()
        if value not in allowed:
            raise ScenarioError(
                f"{where}: {key} is {fields[key]!r}; leowarp propagates SGP4's mean elements of the Earth alone, for "
                f"which it is {allowed[0]}",
                FETCH,
            )
    for key in NO_USE:
        if key in fields and not (_NUMBER.fullmatch(fields[key]) and float(fields[key]) == 0):
            raise ScenarioError(f"{where}: {key} is {fields[key]!r}, which no SGP4 elements have", FETCH)
    if "EPHEMERIS_TYPE" in fields:
        check_theory(f"{where}: EPHEMERIS_TYPE", fields["EPHEMERIS_TYPE"].removesuffix(".0"))
    if "GM" in fields and abs(_plain(where, "GM", fields["GM"]) / _GM_KM3_PER_S2 - 1) > 1e-3:
        raise ScenarioError(f"{where}: GM is {fields['GM']} km**3/s**2, not the Earth's {_GM_KM3_PER_S2}", FETCH)


def _number(where: str, key: str, text: str) -> str:
    value = _plain(where, key, text)
    low, high = _RANGES[key]
    if not low <= value <= high:
        raise ScenarioError(f"{where}: {key} is {text}, not between {low:g} and {high:g}", FETCH)
    return text


def _plain(where: str, key: str, text: str) -> float:
    """Parse a number in plain decimal notation. `float` alone would accept nan or 1_0."""
    if _NUMBER.fullmatch(text) is None:
        hint = "write a point for a decimal comma" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else FETCH
        raise ScenarioError(f"{where}: {key} is {text[:40]!r}, which is no number", hint)
    return float(text)


def _catalogue_number(where: str, text: str) -> int:
    """Return the catalogue number of a satellite, up to nine digits. A ``.0`` at the number's end is ignored, because a
    spreadsheet may have added it."""
    digits = re.sub(r"\.0+$", "", text)
    if not re.fullmatch(r"[0-9]{1,9}", digits, re.ASCII):
        raise ScenarioError(f"{where}: NORAD_CAT_ID is {text[:40]!r}, not a number of up to nine digits", FETCH)
    return int(digits)


def _decayed(where: str, text: str | None) -> datetime | None:
    """Return the day on which the satellite decayed, according to Space-Track. None means that it has not decayed."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text[:10]).replace(tzinfo=UTC)
    except ValueError as error:
        raise ScenarioError(f"{where}: DECAY_DATE is {text[:40]!r}, which is no date", FETCH) from error


def instant_of(text: str) -> datetime:
    """Return the instant of a text in the notation of CCSDS (502.0-B-3, section 7.5.10), rounded to 1 us. An offset is
    converted to UTC.

    text: ``YYYY-MM-DDThh:mm:ss[.d...]`` or ``YYYY-DDDThh:mm:ss[.d...]``, followed by nothing, ``Z`` or an offset
        ``+hh:mm``.
    Raises ScenarioError if the text has another form, names a day or time that does not exist, or lies within a leap
    second.

    >>> instant_of("2025-300T14:00:00+02:00").isoformat()
    '2025-10-27T12:00:00+00:00'
    """
    found = _EPOCH.fullmatch(text.strip())
    if found is None:
        raise ScenarioError(f"{text!r} is no instant", _EPOCHS)
    year, hour, minute, second = (int(part) for part in found.group(1, 5, 6, 7))
    if second == 60:
        # SGP4 counts days of 86,400 s, which contain no leap second. Any other instant in place of the leap second
        # would be wrong by up to 1 s, or 7.5 km of the satellite's orbit.
        raise ScenarioError(f"{text!r} is within a leap second, which SGP4's time does not have", _EPOCHS)
    try:
        if found[4] is not None:
            day_of_year = int(found[4])
            if not 1 <= day_of_year <= 365 + isleap(year):
                raise ScenarioError(f"{text!r}: {year} has no day {day_of_year}", _EPOCHS)
            date = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day_of_year - 1)
        else:
            date = datetime(year, int(found[2]), int(found[3]), tzinfo=UTC)
        at = date.replace(hour=hour, minute=minute, second=second, tzinfo=_zone(found[9]))
        # A datetime has six decimals; if the text has more, the value is rounded, not cut.
        return (at + timedelta(microseconds=round(float(f"0.{found[8] or 0}") * 1e6))).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ScenarioError(f"{text!r} is no instant: {error}", _EPOCHS) from error


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:]) if len(text) > 3 else 0
    if minutes > 59:
        raise ValueError(f"offset {text}")
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
