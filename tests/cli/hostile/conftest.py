# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a run that a test may damage, and a file that no test may change."""

import shutil
from pathlib import Path

import pytest

from support.hostile import BELOW
from support.synthetic.run import write_synthetic_run
from support.synthetic.whole import complete


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A complete run with invented packets."""
    path = tmp_path_factory.mktemp("made") / "run"
    write_synthetic_run(path)
    return complete(path)


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run. A test may damage it."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def precious(tmp_path):
    """A file outside of the run, which no command may change."""
    path = tmp_path / "precious"
    path.write_text(BELOW)
    yield path
    assert path.read_text() == BELOW
