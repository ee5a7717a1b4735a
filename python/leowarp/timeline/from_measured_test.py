# SPDX-License-Identifier: Apache-2.0
import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.ephemeris.plans_for_tests import S, chain
from leowarp.errors import ScenarioError
from leowarp.scenario.key import InputFile
from leowarp.scenario.schema import Measured, Network, Plan, Run
from leowarp.timeline import describe, replay, timeline, warnings_of
from leowarp.timeline.from_measured import measured_rows

MS = 1_000_000


def measured(path: Path, text: str, *, duration_s: float = 10, start_s: float = 0, **network: str) -> Plan:
    path = path / "path.csv"
    path.write_text(text)
    file = InputFile(name=path.name, sha256="0" * 64, path=path)
    return dataclasses.replace(
        chain(),
        chain=None,
        measured=Measured(file=file),
        run=Run(duration_ns=round(duration_s * S), start_ns=round(start_s * S)),
        network=Network(**network),
    )


def events(of: Plan, *names: str) -> list[tuple]:
    keep = {"link": "up", "delay": "delay_ns", "rate": "rate_bps", "loss": "loss_ratio"}
    return [
        (row["t_ns"], row["event"], row["a"], row["b"], row[keep[row["event"]]])
        for row in timeline(of).to_pylist()
        if row["event"] in names and row["kind"] != "wire"
    ]


def test_rows_become_changes_in_both_directions(tmp_path: Path) -> None:
    of = measured(tmp_path, "t_s,delay_ms,rate_mbps,loss_ratio\n0,20,100,0\n2.5,21.25,100,0.01\n")
    assert events(of, "delay", "rate", "loss") == [
        (0, "rate", "r0", "r1", 100_000_000),
        (0, "rate", "r1", "r0", 100_000_000),
        (0, "delay", "r0", "r1", 20 * MS),
        (0, "delay", "r1", "r0", 20 * MS),
        (2_500 * MS, "delay", "r0", "r1", 21_250_000),
        (2_500 * MS, "delay", "r1", "r0", 21_250_000),
        (2_500 * MS, "loss", "r0", "r1", 0.01),
        (2_500 * MS, "loss", "r1", "r0", 0.01),
    ]
    assert describe(timeline(of))["nodes"] == {"host": 2, "router": 2}
    assert replay(timeline(of), 0).walk("host:A", "host:B") == ["host:A", "r0", "r1", "host:B"]


def test_directions_may_differ_column_by_column(tmp_path: Path) -> None:
    of = measured(tmp_path, "delay_up_ms, t_s ,rate_up_mbps,delay_ms\n30,0,unshaped,20\n30,1,5.5,21\n")
    assert events(of, "delay", "rate") == [
        (0, "rate", "r0", "r1", None),
        (0, "rate", "r1", "r0", None),
        (0, "delay", "r0", "r1", 20 * MS),
        (0, "delay", "r1", "r0", 30 * MS),
        (1 * S, "rate", "r1", "r0", 5_500_000),
        (1 * S, "delay", "r0", "r1", 21 * MS),
    ]


def test_a_gap_takes_the_link_down_and_the_next_row_up(tmp_path: Path) -> None:
    of = measured(tmp_path, "t_s,delay_ms,rate_mbps\n0,20,10\n3,down,\n4,down,\n5,20,10\n")
    assert events(of, "link") == [
        (0, "link", "r0", "r1", True),
        (3 * S, "link", "r0", "r1", False),
        (5 * S, "link", "r0", "r1", True),
    ]
    # A link that comes up is told everything anew.
    assert [e[:3] for e in events(of, "delay", "rate") if e[0] == 5 * S] == [
        (5 * S, "rate", "r0"),
        (5 * S, "rate", "r1"),
        (5 * S, "delay", "r0"),
        (5 * S, "delay", "r1"),
    ]


def test_start_is_a_time_of_the_table(tmp_path: Path) -> None:
    text = "t_s,delay_ms\n0,10\n10,20\n15,30\n40,40\n"
    of = measured(tmp_path, text, start_s=12, duration_s=20)
    assert events(of, "delay")[::2] == [
        (0, "delay", "r0", "r1", 20 * MS),
        (3 * S, "delay", "r0", "r1", 30 * MS),
    ]


