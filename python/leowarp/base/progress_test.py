# SPDX-License-Identifier: Apache-2.0
import sys

import pytest

from leowarp.base.progress import BuildProgress, building


def at(wall_s: float, stage: str = "compile") -> BuildProgress:
    return BuildProgress(stage, int(wall_s * 4), 1000, wall_s / 400, wall_s, wall_s)


def test_a_build_s_line_has_steps_rate_and_time_left():
    assert at(100).text() == "guest kernel: compile 400/1000 steps, 4.0 steps/s, 5:00 left"
    assert BuildProgress("unpack", 45, 100, 0.09, 9, 9).text() == "guest kernel: unpack 45 %, 1:31 left"
    assert BuildProgress("compile", 0, 1000, 0.0, 0.0, 0.0).text() == "guest kernel: compile 0/1000 steps"


def test_without_a_terminal_there_are_few_lines_however_long_it_takes(capsys):
    with building(True) as built:
        built.message("building")
        for second in range(400):
            built.steps(at(second))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "building"
    assert lines[1] == "guest kernel: compile 40/1000 steps, 4.0 steps/s, 6:30 left"
    assert 10 < len(lines) < 25


def test_nothing_is_shown_to_whom_it_is_not_to_be_shown(capsys):
    with building(False) as built:
        built.message("building")
        built.steps(at(100))
    assert capsys.readouterr().err == ""


def test_on_a_terminal_messages_stand_above_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with building(True) as built:
        built.steps(at(100))
        built.message("building the agent [cargo]")
        built.steps(at(200))
    shown = capsys.readouterr().err
    assert "building the agent [cargo]\n" in shown
    assert "800/1000 steps" in shown


@pytest.mark.parametrize("stage", ["unpack", "compile", "pack"])
def test_no_time_left_is_said_before_anything_is_known(stage):
    assert BuildProgress(stage, 0, 100, 0.0, 0.0, 0.0).left_s is None
