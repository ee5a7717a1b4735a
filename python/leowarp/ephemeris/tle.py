# SPDX-License-Identifier: Apache-2.0
"""The reader of two-line element sets, alone or with a name above them.

The reader checks each line's column layout and checksum. The layout is from Spacetrack Report 3, and Alpha-5 is as
described by Space-Track. Without these checks, `sgp4` would read wrong numbers from a damaged line, without an error.
Lines that are no element lines are skipped and counted.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from sgp4.api import WGS72, Satrec

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.ephemeris.sgp4_orbits import Element, check_started

COLUMNS = "the columns of a TLE are at celestrak.org/NORAD/documentation/tle-fmt.php"
HEADER = re.compile(r"[ \t]*([1-9][0-9]{0,5})[ \t]+([1-9][0-9]{0,5})[ \t]*\r?\n(?!1 )")
"""The pattern of the header in Hypatia's files, which is their first line. A satellite's name must follow the header.
If the next line is line 1 of a TLE, the two numbers are the name of a satellite."""
THEORIES = {1: "SGP", 3: "PPT3 or SDP4", 4: "SGP4-XP", 5: "SDP8", 6: "a special perturbations ephemeris"}
"""The meaning of each ephemeris type that is rejected (CCSDS 502.0-B-3, table 4-3; Spacetrack Report 3). Types 0 and 2
are SGP4."""


def from_tle(path: Path, text: str, header_lines: int, skipped: Skips) -> Iterator[Element]:
    """Yield the element sets of a text, in the order of the text.

    header_lines: The number of lines at the top of the file that the caller has read.
    skipped: The counter of comments (``#``) and of other text that is not a satellite's name, for example the beginning
        of a bulletin.
    Raises ScenarioError, with file and line, if an element line is damaged or has no partner, or if elements are not
    for SGP4.
    """
    content = list(_content(text, header_lines, skipped))
    for at, (number, line, blanks_above) in enumerate(content):
        before = content[at - 1] if at else None
        if _IS_SECOND.match(line):
            if before is None or not _IS_FIRST.match(before[1]):
                raise ScenarioError(
                    f'{path}:{number}: expected line 1 of a TLE ("1 ..."), found {line[:40]!r}', COLUMNS
                )
        elif _IS_FIRST.match(line):
            if at + 1 == len(content):
                raise ScenarioError(f"{path}:{number}: the file ends after line 1 of a TLE", COLUMNS)
            second_number, second, blanks_between = content[at + 1]
            # The text above line 1 may be the satellite's name. It is not the name if more blank lines follow the text
            # than follow line 1.
            named = before is not None and not _IS_ELEMENT.match(before[1]) and blanks_above <= blanks_between
            # In some files, such as Space-Track's 3LE, the line with the name begins with a 0.
            name = before[1].removeprefix("0 ") if named and before is not None else ""
            yield _element(path, (number, line), (second_number, second), name)
        else:
            following = content[at + 1] if at + 1 < len(content) else None
            is_name = (
                following is not None
                and _IS_FIRST.match(following[1])
                and (at + 2 == len(content) or following[2] <= content[at + 2][2])
            )
            _check_no_elements(path, number, line)
            if not is_name:
                skipped.add("line of text around the elements", "lines of text around the elements", f"line {number}")


def _content(text: str, header_lines: int, skipped: Skips) -> Iterator[tuple[int, str, int]]:
    """Yield the lines that are not empty. Each has its number, its text without blanks at the ends, and the number of
    blank lines directly above."""
    blanks = 0
    # Lines end only at CR and LF: `splitlines` would also split at characters that may occur in a name.
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        # Files from DOS may end with Ctrl-Z.
        line = raw.strip().strip("\x1a")
        if number <= header_lines:
            continue
        if line.startswith("#"):
            skipped.add("comment", "comments", f"line {number}")
        elif line:
            yield number, line, blanks
            blanks = 0
        else:
            blanks += 1


def _check_no_elements(path: Path, number: int, line: str) -> None:
    """Raise ScenarioError if a line of elements begins with other text, as in a quoted mail or a source file. If
    leowarp skipped such lines, the elements would be lost."""
    found = _WITHIN.search(line)
    if found is not None and found.start() > 0:
        before = line[: found.start()]
        hint = f"cut it off: cut -c{found.start() + 1}-{found.start() + 69} {path.name}"
        raise ScenarioError(f"{path}:{number}: {before[:40]!r} stands before an element line", hint)


def _element(path: Path, first: tuple[int, str], second: tuple[int, str], name: str) -> Element:
    number, line = first
    _check_line(path, number, line, _LINE_1, 1)
    _check_line(path, *second, _LINE_2, 2)
    # Both lines may be valid with correct checksums, but describe different satellites.
    if line[2:7] != second[1][2:7]:
        raise ScenarioError(
            f"{path}:{second[0]}: catalogue number {second[1][2:7].strip()} of line 2 is not the "
            f"{line[2:7].strip()} of line 1",
            "the two lines of a TLE belong together: look for a missing or doubled line above",
        )
    catalogue_number = _catalogue_number(line[2:7])
    satellite = f"catalogue number {catalogue_number}" + (f", {name}" if name else "")
    check_theory(f"{path}:{number}: column 63 ({satellite})", line[62].strip() or "0")
    note = _note_of_epoch(path, number, line, satellite)
    for first_column, last_column, meaning, most_deg in _ANGLES:
        value_deg = float(second[1][first_column - 1 : last_column])
        if value_deg > most_deg:
            raise ScenarioError(
                f"{path}:{second[0]}: columns {first_column} to {last_column} ({satellite}): the {meaning} is "
                f"{value_deg:g} deg, more than {most_deg:g}",
                "the line was altered: fetch the elements again",
            )
    try:
        satrec = Satrec.twoline2rv(line, second[1], WGS72)
    except ValueError as error:
        raise ScenarioError(f"{path}:{number}: SGP4 cannot read the two lines: {error}", COLUMNS) from error
    element = Element(name, catalogue_number, number, satrec, designator=line[9:17].strip(), note=note)
    check_started(path, element)
    return element


def check_theory(where: str, ephemeris_type: str) -> None:
    """Reject elements whose ephemeris type is not SGP4's.

    where: The beginning of the message: file, line, field and satellite.
    ephemeris_type: The type, as text from the file.
    Raises ScenarioError if the type belongs to another theory, for example SGP4-XP.
    """
    if ephemeris_type.isascii() and ephemeris_type.isdigit() and int(ephemeris_type) in (0, 2):
        return
    meaning = THEORIES.get(int(ephemeris_type)) if ephemeris_type.isascii() and ephemeris_type.isdigit() else None
    raise ScenarioError(
        f"{where}: ephemeris type {ephemeris_type}{f' is {meaning}' if meaning else ' is unknown'}; leowarp has SGP4 "
        "alone (type 0), which would read other quantities in these fields and give wrong positions",
        "fetch the satellites' SGP4 elements (CelesTrak's GP data, or Space-Track's class gp with EPHEMERIS_TYPE 0)",
    )


def _note_of_epoch(path: Path, number: int, line: str, satellite: str) -> str:
    """If the epoch is on day 366 of a year with 365 days, return a remark. Otherwise, return "".

    Raises ScenarioError if the year does not have the day. Day 366 is never an error.
    """
    two_digits, day = int(line[18:20]), float(line[20:32])
    # Years 57 to 99 are 1957 to 1999, as in SGP4: the first satellite, Sputnik, was launched in 1957.
    year = two_digits + (1900 if two_digits >= 57 else 2000)
    days = 365 + isleap(year)
    if 1 <= day < days + 1:
        return ""
    # For an epoch just after the end of a year, some producers continue to count the days of that year.
    if not isleap(year) and 366 <= day < 367:
        taken = datetime(year, 1, 1) + timedelta(days=day - 1)
        return f"day {day:.8f} of {year}, which has {days} days, is taken as {taken:%Y-%m-%dT%H:%M:%SZ}"
    raise ScenarioError(
        f"{path}:{number}: columns 21 to 32 ({satellite}): {year} has no day {line[20:32].strip()}; days count from 1 "
        f"(1 January) to {days}",
        "fetch the elements again; day 0 of a year is the last day of the year before",
    )


def _catalogue_number(text: str) -> int:
    """Return the catalogue number in five columns. In the format Alpha-5, a letter (but not I or O) replaces the first
    two digits. For example, A0000 is 100000."""
    letter = _ALPHA_5.find(text[0])
    return int(text) if letter < 0 else (letter + 10) * 10_000 + int(text[1:])


def _check_line(path: Path, number: int, line: str, layout: _Layout, which: int) -> None:
    """Reject a line whose length, columns or checksum are wrong for a TLE. `which` is 1 or 2."""
    if len(line) != _LENGTH:
        hint = COLUMNS
        if len(line) == _LENGTH - 1:
            hint = "its checksum (column 69) is missing: without it damage cannot be found; fetch the elements again"
        elif len(line) > _LENGTH:
            hint = f"if something stands behind the elements, cut it off: cut -c1-{_LENGTH} {path.name}"
        raise ScenarioError(
            f"{path}:{number}: line {which} of a TLE has {_LENGTH} characters, this one {len(line)}", hint
        )
    if not line.isascii() or not line.isprintable():
        raise ScenarioError(
            f"{path}:{number}: line {which} of a TLE has characters that are not printable ASCII: {line!r}", COLUMNS
        )
    for first, last, meaning, pattern in layout:
        # Columns are counted from 1, as in the description of the format.
        if re.fullmatch(pattern, line[first - 1 : last]) is None:
            raise ScenarioError(
                f"{path}:{number}: columns {first} to {last} of line {which} of a TLE hold the {meaning}, not "
                f"{line[first - 1 : last]!r}",
                COLUMNS,
            )
    # The columns between fields must be blank. If a column between two fields has a digit, a number is too long or the
    # line is shifted.
    for (_, last, meaning, _), (first, *_) in pairwise(layout):
        between = line[last : first - 1]
        if between.strip() and (which, last) != (1, 7):  # the classification is between catalogue number and designator
            raise ScenarioError(
                f"{path}:{number}: column {last + 1} of line {which} of a TLE, behind the {meaning}, is blank, not "
                f"{between!r}",
                COLUMNS,
            )
    # The checksum is the last digit of a sum: each digit adds its value, a minus sign adds 1.
    expected = sum(int(c) if c.isdigit() else c == "-" for c in line[:-1]) % 10
    if int(line[-1]) != expected:
        raise ScenarioError(
            f"{path}:{number}: the checksum of line {which} is {line[-1]}, its characters add up to {expected}",
            "the line was altered: fetch the elements again",
        )


_LENGTH = 69
_ALPHA_5 = "ABCDEFGHJKLMNPQRSTUVWXYZ"
# Short text such as "2 satellites follow" is not an element line: in an element line, the number and the blank are
# never followed by two letters.
_NO_PROSE = r"(?:(?![^\W\d_]{2})|.{50})"
_IS_ELEMENT, _IS_FIRST, _IS_SECOND = (re.compile(f"{number} {_NO_PROSE}") for number in ("[12]", "1", "2"))
_WITHIN = re.compile(r"(?:1 [ 0-9A-Z][ 0-9]{3}[0-9][UCS ] .{40}|2 [ 0-9A-Z][ 0-9]{3}[0-9] [ 0-9]{3}\.[0-9]{4} .{30})")
# For each field: its first column, its last column, its meaning and its pattern.
_Layout = tuple[tuple[int, int, str, str], ...]
# Catalogue numbers above 99999 begin with a letter (Alpha-5).
_CATALOGUE = (3, 7, "catalogue number", r"(?=.{5}) *[0-9]+|[A-HJ-NP-Z][0-9]{4}")
# In this field, Hypatia's older files have a fifth decimal instead of a blank. The field's eight columns therefore
# still contain the same number.
_ANGLE = r" *[0-9]{1,3}\.[0-9]{4,6}"
# Instead of the sign there may be a leading zero, which does not change the number. If B* contains a blank, `sgp4`
# returns NaN, so blanks are rejected.
_EXPONENT = r"[ +0-][0-9]{5}[ +-][0-9]"
_LINE_1: _Layout = (
    (1, 2, "line number", "1 "), _CATALOGUE, (19, 20, "year of the epoch", "[0-9]{2}"),
    (21, 32, "day of the epoch", r" *[0-9]{1,3}\.[0-9]+ *"),
    (34, 43, "first derivative of the mean motion", r"[ +-]?0?\.[0-9]{7,9}"),
    (45, 52, "second derivative of the mean motion", _EXPONENT), (54, 61, "drag term B*", _EXPONENT),
    (63, 63, "ephemeris type", "[ 0-9]"), (65, 68, "element set number", "[ 0-9]{4}"), (69, 69, "checksum", "[0-9]"),
)  # fmt: skip
_LINE_2: _Layout = (
    (1, 2, "line number", "2 "), _CATALOGUE, (9, 16, "inclination", _ANGLE), (18, 25, "ascending node", _ANGLE),
    (27, 33, "eccentricity", "[ 0-9]{6}[0-9]"), (35, 42, "argument of perigee", _ANGLE),
    (44, 51, "mean anomaly", _ANGLE), (53, 63, "mean motion", r" *[0-9]{1,2}\.[0-9]{8}"),
    (64, 68, "revolution number", "[ 0-9]{5}"), (69, 69, "checksum", "[0-9]"),
)  # fmt: skip
# The angles of line 2: first column, last column, meaning and largest value.
_ANGLES = ((9, 16, "inclination", 180.0), (18, 25, "ascending node", 360.0), (35, 42, "argument of perigee", 360.0),
           (44, 51, "mean anomaly", 360.0))  # fmt: skip
