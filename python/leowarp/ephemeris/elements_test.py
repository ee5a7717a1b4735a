# SPDX-License-Identifier: Apache-2.0
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sgp4.exporter import export_omm

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.ephemeris.elements import element_file
from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits
from leowarp.scenario.schema import Constellation, Plan
from leowarp.scenario.text.key import InputFile
from support.element_sets import elements_of
from support.plans import S, plan

# Two objects of CelesTrak's OneWeb list (TLEs are public), and a catalogue number above 99999 in Alpha-5 notation.
ONE = (
    "1 44057U 19010A   22320.00000000  .00000000  00000-0  00000-0 0  9993",
    "2 44057  87.9000  10.0000 0001000  90.0000 270.0000 13.15500000100009",
)


def checked(line: str) -> str:
    body = line[:68]
    return body + str(sum(int(c) if c in "0123456789" else c == "-" for c in body) % 10)


def lines_of(number: str = "44057", node_deg: float = 10.0) -> tuple[str, str]:
    first, second = ONE
    return (
        checked(f"1 {number}{first[7:]}"),
        checked(f"2 {number}{second[7:17]}{node_deg:8.4f}{second[25:]}"),
    )


def written(tmp_path: Path, text: str, name: str = "set.tle") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_two_lines_three_lines_and_marked_names_are_read(tmp_path: Path) -> None:
    a, b, c = (lines_of(number) for number in ("44057", "44058", "44059"))
    text = "\n".join(["# a comment", "ONEWEB 12 (X)", *a, "", "0 ONEWEB 10", *b, *c]) + "\n"
    names, elements = elements_of(written(tmp_path, text))
    assert names == ["ONEWEB_12_(X)", "ONEWEB_10", "sat-44059"]
    assert [element.line for element in elements] == [3, 7, 9]


def test_equal_names_are_told_apart_by_catalogue_number(tmp_path: Path) -> None:
    text = "\n".join(["DEBRIS", *lines_of("44057"), "DEBRIS", *lines_of("44058")])
    assert elements_of(written(tmp_path, text))[0] == ["DEBRIS-44057", "DEBRIS-44058"]


def test_letters_in_front_stand_for_large_catalogue_numbers(tmp_path: Path) -> None:
    _, (element,) = elements_of(written(tmp_path, "\n".join(lines_of("A4057"))))
    assert element.catalogue_number == 104_057


def test_a_first_line_of_two_numbers_says_how_many_planes_there_are(tmp_path: Path) -> None:
    a, b, c = (lines_of(number) for number in ("44057", "44058", "44059"))
    path = written(tmp_path, "\n".join(["1 3", "X 0", *a, "X 1", *b, "X 2", *c]))
    names, elements = elements_of(path)
    assert (names, element_file(path).header) == (["X_0", "X_1", "X_2"], (1, 3))
    assert [element.line for element in elements] == [3, 6, 9]
    # Two numbers directly above line 1 of a TLE are a satellite's name, not Hypatia's header.
    named = written(tmp_path, "\n".join(["3 1", *a]))
    assert (elements_of(named)[0], element_file(named).header) == (["3_1"], None)


def omm_fields(path: Path) -> list[dict]:
    names, elements = elements_of(path)
    return [export_omm(e.satrec, name) for name, e in zip(names, elements, strict=True)]


def test_omm_as_json_xml_and_csv_gives_the_positions_of_the_tle(tmp_path: Path) -> None:
    tle = written(tmp_path, "\n".join(["ONE", *lines_of("44057"), "TWO", *lines_of("44058", 55.5)]))
    messages = omm_fields(tle)
    as_json = written(tmp_path, json.dumps(messages, indent=1), "set.json")
    keys = list(messages[0])
    as_csv = written(
        tmp_path, "\n".join([",".join(keys), *(",".join(str(m[k]) for k in keys) for m in messages)]), "set.csv"
    )
    segments = "".join(
        "<segment><metadata>"
        + "".join(f"<{k}>{m[k]}</{k}>" for k in ("OBJECT_NAME", "OBJECT_ID"))
        + "</metadata><data><meanElements>"
        + "".join(f"<{k}>{v}</{k}>" for k, v in m.items() if k in _MEAN)
        + "</meanElements><tleParameters>"
        + "".join(f"<{k}>{v}</{k}>" for k, v in m.items() if k in _TLE)
        + "</tleParameters></data></segment>"
        for m in messages
    )
    as_xml = written(tmp_path, f"<?xml version='1.0'?>\n<ndm><omm><body>{segments}</body></omm></ndm>", "set.xml")
    epoch = datetime(2022, 11, 16, tzinfo=UTC)
    expected_m = positions_m(tle, epoch)
    for path in (as_json, as_csv, as_xml):
        assert elements_of(path)[0] == ["ONE", "TWO"]
        # Like a TLE, export_omm rounds angles to 1e-4 deg. export_omm also rounds the epoch to 1 us, in which a
        # satellite moves 8 mm.
        assert np.abs(positions_m(path, epoch) - expected_m).max() < 0.02


def positions_m(path: Path, epoch: datetime) -> np.ndarray:
    names, elements = elements_of(path)
    orbits = Sgp4Orbits(file=str(path), names=names, elements=elements, epoch=epoch)
    return orbits.positions_eci_m(np.array([0, 600 * S]))


def tle_plan(path: Path, epoch: str, duration_s: float = 60, start_s: float = 0) -> Plan:
    file = InputFile(name=path.name, sha256="0" * 64, path=path)
    sky = Constellation(tle=file, epoch=epoch, earth="wgs84")
    return plan(sky, duration_s=duration_s, start_s=start_s)


