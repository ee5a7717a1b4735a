# SPDX-License-Identifier: Apache-2.0
"""Studies whose runs boot nothing."""

import pytest

from leowarp.study.sweep import disk, engine, run_study
from support.sweep.in_process import InThisProcess, Unsynced, lose_worker
from support.sweep.maker import FakeMaker, let_workers_import
from support.sweep.study import STUDY


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The fake maker's directory; `made` in it has a line per run that was begun."""
    folder = tmp_path / "fake"
    folder.mkdir()
    let_workers_import(monkeypatch)
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
        return run_study(study, out, **{"maker": FakeMaker(fake), "at_once": 1, "progress": False, **options})

    return run


@pytest.fixture
def quick(tmp_path, fake, make, monkeypatch):
    """The same without any process; `quick.workers` are those of the last start."""

    def workers(*given):
        run.workers = InThisProcess(tmp_path / "scratch")
        return run.workers

    def run(study, out=tmp_path / "out", **options):
        return make(study, out, maker=FakeMaker(fake, lose_worker), **options)

    # A sync takes milliseconds on a real disk, and a study of a few runs makes dozens of them.
    monkeypatch.setattr(disk, "os", Unsynced())
    monkeypatch.setattr(engine, "_workers", workers)
    return run
