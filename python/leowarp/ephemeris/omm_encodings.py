# SPDX-License-Identifier: Apache-2.0
"""The readers of OMMs in JSON, CSV, XML (505.0-B) and KVN (502.0-B). For each message, the readers return its fields
and the line on which it begins."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips
from leowarp.ephemeris.omm import FETCH, USED, Fields, unit_is_right

Message = tuple[int, Fields]
"""A message: the number of the line on which it begins, counted from 1, and its fields."""

_OTHER_MESSAGES = {"aem", "acm", "apm", "cdm", "ocm", "oem", "opm", "rdm", "tdm"}
_KVN_LINE = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_KVN_UNIT = re.compile(r"(.*?)\s*\[([^\[\]]*)\]")


def is_csv(first_line: str) -> bool:
    """Return whether the first line of a text contains column names of an OMM."""
    return len(re.findall(r"\b(?:NORAD_CAT_ID|EPOCH|MEAN_MOTION|ECCENTRICITY|OBJECT_NAME)\b", first_line)) >= 2


def is_kvn(text: str) -> bool:
    """Return whether a text looks like KVN. In KVN, a line has a keyword, an equals sign and a value, as in other CCSDS
    messages."""
    first = next((line for line in text.split("\n") if line.strip() and not _is_comment(line)), "")
    return (
        _KVN_LINE.fullmatch(first.rstrip("\r")) is not None
        or re.search(r"(?m)^\s*CCSDS_\w+_VERS\s*=", text) is not None
    )


def json_messages(path: Path, text: str) -> Iterator[Message]:
    """Read messages in JSON. The text contains one or more JSON values. Each value is an object or a list of objects.

    Raises ScenarioError if the text is not JSON, or if a key occurs twice in an object. Values that are lists or
    objects raise it too.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_once, parse_float=str, parse_int=str, parse_constant=str, strict=False
    )
    at, line, counted = 0, 1, 0
    inside = False
    try:
        while (at := _after_blanks(text, at)) < len(text):
            if not inside and text[at] == "[":
                inside, at = True, _after_blanks(text, at + 1)
                if text[at : at + 1] == "]":
                    inside, at = False, at + 1
                continue
            line, counted = line + text.count("\n", counted, at), at
            message, at = decoder.raw_decode(text, at)
            yield line, _texts(path, line, message)
            if inside:
                at = _after_blanks(text, at)
                if text[at : at + 1] == "]":
                    inside = False
                elif text[at : at + 1] != ",":
                    raise json.JSONDecodeError("a comma or the end of the list is missing", text, at)
                at += 1
        if inside:
            raise json.JSONDecodeError("the list has no end", text, len(text))
    except json.JSONDecodeError as error:
        raise ScenarioError(
            f"{path}:{error.lineno}: not JSON: {error.msg}", f"the file may be cut short: {FETCH}"
        ) from error
    except RecursionError as error:
        raise ScenarioError(f"{path}: not JSON of satellites: {error}", FETCH) from error
    except _TwiceError as error:
        raise ScenarioError(f"{path}:{line}: {error} stands twice in one message", "take one of them out") from error


def csv_messages(path: Path, text: str, skipped: Skips) -> Iterator[Message]:
    """Read messages in CSV: a line of keywords, then a line of values per message. Commas, semicolons or tabs separate
    the values.

    Raises ScenarioError if a line has more or fewer values than there are keywords, or if a keyword occurs twice.
    """
    first = text.lstrip().split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    header: list[str] = []
    before = 0
    try:
        for row in reader:
            # A value may contain line ends, so the row begins on the line after the end of the previous row.
            line, before = before + 1, reader.line_num
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if cells[0].startswith("#") and (not header or len(cells) != len(header)):
                skipped.add("comment", "comments", f"line {line}")
            elif not header:
                header = cells
                twice = {key for key in header if header.count(key) > 1 and key}
                if twice:
                    raise ScenarioError(f"{path}:{line}: the column {min(twice)} stands twice", "take one of them out")
            elif cells == header:
                skipped.add("repeated line of column names", "repeated lines of column names", f"line {line}")
            elif len(cells) != len(header):
                raise ScenarioError(
                    f"{path}:{line}: {len(cells)} values below {len(header)} column names; the line is cut short, or "
                    "a name with a comma in it lacks its quotes",
                    FETCH,
                )
            else:
                yield line, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ScenarioError(f"{path}:{reader.line_num}: not CSV: {error}", FETCH) from error


def xml_messages(path: Path, text: str, skipped: Skips) -> Iterator[Message]:
    """Read messages in XML, one per segment, in any namespace.

    Raises ScenarioError if the text is not XML. Also raised if a segment lacks metadata or mean elements, has a field
    twice, or has a wrong unit. CCSDS prescribes the units.
    """
    reader = _Xml(path, skipped)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ScenarioError(
            f"{path}:{error.lineno}: not XML: {reason}", f"the file may be cut short: {FETCH}"
        ) from error
    if not reader.messages and reader.root.lower() == "html":
        raise ScenarioError(f"{path}: this is a page of a web site (HTML), not elements", FETCH)
    yield from reader.messages


