# SPDX-License-Identifier: Apache-2.0
"""Tests each field of orbit mean-elements messages, in the four encodings."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.elements import ElementFile, element_file
from leowarp.ephemeris.omm import instant_of
from support.element_sets import ENCODINGS, OMM, as_csv, as_json, as_kvn, as_xml, elements_of, written

each_encoding = pytest.mark.parametrize("encoding", ENCODINGS)


def read(tmp_path: Path, encoding: str, *changes: dict[str, Any]) -> ElementFile:
    messages = [OMM | {"NORAD_CAT_ID": 70001 + at} | change for at, change in enumerate(changes)]
    return element_file(written(tmp_path, ENCODINGS[encoding](messages), name="set.omm"))


@each_encoding
def test_catalogue_numbers_have_up_to_nine_digits(tmp_path: Path, encoding: str) -> None:
    numbers = [5, 339_999, 340_000, 799_501_299]
    found = read(tmp_path, encoding, *({"NORAD_CAT_ID": number, "OBJECT_NAME": "X"} for number in numbers))
    assert [element.catalogue_number for element in found.elements] == numbers
    assert elements_of(found.path)[0] == [f"X-{number}" for number in numbers]
    for number in ("1234567890", "-5", "5.5", "x"):
        with pytest.raises(ScenarioError, match="NORAD_CAT_ID"):
            read(tmp_path, encoding, {"NORAD_CAT_ID": number})


@each_encoding
def test_empty_fields_that_no_orbit_needs_are_as_missing_ones(tmp_path: Path, encoding: str) -> None:
    empty = dict.fromkeys(
        ("OBJECT_NAME", "OBJECT_ID", "ELEMENT_SET_NO", "CLASSIFICATION_TYPE", "REV_AT_EPOCH", "EPHEMERIS_TYPE",
         "MEAN_MOTION_DOT", "MEAN_MOTION_DDOT"),
    )  # fmt: skip
    found = read(tmp_path, encoding, empty)
    assert elements_of(found.path)[0] == ["sat-70001"]
    assert found.elements[0].satrec.no_kozai == read(tmp_path, encoding, {}).elements[0].satrec.no_kozai


@each_encoding
@pytest.mark.parametrize("key", ["EPOCH", "MEAN_MOTION", "BSTAR", "MEAN_ANOMALY", "NORAD_CAT_ID"])
def test_empty_fields_that_an_orbit_needs_are_named(tmp_path: Path, encoding: str, key: str) -> None:
    with pytest.raises(ScenarioError, match=rf"TEST-A.*\): the OMM lacks {key}"):
        read(tmp_path, encoding, {key: None})


REFUSED: dict[str, list[Any]] = {
    "EPHEMERIS_TYPE": [4, 1, 3, 6, "x"],
    "MEAN_ELEMENT_THEORY": ["SGP4-XP", "SGP", "DSST", "USM"],
    "REF_FRAME": ["EME2000", "GCRF", "TOD", "ITRF2000"],
    "TIME_SYSTEM": ["TAI", "GPS", "TT", "UT1"],
    "CENTER_NAME": ["MOON", "MARS", "SUN"],
    "REF_FRAME_EPOCH": ["2000-01-01T12:00:00"],
    "CCSDS_OMM_VERS": ["4.0"],
    "GM": ["42828.4", "x"],
    "BTERM": ["0.02"],
    "AGOM": ["0.01"],
    "MEAN_MOTION": ["nan", "inf", "-1", "25", "1_5", "15,06", "0x1"],
    "ECCENTRICITY": ["1", "1.5", "-0.1"],
    "INCLINATION": ["200", "-1"],
    "BSTAR": ["NaN"],
    "EPOCH": ["2025-10-27", "2025-W44-1T12:00:00", "27/10/2025 12:00", "2025-366T00:00:00", "2025-02-29T00:00:00",
              "2016-12-31T23:59:60.5", "2025-10-27T24:00:00", "2025-10-27T12:00"],
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["json", "kvn", "xml"])
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in REFUSED.items() for value in values])
def test_another_meaning_is_refused_with_field_value_and_satellite(
    tmp_path: Path, encoding: str, key: str, value: object
) -> None:
    if (encoding == "xml" and key == "CCSDS_OMM_VERS") or (encoding == "kvn" and key == "CCSDS_OMM_VERS"):
        return  # in XML and KVN, the version is not a field of the message
    with pytest.raises(ScenarioError) as raised:
        read(tmp_path, encoding, {key: value})
    assert key in raised.value.message
    assert str(value) in raised.value.message
    assert "TEST-A catalogue number 70001" in raised.value.message
    assert raised.value.hint


@each_encoding
def test_what_says_sgp4_of_the_earth_is_read(tmp_path: Path, encoding: str) -> None:
    said = {"MEAN_ELEMENT_THEORY": "sgp/sgp4", "REF_FRAME": "TEME of Date", "TIME_SYSTEM": "utc",
            "CENTER_NAME": "Earth", "GM": "398600.8", "EPHEMERIS_TYPE": "2"}  # fmt: skip
    assert len(read(tmp_path, encoding, said).elements) == 1


@pytest.mark.parametrize(
    "text", ["2025-300T12:00:00.0000", "2025-10-27T14:00:00+02:00", "2025-10-27T05:30:00-0630", "2025-10-27 12:00:00Z",
             "2025-10-27T11:59:59.9999999", "2025-10-28T00:00:00+12"],
)  # fmt: skip
def test_one_instant_has_many_forms(tmp_path: Path, text: str) -> None:
    assert instant_of(text).isoformat() == "2025-10-27T12:00:00+00:00"
    here, there = (read(tmp_path, "json", {"EPOCH": each}).elements[0].satrec for each in (text, OMM["EPOCH"]))
    assert (here.jdsatepoch, here.jdsatepochF) == (there.jdsatepoch, there.jdsatepochF)


@given(st.datetimes())
def test_calendar_date_and_day_of_the_year_are_the_same_instant(when: Any) -> None:
    assert instant_of(f"{when:%Y}".rjust(4, "0") + f"{when:-%m-%dT%H:%M:%S.%f}") == instant_of(
        f"{when:%Y}".rjust(4, "0") + f"{when:-%jT%H:%M:%S.%f}Z"
    )


@pytest.mark.parametrize(
    ("tag", "prefix"), [('ndm xmlns="urn:ccsds:schema:ndmxml"', ""), ('n:ndm xmlns:n="urn:ccsds:schema:ndmxml"', "n:")]
)
def test_xml_is_read_in_any_namespace_with_its_lines(tmp_path: Path, tag: str, prefix: str) -> None:
    text = as_xml([OMM, OMM | {"NORAD_CAT_ID": 70002}], tag, prefix)
    assert [e.line for e in element_file(written(tmp_path, text)).elements] == [3, 4]


def test_comments_with_an_equals_sign_are_comments_however_many(tmp_path: Path) -> None:
    text = as_kvn([OMM]).replace("COMMENT made up", "COMMENT = made up\nCOMMENT =twice")
    found = element_file(written(tmp_path, text))
    assert len(found.elements) == 1


def test_empty_segments_are_skipped_and_counted(tmp_path: Path) -> None:
    text = as_xml([OMM]).replace("<omm ", "<omm><body><segment>\n</segment></body></omm><omm ", 1)
    found = element_file(written(tmp_path, text))
    assert len(found.elements) == 1
    assert "skipped 1 empty segment" in found.sentences[0]


def test_messages_of_other_kinds_are_skipped_and_counted(tmp_path: Path) -> None:
    xml = as_xml([OMM]).replace("</ndm>", "<oem><body><segment><metadata/></segment></body></oem></ndm>")
    kvn = as_kvn([OMM]) + "\nCCSDS_OEM_VERS = 2.0\nMETA_START\n2025-10-27T12:00:00 1 2 3 4 5 6\n"
    for text in (xml, kvn):
        found = element_file(written(tmp_path, text))
        assert len(found.elements) == 1
        assert "1 message that is no OMM but of the kind OEM" in found.sentences[0]


@pytest.mark.parametrize(
    "text",
    [
        as_kvn([OMM]).replace("MEAN_MOTION = 15.06", "MEAN_MOTION = 15.06 [rad/s]"),
        as_xml([OMM]).replace("<INCLINATION>", '<INCLINATION units="rad">'),
    ],
)
def test_other_units_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError, match=r"the unit of (MEAN_MOTION|INCLINATION) is"):
        element_file(written(tmp_path, text))


def test_ccsds_units_are_read(tmp_path: Path) -> None:
    text = as_kvn([OMM]).replace("= 15.06", "= 15.06 [rev/day]").replace("= 53.0", "= 53.0 [deg]")
    assert len(element_file(written(tmp_path, text)).elements) == 1


def test_a_shifted_row_of_csv_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"set\.tle:2: 18 values below 17 column names"):
        element_file(written(tmp_path, as_csv([OMM | {"OBJECT_NAME": "A, B"}])))


def test_csv_with_semicolons_and_a_repeated_header_is_read(tmp_path: Path) -> None:
    text = as_csv([OMM]) + as_csv([OMM | {"NORAD_CAT_ID": 70002}])
    found = element_file(written(tmp_path, text.replace(",", ";")))
    assert len(found.elements) == 2
    assert "skipped 1 repeated line of column names (line 3)" in found.sentences[0]


def test_several_documents_of_json_are_read_with_their_lines(tmp_path: Path) -> None:
    text = as_json([OMM]) + "\n" + as_json([OMM | {"NORAD_CAT_ID": 70002}])
    assert [element.line for element in element_file(written(tmp_path, text)).elements] == [2, 23]


def test_a_field_twice_is_refused(tmp_path: Path) -> None:
    for text in (
        as_json([OMM]).replace('"BSTAR"', '"EPOCH"'),
        as_kvn([OMM]).replace("BSTAR", "EPOCH"),
        as_csv([OMM]).replace("BSTAR", "EPOCH"),
        as_xml([OMM]).replace("<INCLINATION>53.0</INCLINATION>", "<EPOCH>2025-10-27T12:00:00</EPOCH>"),
    ):
        with pytest.raises(ScenarioError, match="EPOCH stands twice"):
            element_file(written(tmp_path, text))


def test_a_web_page_and_utf_16_have_hints(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="a page of a web site"):
        element_file(written(tmp_path, "<html><body><p>No data</p></body></html>"))
    path = tmp_path / "wide.json"
    path.write_bytes(as_json([OMM]).encode("utf-16"))
    with pytest.raises(ScenarioError, match="iconv -f UTF-16"):
        element_file(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(st.sampled_from(sorted(ENCODINGS)), st.data())
def test_after_cutting_or_doubling_lines_no_message_is_lost_in_silence(
    tmp_path: Path, encoding: str, data: st.DataObject
) -> None:
    text = ENCODINGS[encoding]([OMM | {"NORAD_CAT_ID": number, "OBJECT_NAME": f"S-{number}"} for number in (1, 2, 3)])
    lines = text.split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    line = lines[at]
    lines[at : at + 1] = data.draw(st.sampled_from([[line, line], [line[: len(line) // 2]], []]))
    try:
        found = element_file(written(tmp_path, "\n".join(lines)))
    except ScenarioError:
        return
    numbers = [element.catalogue_number for element in found.elements]
    left = "\n".join(lines)
    # In CSV and in this XML, each message is one line. If a change removed a message's name, it removed the whole
    # message.
    expected = [number for number in (1, 2, 3) for _ in range(left.count(f"S-{number}"))]
    if encoding in ("csv", "xml"):
        assert numbers == expected
    else:
        assert numbers == [1, 2, 3]
