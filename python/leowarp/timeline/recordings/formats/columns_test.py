# SPDX-License-Identifier: Apache-2.0
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import read
from leowarp.timeline.recordings.formats.columns import guess, parsed_columns
from leowarp.timeline.recordings.formats.files import format_of
from support.synthetic.dish import MS, S

THREE = "1694477135.6833403\t1\t44.5\n1694477135.8295577\t2\t40.9\n1694477136.1228523\t4\t42.4\n"
TWO = "1734546419040668928,17.8\n1734546419057035008,17.9\n1734546419070138880,18.9\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "probes.txt"
    path.write_text(text)
    return path


def test_time_sequence_and_round_trip_need_no_words(tmp_path: Path) -> None:
    of = read(written(tmp_path, THREE))
    assert of.round_trip is not None
    assert (of.format, of.wall_ns, of.duplicates) == ("columns", 1_694_477_135_683_340_300, 0)
    assert of.round_trip.lost.tolist() == [False, False, True, False]
    assert of.round_trip.delay_ns[[0, 1, 3]].tolist() == [44_500_000, 40_900_000, 42_400_000]
    assert of.round_trip.t_ns[3] == 439_512_000
    assert "t_s seq rtt_ms" in of.notes[0]


def test_what_is_not_plain_is_guessed_and_has_to_be_said(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    with pytest.raises(
        ScenarioError, match=r"probes.txt:1: .*t_ns,rtt_ms .*2024-12-18 18:26:59.040 UTC, 17.8 ms"
    ) as no:
        read(path)
    assert no.value.hint == "if that is right, type: --columns t_ns,rtt_ms"
    of = read(path, columns=("t_ns", "rtt_ms"))
    assert of.round_trip is not None
    assert of.round_trip.t_ns.tolist() == [0, 16_366_080, 29_469_952]
    assert of.wall_ns == 1_734_546_419_040_668_928


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("0.0 30\n0.1 31\n0.2 29\n", ("t_s", "rtt_ms")),
        ("0 0.030\n100 0.031\n200 0.029\n", ("t_ms", "rtt_s")),
        ("1700000000000;25100\n1700000000100;25200\n", ("t_ms", "rtt_us")),
        ("7,1700000000.5,31.5,8\n8,1700000000.6,31.5,8\n9,1700000000.7,31,8\n", ("seq", "t_s", "rtt_ms", "-")),
    ],
)
def test_a_guess_goes_by_what_rises_and_how_large_it_is(tmp_path: Path, text: str, columns: tuple[str, ...]) -> None:
    seems = guess(tmp_path, text)
    assert seems is not None
    assert seems.columns == columns


def test_probes_without_a_delay_are_lost_and_numbers_that_come_twice_are_duplicates(tmp_path: Path) -> None:
    text = "0.0 1 20\n0.1 2 -1\n0.2 3 lost\n0.3 4 21\n0.3 4 25\n0.5 6 22\n"
    of = read(written(tmp_path, text))
    assert of.round_trip is not None
    assert of.round_trip.lost.tolist() == [False, True, True, False, True, False]
    assert (of.duplicates, of.round_trip.delay_ns[3]) == (1, 21 * MS)


