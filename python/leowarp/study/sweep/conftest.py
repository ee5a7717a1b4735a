# SPDX-License-Identifier: Apache-2.0
"""Studies whose runs boot nothing."""

import pytest

from leowarp.study.sweep import disk, engine, fake_for_tests, run_study
from leowarp.study.sweep.in_process_for_tests import InThisProcess, Lost, Unsynced

FAKE = "leowarp.study.sweep.fake_for_tests"

STUDY = """\
name = "trial"
scenario = "chain"

[set]
"run.duration" = "2 s"
"flows.0.size" = "1 MB"

[parameters]
"chain.delay" = { values = ["0 ms", "1.5 ms"], label = "delay" }
"flows.0.congestion_control" = { values = ["bic", "cubic"], label = "cc" }

[seeds]
first = 1
count = 3
"""
"""12 runs."""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The fake maker's directory; `made` in it has a line per run that was begun."""
    folder = tmp_path / "fake"
    folder.mkdir()
    monkeypatch.setenv("LEOWARP_FAKE", str(folder))
    return folder


@pytest.fixture
def study_file(tmp_path):
    """Writes a study file; replacements are made in `STUDY`."""

    def write(*replaced, text=STUDY, name="study.toml"):
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def make(tmp_path, fake):
    """Runs a study with the fake maker in worker processes, in `tmp_path/out`."""

    def run(study, out=tmp_path / "out", **options):
        return run_study(study, out, maker=FAKE, **{"at_once": 1, "progress": False, **options})

    return run


@pytest.fixture
def quick(tmp_path, make, monkeypatch):
    """The same without any process; `quick.workers` are those of the last start."""

    def die():
        raise Lost

    def workers(*given):
        run.workers = InThisProcess(tmp_path / "scratch")
        return run.workers

    def run(study, out=tmp_path / "out", **options):
        return make(study, out, **options)

    monkeypatch.setattr(disk, "os", Unsynced())
    monkeypatch.setattr(fake_for_tests, "DIE", die)
    monkeypatch.setattr(engine, "_workers", workers)
    return run
