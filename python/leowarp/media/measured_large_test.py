# SPDX-License-Identifier: Apache-2.0
"""Tests how a run reads large tables. The run must read only the rows that it needs. These rows must give the same
timeline as the whole table."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.media import timeline_of
from leowarp.scenario.schema import Measured, Plan, Run
from leowarp.scenario.text.key import InputFile
from leowarp.timeline import warnings_of
from leowarp.timeline.recordings import window
from support.plans import S, chain


def replay(file: Path, start_s: float, duration_s: float, **keys) -> Plan:
    medium = Measured(file=InputFile(file.name, "0" * 64, file), **keys)
    run = Run(start_ns=round(start_s * S), duration_ns=round(duration_s * S))
    return dataclasses.replace(chain(), medium=medium, run=run)


def table_of(seed: int, rows: int, header: str, *, wall: bool) -> str:
    """Return a table with rows 1 to 5 s apart, comments, blank lines, gaps and losses."""
    draw = np.random.default_rng(seed)
    lines = [header]
    t_ms = 1_700_000_000_000 if wall else 0
    for row in range(rows):
        cut = row % 40 in range(20, 30) and row > 0
        delay = "down" if cut else "lost" if draw.random() < 0.2 and row > 0 else f"{draw.integers(1, 60_000)}"
        rest = ["" if cut else f"{draw.integers(1, 100)}", "" if cut else f"{draw.random():.3f}"]
        lines.append(", ".join([f"{t_ms / 1000:.3f}", delay, *rest][: header.count(",") + 1]))
        if row % 17 == 3:
            lines.append("# a remark" if row % 2 else "")
        t_ms += int(draw.integers(1000, 5000))
    return "\n".join(lines) + "\n"


@pytest.fixture
def in_parts(monkeypatch):
    """Make the reader treat each table as large, and read it in steps of 64 bytes."""
    monkeypatch.setattr(window, "FROM_BYTES", 0)
    monkeypatch.setattr(window, "_STEP_BYTES", 64)


@pytest.mark.parametrize("seed", range(12))
def test_a_part_of_a_table_gives_the_timeline_of_the_whole(seed, tmp_path, monkeypatch):
    header = ("t_s,delay_ms,rate_mbps,loss_ratio", "t_s,rtt_ms", "t_s,delay_ms")[seed % 3]
    file = tmp_path / "path.csv"
    file.write_text(table_of(seed, 400, header, wall=seed % 2 == 1))
    keys = [{}, {"resample_ns": 10 * S}, {"interpolation": "linear", "interpolation_step_ns": S // 2}][seed // 4]
    for start_s in (0, 400, 777.7, 1150):
        plan = replay(file, start_s, 60, **keys)
        monkeypatch.setattr(window, "FROM_BYTES", 1 << 40)
        whole = timeline_of(plan)
        monkeypatch.setattr(window, "FROM_BYTES", 0)
        monkeypatch.setattr(window, "_STEP_BYTES", 64)
        part = window.part_of(file, window.Stretch(round(start_s * S), round((start_s + 60) * S)))
        assert part is not None
        assert len(part.lines) < 401
        assert timeline_of(plan).equals(whole, check_metadata=True)


@pytest.mark.usefixtures("in_parts")
def test_a_mistake_in_the_part_names_its_line_in_the_file(tmp_path):
    file = tmp_path / "path.csv"
    lines = ["t_s,delay_ms", *(f"{row},20" for row in range(2000))]
    lines[1500] = "1499,twenty"
    file.write_text("\n".join(lines))
    with pytest.raises(ScenarioError, match=r"path.csv:1501: delay_ms = 'twenty'"):
        timeline_of(replay(file, 1490, 20))
    # The wrong row 1501 is outside this run, so it is not read.
    timeline_of(replay(file, 100, 20))


@pytest.mark.usefixtures("in_parts")
def test_a_table_that_ends_early_is_told_with_the_longest_step_of_the_whole(tmp_path):
    file = tmp_path / "path.csv"
    file.write_text("t_s,delay_ms\n" + "".join(f"{row},{20 + row % 2}\n" for row in (*range(1000), *range(1900, 2000))))
    (warning,) = warnings_of(timeline_of(replay(file, 1990, 1000)))
    assert "longer than any other (901 s)" in warning
    assert warnings_of(timeline_of(replay(file, 1990, 500))) == []


@pytest.mark.usefixtures("in_parts")
def test_a_line_without_an_end_is_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr(window, "LONGEST_LINE_BYTES", 1000)
    file = tmp_path / "path.csv"
    file.write_text("t_s,delay_ms\n0,20\n1," + "1" * 5000)
    with pytest.raises(ScenarioError, match="no row of a table"):
        timeline_of(replay(file, 0, 1))


def test_what_does_not_fit_into_memory_is_refused_before_it_is_taken_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(window, "usable_memory_bytes", lambda: 1 << 20)
    file = tmp_path / "path.csv"
    file.write_text("t_s,delay_ms\n" + "".join(f"{row},20\n" for row in range(10_000)))
    with pytest.raises(ScenarioError, match="1 MiB are usable") as caught:
        timeline_of(replay(file, 0, 1))
    assert "head -n" in str(caught.value.hint)
