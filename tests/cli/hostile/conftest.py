# SPDX-License-Identifier: Apache-2.0
"""A run to be spoilt, and a file that no case may change."""

import shutil
from pathlib import Path

import pytest

from support.hostile import BELOW
from support.synthetic.run import write_synthetic_run
from support.synthetic.whole import complete


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A complete run whose packets are made up, with all its files but a report."""
    path = tmp_path_factory.mktemp("made") / "run"
    write_synthetic_run(path)
    return complete(path)


@pytest.fixture
def run(made, tmp_path):
    """A copy of it to be spoilt."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def precious(tmp_path):
    """A file of the user's own, which no case may change."""
    path = tmp_path / "precious"
    path.write_text(BELOW)
    yield path
    assert path.read_text() == BELOW
