# SPDX-License-Identifier: Apache-2.0
"""Tests bench/: its cases equal the rows of the page, and the functions that describe the machine work."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leowarp import scenario
from support.beside import modules_beside

BENCH = Path(__file__).parents[2] / "bench"
FILE = BENCH / "thousand-flows.toml"
PARTS = ("machine", "bench", "size", "versions")


@pytest.fixture(scope="module")
def parts():
    """The modules of bench/."""
    with modules_beside(BENCH, PARTS) as modules:
        yield modules


def test_the_large_case_is_a_thousand_flows_of_a_gigabit_a_second_over_4408_satellites():
    plan = scenario.plan_of(FILE)
    assert plan.constellation is not None
    assert sum(shell.satellites for shell in plan.constellation.shells) == 4408
    assert plan.network.instantiate == "all"
    assert plan.run.duration_ns == 10_000_000_000
    assert 950 < len(plan.flows) < 1050
    sizes_bytes = [flow.size_bytes for flow in plan.flows]
    # Sizes are random. The mean is 1 Gbit/s, and the bounds enclose the rate that this seed gives.
    assert 0.9e9 < sum(sizes_bytes) * 8 / 10 < 1.3e9
    assert plan.observe.truth


def test_the_cases_of_a_large_network_have_as_many_flows_as_they_say(parts, tmp_path):
    size = parts["size"]
    for name, case in size.CASES.items():
        plan = scenario.plan_of(size.scenario(case.pairs, tmp_path / "size.toml"), case.changes)
        flows = name.split(",")[0].removesuffix(" flow").removesuffix(" flows")
        assert len(plan.flows) == (1 if flows == "one" else int(flows))
        assert plan.observe.truth != ("without packet truth" in name)
        assert case.from_s < case.to_s


def test_a_tenth_in_flight_has_as_long_a_queue_and_as_many_samples_of_a_packet(parts, tmp_path):
    size = parts["size"]
    file = size.scenario((("Madrid", "Tokyo"),), tmp_path / "size.toml")
    whole, tenth = (scenario.plan_of(file, changes) for changes in ({}, size.TENTH))
    assert whole.isl.rate_bps == 10 * tenth.isl.rate_bps
    assert whole.isl.queue_pkts == 10 * tenth.isl.queue_pkts
    assert whole.ground.rate_bps == 10 * tenth.ground.rate_bps
    assert whole.ground.queue_pkts == 10 * tenth.ground.queue_pkts
    assert tenth.observe.sockets_ns == 10 * whole.observe.sockets_ns
    assert tenth.observe.queues_ns == 10 * whole.observe.queues_ns


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
def test_loads_are_measured_for_each_size_of_memory(parts, tmp_path):
    found = parts["machine"].load_ns([16, 1024])
    assert list(found) == [16, 1024]
    assert all(ns > 0 for ns in found.values())
    program = tmp_path / "load_latency"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, BENCH / "load_latency.c"], check=True)
    for word in ("0", "1k", "-1"):
        refused = subprocess.run([program, word], capture_output=True, text=True)
        assert refused.returncode == 2
        assert "1 to 4194304" in refused.stderr


LEAVES_ONE = """
import time

def made():
    # The child outlives its parent and gets adopted; both use processor time.
    if not (child := os.fork()):
        os.fork()
        while time.process_time() < 0.2: pass
        os._exit(0)
    os.waitpid(child, 0)

counted(made)
"""


def test_versions_are_compared_by_all_that_ran_also_what_its_parent_left(parts):
    command = [sys.executable, "-S", "-c", parts["versions"].COUNTED + LEAVES_ONE]
    spent_s = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0.39 < spent_s < 0.8
