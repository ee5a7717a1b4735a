# SPDX-License-Identifier: Apache-2.0
"""Readers of orbital elements: TLE (two lines, or three with a name) and OMM as JSON, XML or CSV.

Strict, because `sgp4` reads a damaged line as other numbers without a word: each line of a TLE is held against its
column layout and its checksum.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from sgp4 import omm
from sgp4.api import WGS72, Satrec

from leowarp import plainfiles
from leowarp.ephemeris.sgp4_orbits import Element
from leowarp.errors import ScenarioError


def elements_of(path: Path) -> tuple[list[str], list[Element]]:
    """Names and elements of the satellites in a file, in its order.

    A satellite is called by its catalogue name with blanks as ``_``; a name that occurs twice, or is missing, gets
    ``-<catalogue number>``.

    Raises
    ------
    ScenarioError
        If the file cannot be read, holds no satellite, is malformed, or names one satellite twice; with file and line.

    Parameters
    ----------
    path : Path
        TLE, 3LE, or OMM as JSON, XML or CSV; told apart by how the text begins, not by the file's name. A first line of
        two numbers is Hypatia's header (`header_of`).

    Returns
    -------
    names : list of str
        Unique.
    elements : list of Element
        In the file's order.
    """
    text = _text_of(path)
    start = text.lstrip()[:1]
    if not start:
        raise ScenarioError(f"{path} is empty: constellation.tle needs at least one satellite", _FORMATS)
    # By what it holds and not by its name: CelesTrak's downloads are called `gp.php` in every format.
    if start in "[{":
        elements = list(_from_json(path, text))
    elif start == "<":
        elements = list(_from_xml(path, text))
    elif "NORAD_CAT_ID" in text.split("\n", 1)[0]:
        elements = list(_from_csv(path, text))
    else:
        header = _HEADER.match(text)
        elements = list(_from_tle(path, text, 0 if header is None else 1))
        if header is not None and len(elements) != int(header[1]) * int(header[2]):
            raise ScenarioError(
                f"{path}:1: the first line says {header[1]} x {header[2]} satellites, there are {len(elements)}",
                "correct the first line, or take it out",
            )
    if not elements:
        raise ScenarioError(f"{path} holds no satellite: constellation.tle needs at least one", _FORMATS)
    return _named(path, elements), elements


def header_of(path: Path) -> tuple[int, int] | None:
    """Numbers of planes and of satellites per plane in the first line of a file of TLE; None: it has none.

    Hypatia writes such a line into ``tles.txt`` (satgenpy, `generate_tles_from_scratch.py`).

    Raises
    ------
    ScenarioError
        As of `elements_of`, if the file cannot be read.
    """
    found = _HEADER.match(_text_of(path))
    return None if found is None else (int(found[1]), int(found[2]))


def _text_of(path: Path) -> str:
    try:
        return plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True).decode("utf-8-sig")
    except OSError as error:
        raise ScenarioError(
            f"reading constellation.tle: {path}: {error.strerror}", "give the path of a TLE, 3LE or OMM file"
        ) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"reading constellation.tle: {path} is not a text file (byte {error.start})", _FORMATS
        ) from error


def _named(path: Path, elements: list[Element]) -> list[str]:
    """Names of the satellites, made unique; see `elements_of`."""
    lines: dict[int, int] = {}
    for element in elements:
        if element.catalogue_number in lines:
            raise ScenarioError(
                f"{path}:{element.line}: catalogue number {element.catalogue_number} was already at line "
                f"{lines[element.catalogue_number]}; a constellation has each satellite once",
                "keep the set of elements whose epoch is nearest to constellation.epoch",
            )
        lines[element.catalogue_number] = element.line
    plain = [re.sub(r"\s+", "_", element.name.strip()) for element in elements]
    # Names need not be unique; catalogue numbers are, that was checked above.
    twice = {name for name, number in Counter(plain).items() if number > 1}
    return [
        f"{name or 'sat'}-{element.catalogue_number}" if name in twice or not name else name
        for name, element in zip(plain, elements, strict=True)
    ]


def _from_tle(path: Path, text: str, header: int) -> Iterator[Element]:
    """Elements of pairs of lines, each with a name before it or none; skips the first `header` lines."""
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), 1)][header:]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    name, at = "", 0
    while at < len(lines):
        number, line = lines[at]
        if not line.startswith("1 "):
            if name or line.startswith("2 "):
                raise ScenarioError(f'{path}:{number}: expected line 1 of a TLE ("1 ..."), found {line[:40]!r}', _TLE)
            # Some files mark the name's line with a 0, as Space-Track's 3LE does.
            name, at = line.removeprefix("0 "), at + 1
            continue
        if at + 1 == len(lines):
            raise ScenarioError(f"{path}:{number}: the file ends after line 1 of a TLE", _TLE)
        second_number, second = lines[at + 1]
        _check_line(path, number, line, _LINE_1, 1)
        _check_line(path, second_number, second, _LINE_2, 2)
        # Both lines may be whole and right by their checksums, and yet of two satellites.
        if line[2:7] != second[2:7]:
            raise ScenarioError(
                f"{path}:{second_number}: catalogue number {second[2:7].strip()} of line 2 is not the "
                f"{line[2:7].strip()} of line 1",
                "the two lines of a TLE belong together: look for a missing or doubled line above",
            )
        # WGS72, for that is what the published elements were fitted with (Vallado and others, AIAA 2006-6753).
        satrec = Satrec.twoline2rv(line, second, WGS72)
        _check_started(path, number, satrec)
        yield Element(name, satrec.satnum, number, satrec)
        name, at = "", at + 2
    if name:
        raise ScenarioError(f"{path}:{lines[-1][0]}: {name[:40]!r} is followed by no elements", _TLE)


def _check_line(path: Path, number: int, line: str, layout: _Layout, which: int) -> None:
    """Refuses a line whose length, columns or checksum are not those of a TLE; `which` is 1 or 2.

    Not left to `sgp4`, which reads a damaged line as other numbers without a word.
    """
    if len(line) != _TLE_LENGTH:
        raise ScenarioError(
            f"{path}:{number}: line {which} of a TLE has {_TLE_LENGTH} characters, this one {len(line)}", _TLE
        )
    if not line.isascii() or not line.isprintable():
        raise ScenarioError(
            f"{path}:{number}: line {which} of a TLE has characters that are not printable ASCII: {line!r}", _TLE
        )
    for first, last, meaning, pattern in layout:
        # Columns count from 1, as in the format's description.
        if re.fullmatch(pattern, line[first - 1 : last]) is None:
            raise ScenarioError(
                f"{path}:{number}: columns {first} to {last} of line {which} of a TLE hold the {meaning}, not "
                f"{line[first - 1 : last]!r}",
                _TLE,
            )
    # Checksum, modulo 10: digits count as themselves, a minus sign as 1.
    expected = sum(int(c) if c.isdigit() else c == "-" for c in line[:-1]) % 10
    if int(line[-1]) != expected:
        raise ScenarioError(
            f"{path}:{number}: the checksum of line {which} is {line[-1]}, its characters add up to {expected}",
            "the line was altered: fetch the elements again",
        )


def _from_json(path: Path, text: str) -> Iterator[Element]:
    """Elements of an OMM, or of a list of them, as CelesTrak and Space-Track write JSON."""
    try:
        messages = json.loads(text)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}:{error.lineno}: not JSON: {error.msg}", _FORMATS) from error
    except (ValueError, RecursionError) as error:  # an endless number; nested too deeply
        raise ScenarioError(f"{path}: not JSON of satellites: {error}", _FORMATS) from error
    messages = [messages] if isinstance(messages, dict) else messages
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise ScenarioError(f"{path}: entry {index} of the list is not an OMM (an object)", _FORMATS)
        # JSON keeps no line numbers: count the key that each message must have.
        yield _from_omm(path, _line_of(text, '"NORAD_CAT_ID"', index), message)


def _from_xml(path: Path, text: str) -> Iterator[Element]:
    """Elements of the segments of an XML file of OMM (CCSDS 502.0-B)."""
    try:
        messages = list(omm.parse_xml(io.StringIO(text)))
    except ET.ParseError as error:
        raise ScenarioError(f"{path}:{error.position[0]}: not XML: {error.msg}", _FORMATS) from error
    except (AttributeError, TypeError) as error:
        raise ScenarioError(
            f"{path}: a segment lacks metadata, meanElements or tleParameters",
            "OMM files from CelesTrak have all three",
        ) from error
    for index, message in enumerate(messages):
        yield _from_omm(path, _line_of(text, "<NORAD_CAT_ID", index), message)


def _from_csv(path: Path, text: str) -> Iterator[Element]:
    """Elements of a CSV file with a line of keywords at its top."""
    reader = csv.DictReader(io.StringIO(text))
    for message in reader:
        yield _from_omm(path, reader.line_num, message)


def _from_omm(path: Path, line: int, message: Mapping[str, object]) -> Element:
    """The satellite of one OMM, given as keywords and values.

    Raises
    ------
    ScenarioError
        If a keyword that SGP4 needs is missing, or a value is none; with file and line.
    """
    missing = [key for key in _OMM_KEYS if message.get(key) in (None, "")]
    if missing:
        raise ScenarioError(f"{path}:{line}: the OMM lacks {', '.join(missing)}", _FORMATS)
    # `csv.DictReader` puts cells beyond the last column under the key None.
    fields = {key: str(value) for key, value in message.items() if key is not None}
    try:
        instant = datetime.fromisoformat(fields["EPOCH"].replace("Z", ""))
        # The package reads this one form; sources write fewer digits, or a Z.
        fields["EPOCH"] = instant.strftime("%Y-%m-%dT%H:%M:%S.%f")
        satrec = Satrec()
        omm.initialize(satrec, _OMM_DEFAULTS | fields)
    except ValueError as error:
        raise ScenarioError(f"{path}:{line}: an OMM value is wrong: {error}", _FORMATS) from error
    _check_started(path, line, satrec)
    return Element(fields.get("OBJECT_NAME", ""), int(fields["NORAD_CAT_ID"]), line, satrec)


def _check_started(path: Path, line: int, satrec: Satrec) -> None:
    """Refuses elements that SGP4 could not begin with, or whose mean motion is no number above 0."""
    if satrec.error or not math.isfinite(satrec.no_kozai) or satrec.no_kozai <= 0:
        raise ScenarioError(
            f"{path}:{line}: SGP4 refuses the elements of catalogue number {satrec.satnum}: mean motion "
            # rad/min to revolutions a day: 1440 / 2 pi.
            f"{satrec.no_kozai * 720 / math.pi:.6f} rev/day, eccentricity {satrec.ecco:.7f}",
            "remove the satellite, or fetch its elements again",
        )


def _line_of(text: str, mark: str, occurrence: int) -> int:
    """Line of the n-th (from 0) occurrence of a mark in a text; of the last one if there are fewer."""
    at = -1
    for _ in range(occurrence + 1):
        next_at = text.find(mark, at + 1)
        if next_at < 0:
            break
        at = next_at
    return text.count("\n", 0, max(at, 0)) + 1


_FORMATS = "formats: TLE or 3LE (CelesTrak: FORMAT=tle), OMM as JSON, XML or CSV (FORMAT=json, xml, csv)"
_TLE = "the columns of a TLE are at celestrak.org/NORAD/documentation/tle-fmt.php"
_TLE_LENGTH = 69
# A satellite's name follows: two numbers directly above line 1 of a TLE are the name themselves.
_HEADER = re.compile(r"[ \t]*([1-9][0-9]{0,5})[ \t]+([1-9][0-9]{0,5})[ \t]*\r?\n(?!1 )")
# (first column, last column, meaning, pattern) of each field.
_Layout = tuple[tuple[int, int, str, str], ...]
# Catalogue numbers above 99999 have a letter in front (Alpha-5).
_CATALOGUE = (3, 7, "catalogue number", r"[ 0-9A-HJ-NP-Z][ 0-9]{3}[0-9]")
_ANGLE = r" *[0-9]{1,3}\.[0-9]{4}"
_EXPONENT = r"[ +-][ 0-9]{4}[0-9][ +-][0-9]"
_LINE_1: _Layout = (
    (1, 2, "line number", "1 "), _CATALOGUE, (19, 20, "year of the epoch", "[0-9]{2}"),
    (21, 32, "day of the epoch", r" *[0-9]{1,3}\.[0-9]+ *"),
    (34, 43, "first derivative of the mean motion", r"[ +-]\.[0-9]{8}"),
    (45, 52, "second derivative of the mean motion", _EXPONENT), (54, 61, "drag term B*", _EXPONENT),
    (63, 63, "ephemeris type", "[ 0-9]"), (65, 68, "element set number", "[ 0-9]{4}"), (69, 69, "checksum", "[0-9]"),
)  # fmt: skip
_LINE_2: _Layout = (
    (1, 2, "line number", "2 "), _CATALOGUE, (9, 16, "inclination", _ANGLE), (18, 25, "ascending node", _ANGLE),
    (27, 33, "eccentricity", "[ 0-9]{6}[0-9]"), (35, 42, "argument of perigee", _ANGLE),
    (44, 51, "mean anomaly", _ANGLE), (53, 63, "mean motion", r" *[0-9]{1,2}\.[0-9]{8}"),
    (64, 68, "revolution number", "[ 0-9]{5}"), (69, 69, "checksum", "[0-9]"),
)  # fmt: skip
_OMM_KEYS = (
    "NORAD_CAT_ID", "EPOCH", "MEAN_MOTION", "ECCENTRICITY", "INCLINATION", "RA_OF_ASC_NODE", "ARG_OF_PERICENTER",
    "MEAN_ANOMALY", "BSTAR", "MEAN_MOTION_DOT", "MEAN_MOTION_DDOT",
)  # fmt: skip
# Identifiers that SGP4 has no use for; CelesTrak always gives them, other sources not.
_OMM_DEFAULTS = {
    "CLASSIFICATION_TYPE": "U", "OBJECT_ID": "", "EPHEMERIS_TYPE": "0", "ELEMENT_SET_NO": "0", "REV_AT_EPOCH": "0",
}  # fmt: skip
