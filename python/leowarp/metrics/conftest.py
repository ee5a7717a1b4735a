# SPDX-License-Identifier: Apache-2.0
"""The synthetic run, written once per session."""

import pytest

from leowarp import scenario
from leowarp.metrics import metrics, read_tables
from support.synthetic.run import write_synthetic_run


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory):
    return write_synthetic_run(tmp_path_factory.mktemp("synthetic") / "run")


@pytest.fixture(scope="session")
def plan(run_dir):
    return scenario.resolve(scenario.load(run_dir / "00-plan.toml"))


@pytest.fixture(scope="session")
def tables(run_dir):
    return read_tables(run_dir)


@pytest.fixture(scope="session")
def result(tables, plan):
    return metrics(tables, plan)
