# SPDX-License-Identifier: Apache-2.0
"""Fixtures: complete runs that were made without a guest, and their pages."""

import pytest

from leowarp import scenario, trace, view
from leowarp.base import layout
from leowarp.metrics import metrics, read_tables
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import PLAN_TOML, write_synthetic_run


def completed(path, warning="look twice"):
    """Complete a run directory with the files that `leowarp run` writes at its end."""
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    costs = trace.Stopwatch().costs(60.0, 2.5, 1 << 20)
    trace.write_manifest(path, 1, {"linux_version": "6.12.0"}, {}, [warning], costs)
    return path


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory):
    """A function that writes the synthetic run of a scenario, by default into a new directory:
    `synthetic(PLAN_TOML)`."""

    def write(toml=PLAN_TOML, path=None, **completion):
        path = tmp_path_factory.mktemp("runs") / "run" if path is None else path
        return completed(write_synthetic_run(path, toml), **completion)

    return write


@pytest.fixture(scope="session")
def run_dir(synthetic):
    return synthetic()


@pytest.fixture(scope="session")
def access_dir(tmp_path_factory):
    return completed(write_synthetic_access(tmp_path_factory.mktemp("runs") / "access"))


@pytest.fixture(scope="session")
def page(run_dir, tmp_path_factory):
    """The address of the page that shows the synthetic run."""
    return view.write_view([run_dir], tmp_path_factory.mktemp("pages") / "view.html").as_uri()


@pytest.fixture
def opened(browser, page):
    """A function that opens the page at an instant and pauses it: `opened("t=20")`."""

    def open_(fragment="t=20", **options):
        return browser.open(f"{page}#{fragment}", **options)

    return open_