def kvn_messages(path: Path, text: str, skipped: Skips) -> Iterator[Message]:
    """Read messages of lines ``KEYWORD = value [unit]``. Each message begins with ``CCSDS_OMM_VERS``.

    Raises ScenarioError if a line is neither a comment nor of this form, if a message has a keyword twice, or if CCSDS
    prescribes another unit.
    """
    fields: dict[str, str] = {}
    begin, other = 0, False
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = raw.strip().strip("\x1a")
        if not line:
            continue
        found = _KVN_LINE.fullmatch(line)
        if found is not None and re.fullmatch(r"CCSDS_\w+_VERS", found[1]):
            if fields:
                yield begin, fields
            fields, begin, other = {}, number, found[1] != "CCSDS_OMM_VERS"
            if other:
                _skip_other(skipped, found[1].removeprefix("CCSDS_").removesuffix("_VERS"), number)
                continue
        if other:
            continue
        # Space-Track writes an equals sign after COMMENT as well, and a message may have several comments.
        if _is_comment(line) or (found is not None and found[1] == "COMMENT"):
            skipped.add("comment", "comments", f"line {number}")
            continue
        if found is None:
            raise ScenarioError(f"{path}:{number}: neither KEYWORD = value nor COMMENT: {line[:40]!r}", FETCH)
        key, value = found[1], found[2]
        unit = _KVN_UNIT.fullmatch(value)
        if unit is not None:
            value = unit[1]
            _check_unit(path, number, key, unit[2])
        if key in fields:
            raise ScenarioError(
                f"{path}:{number}: {key} stands twice in one message",
                "each message begins with a line CCSDS_OMM_VERS = 2.0",
            )
        begin = begin if fields else number
        fields[key] = value
    if fields:
        yield begin, fields


class _TwiceError(Exception):
    """The error for a key that occurs twice in a JSON object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _texts(path: Path, line: int, message: Any) -> Fields:
    """Return the keywords and values of an object as text. null becomes an empty text."""
    if not isinstance(message, dict):
        raise ScenarioError(f"{path}:{line}: an entry of the list is not an OMM (an object)", FETCH)
    for key, value in message.items():
        if key in USED and isinstance(value, bool | list | dict):
            raise ScenarioError(f"{path}:{line}: {key} is neither a text nor a number", FETCH)
    return {key: value for key, value in message.items() if isinstance(value, str)}


def _after_blanks(text: str, at: int) -> int:
    found = re.compile(r"[ \t\r\n]*").match(text, at)
    return at if found is None else found.end()


def _is_comment(line: str) -> bool:
    return re.match(r"\s*(?:COMMENT\b(?!\s*=)|#)", line) is not None


def _skip_other(skipped: Skips, kind: str, line: int) -> None:
    skipped.add(f"message that is no OMM but of the kind {kind}", f"messages of the kind {kind}", f"line {line}")


def _check_unit(path: Path, line: int, key: str, unit: str) -> None:
    if not unit_is_right(key, unit):
        raise ScenarioError(f"{path}:{line}: the unit of {key} is {unit[:40]!r}, not CCSDS's", FETCH)


class _Xml:
    """Collects the segments of OMM messages from the events of the expat parser."""

    def __init__(self, path: Path, skipped: Skips) -> None:
        self.messages: list[Message] = []
        self.root = ""
        self._path, self._skipped = path, skipped
        self._open: list[str] = []
        self._fields: dict[str, str] | None = None
        self._parts: set[str] = set()
        self._begin, self._text, self._version = 0, "", ""
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        # Entities are rejected: a few bytes of them can expand to gigabytes, and no producer of elements uses them.
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *_: Any) -> NoReturn:
        raise ScenarioError(f"{self._path}:{self.parser.CurrentLineNumber}: declares an entity, as no OMM does", FETCH)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        line = self.parser.CurrentLineNumber
        self.root = self.root or name
        self._text = ""
        if name in _OTHER_MESSAGES and not self._other():
            _skip_other(self._skipped, name.upper(), line)
        self._open.append(name)
        if self._other():
            return
        if name == "omm":
            self._version = attributes.get("version", "")
        elif name == "segment":
            if self._fields is not None:
                raise ScenarioError(f"{self._path}:{line}: a segment within a segment", FETCH)
            self._begin, self._fields, self._parts = line, {}, set()
        elif self._fields is not None:
            self._parts.add(name)
            if "units" in attributes:
                _check_unit(self._path, line, name, attributes["units"])

    def _characters(self, text: str) -> None:
        self._text += text

    def _end(self, _: str) -> None:
        name = self._open.pop()
        if self._fields is None or self._other() or name in _OTHER_MESSAGES:
            return
        if name == "segment":
            if not self._parts:
                self._skipped.add("empty segment", "empty segments", f"line {self._begin}")
                self._fields = None
                return
            lacks = {"metadata", "meanElements", "tleParameters"} - self._parts
            if lacks:
                raise ScenarioError(
                    f"{self._path}:{self._begin}: a segment lacks {', '.join(sorted(lacks))}",
                    "OMM files from CelesTrak have metadata, meanElements and tleParameters",
                )
            if self._version:
                self._fields["CCSDS_OMM_VERS"] = self._version
            self.messages.append((self._begin, self._fields))
            self._fields = None
        elif self._open[-1] in ("metadata", "meanElements", "tleParameters") and name != "COMMENT":
            if name in self._fields:
                line = self.parser.CurrentLineNumber
                raise ScenarioError(f"{self._path}:{line}: {name} stands twice in one message", "take one of them out")
            self._fields[name] = self._text
        self._text = ""

    def _other(self) -> bool:
        """Return whether the current element is inside a message that is not an OMM."""
        return any(name in _OTHER_MESSAGES for name in self._open)
