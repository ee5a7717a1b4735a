# SPDX-License-Identifier: Apache-2.0
"""Fixtures for studies whose runs do not boot a guest."""

import pytest

from leowarp.study.sweep import disk, engine, run_study
from support.sweep.in_process import InThisProcess, Unsynced, lose_worker
from support.sweep.maker import FakeMaker, let_workers_import
from support.sweep.study import STUDY


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return the directory of the fake maker. Its file `made` has one line per run that was started."""
    folder = tmp_path / "fake"
    folder.mkdir()
    let_workers_import(monkeypatch)
    return folder


@pytest.fixture
def study_file(tmp_path):
    """Return a function that writes the study file `STUDY` with some replacements."""

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
    """Return a function that runs a study in `tmp_path/out`, with the fake maker in worker processes."""

    def run(study, out=tmp_path / "out", **options):
        return run_study(study, out, **{"maker": FakeMaker(fake), "at_once": 1, "progress": False, **options})

    return run


@pytest.fixture
def quick(tmp_path, fake, make, monkeypatch):
    """Return a function that runs a study in this process, with the fake maker. Its attribute `workers` holds the
    workers of the most recent study."""

    def workers(*given):
        run.workers = InThisProcess(tmp_path / "scratch")
        return run.workers

    def run(study, out=tmp_path / "out", **options):
        return make(study, out, maker=FakeMaker(fake, lose_worker), **options)

    # fsync is skipped: on a real disk each call takes milliseconds, and even a small study makes dozens.
    monkeypatch.setattr(disk, "os", Unsynced())
    monkeypatch.setattr(engine, "_workers", workers)
    return run