def test_a_clock_that_was_set_back_is_named_and_undone(tmp_path: Path) -> None:
    sent_s = np.arange(300) * 0.1
    sent_s[200:] -= 3.0
    lines = [f"{1_700_000_000 + t_s:.6f} {number} 30.0" for number, t_s in enumerate(sent_s)]
    of = read(written(tmp_path, "\n".join(lines)))
    (step,) = of.clock_steps
    assert step.by_ns == pytest.approx(-3 * S, abs=MS)
    assert of.steady_ns is not None
    assert np.diff(of.steady_ns) == pytest.approx(np.full(299, 100 * MS), abs=MS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 20\n0.1 2\n", r"probes.txt:2: '0.1 2' has 2 of 3 columns"),
        ("0 1 20\n0.1 2 twenty\n", r"probes.txt:2: rtt_ms = 'twenty': not a number"),
        ("0 1 20\n0.1 x 5\n", r"probes.txt:2: seq = 'x': not a whole number"),
        ("0 1 20\n0.1 2 -5\n", r"probes.txt:2: rtt_ms = '-5': must be from 0 to 60 s"),
        ("0 1 20\n0.1 2 1e99999999999\n", r"probes.txt:2: rtt_ms"),
        ("0 1 20\n0.1 200000000 20\n", "span 200000000 probes"),
    ],
)
def test_wrong_rows_are_refused_with_file_line_and_value(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        read(written(tmp_path, text), columns=("t_s", "seq", "rtt_ms"))
    assert raised.value.hint


@pytest.mark.parametrize("text", ["t_s", "t_s,t_ms,rtt_ms", "t_s,rtt", "t_s,seq,seq,rtt_ms", ""])
def test_columns_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="--columns") as raised:
        parsed_columns(text)
    assert "t_s,seq,rtt_ms" in str(raised.value.hint)


def test_times_that_go_back_without_numbers_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "1 20\n3 20\n2 20\n")
    with pytest.raises(ScenarioError, match=r"probes.txt:3: t = 2.000000 s is before that of line 2"):
        read(path, columns=("t_s", "rtt_ms"))


def test_columns_of_which_nothing_can_be_guessed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="nothing says what its columns are"):
        read(written(tmp_path, "5 2\n3 1\n1 0\n"))


