# SPDX-License-Identifier: Apache-2.0
"""Tests that the parameters of queueing disciplines become numbers, and are written with units again. Every error
message has a hint about what to write."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import problems_of, write
from leowarp.scenario.network.queues import DISCIPLINES, PARAMETERS
from leowarp.scenario.schema import Chain

CHAIN = """\
name = "queued"
[chain]
queue_discipline = "{kind}"
{rest}
[[flows]]
source = "A"
destination = "B"
"""
EVERY = {
    "fifo": ("{}", {}),
    "codel": ('{ target = "5 ms", interval = "100 ms", ce_threshold = "0 s" }',
              {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ce_threshold_ns": 0}),
    "fq_codel": ('{ target = "5 ms", interval = "0.1 s", ce_threshold = "1 ms", flows = 1024, quantum = "1514 B", '
                 'memory_limit = "32 MiB" }',
                 {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ce_threshold_ns": 1_000_000, "flows": 1024,
                  "quantum_bytes": 1514, "memory_limit_bytes": 32 << 20}),
    "pie": ('{ target = "15 ms", tupdate = "15 ms", alpha = 2, beta = 20 }',
            {"target_ns": 15_000_000, "tupdate_ns": 15_000_000, "alpha": 2, "beta": 20}),
    "fq_pie": ('{ target = "15 ms", tupdate = "15 ms", alpha = 2, beta = 20, flows = 64, quantum = "3 kB" }',
               {"target_ns": 15_000_000, "tupdate_ns": 15_000_000, "alpha": 2, "beta": 20, "flows": 64,
                "quantum_bytes": 3000}),
    "cake": ('{ rtt = "100 ms", flow_mode = "triple-isolate", ack_filter = "no", memory_limit = "4 MB" }',
             {"rtt_ns": 100_000_000, "flow_mode": 7, "ack_filter": 0, "memory_limit_bytes": 4_000_000}),
    "red": ('{ min = "30 kB", max = "90 kB", probability = "10 %", adaptive = true }',
            {"min_bytes": 30_000, "max_bytes": 90_000, "probability_ppm": 100_000, "adaptive": 1}),
}  # fmt: skip


def text(kind: str, rest: str = "") -> str:
    return CHAIN.format(kind=kind, rest=rest)


@pytest.mark.parametrize("kind", DISCIPLINES)
def test_parameters_are_numbers_in_the_plan_and_come_back(tmp_path, kind):
    written, numbers = EVERY[kind]
    assert {name.partition("_ns")[0] for name in numbers if name.endswith("_ns")} <= set(PARAMETERS[kind])
    assert len(numbers) == len(PARAMETERS[kind]), "every parameter of every discipline"
    plan = resolve(load(write(tmp_path, text(kind, f"queue_parameters = {written}"))))
    assert isinstance(plan.medium, Chain)
    assert (plan.medium.queue_discipline, plan.medium.queue_parameters) == (kind, numbers)
    assert plan.medium.ecn == (kind == "cake")
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


@pytest.mark.parametrize(
    ("kind", "rest", "key", "said"),
    [
        ("fq_codle", "", "chain.queue_discipline", 'did you mean "fq_codel"'),
        ("fifo", "ecn = true", "chain.ecn", 'write queue_discipline = "fq_codel"'),
        ("cake", "ecn = false", "chain.ecn", "write ecn = true"),
        ("codel", 'queue_parameters = "5 ms"', "chain.queue_parameters", "is not a table"),
        ("codel", 'queue_parameters = { tarrget = "5 ms" }', "chain.queue_parameters.tarrget", 'mean "target"'),
        ("codel", 'queue_parameters = { tupdate = "5 ms" }', "chain.queue_parameters.tupdate", "one of pie, fq_pie"),
        ("codel", 'queue_parameters = { zzz = "5 ms" }', "chain.queue_parameters.zzz",
         "codel has: target, interval, ce_threshold"),
        ("fifo", 'queue_parameters = { target = "5 ms" }', "chain.queue_parameters.target", '"fq_codel" too'),
        ("codel", "queue_parameters = { target = 5 }", "chain.queue_parameters.target", "bare number"),
        ("codel", 'queue_parameters = { target = "5 m" }', "chain.queue_parameters.target", 'minutes are "min"'),
        ("codel", 'queue_parameters = { target = "500 s" }', "chain.queue_parameters.target", "1 us to 100 s"),
        ("codel", 'queue_parameters = { target = { x = "5 ms" } }', "chain.queue_parameters.target", "with a unit"),
        ("fq_codel", 'queue_parameters = { flows = "9" }', "chain.queue_parameters.flows", "not a bare integer"),
        ("fq_codel", "queue_parameters = { flows = 0 }", "chain.queue_parameters.flows", "1 to 65536"),
        ("red", "queue_parameters = { adaptive = 1 }", "chain.queue_parameters.adaptive", "true or false"),
        ("red", 'queue_parameters = { probability = "101 %" }', "chain.queue_parameters.probability", "100 %"),
        ("red", 'queue_parameters = { min = "9 kB", max = "9 kB" }', "chain.queue_parameters", "is not below max"),
        ("cake", 'queue_parameters = { flow_mode = "hots" }', "chain.queue_parameters.flow_mode", 'mean "hosts"'),
        ("codel", '[network]\nlink_model = "netem"', "chain.queue_discipline", "netem has a plain queue"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_key_and_its_cure(tmp_path, kind, rest, key, said):
    problems = problems_of(write(tmp_path, text(kind, rest)))
    assert [problem.key for problem in problems] == [key]
    assert said in str(problems[0])


def test_every_link_with_a_queue_has_the_keys_but_netems(tmp_path):
    path = write(tmp_path, text("codel").replace("[chain]", "[jittered]"))
    assert "jittered.queue_discipline" in [problem.key for problem in problems_of(path)]


def test_a_discipline_set_on_a_plan_takes_the_parameters_of_the_other_away(tmp_path):
    plan = resolve(load(write(tmp_path, text("codel", 'ecn = true\nqueue_parameters = { target = "5 ms" }'))))
    path = write(tmp_path, plan.to_toml(), "plan.toml")
    other = resolve(load(path, ["chain.queue_discipline=pie"])).medium
    assert other is not None
    assert (other.queue_discipline, other.ecn, other.queue_parameters) == ("pie", True, {})
    more = resolve(load(path, ["chain.queue_parameters.interval=50 ms"])).medium
    assert more is not None
    assert more.queue_parameters == {"target_ns": 5_000_000, "interval_ns": 50_000_000}
