# SPDX-License-Identifier: Apache-2.0
"""In a notebook, progress is a single output whose text is replaced. The tests use a stand-in for Jupyter."""

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from leowarp.base import status
from leowarp.base.progress import BuildProgress, Display, Progress, building
from leowarp.study.sweep.display import StudyDisplay, StudyProgress

DURATION_NS = 1000 * 10**9


@pytest.fixture
def clock(monkeypatch):
    """Return the clock that `CellText` reads. A test sets the time `s` in seconds."""
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(status.time, "monotonic", lambda: now.s)
    return now


@pytest.fixture
def notebook(monkeypatch, clock):
    """Make this process look like the kernel of a notebook. The fixture returns the texts that each output has shown.
    The last text is visible."""
    outputs = []

    class Handle:
        def __init__(self, content):
            self.texts = [content["text/plain"]]
            outputs.append(self.texts)

        def update(self, content, raw):
            assert raw
            self.texts.append(content["text/plain"])

    def display(content, *, raw, display_id):
        assert raw
        assert display_id
        return Handle(content)

    kernel = ModuleType("ipykernel.zmqshell")
    kernel.ZMQInteractiveShell = SimpleNamespace(initialized=lambda: True)
    shown = ModuleType("IPython.display")
    shown.display = display
    for module in (kernel, shown, ModuleType("ipykernel"), ModuleType("IPython")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return outputs


def at(t_s, stage="guest", run="a"):
    return Progress(run, stage, t_s * 10**9, DURATION_NS, wall_s=t_s / 40)


def test_a_run_is_one_output_however_long_it_takes(notebook, clock, capsys):
    with Display() as show:
        for t_s in range(1001):
            clock.s = t_s / 40
            show(at(t_s))
        show(at(1000, "done"))
    (texts,) = notebook
    assert texts[-1] == "a: done"
    assert "a: 500 of 1000 s, 40.0 x the wall clock, 0:12 left" in texts
    # A run of 25 s shows 50 texts, two per second.
    assert 40 < len(texts) < 60
    assert all(text.isprintable() for text in texts)
    assert capsys.readouterr() == ("", "")


def test_several_runs_are_one_output_too(notebook, clock):
    with Display() as show:
        for t_s in (100, 200):
            for run in ("a", "b", "c"):
                clock.s += 1
                show(at(t_s, run=run))
        show(at(1000, "done", "a"))
        show(at(300, "failed", "c"))
    (texts,) = notebook
    assert texts[-1] == "b: 200 of 1000 s, 40.0 x the wall clock, 0:20 left\n1 done, 1 failed"


def test_a_build_and_a_study_are_one_output_each(notebook, clock, capsys):
    with building(True) as built:
        built.message("building the guest kernel")
        for wall_s in range(400):
            clock.s = wall_s
            built.steps(BuildProgress("compile", wall_s * 4, 1600, wall_s / 400, wall_s, wall_s))
    with StudyDisplay() as show:
        for done in range(91):
            clock.s += 1
            show(StudyProgress("queues", done, 90, failed=0, workers=2))
    build, study = notebook
    assert build[-1].startswith("guest kernel: compile 1596/1600 steps")
    assert study[-1] == "queues: 90 of 90 runs"
    assert capsys.readouterr().err == "building the guest kernel\n"


def test_whom_nothing_is_to_be_shown_gets_no_output(notebook):
    with building(False) as built:
        built.steps(BuildProgress("compile", 400, 1600, 0.25, 100.0, 100.0))
    assert notebook == []


def test_what_a_cell_starts_draws_no_bars_though_it_has_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert status.is_terminal()
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    assert not status.is_terminal()


def test_without_jupyter_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel.zmqshell", raising=False)
    assert not status.is_notebook()
