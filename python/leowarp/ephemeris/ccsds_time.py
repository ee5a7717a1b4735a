# SPDX-License-Identifier: Apache-2.0
"""The parser of instants in the notation of CCSDS (502.0-B-3, section 7.5.10)."""

from __future__ import annotations

import re
from calendar import isleap
from datetime import UTC, datetime, timedelta, timezone

from leowarp.base.errors import ScenarioError

FORMS = "write it as 2025-10-27T12:00:00.000000 or 2025-300T12:00:00, in UTC"


def instant_of(text: str) -> datetime:
    """Return the instant of a text in UTC, rounded to 1 us. If the text has an offset, the result is converted to UTC.

    text: ``YYYY-MM-DDThh:mm:ss[.d...]`` or ``YYYY-DDDThh:mm:ss[.d...]``, followed by nothing, ``Z`` or an offset
        ``+hh:mm``.
    Raises ScenarioError if the text has another form, names a day or time that does not exist, or lies within a leap
    second.

    >>> instant_of("2025-300T14:00:00+02:00").isoformat()
    '2025-10-27T12:00:00+00:00'
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ScenarioError(f"{text!r} is no instant", FORMS)
    year, month, day, day_of_year = (None if part is None else int(part) for part in found.group(1, 2, 3, 4))
    hour, minute, second = (int(part) for part in found.group(5, 6, 7))
    if second == 60:
        # SGP4 counts days of 86,400 s, which contain no leap second. Any other instant in place of the leap second
        # would be wrong by up to 1 s, or 7.5 km of the satellite's orbit.
        raise ScenarioError(f"{text!r} is within a leap second, which SGP4's time does not have", FORMS)
    assert year is not None
    try:
        if day_of_year is not None:
            if not 1 <= day_of_year <= 365 + isleap(year):
                raise ScenarioError(f"{text!r}: {year} has no day {day_of_year}", FORMS)
            date = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day_of_year - 1)
        else:
            assert month is not None
            assert day is not None
            date = datetime(year, month, day, tzinfo=UTC)
        at = date.replace(hour=hour, minute=minute, second=second, tzinfo=_zone(found[9]))
        # A datetime has six decimals; if the text has more, the value is rounded, not cut.
        return (at + timedelta(microseconds=round(float(f"0.{found[8] or 0}") * 1e6))).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ScenarioError(f"{text!r} is no instant: {error}", FORMS) from error


def _zone(text: str | None) -> timezone:
    """Return the offset of a time from UTC. If the offset is missing or Z, the time is UTC."""
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:]) if len(text) > 3 else 0
    if minutes > 59:
        raise ValueError(f"offset {text}")
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))


_FORM = re.compile(
    r"([0-9]{4})-(?:([0-9]{2})-([0-9]{2})|([0-9]{3}))[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]*))?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