def test_a_table_that_ends_early_is_held_with_a_warning(tmp_path: Path) -> None:
    text = "t_s,delay_ms\n0,10\n1,20\n"
    assert warnings_of(timeline(measured(tmp_path, text, duration_s=2))) == []
    (warning,) = warnings_of(timeline(measured(tmp_path, text, duration_s=10)))
    assert "ends at 1 s and its last row is held for 9 s" in warning


def test_netem_gets_room_for_the_longest_delay_at_the_highest_rate(tmp_path: Path) -> None:
    of = measured(tmp_path, "t_s,delay_ms,rate_mbps\n0,50,10\n1,20,100\n", link_model="netem")
    (link,) = [row for row in timeline(of).to_pylist() if row["event"] == "link" and row["kind"] != "wire"]
    assert link["limit_pkts"] == 500 + -(-50 * MS * 100_000_000 // (8 * 1514 * S))


def test_delays_are_rounded_up_when_asked(tmp_path: Path) -> None:
    of = measured(tmp_path, "t_s,delay_ms\n0,20.000001\n", delay_rounding="ceil-ms")
    assert {e[4] for e in events(of, "delay")} == {21 * MS}


HEAD = "t_s,delay_ms,rate_mbps,loss_ratio\n"
MALFORMED = {
    "": r"path\.csv is empty",
    "# only words\n": r"path\.csv is empty",
    HEAD: r"path\.csv:1: the table has a header and no rows",
    "t,delay_ms\n0,1\n": r"path\.csv:1: unknown columns: 't'",
    "t_s,rate_mbps\n0,1\n": r"path\.csv:1: missing columns: 'delay_ms'",
    "t_s,delay_ms,delay_ms\n0,1,1\n": r"path\.csv:1: columns given twice: 'delay_ms'",
    HEAD + "0,1,2\n": r"path\.csv:2: 3 cells under a header of 4 columns",
    HEAD + "0,1,2,0\n\n# a comment\n0,1,2,0\n": r"path\.csv:5: t_s = 0 is not after the 0 of line 2",
    HEAD + "0,1,2,0\n5,1,2,0\n4,1,2,0\n": r"path\.csv:4: t_s = 4 is not after",
    HEAD + "0,,2,0\n": r"path\.csv:2: delay_ms = '': a gap is written as `down`",
    HEAD + "0,1,,0\n": r"path\.csv:2: rate_mbps = ''",
    HEAD + "0,down,2,\n": r"path\.csv:2: rate_mbps = '2': a row that is down has no other values",
    HEAD + "0,fast,2,0\n": r"path\.csv:2: delay_ms = 'fast': not a number",
    HEAD + "0,nan,2,0\n": "not a number",
    HEAD + "0,-1,2,0\n": r"delay_ms = '-1': must be from 0 to 60000",
    HEAD + "0,1,0,0\n": r"rate_mbps = '0': a rate of 0 sends nothing",
    HEAD + "0,1,2,1.5\n": r"loss_ratio = '1\.5': must be from 0 to 1",
    HEAD + "-1,1,2,0\n": r"t_s = '-1': must be from 0",
    HEAD + "1e9999999999,1,2,0\n": r"t_s = '1e9999999999': must be from 0",
    HEAD + "5,1,2,0\n": r"path\.csv:2: the table begins at 5 s, the run at 0 s",
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.items(), ids=range(len(MALFORMED)))
def test_malformed_tables_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        timeline(measured(tmp_path, text))
    assert raised.value.hint


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        measured_rows(tmp_path / "none.csv")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ScenarioError, match="not a text file"):
        measured_rows(tmp_path / "picture.csv")


cells = st.sampled_from(["0", "1", "2.5", "-1", "", "down", "unshaped", "nan", "1e9999999999", "x", '"', "0.1", "1e-3"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.lists(st.lists(cells, min_size=1, max_size=5), max_size=4), st.booleans())
def test_any_table_is_read_or_refused(tmp_path: Path, rows: list[list[str]], with_header: bool) -> None:
    text = (HEAD if with_header else "") + "\n".join(",".join(row) for row in rows)
    try:
        timeline(measured(tmp_path, text))
    except ScenarioError:
        return
    assert with_header