def test_the_plan_names_file_epoch_and_start(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(["ONE", *lines_of("44057")]))
    at_0 = ephemeris_of(tle_plan(path, "2022-11-16T00:00:00Z", start_s=60))
    assert at_0 is not None
    later = ephemeris_of(tle_plan(path, "2022-11-16T00:01:00Z"))
    assert later is not None
    assert at_0.names == ["ONE"]
    # The first ephemeris is at 60 s on its clock. The second ephemeris has an epoch that is a minute later than the
    # first one's epoch. The epochs of the two ephemerides differ by a rounding error of 1e-11 s
    assert np.abs(at_0.positions_ecef_m(0) - later.positions_ecef_m(0)).max() < 1e-4
    assert at_0.warnings == ()


def test_old_elements_warn_and_very_old_ones_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(["ONE", *lines_of("44057")]))
    old = ephemeris_of(tle_plan(path, "2023-01-10T00:00:00Z"))
    assert old is not None
    assert "more than 14 days from the run (at most 55.0)" in old.warnings[0]
    with pytest.raises(ScenarioError, match=r"set\.tle:2: the elements of ONE are of 2022-11-16, \d+ days") as raised:
        ephemeris_of(tle_plan(path, "2000-01-01T00:00:00Z"))
    assert 'constellation.epoch = "2022-11-16T00:00:00Z"' in str(raised.value.hint)


def test_a_satellite_that_sgp4_gives_up_is_named_with_its_line(tmp_path: Path) -> None:
    # With this drag, the orbit decays within days, and SGP4 returns error 6 (or error 1 at a later time).
    first, second = lines_of("44057")
    falling = checked(first[:53] + " 99999-0" + first[61:])
    low = checked(second[:52] + "16.40000000" + second[63:])
    path = written(tmp_path, "\n".join(["FINE", *lines_of("44058"), "FALLING", falling, low]))
    with pytest.raises(
        ScenarioError, match=r"set\.tle:5: 1 of 2 satellites have no orbit during the run: FALLING \(line 5"
    ):
        ephemeris_of(tle_plan(path, "2022-11-28T00:00:00Z"))


MALFORMED = {
    "": r"set\.tle is empty",
    "# nothing\n": "holds no satellite",
    "[]": "holds no satellite",
    '[{"NORAD_CAT_ID": 5}]': r"set\.tle:1 \(catalogue number 5\): the OMM lacks EPOCH",
    "[1, 2]": "set.tle:1: an entry of the list",
    "[{]": r"set\.tle:1: not JSON",
    "<ndm>": r"set\.tle:1: not XML",
    "<ndm><segment/></ndm>": "holds no satellite: .* skipped 1 empty segment",
    "OBJECT_NAME,NORAD_CAT_ID\nX,5\n": r"set\.tle:2 \(X catalogue number 5\): the OMM lacks EPOCH",
    "\n".join(
        ["2 3", "A", *lines_of(), "B", *lines_of("44058")]
    ): r"set\.tle:1: the first line says 2 x 3 .* there are 2",
    "NAME\n": r"holds no satellite: .*; it begins with 'NAME'; skipped 1 line of text",
    "NAME\nNAME\n": r"holds no satellite: .* skipped 2 lines of text .* \(the first: line 1\)",
    ONE[0]: r"set\.tle:1: the file ends after line 1",
    ONE[1]: r"set\.tle:1: expected line 1",
    "\n".join([lines_of()[0], lines_of()[0]]): r"set\.tle:2: columns 1 to 2 .* line number",
    "\n".join([lines_of()[0], lines_of("44058")[1]]): r"set\.tle:2: catalogue number 44058",
    "\n".join([lines_of()[0][:60], lines_of()[1]]): r"set\.tle:1: line 1 of a TLE has 69 characters, this one 60",
    "\n".join([lines_of()[0], lines_of()[1].replace(" 87.9", " 88.9")]): r"set\.tle:2: the checksum of line 2",
    "\n".join([lines_of()[0], lines_of()[1].replace(" 87.9", " x7.9")]): r"set\.tle:2: columns 9 to 16 .* inclination",
    "\n".join([*lines_of(), "", *lines_of()]): r"set\.tle:4: catalogue number 44057 was already at line 1",
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.items(), ids=range(len(MALFORMED)))
def test_malformed_files_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        elements_of(written(tmp_path, text))
    assert raised.value.hint


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        elements_of(tmp_path / "none.tle")
    path = tmp_path / "picture.tle"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ScenarioError, match="not a text file"):
        elements_of(path)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
@given(st.integers(0, 140), st.characters(codec="utf-8"), st.booleans())
@example(0, "[", False)
def test_a_damaged_file_is_read_or_refused_but_nothing_else(
    tmp_path: Path, at: int, character: str, mend: bool
) -> None:
    text = "\n".join(lines_of())
    text = text[:at] + character + text[at + 1 :]
    if mend:  # with a correct checksum, only later checks find the damage
        text = "\n".join(checked(line) if len(line) == 69 else line for line in text.split("\n"))
    try:
        names, elements = elements_of(written(tmp_path, text))
    except ScenarioError:
        return
    assert len(names) == len(elements) == 1


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path: Path, text: str) -> None:
    try:
        elements_of(written(tmp_path, text))
    except ScenarioError:
        return


_MEAN = (
    "EPOCH", "MEAN_MOTION", "ECCENTRICITY", "INCLINATION", "RA_OF_ASC_NODE", "ARG_OF_PERICENTER", "MEAN_ANOMALY",
)  # fmt: skip
_TLE = (
    "EPHEMERIS_TYPE", "CLASSIFICATION_TYPE", "NORAD_CAT_ID", "ELEMENT_SET_NO", "REV_AT_EPOCH", "BSTAR",
    "MEAN_MOTION_DOT", "MEAN_MOTION_DDOT",
)  # fmt: skip
