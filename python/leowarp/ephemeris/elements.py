# SPDX-License-Identifier: Apache-2.0
"""The reader of files of orbital elements: TLE (two lines, or three with a name) and OMM as JSON, XML, CSV or KVN.

Each record of a file is used, counted as skipped with a reason, or rejected.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skip, Skips, skipped_line
from leowarp.ephemeris.omm import satellite_of
from leowarp.ephemeris.omm_encodings import csv_messages, is_csv, is_kvn, json_messages, kvn_messages, xml_messages
from leowarp.ephemeris.sgp4_orbits import Element
from leowarp.ephemeris.tle import HEADER, from_tle


@dataclass(frozen=True, kw_only=True)
class ElementFile:
    """The contents of a file of elements.

    elements: All element sets, in the order of the file. A satellite may have several element sets.
    header: The numbers of planes and of satellites per plane in Hypatia's first line. None means that the file has no
        header.
    skipped: How often each kind of text occurs that is not an element set.
    """

    path: Path
    elements: tuple[Element, ...]
    header: tuple[int, int] | None
    skipped: tuple[Skip, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences about skipped text and unusual epochs, one line each. Files are named without their
        directory."""
        found = []
        skipped = skipped_line(self.skipped)
        if skipped is not None:
            satellites = len({element.catalogue_number for element in self.elements})
            sets = f"{len(self.elements)} element sets of {satellites} satellites read"
            found.append(f"{self.path.name}: {sets}; {skipped}")
        odd = [element for element in self.elements if element.note]
        if odd:
            more = f" (so are {len(odd) - 1} more)" if len(odd) > 1 else ""
            found.append(f"{self.path.name}:{odd[0].line}: {odd[0].note}{more}")
        return found


def element_file(path: Path) -> ElementFile:
    """Read a file of elements.

    path: A file of TLE, 3LE, or OMM as JSON, XML, CSV or KVN. The beginning of the text shows its format. If the first
        line has two numbers, it is Hypatia's header (satgenpy, `generate_tles_from_scratch.py`).
    Raises ScenarioError if the file cannot be read, or if it has no satellite. The same error is raised if a record is
    damaged or not for SGP4. The message has file and line.
    """
    text = _text_of(path)
    start = text.lstrip()[:1]
    if not start:
        raise ScenarioError(f"{path} is empty: constellation.tle needs at least one satellite", _FORMATS)
    skipped, header = Skips(), None
    # The name does not show the format: CelesTrak's downloads are called `gp.php` in every format.
    if start in "[{":
        elements = [satellite_of(path, *message) for message in json_messages(path, text)]
    elif start == "<":
        elements = [satellite_of(path, *message) for message in xml_messages(path, text, skipped)]
    elif is_csv(text.lstrip().split("\n", 1)[0]):
        elements = [satellite_of(path, *message) for message in csv_messages(path, text, skipped)]
    elif is_kvn(text):
        elements = [satellite_of(path, *message) for message in kvn_messages(path, text, skipped)]
    else:
        found = HEADER.match(text)
        header = None if found is None else (int(found[1]), int(found[2]))
        elements = list(from_tle(path, text, 0 if header is None else 1, skipped))
        if header is not None and len(elements) != header[0] * header[1]:
            raise ScenarioError(
                f"{path}:1: the first line says {header[0]} x {header[1]} satellites, there are {len(elements)}",
                "correct the first line, or take it out: sed -i 1d " + path.name,
            )
    if not elements:
        raise ScenarioError(
            f"{path} holds no satellite: constellation.tle needs at least one{_begin_of(text, skipped)}", _FORMATS
        )
    return ElementFile(path=path, elements=tuple(elements), header=header, skipped=skipped.found)


def check_once(path: Path, elements: list[Element]) -> None:
    """Reject a file with more than one element set for the same satellite.

    Raises ScenarioError with the lines of the first duplicate.
    """
    lines: dict[int, int] = {}
    for element in elements:
        if element.catalogue_number in lines:
            raise ScenarioError(
                f"{path}:{element.line}: catalogue number {element.catalogue_number} was already at line "
                f"{lines[element.catalogue_number]}; the file has {len(elements)} element sets of "
                f"{len({each.catalogue_number for each in elements})} satellites",
                'to use of each satellite the set nearest to the run, write constellation.element_sets = "nearest '
                'epoch" (or --set constellation.element_sets="nearest epoch")',
            )
        lines[element.catalogue_number] = element.line


def names_of(elements: list[Element]) -> list[str]:
    """Return unique names of satellites: the names in the file, with ``_`` instead of blanks.

    If a name is not unique, ``-<catalogue number>`` is appended. A satellite without a name is called "sat" with this
    suffix.
    """
    plain = [re.sub(r"\s+", "_", element.name.strip()) for element in elements]
    # Names need not be unique, so the catalogue number, which is unique, is appended to duplicates.
    twice = {name for name, number in Counter(plain).items() if number > 1}
    return [
        f"{name or 'sat'}-{element.catalogue_number}" if name in twice or not name else name
        for name, element in zip(plain, elements, strict=True)
    ]


def _text_of(path: Path) -> str:
    try:
        data = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True)
    except OSError as error:
        raise ScenarioError(
            f"reading constellation.tle: {path}: {error.strerror}", "give the path of a TLE, 3LE or OMM file"
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = _FORMATS
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            hint = f"it is UTF-16, as PowerShell writes: iconv -f UTF-16 -t UTF-8 {path.name} > elements.txt"
        raise ScenarioError(
            f"reading constellation.tle: {path} is not a text file (byte {error.start})", hint
        ) from error


def _begin_of(text: str, skipped: Skips) -> str:
    """Return the end of a message about a text without satellites: its beginning, and the skipped parts."""
    what = skipped_line(skipped.found)
    first = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return f"; it begins with {first[:40]!r}" + (f"; {what}" if what else "")


_FORMATS = "formats: TLE or 3LE (CelesTrak: FORMAT=tle), OMM as JSON, XML, CSV or KVN (FORMAT=json, xml, csv, kvn)"
