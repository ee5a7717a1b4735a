# SPDX-License-Identifier: Apache-2.0
"""Invented element sets as text: TLEs, built field by field, and OMMs in four encodings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leowarp.ephemeris.elements import check_once, element_file, names_of
from leowarp.ephemeris.sgp4_orbits import Element

OMM: dict[str, Any] = {
    "OBJECT_NAME": "TEST-A", "OBJECT_ID": "2025-001A", "EPOCH": "2025-10-27T12:00:00.000000", "MEAN_MOTION": 15.06,
    "ECCENTRICITY": 0.0001, "INCLINATION": 53.0, "RA_OF_ASC_NODE": 0.0, "ARG_OF_PERICENTER": 90.0,
    "MEAN_ANOMALY": 30.0, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U", "NORAD_CAT_ID": 70001,
    "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 1, "BSTAR": 0.0001, "MEAN_MOTION_DOT": 1e-05, "MEAN_MOTION_DDOT": 0,
}  # fmt: skip
"""An OMM as CelesTrak writes it."""
METADATA = ("OBJECT_NAME", "OBJECT_ID", "CENTER_NAME", "REF_FRAME", "REF_FRAME_EPOCH", "TIME_SYSTEM",
            "MEAN_ELEMENT_THEORY")  # fmt: skip
MEAN = ("EPOCH", "SEMI_MAJOR_AXIS", "MEAN_MOTION", "ECCENTRICITY", "INCLINATION", "RA_OF_ASC_NODE", "ARG_OF_PERICENTER",
        "MEAN_ANOMALY", "GM")  # fmt: skip


def checked(line: str) -> str:
    """Return a TLE line with the checksum of its first 68 columns."""
    body = line[:68].ljust(68)
    return body + str(sum(int(c) if c in "0123456789" else c == "-" for c in body) % 10)


def line_1(
    number: str = "00001", *, year: int = 25, day: str = "300.50000000", derivative: str = " .00001000",
    drag: str = " 10000-3", kind: str = "0", second: str = " 00000-0",
) -> str:  # fmt: skip
    return checked(f"1 {number}U 25001A   {year:02d}{day} {derivative} {second} {drag} {kind}  999")


def line_2(
    number: str = "00001", *, inclination: str = " 53.0000", node: str = "  0.0000", anomaly: str = "  0.0000",
    motion: str = "15.06000000",
) -> str:  # fmt: skip
    return checked(f"2 {number} {inclination} {node} 0001000  90.0000 {anomaly} {motion}    1")


def lines_of(number: int) -> tuple[str, str]:
    text = f"{number:05d}"
    return line_1(text), line_2(text, anomaly=f"{20.0 * number % 360:8.4f}")


def written(directory: Path, *lines: str, name: str = "set.tle") -> Path:
    path = directory / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def as_json(messages: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(messages), indent=1)


def as_csv(messages: Iterable[Mapping[str, Any]]) -> str:
    many = list(messages)
    return "\n".join([",".join(many[0]), *(",".join(map(_text, each.values())) for each in many)]) + "\n"


def as_kvn(messages: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(
        "CCSDS_OMM_VERS = 2.0\nCOMMENT made up\n" + "".join(f"{key} = {_text(value)}\n" for key, value in each.items())
        for each in messages
    )


def as_xml(messages: Iterable[Mapping[str, Any]], tag: str = "ndm", prefix: str = "") -> str:
    """Return OMMs as XML. `tag` is the name of the root element, with its attributes. `prefix` is put before the names
    of all other elements."""

    def part(name: str, fields: Iterable[tuple[str, Any]]) -> str:
        inner = "".join(f"<{prefix}{key}>{_text(value)}</{prefix}{key}>" for key, value in fields)
        return f"<{prefix}{name}>{inner}</{prefix}{name}>"

    segments = []
    for each in messages:
        parameters = [(key, value) for key, value in each.items() if key not in (*METADATA, *MEAN)]
        data = part("meanElements", ((k, v) for k, v in each.items() if k in MEAN)) + part("tleParameters", parameters)
        segments.append(
            f'<{prefix}omm id="CCSDS_OMM_VERS" version="2.0"><{prefix}body><{prefix}segment>'
            + part("metadata", ((k, v) for k, v in each.items() if k in METADATA))
            + f"<{prefix}data>{data}</{prefix}data></{prefix}segment></{prefix}body></{prefix}omm>\n"
        )
    return f"<?xml version='1.0'?>\n<{tag}>\n{''.join(segments)}</{tag.split()[0]}>\n"


ENCODINGS = {"json": as_json, "csv": as_csv, "xml": as_xml, "kvn": as_kvn}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def elements_of(path: Path) -> tuple[list[str], list[Element]]:
    """Return the names and elements in a file that contains each satellite once."""
    elements = list(element_file(path).elements)
    check_once(path, elements)
    return names_of(elements), elements
