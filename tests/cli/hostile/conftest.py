# SPDX-License-Identifier: Apache-2.0
"""A run that tests damage, and a file that no test may change."""

import shutil
from pathlib import Path

import pytest

from leowarp import scenario
from leowarp.base import layout
from leowarp.metrics import metrics, read_tables
from support.hostile import BELOW
from support.synthetic.run import write_synthetic_run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A complete run with invented packets. It has all files except a report."""
    path = tmp_path_factory.mktemp("made") / "run"
    write_synthetic_run(path)
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    from leowarp import trace

    costs = trace.Stopwatch().costs(1.0, 2.5, 1 << 20)
    (path / layout.MANIFEST).unlink()
    trace.write_manifest(path, 1, {"linux_version": "6.12", "linux_sha256": "0"}, {}, [], costs)
    return path


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run for a test to damage."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def precious(tmp_path):
    """A file of the user, which no test may change."""
    path = tmp_path / "precious"
    path.write_text(BELOW)
    yield path
    assert path.read_text() == BELOW
