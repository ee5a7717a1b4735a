# SPDX-License-Identifier: Apache-2.0
"""Tests files of two-line element sets: which text is read, which is skipped and counted, and which is rejected."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.elements import element_file
from support.element_sets import line_1, line_2, lines_of, written

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
NAMED = ["SAT-1", *lines_of(1), "SAT-2", *lines_of(2), "SAT-3", *lines_of(3)]


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as raised:
        element_file(path)
    assert raised.value.hint
    return raised.value.message


def test_a_leading_zero_before_the_point_of_the_derivative_changes_nothing(tmp_path: Path) -> None:
    plain, zero, signed = (
        element_file(written(tmp_path, line_1(derivative=text), line_2())).elements[0].satrec.ndot
        for text in (" .00001000", "0.00001000", " 0.0000100")
    )
    assert plain == zero == signed > 0


def test_an_angle_with_a_fifth_decimal_in_its_eight_columns_is_the_same_angle(tmp_path: Path) -> None:
    plain, longer = (
        element_file(written(tmp_path, line_1(), line_2(inclination=text))).elements[0].satrec.inclo
        for text in (" 53.0000", "53.00000")
    )
    assert plain == longer > 0


def test_a_drag_term_with_blanks_in_it_is_refused_for_sgp4_makes_nan_of_it(tmp_path: Path) -> None:
    assert "columns 54 to 61" in refusal(written(tmp_path, line_1(drag="   345-3"), line_2()))


@pytest.mark.parametrize("kind", "13456789")
def test_other_theories_are_refused_with_field_value_and_satellite(tmp_path: Path, kind: str) -> None:
    text = refusal(written(tmp_path, "XP-1", line_1(kind=kind), line_2()))
    assert text.startswith(f"{tmp_path}/set.tle:2: column 63 (catalogue number 1, XP-1): ephemeris type {kind} is ")


@pytest.mark.parametrize("kind", " 02")
def test_the_types_of_sgp4_are_read(tmp_path: Path, kind: str) -> None:
    assert len(element_file(written(tmp_path, line_1(kind=kind), line_2())).elements) == 1


@pytest.mark.parametrize(
    ("year", "day"),
    [(25, "000.50000000"), (25, "367.00000000"), (24, "367.00000000"), (24, "720.50000000"), (25, "999.00000000")],
)
def test_days_that_no_year_has_are_refused(tmp_path: Path, year: int, day: str) -> None:
    assert f"20{year} has no day {day}" in refusal(written(tmp_path, line_1(year=year, day=day), line_2()))


def test_day_366_of_a_common_year_is_read_with_a_sentence_and_of_a_leap_year_without(tmp_path: Path) -> None:
    common = element_file(written(tmp_path, line_1(year=25, day="366.50000000"), line_2()))
    assert common.sentences == [
        "set.tle:1: day 366.50000000 of 2025, which has 365 days, is taken as 2026-01-01T12:00:00Z"
    ]
    assert element_file(written(tmp_path, line_1(year=24, day="366.50000000"), line_2())).sentences == []


def test_a_bulletins_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    head = ["SB KEPS @ TEST  $TST-25300.N", "2Line Orbital Elements 25300.TEST", "", "HR AMATEUR DATA", "",
            "2 satellites follow", "", "# made by hand"]  # fmt: skip
    read = element_file(written(tmp_path, *head, "SAT-1", *lines_of(1), "SAT-2", *lines_of(2), "", "/EX"))
    assert [element.name for element in read.elements] == ["SAT-1", "SAT-2"]
    assert read.sentences == [
        "set.tle: 2 element sets of 2 satellites read; "
        "skipped 5 lines of text around the elements (the first: line 1), "
        "1 comment (line 8)"
    ]


def test_text_above_a_blank_line_is_no_name(tmp_path: Path) -> None:
    read = element_file(written(tmp_path, "A HEADER", "", *lines_of(1), *lines_of(2)))
    assert [element.name for element in read.elements] == ["", ""]
    assert sum(skip.count for skip in read.skipped) == 1


def test_double_spaced_files_keep_their_names(tmp_path: Path) -> None:
    read = element_file(written(tmp_path, *(text for line in NAMED for text in (line, ""))))
    assert [element.name for element in read.elements] == ["SAT-1", "SAT-2", "SAT-3"]
    assert read.sentences == []


def test_quoted_lines_are_refused_with_a_line_to_type(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"set\.tle:2: '> ' stands before an element line") as raised:
        element_file(written(tmp_path, *(f"> {line}" for line in NAMED)))
    assert raised.value.hint == "cut it off: cut -c3-71 set.tle"


def test_indented_lines_and_other_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "set.tle"
    path.write_bytes(("\ufeff" + "\r\n".join(f"  {line}  " for line in NAMED) + "\r\n\x1a").encode())
    assert len(element_file(path).elements) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inclination": "181.0000"}, "inclination is 181 deg"),
        ({"anomaly": "360.5000"}, "mean anomaly is 360.5 deg"),
        ({"motion": " 0.00000000"}, "SGP4 refuses the elements of catalogue number 1"),
    ],
)
def test_values_that_are_none_are_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    assert said in refusal(written(tmp_path, line_1(), line_2(**change)))


@pytest.mark.parametrize(
    ("text", "number"), [("    5", 5), ("00005", 5), ("99999", 99_999), ("A0000", 100_000), ("H9999", 179_999),
                         ("J0000", 180_000), ("P0000", 230_000), ("Z9999", 339_999)],
)  # fmt: skip
def test_catalogue_numbers_and_alpha_5(tmp_path: Path, text: str, number: int) -> None:
    (element,) = element_file(written(tmp_path, line_1(text), line_2(text))).elements
    assert element.catalogue_number == number == element.satrec.satnum


@pytest.mark.parametrize("text", ["I0000", "O0000", "1 3 5", "5    ", "AB000"])
def test_other_catalogue_numbers_are_refused(tmp_path: Path, text: str) -> None:
    assert "catalogue number" in refusal(written(tmp_path, line_1(text), line_2(text)))


@MANY
@given(st.integers(0, 2), st.integers(0, 67), st.sampled_from("0123456789"))
def test_the_checksum_finds_every_digit_that_was_changed(tmp_path: Path, satellite: int, at: int, digit: str) -> None:
    for which in (1, 2):
        lines = list(NAMED)
        line = lines[3 * satellite + which]
        if line[at].isdigit() and line[at] != digit:
            lines[3 * satellite + which] = line[:at] + digit + line[at + 1 :]
            refusal(written(tmp_path, *lines))


@MANY
@given(st.data())
def test_after_cutting_doubling_or_moving_lines_every_record_is_counted_or_refused(
    tmp_path: Path, data: st.DataObject
) -> None:
    lines = list(NAMED)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["cut", "double", "move"]))
        line = lines.pop(at)
        if change == "cut":
            lines.insert(at, line[: data.draw(st.integers(0, len(line)))])
        elif change == "double":
            lines[at:at] = [line, line]
        else:
            lines.insert(data.draw(st.integers(0, len(lines))), line)
    try:
        read = element_file(written(tmp_path, *lines))
    except ScenarioError:
        return
    names = sum(bool(element.name) for element in read.elements)
    assert 2 * len(read.elements) + names + sum(skip.count for skip in read.skipped) == sum(
        bool(line.strip()) for line in lines
    )
