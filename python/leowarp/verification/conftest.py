# SPDX-License-Identifier: Apache-2.0
"""A complete run, and copies of it that tests may damage."""

import shutil
from pathlib import Path

import pytest

from leowarp.verification import second_run
from support.synthetic.whole import stand_in_for_a_second_run, write_whole_run


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return write_whole_run(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.fixture
def verified(whole, tmp_path, monkeypatch):
    """Return a function that verifies a directory with a replacement for the guest, and returns the findings by
    stage."""
    monkeypatch.setattr(second_run, "run", stand_in_for_a_second_run(whole))
    count = iter(range(1000))

    def second_run_of(path):
        scratch = tmp_path / f"scratch-{next(count)}"
        scratch.mkdir()
        return {stage.stage: stage for stage in second_run.second_run_of(path, scratch, progress=False).stages}

    return second_run_of
