# SPDX-License-Identifier: Apache-2.0
"""The scenario of the large cases of bench/bench.py is what their rows call it."""

from pathlib import Path

from leowarp import scenario

FILE = Path(__file__).parents[2] / "bench" / "thousand-flows.toml"


def test_the_large_case_is_a_thousand_flows_of_a_gigabit_a_second_over_4408_satellites():
    plan = scenario.plan_of(FILE)
    assert plan.constellation is not None
    assert sum(shell.satellites for shell in plan.constellation.shells) == 4408
    assert plan.network.instantiate == "all"
    assert plan.run.duration_ns == 10_000_000_000
    assert 950 < len(plan.flows) < 1050
    sizes_bytes = [flow.size_bytes for flow in plan.flows]
    # Sizes are drawn: what this seed gave of the mean of 1 Gbit/s
    assert 0.9e9 < sum(sizes_bytes) * 8 / 10 < 1.3e9
    assert plan.observe.truth
