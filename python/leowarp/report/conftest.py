# SPDX-License-Identifier: Apache-2.0
"""The synthetic runs for the tests of reports, written once per session."""

import pytest

from leowarp.metrics import metrics, read_tables
from leowarp.results.run import Run
from support.synthetic.access import write_synthetic_access
from support.synthetic.bbr import write_synthetic_bbr
from support.synthetic.run import PLAN_TOML, write_synthetic_run


def complete_run(path, toml=PLAN_TOML):
    """Write a synthetic run with metrics and summary."""
    write_synthetic_run(path, toml)
    view = Run(path, complete=False)
    metrics(read_tables(path), view.plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    return path


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory):
    return complete_run(tmp_path_factory.mktemp("runs") / "one")


@pytest.fixture(scope="session")
def other_run_dir(tmp_path_factory):
    toml = PLAN_TOML.replace('"cubic"', '"reno"')
    return complete_run(tmp_path_factory.mktemp("runs") / "two", toml)


@pytest.fixture(scope="session")
def access_dir(tmp_path_factory):
    path = write_synthetic_access(tmp_path_factory.mktemp("runs") / "access")
    view = Run(path, complete=False)
    metrics(view.tables, view.plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    return path


@pytest.fixture(scope="session")
def bbr_dir(tmp_path_factory):
    """A run of BBR with a flow named "upload"."""
    path = write_synthetic_bbr(tmp_path_factory.mktemp("runs") / "bbr")
    view = Run(path, complete=False)
    metrics(view.tables, view.plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    return path