def test_columns_of_a_format_that_has_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="columns have no effect"):
        read(written(tmp_path, THREE), "ping", columns=("t_s", "rtt_ms"))
    assert format_of(written(tmp_path, TWO)) == "columns"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("1.5 1 30.0\n1.6 2 30.5\n1.7 3", r"probes.txt:3: '1.7 3' has 2 of 3 columns", "sed 3d"),
        ("1.5 1 30.0\n1.6 2 30.5\nthe end\n1.7 3 30.1\n", r"probes.txt:3: .* has 2 of 3 columns", "sed 3d"),
        ("", "is empty", "ping -D"),
        ("# a remark\n\n", "is empty", "ping -D"),
        (
            "1.5 1 30.0 x\n1.6 2 30.5 x\n1.7 3 30.1 x\n",
            "can only be guessed: t_s,seq,rtt_ms,-",
            "--columns t_s,seq,rtt_ms,-",
        ),
    ],
)
def test_a_file_that_is_cut_short_or_odd_says_what_to_type_next(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        read(written(tmp_path, text))
    assert hint in str(raised.value.hint)


def test_names_that_do_not_fit_are_answered_with_the_guess(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="2 columns, and t_s,seq,rtt_ms are 3") as raised:
        read(written(tmp_path, TWO), columns=("t_s", "seq", "rtt_ms"))
    assert "--columns t_ns,rtt_ms" in str(raised.value.hint)


def test_the_line_of_a_packed_file_is_left_out_by_its_unpacker(tmp_path: Path) -> None:
    path = tmp_path / "probes.gz"
    path.write_bytes(gzip.compress(b"1.5 1 30.0\n1.6 2 30.5\n1.7"))
    with pytest.raises(ScenarioError) as raised:
        read(path)
    assert f"gzip -dc {path} | sed 3d > whole.txt" in str(raised.value.hint)


def test_a_last_line_without_an_end_is_named(tmp_path: Path) -> None:
    assert any("line 3 has no end" in note for note in read(written(tmp_path, "1.5 1 30.0\n1.6 2 30.5\n1.7 3 3")).notes)
    assert not any("no end" in note for note in read(written(tmp_path, "1.5 1 30.0\n1.6 2 30.5\n1.7 3 3\n")).notes)


many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
changes = st.lists(
    st.tuples(st.sampled_from(["cut", "double", "swap", "drop"]), st.integers(0, 39), st.integers(0, 30)), max_size=4
)


def _changed(rows: list[str], changes: list[tuple[str, int, int]]) -> list[str]:
    rows = list(rows)
    for kind, place, size in changes:
        place = min(place, len(rows) - 1)
        match kind:
            case "cut":
                rows[place] = rows[place][:size]
            case "double":
                rows.insert(place, rows[place])
            case "swap":
                rows[place], rows[place - 1] = rows[place - 1], rows[place]
            case "drop":
                del rows[place]
    return rows


@many
@given(changes)
def test_every_row_of_probes_counts_or_is_skipped_or_the_file_refused(
    tmp_path: Path, changes: list[tuple[str, int, int]]
) -> None:
    rows = _changed([f"{1_700_000_000 + n / 10} {n} 30.5" for n in range(1, 41)], changes)
    try:
        found = read(written(tmp_path, "\n".join(rows) + "\n"), columns=("t_s", "seq", "rtt_ms"))
    except ScenarioError:
        return
    assert found.round_trip is not None
    assert found.duplicates is not None
    answered = int((~found.round_trip.lost).sum())
    lines = sum(bool(row.strip()) for row in rows)
    assert answered + sum(skip.count for skip in found.skipped) + found.duplicates == lines


@many
@given(changes)
def test_every_row_of_a_table_holds_until_the_next_or_the_table_is_refused(
    tmp_path: Path, changes: list[tuple[str, int, int]]
) -> None:
    plain = [f"{n},{20 + n / 8},{n},0.5" for n in range(1, 41)]
    rows = _changed(plain, changes)
    try:
        found = read(written(tmp_path, "t_s,delay_ms,rate_mbps,loss_ratio\n" + "\n".join(rows) + "\n"))
    except ScenarioError:
        return
    assert found.down is not None
    # A file may be truncated within its last number. The rest of the number, for instance 0.5, is still a number, so
    # the damage cannot be detected.
    assert len(found.down) == sum(bool(row.strip()) for row in rows)
    assert np.isin(found.down.delay_ns / MS, [20 + n / 8 for n in range(1, 41)]).all()


def probes(numbers: list[int], begin_s: int = 1_700_000_000) -> str:
    return "".join(f"{begin_s + place / 10:.1f} {number} 3{number % 10}.5\n" for place, number in enumerate(numbers))


def test_a_second_run_is_no_run_of_duplicates(tmp_path: Path) -> None:
    path = written(tmp_path, probes([*range(1, 60)]) + probes([*range(1, 60)], 1_700_000_100))
    with pytest.raises(ScenarioError, match=r"probes.txt:60: number 1 later than number 59 of line 59: a second run"):
        read(path, columns=("t_s", "seq", "rtt_ms"))


def test_numbers_of_16_bits_begin_anew(tmp_path: Path) -> None:
    path = written(tmp_path, probes([number % 65536 for number in range(65_500, 65_600)]))
    found = read(path, columns=("t_s", "seq", "rtt_ms"))
    assert found.round_trip is not None
    assert (len(found.round_trip), int(found.round_trip.lost.sum())) == (100, 0)
    assert found.round_trip.t_ns[-1] == 9_900 * MS


@given(st.permutations(range(1, 40)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_rows_of_one_run_in_any_order_are_one_run(tmp_path: Path, order: list[int]) -> None:
    rows = probes([*range(1, 40)]).splitlines()
    path = written(tmp_path, "".join(rows[place - 1] + "\n" for place in order))
    found = read(path, columns=("t_s", "seq", "rtt_ms"))
    assert found.round_trip is not None
    assert (len(found.round_trip), found.duplicates) == (39, 0)


def test_delays_of_0_are_named(tmp_path: Path) -> None:
    found = read(written(tmp_path, "1.0 1 30\n1.1 2 0\n1.2 3 30\n"), columns=("t_s", "seq", "rtt_ms"))
    assert any("1 delays are 0" in note for note in found.notes)
