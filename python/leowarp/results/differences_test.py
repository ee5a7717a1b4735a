# SPDX-License-Identifier: Apache-2.0
"""Tests that `diff` finds all differences between two synthetic runs, and reports nothing else."""

import hashlib

import pytest

from leowarp.base.layout import PLAN, directory_names
from leowarp.metrics import metrics, read_tables
from leowarp.results.differences import Difference, Part, condensed, diff, differences, said
from leowarp.results.run import Run
from leowarp.scenario import plan_of
from support.synthetic.run import PLAN_TOML, write_synthetic_run

# These tests are slow, because each computes metrics of several runs.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    made = []
    for name, control in (("one", "cubic"), ("two", "reno")):
        path = tmp_path_factory.mktemp("runs") / name
        write_synthetic_run(path, PLAN_TOML.replace('"cubic"', f'"{control}"'))
        metrics(read_tables(path), plan_of(path / PLAN)).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
        made.append(Run(path))
    return made


def test_two_plans_differ_by_the_keys_that_were_set(runs):
    found = diff(*runs)
    # Both runs have the same tables, so no metric differs.
    assert found[["part", "key", "a", "b"]].to_numpy().tolist() == [
        ["plan", "flows.0.congestion_control", "cubic", "reno"]
    ]


def test_a_run_does_not_differ_from_itself(runs):
    assert differences([runs[0], runs[0]]) == []


def test_costs_and_names_are_no_differences(runs, tmp_path):
    named = PLAN_TOML.replace('"synthetic"', '"other"').replace("[[flows]]", '[[flows]]\nname = "upload"')
    path = write_synthetic_run(tmp_path / "x", named)
    metrics(read_tables(path), plan_of(path / PLAN)).with_cost(cpu_s=9.0, wall_s=9.0).write(path)
    assert differences([runs[0], Run(path)]) == []


def test_a_module_s_parameter_is_a_difference_of_its_own(tmp_path):
    made = []
    for beta in (500, 800):
        path = write_synthetic_run(tmp_path / str(beta), PLAN_TOML + f'\n[modules.tcp_cubic]\nbeta = "{beta}"\n')
        metrics(read_tables(path), plan_of(path / PLAN)).with_cost(cpu_s=9.0, wall_s=9.0).write(path)
        made.append(Run(path))
    (only,) = differences(made)
    assert (only.part, only.key) == (Part.MODULE, "modules.tcp_cubic.beta")


def test_numbers_say_how_much_more_the_second_is():
    assert Difference(Part.METRIC, "x_pkts", (4, 5)).change_ratio == 0.25
    assert Difference(Part.METRIC, "x_pkts", (0, 5)).change_ratio is None
    assert Difference(Part.METRIC, "x_pkts", (None, 5)).change_ratio is None
    assert Difference(Part.PLAN, "x", (True, False)).change_ratio is None


def test_a_flow_that_one_run_does_not_have_is_one_row():
    found = condensed([
        Difference(Part.PLAN, "flows.1.source", (None, "Madrid")),
        Difference(Part.PLAN, "flows.1.kind", (None, "tcp")),
        Difference(Part.PLAN, "run.seed", (1, 2)),
    ])  # fmt: skip
    assert [(each.key, each.values) for each in found] == [("flows.1", (None, "Madrid, tcp")), ("run.seed", (1, 2))]


def test_hashes_are_said_by_their_first_digits():
    assert said("ab" * 32) == "ab" * 6
    assert said("") == '""'
    assert said(True) == "true"
    digits = hashlib.sha256(b"x" * 1001).hexdigest()[:12]
    assert said("x" * 1001) == "x" * 1000 + f"... (1,001 characters, sha256 {digits})"
    assert said("x" * 1000 + "y") != said("x" * 1001)
    assert said("x" * 1000 + "\ud800").startswith("x" * 1000)


def test_directories_of_one_name_are_told_apart_by_their_paths(tmp_path):
    assert directory_names([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]
    assert directory_names([tmp_path / "x" / "a", tmp_path / "y" / "a"]) == ["x/a", "y/a"]
